//! Files that graders take into a workspace, read when the suite is loaded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::load::{Code, Node, Problem, SuiteDesk};
use eval_base::text::hex;
use eval_workspace::WorkspacePath;

/// Bytes of all files of a grader.
const MOST_BYTES: u64 = 64 << 20;

/// `{dir: FOLDER}`, or files by path.
#[derive(Debug, Clone, PartialEq)]
pub enum TestFilesSpec {
    Folder(String),
    Files(BTreeMap<String, TestFileSpec>),
}

impl Default for TestFilesSpec {
    fn default() -> Self {
        TestFilesSpec::Files(BTreeMap::new())
    }
}

/// A file for tests: a text, or a copy.
#[derive(Debug, Clone, PartialEq)]
pub enum TestFileSpec {
    Text(String),
    Copy(TestFileCopy),
}

/// A copy of a file of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestFileCopy {
    /// The file, relative to this file.
    #[schemars(length(min = 1))]
    pub file: String,
}

impl Serialize for TestFilesSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TestFilesSpec::Folder(dir) => json!({ "dir": dir }).serialize(serializer),
            TestFilesSpec::Files(files) => files.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TestFilesSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        match (map.len(), map.get("dir")) {
            (1, Some(Value::String(dir))) => Ok(TestFilesSpec::Folder(dir.clone())),
            _ => serde_json::from_value(Value::Object(map))
                .map(TestFilesSpec::Files)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for TestFilesSpec {
    fn schema_name() -> Cow<'static, str> {
        "TestFiles".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let file = generator.subschema_for::<TestFileSpec>();
        json_schema!({ "type": "object", "additionalProperties": file })
    }
}

impl Serialize for TestFileSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TestFileSpec::Text(text) => text.serialize(serializer),
            TestFileSpec::Copy(copy) => copy.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TestFileSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(TestFileSpec::Text(text)),
            other => serde_json::from_value(other)
                .map(TestFileSpec::Copy)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for TestFileSpec {
    fn schema_name() -> Cow<'static, str> {
        "TestFile".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let copy = generator.subschema_for::<TestFileCopy>();
        json_schema!({ "if": { "type": "string" }, "else": copy })
    }
}

/// A file with its content. What distinguishes graders is the digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenFile {
    /// In the workspace, or in the suite's folder.
    pub path: String,
    /// SHA-256 (hex) of the content.
    pub sha256: String,
    #[serde(skip)]
    pub content: Arc<Vec<u8>>,
}

impl GivenFile {
    pub(in crate::graders) fn new(path: String, content: Arc<Vec<u8>>) -> GivenFile {
        let sha256 = hex(&Sha256::digest(content.as_slice()));
        GivenFile {
            path,
            sha256,
            content,
        }
    }
}

impl TestFilesSpec {
    /// The files with their contents, by path; `None` after reporting what is wrong.
    pub(in crate::graders) fn read(
        &self,
        desk: &mut SuiteDesk,
        node: &Node,
    ) -> Option<Vec<GivenFile>> {
        let at = node.locate("/files");
        let mut files = Vec::new();
        match self {
            TestFilesSpec::Folder(dir) => {
                let span = node.locate("/files/dir");
                for (path, content) in desk.folder_content(dir, MOST_BYTES, span)? {
                    files.push(GivenFile::new(path, content));
                }
                if files.is_empty() {
                    let message = format!("the folder `{dir}` contains no files");
                    return desk.refuse(Problem::error(Code::BadPath, span, message));
                }
            }
            TestFilesSpec::Files(all) => {
                for (path, spec) in all {
                    let own = node.get("files").and_then(|files| files.get(path));
                    let span = own.map_or(at, |own| own.span);
                    if let Err(error) = path.parse::<WorkspacePath>() {
                        let problem = Problem::error(Code::BadPath, span, error.to_string());
                        return desk.refuse(
                            problem.hint("paths are relative to the top of the workspace"),
                        );
                    }
                    let content = match spec {
                        TestFileSpec::Text(text) => Arc::new(text.clone().into_bytes()),
                        TestFileSpec::Copy(copy) => {
                            desk.file_content(&copy.file, MOST_BYTES, span)?
                        }
                    };
                    files.push(GivenFile::new(path.clone(), content));
                }
            }
        }
        let bytes: u64 = files.iter().map(|file| file.content.len() as u64).sum();
        if bytes > MOST_BYTES {
            let message = format!(
                "the files are larger than {} MiB in total",
                MOST_BYTES >> 20
            );
            return desk.refuse(Problem::error(Code::BadPath, at, message));
        }
        Some(files)
    }
}
