//! A whole file in the place of another: whoever reads, or is killed, meets the old one or the new
//! one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How files begin that were not renamed yet. No baseline's name begins with a dot.
const UNFINISHED: &str = ".eval-harness-";

/// Whether a name is of a file that was not renamed yet.
pub fn is_leftover(name: &str) -> bool {
    name.starts_with(UNFINISHED) && name.ends_with(".tmp")
}

/// Writes `dir/name`: first beside it under another name, kept by the device, then renamed, then
/// the folder is kept.
pub(super) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let fresh = dir.join(format!("{UNFINISHED}{}-{number}.tmp", std::process::id()));
    let result = (|| {
        // Never through what somebody laid in the way.
        let _ = std::fs::remove_file(&fresh);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, dir.join(name))
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&fresh);
        return result;
    }
    keep(dir)
}

/// Removes a file; false when there was none.
pub(super) fn remove(dir: &Path, name: &str) -> io::Result<bool> {
    match std::fs::remove_file(dir.join(name)) {
        Ok(()) => keep(dir).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Asks the device to keep what a folder lists. Some file systems don't do that for folders; the
/// files are kept anyway.
fn keep(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Removes what writers left that were killed. Only for who holds the lock: then no writer is at
/// work.
pub(super) fn clear(dir: &Path) {
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_leftover) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
