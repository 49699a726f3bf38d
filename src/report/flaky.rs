//! Samples that passed on a later attempt only.

use crate::model::{EarlierAttempt, Summary};

/// One such sample; of a case whose samples are not in the summary only the case is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlakySample<'a> {
    pub eval: &'a str,
    pub case: &'a str,
    /// The sample and the attempt that passed, both from 1.
    pub sample: Option<(u32, usize)>,
    /// How the first attempt ended, where that is known.
    pub first: Option<&'a EarlierAttempt>,
}

impl FlakySample<'_> {
    /// `sample 1 passed on attempt 3`.
    pub fn words(&self) -> String {
        match self.sample {
            Some((sample, attempts)) => format!("sample {sample} passed on attempt {attempts}"),
            None => "passed on a later attempt".to_owned(),
        }
    }
}

/// All of them, in the order of the summary.
pub fn flaky(summary: &Summary) -> impl Iterator<Item = FlakySample<'_>> {
    let cases = summary
        .evals
        .iter()
        .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
    cases
        .filter(|(_, case)| case.flaky)
        .flat_map(|(eval, case)| {
            let of = move |sample, first| FlakySample {
                eval: &eval.id,
                case: &case.id,
                sample,
                first,
            };
            let listed = case.samples.iter().filter(|sample| sample.flaky);
            let listed = listed.map(move |sample| {
                of(
                    Some((sample.index + 1, sample.attempts)),
                    sample.earlier.first(),
                )
            });
            let alone = case
                .samples
                .iter()
                .all(|sample| !sample.flaky)
                .then(|| of(None, None));
            listed.chain(alone)
        })
}
