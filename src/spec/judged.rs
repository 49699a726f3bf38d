//! Graders that are no code: models and people.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::prices::PriceSpec;
use super::providers::RequestSpec;
use super::words::PanelRule;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGraderSpec {
    pub config: ModelGraderConfig,
    #[serde(default)]
    pub negate: bool,
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Records the grader's score under this name, as a metric that thresholds and composites may
    /// use.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the grader only measures; its verdict is shown and decides nothing. Default false.
    #[serde(default)]
    pub informative: bool,
}

/// How a model judges, and which one. What is said of the model holds for each of `models`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGraderConfig {
    /// `PROVIDER:MODEL`, as a target's.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Several judges: each gives `votes` votes.
    #[serde(default)]
    pub models: Vec<JudgeModel>,
    /// In place of the provider's. Ends where the provider's own path (`/chat/completions`,
    /// `/messages`) begins.
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Without it no key is sent to a custom
    /// `base_url`.
    pub api_key_env: Option<String>,
    /// Comes before the task of every judge.
    pub system: Option<String>,
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Of one answer.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// For APIs that know one.
    pub seed: Option<i64>,
    /// Further fields of the request, sent as they are.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// Sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What it costs, in place of what `prices:` says.
    pub price: Option<PriceSpec>,
    /// Calls in flight at once. Default: the provider's, else `config.max_workers` where that is
    /// written, else 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Input and output together.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Seconds for one try of one call. Default 60.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Further tries of a call that got no usable answer. Default 4.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// A folder of recorded exchanges, relative to this file, which give all answers: no key and no
    /// network.
    pub replay: Option<String>,
    /// How a custom JSON API is called and read, in place of OpenAI's way.
    pub request: Option<RequestSpec>,
    /// `false` does not send the provider the schema of the answer. Default true: it is sent where
    /// the API takes one, and left out where the API refuses it.
    pub structured: Option<bool>,
    /// What is judged, or the name of a rubric. Criteria such as `1. **Clarity** (weight: 0.4)` in
    /// it are read and scored one by one.
    pub rubric: Option<String>,
    /// What is judged, thing by thing; a rubric beside it is their introduction.
    #[serde(default)]
    pub criteria: Vec<CriterionSpec>,
    /// The prompt, or the name of one, with `{{ input }}`, `{{ output }}`, `{{ expected }}` and
    /// `{{ rubric }}` (or `{input}` and so on).
    pub prompt: Option<String>,
    pub scoring: Option<ScoringSpec>,
    /// Share of the scale at which the grade passes, in (0, 1]. Default 0.7.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_threshold: Option<f64>,
    /// Independent votes of each model. Default 1.
    #[schemars(range(min = 1, max = 101))]
    pub votes: Option<u32>,
    /// How several votes become one verdict. Default: `median` of numbers, else `majority`.
    pub panel: Option<PanelRule>,
    /// Outputs with the scores that they deserve.
    #[serde(default)]
    pub examples: Vec<JudgeExampleSpec>,
    /// Requests for repair after an answer that can't be used. Default 2.
    #[schemars(range(max = 2))]
    pub repairs: Option<u32>,
    /// Characters of an output (an input, a reference) that the judge is shown. Default 50,000.
    #[schemars(range(min = 100, max = 10000000))]
    pub max_chars: Option<usize>,
}

/// A model among several: its name, or more of it.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeModel {
    Name(String),
    Own(Box<JudgeModelSpec>),
}

impl Serialize for JudgeModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JudgeModel::Name(name) => name.serialize(serializer),
            JudgeModel::Own(own) => own.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JudgeModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(JudgeModel::Name(name)),
            other => serde_json::from_value(other)
                .map(JudgeModel::Own)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for JudgeModel {
    fn schema_name() -> Cow<'static, str> {
        "JudgeModel".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let own = generator.subschema_for::<JudgeModelSpec>();
        json_schema!({
            "description": "A model's name, or the model with its own settings.",
            "if": { "type": "object" },
            "then": own,
            "else": { "type": "string", "minLength": 1 }
        })
    }
}

/// A model among several with its own settings; what it leaves out is as beside `models`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeModelSpec {
    /// `PROVIDER:MODEL`, as a target's.
    #[schemars(length(min = 1))]
    pub model: String,
    pub base_url: Option<String>,
    pub api_key_env: Option<String>,
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    pub price: Option<PriceSpec>,
    pub replay: Option<String>,
}

/// One thing that is scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionSpec {
    #[schemars(length(min = 1, max = 80))]
    pub name: String,
    pub description: Option<String>,
    /// Its part of the score, in proportion to the others'. Default: all alike.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Lowest and highest score, in place of `scoring.range`.
    pub scale: Option<[f64; 2]>,
    /// What points of the scale (or categories) mean.
    #[serde(default)]
    pub levels: BTreeMap<String, String>,
}

/// The judge's scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoringSpec {
    #[serde(rename = "type")]
    pub kind: ScoringKind,
    /// Lowest and highest score of a numeric scale. Default [1, 5].
    pub range: Option<[f64; 2]>,
    /// Of a categorical scale: `{name, score, description}`, with scores in [0, 1].
    #[serde(default)]
    pub categories: Vec<CategorySpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategorySpec {
    #[schemars(length(min = 1, max = 80))]
    pub name: String,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    pub description: Option<String>,
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
pub struct JudgeExampleSpec {
    pub input: Option<Value>,
    pub output: Value,
    pub expected: Option<Value>,
    /// As the judge should score it: on the scale, a category, or true and false; or an object of
    /// them by criterion.
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
    /// Records the grader's score under this name, as a metric that thresholds and composites may
    /// use.
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
