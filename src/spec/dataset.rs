//! Cases from data files.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::TestsTrust;
use super::{schema_of, tagged};

/// Keys of a dataset of any format: which file it means, and what reports show of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetPin {
    /// SHA-256 of the whole file, in hex. A file with a different one is an error.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"))]
    pub sha256: Option<String>,
    /// Version of the dataset, for reports: free text, such as a tag or a commit.
    #[schemars(length(min = 1))]
    pub version: Option<String>,
    /// Reports show only aggregates of the eval: counts, rates, intervals and the gate, but no case.
    /// Default false.
    pub private: Option<bool>,
}

impl DatasetPin {
    const KEYS: [&str; 3] = ["sha256", "version", "private"];

    /// Takes the keys out of a `dataset:` block, which leaves those of its format.
    pub fn take(dataset: &mut Value) -> DatasetPin {
        let mut take = |key: &str| dataset.as_object_mut()?.remove(key);
        let [sha256, version, private] = DatasetPin::KEYS.map(&mut take);
        let text = |value: Option<Value>| value?.as_str().map(str::to_owned);
        DatasetPin {
            sha256: text(sha256),
            version: text(version),
            private: private.and_then(|value| value.as_bool()),
        }
    }
}

/// Adds the keys of [`DatasetPin`] to every format.
fn with_pin(schema: &mut Schema) {
    let pin = schema_of::<DatasetPin>();
    let branches = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for branch in branches.into_iter().flatten() {
        if let Some(properties) = branch.get_mut("properties").and_then(Value::as_object_mut) {
            for key in DatasetPin::KEYS {
                let property = pin.pointer(&format!("/properties/{key}"));
                properties.insert(key.to_owned(), property.cloned().unwrap_or_default());
            }
        }
    }
}

/// Cases from a data file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case")]
#[schemars(extend("x-optional-tag" = "case"), transform = with_pin)]
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
    /// The format of BigCodeBench: JSON lines. Tests share the interpreter of the code
    /// (`trust: in_process`).
    Bigcodebench(BigcodebenchDataset),
    /// The format of LiveCodeBench's code generation: JSON lines.
    Livecodebench(LivecodebenchDataset),
    /// The format of MultiPL-E: JSON lines. The tests share the process of the answer, which can then
    /// forge the verdict.
    MultiplE(ProgramsDataset),
    /// The format of HumanEvalPack: JSON lines. Except for Python, the tests share the process of
    /// the answer, which can then forge the verdict.
    HumanevalPack(HumanevalPackDataset),
    /// The format of DS-1000: JSON lines. Tests share the interpreter of the code
    /// (`trust: in_process`).
    Ds1000(Ds1000Dataset),
    /// The format of CodeContests: JSON lines; the tests are programs' inputs and outputs.
    CodeContests(ProgramsDataset),
    /// The format of APPS: JSON lines; the tests are programs' inputs and outputs, or calls.
    Apps(ProgramsDataset),
    /// The format of GSM8K: JSON lines.
    Gsm8k(Gsm8kDataset),
    /// The format of MMLU: JSON lines, or its CSV files without header. The model writes a letter
    /// (generative exact match); this is not the accuracy by log-likelihood.
    Mmlu(TextDataset),
    /// The format of HumanEval+ and MBPP+ (EvalPlus): JSON lines with inputs and a canonical
    /// solution, or with tests as text (`OriginFmt`).
    Evalplus(EvalplusDataset),
    /// The format of IFEval: JSON lines.
    Ifeval(TextDataset),
}

impl DatasetSpec {
    /// The data file as written, and how many of its records are read at most.
    pub fn file(&self) -> (&str, Option<usize>) {
        let (path, limit) = match self {
            DatasetSpec::Jsonl(own) | DatasetSpec::Json(own) | DatasetSpec::Csv(own) => {
                (&own.path, own.limit)
            }
            DatasetSpec::Humaneval(own) | DatasetSpec::Mbpp(own) => (&own.path, own.limit),
            DatasetSpec::Bigcodebench(own) => (&own.path, own.limit),
            DatasetSpec::Livecodebench(own) => (&own.path, own.limit),
            DatasetSpec::MultiplE(own) => (&own.path, own.limit),
            DatasetSpec::HumanevalPack(own) => (&own.path, own.limit),
            DatasetSpec::Ds1000(own) => (&own.path, own.limit),
            DatasetSpec::CodeContests(own) | DatasetSpec::Apps(own) => (&own.path, own.limit),
            DatasetSpec::Gsm8k(own) => (&own.path, own.limit),
            DatasetSpec::Mmlu(own) | DatasetSpec::Ifeval(own) => (&own.path, own.limit),
            DatasetSpec::Evalplus(own) => (&own.path, own.limit),
        };
        (path, limit)
    }
}

tagged!(DatasetSpec by "format" {
    Jsonl = "jsonl", Json = "json", Csv = "csv", Humaneval = "humaneval", Mbpp = "mbpp",
    Bigcodebench = "bigcodebench", Livecodebench = "livecodebench", MultiplE = "multipl_e",
    HumanevalPack = "humaneval_pack", Ds1000 = "ds1000", CodeContests = "code_contests",
    Apps = "apps", Gsm8k = "gsm8k", Mmlu = "mmlu", Evalplus = "evalplus", Ifeval = "ifeval",
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LivecodebenchDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// The tests to run. Default `all`.
    pub tests: Option<LivecodebenchTests>,
    /// Select records by `contest_date`.
    pub released: Option<ReleasedSpec>,
    /// Time limit in seconds for each test. Default 6.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default 1024.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}

/// Which tests of a record are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LivecodebenchTests {
    Public,
    Private,
    #[default]
    All,
}

/// Dates, as `YYYY-MM-DD`. A record without a date is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleasedSpec {
    /// The first day.
    pub after: Option<String>,
    /// The day after the last.
    pub before: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramsDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Time limit in seconds for each run of a program. Default 10; for `multipl_e` 15, for `apps`
    /// 4, which is also that of each call.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default: `sandbox.memory_mb` of the suite; for
    /// `multipl_e` 4096.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanevalPackDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// What models are asked for. Default `synthesize`.
    pub task: Option<HumanevalPackTask>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Time limit in seconds for each program. Default 15.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default 4096.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}

/// What HumanEvalPack asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HumanevalPackTask {
    /// Complete the function.
    #[default]
    Synthesize,
    /// Fix the function: `buggy_solution` is shown with the tests.
    Fix,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gsm8kDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// The number that counts as the answer. Default `flexible`.
    pub answer: Option<Gsm8kAnswer>,
}

/// The number of an output that counts as its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gsm8kAnswer {
    /// The one after the last `####`.
    Strict,
    /// The last one.
    #[default]
    Flexible,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BigcodebenchDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// The record's prompt to use. Default `complete`.
    pub variant: Option<BigcodebenchVariant>,
    /// Time limit in seconds for a program and its tests. Default 60.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default 4096.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}

/// The prompt of a BigCodeBench record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BigcodebenchVariant {
    /// A function with its docstring, to complete.
    #[default]
    Complete,
    /// Instructions in prose.
    Instruct,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalplusDataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Time limit in seconds for one call, unless `timeout_factor` gives more. Default 4.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_per_call: Option<f64>,
    /// Time limit for one call, as a multiple of the time that the canonical solution takes for it.
    /// Default 4.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    /// Time limit in seconds for all calls of a program. Default 60.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default 4096.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Limit in megabytes for the return value of one call, where it is compared as a whole: a
    /// large value is, unless it has the digest of the expected one. Default 128.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ds1000Dataset {
    /// The data file, relative to this file.
    pub path: String,
    /// The prompt for models: a template over `row.*`.
    pub prompt: Option<String>,
    /// Read at most this many records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Time limit in seconds for a program and its tests. Default 120.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for each program. Default 4096.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}
