//! Protected files, put back as the template has them before tests run.

use std::io;
use std::path::Path;

use rustix::fs::FileType;

use crate::edits::{AfterEntry, WorkspaceEdits};
use crate::error::TreeError;
use crate::folder::Folder;
use crate::layer::make_whiteout;
use crate::listing::TreeEntry;
use crate::path::{PathGlobs, WorkspacePath};
use crate::template::TemplateView;

/// The protected paths that a program changed, and how they become what they were. Sorted.
#[derive(Debug, Clone)]
pub struct RestorePlan<'t> {
    template: &'t TemplateView,
    pub edited: Vec<WorkspacePath>,
    pub deleted: Vec<WorkspacePath>,
    /// Also links that bring other files to where a protected folder would be.
    pub added: Vec<WorkspacePath>,
}

impl<'t> WorkspaceEdits<'t> {
    /// What has to be put back so that the paths that `protected` fits are those of the template.
    ///
    /// # Errors
    /// The edits are incomplete, so that a protected path may be missing from them.
    pub fn restore_plan(&self, protected: &PathGlobs) -> Result<RestorePlan<'t>, TreeError> {
        if let Some(path) = self.unread() {
            let path = path.to_string();
            return Err(TreeError::TooDeep { path });
        }
        let mut plan = RestorePlan {
            template: self.template(),
            edited: Vec::new(),
            deleted: Vec::new(),
            added: Vec::new(),
        };
        for (path, now) in self.iter() {
            let is_link = matches!(now, Some(AfterEntry::Link { .. }));
            let fits = protected.fit(path) || is_link && protected.begin_at_or_below(path);
            if !fits {
                continue;
            }
            let list = match (self.template().get(path), now) {
                (None, _) => &mut plan.added,
                (_, None) => &mut plan.deleted,
                _ => &mut plan.edited,
            };
            list.push(path.clone());
        }
        let added =
            |path: &&WorkspacePath| protected.fit(path) && self.template().get(path).is_none();
        plan.added
            .extend(self.special().keys().filter(added).cloned());
        plan.added.sort();
        Ok(plan)
    }
}

impl RestorePlan<'_> {
    pub fn is_empty(&self) -> bool {
        self.edited.is_empty() && self.deleted.is_empty() && self.added.is_empty()
    }

    /// Puts the files back in a copy of the workspace. `owner` as in
    /// [`CopyRules`](crate::CopyRules).
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn restore_tree(&self, root: &Path, owner: Option<(u32, u32)>) -> Result<(), TreeError> {
        let root = Folder::open(root).map_err(TreeError::at(b""))?;
        for path in &self.added {
            match root.below(path.parent().as_ref()) {
                Ok(folder) => folder.remove(path.name()),
                // It was in another path that was added.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            }
            .map_err(TreeError::at(path.as_bytes()))?;
        }
        self.put_back(&root, owner)
    }

    /// Writes the files into `layer`, an empty folder, as a layer of an overlay that is above the
    /// upper folder of the workspace. Added files become whiteouts.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn write_layer(&self, layer: &Path, owner: Option<(u32, u32)>) -> Result<(), TreeError> {
        let layer = Folder::open(layer).map_err(TreeError::at(b""))?;
        self.put_back(&layer, owner)?;
        let mut covered: Option<&WorkspacePath> = None;
        for path in &self.added {
            // A file that was put back hides what is below it, too.
            let hidden = |parent: WorkspacePath| {
                self.edited.binary_search(&parent).is_ok()
                    && self.template.get(&parent) != Some(&TreeEntry::Folder)
            };
            if covered.is_some_and(|covered| path.is_below(covered)) || path.parents().any(hidden) {
                continue;
            }
            covered = Some(path);
            let folder = folder_for(&layer, path, owner);
            let made = folder.and_then(|folder| make_whiteout(&folder, path));
            made.map_err(TreeError::at(path.as_bytes()))?;
        }
        Ok(())
    }

    fn put_back(&self, top: &Folder, owner: Option<(u32, u32)>) -> Result<(), TreeError> {
        let mut paths: Vec<&WorkspacePath> = self.edited.iter().chain(&self.deleted).collect();
        paths.sort();
        for path in paths {
            self.template
                .write_entry(top, path, owner)
                .map_err(TreeError::at(path.as_bytes()))?;
        }
        Ok(())
    }
}

/// The folder that `path` is in; whatever else is there, links included, makes room for it.
pub(crate) fn folder_for(
    top: &Folder,
    path: &WorkspacePath,
    owner: Option<(u32, u32)>,
) -> io::Result<Folder> {
    let mut folder = top.below(None)?;
    for part in path.parent().iter().flat_map(WorkspacePath::parts) {
        folder = make_real_folder(&folder, part, owner)?;
    }
    Ok(folder)
}

pub(crate) fn make_real_folder(
    folder: &Folder,
    name: &[u8],
    owner: Option<(u32, u32)>,
) -> io::Result<Folder> {
    match folder.kind(name)? {
        Some(FileType::Directory) => return folder.folder(name),
        Some(_) => folder.remove(name)?,
        None => {}
    }
    let made = folder.make_folder(name)?;
    folder.own(name, owner)?;
    Ok(made)
}
