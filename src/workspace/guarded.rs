//! Files that must stay as they are while tests run. The candidate's code runs among the tests, and
//! could rewrite those that are loaded later.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use eval_workspace::WorkspacePath;

/// What an overlay calls a folder that hides the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// Number of the file, and when its content, mode or name last changed.
type FileState = (u64, i64, i64);

/// Files of a workspace before a command runs in it.
pub(super) struct GuardedFiles {
    paths: Vec<WorkspacePath>,
    place: GuardedPlace,
}

enum GuardedPlace {
    /// The layer above them, which has whatever is written.
    Upper(PathBuf),
    /// They are changed in place.
    Folder {
        path: PathBuf,
        before: Vec<Option<FileState>>,
    },
}

impl GuardedFiles {
    pub fn below(upper: PathBuf, paths: Vec<WorkspacePath>) -> GuardedFiles {
        let place = GuardedPlace::Upper(upper);
        GuardedFiles { paths, place }
    }

    pub fn in_folder(path: PathBuf, paths: Vec<WorkspacePath>) -> GuardedFiles {
        let before = paths
            .iter()
            .map(|of| state(&path.join(of.as_path())))
            .collect();
        let place = GuardedPlace::Folder { path, before };
        GuardedFiles { paths, place }
    }

    /// Those that were written to, replaced or deleted, also if they are now as before.
    pub fn changed(self) -> Vec<WorkspacePath> {
        let paths = self.paths.into_iter();
        match self.place {
            GuardedPlace::Upper(upper) => paths
                .filter(|path| is_above(&upper, path.as_path()))
                .collect(),
            GuardedPlace::Folder { path: root, before } => paths
                .zip(before)
                .filter(|(path, before)| state(&root.join(path.as_path())) != *before)
                .map(|(path, _)| path)
                .collect(),
        }
    }
}

fn state(path: &Path) -> Option<FileState> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// Whether a layer has something in the place of a file of the layers below it.
fn is_above(upper: &Path, path: &Path) -> bool {
    match fs::symlink_metadata(upper.join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut folders = path.ancestors().skip(1);
            folders.any(|folder| is_opaque(&upper.join(folder)))
        }
        // What can't be looked at was shut by who writes there.
        _ => true,
    }
}

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 1];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value).is_ok() && value == *b"y"
}
