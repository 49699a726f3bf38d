//! Grades by people, from the pending run to the grade: `review`, `regrade --people`, `report`.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{Call, Project};
use serde_json::Value;

fn suite(grader: &str, targets: &str) -> String {
    format!(
        r#"# yaml-language-server: $schema=https://example.com/suite.schema.json
eval_suite:
  name: Poems
  {targets}
  evals:
    - metadata: {{id: poem, name: Poem}}
      graders: {grader}
      test_cases:
        - {{id: sea, input: A poem about the sea}}
        - {{id: sun, input: A poem about the sun}}
        - {{id: fog, input: A poem about fog}}
"#
    )
}

const RECORDED: &str = "target: {type: recorded, path: out.jsonl}";

const OUTPUTS: &str = r#"{"case": "sea", "output": "waves of salt"}
{"case": "sun", "output": "light on stone"}
{"case": "fog", "output": "grey wool"}
"#;

fn project(grader: &str) -> Project {
    let suite = suite(grader, RECORDED);
    Project::with(&[("suite.yaml", &suite), ("out.jsonl", OUTPUTS)])
}

fn spawn(project: &Project, args: &[&str]) -> Child {
    let mut command = project.command(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Reviews in the terminal with these lines typed.
fn review(project: &Project, args: &[&str], typed: &str) -> Call {
    let args: Vec<&str> = ["review", "--cli"]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    let mut child = spawn(project, &args);
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that ended early has read enough.
    let _ = stdin.write_all(typed.as_bytes());
    drop(stdin);
    Call::of(child.wait_with_output().expect("output"))
}

fn run(project: &Project, code: i32) -> Call {
    project.call(&["run", "--suite", "suite.yaml"]).expect(code)
}

fn cases(report: &Value) -> Vec<String> {
    let cases = report["evals"][0]["cases"]
        .as_array()
        .expect("cases")
        .iter();
    cases
        .map(|case| format!("{} {} {}", case["id"], case["outcome"], case["score"]))
        .collect()
}

#[test]
fn pending_cases_become_grades_by_reviews() {
    let project = project("[{type: human, config: {rubric: Is it a poem?}}]");
    let pending = run(&project, 4);
    assert!(
        pending
            .stdout
            .contains("3 reviews missing: `eval-harness review eval-"),
        "{}",
        pending.stdout
    );
    let shown = review(&project, &["--as", "Ana Núñez"], "p\nf\nc too short\np\n").expect(0);
    assert!(shown.stdout.contains("Is it a poem?") && shown.stdout.contains("light on stone"));
    assert!(
        shown.stderr.contains("3 of 3 items rated"),
        "{}",
        shown.stderr
    );
    let file = project
        .path()
        .join("reviews/Poems/Ana%20N%C3%BA%C3%B1ez.jsonl");
    assert_eq!(
        fs::read_to_string(&file).expect("reviews").lines().count(),
        3
    );
    // The run itself stays what it was.
    let before = project.call(&["report", "--run", "latest"]).expect(4);
    assert!(
        before
            .stderr
            .contains("3 grades by people have changed since"),
        "{}",
        before.stderr
    );
    project.call(&["regrade", "--people"]).expect(1);
    let report = project.report();
    let mut outcomes: Vec<String> = cases(&report);
    outcomes
        .iter_mut()
        .for_each(|case| *case = case.split_once(' ').expect("an outcome").1.to_owned());
    outcomes.sort();
    assert_eq!(
        outcomes,
        ["\"failed\" 0.0", "\"passed\" 1.0", "\"passed\" 1.0"]
    );
    assert_eq!(report["people"]["reviewers"][0]["name"], "Ana Núñez");
    assert!(
        project
            .call(&["report", "--run", "latest"])
            .stdout
            .contains("1 reviewer")
    );
    // A later run of the same outputs has the grades at once, and nothing is left to review.
    run(&project, 1);
    let nothing = review(&project, &["--as", "ben"], "").expect(0);
    assert!(
        nothing.stderr.contains("nothing to review for ben"),
        "{}",
        nothing.stderr
    );
    // A changed rubric voids them.
    let other = suite(
        "[{type: human, config: {rubric: Is it a good poem?}}]",
        RECORDED,
    );
    project.write("suite.yaml", &other);
    run(&project, 4);
}

#[test]
fn disagreement_goes_to_a_third_person() {
    let project = project(
        "[{type: human, config: {evaluators: {min_required: 2, agreement_threshold: 0.8}}}]",
    );
    run(&project, 4);
    review(&project, &["--as", "ana"], "p\np\np\n").expect(0);
    review(&project, &["--as", "ben"], "p\nc not a poem\nf\np\n").expect(0);
    project.call(&["regrade", "--people"]).expect(4);
    let pending = project.call(&["report", "--run", "latest"]).expect(4);
    assert!(
        pending.stdout.contains("--queue disagreements"),
        "{}",
        pending.stdout
    );
    let third = review(
        &project,
        &["--as", "cem", "--queue", "disagreements"],
        "p\n",
    )
    .expect(0);
    assert!(
        third.stdout.contains("not a poem") && third.stdout.contains("1 of 1"),
        "{}",
        third.stdout
    );
    project.call(&["regrade", "--people"]).expect(0);
    assert_eq!(project.report()["people"]["adjudicated"], 1);
}

#[test]
fn grades_of_code_stay_when_only_people_are_regraded() {
    let project = project(
        "[{type: code, config: {method: command, command: [sh, count.sh]}}, {type: human}]",
    );
    // Counts how often it runs.
    project.write("count.sh", "echo x >> ran\n");
    run(&project, 4);
    let ran = || {
        fs::read_to_string(project.path().join("ran"))
            .expect("runs")
            .lines()
            .count()
    };
    assert_eq!(ran(), 3);
    review(&project, &["--as", "ana"], "p\np\np\n").expect(0);
    project.call(&["regrade", "--people"]).expect(0);
    assert_eq!(ran(), 3);
    project.call(&["regrade"]).expect(0);
    assert_eq!(ran(), 6);
}

#[test]
fn outputs_of_targets_are_ranked_and_compared() {
    let targets = "targets: {one: {type: recorded, path: out.jsonl}, two: {type: recorded, path: more.jsonl}}";
    let grader = "[{type: human, config: {pass_threshold: 0.5, rating_scale: {type: ranking}}}]";
    let project = Project::with(&[
        ("suite.yaml", &suite(grader, targets)),
        ("out.jsonl", OUTPUTS),
        (
            "more.jsonl",
            &OUTPUTS.replace("\"output\": \"", "\"output\": \"more "),
        ),
    ]);
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--target",
            "one",
            "--target",
            "two",
        ])
        .expect(4);
    // Whoever is on the left wins, so the order decides everything.
    review(&project, &["--as", "ana", "--blind"], "A B\nB\nA B\nA B\n").expect(0);
    project.call(&["regrade", "--people"]);
    let ranking = &project.report()["people"]["rankings"][0];
    assert_eq!(
        (&ranking["rankings"], &ranking["first"]["value"]),
        (&3.into(), &1.0.into())
    );
    assert_eq!(ranking["targets"][0]["target"], "one");
}

#[test]
fn ranking_alone_needs_a_threshold() {
    let project = project("[{type: human, config: {rating_scale: {type: ranking}}}]");
    let refused = project
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(2);
    assert!(
        refused
            .stderr
            .contains("a ranking by people decides only with a `pass_threshold`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn private_cases_are_not_reviewed() {
    let row = "{\"id\": \"a\", \"ask\": \"qzx\"}\n";
    let suite = r#"eval_suite:
  name: Held
  target: {type: echo}
  evals:
    - metadata: {id: held, name: Held}
      graders: [{type: human}]
      dataset: {path: rows.jsonl, format: jsonl, private: true, case: {id: "{{ row.id }}", input: "{{ row.ask }}"}}
"#;
    let project = Project::with(&[("suite.yaml", suite), ("rows.jsonl", row)]);
    run(&project, 4);
    let refused = review(&project, &["--as", "ana"], "p\n").expect(2);
    assert!(
        refused.stderr.contains("private dataset"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stdout.contains("qzx") && !refused.stderr.contains("qzx"));
}

#[test]
fn broken_reviews_are_named_and_nothing_is_lost() {
    let project = project("[{type: human}]");
    run(&project, 4);
    review(&project, &["--as", "ana"], "p\n").expect(0);
    let file = project.path().join("reviews/Poems/ana.jsonl");
    let whole = fs::read_to_string(&file).expect("reviews");
    fs::write(&file, format!("{whole}<<<<<<< HEAD\n{}", &whole[..50])).expect("a file");
    let warned = review(&project, &["--as", "ana"], "p\np\n").expect(0);
    assert!(
        warned.stderr.contains("ana.jsonl:2: not a rating"),
        "{}",
        warned.stderr
    );
    assert!(
        warned
            .stderr
            .contains("ana.jsonl:3: the line is incomplete"),
        "{}",
        warned.stderr
    );
    let left = fs::read_to_string(&file).expect("reviews");
    assert!(
        left.starts_with(&whole) && left.lines().count() == 4,
        "{left}"
    );
    project.call(&["regrade", "--people"]).expect(0);
    // A folder in the place of the reviews: an error, and no pass.
    fs::remove_dir_all(project.path().join("reviews")).expect("reviews");
    fs::create_dir_all(project.path().join("reviews/Poems/ana.jsonl")).expect("a folder");
    let errored = project.call(&["regrade"]).expect(3);
    assert!(
        errored.stdout.contains("cannot read the reviews"),
        "{}",
        errored.stdout
    );
}

#[test]
fn killed_session_keeps_every_acknowledged_rating() {
    let mut suite = String::from(
        "eval_suite:\n  name: Many\n  target: {type: echo}\n  evals:\n    - metadata: {id: many, name: Many}\n      graders: [{type: human}]\n      test_cases:\n",
    );
    for case in 0..400 {
        suite.push_str(&format!(
            "        - {{id: c{case}, input: question {case}}}\n"
        ));
    }
    let project = Project::with(&[("suite.yaml", &suite)]);
    run(&project, 4);
    let file = project.path().join("reviews/Many/ana.jsonl");
    let mut recorded = 0;
    for kill in 0..12_u64 {
        let mut child = spawn(&project, &["review", "--cli", "--as", "ana"]);
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = child.stdout.take().expect("a pipe");
        let reader = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stdout.read_to_end(&mut said);
            String::from_utf8_lossy(&said).matches(" done): ").count()
        });
        let _ = stdin.write_all("p\n".repeat(25).as_bytes());
        thread::sleep(Duration::from_millis(20 + 17 * kill));
        child.kill().expect("a child");
        let _ = child.wait();
        // An item is only shown when the one before it is recorded.
        let acknowledged = reader.join().expect("a count").saturating_sub(1);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let whole = text
            .lines()
            .filter(|line| serde_json::from_str::<Value>(line).is_ok())
            .count();
        assert!(
            whole >= recorded + acknowledged,
            "{whole} {recorded} {acknowledged}"
        );
        recorded = whole;
    }
    assert!(recorded > 0);
}
