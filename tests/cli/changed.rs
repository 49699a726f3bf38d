//! `run --changed`: what is reused of an earlier run, what is graded again, and what runs.

use crate::support::{Call, Project};
use serde_json::Value;

/// Answers with the last word of its input, and notes the input of each call.
const SOLVE: &str = r#"input=$(cat)
echo "$input" >> calls
case "$input" in *break*) exit 3;; esac
echo "${input##* }"
"#;

const SUITE: &str = r#"
eval_suite:
  name: Changes
  config: {max_workers: 1}
  evals: [{$ref: cases.yaml}]
  target: {type: command, command: [sh, solve.sh], env: [MODE]}
  reporting: {format: [json, markdown]}
"#;

const CASES: &str = r"
metadata: {id: words, name: Words}
test_cases:
  - {id: a, input: say one, expected: one}
  - {id: b, input: say two, expected: two}
  - {id: c, input: say three, expected: wrong}
";

fn project() -> Project {
    let project = files(SUITE, &[]);
    run(&project, &[]).expect(1);
    project
}

/// A project with this suite, the cases, the script, and more files.
fn files(suite: &str, more: &[(&str, &str)]) -> Project {
    let files = [
        ("suite.yaml", suite),
        ("cases.yaml", CASES),
        ("solve.sh", SOLVE),
    ];
    Project::with(&[&files[..], more].concat())
}

fn run(project: &Project, args: &[&str]) -> Call {
    project.call(&[&["run", "--suite", "suite.yaml", "--quiet"], args].concat())
}

fn resumed(project: &Project, args: &[&str]) -> Call {
    project.call(&[&["run", "--resume", "latest", "--quiet"], args].concat())
}

fn edit(project: &Project, file: &str, from: &str, to: &str) {
    let path = project.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

/// Inputs of the calls since the last look.
fn calls(project: &Project) -> String {
    let path = project.path().join("calls");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join(", ")
}

/// Reused, graded again and run, as the report of the latest run has it.
fn counts(project: &Project) -> [u64; 3] {
    let report = project.report();
    let counts = &report["metadata"]["reused"];
    ["reused", "graded_again", "run"].map(|name| counts[name].as_u64().unwrap_or_default())
}

fn outcomes(project: &Project) -> String {
    let report = project.report();
    let mut said = Vec::new();
    for case in report["evals"][0]["cases"].as_array().unwrap() {
        let outcome = |sample: &Value| sample["outcome"].as_str().unwrap().to_owned();
        let samples = case["samples"].as_array().unwrap().iter().map(outcome);
        let samples: Vec<String> = samples.collect();
        said.push(format!(
            "{}: {}",
            case["id"].as_str().unwrap(),
            samples.join(" ")
        ));
    }
    said.join("; ")
}

/// Changes something after a first run, and runs with `--changed`: counts, calls and outcomes.
fn after(change: impl FnOnce(&Project), args: &[&str]) -> String {
    let project = project();
    calls(&project);
    change(&project);
    run(&project, &[&["--changed"], args].concat());
    format!(
        "{:?} calls: {} | {}",
        counts(&project),
        calls(&project),
        outcomes(&project)
    )
}

fn nothing(_: &Project) {}

#[test]
fn each_change_reaches_the_samples_that_depend_on_it() {
    insta::assert_snapshot!(after(nothing, &[]), @"[3, 0, 0] calls:  | a: passed; b: passed; c: failed");
    let expectation = |p: &Project| edit(p, "cases.yaml", "expected: wrong", "expected: three");
    insta::assert_snapshot!(after(expectation, &[]), @"[2, 1, 0] calls:  | a: passed; b: passed; c: passed");
    let input = |p: &Project| edit(p, "cases.yaml", "say two", "repeat two");
    insta::assert_snapshot!(after(input, &[]), @"[2, 0, 1] calls: repeat two | a: passed; b: passed; c: failed");
    let script = |p: &Project| edit(p, "solve.sh", "echo \"${input##* }\"", "echo one");
    insta::assert_snapshot!(after(script, &[]), @"[0, 0, 0] calls: say one, say three, say two | a: passed; b: failed; c: failed");
    let command = |p: &Project| edit(p, "suite.yaml", "[sh, solve.sh]", "[sh, solve.sh, -v]");
    insta::assert_snapshot!(after(command, &[]), @"[0, 0, 0] calls: say one, say three, say two | a: passed; b: passed; c: failed");
    let case = |p: &Project| {
        edit(
            p,
            "cases.yaml",
            "{id: b",
            "{id: d, input: say four, expected: four}\n  - {id: b",
        );
    };
    insta::assert_snapshot!(after(case, &[]), @"[3, 0, 1] calls: say four | a: passed; d: passed; b: passed; c: failed");
    insta::assert_snapshot!(after(nothing, &["--samples", "2"]), @"[3, 0, 3] calls: say one, say three, say two | a: passed passed; b: passed passed; c: failed failed");
    insta::assert_snapshot!(after(nothing, &["--timeout", "5"]), @"[0, 0, 0] calls: say one, say three, say two | a: passed; b: passed; c: failed");
    let names = |p: &Project| edit(p, "cases.yaml", "name: Words", "name: Other");
    insta::assert_snapshot!(after(names, &["--threshold", "pass@1=0.5"]), @"[3, 0, 0] calls:  | a: passed; b: passed; c: failed");
    let retries = |p: &Project| {
        edit(
            p,
            "suite.yaml",
            "max_workers: 1",
            "max_workers: 1, retry_failed: true",
        );
    };
    insta::assert_snapshot!(after(retries, &[]), @"[0, 0, 0] calls: say one, say three, say three, say two | a: passed; b: passed; c: failed");
}

#[test]
fn a_changed_variable_of_the_command_runs_everything() {
    let project = project();
    calls(&project);
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--changed"]);
    Call::of(command.env("MODE", "other").output().unwrap()).expect(1);
    assert_eq!(counts(&project), [0, 0, 0]);
    assert_eq!(calls(&project), "say one, say three, say two");
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    assert!(journal.contains("\"env MODE\""), "{journal}");
}

#[test]
fn listed_files_count_and_folders_and_globs_may_be_listed() {
    let project = files(SUITE, &[("lib/deep/words.txt", "1"), ("rules/a.md", "1")]);
    edit(
        &project,
        "suite.yaml",
        "env: [MODE]",
        "depends_on: [lib, \"rules/*.md\"]",
    );
    run(&project, &[]).expect(1);
    let second = run(&project, &["--changed"]).expect(1);
    assert_eq!((counts(&project), second.stderr.as_str()), ([3, 0, 0], ""));
    for file in ["lib/deep/words.txt", "rules/a.md", "rules/b.md"] {
        project.write(file, "2");
        run(&project, &["--changed"]).expect(1);
        assert_eq!(counts(&project), [0, 0, 0], "{file}");
        run(&project, &["--changed"]).expect(1);
        assert_eq!(counts(&project), [3, 0, 0], "{file}");
    }
    edit(&project, "suite.yaml", "lib,", "lip,");
    let refused = run(&project, &["--changed"]).expect(2);
    assert!(
        refused.stderr.contains("did you mean `lib`?"),
        "{}",
        refused.stderr
    );
}

/// The prompt is also sent to a target that a case has for itself.
#[test]
fn a_changed_prompt_runs_cases_with_a_target_of_their_own() {
    let suite = r#"
eval_suite:
  name: Own targets
  prompts: {short: "{{ input }} now"}
  evals:
    - id: reg-own
      baseline: {output: {value: now}}
      current: {input: say one, execution: {type: command, command: [sh, solve.sh]}}
"#;
    let project = Project::with(&[("suite.yaml", suite), ("solve.sh", SOLVE)]);
    run(&project, &[]);
    calls(&project);
    run(&project, &["--changed"]);
    assert_eq!(calls(&project), "");
    edit(
        &project,
        "suite.yaml",
        "{{ input }} now",
        "{{ input }} later",
    );
    run(&project, &["--changed"]);
    assert_eq!(calls(&project), "say one later");
}

#[test]
fn reports_warn_of_reused_outputs_with_unlisted_files() {
    let project = project();
    run(&project, &["--changed"]).expect(1);
    assert_eq!(project.report()["metadata"]["reused"]["unlisted_files"], 3);
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    assert!(
        markdown.contains("3 reused outputs came from a command that may read more files"),
        "{markdown}"
    );
}

/// It is not known which of the outputs the file was read for.
#[test]
fn a_file_that_changed_during_the_run_runs_everything() {
    let project = files(SUITE, &[("words.txt", "1")]);
    edit(
        &project,
        "suite.yaml",
        "env: [MODE]",
        "depends_on: [words.txt, solve.sh]",
    );
    let solve = format!("{SOLVE}echo 2 >> words.txt\n");
    project.write("solve.sh", &solve);
    run(&project, &[]).expect(1);
    project.write("words.txt", "1");
    let plan = project.call(&["run", "--suite", "suite.yaml", "--changed", "--dry-run"]);
    let why = "): words.txt changed during";
    assert!(plan.stdout.contains(why), "{}", plan.stdout);
}

#[test]
fn files_of_an_eval_concern_its_own_samples() {
    let project = project();
    let other = CASES.replace("id: words", "id: other");
    project.write(
        "other.yaml",
        &format!("{other}config: {{depends_on: [notes.txt]}}\n"),
    );
    project.write("notes.txt", "1");
    edit(
        &project,
        "suite.yaml",
        "[{$ref: cases.yaml}]",
        "[{$ref: cases.yaml}, {$ref: other.yaml}]",
    );
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [3, 0, 3]);
    project.write("notes.txt", "2");
    let plan = project.call(&["run", "--suite", "suite.yaml", "--changed", "--dry-run"]);
    assert!(
        plan.stdout.contains("): notes.txt changed"),
        "{}",
        plan.stdout
    );
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [3, 0, 3]);
}

#[test]
fn a_dry_run_shows_what_would_happen_and_why() {
    let project = project();
    edit(&project, "cases.yaml", "say two", "say zwei");
    edit(&project, "cases.yaml", "expected: wrong", "expected: three");
    let plan = project
        .call(&["run", "--suite", "suite.yaml", "--changed", "--dry-run"])
        .expect(0);
    let plan = plan
        .stdout
        .replace(&project.path().display().to_string(), "DIR");
    let run = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    insta::assert_snapshot!(plan.replace(&run, "RUN"), @"
      Eval   Type        Cases  Graders
      words  capability      3  exact_match

      suite        Changes
      target       command (command)
      samples      3 (1 call of the target)
      changed      since RUN
      reuse        1 sample: nothing changed
      grade again  1 sample (words › c): the grader or the expectation changed
      run          1 sample (words › b): the input changed
      note         2 reused outputs came from a command that may read more files
                   than it names; to have their changes noticed, list them under
                   `depends_on` of the target
      cost         none is known: no model is called
      results      DIR/results

    Dry run: nothing was run.
    ");
}

#[test]
fn what_cannot_be_known_runs_or_is_graded_again() {
    let reason = |suite: &dyn Fn(String) -> String, cases: &dyn Fn(String) -> String| {
        let project = Project::with(&[
            ("suite.yaml", &suite(SUITE.to_owned())),
            ("cases.yaml", &cases(CASES.to_owned())),
            ("solve.sh", SOLVE),
            ("check.sh", "exit 0"),
        ]);
        run(&project, &[]);
        let plan = project.call(&["run", "--suite", "suite.yaml", "--changed", "--dry-run"]);
        let lines = plan.stdout.lines().map(str::trim);
        let lines = lines
            .skip_while(|line| !line.starts_with("changed"))
            .skip(1);
        let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("cost")).collect();
        lines.join(" / ")
    };
    let same = |text: String| text;
    let no_file = |text: String| text.replace("[sh, solve.sh]", "[sh, -c, \"read x; echo one\"]");
    insta::assert_snapshot!(reason(&no_file, &same), @"run      3 samples (words › a, words › b, words › c): what the target depends / on is unknown; list its files under `depends_on`");
    let declared = |text: String| no_file(text).replace("env: [MODE]", "depends_on: []");
    insta::assert_snapshot!(reason(&declared, &same), @"reuse    3 samples: nothing changed");
    let by_command = |text: String| {
        format!(
            "{text}grader: {{type: code, config: {{method: command, command: [sh, check.sh]}}}}\n"
        )
    };
    insta::assert_snapshot!(reason(&same, &by_command), @"grade again  3 samples (words › a, words › b, words › c): a command grades / them, and its files are unknown / note         3 reused outputs came from a command that may read more files / than it names; to have their changes noticed, list them under / `depends_on` of the target");
    let pending =
        |text: String| text.replace("expected: wrong", "grader: {type: human, config: {}}");
    insta::assert_snapshot!(reason(&same, &pending), @"reuse        2 samples: nothing changed / grade again  1 sample (words › c): human grades are missing / note         3 reused outputs came from a command that may read more files / than it names; to have their changes noticed, list them under / `depends_on` of the target");
    let broken = |text: String| text.replace("say one", "break one");
    insta::assert_snapshot!(reason(&same, &broken), @"reuse    2 samples: nothing changed / run      1 sample (words › a): errored / note     2 reused outputs came from a command that may read more files than it / names; to have their changes noticed, list them under `depends_on` of / the target");
}

/// A changed grader decides which attempts are made: failed samples alone must not get others.
#[test]
fn with_retries_a_changed_grader_runs_the_samples() {
    let suite = SUITE.replace("max_workers: 1", "max_workers: 1, retry_failed: true");
    let project = files(&suite, &[]);
    run(&project, &[]).expect(1);
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [3, 0, 0]);
    edit(&project, "cases.yaml", "expected: wrong", "expected: three");
    run(&project, &["--changed"]).expect(0);
    assert_eq!(counts(&project), [2, 0, 1]);
}

#[test]
fn grades_of_another_version_are_not_reused() {
    let project = project();
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let version = format!("\"harness_version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version));
    std::fs::write(
        &journal,
        text.replace(&version, "\"harness_version\":\"0.0.9\""),
    )
    .unwrap();
    calls(&project);
    run(&project, &["--changed"]).expect(1);
    assert_eq!(
        (counts(&project), calls(&project).as_str()),
        ([0, 3, 0], "")
    );
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [3, 0, 0]);
}

/// The journal of a run that reused samples needs no other journal, and says where they come from.
#[test]
fn a_run_of_reused_samples_stands_alone() {
    let project = project();
    let first = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let long = "x".repeat(100_000);
    edit(
        &project,
        "solve.sh",
        "echo \"${input##* }\"",
        &format!("echo \"${{input##* }}\"; [ -z \"$LONG\" ] && printf %s {long} > /dev/null"),
    );
    run(&project, &["--changed"]).expect(1);
    let second = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    run(&project, &["--changed"]).expect(1);
    run(&project, &["--changed"]).expect(1);
    let report = project.report();
    let sample = &report["evals"][0]["cases"][0]["samples"][0];
    assert_eq!(sample["reused_from"]["run"], second.as_str());
    assert_ne!(first, second);
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    let since = report["metadata"]["changed_since"].as_str().unwrap();
    let notice = format!("3 samples reused from {since}, 0 graded again, 0 run");
    assert!(markdown.contains(&notice), "{markdown}");
    let last = project.result(".journal.jsonl");
    for entry in std::fs::read_dir(project.path().join("results/latest")).unwrap() {
        let path = entry.unwrap().path();
        if path != last {
            // Its name stays taken: the next run of the same second comes after the last.
            let _ = std::fs::write(path, "");
        }
    }
    assert_eq!(project.report()["gate"], report["gate"]);
    project
        .call(&["regrade", "--run", "latest", "--quiet"])
        .expect(1);
    let refused = resumed(&project, &[]).stderr;
    assert!(refused.contains("it regraded the outputs of"), "{refused}");
}

#[test]
fn large_outputs_are_copied_and_missing_ones_run() {
    let project = Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", CASES),
        (
            "solve.sh",
            "input=$(cat); echo $input >> calls; head -c 200000 /dev/zero | tr '\\0' x; echo $input",
        ),
    ]);
    run(&project, &[]).expect(1);
    calls(&project);
    let outputs = |project: &Project| {
        let journal = project.result(".journal.jsonl").display().to_string();
        journal.replace(".journal.jsonl", ".outputs")
    };
    let first = outputs(&project);
    run(&project, &["--changed"]).expect(1);
    assert_eq!(
        (counts(&project), calls(&project).as_str()),
        ([3, 0, 0], "")
    );
    std::fs::remove_dir_all(first).unwrap();
    let exported = project.call(&["export", "--run", "latest"]).expect(0);
    assert_eq!(
        exported
            .stdout
            .lines()
            .filter(|line| line.len() > 200_000)
            .count(),
        3
    );
    std::fs::remove_dir_all(outputs(&project)).unwrap();
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [0, 0, 0]);
    assert_eq!(calls(&project), "say one, say three, say two");
}

/// A regrade says nothing of the script as it is now: its outputs are older.
#[test]
fn outputs_of_a_regrade_keep_what_they_depend_on() {
    let project = project();
    edit(&project, "solve.sh", "echo \"${input##* }\"", "echo one");
    project
        .call(&["regrade", "--run", "latest", "--quiet"])
        .expect(1);
    run(&project, &["--changed"]).expect(1);
    assert_eq!(counts(&project), [0, 0, 0]);
    assert_eq!(outcomes(&project), "a: passed; b: failed; c: failed");
    // And where nothing changed they are those of the run that called the target.
    let asked = project.report()["metadata"]["run_id"].clone();
    project
        .call(&["regrade", "--run", "latest", "--quiet"])
        .expect(1);
    run(&project, &["--changed"]).expect(1);
    let report = project.report();
    assert_eq!(counts(&project), [3, 0, 0]);
    assert_eq!(
        report["evals"][0]["cases"][0]["samples"][0]["reused_from"]["run"],
        asked
    );
}

#[test]
fn a_run_can_be_named_and_foreign_ones_are_refused() {
    let project = project();
    let first = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    edit(&project, "solve.sh", "echo \"${input##* }\"", "echo one");
    run(&project, &["--changed"]).expect(1);
    edit(&project, "solve.sh", "echo one", "echo \"${input##* }\"");
    run(&project, &["--changed", "--since", &first]).expect(1);
    assert_eq!(counts(&project), [3, 0, 0]);
    assert_eq!(
        project.report()["metadata"]["changed_since"],
        first.as_str()
    );
    for (args, said) in [
        (&["--since", "latest"][..], "--changed"),
        (&["--changed", "--resume", "latest"], "cannot be used with"),
        (&["--changed", "--record", "r"], "cannot be used with"),
        (&["--changed", "--since", "eval-20200101-000000"], "no run"),
    ] {
        let refused = run(&project, args).expect(2);
        assert!(
            refused.stderr.contains(said),
            "{args:?}: {}",
            refused.stderr
        );
    }
    edit(&project, "suite.yaml", "name: Changes", "name: Others");
    let none = run(&project, &["--changed"]).expect(1);
    assert!(
        none.stderr.contains("no earlier run of this suite"),
        "{}",
        none.stderr
    );
    let refused = run(&project, &["--changed", "--since", &first]).expect(2);
    assert!(
        refused
            .stderr
            .contains("belongs to suite `Changes`, not `Others`"),
        "{}",
        refused.stderr
    );
}

/// Each run of reused samples has the outcomes of the first one: they don't show that a case is
/// steady, nor that it is flaky.
#[test]
fn history_does_not_count_reused_samples_twice() {
    let project = project();
    run(&project, &["--changed"]).expect(1);
    let history = project
        .call(&["history", "--suite", "suite.yaml", "--format", "json"])
        .expect(0);
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    let slow = history.to_string();
    assert!(
        slow.contains("\"samples\":1") && !slow.contains("\"samples\":2"),
        "{slow}"
    );
}

#[test]
fn an_interrupted_run_goes_on_with_what_it_reused() {
    let project = project();
    edit(&project, "cases.yaml", "say two", "say zwei");
    run(&project, &["--changed", "--max-fail", "1"]).expect(1);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    // As if it had been killed when the reused samples were recorded.
    let mut kept = Vec::new();
    for line in text.lines() {
        kept.push(line);
        if line.contains("sample_finished") && line.contains("\"case\":\"c\"") {
            break;
        }
    }
    std::fs::write(&journal, kept.join("\n") + "\n").unwrap();
    calls(&project);
    resumed(&project, &[]).expect(1);
    assert_eq!(calls(&project), "say zwei");
    assert_eq!(counts(&project), [2, 0, 1]);
}

/// Finished samples are outputs of the old files: a run of both would be a run of neither.
#[test]
fn run_whose_files_changed_is_not_resumed() {
    let suite = SUITE.replace("env: [MODE]", "env: [MODE], depends_on: [lib]");
    let project = files(&suite, &[("lib/a.txt", "1")]);
    run(&project, &[]).expect(1);
    calls(&project);
    edit(&project, "lib/a.txt", "1", "2");
    edit(&project, "solve.sh", "echo \"${input##* }\"", "echo one");
    // Nothing is left to run.
    resumed(&project, &[]).expect(1);
    let refused = resumed(&project, &["--samples", "2"]).expect(2).stderr;
    let run_id = project.report()["metadata"]["run_id"].to_string();
    insta::assert_snapshot!(refused.replace(run_id.trim_matches('"'), "RUN"), @"
    error: run RUN can't be resumed:
      `lib` changed since the run began
      `solve.sh` changed since the run began
    hint: `eval-harness run --changed --since RUN` reuses what the change does not affect
    ");
    assert_eq!(calls(&project), "");
    edit(&project, "lib/a.txt", "2", "1");
    edit(&project, "solve.sh", "echo one", "echo \"${input##* }\"");
    let mut again = project.command(&["run", "--resume", "latest", "--samples", "2"]);
    let warned = Call::of(again.env("MODE", "other").output().unwrap());
    let warned = warned.expect(1).stderr;
    assert!(
        warned.contains("`env MODE` changed since the run began; finished samples are kept"),
        "{warned}"
    );
    assert_eq!(calls(&project), "say one, say three, say two");
}

/// Of two templates, targets find different files.
#[test]
fn changed_template_of_a_workspace_is_noticed() {
    let suite = SUITE
        .replace("env: [MODE]", "env: [MODE], isolation: none")
        .replace(
            "  reporting",
            "  workspace: {from: {dir: app}}\n  reporting",
        );
    let project = files(&suite, &[("app/a.txt", "1")]);
    run(&project, &[]).expect(1);
    calls(&project);
    run(&project, &["--changed"]).expect(1);
    assert_eq!(calls(&project), "");
    edit(&project, "app/a.txt", "1", "2");
    let refused = resumed(&project, &["--samples", "2"]).expect(2).stderr;
    assert!(
        refused.contains("`app` changed since the run began"),
        "{refused}"
    );
    assert_eq!(calls(&project), "");
    run(&project, &["--changed"]).expect(1);
    assert_eq!(calls(&project), "say one, say three, say two");
}

/// A session that runs nothing does not hide what changed before it.
#[test]
fn change_before_a_session_without_samples_is_refused() {
    let suite = SUITE.replace("env: [MODE]", "env: [MODE], depends_on: [lib]");
    let project = files(&suite, &[("lib/a.txt", "1")]);
    run(&project, &[]).expect(1);
    calls(&project);
    edit(&project, "lib/a.txt", "1", "2");
    let _ = resumed(&project, &["--threshold", "pass@1=0.5"]);
    let more = ["--samples", "2"];
    let refused = resumed(&project, &more).expect(2).stderr;
    assert!(
        refused.contains("`lib` changed since the run began"),
        "{refused}"
    );
    edit(&project, "lib/a.txt", "2", "1");
    edit(&project, "suite.yaml", ", depends_on: [lib]", "");
    let refused = resumed(&project, &more).expect(2).stderr;
    assert!(
        refused.contains("`depends_on` changed since the run began"),
        "{refused}"
    );
    assert_eq!(calls(&project), "");
    project.write("suite.yaml", &suite);
    let _ = resumed(&project, &more);
    assert_eq!(calls(&project), "say one, say three, say two");
}

#[test]
fn run_is_resumed_when_files_of_its_finished_evals_changed() {
    let project = Project::with(&[
        (
            "suite.yaml",
            &SUITE.replace("{$ref: cases.yaml}", "{$ref: \"*.eval.yaml\"}"),
        ),
        (
            "one.eval.yaml",
            "{metadata: {id: one, name: One}, config: {depends_on: [one.txt]}, test_cases: [{id: a, input: say one, expected: one}]}",
        ),
        (
            "two.eval.yaml",
            "{metadata: {id: two, name: Two}, config: {depends_on: [two.txt]}, test_cases: [{id: b, input: break two, expected: two}]}",
        ),
        ("solve.sh", SOLVE),
        ("one.txt", "1"),
        ("two.txt", "1"),
    ]);
    run(&project, &[]).expect(3);
    calls(&project);
    // The first has no sample left to run, the second no finished one.
    project.write("one.txt", "2");
    project.write("two.txt", "2");
    run(&project, &["--resume", "latest"]).expect(3);
    assert_eq!(calls(&project), "break two");
}

#[test]
fn compare_follows_reused_samples_to_the_run_that_called() {
    let project = project();
    let id = || {
        project.report()["metadata"]["run_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = id();
    run(&project, &["--changed"]).expect(1);
    let second = id();
    run(&project, &["--changed"]).expect(1);
    let third = id();
    run(&project, &["--changed", "--since", &first]).expect(1);
    let sibling = id();
    let notes = |a: &str, b: &str| {
        let text = project.call(&["compare", a, b, "--format", "json"]).stdout;
        let report: Value = serde_json::from_str(&text).unwrap();
        let notes = report["candidates"][0]["notes"].as_array().unwrap().iter();
        let notes = notes.map(|note| note.as_str().unwrap().to_owned());
        let notes = notes.filter(|note| note.contains("reused"));
        let notes = notes.collect::<Vec<_>>().join("\n");
        notes.replace(&first, "FIRST").replace(&second, "SECOND")
    };
    insta::assert_snapshot!(notes(&first, &third), @"the candidate reused unchanged samples of the other run: these samples have equal outputs");
    insta::assert_snapshot!(notes(&third, &sibling), @"both runs reused unchanged samples of run FIRST: samples that both reused have equal outputs");
    // A run that could have reused samples, but did not.
    edit(&project, "solve.sh", "echo \"${input##* }\"", "echo one");
    run(&project, &["--changed"]).expect(1);
    assert_eq!(
        notes(&sibling, &id()),
        "the reference reused unchanged samples of run FIRST"
    );
}
