//! Tests in the candidate's language: in Python beside the candidate, else in its process.

use super::demands::{too_weak, trust_of};
use super::{CodeExecution, CodeTests, METHOD, transpiled};
use crate::graders::programs::{
    LanguageLookup, TestBench, exception, explain_failure, language_of, missing, not_run,
    sandbox_limits, with_refused_call,
};
use crate::graders::show::{bounded_text, in_reason};
use crate::model::{Cause, Executor, Grade, GraderType, Trust};
use eval_match::Datum;
use eval_sandbox::{RunFailure, Sandbox, TestJob, TestMode, TestReport, TestVerdict};
use serde_json::Value;

/// The detail of a grade over tests that passed without a call of the candidate.
pub(crate) const NEVER_CALLED: &str = "never_called";
/// What the tests know the text of an answer by.
const ANSWER_NAME: &str = "answer_text";

fn broken(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

fn failed(cause: Cause, why: impl Into<String>) -> Grade {
    Grade::failed(GraderType::Code, METHOD, cause, why)
}

/// The tests as the sandbox wants them; an error says what is wrong with them.
pub(crate) fn test_job(grader: &CodeExecution, code: String) -> Result<TestJob, &'static str> {
    let check = || Some("check".to_owned());
    let (tests, check) = match &grader.tests {
        CodeTests::Check { code } => (vec![code.clone()], check()),
        // A text of JSON is one of Python's.
        CodeTests::AnswerText { code: tests } => {
            let answer = Value::String(code).to_string();
            return Ok(TestJob {
                code: format!("{ANSWER_NAME} = {answer}\n"),
                setup: grader.setup.clone(),
                tests: vec![tests.clone()],
                entry_point: Some(ANSWER_NAME.to_owned()),
                check: check(),
                mode: Some(TestMode::InProcess),
                limits: sandbox_limits(&grader.limits),
            });
        }
        CodeTests::Asserts { asserts } => (asserts.clone(), None),
        CodeTests::Stdio { .. } | CodeTests::Rows(_) | CodeTests::Program(_) => (Vec::new(), None),
    };
    if tests.iter().all(|test| test.trim().is_empty()) {
        return Err("there are no tests to run");
    }
    if check.is_some() && grader.entry_point.is_none() && grader.executor == Executor::Python {
        return Err("`check` needs the name of the function to test");
    }
    Ok(TestJob {
        code,
        setup: grader.setup.clone(),
        tests,
        entry_point: grader.entry_point.clone(),
        check,
        mode: grader.in_process.then_some(TestMode::InProcess),
        limits: sandbox_limits(&grader.limits),
    })
}

pub(crate) async fn grade(grader: &CodeExecution, code: String, bench: &TestBench<'_>) -> Grade {
    let (sandbox, demand) = (bench.sandbox, bench.demand);
    let mut job = match test_job(grader, code) {
        Ok(job) => job,
        Err(why) => return broken(why),
    };
    if grader.executor != Executor::Python {
        return in_process(grader, job, sandbox, bench.languages).await;
    }
    let mut report = sandbox.run_tests(job.clone()).await;
    if let Ok(TestReport {
        verdict: TestVerdict::NeedsInProcess { why },
        ..
    }) = &report
    {
        if !demand.accepts(Trust::InProcess) {
            return too_weak(METHOD, demand, Trust::InProcess, why);
        }
        let why = why.clone();
        job.mode = Some(TestMode::InProcess);
        report = sandbox.run_tests(job).await.map(|report| TestReport {
            mode_reason: why,
            ..report
        });
    } else if let Ok(TestReport {
        verdict: TestVerdict::Uncertain { why },
        ..
    }) = &report
        && demand.accepts(Trust::InProcess)
    {
        let why = why.clone();
        job.mode = Some(TestMode::InProcess);
        // Code that also fails beside the tests is wrong; anything else leaves the verdict open and
        // is never a pass.
        if let Ok(shared) = sandbox.run_tests(job).await
            && fails(&shared.verdict)
        {
            report = Ok(TestReport {
                mode_reason: why,
                ..shared
            });
        }
    }
    match report {
        Ok(report) => {
            let grade = judge(grader, &report)
                .with_trust(trust_of(report.mode))
                .with_adjudicated(report.adjudicated)
                .with_peak(report.streams.peak_kib);
            let grade = with_refused_call(grade, report.streams.refused_call);
            if report.mode == TestMode::InProcess && !report.mode_reason.is_empty() {
                grade.with_detail("in_process", in_reason(&report.mode_reason))
            } else {
                grade
            }
        }
        Err(error) => not_run(METHOD, &error),
    }
}

/// Tests in JavaScript, TypeScript or bash, which share the candidate's process.
async fn in_process(
    grader: &CodeExecution,
    mut job: TestJob,
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Grade {
    let Some(language) = language_of(&grader.executor) else {
        return broken(format!(
            "tests in {} can't be run",
            grader.executor.language()
        ));
    };
    let found = match languages.get(language).await {
        Ok(found) => found,
        Err(why) => return missing(METHOD, &why),
    };
    if grader.executor == Executor::Typescript {
        let code = transpiled(&found, vec![job.code], &grader.limits, METHOD, sandbox).await;
        job.code = match code {
            Ok(mut made) => made.pop().unwrap_or_default(),
            Err(grade) => return *grade,
        };
        let texts = std::iter::once(job.setup).chain(job.tests).collect();
        let mut made = match sandbox
            .transpile(std::sync::Arc::clone(&found), texts)
            .await
        {
            Ok(Ok(made)) => made.into_iter(),
            Ok(Err(RunFailure::SyntaxError { message, .. })) => {
                return broken(format!("the tests do not parse: {}", in_reason(&message)));
            }
            Ok(Err(why)) => {
                let (_, why) = explain_failure(&why, &grader.limits);
                return broken(format!("the tests are broken: {why}"));
            }
            Err(error) => return not_run(METHOD, &error),
        };
        job.setup = made.next().unwrap_or_default();
        job.tests = made.collect();
    }
    match sandbox.run_tests_in(found, job).await {
        Ok(report) => {
            let grade = judge(grader, &report)
                .with_trust(Trust::InProcess)
                .with_adjudicated(report.adjudicated)
                .with_peak(report.streams.peak_kib);
            with_refused_call(grade, report.streams.refused_call)
        }
        Err(error) => not_run(METHOD, &error),
    }
}

/// Whether the verdict is that the code failed the tests.
fn fails(verdict: &TestVerdict) -> bool {
    match verdict {
        TestVerdict::AssertionFailed { .. }
        | TestVerdict::CandidateRaised(_)
        | TestVerdict::TestRaised(_)
        | TestVerdict::Opaque { .. }
        | TestVerdict::Failed(_) => true,
        TestVerdict::Passed
        | TestVerdict::TestError(_)
        | TestVerdict::Uncertain { .. }
        | TestVerdict::NeedsInProcess { .. }
        | TestVerdict::Unsound { .. } => false,
    }
}

fn judge(grader: &CodeExecution, report: &TestReport) -> Grade {
    match &report.verdict {
        TestVerdict::Passed if never_asked(report) => {
            broken("the tests passed without calling the candidate: they prove nothing")
                .with_detail(NEVER_CALLED, true)
        }
        TestVerdict::Passed => Grade::passed(GraderType::Code, METHOD),
        TestVerdict::AssertionFailed {
            index,
            line,
            source,
            message,
            returned,
        } => {
            let place = match &grader.tests {
                CodeTests::Asserts { asserts } if asserts.len() > 1 => {
                    format!("test {} of {}", index + 1, asserts.len())
                }
                CodeTests::Check { .. } | CodeTests::AnswerText { .. } if *line > 0 => {
                    format!("line {line} of the tests")
                }
                _ => "the test".to_owned(),
            };
            let message = in_reason(message);
            let message = if message.is_empty() {
                message
            } else {
                format!(" ({message})")
            };
            let returned: Vec<String> = returned.iter().map(shown).collect();
            let what = match returned.as_slice() {
                [] => String::new(),
                [value] => format!("; the call returned {value}"),
                values => format!("; the calls returned {}", values.join(" and ")),
            };
            let test = in_reason(source);
            failed(
                Cause::WrongAnswer,
                format!("{place} does not hold: {test}{message}{what}"),
            )
            .with_detail("test", *index)
            .with_detail("line", *line)
            .with_detail("source", bounded_text(source))
        }
        TestVerdict::CandidateRaised(raised) => {
            let grade = failed(
                Cause::Exception,
                format!("the code raised {}", exception(raised)),
            );
            if raised.traceback.is_empty() {
                grade
            } else {
                grade.with_detail("traceback", bounded_text(&raised.traceback))
            }
        }
        TestVerdict::TestRaised(raised) => failed(
            Cause::WrongAnswer,
            format!(
                "what the code returned made the test raise {}",
                exception(raised)
            ),
        ),
        TestVerdict::TestError(raised) => {
            broken(format!("the test itself is broken: {}", exception(raised)))
        }
        TestVerdict::Opaque { type_name } => failed(
            Cause::WrongAnswer,
            format!(
                "the code returned a {} object, whose comparisons prove nothing",
                in_reason(type_name)
            ),
        ),
        TestVerdict::NeedsInProcess { why } => {
            broken(format!("the tests can't be run: {}", in_reason(why)))
        }
        TestVerdict::Uncertain { why } => broken(format!(
            "the tests {}, but the code runs in a separate process, so a correct answer could fail; set `trust: in_process` \
             on the grader or dataset to run both in one process",
            in_reason(why)
        )),
        TestVerdict::Unsound { why } => {
            broken(format!("the tests prove nothing: {}", in_reason(why)))
        }
        TestVerdict::Failed(failure) => {
            let (cause, why) = explain_failure(failure, &grader.limits);
            failed(cause, why)
        }
    }
}

/// A value that a call returned, as Python writes it.
fn shown(value: &Value) -> String {
    match Datum::from_tagged(value) {
        Ok(datum) => in_reason(&datum.to_string()),
        Err(_) => in_reason(&value.to_string()),
    }
}

/// Only outside the candidate's interpreter is it known whether the candidate was called.
fn never_asked(report: &TestReport) -> bool {
    report.mode != TestMode::InProcess && report.calls == 0
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
