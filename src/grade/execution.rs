//! `code_execution`: the candidate's program against tests written in Python, or against what it should print.

use serde_json::{Value, json};

use crate::matching::text::{TextOptions, exact};
use crate::model::{
    Cause, CodeExecution, Grade, GraderType, OutputValue, SandboxDemand, StdioCase, Tests, Trust,
};
use crate::sandbox::{Ending, Sandbox, Script, TestJob, TestMode, TestReport, TestVerdict};

use super::candidate::{Wanted, candidate};
use super::demands;
use super::endings::{self, exception, limits, not_run};
use super::show::{bounded_text, in_reason};

pub(super) const METHOD: &str = "code_execution";

/// Inputs and outputs that a grade lists.
const LISTED: usize = 20;

pub(super) async fn grade(
    grader: &CodeExecution,
    value: &OutputValue,
    sandbox: &Sandbox,
    demand: &SandboxDemand,
) -> Grade {
    let tests_text = match &grader.tests {
        Tests::Check { code } => code.clone(),
        Tests::Asserts { asserts } => asserts.join("\n"),
        Tests::Stdio { .. } => String::new(),
    };
    let wanted =
        Wanted { prefix: &grader.prefix, entry_point: grader.entry_point.as_deref(), tests: &tests_text };
    let code = match candidate(value, wanted) {
        Ok(code) => code,
        Err(why) => return Grade::failed(GraderType::Code, METHOD, Cause::NoCode, why),
    };
    match &grader.tests {
        Tests::Check { .. } | Tests::Asserts { .. } => judged_tests(grader, code, sandbox, demand).await,
        Tests::Stdio { cases } => stdio(grader, &code, cases, sandbox).await,
    }
}

fn broken(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

fn failed(cause: Cause, why: impl Into<String>) -> Grade {
    Grade::failed(GraderType::Code, METHOD, cause, why)
}

/// The tests as the sandbox wants them; an error says what is wrong with them.
pub(super) fn test_job(grader: &CodeExecution, code: String) -> Result<TestJob, &'static str> {
    let (tests, check) = match &grader.tests {
        Tests::Check { code } => (vec![code.clone()], Some("check".to_owned())),
        Tests::Asserts { asserts } => (asserts.clone(), None),
        Tests::Stdio { .. } => (Vec::new(), None),
    };
    if tests.iter().all(|test| test.trim().is_empty()) {
        return Err("there are no tests to run");
    }
    if check.is_some() && grader.entry_point.is_none() {
        return Err("`check` needs the name of the function that it is given");
    }
    Ok(TestJob {
        code,
        setup: grader.setup.clone(),
        tests,
        entry_point: grader.entry_point.clone(),
        check,
        mode: None,
        limits: limits(&grader.limits),
    })
}

async fn judged_tests(
    grader: &CodeExecution,
    code: String,
    sandbox: &Sandbox,
    demand: &SandboxDemand,
) -> Grade {
    let mut job = match test_job(grader, code) {
        Ok(job) => job,
        Err(why) => return broken(why),
    };
    let mut report = sandbox.run_tests(job.clone()).await;
    if let Ok(TestReport { verdict: TestVerdict::NeedsInProcess { why }, .. }) = &report {
        if !demand.accepts(Trust::InProcess) {
            return demands::too_weak(METHOD, demand, Trust::InProcess, why);
        }
        let why = why.clone();
        job.mode = Some(TestMode::InProcess);
        report = sandbox.run_tests(job).await.map(|report| TestReport { mode_reason: why, ..report });
    }
    match report {
        Ok(report) => {
            let grade = judge(grader, &report).with_trust(demands::trust_of(report.mode));
            if report.mode == TestMode::InProcess && !report.mode_reason.is_empty() {
                grade.with_detail("in_process", in_reason(&report.mode_reason))
            } else {
                grade
            }
        }
        Err(error) => not_run(METHOD, &error),
    }
}

fn judge(grader: &CodeExecution, report: &TestReport) -> Grade {
    let limits = &grader.limits;
    match &report.verdict {
        TestVerdict::Passed if never_asked(report) => {
            broken("the tests passed without calling the candidate: they prove nothing")
        }
        TestVerdict::Passed => Grade::passed(GraderType::Code, METHOD),
        TestVerdict::AssertionFailed { index, line, source, message } => {
            let place = match &grader.tests {
                Tests::Asserts { asserts } if asserts.len() > 1 => {
                    format!("test {} of {}", index + 1, asserts.len())
                }
                Tests::Check { .. } => format!("line {line} of the tests"),
                _ => "the test".to_owned(),
            };
            let message = in_reason(message);
            let message = if message.is_empty() { message } else { format!(" ({message})") };
            failed(Cause::WrongAnswer, format!("{place} does not hold: {}{message}", in_reason(source)))
                .with_detail("test", *index)
                .with_detail("line", *line)
                .with_detail("source", bounded_text(source))
        }
        TestVerdict::CandidateRaised(raised) => {
            let grade = failed(Cause::Exception, format!("the code raised {}", exception(raised)));
            if raised.traceback.is_empty() {
                grade
            } else {
                grade.with_detail("traceback", bounded_text(&raised.traceback))
            }
        }
        TestVerdict::TestRaised(raised) => failed(
            Cause::WrongAnswer,
            format!("what the code returned made the test raise {}", exception(raised)),
        ),
        TestVerdict::TestError(raised) => broken(format!("the test itself is broken: {}", exception(raised))),
        TestVerdict::Opaque { type_name } => failed(
            Cause::WrongAnswer,
            format!("the code returned a {} object, which proves nothing", in_reason(type_name)),
        ),
        TestVerdict::NeedsInProcess { why } => broken(format!("the tests can't be run: {}", in_reason(why))),
        TestVerdict::Failed(failure) => {
            let (cause, why) = endings::failure(failure, limits.wall, limits.memory_mb);
            failed(cause, why)
        }
    }
}

/// Only of the judge process is it known whether the candidate was called.
fn never_asked(report: &TestReport) -> bool {
    report.mode == TestMode::Split && report.calls == 0
}

async fn stdio(grader: &CodeExecution, code: &str, cases: &[StdioCase], sandbox: &Sandbox) -> Grade {
    if cases.is_empty() {
        return broken("there are no inputs to run");
    }
    let program =
        if grader.setup.trim().is_empty() { code.to_owned() } else { format!("{}\n{code}", grader.setup) };
    let mut listed = Vec::new();
    let mut passed = 0usize;
    let mut first = None;
    for case in cases {
        let script = Script {
            code: program.clone(),
            stdin: case.stdin.clone().into_bytes(),
            limits: limits(&grader.limits),
        };
        let result = match sandbox.run_script(script).await {
            Ok(result) => result,
            Err(error) => return not_run(METHOD, &error),
        };
        let stdout = String::from_utf8_lossy(&result.streams.stdout).into_owned();
        let verdict = match &result.ending {
            Ending::Exited(0) if result.streams.stdout_truncated => {
                Err((Cause::OutputLimit, "the program wrote more than is kept".to_owned()))
            }
            Ending::Exited(0) => printed(&stdout, case),
            Ending::Exited(code) => {
                let stderr = String::from_utf8_lossy(&result.streams.stderr);
                let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let cause = if last.starts_with("SyntaxError") || last.starts_with("IndentationError") {
                    Cause::SyntaxError
                } else {
                    Cause::Exception
                };
                Err((cause, format!("the program ended with exit code {code}: {}", in_reason(last))))
            }
            other => Err(endings::ending_of(other, grader.limits.wall, grader.limits.memory_mb)),
        };
        if listed.len() < LISTED {
            listed.push(json!({
                "stdin": bounded_text(&case.stdin),
                "expected": bounded_text(&case.stdout),
                "actual": bounded_text(&stdout),
                "passed": verdict.is_ok(),
            }));
        }
        match verdict {
            Ok(()) => passed += 1,
            Err((cause, why)) => {
                let costly = matches!(cause, Cause::Timeout | Cause::MemoryLimit | Cause::OutputLimit);
                first.get_or_insert((cause, why, case, stdout));
                // What ran into a limit once is not given the chance for every input that is left.
                if costly {
                    break;
                }
            }
        }
    }
    let grade = match first {
        None => Grade::passed(GraderType::Code, METHOD),
        Some((cause, why, case, stdout)) => {
            failed(cause, format!("given {}: {why}", shown_input(&case.stdin)))
                .with_score(passed as f64 / cases.len() as f64)
                .with_expected(bounded_text(&case.stdout))
                .with_actual(bounded_text(&stdout))
        }
    };
    grade
        .with_trust(Trust::Harness)
        .with_detail("inputs", Value::Array(listed))
        .with_detail("passed", passed)
        .with_detail("total", cases.len())
}

fn printed(stdout: &str, case: &StdioCase) -> Result<(), (Cause, String)> {
    let options = TextOptions { trim_whitespace: true, normalize_newlines: true, case_sensitive: true };
    let comparison = exact(stdout, &case.stdout, options);
    if comparison.matched { Ok(()) } else { Err((Cause::WrongAnswer, comparison.reason)) }
}

fn shown_input(stdin: &str) -> String {
    if stdin.is_empty() { "no input".to_owned() } else { format!("{:?}", in_reason(stdin)) }
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
