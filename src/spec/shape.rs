//! The shapes that an eval file may have, and how they are distinguished.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::OneOrMany;
use super::eval::{CapabilityDefinition, EvalFile};
use super::regression::{RegressionDefinition, RegressionDocument};

/// Keys that only regressions have.
const REGRESSION_KEYS: [&str; 3] = ["baseline", "test_case", "current"];
/// Keys that only eval files have.
const FILE_KEYS: [&str; 2] = ["test_cases", "dataset"];
/// Keys of a definition, and of a case of a file, but not of the file.
const CASE_KEYS: [&str; 5] = ["input", "prompt", "expected", "expected_output", "asserts"];

/// An entry of a list of definitions: a regression if it has a `baseline` or a `current`, otherwise
/// a capability.
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

/// An eval file, or an inline eval of a suite, in any of its shapes. Its parts are read after
/// conversion to one shape, see `load::evals`.
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
        let has_any = |keys: &[&str]| keys.iter().any(|key| has_key(key));
        if is_list {
            ShapeName::List
        } else if has_key("capability_eval") {
            ShapeName::Capability
        } else if has_key("regression_eval") {
            ShapeName::Regression
        } else if has_key("id") {
            ShapeName::Single
        } else if has_any(&REGRESSION_KEYS) {
            // Without `metadata` it is a definition that lacks its `id`.
            if has_key("metadata") {
                ShapeName::Document
            } else {
                ShapeName::Single
            }
        } else if has_any(&FILE_KEYS) || (has_key("metadata") && !has_any(&CASE_KEYS)) {
            ShapeName::File
        } else {
            ShapeName::Single
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
        let has = |key: &str| json!({ "type": "object", "required": [key] });
        let any = |keys: &[&str]| {
            let one: Vec<Value> = keys
                .iter()
                .map(|key| json!({ "required": [key] }))
                .collect();
            json!({ "type": "object", "anyOf": one })
        };
        let alone = json!({ "type": "object", "required": ["metadata"], "not": any(&CASE_KEYS) });
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
                            "if": any(&REGRESSION_KEYS),
                            "then": {
                                "if": has("metadata"),
                                "then": document,
                                "else": definition
                            },
                            "else": {
                                "if": any(&FILE_KEYS),
                                "then": file,
                                "else": {
                                    "if": alone,
                                    "then": file,
                                    "else": definition
                                }
                            }
                        }
                    }
                }
            }
        })
    }
}
