//! The files of a suite, and which of them changed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::cli::CliFailure;
use crate::load::ReadFiles;
use crate::model::FileStamp;

/// Watches the folders of files, since editors replace a file by another one of the same name.
pub(super) struct WatchedFiles {
    watcher: RecommendedWatcher,
    read: ReadFiles,
    stamps: HashMap<PathBuf, FileStamp>,
    folders: HashSet<PathBuf>,
    /// Files, and folders with all in them, of which changes are ignored.
    ignored: BTreeSet<PathBuf>,
}

impl WatchedFiles {
    /// Calls `report` with every path that changes in a watched folder.
    pub fn new(report: impl Fn(PathBuf) + Send + 'static) -> Result<WatchedFiles, CliFailure> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // What can't be seen is seen with the next event; reading a file changes nothing.
            if let Ok(event) = event
                && !matches!(event.kind, EventKind::Access(_))
            {
                event.paths.into_iter().for_each(&report);
            }
        });
        let watcher = watcher
            .map_err(|error| CliFailure::incomplete(format!("cannot watch files: {error}")))?;
        Ok(WatchedFiles {
            watcher,
            read: ReadFiles::default(),
            stamps: HashMap::new(),
            folders: HashSet::new(),
            ignored: BTreeSet::new(),
        })
    }

    /// True when there is a file whose change could be waited for.
    pub fn is_watching(&self) -> bool {
        self.stamps.values().any(Option::is_some)
    }

    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Notes how the files are before they are read.
    pub fn stamp(&mut self) {
        for (path, stamp) in &mut self.stamps {
            *stamp = stamp_of(path);
        }
    }

    /// Watches further files. What was read once stays: it may only be missing for a moment.
    pub fn add(&mut self, read: ReadFiles) {
        for path in &read.files {
            self.watch(path.parent().unwrap_or(path), RecursiveMode::NonRecursive);
            self.stamps
                .entry(path.clone())
                .or_insert_with(|| stamp_of(path));
        }
        for (folder, _) in &read.globs {
            self.watch(folder, RecursiveMode::Recursive);
        }
        self.read.globs = read.globs;
    }

    fn watch(&mut self, folder: &Path, mode: RecursiveMode) {
        let is_new = !self.folders.contains(folder);
        // A folder that is missing now can't be watched, and its files are missing, too.
        if is_new && self.watcher.watch(folder, mode).is_ok() {
            self.folders.insert(folder.to_owned());
        }
    }

    /// Ignores changes of a file, or of all files of a folder.
    pub fn ignore(&mut self, path: &Path) {
        self.ignored.insert(path.to_owned());
    }

    /// True for a file of the suite that is not as it was when it was read.
    pub fn has_changed(&mut self, path: &Path) -> bool {
        let is_ignored = self.ignored.iter().any(|folder| path.starts_with(folder))
            || path
                .iter()
                .any(|part| part == ".git" || part == "__pycache__");
        if is_ignored {
            return false;
        }
        let now = stamp_of(path);
        match self.stamps.get_mut(path) {
            Some(stamp) => std::mem::replace(stamp, now) != now,
            // A new file that a glob matches is read from now on.
            None => now.is_some() && self.read.matches(path),
        }
    }
}

fn stamp_of(path: &Path) -> FileStamp {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file())?;
    Some((metadata.len(), metadata.modified().ok()))
}
