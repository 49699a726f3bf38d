//! Reviews without the program: a page with its items within, and the file of decisions that comes
//! back.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::api::{ReviewOverview, ReviewScreen, ReviewSource};
use super::desk::{overview, screen};
use super::page;
use crate::report::ReportError;
use crate::review::{FiledDecision, ReviewError, ReviewProgress, ReviewSession};

/// The version of files of decisions.
const FILE_VERSION: u32 = 1;

/// What an exported page has within.
#[derive(Debug, Serialize)]
struct OfflineReview {
    session: ReviewOverview,
    items: Vec<ReviewScreen>,
}

/// Decisions of an exported page, or of a page whose server was gone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DecisionFile {
    version: u32,
    pub review: ReviewSource,
    pub reviewer: String,
    pub decisions: Vec<FiledDecision>,
}

/// What can go wrong with pages and files of decisions.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    #[error(transparent)]
    Review(#[from] ReviewError),
    #[error(transparent)]
    Page(#[from] ReportError),
    #[error("not a file of decisions: {0}")]
    NoDecisions(#[from] serde_json::Error),
    #[error("written by a later version of eval-harness (version {0} of the format)")]
    Later(u32),
    #[error("the decisions are on suite `{theirs}`, the run is of suite `{ours}`")]
    OtherSuite { theirs: String, ours: String },
}

/// Writes a page of what a session still has to decide; returns the number of items. `named`: the
/// reviewer is known, and the page does not require a name.
pub fn export(
    session: &ReviewSession,
    named: bool,
    out: &mut dyn Write,
) -> Result<usize, OfflineError> {
    let decided = session.decided();
    let open = (0..session.len()).filter(|index| decided.binary_search(index).is_err());
    let mut items = Vec::new();
    for (at, index) in open.enumerate() {
        items.push(screen(at, session.item(index)?));
    }
    let mut session = overview(session);
    session.reviewer = session.reviewer.filter(|_| named);
    session.items = items.len();
    session.decided = Vec::new();
    session.progress = ReviewProgress {
        total: items.len(),
        ..ReviewProgress::default()
    };
    let title = format!("Review of {}", session.review.suite);
    let count = items.len();
    page::write_file(&title, &OfflineReview { session, items }, out)?;
    Ok(count)
}

/// Reads a file of decisions.
pub fn read_decisions(text: &str) -> Result<DecisionFile, OfflineError> {
    let file: DecisionFile = serde_json::from_str(text)?;
    match file.version {
        FILE_VERSION => Ok(file),
        other => Err(OfflineError::Later(other)),
    }
}

/// Records the decisions of a file in the session of its reviewer, after all were checked; returns how many
/// were new.
pub fn import(session: &ReviewSession, file: &DecisionFile) -> Result<usize, OfflineError> {
    if file.review.suite != session.suite() {
        return Err(OfflineError::OtherSuite {
            theirs: file.review.suite.clone(),
            ours: session.suite().to_owned(),
        });
    }
    Ok(session.import(&file.decisions)?)
}
