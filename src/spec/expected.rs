//! What a good output is.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::grader::{ContainsSpec, FunctionCaseSpec, ToleranceSpec};
use super::{NameOr, tagged};

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
            object @ Value::Object(_) => serde_json::from_value(object)
                .map(ContainsValue)
                .map_err(D::Error::custom),
            texts => {
                let must_include = serde_json::from_value(texts).map_err(D::Error::custom)?;
                Ok(ContainsValue(ContainsSpec {
                    must_include,
                    ..ContainsSpec::default()
                }))
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
    /// A reference, which the output says in whatever words; or `must_include` and
    /// `must_not_include`, texts of which each must (or must not) be said.
    #[schemars(schema_with = "semantic_value")]
    pub value: Value,
    /// Other references that are as good.
    #[serde(default)]
    pub alternatives: Vec<Value>,
}

fn semantic_value(_: &mut SchemaGenerator) -> Schema {
    let texts = json!({ "type": ["string", "array"], "items": { "type": "string" } });
    json_schema!({
        "if": { "type": "object", "anyOf": [{ "required": ["must_include"] }, { "required": ["must_not_include"] }] },
        "then": {
            "type": "object",
            "properties": { "must_include": texts, "must_not_include": texts },
            "additionalProperties": false
        }
    })
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
