//! Calls of functions: arguments go in one by one, values come out, and our clock times each call.

use std::net::Shutdown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::capture::Lines;
use super::channel::{set_nonblocking, stream_pair};
use super::error::SandboxError;
use super::messages::{disguised, forged, load_failure, number, object, raised, silent_end, text};
use super::pool::Worker;
use super::programs::only;
use super::python::{Python, PythonJob, Runner};
use super::running::{Ended, Heard, Running, bounded};
use super::types::*;

/// How many processes one job may use up with calls that end them.
const MOST_PROCESSES: u32 = 8;
/// All processes of a job together get this many times the wall time of one.
const MOST_WALLS: u32 = 3;
/// How long a program that has answered everything may take to end.
const GRACE: Duration = Duration::from_millis(500);

/// The calls that one process has answered, and why it stopped.
struct Round {
    answered: Vec<CallReport>,
    stopped: Option<RunFailure>,
    /// It stopped before its first call.
    at_load: bool,
    ended: Ended,
}

pub(super) fn call_functions(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &FunctionJob,
) -> Result<FunctionReport, SandboxError> {
    let start = Instant::now();
    let last = start + bounded(job.limits.wall) * MOST_WALLS;
    let mut report = FunctionReport {
        load_failure: None,
        calls: Vec::new(),
        streams: Streams::default(),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        processes: 0,
        adjudicated: false,
    };
    while report.processes == 0 || report.calls.len() < job.calls.len() {
        if report.processes >= MOST_PROCESSES || (report.processes > 0 && Instant::now() >= last) {
            break;
        }
        let round = run_round(worker, cancel, python, job, report.calls.len())?;
        report.cpu += round.ended.cpu;
        if report.processes == 0 {
            report.streams = round.ended.streams;
        }
        report.processes += 1;
        report.calls.extend(round.answered);
        match round.stopped {
            // Nothing that a tampered channel said is believed, not even what it said before.
            Some(failure @ RunFailure::Forged { .. }) => {
                report.calls = job.calls.iter().map(|_| failed(&failure, Duration::ZERO)).collect();
            }
            // The first process did not load; a later one would not either, so no call is answered any more.
            Some(failure) if round.at_load => {
                report.calls.resize(job.calls.len(), failed(&failure, Duration::ZERO));
                if report.processes == 1 {
                    report.load_failure = Some(failure);
                }
                break;
            }
            _ => {}
        }
    }
    let not_run = CallReport { outcome: CallOutcome::NotRun, wall: Duration::ZERO };
    report.calls.resize(job.calls.len(), not_run);
    report.wall = start.elapsed();
    Ok(report)
}

fn failed(failure: &RunFailure, wall: Duration) -> CallReport {
    CallReport { outcome: CallOutcome::Failed(failure.clone()), wall }
}

/// One process, from the call `first` on until it is stuck or ends.
fn run_round(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &FunctionJob,
    first: usize,
) -> Result<Round, SandboxError> {
    let (running, ours) = worker.start(python, cancel, &job.limits, || {
        let (ours, theirs) = stream_pair().map_err(SandboxError::lost)?;
        let request = json!({"code": job.code, "imports": [], "site": python.site()});
        Ok((vec![PythonJob::new(Runner::Candidate, &request, vec![theirs])?], ours))
    })?;
    let voice = ours.try_clone().map_err(SandboxError::lost)?;
    set_nonblocking(std::os::fd::AsFd::as_fd(&voice)).map_err(SandboxError::lost)?;
    let lines = Lines::new(ours).map_err(SandboxError::lost)?;
    let deadline = running.started + bounded(job.limits.wall);
    let talk = Talk { running, lines, voice, deadline };
    talk.through(job, first)
}

/// A conversation with a candidate.
struct Talk<'c> {
    running: Running<'c>,
    lines: Lines,
    voice: OwnedFd,
    deadline: Instant,
}

impl Talk<'_> {
    fn through(mut self, job: &FunctionJob, first: usize) -> Result<Round, SandboxError> {
        let mut answered = Vec::new();
        let greeting = match self.running.hear(&mut self.lines, self.deadline)? {
            Heard::Line(line) => line,
            other => return self.stop(other, answered, None),
        };
        match object(&greeting) {
            Some(map) if map.get("ready") == Some(&Value::Bool(true)) => {}
            Some(map) if map.contains_key("load") => {
                let error = map.get("e");
                let line = error.and_then(|e| e.get("line")).and_then(Value::as_u64);
                let failure = load_failure(&text(&map, "load"), error, line);
                let ended = only(self.let_end()?)?;
                return Ok(Round { answered, stopped: Some(failure), at_load: true, ended });
            }
            _ => return self.tampered("a false greeting"),
        }
        for (i, call) in job.calls.iter().enumerate().skip(first) {
            let asked = Instant::now();
            let until = job.per_call.map_or(self.deadline, |t| self.deadline.min(asked + bounded(t)));
            let mut request =
                serde_json::to_vec(&request(i, &job.entry_point, call)).map_err(SandboxError::lost)?;
            request.push(b'\n');
            // A candidate that is gone is heard of below.
            self.running.say(&self.voice, &request, until)?;
            let line = match self.running.hear(&mut self.lines, until)? {
                Heard::Line(line) => line,
                other => {
                    let mut round = self.stop(other, answered, Some(asked))?;
                    // The time of the process is up, used by the calls before: this one gets a process of its own.
                    if job.per_call.is_some_and(|t| used_up_by_others(&round.answered, t)) {
                        round.answered.pop();
                        round.stopped = None;
                    }
                    return Ok(round);
                }
            };
            let Some(map) = object(&line).filter(|map| number(map, "i") == Some(i as u64)) else {
                return self.tampered("an answer that was not asked for");
            };
            answered.push(CallReport { outcome: outcome(map, call), wall: asked.elapsed() });
        }
        // No more questions: what comes now was not asked for.
        let _ =
            UnixStream::from(self.voice.try_clone().map_err(SandboxError::lost)?).shutdown(Shutdown::Write);
        if let Heard::Line(_) | Heard::TooLong = self.running.hear(&mut self.lines, Instant::now() + GRACE)? {
            return self.tampered("an answer that was not asked for");
        }
        let ended = only(self.let_end()?)?;
        Ok(Round { answered, stopped: None, at_load: false, ended })
    }

    /// The candidate has nothing more to say: gives it a moment to end by itself, so that its last output is kept.
    fn let_end(mut self) -> Result<Vec<Ended>, SandboxError> {
        self.lines.close();
        drop(self.voice);
        self.running.let_end(GRACE)?;
        self.running.end()
    }

    fn tampered(self, evidence: &str) -> Result<Round, SandboxError> {
        let ended = only(self.running.end()?)?;
        Ok(Round { answered: Vec::new(), stopped: Some(forged(evidence)), at_load: false, ended })
    }

    /// Instead of an answer something else came. `asked`: a call was waiting since then, and it is what failed.
    fn stop(
        self,
        heard: Heard,
        mut answered: Vec<CallReport>,
        asked: Option<Instant>,
    ) -> Result<Round, SandboxError> {
        let waited = asked.map_or(Duration::ZERO, |t| t.elapsed());
        let (failure, ended) = match heard {
            Heard::TooLong => return self.tampered("an answer without end"),
            Heard::Late => {
                let ended = only(self.running.end_late()?)?;
                (RunFailure::Ended(Ending::TimedOut), ended)
            }
            Heard::Stopped => {
                let ended = only(self.running.finish()?)?;
                (silent_end(&ended)?, ended)
            }
            Heard::End(_) | Heard::Line(_) => {
                let ended = only(self.let_end()?)?;
                (silent_end(&ended)?, ended)
            }
        };
        let at_load = asked.is_none();
        if !at_load {
            answered.push(failed(&failure, waited));
        }
        Ok(Round { answered, stopped: Some(failure), at_load, ended })
    }
}

/// Whether the last of the calls was ended although it had time left, and was not the first of its process.
fn used_up_by_others(answered: &[CallReport], per_call: Duration) -> bool {
    let timed_out = CallOutcome::Failed(RunFailure::Ended(Ending::TimedOut));
    answered.len() > 1
        && answered.last().is_some_and(|last| last.outcome == timed_out && last.wall < per_call)
}

fn request(i: usize, entry_point: &str, call: &Call) -> Value {
    let kwargs: Map<String, Value> = call.kwargs.iter().cloned().collect();
    json!({"i": i, "f": entry_point, "a": call.args, "k": kwargs})
}

pub(super) fn outcome(mut answer: Map<String, Value>, call: &Call) -> CallOutcome {
    if answer.contains_key("large") {
        return CallOutcome::Failed(RunFailure::Ended(Ending::OutputLimit));
    }
    if let Some(error) = answer.get("e") {
        let raised = raised(Some(error));
        return match disguised(&raised, Some(error)) {
            Some(failure) => CallOutcome::Failed(failure),
            None => CallOutcome::Raised(raised),
        };
    }
    if let Some(value) = answer.remove("v") {
        return CallOutcome::Value(value);
    }
    // It returned one of its arguments: as the call left it.
    let same = number(&answer, "same").and_then(|k| {
        let changed = answer.get("a").and_then(|a| a.get(k.to_string()));
        changed.or_else(|| call.args.get(usize::try_from(k).ok()?)).cloned()
    });
    same.map_or_else(|| CallOutcome::Failed(forged("an answer without a value")), CallOutcome::Value)
}
