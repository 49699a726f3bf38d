//! Phase gates: the steps of an implementation plan are worked off in order, and what they came to
//! is one decision and one report.
//!
//! [`ready`] opens what a loaded phase needs, [`drive`] works it off, `decide` makes one gate of
//! the steps; `written` keeps the report, `archive` the results of a phase that passed. Nothing
//! here prints.

pub mod archive;
pub mod changes;
pub mod checked;
mod command;
mod decide;
mod drive;
mod places;
mod ready;
mod redefined;
pub mod report;
pub mod results;
mod steps;
mod written;

pub use decide::not_kept;
pub use drive::{FinishedPhase, PhaseRun, PhaseWatcher, drive};
pub use ready::{NotReady, ReadyPhase, ready};
