//! Judges held against labels of people: the page, the calibration in git, and what is refused.

use std::fmt::Write as _;

use crate::judge::{Asked, say};
use crate::model_runs::{KEY_ENV, RUN, call};
use crate::model_server::{Ask, ModelServer};
use crate::support::Project;
use serde_json::{Value, json};

/// A judge that passes what begins with `good`; of `good-3`, people think otherwise.
fn judge_server() -> ModelServer {
    ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        let verdict = match asked.output().starts_with("good") {
            true => asked.best(),
            false => asked.worst(),
        };
        say(ask, verdict.to_string())
    })
}

/// 60 recorded outputs: of three, two begin with `good`; labels are in [`labels`].
fn outputs() -> Vec<(String, String)> {
    (0..60)
        .map(|at| {
            let word = if at % 3 == 0 { "bad" } else { "good" };
            (format!("c{at}"), format!("{word}-{at}"))
        })
        .collect()
}

pub fn project(server: &ModelServer, rubric: &str, thresholds: Value) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.path().join(".git")).expect("a folder");
    write_suite(&project, server, rubric, thresholds);
    let recorded: String = outputs()
        .iter()
        .map(|(case, output)| format!("{}\n", json!({"case": case, "output": output})))
        .collect();
    project.write("outputs.jsonl", &recorded);
    project
}

fn write_suite(project: &Project, server: &ModelServer, rubric: &str, thresholds: Value) {
    let grader = json!({"type": "model", "config": {
        "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": rubric,
        "scoring": {"type": "boolean"},
    }});
    let cases: Vec<Value> = outputs()
        .iter()
        .map(|(case, _)| json!({"id": case, "input": "Say what is good.", "expected": {"type": "semantic", "value": "good"}, "grader": "tone"}))
        .collect();
    let suite = json!({"eval_suite": {
        "name": "Judged", "target": {"type": "recorded", "path": "outputs.jsonl"},
        "graders": {"graders": {"tone": grader}},
        "evals": [{"metadata": {"id": "kind", "name": "Kind"}, "test_cases": cases}],
        "reporting": {"format": ["json", "markdown"]}, "thresholds": thresholds,
    }});
    project.write("suite.yaml", &suite.to_string());
}

/// Labels of the first `n` outputs: people agree with the judge but for every tenth.
fn labels(n: usize, has_verdicts: bool) -> String {
    let mut text = String::from("eval,case,label,reviewer");
    text.push_str(if has_verdicts {
        ",verdict,output\n"
    } else {
        "\n"
    });
    for (at, (case, output)) in outputs().into_iter().enumerate() {
        let passed = at % 3 != 0;
        let label = match (at < n, passed != (at % 10 == 9)) {
            (false, _) => "",
            (true, true) => "pass",
            (true, false) => "fail",
        };
        let _ = write!(text, "kind,{case},{label},ana");
        if has_verdicts {
            let verdict = if passed { "pass" } else { "fail" };
            let _ = write!(text, ",{verdict},{output}");
        }
        text.push('\n');
    }
    text
}

#[test]
fn file_of_verdicts_and_labels_makes_a_page_and_no_calibration() {
    let project = Project::new();
    project.write("labels.csv", &labels(60, true));
    let page = |format: &str| {
        let args = ["calibrate", "--labels", "labels.csv", "--format", format];
        let call = project.call(&args).expect(0);
        assert_eq!(
            call.stderr,
            "no calibration was written: the labels belong to no judge of a run or suite\n"
        );
        call.stdout
    };
    let human = page("human");
    for words in [
        "60 outputs judged",
        "60 labelled, a random draw",
        "people would pass 63.3 %",
        "Where the judge and people differ",
    ] {
        assert!(human.contains(words), "{words}: {human}");
    }
    let markdown = page("markdown");
    assert!(markdown.contains("| judge passes | 36 | 4 |"), "{markdown}");
    assert!(markdown.contains("| judge fails | 2 | 18 |"), "{markdown}");
    let report: Value = serde_json::from_str(&page("json")).expect("JSON");
    let judge = &report["judges"][0];
    assert_eq!(
        [
            &judge["judged"],
            &judge["judged_passed"],
            &judge["overall"]["labelled"]
        ],
        [60, 40, 60]
    );
    assert_eq!(judge["draw"], "random", "every output has a label");
    let schema = std::fs::read_to_string("schemas/calibration-report.schema.json");
    let schema: Value = serde_json::from_str(&schema.expect("a schema")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(faults, Vec::<String>::new());
    assert!(!project.path().join("judges").exists());
}

#[test]
fn labels_of_a_run_calibrate_its_judge_and_another_rubric_is_another_judge() {
    let server = judge_server();
    let project = project(&server, "Is it good?", json!({}));
    call(&project, &RUN).expect(1);
    project.write("labels.csv", &labels(60, false));
    let calibrate = [
        "calibrate",
        "--suite",
        "suite.yaml",
        "--run",
        "latest",
        "--labels",
        "labels.csv",
    ];
    let done = call(&project, &calibrate).expect(0);
    assert!(
        done.stdout
            .contains("The judge passes 66.7 % of the outputs; people would pass 63.3 %"),
        "{}",
        done.stdout
    );
    assert_eq!(done.stderr, "wrote judges/tone.yaml\n");
    let read = || std::fs::read_to_string(project.path().join("judges/tone.yaml")).expect("a file");
    let first = read();
    let fingerprint = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("fingerprint: "));
        line.expect("a fingerprint").to_owned()
    };
    for line in [
        "judge: tone",
        "  draw: random",
        "  judged: 60",
        "  judged_passed: 40",
        "  - count: 36",
    ] {
        assert!(first.lines().any(|known| known == line), "{first}");
    }
    project.call(&["validate", "judges/tone.yaml"]).expect(0);

    // The judge of the suite has the fingerprint of the run's.
    let named = [
        "calibrate",
        "--suite",
        "suite.yaml",
        "--labels",
        "labels.csv",
        "--judge",
        "tone",
    ];
    project.write("labels.csv", &labels(60, true));
    call(&project, &named).expect(0);
    assert_eq!(fingerprint(&read()), fingerprint(&first));
    write_suite(&project, &server, "Is it very good?", json!({}));
    call(&project, &named).expect(0);
    assert_ne!(fingerprint(&read()), fingerprint(&first));
}

#[test]
fn what_can_not_be_calibrated_is_refused_with_a_hint() {
    let server = judge_server();
    let project = project(&server, "Is it good?", json!({}));
    project.write("labels.csv", &labels(60, false));
    let refused = |args: &[&str]| {
        let args = [&["calibrate"][..], args].concat();
        call(&project, &args).expect(2).stderr
    };
    let without = refused(&["--labels", "labels.csv"]);
    assert!(
        without.contains("the labels come without verdicts of a judge"),
        "{without}"
    );
    assert!(without.contains("name the run with --run"), "{without}");
    call(&project, &RUN).expect(1);
    let run = [
        "--suite",
        "suite.yaml",
        "--run",
        "latest",
        "--labels",
        "labels.csv",
    ];
    let unknown = refused(&[&run[..], &["--judge", "tune"]].concat());
    assert!(unknown.contains("there is no judge `tune`"), "{unknown}");
    assert!(unknown.contains("did you mean `tone`?"), "{unknown}");
    let missing = refused(&["--labels", "nothing.csv"]);
    assert!(
        missing.contains("cannot read labels from nothing.csv"),
        "{missing}"
    );
    let dry = call(
        &project,
        &[&["calibrate"], &run[..], &["--dry-run"]].concat(),
    )
    .expect(0);
    assert_eq!(dry.stderr, "");
    assert!(!project.path().join("judges").exists());
}

/// The report of the latest run, as `report` renders it now.
fn report(project: &Project, code: i32) -> Value {
    let args = [
        "report",
        "--suite",
        "suite.yaml",
        "--run",
        "latest",
        "--format",
        "json",
    ];
    let text = call(project, &args).expect(code).stdout;
    let report: Value = serde_json::from_str(&text).expect("JSON");
    report["eval_report"].clone()
}

/// Labels all outputs of the latest run.
fn label(project: &Project, labels: &str) {
    project.write("labels.csv", labels);
    let args = [
        "calibrate",
        "--suite",
        "suite.yaml",
        "--run",
        "latest",
        "--labels",
        "labels.csv",
    ];
    call(project, &args).expect(0);
}

#[test]
fn calibrated_judge_has_a_corrected_rate_in_reports_and_thresholds() {
    let server = judge_server();
    let thresholds = json!({
        "pass@1": {"min": 0.4, "bound": "lower", "corrected": true},
        "judge_sensitivity": {"min": 0.7, "bound": "lower"},
        "judge_specificity": 0.7,
    });
    let project = project(&server, "Is it good?", thresholds);
    let run = call(&project, &RUN).expect(3);
    assert!(
        run.stdout
            .contains("corrected pass@1 is undefined: judge `tone`: the judge is not calibrated")
            || run.stdout.contains("judge `tone` is not calibrated"),
        "{}",
        run.stdout
    );
    let before = report(&project, 3);
    assert_eq!(before["judges"]["worth"][0]["status"], "missing");
    label(&project, &labels(60, false));
    let after = report(&project, 0);
    let worth = &after["judges"]["worth"][0];
    assert_eq!(
        (&worth["status"], &worth["judge"]),
        (&json!("this_run"), &json!("tone"))
    );
    // Of 40 that pass, people fail 4; of 20 that fail, they pass 2.
    let corrected = &after["estimates"]["corrected_pass_at_1"];
    let near = |value: &Value, wanted: f64| {
        let value = value.as_f64().expect("a number");
        assert!((value - wanted).abs() < 1e-9, "{value} {wanted}");
    };
    near(&corrected["value"], 38.0 / 60.0);
    near(&worth["corrected_rate"]["value"], 38.0 / 60.0);
    near(&worth["judged_rate"]["value"], 40.0 / 60.0);
    near(
        &after["estimates"]["judge_sensitivity"]["value"],
        36.0 / 38.0,
    );
    near(
        &after["estimates"]["judge_specificity"]["value"],
        18.0 / 22.0,
    );
    assert_eq!(after["gate"]["decision"], "pass");
    let page = call(
        &project,
        &[
            "report",
            "--suite",
            "suite.yaml",
            "--run",
            "latest",
            "--format",
            "markdown",
        ],
    );
    let page = page.expect(0).stdout;
    assert!(
        page.contains("60 labels, a random draw of this run"),
        "{page}"
    );
    assert!(
        page.contains("of the outputs of which the judge passes 66.7 %"),
        "{page}"
    );

    // Another run of the same judge: the labels are of other outputs.
    call(&project, &RUN).expect(0);
    let other = report(&project, 0);
    assert_eq!(other["judges"]["worth"][0]["status"], "another_run");
    let page = call(
        &project,
        &[
            "report",
            "--suite",
            "suite.yaml",
            "--run",
            "latest",
            "--format",
            "markdown",
        ],
    );
    assert!(
        page.expect(0)
            .stdout
            .contains("60 labels, calibrated on another run (eval-")
    );

    // Another rubric is another judge.
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).expect("a suite");
    project.write(
        "suite.yaml",
        &suite.replace("Is it good?", "Is it very good?"),
    );
    let run = call(&project, &RUN).expect(3);
    assert!(
        run.stdout
            .contains("differs from the one that is calibrated under this name"),
        "{}",
        run.stdout
    );
    assert_eq!(report(&project, 3)["judges"]["worth"][0]["status"], "void");
}

#[test]
fn labels_by_choice_and_judges_like_a_coin_correct_nothing() {
    let server = judge_server();
    let thresholds = json!({"pass@1": {"min": 0.5, "corrected": true}});
    let project = project(&server, "Is it good?", thresholds);
    call(&project, &RUN).expect(3);
    // The first 20 outputs, which nobody drew.
    label(&project, &labels(20, false));
    let chosen = report(&project, 3);
    assert_eq!(chosen["judges"]["worth"][0]["status"], "chosen");
    assert_eq!(
        chosen["gate"]["reasons"][0],
        "corrected pass@1 is undefined: judge `tone`: the labelled outputs are not known to be a random draw"
    );
    let mut coin = String::from("case,label\n");
    for at in 0..60 {
        let _ = writeln!(coin, "c{at},{}", if at % 2 == 0 { "pass" } else { "fail" });
    }
    label(&project, &coin);
    let reasons = report(&project, 3)["gate"]["reasons"].clone();
    assert_eq!(
        reasons[0],
        "corrected pass@1 is undefined: judge `tone`: the judge's verdicts can't be distinguished from chance"
    );
}

#[test]
fn broken_calibration_is_an_error_before_anything_runs() {
    let server = judge_server();
    let project = project(&server, "Is it good?", json!({}));
    project.write("judges/tone.yaml", "format_version: 1\njudge: tone\n");
    let refused = call(&project, &RUN).expect(2);
    assert!(
        refused
            .stderr
            .contains("a calibration of a judge can't be read"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("judges/tone.yaml:1"),
        "{}",
        refused.stderr
    );
    assert_eq!(server.asked(), 0);
    let wrong = json!({"latency_p95_ms": {"max": 5, "corrected": true}});
    write_suite(&project, &server, "Is it good?", wrong);
    let refused = call(&project, &["validate", "suite.yaml"]).expect(2);
    assert!(
        format!("{}{}", refused.stdout, refused.stderr)
            .contains("`latency_p95_ms` can't be corrected"),
        "{}{}",
        refused.stdout,
        refused.stderr
    );
}
