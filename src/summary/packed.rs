//! How a sample ended, in four bytes.

use crate::model::{Cause, Outcome, Trust};

/// Outcome, outcome of the first attempt, cause and marks of one sample.
///
/// Bits 0 to 2 hold the outcome and 3 to 5 that of the first attempt (places in [`Outcome::ALL`]),
/// bits 6 to 12 the cause (its place in [`Cause::ALL`] plus 1, or 0), bits from 15 the marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedSample(u32);

/// Passed with an empty output, by graders that require no text.
pub(super) const EMPTY_PASS: u32 = 1 << 15;
const FINISHED: u32 = 1 << 16;
/// Passed only on a later attempt.
pub(super) const FLAKY: u32 = 1 << 17;
/// A program ran out of time and was run once more, alone.
pub(super) const ADJUDICATED: u32 = 1 << 18;
/// The score is not the 0 or 1 of the outcome and stands in its column.
pub(super) const OWN_SCORE: u32 = 1 << 19;
/// The target told what it used.
pub(super) const USAGE: u32 = 1 << 20;
/// The first of the marks that say which levels of trust the sample's grades have, in the order of
/// [`Trust::ALL`].
const FIRST_TRUST: u32 = 1 << 21;
/// More than one grade of some level of trust: how many stands apart.
pub(super) const MORE_GRADES: u32 = 1 << 25;
/// Some of its outputs don't tell their tokens.
pub(super) const USAGE_IN_PART: u32 = 1 << 26;
/// The cost of some of its outputs is not known.
pub(super) const COST_IN_PART: u32 = 1 << 27;
/// Its answer came from a cache, a recording of a model's answers or an earlier run, so that it has
/// no latency.
pub(super) const KEPT: u32 = 1 << 28;
/// Output and grade were taken from an earlier run.
pub(super) const REUSED: u32 = 1 << 29;
/// The output was taken from an earlier run.
pub(super) const GRADED_AGAIN: u32 = 1 << 30;
/// The output was taken from an earlier run, and its command may read more files than it names.
pub(super) const UNLISTED_FILES: u32 = 1 << 31;

/// The mark of a level of trust.
pub(super) const fn trust_mark(trust: Trust) -> u32 {
    FIRST_TRUST << trust as u32
}

impl PackedSample {
    /// Nothing is known of it: the run was cut off.
    pub const UNKNOWN: PackedSample = PackedSample::skipped(Cause::Interrupted);

    pub const fn skipped(cause: Cause) -> PackedSample {
        PackedSample::new(Outcome::Skipped, Outcome::Skipped, Some(cause))
    }

    pub const fn finished(outcome: Outcome, first: Outcome, cause: Option<Cause>) -> PackedSample {
        PackedSample(PackedSample::new(outcome, first, cause).0 | FINISHED)
    }

    const fn new(outcome: Outcome, first: Outcome, cause: Option<Cause>) -> PackedSample {
        let cause = match cause {
            Some(cause) => cause as u32 + 1,
            None => 0,
        };
        PackedSample(outcome as u32 | (first as u32) << 3 | cause << 6)
    }

    pub fn with(self, mark: u32) -> PackedSample {
        PackedSample(self.0 | mark)
    }

    pub fn marked(self, mark: u32, yes: bool) -> PackedSample {
        if yes { self.with(mark) } else { self }
    }

    /// True when its output was taken from an earlier run.
    pub fn is_from_earlier_run(self) -> bool {
        self.has(REUSED) || self.has(GRADED_AGAIN)
    }

    pub fn has(self, mark: u32) -> bool {
        self.0 & mark != 0
    }

    pub fn is_finished(self) -> bool {
        self.has(FINISHED)
    }

    /// Passed, failed or pending: it need not run again.
    pub fn is_settled(self) -> bool {
        self.is_finished() && self.outcome() != Outcome::Errored
    }

    /// The sample's final outcome.
    pub fn outcome(self) -> Outcome {
        outcome(self.0)
    }

    /// The outcome of its first attempt.
    pub fn first(self) -> Outcome {
        outcome(self.0 >> 3)
    }

    pub fn cause(self) -> Option<Cause> {
        match self.0 >> 6 & 0x7f {
            0 => None,
            at => Cause::ALL.get(at as usize - 1).copied(),
        }
    }
}

fn outcome(bits: u32) -> Outcome {
    match bits & 7 {
        0 => Outcome::Passed,
        1 => Outcome::Failed,
        2 => Outcome::Errored,
        3 => Outcome::Skipped,
        _ => Outcome::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        for outcome in Outcome::ALL {
            for first in Outcome::ALL {
                for cause in Cause::ALL.iter().copied().map(Some).chain([None]) {
                    let packed = PackedSample::finished(outcome, first, cause).with(USAGE);
                    assert_eq!(
                        (packed.outcome(), packed.first(), packed.cause()),
                        (outcome, first, cause)
                    );
                    assert!(packed.is_finished() && packed.has(USAGE) && !packed.has(FLAKY));
                }
            }
        }
        let marked = Trust::ALL.into_iter().fold(
            PackedSample::finished(Outcome::Passed, Outcome::Passed, None),
            |p, trust| {
                assert!(!p.has(trust_mark(trust)));
                p.with(trust_mark(trust))
            },
        );
        assert!(
            !marked.has(MORE_GRADES) && !marked.has(USAGE) && marked.outcome() == Outcome::Passed
        );
        let skipped = PackedSample::skipped(Cause::MaxFail);
        assert_eq!(
            (skipped.outcome(), skipped.first()),
            (Outcome::Skipped, Outcome::Skipped)
        );
        assert_eq!(skipped.cause(), Some(Cause::MaxFail));
        assert!(!skipped.is_finished() && !PackedSample::UNKNOWN.is_finished());
    }
}
