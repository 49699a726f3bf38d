//! `function_output`: calls of the candidate's function, compared here and not where it runs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::model::{
    CallExpectation, Cause, CodeLimits, Comparator, Executor, FunctionCase, FunctionOutput, Grade,
    GraderType, Trust,
};
use eval_match::{CompiledPattern, Datum};
use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, FunctionReport, RaisedException, RunFailure, Sandbox,
    SandboxError,
};

use super::METHOD;
use crate::graders::code_execution::transpiled;
use crate::graders::programs::{
    self, CauseReason, LanguageLookup, exception, language_of, missing, not_run, sandbox_limits,
};
use crate::graders::show::{bounded, bounded_text, in_reason};

/// Calls that a grade lists.
const LISTED: usize = 20;

pub(crate) async fn grade(
    grader: &FunctionOutput,
    code: String,
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Grade {
    let prepared: Result<Vec<(ExpectedReturn, FunctionCall)>, String> = grader
        .cases
        .iter()
        .map(|case| ExpectedReturn::of(grader, case))
        .collect();
    let (calls, asked): (Vec<ExpectedReturn>, Vec<FunctionCall>) = match prepared {
        Ok(prepared) if !prepared.is_empty() => prepared.into_iter().unzip(),
        Ok(_) => return broken("there are no calls to compare"),
        Err(why) => return broken(why),
    };
    let calls = Arc::new(calls);
    let job = FunctionJob {
        code,
        entry_point: grader.function_name.clone(),
        calls: asked,
        per_call: Some(grader.timeout_per_case),
        limits: sandbox_limits(&resolved(grader)),
    };
    let report = match call_in(grader, job, &calls, sandbox, languages).await {
        Ok(report) => report,
        Err(grade) => return *grade,
    };
    match report {
        Ok(report) => {
            let (adjudicated, refused) = (report.adjudicated, report.streams.refused_call);
            let grade = judge(grader, &calls, report).with_trust(Trust::Harness);
            programs::with_refused_call(grade.with_adjudicated(adjudicated), refused)
        }
        Err(error) => not_run(METHOD, &error),
    }
}

/// What is kept of an answer; an error is the author's.
type CallVerdict = Result<JudgedCall, String>;

/// Makes the calls in the language of the grader; the error is the grade.
async fn call_in(
    grader: &FunctionOutput,
    mut job: FunctionJob,
    calls: &Arc<Vec<ExpectedReturn>>,
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Result<Result<FunctionReport<CallVerdict>, SandboxError>, Box<Grade>> {
    let calls = Arc::clone(calls);
    let read = move |index: usize, value: Value| match calls.get(index) {
        Some(call) => judge_returned(call, &value),
        None => Err("an answer without a call".to_owned()),
    };
    let Some(language) = language_of(&grader.executor) else {
        return Ok(sandbox.call_functions(job, read).await);
    };
    let node = languages
        .get(language)
        .await
        .map_err(|why| Box::new(missing(METHOD, &why)))?;
    if grader.executor == Executor::Typescript {
        let made = transpiled(&node, vec![job.code], &grader.limits, METHOD, sandbox).await?;
        job.code = made.into_iter().next().unwrap_or_default();
    }
    Ok(sandbox.call_node(node, job, read).await)
}

fn broken(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// What the answer to a call is compared with.
struct ExpectedReturn {
    case: FunctionCase,
    /// `None`: an exception is expected, or what no JSON says.
    expected: Option<Datum>,
    /// `expected` as a pattern, where that is how it is compared; else why it can't be one.
    pattern: Option<Result<CompiledPattern, String>>,
    /// What JavaScript has beside JSON: the kind of object and its text.
    special: Option<(&'static str, String)>,
    /// Values are shown as JavaScript has them.
    as_json: bool,
    /// `solve(1, 2)`.
    shown: String,
}

impl ExpectedReturn {
    /// With the call as the sandbox makes it.
    fn of(
        grader: &FunctionOutput,
        case: &FunctionCase,
    ) -> Result<(ExpectedReturn, FunctionCall), String> {
        let read = |what: &str, value: &Value| {
            Datum::from_json(value)
                .map_err(|why| format!("{what} {} can't be used: {why}", bounded(value)))
        };
        let as_json = grader.executor.is_node();
        let special = match &case.expected {
            CallExpectation::Value(value) if as_json => special(value),
            _ => None,
        };
        let mut call = FunctionCall::default();
        let mut shown = Vec::new();
        for value in &case.args {
            let datum = read("the argument", value)?;
            shown.push(if as_json {
                in_reason(&value.to_string())
            } else {
                datum.to_string()
            });
            call.args.push(datum.to_tagged());
        }
        for (name, value) in &case.kwargs {
            let datum = read("the argument", value)?;
            shown.push(format!("{name}={datum}"));
            call.kwargs.push((name.clone(), datum.to_tagged()));
        }
        let expected = match &case.expected {
            CallExpectation::Value(_) if special.is_some() => None,
            CallExpectation::Value(value) => Some(read("the expected value", value)?),
            CallExpectation::Raises(_) => None,
        };
        let is_pattern = case.comparator == Comparator::Regex;
        let pattern = expected
            .as_ref()
            .filter(|_| is_pattern)
            .map(eval_match::expected_pattern);
        let shown = format!("{}({})", grader.function_name, shown.join(", "));
        Ok((
            ExpectedReturn {
                case: case.clone(),
                expected,
                pattern,
                special,
                as_json,
                shown,
            },
            call,
        ))
    }

    fn show(&self, value: &Datum) -> String {
        match value {
            Datum::Opaque { repr, .. } if self.as_json && !repr.is_empty() => in_reason(repr),
            value if self.as_json => in_reason(&value.to_json().to_string()),
            value => value.to_string(),
        }
    }
}

/// `{"$undefined": true}` and `{"$date": "2024-01-31T00:00:00.000Z"}`: what a function may return
/// that JSON does not have.
fn special(value: &Value) -> Option<(&'static str, String)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    if map.get("$undefined") == Some(&Value::Bool(true)) {
        return Some(("undefined", "undefined".to_owned()));
    }
    Some(("Date", map.get("$date")?.as_str()?.to_owned()))
}

/// The verdict on one call: passed, or why not; beside it the beginning of what it returned.
struct JudgedCall {
    verdict: Result<(), CauseReason>,
    actual: Option<Value>,
    error: Option<String>,
    /// How long the call took; `None` when it was not made.
    ms: Option<f64>,
}

fn judge(
    grader: &FunctionOutput,
    calls: &[ExpectedReturn],
    report: FunctionReport<CallVerdict>,
) -> Grade {
    let loaded = report.load_failure.is_none();
    let mut judged = Vec::with_capacity(calls.len());
    let mut answers = report.calls.into_iter();
    for call in calls {
        let (outcome, wall) = match answers.next() {
            Some(answer) => (answer.outcome, Some(answer.wall)),
            None => (CallOutcome::NotRun, None),
        };
        let made = loaded && !matches!(outcome, CallOutcome::NotRun);
        let ms = wall.filter(|_| made).map(programs::milliseconds);
        match judge_call(grader, call, outcome, loaded) {
            Ok(one) => judged.push(JudgedCall { ms, ..one }),
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
            if let (Some(ms), Some(map)) = (one.ms, entry.as_object_mut()) {
                map.insert("ms".to_owned(), json!(ms));
            }
            if let Some(map) = entry.as_object_mut() {
                if !call.case.kwargs.is_empty() {
                    map.insert("kwargs".to_owned(), bounded(&json!(call.case.kwargs)));
                }
                if let Some(actual) = &one.actual {
                    map.insert("actual".to_owned(), actual.clone());
                }
                if let Some(error) = &one.error {
                    map.insert("error".to_owned(), json!(error));
                }
            }
            entry
        })
        .collect();
    let first = calls
        .iter()
        .zip(&judged)
        .find_map(|(call, one)| Some((call, one, one.verdict.as_ref().err()?)));
    let grade = match first {
        None => Grade::passed(GraderType::Code, METHOD),
        Some((call, one, (cause, why))) => {
            let more = match calls.len() - passed {
                _ if !loaded => String::new(),
                1 => String::new(),
                failed => format!(" ({failed} of {} calls failed)", calls.len()),
            };
            let share = passed as f64 / calls.len() as f64;
            let grade = Grade::failed(GraderType::Code, METHOD, *cause, format!("{why}{more}"))
                .with_score(share)
                .with_expected(expected_shown(call));
            match &one.actual {
                Some(actual) => grade.with_actual(actual.clone()),
                None => grade,
            }
        }
    };
    grade
        .with_detail("calls", listed)
        .with_detail("passed", passed)
        .with_detail("total", calls.len())
}

fn expected_shown(call: &ExpectedReturn) -> Value {
    match &call.case.expected {
        CallExpectation::Value(value) => bounded(value),
        CallExpectation::Raises(name) => json!({ "raises": name }),
    }
}

/// An error is the author's.
fn judge_call(
    grader: &FunctionOutput,
    call: &ExpectedReturn,
    outcome: CallOutcome<CallVerdict>,
    loaded: bool,
) -> CallVerdict {
    let shown = &call.shown;
    Ok(match outcome {
        CallOutcome::Value(returned) => returned?,
        CallOutcome::Raised(raised) => judge_raised(call, &raised, &grader.function_name),
        CallOutcome::Failed(failure) => {
            // A time-out of a single call is that of `timeout_per_case`, unless the program never
            // came to its calls.
            let wall = if loaded {
                grader.timeout_per_case.min(grader.limits.wall)
            } else {
                grader.limits.wall
            };
            let (cause, why) = match failure {
                // One answer is held as values, too.
                RunFailure::ReturnLimit => too_large(resolved(grader).return_mb_or_default()),
                failure => programs::explain_failure(
                    &failure,
                    &CodeLimits {
                        wall,
                        ..grader.limits
                    },
                ),
            };
            if loaded {
                failed(cause, format!("{shown}: {why}"))
            } else {
                failed(cause, why)
            }
        }
        CallOutcome::NotRun => failed(
            Cause::Timeout,
            format!("{shown} was not run: the calls before it took too long"),
        ),
    })
}

fn too_large(most: u64) -> CauseReason {
    let values = most.saturating_mul(4).max(64);
    let why = format!(
        "what the code returned takes more than {most} MB as text or {values} MB as values; if a right answer does, raise \
         `max_return_mb`"
    );
    (Cause::OutputLimit, why)
}

/// The harness itself holds what a call returned, so that it may be smaller than in tests.
const RETURN_MB: u64 = 16;

fn resolved(grader: &FunctionOutput) -> CodeLimits {
    CodeLimits {
        return_mb: grader.limits.return_mb.or(Some(RETURN_MB)),
        ..grader.limits
    }
}

fn failed(cause: Cause, why: String) -> JudgedCall {
    JudgedCall {
        verdict: Err((cause, why.clone())),
        actual: None,
        error: Some(why),
        ms: None,
    }
}

/// Judges what a call returned, as tagged JSON.
fn judge_returned(call: &ExpectedReturn, tagged: &Value) -> CallVerdict {
    match Datum::from_tagged(tagged) {
        Ok(value) => judge_value(call, &value),
        Err(why) => Ok(failed(
            Cause::WrongAnswer,
            format!("{} returned what can't be read: {why}", call.shown),
        )),
    }
}

fn judge_value(call: &ExpectedReturn, value: &Datum) -> CallVerdict {
    let shown = &call.shown;
    let actual = Some(match value {
        Datum::Opaque { repr, .. } if call.as_json => bounded_text(repr),
        value => bounded(&value.to_json()),
    });
    let verdict = match &call.expected {
        None if call.special.is_some() => match (&call.special, value) {
            (Some((kind, text)), Datum::Opaque { type_name, repr })
                if type_name == kind && repr == text =>
            {
                Ok(())
            }
            (special, _) => {
                let wanted = special
                    .as_ref()
                    .map(|(_, text)| text.as_str())
                    .unwrap_or_default();
                Err((
                    Cause::WrongAnswer,
                    format!("{shown} returned {}, expected {wanted}", call.show(value)),
                ))
            }
        },
        None => {
            let CallExpectation::Raises(name) = &call.case.expected else {
                return Err("nothing is expected".to_owned());
            };
            Err((
                Cause::WrongAnswer,
                format!(
                    "{shown} returned {}, expected it to raise {name}",
                    call.show(value)
                ),
            ))
        }
        Some(expected) => {
            let compared = match &call.pattern {
                Some(pattern) => eval_match::compare_pattern(
                    pattern.as_ref().map_err(Clone::clone)?,
                    value,
                    expected,
                )?,
                None => eval_match::compare(
                    call.case.comparator,
                    value,
                    expected,
                    call.case.tolerance.as_ref(),
                )?,
            };
            if compared.matched {
                Ok(())
            } else {
                Err((
                    Cause::WrongAnswer,
                    wrong(call, value, expected, &compared.reason),
                ))
            }
        }
    };
    Ok(JudgedCall {
        verdict,
        actual,
        error: None,
        ms: None,
    })
}

fn wrong(call: &ExpectedReturn, value: &Datum, expected: &Datum, reason: &str) -> String {
    let shown = &call.shown;
    match call.case.comparator {
        Comparator::Equals => {
            format!(
                "{shown} returned {}, expected {}",
                call.show(value),
                call.show(expected)
            )
        }
        _ => format!("{shown} returned {}: {reason}", call.show(value)),
    }
}

fn judge_raised(call: &ExpectedReturn, raised: &RaisedException, entry_point: &str) -> JudgedCall {
    let shown = &call.shown;
    let error = Some(exception(raised));
    let verdict = match &call.case.expected {
        // The runner's own error, which is no behaviour of the function: it would pass for
        // `raises: Exception`.
        CallExpectation::Raises(name) if is_undefined(raised, entry_point) => Err((
            Cause::Exception,
            format!(
                "there is no {entry_point} to call ({}), expected it to raise {name}",
                exception(raised)
            ),
        )),
        CallExpectation::Raises(name) if is_a(raised, name) => Ok(()),
        CallExpectation::Raises(name) => Err((
            Cause::Exception,
            format!(
                "{shown} raised {}, expected it to raise {name}",
                exception(raised)
            ),
        )),
        CallExpectation::Value(_) => {
            let special = || {
                call.special
                    .as_ref()
                    .map(|(_, text)| text.clone())
                    .unwrap_or_default()
            };
            let expected = call
                .expected
                .as_ref()
                .map_or_else(special, |expected| call.show(expected));
            Err((
                Cause::Exception,
                format!("{shown} raised {}, expected {expected}", exception(raised)),
            ))
        }
    };
    JudgedCall {
        verdict,
        actual: None,
        error,
        ms: None,
    }
}

/// Whether the candidate lacks the function: its name, or for a dotted path a part of it.
fn is_undefined(raised: &RaisedException, entry_point: &str) -> bool {
    let mut parts = entry_point.split('.');
    let head = parts.next().unwrap_or_default();
    match raised.type_name.as_str() {
        "NameError" => raised.message == format!("name '{head}' is not defined"),
        "ReferenceError" => raised.message == format!("{head} is not defined"),
        "TypeError" => raised.message == format!("{entry_point} is not a function"),
        "AttributeError" => parts.any(|part| {
            raised
                .message
                .ends_with(&format!(" has no attribute '{part}'"))
        }),
        _ => false,
    }
}

/// By the name of the type or of one of its bases, with or without a module before it.
fn is_a(raised: &RaisedException, name: &str) -> bool {
    let bare = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    std::iter::once(&raised.type_name)
        .chain(&raised.mro)
        .any(|have| have == name || *have == bare(name) || bare(have) == name)
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
