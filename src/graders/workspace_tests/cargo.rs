//! `cargo test`: a line `test a::b ... ok` for each test, between `running 2 tests` and
//! `test result: ok. ...` of each test program.

use super::reports::{ReportedTest, ReportedTests, TestStatus};
use crate::model::Cause;
use eval_base::text::plural;

/// `stderr`: what cargo itself printed.
pub(super) fn read(text: &str, stderr: &str) -> ReportedTests {
    let mut reported = ReportedTests::default();
    if !text.lines().any(|line| begun(line).is_some()) {
        let error = stderr.lines().find(|line| is_error(line));
        let error = error.map(|line| ("cargo test".to_owned(), line.to_owned()));
        if error.is_some() {
            let why = "no test program started".to_owned();
            reported.doubts.push((Cause::Exited, why));
        }
        reported.broken.extend(error);
    }
    // Tests of the program that runs, which have not reported yet.
    let mut awaited: Option<usize> = None;
    let mut unended = 0;
    for line in text.lines() {
        if let Some(count) = begun(line) {
            unended += usize::from(awaited.replace(count).is_some());
        } else if line.starts_with("test result: ") {
            if let Some(missing) = awaited.take().filter(|missing| *missing > 0) {
                let why = format!(
                    "{} of a test program did not report",
                    plural(missing, "test")
                );
                reported.doubts.push((Cause::Exited, why));
            }
        } else if let Some(test) = test(line) {
            awaited = awaited.map(|count| count.saturating_sub(1));
            reported.tests.push(test);
        }
    }
    unended += usize::from(awaited.is_some());
    if unended > 0 {
        let why = format!(
            "{} ended before all tests did",
            plural(unended, "test program")
        );
        reported.doubts.push((Cause::Exited, why));
    }
    reported
}

/// `error: no such file`, or `error[E0308]: mismatched types`.
fn is_error(line: &str) -> bool {
    let rest = line.strip_prefix("error");
    rest.is_some_and(|rest| rest.starts_with([':', '[']))
}

/// 2 of `running 2 tests`.
fn begun(line: &str) -> Option<usize> {
    let (count, word) = line.strip_prefix("running ")?.split_once(' ')?;
    matches!(word, "test" | "tests").then(|| count.parse().ok())?
}

fn test(line: &str) -> Option<ReportedTest> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (status, message) = match result {
        "ok" => (TestStatus::Passed, ""),
        "FAILED" => (TestStatus::Failed, ""),
        _ => match result.strip_prefix("ignored") {
            Some(why) => (TestStatus::Skipped, why.trim_start_matches(", ")),
            None => (TestStatus::Failed, result.strip_prefix("FAILED")?),
        },
    };
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    Some(ReportedTest::new(name, status, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        shown_with(text, "")
    }

    fn shown_with(text: &str, stderr: &str) -> String {
        let reported = read(text, stderr);
        let tests = reported.tests.iter();
        let tests = tests.map(|test| format!("{} {}", test.id, test.status.name()));
        let doubts = reported.doubts.iter().map(|(_, why)| format!("? {why}"));
        let broken = reported.broken.iter();
        let broken = broken.map(|(what, why)| format!("! {what}: {why}"));
        let all = tests.chain(doubts).chain(broken);
        all.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn lines_of_each_program_become_tests() {
        let text = "\nrunning 3 tests\ntest a::ok ... ok\ntest a::bad ... FAILED\ntest a::later ... ignored, slow\n\n\
                    test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    \nrunning 1 test\ntest b - should panic ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(
            shown(text),
            "a::ok passed; a::bad failed; a::later skipped; b passed"
        );
    }

    #[test]
    fn code_that_does_not_compile_is_broken() {
        let stderr = "   Compiling app v0.1.0\nwarning: unused\nerror[E0308]: mismatched types\n --> src/lib.rs:1:32\n\
                      error: could not compile `app` (lib) due to 1 previous error\n";
        let broken = "? no test program started; ! cargo test: error[E0308]: mismatched types";
        assert_eq!(shown_with("", stderr), broken);
        let failed = "error: test failed, to rerun pass `--lib`\n";
        let text = "running 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed\n";
        assert_eq!(shown_with(text, failed), "a failed");
    }

    #[test]
    fn programs_that_end_early_are_doubted() {
        assert_eq!(
            shown("running 2 tests\ntest a ... ok\n"),
            "a passed; ? 1 test program ended before all tests did"
        );
        assert_eq!(
            shown("running 2 tests\ntest a ... ok\ntest result: ok. 2 passed\n"),
            "a passed; ? 1 test of a test program did not report"
        );
    }
}
