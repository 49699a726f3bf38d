//! The schema that editors read and the loader agree: on shapes in both directions, on rules between
//! keys in one. Where only the loader rejects, `RULES` says why.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::problem::Severity;
use super::session::LoadSession;
use super::{CheckRequest, check_files, kinds, published_schema, tree};
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
            json!({"phase": {"name": "p", "steps": [{"type": "eval", "config": {"suite": "s.json", "metrics": ["pass@1"]}},
                {"type": "test", "command": ["true"], "timeout_seconds": 5, "config": {"junit": "*.xml"}}]}}),
        ),
        (
            SchemaKind::Trigger,
            json!({"eval_trigger": {"when": "after_tests_pass", "suite": "s.json", "thresholds": {"pass_rate": 0.5}}}),
        ),
        // Nothing is wrong with these, so that what a rule between keys rejects is an error of its own.
        (
            SchemaKind::Eval,
            json!([{"id": "a", "input": {"type": "messages", "messages": [{"role": "user", "content": "x"}]}, "expected": {"type": "contains", "value": ["y"]}},
                {"id": "b", "input": "x", "expected": {"type": "functional", "value": {"function_name": "f",
                    "test_cases": [{"args": [1], "expected": 2}, {"args": [2], "raises": "ValueError"}, {"input": [3], "output": 1.5, "comparator": "approx", "tolerance": 0.1}]}}},
                {"id": "c", "input": "x", "grader": {"type": "model", "config": {"model": "openai:gpt-4o-mini", "rubric": "be good", "temperature": 0}}},
                {"id": "d", "baseline": {"output": {"a": 1}}, "current": {"input": "x"}, "comparison": {"type": "structural"}},
                {"id": "e", "input": "x", "expected": "y", "graders": [{"type": "code", "config": {"method": "exact_match"}}], "combine": "all"}]),
        ),
        (
            SchemaKind::Eval,
            json!([{"id": "a", "input": "x", "expected": "y", "workspace": {"from": {"dir": "."}, "files": {"a.txt": "x", "b": null, "c": {"file": "s.json"}},
                "setup": [["true"]], "hidden": ["h/**"], "env": {"A": "b"}, "keep": "failed", "memory_mb": 100, "setup_timeout_seconds": 1.5}},
                {"id": "b", "input": "x", "expected": "y", "workspace": null}]),
        ),
        (
            SchemaKind::Eval,
            json!({"metadata": {"id": "f"}, "test_cases": [{"id": "t", "input": "x", "expected": "y"}, {"id": "u", "input": "x", "expected": {"type": "numeric", "value": 1}}]}),
        ),
        (
            SchemaKind::Eval,
            json!({"metadata": {"id": "f"}, "grader": {"type": "code", "config": {"method": "contains", "must_include": ["y"]}}, "test_cases": [{"id": "t", "input": "x"}]}),
        ),
        (
            SchemaKind::Suite,
            json!({"eval_suite": {"name": "n", "target": {"type": "echo"}, "config": {"samples": 3}, "evals": [{"id": "a", "input": "x", "expected": "x"}],
                "thresholds": {"pass@1": 0.9, "pass_rate": {"min": 0.5, "max": 0.9, "by_tag": {"t": {"min": 0.1}}}, "latency_p95_ms": 5000, "max_regressions": 1},
                "presets": {"p": {"pass_at_3": 0.5}}, "reporting": {"format": ["json"]}}}),
        ),
        (
            SchemaKind::Graders,
            json!({"graders": {"g": {"type": "code", "config": {"method": "regex", "pattern": "a"}},
                "j": {"type": "model", "config": {"models": ["openai:a", {"model": "openai:b", "temperature": 1}], "rubric": "r"}}}, "rubrics": {"r": "be good"}}),
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
    Add(usize),
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

/// Keys that are valid at some place, and one that is at none.
fn additions() -> [(&'static str, Value); 21] {
    [
        ("unheard_of", json!(1)),
        ("grader", json!("g")),
        ("graders", json!(["g"])),
        ("graders", json!([])),
        ("expected", json!("x")),
        (
            "expected_output",
            json!({"type": "functional", "value": {"test_cases": [{"args": []}]}}),
        ),
        ("raises", json!("E")),
        ("suite", json!("s.json")),
        ("config", json!({"suite": "s.json", "junit": "x.xml"})),
        ("command", json!(["true"])),
        ("timeout_seconds", json!(1)),
        ("min", json!(0.5)),
        ("max", json!(90)),
        ("model", json!("openai:x")),
        ("models", json!(["openai:x"])),
        ("tolerance", json!(1)),
        ("pass@1", json!(90)),
        ("pass_at_0", json!(1)),
        ("cost_usd", json!({"min": -1})),
        ("max_regressions", json!(1.5)),
        ("archive", json!("s.json")),
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
        Mutation::Add(which) => {
            let (Some(Value::Object(map)), Some((key, new))) = (
                document.pointer_mut(parent),
                additions().get(which).cloned(),
            ) else {
                return;
            };
            map.insert(key.to_owned(), new);
        }
    }
}

/// Rules that no schema says although their codes are those of shapes: what a metric's range is,
/// what an address is, that one of two keys must be there.
const LINTS: [&str; 7] = [
    " threshold on `",
    "no value is between",
    "is not an HTTP address",
    "of type `eval` needs `config.suite`",
    "is not the name of a Python function",
    "the judge has no `model`",
    "` (line 1) differ",
];

/// The errors of the loader, each with its code, of a document that lies beside a suite `s.json`.
fn errors(document: &Value) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let suite = json!({"eval_suite": {"name": "s", "target": {"type": "echo"}, "evals": [{"id": "a", "input": "x", "expected": "x"}]}});
    std::fs::write(cwd.join("s.json"), suite.to_string()).expect("written");
    std::fs::write(cwd.join("file.json"), document.to_string()).expect("written");
    errors_of(&cwd, "file.json")
}

fn errors_of(cwd: &Path, file: &str) -> Vec<String> {
    let checked = check_files(&CheckRequest {
        paths: vec![file.into()],
        cwd: cwd.to_owned(),
        ..CheckRequest::default()
    });
    let errors = checked.problems.iter();
    errors
        .filter(|p| p.severity == Severity::Error)
        .map(|p| format!("{} {} {}", p.code.id(), p.code.slug(), p.message))
        .collect()
}

/// The errors of shape alone; everything else is a lint.
fn structural(errors: &[String]) -> Vec<&String> {
    let is_lint = |error: &str| LINTS.iter().any(|lint| error.contains(lint));
    let faults = errors.iter().filter(|error| error.starts_with("EH02"));
    faults.filter(|error| !is_lint(error)).collect()
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

/// What a text is, as a file is read.
fn document(text: &str) -> Option<(SchemaKind, Value)> {
    let mut session = LoadSession::default();
    let file = session.sources.add("x", text);
    let node = tree::parse(&session.sources, file, &mut session.problems)?;
    Some((kinds::detect(&node)?, node.to_json()))
}

fn editor_errors(kind: SchemaKind, document: &Value) -> Vec<String> {
    let errors = published_validators()[&kind].iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
    #[test]
    fn editors_reject_only_what_the_loader_rejects_and_all_wrong_shapes(
        which in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), kind in 0usize..30,
    ) {
        let documents = documents();
        let (schema, mut document) = which.get(&documents).clone();
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        let at = place.get(&all).clone();
        let mutation = match kind { 0 => Mutation::Drop, n if n < 9 => Mutation::Replace(n - 1), n => Mutation::Add(n - 9) };
        mutate(&mut document, &at, mutation);
        // Without its telling keys a document is of another kind, or of none.
        prop_assume!(super::agreement_tests::document(&document.to_string()).is_some_and(|(kind, _)| kind == schema));
        let rejected = editor_errors(schema, &document);
        let errors = errors(&document);
        if rejected.is_empty() {
            prop_assert_eq!(structural(&errors), Vec::<&String>::new(), "{:?} at {}: {}", mutation, at, document);
        } else {
            prop_assert!(!errors.is_empty(), "{mutation:?} at {at}: {document}: {rejected:?}");
        }
    }
}

#[test]
fn the_documents_that_are_mutated_are_valid() {
    for (kind, document) in documents() {
        assert_eq!(editor_errors(kind, &document), [""; 0], "{document}");
        let errors = errors(&document);
        assert_eq!(structural(&errors), Vec::<&String>::new(), "{document}");
    }
}

/// What editors reject although its shape is right, and what they can't: the loader rejects all of
/// it, by the code in the table.
const RULES: &[(&str, &str, &str)] = &[
    // Text, code of the loader, why editors accept it (`-`: they reject it).
    ("- {id: a, input: x}", "EH0406", "-"),
    (
        "- {id: a, input: x, expected: ~}",
        "EH0406",
        "a key that is there counts, null or not",
    ),
    (
        "{metadata: {id: a}, test_cases: [{id: t, input: x}]}",
        "EH0406",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: contains, value: []}}",
        "EH0206",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: contains, value: ['']}}",
        "EH0206",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: functional, value: {test_cases: [{args: [], expected: 1}]}}}",
        "EH0406",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: functional, value: {function_name: f, test_cases: [{args: []}]}}}",
        "EH0406",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: functional, value: {function_name: f, test_cases: [{args: [], expected: 1, raises: E}]}}}",
        "EH0407",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: functional, value: {function_name: f, test_cases: [{args: [], expected: 1, tolerance: 1}]}}}",
        "EH0407",
        "-",
    ),
    (
        "- {id: a, input: x, expected: {type: numeric, tolerance: 1}}",
        "EH0406",
        "-",
    ),
    (
        "- {id: a, input: x, grader: {type: model, config: {rubric: good}}}",
        "EH0202",
        "-",
    ),
    (
        "- {id: a, input: x, grader: {type: model, config: {model: 'openai:x', models: ['openai:y'], rubric: good}}}",
        "EH0407",
        "-",
    ),
    (
        "- {id: a, input: x, grader: {type: model, config: {model: 'openai:x', rubric: good, temperature: 9}}}",
        "EH0205",
        "-",
    ),
    (
        "- {id: a, input: x, expected: y, grader: g, graders: [g]}",
        "EH0407",
        "-",
    ),
    ("thresholds: {pass@1: 90}", "EH0205", "-"),
    ("thresholds: {pass@0: 0.5}", "EH0419", "-"),
    ("thresholds: {Latency: 1}", "EH0419", "-"),
    ("thresholds: {pass_rate: {}}", "EH0202", "-"),
    ("thresholds: {'pass_rate[tag=x]': {max: 2}}", "EH0205", "-"),
    (
        "thresholds: {pass_rate: {min: 0.9, max: 0.1}}",
        "EH0205",
        "two numbers can't be compared",
    ),
    (
        "phase: {name: p, steps: [{type: eval, config: {}}]}",
        "EH0202",
        "-",
    ),
    ("phase: {name: p, steps: [{type: eval}]}", "EH0202", "-"),
    (
        "phase: {name: p, steps: [{type: test, config: {suite: s.json}}]}",
        "EH0701",
        "-",
    ),
    (
        "phase: {name: p, steps: [{type: eval, command: [x], config: {suite: s.json}}]}",
        "EH0701",
        "-",
    ),
    (
        "phase: {name: p, steps: [{type: check, timeout_seconds: 1}]}",
        "EH0701",
        "-",
    ),
    (
        "- {id: a, input: {type: file, content: gone.txt}, expected: y}",
        "EH0302",
        "files are not read",
    ),
    ("- {$ref: gone.yaml}", "EH0202", "-"),
    (
        "- {id: a, input: x, expected: {type: pattern, value: '('}}",
        "EH0401",
        "expressions are Python's",
    ),
    (
        "- {id: a, input: '{{ x', expected: y}",
        "EH0403",
        "templates are not read",
    ),
    (
        "- {id: a, input: x, grader: {type: model, config: {model: 'openai:x', rubric: good, scoring: {type: numeric, range: [5, 1]}}}}",
        "EH0407",
        "two numbers can't be compared",
    ),
    (
        "- {id: a, input: x, expected: y, grader: {type: code, config: {method: regex}}}",
        "EH0407",
        "a grader may be named, and is then elsewhere",
    ),
    (
        "eval_suite: {name: n, target: {type: echo}, evals: [{id: a, input: x, expected: y}, {id: a, input: x, expected: y}]}",
        "EH0301",
        "ids are unique in a suite",
    ),
];

#[test]
fn editors_reject_what_a_schema_can_say() {
    let mut wrong = Vec::new();
    for (text, code, why) in RULES {
        let (kind, document) = document(text).expect(text);
        let errors = errors(&document);
        if !errors.iter().any(|error| error.starts_with(code)) {
            wrong.push(format!("loader, {text}: {errors:?}"));
        }
        let rejected = editor_errors(kind, &document);
        if rejected.is_empty() == (*why == "-") {
            wrong.push(format!("editor, {text}: {rejected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ranges_of_all_metrics_are_known_to_editors() {
    let plain = crate::model::PLAIN_METRICS.iter().map(|(_, name)| *name);
    for name in plain.chain(["pass@2", "pass_hat_3", "pass^2_unbiased", "edit_rate"]) {
        for value in [-1.0, 0.5, 1.5] {
            let document = json!({"thresholds": {name: value}});
            let rejected = !editor_errors(SchemaKind::Thresholds, &document).is_empty();
            assert_eq!(rejected, !errors(&document).is_empty(), "{document}");
        }
    }
}

/// Every YAML and JSON text of this repository that the loader accepts: suites, fixtures, templates
/// and the examples of the documentation.
#[test]
fn editors_accept_every_file_that_loads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<(PathBuf, String)> = Vec::new();
    for folder in ["evals", "tests", "docs", "src", "skill", "baselines"] {
        collect(&root.join(folder), &mut texts);
    }
    let mut checked = 0;
    for (path, text) in texts {
        let Some((kind, found)) = document(&text) else {
            continue;
        };
        let rejected = editor_errors(kind, &found);
        checked += 1;
        if rejected.is_empty() {
            continue;
        }
        let errors = match path.extension().is_some_and(|e| e == "md") {
            true => errors(&found),
            false => errors_of(path.parent().expect("a folder"), &path.to_string_lossy()),
        };
        assert!(
            !errors.is_empty(),
            "{}: {rejected:?}\n{text}",
            path.display()
        );
    }
    assert!(checked > 60, "{checked}");
}

/// The files of a folder, and the fenced YAML and JSON of its pages.
fn collect(folder: &Path, texts: &mut Vec<(PathBuf, String)>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, texts);
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        match path.extension().and_then(|e| e.to_str()) {
            Some("yaml" | "yml" | "json") => texts.push((path, text)),
            Some("md") => {
                for block in text.split("\n```").skip(1).step_by(2) {
                    if let Some((_, body)) = block
                        .split_once('\n')
                        .filter(|(word, _)| ["yaml", "json"].contains(word))
                    {
                        texts.push((path.clone(), body.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
}
