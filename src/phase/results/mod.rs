//! What tests came to: JUnit files that globs find, and the summaries that test runners print.
//!
//! Every source is read into a [`TestTally`], which holds the numbers and, apart from them, what
//! forbids to call them a pass.

pub mod files;
mod lines;
mod runners;

pub use crate::test_results::{TestTally, junit, say_each};
pub use runners::{RunnerResults, SummaryReader};
