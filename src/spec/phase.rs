//! Phase plans and triggers: evals as a step of an implementation plan.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OneOrMany;
use super::thresholds::Thresholds;

/// A file with `phase:` or `phases:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct PhaseFile {
    pub phase: Option<PhaseSpec>,
    /// Several phases; `--phase-id` says which is meant.
    #[serde(default)]
    pub phases: Vec<PhaseSpec>,
}

/// One phase: steps that run in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// What `{phase_id}` and `--phase-id` mean. Default: the name in lower case, with `-` for what
    /// is no letter or digit.
    pub id: Option<String>,
    #[schemars(length(min = 1))]
    pub name: String,
    pub description: Option<String>,
    #[schemars(length(min = 1))]
    pub steps: Vec<StepSpec>,
    /// The git revision that the phase began at, for the summary of the implementation. `--base`
    /// comes before it.
    pub base: Option<String>,
    /// Where the phase report goes, relative to this file; `{phase_id}` is filled in. The JSON
    /// report lies beside it. Default: `phases/phase-{phase_id}.md` in the results folder.
    pub report_path: Option<String>,
    /// Tell the channels of `notify:` when the phase does not pass. Default false.
    pub notification: Option<bool>,
    /// Copy the results of a phase that passed to `archive/<phase id>/` in the results folder.
    /// Default false.
    pub archive_results: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    #[serde(rename = "type")]
    pub kind: StepType,
    /// How reports call it. Default: its description, else its type.
    pub name: Option<String>,
    pub description: Option<String>,
    /// Program and arguments of a step that is not an eval; no shell reads them. A step without it
    /// is reported as not checked.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// The folder that the command runs in, relative to this file. Default: this file's folder.
    pub dir: Option<String>,
    /// Seconds that the command may take. Default 3600.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    pub config: Option<StepConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepType {
    /// Writes the code.
    Implement,
    /// Runs tests, whose results are read.
    Test,
    /// Reviews the code.
    #[schemars(extend("x-tag-aliases" = ["review", "code_review"]))]
    CodeReview,
    /// Runs a suite.
    Eval,
    /// Any other command: a linter, a build.
    Check,
}

impl StepType {
    pub fn name(self) -> &'static str {
        match self {
            StepType::Implement => "implement",
            StepType::Test => "test",
            StepType::CodeReview => "code-review",
            StepType::Eval => "eval",
            StepType::Check => "check",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// A step that does not pass ends the phase. Default true.
    pub blocking: Option<bool>,
    /// Of a test step: globs of the JUnit files that its command writes, relative to the folder
    /// that it runs in.
    #[serde(default)]
    pub junit: OneOrMany<String>,
    /// Of an eval step: the suite, relative to this file.
    pub suite: Option<String>,
    /// The least share of evals that pass, as the threshold `pass_rate`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub required_pass_rate: Option<f64>,
    /// Metrics to report, such as `pass@1`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Demands beside those of the suite; they come before the suite's on the same metric.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// A set of thresholds in place of the suite's own.
    pub preset: Option<String>,
    pub filters: Option<FilterSpec>,
    /// The target to use, by its name under `targets:` of the suite.
    pub target: Option<String>,
    /// Samples of each case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Variables of the suite.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
}

/// A file with `eval_trigger:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerFile {
    pub eval_trigger: TriggerSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerSpec {
    /// The moment, such as `after_tests_pass`; `--when` of another moment does nothing.
    #[schemars(length(min = 1))]
    pub when: String,
    /// Relative to this file.
    pub suite: String,
    pub filters: Option<FilterSpec>,
    /// Demands beside those of the suite; they come before the suite's on the same metric.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// A set of thresholds in place of the suite's own.
    pub preset: Option<String>,
    /// Metrics to report, such as `pass@1`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// The target to use, by its name under `targets:` of the suite.
    pub target: Option<String>,
    /// Samples of each case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Variables of the suite.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
    pub on_failure: Option<OnFailure>,
    pub on_success: Option<OnSuccess>,
}

/// Which evals and cases: of one kind any, of different kinds all must fit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterSpec {
    /// `capability`, `regression`, or categories of the authors'.
    #[serde(default)]
    pub categories: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Eval ids; `*` and `?` are wildcards.
    #[serde(default)]
    pub evals: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[serde(default)]
    pub cases: Vec<String>,
    #[serde(default)]
    pub difficulty: Vec<super::words::Difficulty>,
    #[serde(default)]
    pub criticality: Vec<super::words::Criticality>,
}

/// When the gate does not pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnFailure {
    /// Default `block`.
    #[serde(default)]
    pub action: FailureAction,
    /// Tell the channels of `notify:`. Default false.
    pub notification: Option<bool>,
    /// Where the phase report goes, of gates that passed, too, relative to this file; `{phase_id}`
    /// is filled in. The JSON report lies beside it. Default: `phases/phase-{phase_id}.md` in the
    /// results folder.
    pub report_path: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// The exit code is the gate's.
    #[default]
    Block,
    /// Warn on stderr and in reports, and end with exit code 0.
    Warn,
    /// Report, and end with exit code 0.
    Continue,
}

/// When the gate passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnSuccess {
    #[serde(default)]
    pub action: SuccessAction,
    /// Copy the results to `archive/<phase id>/` in the results folder. Default false.
    pub archive_results: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuccessAction {
    #[default]
    Continue,
}
