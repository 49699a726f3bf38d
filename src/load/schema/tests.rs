use super::*;
use crate::load::source::Sources;
use serde_json::json;

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Suite", "type": "object", "additionalProperties": false,
        "required": ["name", "graders"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "retries": {"type": ["integer", "null"], "minimum": 0, "maximum": 10},
            "verbose": {"type": "boolean", "default": false},
            "tags": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "combine": {"oneOf": [
                {"type": "string", "enum": ["all", "any"]},
                {"type": "object", "properties": {"at_least": {"type": "integer", "minimum": 1}}, "required": ["at_least"], "additionalProperties": false},
                {"type": "object", "properties": {"weighted": {"type": "number"}}, "required": ["weighted"], "additionalProperties": false}
            ]},
            "level": {"oneOf": [{"const": "low", "type": "string", "description": "l"}, {"const": "high", "x-tag-aliases": ["hi"]}]},
            "limits": {"anyOf": [{"$ref": "#/$defs/Limits"}, {"type": "null"}]},
            "expected": true,
            "graders": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Grader"}, "x-aliases": ["asserts", "checks"]},
            "ks": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "children": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Limits"}}
        },
        "$defs": {
            "Limits": {"type": "object", "properties": {"wall": {"type": "number", "exclusiveMinimum": 0, "x-aliases": ["seconds"]}, "memory": {"type": ["string", "null"], "pattern": "^[0-9]+MB$"}}, "additionalProperties": false},
            "Grader": {"oneOf": [
                {"type": "object", "properties": {"type": {"type": "string", "const": "exact_match"}, "expected": {"type": "string", "x-aliases": ["value"]}}, "required": ["type", "expected"], "additionalProperties": false, "x-tag-aliases": ["exact"]},
                {"type": "object", "properties": {"type": {"type": "string", "const": "regex"}}, "required": ["type"], "$ref": "#/$defs/Regex", "unevaluatedProperties": false},
                {"type": "object", "properties": {"type": {"const": "all"}, "of": {"type": "array", "items": {"$ref": "#/$defs/Grader"}}}, "required": ["type", "of"], "additionalProperties": false}
            ]},
            "Regex": {"type": "object", "properties": {"pattern": {"type": "string", "x-aliases": ["regex"]}, "min": {"type": ["number", "null"]}}, "required": ["pattern"]}
        }
    })
}

fn checked(text: &str) -> (Option<Value>, Vec<String>) {
    let mut sources = Sources::new();
    let file = sources.add("t.yaml", text);
    let mut problems = Problems::new();
    let mut node = crate::load::tree::parse(&sources, file, &mut problems).expect("the fixture is YAML");
    let value =
        Validator::new(&schema()).expect("the schema compiles").check(&sources, &mut node, &mut problems);
    let shown = problems.sorted().into_iter().map(|p| {
        let at = p.span.map(|s| sources.position(s)).expect("a place");
        format!(
            "{}:{} {} {} | {}",
            at.line,
            at.column,
            p.code.slug(),
            p.message,
            p.hint.as_deref().unwrap_or("-")
        )
    });
    (value, shown.collect())
}

/// Text, the JSON of what fits (`-` for nothing), and its problems: `line:column slug message | hint`.
const TABLE: &[(&str, &str, &[&str])] = &[];

#[test]
fn texts_and_what_is_said_of_them() {
    for (text, json, problems) in TABLE {
        let (value, shown) = checked(text);
        assert_eq!(&value.map_or("-".to_owned(), |v| v.to_string()), json, "of {text:?}");
        assert_eq!(shown, *problems, "of {text:?}");
    }
}

/// The published schema and our own check agree, on every text of the table.
#[test]
fn editors_are_told_what_we_check() {
    let published = published(&schema());
    let validator = jsonschema::validator_for(&published).expect("the published schema compiles");
    for (text, json, _) in TABLE {
        let mut sources = Sources::new();
        let file = sources.add("t.yaml", *text);
        let node =
            crate::load::tree::parse(&sources, file, &mut Problems::new()).expect("the fixture is YAML");
        // An explicit null for an optional key is forgiven here, not by editors.
        if *json != "-" && !text.contains('~') {
            assert!(validator.is_valid(&node.to_json()), "of {text:?}");
        }
        if *json == "-" {
            assert!(!validator.is_valid(&node.to_json()), "of {text:?}");
        }
    }
    assert!(!published.to_string().contains("\"x-"), "our own words are gone");
}
