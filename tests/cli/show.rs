//! `show`: the cases of a run in full.

use crate::support::Project;
use insta::assert_snapshot;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Shown
  evals:
    - id: cap-words
      eval_type: capability
      name: Words
      test_cases:
        - {id: right, input: say one, expected: one}
        - {id: wrong, input: {type: messages, messages: [{role: system, content: Be brief.}, {role: user, content: say two}]}, expected: {type: exact, value: "two\nlines"}}
        - {id: shaky, input: say three, expected: {type: exact, value: three}}
    - id: cap-data
      eval_type: capability
      name: Data
      test_cases:
        - id: order
          input: an order as JSON
          grader: {type: code, config: {method: json, schema: {type: object, required: [total]}}}
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

fn project() -> Project {
    let suite = SUITE.replace("expected: one}", "expected: {type: exact, value: one}}");
    let project = Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", OUTPUTS)]);
    project.call(&["run", "--suite", "suite.yaml", "--jobs", "1"]);
    project
}

fn shown(project: &Project, args: &[&str]) -> String {
    let args = [&["show", "--suite", "suite.yaml"], args].concat();
    project.call(&args).stdout
}

#[test]
fn show_prints_what_did_not_pass() {
    let project = project();
    assert_snapshot!(shown(&project, &[]), @"");
}

#[test]
fn show_selects_cases_and_samples() {
    let project = project();
    let right = shown(&project, &["cap-words/ri*"]);
    assert!(
        right.contains("say one") && !right.contains("say two"),
        "{right}"
    );
    assert_snapshot!(shown(&project, &["shaky", "--sample", "2"]), @"");
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

/// Runs `show` in a terminal of 10 rows with a pager of its own.
const PAGED: &str = r#"
import os, pty, sys, fcntl, struct, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 80, 0, 0))
    os.environ["PAGER"] = "sed s/^/paged:/"
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
"#;

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
