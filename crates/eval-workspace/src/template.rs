//! What a workspace looked like before a program worked in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::edits::{AfterContent, AfterEntry, AfterView, OverlayAttributes, WorkspaceEdits};
use crate::error::TreeError;
use crate::folder::{Folder, sha256};
use crate::listing::{Listing, TreeEntry};
use crate::path::WorkspacePath;

/// What a workspace looked like before a program worked in it: a template, with layers above it
/// (files that were laid on it, what its setup changed). Cheap to clone.
#[derive(Debug, Clone)]
pub struct TemplateView {
    folders: Vec<Arc<Folder>>,
    entries: Arc<BTreeMap<WorkspacePath, TemplateEntry>>,
}

#[derive(Debug, Clone)]
struct TemplateEntry {
    entry: TreeEntry,
    /// Which of the folders holds it.
    folder: usize,
    /// Its path in that folder, where it is another.
    stored_at: Option<WorkspacePath>,
}

impl TemplateView {
    /// The template in the folder `top`, as `listing` lists it.
    ///
    /// # Errors
    /// The folder cannot be opened.
    pub fn new(top: &Path, listing: Listing) -> io::Result<TemplateView> {
        let entries = listing.0.into_iter().map(|(path, entry)| {
            let entry = TemplateEntry {
                entry,
                folder: 0,
                stored_at: None,
            };
            (path, entry)
        });
        Ok(TemplateView {
            folders: vec![Arc::new(Folder::open(top)?)],
            entries: Arc::new(entries.collect()),
        })
    }

    /// The template under `upper`, the upper folder of an overlay that was mounted above it.
    ///
    /// # Errors
    /// Layers that cannot be read completely.
    pub fn with_layer(
        &self,
        upper: &Path,
        attributes: OverlayAttributes,
    ) -> Result<TemplateView, TreeError> {
        let after = AfterView::Overlay { upper, attributes };
        let edits = WorkspaceEdits::read(self, &after)?;
        if let Some(path) = edits.unread() {
            let path = path.to_string();
            return Err(TreeError::TooDeep { path });
        }
        let mut entries = (*self.entries).clone();
        for (path, edit) in edits.iter() {
            let folder = self.folders.len();
            let changed = match edit {
                None => {
                    entries.remove(path);
                    continue;
                }
                Some(AfterEntry::Folder) => TemplateEntry {
                    entry: TreeEntry::Folder,
                    folder,
                    stored_at: None,
                },
                Some(AfterEntry::Link { target }) => TemplateEntry {
                    entry: TreeEntry::Link {
                        target: target.clone(),
                    },
                    folder,
                    stored_at: None,
                },
                Some(AfterEntry::File {
                    executable,
                    bytes,
                    content,
                }) => {
                    let (sha256, folder, stored_at) = match content {
                        AfterContent::After => {
                            let digest = edits.open_after(path).and_then(sha256);
                            (
                                digest.map_err(TreeError::at(path.as_bytes()))?,
                                folder,
                                None,
                            )
                        }
                        AfterContent::Template(from) => self.stored(from)?,
                    };
                    let entry = TreeEntry::File {
                        executable: *executable,
                        bytes: *bytes,
                        sha256,
                    };
                    TemplateEntry {
                        entry,
                        folder,
                        stored_at,
                    }
                }
            };
            entries.insert(path.clone(), changed);
        }
        let top = edits.into_after();
        let folders = self.folders.iter().cloned().chain([Arc::new(top)]);
        Ok(TemplateView {
            folders: folders.collect(),
            entries: Arc::new(entries),
        })
    }

    /// Digest, folder and stored path of a file.
    fn stored(
        &self,
        path: &WorkspacePath,
    ) -> Result<([u8; 32], usize, Option<WorkspacePath>), TreeError> {
        match self.entries.get(path) {
            Some(TemplateEntry {
                entry: TreeEntry::File { sha256, .. },
                folder,
                stored_at,
            }) => Ok((
                *sha256,
                *folder,
                Some(stored_at.as_ref().unwrap_or(path).clone()),
            )),
            _ => Err(TreeError::at(path.as_bytes())(io::Error::from(
                io::ErrorKind::NotFound,
            ))),
        }
    }

    /// Everything in the template and its layers.
    pub fn listing(&self) -> Listing {
        let entries = self.entries.iter();
        Listing(
            entries
                .map(|(path, stored)| (path.clone(), stored.entry.clone()))
                .collect(),
        )
    }

    pub fn get(&self, path: &WorkspacePath) -> Option<&TreeEntry> {
        self.entries.get(path).map(|stored| &stored.entry)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.entries.keys()
    }

    pub(crate) fn below(
        &self,
        path: &WorkspacePath,
    ) -> impl Iterator<Item = (&WorkspacePath, &TreeEntry)> {
        let below = self.entries.range(path.range_below());
        below.map(|(path, stored)| (path, &stored.entry))
    }

    /// Opens a file of the template.
    pub(crate) fn open(&self, path: &WorkspacePath) -> io::Result<File> {
        let stored = self.entries.get(path).ok_or(io::ErrorKind::NotFound)?;
        let stored_at = stored.stored_at.as_ref().unwrap_or(path);
        let folder = self.folders[stored.folder].below(stored_at.parent().as_ref())?;
        folder.file(stored_at.name())
    }
}
