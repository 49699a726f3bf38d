//! `workspace:` blocks: the folder of its own in which each sample of a case is made.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::words::{KeepWorkspace, NetworkAccess};

/// `workspace:` at one level: of a suite, an eval, a case, a phase or a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum WorkspaceSetting {
    /// The key is missing: the workspace of the level above, if there is one.
    #[default]
    Inherited,
    /// `null`: none, whatever the levels above define.
    Ended,
    /// Merged with the workspace of the level above.
    Own(Box<WorkspaceSpec>),
}

impl WorkspaceSetting {
    pub fn is_inherited(&self) -> bool {
        *self == WorkspaceSetting::Inherited
    }
}

impl Serialize for WorkspaceSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WorkspaceSetting::Inherited | WorkspaceSetting::Ended => serializer.serialize_none(),
            WorkspaceSetting::Own(spec) => spec.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WorkspaceSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(WorkspaceSetting::Ended),
            value => serde_json::from_value(value)
                .map(WorkspaceSetting::Own)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for WorkspaceSetting {
    fn schema_name() -> Cow<'static, str> {
        "WorkspaceSetting".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Without a `type` at its top, so that a null is not the same as a missing key.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let spec = generator.subschema_for::<WorkspaceSpec>();
        json_schema!({ "if": { "type": "null" }, "else": spec })
    }
}

/// A folder in which programs work: each sample has its own. A suite, an eval and a case may each
/// have the key `workspace`, and so may a phase and a step; they are merged, and the innermost
/// setting wins. Texts are templates over `vars.*` and `env.*`, in a dataset also over `row.*`; in a
/// phase plan they are not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceSpec {
    /// The content of the workspace. Default: an empty folder.
    pub from: Option<WorkspaceFrom>,
    /// Files to write on top of `from`, by their path in the workspace: a text, a file to copy, or
    /// `null` for a file of `from` to leave out. Levels are merged by path.
    #[serde(default)]
    pub files: BTreeMap<String, WorkspaceFileSpec>,
    /// Commands to run before the target, each a list of program and arguments; they run in the
    /// workspace and in the sandbox. Those of outer levels run first.
    #[serde(default)]
    pub setup: Vec<Vec<String>>,
    /// Commands to run after the graders, like `setup`.
    #[serde(default)]
    pub teardown: Vec<Vec<String>>,
    /// Time limit in seconds for each command of `setup` and `teardown`. Default 600.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub setup_timeout_seconds: Option<f64>,
    /// Globs of files that the target never sees; tests do. Globs of all levels apply.
    #[serde(default)]
    pub hidden: Vec<String>,
    /// Globs of files that are restored before tests run, so that the target cannot change the
    /// tests. Globs of all levels apply.
    #[serde(default)]
    pub protected: Vec<String>,
    /// Workspaces to keep in the results folder. Default `never`.
    pub keep: Option<KeepWorkspace>,
    /// Environment variables of every program in the workspace. Levels are merged by name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The folder in which programs run, as a path in the workspace. Default: its top.
    pub cwd: Option<String>,
    /// Network access of the target and of `setup`; tests have none. Default `none`.
    pub network: Option<NetworkAccess>,
    /// Memory limit in megabytes for a program and its children together. Default 2048.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Limit in megabytes of what a program writes to the workspace. Default 2048.
    #[schemars(range(min = 1, max = 1048576))]
    pub disk_mb: Option<u64>,
    /// Limit of the number of processes of a program. Default 512.
    #[schemars(range(min = 1, max = 1000000))]
    pub processes: Option<u64>,
}

/// The content of a workspace: exactly one of `dir`, `git` and `archive`. Paths are relative to this
/// file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::workspace_from()))]
pub struct WorkspaceFrom {
    /// A folder to copy.
    pub dir: Option<String>,
    /// A commit of a git repository.
    pub git: Option<WorkspaceGit>,
    /// A tar file to unpack, plain or compressed by gzip.
    pub archive: Option<String>,
    /// Globs of files and folders to leave out, such as `target` or `**/node_modules`.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// A commit of a git repository on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceGit {
    /// The folder of the repository.
    pub repo: String,
    /// The commit: preferably its full hash, since a branch or a tag can move.
    pub commit: String,
}

/// A file of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkspaceFileSpec {
    /// Its content.
    Text(String),
    Copy(WorkspaceFileCopy),
    /// `null`: the file of `from` with this path is left out.
    Absent,
}

/// A copy of a file of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceFileCopy {
    /// The file, relative to this file. Its content is not a template.
    #[schemars(length(min = 1))]
    pub file: String,
}

impl Serialize for WorkspaceFileSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WorkspaceFileSpec::Text(text) => text.serialize(serializer),
            WorkspaceFileSpec::Copy(copy) => copy.serialize(serializer),
            WorkspaceFileSpec::Absent => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for WorkspaceFileSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(WorkspaceFileSpec::Absent),
            Value::String(text) => Ok(WorkspaceFileSpec::Text(text)),
            other => serde_json::from_value(other)
                .map(WorkspaceFileSpec::Copy)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for WorkspaceFileSpec {
    fn schema_name() -> Cow<'static, str> {
        "WorkspaceFile".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let copy = generator.subschema_for::<WorkspaceFileCopy>();
        json_schema!({
            "if": { "type": "null" },
            "else": { "if": { "type": "string" }, "else": copy }
        })
    }
}
