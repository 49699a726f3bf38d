//! Phase gates: the steps of an implementation plan are worked off in order, and what they came to is one decision and one
//! report.

pub mod changes;
pub mod checked;
mod command;
pub mod report;
pub mod results;
