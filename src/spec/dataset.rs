//! Cases from data files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tagged;
use super::words::TestsTrust;

/// Cases from a data file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case")]
#[schemars(extend("x-optional-tag" = "case"))]
pub enum DatasetSpec {
    /// JSON lines: one JSON object per line.
    Jsonl(RowsDataset),
    /// A JSON array of objects.
    Json(RowsDataset),
    /// Comma-separated values with a header line; every field is a text.
    Csv(RowsDataset),
    /// The format of HumanEval.
    Humaneval(BenchmarkDataset),
    /// The format of MBPP: JSON lines, or the sanitized array.
    Mbpp(BenchmarkDataset),
}

tagged!(DatasetSpec by "format" {
    Jsonl = "jsonl", Json = "json", Csv = "csv", Humaneval = "humaneval", Mbpp = "mbpp",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// A case as in `test_cases:`; its texts are templates over `row.*`. A text that consists of a
    /// single `{{ row.x }}` becomes the row's value unchanged: a number, a list, an object.
    #[schemars(with = "serde_json::Map<String, Value>", extend("x-template-of" = "CaseSpec"))]
    pub case: Value,
    /// Read at most this many rows.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Time limit in seconds for each program. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Time limit of each program, as a multiple of the time that the record's own solution
    /// (`canonical_solution`, `code`) takes alone on this machine: at least 0.5 s, at most
    /// `timeout_seconds`. Every record must then have a solution that passes.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    /// Memory limit in megabytes for each program. Default: `sandbox.memory_mb` of the suite.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Limit in megabytes for the return value of one call. Default 128.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `in_process` runs the tests in the same interpreter as the code, which can then forge the
    /// verdict.
    pub trust: Option<TestsTrust>,
}
