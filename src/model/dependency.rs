//! What outputs depend on besides their inputs and the settings of their target: files and
//! environment variables. Runs record it, so that a later one can reuse outputs.

use std::path::PathBuf;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use eval_base::text;

/// Everything of that kind that is known of a target or an eval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dependencies {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Dependency>,
    /// True if `depends_on` is set, possibly to an empty list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    /// What the target may depend on in addition.
    #[serde(default, skip_serializing_if = "UnseenDependencies::is_nothing")]
    pub unseen: UnseenDependencies,
    /// The files, as they were before their content was read.
    #[serde(skip)]
    pub stamps: FileStamps,
}

/// Size and time of a file; `None` when it is not there.
pub type FileStamp = Option<(u64, Option<SystemTime>)>;

/// Files as they were at one time. They are neither recorded nor
/// compared: a checkout changes the times.
#[derive(Debug, Clone, Default)]
pub struct FileStamps(pub Vec<(PathBuf, FileStamp)>);

impl PartialEq for FileStamps {
    fn eq(&self, _: &FileStamps) -> bool {
        true
    }
}

/// One of them, and a fingerprint of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// A path or glob of `depends_on`, a file that the command names, a folder or file that a
    /// workspace is made of (all relative to the project root), `program NAME`, or
    /// `env NAME, NAME`.
    pub name: String,
    /// Fingerprint (hex): of file names and contents, of the path of a program, or of the values of
    /// variables.
    pub hash: String,
    /// True for what a workspace is made of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workspace: bool,
}

/// What cannot be found out from the definition of a target without `depends_on`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnseenDependencies {
    /// All is known.
    #[default]
    Nothing,
    /// Files that the command reads in addition to those that it names.
    MoreFiles,
    /// All of it: a service, or a command that names no file.
    Everything,
}

impl UnseenDependencies {
    fn is_nothing(&self) -> bool {
        *self == UnseenDependencies::Nothing
    }
}

/// A `depends_on:` list with its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependsOn {
    pub entries: Vec<DependsOnEntry>,
}

/// A path or a glob, and the files that it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependsOnEntry {
    pub text: String,
    /// Absolute, ascending.
    pub files: Vec<PathBuf>,
}

/// Where a sample comes from that was taken from an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReusedFrom {
    /// The run whose target returned the outputs.
    pub run: String,
    /// True if this run graded them again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graded_again: bool,
    /// True if the outputs are those of a command that may read more files than it names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted_files: bool,
}

/// Samples of a run that were taken from an earlier run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReuseCounts {
    /// Output and grade of the earlier run.
    pub reused: usize,
    /// Output of the earlier run, graded by this one.
    pub graded_again: usize,
    /// All others: samples that this run ran, or did not get to.
    pub run: usize,
    /// Samples of the first two counts whose outputs are those of a command that may read more files
    /// than it names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted_files: usize,
}

impl ReuseCounts {
    /// The warning about `unlisted_files` outputs, if there are any.
    pub fn unlisted_warning(unlisted_files: usize) -> Option<String> {
        let reused = (unlisted_files > 0).then(|| text::plural(unlisted_files, "reused output"))?;
        Some(format!(
            "{reused} came from a command that may read more files than it names; to have their changes noticed, list \
             them under `depends_on` of the target"
        ))
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
