//! The runs of a results folder one by one, as they are on disk.

use std::fs::{self, File};
use std::io;
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

/// The runs of a folder, oldest first: at most `last` of them, the newest. The texts are warnings.
pub fn stored_runs(
    results: &Path,
    last: Option<usize>,
    threads: usize,
) -> (Vec<StoredRun>, Vec<String>) {
    let (mut runs, unreadable) = journal::scan_runs(results);
    runs.drain(..runs.len().saturating_sub(last.unwrap_or(usize::MAX)));
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
        (run, warnings)
    });
    let stored = runs.into_iter().zip(read).map(|(paths, (run, told))| {
        let running = is_running(&paths);
        // That a run has no end is no news while it goes on.
        warnings.extend(told.into_iter().filter(|_| run.is_none()));
        StoredRun {
            bytes: files(&paths).iter().map(|file| size(file)).sum(),
            paths,
            run,
            running,
        }
    });
    let stored = stored.collect();
    (stored, warnings)
}

/// Whether another process writes the journal.
pub fn is_running(paths: &RunPaths) -> bool {
    let file = File::open(paths.journal());
    let state = file.and_then(|file| lock(&file, Duration::ZERO, Duration::ZERO));
    matches!(state, Ok(LockState::Busy))
}

/// Removes the files of a run, the journal last, and its day's folder when it is empty; how many
/// bytes that frees.
pub fn remove(paths: &RunPaths) -> io::Result<u64> {
    let journal = paths.journal();
    let (mut files, mut freed) = (files(paths), 0);
    files.sort_by_key(|file| *file == journal);
    for file in files {
        freed += size(&file);
        if fs::symlink_metadata(&file)?.is_dir() {
            fs::remove_dir_all(&file)?;
        } else {
            fs::remove_file(&file)?;
        }
    }
    // Other runs of the day keep the folder.
    let _ = fs::remove_dir(&paths.dir);
    Ok(freed)
}

/// Everything in the day's folder that is named after the run.
fn files(paths: &RunPaths) -> Vec<PathBuf> {
    let prefix = format!("{}.", paths.stem);
    let entries = fs::read_dir(&paths.dir).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    own.map(|entry| entry.path()).collect()
}

fn size(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
