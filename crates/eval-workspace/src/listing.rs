//! What is in a tree that may be a template: every entry, with the digest of its content.

use sha2::{Digest, Sha256};

use std::collections::BTreeMap;
use std::path::Path;

use crate::copy::{CopyRules, TreeReader};
use crate::error::TreeError;
use crate::folder::Sha256Digest;
use crate::path::{PathGlobs, WorkspacePath};

/// What is at a path of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeEntry {
    Folder,
    File {
        executable: bool,
        bytes: u64,
        sha256: Sha256Digest,
    },
    Link {
        target: Vec<u8>,
    },
}

/// Every entry below the top of a tree, in the order of the paths' bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing(pub(crate) BTreeMap<WorkspacePath, TreeEntry>);

impl Listing {
    pub fn entries(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&WorkspacePath, &TreeEntry)> + ExactSizeIterator {
        self.0.iter()
    }

    pub fn get(&self, path: &WorkspacePath) -> Option<&TreeEntry> {
        self.0.get(path)
    }

    /// The number of files and links.
    pub fn files(&self) -> usize {
        let files = self.0.values().filter(|entry| **entry != TreeEntry::Folder);
        files.count()
    }

    /// The sum of the files' sizes.
    pub fn bytes(&self) -> u64 {
        let sizes = self.0.values().map(|entry| match entry {
            TreeEntry::File { bytes, .. } => *bytes,
            _ => 0,
        });
        sizes.sum()
    }

    /// SHA-256 over paths, kinds, executable bits and contents: equal trees have equal digests.
    pub fn digest(&self) -> Sha256Digest {
        let mut digest = Sha256::new();
        // Neither a path nor a link's target holds a zero byte.
        let mut part = |kind: &[u8], path: &WorkspacePath, content: &[u8]| {
            for part in [kind, b"\0", path.as_bytes(), b"\0", content, b"\0"] {
                digest.update(part);
            }
        };
        for (path, entry) in &self.0 {
            match entry {
                TreeEntry::Folder => part(b"folder", path, b""),
                TreeEntry::Link { target } => part(b"link", path, target),
                TreeEntry::File {
                    executable, sha256, ..
                } => {
                    let kind: &[u8] = if *executable { b"program" } else { b"file" };
                    // Of fixed length, so that its zero bytes are not ambiguous.
                    part(kind, path, sha256);
                }
            }
        }
        digest.finalize().into()
    }
}

/// Lists what [`copy_tree`](crate::copy_tree) would copy.
///
/// # Errors
/// As [`copy_tree`](crate::copy_tree).
pub fn list_source(from: &Path, rules: &CopyRules) -> Result<Listing, TreeError> {
    TreeReader::read(from, None, rules)
}

/// What changes of a tree make of its list.
impl Listing {
    /// As [`write_file`](crate::write_file) leaves the tree.
    pub fn put(&mut self, path: WorkspacePath, content: &[u8], executable: bool) {
        self.remove(&path);
        self.add_folders_of(&path);
        let entry = TreeEntry::File {
            executable,
            bytes: content.len() as u64,
            sha256: Sha256::digest(content).into(),
        };
        self.0.insert(path, entry);
    }

    /// As [`remove_below`](crate::remove_below) leaves the tree.
    pub fn remove(&mut self, path: &WorkspacePath) {
        let below = self.0.range(path.range_below());
        let below: Vec<WorkspacePath> = below.map(|(path, _)| path.clone()).collect();
        for path in below.iter().chain([path]) {
            self.0.remove(path);
        }
    }

    /// As [`move_files`](crate::move_files) leaves the tree, and the empty folder that it moves to.
    pub fn split(mut self, globs: &PathGlobs) -> (Listing, Listing) {
        let mut moved = Listing::default();
        let fit = self.0.iter().rev().filter(|(path, _)| globs.fit(path));
        let fit: Vec<_> = fit
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        for (path, entry) in fit {
            moved.add_folders_of(&path);
            let is_folder = entry == TreeEntry::Folder;
            moved.0.insert(path.clone(), entry);
            let mut emptied = Some(path);
            while let Some(path) = emptied.filter(|path| self.is_empty_at(path)) {
                self.0.remove(&path);
                emptied = path.parent().filter(|_| !is_folder);
            }
        }
        (self, moved)
    }

    fn is_empty_at(&self, path: &WorkspacePath) -> bool {
        self.0.range(path.range_below()).next().is_none()
    }

    fn add_folders_of(&mut self, path: &WorkspacePath) {
        for folder in path.parents() {
            self.0.insert(folder, TreeEntry::Folder);
        }
    }
}

/// Lists a tree whose links and modes are as [`copy_tree`](crate::copy_tree) leaves them.
///
/// # Errors
/// As [`copy_tree`](crate::copy_tree) for what cannot be in a workspace.
pub fn list_tree(top: &Path) -> Result<Listing, TreeError> {
    TreeReader::read(top, None, &CopyRules::default())
}
