//! Reviews by people: what is left to review of a run, in which order, and what a reviewer decides.
//!
//! A session belongs to one reviewer. It reads outputs from journals and records decisions in the
//! project's reviews ([`crate::ratings`]); `run` and `regrade` turn those into grades.

mod item;
mod newer;
mod queue;
mod session;
#[cfg(test)]
mod tests;

pub use item::{
    Decision, FiledDecision, OtherRating, Recorded, ReviewContext, ReviewItem, ReviewProgress,
    ShownOutput, ShownVerdict,
};
pub use newer::changed_grades;
pub use queue::ReviewQueue;
pub use session::{ReviewSession, SessionOptions};

use crate::journal::JournalError;
use crate::ratings::RatingError;

/// Why a review can't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// All cases of the run are of private datasets.
    #[error("the cases of run {run} are of a private dataset, which reviewers must not see")]
    Private { run: String },
    #[error("run {run} has no output that people can review: {reason}")]
    Nothing { run: String, reason: String },
    #[error("`{text}` is not a queue: all, pending, disagreements, uncertain or sample=N")]
    NoQueue { text: String },
    #[error("there is no item {index}: the queue has {length}")]
    NoItem { index: usize, length: usize },
    /// The rating does not fit the scale.
    #[error("{0}")]
    Unfit(String),
    /// The journal has changed since the session began.
    #[error("the output of case {case} can't be read any more")]
    Gone { case: String },
    #[error("no random numbers: {0}")]
    Random(std::io::Error),
}

impl ReviewError {
    /// What a user can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReviewError::Journal(error) => error.hint(),
            ReviewError::Ratings(error) => error.hint().map(str::to_owned),
            ReviewError::Private { .. } => {
                Some("`dataset.private` of the eval keeps its cases out of sight".to_owned())
            }
            _ => None,
        }
    }
}
