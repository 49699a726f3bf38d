//! Tests that were compiled into calls and comparisons: the candidate answers, the harness compares.
//!
//! No interpreter runs the tests, so that there is no verdict to forge: what is expected never leaves this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::expression::{Answers, Expression};
use super::{BROKEN_PROTOCOL, GRACE, Place, candidate_request, raised_verdict};
use crate::matching::python::Object;
use crate::sandbox::capture::Lines;
use crate::sandbox::channel::{Outbox, stream_pair};
use crate::sandbox::ending::Ended;
use crate::sandbox::error::SandboxError;
use crate::sandbox::foretold::foretold;
use crate::sandbox::messages::{forged, load_failure, number, object, silent_end, text};
use crate::sandbox::programs::only;
use crate::sandbox::python::{PythonJob, Runner};
use crate::sandbox::running::{Heard, Running, bounded};
use crate::sandbox::types::*;

/// Questions that wait for an answer together take at most this much, so that they fit into the socket's buffer and
/// neither side ever waits for the other to read.
const UNANSWERED_BYTES: usize = 48 << 10;
/// How long a program that failed may go on, so that what it printed is kept.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Compiled tests.
#[derive(Debug)]
pub(in crate::sandbox) struct Compiled {
    requests: Vec<Request>,
    steps: Vec<Step>,
    /// Takes leave of the candidate.
    farewell: Vec<u8>,
    /// A request would tell what an earlier one should be answered with.
    one_by_one: bool,
}

#[derive(Debug)]
struct Request {
    /// A line of JSON, as a judge would write it.
    line: Vec<u8>,
    /// It hands over an object that the tests hold on to, so that a change of it would show later.
    shared: bool,
}

#[derive(Debug)]
struct Step {
    /// Which of the tests, the line in it and its text.
    index: usize,
    line: u64,
    source: String,
    /// `None`: only an interpreter can tell what is said when it fails, and of which line.
    message: Option<String>,
    test: Expression,
    /// Otherwise only a call is made.
    asserts: bool,
}

impl Compiled {
    /// Reads what `plan.py` wrote; `None` when it isn't that.
    pub fn read(value: &Value) -> Option<Compiled> {
        let requests = value.get("requests")?.as_array()?;
        let steps = value.get("steps")?.as_array()?;
        let farewell = json!({"i": requests.len() + 1, "leave": true});
        let requests: Vec<Request> = requests.iter().map(Request::read).collect::<Option<_>>()?;
        Some(Compiled {
            one_by_one: foretold_by(&requests, steps)?,
            requests,
            steps: steps.iter().map(Step::read).collect::<Option<_>>()?,
            farewell: format!("{farewell}\n").into_bytes(),
        })
    }
}

/// Whether a request tells what an earlier one should be answered with.
fn foretold_by(requests: &[Request], steps: &[Value]) -> Option<bool> {
    let arguments: Vec<Map<String, Value>> =
        requests.iter().map(|request| object(&request.line)).collect::<Option<_>>()?;
    let mut expected: Vec<Vec<&Value>> = vec![Vec::new(); requests.len()];
    for step in steps {
        let (mut first, mut constants) = (usize::MAX, Vec::new());
        operands(step.get("test")?, &mut first, &mut constants);
        if let Some(expected) = expected.get_mut(first) {
            expected.append(&mut constants);
        }
    }
    let arguments = arguments.iter().map(|map| ["a", "k"].into_iter().filter_map(|part| map.get(part)));
    Some(foretold(expected.into_iter().zip(arguments)))
}

/// The constants of an expression, and the first of its calls.
fn operands<'e>(expression: &'e Value, first: &mut usize, constants: &mut Vec<&'e Value>) {
    let parts = expression.as_array().map(Vec::as_slice).unwrap_or_default();
    match parts {
        [Value::String(kind), value] if kind == "const" => constants.push(value),
        [Value::String(kind), Value::Number(call)] if kind == "call" => {
            *first = (*first).min(call.as_u64().map_or(usize::MAX, |call| call as usize));
        }
        _ => parts.iter().for_each(|part| operands(part, first, constants)),
    }
}

impl Request {
    fn read(value: &Value) -> Option<Request> {
        let line = format!("{}\n", value.get("line")?.as_str()?).into_bytes();
        Some(Request { line, shared: value.get("shared")?.as_bool()? })
    }

    /// An argument as it was handed over.
    fn argument(&self, k: u64) -> Option<Value> {
        let args = object(&self.line)?.remove("a")?;
        args.get(usize::try_from(k).ok()?).cloned()
    }
}

impl Step {
    fn read(value: &Value) -> Option<Step> {
        Some(Step {
            index: usize::try_from(value.get("index")?.as_u64()?).ok()?,
            line: value.get("line")?.as_u64()?,
            source: value.get("source")?.as_str()?.to_owned(),
            message: value.get("message").and_then(Value::as_str).map(str::to_owned),
            test: Expression::read(value.get("test")?)?,
            asserts: value.get("asserts")?.as_bool()?,
        })
    }
}

/// What became of compiled tests.
pub(super) enum Outcome {
    Decided(TestReport),
    /// An assert does not hold. What a judge would say of it takes a judge; that it fails is decided.
    Failed(TestReport),
    /// A judge has to decide.
    Undecided,
}

/// Why the tests do not go on.
enum Stop {
    Verdict(TestVerdict),
    /// A verdict without the words of a judge.
    Wordless(TestVerdict),
    /// Only an interpreter can tell.
    Undecided,
    /// Something else than an answer came.
    Silence(Heard),
    Lost(SandboxError),
}

pub(super) fn run(place: Place<'_>, job: &TestJob, compiled: &Compiled) -> Result<Outcome, SandboxError> {
    let Place { worker, cancel, python } = place;
    let (running, ours) = worker.start(python, cancel, &job.limits, || {
        let (ours, theirs) = stream_pair().map_err(SandboxError::lost)?;
        Ok((vec![PythonJob::new(Runner::Candidate, &candidate_request(job, python), vec![theirs])?], ours))
    })?;
    let lines = Lines::new(ours).map_err(SandboxError::lost)?;
    let deadline = running.started + bounded(job.limits.wall);
    let mut talk = Talk {
        running,
        lines,
        outbox: Outbox::default(),
        deadline,
        compiled,
        sent: 0,
        unanswered: 0,
        answers: Vec::new(),
    };
    // What it is asked first lies ready when it has loaded.
    talk.ask();
    let stop = talk.through().err();
    talk.conclude(stop)
}

/// A conversation with a candidate.
struct Talk<'c> {
    running: Running<'c>,
    lines: Lines,
    outbox: Outbox,
    deadline: Instant,
    compiled: &'c Compiled,
    /// How many of the requests were sent; one more for the farewell.
    sent: usize,
    /// Bytes of what was sent and not answered.
    unanswered: usize,
    answers: Vec<Arc<Object>>,
}

impl Answers for Talk<'_> {
    type Error = Stop;

    fn answer(&mut self, call: usize) -> Result<Arc<Object>, Stop> {
        while self.answers.len() <= call {
            let answer = self.next()?;
            self.answers.push(answer);
        }
        self.answers.get(call).cloned().ok_or(Stop::Undecided)
    }

    fn undecided(&self, operands: &[&Object]) -> Stop {
        // A judge ends a test that uses such a value.
        let opaque = operands.iter().find_map(|object| match object {
            Object::Opaque { type_name, .. } => Some(type_name.clone()),
            _ => None,
        });
        opaque.map_or(Stop::Undecided, |type_name| Stop::Verdict(TestVerdict::Opaque { type_name }))
    }
}

impl Talk<'_> {
    /// `Ok`: every assert holds and the candidate took its leave.
    fn through(&mut self) -> Result<(), Stop> {
        self.greet()?;
        let compiled = self.compiled;
        for step in &compiled.steps {
            if !step.asserts {
                step.test.value(self)?;
            } else if !step.test.truth(self)? {
                let verdict = TestVerdict::AssertionFailed {
                    index: step.index,
                    line: step.line,
                    source: step.source.clone(),
                    message: step.message.clone().unwrap_or_default(),
                };
                let known = step.message.is_some();
                return Err(if known { Stop::Verdict(verdict) } else { Stop::Wordless(verdict) });
            }
        }
        if self.answers.len() != compiled.requests.len() {
            return Err(Stop::Undecided);
        }
        self.part()
    }

    fn greet(&mut self) -> Result<(), Stop> {
        let greeting = self.hear()?;
        match object(&greeting) {
            Some(map) if map.get("ready") == Some(&Value::Bool(true)) => Ok(()),
            Some(map) if map.contains_key("load") => {
                let error = map.get("e");
                let line = error.and_then(|e| e.get("line")).and_then(Value::as_u64);
                let failure = load_failure(&text(&map, "load"), error, line);
                Err(Stop::Verdict(TestVerdict::Failed(failure)))
            }
            _ => Err(broken_protocol()),
        }
    }

    /// Takes up what there is room for, the farewell last.
    fn ask(&mut self) {
        while self.sent <= self.compiled.requests.len() {
            let line = self.compiled.requests.get(self.sent).map_or(&self.compiled.farewell, |r| &r.line);
            let most = if self.compiled.one_by_one { 0 } else { UNANSWERED_BYTES };
            if self.unanswered > 0 && self.unanswered + line.len() > most {
                break;
            }
            self.outbox.bytes.extend_from_slice(line);
            self.unanswered += line.len();
            self.sent += 1;
        }
    }

    fn hear(&mut self) -> Result<Vec<u8>, Stop> {
        let heard = self.running.converse(&mut self.lines, &mut self.outbox, self.deadline);
        match heard.map_err(Stop::Lost)? {
            Heard::Line(line) => Ok(line),
            other => Err(Stop::Silence(other)),
        }
    }

    fn next(&mut self) -> Result<Arc<Object>, Stop> {
        self.ask();
        let request = self.compiled.requests.get(self.answers.len()).ok_or(Stop::Undecided)?;
        let line = self.hear()?;
        self.unanswered = self.unanswered.saturating_sub(request.line.len());
        let answer = object(&line).filter(|map| number(map, "i") == Some(self.answers.len() as u64 + 1));
        read_answer(&answer.ok_or_else(broken_protocol)?, request)
    }

    /// Takes leave: whatever comes before the answer to that was not asked for.
    fn part(&mut self) -> Result<(), Stop> {
        self.ask();
        match self.hear() {
            Ok(line) => {
                let map = object(&line).ok_or_else(broken_protocol)?;
                let last = number(&map, "i") == Some(self.compiled.requests.len() as u64 + 1);
                let left = map.len() == 2 && map.get("left") == Some(&Value::Bool(true));
                if last && left { Ok(()) } else { Err(broken_protocol()) }
            }
            // It ended after its last answer, which is no matter any more.
            Err(Stop::Silence(Heard::End(false))) => Ok(()),
            Err(Stop::Silence(Heard::End(true))) => Err(broken_protocol()),
            Err(stop) => Err(stop),
        }
    }

    fn conclude(mut self, stop: Option<Stop>) -> Result<Outcome, SandboxError> {
        let calls = self.answers.len() as u64;
        let started = self.running.started;
        let report = |verdict, ended: Ended| TestReport {
            verdict,
            mode: TestMode::Compared,
            mode_reason: String::new(),
            adjudicated: false,
            calls,
            streams: ended.streams,
            wall: started.elapsed(),
            cpu: ended.cpu,
        };
        Ok(match stop {
            None => {
                let ended = self.let_end()?;
                Outcome::Decided(report(TestVerdict::Passed, ended))
            }
            Some(Stop::Verdict(verdict)) => {
                let over = self.hear_last_words()?;
                let ended = if over { self.let_end()? } else { only(self.running.end()?)? };
                Outcome::Decided(report(verdict, ended))
            }
            Some(Stop::Wordless(verdict)) => Outcome::Failed(report(verdict, only(self.running.end()?)?)),
            Some(Stop::Undecided) => {
                self.running.end()?;
                Outcome::Undecided
            }
            Some(Stop::Lost(error)) => return Err(error),
            Some(Stop::Silence(heard)) => {
                let (failure, ended) = self.silence(heard)?;
                Outcome::Decided(report(TestVerdict::Failed(failure), ended))
            }
        })
    }

    fn silence(self, heard: Heard) -> Result<(RunFailure, Ended), SandboxError> {
        Ok(match heard {
            Heard::TooLong => (forged(BROKEN_PROTOCOL), only(self.running.end()?)?),
            Heard::Late => (RunFailure::Ended(Ending::TimedOut), only(self.running.end_late()?)?),
            Heard::Stopped => {
                let ended = only(self.running.finish()?)?;
                (silent_end(&ended)?, ended)
            }
            Heard::End(_) | Heard::Line(_) => {
                let ended = self.let_end()?;
                (silent_end(&ended)?, ended)
            }
        })
    }

    /// The verdict stands. The program may answer what it was asked already and end, so that what it printed is kept.
    /// False: it goes on and on.
    fn hear_last_words(&mut self) -> Result<bool, SandboxError> {
        self.outbox.then_close = true;
        let until = Instant::now() + LAST_WORDS;
        loop {
            match self.running.converse(&mut self.lines, &mut self.outbox, until)? {
                Heard::Line(_) => {}
                other => return Ok(matches!(other, Heard::End(_))),
            }
        }
    }

    /// The candidate has nothing more to say: gives it a moment to end by itself.
    fn let_end(mut self) -> Result<Ended, SandboxError> {
        self.lines.close();
        self.running.let_end(GRACE)?;
        only(self.running.end()?)
    }
}

fn broken_protocol() -> Stop {
    Stop::Verdict(TestVerdict::Failed(forged(BROKEN_PROTOCOL)))
}

/// What a candidate answered to a request.
fn read_answer(answer: &Map<String, Value>, request: &Request) -> Result<Arc<Object>, Stop> {
    if let Some(error) = answer.get("e") {
        return Err(Stop::Verdict(raised_verdict(Some(error))));
    }
    if answer.contains_key("large") {
        return Err(Stop::Verdict(TestVerdict::Failed(RunFailure::Ended(Ending::OutputLimit))));
    }
    let changed = answer.get("a");
    if request.shared && changed.is_some() {
        return Err(Stop::Undecided);
    }
    let value = match answer.get("same") {
        None => answer.get("v").cloned(),
        // It returned one of its arguments: as the call left it.
        Some(k) => k.as_u64().and_then(|k| {
            changed.and_then(|a| a.get(k.to_string())).cloned().or_else(|| request.argument(k))
        }),
    };
    let value = value.ok_or_else(broken_protocol)?;
    Object::from_tagged(&value).map(Arc::new).ok_or(Stop::Undecided)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(shared: bool) -> Request {
        Request { line: b"{\"i\": 1, \"f\": \"f\", \"a\": [[3, 1]], \"k\": {}}\n".to_vec(), shared }
    }

    fn answered(answer: Value, shared: bool) -> Result<String, String> {
        let Value::Object(map) = answer else { return Err("no object".to_owned()) };
        match read_answer(&map, &request(shared)) {
            Ok(object) => Ok(format!("{object:?}")),
            Err(Stop::Undecided) => Err("undecided".to_owned()),
            Err(Stop::Verdict(verdict) | Stop::Wordless(verdict)) => Err(format!("{verdict:?}")),
            Err(Stop::Silence(heard)) => Err(format!("{heard:?}")),
            Err(Stop::Lost(error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_answer_may_be_one_of_the_arguments_as_the_call_left_it() {
        assert_eq!(answered(json!({"i": 1, "same": 0}), false).unwrap(), "List([Int(3), Int(1)])");
        let sorted = json!({"i": 1, "same": 0, "a": {"0": [1, 3]}});
        assert_eq!(answered(sorted.clone(), false).unwrap(), "List([Int(1), Int(3)])");
        assert_eq!(answered(sorted, true).unwrap_err(), "undecided", "the tests hold the list too");
        assert!(answered(json!({"i": 1, "same": 7}), false).unwrap_err().contains("Forged"));
        assert!(answered(json!({"i": 1}), false).unwrap_err().contains("Forged"));
    }

    #[test]
    fn what_cannot_be_read_for_certain_is_left_to_a_judge() {
        for value in [json!({"$what": 1}), json!({"$set": [[1]]}), json!([{"$date": "2024-W01-1"}])] {
            assert_eq!(answered(json!({"i": 1, "v": value}), false).unwrap_err(), "undecided");
        }
    }
}
