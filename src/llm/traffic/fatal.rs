//! When to give a model up: a key that is wrong, or a model that is not there, is not asked ten thousand times.

use super::super::{Fault, FaultKind};

/// Fatal answers in a row after which a model that never answered is given up.
const IN_A_ROW: u32 = 3;

/// The same for one that has answered: the key was revoked, say, or the credit is used up. Calls that ended well while these came in
/// break the row, so it takes a few more to be sure.
const AFTER_ANSWERS: u32 = 10;

/// What a model's answers were of late.
#[derive(Debug, Default)]
pub(super) struct Fatal {
    answered: bool,
    in_a_row: u32,
    /// Why the row began.
    first: Option<String>,
    given_up: bool,
}

impl Fatal {
    /// It works, whatever was thought of it before.
    pub fn answered(&mut self) {
        *self = Fatal { answered: true, ..Fatal::default() };
    }

    /// Notes an answer that every further question would get, too; true when it is the one that gives the model up.
    pub fn failed(&mut self, fault: &Fault) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.first.get_or_insert_with(|| fault.reason.clone());
        let most = if self.answered { AFTER_ANSWERS } else { IN_A_ROW };
        let now = !self.given_up && self.in_a_row >= most;
        self.given_up |= now;
        now
    }

    /// Why nothing more is sent, when that is so.
    pub fn given_up(&self) -> Option<Fault> {
        let first = self.first.as_deref().unwrap_or_default();
        self.given_up.then(|| {
            let most = if self.answered { AFTER_ANSWERS } else { IN_A_ROW };
            Fault::new(
                FaultKind::GivenUp,
                format!("not asked, because {most} calls in a row ended so: {first}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(reason: &str) -> Fault {
        Fault::new(FaultKind::Unauthorized, reason)
    }

    #[test]
    fn three_in_a_row_end_it_and_the_first_says_why() {
        let mut fatal = Fatal::default();
        assert!(!fatal.failed(&fault("no such key")) && !fatal.failed(&fault("b")));
        assert_eq!(fatal.given_up(), None);
        assert!(fatal.failed(&fault("c")) && !fatal.failed(&fault("in flight")));
        let given_up = fatal.given_up().unwrap();
        assert_eq!(given_up.kind, FaultKind::GivenUp);
        assert_eq!(given_up.reason, "not asked, because 3 calls in a row ended so: no such key");
    }

    #[test]
    fn an_answer_breaks_the_row_and_asks_for_a_longer_one() {
        let mut fatal = Fatal::default();
        fatal.failed(&fault("a"));
        fatal.failed(&fault("b"));
        fatal.answered();
        for n in 1..AFTER_ANSWERS {
            assert!(!fatal.failed(&fault("c")), "{n}");
        }
        assert!(fatal.failed(&fault("d")));
        assert_eq!(fatal.given_up().unwrap().reason, "not asked, because 10 calls in a row ended so: c");
    }
}
