//! Steps before and after graders: extraction, and the combination of verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grader::RegexFlag;
use super::words::{JsonMode, Which};

/// Combination of several verdicts.
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

/// A step that extracts the graded text from the output: a word (`trim`, `json`, `code`) or an
/// object with one key.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtractSpec {
    Word(ExtractWord),
    Step(ExtractStep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractWord {
    /// Removes whitespace at both ends.
    Trim,
    /// Extracts the last fenced code block.
    Code,
    /// Extracts the output's JSON: whole, fenced or embedded.
    Json,
}

/// Exactly one of these keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractStep {
    Code(ExtractCode),
    Json(JsonMode),
    Regex(ExtractRegex),
    /// A JSONPath (RFC 9535) into the output's JSON.
    JsonPath(String),
    /// The text after the last occurrence of this marker.
    AfterLast(String),
}

/// Extraction of a fenced code block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractCode {
    /// Language of the code fence. Default: any.
    pub language: Option<String>,
    /// The block to extract if there are several.
    #[serde(default)]
    pub which: Which,
}

/// Extraction by a regular expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractRegex {
    /// The pattern to search for.
    pub pattern: String,
    /// Flags of the pattern.
    #[serde(default)]
    pub flags: Vec<RegexFlag>,
    /// Name or number of the group. Default: the first group, or the whole match if there is none.
    pub group: Option<String>,
    /// The match to extract if there are several.
    #[serde(default)]
    pub which: Which,
}
