//! A whole file in the place of another: whoever reads, or is killed, meets the old one or the new
//! one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use eval_base::whole_file::{WholeFile, is_leftover};

/// Writes `dir/name`: first beside it under another name, kept by the device, then renamed, then
/// the folder is kept.
pub(super) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(&dir.join(name)).map_err(|error| match error.kind() {
        // As the system says it of a rename.
        io::ErrorKind::IsADirectory => io::Error::from_raw_os_error(libc::EISDIR),
        _ => error,
    })?;
    file.write_all(bytes)?;
    file.keep_durably()?;
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
