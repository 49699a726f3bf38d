//! Why untrusted code could not be run. None of these says anything about the code.

use thiserror::Error;

use super::Tier;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SandboxError {
    /// No tier works on this machine.
    #[error("no isolation is available: {}", list(reasons))]
    Unavailable {
        /// What each tier that was tried said.
        reasons: Vec<(Tier, String)>,
        /// What a user can do about it.
        remedy: String,
    },
    /// There is no usable Python.
    #[error("no usable Python interpreter: {0}")]
    InterpreterMissing(String),
    /// The program can't be started inside the sandbox: it does not exist there or is not
    /// executable.
    #[error("{program} could not be started in the sandbox: {reason}")]
    CannotStart { program: String, reason: String },
    /// The program ran, but the harness could not write what it printed.
    #[error("the output of the program cannot be written: {0}")]
    OutputUnwritten(String),
    /// The request itself makes no sense, for example a file outside the working folder.
    #[error("{0}")]
    BadRequest(String),
    /// The cell broke down while it ran a job. Trying again gets a new one.
    #[error("internal error in the sandbox: {0}")]
    Lost(String),
}

impl SandboxError {
    pub(super) fn lost(e: impl std::fmt::Display) -> Self {
        SandboxError::Lost(e.to_string())
    }
}

impl From<std::io::Error> for SandboxError {
    fn from(e: std::io::Error) -> Self {
        SandboxError::lost(e)
    }
}

impl From<serde_json::Error> for SandboxError {
    fn from(e: serde_json::Error) -> Self {
        SandboxError::lost(e)
    }
}

fn list(reasons: &[(Tier, String)]) -> String {
    let parts: Vec<String> = reasons
        .iter()
        .map(|(tier, reason)| format!("{tier}: {reason}"))
        .collect();
    parts.join("; ")
}
