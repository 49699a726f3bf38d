//! `export`: what a run leaves behind becomes a recording that gives the same report.

use crate::support::Project;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Export
  evals:
    - $ref: texts.yaml
    - $ref: values.yaml
  targets:
    recorded: {type: recorded, path: outputs.jsonl}
    asked: {type: command, command: ["./answer.sh"], on_error: fail}
  config: {k: [1, 2]}
"#;

const TEXTS: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-texts, name: Texts}
test_cases:
  - {id: a, input: alpha, expected: {type: exact, value: "é\n\"x\""}}
  - {id: b, input: beta, expected: {type: exact, value: two}}
  - {id: "11", input: eleven, expected: {type: exact, value: two}}
"#;

const VALUES: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-values, name: Values}
test_cases:
  - id: a
    input: number
    expected: {type: exact, value: '{"n":265252859812191058636308480000000,"x":1.50}'}
"#;

/// Out of order, several samples, one case with its indexes, JSON that must keep its digits.
const OUTPUTS: &str = r#"{"eval": "cap-values", "case": "a", "output": "{\"n\":265252859812191058636308480000000,\"x\":1.50}"}
{"task_id": 11, "completion": "two"}
{"case": "b", "output": "two", "sample": 1, "model": "m-1"}
{"case": "b", "output": "three", "sample": 0, "usage": {"input_tokens": 3, "output_tokens": 5, "cost_usd": 0.0125}}
{"eval": "cap-texts", "case": "a", "output": "é\n\"x\""}
{"eval": "cap-values", "case": "a", "output": {"n": 265252859812191058636308480000000, "x": 1.50}}
{"task_id": 11, "solution": "def f():\n    return 1\n"}
{"eval": "cap-texts", "case": "a", "output": "other", "truncated": true}
"#;

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("texts.yaml", TEXTS),
        ("values.yaml", VALUES),
        ("outputs.jsonl", OUTPUTS),
    ])
}

/// The report without what no two runs share.
fn comparable(mut report: Value) -> Value {
    let metadata = report["metadata"].as_object_mut().expect("metadata");
    for key in ["run_id", "timestamp", "duration_seconds", "environment"] {
        assert!(metadata.remove(key).is_some(), "{key}");
    }
    metadata.remove("rerun_arguments");
    without_times(&mut report);
    report
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| key != "duration_ms");
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[test]
fn an_exported_run_gives_the_same_report_when_it_is_graded_again() {
    let project = project();
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--target",
            "recorded",
            "--jobs",
            "4",
        ])
        .expect(1);
    let first = comparable(project.report());
    let exported = project.call(&["export"]).expect(0);
    insta::assert_snapshot!(exported.stdout, @r#"
    {"eval":"cap-texts","case":"a","sample":0,"output":"é\n\"x\""}
    {"eval":"cap-texts","case":"a","sample":1,"output":"other","truncated":true}
    {"eval":"cap-texts","case":"b","sample":0,"output":"three","usage":{"input_tokens":3,"output_tokens":5,"cost_usd":0.0125}}
    {"eval":"cap-texts","case":"b","sample":1,"output":"two","model":"m-1"}
    {"eval":"cap-texts","case":"11","sample":0,"output":"two"}
    {"eval":"cap-texts","case":"11","sample":1,"solution":"def f():\n    return 1\n"}
    {"eval":"cap-values","case":"a","sample":0,"output":"{\"n\":265252859812191058636308480000000,\"x\":1.50}"}
    {"eval":"cap-values","case":"a","sample":1,"output":{"n":265252859812191058636308480000000,"x":1.50}}
    "#);
    assert_eq!(exported.stderr, "");
    let call = project
        .call(&["export", "--run", "latest", "--output", "again.jsonl"])
        .expect(0);
    assert_eq!(call.stderr, "wrote 8 outputs to again.jsonl\n");
    assert_eq!(
        std::fs::read_to_string(project.path().join("again.jsonl")).unwrap(),
        exported.stdout
    );
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--outputs",
            "again.jsonl",
            "--jobs",
            "1",
        ])
        .expect(1);
    assert_eq!(comparable(project.report()), first);
    // And what is exported of that run is the same again.
    assert_eq!(project.call(&["export"]).expect(0).stdout, exported.stdout);
}

#[test]
fn completions_are_text_and_what_is_none_is_refused_by_name() {
    let project = project();
    project
        .call(&["run", "--suite", "suite.yaml", "--target", "recorded"])
        .expect(1);
    let call = project
        .call(&["export", "--format", "completions", "--eval", "cap-t*"])
        .expect(0);
    insta::assert_snapshot!(call.stdout, @r#"
    {"task_id":"a","completion":"é\n\"x\""}
    {"task_id":"a","completion":"other","truncated":true}
    {"task_id":"b","completion":"three"}
    {"task_id":"b","completion":"two"}
    {"task_id":"11","completion":"two"}
    {"task_id":"11","solution":"def f():\n    return 1\n"}
    "#);
    let call = project
        .call(&["export", "--format", "completions", "--output", "c.jsonl"])
        .expect(2);
    insta::assert_snapshot!(call.stderr, @"
    error: the output of case `a` (eval `cap-values`, sample 2) is JSON, but a completion must be text
    hint: use `--format outputs`, or select outputs that are text with --eval and --case
    ");
    let left: Vec<_> = std::fs::read_dir(project.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("c.jsonl"))
        .collect();
    assert_eq!(left, [] as [String; 0]);
}

#[test]
fn filters_choose_and_choosing_nothing_is_exit_2() {
    let project = project();
    project
        .call(&["run", "--suite", "suite.yaml", "--target", "recorded"])
        .expect(1);
    let chosen = |args: &[&str]| {
        let call = project.call(&[&["export"], args].concat()).expect(0);
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            format!(
                "{}/{}/{}",
                line["eval"].as_str().unwrap(),
                line["case"].as_str().unwrap(),
                line["sample"]
            )
        };
        call.stdout.lines().map(line).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        chosen(&["--case", "b", "--case", "1?"]),
        "cap-texts/b/0 cap-texts/b/1 cap-texts/11/0 cap-texts/11/1"
    );
    assert_eq!(
        chosen(&["--outcome", "passed", "--eval", "cap-texts"]),
        "cap-texts/a/0 cap-texts/b/1 cap-texts/11/0"
    );
    let refused = [
        &["--case", "nothing*"][..],
        &["--outcome", "errored"],
        &["--case", "[a"],
        &["--outcome", "good"],
        &["--run", "eval-20200101-000000"],
    ]
    .map(|args| {
        let call = project.call(&[&["export"], args].concat()).expect(2);
        call.stderr.lines().next().unwrap_or_default().to_owned()
    });
    let run = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let results = project.path().join("results");
    let refused = refused
        .join("\n")
        .replace(&run, "RUN")
        .replace(&results.display().to_string(), "RESULTS");
    insta::assert_snapshot!(refused, @r"
    error: no finished sample of RUN matches
    error: none of the 8 matching samples has an outcome that --outcome selects
    error: `--case [a` is not a glob: unclosed character class; missing ']'
    error: invalid value 'good' for '--outcome <OUTCOME>': unknown variant `good`, expected one of `passed`, `failed`, `errored`, `skipped`, `pending`
    error: no run `eval-20200101-000000` in RESULTS
    ");
}

#[test]
fn what_a_target_said_before_it_failed_is_no_output() {
    let project = project();
    let script = project.write(
        "answer.sh",
        "#!/bin/sh\nread line\necho two\ntest \"$line\" != beta\n",
    );
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--target",
            "asked",
            "--eval",
            "cap-texts",
            "--samples",
            "2",
        ])
        .expect(1);
    let call = project.call(&["export"]).expect(0);
    insta::assert_snapshot!(call.stdout, @r#"
    {"eval":"cap-texts","case":"a","sample":0,"output":"two\n"}
    {"eval":"cap-texts","case":"a","sample":1,"output":"two\n"}
    {"eval":"cap-texts","case":"11","sample":0,"output":"two\n"}
    {"eval":"cap-texts","case":"11","sample":1,"output":"two\n"}
    "#);
    assert_eq!(
        call.stderr,
        "skipped 2 samples without an output to judge\n"
    );
}

#[test]
fn a_recording_with_one_broken_line_far_inside_is_graded_but_for_that_line() {
    let project = project();
    let mut content = String::new();
    for n in 0..50_000 {
        content.push_str(&format!(
            "{{\"case\": \"b\", \"sample\": {n}, \"output\": \"two\"}}\n"
        ));
    }
    content.push_str("{\"case\": \"b\", \"sample\": 50000, \"output\": \"two}\n");
    content.push_str("{\"case\": \"b\", \"sample\": 50001, \"output\": \"two\"}\n");
    project.write("broken.jsonl", &content);
    let call = project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--outputs",
            "broken.jsonl",
            "--case",
            "b",
        ])
        .expect(3);
    let place = "line 50001, column 46: not JSON: EOF while parsing a string";
    assert!(call.stderr.contains(place), "{}", call.stderr);
}
