//! When to give a model up: a key that is wrong, or a model that is not there, is not asked ten
//! thousand times.

use crate::{FaultKind, ModelFault};

/// Fatal answers in a row after which a model that never answered is given up.
const IN_A_ROW: u32 = 3;

/// The same for one that has answered: the key was revoked, say, or the credit is used up. Calls
/// that ended well while these came in break the row, so it takes a few more to be sure.
const AFTER_ANSWERS: u32 = 10;

/// The same for one that never answered and refuses each question in the very same words, which are
/// then not about the question.
const SAME_REFUSALS: u32 = 10;

/// What a model's answers were of late.
#[derive(Debug, Default)]
pub(super) struct FailureStreak {
    answered: bool,
    in_a_row: u32,
    /// Why the row began.
    first: String,
    /// Refusals of a question in a row that say the same, and what they say.
    same_refusals: u32,
    refusal: String,
    /// Why nothing more is sent, when that is so.
    given_up: Option<ModelFault>,
}

impl FailureStreak {
    /// It works, whatever was thought of it before.
    pub fn answered(&mut self) {
        *self = FailureStreak {
            answered: true,
            ..FailureStreak::default()
        };
    }

    /// Notes an answer that every further question would get, too; true when it is the one that
    /// gives the model up.
    pub fn failed(&mut self, fault: &ModelFault) -> bool {
        if self.in_a_row == 0 {
            self.first.clone_from(&fault.reason);
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        let most = if self.answered {
            AFTER_ANSWERS
        } else {
            IN_A_ROW
        };
        self.in_a_row >= most && self.give_up(most, self.first.clone())
    }

    /// Notes that a question was refused, which says nothing of other questions unless it is all
    /// that is ever said; true when it is the refusal that gives the model up.
    ///
    /// A refusal comes at once and an answer takes time, so as many are needed as there are calls
    /// under way (`in_flight`).
    pub fn refused(&mut self, fault: &ModelFault, in_flight: usize) -> bool {
        if self.answered {
            return false;
        }
        if self.same_refusals == 0 || self.refusal != fault.reason {
            (self.refusal, self.same_refusals) = (fault.reason.clone(), 0);
        }
        self.same_refusals += 1;
        let refusals = self.same_refusals;
        refusals >= SAME_REFUSALS
            && refusals as usize >= in_flight
            && self.give_up(refusals, self.refusal.clone())
    }

    /// Notes a fault of another kind, which breaks the row of refusals.
    pub fn ended_otherwise(&mut self) {
        self.same_refusals = 0;
    }

    fn give_up(&mut self, most: u32, why: String) -> bool {
        let now = self.given_up.is_none();
        self.given_up.get_or_insert_with(|| {
            ModelFault::new(
                FaultKind::GivenUp,
                format!("not asked, because {most} calls in a row ended so: {why}"),
            )
        });
        now
    }

    /// Why nothing more is sent, when that is so.
    pub fn given_up(&self) -> Option<ModelFault> {
        self.given_up.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(reason: &str) -> ModelFault {
        ModelFault::new(FaultKind::Unauthorized, reason)
    }

    #[test]
    fn three_in_a_row_end_it_and_the_first_says_why() {
        let mut fatal = FailureStreak::default();
        assert!(!fatal.failed(&fault("no such key")) && !fatal.failed(&fault("b")));
        assert_eq!(fatal.given_up(), None);
        assert!(fatal.failed(&fault("c")) && !fatal.failed(&fault("in flight")));
        let given_up = fatal.given_up().unwrap();
        assert_eq!(given_up.kind, FaultKind::GivenUp);
        assert_eq!(
            given_up.reason,
            "not asked, because 3 calls in a row ended so: no such key"
        );
    }

    #[test]
    fn same_refusal_of_every_question_ends_it() {
        let mut fatal = FailureStreak::default();
        for n in 1..SAME_REFUSALS {
            assert!(!fatal.refused(&fault("400: unknown field"), 4), "{n}");
        }
        assert_eq!(fatal.given_up(), None);
        assert!(
            fatal.refused(&fault("400: unknown field"), 4)
                && !fatal.refused(&fault("400: unknown field"), 4)
        );
        assert_eq!(
            fatal.given_up().unwrap().reason,
            "not asked, because 10 calls in a row ended so: 400: unknown field"
        );
        // Refusals that differ are about their questions, and those of a model that answers
        // likewise.
        let mut fatal = FailureStreak::default();
        assert!(
            (0..50).all(|n| !fatal.refused(&fault(&format!("400: {n} tokens are too many")), 4))
        );
        fatal.answered();
        assert!((0..50).all(|_| !fatal.refused(&fault("400: no"), 4)));
        // Twenty calls under way may still be answered.
        let mut fatal = FailureStreak::default();
        assert!((0..19).all(|_| !fatal.refused(&fault("400: blocked"), 20)));
        fatal.ended_otherwise();
        assert!((0..19).all(|_| !fatal.refused(&fault("400: blocked"), 20)));
        assert!(fatal.refused(&fault("400: blocked"), 20));
    }

    #[test]
    fn an_answer_breaks_the_row_and_asks_for_a_longer_one() {
        let mut fatal = FailureStreak::default();
        fatal.failed(&fault("a"));
        fatal.failed(&fault("b"));
        fatal.answered();
        for n in 1..AFTER_ANSWERS {
            assert!(!fatal.failed(&fault("c")), "{n}");
        }
        assert!(fatal.failed(&fault("d")));
        assert_eq!(
            fatal.given_up().unwrap().reason,
            "not asked, because 10 calls in a row ended so: c"
        );
    }
}
