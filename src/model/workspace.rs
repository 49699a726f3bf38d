//! Workspaces: the folder of its own in which each sample of a case is made, and what was found in
//! it afterwards.

use std::collections::BTreeMap;
use std::path::PathBuf;
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
    /// The reason why the workspace is a copy and not an overlay, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<String>,
    /// The folder that `keep` keeps, relative to the folder of the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
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
            copied: None,
            kept: None,
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
