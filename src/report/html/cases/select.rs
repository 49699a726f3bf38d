//! Which cases a page holds when a run has more than it can.

use crate::model::{CaseResult, EvalResult, Outcome};

/// A case with the place of its eval.
#[derive(Debug, Clone, Copy)]
pub struct PlacedCase<'a> {
    pub eval_at: usize,
    pub eval: &'a EvalResult,
    pub case: &'a CaseResult,
}

impl PlacedCase<'_> {
    /// Whether somebody may have to look at it.
    pub fn matters(&self) -> bool {
        self.case.outcome != Outcome::Passed || self.case.flaky
    }
}

/// At most so many, in the plan's order: what matters first, then passes spread evenly over the
/// plan. Always the same ones.
pub fn held<'a>(all: Vec<PlacedCase<'a>>, most: usize) -> Vec<PlacedCase<'a>> {
    if all.len() <= most {
        return all;
    }
    let matters = all.iter().filter(|held| held.matters()).count().min(most);
    let passes = all.iter().filter(|held| !held.matters()).count();
    let room = most - matters;
    let (mut kept, mut seen, mut sampled) = (0, 0, 0);
    all.into_iter()
        .filter(|held| {
            if held.matters() {
                kept += 1;
                return kept <= matters;
            }
            // The n-th sample is the pass at n * passes / room.
            let take = sampled < room && seen == sampled * passes / room;
            seen += 1;
            sampled += usize::from(take);
            take
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{CaseResult, EvalType};

    fn eval(cases: &[(bool, bool)]) -> EvalResult {
        let cases = cases
            .iter()
            .enumerate()
            .map(|(n, (passed, flaky))| CaseResult {
                id: n.to_string(),
                name: None,
                outcome: if *passed {
                    Outcome::Passed
                } else {
                    Outcome::Failed
                },
                score: None,
                cause: None,
                flaky: *flaky,
                first_passes: 0,
                first_graded: 0,
                tags: Vec::new(),
                input: None,
                samples: Vec::new(),
            });
        EvalResult {
            private: false,
            id: "e".to_owned(),
            name: "e".to_owned(),
            kind: EvalType::Capability,
            category: None,
            tags: Vec::new(),
            weight: 1.0,
            difficulty: None,
            criticality: None,
            source: None,
            outcome: Outcome::Failed,
            score: None,
            counts: crate::model::Counts::default(),
            cases: cases.collect(),
        }
    }

    proptest! {
        /// Never too many and never fewer than fit; in the plan's order; a pass only when all that
        /// matters is held; passes evenly.
        #[test]
        fn what_matters_comes_first_and_passes_are_spread(
            cases in prop::collection::vec((prop::bool::weighted(0.8), prop::bool::weighted(0.05)), 0..300),
            most in 0usize..200,
        ) {
            let eval = eval(&cases);
            let all: Vec<PlacedCase> = eval.cases.iter().map(|case| PlacedCase { eval_at: 0, eval: &eval, case }).collect();
            let places = |held: &[PlacedCase]| -> Vec<usize> { held.iter().map(|held| held.case.id.parse().unwrap()).collect() };
            let kept = held(all.clone(), most);
            prop_assert_eq!(kept.len(), all.len().min(most));
            let at = places(&kept);
            prop_assert!(at.is_sorted_by(|a, b| a < b));
            let left_out = all.iter().filter(|held| held.matters()).count() - kept.iter().filter(|held| held.matters()).count();
            prop_assert!(left_out == 0 || kept.iter().all(PlacedCase::matters));
            // Between two samples there are as many passes as between any other two, give or take
            // one.
            let passes: Vec<usize> = places(&all.iter().filter(|held| !held.matters()).copied().collect::<Vec<_>>());
            let sampled: Vec<usize> = passes.iter().enumerate().filter(|(_, place)| at.contains(place)).map(|(n, _)| n).collect();
            let gaps: Vec<usize> = sampled.windows(2).map(|pair| pair[1] - pair[0]).collect();
            if let (Some(least), Some(greatest)) = (gaps.iter().min(), gaps.iter().max()) {
                prop_assert!(greatest - least <= 1, "{gaps:?}");
            }
            prop_assert_eq!(places(&held(all, most)), at);
        }
    }
}
