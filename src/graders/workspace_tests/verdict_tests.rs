//! Each rule of verdicts, over runs of tests that are made up.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::job::TestNonce;
use super::reports::ReportedTests;
use super::{TestsFormat, WorkspaceTests, verdict};
use crate::model::{Grade, Outcome};
use crate::workspace::WorkspaceTestRun;
use eval_base::text::hex;
use eval_sandbox::ProgramEnding;

fn tests(results: TestsFormat) -> WorkspaceTests {
    WorkspaceTests {
        command: vec!["run".to_owned()],
        results,
        results_path: None,
        files: Vec::new(),
        fail_to_pass: Vec::new(),
        pass_to_pass: Vec::new(),
        all_pass: true,
        pass_share: None,
        allow_weakened_tests: false,
        written_by_tests: Vec::new(),
        timeout: Duration::from_secs(5),
        memory_mb: 64,
        env: BTreeMap::new(),
        cwd: String::new(),
    }
}

fn listing(fail_to_pass: &[&str], pass_to_pass: &[&str]) -> WorkspaceTests {
    let list = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    WorkspaceTests {
        fail_to_pass: list(fail_to_pass),
        pass_to_pass: list(pass_to_pass),
        all_pass: false,
        ..tests(TestsFormat::Tap)
    }
}

fn ended(ending: ProgramEnding, stdout: &str) -> WorkspaceTestRun {
    WorkspaceTestRun {
        ending,
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
        stdout_truncated: false,
        output_truncated: false,
        results: Vec::new(),
        results_cut: false,
        verdict_doubted: false,
        rewritten: Vec::new(),
    }
}

/// TAP lines with their plan.
fn tap(code: i32, lines: &[&str]) -> WorkspaceTestRun {
    let text = format!("{}\n1..{}\n", lines.join("\n"), lines.len());
    ended(ProgramEnding::Exited(code), &text)
}

fn nonce() -> TestNonce {
    TestNonce::new([1, 2, 3, 4])
}

fn graded(tests: &WorkspaceTests, run: &WorkspaceTestRun) -> Grade {
    verdict::grade(tests, &ReportedTests::read(tests, &nonce(), run), run, None)
}

fn shown(grade: &Grade) -> String {
    let cause = grade
        .cause
        .map_or(String::new(), |cause| format!(" {cause}"));
    let outcome = grade.outcome.name();
    format!("{outcome}{cause}: {}", grade.reason)
        .trim_end_matches(": ")
        .to_owned()
}

fn told(tests: &WorkspaceTests, run: &WorkspaceTestRun) -> String {
    shown(&graded(tests, run))
}

#[test]
fn all_tests_pass_or_the_first_failures_are_named() {
    let all = tests(TestsFormat::Tap);
    assert_eq!(told(&all, &tap(0, &["ok 1 - a", "ok 2 - b"])), "passed");
    for (lines, reason) in [
        (
            &["ok 1 - a", "not ok 2 - b"][..],
            "1 of 2 tests did not pass: `b`",
        ),
        (
            &["ok 1 - a", "ok 2 - b # SKIP slow"],
            "1 of 2 tests did not pass: `b` (skipped: SKIP slow)",
        ),
        (
            &["ok 1 - a", "not ok 2 - a"],
            "1 of 1 test did not pass: `a`",
        ),
        (
            &["not ok 1 - a", "ok 2 - a"],
            "1 of 1 test did not pass: `a`",
        ),
    ] {
        for code in [0, 1] {
            assert_eq!(
                told(&all, &tap(code, lines)),
                format!("failed wrong_answer: {reason}")
            );
        }
    }
}

#[test]
fn no_tests_and_results_that_are_not_whole_fail() {
    let all = tests(TestsFormat::Tap);
    assert_eq!(told(&all, &tap(0, &[])), "failed exited: no tests ran");
    let cut = ended(ProgramEnding::Exited(0), "1..2\nok 1 - a\n");
    assert_eq!(
        told(&all, &cut),
        "failed exited: the plan is 2 tests, but 1 ran"
    );
    let long = WorkspaceTestRun {
        output_truncated: true,
        ..tap(0, &["ok 1 - a"])
    };
    assert_eq!(
        told(&all, &long),
        "failed output_limit: the command wrote more than is kept, so its results are not known"
    );
}

#[test]
fn exit_code_must_agree_with_the_results() {
    let all = tests(TestsFormat::Tap);
    let contradiction =
        "failed exited: all tests passed, but the test command ended with exit code 3";
    assert_eq!(told(&all, &tap(3, &["ok 1 - a"])), contradiction);
    let listed = listing(&["a"], &[]);
    assert_eq!(
        told(&listed, &tap(3, &["ok 1 - a", "ok 2 - b"])),
        contradiction
    );
    assert_eq!(
        told(&listed, &tap(3, &["ok 1 - a", "not ok 2 - b"])),
        "passed"
    );
    let both = WorkspaceTests {
        all_pass: true,
        ..listing(&["a"], &[])
    };
    assert_eq!(
        told(&both, &tap(3, &["ok 1 - a", "not ok 2 - b"])),
        "failed wrong_answer: 1 of 2 tests did not pass: `b`"
    );
}

#[test]
fn limits_are_failures_with_their_cause() {
    let lines = "ok 1 - a\n1..1\n";
    for (ending, expected) in [
        (
            ProgramEnding::TimedOut,
            "failed timeout: the test command did not end within 5 s",
        ),
        (
            ProgramEnding::MemoryLimit,
            "failed memory_limit: the test command used more than 64 MB of memory",
        ),
        (
            ProgramEnding::OutputLimit,
            "failed output_limit: the test command exceeded the output limit",
        ),
        (
            ProgramEnding::DiskLimit,
            "failed output_limit: the test command exceeded the disk limit",
        ),
        (
            ProgramEnding::Signaled(11),
            "failed crashed: the test command was ended by SIGSEGV",
        ),
    ] {
        for format in [TestsFormat::Tap, TestsFormat::ExitCode] {
            assert_eq!(
                told(&tests(format), &ended(ending.clone(), lines)),
                expected
            );
        }
    }
}

#[test]
fn listed_tests_that_are_missing_have_not_passed() {
    let run = tap(0, &["ok 1 - a", "ok 2 - b"]);
    assert_eq!(told(&listing(&["a"], &["b"]), &run), "passed");
    assert_eq!(
        told(&listing(&["a", "gone"], &["c*"]), &run),
        "failed wrong_answer: 2 of 3 tests did not pass: `c*` (no test matches it), `gone` (it did not run)"
    );
    // A glob means the tests of before, too.
    let tests = listing(&[], &["*"]);
    let read = |run: &WorkspaceTestRun| ReportedTests::read(&tests, &nonce(), run);
    let before = read(&tap(0, &["ok 1 - a", "ok 2 - vanished"]));
    let after = tap(0, &["ok 1 - a", "ok 2 - new"]);
    let grade = verdict::grade(&tests, &read(&after), &after, Some(&before));
    assert_eq!(
        shown(&grade),
        "failed wrong_answer: 1 of 3 tests did not pass: `vanished` (it did not run)"
    );
    // One that was never there may be a mistake in the list.
    let tests = listing(&["nope.*"], &["a"]);
    let grade = verdict::grade(&tests, &read(&after), &after, Some(&before));
    assert_eq!(
        shown(&grade),
        "failed wrong_answer: 1 of 2 tests did not pass: `nope.*` (no test matches it, also not before the target ran); \
         reported tests: `a`, `new`; if the list is wrong, correct `fail_to_pass`"
    );
}

#[test]
fn score_can_be_the_share_that_passed() {
    let share = |pass_share| WorkspaceTests {
        pass_share: Some(pass_share),
        ..tests(TestsFormat::Tap)
    };
    let run = tap(1, &["ok 1 - a", "ok 2 - b", "ok 3 - c", "not ok 4 - d"]);
    for (threshold, outcome) in [(0.75, Outcome::Passed), (0.8, Outcome::Failed)] {
        let grade = graded(&share(threshold), &run);
        assert_eq!((grade.outcome, grade.score), (outcome, Some(0.75)));
        assert_eq!(grade.details["tests"]["selected_passed"], 3);
    }
    let cut = ended(ProgramEnding::TimedOut, "1..1\nok 1 - a\n");
    let grade = graded(&share(0.1), &cut);
    assert_eq!((grade.outcome, grade.score), (Outcome::Failed, Some(0.0)));
}

#[test]
fn tests_that_the_target_added_are_no_part_of_a_share() {
    for allow_weakened_tests in [false, true] {
        let tests = WorkspaceTests {
            pass_share: Some(0.6),
            allow_weakened_tests,
            ..tests(TestsFormat::Tap)
        };
        let read = |run: &WorkspaceTestRun| ReportedTests::read(&tests, &nonce(), run);
        let before = read(&tap(1, &["not ok 1 - a", "not ok 2 - b"]));
        let after = tap(
            1,
            &["ok 1 - a", "not ok 2 - b", "ok 3 - mine", "ok 4 - too"],
        );
        let grade = verdict::grade(&tests, &read(&after), &after, Some(&before));
        assert_eq!((grade.outcome, grade.score), (Outcome::Failed, Some(0.5)));
    }
}

#[test]
fn tasks_whose_tests_do_not_behave_before_are_broken() {
    let tests = listing(&["new"], &["old"]);
    let broken = |run: WorkspaceTestRun| {
        let before = ReportedTests::read(&tests, &nonce(), &run);
        let grade = verdict::broken_task(&tests, &before, &run.ending);
        grade.map_or("fine".to_owned(), |grade| shown(&grade))
    };
    assert_eq!(broken(tap(1, &["ok 1 - old", "not ok 2 - new"])), "fine");
    assert_eq!(broken(tap(0, &["ok 1 - old"])), "fine");
    assert_eq!(broken(tap(0, &["ok 1 - old", "ok 2 - new # SKIP"])), "fine");
    assert_eq!(
        broken(tap(1, &["not ok 1 - old", "ok 2 - new"])),
        "errored broken_task: before the target runs: `new` passes already; `old` does not pass (failed)"
    );
    assert_eq!(
        broken(ended(ProgramEnding::TimedOut, "")),
        "errored broken_task: before the target runs (the command timed out): `old` does not pass (it did not run)"
    );
}

#[test]
fn exit_codes_are_verdicts_of_whole_commands() {
    let tests = tests(TestsFormat::ExitCode);
    assert_eq!(told(&tests, &ended(ProgramEnding::Exited(0), "")), "passed");
    assert_eq!(
        told(&tests, &ended(ProgramEnding::Exited(2), "")),
        "failed wrong_answer: the test command exited with code 2"
    );
}

#[test]
fn junit_files_are_read_outside_of_the_workspace_alone() {
    let xml = r#"<testsuite name="s" tests="2"><testcase classname="c" name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite>"#;
    let with = |path: &str, content: &str| WorkspaceTestRun {
        results: vec![(path.to_owned(), content.as_bytes().to_vec())],
        ..ended(ProgramEnding::Exited(1), "")
    };
    let all = tests(TestsFormat::Junit);
    assert_eq!(
        told(&all, &with("deep/x.xml", xml)),
        "failed wrong_answer: 1 of 2 tests did not pass: `s.b` (no)"
    );
    let one = WorkspaceTests {
        fail_to_pass: vec!["c.a".to_owned()],
        all_pass: false,
        ..tests(TestsFormat::Junit)
    };
    assert_eq!(told(&one, &with("x.xml", xml)), "passed");
    assert_eq!(
        told(&all, &with("x.txt", xml)),
        "failed exited: the command wrote no file of results that matches `**/*.xml`"
    );
    let left_out = WorkspaceTestRun {
        results_cut: true,
        ..with("x.xml", xml)
    };
    assert!(told(&one, &left_out).starts_with("failed output_limit: "));
    let cut = &xml[..xml.len() - 4];
    assert!(told(&one, &with("x.xml", cut)).starts_with("failed exited: `x.xml`: "));
}

/// Lines as the launcher writes them.
fn lines(texts: &[&str]) -> WorkspaceTestRun {
    let key = nonce().key;
    let lines = texts.iter().enumerate().map(|(number, text)| {
        let digest = Sha256::digest(format!("{key}{number}{text}{key}").as_bytes());
        format!("{} {text}\n", hex(&digest))
    });
    WorkspaceTestRun {
        results: vec![(nonce().file(), lines.collect::<String>().into_bytes())],
        ..ended(ProgramEnding::Exited(0), "")
    }
}

fn result(id: &str, status: &str) -> String {
    format!(r#"{{"kind":"test","id":"{id}","status":"{status}","message":""}}"#)
}

#[test]
fn lines_of_the_launcher_are_proven_whole_and_have_their_canaries() {
    let tests = tests(TestsFormat::Unittest);
    let nonce = nonce();
    let passing = |status| result(&format!("m.C.test_{}", nonce.passing), status);
    let failing = |status| result(&format!("m.C.test_{}", nonce.failing), status);
    let (end, own) = (r#"{"kind":"end","exit":0}"#, result("t.A.x", "passed"));
    let (good, bad) = (passing("passed"), failing("failed"));
    assert_eq!(told(&tests, &lines(&[&own, &good, &bad, end])), "passed");
    let forged = "failed forged: the results were forged: a test of the harness that must fail did not fail, or one that must pass did not pass";
    for [pass, fail] in [
        ["passed", "passed"],
        ["failed", "failed"],
        ["skipped", "failed"],
    ] {
        let run = lines(&[&own, &passing(pass), &failing(fail), end]);
        assert_eq!(told(&tests, &run), forged);
    }
    assert_eq!(told(&tests, &lines(&[&own, &bad, end])), forged);
    assert_eq!(
        told(&tests, &lines(&[&own, end])),
        "failed exited: the tests were ended before the last one ran"
    );
    assert_eq!(
        told(&tests, &lines(&[&own, &good, &bad])),
        "failed exited: the command ended before all of its tests did"
    );
    assert_eq!(
        told(&tests, &ended(ProgramEnding::Exited(0), "")),
        "failed exited: the command ended before its tests reported anything"
    );
    let announced = r#"{"kind":"collected","id":"t.A.y"}"#;
    assert_eq!(
        told(&tests, &lines(&[announced, &own, &good, &bad, end])),
        "failed wrong_answer: 1 of 2 tests did not pass: `t.A.y` (it did not end)"
    );
    let mut rewritten = lines(&[&result("t.A.x", "failed"), &good, &bad, end]);
    for (_, content) in &mut rewritten.results {
        let text = String::from_utf8(content.clone()).unwrap();
        *content = text.replacen("failed", "passed", 1).into_bytes();
    }
    assert_eq!(
        told(&tests, &rewritten),
        "failed forged: the results were forged: a line of the results was not written by the test runner"
    );
}
