//! The runs, pair by pair: whether they differ by more than chance, over the cases of both.

use serde_json::{Value, json};

use super::RunSides;
use crate::model::{Comparison, MetricDifference, RunScores};
use crate::report::comparison::words::{ComparisonHeadline, telling};
use crate::summary::compare::{ALPHA, CompareSettings, ComparisonError, compare_pairs};

/// What a pair of runs came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairVerdict {
    /// The second is better than the first, by more than chance explains.
    Better,
    Worse,
    NoEvidence,
    /// Samples without a grade could change it.
    Undecided,
    Untested,
}

impl PairVerdict {
    pub fn name(self) -> &'static str {
        match self {
            PairVerdict::Better => "better",
            PairVerdict::Worse => "worse",
            PairVerdict::NoEvidence => "no_evidence",
            PairVerdict::Undecided => "undecided",
            PairVerdict::Untested => "untested",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            PairVerdict::NoEvidence => "no evidence",
            other => other.name(),
        }
    }
}

/// Two runs, by their places among the sides.
#[derive(Debug, Clone)]
pub struct RunPair {
    pub first: usize,
    pub second: usize,
    pub verdict: PairVerdict,
    /// Of the metric that was tested, second minus first.
    pub metric: MetricDifference,
    /// Two-sided, adjusted by Holm over all pairs; `None` when nothing could be tested.
    pub p: Option<f64>,
    /// Cases that only the first passed.
    pub broken: usize,
    /// Cases that only the second passed.
    pub fixed: usize,
}

impl RunPair {
    fn of((first, second): (usize, usize), comparison: &Comparison) -> Option<RunPair> {
        let metric = telling(comparison).first().copied()?.clone();
        let test = metric.test.as_ref().filter(|test| test.decides);
        let p = test.and_then(|test| {
            let one_sided = test.p_worse_adjusted?.min(test.p_better_adjusted?);
            Some((2.0 * one_sided).min(1.0))
        });
        let verdict = match (ComparisonHeadline::of(comparison), p) {
            (ComparisonHeadline::Undecided, _) => PairVerdict::Undecided,
            (_, None) => PairVerdict::Untested,
            (headline, Some(p)) if p < ALPHA => match headline {
                ComparisonHeadline::Improvement => PairVerdict::Better,
                ComparisonHeadline::Regression => PairVerdict::Worse,
                _ => PairVerdict::NoEvidence,
            },
            _ => PairVerdict::NoEvidence,
        };
        Some(RunPair {
            first,
            second,
            verdict,
            p,
            broken: comparison.cases.broken.count,
            fixed: comparison.cases.fixed.count,
            metric,
        })
    }

    pub fn json(&self, labels: &[String]) -> Value {
        let label = |at: usize| labels.get(at);
        let metric = &self.metric;
        json!({
            "first": label(self.first),
            "second": label(self.second),
            "metric": metric.name,
            "n": metric.n,
            "difference": metric.difference,
            "ci": metric.ci,
            "p": self.p,
            "verdict": self.verdict.name(),
            "only_first_passed": self.broken,
            "only_second_passed": self.fixed,
        })
    }
}

impl RunSides<'_> {
    /// Tests every pair. `scores` are those of the runs, in their order.
    ///
    /// # Errors
    /// When a run has no value of what is tested.
    pub fn compare_pairs(&mut self, scores: &[RunScores]) -> Result<(), ComparisonError> {
        let settings = CompareSettings {
            pairs: 0,
            listed: 0,
            ..CompareSettings::default()
        };
        let pairs = compare_pairs(scores, &settings)?;
        self.pairs = pairs
            .iter()
            .filter_map(|(places, comparison)| RunPair::of(*places, comparison))
            .collect();
        Ok(())
    }
}
