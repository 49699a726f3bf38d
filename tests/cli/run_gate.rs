//! Whole runs through the built program: outcomes, gates and exit codes.

use crate::support::{Call, Project, eventually};

const SUITE: &str = r#"
eval_suite:
  name: Gate
  evals:
    - $ref: cases.yaml
  target: {type: recorded, path: outputs.jsonl}
"#;

const CASES: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-1, name: Reversal, category: strings, tags: [basic]}
test_cases:
  - {id: a, input: "Reverse: abc", expected: {type: exact, value: cba}}
  - {id: b, input: "Reverse: xyz", expected: {type: exact, value: zyx}}
"#;

fn project(outputs: &str) -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", CASES),
        ("outputs.jsonl", outputs),
    ])
}

const GOOD: &str =
    "{\"case\": \"a\", \"output\": \"cba\"}\n{\"case\": \"b\", \"output\": \"zyx\\n\"}\n";
const BAD: &str =
    "{\"case\": \"a\", \"output\": \"cba\"}\n{\"case\": \"b\", \"output\": \"xyz\"}\n";
const HALF: &str = "{\"case\": \"a\", \"output\": \"cba\"}\n";

#[test]
fn all_right_is_exit_0() {
    let project = project(GOOD);
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    assert!(call.stdout.contains("GATE PASS"), "{}", call.stdout);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["passed"], 2);
    assert_eq!(report["gate"]["decision"], "pass");
}

#[test]
fn a_suite_without_its_option_gets_a_tip() {
    let project = Project::with(&[("suite.yaml", "eval_suite: {name: s}\n")]);
    let call = project.call(&["run", "suite.yaml"]).expect(2);
    let tip = "tip: to use the suite 'suite.yaml', write '--suite suite.yaml'";
    assert!(call.stderr.contains(tip), "{}", call.stderr);
    let call = project.call(&["run", "suite"]).expect(2);
    assert!(!call.stderr.contains("--suite"), "{}", call.stderr);
}

#[test]
fn a_wrong_answer_is_exit_1_with_what_was_expected() {
    let project = project(BAD);
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    assert!(call.stdout.contains("GATE FAIL"), "{}", call.stdout);
    let failure = &project.report()["failures"][0];
    assert_eq!(failure["case_id"], "b");
    assert_eq!(failure["cause"], "wrong_answer");
    assert_eq!(failure["expected"], "zyx");
    assert_eq!(failure["actual"], "xyz");
}

#[test]
fn a_missing_output_is_errored_and_exit_3() {
    let project = project(HALF);
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    assert!(call.stdout.contains("INCOMPLETE"), "{}", call.stdout);
    let report = project.report();
    assert_eq!(report["summary"]["by_cause"]["missing_output"], 1);
    assert_eq!(report["metrics"]["pass_at_1"].as_f64(), Some(1.0));
    assert_eq!(
        report["estimates"]["pass_at_1"]["worst"].as_f64(),
        Some(0.5)
    );
    // Half of the cases may yet fail: a threshold that both extremes meet passes, one between them
    // does not.
    project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@1=0.5"])
        .expect(0);
    project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@1=0.6"])
        .expect(3);
}

#[test]
fn thresholds_decide_and_failed_evals_are_listed() {
    let project = project(BAD);
    project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@1=0.5"])
        .expect(0);
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@1=0.51"])
        .expect(1);
    assert!(call.stdout.contains("0.51"), "{}", call.stdout);
}

/// Thresholds that are met though every eval fails: warned of, and not enough where all evals are
/// required.
#[test]
fn thresholds_that_do_not_see_failing_evals_are_warned_of() {
    let suite = |require: &str| {
        format!(
            "eval_suite:\n  name: Trap\n  target: {{type: echo}}\n  thresholds: {{errored_samples: 0{require}}}\n  reporting: {{format: [json, markdown, html, junit]}}\n  \
             evals:\n    - {{id: e1, input: x, expected: y}}\n    - {{id: e2, input: x, expected: y}}\n"
        )
    };
    let trap = Project::with(&[("suite.yaml", &suite(""))]);
    let warning = "the gate can pass although all 2 capability evals fail";
    let run = ["run", "--suite", "suite.yaml", "--progress", "none"];
    for (args, code) in [(&["validate", "suite.yaml"][..], 0), (&run, 0)] {
        let call = trap.call(args).expect(code);
        let said = format!("{}{}", call.stdout, call.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(warning) && said.contains("`require: all_evals`"),
            "{said}"
        );
    }
    let required = Project::with(&[("suite.yaml", &suite(", require: all_evals"))]);
    let call = required.call(&["validate", "suite.yaml"]).expect(0);
    assert!(
        !format!("{}{}", call.stdout, call.stderr).contains("the gate can pass"),
        "{}",
        call.stdout
    );
    let shown = required.call(&run).expect(1).stdout;
    assert!(
        shown.contains("all evals") && shown.contains("failed, but `require: all_evals` is set"),
        "{shown}"
    );
    let row = &required.report()["gate"]["thresholds"][1];
    assert_eq!(
        (&row["metric"], row["value"].as_f64(), &row["status"]),
        (&"all_evals".into(), Some(0.0), &"fail".into())
    );
    let read = |ending: &str| std::fs::read_to_string(required.result(ending)).expect("a report");
    assert!(
        read(".md").contains("| all evals | 0.000 | >= 1.000 | ❌ FAIL |"),
        "{}",
        read(".md")
    );
    assert!(read(".html").contains("\"metric\":\"all evals\""));
    assert!(
        read(".junit.xml").contains("threshold.all_evals"),
        "{}",
        read(".junit.xml")
    );
    // From the journal the same.
    let again = required
        .call(&["report", "--run", "latest"])
        .expect(1)
        .stdout;
    assert!(
        again.contains("failed, but `require: all_evals` is set"),
        "{again}"
    );
    trap.call(&[&run[..], &["--threshold", "require=all_evals"]].concat())
        .expect(1);
}

#[test]
fn what_nothing_can_answer_is_exit_2_and_nothing_runs() {
    let project = project(GOOD);
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@3=0.5"])
        .expect(2);
    assert!(call.stderr.contains("pass_at_3"), "{}", call.stderr);
    project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "speed=1"])
        .expect(2);
    project
        .call(&["run", "--suite", "suite.yaml", "--eval", "nope*"])
        .expect(2);
    project.call(&["run", "--suite", "missing.yaml"]).expect(2);
    project.call(&["run", "--unknown-flag"]).expect(2);
    assert!(!project.path().join("results").exists());
}

#[test]
fn several_samples_give_pass_at_k() {
    let mut lines = String::new();
    for output in ["cba", "no", "cba"] {
        lines.push_str(&format!("{{\"case\": \"a\", \"output\": \"{output}\"}}\n"));
        lines.push_str("{\"case\": \"b\", \"output\": \"zyx\"}\n");
    }
    let project = project(&lines);
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--threshold",
            "pass@3=1",
            "--threshold",
            "pass^3=0.6",
        ])
        .expect(0);
    let metrics = &project.report()["metrics"];
    let near = |name: &str, value: f64| {
        let got = metrics[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {metrics}"));
        assert!((got - value).abs() < 1e-12, "{name}: {got}, not {value}");
    };
    near("pass_at_1", (2.0 / 3.0 + 1.0) / 2.0);
    near("pass_at_3", 1.0);
    near("pass_hat_3", ((2.0f64 / 3.0).powi(3) + 1.0) / 2.0);
    near("pass_hat_3_unbiased", 0.5);
}

/// Copied lines of a recording: five cases with three samples each that are the same.
#[test]
fn samples_that_repeat_have_a_notice_in_every_report() {
    let cases = |n: usize| {
        (0..n)
            .map(|at| format!("{{id: c{at}, input: x, expected: y}}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let suite = format!(
        "eval_suite:\n  name: Copies\n  target: {{type: recorded, path: o.jsonl}}\n  config: {{k: [1, 3]}}\n  \
         reporting: {{format: [json, markdown, html, junit]}}\n  evals:\n    - {{metadata: {{id: e}}, test_cases: [{}]}}\n",
        cases(5)
    );
    let lines = |differs: bool| -> String {
        let line = |case: usize, sample: usize| {
            let output = if differs && (case, sample) == (4, 2) {
                "z"
            } else {
                "y"
            };
            format!("{{\"case\": \"c{case}\", \"output\": \"{output}\"}}\n")
        };
        (0..5)
            .flat_map(|case| (0..3).map(move |sample| (case, sample)))
            .map(|(c, s)| line(c, s))
            .collect()
    };
    let project = Project::with(&[("suite.yaml", &suite), ("o.jsonl", &lines(false))]);
    let run = ["run", "--suite", "suite.yaml", "--progress", "none"];
    let notice = "Samples repeat: in all 5 cases with several samples, the outputs are identical";
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = project.call(&run).expect(0).stdout;
    assert!(one_line(&shown).contains(notice), "{shown}");
    assert_eq!(project.report()["summary"]["repeated_cases"], 5);
    for ending in [".md", ".html", ".junit.xml"] {
        let text = std::fs::read_to_string(project.result(ending)).expect("a report");
        assert!(text.contains(notice), "{ending}: {text}");
    }
    // One output of one case that differs, and nothing is said.
    project.write("o.jsonl", &lines(true));
    let shown = project.call(&run).expect(1).stdout;
    assert!(!shown.contains("Samples repeat"), "{shown}");
    assert!(project.report()["summary"].get("repeated_cases").is_none());
}

#[test]
fn empty_outputs_that_pass_have_a_notice() {
    let suite = "eval_suite:\n  name: Silent\n  target: {type: recorded, path: o.jsonl}\n  evals:\n    \
         - {id: a, prompt: x, grader: {type: code, config: {method: contains, must_not_include: [no]}}}\n    \
         - {id: b, prompt: x, grader: {type: code, config: {method: regex, pattern: no, must_match: false}}}\n    \
         - {id: c, prompt: x, expected: \"\"}\n";
    let lines = |text: &str| -> String {
        let line =
            |id: &str, text: &str| format!("{{\"case\": \"{id}\", \"output\": \"{text}\"}}\n");
        [line("a", text), line("b", text), line("c", "")].concat()
    };
    let project = Project::with(&[("suite.yaml", suite), ("o.jsonl", &lines(""))]);
    let run = ["run", "--suite", "suite.yaml", "--progress", "none"];
    let notice = "2 samples passed with an empty output: none of their graders requires text";
    let shown = project.call(&run).expect(0).stdout;
    let one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(notice), "{shown}");
    assert_eq!(project.report()["summary"]["empty_passes"], 2);
    project.write("o.jsonl", &lines("fine"));
    let shown = project.call(&run).expect(0).stdout;
    assert!(!shown.contains("empty output"), "{shown}");
    assert!(project.report()["summary"].get("empty_passes").is_none());
}

#[test]
fn a_report_from_the_journal_is_the_same_to_the_byte() {
    let project = project(BAD);
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--format",
            "json,markdown,junit",
        ])
        .expect(1);
    for (format, ending) in [
        ("json", ".json"),
        ("markdown", ".md"),
        ("junit", ".junit.xml"),
    ] {
        let first = std::fs::read_to_string(project.result(ending)).unwrap();
        let again = project
            .call(&["report", "--run", "latest", "--format", format])
            .expect(1);
        assert_eq!(first, again.stdout, "{format}");
    }
}

#[test]
fn events_are_the_journal_on_stdout() {
    let project = project(GOOD);
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--events"])
        .expect(0);
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    assert_eq!(call.stdout, journal);
}

#[test]
fn failed_in_runs_what_did_not_pass() {
    let project = project(BAD);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    project.write("outputs.jsonl", GOOD);
    project
        .call(&["run", "--suite", "suite.yaml", "--failed-in", "latest"])
        .expect(0);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["total"], 1);
    assert_eq!(report["evals"][0]["cases"][0]["id"], "b");
    let before = project.result(".journal.jsonl");
    for verb in ["run", "list"] {
        let call = project
            .call(&[verb, "--suite", "suite.yaml", "--failed-in", "latest"])
            .expect(0);
        assert!(
            call.stderr
                .contains("passed: there is nothing to run again"),
            "{}",
            call.stderr
        );
        assert_eq!(call.stdout, "");
    }
    assert_eq!(project.result(".journal.jsonl"), before, "nothing ran");
}

#[test]
fn failed_in_with_other_filters_passes_only_what_passed() {
    let project = project(BAD);
    let run = |args: &[&str], code| {
        let fixed = ["run", "--suite", "suite.yaml"];
        project.call(&[&fixed[..], args].concat()).expect(code)
    };
    run(&[], 1);
    let failed = project.report()["metadata"]["run_id"].clone();
    let failed = ["--failed-in", failed.as_str().unwrap()];
    let call = run(&[&failed[..], &["--case", "a"]].concat(), 0);
    assert!(
        call.stderr.contains("every selected case passed in"),
        "{}",
        call.stderr
    );
    // `b` failed, and nothing is called `nobody`.
    run(&[&failed[..], &["--case", "b"]].concat(), 1);
    run(&[&failed[..], &["--case", "nobody"]].concat(), 2);
    // Of a case that the earlier run did not have, nothing is known.
    run(&["--case", "b"], 1);
    let call = run(&["--failed-in", "latest", "--case", "a"], 2);
    assert!(call.stderr.contains("no case matches"), "{}", call.stderr);
}

#[test]
fn failed_in_a_green_run_passes_only_its_own_suite() {
    let project = project(GOOD);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    let again = ["run", "--suite", "suite.yaml", "--failed-in", "latest"];
    project.call(&again).expect(0);
    project
        .call(&[&again[..], &["--eval", "typo*"]].concat())
        .expect(2);
    project.write(
        "other.yaml",
        "eval_suite:\n  name: Other\n  target: {type: echo}\n  evals: [{id: z, input: x, expected: y}]\n",
    );
    let call = project
        .call(&["run", "--suite", "other.yaml", "--failed-in", "latest"])
        .expect(2);
    assert!(call.stderr.contains("not `Other`"), "{}", call.stderr);
    project.write("suite.yaml", "eval_suite: [\n");
    project.call(&again).expect(2);
}

#[test]
fn failed_in_a_run_whose_gate_failed_alone_is_an_error() {
    let suite = "eval_suite:\n  name: Slow\n  target: {type: echo}\n  thresholds: {latency_p95_ms: 0.000001}\n  evals: [{id: a, input: x, expected: x}]\n";
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--failed-in", "latest"])
        .expect(2);
    assert!(
        call.stderr.contains("but its gate did not pass"),
        "{}",
        call.stderr
    );
}

#[test]
fn html_is_pointed_to_where_no_format_is_set() {
    let project = project(GOOD);
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    assert!(
        call.stderr.contains("report --format html"),
        "{}",
        call.stderr
    );
    for more in [&["--format", "json,html"][..], &["--quiet"], &["--events"]] {
        let call = project
            .call(&[&["run", "--suite", "suite.yaml"], more].concat())
            .expect(0);
        assert!(!call.stderr.contains("HTML"), "{}", call.stderr);
    }
}

/// A command that counts its calls in a file and answers right from the third on.
const COUNTING: &str = r#"
eval_suite:
  name: Retries
  config: {retry_failed: true, retry_count: 2}
  evals:
    - {id: e, input: "x", expected: {type: exact, value: right}}
  target:
    type: command
    command: [sh, -c, "echo . >> calls; if [ $(wc -l < calls) -ge 3 ]; then echo right; else echo wrong; fi"]
"#;

#[test]
fn a_retry_makes_a_case_flaky_and_does_not_inflate_pass_at_1() {
    let project = Project::with(&[("suite.yaml", COUNTING)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    let report = project.report();
    assert_eq!(report["evals"][0]["cases"][0]["samples"][0]["attempts"], 3);
    assert_eq!(report["summary"]["flaky"], 1);
    assert_eq!(report["metrics"]["pass_at_1"].as_f64(), Some(0.0));
}

const SLOW: &str = r#"
eval_suite:
  name: Slow
  config: {max_workers: 1}
  evals:
    - {id: first, input: "x", expected: {type: exact, value: x}}
    - {id: second, input: "x", expected: {type: exact, value: x}}
    - {id: third, input: "x", expected: {type: exact, value: x}}
  target:
    type: command
    command: [sh, -c, "touch started; while [ ! -e go ]; do sleep 0.05; done; cat"]
"#;

fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn ctrl_c_once_finishes_what_runs_and_skips_the_rest() {
    let project = Project::with(&[("suite.yaml", SLOW)]);
    let child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut child = child;
    eventually("the first sample starts", || {
        project.path().join("started").exists()
    });
    signal(child.id(), "-INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    project.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = project.report();
    assert_eq!(report["summary"]["passed"], 1);
    assert_eq!(report["summary"]["by_cause"]["interrupted"], 2);
    assert_eq!(report["metadata"]["interrupted"], true);
    assert_eq!(report["gate"]["exit_code"], 130);
}

#[test]
fn ctrl_c_twice_stops_what_runs() {
    let project = Project::with(&[("suite.yaml", SLOW)]);
    let mut child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the first sample starts", || {
        project.path().join("started").exists()
    });
    signal(child.id(), "-INT");
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(project.report()["summary"]["by_cause"]["interrupted"], 3);
}

#[test]
fn a_killed_run_can_still_be_reported() {
    let project = Project::with(&[(
        "suite.yaml",
        &SLOW.replace(
            "touch started;",
            "echo . >> n; [ $(wc -l < n) -lt 2 ] && exec cat; touch started;",
        ),
    )]);
    let mut child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the second sample starts", || {
        project.path().join("started").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    project.write("go", "");
    let call = project
        .call(&["report", "--run", "latest", "--format", "json"])
        .expect(130);
    let report: serde_json::Value = serde_json::from_str(&call.stdout).unwrap();
    assert_eq!(report["eval_report"]["summary"]["passed"], 1);
    assert_eq!(
        report["eval_report"]["summary"]["by_cause"]["interrupted"],
        2
    );
}

#[test]
fn a_run_that_takes_too_long_leaves_the_gate_open() {
    let suite = SLOW.replace("max_workers: 1", "max_workers: 1, timeout_global: 1");
    let project = Project::with(&[("suite.yaml", &suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    assert_eq!(project.report()["summary"]["by_cause"]["global_timeout"], 3);
}

#[test]
fn max_fail_stops_early() {
    let suite = r#"
eval_suite:
  name: Failing
  config: {max_workers: 1}
  evals:
    - {id: e1, input: x, expected: y}
    - {id: e2, input: x, expected: y}
    - {id: e3, input: x, expected: y}
  target: {type: echo}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project
        .call(&["run", "--suite", "suite.yaml", "--max-fail", "2"])
        .expect(1);
    let causes = &project.report()["summary"]["by_cause"];
    assert_eq!(
        (causes["wrong_answer"].as_u64(), causes["max_fail"].as_u64()),
        (Some(2), Some(1))
    );
}

#[test]
fn human_graded_cases_are_pending_and_exit_4() {
    let suite = r#"
eval_suite:
  name: People
  evals:
    - {id: e1, input: x, expected: x}
    - {id: e2, input: x, grader: {type: human, config: {rubric: Is it good?}}}
  target: {type: echo}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(4);
    assert_eq!(project.report()["summary"]["pending"], 1);
}

#[test]
fn secrets_reach_no_file() {
    let suite = r#"
eval_suite:
  name: Secrets
  env: [THE_TOKEN]
  evals:
    - {id: e1, input: "say {{ env.THE_TOKEN }}", expected: x}
  target: {type: echo}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let output = project
        .command(&[
            "run",
            "--suite",
            "suite.yaml",
            "--events",
            "--format",
            "json,markdown,junit",
        ])
        .env("THE_TOKEN", "s3cr\"et-value")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let day = project.path().join("results/latest");
    let mut files = 0;
    for entry in std::fs::read_dir(day).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("et-value"), "{text}");
        files += 1;
    }
    assert_eq!(files, 4);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        !stdout.contains("et-value") && stdout.contains("[redacted]"),
        "{stdout}"
    );
}

#[test]
fn results_that_cannot_be_written_are_exit_2_before_anything_runs() {
    let project = project(GOOD);
    project.write("results", "a file where the folder should be");
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(2);
    assert!(call.stderr.contains("cannot create"), "{}", call.stderr);
}

#[test]
fn a_reader_that_went_away_opens_no_gate() {
    let project = project(BAD);
    let code = |args: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        project
            .command(args)
            .stdout(writer)
            .status()
            .unwrap()
            .code()
    };
    assert_eq!(code(&["run", "--suite", "suite.yaml"]), Some(1));
    assert_eq!(code(&["run", "--suite", "suite.yaml", "--quiet"]), Some(1));
    assert_eq!(code(&["run", "--suite", "suite.yaml", "--events"]), Some(1));
    assert_eq!(
        code(&["report", "--run", "latest", "--format", "json"]),
        Some(1)
    );
    project.write("broken.yaml", "eval_suite: {evals: 7}\n");
    assert_eq!(code(&["validate", "broken.yaml"]), Some(2));
    assert_eq!(code(&["list", "--suite", "suite.yaml"]), Some(0));
}

#[test]
fn reports_that_cannot_be_written_leave_a_failed_gate_failed() {
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for (outputs, code) in [(BAD, 1), (GOOD, 3)] {
        let project = project(outputs);
        let output = project
            .command(&["run", "--suite", "suite.yaml"])
            .stdout(full())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(
            stderr.contains("cannot write") && stderr.contains("the journal is complete"),
            "{stderr}"
        );
    }
}

/// A file-size limit stands in for a full disk: the write that meets it fails, and what came before
/// is there.
#[test]
fn a_disk_that_fills_up_in_mid_run_stops_it_with_a_journal_that_reads() {
    let cases: String = (0..400)
        .map(|n| {
            format!(
                "  - {{id: c{n}, input: \"{}\", expected: {{type: exact, value: x}}}}\n",
                "y".repeat(200)
            )
        })
        .collect();
    let head = CASES.split("  - {id: a").next().unwrap();
    let suite = SUITE.replace("{type: recorded, path: outputs.jsonl}", "{type: echo}");
    let project = Project::with(&[
        ("suite.yaml", &suite),
        ("cases.yaml", &format!("{head}{cases}")),
    ]);
    let script = format!(
        "trap '' XFSZ; ulimit -f 300; exec {} run --suite suite.yaml",
        crate::support::PROGRAM
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(project.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("cannot write the journal"), "{stderr}");
    let files: Vec<String> = std::fs::read_dir(project.path().join("results/latest"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        files.len() == 1 && files[0].ends_with(".journal.jsonl"),
        "{files:?}"
    );
    let call = project
        .call(&["report", "--run", "latest", "--format", "json"])
        .expect(130);
    assert!(
        call.stdout.contains("\"interrupted\": true"),
        "{}",
        call.stdout
    );
}

#[test]
fn a_filter_that_leaves_a_threshold_without_data_is_exit_2() {
    let suite = r#"
eval_suite:
  name: Both
  thresholds: {regression_pass_rate: 1.0}
  evals:
    - {id: cap, input: x, expected: x}
    - $ref: regression.yaml
  target: {type: echo}
"#;
    let regression = r#"
schema_version: "1.0"
eval_type: regression
metadata: {id: reg, name: R}
test_cases:
  - {id: a, input: x, expected: x}
"#;
    let project = Project::with(&[("suite.yaml", suite), ("regression.yaml", regression)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--category", "capability"])
        .expect(2);
    assert!(
        call.stderr
            .contains("needs a regression eval, but none is selected"),
        "{}",
        call.stderr
    );
}

/// A file's own graders hold for the cases of its dataset: without them each of these cases would
/// pass by its expectation.
#[test]
fn a_files_graders_hold_for_the_cases_of_its_dataset() {
    let eval = r#"
metadata: {id: rows}
graders:
  - {type: code, config: {method: exact_match}}
  - {type: code, config: {method: contains, must_include: [please]}}
combine: all
dataset:
  path: rows.jsonl
  format: jsonl
  case: {id: "{{ row.id }}", input: "{{ row.text }}", expected: "{{ row.text }}"}
"#;
    let rows = "{\"id\": 1, \"text\": \"yes please\"}\n{\"id\": 2, \"text\": \"yes\"}\n";
    let project = Project::with(&[("rows.yaml", eval), ("rows.jsonl", rows)]);
    project.write(
        "suite.yaml",
        "eval_suite: {name: Rows, evals: [{$ref: rows.yaml}], target: {type: echo}}\n",
    );
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["passed"], 1);
    assert_eq!(report["failures"][0]["case_id"], "2");
    assert_eq!(report["failures"][0]["details"]["missing"][0], "please");
}

#[test]
fn what_graders_look_for_is_rendered_wherever_it_is_written() {
    let suite = r#"
eval_suite:
  name: Rendered
  env: [TOKEN]
  vars: {word: hello}
  target: {type: echo}
  evals:
    - {id: env, input: "it is tok-12345", grader: {type: code, config: {method: contains, must_not_include: ["{{ env.TOKEN }}"]}}}
    - {id: vars, input: "hello there", grader: {type: code, config: {method: contains, must_not_include: "{{ vars.word }}"}}}
    - {id: pattern, input: "hello there", grader: {type: code, config: {method: regex, pattern: "^{{ word }}", must_match: false}}}
    - {id: value, input: "hello", grader: {type: code, config: {method: exact_match, value: "{{ word }}"}, negate: true}}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let call = Call::of(
        project
            .command(&["run", "--suite", "suite.yaml"])
            .env("TOKEN", "tok-12345")
            .output()
            .expect("it starts"),
    );
    assert_eq!(call.code, Some(1), "{}", call.stderr);
    let report = project.report();
    assert_eq!(report["summary"]["failed"], 4, "{}", report["failures"]);
}

#[test]
fn running_failures_again_leaves_a_threshold_on_what_was_not_among_them_undecided() {
    let suite = r#"
eval_suite:
  name: Again
  target: {type: echo}
  thresholds: {capability_pass_rate: 0.4, regression_pass_rate: 1.0}
  evals:
    - {id: bad, input: x, grader: {type: code, config: {method: exact_match, value: y}}}
    - {id: good, input: x, grader: {type: code, config: {method: exact_match, value: x}}}
    - {id: kept, baseline: {output: x}, current: {input: x}, grader: {type: code, config: {method: contains, must_include: x}}}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    project.write("suite.yaml", &suite.replace("value: y", "value: x"));
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--failed-in", "latest"])
        .expect(3);
    assert!(
        call.stdout.contains("regression pass rate is undefined"),
        "{}",
        call.stdout
    );
    // Graded again, that run is as undecided as it was.
    project.call(&["regrade", "--run", "latest"]).expect(3);
    // Whoever chose the part is told before anything runs.
    project
        .call(&["run", "--suite", "suite.yaml", "--category", "capability"])
        .expect(2);
}

/// A capability that needs nothing, and evals that need keys, variables, and a baseline that can be
/// read.
fn demanding() -> Project {
    Project::with(&[
        (
            "eval-suite.yaml",
            "eval_suite:\n  name: Needs\n  env: [JUDGE_URL, TOKEN]\n  vars: {greeting: hello}\n  target: {type: echo}\n  \
             graders:\n    graders:\n      judge: {type: model, config: {model: \"openai:j\", base_url: \"{{ env.JUDGE_URL }}\", rubric: Good?}}\n  \
             evals: [{$ref: plain.yaml}, {$ref: needs.yaml}]\n",
        ),
        (
            "plain.yaml",
            "- {id: plain, input: \"{{ greeting }}\", expected: hello}\n",
        ),
        (
            "needs.yaml",
            "- {id: judged, metadata: {tags: [slow]}, input: a, grader: judge}\n\
             - {id: keyed, metadata: {tags: [slow]}, input: a, grader: {type: model, config: {model: \"openai:k\", api_key_env: NO_SUCH_KEY, rubric: Good?}}}\n\
             - {id: lacking, metadata: {tags: [slow]}, input: \"{{ vars.place }}\", expected: x}\n\
             - {id: served, metadata: {tags: [slow]}, current: {execution: {type: http, base_url: \"{{ vars.api }}/v1\"}, input: {method: GET, endpoint: /x, headers: {authorization: \"{{ env.TOKEN }}\"}}}, baseline: {output: {a: 1}}}\n",
        ),
        (
            "baselines/served.yaml",
            "format_version: 99\neval_id: served\n",
        ),
    ])
}

#[test]
fn filters_limit_what_a_run_needs() {
    let project = demanding();
    for filter in [["--eval", "plain"], ["--case", "plain"]] {
        let call = project
            .call(&[&["run", "-q"], &filter[..]].concat())
            .expect(0);
        assert_eq!(call.stderr, "", "{filter:?}");
    }
    // What is selected still needs all of it, and all of it is named at once.
    let call = project.call(&["run", "--tag", "slow"]).expect(2);
    for words in [
        "the environment variable `JUDGE_URL` is not set",
        "`vars.place` is not defined",
        "`vars.api` is not defined",
        "the environment variable `TOKEN` is not set",
        "served.yaml",
        "`NO_SUCH_KEY`",
    ] {
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
    }
    let call = project.call(&["run", "--eval", "keyed"]).expect(2);
    assert!(call.stderr.contains("`NO_SUCH_KEY`"), "{}", call.stderr);
    let call = project.call(&["run", "--eval", "judged"]).expect(2);
    assert!(
        call.stderr.contains("`JUDGE_URL` is not set"),
        "{}",
        call.stderr
    );
    assert!(!call.stderr.contains("vars.place"), "{}", call.stderr);
    // What is wrong, and not only missing, is reported whatever is selected.
    project.write(
        "plain.yaml",
        "- {id: plain, input: \"{{ greeting }}\", expected: hello, inptu: x}\n",
    );
    assert!(
        project
            .call(&["run", "--eval", "judged"])
            .expect(2)
            .stderr
            .contains("unknown key `inptu`")
    );
}

/// An eval that needs nothing, and users of a provider that needs two variables.
fn provided() -> Project {
    Project::with(&[(
        "eval-suite.yaml",
        "eval_suite:\n  name: Provided\n  env: [PROXY_URL, PROXY_KEY]\n  targets:\n    here: {type: echo}\n    far: {type: model, model: \"proxy:m\"}\n    \
         kept: {type: model, model: \"keyed:m\", replay: kept}\n  \
         providers:\n    proxy: {base_url: \"{{ env.PROXY_URL }}\", headers: {api-key: \"{{ env.PROXY_KEY }}\"}}\n    \
         keyed: {base_url: \"http://127.0.0.1:9\", headers: {api-key: \"{{ env.PROXY_KEY }}\"}}\n  \
         skill: {command: [\"true\", \"{{ env.PROXY_URL }}\", \"{{ skill_name }}\"]}\n  \
         graders: {graders: {judge: {type: model, config: {model: \"proxy:j\", rubric: Good?}}}}\n  evals:\n    \
         - {id: plain, input: a, expected: a}\n    - {id: judged, input: a, grader: judge}\n    \
         - {id: skilled, current: {execution: {type: skill, skill_name: s}, input: a}, grader: {type: human, config: {}}}\n",
    )])
}

#[test]
fn filters_limit_what_providers_and_the_skill_need() {
    let project = provided();
    std::fs::create_dir(project.path().join("kept")).unwrap();
    let url = "the environment variable `PROXY_URL` is not set";
    let key = "the environment variable `PROXY_KEY` is not set";
    let call = project
        .call(&["run", "-q", "--target", "here", "--eval", "plain"])
        .expect(0);
    assert_eq!(call.stderr, "");
    // A target, a grader and an execution that are used need them, with the place where they are
    // written.
    let run = |words: &[&str]| project.call(&[&["run"], words].concat()).expect(2).stderr;
    for words in [
        &["--target", "far", "--eval", "plain"][..],
        &["--target", "here", "--eval", "judged"],
    ] {
        let said = run(words);
        assert_eq!(
            (said.matches(url).count(), said.matches(key).count()),
            (1, 1),
            "{words:?}: {said}"
        );
        assert!(said.contains("eval-suite.yaml:9:"), "{words:?}: {said}");
    }
    let said = run(&["--target", "here", "--eval", "skilled"]);
    assert_eq!(
        (said.matches(url).count(), said.matches(key).count()),
        (1, 0),
        "{said}"
    );
    // Headers are not sent where answers are stored, and files that are only looked at need
    // nothing.
    let said = run(&["--target", "kept", "--eval", "judged", "--replay", "kept"]);
    assert_eq!(
        (said.matches(url).count(), said.matches(key).count()),
        (1, 0),
        "{said}"
    );
    let call = project.call(&["run", "--target", "kept", "--eval", "plain"]);
    assert!(!call.stderr.contains("is not set"), "{}", call.stderr);
    project
        .call(&["validate", "--suite", "eval-suite.yaml"])
        .expect(0);
    // What is wrong, and not only missing, is reported whatever is selected.
    let suite = std::fs::read_to_string(project.path().join("eval-suite.yaml")).unwrap();
    project.write(
        "eval-suite.yaml",
        &suite.replace("headers: {api-key: ", "headers: {\"api key\": "),
    );
    assert!(
        run(&["--target", "here", "--eval", "plain"]).contains("`api key` is not a header name")
    );
}

/// Values that are not texts, in a provider, a target, a named grader and an eval file that the run
/// does not use.
#[test]
fn unset_values_of_unused_parts_may_be_of_any_type() {
    let judge = "{type: model, config: {model: \"openai:j\", temperature: \"{{ env.UNSET }}\", rubric: Good?}}";
    let suite = format!(
        "eval_suite:\n  name: Typed\n  env: [UNSET]\n  targets:\n    here: {{type: echo}}\n    \
         far: {{type: model, model: \"gw:m\"}}\n    \
         kept: {{type: command, command: [echo], thoughts: \"{{{{ env.UNSET }}}}\"}}\n  \
         providers:\n    gw: {{base_url: \"{{{{ env.UNSET }}}}\", api: \"{{{{ env.UNSET }}}}\"}}\n  \
         graders: {{graders: {{judge: {judge}}}}}\n  \
         evals:\n    - {{id: plain, input: a, expected: a}}\n    - {{id: named, input: a, grader: judge}}\n    \
         - {{id: inline, input: a, grader: {judge}}}\n    - $ref: other.yaml\n"
    );
    let other = format!("{{id: other, input: a, grader: {judge}}}\n");
    let project = Project::with(&[("eval-suite.yaml", &suite), ("other.yaml", &other)]);
    let call = project
        .call(&["run", "-q", "--target", "here", "--eval", "plain"])
        .expect(0);
    assert_eq!(call.stderr, "");
    for (target, eval) in [
        ("far", "plain"),
        ("kept", "plain"),
        ("here", "named"),
        ("here", "inline"),
        ("here", "other"),
    ] {
        let said = project
            .call(&["run", "--target", target, "--eval", eval])
            .expect(2)
            .stderr;
        assert!(
            said.contains("the environment variable `UNSET` is not set"),
            "{target} {eval}: {said}"
        );
    }
    // A value that is written, and wrong, is reported.
    project.write(
        "eval-suite.yaml",
        &suite.replace("thoughts: \"{{ env.UNSET }}\"", "thoughts: maybe"),
    );
    let said = project
        .call(&["run", "--target", "here", "--eval", "plain"])
        .expect(2)
        .stderr;
    assert!(said.contains("maybe") && !said.contains("UNSET"), "{said}");
}

#[test]
fn fault_in_a_filled_text_of_an_unselected_eval_is_reported() {
    let eval = |pattern: &str| {
        format!(
            "eval_suite:\n  name: F\n  vars: {{word: hello}}\n  target: {{type: echo}}\n  evals:\n    - {{id: plain, input: x, expected: x}}\n    \
             - {{id: other, input: \"{{{{ vars.place }}}}\", grader: {{type: code, config: {{method: regex, pattern: \"{pattern}\"}}}}}}\n"
        )
    };
    let project = Project::with(&[("eval-suite.yaml", &eval("({{ word }}"))]);
    let call = project.call(&["run", "--eval", "plain"]).expect(2);
    assert!(
        call.stderr.contains("eval-suite.yaml:7:"),
        "{}",
        call.stderr
    );
    assert!(!call.stderr.contains("vars.place"), "{}", call.stderr);
    // Of a text that can't be filled it is not known what it will be.
    project.write("eval-suite.yaml", &eval("({{ vars.place }}"));
    project.call(&["run", "--eval", "plain"]).expect(0);
}

#[test]
fn fragment_of_an_unselected_eval_needs_no_baseline() {
    let suite = |id: &str| {
        format!(
            "eval_suite:\n  name: F\n  target: {{type: echo}}\n  evals: [{{$ref: a.yaml}}, {{$ref: \"b.yaml#{id}\"}}]\n"
        )
    };
    let project = Project::with(&[
        ("eval-suite.yaml", &suite("kept")),
        ("a.yaml", "- {id: plain, input: x, expected: x}\n"),
        (
            "b.yaml",
            "- {id: kept, current: {input: x}, grader: {type: code, config: {method: contains, must_include: x}}}\n",
        ),
        ("baselines/kept.yaml", "format_version: 99\neval_id: kept\n"),
    ]);
    project.call(&["run", "--eval", "plain"]).expect(0);
    project.call(&["run"]).expect(2);
    // A fragment that names no eval is wrong whatever is selected.
    project.write("eval-suite.yaml", &suite("ketp"));
    let call = project.call(&["run", "--eval", "plain"]).expect(2);
    assert!(
        call.stderr.contains("the file has no eval `ketp`"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_target_that_is_not_chosen_needs_nothing() {
    let project = Project::with(&[(
        "eval-suite.yaml",
        "eval_suite:\n  name: Two\n  env: [AZ]\n  targets:\n    here: {type: echo}\n    \
         far: {type: model, model: \"openai:m\", base_url: \"http://127.0.0.1:9\", headers: {api-key: \"{{ env.AZ }}\"}}\n  \
         evals: [{id: a, input: a, expected: a}]\n",
    )]);
    project.call(&["run", "--target", "here"]).expect(0);
    let call = project.call(&["run", "--target", "far"]).expect(2);
    assert!(
        call.stderr
            .contains("the environment variable `AZ` is not set"),
        "{}",
        call.stderr
    );
    // Recorded outputs take the place of every target.
    project.write("outputs.jsonl", "{\"case\": \"a\", \"output\": \"a\"}\n");
    project
        .call(&["run", "--outputs", "outputs.jsonl"])
        .expect(0);
    // Files that are only looked at need no key.
    assert_eq!(
        project
            .call(&["validate", "--suite", "eval-suite.yaml"])
            .expect(0)
            .stderr
            .matches("environment variable")
            .count(),
        0
    );
}

/// `target:` is `default` beside `targets:`, else it is named after its type.
#[test]
fn a_lone_target_needs_its_variables_where_it_is_used() {
    let suite = |targets: &str| {
        format!(
            "eval_suite:\n  name: Lone\n  env: [TOKEN]\n  \
             target: {{type: http, base_url: \"http://127.0.0.1:9\", headers: {{authorization: \"{{{{ env.TOKEN }}}}\"}}}}\n{targets}  evals:\n    \
             - {{id: own, input: a, expected: a}}\n    \
             - {{id: inherits, current: {{execution: {{type: http}}, input: {{method: GET, endpoint: /x}}}}, baseline: {{output: {{a: 1}}}}}}\n"
        )
    };
    let project = Project::with(&[
        ("eval-suite.yaml", &suite("  targets: {b: {type: echo}}\n")),
        ("outputs.jsonl", "{\"case\": \"own\", \"output\": \"a\"}\n"),
    ]);
    let refused = |words: &[&str]| {
        let said = project.call(&[&["run"], words].concat()).expect(2).stderr;
        assert_eq!(
            said.matches("the environment variable `TOKEN` is not set")
                .count(),
            1,
            "{words:?}: {said}"
        );
    };
    project
        .call(&["run", "--target", "b", "--eval", "own"])
        .expect(0);
    refused(&["--target", "b"]);
    refused(&["--target", "default", "--eval", "own"]);
    refused(&["--eval", "own"]);
    project.write("eval-suite.yaml", &suite(""));
    refused(&["--target", "http", "--eval", "own"]);
    refused(&["--eval", "own"]);
    project
        .call(&["run", "--outputs", "outputs.jsonl", "--eval", "own"])
        .expect(0);
}

/// Two targets, of which a regression inherits the one that is not chosen.
#[test]
fn unset_variable_of_an_inherited_target_is_refused() {
    let suite = |first: &str| {
        format!(
            "eval_suite:\n  name: Inherits\n  env: [TOKEN]\n  targets:\n    {first}: {{type: echo}}\n    \
             far: {{type: http, base_url: \"http://127.0.0.1:9\", headers: {{authorization: \"{{{{ env.TOKEN }}}}\"}}}}\n  evals:\n    \
             - {{id: own, input: a, expected: a}}\n    \
             - {{id: inherits, current: {{execution: {{type: http}}, input: {{method: GET, endpoint: /x}}}}, baseline: {{output: {{a: 1}}}}}}\n"
        )
    };
    for (first, args) in [("here", &["--target", "here"][..]), ("default", &[])] {
        let project = Project::with(&[("eval-suite.yaml", &suite(first))]);
        let call = project.call(&[&["run"], args].concat()).expect(2);
        assert_eq!(
            call.stderr
                .matches("the environment variable `TOKEN` is not set")
                .count(),
            1,
            "{}",
            call.stderr
        );
        // An eval that does not inherit it needs nothing of it, and a default target is as good as
        // a chosen one.
        project
            .call(&[&["run", "--eval", "own"], args].concat())
            .expect(0);
    }
}

/// A forbidden text that is not known would be one that no output holds.
#[test]
fn unset_variable_in_a_grader_is_refused_in_a_replay() {
    let project = Project::with(&[(
        "eval-suite.yaml",
        "eval_suite:\n  name: Forbidden\n  env: [FORBIDDEN]\n  target: {type: echo}\n  evals:\n    \
         - {id: a, input: secret word, grader: {type: code, config: {method: contains, must_not_include: [\"{{ env.FORBIDDEN }}\"]}}}\n",
    )]);
    std::fs::create_dir(project.path().join("kept")).unwrap();
    for answers in [&["--replay", "kept"][..], &["--cache", "only"], &[]] {
        let call = project.call(&[&["run"], answers].concat()).expect(2);
        let wanted = "the environment variable `FORBIDDEN` is not set";
        assert!(call.stderr.contains(wanted), "{answers:?}: {}", call.stderr);
    }
    // Nothing is graded here.
    project
        .call(&["validate", "--suite", "eval-suite.yaml"])
        .expect(0);
    project.call(&["run", "--dry-run"]).expect(0);
}

#[test]
fn unset_variable_in_an_http_header_is_refused_in_a_replay() {
    let project = Project::with(&[(
        "eval-suite.yaml",
        "eval_suite:\n  name: Header\n  env: [TOKEN]\n  \
         target: {type: http, base_url: \"http://127.0.0.1:9\", endpoint: /x, headers: {authorization: \"{{ env.TOKEN }}\"}}\n  \
         evals: [{id: a, input: a, expected: a}]\n",
    )]);
    std::fs::create_dir(project.path().join("kept")).unwrap();
    for answers in [["--replay", "kept"], ["--cache", "only"]] {
        let call = project.call(&[&["run"], &answers[..]].concat()).expect(2);
        assert!(
            call.stderr
                .contains("the environment variable `TOKEN` is not set"),
            "{}",
            call.stderr
        );
    }
}

#[test]
fn a_variable_that_nothing_reads_is_refused() {
    let project = Project::with(&[
        (
            "eval-suite.yaml",
            "eval_suite:\n  name: Vars\n  vars: {assistant: one}\n  target: {type: echo}\n  evals: [{$ref: a.yaml}, {$ref: b.yaml}]\n",
        ),
        (
            "a.yaml",
            "- {id: a, input: \"{{ assistant }}\", expected: one}\n",
        ),
        (
            "b.yaml",
            "- {id: b, input: \"{{ vars.place }}\", expected: here}\n",
        ),
    ]);
    for verb in [
        &["run"][..],
        &["validate", "--suite", "eval-suite.yaml"],
        &["list"],
    ] {
        let call = project
            .call(&[verb, &["--var", "place=here", "--var", "assistnat=two"]].concat())
            .expect(2);
        let said = format!("{}{}", call.stdout, call.stderr);
        assert!(
            said.contains(
                "`--var assistnat=...`: no file of the suite reads a variable `assistnat`"
            ),
            "{said}"
        );
        assert!(said.contains("did you mean `assistant`?"), "{said}");
    }
    assert!(!project.path().join("results").exists());
    // One that an eval reads which a filter leaves out is read.
    project
        .call(&["run", "-q", "--var", "place=here", "--eval", "a"])
        .expect(0);
    project
        .call(&["run", "-q", "--var", "place=here"])
        .expect(0);
}

#[test]
fn what_is_graded_again_is_shown_as_asked_now() {
    let project = Project::with(&[(
        "eval-suite.yaml",
        "eval_suite:\n  name: Shown\n  target: {type: echo}\n  evals: [{id: a, input: a, expected: a}]\n",
    )]);
    let events = project.call(&["run", "--events", "-q"]).expect(0);
    assert!(
        events.stdout.starts_with("{\"run_started\""),
        "{}",
        events.stdout
    );
    let again = project.call(&["regrade"]).expect(0);
    assert!(
        !again.stdout.contains("run_started") && again.stdout.contains("GATE PASS"),
        "{}",
        again.stdout
    );
    let again = project.call(&["regrade", "--events"]).expect(0);
    assert!(
        again.stdout.starts_with("{\"run_started\""),
        "{}",
        again.stdout
    );
    // So is a run that goes on.
    project.call(&["run", "--events", "-q"]).expect(0);
    let again = project.call(&["run", "--resume", "latest"]).expect(0);
    assert!(
        again.stdout.contains("GATE PASS") && !again.stdout.contains("run_started"),
        "{}",
        again.stdout
    );
    let again = project
        .call(&["run", "--resume", "latest", "--events"])
        .expect(0);
    assert!(!again.stdout.contains("GATE PASS"), "{}", again.stdout);
}

#[test]
fn a_missing_key_is_reported_once() {
    let project = Project::with(&[
        (
            "eval-suite.yaml",
            "eval_suite:\n  version: \"1\"\n  target: {type: echo}\n  evals: [{$ref: d.yaml}]\n",
        ),
        (
            "d.yaml",
            "metadata: {id: d, name: D}\ndataset:\n  path: rows.txt\n  case: {id: \"{{ row.id }}\", input: x, expected: x}\n",
        ),
        ("rows.txt", "{\"id\": \"a\"}\n"),
    ]);
    let call = project
        .call(&["validate", "--suite", "eval-suite.yaml", "--format", "json"])
        .expect(2);
    let found: serde_json::Value = serde_json::from_str(&call.stdout).unwrap();
    let told: Vec<String> = found["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["code"], one["message"]))
        .collect();
    assert_eq!(
        told.iter().filter(|one| one.contains("`name`")).count(),
        1,
        "{told:#?}"
    );
    assert_eq!(
        told.iter().filter(|one| one.contains("`format`")).count(),
        1,
        "{told:#?}"
    );
    assert_eq!(
        told.iter().filter(|one| one.contains("EH0210")).count(),
        0,
        "{told:#?}"
    );
}
