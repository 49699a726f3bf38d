//! Regressions: a known-good output, how to get the present one, and how the two are compared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::eval::{DefinitionMetadata, EvalConfig, EvalMetadata};
use super::grader::{GraderRef, ToleranceSpec, present};
use super::steps::{CombineSpec, ExtractSpec};
use super::words::EvalType;
use super::{OneOrMany, TargetSpec};
use eval_match::SimilarityMetric;

/// One regression with one case: an entry of a list, or what stands under `regression_eval:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegressionDefinition {
    /// Unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    /// What behaviour this protects.
    pub description: Option<String>,
    pub category: Option<String>,
    /// Version or commit at which the baseline was captured.
    pub baseline_version: Option<String>,
    pub baseline: Option<BaselineSpec>,
    #[schemars(extend("x-aliases" = ["test_case"]))]
    pub current: CurrentSpec,
    pub comparison: Option<ComparisonSpec>,
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[serde(default)]
    pub config: EvalConfig,
    #[serde(default)]
    pub metadata: DefinitionMetadata,
}

/// A file with `metadata`, `baseline` and `test_case`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegressionDocument {
    pub schema_version: Option<String>,
    pub eval_type: Option<EvalType>,
    pub metadata: EvalMetadata,
    #[serde(default)]
    pub config: EvalConfig,
    pub baseline_version: Option<String>,
    pub baseline: Option<BaselineSpec>,
    #[schemars(extend("x-aliases" = ["test_case"]))]
    pub current: CurrentSpec,
    pub comparison: Option<ComparisonSpec>,
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
}

/// The known-good output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineSpec {
    /// Texts such as `{{any_uuid}}` are matchers.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-aliases" = ["response"]))]
    pub output: Option<Value>,
    /// RFC 3339.
    pub captured_at: Option<String>,
    /// Another place for `baseline_version`.
    pub version: Option<String>,
    pub environment: Option<BTreeMap<String, Value>>,
}

/// How the present output is got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurrentSpec {
    /// A typed input, an HTTP request (`method`, `endpoint`), a text, or any data.
    pub input: RegressionInput,
    /// What produces the output, in place of the suite's target.
    pub execution: Option<TargetSpec>,
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

/// How the present output is compared with the baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSpec {
    #[serde(rename = "type")]
    pub kind: ComparisonType,
    pub tolerance: Option<ComparisonTolerance>,
    /// Paths that are left out; they may be absent.
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    /// Paths that must exist and may hold anything.
    #[serde(default)]
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    #[serde(default)]
    pub require_keys: Vec<String>,
    /// Another place for the same settings.
    pub options: Option<ComparisonOptions>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonType {
    /// Equal texts, or equal values.
    Exact,
    /// Texts are alike enough, by a measure of likeness; the rest is equal. A model as `grader`
    /// judges instead.
    Semantic,
    /// Numbers within tolerances; the rest is left out.
    Numeric,
    /// Same structure, with matchers and ignored paths.
    #[default]
    Structural,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonOptions {
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    #[serde(default)]
    pub ignore_values: Vec<String>,
    #[serde(default)]
    pub require_keys: Vec<String>,
    pub allow_additional_fields: Option<bool>,
    pub allow_field_reordering: Option<bool>,
    pub strict: Option<bool>,
}

/// Allowed deviation from the baseline: two switches, how likeness is measured, and tolerances of
/// numbers by path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparisonTolerance {
    pub allow_additional_fields: Option<bool>,
    pub allow_field_reordering: Option<bool>,
    /// For `semantic`; the least likeness stands in `by_path`, under `similarity` or `threshold`.
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
                (ADDITIONAL): { "type": "boolean", "description": "Fields that the baseline lacks are no difference. Default true." },
                (REORDERING): { "type": "boolean", "description": "Arrays may come in any order. Default false." },
                (METRIC): { "if": { "type": "string" }, "then": metric, "else": number,
                    "description": "For `semantic`: how likeness is measured. Default token_f1. The least likeness is `similarity`, default 0.8." }
            },
            "additionalProperties": by_path,
            "description": "Two switches, how likeness is measured, and tolerances of numbers by path."
        })
    }
}
