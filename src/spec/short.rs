//! The schemas of short forms. `load::short` turns them into the long ones before anything reads
//! them, so that no type holds them.
//!
//! `x-instead-of: [key, ..]` on a property: a short form that takes the place of these keys.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::expected::ExpectedSpec;
use super::grader::GraderBranches;
use super::judged::{JudgeModel, ModelGraderConfig, ModelGraderSpec};
use super::regression::{BaselineSpec, RegressionInput};

/// A map under `expected:` with one of these keys is an expectation, and otherwise a literal: the
/// keys of expectations, and words that stand for their types elsewhere.
pub(crate) const EXPECTATION_KEYS: [&str; 22] = [
    "type",
    "value",
    "alternatives",
    "tolerance",
    "min",
    "max",
    "schema",
    "must_include",
    "must_not_include",
    "function_name",
    "test_cases",
    "exact",
    "equals",
    "contains",
    "pattern",
    "regex",
    "semantic",
    "functional",
    "numeric",
    "json",
    "structural",
    "$ref",
];

/// `expected:`, an expectation or the literal that the output equals.
pub(super) struct ExpectedForms;

impl JsonSchema for ExpectedForms {
    fn schema_name() -> Cow<'static, str> {
        "ExpectedForms".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let spec = generator.subschema_for::<ExpectedSpec>();
        let with_key = |key: &&str| json!({ "required": [key] });
        let mut marks: Vec<Value> = EXPECTATION_KEYS.iter().map(with_key).collect();
        marks.push(json!({ "maxProperties": 0 }));
        json_schema!({
            "if": { "type": "object", "anyOf": marks },
            "then": spec,
            "else": { "type": ["string", "number", "boolean", "array", "object"] }
        })
    }
}

/// `baseline:`, with its metadata or as the known-good output alone.
pub(super) struct BaselineForms;

impl JsonSchema for BaselineForms {
    fn schema_name() -> Cow<'static, str> {
        "BaselineForms".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let spec = generator.subschema_for::<BaselineSpec>();
        json_schema!({
            "if": { "type": "object" },
            "then": spec,
            "else": { "type": ["string", "number", "boolean", "array"] }
        })
    }
}

/// A judge in one map: `judge`, and the settings of a model grader beside it.
struct JudgeGrader;

impl JsonSchema for JudgeGrader {
    fn schema_name() -> Cow<'static, str> {
        "JudgeGrader".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        for schema in [
            ModelGraderConfig::json_schema(generator),
            ModelGraderSpec::json_schema(generator),
        ] {
            if let Some(Value::Object(own)) = schema.get("properties") {
                properties.extend(own.clone());
            }
        }
        properties.retain(|key, _| !["config", "model", "models"].contains(&key.as_str()));
        let own = generator.subschema_for::<JudgeModel>();
        properties.insert(
            "judge".to_owned(),
            json!({
                "description": "The model, `PROVIDER:MODEL`, or a list of models that vote.",
                "if": { "type": "array" },
                "then": { "items": own },
                "else": { "type": "string", "minLength": 1 }
            }),
        );
        properties.insert(
            "type".to_owned(),
            json!({ "description": "May be omitted.", "enum": ["model"] }),
        );
        json_schema!({
            "description": "A judge in one map, short for `{type: model, config: {model: ..., rubric: ...}}`.",
            "type": "object",
            "properties": properties,
            "required": ["judge"],
            "additionalProperties": false
        })
    }
}

/// A grader: a judge in one map, or one with `type` and `config`.
pub(super) fn grader(generator: &mut SchemaGenerator) -> Schema {
    let judge = generator.subschema_for::<JudgeGrader>();
    let typed = generator.subschema_for::<GraderBranches>();
    json_schema!({
        "description": "A grader of outputs.",
        "if": { "type": "object", "required": ["judge"] },
        "then": judge,
        "else": typed
    })
}

/// Adds `prompt` and `asserts` to an eval or a case.
pub(super) fn of_case(schema: &mut Schema) {
    add(schema, "prompt", prompt("input"));
    add(
        schema,
        "asserts",
        json!({
            "description": "Assert statements in Python that the output's code must pass: a list, or one text. Short for a code grader \
                            of method `code_execution`.",
            "type": ["array", "string"],
            "items": { "type": "string" },
            "x-instead-of": ["grader", "graders", "expected"]
        }),
    );
}

/// Adds `prompt` to the `current:` of a regression.
pub(super) fn of_current(schema: &mut Schema) {
    add(schema, "prompt", prompt("input"));
}

/// Adds `input` and `prompt` to a regression.
pub(super) fn of_regression(schema: &mut Schema) {
    add(schema, "prompt", prompt("current"));
    let place = format!("#/$defs/{}", RegressionInput::schema_name());
    add(
        schema,
        "input",
        json!({
            "description": "The input. Short for `current: {input: ...}`.",
            "$ref": place,
            "x-instead-of": ["current"]
        }),
    );
}

fn prompt(place: &str) -> Value {
    json!({
        "description": "The prompt. Short for `input: {type: prompt, content: ...}`.",
        "if": { "type": "string" },
        "else": {
            "type": "object",
            "properties": {
                "content": { "type": "string", "description": "The prompt: a template over `vars.*`, `context.*` and `env.*`." },
                "context": { "description": "Further data for the prompt's template and for the target." }
            },
            "required": ["content"],
            "additionalProperties": false
        },
        "x-instead-of": [place]
    })
}

fn add(schema: &mut Schema, name: &str, property: Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(name.to_owned(), property);
    }
}
