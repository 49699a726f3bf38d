//! System calls that the sandbox refuses, as grades and `doctor --observe` name them: through the
//! built program.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Call, PROGRAM, Project};

/// Whether code can be isolated here, and refused calls are noticed; says so where it can't.
fn notices() -> bool {
    let output = Command::new(PROGRAM)
        .args(["doctor", "--format", "json"])
        .output()
        .unwrap();
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sandbox = &doctor["sandbox"];
    let notices =
        sandbox["tier"].is_string() && !sandbox["notes"].to_string().contains("are not named");
    if !notices {
        eprintln!("skipped: no isolation here, or nothing can listen: {doctor}");
    }
    notices
}

const SUITE: &str = r#"
eval_suite:
  name: Refused
  evals:
    - id: program
      input: i
      grader: {type: code, config: {method: code_execution, executor: python, stdio: [{input: "", output: ok}]}}
    - id: survivor
      input: i
      grader: {type: code, config: {method: code_execution, executor: python, stdio: [{input: "", output: ok}]}}
    - id: probing
      input: i
      grader: {type: code, config: {method: code_execution, executor: python, stdio: [{input: "", output: ok}]}}
    - id: function
      input: i
      grader: {type: code, config: {function_name: f, test_cases: [{args: [1], expected: 2}]}}
    - id: tests
      input: i
      grader:
        type: code
        config:
          method: code_execution
          entry_point: f
          test: |
            def check(candidate):
                for i in (1, 2):
                    assert candidate(i) == i + 1
  target: {type: recorded, path: outputs.jsonl}
"#;

#[test]
fn failed_grade_names_the_first_refused_call() {
    if !notices() {
        return;
    }
    let inotify = "import ctypes\nl = ctypes.CDLL(None)\n";
    let codes = [
        ("program", "import socket\nsocket.create_connection(('127.0.0.1', 9))".to_owned()),
        ("survivor", format!("{inotify}l.inotify_init()\nprint('ok')")),
        // What runtimes try and go without is not named: threads (clone3) and the name service.
        ("probing", "import pwd, threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\ntry: pwd.getpwnam('nosuch')\nexcept KeyError: pass\nraise ValueError(1)".to_owned()),
        ("function", format!("{inotify}def f(x):\n    l.inotify_init()\n    l.fanotify_init(0, 0)\n    raise OSError(38)")),
        ("tests", format!("{inotify}def f(x):\n    l.inotify_init()\n    return 0")),
    ];
    let outputs: String = codes
        .iter()
        .map(|(id, code)| json!({"case": id, "output": code}).to_string() + "\n")
        .collect();
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", &outputs)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let report = project.report();
    let grade = |id: &str| -> Value {
        let evals = report["evals"].as_array().unwrap();
        let eval = evals.iter().find(|eval| eval["id"] == id).unwrap();
        eval["cases"][0]["samples"][0]["grades"][0].clone()
    };
    let refused = |id: &str| grade(id)["details"]["refused_call"].clone();
    assert_eq!(refused("program"), "socket");
    let reason = grade("program")["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.ends_with("(the sandbox refuses the system call `socket`)"),
        "{reason}"
    );
    assert_eq!(
        (grade("survivor")["outcome"].as_str(), refused("survivor")),
        (Some("passed"), Value::Null)
    );
    assert_eq!(
        (grade("probing")["cause"].as_str(), refused("probing")),
        (Some("exception"), Value::Null)
    );
    assert_eq!(refused("function"), "inotify_init");
    assert_eq!(
        (grade("tests")["cause"].as_str(), refused("tests")),
        (Some("wrong_answer"), json!("inotify_init"))
    );
}

/// A project that others than its owner may read: root's sandboxed programs are `nobody`'s.
fn open_project(files: &[(&str, &str)]) -> Project {
    let project = Project::with(files);
    std::fs::set_permissions(project.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

#[test]
fn doctor_observes_a_command_of_the_working_folder() {
    if !notices() {
        return;
    }
    let script = "import ctypes, sys\nctypes.CDLL(None).inotify_init()\nsys.exit('no watch: ' + sys.argv[1])";
    let project = open_project(&[("main.py", script)]);
    let observe = |options: &[&str], command: &[&str]| {
        let words = [&["doctor"], options, &["--observe"], command].concat();
        Call::of(
            Command::new(PROGRAM)
                .args(words)
                .current_dir(project.path())
                .output()
                .unwrap(),
        )
    };
    let call = observe(&["--format", "json"], &["python3", "main.py", "--format"]).expect(0);
    let told: Value = serde_json::from_str(&call.stdout).unwrap();
    assert_eq!(told["ending"], "exited with code 1", "{told}");
    assert_eq!(told["stderr"], "no watch: --format");
    assert_eq!(told["command"], json!(["python3", "main.py", "--format"]));
    let calls = told["calls"].as_array().unwrap();
    let of = |name: &str| {
        calls
            .iter()
            .find(|call| call["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    let inotify = json!({"name": "inotify_init", "count": 1, "refused": 1, "ends_program": false});
    assert!(
        of("inotify_init") == inotify || of("inotify_init1")["refused"] == 1,
        "{told}"
    );
    assert_eq!(of("read")["refused"], 0);
    let page = observe(&[], &["python3", "main.py", "x"]).expect(0).stdout;
    assert!(
        page.contains("exited with code 1\n  no watch: x\n"),
        "{page}"
    );
    assert!(
        page.contains("1  refused\n")
            && page.contains("The sandbox refuses 1 of these system calls."),
        "{page}"
    );
    let missing = observe(&[], &["./nothing"]).expect(3);
    assert!(
        missing
            .stderr
            .contains("./nothing could not be started in the sandbox"),
        "{}",
        missing.stderr
    );
    assert!(
        missing
            .stderr
            .contains("hint: in the sandbox, a program sees"),
        "{}",
        missing.stderr
    );
}
