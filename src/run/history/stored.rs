//! The runs of a results folder one by one, as they are on disk.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entries::{JournalHead, SKIPPED};
use super::read::{run_of_head, run_of_head_by};
use super::{PastRun, TextInterner};
use crate::journal::{self, RunPaths};
use crate::model::Event;
use crate::run::in_parallel;
use eval_base::files::{LockState, lock_shared};

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
    let sizes = run_sizes(&runs);
    let stored = runs.into_iter().zip(read).map(|(paths, (run, told))| {
        let running = is_running(&paths);
        // That a run has no end is shown in the list.
        warnings.extend(told.into_iter().filter(|_| run.is_none()));
        StoredRun {
            bytes: sizes.of(&paths),
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

/// A run with all its evals and cases, and whether it captured baselines. `see` sees each event of
/// its journal, in full.
///
/// # Errors
/// Why it can't be read, in a sentence.
pub fn whole_run(paths: &RunPaths, see: impl FnMut(&Event)) -> Result<(PastRun, bool), String> {
    let journal = paths.journal();
    let mut started = journal::started(&journal).map_err(|error| error.to_string())?;
    let capture = started.capture;
    // As large as all cases together.
    started.config.comparison.reference = None;
    let see = RefCell::new(see);
    let read = |path: &Path| {
        let events = journal::read(path)?;
        Ok(events.inspect(|event| {
            if let Ok(event) = event {
                see.borrow_mut()(event);
            }
        }))
    };
    let mut warnings = Vec::new();
    let head = JournalHead { journal, started };
    let run = run_of_head_by(&head, &TextInterner::default(), &mut warnings, read);
    run.map(|run| (run, capture)).ok_or_else(|| {
        let warning = warnings.pop().unwrap_or_default();
        let whole = warning.strip_suffix(SKIPPED).map(str::to_owned);
        whole.unwrap_or(warning)
    })
}

/// Bytes of the files of runs.
#[derive(Debug, Default)]
pub struct RunSizes(HashMap<(PathBuf, String), u64>);

impl RunSizes {
    /// Bytes of the journal, the outputs and the reports of a run.
    pub fn of(&self, paths: &RunPaths) -> u64 {
        let key = (paths.dir.clone(), paths.stem.clone());
        self.0.get(&key).copied().unwrap_or(0)
    }
}

/// Measures the files of runs, each folder at once.
pub fn run_sizes(runs: &[RunPaths]) -> RunSizes {
    let mut sizes = HashMap::new();
    let folders: BTreeSet<&PathBuf> = runs.iter().map(|run| &run.dir).collect();
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some((stem, _)) = name.to_string_lossy().split_once('.') {
                let key = (folder.clone(), stem.to_owned());
                *sizes.entry(key).or_default() += size(&entry.path());
            }
        }
    }
    RunSizes(sizes)
}

/// Whether another process writes the journal.
pub fn is_running(paths: &RunPaths) -> bool {
    let file = File::open(paths.journal());
    // Shared: two that look at once are not in each other's way.
    let state = file.and_then(|file| lock_shared(&file, Duration::ZERO, Duration::ZERO));
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
