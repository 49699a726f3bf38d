//! Workspaces made of what was recorded: patches, folders, archives.

use std::path::{Path, PathBuf};

use super::finished::most_bytes;
use super::sample::{FolderKind, SampleFiles, SampleWorkspace, too_many_files};
use super::template::{HISTORIES, fault, globs, list};
use super::{WorkspaceFault, WorkspaceMode, archive, blocking, record};
use crate::model::{Cause, RecordedTree};
use eval_workspace::{
    AfterView, CopyRules, LeftEntry, PathGlobs, TemplateView, TreeEntry, TreeError, WorkspaceEdits,
    WorkspacePath, copy_tree, patch_template, remove_tree,
};

/// What is recorded of the work of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedWork {
    /// Changes in git's format.
    Patch(String),
    /// The whole workspace, in a folder or an archive. What is in `.git` of it does not count.
    Tree(RecordedTree),
    /// Files to lay on the workspace, in a folder.
    Files(RecordedTree),
    /// The file that a run wrote of all changes.
    Record(PathBuf),
    /// The folder in which a run kept the workspace.
    Kept(RecordedTree),
}

impl RecordedWork {
    /// Of what a recording names.
    pub fn of_tree(tree: RecordedTree) -> RecordedWork {
        match tree.name.ends_with(record::CHANGES_FILE) {
            true => RecordedWork::Record(tree.path),
            false => RecordedWork::Tree(tree),
        }
    }

    pub(super) fn folder_kind(&self, mode: &WorkspaceMode) -> FolderKind {
        match (mode, self) {
            (WorkspaceMode::Overlay { .. }, _) => FolderKind::Layer,
            (WorkspaceMode::Copy { .. }, RecordedWork::Tree(_) | RecordedWork::Kept(_)) => {
                FolderKind::Empty
            }
            (WorkspaceMode::Copy { .. }, _) => FolderKind::Programs,
        }
    }
}

impl SampleWorkspace {
    /// Makes the workspace what was recorded.
    pub(super) async fn lay(self, work: RecordedWork) -> Result<SampleWorkspace, WorkspaceFault> {
        blocking(move || {
            match work {
                RecordedWork::Patch(patch) => self.lay_patch(&patch)?,
                RecordedWork::Tree(from) => self.lay_whole(&from, false)?,
                RecordedWork::Kept(from) => self.lay_whole(&from, true)?,
                RecordedWork::Files(from) => self.lay_files(&from)?,
                RecordedWork::Record(from) => {
                    record::read(&from, |path, left| self.put(path, left)).map_err(|why| {
                        let reason = format!("the recorded changes can't be used: {why}");
                        WorkspaceFault::new(Cause::PatchRejected, reason)
                    })?;
                }
            }
            Ok(self)
        })
        .await
    }

    fn put(&self, path: &WorkspacePath, left: &LeftEntry) -> Result<(), TreeError> {
        let owner = self.open.store.owner;
        match &self.files {
            SampleFiles::Upper(upper) => left.put_in_layer(&self.template.view, upper, path, owner),
            SampleFiles::Folder { path: top, .. } => left.put(top, path, owner),
        }
    }

    fn lay_patch(&self, patch: &str) -> Result<(), WorkspaceFault> {
        if patch.trim().is_empty() {
            return Ok(());
        }
        let rejected = |why: String| {
            let reason = format!("the patch does not apply: {why}");
            WorkspaceFault::new(Cause::PatchRejected, reason)
        };
        let changes = patch_template(&self.template.view, patch);
        for (path, left) in changes.map_err(|error| rejected(error.to_string()))? {
            self.put(&path, &left)
                .map_err(|error| rejected(error.to_string()))?;
        }
        Ok(())
    }

    /// Lays a whole workspace. Of a layer a copy is made, and what is different in it is moved there.
    fn lay_whole(&self, from: &RecordedTree, whole: bool) -> Result<(), WorkspaceFault> {
        let upper = match &self.files {
            SampleFiles::Folder { path, .. } => return self.lay_tree(path, from, whole),
            SampleFiles::Upper(upper) => upper,
        };
        let cannot = |why: String| fault(format!("cannot write a workspace: {why}"));
        let copy = self.open.store.folder(self.place.path().join("recorded"));
        let copy = copy.map_err(|error| cannot(error.to_string()))?;
        self.lay_tree(&copy, from, whole)?;
        let view = AfterView::Tree {
            root: &copy,
            copied_at: None,
        };
        let edits = WorkspaceEdits::read(&self.template.view, &view);
        let edits = edits.map_err(|error| cannot(error.to_string()))?;
        if edits.unread().is_some() {
            return Err(too_many_files());
        }
        let moved = edits.move_to_layer(upper, self.open.store.owner);
        moved
            .and_then(|()| remove_tree(&copy))
            .map_err(|error| cannot(error.to_string()))
    }

    /// `whole`: with its `.git`; otherwise that of the template stays.
    fn lay_tree(
        &self,
        path: &Path,
        from: &RecordedTree,
        whole: bool,
    ) -> Result<(), WorkspaceFault> {
        let source = self.source(from)?;
        // A setup may make links that lead out, which no copy takes.
        let view = &self.template.view;
        let listing = view.listing();
        let links = listing.entries().filter(|(path, entry)| {
            matches!(entry, TreeEntry::Link { target } if is_link(&source.join(path.as_path()), target))
        });
        let links = links.map(|(path, _)| path.clone());
        let of_template = match whole {
            true => PathGlobs::default(),
            false => globs(&[HISTORIES.to_owned()])?,
        };
        let of_template = of_template.with_paths(links);
        self.copy(from, &source, path, of_template.clone())?;
        view.write_paths(path, &of_template, self.open.store.owner)
            .map_err(|error| fault(format!("cannot write a workspace: {error}")))
    }

    fn lay_files(&self, from: &RecordedTree) -> Result<(), WorkspaceFault> {
        let (SampleFiles::Upper(path) | SampleFiles::Folder { path, .. }) = &self.files;
        let copy = self.place.path().join("recorded");
        let source = self.source(from)?;
        self.copy(from, &source, &copy, globs(&[HISTORIES.to_owned()])?)?;
        let files = TemplateView::new(&copy, list(&copy)?);
        let written = files.map_err(|error| error.to_string()).and_then(|files| {
            files
                .write_tree(path, &PathGlobs::default(), self.open.store.owner)
                .map_err(|error| error.to_string())
        });
        written.map_err(|why| fault(format!("cannot write a workspace: {why}")))
    }

    /// The folder, or the archive's content.
    fn source(&self, from: &RecordedTree) -> Result<PathBuf, WorkspaceFault> {
        if from.path.is_dir() {
            return Ok(from.path.clone());
        }
        let out = self.place.path().join("archive");
        let most = most_bytes(&self.template, &self.definition);
        archive::unpack(&from.path, &out, most).map_err(|why| unusable(from, &why))?;
        Ok(out)
    }

    fn copy(
        &self,
        from: &RecordedTree,
        source: &Path,
        to: &Path,
        leave_out: PathGlobs,
    ) -> Result<(), WorkspaceFault> {
        let rules = CopyRules {
            leave_out,
            owner: self.open.store.owner,
            keep_rights: true,
            max_bytes: most_bytes(&self.template, &self.definition),
            ..CopyRules::default()
        };
        let copied = copy_tree(source, to, &rules);
        copied
            .map(drop)
            .map_err(|error| unusable(from, &error.to_string()))
    }
}

fn unusable(from: &RecordedTree, why: &str) -> WorkspaceFault {
    let name = &from.name;
    let reason = format!("the recorded workspace `{name}` can't be used: {why}");
    WorkspaceFault::new(Cause::MissingOutput, reason)
}

fn is_link(path: &Path, target: &[u8]) -> bool {
    let found = std::fs::read_link(path);
    found.is_ok_and(|found| found.as_os_str().as_encoded_bytes() == target)
}
