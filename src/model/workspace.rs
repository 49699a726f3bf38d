//! Workspaces: the folder of its own in which each sample of a case is made, and what was found in
//! it afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::words::{KeepWorkspace, NetworkAccess};
use eval_base::text::plural;
use eval_workspace::{DiffText, WorkspaceChanges};

/// The workspace of a case. Serialised, it is part of what tells inputs apart; the content of
/// `source` is not, which may be large: a run looks at it when it makes the workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseWorkspace {
    /// What is copied; `None` for an empty folder.
    pub source: Option<WorkspaceSource>,
    /// Globs of what is left out of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Laid on top, by path.
    pub files: BTreeMap<String, WorkspaceFile>,
    /// Run one after the other before the target, in the sandbox.
    pub setup: Vec<Vec<String>>,
    /// The same after the graders.
    pub teardown: Vec<Vec<String>>,
    /// Wall time of each command of `setup` and `teardown`.
    pub setup_timeout: Duration,
    /// Globs of files that no target sees; tests do.
    pub hidden: Vec<String>,
    /// Globs of files that are put back before tests run.
    pub protected: Vec<String>,
    pub keep: KeepWorkspace,
    /// For every program in it.
    pub env: BTreeMap<String, String>,
    /// Where programs run, relative to the workspace; empty: there.
    pub cwd: String,
    /// For targets and setup; tests have none.
    pub network: NetworkAccess,
    pub limits: WorkspaceLimits,
    /// Folders of results, absolute, which are not part of a source.
    #[serde(skip)]
    pub results: Vec<PathBuf>,
}

impl CaseWorkspace {
    /// The files and folders of the project that it is made of.
    pub fn paths(&self) -> Vec<PathBuf> {
        let source = self.source.iter().map(|source| match source {
            WorkspaceSource::Dir { path, .. }
            | WorkspaceSource::Git { path, .. }
            | WorkspaceSource::Archive { path, .. } => path,
        });
        let files = self.files.values().filter_map(|file| match file {
            WorkspaceFile::File { path, .. } => Some(path),
            WorkspaceFile::Text(_) | WorkspaceFile::Absent => None,
        });
        source.chain(files).cloned().collect()
    }

    /// Where it is copied from, for people: the path of `source` in the project.
    pub fn copied_from(&self) -> &str {
        match &self.source {
            None => "an empty folder",
            Some(
                WorkspaceSource::Dir { name, .. }
                | WorkspaceSource::Git { name, .. }
                | WorkspaceSource::Archive { name, .. },
            ) if !name.is_empty() => name,
            Some(_) => ".",
        }
    }
}

/// What a workspace is a copy of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceSource {
    /// A folder of the project.
    Dir {
        /// Relative to the project root.
        name: String,
        #[serde(skip)]
        path: PathBuf,
    },
    /// A commit of a repository on this machine.
    Git {
        name: String,
        #[serde(skip)]
        path: PathBuf,
        commit: String,
    },
    /// A tar file, plain or compressed by gzip.
    Archive {
        name: String,
        #[serde(skip)]
        path: PathBuf,
    },
}

/// A file that is laid on a workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceFile {
    Text(String),
    /// A copy of a file of the project.
    File {
        /// Relative to the project root.
        name: String,
        #[serde(skip)]
        path: PathBuf,
    },
    /// A file of `source` that is left out.
    Absent,
}

/// Limits of one program in a workspace, besides its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WorkspaceLimits {
    /// MiB of all its processes together.
    pub memory_mb: u64,
    /// MiB that it may write to the workspace.
    pub disk_mb: u64,
    pub processes: u64,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        WorkspaceLimits {
            memory_mb: 2048,
            disk_mb: 2048,
            processes: 512,
        }
    }
}

/// What a target left in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceOutput {
    /// Git's unified format, computed from the files; `truncated` if changes are missing from it.
    pub diff: DiffText,
    pub changes: WorkspaceChanges,
    /// The exit code of the target's program; `null` if there was none.
    pub exit_code: Option<i32>,
    /// SHA-256 (hex) of what was there before the target ran.
    pub template: String,
    /// SHA-256 (hex) of the hidden files, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// SHA-256 (hex) of all that was different afterwards.
    #[serde(default)]
    pub left: String,
    /// The reason why the workspace is a copy and not an overlay, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<String>,
    /// The folder that `keep` keeps, relative to the folder of the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The file of all changes, where `diff` does not have all of them, relative to the folder of the
    /// journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The recorded tree that it is to be, before it is read.
    #[serde(skip)]
    pub tree: Option<RecordedTree>,
}

/// A right answer that is work in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SolutionWork {
    /// Files of a folder, laid on the workspace.
    Files(RecordedTree),
    /// A program, run in it as a target.
    Command {
        argv: Vec<String>,
        /// The suite's folder.
        dir: PathBuf,
    },
}

/// A folder or an archive that a recording names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTree {
    /// As it is written.
    pub name: String,
    pub path: PathBuf,
}

impl WorkspaceOutput {
    /// A recorded patch, before it is applied.
    pub fn of_patch(patch: String) -> WorkspaceOutput {
        WorkspaceOutput {
            diff: DiffText {
                text: patch,
                truncated: false,
            },
            changes: WorkspaceChanges::default(),
            exit_code: None,
            template: String::new(),
            hidden: None,
            left: String::new(),
            copied: None,
            kept: None,
            record: None,
            tree: None,
        }
    }

    /// A recorded folder or archive, before it is read.
    pub fn of_tree(tree: RecordedTree) -> WorkspaceOutput {
        WorkspaceOutput {
            tree: Some(tree),
            ..WorkspaceOutput::of_patch(String::new())
        }
    }

    /// Names its files as they are found from the day's folder of another run; `day` is that of the run
    /// that wrote them.
    pub fn refer_to(&mut self, day: &Path) {
        let Some(day) = day.file_name() else { return };
        for path in [&mut self.kept, &mut self.record].into_iter().flatten() {
            if !path.starts_with("../") {
                *path = format!("../{}/{path}", day.to_string_lossy());
            }
        }
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let WorkspaceChanges {
            added,
            modified,
            deleted,
            files,
            special,
            outside_links,
            ..
        } = &self.changes;
        let lists = [added, modified, deleted, special, outside_links];
        let paths = lists
            .into_iter()
            .flatten()
            .chain(files.iter().map(|file| &file.path));
        let paths: usize = paths.map(|path| path.as_bytes().len() + 64).sum();
        self.diff.text.len() + paths + size_of::<WorkspaceOutput>()
    }

    /// What changed, in a few words: `2 files changed, 1 added`.
    pub fn summary(&self) -> String {
        let WorkspaceChanges {
            added,
            modified,
            deleted,
            truncated,
            ..
        } = &self.changes;
        let counts = [
            (modified, "changed"),
            (added, "added"),
            (deleted, "deleted"),
        ];
        let counts = counts.into_iter().filter(|(paths, _)| !paths.is_empty());
        let counts: Vec<String> = counts
            .map(|(paths, what)| format!("{} {what}", plural(paths.len(), "file")))
            .collect();
        match (counts.is_empty(), truncated) {
            (true, false) => "Nothing changed".to_owned(),
            (_, false) => counts.join(", "),
            (_, true) => format!("{} (not all are listed)", counts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_from_the_day_of_another_run() {
        let mut left = WorkspaceOutput::of_patch(String::new());
        left.kept = Some("run-1.workspaces/e/c/0-0".to_owned());
        let first = Path::new("/results/2026-03-04");
        left.refer_to(first);
        let from_there = first.join(left.kept.clone().unwrap());
        assert_eq!(
            from_there,
            Path::new("/results/2026-03-04/../2026-03-04/run-1.workspaces/e/c/0-0")
        );
        // Graded again by a run of the next day, it is still where it was.
        left.refer_to(Path::new("/results/2026-03-05"));
        assert_eq!(left.kept.unwrap(), "../2026-03-04/run-1.workspaces/e/c/0-0");
        assert_eq!(left.record, None);
    }
}
