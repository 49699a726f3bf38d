//! The runs of a results folder: found again and again, read by one thread in the background.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

use super::index::{
    IndexedContent, IndexedRun, IndexedRuns, JournalState, RunIndex, index_run, run_key,
};
use super::live::{LiveRun, LiveState};
use crate::journal::{self, JournalError, RunPaths, scan_runs};
use crate::model::RunIdentity;
use crate::run::history::{RunTotals, StoredRun, is_running, run_sizes};
use eval_base::sync::lock;
use eval_base::text::plural;
use eval_stats::in_parallel;

/// How old a list may be.
const FRESH: Duration = Duration::from_millis(700);
/// Journals that are read before any of them is in the index, and their bytes.
const BATCH: usize = 32;
const BATCH_BYTES: u64 = 16 << 20;
/// How often the thread that reads looks whether it is still needed.
const IDLE: Duration = Duration::from_secs(5);
/// After what time a run is read again that could not be written to the index.
const RETRY: Duration = Duration::from_secs(60);
/// How old the sizes of runs may be that do not change.
const MEASURED: Duration = Duration::from_secs(60);

/// What is known of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunState {
    /// Its journal is still to be read.
    Waiting,
    /// Another process writes its journal. `None` where that has no beginning yet.
    Running(Option<Box<RunIdentity>>),
    Read(Arc<RunTotals>),
    /// Why it can't be read.
    Unreadable(String),
}

/// A run of the folder.
#[derive(Debug, Clone)]
pub struct ListedRun {
    pub paths: RunPaths,
    /// Its name in the index.
    pub key: String,
    pub journal: JournalState,
    /// Bytes of all its files.
    pub bytes: u64,
    pub state: RunState,
}

impl ListedRun {
    /// The run as lists of runs take it.
    pub fn stored(&self) -> StoredRun {
        let run = match &self.state {
            RunState::Read(totals) => Some((**totals).clone().into_run()),
            RunState::Running(Some(identity)) => {
                Some(RunTotals::begun((**identity).clone()).into_run())
            }
            _ => None,
        };
        StoredRun {
            paths: self.paths.clone(),
            run,
            bytes: self.bytes,
            running: matches!(self.state, RunState::Running(_)),
        }
    }

    pub fn identity(&self) -> Option<&RunIdentity> {
        match &self.state {
            RunState::Read(totals) => Some(&totals.identity),
            RunState::Running(identity) => identity.as_deref(),
            _ => None,
        }
    }

    pub fn totals(&self) -> Option<&RunTotals> {
        match &self.state {
            RunState::Read(totals) => Some(totals),
            _ => None,
        }
    }
}

/// The runs of the folder at one moment.
#[derive(Debug, Default)]
pub struct RunList {
    /// Newest first.
    pub runs: Vec<ListedRun>,
    /// What of the folder can't be read, in sentences.
    pub warnings: Vec<String>,
    /// Runs that are still to be read.
    pub waiting: usize,
    /// Changes when a run appears, ends, is read or removed.
    pub version: u64,
}

impl RunList {
    pub fn find(&self, run_id: &str) -> Option<&ListedRun> {
        self.runs.iter().find(|run| run.paths.run_id == run_id)
    }
}

/// A results folder and what is known of its runs.
pub struct RunFolder {
    pub results: PathBuf,
    pub index: RunIndex,
    state: Mutex<FolderState>,
    /// There is something to read.
    work: Condvar,
    live: Mutex<HashMap<String, Arc<Mutex<LiveRun>>>>,
}

#[derive(Default)]
struct FolderState {
    known: IndexedRuns,
    list: Arc<RunList>,
    scanned: Option<Instant>,
    queue: VecDeque<(RunPaths, JournalState)>,
    /// Keys of runs that are being read.
    reading: HashSet<String>,
    /// Keys of runs that were read and are not in the index, and when they are read again.
    unwritten: HashMap<String, Instant>,
    /// Why they are not in the index.
    put_error: Option<String>,
    /// When the files of all runs were measured.
    measured: Option<Instant>,
    begun: HashMap<String, Box<RunIdentity>>,
}

impl RunFolder {
    /// Opens the index, and begins to read what it lacks.
    pub fn open(results: &Path) -> Arc<RunFolder> {
        let folder = Arc::new(RunFolder {
            results: results.to_owned(),
            index: RunIndex::open(results),
            state: Mutex::default(),
            work: Condvar::new(),
            live: Mutex::default(),
        });
        let weak = Arc::downgrade(&folder);
        let thread = std::thread::Builder::new().name("index".to_owned());
        // Without the thread, runs that the index lacks stay unread, and are shown so.
        let _ = thread.spawn(move || read_on(&weak));
        folder
    }

    /// The runs as they are now, or were a moment ago.
    pub fn list(&self) -> Arc<RunList> {
        let (list, gone) = {
            let mut state = lock(&self.state);
            let is_fresh = |scanned: Instant| scanned.elapsed() < FRESH;
            let gone = match state.scanned.is_some_and(is_fresh) {
                true => Vec::new(),
                false => self.scan(&mut state),
            };
            (Arc::clone(&state.list), gone)
        };
        if !gone.is_empty() {
            // What stays in the index is found again by the next process.
            let _ = self.index.remove(&gone);
        }
        list
    }

    /// Makes the list; returns the keys of runs that are gone.
    fn scan(&self, state: &mut FolderState) -> Vec<String> {
        // Deleted, replaced or never read: what was known is no longer in the index. Where the index
        // can't be read at the moment, what is known stays.
        if let Ok(generation) = self.index.generation()
            && generation != state.known.generation
            && let Ok(known) = self.index.runs()
        {
            state.known = known;
        }
        let (paths, unreadable) = scan_runs(&self.results);
        let mut is_whole = unreadable.is_empty();
        let mut runs = Vec::with_capacity(paths.len());
        state.queue.clear();
        for paths in paths.into_iter().rev() {
            let Some(journal) = JournalState::of(&paths) else {
                is_whole = false;
                continue;
            };
            let key = run_key(&paths);
            let known = state
                .known
                .runs
                .get(&key)
                .filter(|run| run.journal == journal);
            let run = match known.map(|run| &run.totals) {
                Some(Ok(totals)) => {
                    let retry = state.unwritten.get(&key);
                    if retry.is_some_and(|at| *at <= Instant::now())
                        && !state.reading.contains(&key)
                    {
                        state.queue.push_back((paths.clone(), journal));
                    }
                    RunState::Read(Arc::clone(totals))
                }
                Some(Err(why)) => RunState::Unreadable(why.clone()),
                None if is_running(&paths) => RunState::Running(begun(state, &key, &paths)),
                None => {
                    if !state.reading.contains(&key) {
                        state.queue.push_back((paths.clone(), journal));
                    }
                    RunState::Waiting
                }
            };
            runs.push(ListedRun {
                bytes: 0,
                paths,
                key,
                journal,
                state: run,
            });
        }
        measure(state, &mut runs);
        let gone = self.forget(state, &runs, is_whole);
        let waiting = runs
            .iter()
            .filter(|run| run.state == RunState::Waiting)
            .count();
        let is_same = |(one, other): (&ListedRun, &ListedRun)| {
            one.key == other.key && one.state == other.state
        };
        let before = &state.list;
        let unchanged =
            before.runs.len() == runs.len() && before.runs.iter().zip(&runs).all(is_same);
        let mut warnings: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        let put_error = state.put_error.as_ref();
        if let Some(error) = put_error.filter(|_| !state.unwritten.is_empty()) {
            let runs = plural(state.unwritten.len(), "run");
            warnings.push(format!(
                "The index can't be written, so the cases of {runs} can't be listed: {error}"
            ));
        }
        state.list = Arc::new(RunList {
            runs,
            warnings,
            waiting,
            version: before.version + u64::from(!unchanged),
        });
        if !state.queue.is_empty() {
            self.work.notify_all();
        }
        state.scanned = Some(Instant::now());
        gone
    }

    /// Removes runs that are gone from what is known, and returns their keys. A run that is not in a
    /// list that is not whole may still be there.
    fn forget(&self, state: &mut FolderState, runs: &[ListedRun], is_whole: bool) -> Vec<String> {
        let there: HashMap<&str, &ListedRun> =
            runs.iter().map(|run| (run.key.as_str(), run)).collect();
        let is_gone = |key: &String| is_whole && !there.contains_key(key.as_str());
        let known = &mut state.known.runs;
        let gone: Vec<String> = known.keys().filter(|key| is_gone(key)).cloned().collect();
        known.retain(|key, _| !is_gone(key));
        state.unwritten.retain(|key, _| !is_gone(key));
        let goes_on = |key: &str| {
            let run = there.get(key);
            run.is_some_and(|run| matches!(run.state, RunState::Running(_)))
        };
        state.begun.retain(|key, _| goes_on(key));
        lock(&self.live).retain(|key, _| goes_on(key));
        gone
    }

    /// What a running run has done up to now.
    ///
    /// # Errors
    /// When its journal can't be followed.
    pub fn live(&self, run: &ListedRun) -> Result<LiveState, JournalError> {
        let live = {
            let mut all = lock(&self.live);
            match all.get(&run.key) {
                Some(live) => Arc::clone(live),
                None => {
                    let live = Arc::new(Mutex::new(LiveRun::open(&run.paths.journal())?));
                    all.insert(run.key.clone(), Arc::clone(&live));
                    live
                }
            }
        };
        let mut one = lock(&live);
        match one.poll() {
            Ok(()) => Ok(one.state()),
            Err(error) => {
                // Begun again with the next call: a resumed run may have cut its journal.
                lock(&self.live).remove(&run.key);
                Err(error)
            }
        }
    }

    /// The runs to read next, the newest first, once there are any.
    fn next_batch(&self) -> Vec<(RunPaths, JournalState)> {
        let mut state = lock(&self.state);
        if state.queue.is_empty() {
            let waited = self.work.wait_timeout(state, IDLE);
            state = waited.map_or_else(|error| error.into_inner().0, |(state, _)| state);
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some((paths, journal)) = state.queue.pop_front() else {
                break;
            };
            state.reading.insert(run_key(&paths));
            bytes += journal.bytes;
            batch.push((paths, journal));
        }
        batch
    }

    fn read(&self, batch: Vec<(RunPaths, JournalState)>) {
        let content = |(paths, journal): (RunPaths, JournalState)| {
            let key = run_key(&paths);
            // Another view may have read it by now.
            let indexed = self.index.run(&key).ok().flatten();
            let indexed = indexed.filter(|run| run.journal == journal);
            let content = indexed.is_none().then(|| content_of(&paths));
            (key, journal, indexed, content)
        };
        let read = in_parallel(batch, content);
        let (mut fresh, mut known): (Vec<(String, JournalState, IndexedContent)>, Vec<_>) =
            (Vec::new(), Vec::new());
        for (key, journal, indexed, content) in read {
            known.extend(indexed.map(|run| (key.clone(), run)));
            fresh.extend(content.map(|content| (key, journal, content)));
        }
        // Where it can't be written, lists still know the totals; the cases are missing.
        let put = match fresh.is_empty() {
            true => Ok(()),
            false => self.index.put(&fresh),
        };
        let mut state = lock(&self.state);
        let retry = put.err().map(|error| {
            state.put_error = Some(error.to_string());
            Instant::now() + RETRY
        });
        for (key, _) in &known {
            state.unwritten.remove(key);
        }
        for (key, journal, content) in fresh {
            match retry {
                Some(at) => state.unwritten.insert(key.clone(), at),
                None => state.unwritten.remove(&key),
            };
            let totals = content.totals;
            known.push((key, IndexedRun { journal, totals }));
        }
        for (key, run) in known {
            state.reading.remove(&key);
            state.known.runs.insert(key, run);
        }
        state.scanned = None;
    }
}

/// Reads a run. A defect of the program costs the run, not the thread that reads.
fn content_of(paths: &RunPaths) -> IndexedContent {
    let read = catch_unwind(AssertUnwindSafe(|| index_run(paths)));
    read.unwrap_or_else(|_| {
        let why = "internal error in eval-harness while its journal was read".to_owned();
        IndexedContent::without_cases(Err(why))
    })
}

/// Adds the bytes of their files to runs: measured after a change, and once a minute, because
/// reports may be written to a run that has ended.
fn measure(state: &mut FolderState, runs: &mut [ListedRun]) {
    let is_due = state.measured.is_none_or(|at| at.elapsed() >= MEASURED);
    let list = Arc::clone(&state.list);
    let before: HashMap<&str, &ListedRun> = list
        .runs
        .iter()
        .map(|run| (run.key.as_str(), run))
        .collect();
    let goes_on = |run: &ListedRun| matches!(run.state, RunState::Running(_));
    let is_measured = |run: &ListedRun| {
        let before = before.get(run.key.as_str());
        before.is_some_and(|before| match goes_on(run) {
            true => goes_on(before),
            false => !goes_on(before) && before.journal == run.journal,
        })
    };
    let changed = runs.iter().filter(|run| is_due || !is_measured(run));
    let changed: Vec<RunPaths> = changed.map(|run| run.paths.clone()).collect();
    let sizes = run_sizes(&changed);
    for run in runs {
        let known = before.get(run.key.as_str()).map_or(0, |run| run.bytes);
        let measured = Some(sizes.of(&run.paths)).filter(|bytes| *bytes > 0);
        // The journal of a run that goes on grows.
        run.bytes = measured.unwrap_or(known).max(run.journal.bytes);
    }
    if is_due {
        state.measured = Some(Instant::now());
    }
}

/// What a run said of itself when it began.
fn begun(state: &mut FolderState, key: &str, paths: &RunPaths) -> Option<Box<RunIdentity>> {
    if let Some(identity) = state.begun.get(key) {
        return Some(identity.clone());
    }
    let started = journal::started(&paths.journal()).ok()?;
    let identity = Box::new(started.run);
    state.begun.insert(key.to_owned(), identity.clone());
    Some(identity)
}

/// Reads runs until the folder is dropped.
fn read_on(folder: &Weak<RunFolder>) {
    // Before the first page is requested.
    if let Some(folder) = folder.upgrade() {
        folder.list();
    }
    while let Some(folder) = folder.upgrade() {
        let batch = folder.next_batch();
        if !batch.is_empty() {
            folder.read(batch);
        }
    }
}
