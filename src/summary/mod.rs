//! Events to a summary: the only place that counts.
//!
//! [`SummaryFold`] takes events one by one; [`SummaryFold::finish`] gives the [`UngatedSummary`] without its gate, and
//! the tallies that a gate decides from. The same events give the same figures, whatever the order
//! in which samples finished.

mod build;
mod calls;
#[cfg(test)]
mod calls_tests;
mod columns;
pub mod compare;
#[cfg(test)]
mod compared_tests;
mod composite;
mod contents;
mod corrected;
#[cfg(test)]
mod counting_tests;
mod details;
mod disclosure;
mod doubts;
mod failures;
mod fold;
mod inputs;
#[cfg(test)]
mod joined_tests;
mod judges;
#[cfg(test)]
mod judges_tests;
mod measured;
mod metrics;
mod named;
mod outcomes;
mod over_cases;
mod packed;
mod parts;
#[cfg(test)]
mod parts_tests;
mod people;
#[cfg(test)]
pub(crate) mod random_run;
mod recommend;
#[cfg(test)]
mod recount_tests;
mod repeated;
mod rerun;
mod sessions;
mod tags;
#[cfg(test)]
mod tests;

pub use build::UngatedSummary;
pub(crate) use columns::CaseView;
pub use fold::SummaryFold;
pub(crate) use metrics::CountedEval;
pub(crate) use over_cases::FEWEST_SAMPLES;
pub(crate) use over_cases::IntervalDesign;
pub use over_cases::{CaseSamples, OverCases};
pub use recommend::LITTLE_DATA;

/// Events that don't make a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("the journal has no `run_started` event")]
    NotStarted,
    #[error("the journal refers to eval `{0}`, which is not in the plan")]
    UnknownEval(String),
    #[error("the journal refers to case `{case}` of eval `{eval}`, which is not in the plan")]
    UnknownCase { eval: String, case: String },
    #[error(
        "the journal has sample {} of case `{case}` of eval `{eval}`, but {planned} were planned",
        .sample + 1
    )]
    UnknownSample {
        eval: String,
        case: String,
        sample: u32,
        planned: u32,
    },
    #[error("sample {} of case `{case}` of eval `{eval}` has no attempt", .sample + 1)]
    NoAttempt {
        eval: String,
        case: String,
        sample: u32,
    },
    #[error("eval `{0}` has more cases or samples than this program can count")]
    TooLarge(String),
}
