//! Reading and describing the grader settings that may be written in more than one way.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::grader::ToleranceSpec;
use super::steps::{
    CombineSpec, CombineWord, ExtractCode, ExtractRegex, ExtractSpec, ExtractStep, ExtractWord,
};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToleranceBounds")]
struct Bounds {
    /// Largest allowed difference.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["abs"]))]
    absolute: Option<f64>,
    /// Largest allowed difference as a share of the expected value's magnitude.
    #[schemars(range(min = 0.0), extend("x-aliases" = ["rel"]))]
    relative: Option<f64>,
    /// Lowest allowed `actual - expected`; `null` means no limit.
    min_delta: Option<f64>,
    /// Highest allowed `actual - expected`; `null` means no limit.
    max_delta: Option<f64>,
}

impl<'de> Deserialize<'de> for ToleranceSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(n) => Ok(ToleranceSpec {
                absolute: n.as_f64(),
                ..ToleranceSpec::default()
            }),
            other => {
                let b: Bounds = serde_json::from_value(other).map_err(D::Error::custom)?;
                Ok(ToleranceSpec {
                    absolute: b.absolute,
                    relative: b.relative,
                    min_delta: b.min_delta,
                    max_delta: b.max_delta,
                })
            }
        }
    }
}

impl JsonSchema for ToleranceSpec {
    fn schema_name() -> Cow<'static, str> {
        "Tolerance".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bounds = generator.subschema_for::<Bounds>();
        json_schema!({
            "description": "Allowed deviation of a number; a plain number is an absolute tolerance.",
            "if": { "type": "number" },
            "then": { "minimum": 0 },
            "else": bounds
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CombineObject {
    AtLeast(usize),
    Weighted(WeightedObject),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedObject {
    pass_threshold: f64,
}

impl Serialize for CombineSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CombineSpec::Word(word) => word.serialize(serializer),
            CombineSpec::AtLeast(n) => json!({ "at_least": n }).serialize(serializer),
            CombineSpec::Weighted { pass_threshold } => {
                json!({ "weighted": { "pass_threshold": pass_threshold } }).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for CombineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            word @ Value::String(_) => serde_json::from_value::<CombineWord>(word)
                .map(CombineSpec::Word)
                .map_err(D::Error::custom),
            other => {
                match serde_json::from_value::<CombineObject>(other).map_err(D::Error::custom)? {
                    CombineObject::AtLeast(n) => Ok(CombineSpec::AtLeast(n)),
                    CombineObject::Weighted(w) => Ok(CombineSpec::Weighted {
                        pass_threshold: w.pass_threshold,
                    }),
                }
            }
        }
    }
}

impl JsonSchema for CombineSpec {
    fn schema_name() -> Cow<'static, str> {
        "Combine".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = generator.subschema_for::<CombineWord>();
        json_schema!({
            "description": "Combination of several verdicts: `all` (default), `any`, `weighted`, `{at_least: n}` or `{weighted: {pass_threshold: x}}`.",
            "if": { "type": "string" },
            "then": word,
            "else": {
                "type": "object",
                "properties": {
                    "at_least": { "type": "integer", "minimum": 1, "description": "Number of graders that must pass." },
                    "weighted": {
                        "type": "object",
                        "description": "`pass_threshold`: the weighted mean of the scores that passes.",
                        "properties": { "pass_threshold": { "type": "number", "minimum": 0, "maximum": 1 } },
                        "required": ["pass_threshold"],
                        "additionalProperties": false
                    }
                },
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false
            }
        })
    }
}

impl Serialize for ExtractSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ExtractSpec::Word(word) => word.serialize(serializer),
            ExtractSpec::Step(step) => step.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ExtractSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            word @ Value::String(_) => serde_json::from_value::<ExtractWord>(word)
                .map(ExtractSpec::Word)
                .map_err(D::Error::custom),
            other => serde_json::from_value::<ExtractStep>(other)
                .map(ExtractSpec::Step)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for ExtractSpec {
    fn schema_name() -> Cow<'static, str> {
        "Extract".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = generator.subschema_for::<ExtractWord>();
        let code = generator.subschema_for::<ExtractCode>();
        let regex = generator.subschema_for::<ExtractRegex>();
        let mode = generator.subschema_for::<super::words::JsonMode>();
        json_schema!({
            "description": "A step that extracts the graded text from the output: `trim`, `code`, `json`, or an object with one key.",
            "if": { "type": "string" },
            "then": word,
            "else": {
                "type": "object",
                "properties": {
                    "code": code,
                    "json": mode,
                    "regex": regex,
                    "json_path": { "type": "string", "description": "JSONPath (RFC 9535) into the output's JSON, such as `$.items[0].name`." },
                    "after_last": { "type": "string", "description": "The text after the last occurrence of this marker.", "minLength": 1 }
                },
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false
            }
        })
    }
}
