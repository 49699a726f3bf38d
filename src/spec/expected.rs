//! What a good output is.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::grader::{ContainsSpec, FunctionCaseSpec, ToleranceSpec};
use super::{NameOr, tagged};

/// An expected output; a plain text is an `exact` one.
pub type ExpectedRef = NameOr<ExpectedSpec>;

/// The expected output.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExpectedSpec {
    /// The output equals this value.
    Exact(ExactExpected),
    /// The output contains the required texts and none of the forbidden ones.
    Contains(ContainsExpected),
    /// The output matches a regular expression.
    Pattern(PatternExpected),
    /// A reference that a judge compares the output with.
    Semantic(SemanticExpected),
    /// The output is code whose function returns these results.
    Functional(FunctionalExpected),
    /// The output is this number, within a tolerance.
    Numeric(NumericExpected),
    /// The output is this JSON value, or matches a JSON Schema.
    Json(JsonExpected),
    /// The output has this JSON structure, which may contain matchers.
    Structural(StructuralExpected),
}

tagged!(ExpectedSpec by "type" {
    Exact = "exact", Contains = "contains", Pattern = "pattern", Semantic = "semantic", Functional = "functional",
    Numeric = "numeric", Json = "json", Structural = "structural",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactExpected {
    /// The expected value.
    pub value: Value,
    /// Other accepted values.
    #[serde(default)]
    pub alternatives: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsExpected {
    /// The required text, a list of them, or required and forbidden texts.
    pub value: ContainsValue,
    /// Other accepted texts (or lists of texts).
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
            "else": {
                "type": ["string", "array"], "minLength": 1,
                "items": { "type": "string", "minLength": 1 }, "minItems": 1
            }
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternExpected {
    /// A regular expression, with Python's semantics.
    pub value: String,
    /// Other accepted patterns.
    #[serde(default)]
    pub alternatives: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticExpected {
    /// A reference whose meaning the output must have, in any words; or `must_include` and
    /// `must_not_include`: texts whose meaning it must (or must not) contain.
    #[schemars(schema_with = "semantic_value")]
    pub value: Value,
    /// Other accepted references.
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
    /// The function and its test cases.
    pub value: FunctionalValue,
}

/// A function and its test cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionalValue {
    /// The function to call.
    pub function_name: Option<String>,
    /// Calls and their expected results.
    #[schemars(length(min = 1))]
    pub test_cases: Vec<FunctionCaseSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumericExpected {
    /// A number, or a text that contains one.
    pub value: Option<Value>,
    /// Other accepted numbers.
    #[serde(default)]
    pub alternatives: Vec<Value>,
    /// Allowed deviation from the number.
    pub tolerance: Option<ToleranceSpec>,
    /// Lowest accepted number.
    pub min: Option<f64>,
    /// Highest accepted number.
    pub max: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonExpected {
    /// The expected JSON value.
    #[serde(default, deserialize_with = "super::grader::present")]
    pub value: Option<Value>,
    /// Other accepted JSON values.
    #[serde(default)]
    pub alternatives: Vec<Value>,
    /// A JSON Schema that the output must match.
    pub schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StructuralExpected {
    /// The expected structure. Texts such as `{{any_uuid}}` are matchers.
    pub value: Value,
}
