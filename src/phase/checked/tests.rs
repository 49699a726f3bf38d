use std::fmt::Write as _;

use super::*;
use crate::model::{StepPlacement, StepWork};
use crate::spec::FailureAction;

fn step(kind: StepType) -> PhaseStep {
    PhaseStep {
        kind,
        name: "a step".to_owned(),
        action: FailureAction::Block,
        work: StepWork::Unchecked,
    }
}

fn shell(dir: &Path, script: &str, junit: &[&str]) -> StepCommand {
    StepCommand {
        argv: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
        place: StepPlacement::InPlace(dir.to_owned()),
        timeout: Duration::from_secs(60),
        junit: junit
            .iter()
            .map(|glob| dir.join(glob).display().to_string())
            .collect(),
    }
}

async fn done(kind: StepType, command: &StepCommand) -> StepResult {
    let StepPlacement::InPlace(dir) = &command.place else {
        panic!("a command in place");
    };
    command_step(
        &step(kind),
        (command, dir),
        &CancelSwitch::default(),
        &mut |_| {},
        dir,
    )
    .await
}

/// Status, numbers and reason on one line.
fn told(result: &StepResult) -> String {
    let code = result
        .exit_code
        .map_or("-".to_owned(), |code| code.to_string());
    let tests = result.tests.as_ref().map_or(String::new(), |tests| {
        let notes = tests
            .notes
            .iter()
            .map(|note| format!(" ({note})"))
            .collect::<String>();
        format!(
            " {} {}+ {}- {}~{notes}",
            tests.source, tests.passed, tests.failed, tests.skipped
        )
    });
    format!("{} [{code}]{tests} {}", result.status.name(), result.reason)
        .trim_end()
        .to_owned()
}

const GOOD: &str = "echo '<testsuite tests=\"2\"><testcase name=\"a\"/><testcase name=\"b\"/></testsuite>' > r.xml; ";
const BAD: &str = "echo '<testsuite><testcase name=\"a\"/><testcase name=\"b\"><failure message=\"m\"/></testcase></testsuite>' > r.xml; ";
const SKIPPED: &str =
    "echo '<testsuite><testcase name=\"a\"><skipped/></testcase></testsuite>' > r.xml; ";
const PASSES: &str = "echo '== 2 passed in 0.1s =='; ";
const FAILS: &str = "echo '== 1 failed, 1 passed in 0.1s =='; ";

/// Exit code, JUnit file and summary, and what they come to.
#[tokio::test]
async fn a_test_step_passes_only_by_all_that_is_known() {
    let mut table = String::new();
    for (script, junit) in [
        ("exit 0".to_owned(), false),
        ("exit 3".to_owned(), false),
        ("kill -SEGV $$".to_owned(), false),
        (format!("{PASSES} exit 0"), false),
        (format!("{PASSES} exit 1"), false),
        (format!("{FAILS} exit 0"), false),
        (format!("{FAILS} exit 1"), false),
        (format!("{FAILS} kill -KILL $$"), false),
        ("echo 'no tests ran in 0.01s'; exit 5".to_owned(), false),
        ("echo 'no tests ran in 0.01s'; exit 0".to_owned(), false),
        ("echo '= 3 skipped in 0.01s ='".to_owned(), false),
        (format!("{GOOD} exit 0"), true),
        (format!("{GOOD} {PASSES} exit 0"), true),
        (format!("{GOOD} {FAILS} exit 0"), true),
        (format!("{GOOD} echo '= 7 passed in 1s ='"), true),
        (format!("{GOOD} exit 2"), true),
        (format!("{BAD} exit 0"), true),
        (format!("{BAD} {PASSES} exit 0"), true),
        (format!("{BAD} exit 1"), true),
        (format!("{SKIPPED} exit 0"), true),
        (format!("{PASSES} exit 0"), true),
        ("exit 1".to_owned(), true),
        ("printf '<testsuite><testcase' > r.xml".to_owned(), true),
        (
            "echo '<testsuite tests=\"3\"><testcase name=\"a\"/></testsuite>' > r.xml".to_owned(),
            true,
        ),
        (
            "echo '<testsuite failures=\"1\"><testcase name=\"a\"/></testsuite>' > r.xml"
                .to_owned(),
            true,
        ),
    ] {
        let dir = tempfile::tempdir().expect("a folder");
        let result = done(
            StepType::Test,
            &shell(dir.path(), &script, if junit { &["r.xml"] } else { &[] }),
        )
        .await;
        let mut words = script.clone();
        for (text, word) in [
            (GOOD, "GOOD"),
            (BAD, "BAD"),
            (SKIPPED, "SKIPPED"),
            (PASSES, "PASSES"),
            (FAILS, "FAILS"),
        ] {
            words = words.replace(text, word);
        }
        let _ = writeln!(
            table,
            "{}{words}\n  {}",
            if junit { "+ " } else { "  " },
            told(&result)
        );
    }
    insta::assert_snapshot!(table, @r#"
      exit 0
      passed [0]
      exit 3
      failed [3] it ended with exit code 3
      kill -SEGV $$
      failed [-] it was ended by SIGSEGV
      PASSES exit 0
      passed [0] pytest 2+ 0- 0~
      PASSES exit 1
      failed [1] pytest 2+ 0- 0~ it ended with exit code 1, though no test failed
      FAILS exit 0
      failed [0] pytest 1+ 1- 0~ 1 of 2 tests failed, though the command ended with exit code 0
      FAILS exit 1
      failed [1] pytest 1+ 1- 0~ 1 of 2 tests failed
      FAILS kill -KILL $$
      failed [-] pytest 1+ 1- 0~ it was ended by SIGKILL; 1 of 2 tests failed
      echo 'no tests ran in 0.01s'; exit 5
      incomplete [5] pytest 0+ 0- 0~ no test ran (exit code 5)
      echo 'no tests ran in 0.01s'; exit 0
      incomplete [0] pytest 0+ 0- 0~ no test ran
      echo '= 3 skipped in 0.01s ='
      incomplete [0] pytest 0+ 0- 3~ no test ran: all 3 were skipped
    + GOOD exit 0
      passed [0] junit 2+ 0- 0~
    + GOOD PASSES exit 0
      passed [0] junit 2+ 0- 0~
    + GOOD FAILS exit 0
      failed [0] junit 2+ 0- 0~ pytest reports: 1 of 2 tests failed; the JUnit files report no failure, though the command ended with exit code 0
    + GOOD echo '= 7 passed in 1s ='
      passed [0] junit 2+ 0- 0~ (pytest reports that 7 tests ran, the JUnit files contain 2)
    + GOOD exit 2
      failed [2] junit 2+ 0- 0~ it ended with exit code 2, though no test failed
    + BAD exit 0
      failed [0] junit 1+ 1- 0~ 1 of 2 tests failed, though the command ended with exit code 0
    + BAD PASSES exit 0
      failed [0] junit 1+ 1- 0~ 1 of 2 tests failed, though the command ended with exit code 0
    + BAD exit 1
      failed [1] junit 1+ 1- 0~ 1 of 2 tests failed
    + SKIPPED exit 0
      incomplete [0] junit 0+ 0- 1~ no test ran: the only one was skipped
    + PASSES exit 0
      incomplete [0] junit 0+ 0- 0~ (pytest reports that 2 tests ran, the JUnit files contain 0) no file matches `r.xml`
    + exit 1
      failed [1] junit 0+ 0- 0~ it ended with exit code 1; no file matches `r.xml`
    + printf '<testsuite><testcase' > r.xml
      incomplete [0] junit 0+ 0- 0~ r.xml:1: it is not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    + echo '<testsuite tests="3"><testcase name="a"/></testsuite>' > r.xml
      incomplete [0] junit 1+ 0- 0~ r.xml: a suite claims 3 tests, but contains 1
    + echo '<testsuite failures="1"><testcase name="a"/></testsuite>' > r.xml
      failed [0] junit 1+ 0- 0~ r.xml: a suite claims 1 failure, but its test cases have 0, though the command ended with exit code 0
    "#);
}

#[tokio::test]
async fn other_steps_go_by_the_exit_code_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    for (script, expected) in [
        (FAILS, "passed [0]"),
        ("exit 9", "failed [9] it ended with exit code 9"),
    ] {
        assert_eq!(
            told(&done(StepType::Check, &shell(dir.path(), script, &[])).await),
            expected
        );
        assert_eq!(
            told(&done(StepType::Implement, &shell(dir.path(), script, &[])).await),
            expected
        );
    }
}

#[tokio::test]
async fn a_command_that_cannot_start_is_incomplete_whatever_the_step() {
    let dir = tempfile::tempdir().expect("a folder");
    for kind in [
        StepType::Test,
        StepType::Check,
        StepType::CodeReview,
        StepType::Implement,
    ] {
        let command = StepCommand {
            argv: vec!["no-such-program".to_owned()],
            ..shell(dir.path(), "", &[])
        };
        let expected = "incomplete [-] `no-such-program` was not found in PATH; for a file of its folder write `./no-such-program`";
        assert_eq!(told(&done(kind, &command).await), expected);
    }
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_with_all_it_started() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = "(trap '' TERM; echo $$ > shell; sleep 600 & echo $! > pid; wait) & trap 'echo tidied; exit 0' TERM; echo begun; wait";
    let command = StepCommand {
        timeout: Duration::from_millis(1500),
        ..shell(dir.path(), script, &[])
    };
    let result = done(StepType::Check, &command).await;
    insta::assert_snapshot!(told(&result), @"failed [-] did not end within 1.5 s; it was stopped with all processes it had started");
    assert_eq!(
        result.output_tail, "begun\ntidied",
        "it was asked to end before it was killed"
    );
    let pid = std::fs::read_to_string(dir.path().join("pid")).expect("it had begun");
    assert!(!alive(pid.trim()), "{pid} outlived its step");
}

#[tokio::test]
async fn who_interrupts_does_not_wait_for_the_command() {
    let dir = tempfile::tempdir().expect("a folder");
    let command = shell(
        dir.path(),
        "echo $$ > part; mv part pid; exec sleep 600",
        &[],
    );
    let cancel = CancelSwitch::default();
    let turn = async {
        while !dir.path().join("pid").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.escalate();
    };
    let test = step(StepType::Test);
    let mut heard = |_: &[u8]| {};
    let (result, ()) = tokio::join!(
        command_step(
            &test,
            (&command, dir.path()),
            &cancel,
            &mut heard,
            dir.path()
        ),
        turn
    );
    insta::assert_snapshot!(told(&result), @"incomplete [-] interrupted; it was stopped with all processes it had started");
    let pid = std::fs::read_to_string(dir.path().join("pid")).expect("it had begun");
    assert!(!alive(pid.trim()));
}

/// False when the process does not exist or is only waiting to be reaped.
fn alive(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with('Z'),
        Err(_) => false,
    }
}

#[tokio::test]
async fn output_is_handed_on_and_its_end_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = "i=0; while [ $i -lt 20000 ]; do echo \"line $i of the output\"; i=$((i+1)); done; printf '\\033[31mred\\033[0m' >&2; exit 1";
    let mut heard = 0usize;
    let command = shell(dir.path(), script, &[]);
    let mut listen = |bytes: &[u8]| heard += bytes.len();
    let result = command_step(
        &step(StepType::Check),
        (&command, dir.path()),
        &CancelSwitch::default(),
        &mut listen,
        dir.path(),
    )
    .await;
    assert!(heard > 400_000, "{heard}");
    let tail = &result.output_tail;
    assert!(
        tail.len() <= 64 * 1024 && tail.len() > 60 * 1024,
        "{}",
        tail.len()
    );
    assert!(
        tail.starts_with("line ") && tail.ends_with("line 19999 of the output\nred"),
        "whole lines, both streams, no colours"
    );
    assert_eq!(
        done(StepType::Check, &shell(dir.path(), "echo fine", &[]))
            .await
            .output_tail,
        ""
    );
}

#[tokio::test]
async fn a_command_gets_the_whole_environment_and_nothing_to_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let result = done(
        StepType::Check,
        &shell(dir.path(), "cat; env | sort > env; pwd -P > pwd", &[]),
    )
    .await;
    assert_eq!(told(&result), "passed [0]");
    let seen = std::fs::read_to_string(dir.path().join("env")).expect("an environment");
    for (name, value) in std::env::vars() {
        if !value.contains('\n') && !["_", "PWD", "OLDPWD", "SHLVL"].contains(&name.as_str()) {
            assert!(
                seen.contains(&format!("{name}={value}\n")),
                "{name} is missing"
            );
        }
    }
    let pwd = std::fs::read_to_string(dir.path().join("pwd")).expect("a folder");
    assert_eq!(
        Path::new(pwd.trim()),
        dir.path().canonicalize().expect("a folder")
    );
}

#[test]
fn secrets_of_the_environment_stay_out_of_results() {
    let env = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let secrets = Redactor::of_environment(&[
        env("GITHUB_TOKEN", "ghp_0123456789"),
        env("CI_TOKEN", "short"),
        env("HOME", "/home/someone"),
    ]);
    let mut result = StepResult::plain(&step(StepType::Test), StepStatus::Failed);
    result.output_tail = "ghp_0123456789 short /home/someone".to_owned();
    let failure = crate::model::TestFailure {
        message: "got ghp_0123456789".to_owned(),
        ..Default::default()
    };
    result.tests = Some(TestResults {
        failures: vec![failure],
        ..TestResults::default()
    });
    redact(&mut result, &secrets);
    assert_eq!(result.output_tail, "[redacted] short /home/someone");
    assert_eq!(
        result.tests.map(|tests| tests.failures[0].message.clone()),
        Some("got [redacted]".to_owned())
    );
}

#[test]
fn results_of_others_are_read_as_they_are() {
    let dir = tempfile::tempdir().expect("a folder");
    let glob = |name: &str| vec![dir.path().join(name).display().to_string()];
    let read = |name: &str| told(&junit_step(&step(StepType::Test), &glob(name), dir.path()));
    std::fs::write(
        dir.path().join("good.xml"),
        "<testsuite><testcase name='a'/></testsuite>",
    )
    .expect("a file");
    std::fs::write(
        dir.path().join("bad.xml"),
        "<testsuite><testcase name='a'><error/></testcase></testsuite>",
    )
    .expect("a file");
    std::fs::write(dir.path().join("none.xml"), "<testsuites/>").expect("a file");
    insta::assert_snapshot!(read("good.xml"), @"passed [-] junit 1+ 0- 0~");
    insta::assert_snapshot!(read("*d.xml"), @"failed [-] junit 1+ 1- 0~ 1 of 2 tests failed");
    insta::assert_snapshot!(read("none.xml"), @"incomplete [-] junit 0+ 0- 0~ no test ran");
    insta::assert_snapshot!(read("*.html"), @"incomplete [-] junit 0+ 0- 0~ no file matches `*.html`");
}
