//! Plans, outcomes, grades, events and summaries: plain data that the modules hand to each other.

mod asked;
mod baseline;
mod cases;
mod comparison;
mod endpoint;
mod event;
mod executor;
mod fingerprint;
mod grade;
mod grader;
mod judge;
mod judge_health;
mod judged;
mod metric;
mod models;
mod notify;
mod outcome;
mod outline;
mod part;
mod phase;
mod plan;
mod power;
mod run_scores;
mod sandbox;
mod summary;
mod target;
#[cfg(test)]
pub mod testing;

pub use asked::*;
pub use baseline::*;
pub use cases::*;
pub use comparison::*;
pub use endpoint::*;
pub use event::*;
pub use executor::*;
pub use fingerprint::*;
pub use grade::*;
pub use grader::*;
pub use judge::*;
pub use judge_health::*;
pub use judged::*;
pub use metric::*;
pub use models::*;
pub use notify::*;
pub use outcome::*;
pub use outline::*;
pub use part::*;
pub use phase::*;
pub use plan::*;
pub use power::*;
pub use run_scores::*;
pub use sandbox::*;
pub use summary::*;
pub use target::*;

pub use crate::spec::words::*;
