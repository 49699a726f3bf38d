//! The run on disk: an append-only file of events, read back by everything that looks at a run.
//!
//! One JSON object a line. A line is handed to the operating system before anyone is told of its event, so that what was
//! shown survives a `kill -9`. A torn last line (the machine died inside a write) is not an error: it is left out.

mod paths;
mod reader;
mod samples;
mod stored;
mod writer;

pub use paths::{RunPaths, find_run, list_runs};
pub use reader::{Journal, read};
pub use samples::{SampleIndex, index_samples};
pub use stored::output_of;
pub use writer::JournalWriter;

use std::path::PathBuf;

/// What can go wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot write the journal {path}: {source}", path = path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot read the journal {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: not a journal line: {message}", path = path.display())]
    Line { path: PathBuf, line: usize, message: String },
    #[error("{path} holds no run: it is empty or its first line is torn", path = path.display())]
    Empty { path: PathBuf },
    #[error("{path} was written by a later version of eval-harness (journal version {version})", path = path.display())]
    Version { path: PathBuf, version: u32 },
    #[error("no run `{run}` below {dir}{hint}", dir = dir.display())]
    NoRun { run: String, dir: PathBuf, hint: String },
    #[error("the stored output {path} can't be used: {message}", path = path.display())]
    Stored { path: PathBuf, message: String },
    #[error("cannot create {path}: {source}", path = path.display())]
    Create { path: PathBuf, source: std::io::Error },
}
