//! Graders that are no code: models and people.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGraderSpec {
    pub config: ModelGraderConfig,
    #[serde(default)]
    pub negate: bool,
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Records the grader's score under this name, as a metric that thresholds and composites may use.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the grader only measures; its verdict is shown and decides nothing. Default false.
    #[serde(default)]
    pub informative: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGraderConfig {
    pub model: String,
    pub base_url: Option<String>,
    pub api_key_env: Option<String>,
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// The criteria, or the name of a rubric.
    pub rubric: String,
    /// The prompt, with `{input}`, `{output}`, `{expected}` and `{rubric}`.
    pub prompt: Option<String>,
    pub scoring: Option<ScoringSpec>,
    /// Share of the scale at which the grade passes, in [0, 1].
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_threshold: Option<f64>,
    /// Independent votes of the judge.
    #[schemars(range(min = 1))]
    pub votes: Option<u32>,
    #[serde(default)]
    pub examples: Vec<JudgeExample>,
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    pub retries: Option<u32>,
}

/// The judge's scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoringSpec {
    #[serde(rename = "type")]
    pub kind: ScoringKind,
    /// Lowest and highest score of a numeric scale.
    pub range: Option<[f64; 2]>,
    /// Words of a categorical scale.
    #[serde(default)]
    pub categories: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoringKind {
    Numeric,
    Categorical,
    Boolean,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeExample {
    pub input: Option<Value>,
    pub output: Value,
    pub expected: Option<Value>,
    pub score: Value,
    pub justification: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanGraderSpec {
    #[serde(default)]
    pub config: HumanGraderConfig,
    #[serde(default)]
    pub negate: bool,
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Records the grader's score under this name, as a metric that thresholds and composites may use.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the grader only measures; its verdict is shown and decides nothing. Default false.
    #[serde(default)]
    pub informative: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanGraderConfig {
    pub interface: Option<HumanInterface>,
    pub evaluators: Option<Evaluators>,
    pub rating_scale: Option<RatingScale>,
    /// Instructions, or the name of a rubric.
    pub rubric: Option<String>,
    #[schemars(range(min = 0.001))]
    pub time_limit_minutes: Option<f64>,
    /// Hide metadata from the people who grade.
    pub blind_evaluation: Option<bool>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_threshold: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HumanInterface {
    Web,
    Cli,
    Api,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluators {
    #[schemars(range(min = 1))]
    pub min_required: Option<u32>,
    #[schemars(range(min = 1))]
    pub max_allowed: Option<u32>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub agreement_threshold: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingScale {
    #[serde(rename = "type")]
    pub kind: RatingKind,
    pub description: Option<String>,
    pub range: Option<[i64; 2]>,
    /// Words for points of the scale.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub criteria: Vec<String>,
    #[serde(default)]
    pub options: Vec<RatingOption>,
    pub tie_allowed: Option<bool>,
    #[schemars(range(min = 1))]
    pub min_items: Option<u32>,
    #[schemars(range(min = 1))]
    pub max_items: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatingKind {
    Likert,
    Binary,
    Ranking,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingOption {
    pub value: Value,
    pub label: String,
    pub description: Option<String>,
}
