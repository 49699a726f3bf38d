//! Regressions: a known-good output, how to produce the current one, and how the two are compared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::eval::{DefinitionMetadata, EvalConfig, EvalMetadata};
use super::grader::{GraderRef, ToleranceSpec, present};
use super::input::SuitePrompts;
use super::short::{self, BaselineForms};
use super::steps::{CombineSpec, ExtractSpec};
use super::words::EvalType;
use super::workspace::WorkspaceSetting;
use super::{OneOrMany, TargetSpec};
use eval_match::SimilarityMetric;

/// One regression with one case: an entry of a list, or the value of `regression_eval:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::graders()))]
#[schemars(transform = short::of_regression)]
pub struct RegressionDefinition {
    /// Id of the eval, unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    /// Name for reports.
    pub name: Option<String>,
    /// Description of the behaviour that the eval protects.
    pub description: Option<String>,
    /// Category for reports and `--category`.
    pub category: Option<String>,
    /// The version or commit of the captured program.
    pub baseline_version: Option<String>,
    /// The known-good output, if it is not in a baseline file; a map has it under `output`.
    #[schemars(with = "Option<BaselineForms>")]
    pub baseline: Option<BaselineSpec>,
    /// The input, and the target that produces the current output.
    #[schemars(extend("x-aliases" = ["test_case"]))]
    pub current: CurrentSpec,
    /// Comparison of the current output with the baseline.
    pub comparison: Option<ComparisonSpec>,
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
    /// Tags, criticality, weight and other metadata.
    #[serde(default)]
    pub metadata: DefinitionMetadata,
}

/// A file with `metadata`, `baseline` and `test_case`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::graders()))]
#[schemars(transform = short::of_regression)]
pub struct RegressionDocument {
    /// Version of the format; ignored.
    pub schema_version: Option<String>,
    /// The type of the eval.
    pub eval_type: Option<EvalType>,
    /// Id, name, tags and other metadata of the eval.
    pub metadata: EvalMetadata,
    /// The folder in which each sample is made; `null` for none, even if the suite has one.
    #[serde(default, skip_serializing_if = "WorkspaceSetting::is_inherited")]
    pub workspace: WorkspaceSetting,
    /// Prompts of the eval, by name: each takes the place of the suite's prompt of that name.
    #[serde(default, skip_serializing_if = "SuitePrompts::is_empty")]
    pub prompts: SuitePrompts,
    /// Settings for running the eval.
    #[serde(default)]
    pub config: EvalConfig,
    /// The version or commit of the captured program.
    pub baseline_version: Option<String>,
    /// The known-good output, if it is not in a baseline file; a map has it under `output`.
    #[schemars(with = "Option<BaselineForms>")]
    pub baseline: Option<BaselineSpec>,
    /// The input, and the target that produces the current output.
    #[schemars(extend("x-aliases" = ["test_case"]))]
    pub current: CurrentSpec,
    /// Comparison of the current output with the baseline.
    pub comparison: Option<ComparisonSpec>,
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
}

/// The known-good output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    /// The known-good output. Texts such as `{{any_uuid}}` are matchers.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-aliases" = ["response"]))]
    pub output: Option<Value>,
    /// Time of the capture (RFC 3339).
    pub captured_at: Option<String>,
    /// Same as `baseline_version`.
    pub version: Option<String>,
    /// The environment of the capture.
    pub environment: Option<BTreeMap<String, Value>>,
}

/// The input, and the target that produces the current output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = short::of_current)]
pub struct CurrentSpec {
    /// The input: a typed input, an HTTP request (`method`, `endpoint`), a text, or any data.
    pub input: RegressionInput,
    /// The target that produces the output, instead of the suite's target.
    pub execution: Option<TargetSpec>,
    /// Comparison of the current output with the baseline.
    pub comparison: Option<ComparisonSpec>,
}

/// A regression's input as written. With a `type` it is an ordinary input; with an `endpoint` it is
/// an HTTP request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionInput(pub Value);

impl JsonSchema for RegressionInput {
    fn schema_name() -> Cow<'static, str> {
        "RegressionInput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let input = generator.subschema_for::<super::input::InputSpec>();
        let request = generator.subschema_for::<super::input::ApiCallInput>();
        json_schema!({
            "description": "A typed input, an HTTP request, a text, or any data.",
            "if": { "type": "object", "required": ["type"], "properties": {
                "type": { "enum": ["prompt", "file", "api_call", "messages"] }
            } },
            "then": input,
            "else": {
                "if": { "type": "object", "required": ["method"] },
                "then": request
            }
        })
    }
}

/// Comparison of the current output with the baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSpec {
    /// The type of comparison.
    #[serde(rename = "type")]
    pub kind: ComparisonType,
    /// Allowed deviation from the baseline.
    pub tolerance: Option<ComparisonTolerance>,
    /// Paths to ignore; they may be absent.
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    /// Paths that must exist, with any value.
    #[serde(default)]
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    #[serde(default)]
    pub require_keys: Vec<String>,
    /// Same settings as here and in `tolerance`.
    pub options: Option<ComparisonOptions>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonType {
    /// Equal texts, or equal values.
    Exact,
    /// Texts are similar enough, by a similarity metric; other values are equal. With a model as
    /// `grader`, the model judges instead.
    Semantic,
    /// Numbers are within tolerances; other values are ignored.
    Numeric,
    /// Same structure, with matchers and ignored paths.
    #[default]
    Structural,
}

/// Options of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonOptions {
    /// Paths to ignore; they may be absent.
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    /// Paths that must exist, with any value.
    #[serde(default)]
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    #[serde(default)]
    pub require_keys: Vec<String>,
    /// Ignore fields that the baseline does not have.
    pub allow_additional_fields: Option<bool>,
    /// Accept arrays in any order.
    pub allow_field_reordering: Option<bool>,
    /// `true` forbids additional fields and reordered arrays.
    pub strict: Option<bool>,
}

/// Allowed deviation from the baseline: two switches, the similarity metric, and tolerances of
/// numbers by path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparisonTolerance {
    pub allow_additional_fields: Option<bool>,
    pub allow_field_reordering: Option<bool>,
    /// For `semantic`; the required similarity is in `by_path`, under `similarity` or `threshold`.
    pub metric: Option<SimilarityMetric>,
    pub by_path: BTreeMap<String, ToleranceSpec>,
}

const ADDITIONAL: &str = "allow_additional_fields";
const REORDERING: &str = "allow_field_reordering";
const METRIC: &str = "metric";

impl Serialize for ComparisonTolerance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serde_json::Map::new();
        for (key, value) in [
            (ADDITIONAL, self.allow_additional_fields),
            (REORDERING, self.allow_field_reordering),
        ] {
            if let Some(value) = value {
                map.insert(key.to_owned(), json!(value));
            }
        }
        if let Some(metric) = self.metric {
            map.insert(METRIC.to_owned(), json!(metric));
        }
        for (path, tolerance) in &self.by_path {
            map.insert(path.clone(), json!(tolerance));
        }
        map.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ComparisonTolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tolerance = ComparisonTolerance::default();
        for (key, value) in serde_json::Map::<String, Value>::deserialize(deserializer)? {
            match key.as_str() {
                ADDITIONAL => tolerance.allow_additional_fields = value.as_bool(),
                REORDERING => tolerance.allow_field_reordering = value.as_bool(),
                // A number of that name may have a tolerance, too.
                METRIC if value.is_string() => {
                    tolerance.metric =
                        Some(serde_json::from_value(value).map_err(D::Error::custom)?);
                }
                _ => {
                    let one = serde_json::from_value(value).map_err(D::Error::custom)?;
                    tolerance.by_path.insert(key, one);
                }
            }
        }
        Ok(tolerance)
    }
}

impl JsonSchema for ComparisonTolerance {
    fn schema_name() -> Cow<'static, str> {
        "ComparisonTolerance".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let by_path = generator.subschema_for::<ToleranceSpec>();
        let metric = generator.subschema_for::<SimilarityMetric>();
        let number = by_path.clone();
        json_schema!({
            "type": "object",
            "properties": {
                (ADDITIONAL): { "type": "boolean", "description": "Ignore fields that the baseline does not have. Default true." },
                (REORDERING): { "type": "boolean", "description": "Accept arrays in any order. Default false." },
                (METRIC): { "if": { "type": "string" }, "then": metric, "else": number,
                    "description": "For `semantic`: the similarity metric. Default token_f1. `similarity` is the required similarity, default 0.8." }
            },
            "additionalProperties": by_path,
            "description": "Allowed deviation from the baseline: two switches, the similarity metric, and tolerances of numbers by path."
        })
    }
}
