//! One sample: ask, grade, and again when the suite asks for retries.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::queue::SampleWork;
use super::regrade::{RegradeContext, RegradeItem, grade_sample};
use super::reuse::StoredSamples;
use crate::grade::{
    RunGraders, SampleAttempt, apply_finish, apply_latency, finishing, without_output,
};
use crate::journal::folder_name;
use crate::model::{
    Attempt, Case, CaseOutline, Cause, JudgeVote, KeepWorkspace, ModelCall, Outcome, Output,
    ReusedFrom, Verdict, WorkspaceOutput,
};
use crate::target::{RunTargets, TargetAnswer, TargetFailure, WorkspaceUse};
use crate::workspace::{
    CHANGES_FILE, FinishedWorkspace, RecordedWork, SampleWorkspace, WorkspaceFault,
};
use eval_base::backoff::Backoff;
use eval_base::redact::Redactor;
use eval_models::RunModels;

/// Further tries of a call that did not get through, where its target does not say.
const INFRASTRUCTURE_RETRIES: u32 = 4;

/// Between two tries.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(10),
};

/// What all samples of a run share.
#[derive(Clone)]
pub(super) struct SampleContext {
    pub targets: Arc<RunTargets>,
    pub graders: Arc<RunGraders>,
    /// Further attempts after a failed grade, where the case does not say.
    pub retry_failed: u32,
    pub redactor: Redactor,
    /// One for each worker, where more samples are under way than there are workers.
    pub workers: Option<Arc<Semaphore>>,
    /// Outputs of an earlier run that are graded again.
    pub stored: Option<Arc<StoredSamples>>,
    /// The folder of workspaces that are kept.
    pub kept: Arc<Path>,
}

/// What came of a sample.
#[derive(Debug)]
pub(super) struct SampleAttempts {
    /// Without one, the run may spend no more on models.
    pub attempts: Vec<Attempt>,
    pub reused_from: Option<Box<ReusedFrom>>,
}

impl From<Vec<Attempt>> for SampleAttempts {
    fn from(attempts: Vec<Attempt>) -> SampleAttempts {
        SampleAttempts {
            attempts,
            reused_from: None,
        }
    }
}

impl SampleContext {
    /// Waits for the right to do work. A task that waits for a model does without.
    async fn worker(&self) -> Option<OwnedSemaphorePermit> {
        let workers = Arc::clone(self.workers.as_ref()?);
        // It is never closed.
        workers.acquire_owned().await.ok()
    }

    /// True when a sample starts no process and calls nothing: its output is recorded and its
    /// graders only look at it.
    pub fn is_cheap(&self, case: CaseOutline<'_>) -> bool {
        self.targets.is_recorded(case.profile.target.as_ref()) && case.profile.only_looks()
    }
}

/// What takes the place of a sentence that may show a part of a secret.
const LEFT_OUT: &str = "omitted, because the output or the expectation contains a secret";

/// An attempt that this program's own surroundings prevented.
pub(super) fn fault(reason: impl Into<String>) -> Attempt {
    Attempt {
        output: None,
        stored: None,
        extracted: None,
        verdict: Verdict::without_grades(Cause::Harness, reason),
        latency_ms: None,
        duration_ms: 0.0,
        infrastructure_retries: 0,
        call: None,
        unanswered: false,
        redacted: false,
    }
}

/// Why the attempts of a sample are not recorded, if they are not: its target was not called, or
/// grading it was given up because the run is being ended.
pub(super) fn unrecorded(attempts: &[Attempt]) -> Option<Cause> {
    match attempts.last() {
        None => Some(Cause::Budget),
        Some(last) => last
            .verdict
            .cause
            .filter(|cause| *cause == Cause::Interrupted),
    }
}

/// Runs a sample to its end, or grades what an earlier run has of it.
pub(super) async fn run_sample(bench: &SampleContext, work: &SampleWork) -> SampleAttempts {
    let Some((stored, sample)) = bench
        .stored
        .as_ref()
        .and_then(|stored| Some((stored, stored.get(work)?)))
    else {
        return ask_and_grade(bench, work).await.into();
    };
    let context = RegradeContext {
        graders: Arc::clone(&bench.graders),
        redactor: bench.redactor.clone(),
        source: Arc::new(stored.source.paths.clone()),
        models: Arc::clone(bench.targets.models()),
        people_only: false,
    };
    let item = RegradeItem {
        case: work.case.clone(),
        sample,
        same_grading: false,
    };
    let graded = grade_sample(&context, item).await;
    SampleAttempts {
        attempts: graded.attempts,
        reused_from: graded.reused_from,
    }
}

/// At least one attempt, or none when the run may spend no more on models.
async fn ask_and_grade(bench: &SampleContext, work: &SampleWork) -> Vec<Attempt> {
    let case = match &work.case {
        Ok(case) => case,
        Err(error) => return vec![fault(error.to_string())],
    };
    // A recording says the same thing again.
    let recorded = bench.targets.is_recorded(case.target.as_ref());
    let retries = if recorded {
        0
    } else {
        case.retries.unwrap_or(bench.retry_failed)
    };
    let mut attempts = Vec::with_capacity(1);
    loop {
        // A further attempt that may not be asked for leaves what the earlier ones came to.
        let Some(attempt) = run_attempt(bench, work, case, attempts.len()).await else {
            return attempts;
        };
        let failed = attempt.verdict.outcome == Outcome::Failed;
        attempts.push(attempt);
        if !failed || attempts.len() > retries as usize {
            return attempts;
        }
    }
}

/// `None` when it was not asked for, because the budget is spent.
async fn run_attempt(
    bench: &SampleContext,
    work: &SampleWork,
    case: &Case,
    number: usize,
) -> Option<Attempt> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let asked = SampleAttempt {
        sample: work.sample,
        attempt: number,
        latency: None,
    };
    let started = Instant::now();
    let (answer, infrastructure_retries, finished) = {
        // Who waits for a model is not working.
        let _worker = match bench.targets.is_model(case.target.as_ref()) {
            true => None,
            false => bench.worker().await,
        };
        ask_in_workspace(bench, work, case, number).await
    };
    if answer
        .result
        .as_ref()
        .is_err_and(|failure| failure.cause == Cause::Budget)
    {
        return None;
    }
    let mut answer = answer;
    let output = match &mut answer.result {
        Ok(output) => Some(output),
        Err(failure) => failure.output.as_deref_mut(),
    };
    if let Some(record) = output.and_then(|output| output.trajectory.as_mut()) {
        record.seal(&bench.redactor);
    }
    let latency_ms = answer.latency.map(milliseconds);
    let unanswered = answer.result.is_err();
    let (mut output, extracted, mut verdict) = match answer.result {
        Ok(output) => {
            let graded = GradedAnswer {
                case,
                output: &output,
                asked,
                latency: answer.latency,
                workspace: finished.as_ref(),
            };
            // What a target left in a workspace, or answered after the interrupt, would be lost.
            let is_owed = !bench.targets.is_recorded(case.target.as_ref())
                && (finished.is_some() || bench.graders.is_interrupted());
            let judging = judge(&bench.graders, &bench.redactor, graded);
            let (extracted, verdict) = match is_owed {
                true => finishing(judging).await,
                false => judging.await,
            };
            (Some(output), extracted, verdict)
        }
        Err(failure) => (
            failure.output.map(|output| *output),
            None,
            without_output(case, failure.cause, failure.reason),
        ),
    };
    if let Some(finished) = finished {
        let left = output.as_mut().and_then(|output| output.workspace.as_mut());
        // What is no answer is never graded again.
        let recorded = left.map(|left| &mut **left).filter(|_| !unanswered);
        let kept = put_away(bench, work, case, (asked, finished), recorded, &mut verdict).await;
        let left = output.as_mut().and_then(|output| output.workspace.as_mut());
        if let Some(left) = left {
            left.kept = kept;
        }
    }
    let duration_ms = milliseconds(started.elapsed());
    // What came before may not stand for a further output that is there and was not judged.
    if number == 0 && is_unpaid(bench.targets.models(), answer.call.as_deref(), &verdict) {
        return None;
    }
    Some(Attempt {
        output,
        stored: None,
        extracted,
        verdict,
        latency_ms,
        duration_ms,
        infrastructure_retries,
        call: answer.call,
        unanswered,
        redacted: false,
    })
}

/// True when a verdict is missing for nothing but the budget, and nothing of it went into what
/// there is: then the sample is left out, as one whose target may not be asked. `call` is how this
/// run asked for the output.
pub(super) fn is_unpaid(models: &RunModels, call: Option<&ModelCall>, verdict: &Verdict) -> bool {
    if verdict.cause != Some(Cause::JudgeUnreachable) || !models.is_spent() {
        return false;
    }
    let judged = verdict
        .grades
        .iter()
        .filter_map(|grade| grade.judged.as_deref());
    let votes = || judged.clone().flat_map(|judged| &judged.votes);
    let refused = |vote: &JudgeVote| {
        vote.outcome == Outcome::Errored && vote.calls.last().is_some_and(|last| !last.answered)
    };
    call.is_none_or(|call| call.requests == 0)
        && votes().any(refused)
        && votes()
            .flat_map(|vote| &vote.calls)
            .all(|asked| asked.call.requests == 0)
}

/// Asks the target in a workspace of its own, if the case has one, and looks at what it left there.
async fn ask_in_workspace(
    bench: &SampleContext,
    work: &SampleWork,
    case: &Case,
    attempt: u32,
) -> (TargetAnswer, u32, Option<FinishedWorkspace>) {
    let used = bench.targets.workspace_use(case);
    let Some(definition) = case.workspace.as_ref() else {
        let (mut answer, retries) = ask(bench, work, case, attempt, None).await;
        if answer
            .result
            .as_ref()
            .is_ok_and(|output| output.workspace.is_some())
        {
            let why = "changes of a workspace were recorded, but the case has no workspace";
            answer.result = Err(TargetFailure::new(Cause::MissingOutput, why));
        }
        return (answer, retries, None);
    };
    let workspaces = match used {
        WorkspaceUse::Nothing => {
            let (answer, retries) = ask(bench, work, case, attempt, None).await;
            return (answer, retries, None);
        }
        _ => bench.graders.workspaces().await,
    };
    let mut retries = 0;
    let (mut answer, finished) = if used == WorkspaceUse::Recorded {
        let (mut answer, again) = ask(bench, work, case, attempt, None).await;
        retries = again;
        let output = answer.result.as_mut().ok();
        let recorded = output.and_then(|output| {
            let recorded = output.workspace.clone();
            // What it names is read, or there is nothing.
            output.workspace.take_if(|left| left.tree.is_some());
            recorded
        });
        let finished = match recorded {
            Some(left) => Some(workspaces.recorded(definition, recorded_work(*left)).await),
            None => None,
        };
        (answer, finished)
    } else {
        match workspaces
            .sample(definition, used == WorkspaceUse::Host)
            .await
        {
            Err(fault) => (unanswered(fault.cause, fault.reason), None),
            Ok(workspace) => {
                let (answer, again) = ask(bench, work, case, attempt, Some(&workspace)).await;
                retries = again;
                let exit_code = answer.exit_code;
                (answer, Some(workspace.finish(exit_code).await))
            }
        }
    };
    let finished = match finished.transpose() {
        Ok(finished) => finished,
        Err(fault) => {
            // A target that failed has a reason of its own.
            answer.result = answer.result.and_then(|output| {
                Err(TargetFailure {
                    output: Some(Box::new(output)),
                    ..TargetFailure::new(fault.cause, fault.reason)
                })
            });
            return (answer, retries, None);
        }
    };
    let output = match &mut answer.result {
        Ok(output) => Some(output),
        Err(failure) => failure.output.as_deref_mut(),
    };
    if let (Some(output), Some(finished)) = (output, &finished) {
        output.workspace = Some(Box::new(finished.output().clone()));
    }
    (answer, retries, finished)
}

/// What a recording holds of a sample's work.
fn recorded_work(left: WorkspaceOutput) -> RecordedWork {
    match left.tree {
        Some(tree) => RecordedWork::of_tree(tree),
        None => RecordedWork::Patch(left.diff.text),
    }
}

fn unanswered(cause: Cause, reason: String) -> TargetAnswer {
    TargetAnswer {
        result: Err(TargetFailure::new(cause, reason)),
        latency: None,
        call: None,
        exit_code: None,
    }
}

/// Tears a workspace down, and keeps it if the case asks for that: where, relative to the folder of
/// the run's day. Of `recorded`, all changes are recorded.
async fn put_away(
    bench: &SampleContext,
    work: &SampleWork,
    case: &Case,
    (asked, finished): (SampleAttempt, FinishedWorkspace),
    recorded: Option<&mut WorkspaceOutput>,
    verdict: &mut Verdict,
) -> Option<String> {
    let keep = case.workspace.as_ref().map(|workspace| workspace.keep);
    let wanted = match keep? {
        KeepWorkspace::Never => false,
        KeepWorkspace::Failed => verdict.outcome != Outcome::Passed,
        KeepWorkspace::Always => true,
    };
    if verdict.cause == Some(Cause::Interrupted) {
        return None;
    }
    let mut kept = None;
    if !work.eval.info.is_private() {
        let name = [
            folder_name(&work.eval.info.id),
            folder_name(&case.id),
            format!("{}-{}", asked.sample, asked.attempt),
        ];
        let name = name.join("/");
        let shown = format!("{}/{name}", file_name_of(&bench.kept));
        if wanted {
            match finished.keep(bench.kept.join(&name)).await {
                Ok(()) => kept = Some(shown.clone()),
                Err(fault) => take_away(case, fault, verdict),
            }
        }
        if let Some(recorded) = recorded
            && !finished.is_recorded()
        {
            let to = bench.kept.join(format!("{name}{CHANGES_FILE}"));
            match finished.record(to, bench.redactor.clone()).await {
                Ok(true) => recorded.record = Some(format!("{shown}{CHANGES_FILE}")),
                Ok(false) => {}
                // Only `regrade` misses it.
                Err(fault) => add_reason(verdict, &fault.reason),
            }
        }
    }
    tear_down(case, &finished, verdict).await;
    kept
}

/// Runs the commands of `teardown`; one that fails takes a pass away.
pub(super) async fn tear_down(case: &Case, finished: &FinishedWorkspace, verdict: &mut Verdict) {
    if verdict.cause != Some(Cause::Interrupted)
        && let Err(fault) = finished.tear_down().await
    {
        take_away(case, fault, verdict);
    }
}

/// What failed, or has no grade, stays so with its own reason.
fn take_away(case: &Case, fault: WorkspaceFault, verdict: &mut Verdict) {
    match verdict.outcome {
        Outcome::Passed => *verdict = without_output(case, fault.cause, fault.reason),
        _ => add_reason(verdict, &fault.reason),
    }
}

pub(super) fn add_reason(verdict: &mut Verdict, reason: &str) {
    let between = if verdict.reason.is_empty() { "" } else { "; " };
    verdict.reason = format!("{}{between}{reason}", verdict.reason);
}

fn file_name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// An output that is graded.
pub(super) struct GradedAnswer<'a> {
    pub case: &'a Case,
    pub output: &'a Output,
    pub asked: SampleAttempt,
    pub latency: Option<Duration>,
    pub workspace: Option<&'a FinishedWorkspace>,
}

/// Grades an output: what the graders saw, when extraction changed it, and the verdict.
pub(super) async fn judge(
    graders: &RunGraders,
    redactor: &Redactor,
    answer: GradedAnswer<'_>,
) -> (Option<Value>, Verdict) {
    let GradedAnswer {
        case,
        output,
        asked,
        latency,
        workspace,
    } = answer;
    let asked = SampleAttempt { latency, ..asked };
    let graded = graders.grade(case, output, asked, workspace).await;
    let verdict = apply_finish(graded.verdict, output.finish);
    let mut verdict = apply_latency(verdict, latency, case.max_latency);
    if holds_secret(redactor, case, output) {
        without_excerpts(&mut verdict);
    }
    (graded.extracted, verdict)
}

/// Asks the target, again after a growing pause when the call did not get through and another try
/// may help. A target that was reached and failed, or took too long, would only do so again.
async fn ask(
    bench: &SampleContext,
    work: &SampleWork,
    case: &Case,
    attempt: u32,
    workspace: Option<&SampleWorkspace>,
) -> (TargetAnswer, u32) {
    let most = bench
        .targets
        .retries(case)
        .unwrap_or(INFRASTRUCTURE_RETRIES);
    let case = match bench.targets.prompted(&work.eval, case).await {
        Ok(case) => case,
        Err(failure) => {
            let answer = TargetAnswer {
                result: Err(failure),
                latency: None,
                call: None,
                exit_code: None,
            };
            return (answer, 0);
        }
    };
    let mut retries = 0;
    let answer = loop {
        let answer = bench
            .targets
            .ask(&work.eval.info.id, &case, (work.sample, attempt), workspace)
            .await;
        if retries == most {
            break answer;
        }
        match &answer.result {
            Err(failure) if failure.retryable && failure.cause == Cause::TargetUnreachable => {
                tokio::time::sleep(BACKOFF.pause(retries)).await;
                retries += 1;
            }
            _ => return (answer, retries),
        }
    };
    // A refusal without a word is no output, but it is what the last try was told.
    let told = answer
        .result
        .as_ref()
        .map_or_else(|failure| failure.output.is_some(), |_| true);
    let again = answer
        .call
        .as_ref()
        .map_or(most, |call| tries_again(call, told));
    (answer, again)
}

/// Tries of a model after the first. All but an answer's own are among the faults; of an answer
/// that could not be used the requests tell.
fn tries_again(call: &ModelCall, is_told: bool) -> u32 {
    if call.agent.is_some() {
        // It repeats its calls itself.
        return 0;
    }
    let faults = call
        .faults
        .values()
        .fold(0u32, |sum, n| sum.saturating_add(*n));
    if is_told {
        faults
    } else {
        faults.max(call.requests).saturating_sub(1)
    }
}

/// Whole secrets are redacted where events are recorded. But reasons and details show excerpts, and
/// half a secret is not found there. What a judge was shown and said stays: secrets were cut out
/// whole before it was asked.
fn holds_secret(redactor: &Redactor, case: &Case, output: &Output) -> bool {
    let holds =
        |text: serde_json::Result<String>| text.is_ok_and(|text| redactor.redact(&text).is_some());
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
