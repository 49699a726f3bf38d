//! Evals: definitions in a list, files with test cases, and datasets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::grader::{CombineSpec, ContainsSpec, ExtractSpec, FunctionCaseSpec, GraderRef, ToleranceSpec};
use super::regression::{RegressionDefinition, RegressionDocument};
use super::words::{Criticality, Difficulty, EvalType, Message};
use super::{NameOr, OneOrMany, tagged};

/// One capability with one case: an entry of a list, or what stands under `capability_eval:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilityDefinition {
    /// Unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    /// What this eval tests.
    pub description: Option<String>,
    /// Grouping for reports and `--category`.
    pub category: Option<String>,
    pub input: InputRef,
    #[schemars(extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    pub grader: Option<GraderRef>,
    /// Several graders, with `combine`.
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    /// Steps before grading.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    /// A slower answer fails.
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[serde(default)]
    pub config: EvalConfig,
    #[serde(default)]
    pub metadata: DefinitionMetadata,
}

/// What is known of a definition besides its case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefinitionMetadata {
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Importance in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// How bad a failed regression is.
    pub criticality: Option<Criticality>,
    pub author: Option<String>,
    pub created: Option<String>,
    /// Another place for `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Another place for `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Kept by other tools; not used.
    pub last_passed: Option<String>,
    /// Kept by other tools; not used.
    pub failure_count: Option<u64>,
}

/// How an eval is run and when it passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalConfig {
    /// Seconds for one call of the target. Default 60.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Further attempts after a failed grade.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// `false`: samples run one after the other.
    pub parallel: Option<bool>,
    /// Independent samples of each case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Share of a case's samples that must pass. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_rate_threshold: Option<f64>,
    /// Mean score of the cases at which the eval passes even though cases failed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score_threshold: Option<f64>,
}

/// A file with `metadata` and `test_cases` (or a `dataset`): one eval of many cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalFile {
    pub schema_version: Option<String>,
    pub eval_type: Option<EvalType>,
    pub metadata: EvalMetadata,
    #[serde(default)]
    pub config: EvalConfig,
    /// The grader of cases that have none.
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    /// Steps before grading, for cases that have none.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[serde(default)]
    pub test_cases: Vec<CaseSpec>,
    /// Cases from a data file.
    pub dataset: Option<DatasetSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalMetadata {
    /// Unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub category: Option<String>,
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Importance in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    pub criticality: Option<Criticality>,
    pub author: Option<String>,
    pub created: Option<String>,
    /// Another place for `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Another place for `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Kept by other tools; not used.
    pub last_passed: Option<String>,
    /// Kept by other tools; not used.
    pub failure_count: Option<u64>,
}

/// One input with its expectation and its graders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseSpec {
    /// Unique in its eval; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub input: InputRef,
    #[schemars(extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
}

/// An input; a bare text is a prompt.
pub type InputRef = NameOr<InputSpec>;

/// What the target is given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputSpec {
    /// A text.
    Prompt(PromptInput),
    /// A file whose content is the input.
    File(FileInput),
    /// An HTTP request.
    ApiCall(ApiCallInput),
    /// A conversation.
    Messages(MessagesInput),
}

tagged!(InputSpec by "type" { Prompt = "prompt", File = "file", ApiCall = "api_call", Messages = "messages" });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptInput {
    /// A template over `vars.*`, `context.*` and `env.*`.
    pub content: String,
    /// Further facts, for the prompt's template and for the target.
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileInput {
    /// A path relative to this file.
    #[schemars(length(min = 1))]
    pub content: String,
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiCallInput {
    /// Default GET.
    pub method: Option<String>,
    #[schemars(extend("x-aliases" = ["path"]))]
    pub endpoint: String,
    /// Each value a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<Value>,
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesInput {
    #[schemars(length(min = 1), extend("x-aliases" = ["content"]))]
    pub messages: Vec<Message>,
    pub context: Option<Value>,
}

/// An expectation; a bare text is an exact one.
pub type ExpectedRef = NameOr<ExpectedSpec>;

/// What a good output is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExpectedSpec {
    /// This value.
    Exact(ExactExpected),
    /// A text that holds these texts and none of those.
    Contains(ContainsExpected),
    /// A text that matches a regular expression.
    Pattern(PatternExpected),
    /// What a judge compares with.
    Semantic(SemanticExpected),
    /// Code whose function gives these results.
    Functional(FunctionalExpected),
    /// A number, with tolerance.
    Numeric(NumericExpected),
    /// A JSON value, or one that fits a JSON Schema.
    Json(JsonExpected),
    /// A JSON structure with matchers.
    Structural(StructuralExpected),
}

tagged!(ExpectedSpec by "type" {
    Exact = "exact", Contains = "contains", Pattern = "pattern", Semantic = "semantic", Functional = "functional",
    Numeric = "numeric", Json = "json", Structural = "structural",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactExpected {
    pub value: Value,
    /// Other values that are as good.
    #[serde(default)]
    pub alternatives: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsExpected {
    pub value: ContainsValue,
    /// Other texts (or lists of texts) that are as good.
    #[serde(default)]
    pub alternatives: Vec<ContainsValue>,
}

/// A text, a list of texts, or `{must_include, must_not_include}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainsValue(pub ContainsSpec);

impl Serialize for ContainsValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContainsValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            object @ Value::Object(_) => {
                serde_json::from_value(object).map(ContainsValue).map_err(D::Error::custom)
            }
            texts => {
                let must_include = serde_json::from_value(texts).map_err(D::Error::custom)?;
                Ok(ContainsValue(ContainsSpec { must_include, ..ContainsSpec::default() }))
            }
        }
    }
}

impl JsonSchema for ContainsValue {
    fn schema_name() -> Cow<'static, str> {
        "ContainsValue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let object = generator.subschema_for::<ContainsSpec>();
        json_schema!({
            "description": "A text, a list of texts, or `must_include` and `must_not_include`.",
            "if": { "type": "object" },
            "then": object,
            "else": { "type": ["string", "array"], "items": { "type": "string" } }
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternExpected {
    /// A regular expression, with Python's semantics.
    pub value: String,
    #[serde(default)]
    pub alternatives: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticExpected {
    pub value: Value,
    #[serde(default)]
    pub alternatives: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionalExpected {
    pub value: FunctionalValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionalValue {
    pub function_name: Option<String>,
    #[schemars(length(min = 1))]
    pub test_cases: Vec<FunctionCaseSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumericExpected {
    /// A number, or a text that holds one.
    pub value: Option<Value>,
    #[serde(default)]
    pub alternatives: Vec<Value>,
    pub tolerance: Option<ToleranceSpec>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonExpected {
    #[serde(default, deserialize_with = "super::grader::present")]
    pub value: Option<Value>,
    #[serde(default)]
    pub alternatives: Vec<Value>,
    /// A JSON Schema.
    pub schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StructuralExpected {
    /// Texts such as `{{any_uuid}}` are matchers.
    pub value: Value,
}

/// Cases from a data file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "format", rename_all = "snake_case")]
pub enum DatasetSpec {
    /// One JSON object a line.
    Jsonl(RowsDataset),
    /// A JSON array of objects.
    Json(RowsDataset),
    /// Comma-separated values with a header line; every field is a text.
    Csv(RowsDataset),
    /// HumanEval's layout.
    Humaneval(BenchmarkDataset),
    /// MBPP's layout: JSON lines, or the sanitized array.
    Mbpp(BenchmarkDataset),
}

tagged!(DatasetSpec by "format" {
    Jsonl = "jsonl", Json = "json", Csv = "csv", Humaneval = "humaneval", Mbpp = "mbpp",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsDataset {
    /// Relative to this file.
    pub path: String,
    /// A case as under `test_cases:`, whose texts are templates over `row.*`. A text that is nothing but one
    /// `{{ row.x }}` becomes the row's value as it is: a number, a list, an object.
    #[schemars(with = "serde_json::Map<String, Value>", extend("x-template-of" = "CaseSpec"))]
    pub case: Value,
    /// Only the first rows.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkDataset {
    /// Relative to this file.
    pub path: String,
    /// The prompt for models, a template over `row.*`.
    pub prompt: Option<String>,
    /// Only the first records.
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
    /// Seconds for each program. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
}

/// An entry of a list of definitions: a regression when it has a `baseline` or a `current`, else a capability.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    Capability(Box<CapabilityDefinition>),
    Regression(Box<RegressionDefinition>),
}

impl Definition {
    /// True when `value` is read as a regression.
    pub fn is_regression(value: &Value) -> bool {
        ["baseline", "current", "test_case", "comparison"].iter().any(|key| value.get(key).is_some())
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if Definition::is_regression(&value) {
            serde_json::from_value(value).map(Definition::Regression).map_err(D::Error::custom)
        } else {
            serde_json::from_value(value).map(Definition::Capability).map_err(D::Error::custom)
        }
    }
}

impl JsonSchema for Definition {
    fn schema_name() -> Cow<'static, str> {
        "Definition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let capability = generator.subschema_for::<CapabilityDefinition>();
        let regression = generator.subschema_for::<RegressionDefinition>();
        json_schema!({
            "if": { "type": "object", "anyOf": [
                { "required": ["baseline"] }, { "required": ["current"] },
                { "required": ["test_case"] }, { "required": ["comparison"] }
            ] },
            "then": regression,
            "else": capability
        })
    }
}

/// Every shape that an eval file, or an inline eval of a suite, may have.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalShape {
    /// A bare list of definitions.
    List(Vec<Definition>),
    /// One definition that is not in a list.
    Single(Definition),
    /// What stands under `capability_eval:`.
    Capability(OneOrMany<CapabilityDefinition>),
    /// What stands under `regression_eval:`.
    Regression(OneOrMany<RegressionDefinition>),
    /// `metadata` and `test_cases`.
    File(Box<EvalFile>),
    /// `metadata`, `baseline` and `test_case`.
    Document(Box<RegressionDocument>),
}

/// The name of a shape, decided from the keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeName {
    List,
    Single,
    Capability,
    Regression,
    File,
    Document,
}

impl EvalShape {
    /// Decides the shape from whether the value is a list and from its keys.
    pub fn name_of(is_list: bool, has_key: impl Fn(&str) -> bool) -> ShapeName {
        if is_list {
            ShapeName::List
        } else if has_key("capability_eval") {
            ShapeName::Capability
        } else if has_key("regression_eval") {
            ShapeName::Regression
        } else if has_key("id") {
            ShapeName::Single
        } else if has_key("baseline") || has_key("test_case") || has_key("current") {
            ShapeName::Document
        } else {
            ShapeName::File
        }
    }
}

impl<'de> Deserialize<'de> for EvalShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let shape = match EvalShape::name_of(value.is_array(), |key| value.get(key).is_some()) {
            ShapeName::List => serde_json::from_value(value).map(EvalShape::List),
            ShapeName::Single => serde_json::from_value(value).map(EvalShape::Single),
            ShapeName::Capability => {
                serde_json::from_value(value["capability_eval"].take()).map(EvalShape::Capability)
            }
            ShapeName::Regression => {
                serde_json::from_value(value["regression_eval"].take()).map(EvalShape::Regression)
            }
            ShapeName::File => serde_json::from_value(value).map(EvalShape::File),
            ShapeName::Document => serde_json::from_value(value).map(EvalShape::Document),
        };
        shape.map_err(D::Error::custom)
    }
}

impl JsonSchema for EvalShape {
    fn schema_name() -> Cow<'static, str> {
        "Eval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let definition = generator.subschema_for::<Definition>();
        let capability = generator.subschema_for::<OneOrMany<CapabilityDefinition>>();
        let regression = generator.subschema_for::<OneOrMany<RegressionDefinition>>();
        let file = generator.subschema_for::<EvalFile>();
        let document = generator.subschema_for::<RegressionDocument>();
        let wrapped = |key: &str, inner: Schema| {
            json_schema!({
                "type": "object", "properties": { (key): inner }, "required": [key], "additionalProperties": false
            })
        };
        let has = |key: &str| serde_json::json!({ "type": "object", "required": [key] });
        json_schema!({
            "if": { "type": "array" },
            "then": { "type": "array", "items": definition, "minItems": 1 },
            "else": {
                "if": has("capability_eval"),
                "then": wrapped("capability_eval", capability),
                "else": {
                    "if": has("regression_eval"),
                    "then": wrapped("regression_eval", regression),
                    "else": {
                        "if": has("id"),
                        "then": definition,
                        "else": {
                            "if": { "type": "object", "anyOf": [
                                { "required": ["baseline"] }, { "required": ["test_case"] }, { "required": ["current"] }
                            ] },
                            "then": document,
                            "else": file
                        }
                    }
                }
            }
        })
    }
}
