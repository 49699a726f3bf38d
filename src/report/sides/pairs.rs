//! The runs, pair by pair: whether they differ by more than chance.

use serde::Serialize;
use serde_json::{Value, json};

use super::RunSides;
use crate::model::RunScores;
use crate::report::comparison::words::{difference, interval};
use crate::report::figures;
use crate::summary::compare::{
    ALPHA, CompareSettings, ComparisonError, PairVerdict, SidePair, chance, compare_pairs,
};
use eval_base::text::{group_digits, plural};

/// A pair as every page shows it.
#[derive(Serialize)]
pub struct PairRow {
    pub first: String,
    pub second: String,
    pub difference: String,
    pub interval: String,
    pub p: String,
    pub n: String,
    pub only_first: String,
    pub only_second: String,
    pub verdict: &'static str,
    /// Whether the second run is the better one, where a difference was found.
    pub is_better: Option<bool>,
}

impl RunSides<'_> {
    /// Tests every pair. `scores` are those of the runs, in their order.
    ///
    /// # Errors
    /// When a run has no value of what is tested.
    pub fn compare_pairs(&mut self, scores: &[RunScores]) -> Result<(), ComparisonError> {
        self.pairs = compare_pairs(scores, &CompareSettings::default())?;
        Ok(())
    }

    pub(crate) fn pair_rows(&self) -> Vec<PairRow> {
        let labels = self.labels();
        let label = |at: usize| labels.get(at).cloned().unwrap_or_default();
        let row = |pair: &SidePair| {
            let metric = &pair.metric;
            let difference = metric.difference.map(|d| difference(&metric.name, d));
            PairRow {
                first: label(pair.first),
                second: label(pair.second),
                difference: difference.unwrap_or_else(|| figures::NO_VALUE.to_owned()),
                interval: interval(&metric.name, metric.ci),
                p: pair.p.map(|p| chance(p, ALPHA)).unwrap_or_default(),
                n: group_digits(metric.n),
                only_first: group_digits(pair.only_first),
                only_second: group_digits(pair.only_second),
                verdict: pair.verdict.words(),
                is_better: match pair.verdict {
                    PairVerdict::Better => Some(true),
                    PairVerdict::Worse => Some(false),
                    _ => None,
                },
            }
        };
        self.pairs.iter().map(row).collect()
    }

    /// The metric that pairs were tested on, as pages show it.
    pub(crate) fn pair_metric(&self) -> String {
        let first = self.pairs.first();
        first.map_or_else(String::new, |pair| figures::shown_metric(&pair.metric.name))
    }

    /// What the columns of pairs mean, and what is not compared, in sentences.
    pub(crate) fn pair_notes(&self) -> Vec<String> {
        let tests = self.pairs.iter().filter(|pair| pair.p.is_some()).count();
        let adjusted = match tests {
            0 | 1 => String::new(),
            n => format!(", adjusted by Holm over {n} pairs"),
        };
        let mut notes = vec![format!(
            "p: two-sided{adjusted}. n: compared cases; broke, fixed: those that only the first run, or only the second, passed."
        )];
        let changed = self.pairs.iter().map(|pair| pair.changed).max();
        if let Some(changed) = changed.filter(|changed| *changed > 0) {
            notes.push(format!(
                "Up to {} of a pair have a different grader or other data in the two runs, and are not compared.",
                plural(changed, "case")
            ));
        }
        notes
    }
}

pub fn json(pair: &SidePair, labels: &[String]) -> Value {
    let label = |at: usize| labels.get(at);
    let metric = &pair.metric;
    json!({
        "first": label(pair.first),
        "second": label(pair.second),
        "metric": metric.name,
        "n": metric.n,
        "difference": metric.difference,
        "ci": metric.ci,
        "p": pair.p,
        "verdict": pair.verdict.name(),
        "undefined": metric.undefined,
        "only_first_passed": pair.only_first,
        "only_second_passed": pair.only_second,
        "not_compared": pair.changed,
    })
}
