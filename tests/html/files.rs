//! Where HTML reports come from and where they lie, and what journals keep for them: the inputs of
//! cases and the runs before.

use std::fs;

use crate::support::{Call, Project};
use serde_json::{Value, json};

const SUITE: &str = r#"
eval_suite:
  name: Shown
  evals: [{$ref: cases.yaml}, {$ref: rows.yaml}]
  env: [SHOWN_SECRET]
  targets:
    good: {type: command, command: [sh, -c, "cat"]}
    bad: {type: command, command: [sh, -c, "sed s/one/two/"]}
  config: {parallel_execution: false}
  reporting: {format: [json, html]}
"#;

const CASES: &str = r#"
metadata: {id: written, name: Written}
test_cases:
  - {id: text, input: {type: prompt, content: one, context: {lang: en}}, expected: {type: exact, value: one}, tags: [short]}
  - {id: file, input: {type: file, content: docs/long.txt}, grader: {type: code, config: {method: contains, must_include: [word]}}}
  - {id: secret, input: "{{ env.SHOWN_SECRET }} said", expected: {type: exact, value: said}}
  - {id: talk, input: {type: messages, messages: [{role: user, content: hello}]}, grader: {type: code, config: {method: contains, must_include: [hello]}}}
"#;

const ROWS: &str = r#"
metadata: {id: rows, name: Rows}
dataset:
  path: rows.jsonl
  format: jsonl
  case:
    id: "{{ row.id }}"
    input: {type: prompt, content: "{{ row.q }}"}
    expected: {type: exact, value: "{{ row.q }}"}
"#;

fn project() -> Project {
    let rows = "{\"id\": \"r1\", \"q\": \"first row\"}\n{\"id\": \"r2\", \"q\": \"second row\"}\n";
    let long = "word ".repeat(5_000);
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", CASES),
        ("rows.yaml", ROWS),
        ("rows.jsonl", rows),
        ("docs/long.txt", &long),
    ])
}

fn run(project: &Project, more: &[&str]) -> Call {
    let mut args = vec!["run", "--suite", "suite.yaml", "--progress", "none"];
    args.extend(more);
    if !more.contains(&"--target") {
        args.extend(["--target", "good"]);
    }
    Call::of(
        project
            .command(&args)
            .env("SHOWN_SECRET", "hunter2hunter2")
            .output()
            .expect("it starts"),
    )
}

/// What a report says of the inputs, by case.
fn inputs(report: &Value) -> Value {
    let cases = report["evals"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|eval| eval["cases"].as_array().unwrap());
    let short = |case: &Value| {
        let mut input = case["input"].clone();
        if let Some(value) = input
            .get("value")
            .and_then(Value::as_str)
            .filter(|value| value.len() > 100)
        {
            input["value"] = json!(format!("{} bytes", value.len()));
        }
        (case["id"].as_str().unwrap().to_owned(), input)
    };
    Value::Object(cases.map(short).collect())
}

fn expected() -> Value {
    json!({
        "text": {"type": "prompt", "value": "one", "context": {"lang": "en"}},
        "file": {"type": "file", "value": "16384 bytes", "path": "docs/long.txt", "truncated": true},
        "secret": {"type": "prompt", "value": "[redacted] said"},
        "talk": {"type": "messages", "value": [{"role": "user", "content": "hello"}]},
        "r1": {"type": "prompt", "value": "first row"},
        "r2": {"type": "prompt", "value": "second row"},
    })
}

#[test]
fn reports_show_what_each_case_gave_the_target_also_of_those_that_did_not_run() {
    let project = project();
    // The third case fails; what follows is skipped.
    run(&project, &["--max-fail", "1"]).expect(1);
    let report = project.report();
    assert_eq!(inputs(&report), expected());
    assert_eq!(report["evals"][0]["cases"][0]["tags"], json!(["short"]));
    let written: Value =
        serde_json::from_str(&fs::read_to_string(project.result(".json")).unwrap()).unwrap();
    assert_eq!(inputs(&written["eval_report"]), expected());
    assert!(
        !fs::read_to_string(project.result(".journal.jsonl"))
            .unwrap()
            .contains("hunter2")
    );
    // What went on, was topped up or graded again says the same.
    for more in [
        &["--resume", "latest"][..],
        &["--resume", "latest", "--samples", "2"],
    ] {
        let args = [&["run", "--progress", "none"], more].concat();
        let call = project
            .command(&args)
            .env("SHOWN_SECRET", "hunter2hunter2")
            .output()
            .expect("it starts");
        Call::of(call).expect(1);
        assert_eq!(inputs(&project.report()), expected());
    }
    let args = [
        "regrade",
        "--run",
        "latest",
        "--suite",
        "suite.yaml",
        "--target",
        "good",
        "--progress",
        "none",
    ];
    let call = project
        .command(&args)
        .env("SHOWN_SECRET", "hunter2hunter2")
        .output()
        .expect("it starts");
    Call::of(call);
    let report = project.report();
    assert!(report["metadata"]["regrade_of"].is_string());
    assert_eq!(inputs(&report), expected());
}

#[test]
fn shards_that_are_joined_show_all_inputs() {
    let project = project();
    let mut words = vec![
        "report".to_owned(),
        "--format".to_owned(),
        "json".to_owned(),
    ];
    for shard in ["1/2", "2/2"] {
        run(&project, &["--shard", shard]);
        words.extend([
            "--run".to_owned(),
            project.result(".journal.jsonl").display().to_string(),
        ]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let joined: Value = serde_json::from_str(&project.call(&words).stdout).unwrap();
    assert_eq!(inputs(&joined["eval_report"]), expected());
}

#[test]
fn without_details_no_input_is_kept() {
    let project = project();
    project.write(
        "suite.yaml",
        &SUITE.replace("[json, html]", "[json, html], include_details: false"),
    );
    run(&project, &[]).expect(1);
    assert!(
        !fs::read_to_string(project.result(".journal.jsonl"))
            .unwrap()
            .contains("\"input\":{")
    );
    let report = project.report();
    assert!(
        inputs(&report)
            .as_object()
            .unwrap()
            .values()
            .all(Value::is_null)
    );
    // Asked for later, they are told.
    project.write("suite.yaml", SUITE);
    let args = ["run", "--resume", "latest", "--progress", "none"];
    Call::of(
        project
            .command(&args)
            .env("SHOWN_SECRET", "hunter2hunter2")
            .output()
            .unwrap(),
    );
    assert_eq!(inputs(&project.report()), expected());
}

#[test]
fn a_run_writes_its_page_and_the_journal_gives_the_same_bytes() {
    let project = project();
    run(&project, &[]).expect(1);
    let call = run(&project, &[]).expect(1);
    let page = project.result(".html");
    let shown = page
        .strip_prefix(project.path())
        .unwrap()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    assert!(call.stdout.contains(&shown), "{}", call.stdout);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("FAIL: Shown"));
    assert!(!page.contains("hunter2"));
    // The runs before it are in its journal, so that runs after it change nothing.
    let history = &project.report()["history"];
    assert_eq!(history.as_array().map(Vec::len), Some(1), "{history}");
    assert_eq!(
        (&history[0]["passed"], &history[0]["graded"]),
        (&json!(5), &json!(6))
    );
    let journal = project.result(".journal.jsonl").display().to_string();
    run(&project, &["--format", "terminal"]).expect(1);
    assert!(
        project.report().get("history").is_none(),
        "no page was asked for"
    );
    let again = project
        .call(&["report", "--run", &journal, "--format", "html"])
        .expect(1);
    assert_eq!(again.stdout, page);
    project
        .call(&[
            "report", "--run", &journal, "--format", "html", "--output", "p.html",
        ])
        .expect(1);
    assert_eq!(
        fs::read_to_string(project.path().join("p.html")).unwrap(),
        page
    );
}

#[test]
fn comparisons_and_several_targets_have_pages_too() {
    let project = project();
    run(&project, &["--target", "good", "--target", "bad"]).expect(1);
    assert!(
        fs::read_to_string(project.result(".side-by-side.html"))
            .unwrap()
            .starts_with("<!doctype html>")
    );
    let ids: Vec<String> = {
        let report = fs::read_to_string(project.result("side-by-side.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let runs = report["side_by_side"]["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = project.call(&["compare", &ids[0], &ids[1], "--format", "html"]);
    assert!(
        page.stdout.starts_with("<!doctype html>"),
        "{}{}",
        page.stdout,
        page.stderr
    );
    project.call(&[
        "compare", &ids[0], &ids[1], "--format", "html", "--output", "c.html",
    ]);
    // A file is near the pages of its runs, and links to them.
    let linked = fs::read_to_string(project.path().join("c.html")).unwrap();
    let (before, rest) = linked.split_once("\"pages\":[").expect("addresses");
    let (pages, after) = rest.split_once(']').expect("two of them");
    for page in pages.split(',') {
        let page = page.trim_matches('"');
        assert!(project.path().join(page).is_file(), "{page}");
    }
    assert_eq!(format!("{before}\"pages\":[null,null]{after}"), page.stdout);
    let page = project.call(&[
        "report", "--run", &ids[0], "--run", &ids[1], "--format", "html",
    ]);
    assert!(
        page.stdout.starts_with("<!doctype html>"),
        "{}{}",
        page.stdout,
        page.stderr
    );
    let call = project
        .call(&[
            "report", "--run", &ids[0], "--run", &ids[1], "--format", "junit",
        ])
        .expect(2);
    assert!(
        call.stderr.contains("shows a single run"),
        "{}",
        call.stderr
    );
    // Without being asked for there is none.
    run(
        &project,
        &["--target", "good", "--target", "bad", "--format", "json"],
    )
    .expect(1);
    let pages = fs::read_dir(project.path().join("results/latest")).unwrap();
    let pages = pages.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .to_string_lossy()
            .ends_with("side-by-side.html")
    });
    assert_eq!(pages.count(), 1);
}
