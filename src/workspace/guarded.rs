//! Files that must stay as they are while tests run. The candidate's code runs among the tests, and
//! could rewrite those that are loaded later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use eval_workspace::WorkspacePath;

/// What an overlay calls a folder that hides the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// Bytes of a file that is compared.
const MOST_BYTES: u64 = 64 << 20;

/// Endings of files that are code.
pub const CODE_ENDINGS: [&str; 32] = [
    "py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "rs", "rb", "java", "kt",
    "kts", "cs", "sh", "bash", "bats", "php", "pl", "pm", "lua", "c", "cc", "cpp", "h", "hpp",
    "swift", "scala", "ex", "exs",
];

/// Number of the file, and when its content, mode or name last changed.
type FileState = (u64, i64, i64);

/// Files of a workspace before a command runs in it.
pub(super) struct GuardedFiles {
    paths: Vec<WorkspacePath>,
    place: GuardedPlace,
}

enum GuardedPlace {
    /// `upper`: the layer above them, which has whatever is written.
    Overlay {
        upper: PathBuf,
        lowers: Vec<PathBuf>,
    },
    /// They are changed in place.
    Folder {
        path: PathBuf,
        before: Vec<Option<FileState>>,
        folders: FolderWatches,
    },
}

impl GuardedFiles {
    /// Files of an overlay; of `lowers` the topmost is the first.
    pub fn below(upper: PathBuf, lowers: Vec<PathBuf>, paths: Vec<WorkspacePath>) -> GuardedFiles {
        let place = GuardedPlace::Overlay { upper, lowers };
        GuardedFiles { paths, place }
    }

    /// # Errors
    /// When the kernel has no more watches for the folders of the files.
    pub fn in_folder(path: PathBuf, paths: Vec<WorkspacePath>) -> io::Result<GuardedFiles> {
        let folders = FolderWatches::start(&path, &paths)?;
        let before = paths.iter().map(|of| state(&path, of.as_path())).collect();
        let place = GuardedPlace::Folder {
            path,
            before,
            folders,
        };
        Ok(GuardedFiles { paths, place })
    }

    /// Those that were opened for writing, replaced or deleted, also if they are now as before. Data
    /// that was only opened does not count.
    ///
    /// # Errors
    /// When it can't be found out.
    pub fn changed(self) -> io::Result<Vec<WorkspacePath>> {
        let paths = self.paths.into_iter();
        Ok(match self.place {
            GuardedPlace::Overlay { upper, lowers } => paths
                .filter(|path| {
                    is_above(&upper, path.as_path())
                        && !is_only_opened(&upper, &lowers, path.as_path())
                })
                .collect(),
            GuardedPlace::Folder {
                path: root,
                before,
                folders,
            } => {
                let moved = folders.moved()?;
                let is_moved = |path: &Path| path.ancestors().any(|above| moved.contains(above));
                paths
                    .zip(before)
                    .filter(|(path, before)| {
                        is_moved(path.as_path()) || state(&root, path.as_path()) != *before
                    })
                    .map(|(path, _)| path)
                    .collect()
            }
        })
    }
}

/// Watches of the folders that lead to files. A folder that was renamed and is back where it was
/// can't be found out by looking at it: files that are added to it change the same times.
struct FolderWatches {
    events: OwnedFd,
    /// Relative to the workspace, by number of the watch.
    folders: BTreeMap<i32, PathBuf>,
}

impl FolderWatches {
    fn start(root: &Path, paths: &[WorkspacePath]) -> io::Result<FolderWatches> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let above = |path: &WorkspacePath| {
            let path = path.as_path();
            let above = path.ancestors().skip(1).map(Path::to_owned);
            above.collect::<Vec<_>>()
        };
        let all: BTreeSet<PathBuf> = paths.iter().flat_map(above).collect();
        let flags = WatchFlags::MOVE_SELF
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let mut folders = BTreeMap::new();
        for folder in all {
            match inotify::add_watch(&events, root.join(&folder), flags) {
                Ok(watch) => drop(folders.insert(watch, folder)),
                // Its files are then not there either, and none may be there later.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(FolderWatches { events, folders })
    }

    /// Folders that were renamed or deleted; all if there were too many events.
    fn moved(&self) -> io::Result<BTreeSet<PathBuf>> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut moved = BTreeSet::new();
        loop {
            match reader.next() {
                Err(Errno::AGAIN) => return Ok(moved),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    return Ok(self.folders.values().cloned().collect());
                }
                Ok(event) => moved.extend(self.folders.get(&event.wd()).cloned()),
            }
        }
    }
}

/// `None` where the path is not a file's, or leads through a link.
fn state(root: &Path, path: &Path) -> Option<FileState> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    if !folders_of(path).all(|folder| is_folder(&root.join(folder))) {
        return None;
    }
    let meta = fs::symlink_metadata(root.join(path)).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The folders that lead to a path, from the top.
fn folders_of(path: &Path) -> impl Iterator<Item = &Path> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    folders.into_iter()
}

/// Whether a layer has something in the place of a file of the layers below it.
fn is_above(upper: &Path, path: &Path) -> bool {
    // A link in the place of a folder would be followed, and what it leads to is not in the layer.
    for folder in folders_of(path) {
        let folder = upper.join(folder);
        match fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Ok(meta) if meta.is_dir() && !is_opaque(&folder) => {}
            // What can't be looked at was shut by who writes there.
            _ => return true,
        }
    }
    let found = fs::symlink_metadata(upper.join(path));
    found.map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true)
}

/// Whether a layer has a file of data only because it was opened for writing: content, rights and
/// time are as below. Code, which runs between two changes, is not looked at.
fn is_only_opened(upper: &Path, lowers: &[PathBuf], path: &Path) -> bool {
    let is_data = path
        .extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| !CODE_ENDINGS.contains(&ending));
    let is_in_place = folders_of(path).all(|folder| {
        let folder = upper.join(folder);
        fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) && !is_opaque(&folder)
    });
    let below = lowers.iter().find(|lower| is_above(lower, path));
    let Some(below) = below.filter(|_| is_data && is_in_place) else {
        return false;
    };
    let [above, below] = [upper, below].map(|layer| layer.join(path));
    let is_same = |one: &Metadata, other: &Metadata| {
        let times = |meta: &Metadata| (meta.mtime(), meta.mtime_nsec());
        one.is_file()
            && other.is_file()
            && one.mode() & 0o111 == 0
            && one.mode() == other.mode()
            && one.len() == other.len()
            && one.len() <= MOST_BYTES
            && times(one) == times(other)
    };
    let look = |path: &PathBuf| fs::symlink_metadata(path);
    let (Ok(now), Ok(before)) = (look(&above), look(&below)) else {
        return false;
    };
    is_same(&now, &before)
        && matches!((fs::read(above), fs::read(below)), (Ok(now), Ok(before)) if now == before)
}

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 1];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value).is_ok() && value == *b"y"
}
