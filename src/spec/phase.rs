//! Phase plans and triggers: evals as a step of an implementation plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::thresholds::Thresholds;

/// A file with `phase:` or `phases:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct PhaseFile {
    pub phase: Option<PhaseSpec>,
    #[serde(default)]
    pub phases: Vec<PhaseSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    #[schemars(length(min = 1))]
    pub steps: Vec<StepSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpec {
    #[serde(rename = "type")]
    pub kind: StepType,
    pub name: Option<String>,
    pub description: Option<String>,
    /// A command of a step that is not an eval.
    pub command: Option<Vec<String>>,
    pub config: Option<StepConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepType {
    Implement,
    Test,
    Review,
    Eval,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Relative to this file.
    pub suite: Option<String>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub required_pass_rate: Option<f64>,
    /// A failed eval step fails the phase. Default true.
    pub blocking: Option<bool>,
    /// Metrics to report, such as `pass@1`.
    #[serde(default)]
    pub metrics: Vec<String>,
    #[serde(default)]
    pub thresholds: Thresholds,
    pub filters: Option<FilterSpec>,
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
    /// The moment, such as `after_tests_pass`.
    pub when: String,
    /// Relative to this file.
    pub suite: String,
    pub filters: Option<FilterSpec>,
    #[serde(default)]
    pub thresholds: Thresholds,
    pub on_failure: Option<OnFailure>,
    pub on_success: Option<OnSuccess>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterSpec {
    #[serde(default)]
    pub categories: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub evals: Vec<String>,
    #[serde(default)]
    pub cases: Vec<String>,
    #[serde(default)]
    pub difficulty: Vec<super::words::Difficulty>,
    #[serde(default)]
    pub criticality: Vec<super::words::Criticality>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnFailure {
    pub action: FailureAction,
    pub notification: Option<bool>,
    /// Where the phase report goes; `{phase_id}` is filled in.
    pub report_path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    Block,
    Warn,
    Continue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnSuccess {
    pub action: SuccessAction,
    pub archive_results: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuccessAction {
    Continue,
}

/// One line of a recording: `case` and `output`, or `task_id` and `completion` (or `solution`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedLine {
    pub case: Option<String>,
    pub eval: Option<String>,
    /// From 0; without it, samples count in order of appearance.
    pub sample: Option<u32>,
    pub output: Option<Value>,
    /// A benchmark's task: a text or a number.
    pub task_id: Option<Value>,
    pub completion: Option<String>,
    /// A whole program.
    pub solution: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Value>,
    /// The target said more than is kept here.
    pub truncated: Option<bool>,
}
