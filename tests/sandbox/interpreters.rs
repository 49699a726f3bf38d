//! Evals that name the Python of their code.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Call, Project};

/// Two virtual environments with a module that says which one it is in.
fn environments() -> Project {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Project::with(&[]);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path(), open).unwrap();
    for name in ["one", "two"] {
        let made = Command::new("python3")
            .args(["-m", "venv", "--without-pip", name])
            .current_dir(project.path())
            .status()
            .unwrap();
        assert!(made.success());
        let packages = packages(&project.path().join(name).join("lib"));
        std::fs::write(packages.join("place.py"), format!("NAME = '{name}'\n")).unwrap();
    }
    project
}

fn packages(lib: &Path) -> std::path::PathBuf {
    let version = std::fs::read_dir(lib).unwrap().next().unwrap().unwrap();
    version.path().join("site-packages")
}

const ANSWER: &str = "def place():\n    try:\n        import place\n        return place.NAME\n    except ImportError:\n        return 'none'\n";

/// Evals `plain`, `one` and, in a file of its own, `two`; each asks for the place in four cases,
/// so that the workers change between the interpreters.
fn write(project: &Project, python: &str) {
    let cases = |place: &str| -> String {
        (0..4)
            .map(|i| {
                format!(
                    "        - {{id: c{i}, input: x, grader: {{type: code, config: {{function_name: place, test_cases: [{{args: [], expected: {place}}}]}}}}}}\n"
                )
            })
            .collect()
    };
    let (none, one, two) = (cases("none"), cases("one"), cases("two"));
    let suite = format!(
        "eval_suite:\n  name: Places\n  target: {{type: recorded, path: out.jsonl}}\n  evals:\n    - metadata: {{id: plain}}\n      test_cases:\n{none}    - metadata: {{id: one}}\n      config: {{sandbox: {{python: {python}}}}}\n      test_cases:\n{one}    - $ref: evals/two.yaml\n"
    );
    project.write("suite.yaml", &suite);
    project.write(
        "evals/two.yaml",
        &format!("metadata: {{id: two}}\nconfig: {{sandbox: {{python: ../two/bin/python}}}}\ntest_cases:\n{two}"),
    );
    let outputs: String = ["plain", "one", "two"]
        .iter()
        .flat_map(|eval| (0..4).map(move |i| serde_json::json!({"eval": eval, "case": format!("c{i}"), "output": ANSWER})))
        .map(|line| format!("{line}\n"))
        .collect();
    project.write("out.jsonl", &outputs);
}

fn run(project: &Project, more: &[&str]) -> Call {
    let args = ["run", "--suite", "suite.yaml", "--jobs", "2"];
    project.call(&[&args, more].concat())
}

fn isolates() -> bool {
    crate::demands::isolates()
}

#[test]
fn code_runs_in_the_interpreter_that_its_eval_names() {
    if !isolates() {
        return;
    }
    let project = environments();
    write(&project, "one/bin/python");
    run(&project, &[]).expect(0);
    let report = project.report();
    assert_eq!(report["summary"]["samples"]["passed"], 12, "{report}");
    let interpreters = &journal(&project)["run_started"]["run"]["environment"]["interpreters"];
    let version = &interpreters["python"];
    assert!(version.is_string(), "{interpreters}");
    for name in ["python (one/bin/python)", "python (two/bin/python)"] {
        assert_eq!(&interpreters[name], version, "{interpreters}");
    }
    // What ran in another interpreter is graded again.
    write(&project, "two/bin/python");
    run(&project, &["--changed"]).expect(1);
    let report = project.report();
    assert_eq!(report["summary"]["samples"]["failed"], 4, "{report}");
}

/// The first line.
fn journal(project: &Project) -> Value {
    let text = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn an_interpreter_that_is_missing_or_broken_stops_the_run() {
    if !isolates() {
        return;
    }
    let project = environments();
    write(&project, "three/bin/python");
    let refused = run(&project, &[]).expect(2);
    for said in [
        "suite.yaml:",
        "the Python `three/bin/python` cannot be found",
        "relative to the file's folder",
    ] {
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    let broken = project.write("broken", "#!/bin/sh\necho no interpreter >&2\nexit 3\n");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&project, "./broken");
    let refused = run(&project, &[]).expect(2);
    let said = "an eval requires the Python `broken`, which can't be used";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no interpreter"),
        "{}",
        refused.stderr
    );
}
