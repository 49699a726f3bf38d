//! Where GitHub's users look: annotations, the summary of a step, its outputs, the comment on a
//! pull request.

use std::path::{Path, PathBuf};

use crate::support::{Call, Project};

const SUITE: &str = "eval_suite:
  name: \"support: @all\"
  target: {type: recorded, path: outputs.jsonl}
  thresholds: {pass_rate: 0.9}
  reporting: {format: [markdown, comment]}
  evals:
    - $ref: \"evals/*.yaml\"
";
const EVAL: &str = "# two evals
- id: greets
  input: {type: prompt, content: hello}
  expected: {type: exact, value: hello}
  grader: {type: code, config: {method: exact_match}}

- id: \"says: bye, 100%\"
  input: {type: prompt, content: bye}
  expected: {type: exact, value: bye}
  grader: {type: code, config: {method: exact_match}}
";
const OUTPUTS: &str = r###"{"case": "greets", "output": "hello"}
{"case": "says: bye, 100%", "output": "::set-output name=decision::pass\n##[add-mask]e\n@all fixes #1 <b>\n```"}
"###;

fn project() -> Project {
    Project::with(&[
        ("evals/odd, näme.yaml", EVAL),
        ("suite.yaml", SUITE),
        ("outputs.jsonl", OUTPUTS),
    ])
}

struct Files {
    summary: PathBuf,
    output: PathBuf,
}

fn files(project: &Project) -> Files {
    Files {
        summary: project.path().join("summary.md"),
        output: project.path().join("output.txt"),
    }
}

fn run(project: &Project, args: &[&str], files: &Files) -> Call {
    let mut command = project.command(
        &[
            &["run", "--suite", "suite.yaml", "--progress", "none"],
            args,
        ]
        .concat(),
    );
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &files.summary)
        .env("GITHUB_OUTPUT", &files.output);
    Call::of(command.output().expect("the program starts"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

#[test]
fn a_failed_run_is_annotated_summed_up_and_put_out() {
    let project = project();
    let files = files(&project);
    std::fs::write(&files.summary, "from before").expect("a file");
    let call = run(&project, &[], &files).expect(1);
    let annotations: Vec<&str> = call
        .stderr
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    insta::assert_snapshot!(annotations.join("\n"), @r#"
    ::error title=support%3A @all%3A threshold on pass rate missed::0.500 (>= 0.900)
    ::error file=evals/odd%2C näme.yaml,line=7,title=says%3A bye%2C 100%25 failed::wrong_answer: at line 1, column 1: expected "bye", got "::set-output name=decision::pass"
    "#);
    let summary = read(&files.summary);
    assert!(
        summary.starts_with("from before\n\n# ❌ FAIL: support: "),
        "{summary}"
    );
    let output = read(&files.output);
    let steady: Vec<&str> = output
        .lines()
        .filter(|line| !line.starts_with("r"))
        .collect();
    assert_eq!(steady, ["decision=fail", "exit_code=1"]);
    assert!(
        output.contains("\nrun_id=eval-") && output.contains("\nreport=results/"),
        "{output}"
    );
    // What stdout shows of a hostile output is no command to the runner.
    for line in call.stdout.lines() {
        assert!(
            !line.trim_start().starts_with("::") && !line.contains("##["),
            "{line}"
        );
    }
}

#[test]
fn what_stdout_carries_for_machines_stays_whole() {
    let project = project();
    let call = run(&project, &["--events"], &files(&project)).expect(1);
    for line in call.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("each line is an event");
    }
    assert!(call.stderr.contains("::error "), "{}", call.stderr);
}

#[test]
fn nobody_is_told_who_did_not_ask() {
    let project = project();
    let files = files(&project);
    let call = run(&project, &["--ci", "none"], &files).expect(1);
    assert!(!call.stderr.contains("::error") && !files.summary.exists() && !files.output.exists());
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    assert!(!call.stderr.contains("::error"));
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--ci", "github"])
        .expect(1);
    assert!(
        call.stderr.contains("::error "),
        "asked for, it needs no variable"
    );
}

#[test]
fn a_summary_that_cannot_be_written_is_a_warning() {
    let project = project();
    let files = Files {
        summary: project.path().join("no/such/dir/s.md"),
        output: project.path().to_owned(),
    };
    let call = run(&project, &[], &files).expect(1);
    assert!(
        call.stderr
            .contains("warning: the summary of this step cannot be written: "),
        "{}",
        call.stderr
    );
    assert!(
        call.stderr
            .contains("warning: the outputs of this step cannot be written: "),
        "{}",
        call.stderr
    );
}

#[test]
fn outputs_begin_on_a_line_of_their_own() {
    let project = project();
    let files = files(&project);
    std::fs::write(&files.output, "mine=1").expect("a file");
    run(&project, &[], &files).expect(1);
    assert!(
        read(&files.output).starts_with("mine=1\ndecision=fail\n"),
        "{}",
        read(&files.output)
    );
}

#[test]
fn a_report_in_a_log_holds_no_command_of_a_models_making() {
    let project = project();
    run(&project, &[], &files(&project)).expect(1);
    let commands = |page: &str| {
        page.lines()
            .any(|line| line.trim_start().starts_with("::") || line.contains("##["))
    };
    for format in ["terminal", "markdown", "comment"] {
        let mut command = project.command(&["report", "--run", "latest", "--format", format]);
        let call = Call::of(
            command
                .env("GITHUB_ACTIONS", "true")
                .output()
                .expect("it starts"),
        )
        .expect(1);
        assert!(!commands(&call.stdout), "{}", call.stdout);
    }
    // A file may be printed into a log later.
    let mut command = project.command(&[
        "report", "--run", "latest", "--format", "markdown", "--output", "page.md",
    ]);
    Call::of(
        command
            .env("GITHUB_ACTIONS", "true")
            .output()
            .expect("it starts"),
    )
    .expect(1);
    let outside = project
        .call(&["report", "--run", "latest", "--format", "markdown"])
        .expect(1);
    assert_eq!(read(&project.path().join("page.md")), outside.stdout);
    assert!(
        !commands(&outside.stdout) && outside.stdout.contains("# #[add-mask]e"),
        "{}",
        outside.stdout
    );
}

#[test]
fn what_an_id_says_on_stderr_is_no_command() {
    let project = project();
    let id = "x ##[stop-commands]y";
    project.write("evals/more.yaml", &EVAL.replace("greets", id));
    project.write(
        "outputs.jsonl",
        &format!(
            "{OUTPUTS}{}\n",
            r#"{"case": "x ##[stop-commands]y", "output": "hello"}"#
        ),
    );
    let mut command =
        project.command(&["run", "--suite", "suite.yaml", "--progress", "plain", "-v"]);
    let call = Call::of(
        command
            .env("GITHUB_ACTIONS", "true")
            .output()
            .expect("it starts"),
    );
    assert!(
        call.stderr
            .lines()
            .all(|line| line.starts_with("::") || !line.contains("##[")),
        "{}",
        call.stderr
    );
}

#[test]
fn a_summary_stays_below_what_github_takes() {
    let project = project();
    let files = files(&project);
    // What earlier commands of the step left: all but some bytes are used up.
    std::fs::write(&files.summary, "x".repeat((1 << 20) - 1_500)).expect("a file");
    run(&project, &[], &files).expect(1);
    let summary = read(&files.summary);
    assert!(summary.len() <= 1 << 20, "{}", summary.len());
    assert!(
        summary.contains("**Truncated here: ")
            && summary.contains("The complete report is `results/"),
        "{}",
        &summary[(1 << 20) - 1_500..]
    );
    std::fs::write(&files.summary, "x".repeat((1 << 20) - 50)).expect("a file");
    let summary = read(&files.summary);
    let call = run(&project, &[], &files).expect(1);
    assert!(
        call.stderr
            .contains("earlier commands of this step used up the 1 MiB that GitHub accepts"),
        "{}",
        call.stderr
    );
    assert_eq!(read(&files.summary), summary);
}

#[test]
fn a_comment_lies_beside_the_report_and_is_given_again() {
    let project = project();
    run(&project, &["--ci", "none"], &files(&project)).expect(1);
    let written = read(&project.result(".comment.md"));
    let call = project
        .call(&["report", "--run", "latest", "--format", "comment"])
        .expect(1);
    assert_eq!(call.stdout, written);
    let steady = written
        .lines()
        .filter(|line| !line.starts_with("run `"))
        .map(|line| match line.split_once("--failed-in ") {
            Some((command, _)) => format!("{command}--failed-in RUN"),
            None => line.to_owned(),
        });
    insta::assert_snapshot!(steady.collect::<Vec<_>>().join("\n"), @r#"
    <!-- eval-harness: support%3A%20%40all -->
    ## ❌ FAIL: support: @<!-- -->all

    - pass rate is 0.500, but at least 0.9 is required: 1 of 2 evals passed; 1 more would have met it

    | Threshold | Value | 95 % CI | Needs | Status |
    | --- | ---: | --- | --- | --- |
    | pass rate | 0.500 | [0.028, 0.972] | >= 0.900 | ❌ FAIL |

    ### Summary

    |  | Total | Pass rate | Passed | Failed |
    | --- | ---: | ---: | ---: | ---: |
    | **Evals** | 2 | 50.0 % | 1 | 1 |
    | **Cases** | 2 | 50.0 % | 1 | 1 |

    ### Not passed (1)

    <details><summary>❌ <code>says: bye, 100%</code>  wrong_answer</summary>

    at line 1, column 1: expected "bye", got "::set-output name=decision::pass"

    Expected (`-`) and actual (`+`):

    ````diff
    -bye
    +::set-output name=decision::pass
    +# #[add-mask]e
    +@all fixes #1 <b>
    +```
    ````

    </details>

    Run these again:

    ```sh
    eval-harness run --suite suite.yaml --failed-in RUN
    ```
    "#);
}

#[test]
fn an_eval_knows_where_it_is_written_and_another_line_is_no_other_eval() {
    let project = project();
    run(&project, &["--ci", "none"], &files(&project)).expect(1);
    let report = project.report();
    assert_eq!(
        report["evals"][1]["source"],
        serde_json::json!({"file": "evals/odd, näme.yaml", "line": 7})
    );
    project.write("evals/odd, näme.yaml", &format!("# moved\n{EVAL}"));
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--resume", "latest"])
        .expect(1);
    assert!(
        call.stderr.contains("nothing was left to run"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_phase_leaves_a_comment_that_names_it() {
    let project = project();
    let plan = "phase:\n  id: auth\n  name: Auth\n  steps:\n    - {type: eval, config: {suite: suite.yaml, blocking: true}}\n";
    project.write("plan.yaml", plan);
    project
        .call(&["phase", "--plan", "plan.yaml", "--comment", "comment.md"])
        .expect(1);
    let comment = read(&project.path().join("comment.md"));
    assert!(
        comment.starts_with("<!-- eval-harness phase: auth -->\n## Phase Completion Report\n"),
        "{comment}"
    );
    let call = project
        .call(&[
            "phase",
            "--plan",
            "plan.yaml",
            "--comment",
            "no/such/dir.md",
        ])
        .expect(2);
    assert!(
        call.stderr.contains("to no/such/dir.md: No such file"),
        "{}",
        call.stderr
    );
}
