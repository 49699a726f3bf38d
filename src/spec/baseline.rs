//! Baseline files, as kept in git, and the suite's settings of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NameOr;
use super::grader::present;

/// The format version of baseline files; readers refuse higher versions.
pub const BASELINE_VERSION: u32 = 1;

/// One known-good output: `baselines/<eval id>.yaml` once accepted, `<eval id>.pending.yaml`
/// before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineFile {
    /// The version of this format: 1.
    pub format_version: u32,
    /// The regression eval whose output this is.
    #[schemars(length(min = 1))]
    pub eval_id: String,
    /// The version or commit of the captured program, such as the output of `git describe`.
    pub baseline_version: Option<String>,
    /// Time of the capture (RFC 3339, UTC).
    pub captured_at: Option<String>,
    /// The name of the suite. Files of other suites in the same folder are ignored.
    pub suite: Option<String>,
    /// The target that produced the output.
    pub target: Option<BaselineTarget>,
    /// The commit that was checked out at the capture.
    pub commit: Option<String>,
    /// True if tracked files had uncommitted changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// The eval-harness version that captured it.
    pub harness_version: Option<String>,
    /// The environment of the capture, such as the operating system and the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Value>,
    /// Hash (hex) of the target's input; if the input changes, the baseline is stale.
    pub input_hash: Option<String>,
    /// Pending files only: fingerprint (hex) of the output that was accepted at the time of the
    /// capture, or `none`.
    pub replaces: Option<String>,
    /// The known-good output. Texts such as `{{any_uuid}}` are matchers.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Value>,
    /// Instead of `output`: the file in the same folder that stores a large output.
    pub output_file: Option<OutputFile>,
}

/// The target that produced a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineTarget {
    /// The target's name under `targets:`; absent if the eval has its own `execution`.
    pub name: Option<String>,
    /// The target's type, such as `http`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A large output, stored in a file next to the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputFile {
    /// Name of a JSON file in the same folder.
    pub name: String,
    /// Fingerprint (hex) of the value in the file.
    pub fingerprint: String,
}

/// `baselines:` of a suite: the folder, or an object with the folder and other settings.
pub type SuiteBaselines = NameOr<BaselinesSpec>;

/// The folder of the baselines, and rules for their capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselinesSpec {
    /// The folder, relative to this file. Default `baselines/` in the project root.
    pub path: Option<String>,
    /// Replacements that `baseline capture` makes in the texts of outputs, in this order.
    #[serde(default)]
    pub redact: Vec<RedactSpec>,
    /// Outputs of more bytes are stored in a separate file. Default 65536.
    #[schemars(range(min = 256, max = 1073741824))]
    pub inline_bytes: Option<u64>,
    /// HTTP response headers to keep, in addition to those in the accepted baseline. Default
    /// `[content-type]`.
    pub keep_headers: Option<Vec<String>>,
}

/// A replacement for texts that differ from call to call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactSpec {
    /// A regular expression. If it matches a whole text, the placeholder replaces the text; if it
    /// matches a part, the baseline matches that part by this expression.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// A matcher, such as `{{any_uuid}}`. Default `{{any_string}}`.
    pub placeholder: Option<String>,
}
