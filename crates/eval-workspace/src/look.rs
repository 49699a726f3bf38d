//! What is at one path of a workspace.

use std::io::Read;

use crate::edits::{AfterEntry, WorkspaceEdits};
use crate::error::TreeError;
use crate::listing::TreeEntry;
use crate::path::WorkspacePath;
use crate::template::TemplateView;

/// What is at a path. Links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryNow {
    Absent,
    Folder,
    Link {
        target: Vec<u8>,
    },
    File {
        executable: bool,
        bytes: u64,
        /// The beginning of its content.
        content: Vec<u8>,
    },
    /// A FIFO, a socket or a device.
    Special,
}

impl TemplateView {
    /// What is at a path, with the first `most` bytes of a file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn look(&self, path: &WorkspacePath, most: u64) -> Result<EntryNow, TreeError> {
        match self.get(path) {
            None => Ok(EntryNow::Absent),
            Some(TreeEntry::Folder) => Ok(EntryNow::Folder),
            Some(TreeEntry::Link { target }) => Ok(EntryNow::Link {
                target: target.clone(),
            }),
            Some(TreeEntry::File {
                executable, bytes, ..
            }) => {
                let at = || TreeError::at(path.as_bytes());
                let mut content = Vec::new();
                let file = self.open(path).map_err(at())?;
                file.take(most).read_to_end(&mut content).map_err(at())?;
                Ok(EntryNow::File {
                    executable: *executable,
                    bytes: *bytes,
                    content,
                })
            }
        }
    }
}

impl WorkspaceEdits<'_> {
    /// What is at a path after the program worked, with the first `most` bytes of a file.
    ///
    /// # Errors
    /// A file that cannot be read; edits that are incomplete, so that nothing can be said.
    pub fn look(&self, path: &WorkspacePath, most: u64) -> Result<EntryNow, TreeError> {
        if let Some(path) = self.unread() {
            let path = path.to_string();
            return Err(TreeError::TooDeep { path });
        }
        if self.special().contains_key(path) {
            return Ok(EntryNow::Special);
        }
        match self.edit(path) {
            None => self.template().look(path, most),
            Some(None) => Ok(EntryNow::Absent),
            Some(Some(AfterEntry::Folder)) => Ok(EntryNow::Folder),
            Some(Some(AfterEntry::Link { target })) => Ok(EntryNow::Link {
                target: target.clone(),
            }),
            Some(Some(AfterEntry::File {
                executable,
                bytes,
                content,
            })) => {
                let at = || TreeError::at(path.as_bytes());
                let mut read = Vec::new();
                let file = self.open(path, content).map_err(at())?;
                file.take(most).read_to_end(&mut read).map_err(at())?;
                Ok(EntryNow::File {
                    executable: *executable,
                    bytes: *bytes,
                    content: read,
                })
            }
        }
    }
}
