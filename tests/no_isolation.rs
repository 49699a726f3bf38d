//! A machine that allows no isolation: nothing runs without the user's word, and every report then says so.
//!
//! Namespaces are forbidden inside a user namespace of the test's own, so that the machine stays as it is.

mod support;

use std::process::Command;

use support::{Call, PROGRAM, Project};

const SUITE: &str = r#"
eval_suite:
  name: Code
  evals:
    - id: double
      input: Write double
      grader:
        type: code
        config: {function_name: double, test_cases: [{args: [2], expected: 4}]}
  target: {type: recorded, path: outputs.jsonl}
"#;

const OUTPUTS: &str = "{\"case\": \"double\", \"output\": \"def double(x):\\n    return 2 * x\\n\"}\n";

/// Calls the program where no further namespace can be made.
fn forbidden(project: &Project, args: &str) -> Call {
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {PROGRAM} {args}");
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c", &script])
        .current_dir(project.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("unshare starts");
    Call::of(output)
}

#[test]
fn without_isolation_nothing_runs_and_the_remedy_is_told() {
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let call = forbidden(&project, "run --suite suite.yaml").expect(2);
    assert!(call.stderr.contains("no isolation is possible here"), "{}", call.stderr);
    assert!(call.stderr.contains("hint: "), "{}", call.stderr);
    assert!(call.stderr.contains("--allow-unsandboxed"), "{}", call.stderr);
    assert!(!project.path().join("results").exists());
}

#[test]
fn what_ran_without_isolation_says_so_in_every_report() {
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let args = "run --suite suite.yaml --allow-unsandboxed --format json,markdown,junit";
    let call = forbidden(&project, args).expect(0);
    assert!(call.stdout.contains("!! "), "{}", call.stdout);
    let report = project.report();
    assert_eq!(report["metadata"]["environment"]["sandbox"]["enforced"], false);
    assert_eq!(report["evals"][0]["cases"][0]["samples"][0]["grades"][0]["trust"], "unsandboxed");
    for ending in [".md", ".junit.xml"] {
        let text = std::fs::read_to_string(project.result(ending)).unwrap().to_lowercase();
        assert!(text.contains("without isolation") || text.contains("unsandboxed"), "{ending}: {text}");
    }
}
