//! Thresholds held against a run: the decision and the exit code.
//!
//! A gate is decided three times: from the run as graded, and as if every sample without a grade
//! had failed or had passed. Only when the two extremes agree is there a decision.

mod answerable;
mod decide;
mod doubted;
mod exit;
mod hold;
mod near;
#[cfg(test)]
mod tables;

pub use answerable::{PlannedExtent, unanswerable};
pub use decide::{decide, number};
pub use doubted::{doubted, doubted_decision};
pub use exit::ExitCode;
pub use hold::{add_comparison, decided_comparisons};
