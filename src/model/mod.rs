//! Plans, outcomes, grades, events and summaries: plain data that the modules hand to each other.

mod event;
mod grade;
mod grader;
mod metric;
mod outcome;
mod plan;
mod summary;
mod target;

pub use event::*;
pub use grade::*;
pub use grader::*;
pub use metric::*;
pub use outcome::*;
pub use plan::*;
pub use summary::*;
pub use target::*;

pub use crate::spec::words::*;
