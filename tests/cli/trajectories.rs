//! Trajectories that recorded outputs bring: stored, shown, graded again, without secrets.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Project;

const SUITE: &str = r#"
eval_suite:
  name: Agent
  evals: [{$ref: cases.yaml}]
  target: {type: recorded, path: outputs.jsonl}
"#;

const CASES: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: agent, name: Agent}
test_cases:
  - {id: inline, input: list the files, expected: {type: exact, value: There are two files.}}
  - {id: file, input: list the files, expected: {type: exact, value: other}}
  - {id: broken, input: list the files, expected: {type: exact, value: x}}
  - {id: outside, input: list the files, expected: {type: exact, value: x}}
  - {id: silent, input: list the files, expected: {type: exact, value: x}}
"#;

/// Two files are listed; `output` is what the tool printed.
fn trajectory(output: &str) -> Value {
    json!({
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "demo", "version": "1.0", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "list the files", "timestamp": "2026-01-31T12:00:00Z"},
            {"step_id": 2, "source": "agent", "message": "", "timestamp": "2026-01-31T12:00:01.5Z",
             "reasoning_content": "ls will do",
             "tool_calls": [{"tool_call_id": "c", "function_name": "Bash", "arguments": {"command": "ls"}}],
             "observation": {"results": [{"source_call_id": "c", "content": output, "extra": {"exit_code": 0}}]},
             "metrics": {"prompt_tokens": 1000, "completion_tokens": 20, "cost_usd": 0.01}},
            {"step_id": 3, "source": "agent", "message": "There are two files."},
        ],
    })
}

fn project() -> Project {
    let long: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
    let hostile = format!(
        "a\u{1b}[31m\u{202e}\n<script>alert(1)</script>\nsk-very-secret-key\n{}",
        long.join("\n")
    );
    let mut silent = trajectory("");
    silent["steps"].as_array_mut().unwrap().truncate(2);
    let mut broken = trajectory("");
    broken["steps"][1]["step_id"] = json!(7);
    let lines = [
        json!({"case": "inline", "trajectory": trajectory(&hostile)}),
        json!({"case": "file", "output": "my own", "trajectory": "runs/one.json"}),
        json!({"case": "broken", "output": "x", "trajectory": broken}),
        json!({"case": "outside", "output": "x", "trajectory": "../one.json"}),
        json!({"case": "silent", "trajectory": silent}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", CASES),
        ("outputs.jsonl", &lines.join("\n")),
        ("runs/one.json", &trajectory("a.txt\nb.txt").to_string()),
    ])
}

fn run(project: &Project, verb: &[&str]) -> String {
    let args = [verb, &["--suite", "suite.yaml", "--quiet"]].concat();
    let mut command = project.command(&args);
    command.env("DEMO_API_KEY", "sk-very-secret-key");
    let output = command.output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

fn sample(project: &Project, case: &str) -> Value {
    let report = project.report();
    let cases = report["evals"][0]["cases"].as_array().unwrap();
    let found = cases.iter().find(|one| one["id"] == case).unwrap();
    found["samples"][0].clone()
}

/// Files of trajectories of the latest run.
fn files(project: &Project) -> Vec<PathBuf> {
    let outputs = fs::read_dir(project.result(".journal.jsonl").parent().unwrap())
        .unwrap()
        .flatten();
    let folders = outputs
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|of| of == "outputs"));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".trajectory.json.gz"));
    files
}

#[test]
fn trajectories_of_recordings_are_stored_shown_and_graded_again() {
    let project = project();
    run(&project, &["run"]);
    let inline = sample(&project, "inline");
    assert_eq!(inline["outcome"], "passed", "{inline}");
    assert_eq!(inline["output"], "There are two files.");
    let record = &inline["trajectory"];
    assert_eq!(
        (&record["steps"], &record["tool_calls"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(record["timeline"][1]["at_ms"], 1500);
    assert_eq!(record["timeline"][1]["calls"][0]["tool"], "Bash");
    assert_eq!(sample(&project, "file")["output"], "my own");
    let reasons = ["broken", "outside", "silent"].map(|case| {
        sample(&project, case)["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    assert_snapshot!(reasons.join("\n"));
    assert_eq!(files(&project).len(), 2);

    let shown = project
        .call(&["show", "--suite", "suite.yaml", "inline"])
        .expect(0)
        .stdout;
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert_snapshot!(shown);
    let json = project
        .call(&[
            "show",
            "--suite",
            "suite.yaml",
            "inline",
            "--format",
            "json",
        ])
        .expect(0)
        .stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let content = &json[0]["samples"][0]["trajectory"]["content"];
    assert_eq!(content["schema_version"], "ATIF-v1.8");
    assert_eq!(
        content["steps"][1]["tool_calls"][0]["arguments"]["command"],
        "ls"
    );

    // A second run of the same outputs has the same digests, and files of its own.
    run(&project, &["regrade", "--run", "latest"]);
    let again = sample(&project, "inline");
    assert_eq!(again["outcome"], "passed", "{again}");
    assert_eq!(again["trajectory"], *record);
    assert_eq!(files(&project).len(), 4);

    for file in files(&project) {
        fs::write(&file, b"no gzip").unwrap();
    }
    run(&project, &["regrade", "--run", "latest"]);
    let damaged = sample(&project, "inline");
    assert_eq!(damaged["outcome"], "errored", "{damaged}");
    assert!(
        damaged["reason"]
            .as_str()
            .unwrap()
            .starts_with("the trajectory "),
        "{damaged}"
    );
    let shown = project
        .call(&["show", "--run", "latest", "--suite", "suite.yaml", "file"])
        .stdout;
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn secrets_are_in_no_file_of_a_run_with_trajectories() {
    let project = project();
    project.write(
        "suite.yaml",
        &SUITE.replace("outputs.jsonl}", "outputs.jsonl}\n  env: [DEMO_API_KEY]"),
    );
    run(&project, &["run"]);
    let journal = fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    assert!(!journal.contains("sk-very-secret-key"));
    let json = project
        .call(&[
            "show",
            "--suite",
            "suite.yaml",
            "inline",
            "--format",
            "json",
        ])
        .stdout;
    assert!(!json.contains("sk-very-secret-key"));
    let files = files(&project);
    assert!(!files.is_empty());
    for file in files {
        let mut text = String::new();
        let file = fs::File::open(file).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
        assert!(!text.contains("sk-very-secret-key"), "{text}");
    }
}

#[test]
fn exported_outputs_carry_their_trajectories() {
    let project = project();
    run(&project, &["run"]);
    let first = sample(&project, "inline")["trajectory"]["sha256"].clone();
    let args = [
        "export",
        "--suite",
        "suite.yaml",
        "--case",
        "inline",
        "--output",
        "again.jsonl",
    ];
    project.call(&args).expect(0);
    let lines = fs::read_to_string(project.path().join("again.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(line["trajectory"]["steps"].as_array().unwrap().len(), 3);
    run(
        &project,
        &["run", "--outputs", "again.jsonl", "--case", "inline"],
    );
    assert_eq!(sample(&project, "inline")["trajectory"]["sha256"], first);
}
