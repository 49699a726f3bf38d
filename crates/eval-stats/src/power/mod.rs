//! What a number of cases and samples can find, and what it takes to find something: for paired
//! differences and for thresholds on an end of an interval.

mod chances;
mod design;
mod needs;
mod normal;
mod simulated;
#[cfg(test)]
mod tests;
mod threshold;

pub use chances::{Chances, Moment, Population};
pub use design::{CaseFigure, Design, Samples};
pub use needs::{MOST_SAMPLES, fewest_cases, smallest};
pub use simulated::{Aim, Outcomes, Unit, mean};
pub use threshold::{Demand, More, first};

/// Cases beyond which no number is given.
pub const MANY: u64 = 10_000_000;
