//! What changed in git since a phase began: commits, what is not committed, and files that git does
//! not know yet.
//!
//! It is measured from where this branch left the base (the merge base), as `git diff BASE...` does
//! and with the working tree as it is: what others put on the base in the meantime is not the
//! phase's work.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::{FileChange, Implementation};
use eval_base::git::{self, GitError};

/// Files that are listed.
const MAX_FILES: usize = 200;

/// A file that git does not know and that is longer has no lines.
const LONGEST: u64 = 10 << 20;

/// Bytes of such files that are read, all together; what comes after has no lines.
const MAX_READ: u64 = 1 << 30;

/// Bytes at the beginning of a file in which a NUL makes it binary, as for git.
const LOOKED_AT: usize = 8000;

/// Why nobody can tell what changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    #[error("cannot tell what changed since `{base}`: {error}")]
    Base { base: String, error: GitError },
    #[error(
        "cannot tell what changed since `{base}`: it has no commit in common with HEAD in this shallow clone"
    )]
    Shallow { base: String },
}

/// What changed at or below `root` since `base`.
///
/// Paths at or below those of `leave_out` (absolute: the results and reports that this program
/// writes) don't count.
///
/// # Errors
/// Whatever keeps the base from being used.
pub fn since(
    root: &Path,
    base: &str,
    leave_out: &[PathBuf],
) -> Result<Implementation, ChangesError> {
    let failed = |error| ChangesError::Base {
        base: base.to_owned(),
        error,
    };
    let start = start_of(root, base)?;
    let mut files: BTreeMap<Vec<u8>, Option<(usize, usize)>> = BTreeMap::new();
    for file in git::differing(root, &start).map_err(failed)? {
        files.insert(file.path, file.lines);
    }
    let mut left = MAX_READ;
    let kept = CountedPaths::new(root, leave_out);
    for path in git::untracked(root).map_err(failed)? {
        if !kept.holds(&path) {
            continue;
        }
        let added = lines_of(&root.join(OsStr::from_bytes(&path)), &mut left);
        // A file that was only taken out of the index is removed for git, and still there.
        let before = files.get(&path).copied().unwrap_or(Some((0, 0)));
        files.insert(
            path,
            before
                .zip(added)
                .map(|((more, removed), added)| (more + added, removed)),
        );
    }
    files.retain(|path, _| kept.holds(path));
    Ok(told(base, start, &files))
}

/// The commit that is measured from.
fn start_of(root: &Path, base: &str) -> Result<String, ChangesError> {
    let failed = |error| ChangesError::Base {
        base: base.to_owned(),
        error,
    };
    let commit = git::commit_of(root, base).map_err(failed)?;
    match git::merge_base(root, &commit).map_err(failed)? {
        Some(start) => Ok(start),
        None if git::is_shallow(root) => Err(ChangesError::Shallow {
            base: base.to_owned(),
        }),
        // Histories that have nothing in common are compared as they are.
        None => Ok(commit),
    }
}

fn told(
    base: &str,
    base_commit: String,
    files: &BTreeMap<Vec<u8>, Option<(usize, usize)>>,
) -> Implementation {
    let mut told = Implementation {
        base: base.to_owned(),
        base_commit,
        ..Implementation::default()
    };
    told.files_modified = files.len();
    told.omitted_files = files.len().saturating_sub(MAX_FILES);
    for (added, removed) in files.values().flatten() {
        told.lines_added += added;
        told.lines_removed += removed;
    }
    let listed = files
        .iter()
        .take(MAX_FILES)
        .map(|(path, lines)| FileChange {
            path: String::from_utf8_lossy(path).into_owned(),
            added: lines.map(|(added, _)| added),
            removed: lines.map(|(_, removed)| removed),
        });
    told.files = listed.collect();
    told
}

/// The paths that count.
struct CountedPaths {
    /// What does not, relative to the root.
    left_out: Vec<PathBuf>,
}

impl CountedPaths {
    fn new(root: &Path, leave_out: &[PathBuf]) -> CountedPaths {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let inside = leave_out.iter().filter_map(|path| {
            // Of a report that is not written yet, the folder is there.
            let existing = path.ancestors().find(|a| a.exists())?;
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            let whole = existing
                .canonicalize()
                .unwrap_or_else(|_| existing.to_owned())
                .join(rest);
            let inside = whole
                .strip_prefix(&real)
                .or_else(|_| path.strip_prefix(root))
                .ok()?;
            Some(inside.components().collect::<PathBuf>())
        });
        CountedPaths {
            left_out: inside.filter(|path| !path.as_os_str().is_empty()).collect(),
        }
    }

    fn holds(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        !self
            .left_out
            .iter()
            .any(|left_out| path.starts_with(left_out))
    }
}

/// Lines of a file as git counts them; `None` when it has none: it is binary, long, no file, or
/// can't be read.
fn lines_of(path: &Path, left: &mut u64) -> Option<usize> {
    let meta = path.symlink_metadata().ok()?;
    if meta.is_symlink() {
        // For git, a link is a file of one line, the path that it leads to.
        return Some(1);
    }
    if !meta.is_file() || meta.len() > LONGEST || meta.len() > *left {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    *left = left.saturating_sub(bytes.len() as u64);
    let is_binary = bytes.get(..LOOKED_AT).unwrap_or(&bytes).contains(&0);
    if is_binary || bytes.len() as u64 > LONGEST {
        return None;
    }
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
    Some(breaks + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n')))
}

#[cfg(test)]
mod tests;
