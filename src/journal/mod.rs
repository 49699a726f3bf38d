//! The run on disk: an append-only file of events, read back by everything that looks at a run.
//!
//! One JSON object a line. A line is handed to the operating system before anyone is told of its
//! event, so that what was shown survives a `kill -9`. A torn last line (the machine died inside a
//! write) is not an error: it is left out, and cut off before anything is appended. Outputs that
//! are too large for a line lie in files of their own beside the journal.

mod durable;
mod follow;
mod hidden;
mod outputs;
mod paths;
mod reader;
mod samples;
mod stored;
mod tail;
mod writer;

pub use follow::JournalFollower;
pub use hidden::PrivateCases;
pub use paths::{
    RunPaths, days, find_run, folder_name, hold_results, list_runs, lock_results, scan_runs,
};
pub use reader::{
    JournalReader, evals, planned_cases, planned_inputs, private_evals, read, read_case,
    read_counts, sessions, started,
};
pub use samples::{SampleEnding, SampleIndex, index_samples};
pub use stored::{graded_value, load_trajectory, output_of};
pub use writer::JournalWriter;

use std::path::PathBuf;

use crate::model::JOURNAL_VERSION;

/// What can go wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot write the journal {path}: {source}", path = path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot open the journal {path} for writing: {source}", path = path.display())]
    Open {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot read the journal {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}:{line}: not a journal line: {message}", path = path.display())]
    Line {
        path: PathBuf,
        line: usize,
        message: String,
    },
    #[error("{path} contains no run: it is empty or its first line is incomplete", path = path.display())]
    Empty { path: PathBuf },
    #[error("run {run} is being written by another process; wait until it ends")]
    Locked { run: String },
    #[error("runs of {dir} are being removed by another process; wait until it ends", dir = dir.display())]
    Removing { dir: PathBuf },
    #[error("a run in {dir} is in progress; wait until it ends", dir = dir.display())]
    InUse { dir: PathBuf },
    #[error("{path} was written by a later version of eval-harness (journal version {version})", path = path.display())]
    LaterVersion { path: PathBuf, version: u32 },
    #[error(
        "{path} was written by eval-harness {harness} in journal version {version}; this version reads version {JOURNAL_VERSION}",
        path = path.display()
    )]
    EarlierVersion {
        path: PathBuf,
        version: u32,
        harness: String,
    },
    #[error("no run `{run}` in {dir}", dir = dir.display())]
    NoRun {
        run: String,
        dir: PathBuf,
        latest: Option<String>,
    },
    #[error("there are no runs in {dir} yet", dir = dir.display())]
    NoRuns { dir: PathBuf },
    #[error("the stored output {path} can't be used: {message}", path = path.display())]
    Stored { path: PathBuf, message: String },
    #[error("the trajectory {path} can't be used: {message}", path = path.display())]
    Trajectory { path: PathBuf, message: String },
    #[error("cannot create {path}: {source}", path = path.display())]
    Create {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl JournalError {
    /// What a user can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            JournalError::Line { path, line, .. } => Some(format!(
                "to report the lines before it, write `head -n {} {}` to a file whose name ends in .journal.jsonl, \
                     and pass that file to `report --run`",
                line.saturating_sub(1),
                path.display()
            )),
            JournalError::Write { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("the recorded results are lost: run again".to_owned())
            }
            JournalError::Write { path, .. } if path.metadata().is_ok_and(|file| file.len() == 0) => {
                Some("nothing was recorded: run again once the file can be written".to_owned())
            }
            JournalError::Empty { .. } => {
                Some("nothing of that run was recorded: run again, or select an earlier run".to_owned())
            }
            JournalError::Write { path, .. } => {
                let journal = paths::journal_of(path)?;
                let words = ["eval-harness", "run", "--resume", journal.to_str()?];
                let command = eval_base::shell::line(&words)?;
                Some(format!("`{command}` continues once the file can be written"))
            }
            JournalError::NoRun { latest, .. } => latest.as_ref().map(|latest| format!("the latest is {latest}")),
            JournalError::NoRuns { .. } => Some(
                "the results folder is set by --output-dir or by the suite (--suite); the default is `results/` in \
                     the project".to_owned(),
            ),
            JournalError::Create { .. } => Some("set a different results folder with --output-dir".to_owned()),
            JournalError::LaterVersion { .. } => {
                Some("use that version, or a later one".to_owned())
            }
            JournalError::EarlierVersion { harness, .. } => {
                Some(format!("eval-harness {harness} reads it"))
            }
            _ => None,
        }
    }
}
