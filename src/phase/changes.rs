//! What changed in git since a phase began.

use std::path::{Path, PathBuf};

use crate::base::git::GitError;
use crate::model::Implementation;

/// Why nobody can tell what changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ChangesError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ChangesError::Git(error) => error.hint(),
        }
    }
}

/// What changed in the repository of `root` since `base`, or what is not committed when nobody named a base.
pub fn since(
    root: &Path,
    base: Option<&str>,
    leave_out: &[PathBuf],
) -> Result<Option<Implementation>, ChangesError> {
    let _ = (root, base, leave_out);
    Ok(None)
}
