//! Folders and archives that a recording names: all that a target left in its workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::Fingerprint;
use eval_base::files::open_file;
use eval_stats::in_parallel;

/// Bytes of a tree whose content counts; of files beyond them, which may be holes, only the sizes do.
const MOST_BYTES: u64 = 8 << 30;

/// The trees of a recording. They are in its folder: a recording may come from anyone, and what it
/// names gets into reports.
#[derive(Debug, Default)]
pub(super) struct RecordedTrees {
    /// Without links; `None` for a pipe, which has none.
    folder: Option<PathBuf>,
    /// What each looked like when the recording was checked.
    stamps: BTreeMap<String, String>,
    /// Fingerprints of their contents, which are the same on another machine.
    contents: BTreeMap<String, String>,
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
            ..RecordedTrees::default()
        };
        // What is written while it is read counts as a change.
        let names: Vec<String> = names.into_iter().collect();
        let seen = in_parallel(names, |name| {
            let seen = trees
                .place(&name)
                .map(|path| (stamp(&path), content(&path)));
            let (stamp, content) = seen.unwrap_or_else(|why| (why.clone(), why));
            ((name.clone(), stamp), (name, content))
        });
        (trees.stamps, trees.contents) = seen.into_iter().unzip();
        trees
    }

    /// The fingerprint of a recording and its trees.
    pub fn with(&self, recording: Fingerprint) -> Fingerprint {
        match self.contents.is_empty() {
            true => recording,
            false => Fingerprint::of(&(recording.to_string(), &self.contents)),
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
    digest(top, |_, about, digest| {
        let (mode, size, inode) = (about.mode(), about.size(), about.ino());
        let changed = (about.ctime(), about.ctime_nsec());
        digest.update(format!("{mode} {size} {inode} {changed:?}"));
        true
    })
}

/// Over the names, kinds and contents of everything below a path, as far as a workspace has them of
/// it.
fn content(top: &Path) -> String {
    let mut left = MOST_BYTES;
    digest(top, |path, about, digest| {
        if path != top && path.file_name().is_some_and(|name| name == ".git") {
            return false;
        }
        let is_program = about.mode() & 0o100 != 0;
        let (kind, found) = match about {
            _ if about.is_dir() => ("folder", Ok(0)),
            _ if about.is_symlink() => {
                let target = fs::read_link(path);
                let target = target.map(|target| digest.update(target.as_os_str().as_bytes()));
                ("link", target.map(|()| 0))
            }
            _ if about.is_file() => {
                let kind = if is_program { "program" } else { "file" };
                let rest = left.checked_sub(about.len());
                left = rest.unwrap_or(left);
                let found = match rest {
                    Some(_) => add_file(path, about.len(), digest),
                    None => Ok(about.len()),
                };
                (kind, found)
            }
            _ => ("other", Ok(0)),
        };
        digest.update(format!(" {kind} {:?}", found.ok()));
        true
    })
}

/// Adds the content of a file, up to `most` bytes: how many it has.
fn add_file(path: &Path, most: u64, digest: &mut Sha256) -> io::Result<u64> {
    let mut file = open_file(path)?.take(most);
    let mut buffer = vec![0; 64 << 10];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => {
                bytes += count as u64;
                digest.update(buffer.get(..count).unwrap_or_default());
            }
        }
    }
}

/// Over everything below a path. `add` adds what counts of an entry, and says whether it does.
fn digest(top: &Path, mut add: impl FnMut(&Path, &Metadata, &mut Sha256) -> bool) -> String {
    let mut digest = Sha256::new();
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).ok();
        match &about {
            Some(about) if !add(&path, about, &mut digest) => continue,
            Some(_) => {}
            None => digest.update("?"),
        }
        let name = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .as_os_str()
            .as_bytes();
        digest.update(format!(" {} ", name.len()));
        digest.update(name);
        digest.update("\n");
        if about.is_some_and(|about| about.is_dir()) {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
            below.sort();
            open.extend(below);
        }
    }
    Fingerprint::of_digest(&digest.finalize()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees(folder: &Path) -> RecordedTrees {
        RecordedTrees::of(folder, BTreeSet::from(["work".to_owned()]))
    }

    #[test]
    fn fingerprint_of_a_recording_is_that_of_its_content() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let of = |at: usize| trees(dirs[at].path()).with(Fingerprint::of(&0));
        for dir in &dirs {
            let at = |name: &str| dir.path().join("work").join(name);
            fs::create_dir_all(at("deep/empty")).unwrap();
            fs::write(at("deep/a"), "aa").unwrap();
            std::os::unix::fs::symlink("deep", at("link")).unwrap();
        }
        fs::create_dir(dirs[0].path().join("work/.git")).unwrap();
        assert_eq!(of(0), of(1));
        let at = |name: &str| dirs[1].path().join("work").join(name);
        let (checked, before) = (trees(dirs[1].path()), of(1));
        assert!(checked.find("work").is_ok());
        // The same content again is none of the recording that was checked.
        fs::write(at("deep/a"), "aa").unwrap();
        assert!(checked.find("work").is_err());
        assert_eq!(of(1), before);
        let mut all = vec![before];
        fs::write(at("deep/a"), "ab").unwrap();
        all.push(of(1));
        fs::set_permissions(
            at("deep/a"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        all.push(of(1));
        fs::remove_dir(at("deep/empty")).unwrap();
        all.push(of(1));
        fs::remove_file(at("link")).unwrap();
        std::os::unix::fs::symlink("deep/", at("link")).unwrap();
        all.push(of(1));
        let mut different = all.clone();
        different.dedup();
        assert_eq!(all, different);
    }
}
