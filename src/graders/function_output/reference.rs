//! The reference solution of a grader: it is called as candidates are, in the sandbox, once for all
//! samples.

use std::sync::Arc;

use serde_json::Value;

use crate::model::{
    CallExpectation, Cause, CodeLimits, FunctionCase, FunctionOutput, Grade, GraderType,
    ReferenceFunction,
};
use eval_match::{Datum, TaggedError};
use eval_sandbox::{
    BriefValues, CallOutcome, CallReport, FunctionCall, FunctionJob, FunctionReport,
};

use super::METHOD;
use super::calls::{
    CallVerdict, CallsResult, ExpectedReturn, JudgedCall, broken, call_in, failed, judge_value,
    resolved, too_large,
};
use super::evalplus::is_floats;
use super::expected::{ExpectedAnswer, ExpectedAnswers, digest};
use crate::graders::programs::{TestBench, exception, explain_failure, not_run, sandbox_limits};

/// Values of more than 16 KiB are compared by digest.
pub(super) const BRIEF: BriefValues = BriefValues {
    above: 16 << 10,
    only_equal: false,
};
/// The reference solution has this many times the time limit of a candidate: its calls have no limit
/// of their own.
const REFERENCE_WALLS: u32 = 10;

/// A value of the reference solution, as far as it is kept.
#[derive(Default)]
pub(super) struct AnsweredValue {
    pub value: Option<Datum>,
    pub digest: Option<String>,
    pub floats: bool,
}

/// An error says that the value can't be read.
pub(super) fn value(answer: &ExpectedAnswer) -> Result<AnsweredValue, String> {
    let read = |why: String| format!("the value of the reference solution can't be used: {why}");
    let tagged: Value = serde_json::from_str(&answer.value).map_err(|e| read(e.to_string()))?;
    if let Some((digest, floats)) = digest(&tagged) {
        return Ok(AnsweredValue {
            value: None,
            digest: Some(digest.to_owned()),
            floats,
        });
    }
    let value = Datum::from_tagged(&tagged).map_err(|why: TaggedError| read(why.to_string()))?;
    Ok(AnsweredValue {
        floats: is_floats(&value),
        value: Some(value),
        digest: None,
    })
}

/// Sets the tolerance of each call of a benchmark; base and plus tests are counted apart, as they
/// run apart in the original.
pub(super) fn set_tolerances(grader: &FunctionOutput, calls: &mut [ExpectedReturn]) {
    let Some(own) = &grader.evalplus else {
        return;
    };
    let (base, plus) = calls.split_at_mut(own.base.min(calls.len()));
    for part in [base, plus] {
        let tolerances = own.oracle.tolerances(part.iter().map(|call| call.floats));
        for (call, tolerance) in part.iter_mut().zip(tolerances) {
            call.oracle = Some((own.oracle.clone(), tolerance));
        }
    }
}

/// The return values of the reference solution, one for each call of the grader. The error is the
/// grade of the sample.
pub(super) async fn answers(
    grader: &FunctionOutput,
    reference: &ReferenceFunction,
    bench: &TestBench<'_>,
) -> Result<ExpectedAnswers, Box<Grade>> {
    let calls: Vec<FunctionCall> = reference_calls(grader).map_err(|why| Box::new(broken(why)))?;
    let python = bench.sandbox.python().ok();
    let content = (
        grader.executor.name(),
        python.map(|python| &python.version),
        &reference.code,
        &grader.function_name,
        grader
            .cases
            .iter()
            .map(|case| (&case.args, &case.kwargs))
            .collect::<Vec<_>>(),
    );
    let make = async || {
        let job = FunctionJob {
            brief: Some(BriefValues {
                only_equal: true,
                ..BRIEF
            }),
            ..job(grader, &reference.code, calls)
        };
        let read = |_: usize, value: Value| value.to_string().into_boxed_str();
        let report = call_in(grader, job, read, bench).await?;
        let report = report.map_err(|error| Box::new(not_run(METHOD, &error)))?;
        read_answers(grader, report).map(Arc::new)
    };
    bench.expected.get(&content, make).await
}

/// The calls with their arguments as tagged JSON.
fn reference_calls(grader: &FunctionOutput) -> Result<Vec<FunctionCall>, String> {
    let tagged = |value: &Value| match grader.has_tagged_args() {
        true => Ok(value.clone()),
        false => Datum::from_json(value)
            .map(|datum| datum.to_tagged())
            .map_err(|why| format!("an argument can't be used: {why}")),
    };
    let call = |case: &FunctionCase| {
        Ok(FunctionCall {
            args: case
                .args
                .iter()
                .map(tagged)
                .collect::<Result<_, String>>()?,
            kwargs: case
                .kwargs
                .iter()
                .map(|(name, value)| Ok((name.clone(), tagged(value)?)))
                .collect::<Result<_, String>>()?,
        })
    };
    grader.cases.iter().map(call).collect()
}

fn job(grader: &FunctionOutput, code: &str, calls: Vec<FunctionCall>) -> FunctionJob {
    let limits = resolved(grader);
    FunctionJob {
        code: code.to_owned(),
        entry_point: grader.function_name.clone(),
        calls,
        limits: sandbox_limits(&CodeLimits {
            wall: limits.wall.saturating_mul(REFERENCE_WALLS),
            ..limits
        }),
        ..FunctionJob::default()
    }
}

fn read_answers(
    grader: &FunctionOutput,
    report: FunctionReport<Box<str>>,
) -> Result<Vec<ExpectedAnswer>, Box<Grade>> {
    let refuse = |why: String| {
        let why = format!("the reference solution {why}");
        Box::new(Grade::errored(
            GraderType::Code,
            METHOD,
            Cause::Harness,
            why,
        ))
    };
    let limits = resolved(grader);
    if let Some(failure) = &report.load_failure {
        let (_, why) = explain_failure(failure, &limits);
        return Err(refuse(format!("can't be loaded: {why}")));
    }
    let calls = grader.cases.iter().zip(1..).zip(report.calls);
    calls
        .map(|((case, number), call)| {
            let seconds = call.wall.as_secs_f64();
            let value = match call.outcome {
                // Its author has written what is right.
                _ if case.expected != CallExpectation::Reference => "null".into(),
                CallOutcome::Value(value) => value,
                CallOutcome::Raised(raised) => {
                    return Err(refuse(format!(
                        "fails call {number}: {}",
                        exception(&raised)
                    )));
                }
                CallOutcome::Failed(failure) => {
                    let (_, why) = explain_failure(&failure, &limits);
                    return Err(refuse(format!("fails call {number}: {why}")));
                }
                CallOutcome::NotRun => {
                    return Err(refuse(format!("takes too long for call {number}")));
                }
            };
            Ok(ExpectedAnswer { value, seconds })
        })
        .collect()
}

/// Decides the calls of which only digests were compared: both programs are called again, with
/// whole values. One call at a time, so that two values are held at most.
pub(super) async fn settle(
    grader: &FunctionOutput,
    calls: &Arc<Vec<ExpectedReturn>>,
    candidate: FunctionJob,
    mut report: FunctionReport<CallVerdict>,
    bench: &TestBench<'_>,
) -> CallsResult<CallVerdict> {
    let Some(reference) = &grader.expected_by else {
        return Ok(Ok(report));
    };
    for index in 0..report.calls.len() {
        let one = report.calls.get(index).map(|call| &call.outcome);
        let unsure = matches!(one, Some(CallOutcome::Value(Ok(judged))) if judged.unsure);
        let (true, Some(asked)) = (unsure, candidate.calls.get(index)) else {
            continue;
        };
        let again = job(grader, &reference.code, vec![asked.clone()]);
        let value =
            match call_in(grader, again, |_, value| Datum::from_tagged(&value), bench).await? {
                Ok(report) => report.calls.into_iter().next().map(|call| call.outcome),
                Err(error) => return Ok(Err(error)),
            };
        let settled = match value {
            Some(CallOutcome::Value(Ok(value))) => {
                let again = FunctionJob {
                    calls: vec![asked.clone()],
                    each_call: candidate
                        .each_call
                        .get(index)
                        .copied()
                        .into_iter()
                        .collect(),
                    brief: None,
                    enough: None,
                    ..candidate.clone()
                };
                let calls = Arc::clone(calls);
                let read = move |_: usize, tagged: Value| {
                    let call = calls.get(index).ok_or("an answer without a call")?;
                    let out = Datum::from_tagged(&tagged).map_err(|why| why.to_string())?;
                    judge_value(call, &out, Some(&value))
                };
                match call_in(grader, again, read, bench).await? {
                    Ok(report) => report.calls.into_iter().next(),
                    Err(error) => return Ok(Err(error)),
                }
            }
            Some(CallOutcome::Failed(_)) => Some(CallReport {
                outcome: CallOutcome::Value(Ok(uncompared(grader, calls, index))),
                wall: report
                    .calls
                    .get(index)
                    .map(|call| call.wall)
                    .unwrap_or_default(),
            }),
            _ => {
                let why = "the reference solution did not return its value again";
                return Err(Box::new(broken(why)));
            }
        };
        let fails = !matches!(
            settled.as_ref().map(|call| &call.outcome),
            Some(CallOutcome::Value(Ok(judged))) if judged.verdict.is_ok()
        );
        if let (Some(place), Some(settled)) = (report.calls.get_mut(index), settled) {
            *place = settled;
        }
        if fails && grader.evalplus.is_some() {
            break;
        }
    }
    Ok(Ok(report))
}

/// The grade of a call whose expected value is too large to be compared.
fn uncompared(grader: &FunctionOutput, calls: &[ExpectedReturn], index: usize) -> JudgedCall {
    let (cause, why) = too_large(resolved(grader).return_mb_or_default());
    let shown = calls
        .get(index)
        .map(ExpectedReturn::shown)
        .unwrap_or_default();
    failed(
        cause,
        format!("{shown} returned a value other than the reference solution's, and {why}"),
    )
}
