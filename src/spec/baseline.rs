//! Baseline files, as kept in git, and the suite's settings of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NameOr;
use super::grader::present;

/// The version of the format of baseline files; a reader refuses a higher one.
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
    /// Version or commit at which it was captured, as people name it.
    pub baseline_version: Option<String>,
    /// RFC 3339, UTC.
    pub captured_at: Option<String>,
    /// The suite's name. Files of other suites in the same folder are left alone.
    pub suite: Option<String>,
    /// What gave the output.
    pub target: Option<BaselineTarget>,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// True when the checkout held changes that no commit has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    pub harness_version: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Value>,
    /// Over what the target was given (hex): with another input the baseline is stale.
    pub input_hash: Option<String>,
    /// Only in pending files: the fingerprint (hex) of the accepted output that was there at
    /// capture, or `none`.
    pub replaces: Option<String>,
    /// The known-good output. Texts such as `{{any_uuid}}` are matchers.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Value>,
    /// In place of `output`: the file beside this one that holds it, when it is large.
    pub output_file: Option<OutputFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineTarget {
    /// The name under `targets:`; absent for an eval's own execution.
    pub name: Option<String>,
    /// The word after `type:`, such as `http`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A large output beside its baseline file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputFile {
    /// A file name in the same folder; a JSON document.
    pub name: String,
    /// The fingerprint (hex) of the value that it holds.
    pub fingerprint: String,
}

/// `baselines:` of a suite: the folder, or the folder and more.
pub type SuiteBaselines = NameOr<BaselinesSpec>;

/// Where baselines are kept and how outputs become baselines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselinesSpec {
    /// The folder, relative to this file. Default `baselines/` in the project root.
    pub path: Option<String>,
    /// What `baseline capture` replaces in texts of outputs, each rule in its turn.
    #[serde(default)]
    pub redact: Vec<RedactSpec>,
    /// Outputs of more bytes go into a file beside. Default 65536.
    #[schemars(range(min = 256, max = 1073741824))]
    pub inline_bytes: Option<u64>,
    /// HTTP response headers that are kept besides those that the accepted baseline names. Default
    /// `[content-type]`.
    pub keep_headers: Option<Vec<String>>,
}

/// Texts that differ from call to call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactSpec {
    /// A regular expression. Where it matches a whole text the placeholder takes its place; where
    /// it matches a part, the baseline matches that part by this expression.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// A matcher, such as `{{any_uuid}}`. Default `{{any_string}}`.
    pub placeholder: Option<String>,
}
