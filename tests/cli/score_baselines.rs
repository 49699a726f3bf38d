//! Score baselines by the program: `run --baseline` beside accepted scores.

use std::process::Command;

use crate::support::{Call, Project};
use eval_harness::internals::{ScoreBaselineResult, ScoreStore, ScoresOf, find_run, scores};
use serde_json::Value;

const SUITE: &str = "eval_suite:\n  name: Desk\n  version: \"1.0\"\n  target: {type: command, command: [\"sh\", \"answer.sh\"]}\n  evals:\n    - $ref: eval.yaml\n";
const EVAL: &str = "\
- id: one
  name: One
  input: {type: prompt, content: one}
  expected: {type: exact, value: one}
- id: two
  name: Two
  input: {type: prompt, content: two}
  expected: {type: exact, value: two}
";

fn project() -> Project {
    Project::with(&[
        ("eval-suite.yaml", SUITE),
        ("eval.yaml", EVAL),
        ("answer.sh", "cat\n"),
    ])
}

/// What a capture and an accept of the latest run leave.
fn accept(project: &Project) {
    let run = find_run(&project.path().join("results"), "latest").unwrap();
    let ScoreBaselineResult::Taken(file) = scores(&run.journal()).unwrap() else {
        panic!("refused")
    };
    let store = ScoreStore::new(&project.path().join("baselines"));
    store.capture(*file).unwrap();
    store
        .accept(
            ScoresOf {
                suite: "Desk",
                target: "command",
            },
            false,
        )
        .unwrap();
}

const RUN: [&str; 4] = ["run", "--progress", "none", "-q"];

#[test]
fn a_run_beside_accepted_scores_tells_what_broke_and_the_gate_does_not_care() {
    let project = project();
    let missing = project.call(&["run", "--baseline"]).expect(2);
    assert!(
        missing
            .stderr
            .contains("there is no baselines/scores/Desk.command.json"),
        "{}",
        missing.stderr
    );
    assert!(
        missing.stderr.contains("baseline capture --scores"),
        "{}",
        missing.stderr
    );
    assert!(!project.path().join("results").exists(), "nothing ran");

    project.call(&RUN).expect(0);
    accept(&project);
    let same = project
        .call(&["run", "--progress", "none", "--baseline"])
        .expect(0);
    assert!(
        same.stdout.contains("2 cases compared: 2 still passing"),
        "{}",
        same.stdout
    );

    project.write("answer.sh", "sed s/two/three/\n");
    project.write("eval.yaml", &format!("{EVAL}- id: three\n  name: Three\n  input: {{type: prompt, content: x}}\n  expected: {{type: exact, value: x}}\n"));
    let worse = project
        .call(&[
            "run",
            "--progress",
            "none",
            "--baseline",
            "--format",
            "markdown,json",
        ])
        .expect(1);
    let page = &worse.stdout;
    for words in [
        "Compared with baselines/scores/Desk.command.json",
        "NO EVIDENCE OF A DIFFERENCE",
        "2 cases compared: 1 broken, 1 still passing",
        "not compared: 1 new",
        "✗ two                              1/1 → 0/1",
        "It informs: the gate does not look",
    ] {
        assert!(page.contains(words), "{words}:\n{page}");
    }
    let report = project.report();
    let told = &report["comparison"];
    assert_eq!(
        (&told["verdict"], &report["fail_on"]),
        (&"none".into(), &Value::Null)
    );
    assert_eq!(told["cases"]["broken"]["cases"][0]["case_id"], "two");
    let rate = told["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["name"] == "pass_at_1")
        .unwrap();
    assert_eq!(
        (rate["reference"].to_string(), rate["candidate"].to_string()),
        ("1.0".into(), "0.5".into())
    );
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    assert!(
        markdown.contains("## Compared with baselines/scores/Desk.command.json"),
        "{markdown}"
    );

    // What was compared is in the journal: whatever is accepted later, the report stays byte for
    // byte.
    let first = std::fs::read_to_string(project.result(".json")).unwrap();
    std::fs::remove_dir_all(project.path().join("baselines")).unwrap();
    let again = project.call(&["report", "--format", "json"]).expect(1);
    assert_eq!(again.stdout, first);
    // And so a resumed run keeps it.
    let resumed = project
        .call(&[
            "run",
            "--resume",
            "latest",
            "--samples",
            "2",
            "--progress",
            "none",
            "-q",
        ])
        .expect(1);
    assert!(resumed.stderr.is_empty(), "{}", resumed.stderr);
    assert_eq!(
        project.report()["comparison"]["reference"],
        told["reference"]
    );
    assert_eq!(
        project.report()["comparison"]["cases"]["other_samples"].to_string(),
        "2"
    );
}

#[test]
fn a_case_that_was_written_anew_is_changed_and_not_broken() {
    let project = project();
    project.call(&RUN).expect(0);
    accept(&project);
    project.write("eval.yaml", &EVAL.replace("value: one", "value: uno"));
    let run = project
        .call(&["run", "--progress", "none", "--baseline"])
        .expect(1);
    for words in [
        "1 case compared: 1 still passing",
        "1 changed (other data or grading)",
    ] {
        assert!(run.stdout.contains(words), "{words}:\n{}", run.stdout);
    }
    let report = project.report();
    let told = &report["comparison"]["cases"];
    assert_eq!(told["changed"]["cases"][0]["case_id"], "one");
    assert_eq!(told["broken"]["count"].to_string(), "0");
    // So does a run that is compared only when it goes on.
    project.call(&RUN).expect(1);
    project
        .call(&[
            "run",
            "--resume",
            "latest",
            "--baseline",
            "--progress",
            "none",
            "-q",
        ])
        .expect(1);
    assert_eq!(
        project.report()["comparison"]["cases"]["changed"]["cases"][0]["case_id"],
        "one"
    );
    // The pending scores are told by the same rule.
    let run = find_run(&project.path().join("results"), "latest").unwrap();
    let ScoreBaselineResult::Taken(file) = scores(&run.journal()).unwrap() else {
        panic!("refused")
    };
    let store = ScoreStore::new(&project.path().join("baselines"));
    store.capture(*file).unwrap();
    let mut diff = project.command(&["baseline", "diff", "--scores"]);
    let diff = Call::of(diff.env_remove("CI").output().unwrap())
        .expect(0)
        .stdout;
    assert!(
        diff.contains("changed   one") && !diff.contains("broken"),
        "{diff}"
    );
    // Scores of another target, in a file of one's own, say so.
    let text =
        std::fs::read_to_string(project.path().join("baselines/scores/Desk.command.json")).unwrap();
    project.write(
        "other.json",
        &text.replace("\"name\": \"command\"", "\"name\": \"staging\""),
    );
    let run = project
        .call(&["run", "--progress", "none", "--baseline=other.json"])
        .expect(1);
    let words = "the reference asked target staging, and the candidate command";
    assert!(run.stdout.contains(words), "{}", run.stdout);
}

#[test]
fn scores_in_a_file_of_ones_own_and_files_that_are_wrong() {
    let project = project();
    project.call(&RUN).expect(0);
    accept(&project);
    let file = project.path().join("baselines/scores/Desk.command.json");
    let text = std::fs::read_to_string(&file).unwrap();
    project.write("mine.json", &text);
    project
        .call(&["run", "--progress", "none", "-q", "--baseline=mine.json"])
        .expect(0);
    for (wrong, words) in [
        (
            text.replacen("  \"ks\"", "<<<<<<< HEAD\n  \"ks\"", 1),
            "a merge that is not finished left its marks here",
        ),
        (
            text.replace("\"format_version\": 1", "\"format_version\": 2"),
            "was written by a newer eval-harness",
        ),
        (
            text.replace("\"suite\": \"Desk\"", "\"suite\": \"Shop\""),
            "holds the scores of suite `Shop`",
        ),
        (
            text.replace("\"n\": 1", "\"n\": \"1\""),
            "Desk.command.json:",
        ),
    ] {
        std::fs::write(&file, wrong).unwrap();
        let call = project
            .call(&["run", "--baseline", "--progress", "none"])
            .expect(2);
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
    }
    // `validate` judges it, too, and the published schema takes what is written.
    std::fs::write(&file, &text).unwrap();
    project
        .call(&["validate", "baselines/scores/Desk.command.json"])
        .expect(0);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/scores.schema.json"
    ))
    .unwrap();
    let validator =
        jsonschema::validator_for(&serde_json::from_str::<Value>(&schema).unwrap()).unwrap();
    assert!(validator.is_valid(&serde_json::from_str(&text).unwrap()));
}

#[test]
fn only_a_whole_run_with_every_sample_graded_makes_a_baseline() {
    let project = project();
    let refused = |args: &[&str], code: i32| {
        project.call(&[&RUN[..], args].concat()).expect(code);
        let run = find_run(&project.path().join("results"), "latest").unwrap();
        match scores(&run.journal()).unwrap() {
            ScoreBaselineResult::Refused(reasons) => reasons.join("; "),
            ScoreBaselineResult::Taken(_) => panic!("taken"),
        }
    };
    let mut said = vec![
        refused(&["--eval", "one"], 0),
        refused(&["--shard", "1/2"], 0),
    ];
    project.write("answer.sh", "exit 3\n");
    said.push(refused(&[], 3));
    insta::assert_snapshot!(said.join("\n"), @r"
    it had only a part of the suite (eval one)
    it is shard 1 of 2
    2 samples errored
    ");
}

#[test]
fn scores_at_a_revision() {
    let project = project();
    std::fs::remove_dir(project.path().join(".git")).unwrap();
    let git = |args: &[&str]| {
        let identity = [
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        let output = Command::new("git")
            .arg("-C")
            .arg(project.path())
            .args(identity)
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    git(&["init", "-q"]);
    project.write(".gitignore", "results/\n");
    project.call(&RUN).expect(0);
    accept(&project);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "scores"]);
    let store = ScoreStore::new(&project.path().join("baselines"));
    let of = ScoresOf {
        suite: "Desk",
        target: "command",
    };
    let before = store.at(of, "HEAD").unwrap().unwrap();
    project.call(&RUN).expect(0);
    accept(&project);
    let after = store
        .read(of, eval_harness::internals::BaselineStage::Accepted)
        .unwrap()
        .unwrap();
    assert_ne!(before.run_id, after.run_id);
    assert_eq!(store.at(of, "HEAD").unwrap().unwrap(), before);
    // The program: those of the revision, not those on the disk.
    project.write("answer.sh", "sed s/two/three/\n");
    project
        .call(&[
            "run",
            "--progress",
            "none",
            "-q",
            "--baseline",
            "--against",
            "HEAD",
        ])
        .expect(1);
    let told = &project.report()["comparison"];
    let reference = &told["reference"];
    assert_eq!(reference["source"]["score_baseline"]["rev"], "HEAD");
    assert_eq!(reference["run_id"], before.run_id.as_str());
    assert_eq!(told["cases"]["broken"]["cases"][0]["case_id"], "two");
    let error = store.at(of, "no-such-branch").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`no-such-branch` is no revision of this repository"),
        "{error}"
    );
}

#[test]
fn the_verbs_with_scores_make_pending_accept_and_reject() {
    let project = project();
    let call = |args: &[&str], code: i32| {
        let mut command = project.command(&[&["baseline"], args].concat());
        Call::of(command.env_remove("CI").output().unwrap()).expect(code)
    };
    project
        .call(&[&RUN[..], &["--eval", "one"]].concat())
        .expect(0);
    let refused = call(&["capture", "--scores"], 2).stderr;
    assert!(
        refused.contains("it had only a part of the suite (eval one)"),
        "{refused}"
    );

    project.call(&RUN).expect(0);
    let captured = call(&["capture", "--scores"], 0).stdout;
    assert!(
        captured.contains("baselines/scores/Desk.command.pending.json"),
        "{captured}"
    );
    assert!(
        call(&["diff", "--scores"], 0)
            .stdout
            .contains("nothing was accepted yet")
    );
    let mut in_ci = project.command(&["baseline", "accept", "--scores"]);
    assert_eq!(
        in_ci.env("CI", "true").output().unwrap().status.code(),
        Some(2)
    );
    call(&["accept", "--scores"], 0);
    let file = project.path().join("baselines/scores/Desk.command.json");
    let accepted = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        call(&["accept", "--scores"], 0).stdout,
        "nothing is pending\n"
    );

    project.write("answer.sh", "sed s/two/three/\n");
    project.call(&RUN).expect(1);
    call(&["capture", "--scores", "--run", "latest"], 0);
    let differs = call(&["diff", "--scores", "--exit-code"], 1).stdout;
    assert!(differs.contains("  broken    two / two\n"), "{differs}");
    let json: Value =
        serde_json::from_str(&call(&["diff", "--scores", "--format", "json"], 0).stdout).unwrap();
    assert_eq!(json["scores"][0]["changes"]["broken"][0]["case_id"], "two");
    let listed: Value =
        serde_json::from_str(&call(&["list", "--format", "json"], 0).stdout).unwrap();
    assert_eq!(listed["scores"][0]["target"], "command");
    assert!(listed["scores"][0]["pending"]["run_id"].is_string());
    assert_eq!(
        call(&["reject", "--scores"], 0).stdout,
        "rejected  command\n"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), accepted);
    assert!(!file.with_file_name("Desk.command.pending.json").exists());
}
