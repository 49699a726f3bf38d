//! `function_output`: calls of the candidate's function, compared here and not where it runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::limits;
use crate::model::{
    CallExpectation, Cause, CodeLimits, Comparator, Executor, FunctionCase, FunctionOutput, Grade,
    GraderType, Trust,
};
use eval_match::{CompiledPattern, Datum, TaggedError};
use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, FunctionReport, RaisedException, RunFailure,
    SandboxError,
};

use super::expected::{self, ExpectedAnswer};
use super::reference::{self, AnsweredValue};
use super::{EvalplusOracle, METHOD, PASS_BASE};
use crate::graders::code_execution::transpiled;
use crate::graders::programs::{
    self, CauseReason, TestBench, exception, language_of, missing, not_run, sandbox_limits,
};
use crate::graders::show::{bounded, bounded_text, in_reason};

pub(crate) async fn grade(grader: &FunctionOutput, code: String, bench: &TestBench<'_>) -> Grade {
    let answers = match &grader.expected_by {
        Some(reference) => match reference::answers(grader, reference, bench).await {
            Ok(answers) => Some(answers),
            Err(grade) => return *grade,
        },
        None => None,
    };
    let answer = |index| answers.as_ref().and_then(|answers| answers.get(index));
    let prepared: Result<Vec<(ExpectedReturn, FunctionCall)>, String> = grader
        .cases
        .iter()
        .enumerate()
        .map(|(index, case)| ExpectedReturn::of(grader, case, answer(index)))
        .collect();
    let (mut calls, asked): (Vec<ExpectedReturn>, Vec<FunctionCall>) = match prepared {
        Ok(prepared) if !prepared.is_empty() => prepared.into_iter().unzip(),
        Ok(_) => return broken("there are no calls to compare"),
        Err(why) => return broken(why),
    };
    reference::set_tolerances(grader, &mut calls);
    let calls = Arc::new(calls);
    let enough = grader.evalplus.as_ref().map(|_| Arc::default());
    let job = FunctionJob {
        code,
        entry_point: grader.function_name.clone(),
        calls: asked,
        per_call: Some(grader.timeout_per_case),
        each_call: calls.iter().filter_map(|call| call.limit).collect(),
        brief: grader.expected_by.as_ref().map(|_| reference::BRIEF),
        enough: enough.clone(),
        limits: sandbox_limits(&resolved(grader)),
    };
    let judged = Arc::clone(&calls);
    let read = move |index: usize, value: Value| {
        let judged = match judged.get(index) {
            Some(call) => judge_returned(call, &value),
            None => Err("an answer without a call".to_owned()),
        };
        if let Some(enough) = &enough
            && judged
                .as_ref()
                .map_or(true, |one| one.verdict.is_err() && !one.unsure)
        {
            enough.store(true, Ordering::Relaxed);
        }
        judged
    };
    let report = call_in(grader, job.clone(), read, bench).await;
    let report = match report {
        Ok(Ok(report)) => reference::settle(grader, &calls, job, report, bench).await,
        other => other,
    };
    match report {
        Err(grade) => *grade,
        Ok(Ok(report)) => {
            let (adjudicated, refused) = (report.adjudicated, report.streams.refused_call);
            let peak = report.streams.peak_kib;
            let grade = judge(grader, &calls, report).with_trust(Trust::Harness);
            let grade = grade.with_adjudicated(adjudicated).with_peak(peak);
            programs::with_refused_call(grade, refused)
        }
        Ok(Err(error)) => not_run(METHOD, &error),
    }
}

/// What is kept of an answer; an error is the author's.
pub(super) type CallVerdict = Result<JudgedCall, String>;

/// What came of a job; the error is the grade.
pub(super) type CallsResult<T> = Result<Result<FunctionReport<T>, SandboxError>, Box<Grade>>;

/// Makes the calls in the language of the grader.
pub(super) async fn call_in<T: Send + 'static>(
    grader: &FunctionOutput,
    mut job: FunctionJob,
    read: impl Fn(usize, Value) -> T + Send + Sync + 'static,
    bench: &TestBench<'_>,
) -> CallsResult<T> {
    let sandbox = bench.sandbox;
    let Some(language) = language_of(&grader.executor) else {
        return Ok(sandbox.call_functions(job, read).await);
    };
    let node = bench
        .languages
        .get(language)
        .await
        .map_err(|why| Box::new(missing(METHOD, &why)))?;
    if grader.executor == Executor::Typescript {
        let made = transpiled(&node, vec![job.code], &grader.limits, METHOD, sandbox).await?;
        job.code = made.into_iter().next().unwrap_or_default();
    }
    Ok(sandbox.call_node(node, job, read).await)
}

pub(super) fn broken(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

/// What the answer to a call is compared with.
pub(super) struct ExpectedReturn {
    case: FunctionCase,
    /// `None`: an exception is expected, or what no JSON says.
    expected: Option<Datum>,
    /// What may be returned instead.
    others: Vec<Datum>,
    tagged_args: bool,
    /// `expected` as a pattern, where that is how it is compared; else why it can't be one.
    pattern: Option<Result<CompiledPattern, String>>,
    /// What JavaScript has beside JSON: the kind of object and its text.
    special: Option<(&'static str, String)>,
    /// Values are shown as JavaScript has them.
    as_json: bool,
    /// `solve`.
    function_name: String,
    /// The digest of what the reference solution returned, where the value itself is not kept.
    digest: Option<String>,
    /// Whether it returned a float, or a list or a tuple of floats only.
    pub(super) floats: bool,
    /// How the benchmark compares, with the tolerance of this call.
    pub(super) oracle: Option<(EvalplusOracle, f64)>,
    /// The time limit of this call, where it has its own.
    pub(super) limit: Option<Duration>,
}

impl ExpectedReturn {
    /// With the call as the sandbox makes it.
    fn of(
        grader: &FunctionOutput,
        case: &FunctionCase,
        answer: Option<&ExpectedAnswer>,
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
        if grader.has_tagged_args() {
            call.args = case.args.clone();
        } else {
            for value in &case.args {
                call.args.push(read("the argument", value)?.to_tagged());
            }
        }
        for (name, value) in &case.kwargs {
            let datum = read("the argument", value)?;
            call.kwargs.push((name.clone(), datum.to_tagged()));
        }
        let answered = match (&case.expected, answer) {
            (CallExpectation::Reference, Some(answer)) => reference::value(answer)?,
            (CallExpectation::Reference, None) => {
                return Err("the reference solution has no answer to this call".to_owned());
            }
            _ => AnsweredValue::default(),
        };
        let mut others = Vec::new();
        let expected = match &case.expected {
            CallExpectation::OneOf(values) => {
                let values = values.iter().map(|value| read("the expected value", value));
                others = values.collect::<Result<_, _>>()?;
                (!others.is_empty()).then(|| others.remove(0))
            }
            CallExpectation::Value(_) if special.is_some() => None,
            CallExpectation::Value(value) => Some(read("the expected value", value)?),
            CallExpectation::Raises(_) => None,
            CallExpectation::Reference => answered.value,
        };
        let is_pattern = case.comparator == Comparator::Regex;
        let pattern = expected
            .as_ref()
            .filter(|_| is_pattern)
            .map(eval_match::expected_pattern);
        let limit = match (&grader.evalplus, answer) {
            (Some(calls), Some(answer)) => {
                let relative = answer.wall().mul_f64(calls.time_factor);
                Some(grader.timeout_per_case.max(relative))
            }
            _ => None,
        };
        Ok((
            ExpectedReturn {
                case: case.clone(),
                expected,
                others,
                tagged_args: grader.has_tagged_args(),
                pattern,
                special,
                as_json,
                function_name: grader.function_name.clone(),
                digest: answered.digest,
                floats: answered.floats,
                oracle: grader
                    .evalplus
                    .as_ref()
                    .map(|calls| (calls.oracle.clone(), calls.oracle.tolerance)),
                limit,
            },
            call,
        ))
    }

    /// `solve(1, 2)`.
    pub(super) fn shown(&self) -> String {
        let text = |value: &Value| match self.arg(value) {
            Ok(_) if self.as_json => in_reason(&value.to_string()),
            Ok(datum) => datum.to_string(),
            Err(_) => "?".to_owned(),
        };
        let mut shown: Vec<String> = self.case.args.iter().map(text).collect();
        let named = self.case.kwargs.iter();
        shown.extend(named.map(|(name, value)| format!("{name}={}", text(value))));
        format!("{}({})", self.function_name, shown.join(", "))
    }

    /// For reports.
    fn args_shown(&self) -> Value {
        match self.tagged_args {
            true => self.args().iter().map(Datum::to_json).collect(),
            false => json!(self.case.args),
        }
    }

    fn arg(&self, value: &Value) -> Result<Datum, TaggedError> {
        match self.tagged_args {
            true => Datum::from_tagged(value),
            false => Datum::from_json(value),
        }
    }

    fn args(&self) -> Vec<Datum> {
        let args = self.case.args.iter();
        args.filter_map(|value| self.arg(value).ok()).collect()
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
pub(super) struct JudgedCall {
    pub(super) verdict: Result<(), CauseReason>,
    actual: Option<Value>,
    error: Option<String>,
    /// How long the call took; `None` when it was not made.
    ms: Option<f64>,
    /// Only digests were compared, and they differ: the values may be equal nevertheless.
    pub(super) unsure: bool,
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
            Err(why) => return broken(format!("{}: {why}", call.shown())),
        }
    }
    let passed = judged.iter().filter(|one| one.verdict.is_ok()).count();
    let listed: Vec<Value> = calls
        .iter()
        .zip(&judged)
        .take(limits::GRADE_ENTRIES)
        .map(|(call, one)| {
            let mut entry = json!({
                "args": bounded(&call.args_shown()),
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
                _ if !loaded || grader.evalplus.is_some() => String::new(),
                1 => String::new(),
                failed => format!(" ({failed} of {} calls failed)", calls.len()),
            };
            let share = match grader.evalplus {
                // The calls after it were not made.
                Some(_) => 0.0,
                None => passed as f64 / calls.len() as f64,
            };
            let grade = Grade::failed(GraderType::Code, METHOD, *cause, format!("{why}{more}"))
                .with_score(share)
                .with_expected(expected_shown(call));
            match &one.actual {
                Some(actual) => grade.with_actual(actual.clone()),
                None => grade,
            }
        }
    };
    let mut grade = grade;
    if let Some(own) = &grader.evalplus
        && loaded
        && passed >= own.base
    {
        grade.metrics.insert(PASS_BASE.to_owned(), 1.0);
    }
    grade
        .with_detail("calls", listed)
        .with_detail("passed", passed)
        .with_detail("total", calls.len())
}

fn expected_shown(call: &ExpectedReturn) -> Value {
    match &call.case.expected {
        CallExpectation::Value(value) => bounded(value),
        CallExpectation::OneOf(values) => json!({ "one_of": bounded(&json!(values)) }),
        CallExpectation::Raises(name) => json!({ "raises": name }),
        CallExpectation::Reference => match &call.expected {
            Some(expected) => bounded(&expected.to_json()),
            None => json!("a large value, which is not kept"),
        },
    }
}

/// An error is the author's.
fn judge_call(
    grader: &FunctionOutput,
    call: &ExpectedReturn,
    outcome: CallOutcome<CallVerdict>,
    loaded: bool,
) -> CallVerdict {
    let shown = || call.shown();
    Ok(match outcome {
        CallOutcome::Value(returned) => returned?,
        CallOutcome::Raised(raised) => judge_raised(call, &raised, &grader.function_name),
        CallOutcome::Failed(failure) => {
            // A time-out of a single call is that of `timeout_per_case`, unless the program never
            // came to its calls.
            let wall = if loaded {
                let limit = call.limit.unwrap_or(grader.timeout_per_case);
                limit.min(grader.limits.wall)
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
                failed(cause, format!("{}: {why}", shown()))
            } else {
                failed(cause, why)
            }
        }
        CallOutcome::NotRun => failed(
            Cause::Timeout,
            format!("{} was not run: the earlier calls took too long", shown()),
        ),
    })
}

pub(super) fn too_large(most: u64) -> CauseReason {
    let values = most.saturating_mul(4).max(64);
    let why = format!(
        "the returned value takes more than {most} MB as text or {values} MB as values; if a correct answer does, raise \
         `max_return_mb`"
    );
    (Cause::OutputLimit, why)
}

/// The harness itself holds what a call returned, so that it may be smaller than in tests.
const RETURN_MB: u64 = 16;

pub(super) fn resolved(grader: &FunctionOutput) -> CodeLimits {
    CodeLimits {
        return_mb: grader.limits.return_mb.or(Some(RETURN_MB)),
        ..grader.limits
    }
}

pub(super) fn failed(cause: Cause, why: String) -> JudgedCall {
    JudgedCall {
        verdict: Err((cause, why.clone())),
        actual: None,
        error: Some(why),
        ms: None,
        unsure: false,
    }
}

/// Judges what a call returned, as tagged JSON.
fn judge_returned(call: &ExpectedReturn, tagged: &Value) -> CallVerdict {
    if let Some((digest, _)) = expected::digest(tagged) {
        return Ok(match &call.digest {
            Some(expected) if expected == digest => JudgedCall {
                verdict: Ok(()),
                actual: None,
                error: None,
                ms: None,
                unsure: false,
            },
            _ => unsure(call),
        });
    }
    if call.digest.is_some() {
        return Ok(unsure(call));
    }
    match Datum::from_tagged(tagged) {
        Ok(value) => judge_value(call, &value, call.expected.as_ref()),
        Err(why) => Ok(failed(
            Cause::WrongAnswer,
            format!(
                "{} returned a value that can't be read: {why}",
                call.shown()
            ),
        )),
    }
}

fn unsure(call: &ExpectedReturn) -> JudgedCall {
    let why = format!("{} returned a different value", call.shown());
    JudgedCall {
        unsure: true,
        ..failed(Cause::WrongAnswer, why)
    }
}

pub(super) fn judge_value(
    call: &ExpectedReturn,
    value: &Datum,
    expected: Option<&Datum>,
) -> CallVerdict {
    let shown = || call.shown();
    let actual = Some(match value {
        Datum::Opaque { repr, .. } if call.as_json => bounded_text(repr),
        value => bounded(&value.to_json()),
    });
    let verdict = match expected {
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
                    format!(
                        "{} returned {}, expected {wanted}",
                        shown(),
                        call.show(value)
                    ),
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
                    "{} returned {}, expected it to raise {name}",
                    shown(),
                    call.show(value)
                ),
            ))
        }
        Some(expected) if call.oracle.is_some() => {
            let accepts = |(oracle, tolerance): &(EvalplusOracle, f64)| {
                oracle.accepts(&call.args(), value, expected, *tolerance)
            };
            if call.oracle.as_ref().is_some_and(accepts) {
                Ok(())
            } else {
                Err((Cause::WrongAnswer, wrong(call, value, expected, "")))
            }
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
            let other = |other| eval_match::equals(value, other);
            if compared.matched || call.others.iter().any(other) {
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
        unsure: false,
    })
}

fn wrong(call: &ExpectedReturn, value: &Datum, expected: &Datum, reason: &str) -> String {
    let shown = call.shown();
    match call.case.comparator {
        Comparator::Equals => {
            let others = call
                .others
                .iter()
                .map(|other| format!(" or {}", call.show(other)));
            format!(
                "{shown} returned {}, expected {}{}",
                call.show(value),
                call.show(expected),
                others.collect::<String>()
            )
        }
        _ => format!("{shown} returned {}: {reason}", call.show(value)),
    }
}

fn judge_raised(call: &ExpectedReturn, raised: &RaisedException, entry_point: &str) -> JudgedCall {
    let shown = || call.shown();
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
                "{} raised {}, expected it to raise {name}",
                shown(),
                exception(raised)
            ),
        )),
        CallExpectation::Value(_) | CallExpectation::OneOf(_) | CallExpectation::Reference => {
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
                format!(
                    "{} raised {}, expected {expected}",
                    shown(),
                    exception(raised)
                ),
            ))
        }
    };
    JudgedCall {
        verdict,
        actual: None,
        error,
        ms: None,
        unsure: false,
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
