//! The published schema and the loader agree on shapes, in both directions.

use std::collections::HashMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::problem::Severity;
use super::{CheckRequest, check_files, published_schema};
use crate::spec::SchemaKind;

fn documents() -> Vec<(SchemaKind, Value)> {
    let grader =
        json!({"type": "code", "config": {"method": "exact_match", "case_sensitive": true}});
    vec![
        (
            SchemaKind::Eval,
            json!([{"id": "a", "name": "n", "input": {"type": "prompt", "content": "x", "context": {"k": 1}},
                "expected_output": {"type": "exact", "value": "y", "alternatives": ["z"]}, "grader": grader,
                "metadata": {"difficulty": "easy", "tags": ["t"], "weight": 1.5, "retries": 2}}]),
        ),
        (
            SchemaKind::Eval,
            json!({"metadata": {"id": "f", "tags": []}, "config": {"timeout_seconds": 3, "samples": 2},
                "test_cases": [
                    {"id": "t", "input": "x", "expected": {"type": "contains", "value": ["a"]}, "samples": 3,
                     "graders": [grader, {"type": "model", "config": {"model": "m", "rubric": "be good"}}], "combine": {"at_least": 1}},
                    {"id": "u", "input": {"type": "api_call", "path": "/x", "headers": {"A": "b"}}, "extract": [{"regex": {"pattern": "a"}}, "trim"],
                     "grader": {"type": "code", "config": {"method": "function_output", "function_name": "f",
                        "test_cases": [{"input": [1], "output": 2, "tolerance": {"abs": 0.1}, "comparator": "approx"}]}}}]}),
        ),
        (
            SchemaKind::Eval,
            json!({"regression_eval": {"id": "r", "baseline": {"response": {"a": 1}, "version": "v1"},
                "test_case": {"input": {"method": "GET", "path": "/"}, "execution": {"type": "http", "base_url": "http://x"}},
                "comparison": {"type": "structural", "ignore_fields": ["a.b"], "tolerance": {"allow_additional_fields": true, "a": {"absolute": 1}}}}}),
        ),
        (
            SchemaKind::Eval,
            json!([{"id": "s", "prompt": "x", "expected": 42},
                {"id": "t", "prompt": {"content": "x", "context": {"k": 1}}, "expected": {"name": "Ann"}},
                {"id": "u", "input": "x", "asserts": ["assert f()"]},
                {"id": "v", "input": "x", "grader": {"judge": "gpt-4o", "rubric": "Good?", "votes": 3}},
                {"id": "w", "input": {"a": 1}, "baseline": "y"},
                {"id": "x", "current": {"prompt": "x"}, "baseline": [1]}]),
        ),
        (
            SchemaKind::Graders,
            json!({"graders": {"g": grader, "h": {"type": "human", "config": {"rating_scale": {"type": "likert", "range": [1, 5]}}}},
                "defaults": {"code": "g"}, "rubrics": {"r": "text"}}),
        ),
        (
            SchemaKind::Thresholds,
            json!({"presets": {"p": {"pass_at_1": 0.5}}, "thresholds": {"pass_rate": {"min": 0.1, "on": "ci_lower"}}}),
        ),
        (
            SchemaKind::Phase,
            json!({"phase": {"name": "p", "steps": [{"type": "eval", "config": {"suite": "s", "metrics": ["pass@1"]}}]}}),
        ),
    ]
}

/// The pointers of every value, the root left out.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| {
            out.push(format!("{at}/{i}"));
            pointers(v, &format!("{at}/{i}"), out);
        }),
        Value::Object(map) => map.iter().for_each(|(k, v)| {
            out.push(format!("{at}/{k}"));
            pointers(v, &format!("{at}/{k}"), out);
        }),
        _ => {}
    }
}

#[derive(Debug, Clone, Copy)]
enum Mutation {
    Drop,
    Replace(usize),
    AddKey,
}

fn replacements() -> [Value; 8] {
    [
        json!(null),
        json!(true),
        json!(7),
        json!(-0.5),
        json!("word"),
        json!([]),
        json!({}),
        json!([1, "x"]),
    ]
}

fn mutate(document: &mut Value, at: &str, mutation: Mutation) {
    let (parent, key) = at.rsplit_once('/').expect("a pointer");
    match mutation {
        Mutation::Drop => match document.pointer_mut(parent) {
            Some(Value::Object(map)) => drop(map.remove(key)),
            Some(Value::Array(items)) => drop(items.remove(key.parse().expect("an index"))),
            _ => {}
        },
        Mutation::Replace(which) => {
            if let (Some(value), Some(new)) = (document.pointer_mut(at), replacements().get(which))
            {
                *value = new.clone();
            }
        }
        Mutation::AddKey => {
            if let Some(Value::Object(map)) = document.pointer_mut(parent) {
                map.insert("unheard_of".to_owned(), json!(1));
            }
        }
    }
}

/// Rules that no schema says although their codes are those of shapes: what a metric's range is,
/// what an address is, that one of two keys must be there.
const LINTS: [&str; 6] = [
    " threshold on `",
    "no value is between",
    "is not an HTTP address",
    "of type `eval` needs `config.suite`",
    "is not the name of a Python function",
    "the judge has no `model`",
];

/// The codes of shape alone; everything else is a lint.
fn structural_faults(document: &Value) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    std::fs::write(cwd.join("file.json"), document.to_string()).expect("written");
    let checked = check_files(&CheckRequest {
        paths: vec!["file.json".into()],
        cwd,
        ..CheckRequest::default()
    });
    checked
        .problems
        .iter()
        .filter(|p| p.severity == Severity::Error && p.code.id().starts_with("EH02"))
        .filter(|p| !LINTS.iter().any(|lint| p.message.contains(lint)))
        .map(|p| format!("{} {}", p.code.slug(), p.message))
        .collect()
}

/// Compiled once: that costs more than a check.
fn published_validators() -> &'static HashMap<SchemaKind, jsonschema::Validator> {
    static VALIDATORS: OnceLock<HashMap<SchemaKind, jsonschema::Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let compiled = |kind: &SchemaKind| {
            (
                *kind,
                jsonschema::validator_for(&published_schema(*kind)).expect("a schema"),
            )
        };
        SchemaKind::ALL.iter().map(compiled).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn the_published_schema_and_the_loader_agree(which in 0usize..7, place in any::<prop::sample::Index>(), kind in 0usize..10) {
        let (schema, mut document) = documents().swap_remove(which);
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        let at = place.get(&all).clone();
        let mutation = match kind { 0 => Mutation::Drop, 1 => Mutation::AddKey, n => Mutation::Replace(n - 2) };
        mutate(&mut document, &at, mutation);
        // Without its telling keys a document is of another kind, or of none.
        let node_kind = {
            let mut session = super::session::LoadSession::default();
            let file = session.sources.add("x", document.to_string());
            super::tree::parse(&session.sources, file, &mut session.problems).and_then(|n| super::kinds::detect(&n))
        };
        prop_assume!(node_kind == Some(schema));
        let valid = published_validators()[&schema].is_valid(&document);
        let faults = structural_faults(&document);
        prop_assert_eq!(valid, faults.is_empty(), "{:?} at {}: {} {:?}", mutation, at, document, faults);
    }
}

#[test]
fn the_documents_that_are_mutated_are_valid() {
    for (kind, document) in documents() {
        let validator = jsonschema::validator_for(&published_schema(kind)).expect("a schema");
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|e| e.to_string())
            .collect();
        assert!(errors.is_empty(), "{document}: {errors:?}");
        assert_eq!(structural_faults(&document), [""; 0], "{document}");
    }
}
