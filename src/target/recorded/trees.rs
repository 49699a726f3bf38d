//! Folders and archives that a recording names: all that a target left in its workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::Fingerprint;

/// The trees of a recording. They are in its folder: a recording may come from anyone, and what it
/// names gets into reports.
#[derive(Debug, Default)]
pub(super) struct RecordedTrees {
    /// Without links; `None` for a pipe, which has none.
    folder: Option<PathBuf>,
    /// What each looked like when the recording was checked.
    stamps: BTreeMap<String, String>,
}

impl RecordedTrees {
    /// `path` is the recording, or the folder that is one.
    pub fn of(path: &Path, names: BTreeSet<String>) -> RecordedTrees {
        let folder = match path {
            _ if path.is_dir() => Some(path),
            _ if path.is_file() => path.parent(),
            _ => None,
        };
        let folder = folder.map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
        let mut trees = RecordedTrees {
            folder: folder.and_then(|folder| folder.canonicalize().ok()),
            stamps: BTreeMap::new(),
        };
        for name in names {
            let stamp = trees.place(&name).map(|path| stamp(&path));
            let stamp = stamp.unwrap_or_else(|why| why);
            trees.stamps.insert(name, stamp);
        }
        trees
    }

    /// The fingerprint of a recording and its trees.
    pub fn with(&self, recording: Fingerprint) -> Fingerprint {
        match self.stamps.is_empty() {
            true => recording,
            false => Fingerprint::of(&(recording.to_string(), &self.stamps)),
        }
    }

    /// Where a tree is, or what is wrong with it.
    pub fn find(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.place(name)?;
        match self.stamps.get(name) {
            Some(was) if *was == stamp(&path) => Ok(path),
            _ => Err("has changed since the recording was checked, so it is not used".to_owned()),
        }
    }

    fn place(&self, name: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.folder else {
            return Err("is relative to the recording, which is not in a file".to_owned());
        };
        let path = folder.join(name).canonicalize();
        let path = path.map_err(|error| format!("cannot be read: {error}"))?;
        if !path.starts_with(folder) || path == *folder {
            return Err("is not inside of the recording's folder".to_owned());
        }
        match path.is_dir() || path.is_file() {
            true => Ok(path),
            false => Err("is not a folder or an archive".to_owned()),
        }
    }
}

/// Over the names and states of everything below a path, whose contents are not read: different when
/// any of it was written.
fn stamp(top: &Path) -> String {
    let mut digest = Sha256::new();
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        let name = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .as_os_str()
            .as_bytes();
        digest.update(format!("{} ", name.len()));
        digest.update(name);
        let Ok(about) = fs::symlink_metadata(&path) else {
            digest.update("?");
            continue;
        };
        let (mode, size, inode) = (about.mode(), about.size(), about.ino());
        let changed = (about.ctime(), about.ctime_nsec());
        digest.update(format!(" {mode} {size} {inode} {changed:?}\n"));
        if about.is_dir() {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
            below.sort();
            open.extend(below);
        }
    }
    Fingerprint::of_digest(&digest.finalize()).to_string()
}
