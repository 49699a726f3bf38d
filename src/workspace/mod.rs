//! Workspaces while a suite runs: templates are made once, each sample gets a folder of its own, and
//! graders look at what the target left in it or run tests in a cell above it.

mod finished;

use crate::model::Cause;

pub use finished::{FinishedWorkspace, WorkspaceTestJob, WorkspaceTestRun};

/// Why something could not be done in a workspace: the sample is errored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorkspaceFault {
    pub cause: Cause,
    /// One sentence for people.
    pub reason: String,
}

impl WorkspaceFault {
    pub fn new(cause: Cause, reason: impl Into<String>) -> WorkspaceFault {
        WorkspaceFault {
            cause,
            reason: reason.into(),
        }
    }
}
