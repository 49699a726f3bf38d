//! Exit codes, stable and documented.

use crate::model::Decision;

/// What the process ends with. When several apply the order is wrong, interrupted, fail,
/// incomplete, pending, pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// The gate passed.
    Pass = 0,
    /// An eval failed, a threshold was missed, a regression was found.
    Fail = 1,
    /// The command line, a definition or a setting is wrong; nothing ran.
    Wrong = 2,
    /// Something errored, so that the gate is undecided.
    Incomplete = 3,
    /// Human grades are still missing.
    Pending = 4,
    /// Ended by a signal; the journal is whole.
    Interrupted = 130,
}

impl ExitCode {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn of(decision: Decision, interrupted: bool) -> ExitCode {
        match decision {
            _ if interrupted => ExitCode::Interrupted,
            Decision::Pass => ExitCode::Pass,
            Decision::Fail => ExitCode::Fail,
            Decision::Incomplete => ExitCode::Incomplete,
            Decision::Pending => ExitCode::Pending,
            // A shard that did its part has done all that is asked of it.
            Decision::Undecided => ExitCode::Pass,
        }
    }

    /// The code of several runs: of those that any of them has the first in the order 2, 130, 1, 3,
    /// 4, 0.
    pub fn gravest(codes: &[ExitCode]) -> ExitCode {
        use ExitCode::{Fail, Incomplete, Interrupted, Pass, Pending, Wrong};
        let order = [Wrong, Interrupted, Fail, Incomplete, Pending];
        order
            .into_iter()
            .find(|code| codes.contains(code))
            .unwrap_or(Pass)
    }
}
