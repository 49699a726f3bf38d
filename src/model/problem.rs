//! What `validate --format json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The problems of the files that were checked: the root of `validate --format json`. Lines and
/// columns begin at 1; columns count characters, and an end is the place after the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemReport {
    /// The version of this format: 1.
    pub format_version: u32,
    pub errors: usize,
    pub warnings: usize,
    /// By file, then by place in the file; each problem once.
    pub problems: Vec<ProblemRecord>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemRecord {
    /// `EH` and four digits; stable.
    pub code: String,
    /// The name of the code, such as `unknown-key`; stable.
    pub slug: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The file, relative to the working folder; `null` for a problem of the command line.
    pub file: Option<String>,
    /// The place of the problem; `null` if it has none, such as for a file that does not exist.
    pub range: Option<TextRange>,
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// A change that mends the problem; only if it is certain.
    pub fix: Option<FixRecord>,
    /// Other places that the message refers to, such as the first of two equal keys.
    pub related: Vec<RelatedRecord>,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextRange {
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

/// The text to put in place of a range of the problem's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixRecord {
    pub range: TextRange,
    pub replacement: String,
}

/// Another place that a problem refers to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelatedRecord {
    pub file: String,
    pub range: TextRange,
    /// Why the place matters.
    pub note: String,
}
