//! The description of the API (OpenAPI 3.1): operations from the table that the routes are made of,
//! schemas from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::api::{ApiFailure, ReviewOverview, ReviewReceipt, ReviewScreen, UndoneDecision};
use crate::review::Decision;
use crate::spec::with_joined_lines;

/// An operation of the API.
pub struct ApiOperation {
    pub method: &'static str,
    pub path: &'static str,
    id: &'static str,
    summary: &'static str,
    body: Option<fn(&mut SchemaGenerator) -> Schema>,
    answer: fn(&mut SchemaGenerator) -> Schema,
    /// Statuses of refusals apart from those of every operation.
    refusals: &'static [(u16, &'static str)],
}

const NO_ITEM: (u16, &str) = (404, "There is no such item.");
const NO_RUN: (u16, &str) = (500, "The run can't be read.");
const NOTHING: (u16, &str) = (409, "There is nothing to review.");
const NOT_RECORDED: (u16, &str) = (500, "The decision was not recorded.");

pub const OPERATIONS: [ApiOperation; 4] = [
    ApiOperation {
        method: "get",
        path: "/api/session",
        id: "getSession",
        summary: "What the reviewer is to do, and how far the review is.",
        body: None,
        answer: schema::<ReviewOverview>,
        refusals: &[NOTHING, NO_RUN],
    },
    ApiOperation {
        method: "get",
        path: "/api/items/{index}",
        id: "getItem",
        summary: "An item: input, outputs, rubric and scale.",
        body: None,
        answer: schema::<ReviewScreen>,
        refusals: &[
            NO_ITEM,
            NOTHING,
            (410, "The output can't be read any more."),
            NO_RUN,
        ],
    },
    ApiOperation {
        method: "post",
        path: "/api/items/{index}/rating",
        id: "rateItem",
        summary: "Records a decision on an item. It is written and synced when the answer is sent. A further decision on \
                  the same item replaces the first.",
        body: Some(schema::<Decision>),
        answer: schema::<ReviewReceipt>,
        refusals: &[
            (400, "The body is not a decision."),
            NO_ITEM,
            NOTHING,
            (415, "The body is not declared as JSON."),
            (422, "The rating does not fit the scale of the item."),
            NOT_RECORDED,
        ],
    },
    ApiOperation {
        method: "post",
        path: "/api/undo",
        id: "undo",
        summary: "Withdraws the last decision of the reviewer.",
        body: None,
        answer: schema::<UndoneDecision>,
        refusals: &[NOTHING, NOT_RECORDED],
    },
];

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The document, as `schemas/review.openapi.json` has it.
pub fn document() -> Value {
    let settings = with_joined_lines(SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    }));
    let mut answers = settings.clone().for_serialize().into_generator();
    let mut bodies = settings.for_deserialize().into_generator();
    let failure = schema::<ApiFailure>(&mut answers);
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let mut responses = Map::new();
        let content = |schema: Schema| json!({"application/json": {"schema": schema}});
        responses.insert(
            "200".to_owned(),
            json!({"description": "Done.", "content": content((operation.answer)(&mut answers))}),
        );
        let common = [
            (401, "The token of a reviewer is missing or wrong."),
            (
                403,
                "The request comes from another site, or is for another host.",
            ),
        ];
        for (status, words) in common.iter().chain(operation.refusals) {
            let answer = json!({"description": words, "content": content(failure.clone())});
            responses.insert(status.to_string(), answer);
        }
        let mut described = json!({
            "operationId": operation.id,
            "summary": operation.summary,
            "responses": responses,
        });
        if operation.path.contains("{index}") {
            described["parameters"] = json!([{
                "name": "index", "in": "path", "required": true, "description": "The item, from 0.",
                "schema": {"type": "integer", "minimum": 0},
            }]);
        }
        if let Some(body) = operation.body {
            described["requestBody"] =
                json!({"required": true, "content": content(body(&mut bodies))});
        }
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    let mut schemas = bodies.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Reviews of eval-harness",
            "description": "Grading by people, as `eval-harness review --serve` offers it.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"reviewer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "reviewer": {"type": "http", "scheme": "bearer", "description": "The token of a reviewer."},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let document = document();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 8, "{references:?}");
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (name, schema) in schemas {
            assert!(jsonschema::meta::is_valid(schema), "{name}");
        }
        let ids: Vec<&str> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(ids, ["getSession", "getItem", "rateItem", "undo"]);
    }

    fn collect(value: &Value, references: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    match value.as_str() {
                        Some(to) if name == "$ref" => references.push(to.to_owned()),
                        _ => collect(value, references),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
            _ => {}
        }
    }
}
