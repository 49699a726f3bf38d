//! What stands before and after graders: extraction, and how verdicts combine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grader::RegexFlag;
use super::words::{JsonMode, Which};

/// How several verdicts become one.
#[derive(Debug, Clone, PartialEq)]
pub enum CombineSpec {
    Word(CombineWord),
    AtLeast(usize),
    Weighted { pass_threshold: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CombineWord {
    All,
    Any,
    Weighted,
}

/// One step from the target's output to what is graded: a word (`trim`, `json`, `code`) or an
/// object with one key.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtractSpec {
    Word(ExtractWord),
    Step(ExtractStep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractWord {
    /// White space at both ends.
    Trim,
    /// The last fenced code block.
    Code,
    /// The output's JSON: whole, fenced or embedded.
    Json,
}

/// Exactly one of these keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractStep {
    Code(ExtractCode),
    Json(JsonMode),
    Regex(ExtractRegex),
    /// A JSON path (RFC 9535) into the output's JSON.
    JsonPath(String),
    /// The text after the last occurrence of this marker.
    AfterLast(String),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractCode {
    pub language: Option<String>,
    #[serde(default)]
    pub which: Which,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractRegex {
    pub pattern: String,
    #[serde(default)]
    pub flags: Vec<RegexFlag>,
    /// A group's name or number; default the first group, or the whole match when there is none.
    pub group: Option<String>,
    #[serde(default)]
    pub which: Which,
}
