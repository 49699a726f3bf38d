//! Answers of earlier runs, in SQLite.

use serde::{Deserialize, Serialize};

use super::Completion;

/// An answer and when it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    pub completion: Completion,
    /// RFC 3339, UTC.
    pub answered_at: String,
}
