//! Writes trees and single files, and removes what programs left.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{FileType, renameat};

use crate::copy::{CopyRules, TreeReader};
use crate::error::TreeError;
use crate::folder::{DEEPEST, Folder};
use crate::listing::TreeEntry;
use crate::path::{PathGlobs, WorkspacePath};
use crate::restore::{folder_for, make_real_folder};
use crate::template::TemplateView;

impl TemplateView {
    /// Writes everything but `leave_out` into `to`, an empty folder. `owner` as in [`CopyRules`].
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write_tree(
        &self,
        to: &Path,
        leave_out: &PathGlobs,
        owner: Option<(u32, u32)>,
    ) -> Result<(), TreeError> {
        let top = Folder::open(to).map_err(TreeError::at(b""))?;
        for path in self.paths().filter(|path| !leave_out.fit(path)) {
            self.write_entry(&top, path, owner)
                .map_err(TreeError::at(path.as_bytes()))?;
        }
        Ok(())
    }

    /// Writes the paths that `only` fits into `to`, as far as the folders that they are in are there.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write_paths(
        &self,
        to: &Path,
        only: &PathGlobs,
        owner: Option<(u32, u32)>,
    ) -> Result<(), TreeError> {
        let top = Folder::open(to).map_err(TreeError::at(b""))?;
        let has_place = |path: &WorkspacePath| top.below(path.parent().as_ref()).is_ok();
        for path in self.paths().filter(|path| only.fit(path)) {
            if has_place(path) {
                self.write_entry(&top, path, owner)
                    .map_err(TreeError::at(path.as_bytes()))?;
            }
        }
        Ok(())
    }

    pub(crate) fn write_entry(
        &self,
        top: &Folder,
        path: &WorkspacePath,
        owner: Option<(u32, u32)>,
    ) -> io::Result<()> {
        let Some(entry) = self.get(path) else {
            return Ok(());
        };
        let folder = folder_for(top, path, owner)?;
        let name = path.name();
        match entry {
            TreeEntry::Folder => return make_real_folder(&folder, name, owner).map(drop),
            TreeEntry::Link { target } => {
                folder.remove(name)?;
                folder.make_link(name, target)?;
            }
            TreeEntry::File { executable, .. } => {
                folder.remove(name)?;
                let mut copy = folder.create(name, *executable)?;
                io::copy(&mut self.open(path)?, &mut copy)?;
            }
        }
        folder.own(name, owner)
    }
}

/// Writes a file below the folder `top`, with the folders that it needs; whatever else is there,
/// links included, makes room for it. `owner` as in [`CopyRules`].
///
/// # Errors
/// What the file system refuses.
pub fn write_file(
    top: &Path,
    path: &WorkspacePath,
    content: &[u8],
    executable: bool,
    owner: Option<(u32, u32)>,
) -> Result<(), TreeError> {
    let written = || {
        let folder = folder_for(&Folder::open(top)?, path, owner)?;
        folder.remove(path.name())?;
        folder.create(path.name(), executable)?.write_all(content)?;
        folder.own(path.name(), owner)
    };
    written().map_err(TreeError::at(path.as_bytes()))
}

/// Removes what is at a path below the folder `top`; nothing there is fine.
///
/// # Errors
/// What the file system refuses.
pub fn remove_below(top: &Path, path: &WorkspacePath) -> Result<(), TreeError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let removed = || match Folder::open(top)?.below(path.parent().as_ref()) {
        Ok(folder) => folder.remove(path.name()),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(()),
        Err(error) => Err(error),
    };
    removed().map_err(TreeError::at(path.as_bytes()))
}

/// Moves the files and links that `globs` fit from one folder to another on the same file system,
/// with the folders that they need, and removes folders that fit or have nothing else.
///
/// # Errors
/// What the file system refuses, and what cannot be in a workspace.
pub fn move_files(
    from: &Path,
    to: &Path,
    globs: &PathGlobs,
    owner: Option<(u32, u32)>,
) -> Result<(), TreeError> {
    if globs.is_empty() {
        return Ok(());
    }
    let listing = TreeReader::read(from, None, &CopyRules::default())?;
    let open = |top| Folder::open(top).map_err(TreeError::at(b""));
    let (source, target) = (open(from)?, open(to)?);
    // Folders after what is below them.
    for (path, entry) in listing.entries().rev().filter(|(path, _)| globs.fit(path)) {
        let moved = || {
            if *entry == TreeEntry::Folder {
                make_real_folder(&folder_for(&target, path, owner)?, path.name(), owner)?;
                // It may have gone with its last file.
                if let Ok(holder) = source.below(path.parent().as_ref()) {
                    holder.remove_empty(path.name());
                }
                return Ok(());
            }
            let holder = source.below(path.parent().as_ref())?;
            let folder = folder_for(&target, path, owner)?;
            folder.move_in(&holder, path.name())?;
            let mut parent = path.parent();
            while let Some(folder) = parent {
                parent = folder.parent();
                if !source.below(parent.as_ref())?.remove_empty(folder.name()) {
                    break;
                }
            }
            Ok(())
        };
        moved().map_err(TreeError::at::<io::Error>(path.as_bytes()))?;
    }
    Ok(())
}

/// Removes a folder that a program may have left, whatever rights its folders have; nothing there is
/// fine.
///
/// # Errors
/// What the file system refuses; folders nested deeper than 128 are moved up until all are gone.
pub fn remove_tree(path: &Path) -> Result<(), TreeError> {
    let removed = || {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let parent = match Folder::open(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        parent.remove_deep(name.as_encoded_bytes())
    };
    removed().map_err(TreeError::at(b""))
}

impl Folder {
    /// Moves `entry` of another folder here, in place of what is there.
    pub(crate) fn move_in(&self, from: &Folder, entry: &[u8]) -> io::Result<()> {
        let name = OsStr::from_bytes(entry);
        Ok(renameat(from, name, self, name)?)
    }

    /// As [`Folder::remove`], for folders nested to any depth: what is too deep is moved up here.
    fn remove_deep(&self, entry: &[u8]) -> io::Result<()> {
        let is_folder = |folder: &Folder, name: &[u8]| {
            matches!(folder.kind(name), Ok(Some(FileType::Directory)))
        };
        let mut left = vec![entry.to_vec()];
        let mut moved = 0u64;
        while let Some(entry) = left.last().cloned() {
            match self.remove(&entry) {
                Ok(()) => {
                    left.pop();
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
                Err(error) => return Err(error),
            }
            // Removing goes through names in their order and ends at the first folder that is too
            // deep, so that the first folder of each level leads there.
            let mut folder = self.folder(&entry)?;
            for _ in 0..DEEPEST / 2 {
                let names = folder.names()?;
                let Some(below) = names.into_iter().find(|name| is_folder(&folder, name)) else {
                    break;
                };
                folder = folder.folder(&below)?;
            }
            for below in folder.names()? {
                if is_folder(&folder, &below) {
                    moved += 1;
                    let name = format!(".deep-{}-{moved}", std::process::id());
                    renameat(&folder, OsStr::from_bytes(&below), self, name.as_str())?;
                    left.push(name.into_bytes());
                }
            }
        }
        Ok(())
    }
}
