//! Phase plans and triggers: evals as a step of an implementation plan.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OneOrMany;
use super::thresholds::Thresholds;
use super::workspace::WorkspaceSetting;

/// A file with `phase:` or `phases:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct PhaseFile {
    /// The phase.
    pub phase: Option<PhaseSpec>,
    /// Several phases; select one with `--phase-id`.
    #[serde(default)]
    pub phases: Vec<PhaseSpec>,
}

/// One phase: steps that run in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// Id for `{phase_id}` and `--phase-id`. Default: the name in lower case, with `-` for all
    /// characters except letters and digits.
    pub id: Option<String>,
    /// Name for reports.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Description for reports.
    pub description: Option<String>,
    /// The steps, in order.
    #[schemars(length(min = 1))]
    pub steps: Vec<StepSpec>,
    /// The workspace of steps: commands other than those of `implement` run in a fresh copy of it,
    /// and it is the level above the workspace of suites. `null`: none.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// The git revision at which the phase began, for the summary of the implementation. `--base`
    /// overrides it.
    pub base: Option<String>,
    /// Path of the phase report, relative to this file; `{phase_id}` is replaced. The JSON report
    /// is written next to it. Default: `phases/phase-{phase_id}.md` in the results folder.
    pub report_path: Option<String>,
    /// Notify the channels of `notify:` if the phase does not pass. Default false.
    pub notification: Option<bool>,
    /// Copy the results of a phase that passed to `archive/<phase id>/` in the results folder.
    /// Default false.
    pub archive_results: Option<bool>,
}

/// A step of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::step()))]
pub struct StepSpec {
    /// The type of the step.
    #[serde(rename = "type")]
    pub kind: StepType,
    /// Name for reports. Default: the description, otherwise the type.
    pub name: Option<String>,
    /// Description for reports.
    pub description: Option<String>,
    /// Program and arguments of a step that is not an eval, run without a shell. A step without a
    /// command is reported as not checked.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// Working folder of the command, relative to this file. Default: the folder of this file. In a
    /// workspace: a path in it. Default: its `cwd`.
    pub dir: Option<String>,
    /// Merged with the workspace of the phase; the step's settings win. `null` ends it: the command
    /// runs in place.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// Time limit in seconds for the command. Default 3600.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Settings of the step.
    pub config: Option<StepConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepType {
    /// Writes the code.
    Implement,
    /// Runs tests and reads their results.
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

/// Settings of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Whether the phase ends if this step does not pass. Default true.
    pub blocking: Option<bool>,
    /// Test steps: globs of the JUnit files that the command writes, relative to its working
    /// folder.
    #[serde(default)]
    pub junit: OneOrMany<String>,
    /// Eval steps: the suite, relative to this file.
    pub suite: Option<String>,
    /// Required share of passed evals, as the threshold `pass_rate`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub required_pass_rate: Option<f64>,
    /// Metrics to report, such as `pass@1`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Thresholds in addition to those of the suite; they override the suite's threshold on the
    /// same metric.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// The set of thresholds to use instead of the suite's own.
    pub preset: Option<String>,
    /// Selection of the evals and cases to run.
    pub filters: Option<FilterSpec>,
    /// The target to use, by its name under `targets:` of the suite.
    pub target: Option<String>,
    /// The prompt to use, by its name under `prompts:` of the suite.
    pub prompt: Option<String>,
    /// Number of samples per case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Values for variables of the suite.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
}

/// A file with `eval_trigger:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerFile {
    /// The suite to run, when to run it, and what to do afterwards.
    pub eval_trigger: TriggerSpec,
}

/// The suite to run, when to run it, and what to do afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerSpec {
    /// The moment to run the suite, such as `after_tests_pass`. With a different moment in
    /// `--when`, nothing runs.
    #[schemars(length(min = 1))]
    pub when: String,
    /// The suite, relative to this file.
    pub suite: String,
    /// Selection of the evals and cases to run.
    pub filters: Option<FilterSpec>,
    /// Thresholds in addition to those of the suite; they override the suite's threshold on the
    /// same metric.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// The set of thresholds to use instead of the suite's own.
    pub preset: Option<String>,
    /// Metrics to report, such as `pass@1`.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// The target to use, by its name under `targets:` of the suite.
    pub target: Option<String>,
    /// The prompt to use, by its name under `prompts:` of the suite.
    pub prompt: Option<String>,
    /// Number of samples per case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Values for variables of the suite.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
    /// Actions if the gate does not pass.
    pub on_failure: Option<OnFailure>,
    /// Actions if the gate passes.
    pub on_success: Option<OnSuccess>,
}

/// Selection of evals and cases: of each key, any value must match; all keys must match.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterSpec {
    /// Categories: `capability`, `regression`, or custom ones.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Tags of evals or cases.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Eval ids; `*` and `?` are wildcards.
    #[serde(default)]
    pub evals: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Difficulty levels.
    #[serde(default)]
    pub difficulty: Vec<super::words::Difficulty>,
    /// Criticality levels.
    #[serde(default)]
    pub criticality: Vec<super::words::Criticality>,
}

/// Actions if the gate does not pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnFailure {
    /// Effect on the exit code. Default `block`.
    #[serde(default)]
    pub action: FailureAction,
    /// Notify the channels of `notify:`. Default false.
    pub notification: Option<bool>,
    /// Path of the phase report, also for gates that pass, relative to this file; `{phase_id}` is
    /// replaced. The JSON report is written next to it. Default: `phases/phase-{phase_id}.md` in
    /// the results folder.
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

/// Actions if the gate passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnSuccess {
    /// The action.
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
