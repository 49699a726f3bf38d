//! `run --compare-to` and `run --baseline --fail-on`: the comparison of a run is a demand of its
//! gate.

use crate::compared::{Desk, Way, first, number};
use serde_json::Value;

/// Passing though cases fail, so that nothing but the comparison decides.
const LENIENT: [&str; 2] = ["--threshold", "case_pass_rate=0.1"];

fn run(desk: &Desk, good: usize, more: &[&str], code: i32) -> String {
    desk.record("outputs.jsonl", 1, first(good, 20));
    let args = [
        "run",
        "--outputs",
        "outputs.jsonl",
        "--progress",
        "none",
        "-q",
    ];
    let call = desk
        .project
        .call(&[&args[..], &LENIENT, more].concat())
        .expect(code);
    assert_eq!(call.stderr, "");
    desk.latest()
}

/// The gate's decision and reasons of the latest run.
fn gate(desk: &Desk) -> String {
    let report = desk.project.report();
    let reasons = report["gate"]["reasons"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
    format!(
        "{}: {}",
        report["gate"]["decision"].as_str().unwrap_or_default(),
        reasons.join("; ")
    )
}

#[test]
fn a_regression_fails_the_gate_that_thresholds_would_pass() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    let bad = run(&desk, 26, &["--compare-to", &good], 1);
    let told = desk.reported();
    assert_eq!(
        (&told["verdict"], &told["reference"]["run_id"]),
        (&"regression".into(), &good.as_str().into())
    );
    assert!(gate(&desk).starts_with("fail: "), "{}", gate(&desk));
    // The words of --fail-on.
    run(&desk, 26, &["--compare-to", &good, "--fail-on", "never"], 0);
    run(&desk, 35, &["--compare-to", &good], 0);
    run(&desk, 35, &["--compare-to", &good, "--fail-on", "any"], 1);
    run(
        &desk,
        35,
        &["--compare-to", &good, "--fail-on", "critical"],
        0,
    );
    // The report is made again from the journal alone.
    let first = desk.project.call(&["report", "--run", &bad]).expect(1);
    std::fs::remove_file(
        eval_harness::internals::find_run(&desk.project.path().join("results"), &good)
            .unwrap()
            .journal(),
    )
    .unwrap();
    assert_eq!(
        desk.project
            .call(&["report", "--run", &bad])
            .expect(1)
            .stdout,
        first.stdout
    );
}

#[test]
fn previous_is_the_run_before_of_the_same_suite_and_target() {
    let desk = Desk::new(2, 20);
    desk.record("outputs.jsonl", 1, first(36, 20));
    let none = desk
        .project
        .call(&[
            "run",
            "--compare-to",
            "previous",
            "--outputs",
            "outputs.jsonl",
        ])
        .expect(2);
    assert!(
        none.stderr.contains("there is no run of suite `Desk`"),
        "{}",
        none.stderr
    );
    assert!(!desk.project.path().join("results").exists(), "nothing ran");
    let a = run(&desk, 36, &[], 0);
    let b = run(&desk, 36, &["--compare-to", "previous"], 0);
    assert_eq!(desk.reported()["reference"]["run_id"], a.as_str());
    run(&desk, 26, &["--compare-to", "latest"], 1);
    assert_eq!(desk.reported()["reference"]["run_id"], b.as_str());
    let dry = desk
        .project
        .call(&[
            "run",
            "--outputs",
            "outputs.jsonl",
            "--compare-to",
            &a,
            "--fail-on",
            "any",
            "--dry-run",
        ])
        .expect(0);
    assert!(
        dry.stdout
            .contains(&format!("compared  with {a}; fails on any\n")),
        "{}",
        dry.stdout
    );
}

#[test]
fn the_run_before_one_that_went_on_is_the_one_before_it_began() {
    let desk = Desk::new(2, 20);
    let [a, b, _] = [40, 36, 30].map(|good| run(&desk, good, &[], 0));
    desk.record("outputs.jsonl", 1, first(36, 20));
    for word in [&a, "previous"] {
        let resume = [
            "run",
            "--resume",
            &b,
            "--compare-to",
            word,
            "--fail-on",
            "never",
            "-q",
        ];
        desk.project
            .call(&[&resume[..], &["--progress", "none"]].concat())
            .expect(0);
        let told = desk
            .project
            .call(&["report", "--run", &b, "--format", "json"])
            .expect(0);
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        assert_eq!(
            told["eval_report"]["comparison"]["reference"]["run_id"],
            a.as_str(),
            "{word}"
        );
    }
}

/// Whatever a filter left out may be what got worse.
#[test]
fn a_run_with_filters_is_the_one_before_only_of_a_run_with_the_same() {
    let desk = Desk::new(2, 20);
    let whole = run(&desk, 40, &[], 0);
    let part = run(&desk, 40, &["--case", "c0"], 0);
    run(&desk, 26, &["--compare-to", "previous"], 1);
    assert_eq!(desk.reported()["reference"]["run_id"], whole.as_str());
    run(&desk, 40, &["--case", "c0", "--compare-to", "previous"], 0);
    assert_ne!(
        desk.reported()["reference"]["run_id"],
        part.as_str(),
        "a later one of the whole suite"
    );
    let part = desk.latest();
    run(&desk, 40, &["--case", "c0", "--compare-to", "previous"], 0);
    assert_eq!(desk.reported()["reference"]["run_id"], part.as_str());
}

#[test]
fn a_gate_on_critical_cases_is_open_when_none_of_them_could_be_compared() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 40, &[], 0);
    let critical = ["--compare-to", &good, "--fail-on", "critical"];
    run(&desk, 40, &critical, 0);
    // Every case of the critical eval expects something else now, and fails.
    desk.write_suite("Desk", |e, _| {
        if e == 0 {
            "sure".to_owned()
        } else {
            "ok".to_owned()
        }
    });
    run(&desk, 40, &critical, 3);
    assert!(
        gate(&desk).ends_with("none of the 20 cases of critical evals in the reference was compared, so any of them may be worse now"),
        "{}",
        gate(&desk)
    );
}

#[test]
fn a_run_that_breaks_off_as_it_begins_to_be_compared_still_tells_changed_cases() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    desk.write_suite("Desk", |e, c| {
        if e == 0 && c < 5 {
            "no".to_owned()
        } else {
            "ok".to_owned()
        }
    });
    let alone = run(&desk, 36, &[], 0);
    let resume = ["run", "--resume", &alone, "--progress", "none", "-q"];
    desk.project
        .call(&[&resume[..], &["--compare-to", &good, "--fail-on", "never"]].concat())
        .expect(0);
    let journal = desk.journal();
    let text = std::fs::read_to_string(&journal).unwrap();
    let began = text.find("{\"run_resumed\"").unwrap();
    let end = began + text[began..].find('\n').unwrap() + 1;
    std::fs::write(&journal, &text[..end]).unwrap();
    desk.project.call(&resume).expect(0);
    assert_eq!(number(&desk.reported()["cases"]["changed"]["count"]), 5.0);
}

#[test]
fn what_cannot_be_compared_with_stops_the_run_before_it_starts() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    let journals = || {
        std::fs::read_dir(desk.project.path().join("results/latest"))
            .unwrap()
            .count()
    };
    let before = journals();
    let wrong = |args: &[&str], words: &str| {
        let call = desk
            .project
            .call(&[&["run", "--outputs", "outputs.jsonl"], args].concat())
            .expect(2);
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
    };
    wrong(&["--compare-to", "eval-1"], "`eval-1` can't be found");
    wrong(
        &["--fail-on", "any"],
        "requires a reference to compare the run with",
    );
    wrong(
        &["--compare-to", &good, "--baseline"],
        "cannot be used with",
    );
    wrong(
        &["--compare-to", &good, "--fail-on", "some"],
        "expected one of",
    );
    wrong(&["--baseline", "--fail-on", "any"], "no accepted scores");
    desk.write_suite("Other", |_, _| "ok".to_owned());
    wrong(
        &["--compare-to", &good],
        "contains the scores of suite `Desk`, not `Other`",
    );
    wrong(
        &["--compare-to", "previous"],
        "there is no run of suite `Other`",
    );
    // No case in common.
    desk.write_suite("Desk", |_, _| "ok".to_owned());
    let text = std::fs::read_to_string(desk.project.path().join("e0.yaml")).unwrap();
    desk.project
        .write("e0.yaml", &text.replace("id: c", "id: d"));
    wrong(
        &["--compare-to", &good, "--eval", "e0"],
        "has none of the selected cases",
    );
    assert_eq!(journals(), before, "nothing ran");
}

#[test]
fn accepted_scores_gate_when_asked_and_inform_else() {
    let desk = Desk::new(2, 20);
    run(&desk, 36, &[], 0);
    for verb in ["capture", "accept"] {
        desk.project.call(&["baseline", verb, "--scores"]).expect(0);
    }
    run(&desk, 26, &["--baseline"], 0);
    assert_eq!(desk.reported()["verdict"], "regression");
    run(&desk, 26, &["--baseline", "--fail-on", "significant"], 1);
    run(&desk, 26, &["--compare-to", "accepted"], 1);
    run(&desk, 35, &["--baseline", "--fail-on", "significant"], 0);
    run(&desk, 35, &["--baseline", "--fail-on", "any"], 1);
    run(
        &desk,
        26,
        &[
            "--baseline=baselines/scores/Desk.recorded.json",
            "--fail-on",
            "never",
        ],
        0,
    );
}

#[test]
fn a_run_that_goes_on_keeps_its_reference_or_takes_another() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    let low = run(&desk, 20, &[], 0);
    let bad = run(
        &desk,
        26,
        &["--compare-to", "previous", "--fail-on", "any"],
        0,
    );
    assert_eq!(desk.reported()["reference"]["run_id"], low.as_str());
    let resume = |more: &[&str], code: i32| {
        let args = ["run", "--resume", &bad, "--progress", "none", "-q"];
        desk.project.call(&[&args[..], more].concat()).expect(code)
    };
    // Nothing new is said: it is what it was, and `previous` is not looked up again.
    resume(&[], 0);
    let told = desk
        .project
        .call(&["report", "--run", &bad, "--format", "json"])
        .expect(0);
    assert!(
        told.stdout.contains(&format!("\"run_id\": \"{low}\"")),
        "{}",
        told.stdout
    );
    // Another one is named.
    let call = resume(&["--compare-to", &good], 1);
    assert!(
        call.stderr.contains(&format!(
            "the run was compared with previous ({low}); now it is compared with {good}; fails on any"
        )),
        "{}",
        call.stderr
    );
    let told = desk
        .project
        .call(&["report", "--run", &bad, "--format", "json"])
        .expect(1);
    assert!(
        told.stdout.contains(&format!("\"run_id\": \"{good}\"")),
        "{}",
        told.stdout
    );
    // Another word alone.
    resume(&["--fail-on", "never"], 0);
    let itself = resume(&["--compare-to", &bad], 2);
    assert!(
        itself.stderr.contains("is the run that is being resumed"),
        "{}",
        itself.stderr
    );
    // One that began with nothing.
    let call = desk
        .project
        .call(&["run", "--resume", &good, "--fail-on", "any", "-q"])
        .expect(2);
    assert!(
        call.stderr
            .contains("requires a reference to compare the run with"),
        "{}",
        call.stderr
    );
    desk.record("outputs.jsonl", 1, first(36, 20));
    let call = desk
        .project
        .call(&[
            "run",
            "--resume",
            &good,
            "--compare-to",
            &low,
            "--progress",
            "none",
            "-q",
        ])
        .expect(0);
    assert!(
        call.stderr.contains("nothing was left to run"),
        "{}",
        call.stderr
    );
    let told = desk
        .project
        .call(&["report", "--run", &good, "--format", "json"])
        .expect(0);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    // Fingerprints are there though the first session kept none.
    assert_eq!(told["eval_report"]["comparison"]["verdict"], "improvement");
    assert_eq!(
        number(&told["eval_report"]["comparison"]["cases"]["compared"]),
        40.0
    );
}

#[test]
fn what_is_graded_again_is_compared_with_the_same() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    let bad = run(&desk, 26, &["--compare-to", &good, "--fail-on", "any"], 1);
    let again = desk
        .project
        .call(&["regrade", "--run", &bad, "-q", "--progress", "none"])
        .expect(1);
    assert!(again.stderr.is_empty(), "{}", again.stderr);
    let told = desk.reported();
    assert_eq!(
        (&told["reference"]["run_id"], &told["verdict"]),
        (&good.as_str().into(), &"regression".into())
    );
    assert_eq!(told["candidate"]["regrade_of"], bad.as_str());
    assert!(gate(&desk).starts_with("fail: "), "{}", gate(&desk));
}

#[test]
fn compare_uses_the_seed_of_the_candidate() {
    let desk = Desk::new(2, 20);
    let seed = "  config: {seed: 7}\n  evals:\n";
    desk.edit("eval-suite.yaml", "  evals:\n", seed);
    let good = run(&desk, 36, &[], 0);
    let bad = run(&desk, 26, &["--compare-to", &good], 1);
    let of_run = desk.reported();
    let compare = |more: &[&str]| -> Value {
        let words = ["compare", &good, &bad, "--format", "json"];
        let call = desk.project.call(&[&words[..], more].concat()).expect(1);
        serde_json::from_str(&call.stdout).expect("JSON")
    };
    let alone = compare(&[])["candidates"][0].take();
    assert_eq!(alone["settings"]["seed"], 7);
    assert_eq!(alone["metrics"], of_run["metrics"]);
    let other = compare(&["--seed", "1"]);
    assert_eq!(other["candidates"][0]["settings"]["seed"], 1);
}

#[test]
fn shards_decide_nothing_and_joined_they_do() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    let journal = |id: &str| {
        let paths =
            eval_harness::internals::find_run(&desk.project.path().join("results"), id).unwrap();
        paths.journal().display().to_string()
    };
    let one = run(&desk, 26, &["--compare-to", &good, "--shard", "1/2"], 0);
    let two = run(&desk, 26, &["--compare-to", &good, "--shard", "2/2"], 0);
    let joined = desk
        .project
        .call(&["report", "--run", &one, "--run", &two, "--format", "json"])
        .expect(1);
    let joined: Value = serde_json::from_str(&joined.stdout).unwrap();
    let told = &joined["eval_report"]["comparison"];
    assert_eq!(
        (&told["verdict"], number(&told["cases"]["compared"])),
        (&"regression".into(), 40.0)
    );
    // Compared with different runs they are no one run.
    let other = run(&desk, 26, &["--compare-to", &one, "--shard", "2/2"], 0);
    let call = desk
        .project
        .call(&["report", "--run", &one, "--run", &other])
        .expect(2);
    assert!(
        call.stderr
            .contains("since they are compared with different scores"),
        "{}",
        call.stderr
    );
    let word = run(
        &desk,
        26,
        &["--compare-to", &good, "--shard", "2/2", "--fail-on", "any"],
        0,
    );
    let call = desk
        .project
        .call(&["report", "--run", &one, "--run", &word])
        .expect(2);
    assert!(
        call.stderr.contains("differ in their value of --fail-on"),
        "{}",
        call.stderr
    );
    assert!(std::path::Path::new(&journal(&good)).is_file());
}

#[test]
fn each_of_several_targets_is_compared_with_its_own() {
    let desk = Desk::new(1, 20);
    desk.record("good.jsonl", 1, first(19, 20));
    desk.record("bad.jsonl", 1, first(9, 20));
    let suite = "eval_suite:\n  name: Desk\n  targets:\n    a: {type: recorded, path: good.jsonl}\n    b: {type: recorded, path: good.jsonl}\n  thresholds: {case_pass_rate: 0.1}\n  evals:\n    - $ref: e0.yaml\n";
    desk.project.write("eval-suite.yaml", suite);
    let both = [
        "run",
        "--target",
        "a",
        "--target",
        "b",
        "--progress",
        "none",
        "-q",
    ];
    desk.project.call(&both).expect(0);
    desk.project.write(
        "eval-suite.yaml",
        &suite.replacen("good.jsonl}\n  thresholds", "bad.jsonl}\n  thresholds", 1),
    );
    let call = desk
        .project
        .call(&[&both[..], &["--compare-to", "previous"]].concat())
        .expect(1);
    assert_eq!(call.stdout, "a: pass\nb: fail\n");
    assert_eq!(
        (
            &desk.reported()["reference"]["target"],
            &desk.reported()["verdict"]
        ),
        (&"b".into(), &"regression".into())
    );
}

#[test]
fn errored_samples_leave_the_gate_open_when_they_could_turn_the_verdict() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    desk.record("outputs.jsonl", 1, |e, c, s| {
        if e * 20 + c < 8 {
            Way::Lost
        } else {
            first(36, 20)(e, c, s)
        }
    });
    let args = [
        "run",
        "--outputs",
        "outputs.jsonl",
        "--progress",
        "none",
        "-q",
        "--compare-to",
        &good,
    ];
    desk.project.call(&[&args[..], &LENIENT].concat()).expect(3);
    let told = desk.reported();
    assert_eq!(
        (&told["verdict"], &told["verdict_worst"]),
        (&"none".into(), &"regression".into())
    );
    assert!(gate(&desk).starts_with("incomplete: "), "{}", gate(&desk));
    // A threshold that is missed comes first.
    desk.project
        .call(&[&args[..], &["--threshold", "case_pass_rate=0.99"]].concat())
        .expect(1);
}

#[test]
fn every_line_of_such_a_journal_fits_its_published_schema() {
    let desk = Desk::new(2, 20);
    let good = run(&desk, 36, &[], 0);
    run(&desk, 26, &["--compare-to", &good], 1);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/journal.schema.json"
    ))
    .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let text = std::fs::read_to_string(desk.journal()).unwrap();
    assert!(text.contains("\"reference\":{\"run\":{"), "{text}");
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let problems: Vec<String> = schema
            .iter_errors(&event)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/report.schema.json"
    ))
    .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let report: Value =
        serde_json::from_str(&desk.project.call(&["report", "--format", "json"]).stdout).unwrap();
    let problems: Vec<String> = schema
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn a_secret_in_the_words_of_the_program_breaks_no_journal() {
    let desk = Desk::new(1, 20);
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).unwrap();
    desk.project.write(
        "eval-suite.yaml",
        &text.replace("  evals:\n", "  env: [TOKEN]\n  evals:\n"),
    );
    let good = run(&desk, 18, &[], 0);
    for secret in ["significant", "regression", "capability", "recorded"] {
        let args = [
            "run",
            "--outputs",
            "outputs.jsonl",
            "--progress",
            "none",
            "-q",
            "--compare-to",
            &good,
        ];
        let mut command = desk.project.command(&[&args[..], &LENIENT].concat());
        let call =
            crate::support::Call::of(command.env("TOKEN", secret).output().unwrap()).expect(0);
        assert!(call.stderr.is_empty(), "{secret}: {}", call.stderr);
        desk.project.call(&["report"]).expect(0);
        assert_eq!(
            number(&desk.reported()["cases"]["compared"]),
            20.0,
            "{secret}"
        );
    }
}
