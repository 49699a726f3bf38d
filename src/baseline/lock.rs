//! One writer of a folder at a time: an advisory lock on the folder itself, which the system
//! releases when the process ends, however it ends. Reading needs no lock, since files are replaced
//! whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use eval_base::files::{self, LockState};

const PAUSE: Duration = Duration::from_millis(5);

/// A folder that is ours to write in, until this is dropped.
#[derive(Debug)]
pub(super) struct FolderLock {
    /// The folder, open: closing it ends the lock.
    _folder: File,
    /// False on a file system without locks: then two writers are not kept apart.
    pub exclusive: bool,
}

/// Why the lock could not be had.
#[derive(Debug)]
pub(super) enum NoLock {
    /// Another process holds it; which one, where the system tells.
    Busy(Option<u32>),
    Io(io::Error),
}

/// Locks a folder that is there, waiting up to `longest` for another writer.
pub(super) fn lock(dir: &Path, longest: Duration) -> Result<FolderLock, NoLock> {
    let until = Instant::now() + longest;
    loop {
        let folder = File::open(dir).map_err(NoLock::Io)?;
        let left = until.saturating_duration_since(Instant::now());
        let exclusive = match files::lock(&folder, left, PAUSE).map_err(NoLock::Io)? {
            LockState::Held => true,
            LockState::Unsupported => false,
            LockState::Busy => return Err(NoLock::Busy(holder(&folder))),
        };
        // The folder may have been replaced while we waited; then the lock is on what is no longer
        // there.
        let (ours, there) = (
            folder.metadata().map_err(NoLock::Io)?,
            dir.metadata().map_err(NoLock::Io)?,
        );
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
            return Ok(FolderLock {
                _folder: folder,
                exclusive,
            });
        }
        if Instant::now() >= until {
            return Err(NoLock::Busy(None));
        }
    }
}

/// The process that holds the lock, from Linux's list of locks:
/// `1: FLOCK  ADVISORY  WRITE 4711 08:02:131 0 EOF`.
fn holder(folder: &File) -> Option<u32> {
    let inode = format!(":{}", folder.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let mut fields = locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = fields.find(|line| {
        line.get(1) == Some(&"FLOCK") && line.get(5).is_some_and(|file| file.ends_with(&inode))
    })?;
    line.get(4)?.parse().ok()
}
