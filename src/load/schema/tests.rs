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

#[test]
fn explore() {
    let ok = "graders: [{type: exact, value: x}]\n";
    for text in [
        "name: x\ngraders:\n  - type: exact\n    value: y\n",
        "name: x\nchecks:\n  - {type: regex, regex: y}\n",
        "nme: x\ngraders: [{type: regex, pattern: x}]\n",
        "name: 5\ngraders: []\n",
        "name:\ngraders: x\n",
        "graders: [{type: exat, value: x}]\nname: x\n",
        "name: x\ngraders: [{value: x}]\n",
        "name: x\ngraders:\n  - type: regex\n    patern: x\n  - type: regex\n    min: x\n  - 5\n",
        "name: x\nchecks: []\ngraders: [{type: exact, value: a, expected: b}]\n",
        "name: x\ngraders: [{type: all, of: [{type: exact, vale: x}]}]\n",
        "- 1\n",
        "x\n",
    ]
    .map(String::from)
    .into_iter()
    .chain(
        [
            "tags: 5",
            "tags: [1, a]",
            "tags: {a: 1}",
            "combine: al",
            "combine: {at_leest: 2}",
            "combine: {at_least: 0}",
            "combine: 5",
            "level: hi",
            "level: hgh",
            "level: 5",
            "limits: {wall: 0}",
            "limits: {seconds: x, memory: 5 MB}",
            "limits: ~",
            "retries: ~",
            "verbose: yes",
            "verbose: ~",
            "retries: 11",
            "retries: \"3\"",
            "retries: 1.5",
            "retries: 3.0",
            "expected: ~",
            "name: \"\"",
            "ks: [0, 1]",
            "children: {a: {wal: 1}, b: 5}",
            "zzz: 1",
            "name: 0x10",
            "retries: 1e999999999",
            "retries: 1e-999999999",
            "limits: {wall: .inf}",
            "Name: x",
        ]
        .map(|l| if l.starts_with("name") { format!("{l}\n{ok}") } else { format!("{l}\nname: n\n{ok}") }),
    ) {
        println!("{text:?}");
        let (value, shown) = checked(&text);
        if let Some(v) = value {
            println!("   {v}");
        }
        for p in shown {
            println!("   {p}");
        }
    }
}
