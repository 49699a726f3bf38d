//! The runs of a results folder one by one, as they are on disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entries::JournalHead;
use super::read::run_of_head;
use super::{PastRun, TextInterner};
use crate::journal::{self, RunPaths};
use crate::run::in_parallel;
use eval_base::files::{LockState, lock};

/// A run and its files.
#[derive(Debug)]
pub struct StoredRun {
    pub paths: RunPaths,
    /// What its journal holds; `None` where it can't be read.
    pub run: Option<PastRun>,
    /// Bytes of its journal, outputs and reports.
    pub bytes: u64,
    /// Another process writes it now.
    pub running: bool,
}

/// The runs of a folder.
#[derive(Debug)]
pub struct StoredRuns {
    /// Oldest first.
    pub runs: Vec<StoredRun>,
    /// Older runs that are not among them.
    pub older: usize,
    pub warnings: Vec<String>,
}

/// Reads the runs of a folder: at most `last` of them, the newest.
pub fn stored_runs(results: &Path, last: Option<usize>, threads: usize) -> StoredRuns {
    let (mut runs, unreadable) = journal::scan_runs(results);
    let older = runs.len().saturating_sub(last.unwrap_or(usize::MAX));
    runs.drain(..older);
    let mut warnings: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    let texts = TextInterner::default();
    let read = in_parallel(&runs, threads, |paths| {
        let mut warnings = Vec::new();
        let run = match journal::started(&paths.journal()) {
            Ok(started) => {
                let journal = paths.journal();
                run_of_head(&JournalHead { journal, started }, &texts, &mut warnings)
            }
            Err(error) => {
                warnings.push(error.to_string());
                None
            }
        };
        // Of each run only the totals are needed.
        let run = run.map(|run: PastRun| PastRun {
            evals: Vec::new(),
            ..run
        });
        (run, warnings)
    });
    let stored = runs.into_iter().zip(read).map(|(paths, (run, told))| {
        let running = is_running(&paths);
        // That a run has no end is shown in the list.
        warnings.extend(told.into_iter().filter(|_| run.is_none()));
        StoredRun {
            bytes: files(&paths).iter().map(|file| size(file)).sum(),
            paths,
            run,
            running,
        }
    });
    StoredRuns {
        runs: stored.collect(),
        older,
        warnings,
    }
}

/// Whether another process writes the journal.
pub(super) fn is_running(paths: &RunPaths) -> bool {
    let file = File::open(paths.journal());
    let state = file.and_then(|file| lock(&file, Duration::ZERO, Duration::ZERO));
    matches!(state, Ok(LockState::Busy))
}

/// Everything in the day's folder that is named after the run.
pub(super) fn files(paths: &RunPaths) -> Vec<PathBuf> {
    let prefix = format!("{}.", paths.stem);
    let entries = fs::read_dir(&paths.dir).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    own.map(|entry| entry.path()).collect()
}

pub(super) fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
