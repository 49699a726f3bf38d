//! Changes as the upper folder of an overlay, written without a mount: what a recording holds takes
//! no copy of the template.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, mknodat};

use crate::edits::{AfterEntry, WorkspaceEdits};
use crate::error::TreeError;
use crate::folder::Folder;
use crate::left::LeftEntry;
use crate::listing::TreeEntry;
use crate::path::WorkspacePath;
use crate::restore::{folder_for, make_real_folder};
use crate::template::TemplateView;

impl LeftEntry {
    /// Makes this of a path in the folder `layer`, the upper one of an overlay above `template`. As with
    /// [`LeftEntry::put`], what is gone comes first. `owner` as in [`CopyRules`](crate::CopyRules).
    ///
    /// # Errors
    /// What the file system refuses, and an entry in a folder that is gone.
    pub fn put_in_layer(
        &self,
        template: &TemplateView,
        layer: &Path,
        path: &WorkspacePath,
        owner: Option<(u32, u32)>,
    ) -> Result<(), TreeError> {
        let at = || TreeError::at(path.as_bytes());
        let top = Folder::open(layer).map_err(at())?;
        if *self == LeftEntry::Nothing {
            return delete(template, &top, path, owner).map_err(at());
        }
        let is_folder = |path: &WorkspacePath| template.get(path) == Some(&TreeEntry::Folder);
        for folder in path.parents().filter(is_folder) {
            // Where the template's folder showed again, so would all that is deleted in it.
            let held = top.below(folder.parent().as_ref());
            let kind = held.and_then(|held| held.kind(folder.name()));
            if matches!(kind, Ok(Some(kind)) if kind != FileType::Directory) {
                let reason = format!("its folder `{folder}` is deleted");
                return Err(at()(io::Error::other(reason)));
            }
        }
        self.put(layer, path, owner)
    }
}

impl WorkspaceEdits<'_> {
    /// Moves all that is different, of edits that were read from a whole copy, to `layer`, an empty
    /// folder of the same file system, as the upper folder of an overlay above the template.
    ///
    /// # Errors
    /// Edits that are incomplete, and what the file system refuses.
    pub fn move_to_layer(&self, layer: &Path, owner: Option<(u32, u32)>) -> Result<(), TreeError> {
        if let Some(path) = self.unread() {
            let path = path.to_string();
            return Err(TreeError::TooDeep { path });
        }
        let top = Folder::open(layer).map_err(TreeError::at(b""))?;
        for (path, _) in self.iter().filter(|(_, now)| now.is_none()) {
            delete(self.template(), &top, path, owner).map_err(TreeError::at(path.as_bytes()))?;
        }
        for (path, now) in self.iter().filter_map(|(path, now)| Some((path, now?))) {
            let moved = || {
                let folder = folder_for(&top, path, owner)?;
                if *now == AfterEntry::Folder {
                    return make_real_folder(&folder, path.name(), owner).map(drop);
                }
                folder.remove(path.name())?;
                folder.move_in(&self.after().below(path.parent().as_ref())?, path.name())
            };
            moved().map_err(TreeError::at(path.as_bytes()))?;
        }
        for path in self.special().keys() {
            let moved = || {
                let folder = folder_for(&top, path, owner)?;
                folder.remove(path.name())?;
                folder.move_in(&self.after().below(path.parent().as_ref())?, path.name())
            };
            moved().map_err(TreeError::at::<io::Error>(path.as_bytes()))?;
        }
        Ok(())
    }
}

/// Hides what the template has at a path.
fn delete(
    template: &TemplateView,
    top: &Folder,
    path: &WorkspacePath,
    owner: Option<(u32, u32)>,
) -> io::Result<()> {
    if template.get(path).is_none() {
        return Ok(());
    }
    let mut folder = top.below(None)?;
    for part in path.parent().iter().flat_map(WorkspacePath::parts) {
        match folder.kind(part)? {
            None | Some(FileType::Directory) => folder = make_real_folder(&folder, part, owner)?,
            // It is hidden with its folder.
            Some(_) => return Ok(()),
        }
    }
    folder.remove(path.name())?;
    make_whiteout(&folder, path)?;
    folder.own(path.name(), owner)
}

/// What hides a path of the layers below.
pub(crate) fn make_whiteout(folder: &Folder, path: &WorkspacePath) -> io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR;
    let kind = FileType::CharacterDevice;
    Ok(mknodat(folder, path.name(), kind, mode, 0)?)
}
