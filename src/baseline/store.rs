//! The folder of a suite's baselines: what is accepted, what is pending, and the ways from one to
//! the other.
//!
//! Reading takes no lock. Writing does, and every change is one rename, or a series of them in
//! which each state is either readable or tells how it is finished: accept again.

mod transitions;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{FolderLock, NoLock, lock};
use super::replace;
use crate::load::stored::{BaselineFolder, BaselineLookup, BaselineReader, KeptBaseline};
use crate::load::{Problem, Problems, Severity, SourceFiles};
use crate::model::BaselineStage;
use eval_base::text::unescape_path_component;

/// The longest that a writer waits for another one.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Files that are worth a thread of their own to read them.
const MIN_SHARE: usize = 64;

/// What a change of the store could not do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("another process{} is writing in {}", by(*.holder), .dir.display())]
    Busy { dir: PathBuf, holder: Option<u32> },
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("there is no pending baseline of `{id}`")]
    NoPending { id: String },
    /// The accepted output is another than the one that the pending one was captured against.
    #[error(
        "the pending baseline of `{id}` was captured against another accepted output than the one that is there now"
    )]
    AtOdds { id: String },
    /// The pending baseline is not the one that was looked at.
    #[error("`{id}` was captured again meanwhile: what is pending now is not what was shown")]
    Replaced { id: String },
    #[error("the baseline of `{id}` cannot be read: {broken}")]
    Broken { id: String, broken: Box<BrokenFile> },
    #[error("the output of `{id}` cannot be kept: {why}")]
    Unfit { id: String, why: String },
}

fn by(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" (number {process})"))
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Busy { .. } => Some(format!(
                "it still was after {} s: wait for it, or end it",
                LONGEST_WAIT.as_secs()
            )),
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("the disk is full; nothing that was accepted has changed".to_owned())
            }
            StoreError::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Some("is the folder yours to write in?".to_owned())
            }
            StoreError::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
                ) =>
            {
                Some("a file stands where the folder should be".to_owned())
            }
            StoreError::NoPending { .. } => {
                Some("`eval-harness baseline capture` makes one".to_owned())
            }
            StoreError::AtOdds { .. } => {
                Some("capture again and look at the difference, or accept with --force".to_owned())
            }
            StoreError::Replaced { .. } => Some("look at it again; nothing was changed".to_owned()),
            StoreError::Broken { broken, .. } => broken
                .problems
                .iter()
                .find_map(|problem| problem.hint.clone()),
            StoreError::Io { .. } | StoreError::Unfit { .. } => None,
        }
    }
}

/// A file that is there and cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct BrokenFile {
    pub path: PathBuf,
    pub problems: Problems,
    pub sources: SourceFiles,
}

impl BrokenFile {
    /// The first error.
    pub fn first(&self) -> Option<&Problem> {
        self.problems
            .iter()
            .find(|problem| problem.severity == Severity::Error)
    }
}

impl std::fmt::Display for BrokenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(first) = self.first() else {
            return write!(f, "{}", self.path.display());
        };
        match first.span {
            Some(span) => write!(f, "{}: {}", self.sources.place(span), first.message),
            None => f.write_str(&first.message),
        }
    }
}

/// What the store holds of one eval. At least one of the two is there.
#[derive(Debug, Default)]
pub struct BaselineEntry {
    /// As the files say; of a file that cannot be read, as its name says.
    pub id: String,
    pub accepted: Option<Result<KeptBaseline, BrokenFile>>,
    pub pending: Option<Result<KeptBaseline, BrokenFile>>,
}

/// A folder of baselines, which need not exist.
#[derive(Debug, Clone)]
pub struct BaselineStore {
    dir: PathBuf,
    folder: BaselineFolder,
}

/// A store that is ours to change until this is dropped.
#[derive(Debug)]
pub struct LockedStore<'a> {
    store: &'a BaselineStore,
    _lock: FolderLock,
}

impl BaselineStore {
    /// The store in a folder (absolute).
    pub fn new(dir: PathBuf) -> BaselineStore {
        BaselineStore {
            folder: BaselineFolder::Disk(dir.clone()),
            dir,
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every baseline of the folder, ascending by eval id. A broken file is an entry that says so.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn entries(&self) -> Result<Vec<BaselineEntry>, StoreError> {
        let names = self.folder.names().map_err(self.io("list"))?;
        let mut entries: BTreeMap<String, BaselineEntry> = BTreeMap::new();
        for name in names.iter().filter(|name| !name.starts_with('.')) {
            let Some(stem) = name.strip_suffix(".yaml") else {
                continue;
            };
            let (stem, standing) = match stem.strip_suffix(".pending") {
                Some(stem) => (stem, BaselineStage::Pending),
                None => (stem, BaselineStage::Accepted),
            };
            let Some(read) = self.read(name, |reader| reader.of_file(name)) else {
                continue;
            };
            let id = match &read {
                Ok(kept) => kept.file.eval_id.clone(),
                Err(_) => unescape_path_component(stem).unwrap_or_else(|| stem.to_owned()),
            };
            let entry = entries.entry(id.clone()).or_insert_with(|| BaselineEntry {
                id,
                ..BaselineEntry::default()
            });
            match standing {
                BaselineStage::Accepted => entry.accepted = Some(read),
                BaselineStage::Pending => entry.pending = Some(read),
            }
        }
        Ok(entries.into_values().collect())
    }

    /// What is pending, ascending by eval id, each with what is accepted; of the evals that
    /// `wanted` takes. Reads no accepted baseline beside which nothing is pending.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn pending_entries(
        &self,
        wanted: impl Fn(&str) -> bool + Sync,
    ) -> Result<Vec<BaselineEntry>, StoreError> {
        let names = self.folder.names().map_err(self.io("list"))?;
        let names: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| name.ends_with(".pending.yaml"))
            .collect();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = names.len().div_ceil(threads).max(MIN_SHARE);
        let read = |names: &[&str]| -> Vec<BaselineEntry> {
            names
                .iter()
                .filter_map(|name| self.pending_entry(name, &wanted))
                .collect()
        };
        let mut entries: Vec<BaselineEntry> = std::thread::scope(|scope| {
            let readers: Vec<_> = names
                .chunks(share)
                .map(|names| scope.spawn(|| read(names)))
                .collect();
            readers
                .into_iter()
                .flat_map(|reader| reader.join().unwrap_or_default())
                .collect()
        });
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(entries)
    }

    fn pending_entry(&self, name: &str, wanted: impl Fn(&str) -> bool) -> Option<BaselineEntry> {
        let stem = name
            .strip_suffix(".pending.yaml")
            .filter(|stem| !stem.starts_with('.'))?;
        let said = unescape_path_component(stem);
        if said.as_deref().is_some_and(|id| !wanted(id)) {
            return None;
        }
        let pending = self.read(name, |reader| reader.of_file(name))?;
        let id = match &pending {
            Ok(kept) => kept.file.eval_id.clone(),
            Err(_) => said.unwrap_or_else(|| stem.to_owned()),
        };
        wanted(&id).then(|| BaselineEntry {
            accepted: self.of_eval(&id, BaselineStage::Accepted),
            id,
            pending: Some(pending),
        })
    }

    /// The accepted baseline of an eval, if there is one.
    ///
    /// # Errors
    /// When it is broken.
    pub fn accepted(&self, id: &str) -> Result<Option<KeptBaseline>, StoreError> {
        self.one(id, BaselineStage::Accepted)
    }

    /// The pending baseline of an eval, if there is one.
    ///
    /// # Errors
    /// When it is broken.
    pub fn pending(&self, id: &str) -> Result<Option<KeptBaseline>, StoreError> {
        self.one(id, BaselineStage::Pending)
    }

    fn one(&self, id: &str, standing: BaselineStage) -> Result<Option<KeptBaseline>, StoreError> {
        let broken = |broken| StoreError::Broken {
            id: id.to_owned(),
            broken: Box::new(broken),
        };
        self.of_eval(id, standing).transpose().map_err(broken)
    }

    fn of_eval(
        &self,
        id: &str,
        standing: BaselineStage,
    ) -> Option<Result<KeptBaseline, BrokenFile>> {
        let name = crate::model::baseline_file_name(id, standing);
        self.read(&name, |reader| reader.of_eval(id, standing))
    }

    fn read(
        &self,
        name: &str,
        read: impl FnOnce(&mut BaselineReader) -> BaselineLookup,
    ) -> Option<Result<KeptBaseline, BrokenFile>> {
        let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
        let cwd = self.dir.parent().unwrap_or(&self.dir);
        let mut reader = BaselineReader {
            folder: &self.folder,
            sources: &mut sources,
            problems: &mut problems,
            cwd,
        };
        match read(&mut reader) {
            BaselineLookup::Nothing => None,
            BaselineLookup::Kept(kept) => Some(Ok(*kept)),
            BaselineLookup::Broken => Some(Err(BrokenFile {
                path: self.dir.join(name),
                problems,
                sources,
            })),
        }
    }

    /// Makes the store ours to change. Creates the folder.
    ///
    /// # Errors
    /// When another process writes in it for more than 10 s; when the folder can't be made.
    pub fn lock(&self) -> Result<LockedStore<'_>, StoreError> {
        self.lock_within(LONGEST_WAIT)
    }

    pub(super) fn lock_within(&self, longest: Duration) -> Result<LockedStore<'_>, StoreError> {
        if !matches!(self.folder, BaselineFolder::Disk(_)) {
            return Err(self.io("write at a revision to")(
                io::ErrorKind::Unsupported.into(),
            ));
        }
        std::fs::create_dir_all(&self.dir).map_err(self.io("make the folder"))?;
        let held = lock(&self.dir, longest).map_err(|why| match why {
            NoLock::Busy(holder) => StoreError::Busy {
                dir: self.dir.clone(),
                holder,
            },
            NoLock::Io(source) => self.io("lock")(source),
        })?;
        if held.exclusive {
            replace::clear(&self.dir);
        }
        Ok(LockedStore {
            store: self,
            _lock: held,
        })
    }

    fn io(&self, what: &'static str) -> impl Fn(io::Error) -> StoreError {
        move |source| StoreError::Io {
            what,
            path: self.dir.clone(),
            source,
        }
    }
}
