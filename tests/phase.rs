//! The verb `phase`, from its file to its exit code, with real commands and a real git repository.

mod support;

use std::process::Command;

use serde_json::Value;
use support::Project;

/// A capability suite over recorded outputs; `fixed` says whether the session ends as it should.
const SUITE: &str = r#"
eval_suite:
  name: "auth"
  version: "1.0"
  target: {type: recorded, path: outputs.jsonl}
  evals:
    - {id: "cap-auth-001", name: "Login flow", description: "d", category: "auth", metadata: {tags: ["critical"]},
       input: {type: prompt, content: "log in"}, expected: {type: exact, value: "session opened"}}
    - {id: "cap-auth-002", name: "Token refresh", description: "d", category: "auth", metadata: {tags: ["feature-x"]},
       input: {type: prompt, content: "refresh"}, expected: {type: exact, value: "token refreshed"}}
    - {id: "cap-auth-003", name: "Session timeout", description: "d", category: "auth", metadata: {tags: ["feature-x"]},
       input: {type: prompt, content: "wait 31 min"}, expected: {type: exact, value: "Session expires after 30 min"}}
"#;

fn outputs(timeout: &str) -> String {
    let line =
        |case: &str, output: &str| format!("{{\"case\": \"{case}\", \"output\": \"{output}\"}}\n").repeat(3);
    line("cap-auth-001", "session opened")
        + &line("cap-auth-002", "token refreshed")
        + &line("cap-auth-003", timeout)
}

const BROKEN: &str = "Session persists indefinitely";
const FIXED: &str = "Session expires after 30 min";

/// The plan of the seeds, with commands for the steps that can be checked.
const PLAN: &str = r#"
phase:
  name: "Implement user authentication"
  steps:
    - type: "implement"
      description: "Build authentication logic"
    - type: "test"
      description: "Run unit tests"
      command: ["sh", "tests.sh"]
    - type: "eval"
      description: "Run capability evals"
      config:
        suite: "./evals/auth-capability.yaml"
        required_pass_rate: 0.9
        blocking: true
        metrics: ["pass@1", "pass^3"]
    - type: "check"
      description: "Release"
      command: ["touch", "released"]
"#;

const TESTS_PASS: &str = "echo '============ 45 passed in 0.12s ============'\n";
const TESTS_FAIL: &str = "echo '============ 1 failed, 44 passed in 0.12s ============'\nexit 1\n";

fn git(project: &Project, args: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").arg("-C").arg(project.path()).args(identity).args(args).output();
    let done = done.expect("git");
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A project with the suite, committed.
fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    std::fs::remove_dir(project.path().join(".git")).expect("a folder");
    git(&project, &["init", "-q", "-b", "main"]);
    project.write("evals/auth-capability.yaml", SUITE);
    project.write("evals/outputs.jsonl", &outputs(FIXED));
    project.write("tests.sh", TESTS_PASS);
    project.write("plan.yaml", PLAN);
    for (path, text) in files {
        project.write(path, text);
    }
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "begin"]);
    project
}

fn json(project: &Project, path: &str) -> Value {
    let text = std::fs::read_to_string(project.path().join(path)).expect("a report");
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    report["phase_report"].take()
}

fn statuses(report: &Value) -> Vec<&str> {
    let steps = report["steps"].as_array().expect("steps");
    steps.iter().map(|step| step["status"].as_str().expect("a status")).collect()
}

const REPORT: &str = "results/phases/phase-implement-user-authentication.json";

#[test]
fn the_phase_of_the_seeds_fails_then_passes() {
    let project = project(&[("evals/outputs.jsonl", &outputs(BROKEN))]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(1);
    let report = json(&project, REPORT);
    assert_eq!(statuses(&report), ["not_checked", "passed", "failed", "not_reached"]);
    assert_eq!((&report["gate"]["decision"], &report["gate"]["exit_code"]), (&"fail".into(), &1.into()));
    assert!(!project.path().join("released").exists(), "a blocking step ends the phase");
    assert!(call.stderr.contains("step 3 of 4: Run capability evals (eval)"), "{}", call.stderr);
    assert!(report["steps"][2]["eval"]["eval_report"]["evals"][0]["cases"][0].get("samples").is_none());

    project.write("evals/outputs.jsonl", &outputs(FIXED));
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let report = json(&project, REPORT);
    assert_eq!(statuses(&report), ["not_checked", "passed", "passed", "passed"]);
    assert_eq!(report["gate"]["decision"], "pass");
    assert!(project.path().join("released").exists());
}

#[test]
fn what_does_not_block_is_told_and_goes_on() {
    let plan = PLAN.replace("blocking: true", "blocking: false");
    let project = project(&[("evals/outputs.jsonl", &outputs(BROKEN)), ("plan.yaml", &plan)]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let report = json(&project, REPORT);
    assert_eq!(statuses(&report), ["not_checked", "passed", "failed", "passed"]);
    assert_eq!(report["gate"]["decision"], "pass");
    let reason = report["gate"]["reasons"][0].as_str().expect("a reason");
    assert!(
        reason.starts_with("Run capability evals failed (this does not block): pass_rate is "),
        "{reason}"
    );
    assert!(project.path().join("released").exists());
}

#[test]
fn failing_tests_end_the_phase_before_its_evals() {
    let project = project(&[("tests.sh", TESTS_FAIL)]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(1);
    assert_eq!(statuses(&json(&project, REPORT)), ["not_checked", "failed", "not_reached", "not_reached"]);
    assert!(!project.path().join("results/latest").exists(), "no suite was run");
}

#[test]
fn nothing_runs_when_anything_is_wrong() {
    let plan =
        PLAN.replace("./evals/auth-capability.yaml", "./evals/none.yaml").replace("sh\", ", "touch\", ");
    let project = project(&[("plan.yaml", &plan)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(call.stderr.contains("there is no file `./evals/none.yaml`"), "{}", call.stderr);
    assert!(call.stderr.ends_with("1 problem in the phase and its suites; nothing ran\n"), "{}", call.stderr);
    assert!(!project.path().join("results").exists());
}
