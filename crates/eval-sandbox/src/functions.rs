//! Calls of functions: arguments go in one by one, values come out, and our clock times each call.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::channel::stream_pair;
use super::conversation::{AnswerBudget, Conversation, most_weight};
use super::ending::EndedProcess;
use super::error::SandboxError;
use super::messages::{CallAnswer, disguised, forged, raised};
use super::pool::SandboxWorker;
use super::python::{PythonJob, PythonRuntime, RunnerKind};
use super::running::{RunningJob, bounded};
use super::types::*;

/// How many processes one job may use up with calls that end them.
const MOST_PROCESSES: u32 = 8;
/// All processes of a job together get this many times the wall time of one.
const MOST_WALLS: u32 = 3;
/// The calls that one process has answered, and why it stopped.
struct CallRound<T> {
    answered: Vec<CallReport<T>>,
    stopped: Option<RunFailure>,
    /// It stopped before its first call.
    at_load: bool,
    ended: EndedProcess,
}

/// Reads what the call with this index returned, as tagged JSON. It runs when the answer arrives,
/// and only what it returns is kept: a candidate can't fill the harness's memory with its answers.
pub(super) type ReadAnswer<'r, T> = dyn Fn(usize, Value) -> T + 'r;

/// Starts a process that has loaded the candidate's program, and gives our end of the channel on
/// which it takes calls.
pub(super) type StartProcess<'s> = dyn for<'c> Fn(
        &'c mut SandboxWorker,
        BorrowedFd<'c>,
    ) -> Result<(RunningJob<'c>, OwnedFd), SandboxError>
    + 's;

/// Calls functions of a Python program.
pub(super) fn call_python<T>(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    python: &PythonRuntime,
    job: &FunctionJob,
    read: &ReadAnswer<'_, T>,
) -> Result<FunctionReport<T>, SandboxError> {
    let start: &StartProcess<'_> = &|worker, cancel| {
        worker.start(python, cancel, &job.limits, || {
            let (ours, theirs) = stream_pair()?;
            let request = CandidateSetup {
                code: &job.code,
                imports: [],
                site: python.site(),
                most: job.limits.return_bytes,
                most_weight: most_weight(&job.limits),
                brief: job.brief,
            };
            Ok((
                vec![PythonJob::new(
                    RunnerKind::Candidate,
                    &request,
                    vec![theirs],
                )?],
                ours,
            ))
        })
    };
    call_functions(worker, cancel, start, job, read)
}

pub(super) fn call_functions<T>(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    start: &StartProcess<'_>,
    job: &FunctionJob,
    read: &ReadAnswer<'_, T>,
) -> Result<FunctionReport<T>, SandboxError> {
    let began = Instant::now();
    let last = began + bounded(job.limits.wall) * MOST_WALLS;
    let mut budget = AnswerBudget::of(&job.limits);
    if let Some(enough) = &job.enough {
        enough.store(false, Ordering::Relaxed);
    }
    let mut report = FunctionReport {
        load_failure: None,
        calls: Vec::new(),
        streams: ProgramStreams::default(),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        processes: 0,
        adjudicated: false,
    };
    while report.processes == 0 || report.calls.len() < job.calls.len() {
        if report.processes >= MOST_PROCESSES
            || (report.processes > 0 && Instant::now() >= last + budget.judging)
        {
            break;
        }
        let round = run_round(
            (worker, cancel),
            start,
            job,
            read,
            report.calls.len(),
            &mut budget,
        )?;
        report.cpu += round.ended.cpu;
        let peak = report.streams.peak_kib.max(round.ended.streams.peak_kib);
        if report.processes == 0 {
            report.streams = round.ended.streams;
        }
        report.streams.peak_kib = peak;
        report.processes += 1;
        report.calls.extend(round.answered);
        match round.stopped {
            // Nothing that a tampered channel said is believed, not even what it said before.
            Some(failure @ RunFailure::Forged { .. }) => {
                report.calls = job
                    .calls
                    .iter()
                    .map(|_| failed(&failure, Duration::ZERO))
                    .collect();
            }
            // The first process did not load; a later one would not either, so no call is answered
            // any more.
            Some(failure) if round.at_load => {
                report
                    .calls
                    .resize_with(job.calls.len(), || failed(&failure, Duration::ZERO));
                if report.processes == 1 {
                    report.load_failure = Some(failure);
                }
                break;
            }
            _ => {}
        }
        if report.calls.last().is_some_and(|last| is_enough(job, last)) {
            break;
        }
    }
    let not_run = || CallReport {
        outcome: CallOutcome::NotRun,
        wall: Duration::ZERO,
    };
    report.calls.resize_with(job.calls.len(), not_run);
    report.wall = began.elapsed();
    Ok(report)
}

/// Whether no call is made after this one.
fn is_enough<T>(job: &FunctionJob, last: &CallReport<T>) -> bool {
    let value = matches!(last.outcome, CallOutcome::Value(_));
    job.enough
        .as_ref()
        .is_some_and(|enough| !value || enough.load(Ordering::Relaxed))
}

fn failed<T>(failure: &RunFailure, wall: Duration) -> CallReport<T> {
    CallReport {
        outcome: CallOutcome::Failed(failure.clone()),
        wall,
    }
}

/// One process, from the call `first` on until it is stuck or ends.
fn run_round<T>(
    (worker, cancel): (&mut SandboxWorker, BorrowedFd<'_>),
    start: &StartProcess<'_>,
    job: &FunctionJob,
    read: &ReadAnswer<'_, T>,
    first: usize,
    budget: &mut AnswerBudget,
) -> Result<CallRound<T>, SandboxError> {
    let (running, ours) = start(worker, cancel)?;
    let mut talk = Conversation::new(running, ours, &job.limits, budget)?;
    let mut answered = Vec::new();
    // The first question waits for the program, so that it need not wait for the question.
    send_question(&mut talk, job, first)?;
    if let Err(stop) = talk.greeting() {
        let (failure, ended) = talk.stop(stop)?;
        return Ok(CallRound {
            answered,
            stopped: Some(failure),
            at_load: true,
            ended,
        });
    }
    for (i, call) in job.calls.iter().enumerate().skip(first) {
        if i > first {
            send_question(&mut talk, job, i)?;
        }
        let since = Instant::now();
        let limit = job.each_call.get(i).copied().or(job.per_call);
        let until = limit.map_or(talk.deadline, |t| talk.deadline.min(since + bounded(t)));
        let stop = match talk.answer(i as u64, until) {
            Ok((answer, _)) => {
                let wall = since.elapsed();
                let outcome = outcome(answer, call, |value| read(i, value));
                let report = CallReport { outcome, wall };
                let enough = is_enough(job, &report);
                answered.push(report);
                if enough {
                    break;
                }
                continue;
            }
            Err(stop) => stop,
        };
        let waited = since.elapsed();
        let (failure, ended) = talk.stop(stop)?;
        // The time of the process is up, used by the calls before: this one gets a new process.
        let unlucky =
            failure == TIMED_OUT && !answered.is_empty() && limit.is_some_and(|t| waited < t);
        if unlucky {
            return Ok(CallRound {
                answered,
                stopped: None,
                at_load: false,
                ended,
            });
        }
        answered.push(failed(&failure, waited));
        return Ok(CallRound {
            answered,
            stopped: Some(failure),
            at_load: false,
            ended,
        });
    }
    let (ended, failure) = talk.part()?;
    let stopped = failure.filter(|failure| matches!(failure, RunFailure::Forged { .. }));
    Ok(CallRound {
        answered,
        stopped,
        at_load: false,
        ended,
    })
}

const TIMED_OUT: RunFailure = RunFailure::Ended(ProgramEnding::TimedOut);

fn send_question(
    talk: &mut Conversation<'_>,
    job: &FunctionJob,
    i: usize,
) -> Result<(), SandboxError> {
    let Some(call) = job.calls.get(i) else {
        return Ok(());
    };
    let question = CandidateCall {
        i,
        f: &job.entry_point,
        a: &call.args,
        k: &call.kwargs,
    };
    let line = talk.question();
    serde_json::to_writer(&mut *line, &question)?;
    line.push(b'\n');
    Ok(())
}

/// What a candidate's process is about.
#[derive(Serialize)]
struct CandidateSetup<'a> {
    code: &'a str,
    imports: [&'a str; 0],
    site: &'a [String],
    /// Bytes of an answer's text, and of its values in memory.
    most: u64,
    most_weight: usize,
    brief: Option<BriefValues>,
}

/// A call as the candidate's process reads it.
#[derive(Serialize)]
struct CandidateCall<'a> {
    i: usize,
    f: &'a str,
    a: &'a [Value],
    #[serde(serialize_with = "as_map")]
    k: &'a [(String, Value)],
}

fn as_map<S: Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// What an answer says; `read` takes the value.
pub(super) fn outcome<T>(
    answer: Map<String, Value>,
    call: &FunctionCall,
    read: impl FnOnce(Value) -> T,
) -> CallOutcome<T> {
    match CallAnswer::read(answer, |k| call.args.get(k).cloned()) {
        CallAnswer::Value { value, .. } => CallOutcome::Value(read(value)),
        CallAnswer::Raised(error) => {
            let raised = raised(Some(&error));
            match disguised(&raised, Some(&error)) {
                Some(failure) => CallOutcome::Failed(failure),
                None => CallOutcome::Raised(raised),
            }
        }
        CallAnswer::TooLarge => CallOutcome::Failed(RunFailure::ReturnLimit),
        CallAnswer::Malformed => CallOutcome::Failed(forged("an answer without a value")),
    }
}
