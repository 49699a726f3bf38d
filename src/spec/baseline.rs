//! Baseline files, as kept in git.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One accepted output: `baselines/<eval id>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineFile {
    pub eval_id: String,
    /// For evals of more than one case.
    pub case_id: Option<String>,
    /// The known-good output. Texts such as `{{any_uuid}}` are matchers.
    pub output: Value,
    /// RFC 3339.
    pub captured_at: Option<String>,
    /// Version or commit at which it was captured.
    pub version: Option<String>,
    #[serde(default)]
    pub environment: BTreeMap<String, Value>,
}
