//! Evals: capability definitions, and files with test cases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OneOrMany;
use super::dataset::DatasetSpec;
use super::expected::ExpectedRef;
use super::grader::{GraderRef, present};
use super::input::{InputRef, SuitePrompts};
use super::short::{self, ExpectedForms};
use super::steps::{CombineSpec, ExtractSpec};
use super::words::{Criticality, Difficulty, EvalType};
use super::workspace::WorkspaceSetting;

/// One capability with one case: an entry of a list, or the value of `capability_eval:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::capability()))]
#[schemars(transform = short::of_case)]
pub struct CapabilityDefinition {
    /// Id of the eval, unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Name for reports.
    pub name: Option<String>,
    /// Description of what the eval tests.
    pub description: Option<String>,
    /// Category for reports and `--category`.
    pub category: Option<String>,
    /// The input of the target.
    pub input: InputRef,
    /// The expected output: a literal that the output equals, or a map with `type`.
    #[schemars(with = "Option<ExpectedForms>", extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    /// A right answer, which `eval-harness check` expects to pass: the output of a target, such as a
    /// program. A text continues the grader's `prefix`, if there is one. With a workspace: a patch in
    /// git's format, `{dir: FOLDER}` for files to lay on the workspace, or `{command: [...]}` for a
    /// program that does the work.
    #[serde(default, deserialize_with = "present")]
    pub solution: Option<Value>,
    /// The grader, or the name of one.
    pub grader: Option<GraderRef>,
    /// Several graders; `combine` sets how their verdicts are combined.
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    /// Combination of several verdicts. Default `all`.
    pub combine: Option<CombineSpec>,
    /// Steps that extract the graded text from the output.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    /// Maximum latency in milliseconds; a slower answer fails.
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    /// The folder in which each sample is made; `null` for none, even if the suite has one.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// Prompts of the eval, by name: each takes the place of the suite's prompt of that name.
    #[serde(default, skip_serializing_if = "SuitePrompts::is_empty")]
    pub prompts: SuitePrompts,
    /// Settings for running the eval.
    #[serde(default)]
    pub config: EvalConfig,
    /// Tags, difficulty, weight and other metadata.
    #[serde(default)]
    pub metadata: DefinitionMetadata,
}

/// Metadata of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefinitionMetadata {
    /// Difficulty, for filters and groups.
    pub difficulty: Option<Difficulty>,
    /// Tags, for filters and groups.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Weight in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Severity of a failed regression.
    pub criticality: Option<Criticality>,
    /// The author; ignored.
    pub author: Option<String>,
    /// Date of creation; ignored.
    pub created: Option<String>,
    /// Same as `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Same as `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Written by other tools; ignored.
    pub last_passed: Option<String>,
    /// Written by other tools; ignored.
    pub failure_count: Option<u64>,
}

/// Settings for running an eval, and its pass criteria.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalConfig {
    /// Time limit in seconds for one call of the target. Default 60.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Number of further attempts after a failed grade.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// `false` runs samples one after the other.
    pub parallel: Option<bool>,
    /// Number of independent samples per case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Share of a case's samples that must pass. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_rate_threshold: Option<f64>,
    /// Mean score of the cases from which the eval passes even if cases failed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score_threshold: Option<f64>,
    /// Files that the outputs depend on, as paths, folders or globs relative to this file. If one
    /// changes, `run --changed` calls the target again.
    pub depends_on: Option<Vec<String>>,
    /// Sandbox settings of the eval.
    pub sandbox: Option<EvalSandbox>,
}

/// Sandbox settings of one eval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalSandbox {
    /// The Python interpreter that runs the code of this eval: a path relative to this file (such
    /// as that of a virtual environment), or a name in PATH. Default: `sandbox.python` of the suite.
    pub python: Option<String>,
}

/// A file with `metadata` and `test_cases` (or a `dataset`): one eval of many cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::eval_file()))]
pub struct EvalFile {
    /// Version of the format; ignored.
    pub schema_version: Option<String>,
    /// The type of the eval.
    pub eval_type: Option<EvalType>,
    /// Id, name, tags and other metadata of the eval.
    pub metadata: EvalMetadata,
    /// The folder in which each sample of a case is made; `null` for none, even if the suite has one.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// Prompts of the eval, by name: each takes the place of the suite's prompt of that name.
    #[serde(default, skip_serializing_if = "SuitePrompts::is_empty")]
    pub prompts: SuitePrompts,
    /// Settings for running the eval.
    #[serde(default)]
    pub config: EvalConfig,
    /// The grader for cases that have none.
    pub grader: Option<GraderRef>,
    /// Several graders, for cases that have none.
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    /// Combination of several verdicts. Default `all`.
    pub combine: Option<CombineSpec>,
    /// Steps that extract the graded text from the output, for cases that have none.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    /// Maximum latency in milliseconds, for cases that have none; a slower answer fails.
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    /// The cases.
    #[serde(default)]
    pub test_cases: Vec<CaseSpec>,
    /// Cases from a data file.
    pub dataset: Option<DatasetSpec>,
}

/// Id, name, tags and other metadata of an eval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalMetadata {
    /// Id of the eval, unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Name for reports.
    pub name: Option<String>,
    /// Description of what the eval tests.
    pub description: Option<String>,
    /// Category for reports and `--category`.
    pub category: Option<String>,
    /// Difficulty of the cases, for filters and groups.
    pub difficulty: Option<Difficulty>,
    /// Tags, for filters and groups.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Weight in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Severity of a failed regression.
    pub criticality: Option<Criticality>,
    /// The author; ignored.
    pub author: Option<String>,
    /// Date of creation; ignored.
    pub created: Option<String>,
    /// Same as `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Same as `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Written by other tools; ignored.
    pub last_passed: Option<String>,
    /// Written by other tools; ignored.
    pub failure_count: Option<u64>,
}

/// One input with its expectation and its graders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::graders()))]
#[schemars(transform = short::of_case)]
pub struct CaseSpec {
    /// Id of the case, unique in its eval; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Name for reports.
    pub name: Option<String>,
    /// Description of what the case tests.
    pub description: Option<String>,
    /// The input of the target.
    pub input: InputRef,
    /// The expected output: a literal that the output equals, or a map with `type`.
    #[schemars(with = "Option<ExpectedForms>", extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    /// A right answer, which `eval-harness check` expects to pass: the output of a target, such as a
    /// program. A text continues the grader's `prefix`, if there is one. With a workspace: a patch in
    /// git's format, `{dir: FOLDER}` for files to lay on the workspace, or `{command: [...]}` for a
    /// program that does the work.
    #[serde(default, deserialize_with = "present")]
    pub solution: Option<Value>,
    /// The grader, or the name of one. Default: the eval's.
    pub grader: Option<GraderRef>,
    /// Several graders; `combine` sets how their verdicts are combined.
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    /// Combination of several verdicts. Default `all`.
    pub combine: Option<CombineSpec>,
    /// Steps that extract the graded text from the output.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    /// Maximum latency in milliseconds; a slower answer fails.
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    /// Time limit in seconds for one call of the target. Default: the eval's.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Number of further attempts after a failed grade. Default: the eval's.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Number of independent samples. Default: the eval's.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// The folder in which each sample is made; `null` for none, even if the eval or the suite has
    /// one.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// Difficulty. Default: the eval's.
    pub difficulty: Option<Difficulty>,
    /// Tags, in addition to the eval's.
    #[serde(default)]
    pub tags: Vec<String>,
}
