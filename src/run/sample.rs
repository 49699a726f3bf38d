//! One sample: ask, grade, and again when the suite asks for retries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::queue::Work;
use crate::base::redact::Redactor;
use crate::grade::{Graders, apply_latency, without_output};
use crate::model::{Attempt, Case, Cause, CodeGrader, GraderKind, Outcome, Output, Verdict};
use crate::target::{Answer, Targets};

/// Further tries of a call that did not get through.
const INFRASTRUCTURE_RETRIES: u32 = 4;

/// What all samples of a run share.
#[derive(Clone)]
pub(super) struct Bench {
    pub targets: Arc<Targets>,
    pub graders: Arc<Graders>,
    /// Further attempts after a failed grade, where the case does not say.
    pub retry_failed: u32,
    pub redactor: Redactor,
}

impl Bench {
    /// True when a sample starts no process and calls nothing: its output is recorded and its graders only look at it.
    pub fn is_cheap(&self, work: &Work) -> bool {
        let looks_only = |kind: &GraderKind| match kind {
            GraderKind::Code(code) => !code.runs_candidate() && !matches!(code, CodeGrader::Command(_)),
            GraderKind::Human { .. } => true,
            GraderKind::Model { .. } => false,
        };
        self.targets.recorded_samples(&work.eval.info.id, &work.case).is_some()
            && work.case.grading.graders.iter().all(|grader| looks_only(&grader.kind))
    }
}

/// What takes the place of a sentence that may show a part of a secret.
const LEFT_OUT: &str = "left out, because the output or the expectation holds a secret";

/// Runs a sample to its end: at least one attempt.
pub(super) async fn run_sample(bench: &Bench, work: &Work) -> Vec<Attempt> {
    // A recording says the same thing again.
    let recorded = bench.targets.recorded_samples(&work.eval.info.id, &work.case).is_some();
    let retries = if recorded { 0 } else { work.case.retries.unwrap_or(bench.retry_failed) };
    let mut attempts = Vec::with_capacity(1);
    loop {
        let attempt = run_attempt(bench, work).await;
        let failed = attempt.verdict.outcome == Outcome::Failed;
        attempts.push(attempt);
        if !failed || attempts.len() > retries as usize {
            return attempts;
        }
    }
}

async fn run_attempt(bench: &Bench, work: &Work) -> Attempt {
    let started = Instant::now();
    let (answer, infrastructure_retries) = ask(bench, work).await;
    let latency_ms = answer.latency.map(milliseconds);
    let (output, extracted, verdict) = match answer.result {
        Ok(output) => {
            let graded = bench.graders.grade(&work.case, &output).await;
            let mut verdict = apply_latency(graded.verdict, answer.latency, work.case.max_latency);
            if holds_secret(&bench.redactor, &work.case, &output) {
                without_excerpts(&mut verdict);
            }
            (Some(output), graded.extracted, verdict)
        }
        Err(failure) => (
            failure.output.map(|output| *output),
            None,
            without_output(&work.case, failure.cause, failure.reason),
        ),
    };
    let duration_ms = milliseconds(started.elapsed());
    Attempt { output, stored: None, extracted, verdict, latency_ms, duration_ms, infrastructure_retries }
}

/// Asks the target, again after a growing pause when the call did not get through and another try may help. A target that was
/// reached and failed, or took too long, would only do so again.
async fn ask(bench: &Bench, work: &Work) -> (Answer, u32) {
    let mut pause = Duration::from_millis(250);
    for retries in 0..INFRASTRUCTURE_RETRIES {
        let answer = bench.targets.ask(&work.eval.info.id, &work.case, work.sample).await;
        match &answer.result {
            Err(failure) if failure.retryable && failure.cause == Cause::TargetUnreachable => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            _ => return (answer, retries),
        }
    }
    let answer = bench.targets.ask(&work.eval.info.id, &work.case, work.sample).await;
    (answer, INFRASTRUCTURE_RETRIES)
}

/// Whole secrets are redacted where events are recorded. But reasons and details show excerpts, and half a secret is not found
/// there.
fn holds_secret(redactor: &Redactor, case: &Case, output: &Output) -> bool {
    let holds = |text: serde_json::Result<String>| text.is_ok_and(|text| redactor.redact(&text).is_some());
    !redactor.is_empty()
        && (holds(serde_json::to_string(output)) || holds(serde_json::to_string(&case.grading)))
}

fn without_excerpts(verdict: &mut Verdict) {
    if !verdict.reason.is_empty() {
        verdict.reason = LEFT_OUT.to_owned();
    }
    for grade in &mut verdict.grades {
        if !grade.reason.is_empty() {
            grade.reason = LEFT_OUT.to_owned();
        }
        grade.expected = None;
        grade.actual = None;
        grade.details.clear();
    }
}

/// To the microsecond, so that reports don't carry noise.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}
