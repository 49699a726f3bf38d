//! How many samples the cases of a plan have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CaseOutline, Eval};
use eval_base::text::group_digits;

/// Cases by their number of samples, with one of each to name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedSamples(BTreeMap<u32, (usize, String)>);

impl PlannedSamples {
    /// `samples` of a case of an eval; `None` for cases that are left out.
    pub fn of(
        evals: &[Arc<Eval>],
        samples: impl Fn(&Eval, CaseOutline<'_>) -> Option<u32>,
    ) -> Self {
        let mut planned = PlannedSamples::default();
        for eval in evals {
            for case in eval.cases.outlines() {
                // An eval of one case is named in its place.
                let name = || match eval.cases.len() {
                    1 => format!("`{}`", eval.info.id),
                    _ => format!("`{}` of `{}`", case.id, eval.info.id),
                };
                if let Some(samples) = samples(eval, case) {
                    planned.add(samples, name);
                }
            }
        }
        planned
    }

    /// Takes a case; `name` is called for the first one of each number.
    fn add(&mut self, samples: u32, name: impl FnOnce() -> String) {
        self.0.entry(samples).or_insert_with(|| (0, name())).0 += 1;
    }

    /// The cases with fewer than `k` samples, as what follows "needs k samples of every case, but";
    /// `None` where every case has them.
    pub fn fewer_than(&self, k: u32) -> Option<String> {
        let (fewest, (_, name)) = self
            .0
            .first_key_value()
            .filter(|(fewest, _)| **fewest < k)?;
        let short: usize = self.0.range(..k).map(|(_, (cases, _))| cases).sum();
        let all: usize = self.0.values().map(|(cases, _)| cases).sum();
        Some(match short {
            1 => format!("{name} has {fewest}"),
            _ => format!(
                "{} of {} cases have fewer: {name} has {fewest}",
                group_digits(short),
                group_digits(all)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_samples_name_their_number_and_the_case_with_fewest() {
        let mut planned = PlannedSamples::default();
        assert_eq!(planned.fewer_than(3), None);
        for (at, samples) in [3, 2, 1, 5, 1].into_iter().enumerate() {
            planned.add(samples, || format!("`c{at}`"));
        }
        assert_eq!(planned.fewer_than(1), None);
        assert_eq!(
            planned.fewer_than(2).unwrap(),
            "2 of 5 cases have fewer: `c2` has 1"
        );
        assert_eq!(
            planned.fewer_than(9).unwrap(),
            "5 of 5 cases have fewer: `c2` has 1"
        );
        let mut one = PlannedSamples::default();
        one.add(2, || "`a`".to_owned());
        one.add(4, || "`b`".to_owned());
        assert_eq!(one.fewer_than(3).unwrap(), "`a` has 2");
    }
}
