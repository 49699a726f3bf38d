//! A file that is whole or not there: it is written beside its place under another name, and then
//! renamed.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How files begin that were not renamed yet.
const UNFINISHED: &str = ".eval-harness-";

/// Whether a name is of a file that was not renamed yet: its writer is at work, or was killed.
pub fn is_leftover(name: &str) -> bool {
    name.starts_with(UNFINISHED) && name.ends_with(".tmp")
}

/// A file that is being written. Dropped before it is kept, it leaves nothing, and what was in its
/// place stays.
#[derive(Debug)]
pub struct WholeFile {
    out: BufWriter<File>,
    fresh: PathBuf,
    path: PathBuf,
}

impl WholeFile {
    /// Begins a file that will lie at `path`, whose folder is there.
    ///
    /// # Errors
    /// Also when a device, a pipe or a folder is there: whoever may write to `/dev` would put a
    /// file in place of `/dev/null`.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Ok(there) if !there.is_file() => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is not a regular file",
                ));
            }
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it has no file name",
            ));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{UNFINISHED}{}-{number}.tmp", std::process::id());
        let fresh = path.with_file_name(name);
        // Never through what somebody laid in the way.
        let _ = std::fs::remove_file(&fresh);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&fresh)?;
        Ok(WholeFile {
            out: BufWriter::with_capacity(1 << 16, file),
            fresh,
            path: path.to_owned(),
        })
    }

    /// Gives it the permissions of another file.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.out.get_ref().set_permissions(permissions)
    }

    /// Puts it in its place.
    pub fn keep(mut self) -> io::Result<()> {
        self.out.flush()?;
        std::fs::rename(&self.fresh, &self.path)
    }

    /// Puts it in its place once the device has it.
    pub fn keep_durably(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        self.keep()
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // After it was kept there is no file of that name.
        let _ = std::fs::remove_file(&self.fresh);
    }
}

/// Writes a whole file; of what fails nothing stays.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut WholeFile) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = WholeFile::create(path)?;
    write(&mut file)?;
    Ok(file.keep()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_the_old_one_or_the_new_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("r.md");
        write_whole(&path, |file| file.write_all(b"old")).expect("written");
        let failed = write_whole(&path, |file| {
            file.write_all(b"new")?;
            Err(io::Error::other("broken off"))
        });
        assert_eq!(failed.expect_err("failed").to_string(), "broken off");
        assert_eq!(
            (
                std::fs::read_to_string(&path).expect("there"),
                names(folder.path())
            ),
            ("old".into(), vec!["r.md".into()])
        );
        let mut file = WholeFile::create(&path).expect("begun");
        file.write_all(b"kept").expect("written");
        file.keep_durably().expect("kept");
        assert_eq!(
            (
                std::fs::read_to_string(&path).expect("there"),
                names(folder.path())
            ),
            ("kept".into(), vec!["r.md".into()])
        );
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("r.md"), folder.path().join("other"));
        std::fs::write(&other, "mine").expect("a file");
        std::os::unix::fs::symlink(&other, &path).expect("a link");
        write_whole(&path, |file| file.write_all(b"report")).expect("written");
        assert_eq!(std::fs::read_to_string(&other).expect("there"), "mine");
        assert!(!path.is_symlink());
        let none = WholeFile::create(&folder.path().join("no/r.md")).expect_err("no folder");
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_ordinary_files_are_replaced() {
        let said = |path: &Path| WholeFile::create(path).expect_err("refused").kind();
        // Who may write there would lose the device; a folder of that name is no better.
        assert_eq!(said(Path::new("/dev/null")), io::ErrorKind::InvalidInput);
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("out");
        std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
        assert_eq!(
            (said(&link), said(folder.path())),
            (io::ErrorKind::InvalidInput, io::ErrorKind::IsADirectory)
        );
        assert_eq!(names(folder.path()), ["out"]);
    }
}
