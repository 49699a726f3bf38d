//! What a number of cases and samples can find, and what it takes to find something: for paired differences and for thresholds on an
//! end of an interval.

mod components;
mod design;
mod mcnemar;
mod threshold;

pub use components::{CaseCounts, Spread, Variance, components};
pub use design::Aim;
pub use mcnemar::{connor_cases, miettinen_cases};
pub use threshold::{Demand, More, first};

/// Cases beyond which no number is told: nobody will write more.
pub const MANY: u64 = 10_000_000;
