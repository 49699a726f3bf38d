//! Numbers that graders measured and named, such as `lint_pass`.

use std::collections::BTreeSet;

use super::metrics::{CountedEval, OverCases, undefined_because};
use super::outcomes::Reading;
use crate::model::Estimate;

/// One name: the mean over cases of the mean over each case's graded samples that have the number.
pub(super) struct Named {
    pub name: String,
    estimate: Estimate,
    /// Samples that have the number, of all that were planned.
    told: usize,
    samples: usize,
}

impl Named {
    /// Every name that a graded sample has, ascending.
    pub fn all(evals: &[CountedEval<'_>], samples: usize, seed: u64) -> Vec<Named> {
        let names: BTreeSet<&str> = evals.iter().flat_map(|eval| eval.fold.metric_names()).collect();
        names.into_iter().filter_map(|name| Named::new(name, evals, samples, seed)).collect()
    }

    fn new(name: &str, evals: &[CountedEval<'_>], samples: usize, seed: u64) -> Option<Named> {
        let mut over = OverCases::new();
        let (mut told, mut single) = (0, true);
        for (at, eval) in evals.iter().enumerate() {
            let Some(numbers) = eval.fold.metric(name).filter(|numbers| !numbers.is_empty()) else {
                continue;
            };
            for case in eval.cases() {
                let of_case = case.slots().filter_map(|slot| numbers.get(&(slot as u32)));
                let (sum, n) = of_case.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
                if n > 0 {
                    over.add(at, sum / n as f64);
                    told += n;
                    single &= n == 1;
                }
            }
        }
        if over.is_empty() {
            return None;
        }
        let estimate = over.estimate(single && over.is_binary(), seed);
        Some(Named { name: name.to_owned(), estimate, told, samples })
    }

    /// True when some sample has no such number, or none that counts because it has no grade.
    pub fn is_open(&self) -> bool {
        self.told < self.samples
    }

    /// A number may be anything, so what is missing leaves both extremes open.
    pub fn estimate(&self, reading: Reading) -> Estimate {
        if reading == Reading::Graded || !self.is_open() {
            return self.estimate.clone();
        }
        let missing = self.samples - self.told;
        undefined_because(format!("{missing} of {} samples have no `{}`", self.samples, self.name))
    }
}
