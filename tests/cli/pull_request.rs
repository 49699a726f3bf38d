//! `ci`: a run for a pull request, compared with the accepted scores of the base branch.

use std::path::Path;

use crate::support::{Call, Project};
use insta::assert_snapshot;
use serde_json::{Value, json};

const SUITE: &str = "\
eval_suite:
  name: Ours
  target: {type: recorded, path: outputs.jsonl}
  thresholds: {pass_at_1: 0.2}
  evals: [{$ref: words.yaml}]
";

const CASES: usize = 12;

fn words() -> String {
    let case = |n: usize| {
        format!("  - {{id: c{n}, input: say {n}, expected: {{type: exact, value: \"{n}\"}}}}\n")
    };
    let cases: String = (0..CASES).map(case).collect();
    format!(
        "schema_version: \"1.0\"\neval_type: capability\nmetadata: {{id: cap-words}}\ntest_cases:\n{cases}"
    )
}

/// Recorded outputs of which the first `wrong` are wrong.
fn outputs(wrong: usize) -> String {
    let line = |n: usize| {
        let output = if n < wrong {
            "?".to_owned()
        } else {
            n.to_string()
        };
        json!({"case": format!("c{n}"), "output": output}).to_string() + "\n"
    };
    (0..CASES).map(line).collect()
}

/// A repository whose branch `main` has the suite, and its scores if they were accepted.
fn project(accepted: bool) -> Project {
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        ("evals/words.yaml", &words()),
        ("evals/outputs.jsonl", &outputs(0)),
        (".gitignore", "results/\nanswers/\n"),
    ]);
    std::fs::remove_dir(project.path().join(".git")).expect("removed");
    project.git(&["init", "-q", "-b", "main"]);
    if accepted {
        project.call(&["run", "--progress", "none"]).expect(0);
        project.call(&["baseline", "capture", "--scores"]).expect(0);
        project.call(&["baseline", "accept", "--scores"]).expect(0);
    }
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "the suite"]);
    // As a clone has it.
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project
}

/// As a CI server calls it.
fn ci(project: &Project, args: &[&str], set: &[(&str, &Path)]) -> Call {
    let mut command = project.command(&[&["ci", "--progress", "none"], args].concat());
    command.env("CI", "true");
    for name in [
        "GITHUB_BASE_REF",
        MERGE_REQUEST.0,
        "CI_MERGE_REQUEST_PROJECT_ID",
        "CI_PROJECT_ID",
    ] {
        command.env_remove(name);
    }
    command.envs(set.iter().copied());
    Call::of(command.output().expect("it starts"))
}

const MERGE_REQUEST: (&str, &str) = ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");

#[test]
fn a_regression_from_the_base_branch_fails_the_gate() {
    let project = project(true);
    let base = (MERGE_REQUEST.0, Path::new(MERGE_REQUEST.1));
    let same = ci(
        &project,
        &["--comment", "comment.md", "--badge", "badge.svg"],
        &[base],
    )
    .expect(0);
    assert!(same.stdout.contains("GATE PASS"), "{}", same.stdout);
    let report = project.report();
    assert_eq!(
        report["comparison"]["reference"]["label"], "origin/main",
        "{}",
        report["comparison"]
    );
    let comment = std::fs::read_to_string(project.path().join("comment.md")).expect("a comment");
    assert!(
        comment.starts_with("<!-- eval-harness: Ours -->"),
        "{comment}"
    );
    let badge = std::fs::read_to_string(project.path().join("badge.svg")).expect("a badge");
    assert!(badge.contains("evals: pass, 12/12"), "{badge}");
    for ending in [
        ".json",
        ".md",
        ".html",
        ".junit.xml",
        ".comment.md",
        ".badge.svg",
    ] {
        project.result(ending);
    }

    project.write("evals/outputs.jsonl", &outputs(9));
    let worse = ci(&project, &["--badge", "badge.svg"], &[base]).expect(1);
    assert!(worse.stdout.contains("GATE FAIL"), "{}", worse.stdout);
    let badge = std::fs::read_to_string(project.path().join("badge.svg")).expect("a badge");
    assert!(badge.contains("evals: fail, 3/12"), "{badge}");
    // The thresholds alone allow that.
    ci(&project, &["--fail-on", "never"], &[base]).expect(0);
    let named = ci(&project, &["--against", "main", "--dry-run"], &[]).expect(0);
    assert!(named.stdout.contains("main"), "{}", named.stdout);

    // What `run` continues is what `ci` began.
    let session = project.call(&["run", "--resume", "latest", "--progress", "none"]);
    assert!(
        session.stderr.contains("nothing was left to run"),
        "{}",
        session.stderr
    );
}

#[test]
fn without_accepted_scores_the_gate_alone_decides() {
    let project = project(false);
    project.write("evals/outputs.jsonl", &outputs(9));
    let base = ("GITHUB_BASE_REF", Path::new("main"));
    let call = ci(&project, &["--fail-on", "any"], &[base]).expect(0);
    assert_snapshot!(call.stderr, @"
    warning: not compared: `origin/main` has no accepted scores of suite `Ours` against target `recorded`
    hint: to begin, accept the scores of a good run there and commit them: `eval-harness run`, `eval-harness baseline capture --scores`, `eval-harness baseline accept --scores`
    ");
    assert_eq!(project.report()["comparison"], Value::Null);
    let call = ci(&project, &["-q"], &[]).expect(0);
    assert_snapshot!(call.stderr, @"
    warning: not compared: no base branch was found
    hint: name it with `--against REV`, such as `--against origin/main`
    ");
    let call = ci(&project, &["--threshold", "pass@1=0.9"], &[]).expect(1);
    assert!(call.stdout.contains("GATE FAIL"), "{}", call.stdout);
}

#[test]
fn a_base_branch_that_is_not_there_is_an_error() {
    let project = project(true);
    let base = ("GITHUB_BASE_REF", Path::new("maim"));
    assert_snapshot!(ci(&project, &[], &[base]).expect(2).stderr, @"
    error: the score baseline can't be read at `origin/maim`: `origin/maim` is not a revision of this repository
    hint: did you mean `origin/main`?
    ");
    let call = ci(&project, &["--against", "gone"], &[]).expect(2);
    assert!(call.stderr.contains("gone"), "{}", call.stderr);
    assert_snapshot!(ci(&project, &["--resume", "latest"], &[]).expect(2).stderr, @"
    error: `ci` starts a new run
    hint: `eval-harness run --resume RUN` continues one
    ");
    let targets = ["--target", "a", "--target", "b"];
    assert_snapshot!(ci(&project, &targets, &[]).expect(2).stderr, @"
    error: `ci` runs one target
    hint: select it with --target, or call `ci` once for each target
    ");
    assert!(!project.path().join("comment.md").exists());
}

#[test]
fn a_reference_is_named_once() {
    let project = project(true);
    project.write("evals/outputs.jsonl", &outputs(9));
    for side in ["--baseline", "--compare-to=previous"] {
        let args = [side, "--against", "origin/main", "--fail-on", "significant"];
        assert_eq!(
            ci(&project, &args, &[]).expect(2).stderr,
            "error: `--against` names what `ci` compares with; use it, or `--compare-to`/`--baseline`, not both\n"
        );
    }
}

#[test]
fn a_file_is_not_taken_for_the_base_branch() {
    let project = project(true);
    let base = (MERGE_REQUEST.0, Path::new(MERGE_REQUEST.1));
    project.write("evals/outputs.jsonl", &outputs(9));
    ci(&project, &["--fail-on", "never"], &[base]).expect(0);
    // Compared with this, nothing became worse.
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).expect("a journal");
    project.write("origin/main", &journal);
    let call = ci(&project, &[], &[base]).expect(1);
    assert!(
        call.stderr.contains("`origin/main` is read as commit "),
        "{}",
        call.stderr
    );
    let report = project.report();
    let label = report["comparison"]["reference"]["label"].as_str();
    let commit = label.expect("a label").to_owned();
    assert_eq!(commit.len(), 40, "{commit}");

    project.write(&commit, &journal);
    let call = ci(&project, &[], &[base]).expect(2);
    assert!(
        call.stderr.contains("are also names of files or runs"),
        "{}",
        call.stderr
    );
}

#[test]
fn accepted_scores_need_a_base_branch() {
    let project = project(true);
    project.write("evals/outputs.jsonl", &outputs(9));
    let said = "\
error: no base branch was found, so the run can't be compared with the accepted scores of suite `Ours` against target `recorded`
hint: name it with `--against REV`, such as `--against origin/main`
";
    assert_eq!(ci(&project, &[], &[]).expect(2).stderr, said);
    let mut command = project.command(&["ci", "--progress", "none", "--fail-on", "any"]);
    for name in [
        "GITHUB_BASE_REF",
        MERGE_REQUEST.0,
        "CI_MERGE_REQUEST_PROJECT_ID",
    ] {
        command.env_remove(name);
    }
    let call = Call::of(command.output().expect("it starts"));
    assert_eq!(call.expect(2).stderr, said);
    ci(&project, &["--against", "origin/main"], &[]).expect(1);
}

#[test]
fn a_fork_at_gitlab_names_its_base_branch() {
    let project = project(true);
    let set = [
        (MERGE_REQUEST.0, Path::new(MERGE_REQUEST.1)),
        ("CI_MERGE_REQUEST_PROJECT_ID", Path::new("7")),
        ("CI_PROJECT_ID", Path::new("8")),
    ];
    let call = ci(&project, &[], &set).expect(2);
    assert!(call.stderr.contains("from a fork"), "{}", call.stderr);
    assert!(call.stderr.contains("--against"), "{}", call.stderr);
    ci(&project, &["--against", "main"], &set).expect(0);
}

#[test]
fn options_without_a_use_are_refused() {
    let project = project(true);
    let watch = ci(&project, &["--watch"], &[]).expect(2);
    assert!(watch.stderr.contains("`--watch`"), "{}", watch.stderr);
    let help = project.call(&["ci", "--help"]).expect(0).stdout;
    let lists = |name: &str| help.lines().any(|line| line.trim().starts_with(name));
    assert!(
        lists("--since") && !lists("--watch") && !lists("--resume"),
        "{help}"
    );
    let since = ci(&project, &["--since", "latest"], &[]).expect(2);
    assert!(
        since.stderr.contains("`--since` needs `--changed`"),
        "{}",
        since.stderr
    );
}

#[test]
fn github_gets_summary_outputs_and_annotations() {
    let project = project(true);
    project.write("evals/outputs.jsonl", &outputs(2));
    let [summary, output] = ["summary.md", "output.txt"].map(|name| project.path().join(name));
    let set = [
        ("GITHUB_ACTIONS", Path::new("true")),
        ("GITHUB_BASE_REF", Path::new("main")),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_OUTPUT", &output),
    ];
    let call = ci(&project, &["--fail-on", "any"], &set).expect(1);
    assert!(call.stderr.contains("::error"), "{}", call.stderr);
    let summary = std::fs::read_to_string(summary).expect("a summary");
    assert!(summary.contains("origin/main"), "{summary}");
    let output = std::fs::read_to_string(output).expect("outputs");
    assert!(output.contains("decision=fail\nexit_code=1\n"), "{output}");
}
