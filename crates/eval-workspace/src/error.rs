//! Why a folder could not be copied or read.

use std::io;

use crate::path::quoted;

/// Why a folder could not be copied or read. Paths are relative to that folder.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("`{path}`: {error}")]
    Io { path: String, error: io::Error },
    #[error("`{path}` is {kind}; a workspace holds files, folders and symbolic links")]
    Special { path: String, kind: &'static str },
    #[error("`{path}` is a link to `{target}`, outside of the folder")]
    OutsideLink { path: String, target: String },
    #[error("`{path}` changed while it was read")]
    Changed { path: String },
    #[error("more than {most} files")]
    TooManyFiles { most: u64 },
    #[error("more than {most} bytes")]
    TooManyBytes { most: u64 },
    #[error("`{path}` is nested too deep")]
    TooDeep { path: String },
}

impl TreeError {
    /// For `map_err`: an error at `path`, which is relative to the folder; empty is the folder.
    pub(crate) fn at<E: Into<io::Error>>(path: &[u8]) -> impl FnOnce(E) -> TreeError {
        let path = if path.is_empty() {
            ".".to_owned()
        } else {
            quoted(path)
        };
        move |error| TreeError::Io {
            path,
            error: error.into(),
        }
    }
}
