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

pub use chances::{CaseChances, PassMoment, Population};
pub use design::{CaseFigure, SampleDesign, SamplePair};
pub use needs::{MOST_SAMPLES, fewest_cases, smallest};
pub use simulated::{OutcomeRates, PowerAim, TestedUnit, mean};
pub use threshold::{CasesNeeded, IntervalDemand, first};

/// Cases beyond which no number is given.
pub const MANY: u64 = 10_000_000;
