//! Whether the samples of cases repeat themselves.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::columns::CaseView;
use crate::model::{Attempt, OutputValue};

/// Cases with several samples from which on it is worth a notice that none of them has two outputs:
/// of fewer, short answers are the same by chance too often.
const FEWEST_REPEATED: usize = 5;

/// The outputs of first attempts, which pass@k counts. Once a case has two that differ nothing is
/// kept any more.
#[derive(Debug, Default)]
pub(super) struct RepeatedOutputs {
    /// By eval and case the digest of one output, of cases that have several samples; 0 while none
    /// is known.
    digests: Vec<Vec<u64>>,
    /// Two samples of a case have different outputs, or one has none.
    vary: bool,
}

impl RepeatedOutputs {
    /// Takes the first attempt of a sample; `samples` of its case are planned.
    pub fn see(&mut self, (eval, case): (usize, usize), samples: usize, first: &Attempt) {
        if self.vary || samples < 2 || !first.verdict.outcome.is_graded() {
            return;
        }
        if self.digests.len() <= eval {
            self.digests.resize_with(eval + 1, Vec::new);
        }
        let known = &mut self.digests[eval];
        if known.len() <= case {
            known.resize(case + 1, 0);
        }
        let digest = digest(first).unwrap_or_default();
        if known[case] == 0 {
            known[case] = digest;
        }
        if digest == 0 || known[case] != digest {
            *self = RepeatedOutputs {
                vary: true,
                digests: Vec::new(),
            };
        }
    }

    /// Cases with several graded samples, when each of them has one output and one verdict in all
    /// of these and they are at least [`FEWEST_REPEATED`]; else 0.
    pub fn count<'a>(&self, cases: impl Iterator<Item = CaseView<'a>>) -> usize {
        if self.vary {
            return 0;
        }
        let firsts = cases
            .filter(|case| case.samples().len() > 1)
            .map(CaseView::firsts);
        let mut repeated = 0;
        for firsts in firsts.filter(|firsts| firsts.passed + firsts.failed > 1) {
            // A judge that varies makes several verdicts of one output.
            if firsts.passed > 0 && firsts.failed > 0 {
                return 0;
            }
            repeated += 1;
        }
        if repeated >= FEWEST_REPEATED {
            repeated
        } else {
            0
        }
    }
}

/// Of what a target gave, to be compared within one process; never 0. `None` when it gave nothing.
fn digest(attempt: &Attempt) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match (&attempt.output, &attempt.stored) {
        (Some(output), _) => match &output.value {
            OutputValue::Text(text) | OutputValue::Program(text) => text.hash(&mut hasher),
            OutputValue::Json(value) => value.hash(&mut hasher),
        },
        (None, Some(stored)) => stored.sha256.hash(&mut hasher),
        (None, None) => return None,
    }
    Some(hasher.finish().max(1))
}
