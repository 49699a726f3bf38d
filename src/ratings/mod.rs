//! Ratings by people, as files in git: `reviews/<suite>/<reviewer>.jsonl`, one line a decision.
//!
//! A line is written and synced before it counts as recorded. Merges of branches are concatenations:
//! the order of lines has no meaning, and equal lines count once. Whether a rating counts for an
//! output depends on digests alone.

mod draw;
mod line;
mod store;
#[cfg(test)]
mod tests;
mod verdict;

pub use draw::{question_key, rank};
pub use line::{RATING_VERSION, RatingLine};
pub use store::{RatingProblem, RatingStore, RatingWriter, new_rating_id};
pub use verdict::{PeopleVerdict, agree, assessed, rating_share};

use std::path::{Path, PathBuf};

use eval_base::text::escape_path_component;

/// What can go wrong with reviews.
#[derive(Debug, thiserror::Error)]
pub enum RatingError {
    #[error("cannot read the reviews {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The rating was not recorded; earlier ones are kept.
    #[error("the rating was not recorded: cannot write {path}: {source}", path = path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is being written by another process", path = path.display())]
    Locked { path: PathBuf },
    #[error("the name of the reviewer is empty")]
    NoReviewer,
}

impl RatingError {
    /// What a user can do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RatingError::Read { .. } => None,
            RatingError::Write { .. } => {
                Some("earlier ratings are kept; rate again once the file can be written")
            }
            RatingError::Locked { .. } => Some("rate again"),
            RatingError::NoReviewer => Some("pass a name with --as"),
        }
    }
}

/// The folder of the ratings of a suite.
pub fn store_dir(project: &Path, suite: &str) -> PathBuf {
    project.join("reviews").join(escape_path_component(suite))
}
