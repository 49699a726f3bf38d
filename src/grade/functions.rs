//! `function_output`: calls of the candidate's function, compared here and not where it runs.

use serde_json::{Value, json};

use crate::matching::{self, Datum};
use crate::model::{Cause, Expectation, FunctionCase, FunctionOutput, Grade, GraderType, OutputValue, Trust};
use crate::sandbox::{Call, CallOutcome, FunctionJob, FunctionReport, Raised, Sandbox};

use super::candidate::{Wanted, candidate};
use super::endings::{self, Said, exception, limits, not_run};
use super::show::bounded;

const METHOD: &str = "function_output";

/// Calls that a grade lists.
const LISTED: usize = 20;

pub(super) async fn grade(grader: &FunctionOutput, value: &OutputValue, sandbox: &Sandbox) -> Grade {
    let wanted = Wanted { entry_point: Some(&grader.function_name), ..Wanted::default() };
    let code = match candidate(value, wanted) {
        Ok(code) => code,
        Err(why) => return Grade::failed(GraderType::Code, METHOD, Cause::NoCode, why),
    };
    let calls: Result<Vec<Prepared>, String> =
        grader.cases.iter().map(|case| Prepared::of(grader, case)).collect();
    let calls = match calls {
        Ok(calls) if !calls.is_empty() => calls,
        Ok(_) => return broken("there are no calls to compare"),
        Err(why) => return broken(why),
    };
    let job = FunctionJob {
        code,
        entry_point: grader.function_name.clone(),
        calls: calls.iter().map(|call| call.call.clone()).collect(),
        per_call: Some(grader.timeout_per_case),
        limits: limits(&grader.limits),
    };
    match sandbox.call_functions(job).await {
        Ok(report) => {
            judge(grader, &calls, &report).with_trust(Trust::Harness).with_adjudicated(report.adjudicated)
        }
        Err(error) => not_run(METHOD, &error),
    }
}

fn broken(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// A call as the sandbox wants it, and what it is held against.
struct Prepared<'a> {
    case: &'a FunctionCase,
    call: Call,
    /// `None`: an exception is expected.
    expected: Option<Datum>,
    /// `solve(1, 2)`.
    shown: String,
}

impl<'a> Prepared<'a> {
    fn of(grader: &FunctionOutput, case: &'a FunctionCase) -> Result<Self, String> {
        let read = |what: &str, value: &Value| {
            Datum::from_json(value).map_err(|why| format!("{what} {} can't be used: {why}", bounded(value)))
        };
        let mut call = Call::default();
        let mut shown = Vec::new();
        for value in &case.args {
            let datum = read("the argument", value)?;
            shown.push(datum.to_string());
            call.args.push(datum.to_tagged());
        }
        for (name, value) in &case.kwargs {
            let datum = read("the argument", value)?;
            shown.push(format!("{name}={datum}"));
            call.kwargs.push((name.clone(), datum.to_tagged()));
        }
        let expected = match &case.expected {
            Expectation::Value(value) => Some(read("the expected value", value)?),
            Expectation::Raises(_) => None,
        };
        Ok(Prepared {
            case,
            call,
            expected,
            shown: format!("{}({})", grader.function_name, shown.join(", ")),
        })
    }
}

/// What one call came to: passed, or why not; beside it what came back.
struct Judged {
    verdict: Result<(), Said>,
    actual: Option<Value>,
    error: Option<String>,
}

fn judge(grader: &FunctionOutput, calls: &[Prepared], report: &FunctionReport) -> Grade {
    let mut judged = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let outcome = report.calls.get(index).map_or(&CallOutcome::NotRun, |call| &call.outcome);
        match judge_call(grader, call, outcome, report) {
            Ok(one) => judged.push(one),
            Err(why) => return broken(format!("{}: {why}", call.shown)),
        }
    }
    let passed = judged.iter().filter(|one| one.verdict.is_ok()).count();
    let listed: Vec<Value> = calls
        .iter()
        .zip(&judged)
        .take(LISTED)
        .map(|(call, one)| {
            let mut entry = json!({
                "args": bounded(&json!(call.case.args)),
                "expected": expected_shown(call),
                "passed": one.verdict.is_ok(),
            });
            if let Some(map) = entry.as_object_mut() {
                if !call.case.kwargs.is_empty() {
                    map.insert("kwargs".to_owned(), bounded(&json!(call.case.kwargs)));
                }
                if let Some(actual) = &one.actual {
                    map.insert("actual".to_owned(), bounded(actual));
                }
                if let Some(error) = &one.error {
                    map.insert("error".to_owned(), json!(error));
                }
            }
            entry
        })
        .collect();
    let first =
        calls.iter().zip(&judged).find_map(|(call, one)| Some((call, one, one.verdict.as_ref().err()?)));
    let grade = match first {
        None => Grade::passed(GraderType::Code, METHOD),
        Some((call, one, (cause, why))) => {
            let more = match calls.len() - passed {
                _ if report.load_failure.is_some() => String::new(),
                1 => String::new(),
                failed => format!(" ({failed} of {} calls failed)", calls.len()),
            };
            let share = passed as f64 / calls.len() as f64;
            let grade = Grade::failed(GraderType::Code, METHOD, *cause, format!("{why}{more}"))
                .with_score(share)
                .with_expected(expected_shown(call));
            match &one.actual {
                Some(actual) => grade.with_actual(bounded(actual)),
                None => grade,
            }
        }
    };
    grade.with_detail("calls", listed).with_detail("passed", passed).with_detail("total", calls.len())
}

fn expected_shown(call: &Prepared) -> Value {
    match &call.case.expected {
        Expectation::Value(value) => bounded(value),
        Expectation::Raises(name) => json!({ "raises": name }),
    }
}

/// An error is the author's.
fn judge_call(
    grader: &FunctionOutput,
    call: &Prepared,
    outcome: &CallOutcome,
    report: &FunctionReport,
) -> Result<Judged, String> {
    let failed = |cause: Cause, why: String| Judged {
        verdict: Err((cause, why.clone())),
        actual: None,
        error: Some(why),
    };
    let shown = &call.shown;
    Ok(match outcome {
        CallOutcome::Value(tagged) => match Datum::from_tagged(tagged) {
            Ok(value) => judge_value(call, &value)?,
            Err(why) => failed(Cause::WrongAnswer, format!("{shown} returned what can't be read: {why}")),
        },
        CallOutcome::Raised(raised) => judge_raised(call, raised, &grader.function_name),
        CallOutcome::Failed(failure) => {
            // A time-out of a single call is that of `timeout_per_case`, unless the program never came to its calls.
            let wall = if report.load_failure.is_some() {
                grader.limits.wall
            } else {
                grader.timeout_per_case.min(grader.limits.wall)
            };
            let (cause, why) = endings::failure(failure, wall, grader.limits.memory_mb);
            if report.load_failure.is_some() {
                failed(cause, why)
            } else {
                failed(cause, format!("{shown}: {why}"))
            }
        }
        CallOutcome::NotRun => {
            failed(Cause::Timeout, format!("{shown} was not run: the calls before it took too long"))
        }
    })
}

fn judge_value(call: &Prepared, value: &Datum) -> Result<Judged, String> {
    let shown = &call.shown;
    let actual = Some(value.to_json());
    let verdict = match &call.expected {
        None => {
            let Expectation::Raises(name) = &call.case.expected else {
                return Err("nothing is expected".to_owned());
            };
            Err((Cause::WrongAnswer, format!("{shown} returned {value}, expected it to raise {name}")))
        }
        Some(expected) => {
            let compared =
                matching::compare(call.case.comparator, value, expected, call.case.tolerance.as_ref())?;
            if compared.matched {
                Ok(())
            } else {
                Err((Cause::WrongAnswer, wrong(call, value, expected, &compared.reason)))
            }
        }
    };
    Ok(Judged { verdict, actual, error: None })
}

fn wrong(call: &Prepared, value: &Datum, expected: &Datum, reason: &str) -> String {
    use crate::model::Comparator;
    let shown = &call.shown;
    match call.case.comparator {
        Comparator::Equals => format!("{shown} returned {value}, expected {expected}"),
        _ => format!("{shown} returned {value}: {reason}"),
    }
}

fn judge_raised(call: &Prepared, raised: &Raised, entry_point: &str) -> Judged {
    let shown = &call.shown;
    let error = Some(exception(raised));
    let verdict = match &call.case.expected {
        // The runner's own error, which is no behaviour of the function: it would pass for `raises: Exception`.
        Expectation::Raises(name) if is_undefined(raised, entry_point) => Err((
            Cause::Exception,
            format!("there is no {entry_point} to call ({}), expected it to raise {name}", exception(raised)),
        )),
        Expectation::Raises(name) if is_a(raised, name) => Ok(()),
        Expectation::Raises(name) => Err((
            Cause::Exception,
            format!("{shown} raised {}, expected it to raise {name}", exception(raised)),
        )),
        Expectation::Value(_) => {
            let expected = call.expected.as_ref().map(ToString::to_string).unwrap_or_default();
            Err((Cause::Exception, format!("{shown} raised {}, expected {expected}", exception(raised))))
        }
    };
    Judged { verdict, actual: None, error }
}

/// Whether the candidate lacks the function: its name, or for a dotted path a part of it.
fn is_undefined(raised: &Raised, entry_point: &str) -> bool {
    let mut parts = entry_point.split('.');
    let head = parts.next().unwrap_or_default();
    match raised.type_name.as_str() {
        "NameError" => raised.message == format!("name '{head}' is not defined"),
        "AttributeError" => {
            parts.any(|part| raised.message.ends_with(&format!(" has no attribute '{part}'")))
        }
        _ => false,
    }
}

/// By the name of the type or of one of its bases, with or without a module before it.
fn is_a(raised: &Raised, name: &str) -> bool {
    let bare = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    std::iter::once(&raised.type_name)
        .chain(&raised.mro)
        .any(|have| have == name || *have == bare(name) || bare(have) == name)
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
