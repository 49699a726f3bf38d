//! Runs that go on: after a kill, with more samples, with changes that are refused; graded again;
//! joined from shards.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Call, Project, eventually};
use serde_json::{Value, json};

/// A command that says the last word of its input and notes each call; with a file `slow` it waits
/// for a file `go` from its third call on.
const SOLVE: &str = r#"#!/bin/sh
input=$(cat)
echo x >> calls
if [ -e slow ] && [ "$(wc -l < calls)" -ge 3 ]; then touch waiting; while [ ! -e go ]; do sleep 0.02; done; fi
echo "${input##* }"
"#;

const SUITE: &str = r#"
eval_suite:
  name: Going on
  config: {max_workers: 2, seed: 3}
  evals: [{$ref: cases.yaml}, {$ref: more.yaml}]
  target: {type: command, command: [sh, solve.sh]}
"#;

fn eval(id: &str, cases: &[(&str, &str, &str)]) -> String {
    let mut text = format!("metadata: {{id: {id}, name: {id}}}\ntest_cases:\n");
    for (case, input, expected) in cases {
        text.push_str(&format!(
            "  - {{id: {case}, input: \"say {input}\", expected: {{type: exact, value: {expected}}}}}\n"
        ));
    }
    text
}

const CASES: [(&str, &str, &str); 4] = [
    ("a", "one", "one"),
    ("b", "two", "two"),
    ("c", "three", "wrong"),
    ("d", "four", "four"),
];
const MORE: [(&str, &str, &str); 2] = [("e", "five", "five"), ("f", "six", "six")];

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", &eval("first", &CASES)),
        ("more.yaml", &eval("second", &MORE)),
        ("solve.sh", SOLVE),
    ])
}

fn calls(project: &Project) -> usize {
    std::fs::read_to_string(project.path().join("calls"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// A report without what differs between two runs of the same thing: times, ids and paths.
fn normal(mut report: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| {
                    !matches!(
                        name.as_str(),
                        "run_id"
                            | "rerun_arguments"
                            | "timestamp"
                            | "duration_seconds"
                            | "duration_ms"
                            | "latency_ms"
                            | "git"
                    ) && !name.starts_with("latency_")
                });
                fields.values_mut().for_each(clean);
            }
            Value::Array(items) => items.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut report);
    report
}

fn journals(project: &Project) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(project.path().join("results/latest"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".journal.jsonl"))
        .collect();
    found.sort_by_key(|path| path.metadata().and_then(|data| data.modified()).unwrap());
    found
}

fn report_of(project: &Project, runs: &[&Path]) -> Value {
    let mut args = vec!["report", "--format", "json"];
    for run in runs {
        args.extend(["--run", run.to_str().unwrap()]);
    }
    let call = project.call(&args);
    let mut report: Value =
        serde_json::from_str(&call.stdout).unwrap_or_else(|e| panic!("{e}: {}", call.stderr));
    report["eval_report"].take()
}

/// Kills a run with two samples under way, and gives its journal.
fn killed(project: &Project) -> PathBuf {
    project.write("slow", "");
    let mut child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("samples wait", || project.path().join("waiting").exists());
    eventually("one is recorded", || {
        let journal = journals(project)
            .pop()
            .map(|path| std::fs::read_to_string(path).unwrap_or_default());
        journal.is_some_and(|text| text.contains("{\"sample_finished\""))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    project.write("go", "");
    std::fs::remove_file(project.path().join("slow")).unwrap();
    journals(project).pop().unwrap()
}

#[test]
fn a_killed_run_goes_on_and_ends_as_if_it_had_not_been_killed() {
    let whole = project();
    whole.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let project = project();
    killed(&project);
    let before = calls(&project);
    let call = project.call(&["run", "--resume", "latest"]).expect(1);
    assert!(call.stdout.contains("GATE FAIL"), "{}", call.stdout);
    assert_eq!(normal(project.report()), normal(whole.report()));
    // Six samples, of which two were under way when the run was killed.
    assert!(
        calls(&project) <= 6 + 2 && calls(&project) > before,
        "{} calls, {before} before",
        calls(&project)
    );
    assert_eq!(journals(&project).len(), 1);
}

#[test]
fn a_run_that_is_complete_is_only_shown_again() {
    let project = project();
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let journal = project.result(".journal.jsonl");
    let (bytes, asked) = (std::fs::read(&journal).unwrap(), calls(&project));
    let call = project.call(&["run", "--resume", "latest"]).expect(1);
    assert!(
        call.stderr.contains("is complete: nothing was left to run"),
        "{}",
        call.stderr
    );
    assert!(call.stdout.contains("GATE FAIL"), "{}", call.stdout);
    assert_eq!(
        (std::fs::read(&journal).unwrap(), calls(&project)),
        (bytes, asked)
    );
    // Another demand is a new session of the same run, without a sample.
    project
        .call(&["run", "--resume", "latest", "--threshold", "pass@1=0.5"])
        .expect(0);
    assert_eq!(calls(&project), asked);
    assert_eq!(project.report()["gate"]["decision"], "pass");
}

#[test]
fn a_torn_tail_of_any_length_is_cut_and_the_run_goes_on() {
    let project = project();
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let whole = normal(project.report());
    let journal = project.result(".journal.jsonl");
    let bytes = std::fs::read(&journal).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let first_sample = text.find("{\"sample_finished\"").unwrap();
    let first_line = text.find('\n').unwrap() + 1;
    // In the plan, at and around the first sample, and in the last event.
    let last_line = text.trim_end().rfind('\n').unwrap() + 1;
    let mut cuts = vec![
        first_line,
        first_line + 1,
        first_sample - 1,
        first_sample,
        first_sample + 1,
        first_sample + 60,
    ];
    cuts.extend([last_line - 1, last_line, last_line + 1, bytes.len() - 1]);
    for cut in cuts {
        for tail in [b"".as_slice(), b"\0\0\0\0\0\0", b"\0\xff\n\0garbage"] {
            std::fs::write(&journal, [&bytes[..cut], tail].concat()).unwrap();
            project
                .call(&["run", "--resume", "latest", "--quiet"])
                .expect(1);
            assert_eq!(
                normal(project.report()),
                whole,
                "cut at {cut}, then {tail:?}"
            );
        }
    }
    std::fs::write(&journal, &bytes[..first_line - 1]).unwrap();
    let call = project.call(&["run", "--resume", "latest"]).expect(2);
    assert!(call.stderr.contains("contains no run"), "{}", call.stderr);
}

#[test]
fn garbage_in_the_middle_is_an_error_that_says_what_can_be_done() {
    let project = project();
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(
        &journal,
        text.replacen("{\"sample_finished\"", "{\"sam\0le_finished\"", 1),
    )
    .unwrap();
    let line = text
        .lines()
        .position(|line| line.starts_with("{\"sample_finished\""))
        .unwrap()
        + 1;
    for args in [["report", "--run", "latest"], ["run", "--resume", "latest"]] {
        let call = project.call(&args).expect(2);
        assert!(
            call.stderr
                .contains(&format!(":{line}: not a journal line")),
            "{}",
            call.stderr
        );
        assert!(
            call.stderr.contains(&format!("`head -n {} ", line - 1)),
            "{}",
            call.stderr
        );
    }
}

#[test]
fn more_samples_are_added_and_fewer_are_refused() {
    let project = project();
    project
        .call(&["run", "--suite", "suite.yaml", "--samples", "1"])
        .expect(1);
    assert_eq!(calls(&project), 6);
    project
        .call(&["run", "--resume", "latest", "--samples", "3"])
        .expect(1);
    assert_eq!(calls(&project), 18);
    assert_eq!(project.report()["summary"]["samples"]["total"], 18);
    // What was typed last holds for the next time, too.
    project.call(&["run", "--resume", "latest"]).expect(1);
    assert_eq!(calls(&project), 18);
    let call = project
        .call(&["run", "--resume", "latest", "--samples", "2"])
        .expect(2);
    assert!(
        call.stderr
            .contains("6 cases (first: first/a) were planned with 3 samples, but only 2"),
        "{}",
        call.stderr
    );
    let fresh = self::project();
    fresh
        .call(&["run", "--suite", "suite.yaml", "--samples", "3"])
        .expect(1);
    assert_eq!(normal(project.report()), normal(fresh.report()));
}

#[test]
fn changes_that_belie_what_is_finished_are_refused_in_words() {
    let project = project();
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let asked = calls(&project);
    let journal = project.result(".journal.jsonl");
    let bytes = std::fs::read(&journal).unwrap();
    let refused = |reason: &str| {
        let call = project.call(&["run", "--resume", "latest"]).expect(2);
        assert!(call.stderr.contains("can't be resumed"), "{}", call.stderr);
        assert!(call.stderr.contains(reason), "{reason}:\n{}", call.stderr);
        assert_eq!(
            std::fs::read(&journal).unwrap(),
            bytes,
            "nothing is written"
        );
        call
    };
    let mut cases = CASES;
    cases[2].2 = "three";
    project.write("cases.yaml", &eval("first", &cases));
    let call = refused("the grader of case first/c changed");
    assert!(
        call.stderr.contains("`eval-harness regrade --run eval-"),
        "{}",
        call.stderr
    );
    cases = CASES;
    cases[1].1 = "other two";
    project.write("cases.yaml", &eval("first", &cases));
    refused("the input of case first/b changed");
    project.write("cases.yaml", &eval("first", &CASES[..2]));
    refused("no longer has first/c, first/d of eval-");
    project.write("cases.yaml", &eval("first", &CASES));
    project.write(
        "suite.yaml",
        &SUITE.replace("[sh, solve.sh]", "[sh, solve.sh, fast]"),
    );
    refused("the target changed: the settings of `command` (command) differ now");
    project.write(
        "suite.yaml",
        &SUITE.replace("{type: command, command: [sh, solve.sh]}", "{type: echo}"),
    );
    refused("the target changed: it was `command` (command), but is `echo` (echo) now");
    project.write("suite.yaml", &SUITE.replace(", {$ref: more.yaml}", ""));
    refused("no longer has eval second of eval-");
    assert_eq!(calls(&project), asked);
    // A new case, a new eval, and other names: they run, and hold.
    let mut more = MORE.to_vec();
    more.push(("g", "seven", "seven"));
    project.write(
        "more.yaml",
        &eval("second", &more).replace("name: second", "name: Renamed"),
    );
    project.write("third.yaml", &eval("third", &[("h", "eight", "eight")]));
    project.write(
        "suite.yaml",
        &SUITE.replace("{$ref: more.yaml}", "{$ref: more.yaml}, {$ref: third.yaml}"),
    );
    project.call(&["run", "--resume", "latest"]).expect(1);
    assert_eq!(calls(&project), asked + 2);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["total"], 8);
    assert_eq!(report["evals"][1]["name"], "Renamed");
}

#[test]
fn errored_samples_are_run_again() {
    let project = project();
    project.write(
        "solve.sh",
        "read x y; [ \"$y\" = two ] && exit 3; echo $y\n",
    );
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    assert_eq!(project.report()["summary"]["by_cause"]["target_failed"], 1);
    project.write("solve.sh", SOLVE);
    let resumed = project.call(&["run", "--resume", "latest"]).expect(1);
    let warning = "`solve.sh` changed since the run began; finished samples are kept";
    assert!(resumed.stderr.contains(warning), "{}", resumed.stderr);
    assert_eq!(calls(&project), 1);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["errored"], 0);
    assert_eq!(report["summary"]["cases"]["passed"], 5);
}

#[test]
fn a_run_has_one_writer() {
    let project = project();
    project.write("slow", "");
    let mut child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("samples wait", || project.path().join("waiting").exists());
    let call = project.call(&["run", "--resume", "latest"]).expect(2);
    assert!(
        call.stderr.contains("is being written by another process"),
        "{}",
        call.stderr
    );
    // Reading needs no lock, and a further run takes its own name.
    project.call(&["report", "--run", "latest"]).expect(130);
    project.write("go", "");
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(journals(&project).len(), 2);
}

#[test]
fn a_run_goes_on_from_another_folder_with_its_own_arguments() {
    let whole = project();
    let args = [
        "run",
        "--suite",
        "suite.yaml",
        "--case",
        "[ab]",
        "--samples",
        "2",
    ];
    let project = project();
    for project in [&whole, &project] {
        project.write(
            "outputs.jsonl",
            "{\"case\": \"a\", \"output\": \"one\"}\n{\"case\": \"b\", \"output\": \"x\"}\n",
        );
    }
    let _ = whole.call(&args);
    project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--outputs",
            "outputs.jsonl",
            "--case",
            "[ab]",
        ])
        .expect(1);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let cut = text.rfind("{\"sample_finished\"").unwrap();
    std::fs::write(&journal, &text[..cut]).unwrap();
    std::fs::create_dir(project.path().join("elsewhere")).unwrap();
    let run = journal.to_str().unwrap();
    for _ in 0..2 {
        let call = Call::of(
            project
                .command(&["run", "--resume", run])
                .current_dir(project.path().join("elsewhere"))
                .output()
                .unwrap(),
        );
        call.expect(1);
        let report = project.report();
        assert_eq!(report["summary"]["cases"]["total"], 2);
        assert_eq!(report["summary"]["cases"]["passed"], 1);
        assert_eq!(report["metadata"]["environment"]["target_type"], "recorded");
    }
    assert_eq!(calls(&project), 0);
}

#[test]
fn display_flags_of_a_run_are_not_those_of_its_resumption() {
    let project = project();
    let _ = project.call(&[
        "run",
        "--suite",
        "suite.yaml",
        "-qj1",
        "--events",
        "--progress=none",
    ]);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let cut = text.rfind("{\"sample_finished\"").unwrap();
    std::fs::write(&journal, &text[..cut]).unwrap();
    let _ = project.call(&[
        "run",
        "--resume",
        "latest",
        "--verbose",
        "--progress",
        "plain",
    ]);
    let text = std::fs::read_to_string(&journal).unwrap();
    let sessions = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut arguments = sessions.filter_map(|line| {
        line["run_started"]
            .get("arguments")
            .or(line["run_resumed"].get("arguments"))
            .cloned()
    });
    assert_eq!(
        arguments.next_back().unwrap(),
        json!([
            "--suite",
            "suite.yaml",
            "-j1",
            "--verbose",
            "--progress",
            "plain"
        ])
    );
}

#[test]
fn outputs_are_graded_again_without_asking_the_target() {
    let project = project();
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let asked = calls(&project);
    let first = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut cases = CASES;
    cases[2].2 = "three";
    project.write("cases.yaml", &eval("first", &cases));
    project.write("solve.sh", "echo asked >> calls; exit 1\n");
    project.call(&["regrade", "--run", &first]).expect(0);
    assert_eq!(calls(&project), asked);
    let report = project.report();
    assert_eq!(report["metadata"]["regrade_of"], first.as_str());
    assert_eq!(report["summary"]["cases"]["passed"], 6);
    assert_ne!(report["metadata"]["run_id"], first.as_str());
    // The run that was graded is what it was.
    project.call(&["report", "--run", &first]).expect(1);
    // What was graded again can be graded again.
    project.write("cases.yaml", &eval("first", &CASES));
    project.call(&["regrade"]).expect(1);
    let call = project.call(&["run", "--resume", "latest"]).expect(2);
    assert!(
        call.stderr.contains("it regraded the outputs of"),
        "{}",
        call.stderr
    );
    cases[0].1 = "another one";
    project.write("cases.yaml", &eval("first", &cases));
    let call = project.call(&["regrade", "--run", &first]).expect(2);
    assert!(
        call.stderr.contains("the input of case first/a changed"),
        "{}",
        call.stderr
    );
    assert_eq!(calls(&project), asked);
}

#[test]
fn a_regrade_needs_no_variables_of_the_target() {
    let suite = r#"
eval_suite:
  name: Unset
  env: [MISSING]
  evals:
    - {id: e, input: x, expected: hi}
    - {id: calls, input: {type: api_call, method: GET, endpoint: /x}, expected: hi}
  target: {type: command, command: [sh, -c, "echo hi", "{{ env.MISSING }}"]}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let first = Call::of(
        project
            .command(&["run", "--suite", "suite.yaml"])
            .env("MISSING", "abcdef")
            .output()
            .unwrap(),
    );
    first.expect(0);
    let started = |project: &Project| {
        let text = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let started = &line["run_started"];
        json!([
            started["target_hash"],
            started["run"]["environment"]["target"],
            started["run"]["environment"]["target_type"]
        ])
    };
    let before = started(&project);
    project.call(&["regrade"]).expect(0);
    assert_eq!(
        (
            started(&project),
            project.report()["metadata"]["regrade_of"].is_string()
        ),
        (before, true)
    );
    // A run that calls it does.
    let said = project
        .call(&["run", "--suite", "suite.yaml"])
        .expect(2)
        .stderr;
    assert!(
        said.contains("the environment variable `MISSING` is not set"),
        "{said}"
    );
}

#[test]
fn what_the_target_said_before_it_failed_is_no_answer_when_it_is_graded_again() {
    let plain = "expected: almost";
    // A grader that measures leaves a grade also for what could not be measured.
    let measured = "expected: {type: contains, value: [almost]}, grader: {type: code, metric: quality, config: {method: contains}}";
    for (on_error, expected) in [
        ("error", plain),
        ("fail", plain),
        ("error", measured),
        ("fail", measured),
    ] {
        let suite = format!(
            r#"
eval_suite:
  name: Partial
  evals: [{{id: e, input: x, {expected}}}]
  target: {{type: command, command: [sh, -c, "printf almost; exit 1"], on_error: {on_error}}}
"#
        );
        let project = Project::with(&[("suite.yaml", &suite)]);
        let call = project.call(&["run", "--suite", "suite.yaml"]);
        let before = normal(project.report());
        let again = project.call(&["regrade"]);
        assert_eq!(again.code, call.code, "{}{}", call.stderr, again.stderr);
        let mut after = normal(project.report());
        after["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("regrade_of");
        assert_eq!(after, before);
        assert_eq!(before["summary"]["passed"], 0);
        assert_eq!(project.call(&["export"]).expect(0).stdout, "");
    }
}

#[test]
fn an_output_without_its_secret_is_not_graded_again() {
    let suite = r#"
eval_suite:
  name: Secrets
  env: [TOKEN]
  evals: [{id: e, input: x, expected: x, grader: {type: code, config: {method: contains, must_include: [hi], must_not_include: [verysecr]}}}]
  target: {type: command, env: [TOKEN], command: [sh, -c, "echo hi $TOKEN"]}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    let call = |args: &[&str]| {
        Call::of(
            project
                .command(args)
                .env("TOKEN", "verysecret")
                .output()
                .unwrap(),
        )
    };
    call(&["run", "--suite", "suite.yaml"]).expect(1);
    for _ in 0..2 {
        call(&["regrade"]).expect(3);
        let reason = project.report()["failures"][0]["reason"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            reason.starts_with("a secret was redacted in the stored output"),
            "{reason}"
        );
    }
}

#[test]
fn user_of_an_unused_address_may_be_part_of_an_output() {
    let suite = r#"
eval_suite:
  name: Users
  evals: [{id: e, input: x, expected: hi ollama}]
  targets:
    default: {type: command, command: [echo, "hi ollama"]}
    h: {type: http, base_url: "http://ollama@127.0.0.1:9/", endpoint: /x}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    project.call(&["regrade"]).expect(0);
}

#[test]
fn a_composite_that_is_defined_anew_holds_for_what_is_there() {
    let suite = |composite: &str| {
        format!(
            r#"
eval_suite:
  name: Composites
  evals: [{{id: a, input: x, expected: x}}, {{id: b, input: y, expected: z}}]
  target: {{type: echo}}
  metrics: {{q: {{composite: [{composite}]}}}}
  thresholds: {{q: 0.5}}
"#
        )
    };
    let project = Project::with(&[("suite.yaml", &suite("{metric: pass_at_1}"))]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    project.write(
        "suite.yaml",
        &suite("{metric: failed_samples, range: [0, 1], invert: true}"),
    );
    project.call(&["regrade"]).expect(1);
    let run = journals(&project)[0].clone();
    project
        .call(&["run", "--resume", run.to_str().unwrap()])
        .expect(1);
}

#[test]
fn a_recording_may_grow_under_a_run_and_not_change() {
    let suite = r#"
eval_suite:
  name: Recorded
  evals: [{id: a, input: x, expected: x}, {id: b, input: x, expected: x}]
  target: {type: recorded, path: outputs.jsonl}
"#;
    let line =
        |case: &str, output: &str| format!("{{\"case\": \"{case}\", \"output\": \"{output}\"}}\n");
    let project = Project::with(&[("suite.yaml", suite), ("outputs.jsonl", &line("a", "x"))]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    let journal = project.result(".journal.jsonl");
    project.write("outputs.jsonl", &[line("a", "y"), line("b", "x")].concat());
    let call = project.call(&["run", "--resume", "latest"]).expect(2);
    assert!(
        call.stderr
            .contains("the recorded outputs changed: outputs.jsonl differs"),
        "{}",
        call.stderr
    );
    project.write("outputs.jsonl", &[line("a", "x"), line("b", "x")].concat());
    project.call(&["run", "--resume", "latest"]).expect(0);
    // With nothing left to run nothing comes from it.
    project.write("outputs.jsonl", &line("a", "other"));
    let call = project
        .call(&["run", "--resume", "latest", "--samples", "1"])
        .expect(0);
    assert!(
        call.stderr.contains("is complete: nothing was left to run"),
        "{}",
        call.stderr
    );
    project
        .call(&[
            "run",
            "--resume",
            "latest",
            "--samples",
            "1",
            "--threshold",
            "pass@1=0.5",
        ])
        .expect(0);
    // And what was said of it still holds when there is something again.
    let text = std::fs::read_to_string(&journal).unwrap();
    let cut = text.rfind("{\"sample_finished\"").unwrap();
    let end = cut + text[cut..].find('\n').unwrap() + 1;
    std::fs::write(&journal, [&text[..cut], &text[end..]].concat()).unwrap();
    project.call(&["run", "--resume", "latest"]).expect(2);
}

#[test]
fn a_project_that_was_moved_goes_on_and_its_shards_are_joined() {
    let suite = r#"
eval_suite:
  name: Moved
  evals:
    - {id: a, input: {type: file, content: in.txt}, expected: {type: exact, value: hi}}
    - {id: b, input: x, expected: hi, grader: {type: code, config: {method: command, command: [sh, -c, "exit 0"]}}}
    - {id: c, input: x, expected: hi}
    - {id: d, input: x, expected: hi}
  target: {type: command, command: [sh, -c, "echo hi"]}
"#;
    let fresh = || Project::with(&[("suite.yaml", suite), ("in.txt", "x")]);
    let (first, second) = (fresh(), fresh());
    let shard = |project: &Project, shard: &str, more: &[&str]| {
        project
            .call(&[&["run", "--suite", "suite.yaml", "--shard", shard], more].concat())
            .expect(0);
        journals(project).pop().unwrap()
    };
    let (a, b) = (shard(&first, "1/2", &[]), shard(&second, "2/2", &[]));
    let join = |a: &Path, b: &Path| {
        first.call(&[
            "report",
            "--run",
            a.to_str().unwrap(),
            "--run",
            b.to_str().unwrap(),
        ])
    };
    join(&a, &b).expect(0);
    let more = shard(&second, "2/2", &["--samples", "2"]);
    let call = join(&a, &more).expect(2);
    assert!(
        call.stderr
            .contains("differ in their cases (inputs, graders or samples)"),
        "{}",
        call.stderr
    );
    second.write(
        "suite.yaml",
        &suite.replace("id: c, input: x", "id: c, input: y"),
    );
    let other = shard(&second, "2/2", &[]);
    join(&a, &other).expect(2);
    // Moved to another folder.
    let (old, new) = (fresh(), fresh());
    old.call(&["run", "--suite", "suite.yaml"]).expect(0);
    let journal = journals(&old).pop().unwrap();
    let text = std::fs::read_to_string(&journal).unwrap();
    let moved = new.path().join("run-1.journal.jsonl");
    std::fs::write(&moved, &text[..text.rfind("{\"sample_finished\"").unwrap()]).unwrap();
    drop(old);
    new.call(&["run", "--resume", moved.to_str().unwrap()])
        .expect(0);
}

#[test]
fn retries_that_are_no_longer_needed_are_left_out_of_the_new_grading() {
    let suite = r#"
eval_suite:
  name: Retries
  config: {retry_failed: true, retry_count: 2}
  evals: [{id: e, input: x, expected: {type: exact, value: "3"}}]
  target: {type: command, command: [sh, -c, "echo . >> calls; wc -l < calls"]}
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    assert_eq!(project.report()["summary"]["flaky"], 1);
    project.write("suite.yaml", &suite.replace("value: \"3\"", "value: \"2\""));
    project.call(&["regrade"]).expect(0);
    let sample = &project.report()["evals"][0]["cases"][0]["samples"][0];
    assert_eq!(
        (sample["attempts"].as_u64(), sample["output"].as_str()),
        (Some(2), Some("2\n"))
    );
    assert_eq!(calls(&project), 3);
}

#[test]
fn a_large_output_lies_beside_the_journal_and_comes_back() {
    let suite = r#"
eval_suite:
  name: Large
  evals:
    - {id: e, input: x, expected: {type: contains, value: [the end]}}
    - {id: same, input: x, expected: {type: contains, value: [nothing]}}
  target: {type: recorded, path: outputs.jsonl}
"#;
    let text = format!("{}the end", "0123456789abcdef\n".repeat(60_000));
    let line = |case: &str| {
        serde_json::json!({"case": case, "output": text, "usage": {"input_tokens": 5}}).to_string()
    };
    let outputs = format!("{}\n{}\n", line("e"), line("same"));
    let project = Project::with(&[("suite.yaml", suite), ("outputs.jsonl", &outputs)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let journal = project.result(".journal.jsonl");
    assert!(std::fs::metadata(&journal).unwrap().len() < 64 << 10);
    let folder = PathBuf::from(
        journal
            .to_str()
            .unwrap()
            .replace(".journal.jsonl", ".outputs"),
    );
    let stored: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(
        stored.len(),
        1,
        "the same output is stored once: {stored:?}"
    );
    assert_eq!(std::fs::read_to_string(&stored[0]).unwrap(), text);
    project.write("outputs.jsonl", "");
    project.write("suite.yaml", &suite.replace("[nothing]", "[the end]"));
    project.call(&["regrade"]).expect(0);
    // A file that is not what was stored is no output at all.
    std::fs::write(&stored[0], "the end").unwrap();
    project
        .call(&["regrade", "--run", journal.to_str().unwrap()])
        .expect(3);
}

#[test]
fn every_line_of_a_journal_fits_its_published_schema() {
    let project = project();
    project
        .call(&["run", "--suite", "suite.yaml", "--threshold", "pass@1=0.5"])
        .expect(0);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let cut = text.rfind("{\"sample_finished\"").unwrap();
    std::fs::write(&journal, &text[..cut]).unwrap();
    project.call(&["run", "--resume", "latest"]).expect(0);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/journal.schema.json"
    ))
    .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let text = std::fs::read_to_string(&journal).unwrap();
    for kind in [
        "run_started",
        "run_resumed",
        "eval_planned",
        "cases_planned",
        "sample_finished",
        "run_finished",
    ] {
        assert!(text.contains(&format!("{{\"{kind}\"")), "{kind}");
    }
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let problems: Vec<String> = schema
            .iter_errors(&event)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{problems:?} in {line}");
    }
    assert!(!schema.is_valid(&serde_json::json!({"run_ended": {}})));
}

/// Five of six cases pass.
fn with_composite(project: &Project, of_passes: u32, of_failures: u32) {
    let metrics = format!(
        "  thresholds: {{quality: 0.5}}\n  metrics: {{quality: {{composite: [{{metric: pass@1, weight: {of_passes}}}, {{metric: failed_samples, weight: {of_failures}, range: [0, 1], invert: true}}]}}}}\n"
    );
    project.write("suite.yaml", &format!("{SUITE}{metrics}"));
}

#[test]
fn the_composites_of_today_decide_a_run_that_goes_on_or_is_graded_again() {
    let project = project();
    let quality = || project.report()["metrics"]["quality"].as_f64().unwrap();
    with_composite(&project, 9, 1);
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    assert!((quality() - 0.75).abs() < 1e-9);
    with_composite(&project, 1, 9);
    project.call(&["run", "--resume", "latest"]).expect(1);
    assert!((quality() - 1.0 / 12.0).abs() < 1e-9);
    assert_eq!(calls(&project), 6);
    with_composite(&project, 9, 1);
    project.call(&["regrade", "--run", "latest"]).expect(0);
    assert!((quality() - 0.75).abs() < 1e-9);
    let mut args = vec!["report".to_owned()];
    for (shard, of_failures) in [("1/3", 1), ("2/3", 2)] {
        with_composite(&project, 9, of_failures);
        project
            .call(&["run", "--suite", "suite.yaml", "--shard", shard])
            .expect(0);
        args.extend([
            "--run".to_owned(),
            project
                .result(".journal.jsonl")
                .to_str()
                .unwrap()
                .to_owned(),
        ]);
    }
    let call = project
        .call(&args.iter().map(String::as_str).collect::<Vec<_>>())
        .expect(2);
    assert!(
        call.stderr.contains("differ in their composite metrics"),
        "{}",
        call.stderr
    );
    project.call(&["regrade", "--run", "latest"]).expect(0);
    let (one, again) = (args[2].as_str(), project.result(".journal.jsonl"));
    let call = project
        .call(&["report", "--run", one, "--run", again.to_str().unwrap()])
        .expect(2);
    assert!(
        call.stderr.contains("differ in their grading"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_shard_without_a_case_is_a_run_of_nothing_that_the_union_needs() {
    let project = Project::with(&[
        (
            "suite.yaml",
            SUITE.replace(", {$ref: more.yaml}", "").as_str(),
        ),
        ("cases.yaml", &eval("first", &[("a", "one", "one")])),
        ("solve.sh", SOLVE),
    ]);
    let mut journals = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let call = project
            .call(&["run", "--suite", "suite.yaml", "--shard", shard])
            .expect(0);
        assert!(call.stdout.contains("UNDECIDED"), "{}", call.stdout);
        journals.push(project.result(".journal.jsonl").display().to_string());
    }
    assert_eq!(calls(&project), 1);
    // These paths lead through `results/latest`, and a shell's glob finds each file again below
    // its day.
    let real = |path: &String| {
        Path::new(path)
            .canonicalize()
            .unwrap()
            .display()
            .to_string()
    };
    let days: Vec<String> = journals.iter().map(real).collect();
    assert_ne!(days, journals);
    let args: Vec<&str> = journals
        .iter()
        .chain(&days)
        .flat_map(|journal| ["--run", journal.as_str()])
        .collect();
    let call = project
        .call(&[&["report"], args.as_slice()].concat())
        .expect(0);
    assert!(call.stdout.contains("GATE PASS"), "{}", call.stdout);
}

#[test]
fn joined_shards_are_the_whole_run() {
    let project = project();
    let many: Vec<(String, String)> = (0..23)
        .map(|n| {
            (
                format!("m{n}"),
                if n % 5 == 0 {
                    "no".into()
                } else {
                    n.to_string()
                },
            )
        })
        .collect();
    let inputs: Vec<String> = (0..23).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &str, &str)> = many
        .iter()
        .zip(&inputs)
        .map(|((id, expected), input)| (id.as_str(), input.as_str(), expected.as_str()))
        .collect();
    project.write("cases.yaml", &eval("first", &many));
    project
        .call(&["run", "--suite", "suite.yaml", "--samples", "2"])
        .expect(1);
    let whole = normal(project.report());
    let mut shards = Vec::new();
    for index in 1..=3 {
        let shard = format!("{index}/3");
        let call = project
            .call(&[
                "run",
                "--suite",
                "suite.yaml",
                "--samples",
                "2",
                "--shard",
                &shard,
            ])
            .expect(0);
        assert!(call.stdout.contains("UNDECIDED"), "{}", call.stdout);
        shards.push(project.result(".journal.jsonl"));
    }
    let refused = |runs: &[&Path], reason: &str| {
        let mut args = vec!["report"];
        runs.iter()
            .for_each(|run| args.extend(["--run", run.to_str().unwrap()]));
        let call = project.call(&args).expect(2);
        assert!(call.stderr.contains(reason), "{reason}: {}", call.stderr);
    };
    refused(
        &[&shards[0], &shards[2]],
        "the runs can't be joined: shard 2/3 missing",
    );
    let copy = project.path().join("copy.journal.jsonl");
    std::fs::copy(&shards[1], &copy).unwrap();
    refused(
        &[&shards[0], &shards[1], &shards[2], &copy],
        "shard 2 is given twice",
    );
    let one = &journals(&project)[0];
    refused(&[one, &shards[0]], "is not a shard");
    let mut joined = normal(report_of(&project, &[&shards[2], &shards[0], &shards[1]]));
    joined["metadata"].as_object_mut().unwrap().remove("joined");
    assert_eq!(joined, whole);
    let runs: Vec<&str> = shards
        .iter()
        .flat_map(|run| ["--run", run.to_str().unwrap()])
        .collect();
    project
        .call(&[["report"].as_slice(), &runs].concat())
        .expect(1);
    // A shard that was cut off leaves the whole undecided.
    let text = std::fs::read_to_string(&shards[1]).unwrap();
    std::fs::write(
        &shards[1],
        &text[..text.rfind("{\"sample_finished\"").unwrap()],
    )
    .unwrap();
    project
        .call(&[["report"].as_slice(), &runs].concat())
        .expect(130);
    project
        .call(&["run", "--resume", shards[1].to_str().unwrap()])
        .expect(0);
    let mut joined = normal(report_of(&project, &[&shards[0], &shards[1], &shards[2]]));
    joined["metadata"].as_object_mut().unwrap().remove("joined");
    assert_eq!(joined, whole);
    let call = project
        .call(&[
            "run",
            "--resume",
            shards[1].to_str().unwrap(),
            "--shard",
            "1/3",
        ])
        .expect(2);
    assert!(
        call.stderr
            .contains("it is a run of shard 2/3, but shard 1/3 is requested now"),
        "{}",
        call.stderr
    );
}
