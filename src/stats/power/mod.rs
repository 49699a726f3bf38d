//! What a number of cases and samples can find, and what it takes to find something: for paired differences and for thresholds on an
//! end of an interval.

mod simulated;
mod threshold;

pub use simulated::{
    Aim, CaseFigure, Chances, Design, MOST_CASES, MOST_SAMPLES, Moment, Outcomes, Population, Samples, Unit,
    cases_beyond, fewest_cases, guessed, mean, smallest,
};
pub use threshold::{Demand, More, first};

/// Cases beyond which no number is given.
pub const MANY: u64 = 10_000_000;
