//! `history` by the program: what runs left behind, shown and counted.

use crate::support::Project;
use serde_json::Value;

const SUITE: &str = "eval_suite:\n  name: Desk\n  target: {type: command, command: [\"sh\", \"answer.sh\"]}\n  evals:\n    - $ref: eval.yaml\n";
const EVAL: &str = "\
- id: reg-greeting
  name: Greets
  input: {type: prompt, content: hello}
  expected: {type: exact, value: hello}
- id: cap-echo
  name: Echoes
  input: {type: prompt, content: one}
  expected: {type: exact, value: one}
";

/// A project whose target answers what it is asked, or nothing but `wrong`.
fn project() -> Project {
    Project::with(&[
        ("eval-suite.yaml", SUITE),
        ("eval.yaml", EVAL),
        ("answer.sh", "cat\n"),
    ])
}

fn run(project: &Project, code: i32, more: &[&str]) -> String {
    let mut args = vec!["run", "--progress", "none", "-q"];
    args.extend(more);
    project.call(&args).expect(code);
    project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn history(project: &Project, more: &[&str]) -> Value {
    let mut args = vec!["history", "--format", "json"];
    args.extend(more);
    let call = project.call(&args).expect(0);
    let mut value: Value = serde_json::from_str(&call.stdout).unwrap();
    value["history"].take()
}

fn outcomes(history: &Value, eval: usize) -> Vec<String> {
    let outcomes = history["groups"][0]["evals"][eval]["outcomes"]
        .as_array()
        .unwrap();
    outcomes
        .iter()
        .map(|outcome| outcome["outcome"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_history_of_a_suite_follows_its_runs() {
    let project = project();
    let nothing = project.call(&["history"]).expect(0);
    assert!(
        nothing.stdout.starts_with("no run of suite Desk in "),
        "{}",
        nothing.stdout
    );

    let first = run(&project, 0, &[]);
    project.write("answer.sh", "echo wrong\n");
    run(&project, 1, &[]);
    // Only one eval: the other keeps what it had.
    project.write("answer.sh", "cat\n");
    run(&project, 0, &["--eval", "cap-echo"]);
    let told = history(&project, &[]);
    let group = &told["groups"][0];
    assert_eq!(
        (&group["suite_name"], &group["target_type"]),
        (&"Desk".into(), &"command".into())
    );
    assert_eq!(outcomes(&told, 0), ["passed", "failed", "passed"]);
    assert_eq!(outcomes(&told, 1), ["passed", "failed"]);
    assert_eq!(group["runs"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&group["runs"][2]["whole"], &group["runs"][1]["gate"]),
        (&false.into(), &"fail".into())
    );
    assert_eq!(group["evals"][1]["failure_count"].to_string(), "1");
    assert_eq!(group["evals"][1]["last_passed"]["run_id"], first.as_str());

    // A journal that grows is read anew; one that is cut off is named and counts as far as it goes.
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let call = project.call(&["history", "--eval", "cap-echo"]).expect(0);
    assert!(
        call.stderr
            .contains("did not finish: it was interrupted or is still running"),
        "{}",
        call.stderr
    );
    assert!(
        call.stdout
            .contains("3 runs: 2 passed, 1 failed, pass rate 66.7 %"),
        "{}",
        call.stdout
    );
    std::fs::write(&journal, &text).unwrap();
    assert!(project.call(&["history"]).expect(0).stderr.is_empty());
}

#[test]
fn what_is_asked_for_and_what_is_left_out() {
    let project = project();
    run(&project, 0, &[]);
    run(&project, 0, &[]);
    let other = SUITE.replace("Desk", "Other");
    project.write("other.yaml", &other);
    run(&project, 0, &["--suite", "other.yaml"]);

    assert_eq!(
        history(&project, &[])["left_out"]["other_suites"]["Other"].to_string(),
        "1"
    );
    assert!(
        history(&project, &[])["warnings"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // A suite in another file that bears the same name.
    project.write(
        "twin/eval-suite.yaml",
        &SUITE.replace("eval.yaml", "../eval.yaml"),
    );
    project.write("twin/answer.sh", "cat\n");
    run(&project, 0, &["--suite", "twin/eval-suite.yaml"]);
    let warning = history(&project, &[])["warnings"][0].to_string();
    assert!(
        warning
            .contains("2 files and are counted together (eval-suite.yaml, twin/eval-suite.yaml)"),
        "{warning}"
    );
    std::fs::remove_file(project.result(".journal.jsonl")).unwrap();
    let all = history(&project, &["--all-suites"]);
    assert_eq!(all["groups"].as_array().unwrap().len(), 2);
    let last = history(&project, &["--last", "1"]);
    assert_eq!(last["groups"][0]["runs"].as_array().unwrap().len(), 1);
    assert_eq!(last["left_out"]["earlier"].to_string(), "1");
    let none = history(&project, &["--since", "2100-01-01"]);
    assert!(none["groups"].as_array().unwrap().is_empty());

    let call = project
        .call(&["history", "--eval", "reg-*", "--eval", "no-such-*"])
        .expect(2);
    assert!(
        call.stderr.contains("no eval matches `--eval no-such-*`"),
        "{}",
        call.stderr
    );
    let call = project.call(&["history", "--since", "yesterday"]).expect(2);
    assert!(
        call.stderr.contains("write a date such as 2026-03-01"),
        "{}",
        call.stderr
    );
    let call = project.call(&["history", "--target", "staging"]).expect(0);
    assert!(
        call.stdout
            .contains("not shown: 2 runs against other targets (command)"),
        "{}",
        call.stdout
    );
}

#[test]
fn a_regrade_takes_the_place_of_its_run_and_a_resumed_run_counts_once() {
    let project = project();
    project.write("answer.sh", "echo HELLO\n");
    let first = run(&project, 1, &[]);
    let eval = EVAL.replace("value: hello", "value: HELLO");
    project.write("eval.yaml", &eval);
    project
        .call(&["regrade", "-q", "--progress", "none"])
        .expect(1);
    let told = history(&project, &[]);
    let runs = told["groups"][0]["runs"].as_array().unwrap();
    assert_eq!(
        (runs.len(), runs[0]["run_id"].as_str()),
        (1, Some(first.as_str()))
    );
    assert_eq!(runs[0]["regraded_by"].as_array().unwrap().len(), 1);
    assert_eq!(
        (outcomes(&told, 0), outcomes(&told, 1)),
        (vec!["failed".to_owned()], vec!["passed".to_owned()])
    );
}
