//! JUnit files against the schema that Jenkins published (MIT, see the head of the file), as
//! `xmllint` judges it.
//!
//! The rules of Surefire's schema and of Jenkins' newer one, which also know second tries and the
//! words of skipped cases, are a test of the renderer.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::CommandCargoExt as _;

fn junit_of(dir: &Path, suite: &str, code: i32) -> String {
    let file = dir.join("report.junit.xml");
    let mut run = Command::cargo_bin("eval-harness").unwrap();
    run.args([
        "run",
        "--suite",
        suite,
        "--quiet",
        "--ci",
        "none",
        "--output-dir",
    ])
    .arg(dir.join("results"));
    assert_eq!(
        run.current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap()
            .status
            .code(),
        Some(code)
    );
    let mut report = Command::cargo_bin("eval-harness").unwrap();
    report
        .args(["report", "--format", "junit", "--output-dir"])
        .arg(dir.join("results"));
    assert_eq!(
        report
            .arg("--output")
            .arg(&file)
            .output()
            .unwrap()
            .status
            .code(),
        Some(code)
    );
    std::fs::read_to_string(&file).unwrap()
}

fn judged(dir: &Path, xml: &str) -> Result<(), String> {
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/junit/jenkins-junit.xsd");
    let file = dir.join("judged.xml");
    std::fs::write(&file, xml).unwrap();
    let mut lint = Command::new("xmllint");
    lint.args(["--noout", "--nonet", "--schema"])
        .arg(schema)
        .arg(file);
    let output = lint.output().expect("xmllint (Debian: libxml2-utils)");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

const HOSTILE: &str = r#"eval_suite:
  name: "a <suite> & \"more\""
  target: {type: command, command: [sh, -c, 'read line; case $line in err*) exit 3;; *) printf "]]><x>&amp; \033[31m%s\t" "$line";; esac']}
  evals:
    - {id: "cap <1>", category: "c&d", input: "ok ]]> & <b>", expected: {type: contains, value: {must_include: ["ok ]]>"]}}}
    - {id: "cap \"2\"", input: "wrong\n", expected: {type: exact, value: "]]>"}, metadata: {tags: ["<t>"]}}
    - {id: cap-3, input: "err\n", expected: {type: exact, value: x}}
  thresholds: {pass_rate: 0.9}
"#;

#[test]
fn what_is_written_validates() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let example = junit_of(dir, "evals/eval-suite.yaml", 0);
    // The gate passes, so failures are tolerated: skipped, with a reason.
    assert!(example.contains("<skipped>") && example.contains("<properties>"));
    assert_eq!(judged(dir, &example), Ok(()));
    let suite = dir.join("hostile.yaml");
    std::fs::write(&suite, HOSTILE).unwrap();
    let hostile = junit_of(dir, suite.to_str().unwrap(), 1);
    assert!(
        hostile.contains("<error ") && hostile.contains("<failure "),
        "{hostile}"
    );
    assert_eq!(judged(dir, &hostile), Ok(()));
}

#[test]
fn the_judge_sees_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let wrong =
        r#"<testsuites><testsuite name="a" tests="1"><case name="b"/></testsuite></testsuites>"#;
    assert!(judged(dir.path(), wrong).is_err_and(|said| said.contains("case")));
}
