//! Outputs with the graders that judge them and the way in which they must end, graded together in
//! one run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::Project;

/// How a trial must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// An honest program passes, and its grade rests on this.
    Passes(&'static str),
    /// An attack is `failed`: an attack that is `errored` instead would choose not to be counted.
    Fails,
    /// An attack that changes what tests in its own process rest on may make them `errored`.
    FailsOrErrs,
    /// docs/trust.md says that this deceives tests which share an interpreter with the code.
    Deceives,
}

pub struct Trial {
    pub id: String,
    pub grader: Value,
    pub code: String,
    pub ending: Ending,
}

impl Trial {
    pub fn new(
        id: impl Into<String>,
        grader: &Value,
        code: impl Into<String>,
        ending: Ending,
    ) -> Trial {
        Trial {
            id: id.into(),
            grader: grader.clone(),
            code: code.into(),
            ending,
        }
    }

    fn output(&self) -> String {
        let language = self.grader["config"]["executor"]
            .as_str()
            .unwrap_or("python");
        format!("```{language}\n{}\n```", self.code)
    }
}

fn code_grader(mut config: Value, method: &str) -> Value {
    config["method"] = json!(method);
    json!({"type": "code", "config": config})
}

/// Tests in Python, one after the other.
pub fn asserts(tests: &[impl AsRef<str>]) -> Value {
    let tests: Vec<&str> = tests.iter().map(AsRef::as_ref).collect();
    code_grader(
        json!({"asserts": tests, "timeout_seconds": 30}),
        "code_execution",
    )
}

/// A `check` function with this body, in Python.
pub fn check(entry_point: &str, body: &str) -> Value {
    let test = format!("def check(candidate):\n{}\n", indented(body));
    code_grader(
        json!({"test": test, "entry_point": entry_point, "timeout_seconds": 30}),
        "code_execution",
    )
}

pub fn indented(body: &str) -> String {
    body.lines().map(|line| format!("    {line}\n")).collect()
}

/// Calls whose results the harness compares.
pub fn calls(executor: &str, function: &str, cases: &[(Value, Value)]) -> Value {
    let cases: Vec<Value> = cases
        .iter()
        .map(|(argument, expected)| json!({"args": [argument], "expected": expected}))
        .collect();
    let config = json!({
        "executor": executor, "function_name": function, "test_cases": cases,
        "timeout_per_case": 10, "timeout_seconds": 30,
    });
    code_grader(config, "function_output")
}

pub fn javascript_asserts(tests: &[&str]) -> Value {
    code_grader(
        json!({"executor": "javascript", "asserts": tests, "timeout_seconds": 30}),
        "code_execution",
    )
}

/// With another limit than the usual one, for attacks that wait for what never comes.
pub fn within(mut grader: Value, seconds: f64) -> Value {
    grader["config"]["timeout_seconds"] = json!(seconds);
    if grader["config"].get("timeout_per_case").is_some() {
        grader["config"]["timeout_per_case"] = json!(seconds);
    }
    grader
}

/// Whether tests and functions in JavaScript can be run here.
pub fn has_node() -> bool {
    let found = std::process::Command::new("node")
        .arg("--version")
        .output()
        .is_ok();
    if !found {
        println!("SKIPPED: no node");
    }
    found
}

/// Grades all trials in one run. `demanded`: the suite's `sandbox: {trust: ...}`. The result: what
/// ended otherwise than it must.
pub fn wrong_endings(trials: &[Trial], demanded: Option<&str>) -> Vec<String> {
    let (mut evals, mut outputs) = (Vec::new(), String::new());
    for trial in trials {
        evals.push(json!({"id": trial.id, "input": "solve", "grader": trial.grader}));
        let _ = writeln!(
            outputs,
            "{}",
            json!({"case": trial.id, "output": trial.output()})
        );
    }
    let mut suite = json!({
        "name": "Attacks", "config": {"max_workers": 2}, "evals": evals,
        "target": {"type": "recorded", "path": "outputs.jsonl"},
    });
    if let Some(trust) = demanded {
        suite["sandbox"] = json!({"trust": trust});
    }
    let suite = json!({"eval_suite": suite}).to_string();
    let project = Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", &outputs)]);
    let call = project.call(&[
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    assert!(
        matches!(call.code, Some(0 | 1 | 3)),
        "{:?}\n{}\n{}",
        call.code,
        call.stdout,
        call.stderr
    );
    let report = project.report();
    let samples: BTreeMap<&str, &Value> = report["evals"]
        .as_array()
        .expect("evals")
        .iter()
        .flat_map(|eval| eval["cases"].as_array().expect("cases"))
        .map(|case| (case["id"].as_str().expect("an id"), &case["samples"][0]))
        .collect();
    assert_eq!(samples.len(), trials.len(), "every trial is graded");
    let mut wrong = Vec::new();
    for trial in trials {
        let sample = samples[trial.id.as_str()];
        let outcome = sample["outcome"].as_str().unwrap_or_default();
        let trust = sample["grades"][0]["trust"].as_str().unwrap_or_default();
        let right = match trial.ending {
            Ending::Passes(expected) => outcome == "passed" && trust == expected,
            Ending::Fails => outcome == "failed",
            Ending::FailsOrErrs => outcome == "failed" || outcome == "errored",
            Ending::Deceives => outcome == "passed" && trust == "in_process",
        };
        if !right {
            let reason = sample["grades"][0]["reason"]
                .as_str()
                .or(sample["reason"].as_str())
                .unwrap_or_default();
            wrong.push(format!(
                "{}: {outcome} ({trust}) where {:?}: {reason}\n  grader: {}\n  code: {:?}",
                trial.id, trial.ending, trial.grader, trial.code
            ));
        }
    }
    wrong
}

pub fn assert_endings(trials: &[Trial]) {
    let wrong = wrong_endings(trials, None);
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        trials.len(),
        wrong.join("\n")
    );
}
