//! `show`: the cases of a run in full.

use crate::support::Project;
use insta::assert_snapshot;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Shown
  evals: [{$ref: words.yaml}, {$ref: data.yaml}]
  target: {type: recorded, path: outputs.jsonl}
  config: {samples: 2}
"#;

const OUTPUTS: &str = r#"{"case": "right", "output": "one"}
{"case": "right", "output": "one"}
{"case": "wrong", "output": "two\nother lines\u001b[31m"}
{"case": "wrong", "output": "a line that is much longer than the terminal has columns, so that it goes on in the next row"}
{"case": "shaky", "output": "three"}
{"case": "shaky", "output": "four"}
{"case": "order", "output": {"sum": 12.50}}
{"case": "order", "output": {"total": 12.50}}
"#;

const WORDS: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-words, name: Words}
test_cases:
  - {id: right, input: say one, expected: {type: exact, value: one}}
  - id: wrong
    input: {type: messages, messages: [{role: system, content: Be brief.}, {role: user, content: say two}]}
    expected: {type: exact, value: "two\nlines"}
  - {id: shaky, input: say three, expected: {type: exact, value: three}}
"#;

const DATA: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-data, name: Data}
test_cases:
  - id: order
    input: an order as JSON
    grader: {type: code, config: {method: json, schema: {type: object, required: [total]}}}
"#;

fn project() -> Project {
    let project = Project::with(&[
        ("suite.yaml", SUITE),
        ("words.yaml", WORDS),
        ("data.yaml", DATA),
        ("outputs.jsonl", OUTPUTS),
    ]);
    project
        .call(&["run", "--suite", "suite.yaml", "--jobs", "1"])
        .expect(1);
    project
}

fn shown(project: &Project, args: &[&str]) -> String {
    let args = [&["show", "--suite", "suite.yaml"], args].concat();
    project.call(&args).stdout
}

#[test]
fn show_prints_what_did_not_pass() {
    let project = project();
    assert_snapshot!(shown(&project, &[]), @r#"
    ✗ cap-words › wrong  wrong_answer · 0 of 2 samples passed
      Input, system
      │ Be brief.
      Input, user
      │ say two

      ✗ Sample 1  wrong_answer
        Output
        │ two
        │ other lines
        ✗ exact_match: at line 2, column 1: expected "lines", got "other
          lines\u{1b}[31m"
          - expected  + actual
            two
          - lines
          + other lines

      ✗ Sample 2  wrong_answer
        Output
        │ a line that is much longer than the terminal has columns, so that it goe
        │ s on in the next row
        ✗ exact_match: at line 1, column 1: expected "two", got "a line that is
          much longer than the term…"
          - expected  + actual
          - two
          - lines
          + a line that is much longer than the terminal has columns, so that it …
      If the output is right: eval-harness accept cap-words/wrong --suite
      suite.yaml

    ✗ cap-words › shaky  wrong_answer · 1 of 2 samples passed
      Input
      │ say three

      ✓ Sample 1  passed
        Output
        │ three
        ✓ exact_match

      ✗ Sample 2  wrong_answer
        Output
        │ four
        ✗ exact_match: expected "three", got "four"
          expected  three
          actual    four
      If the output is right: eval-harness accept cap-words/shaky --suite
      suite.yaml

    ✗ cap-data › order  wrong_answer · 1 of 2 samples passed
      Input
      │ an order as JSON

      ✗ Sample 1  wrong_answer
        Output
        │ {"sum":12.50}
        ✗ json: does not match the schema: (root): "total" is a required property
          actual    {"sum":12.50}

      ✓ Sample 2  passed
        Output
        │ {"total":12.50}
        ✓ json
    "#);
}

#[test]
fn show_selects_cases_and_samples() {
    let project = project();
    let right = shown(&project, &["cap-words/ri*"]);
    assert!(
        right.contains("say one") && !right.contains("say two"),
        "{right}"
    );
    assert_snapshot!(shown(&project, &["shaky", "--sample", "2"]), @r#"
    ✗ cap-words › shaky  wrong_answer · 1 of 2 samples passed
      Input
      │ say three

      ✗ Sample 2  wrong_answer
        Output
        │ four
        ✗ exact_match: expected "three", got "four"
          expected  three
          actual    four
      If the output is right: eval-harness accept cap-words/shaky --suite
      suite.yaml
    "#);
    let elsewhere = project
        .call(&["show", "shaky", "--output-dir", "results"])
        .expect(0)
        .stdout;
    let words: Vec<&str> = elsewhere.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("accept cap-words/shaky --output-dir results"),
        "{elsewhere}"
    );
    let flaky = shown(&project, &["--flaky"]);
    assert!(
        flaky.contains("shaky") && !flaky.contains("say two"),
        "{flaky}"
    );
    let json: Value =
        serde_json::from_str(&shown(&project, &["order", "--format", "json"])).unwrap();
    assert_eq!(json[0]["eval_id"], "cap-data");
    assert_eq!(json[0]["samples"][0]["output"]["sum"].to_string(), "12.50");
}

#[test]
fn show_without_a_match_says_what_to_do() {
    let project = project();
    for (args, code, message) in [
        (&["nothing-*"][..], 2, "no case of run"),
        (&["shaky", "--sample", "3"], 2, "these cases have 2 samples"),
        (&["[x"], 2, "`[x` is not a glob"),
        (&["right", "--failed"], 0, "failed"),
    ] {
        let args = [&["show", "--suite", "suite.yaml"], args].concat();
        let done = project.call(&args);
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(message), "{args:?}: {}", done.stderr);
    }
}

/// Runs `show` in a terminal of 10 rows with a custom pager, and presses Ctrl-C when the pager is
/// ready.
const PAGED: &str = r#"
import os, pty, sys, fcntl, struct, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 80, 0, 0))
    os.environ.setdefault("PAGER", "sed s/^/paged:/")
    os.execv(sys.argv[1], sys.argv[1:])
seen, pressed = b"", False
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
    if b"pager is ready" in seen and not pressed:
        pressed = os.write(fd, b"\x03") > 0
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status))
"#;

/// Ends at Ctrl-C.
const PAGER: &str = r#"
import signal, sys
def leave(*_):
    print("pager is left", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, leave)
sys.stdin.buffer.read()
print("pager is ready", flush=True)
signal.pause()
"#;

#[test]
fn interrupt_in_the_pager_is_left_to_the_pager() {
    let project = project();
    let script = project.write("paged.py", PAGED);
    project.write("pager.py", PAGER);
    let output = std::process::Command::new("python3")
        .arg(&script)
        .arg(crate::support::PROGRAM)
        .args(["show", "--suite", "suite.yaml"])
        .current_dir(project.path())
        .env("TERM", "xterm")
        .env("PAGER", "python3 pager.py")
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("pager is left"), "{seen}");
    assert_eq!(output.status.code(), Some(0), "{seen}");
}

#[test]
fn show_pages_what_is_longer_than_the_terminal() {
    let project = project();
    let script = project.write("paged.py", PAGED);
    let on_terminal = |args: &[&str]| {
        let output = std::process::Command::new("python3")
            .arg(&script)
            .arg(crate::support::PROGRAM)
            .args(["show", "--suite", "suite.yaml"])
            .args(args)
            .current_dir(project.path())
            .env("TERM", "xterm")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let paged = on_terminal(&[]);
    assert!(
        paged.lines().all(|line| line.starts_with("paged:")),
        "{paged}"
    );
    assert!(!on_terminal(&["--no-pager"]).contains("paged:"));
    let short = on_terminal(&["right", "--sample", "1"]);
    assert!(
        short.contains("say one") && !short.contains("paged:"),
        "{short}"
    );
}

#[test]
fn report_filters_change_lists_and_keep_figures() {
    let project = project();
    let report = |args: &[&str]| {
        let args = [&["report", "--suite", "suite.yaml"], args].concat();
        project.call(&args).expect(1).stdout
    };
    let json = |args: &[&str]| -> Value {
        let args = [args, &["--format", "json"]].concat();
        serde_json::from_str::<Value>(&report(&args)).expect("JSON")["eval_report"].take()
    };
    let listed = |report: &Value| -> Vec<String> {
        let evals = report["evals"].as_array().expect("evals").iter();
        let cases = evals.flat_map(|eval| eval["cases"].as_array().expect("cases"));
        cases
            .map(|case| case["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let whole = json(&[]);
    for (args, cases) in [
        (&["--failed"][..], &["wrong", "shaky", "order"][..]),
        (&["--case", "*r*"], &["right", "wrong", "order"]),
        (&["--flaky"], &["shaky", "order"]),
        (&["--failed", "--eval", "cap-data"], &["order"]),
        (&["--errored"], &[]),
    ] {
        let part = json(args);
        assert_eq!(listed(&part), cases, "{args:?}");
        for same in ["summary", "metrics", "gate", "recommendations"] {
            assert_eq!(part[same], whole[same], "{args:?}");
        }
        let failures = part["failures"].as_array().expect("failures");
        let mut names = failures.iter().map(|failure| failure["case_id"].as_str());
        assert!(
            names.all(|name| cases.contains(&name.expect("an id"))),
            "{args:?}"
        );
        let filter = part["list_filters"][0].as_str().expect("a filter");
        assert!(filter.starts_with(args[0]), "{args:?}: {filter}");
    }
    assert!(whole.get("list_filters").is_none());
    let page = report(&["--case", "right"]);
    assert!(page.contains("Lists 1 of 4 cases (--case right); figures and gate are those of"));
    assert!(
        !page.contains("shaky") && page.contains("GATE FAIL"),
        "{page}"
    );
    let junit = report(&["--case", "right", "--format", "junit"]);
    assert!(
        junit.contains("name=\"right\"") && !junit.contains("name=\"wrong\""),
        "{junit}"
    );
    assert!(junit.contains("<testcase name=\"gate\""), "{junit}");
    let said = project
        .call(&["report", "--suite", "suite.yaml", "--errored"])
        .expect(1);
    assert!(said.stderr.contains("errored"), "{}", said.stderr);
    let refused = project
        .call(&["report", "--suite", "suite.yaml", "--eval", "none-*"])
        .expect(2);
    assert!(
        refused.stderr.contains("matches `--eval none-*`"),
        "{}",
        refused.stderr
    );
    let sides = [
        "report",
        "--suite",
        "suite.yaml",
        "--failed",
        "--run",
        "latest",
        "--run",
        "latest",
    ];
    let refused = project.call(&sides).expect(2);
    assert!(
        refused.stderr.contains("filter the cases of one run"),
        "{}",
        refused.stderr
    );
}

#[test]
fn run_verbose_prints_a_line_for_each_case() {
    let project = project();
    let said = project.call(&["run", "--suite", "suite.yaml", "--jobs", "1", "-v"]);
    let lines: Vec<&str> = said
        .stderr
        .lines()
        .filter(|line| line.contains(" ms "))
        .collect();
    let words: Vec<String> = lines
        .iter()
        .map(|line| {
            let words = line.split_whitespace();
            // The time is the third word, its unit the fourth.
            let words = words.enumerate().filter(|(at, _)| ![2, 3].contains(at));
            words.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_snapshot!(words.join("\n"), @"
    ✓ 2/2 cap-words › right
    ✗ 0/2 cap-words › wrong wrong_answer
    ✗ 1/2 cap-words › shaky wrong_answer
    ✗ 1/2 cap-data › order wrong_answer
    ");
    for quiet in [&["--progress", "none", "-v"][..], &["-q"], &[]] {
        let args = [&["run", "--suite", "suite.yaml"], quiet].concat();
        let said = project.call(&args).expect(1);
        assert!(!said.stderr.contains("cap-words"), "{}", said.stderr);
    }
}
