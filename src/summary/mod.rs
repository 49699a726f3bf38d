//! Events to a summary: the only place that counts.
//!
//! [`Fold`] takes events one by one; [`Fold::finish`] gives the [`Report`] without its gate, and the tallies that a gate
//! decides from. The same events give the same figures, whatever the order in which samples finished.

mod build;
mod failures;
mod fold;
mod metrics;
mod outcomes;
mod rerun;
#[cfg(test)]
mod tests;

pub use build::Report;
pub use fold::Fold;

/// Samples beyond which only those that did not pass keep their details.
pub const DETAILED_SAMPLES: usize = 20_000;

/// Events that don't make a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("the journal has no `run_started` event")]
    NotStarted,
    #[error("the journal speaks of eval `{0}`, which was never planned")]
    UnknownEval(String),
    #[error("the journal speaks of case `{case}` of eval `{eval}`, which was never planned")]
    UnknownCase { eval: String, case: String },
    #[error("the journal has sample {sample} of case `{case}` of eval `{eval}`, but {planned} were planned")]
    UnknownSample { eval: String, case: String, sample: u32, planned: u32 },
    #[error("sample {sample} of case `{case}` of eval `{eval}` has no attempt")]
    NoAttempt { eval: String, case: String, sample: u32 },
}
