//! The shapes that an eval file may have, and how they are told apart.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::OneOrMany;
use super::eval::{CapabilityDefinition, EvalFile};
use super::regression::{RegressionDefinition, RegressionDocument};

/// An entry of a list of definitions: a regression when it has a `baseline` or a `current`, else a
/// capability.
struct EvalDefinition;

impl JsonSchema for EvalDefinition {
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

/// An eval file, or an inline eval of a suite, in any of the shapes that it may have. Its parts are
/// read once they are brought to one shape, see `load::evals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalShape(pub Value);

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

impl JsonSchema for EvalShape {
    fn schema_name() -> Cow<'static, str> {
        "Eval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let definition = generator.subschema_for::<EvalDefinition>();
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
