//! The shapes that an eval file may have, and how they are told apart.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use super::OneOrMany;
use super::eval::{CapabilityDefinition, EvalFile};
use super::regression::{RegressionDefinition, RegressionDocument};

/// An entry of a list of definitions: a regression when it has a `baseline` or a `current`, else a
/// capability.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    Capability(Box<CapabilityDefinition>),
    Regression(Box<RegressionDefinition>),
}

impl Definition {
    /// True when `value` is read as a regression.
    pub fn is_regression(value: &Value) -> bool {
        ["baseline", "current", "test_case", "comparison"]
            .iter()
            .any(|key| value.get(key).is_some())
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if Definition::is_regression(&value) {
            serde_json::from_value(value)
                .map(Definition::Regression)
                .map_err(D::Error::custom)
        } else {
            serde_json::from_value(value)
                .map(Definition::Capability)
                .map_err(D::Error::custom)
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
        let shape =
            match EvalShape::name_of(value.is_array(), |key| value.get(key).is_some()) {
                ShapeName::List => serde_json::from_value(value).map(EvalShape::List),
                ShapeName::Single => serde_json::from_value(value).map(EvalShape::Single),
                ShapeName::Capability => serde_json::from_value(value["capability_eval"].take())
                    .map(EvalShape::Capability),
                ShapeName::Regression => serde_json::from_value(value["regression_eval"].take())
                    .map(EvalShape::Regression),
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
