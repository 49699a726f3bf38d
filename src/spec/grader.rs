//! `grader:` blocks, code graders, and `config/graders.yaml`.

use std::collections::BTreeMap;

use eval_match::{Comparator, EditUnit, SimilarityMetric, Tokenizer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judged::{HumanGraderSpec, ModelGraderSpec};
use super::words::{CommandVerdict, GraderType, StdoutComparison, TestsTrust, TestsWord};
use super::{NameOr, OneOrMany, RefOr, tagged};

/// What judges an output.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // read once, one at a time
pub enum GraderSpec {
    /// Decides by code.
    Code(CodeGraderSpec),
    /// A model decides, by a rubric.
    Model(ModelGraderSpec),
    /// People decide; the case is pending until they did.
    Human(HumanGraderSpec),
}

tagged!(GraderSpec by "type" { Code = "code", Model = "model", Human = "human" });

impl GraderSpec {
    pub fn grader_type(&self) -> GraderType {
        match self {
            GraderSpec::Code(_) => GraderType::Code,
            GraderSpec::Model(_) => GraderType::Model,
            GraderSpec::Human(_) => GraderType::Human,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-optional" = ["config"]))]
pub struct CodeGraderSpec {
    /// Method and settings; a method that is not written is inferred from `expected.type` and the
    /// settings.
    pub config: CodeConfig,
    /// Turns the verdict round: what would pass fails, and the reverse.
    #[serde(default)]
    pub negate: bool,
    /// Weight under `combine: weighted`.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Records the grader's score under this name, as a metric that thresholds and composites may
    /// use; for `similarity`, the name of its number.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the grader only measures; its verdict is shown and decides nothing. Default false.
    #[serde(default)]
    pub informative: bool,
}

/// Settings of a code grader, by method.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "method", rename_all = "snake_case")]
#[schemars(extend("x-optional-tag" = true))]
#[allow(clippy::large_enum_variant)] // read once, one at a time
pub enum CodeConfig {
    /// The output equals the expected value.
    ExactMatch(ExactMatchSpec),
    /// The output holds these texts and none of those.
    Contains(ContainsSpec),
    /// The output matches a regular expression (Python's semantics).
    Regex(RegexSpec),
    /// The output is a number close to the expected one.
    Numeric(NumericSpec),
    /// The output is JSON: valid, equal to a value, or fitting a JSON Schema.
    Json(JsonSpec),
    /// The output's structure equals the expected one, with matchers and ignored paths.
    StructuralMatch(StructuralSpec),
    /// The output's code defines a function; its results are compared.
    FunctionOutput(FunctionOutputSpec),
    /// The output's code is run against tests.
    CodeExecution(CodeExecutionSpec),
    /// The output is alike enough to a reference text.
    Similarity(SimilaritySpec),
    /// A program of the author's decides.
    Command(CommandGraderSpec),
}

tagged!(CodeConfig by "method" {
    ExactMatch = "exact_match", Contains = "contains", Regex = "regex", Numeric = "numeric", Json = "json",
    StructuralMatch = "structural_match", FunctionOutput = "function_output", CodeExecution = "code_execution",
    Similarity = "similarity", Command = "command",
});

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactMatchSpec {
    /// The expected value, when the case has no `expected`.
    pub value: Option<Value>,
    /// Default true.
    pub case_sensitive: Option<bool>,
    /// Default true.
    pub trim_whitespace: Option<bool>,
    /// Default true.
    pub normalize_newlines: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsSpec {
    #[serde(default)]
    pub must_include: OneOrMany<String>,
    #[serde(default)]
    pub must_not_include: OneOrMany<String>,
    /// Default true.
    pub case_sensitive: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RegexFlag {
    Ignorecase,
    Multiline,
    Dotall,
    Verbose,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexSpec {
    /// The pattern, when `expected.value` does not hold it.
    pub pattern: Option<String>,
    #[serde(default)]
    pub flags: Vec<RegexFlag>,
    /// `false`: the pattern must not match. Default true.
    pub must_match: Option<bool>,
    /// Names (or numbers) of groups whose text the report shows.
    #[serde(default)]
    pub capture_groups: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumericSpec {
    /// The expected number, when the case has no `expected`.
    pub value: Option<Value>,
    pub tolerance: Option<ToleranceSpec>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// How far a number may be off; a bare number is an absolute tolerance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ToleranceSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delta: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSpec {
    /// The JSON that the output must equal, when the case has no `expected`.
    pub value: Option<Value>,
    /// A JSON Schema that the output must fit.
    pub schema: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StructuralSpec {
    /// The expected structure, when neither the case nor a baseline gives one.
    pub value: Option<Value>,
    /// `true` forbids additional fields and reordering of arrays. Default false.
    #[serde(default)]
    pub strict: bool,
    /// Default: not `strict`.
    pub allow_additional_fields: Option<bool>,
    /// Default false: arrays keep their order.
    pub allow_field_reordering: Option<bool>,
    /// Paths that are left out; they may be absent.
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    /// Paths that must exist and may hold anything.
    #[serde(default)]
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    #[serde(default)]
    pub require_keys: Vec<String>,
    /// Allowed deviation of numbers, by path.
    #[serde(default)]
    pub tolerance: BTreeMap<String, ToleranceSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionOutputSpec {
    /// The language: `python` (default), `javascript` or `typescript`.
    pub executor: Option<String>,
    /// The function to call, when `expected.value.function_name` does not say.
    pub function_name: Option<String>,
    /// Text before the output's code, such as `from typing import List`.
    pub prefix: Option<String>,
    /// Calls and their results, when `expected.value.test_cases` does not hold them.
    #[serde(default)]
    pub test_cases: Vec<FunctionCaseSpec>,
    /// Seconds for one call. Default 5.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_per_case: Option<f64>,
    /// Seconds for the whole program. Default 10, or what the calls need.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// A solution of the author's, in Python, that must pass: with `timeout_factor` its own time
    /// sets the limit of the output's code.
    pub reference_solution: Option<String>,
    /// Limits the code to so many times what `reference_solution` takes here, alone: at least 0.5
    /// s, at most `timeout_seconds`.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Kilobytes of each stream that are kept. Default 1024.
    #[schemars(range(min = 1, max = 16384))]
    pub output_kb: Option<u64>,
    /// Megabytes that what one call returns may take. Default 16, which the harness holds and
    /// compares.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `false` needs `--allow-unsandboxed`. Default true.
    pub sandbox: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionCaseSpec {
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["input"]))]
    pub args: Vec<Value>,
    #[serde(default)]
    pub kwargs: BTreeMap<String, Value>,
    /// The value that the call must return.
    #[serde(default, deserialize_with = "present")]
    #[schemars(extend("x-aliases" = ["output"]))]
    pub expected: Option<Value>,
    /// The exception type that the call must raise, instead of `expected`.
    pub raises: Option<String>,
    #[serde(default)]
    pub comparator: Comparator,
    pub tolerance: Option<ToleranceSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeExecutionSpec {
    /// The language: `python` (default), `javascript`, `typescript`, `bash`, `sql`, or a name of
    /// the suite's `executors:`.
    pub executor: Option<String>,
    /// Text before the output's code, such as a benchmark's prompt.
    pub prefix: Option<String>,
    /// Which kind of tests is meant, for readers; it must agree with what is given.
    pub tests: Option<TestsWord>,
    /// Program text that defines `check(candidate)`; for JavaScript, TypeScript and bash, any
    /// program that fails when the code is wrong.
    pub test: Option<String>,
    /// Assert statements, run in order; for bash, commands that must succeed.
    #[serde(default)]
    pub asserts: Vec<String>,
    /// Whole-program tests: what the program is given, and what it must print.
    #[serde(default)]
    pub stdio: Vec<StdioCaseSpec>,
    /// How stdout is compared. Default `text`.
    pub compare: Option<StdoutComparison>,
    /// How far numbers may be off, with `compare: tokens` and in rows of SQL.
    pub tolerance: Option<ToleranceSpec>,
    /// The rows that the SQL must give.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Names of the columns that the SQL must give, in order.
    pub columns: Option<Vec<String>>,
    /// SQL that gives the right rows; it runs on a database of its own.
    pub reference: Option<String>,
    /// For SQL that changes data: a query whose rows are compared, after the output's SQL (and
    /// after `reference`).
    pub check: Option<String>,
    /// Whether the order of rows counts. Default false.
    pub ordered: Option<bool>,
    /// Runs after the candidate's code and before the tests; of whole programs and of SQL, before
    /// the candidate's code.
    pub setup: Option<String>,
    /// The function that is tested: `check` is called with it. Beside `asserts`, it may have the
    /// name of a builtin.
    pub entry_point: Option<String>,
    /// `in_process` runs tests in Python in the interpreter of the code, for tests that replace
    /// parts of modules, make files for the code or look at objects that are no plain data. The
    /// code could then forge the verdict.
    pub trust: Option<TestsTrust>,
    /// Seconds for the whole program. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// A solution of the author's, in Python, that must pass: with `timeout_factor` its own time
    /// sets the limit of the output's code.
    pub reference_solution: Option<String>,
    /// Limits the code to so many times what `reference_solution` takes here, alone: at least 0.5
    /// s, at most `timeout_seconds`.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Kilobytes of each stream that are kept. Default 1024.
    #[schemars(range(min = 1, max = 16384))]
    pub output_kb: Option<u64>,
    /// Megabytes that what one call returns may take on its way to the tests. Default 128.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `false` needs `--allow-unsandboxed`. Default true.
    pub sandbox: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StdioCaseSpec {
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["input"]))]
    pub stdin: String,
    /// What it must print; not with `compare: exit_code`.
    #[schemars(extend("x-aliases" = ["output", "expected"]))]
    pub stdout: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Default 0.
    #[schemars(range(min = 0, max = 255))]
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimilaritySpec {
    /// The reference, when the case has no `expected`; `expected.alternatives` are further
    /// references.
    pub value: Option<String>,
    #[serde(default)]
    pub metric: SimilarityMetric,
    /// The least likeness that passes, default 0.8; for `edit_rate` the highest rate that passes,
    /// default 0.2.
    #[schemars(range(min = 0.0))]
    pub threshold: Option<f64>,
    /// What `edit_rate` counts. Default `chars`.
    pub unit: Option<EditUnit>,
    /// How texts become words, for `token_f1`, `rouge_l` and `bleu` (`13a` and `zh` for `bleu`
    /// alone). Default `words`, or `mixed` where the output or a reference has letters of a script
    /// that is written without blanks.
    pub tokenizer: Option<Tokenizer>,
    /// Default true; for `token_f1` and `rouge_l` false.
    pub case_sensitive: Option<bool>,
    /// Default true.
    pub trim_whitespace: Option<bool>,
    /// Default true.
    pub normalize_newlines: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandGraderSpec {
    /// Program and arguments. The output comes on stdin.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: Vec<String>,
    /// Default 30.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// How the program says its verdict.
    #[serde(default)]
    pub verdict: CommandVerdict,
    /// Names of the numbers that the program says under `metrics` of its JSON verdict, all of them
    /// each time.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub metrics: Vec<String>,
    /// `true` runs it inside the sandbox: it sees the suite's folder read-only, a private `/tmp`,
    /// and no network. Default false.
    #[serde(default)]
    pub sandbox: bool,
}

/// `config/graders.yaml`: named graders, the default grader of each type, and named rubrics.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradersFile {
    #[serde(default)]
    pub graders: BTreeMap<String, GraderSpec>,
    /// By `code`, `model` or `human`: the grader that `--grader-type` uses for cases that have none
    /// of that type.
    #[serde(default)]
    pub defaults: GraderDefaults,
    #[serde(default)]
    pub rubrics: BTreeMap<String, String>,
    /// Prompts of judges, by the names that `prompt:` may say.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraderDefaults {
    pub code: Option<String>,
    pub model: Option<String>,
    pub human: Option<String>,
}

/// `graders:` of a suite: the file's content, or a reference to it.
pub type SuiteGraders = RefOr<GradersFile>;

/// A grader of a case: its name, or the grader itself.
pub type GraderRef = NameOr<GraderSpec>;

/// Keeps an explicit `null` apart from an absent key: `expected: null` is an expectation.
pub(super) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
