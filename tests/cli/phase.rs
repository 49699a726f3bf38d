//! The verb `phase`, from its file to its exit code, with real commands and a real git repository.

use std::process::Command;

use crate::support::{Call, Project, eventually};
use insta::assert_snapshot;
use serde_json::Value;

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
    let line = |case: &str, output: &str| {
        format!("{{\"case\": \"{case}\", \"output\": \"{output}\"}}\n").repeat(3)
    };
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
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "commit.gpgsign=false",
    ];
    let done = Command::new("git")
        .arg("-C")
        .arg(project.path())
        .args(identity)
        .args(args)
        .output();
    let done = done.expect("git");
    assert!(
        done.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
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
    steps
        .iter()
        .map(|step| step["status"].as_str().expect("a status"))
        .collect()
}

const REPORT: &str = "results/phases/phase-implement-user-authentication.json";

#[test]
fn the_phase_of_the_seeds_fails_then_passes() {
    let project = project(&[("evals/outputs.jsonl", &outputs(BROKEN))]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(1);
    let report = json(&project, REPORT);
    assert_eq!(
        statuses(&report),
        ["not_checked", "passed", "failed", "not_reached"]
    );
    assert_eq!(
        (&report["gate"]["decision"], &report["gate"]["exit_code"]),
        (&"fail".into(), &1.into())
    );
    assert!(
        !project.path().join("released").exists(),
        "a blocking step ends the phase"
    );
    assert!(
        call.stderr
            .contains("step 3 of 4: Run capability evals (eval)"),
        "{}",
        call.stderr
    );
    assert!(
        report["steps"][2]["eval"]["eval_report"]["evals"][0]["cases"][0]
            .get("samples")
            .is_none()
    );

    project.write("evals/outputs.jsonl", &outputs(FIXED));
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let report = json(&project, REPORT);
    assert_eq!(
        statuses(&report),
        ["not_checked", "passed", "passed", "passed"]
    );
    assert_eq!(report["gate"]["decision"], "pass");
    assert!(project.path().join("released").exists());
}

#[test]
fn what_does_not_block_is_told_and_goes_on() {
    let plan = PLAN.replace("blocking: true", "blocking: false");
    let project = project(&[
        ("evals/outputs.jsonl", &outputs(BROKEN)),
        ("plan.yaml", &plan),
    ]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let report = json(&project, REPORT);
    assert_eq!(
        statuses(&report),
        ["not_checked", "passed", "failed", "passed"]
    );
    assert_eq!(report["gate"]["decision"], "pass");
    let reason = report["gate"]["reasons"][0].as_str().expect("a reason");
    assert!(
        reason.starts_with("Run capability evals failed (this does not block): pass rate is "),
        "{reason}"
    );
    assert!(project.path().join("released").exists());
}

#[test]
fn failing_tests_end_the_phase_before_its_evals() {
    let project = project(&[("tests.sh", TESTS_FAIL)]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(1);
    assert_eq!(
        statuses(&json(&project, REPORT)),
        ["not_checked", "failed", "not_reached", "not_reached"]
    );
    assert!(
        !project.path().join("results/latest").exists(),
        "no suite was run"
    );
}

#[test]
fn nothing_runs_when_anything_is_wrong() {
    let plan = PLAN
        .replace("./evals/auth-capability.yaml", "./evals/none.yaml")
        .replace("sh\", ", "touch\", ");
    let project = project(&[("plan.yaml", &plan)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(
        call.stderr
            .contains("the file `./evals/none.yaml` does not exist"),
        "{}",
        call.stderr
    );
    assert!(
        call.stderr
            .ends_with("1 problem in the phase and its suites; nothing ran\n"),
        "{}",
        call.stderr
    );
    assert!(!project.path().join("results").exists());
}

const TRIGGER: &str = r#"
eval_trigger:
  when: "after_tests_pass"
  suite: "./evals/auth-capability.yaml"
  filters:
    categories: ["capability"]
    tags: ["critical", "feature-x"]
  thresholds:
    pass_at_1: 0.85
    pass_hat_3: 0.70
  on_failure:
    action: "block"
    report_path: "./eval-results/phase-{phase_id}.md"
  on_success:
    action: "continue"
    archive_results: true
"#;

fn junit(failed: bool) -> String {
    let failure = if failed {
        "<failure message=\"no\">no</failure>"
    } else {
        ""
    };
    format!(
        "<testsuite name=\"auth\"><testcase name=\"a\"/><testcase name=\"b\">{failure}</testcase></testsuite>"
    )
}

const TRIGGERED: [&str; 5] = ["phase", "--trigger", "trigger.yaml", "--phase-id", "2/a"];

fn names(project: &Project, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(project.path().join(dir)).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_trigger_of_the_seeds_gates_and_archives() {
    let project = project(&[
        ("evals/outputs.jsonl", &outputs(BROKEN)),
        ("trigger.yaml", TRIGGER),
    ]);
    project.call(&TRIGGERED).expect(1);
    let report = json(&project, "eval-results/phase-2%2Fa.json");
    assert_eq!(statuses(&report), ["failed"]);
    assert_eq!(
        (&report["metadata"]["phase_id"], &report["metadata"]["when"]),
        (&"2/a".into(), &"after_tests_pass".into())
    );
    assert!(
        !project.path().join("results/archive").exists(),
        "only what passed is archived"
    );
    assert!(!project.path().join("results/phases").exists());

    project.write("evals/outputs.jsonl", &outputs(FIXED));
    project.call(&TRIGGERED).expect(0);
    let report = json(&project, "eval-results/phase-2%2Fa.json");
    let run = report["steps"][0]["eval"]["eval_report"]["metadata"]["run_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let archived = names(&project, "results/archive/2%2Fa");
    assert_eq!(
        archived,
        [
            format!("{run}.journal.jsonl"),
            format!("{run}.json"),
            format!("{run}.md"),
            "phase-2%2Fa.html".into(),
            "phase-2%2Fa.json".into(),
            "phase-2%2Fa.md".into()
        ]
    );
    let journal = format!("results/archive/2%2Fa/{run}.journal.jsonl");
    assert!(
        project
            .call(&["report", "--run", &journal])
            .expect(0)
            .stdout
            .contains("GATE PASS")
    );
    // Copies are counted by nobody.
    let runs = names(&project, "results/latest")
        .iter()
        .filter(|name| name.ends_with(".journal.jsonl"))
        .count();
    assert_eq!(runs, 2);
}

#[test]
fn the_action_of_a_trigger_softens_its_evals_and_not_the_tests_before_them() {
    let soft = TRIGGER.replace("action: \"block\"", "action: \"warn\"");
    let files = [
        ("evals/outputs.jsonl", outputs(BROKEN)),
        ("trigger.yaml", soft),
        ("junit/a.xml", junit(false)),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let project = project(&files);
    let with_tests: Vec<&str> = TRIGGERED
        .into_iter()
        .chain(["--junit", "junit/*.xml"])
        .collect();
    project.call(&with_tests).expect(0);
    let report = json(&project, "eval-results/phase-2%2Fa.json");
    assert_eq!(
        (statuses(&report), &report["gate"]["decision"]),
        (vec!["passed", "failed"], &"pass".into())
    );
    assert!(
        !project.path().join("results/archive").exists(),
        "evals that failed are no success"
    );

    project.write("junit/a.xml", &junit(true));
    project.call(&with_tests).expect(1);
    let report = json(&project, "eval-results/phase-2%2Fa.json");
    assert_eq!(statuses(&report), ["failed", "not_reached"]);

    // At another moment the evals do not wait for the tests.
    let other = TRIGGER.replace("after_tests_pass", "before_merge");
    project.write("trigger.yaml", &other);
    project.call(&with_tests).expect(1);
    let report = json(&project, "eval-results/phase-2%2Fa.json");
    assert_eq!(statuses(&report), ["failed", "failed"]);

    project.write("trigger.yaml", TRIGGER);
    let none: Vec<&str> = TRIGGERED
        .into_iter()
        .chain(["--junit", "nowhere/*.xml"])
        .collect();
    project.call(&none).expect(3);
}

#[test]
fn a_trigger_of_another_moment_does_nothing() {
    let project = project(&[("trigger.yaml", TRIGGER)]);
    let at = |moment: &str| {
        let words: Vec<&str> = TRIGGERED.into_iter().chain(["--when", moment]).collect();
        project.call(&words)
    };
    let call = at("before_merge").expect(0);
    assert_eq!(call.stdout, "");
    assert_eq!(
        call.stderr,
        "nothing to do: the trigger applies to `after_tests_pass`, but the moment is `before_merge`\n"
    );
    assert!(!project.path().join("results").exists());
    let call = at("after_test_pass").expect(2);
    assert!(
        call.stderr
            .contains("did you mean `--when after_tests_pass`?"),
        "{}",
        call.stderr
    );
    at("after_tests_pass").expect(0);
    let call = project
        .call(&["phase", "--trigger", "trigger.yaml"])
        .expect(2);
    assert!(
        call.stderr.contains("pass `--phase-id ID`"),
        "{}",
        call.stderr
    );
}

/// A plan of one step with this text, and what the phase came to.
fn one_step(step: &str) -> (Project, Call) {
    let plan = format!("phase:\n  id: one\n  name: One\n  steps:\n    - {step}\n");
    let project = project(&[("plan.yaml", &plan)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]);
    (project, call)
}

const ONE: &str = "results/phases/phase-one.json";

#[test]
fn a_command_that_never_ends_fails_in_time_and_one_that_is_not_there_is_incomplete() {
    let (project, call) =
        one_step("{type: check, command: [sh, -c, 'echo begun; sleep 600'], timeout_seconds: 0.5}");
    call.expect(1);
    let step = &json(&project, ONE)["steps"][0];
    assert_eq!(step["status"], "failed");
    assert!(
        step["reason"]
            .as_str()
            .expect("a reason")
            .contains("did not end within 0.5 s"),
        "{step}"
    );
    assert_eq!(step["output_tail"], "begun");
    let (project, call) = one_step("{type: implement, command: [no-such-program-anywhere]}");
    call.expect(3);
    assert_eq!(json(&project, ONE)["steps"][0]["status"], "incomplete");
}

#[test]
fn errored_and_pending_samples_have_codes_of_their_own_and_can_be_softened() {
    let suite = |target: &str, grader: &str| {
        format!(
            "eval_suite:\n  name: s\n  target: {target}\n  evals:\n    - {{id: a, name: n, description: d, category: c, \
             input: {{type: prompt, content: x}}, expected: {{type: exact, value: x}}, grader: {grader}}}\n"
        )
    };
    let exact = "{type: code, config: {method: exact_match}}";
    let table = [
        ("{type: echo}", exact, "passed", 0),
        (
            "{type: command, command: ['false']}",
            exact,
            "incomplete",
            3,
        ),
        ("{type: echo}", "{type: human}", "pending", 4),
        (
            "{type: command, command: [echo, other]}",
            exact,
            "failed",
            1,
        ),
    ];
    for (target, grader, status, code) in table {
        for (blocking, code) in [(true, code), (false, 0)] {
            let plan = format!(
                "phase:\n  id: one\n  name: One\n  steps:\n    - {{type: eval, config: {{suite: s.yaml, blocking: {blocking}}}}}\n"
            );
            let project =
                Project::with(&[("s.yaml", &suite(target, grader)), ("plan.yaml", &plan)]);
            project.call(&["phase", "--plan", "plan.yaml"]).expect(code);
            let report = json(&project, ONE);
            assert_eq!(
                (statuses(&report), &report["gate"]["exit_code"]),
                (vec![status], &code.into())
            );
        }
    }
}

#[test]
fn a_base_must_be_there_when_somebody_asks_for_one() {
    let plan = PLAN.replace("  steps:", "  base: mian\n  steps:");
    let project = project(&[("plan.yaml", &plan)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert_eq!(
        call.stderr,
        "error: the changes since `mian` are unknown: `mian` is not a revision of this repository\nhint: did you mean `main`?\n"
    );
    assert!(!project.path().join("results").exists());
    project
        .call(&["phase", "--plan", "plan.yaml", "--base", "main"])
        .expect(0);
    assert_eq!(json(&project, REPORT)["implementation"]["base"], "main");

    let files = [
        ("evals/auth-capability.yaml", SUITE),
        ("plan.yaml", PLAN),
        ("tests.sh", TESTS_PASS),
    ];
    let bare = Project::with(&files);
    std::fs::remove_dir(bare.path().join(".git")).expect("a folder");
    bare.write("evals/outputs.jsonl", &outputs(FIXED));
    // Nobody asked: the report lacks that part.
    bare.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    // Without git the folder of the suite is its project.
    let report = json(&bare, &format!("evals/{REPORT}"));
    assert_eq!(report["implementation"], Value::Null);
    bare.call(&["phase", "--plan", "plan.yaml", "--base", "main"])
        .expect(2);
}

#[test]
fn what_changed_since_the_phase_began_is_told_without_what_it_writes_itself() {
    let project = project(&[]);
    project.write("src/auth.py", "a\nb\n");
    let plan = PLAN.replace(
        "[\"sh\", \"tests.sh\"]",
        "[sh, -c, 'git add -A && git -c user.name=t -c user.email=t@e commit -qm x; sh tests.sh']",
    );
    project.write("plan.yaml", &plan);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let report = json(&project, REPORT);
    let changed = &report["implementation"];
    // A step that commits does not move the base.
    assert_eq!(
        (&changed["base"], &changed["files_modified"]),
        (&"HEAD".into(), &3.into()),
        "{changed}"
    );
    let paths: Vec<&str> = changed["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|f| f["path"].as_str())
        .collect();
    assert_eq!(paths, ["plan.yaml", "released", "src/auth.py"]);
}

#[test]
fn reports_lie_where_they_may_and_are_tried_before_anything_runs() {
    let plan = PLAN.replace("  steps:", "  report_path: \"../phase.md\"\n  steps:");
    let project = project(&[("plan.yaml", &plan)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(
        call.stderr.contains("`../phase.md` is outside the project"),
        "{}",
        call.stderr
    );
    // A folder that can't be made: a file is in its place.
    let plan = PLAN.replace("  steps:", "  report_path: \"tests.sh/phase.md\"\n  steps:");
    project.write("plan.yaml", &plan);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(
        call.stderr.contains("cannot write the phase report to "),
        "{}",
        call.stderr
    );
    assert!(!project.path().join("released").exists() && !project.path().join("results").exists());
    project
        .call(&["phase", "--plan", "plan.yaml", "--output", "kept/report.md"])
        .expect(0);
    assert_eq!(
        names(&project, "kept"),
        ["report.html", "report.json", "report.md"]
    );
}

#[test]
fn the_markdown_report_of_the_same_results_is_the_same() {
    let project = project(&[("evals/outputs.jsonl", &outputs(BROKEN))]);
    let read = || {
        std::fs::read_to_string(project.path().join(REPORT).with_extension("md")).expect("a report")
    };
    project.call(&["phase", "--plan", "plan.yaml"]).expect(1);
    let first = read();
    let shown = project
        .call(&["phase", "--plan", "plan.yaml", "--format", "markdown"])
        .expect(1);
    assert_eq!((&shown.stdout, &read()), (&first, &first));
    let shown = project
        .call(&["phase", "--plan", "plan.yaml", "--format", "json"])
        .expect(1);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(shown["phase_report"], json(&project, REPORT));
    let schema: Value =
        serde_json::from_str(include_str!("../../schemas/phase-report.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults: Vec<String> = validator
        .iter_errors(&shown)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A report in git is read on other machines, and its commands are typed in the project's root.
#[test]
fn paths_of_the_project_are_told_from_its_root() {
    let plan = "phase:
  id: one
  name: One
  steps:
    - {type: test, command: [sh, fails.sh], config: {blocking: false}}
    - {type: eval, config: {suite: ../evals/stable.yaml}}
";
    let suite = "eval_suite:
  name: stable
  evals:
    - {id: reg-a, name: A, current: {input: x, execution: {type: command, command: [echo, hi]}}, comparison: {type: exact}}
";
    let project = project(&[
        ("plans/plan.yaml", plan),
        (
            "plans/fails.sh",
            "echo \"in $(pwd): $(dirname $(pwd))/src/a.rs:3\"; exit 1\n",
        ),
        ("evals/stable.yaml", suite),
    ]);
    let call = project.call(&["phase", "--plan", "plans/plan.yaml"]);
    let page = std::fs::read_to_string(project.path().join("results/phases/phase-one.md"));
    let page = page.unwrap_or_else(|_| panic!("{}\n{}", call.stdout, call.stderr));
    assert!(page.contains("    in plans: src/a.rs:3\n"), "{page}");
    assert!(
        page.contains("baseline capture --suite evals/stable.yaml reg-a"),
        "{page}"
    );
    let root = project.path().to_str().expect("UTF-8");
    assert!(!page.contains(root), "{page}");
}

#[test]
fn a_dry_run_shows_the_steps_and_runs_nothing() {
    let project = project(&[]);
    let shown = project
        .call(&["phase", "--plan", "plan.yaml", "--dry-run"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains("Step 2 of 4: Run unit tests (test): `sh tests.sh` in "),
        "{shown}"
    );
    assert!(shown.contains("needs    pass rate >= 0.900"), "{shown}");
    assert_eq!(names(&project, ".").len(), 4, "{:?}", names(&project, "."));
}

#[test]
fn variable_of_another_suite_leaves_a_step_complete() {
    let project = project(&[]);
    // The suite is loaded again after the tests, and does not read the variable.
    project
        .call(&["phase", "--plan", "plan.yaml", "--var", "place=x"])
        .expect(0);
    assert_eq!(
        statuses(&json(&project, REPORT)),
        ["not_checked", "passed", "passed", "passed"]
    );
}

#[test]
fn a_suite_that_a_command_breaks_is_wrong_and_the_report_is_written() {
    let plan = PLAN.replace("blocking: true", "blocking: false");
    let project = project(&[
        ("plan.yaml", &plan),
        (
            "tests.sh",
            "echo 'eval_suite: {name: x}' > evals/auth-capability.yaml\n",
        ),
    ]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    let report = json(&project, REPORT);
    assert_eq!(
        (statuses(&report), &report["gate"]["exit_code"]),
        (
            vec!["not_checked", "passed", "incomplete", "passed"],
            &2.into()
        )
    );
    let reason = report["steps"][2]["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("the suite changed since the phase began, and now has "),
        "{reason}"
    );
}

#[test]
fn what_a_command_wrote_is_what_is_judged() {
    let script = format!(
        "cat > evals/outputs.jsonl <<'END'\n{}END\n{TESTS_PASS}",
        outputs(FIXED)
    );
    let project = project(&[
        ("evals/outputs.jsonl", &outputs(BROKEN)),
        ("tests.sh", &script),
    ]);
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
}

#[test]
fn a_suite_that_a_command_eases_is_told() {
    let script = format!("sed -i '/cap-auth-003/,$d' evals/auth-capability.yaml\n{TESTS_PASS}");
    let project = project(&[
        ("evals/outputs.jsonl", &outputs(BROKEN)),
        ("tests.sh", &script),
    ]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    let note = "`./evals/auth-capability.yaml` changed while the phase ran; its new version was judged: 1 case removed";
    assert!(call.stderr.contains(note), "{}", call.stderr);
    assert_eq!(json(&project, REPORT)["notes"][0], note);
    // What only grew is nobody's loss.
    let more = SUITE.lines().last().expect("a line");
    let expected = SUITE
        .rsplit_once("    - {id")
        .map_or("", |(_, last)| last)
        .replace("003", "004");
    assert!(expected.contains(more));
    let grown =
        format!("cat >> evals/auth-capability.yaml <<'END'\n    - {{id{expected}END\n{TESTS_PASS}");
    let project = self::project(&[("tests.sh", &grown)]);
    let call = project.call(&["phase", "--plan", "plan.yaml"]);
    assert!(!call.stderr.contains("changed during"), "{}", call.stderr);
    let report = json(&project, REPORT);
    assert_eq!(
        report["steps"][2]["eval"]["eval_report"]["summary"]["total_evals"],
        4
    );
}

#[test]
fn files_of_the_authors_are_never_replaced_by_a_report() {
    let project = project(&[("package.json", "{\"name\": \"theirs\"}\n")]);
    for words in [
        ["--output", "evals/auth-capability.yaml"],
        ["--output", "plan.yaml"],
        // The JSON report lies beside the Markdown.
        ["--output", "package.md"],
        ["--comment", "tests.sh"],
        [
            "--comment",
            "results/phases/phase-implement-user-authentication.md",
        ],
        ["--comment", "no-folder/c.md"],
        ["--comment", "/dev/null"],
        ["--output-dir", "tests.sh"],
    ] {
        let call = project
            .call(&["phase", "--plan", "plan.yaml", words[0], words[1]])
            .expect(2);
        assert!(
            call.stderr.contains("cannot write "),
            "{words:?}: {}",
            call.stderr
        );
        assert!(
            !project.path().join("released").exists(),
            "{words:?}: a step ran"
        );
    }
    let changed = Command::new("git")
        .arg("-C")
        .arg(project.path())
        .args(["diff", "--name-only"])
        .output();
    assert_eq!(String::from_utf8_lossy(&changed.expect("git").stdout), "");
    // Twice: an earlier report and an earlier comment may go.
    for _ in 0..2 {
        let words = [
            "phase",
            "--plan",
            "plan.yaml",
            "-o",
            "r.json",
            "--comment",
            "c.md",
        ];
        project.call(&words).expect(0);
        // Neither is a part of the implementation.
        let said = std::fs::read_to_string(project.path().join("r.md")).expect("a report");
        assert!(
            !said.contains("| c.md |") && !said.contains("| r.json |"),
            "{said}"
        );
    }
}

#[test]
fn a_report_that_can_no_longer_be_written_is_no_pass_anywhere() {
    let plan = "phase:\n  id: one\n  name: One\n  archive_results: true\n  steps:\n    - {type: check, command: [sh, -c, 'rm -r kept; touch kept']}\n";
    let project = project(&[("plan.yaml", plan)]);
    let words = [
        "phase",
        "--plan",
        "plan.yaml",
        "-o",
        "kept/r.md",
        "--format",
        "json",
    ];
    let mut command = project.command(&words);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_OUTPUT", "said.txt");
    let call = Call::of(command.output().expect("the program starts")).expect(3);
    assert!(
        call.stderr.contains("cannot write the phase report to "),
        "{}",
        call.stderr
    );
    let shown: Value = serde_json::from_str(&call.stdout).expect("JSON");
    let gate = &shown["phase_report"]["gate"];
    assert_eq!(
        (&gate["decision"], &gate["exit_code"]),
        (&"incomplete".into(), &3.into())
    );
    let said = std::fs::read_to_string(project.path().join("said.txt")).expect("outputs");
    assert!(
        said.starts_with("decision=incomplete\nexit_code=3\n"),
        "{said}"
    );
    assert!(!project.path().join("results/archive").exists());
}

/// A run of a phase that goes on with `run --resume` is held to what the phase asked.
#[test]
fn a_run_of_a_phase_that_is_resumed_keeps_its_demands() {
    for (thresholds, kept) in [
        (
            "{pass_rate: {min: 0.9, bound: lower}}",
            "pass_rate>=0.9@lower",
        ),
        ("{pass_rate: 0.7, max_regressions: 0}", "pass_rate=0.7"),
        ("{pass_rate: {min: 0.7, max: 0.9}}", "pass_rate<=0.9"),
    ] {
        let plan = format!(
            "phase:\n  id: one\n  name: One\n  steps:\n    - type: eval\n      config: {{suite: evals/auth-capability.yaml, thresholds: {thresholds}}}\n"
        );
        let project = project(&[("plan.yaml", &plan)]);
        let code = project.call(&["phase", "--plan", "plan.yaml"]).code;
        let gate = project.report()["gate"].clone();
        let journal = std::fs::read_to_string(project.result(".journal.jsonl")).expect("a journal");
        assert!(
            journal.contains(&format!("\"{kept}\"")),
            "{thresholds}: {journal}"
        );
        let again = project.call(&["run", "--resume", "latest"]);
        assert_eq!(
            (again.code, &project.report()["gate"]),
            (code, &gate),
            "{thresholds}: {}",
            again.stderr
        );
    }
}

/// `phase --var` is for the suites of all steps; the run of each has those that its suite reads.
#[test]
fn a_run_of_a_phase_is_resumed_without_variables_of_other_suites() {
    let suite = |input: &str| {
        format!(
            "eval_suite:\n  name: S\n  target: {{type: echo}}\n  evals: [{{id: a, input: {input}, expected: x}}]\n"
        )
    };
    let project = project(&[
        ("reads.yaml", &suite("\"{{ place }}\"")),
        ("plain.yaml", &suite("x")),
        (
            "plan.yaml",
            "phase:\n  id: two\n  name: Two\n  steps:\n    - {type: eval, config: {suite: reads.yaml}}\n    \
             - {type: eval, config: {suite: plain.yaml}}\n",
        ),
    ]);
    project
        .call(&["phase", "--plan", "plan.yaml", "--var", "place=x"])
        .expect(0);
    let arguments = |suite: &str| {
        let folder = project.path().join("results/latest");
        let files = std::fs::read_dir(folder)
            .expect("results")
            .map(|entry| entry.expect("a file").path());
        let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
        let mut starts =
            texts.filter_map(|text| serde_json::from_str::<Value>(text.lines().next()?).ok());
        let start = starts
            .find(|start| start["run_started"]["suite_path"] == suite)
            .expect("a run");
        start["run_started"]["arguments"].to_string()
    };
    assert!(
        arguments("reads.yaml").contains("place=x"),
        "{}",
        arguments("reads.yaml")
    );
    assert!(
        !arguments("plain.yaml").contains("place=x"),
        "{}",
        arguments("plain.yaml")
    );
    // The run of the last step.
    project.call(&["run", "--resume", "latest"]).expect(0);
}

#[test]
fn an_archive_never_follows_a_link_and_leaves_the_gate_alone() {
    let project = project(&[("trigger.yaml", TRIGGER)]);
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(project.path().join("results")).expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), project.path().join("results/archive"))
        .expect("a link");
    let call = project.call(&TRIGGERED).expect(0);
    assert!(
        call.stderr.contains("warning: cannot archive to "),
        "{}",
        call.stderr
    );
    let notes = json(&project, "eval-results/phase-2%2Fa.json")["notes"].to_string();
    assert!(notes.contains("it is a link or a file"), "{notes}");
    assert_eq!(elsewhere.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn channels_are_told_of_what_did_not_pass() {
    let told = "  notify: [{type: command, command: [sh, -c, 'cat > ../told.json']}]\n";
    let suite = SUITE.replace("  target:", &format!("{told}  target:"));
    let trigger = TRIGGER.replace("action: \"block\"", "action: warn\n    notification: true");
    let project = project(&[
        ("evals/auth-capability.yaml", &suite),
        ("trigger.yaml", &trigger),
    ]);
    project.call(&TRIGGERED).expect(0);
    assert!(!project.path().join("told.json").exists(), "it passed");
    project.write("evals/outputs.jsonl", &outputs(BROKEN));
    project.call(&TRIGGERED).expect(0);
    let message = std::fs::read_to_string(project.path().join("told.json")).expect("a message");
    let message: Value = serde_json::from_str(&message).expect("JSON");
    assert_eq!(
        (&message["decision"], &message["report"]),
        (&"fail".into(), &"eval-results/phase-2%2Fa.md".into())
    );

    let broken = suite.replace("cat > ../told.json", "exit 7");
    project.write("evals/auth-capability.yaml", &broken);
    let call = project.call(&TRIGGERED).expect(0);
    assert!(call.stderr.contains("warning: notify: "), "{}", call.stderr);
    assert_eq!(
        json(&project, "eval-results/phase-2%2Fa.json")["notes"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_secret_of_the_suite_that_a_command_prints_is_in_no_report() {
    let suite = SUITE.replace("  target:", "  env: [PHASE_SECRET]\n  target:");
    let script = "echo \"token $PHASE_SECRET\"\nexit 1\n";
    let project = project(&[("evals/auth-capability.yaml", &suite), ("tests.sh", script)]);
    let mut command = project.command(&["phase", "--plan", "plan.yaml"]);
    let call = Call::of(
        command
            .env("PHASE_SECRET", "hush-hush-hush")
            .output()
            .expect("the program starts"),
    );
    let call = call.expect(1);
    for text in ["json", "md"] {
        let path = project.path().join(REPORT).with_extension(text);
        let report = std::fs::read_to_string(path).expect("a report");
        assert!(
            report.contains("token ") && !report.contains("hush"),
            "{report}"
        );
    }
    assert!(!call.stdout.contains("hush") && !call.stderr.contains("hush"));
}

#[test]
fn an_interrupted_phase_ends_what_runs_and_writes_its_report() {
    let plan = PLAN.replace("\"tests.sh\"]", "\"-c\", \"touch begun; sleep 600\"]");
    let project = project(&[("plan.yaml", &plan)]);
    let mut command = project.command(&["phase", "--plan", "plan.yaml"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let child = child.expect("the program starts");
    eventually("the command begins", || {
        project.path().join("begun").exists()
    });
    let done = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(done.success());
    Call::of(child.wait_with_output().expect("its end")).expect(130);
    let report = json(&project, REPORT);
    assert_eq!(
        statuses(&report),
        ["not_checked", "incomplete", "not_reached", "not_reached"]
    );
    assert_eq!(
        (&report["gate"]["interrupted"], &report["gate"]["exit_code"]),
        (&true.into(), &130.into())
    );
}

#[test]
fn a_pass_of_yesterday_does_not_speak_for_a_phase_that_was_killed() {
    let project = project(&[]);
    Call::of(
        project
            .command(&["phase", "--plan", "plan.yaml"])
            .output()
            .expect("the program"),
    )
    .expect(0);
    assert_eq!(json(&project, REPORT)["gate"]["decision"], "pass");
    project.write("tests.sh", "touch begun; exec sleep 600\n");
    let mut command = project.command(&["phase", "--plan", "plan.yaml"]);
    let quiet = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = quiet.spawn().expect("the program starts");
    eventually("the command begins", || {
        project.path().join("begun").exists()
    });
    child.kill().expect("killed");
    child.wait().expect("its end");
    let report = json(&project, REPORT);
    assert_eq!(
        (&report["gate"]["decision"], &report["gate"]["exit_code"]),
        (&"incomplete".into(), &3.into())
    );
    assert_eq!(statuses(&report), ["not_reached"; 4]);
    let page = std::fs::read_to_string(project.path().join(REPORT)).expect("a report");
    assert!(
        page.contains("has not finished") && !page.contains("PASS"),
        "{page}"
    );
}

/// A text without what differs from run to run.
fn steady(project: &Project, text: &str) -> String {
    let root = project
        .path()
        .canonicalize()
        .expect("a folder")
        .display()
        .to_string();
    let mut text = text.replace(&root, "[root]");
    let patterns = [
        (r"\b[0-9a-f]{40}\b", "[commit]"),
        (r"\b[0-9a-f]{7,12}\b", "[commit]"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]"),
        (r"eval-\d{8}-\d{6}(-\d+)?", "[run]"),
        (
            r"results/\d{4}-\d\d-\d\d/run-\d{6}(-\d+)?",
            "results/[day]/[run]",
        ),
        (r"\b\d+(\.\d+)? m?s\b", "[time taken]"),
        (r"(?m) +$", ""),
    ];
    for (pattern, name) in patterns {
        text = regex::Regex::new(pattern)
            .expect("a pattern")
            .replace_all(&text, name)
            .into_owned();
    }
    text
}

/// The scenario of the seeds, from `--base` to its reports: tests pass, a session never ends, and
/// then it does.
#[test]
fn every_report_of_the_seeds_scenario() {
    let project = project(&[("evals/outputs.jsonl", &outputs(BROKEN))]);
    project.write("src/session.py", "timeout = None\n");
    let phase = ["phase", "--plan", "plan.yaml", "--base", "main"];
    let markdown = || {
        let text = std::fs::read_to_string(project.path().join(REPORT).with_extension("md"))
            .expect("a report");
        steady(&project, &text)
    };
    let shown = project.call(&phase).expect(1);
    assert_snapshot!(markdown(), @r#"
    ## Phase Completion Report

    ❌ **FAIL**: Implement user authentication (`implement-user-authentication`)

    - Run capability evals failed: pass rate is 0.667, but at least 0.9 is required: 2 of 3 evals passed; 1 more would have met it

    ### Implementation Summary

    - Files modified: 1
    - Lines added: 1
    - Lines removed: 0

    Counted since `main` (commit `[commit]`), uncommitted changes included.

    <details><summary>Files</summary>

    | File | Added | Removed |
    | --- | ---: | ---: |
    | src/session.py | 1 | 0 |

    </details>

    ### Test Results

    - Run unit tests: 45/45 passed

    ### Other Steps

    - [ ] Build authentication logic (implement): not checked: nothing was run for it
    - [ ] Release (check): not reached: the phase ended before it
      - Reason: Run capability evals did not pass

    ### Eval Results

    ❌ `./evals/auth-capability.yaml`: **FAIL**

    | Metric | Value | 95 % CI | Threshold | Status |
    | --- | ---: | --- | --- | --- |
    | pass rate | 0.667 | [0.126, 0.981] | >= 0.90 | FAIL |
    | pass@1 | 0.667 | [0.126, 0.981] | - | - |
    | pass^3 | 0.667 | [0.126, 0.981] | - | - |

    Intervals are for cases like these, in these evals.

    #### Capability Evals (2/3 passed)

    - [x] cap-auth-001: Login flow
    - [x] cap-auth-002: Token refresh
    - [ ] cap-auth-003: Session timeout (FAILED)
      - Reason: expected "Session expires after 30 min", got "Session persists indefinitely"
      - Expected: `Session expires after 30 min`
      - Actual: `Session persists indefinitely`

    ### Recommendations

    1. Fix Session timeout (cap-auth-003): 3 samples failed: expected "Session expires after 30 min", got "Session persists indefinitely"
    2. Do not rely on small differences between these figures: with 9 samples graded the intervals are wide
    "#);
    assert_snapshot!(steady(&project, &shown.stdout), @r#"
    Phase: Implement user authentication (implement-user-authentication)
      plan.yaml · [time taken] · 1 file since main: +1 -0

      Step                          Kind       Status       Counts
      ○ Build authentication logic  implement  not checked
      ✓ Run unit tests              test       passed       45/45 tests
      ✗ Run capability evals        eval       failed       2/3 evals
      – Release                     check      not reached

    Run capability evals  Value  95 % CI         Threshold  Status
      pass rate           0.667  [0.126, 0.981]  >= 0.90    FAIL
      pass@1              0.667  [0.126, 0.981]  -          -
      pass^3              0.667  [0.126, 0.981]  -          -
      Intervals are for cases like these, in these evals.
      ✗ cap-auth-003: Session timeout (FAILED)
        Reason  expected "Session expires after 30 min", got "Session persists
                indefinitely"
        expected  Session expires after 30 min
        actual    Session persists indefinitely

    Release
      Reason  Run capability evals did not pass

    Recommendations
      1. Fix Session timeout (cap-auth-003): 3 samples failed: expected "Session
         expires after 30 min", got "Session persists indefinitely"
      2. Do not rely on small differences between these figures: with 9 samples
         graded the intervals are wide

    GATE FAIL: Run capability evals failed: pass rate is 0.667, but at least 0.9 is
      required: 2 of 3 evals passed; 1 more would have met it
    reports  results/[day]/[run].json
             results/[day]/[run].md
             results/phases/phase-implement-user-authentication.md
             results/phases/phase-implement-user-authentication.json
             results/phases/phase-implement-user-authentication.html
    "#);
    let mut report = json(&project, REPORT);
    report["steps"][2]["eval"]["eval_report"] = "[the run]".into();
    report["metadata"]["duration_seconds"] = "[duration]".into();
    report["steps"]
        .as_array_mut()
        .expect("steps")
        .iter_mut()
        .for_each(|step| step["duration_seconds"] = "[duration]".into());
    assert_snapshot!(steady(&project, &format!("{report:#}")), @r#"
    {
      "gate": {
        "decision": "fail",
        "exit_code": 1,
        "reasons": [
          "Run capability evals failed: pass rate is 0.667, but at least 0.9 is required: 2 of 3 evals passed; 1 more would have met it"
        ]
      },
      "implementation": {
        "base": "main",
        "base_commit": "[commit]",
        "files": [
          {
            "added": 1,
            "path": "src/session.py",
            "removed": 0
          }
        ],
        "files_modified": 1,
        "lines_added": 1,
        "lines_removed": 0
      },
      "metadata": {
        "description": null,
        "duration_seconds": "[duration]",
        "file": "plan.yaml",
        "git": {
          "commit": "[commit]",
          "dirty": false
        },
        "harness_version": "0.1.0",
        "name": "Implement user authentication",
        "phase_id": "implement-user-authentication",
        "timestamp": "[time]",
        "when": null
      },
      "recommendations": [
        "Fix Session timeout (cap-auth-003): 3 samples failed: expected \"Session expires after 30 min\", got \"Session persists indefinitely\"",
        "Do not rely on small differences between these figures: with 9 samples graded the intervals are wide"
      ],
      "steps": [
        {
          "action": "block",
          "duration_seconds": "[duration]",
          "name": "Build authentication logic",
          "status": "not_checked",
          "type": "implement"
        },
        {
          "action": "block",
          "duration_seconds": "[duration]",
          "exit_code": 0,
          "name": "Run unit tests",
          "status": "passed",
          "tests": {
            "failed": 0,
            "passed": 45,
            "skipped": 0,
            "source": "pytest",
            "total": 45
          },
          "type": "test"
        },
        {
          "action": "block",
          "duration_seconds": "[duration]",
          "eval": {
            "eval_report": "[the run]",
            "journal": "results/[day]/[run].journal.jsonl",
            "metrics": [
              "pass_at_1",
              "pass_hat_3"
            ],
            "suite": "./evals/auth-capability.yaml"
          },
          "name": "Run capability evals",
          "reason": "pass rate is 0.667, but at least 0.9 is required: 2 of 3 evals passed; 1 more would have met it",
          "status": "failed",
          "type": "eval"
        },
        {
          "action": "block",
          "duration_seconds": "[duration]",
          "name": "Release",
          "reason": "Run capability evals did not pass",
          "status": "not_reached",
          "type": "check"
        }
      ]
    }
    "#);

    project.write(
        "plan.yaml",
        &PLAN.replace("blocking: true", "blocking: false"),
    );
    project.call(&phase).expect(0);
    assert_snapshot!(markdown(), @r#"
    ## Phase Completion Report

    ✅ **PASS**: Implement user authentication (`implement-user-authentication`)

    - Run capability evals failed (this does not block): pass rate is 0.667, but at least 0.9 is required: 2 of 3 evals passed; 1 more would have met it

    ### Implementation Summary

    - Files modified: 3
    - Lines added: 2
    - Lines removed: 1

    Counted since `main` (commit `[commit]`), uncommitted changes included.

    <details><summary>Files</summary>

    | File | Added | Removed |
    | --- | ---: | ---: |
    | plan.yaml | 1 | 1 |
    | released | 0 | 0 |
    | src/session.py | 1 | 0 |

    </details>

    ### Test Results

    - Run unit tests: 45/45 passed

    ### Other Steps

    - [ ] Build authentication logic (implement): not checked: nothing was run for it
    - [x] Release (check): passed

    ### Eval Results

    ❌ `./evals/auth-capability.yaml`: **FAIL**, which does not block

    | Metric | Value | 95 % CI | Threshold | Status |
    | --- | ---: | --- | --- | --- |
    | pass rate | 0.667 | [0.126, 0.981] | >= 0.90 | FAIL |
    | pass@1 | 0.667 | [0.126, 0.981] | - | - |
    | pass^3 | 0.667 | [0.126, 0.981] | - | - |

    Intervals are for cases like these, in these evals.

    #### Capability Evals (2/3 passed)

    - [x] cap-auth-001: Login flow
    - [x] cap-auth-002: Token refresh
    - [ ] cap-auth-003: Session timeout (FAILED)
      - Reason: expected "Session expires after 30 min", got "Session persists indefinitely"
      - Expected: `Session expires after 30 min`
      - Actual: `Session persists indefinitely`

    ### Recommendations

    1. Fix Session timeout (cap-auth-003): 3 samples failed: expected "Session expires after 30 min", got "Session persists indefinitely"
    2. Do not rely on small differences between these figures: with 9 samples graded the intervals are wide
    "#);

    project.write("plan.yaml", PLAN);
    project.write("evals/outputs.jsonl", &outputs(FIXED));
    project.write("src/session.py", "timeout = 30 * 60\n");
    let shown = project.call(&phase).expect(0);
    assert_snapshot!(markdown(), @"
    ## Phase Completion Report

    ✅ **PASS**: Implement user authentication (`implement-user-authentication`)

    ### Implementation Summary

    - Files modified: 3
    - Lines added: 4
    - Lines removed: 3

    Counted since `main` (commit `[commit]`), uncommitted changes included.

    <details><summary>Files</summary>

    | File | Added | Removed |
    | --- | ---: | ---: |
    | evals/outputs.jsonl | 3 | 3 |
    | released | 0 | 0 |
    | src/session.py | 1 | 0 |

    </details>

    ### Test Results

    - Run unit tests: 45/45 passed

    ### Other Steps

    - [ ] Build authentication logic (implement): not checked: nothing was run for it
    - [x] Release (check): passed

    ### Eval Results

    ✅ `./evals/auth-capability.yaml`: **PASS**

    | Metric | Value | 95 % CI | Threshold | Status |
    | --- | ---: | --- | --- | --- |
    | pass rate | 1.00 | [0.342, 1.000] | >= 0.90 | PASS |
    | pass@1 | 1.00 | [0.342, 1.000] | - | - |
    | pass^3 | 1.00 | [0.342, 1.000] | - | - |

    Intervals are for cases like these, in these evals.

    #### Capability Evals (3/3 passed)

    - [x] cap-auth-001: Login flow
    - [x] cap-auth-002: Token refresh
    - [x] cap-auth-003: Session timeout

    ### Recommendations

    1. Do not rely on small differences between these figures: with 9 samples graded the intervals are wide
    ");
    assert_snapshot!(steady(&project, &shown.stdout), @"
    Phase: Implement user authentication (implement-user-authentication)
      plan.yaml · [time taken] · 3 files since main: +4 -3

      Step                          Kind       Status       Counts
      ○ Build authentication logic  implement  not checked
      ✓ Run unit tests              test       passed       45/45 tests
      ✓ Run capability evals        eval       passed       3/3 evals
      ✓ Release                     check      passed

    Run capability evals  Value  95 % CI         Threshold  Status
      pass rate            1.00  [0.342, 1.000]  >= 0.90    PASS
      pass@1               1.00  [0.342, 1.000]  -          -
      pass^3               1.00  [0.342, 1.000]  -          -
      Intervals are for cases like these, in these evals.

    Recommendations
      1. Do not rely on small differences between these figures: with 9 samples
         graded the intervals are wide

    GATE PASS
    reports  results/[day]/[run].json
             results/[day]/[run].md
             results/phases/phase-implement-user-authentication.md
             results/phases/phase-implement-user-authentication.json
             results/phases/phase-implement-user-authentication.html
    ");
}
