//! `runs`: the runs of a folder.

use crate::support::Project;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Runs
  evals: [{$ref: one.yaml}]
  targets:
    good: {type: recorded, path: good.jsonl}
    bad: {type: recorded, path: bad.jsonl}
"#;

const ONE: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-one, name: One}
test_cases:
  - {id: a, input: a, expected: {type: exact, value: a}}
  - {id: b, input: b, expected: {type: exact, value: b}}
"#;

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("one.yaml", ONE),
        (
            "good.jsonl",
            "{\"case\": \"a\", \"output\": \"a\"}\n{\"case\": \"b\", \"output\": \"b\"}\n",
        ),
        (
            "bad.jsonl",
            "{\"case\": \"a\", \"output\": \"x\"}\n{\"case\": \"b\", \"output\": \"b\"}\n",
        ),
    ])
}

fn call(project: &Project, args: &[&str]) -> crate::support::Call {
    project.call(&[args, &["--suite", "suite.yaml"]].concat())
}

fn run(project: &Project, args: &[&str]) -> String {
    call(project, &[&["run"], args].concat());
    listed(project)[0]["run_id"].as_str().unwrap().to_owned()
}

fn listed(project: &Project) -> Vec<Value> {
    let call = call(project, &["runs", "--all", "--format", "json"]).expect(0);
    assert_eq!(call.stderr, "");
    serde_json::from_str(&call.stdout).unwrap()
}

#[test]
fn runs_list_gates_and_sizes_newest_first() {
    let project = project();
    assert!(listed(&project).is_empty());
    run(&project, &["--target", "good"]);
    let bad = run(&project, &["--target", "bad", "--case", "a"]);
    let all = listed(&project);
    let of = |key: &str| -> Vec<String> { all.iter().map(|run| run[key].to_string()).collect() };
    assert_eq!(of("gate"), [r#""fail""#, r#""pass""#]);
    assert_eq!(all[0]["cases"]["failed"], 1);
    assert_eq!(all[1]["identity"]["environment"]["target"], "good");
    let folder = project
        .result(".journal.jsonl")
        .parent()
        .unwrap()
        .to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    let told: u64 = all.iter().map(|run| run["bytes"].as_u64().unwrap()).sum();
    assert_eq!(told, bytes);
    let page = call(&project, &["runs", "--last", "1"]).expect(0).stdout;
    assert!(page.contains(&bad) && page.lines().count() == 3, "{page}");
    assert!(
        page.contains("✗ FAIL") && page.contains("1 older run"),
        "{page}"
    );
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
}

#[test]
fn a_gate_that_a_comparison_failed_is_listed_as_failed() {
    let project = project();
    let good = run(&project, &["--target", "good"]);
    std::fs::copy(
        project.path().join("bad.jsonl"),
        project.path().join("good.jsonl"),
    )
    .unwrap();
    let args = [
        "--target",
        "good",
        "--compare-to",
        &good,
        "--fail-on",
        "any",
        "--threshold",
        "pass_rate=0",
    ];
    run(&project, &args);
    assert_eq!(listed(&project)[0]["gate"], "fail");
    let history = call(&project, &["history", "--format", "json"])
        .expect(0)
        .stdout;
    assert!(history.contains(r#""fail""#), "{history}");
}
