//! What a metric is of one case or eval, on both sides.

use super::super::outcomes::OutcomeReading;
use super::pairing::{CasePair, EvalPair, SidePairing};
use crate::model::{Bound, CaseRecord, EvalRecord, EvalType, Metric, Outcome, RunScores};
use eval_stats::{pass_at_k, pass_hat_k, pass_hat_k_unbiased};

/// The name of the mean of tokens over samples. `tokens` is their sum.
pub const TOKENS_PER_SAMPLE: &str = "tokens_per_sample";
/// The same of costs, in US dollars.
pub const COST_PER_SAMPLE: &str = "cost_usd_per_sample";

/// Of what a metric's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasureUnit {
    Case,
    Eval,
}

impl MeasureUnit {
    pub fn name(self) -> &'static str {
        match self {
            MeasureUnit::Case => "case",
            MeasureUnit::Eval => "eval",
        }
    }
}

/// First attempts of both sides at a case, and how many of all of them passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstAttempts {
    /// Of the reference and of the candidate.
    pub samples: [u32; 2],
    pub passed: u32,
}

/// A metric that has a value for each case or eval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairedMeasure {
    pub metric: Metric,
    pub unit: MeasureUnit,
    /// Values lie in [0, 1].
    pub share: bool,
    /// `None` where nobody said.
    pub higher_is_better: Option<bool>,
}

impl PairedMeasure {
    /// Why a metric has no value of a case or eval, when it has none: it completes "`name` ...".
    pub fn of(metric: &Metric, sides: [&RunScores; 2]) -> Result<PairedMeasure, &'static str> {
        use Metric::*;
        let bound = Some(metric.bound() == Bound::Min);
        let is_score = |name: &str| {
            sides
                .iter()
                .any(|side| side.score_metrics.iter().any(|s| s == name))
        };
        let (unit, share, higher_is_better) = match metric {
            PassRate | CapabilityPassRate | RegressionPassRate | WeightedScore => {
                (MeasureUnit::Eval, true, bound)
            }
            PassAt(_) | PassHat(_) | PassHatUnbiased(_) | CasePassRate | Score => {
                (MeasureUnit::Case, true, bound)
            }
            LatencyMeanMs | Tokens | CostUsd => (MeasureUnit::Case, false, bound),
            Named(name) if name == TOKENS_PER_SAMPLE || name == COST_PER_SAMPLE => {
                (MeasureUnit::Case, false, Some(false))
            }
            Named(name) if is_score(name) => (MeasureUnit::Case, true, Some(true)),
            Named(_) => (MeasureUnit::Case, false, None),
            LatencyP50Ms | LatencyP95Ms => {
                return Err("is a percentile, which a single case does not have");
            }
            metric if metric.uncorrected().is_some() => {
                return Err("rests on calibrations of judges, not on single cases");
            }
            metric if metric.is_of_judges() => return Err("measures judges, not the target"),
            _ => return Err("is a sum over the run, which a single case does not have"),
        };
        Ok(PairedMeasure {
            metric: metric.clone(),
            unit,
            share,
            higher_is_better,
        })
    }

    /// Its name in a comparison.
    pub fn name(&self) -> String {
        match self.metric {
            Metric::Tokens => TOKENS_PER_SAMPLE.to_owned(),
            Metric::CostUsd => COST_PER_SAMPLE.to_owned(),
            ref metric => metric.to_string(),
        }
    }

    /// True when what has no grade can't have left its range, so that there is a worst and a best.
    pub fn is_bounded(&self) -> bool {
        self.share && !matches!(self.metric, Metric::Named(_))
    }

    /// Both sides' values of a case, under a reading that is the candidate's: `Worst` reads what
    /// has no grade as failed there and as passed in the reference.
    pub fn of_case(&self, pair: &CasePair<'_>, reading: OutcomeReading) -> Option<(f64, f64)> {
        // A case passes less often the more samples it needs, and (c/n)^k is too high by more the
        // fewer they are.
        match self.metric {
            Metric::CasePassRate if !pair.same_samples() => return None,
            Metric::PassHat(k) if k > 1 => {
                let n = |case, reading| first_attempts(case, reading).0;
                if n(pair.reference, opposite(reading)) != n(pair.candidate, reading) {
                    return None;
                }
            }
            _ => {}
        }
        Some((
            self.case(pair.reference, opposite(reading))?,
            self.case(pair.candidate, reading)?,
        ))
    }

    /// First attempts of a case on both sides, and how many of them all passed, of a metric that is
    /// made of these alone.
    pub fn attempts(&self, pair: &CasePair<'_>, reading: OutcomeReading) -> Option<FirstAttempts> {
        if !matches!(
            self.metric,
            Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_)
        ) {
            return None;
        }
        let (reference, before) = first_attempts(pair.reference, opposite(reading));
        let (candidate, now) = first_attempts(pair.candidate, reading);
        Some(FirstAttempts {
            samples: [reference, candidate],
            passed: before + now,
        })
    }

    /// The value of a case of so many first attempts of which so many passed, of a metric that is
    /// made of these alone.
    pub fn of_counts(&self, n: u32, c: u32) -> Option<f64> {
        self.case(
            &CaseRecord {
                n,
                c,
                ..CaseRecord::default()
            },
            OutcomeReading::Graded,
        )
    }

    fn case(&self, case: &CaseRecord, reading: OutcomeReading) -> Option<f64> {
        match &self.metric {
            Metric::PassAt(k) => estimate(pass_at_k, case, *k, reading),
            Metric::PassHat(k) => estimate(pass_hat_k, case, *k, reading),
            Metric::PassHatUnbiased(k) => estimate(pass_hat_k_unbiased, case, *k, reading),
            Metric::CasePassRate => passes(case.outcome?, reading),
            Metric::Score => case_score(case, reading),
            Metric::LatencyMeanMs => case.latency_ms,
            Metric::Tokens => case.tokens,
            Metric::CostUsd => case.cost_usd,
            Metric::Named(name) => match name.as_str() {
                TOKENS_PER_SAMPLE => case.tokens,
                COST_PER_SAMPLE => case.cost_usd,
                name => case.metrics.get(name).copied(),
            },
            _ => None,
        }
    }

    /// Both sides' values of an eval, and its weight.
    pub fn of_eval(&self, eval: &EvalPair<'_>, reading: OutcomeReading) -> Option<(f64, f64, f64)> {
        let kind = eval.candidate.kind.or(eval.reference.kind);
        let of_kind = match self.metric {
            Metric::CapabilityPassRate => kind == Some(EvalType::Capability),
            Metric::RegressionPassRate => kind == Some(EvalType::Regression),
            _ => true,
        };
        if !of_kind || !eval.whole || eval.reweighed {
            return None;
        }
        if self.metric == Metric::WeightedScore {
            let weight = eval.candidate.weight.or(eval.reference.weight)?;
            let reference = eval_score(eval.reference, opposite(reading))?;
            return Some((reference, eval_score(eval.candidate, reading)?, weight));
        }
        if !eval.same_samples {
            return None;
        }
        let reference = passes(eval.reference.outcome, opposite(reading))?;
        Some((reference, passes(eval.candidate.outcome, reading)?, 1.0))
    }
}

/// True when a case's pass@1 is 0 or 1 of one sample, under every reading.
pub(super) fn is_single(case: &CaseRecord, reading: OutcomeReading) -> bool {
    first_attempts(case, reading).0 == 1
}

/// The reading of the reference when the candidate is read as `reading`.
pub(super) fn opposite(reading: OutcomeReading) -> OutcomeReading {
    match reading {
        OutcomeReading::Graded => OutcomeReading::Graded,
        OutcomeReading::Worst => OutcomeReading::Best,
        OutcomeReading::Best => OutcomeReading::Worst,
    }
}

/// First attempts that count, and those that passed.
fn first_attempts(case: &CaseRecord, reading: OutcomeReading) -> (u32, u32) {
    let (n, c) = (case.n, case.c.min(case.n));
    let open = case.planned().saturating_sub(n);
    match reading {
        OutcomeReading::Graded => (n, c),
        OutcomeReading::Worst => (n + open, c),
        OutcomeReading::Best => (n + open, c + open),
    }
}

fn estimate(
    estimator: fn(u64, u64, u64) -> Result<f64, eval_stats::UndefinedReason>,
    case: &CaseRecord,
    k: u32,
    reading: OutcomeReading,
) -> Option<f64> {
    let (n, c) = first_attempts(case, reading);
    if n < k {
        None
    } else {
        estimator(u64::from(n), u64::from(c), u64::from(k)).ok()
    }
}

fn passes(outcome: Outcome, reading: OutcomeReading) -> Option<f64> {
    match (outcome, reading) {
        (Outcome::Passed, _)
        | (Outcome::Errored | Outcome::Skipped | Outcome::Pending, OutcomeReading::Best) => {
            Some(1.0)
        }
        (Outcome::Failed, _) | (_, OutcomeReading::Worst) => Some(0.0),
        (_, OutcomeReading::Graded) => None,
    }
}

fn case_score(case: &CaseRecord, reading: OutcomeReading) -> Option<f64> {
    if reading == OutcomeReading::Graded || case.ungraded == 0 {
        return case.score;
    }
    let graded = case.planned().saturating_sub(case.ungraded);
    let sum = case.score.map_or(0.0, |score| score * f64::from(graded));
    let more = if reading == OutcomeReading::Best {
        f64::from(case.ungraded)
    } else {
        0.0
    };
    (case.planned() > 0).then(|| (sum + more) / f64::from(case.planned()))
}

/// As [`crate::model::Metric::WeightedScore`] takes it: the mean score of the cases of a graded
/// eval.
fn eval_score(eval: &EvalRecord, reading: OutcomeReading) -> Option<f64> {
    if reading == OutcomeReading::Graded {
        return eval.score.filter(|_| eval.outcome.is_graded());
    }
    if eval.cases.iter().all(|case| case.ungraded == 0) {
        return eval.score;
    }
    let (mut sum, mut n) = (0.0, 0u32);
    for score in eval
        .cases
        .iter()
        .filter_map(|case| case_score(case, reading))
    {
        (sum, n) = (sum + score, n + 1);
    }
    (n > 0).then(|| sum / f64::from(n))
}

/// Every metric that both sides have, in reading order.
pub(super) fn both_have(pairing: &SidePairing<'_>) -> Vec<Metric> {
    let (a, b) = (pairing.reference, pairing.candidate);
    let mut ks: Vec<u32> =
        a.ks.iter()
            .copied()
            .filter(|k| b.ks.contains(k))
            .chain([1])
            .collect();
    ks.sort_unstable();
    ks.dedup();
    let mut metrics: Vec<Metric> = ks.iter().map(|k| Metric::PassAt(*k)).collect();
    // With k of 1 all three are one number.
    for k in ks.into_iter().filter(|k| *k > 1) {
        metrics.extend([Metric::PassHat(k), Metric::PassHatUnbiased(k)]);
    }
    metrics.extend([
        Metric::CasePassRate,
        Metric::PassRate,
        Metric::CapabilityPassRate,
        Metric::RegressionPassRate,
        Metric::Score,
        Metric::WeightedScore,
        Metric::LatencyMeanMs,
        Metric::Tokens,
        Metric::CostUsd,
    ]);
    let mut names: Vec<&str> = Vec::new();
    for pair in &pairing.pairs {
        for name in pair
            .candidate
            .metrics
            .keys()
            .filter(|name| pair.reference.metrics.contains_key(*name))
        {
            // Few names, and mostly the same ones in each case.
            if !names.contains(&name.as_str())
                && name != TOKENS_PER_SAMPLE
                && name != COST_PER_SAMPLE
            {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    metrics.extend(names.into_iter().map(|name| Metric::Named(name.to_owned())));
    metrics
}
