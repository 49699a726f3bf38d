//! Graders that do not use code: models and people.

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
    /// The judge model and its task.
    pub config: ModelGraderConfig,
    /// Inverts the verdict: a wrong answer passes, and a correct one fails.
    #[serde(default)]
    pub negate: bool,
    /// Weight under `combine: weighted`.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Name of a metric that records the grader's score, for thresholds and composite metrics.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the verdict is shown but does not affect the outcome. Default false.
    #[serde(default)]
    pub informative: bool,
}

/// The judge model and its task. Settings of the model apply to each of `models`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::judge()))]
pub struct ModelGraderConfig {
    /// The model: `PROVIDER:MODEL`, as for a target.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Several judges; each of them votes `votes` times.
    #[serde(default)]
    pub models: Vec<JudgeModel>,
    /// Base URL, instead of the provider's, without the API's own path (`/chat/completions`,
    /// `/messages`).
    pub base_url: Option<String>,
    /// The environment variable that contains the API key. Without it, no key is sent to a custom
    /// `base_url`.
    pub api_key_env: Option<String>,
    /// A file that contains the API key, instead of `api_key_env`. Relative to this file.
    #[schemars(length(min = 1))]
    pub api_key_file: Option<String>,
    /// A command whose standard output is the API key, instead of `api_key_env`: program and
    /// arguments, run without a shell in the suite's folder, at most once a run.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// Text before the task of every judge.
    pub system: Option<String>,
    /// Sampling temperature.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Maximum number of tokens of one answer.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Sampling seed, for APIs that support one.
    pub seed: Option<i64>,
    /// Additional fields of the request, sent unchanged.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// HTTP headers to send with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Price of the model, instead of the one in `prices:`.
    pub price: Option<PriceSpec>,
    /// Number of calls at once. Default: the provider's, otherwise `config.max_workers` if it is
    /// set, otherwise 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    /// Limit of requests per minute.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Limit of input and output tokens per minute.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Time limit in seconds for one try of a call. Default 60.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Number of further tries of a call without a usable answer. Default 4.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// A folder of recorded exchanges, relative to this file, from which all answers are taken,
    /// without a key or network.
    pub replay: Option<String>,
    /// Requests to a custom JSON API and their answers, instead of OpenAI's format.
    pub request: Option<RequestSpec>,
    /// `false` omits the schema of the answer from requests. Default true: it is sent if the API
    /// supports one, and omitted if the API rejects it.
    pub structured: Option<bool>,
    /// The rubric: what to judge, or the name of a rubric. Criteria in it, such as
    /// `1. **Clarity** (weight: 0.4)`, are scored one by one.
    pub rubric: Option<String>,
    /// Criteria to score one by one; a `rubric` introduces them.
    #[serde(default)]
    pub criteria: Vec<CriterionSpec>,
    /// The prompt, or the name of one; it may contain `{{ input }}`, `{{ output }}`,
    /// `{{ expected }}` and `{{ rubric }}` (or `{input}` and so on).
    pub prompt: Option<String>,
    /// The scale of the scores.
    pub scoring: Option<ScoringSpec>,
    /// Share of the scale from which the grade passes, in (0, 1]. Default 0.7.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_threshold: Option<f64>,
    /// Number of independent votes per model. Default 1.
    #[schemars(range(min = 1, max = 101))]
    pub votes: Option<u32>,
    /// Combination of several votes. Default: `median` of numbers, otherwise `majority`.
    pub panel: Option<PanelRule>,
    /// Example outputs with their correct scores.
    #[serde(default)]
    pub examples: Vec<JudgeExampleSpec>,
    /// Number of repair requests after an unusable answer. Default 2.
    #[schemars(range(max = 2))]
    pub repairs: Option<u32>,
    /// Number of characters of an output (an input, a reference) that the judge sees; a longer part
    /// of `show` fails. Default 50,000.
    #[schemars(range(min = 100, max = 10000000))]
    pub max_chars: Option<usize>,
    /// Parts that the judge sees besides the output: `diff`, `trajectory`, `{files: [PATH]}`.
    #[serde(default)]
    pub show: Vec<ShownPartSpec>,
}

/// A part of a sample that a judge sees besides the output.
#[derive(Debug, Clone, PartialEq)]
pub enum ShownPartSpec {
    /// What the target changed, in git's unified format.
    Diff,
    /// What the agent said and did, step by step.
    Trajectory,
    /// Files as the target left them, by paths relative to the top of the workspace.
    Files(Vec<String>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShownFilesSpec {
    /// Paths of files, relative to the top of the workspace.
    #[schemars(length(min = 1))]
    files: Vec<String>,
}

const DIFF: &str = "diff";
const TRAJECTORY: &str = "trajectory";

impl Serialize for ShownPartSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ShownPartSpec::Diff => serializer.serialize_str(DIFF),
            ShownPartSpec::Trajectory => serializer.serialize_str(TRAJECTORY),
            ShownPartSpec::Files(files) => ShownFilesSpec {
                files: files.clone(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ShownPartSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) if name == DIFF => Ok(ShownPartSpec::Diff),
            Value::String(name) if name == TRAJECTORY => Ok(ShownPartSpec::Trajectory),
            other => serde_json::from_value(other)
                .map(|ShownFilesSpec { files }| ShownPartSpec::Files(files))
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for ShownPartSpec {
    fn schema_name() -> Cow<'static, str> {
        "ShownPart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let files = generator.subschema_for::<ShownFilesSpec>();
        json_schema!({
            "description": "`diff`: what the target changed. `trajectory`: what the agent said and did. `{files: [PATH]}`: files as it left them.",
            "if": { "type": "object" },
            "then": files,
            "else": { "type": "string", "enum": [DIFF, TRAJECTORY] }
        })
    }
}

/// One of several models: its name, or the name with settings.
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
            "description": "The name of a model, or the model with its own settings.",
            "if": { "type": "object" },
            "then": own,
            "else": { "type": "string", "minLength": 1 }
        })
    }
}

/// One of several models with its own settings; settings that it omits are those next to `models`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::key_source()))]
pub struct JudgeModelSpec {
    /// The model: `PROVIDER:MODEL`, as for a target.
    #[schemars(length(min = 1))]
    pub model: String,
    /// Base URL, instead of the provider's.
    pub base_url: Option<String>,
    /// The environment variable that contains the API key.
    pub api_key_env: Option<String>,
    /// A file that contains the API key, instead of `api_key_env`. Relative to this file.
    #[schemars(length(min = 1))]
    pub api_key_file: Option<String>,
    /// A command whose standard output is the API key, instead of `api_key_env`: program and
    /// arguments, run without a shell in the suite's folder, at most once a run.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// Sampling temperature.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Maximum number of tokens of one answer.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Additional fields of the request, sent unchanged.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// Price of the model, instead of the one in `prices:`.
    pub price: Option<PriceSpec>,
    /// A folder of recorded exchanges, relative to this file, from which all answers are taken.
    pub replay: Option<String>,
}

impl JudgeModelSpec {
    /// True when it has a setting for its key.
    pub fn sets_key(&self) -> bool {
        self.api_key_env.is_some() || self.api_key_file.is_some() || self.api_key_command.is_some()
    }
}

/// A criterion to score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionSpec {
    /// Name of the criterion.
    #[schemars(length(min = 1, max = 80))]
    pub name: String,
    /// Description for the judge.
    pub description: Option<String>,
    /// Weight in the score, relative to the other criteria. Default: equal weights.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Lowest and highest score, instead of `scoring.range`.
    pub scale: Option<[f64; 2]>,
    /// Meaning of the points of the scale (or of categories).
    #[serde(default)]
    pub levels: BTreeMap<String, String>,
}

/// The judge's scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoringSpec {
    /// The type of the scale.
    #[serde(rename = "type")]
    pub kind: ScoringKind,
    /// Lowest and highest score of a numeric scale. Default [1, 5].
    pub range: Option<[f64; 2]>,
    /// Categories of a categorical scale: `{name, score, description}`, with scores in [0, 1].
    #[serde(default)]
    pub categories: Vec<CategorySpec>,
}

/// A category of a categorical scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategorySpec {
    /// Name of the category.
    #[schemars(length(min = 1, max = 80))]
    pub name: String,
    /// Score of the category.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    /// Description for the judge.
    pub description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoringKind {
    Numeric,
    Categorical,
    Boolean,
}

/// An example for the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeExampleSpec {
    /// The input of the example.
    pub input: Option<Value>,
    /// The output to score.
    pub output: Value,
    /// The expected output of the example.
    pub expected: Option<Value>,
    /// The correct score: a number on the scale, a category, or true or false; or an object of
    /// these by criterion.
    pub score: Value,
    /// The reason for the score.
    pub justification: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanGraderSpec {
    /// Settings for grading by people.
    #[serde(default)]
    pub config: HumanGraderConfig,
    /// Inverts the verdict: a wrong answer passes, and a correct one fails.
    #[serde(default)]
    pub negate: bool,
    /// Weight under `combine: weighted`.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Name of a metric that records the grader's score, for thresholds and composite metrics.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the verdict is shown but does not affect the outcome. Default false.
    #[serde(default)]
    pub informative: bool,
}

impl HumanGraderSpec {
    /// Whether the grade decides nothing: a ranking without a threshold has no pass and no fail.
    pub fn is_informative(&self) -> bool {
        let scale = self.config.rating_scale.as_ref();
        let is_ranking = scale.is_some_and(|scale| scale.kind == RatingKind::Ranking);
        self.informative || is_ranking && self.config.pass_threshold.is_none()
    }
}

/// Settings for grading by people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanGraderConfig {
    /// The interface for grading.
    pub interface: Option<HumanInterface>,
    /// The number of people who grade, and their agreement. Default: one.
    pub evaluators: Option<Evaluators>,
    /// The scale for ratings. Default: `binary`, pass or fail.
    pub rating_scale: Option<RatingScale>,
    /// Instructions for the people who grade, or the name of a rubric. They may contain
    /// `{task_description}`, `{input_summary}`, `{requirements}`, `{criterion_1_name}` and
    /// `{criterion_1_description}`.
    pub rubric: Option<String>,
    /// Time limit in minutes for one rating. A rating that takes longer is kept and marked.
    #[schemars(range(min = 0.001))]
    pub time_limit_minutes: Option<f64>,
    /// Hide target, model, verdicts of judges and ratings by others from the people who grade.
    pub blind_evaluation: Option<bool>,
    /// Share of the scale from which the grade passes: of `likert` by default 0.7. A `ranking`
    /// passes or fails only with it, by the share of the other outputs that it is ranked before.
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

/// The number of people who grade, and their agreement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluators {
    /// Lowest number of people per output. Default 1.
    #[schemars(range(min = 1))]
    pub min_required: Option<u32>,
    /// Highest number of people per output; the first ones count. Default: no limit.
    #[schemars(range(min = 1))]
    pub max_allowed: Option<u32>,
    /// Lowest share of pairs of people that agree (`likert`: within one step); below it a further
    /// person decides. Default: no limit.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub agreement_threshold: Option<f64>,
}

/// The scale for ratings by people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingScale {
    /// The type of the scale.
    #[serde(rename = "type")]
    pub kind: RatingKind,
    /// Description for the people who grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Lowest and highest rating of `likert`. Default [1, 5].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[i64; 2]>,
    /// Labels for points of the scale.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Criteria to rate, each by itself; `NAME: DESCRIPTION` or a sentence.
    #[serde(default)]
    pub criteria: Vec<String>,
    /// Options to choose from.
    #[serde(default)]
    pub options: Vec<RatingOption>,
    /// Whether ranked items may be equal. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie_allowed: Option<bool>,
    /// Lowest number of items to rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_items: Option<u32>,
    /// Highest number of items to rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_items: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RatingKind {
    Likert,
    #[default]
    Binary,
    Ranking,
}

/// An option of the rating scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingOption {
    /// The value of the option.
    pub value: Value,
    /// The text of the option.
    pub label: String,
    /// Description for the people who grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
