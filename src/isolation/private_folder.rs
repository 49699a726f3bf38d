//! A folder for files of one program outside of the sandbox.

use std::io;
use std::path::{Path, PathBuf};

/// A folder that only this user can enter and that goes with its value.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// A new folder among the system's for temporary files, with a file; its path.
    pub fn with_file(name: &str, content: &[u8]) -> io::Result<(PrivateFolder, String)> {
        let folder = PrivateFolder::new(&std::env::temp_dir())?;
        let file = folder.0.join(name);
        std::fs::write(&file, content)?;
        Ok((folder, file.to_string_lossy().into_owned()))
    }

    /// A new folder in `parent`.
    pub fn new(parent: &Path) -> io::Result<PrivateFolder> {
        use std::hash::{BuildHasher as _, Hasher as _};
        use std::os::unix::fs::DirBuilderExt as _;
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..16 {
            let unguessable = std::hash::RandomState::new().build_hasher().finish();
            let path = parent.join(format!(
                "eval-harness-{}-{unguessable:016x}",
                std::process::id()
            ));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(PrivateFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // A leftover in the system's temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
