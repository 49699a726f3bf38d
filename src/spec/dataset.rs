//! Cases from data files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tagged;
use super::words::TestsTrust;

/// Cases from a data file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case")]
pub enum DatasetSpec {
    /// One JSON object a line.
    Jsonl(RowsDataset),
    /// A JSON array of objects.
    Json(RowsDataset),
    /// Comma-separated values with a header line; every field is a text.
    Csv(RowsDataset),
    /// HumanEval's layout.
    Humaneval(BenchmarkDataset),
    /// MBPP's layout: JSON lines, or the sanitized array.
    Mbpp(BenchmarkDataset),
}

tagged!(DatasetSpec by "format" {
    Jsonl = "jsonl", Json = "json", Csv = "csv", Humaneval = "humaneval", Mbpp = "mbpp",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsDataset {
    /// Relative to this file.
    pub path: String,
    /// A case as under `test_cases:`, whose texts are templates over `row.*`. A text that is
    /// nothing but one `{{ row.x }}` becomes the row's value as it is: a number, a list, an object.
    #[schemars(with = "serde_json::Map<String, Value>", extend("x-template-of" = "CaseSpec"))]
    pub case: Value,
    /// Only the first rows.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkDataset {
    /// Relative to this file.
    pub path: String,
    /// The prompt for models, a template over `row.*`.
    pub prompt: Option<String>,
    /// Only the first records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Seconds for each program. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Limits each program to so many times what the record's own solution (`canonical_solution`,
    /// `code`) takes here, alone: at least 0.5 s, at most `timeout_seconds`. Such a record must
    /// have one, and it must pass.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Megabytes that what one call returns may take. Default 128.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `in_process` runs the tests in the interpreter of the code, which could then forge the
    /// verdict.
    pub trust: Option<TestsTrust>,
}
