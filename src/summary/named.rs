//! Numbers that graders measured and named, such as `lint_pass`.

use std::collections::BTreeSet;

use super::metrics::{CountedEval, of_values, undefined_because};
use super::outcomes::OutcomeReading;
use super::over_cases::{CaseSamples, IntervalDesign, OverCases};
use crate::model::{Estimate, IntervalScope};
use eval_stats::ValueSeries;

/// One name: the mean over cases of the mean over each case's graded samples that have the number.
pub(super) struct NamedMetric {
    pub name: String,
    estimate: Estimate,
    numbers: NamedNumbers,
    /// Of a score of 0 or 1 from one sample a case: how many are 1, of how many.
    pub share: Option<[u64; 2]>,
    /// Samples that should have the number and have none: those without a grade, and those whose
    /// graders could not measure it. A graded sample whose graders do not measure it at all is none
    /// of them.
    missing: usize,
    samples: usize,
}

enum NamedNumbers {
    /// In [0, 1].
    Scores(OverCases),
    Unbounded(ValueSeries, IntervalScope),
}

impl NamedMetric {
    /// Every name that a graded sample has, ascending.
    ///
    /// `scores` are those that lie in [0, 1]; `wanted` says which names are asked for.
    pub fn all(
        evals: &[CountedEval<'_>],
        wanted: impl Fn(&str) -> bool,
        scores: &[String],
        samples: usize,
        ungraded: usize,
        intervals: Option<IntervalScope>,
    ) -> Vec<NamedMetric> {
        let names: BTreeSet<&str> = evals
            .iter()
            .flat_map(|eval| eval.fold.metric_names())
            .filter(|name| wanted(name))
            .collect();
        let named = |name: &str| {
            let is_score = scores.iter().any(|score| score == name);
            NamedMetric::new(name, is_score, evals, samples, ungraded, intervals)
        };
        names.into_iter().filter_map(named).collect()
    }

    fn new(
        name: &str,
        is_score: bool,
        evals: &[CountedEval<'_>],
        samples: usize,
        ungraded: usize,
        intervals: Option<IntervalScope>,
    ) -> Option<NamedMetric> {
        let scope = intervals.unwrap_or_default();
        let (mut over, mut values) = (OverCases::new(scope), ValueSeries::new());
        let (mut missing, mut single) = (ungraded, true);
        for (at, eval) in evals.iter().enumerate() {
            let Some(numbers) = eval.fold.metric(name).filter(|numbers| !numbers.is_empty()) else {
                continue;
            };
            for case in eval.cases() {
                let (mut sum, mut n) = (0.0, 0usize);
                for number in case.slots().filter_map(|slot| numbers.get(&(slot as u32))) {
                    if number.is_nan() {
                        missing += 1;
                    } else {
                        (sum, n) = (sum + number, n + 1);
                    }
                }
                if n > 0 {
                    let value = sum / n as f64;
                    if is_score {
                        over.add(
                            at,
                            value,
                            Some(CaseSamples {
                                n: n as u32,
                                sum,
                                planned: case.finals().total(),
                            }),
                        );
                    }
                    values.push(at, value);
                    single &= n == 1;
                }
            }
        }
        if values.is_empty() {
            return None;
        }
        let share = over.share().filter(|_| is_score && single);
        let mut estimate = match is_score {
            true => over.estimate(intervals.is_some()),
            false => of_values(&values, intervals),
        };
        let unmeasured = missing - ungraded;
        if unmeasured > 0 {
            let why = format!(
                "`{name}` leaves out {unmeasured} of {samples} samples, in which it could not be measured"
            );
            let note = estimate.note.filter(|note| !note.is_empty());
            estimate.note = Some(note.map_or_else(|| why.clone(), |note| format!("{note}; {why}")));
        }
        let numbers = if is_score {
            NamedNumbers::Scores(over)
        } else {
            NamedNumbers::Unbounded(values, scope)
        };
        Some(NamedMetric {
            name: name.to_owned(),
            estimate,
            numbers,
            share,
            missing,
            samples,
        })
    }

    /// True when some sample should have the number and has none.
    pub fn is_open(&self) -> bool {
        self.missing > 0
    }

    /// What the interval is over.
    pub fn design(&self) -> IntervalDesign {
        match &self.numbers {
            NamedNumbers::Scores(over) => over.design(None),
            NamedNumbers::Unbounded(values, scope) => {
                IntervalDesign::of_numbers(values.clone(), *scope)
            }
        }
    }

    /// A number may be anything, so what is missing leaves both extremes open.
    pub fn estimate(&self, reading: OutcomeReading) -> Estimate {
        if reading == OutcomeReading::Graded || !self.is_open() {
            return self.estimate.clone();
        }
        undefined_because(format!(
            "{} of {} samples have no `{}`",
            self.missing, self.samples, self.name
        ))
    }
}
