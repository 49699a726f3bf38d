//! Calls of functions: arguments go in one by one, values come out, and our clock times each call.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::capture::Lines;
use super::channel::{Outbox, stream_pair};
use super::ending::Ended;
use super::error::SandboxError;
use super::messages::{disguised, forged, load_failure, number, object, raised, silent_end, text};
use super::pool::Worker;
use super::programs::only;
use super::python::{Python, PythonJob, Runner};
use super::running::{Heard, Running, bounded};
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

/// Starts a process that has loaded the candidate's program, and gives our end of the channel on which it takes calls.
pub(super) type Start<'s> =
    dyn for<'c> Fn(&'c mut Worker, BorrowedFd<'c>) -> Result<(Running<'c>, OwnedFd), SandboxError> + 's;

/// Calls functions of a Python program.
pub(super) fn call_python(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &FunctionJob,
) -> Result<FunctionReport, SandboxError> {
    let start: &Start<'_> = &|worker, cancel| {
        worker.start(python, cancel, &job.limits, || {
            let (ours, theirs) = stream_pair().map_err(SandboxError::lost)?;
            let request = Candidate { code: &job.code, imports: [], site: python.site() };
            Ok((vec![PythonJob::new(Runner::Candidate, &request, vec![theirs])?], ours))
        })
    };
    call_functions(worker, cancel, start, job)
}

pub(super) fn call_functions(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    start: &Start<'_>,
    job: &FunctionJob,
) -> Result<FunctionReport, SandboxError> {
    let began = Instant::now();
    let last = began + bounded(job.limits.wall) * MOST_WALLS;
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
        let round = run_round(worker, cancel, start, job, report.calls.len())?;
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
    report.wall = began.elapsed();
    Ok(report)
}

fn failed(failure: &RunFailure, wall: Duration) -> CallReport {
    CallReport { outcome: CallOutcome::Failed(failure.clone()), wall }
}

/// One process, from the call `first` on until it is stuck or ends.
fn run_round(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    start: &Start<'_>,
    job: &FunctionJob,
    first: usize,
) -> Result<Round, SandboxError> {
    let (running, ours) = start(worker, cancel)?;
    let lines = Lines::new(ours).map_err(SandboxError::lost)?;
    let deadline = running.started + bounded(job.limits.wall);
    let questions = Questions::new(job, first);
    let talk = Talk { running, lines, outbox: Outbox::default(), questions, deadline };
    talk.through(job, first)
}

/// What a candidate's process is about.
#[derive(Serialize)]
struct Candidate<'a> {
    code: &'a str,
    imports: [&'a str; 0],
    site: &'a [String],
}

/// A call as the candidate's process reads it.
#[derive(Serialize)]
struct Question<'a> {
    i: usize,
    f: &'a str,
    a: &'a [Value],
    #[serde(serialize_with = "as_map")]
    k: &'a [(String, Value)],
}

fn as_map<S: Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Calls are asked for ahead of the answers, up to this many and about this many bytes: a call then costs no waiting for us.
const AHEAD_CALLS: usize = 64;
const AHEAD_BYTES: usize = 64 << 10;

/// The calls still to be asked for, and how far ahead of the answers we are.
struct Questions<'j> {
    job: &'j FunctionJob,
    next: usize,
    /// Lengths of those asked for and not answered.
    open: VecDeque<usize>,
    open_bytes: usize,
    /// That no other follows was told.
    ended: bool,
}

impl<'j> Questions<'j> {
    fn new(job: &'j FunctionJob, first: usize) -> Self {
        Questions { job, next: first, open: VecDeque::new(), open_bytes: 0, ended: false }
    }

    fn answered(&mut self) {
        self.open_bytes -= self.open.pop_front().unwrap_or(0);
    }

    /// Asks ahead once less than half of what may be open is. The last question tells that no other follows.
    fn ask(&mut self, outbox: &mut Outbox) -> Result<(), SandboxError> {
        let most = if self.job.one_by_one { 1 } else { AHEAD_CALLS };
        if self.open.len() > most / 2 || self.open_bytes > AHEAD_BYTES / 2 {
            return Ok(());
        }
        while let Some(call) = self.job.calls.get(self.next) {
            if self.open.len() >= most || self.open_bytes >= AHEAD_BYTES {
                return Ok(());
            }
            let question =
                Question { i: self.next, f: &self.job.entry_point, a: &call.args, k: &call.kwargs };
            let before = outbox.bytes.len();
            serde_json::to_writer(&mut outbox.bytes, &question).map_err(SandboxError::lost)?;
            outbox.bytes.push(b'\n');
            let length = outbox.bytes.len() - before;
            self.open.push_back(length);
            self.open_bytes += length;
            self.next += 1;
        }
        outbox.then_close = !std::mem::replace(&mut self.ended, true);
        Ok(())
    }
}

/// A conversation with a candidate.
struct Talk<'c, 'j> {
    running: Running<'c>,
    lines: Lines,
    outbox: Outbox,
    questions: Questions<'j>,
    deadline: Instant,
}

impl Talk<'_, '_> {
    fn hear(&mut self, until: Instant) -> Result<Heard, SandboxError> {
        self.running.converse(&mut self.lines, &mut self.outbox, until)
    }

    fn through(mut self, job: &FunctionJob, first: usize) -> Result<Round, SandboxError> {
        let mut answered = Vec::new();
        self.questions.ask(&mut self.outbox)?;
        let greeting = match self.hear(self.deadline)? {
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
        // A call runs from the answer before it.
        let mut since = Instant::now();
        for (i, call) in job.calls.iter().enumerate().skip(first) {
            self.questions.ask(&mut self.outbox)?;
            let until = job.per_call.map_or(self.deadline, |t| self.deadline.min(since + bounded(t)));
            let line = match self.hear(until)? {
                Heard::Line(line) => line,
                other => {
                    let mut round = self.stop(other, answered, Some(since))?;
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
            self.questions.answered();
            answered.push(CallReport { outcome: outcome(map, call), wall: since.elapsed() });
            since = Instant::now();
        }
        // No more questions: what comes now was not asked for.
        if let Heard::Line(_) | Heard::TooLong = self.hear(Instant::now() + GRACE)? {
            return self.tampered("an answer that was not asked for");
        }
        let ended = only(self.let_end()?)?;
        Ok(Round { answered, stopped: None, at_load: false, ended })
    }

    /// The candidate has nothing more to say: gives it a moment to end by itself, so that its last output is kept.
    fn let_end(mut self) -> Result<Vec<Ended>, SandboxError> {
        self.lines.close();
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
