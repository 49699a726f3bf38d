//! Tests that were compiled into calls and comparisons: the candidate answers, the harness compares.
//!
//! No interpreter runs the tests, so that there is no verdict to forge: what is expected never leaves this process.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::expression::{Answers, Expression};
use super::{Place, candidate_request, raised_verdict};
use crate::matching::python::Object;
use crate::sandbox::channel::stream_pair;
use crate::sandbox::conversation::{Break, Conversation};
use crate::sandbox::ending::Ended;
use crate::sandbox::error::SandboxError;
use crate::sandbox::messages::{forged, object};
use crate::sandbox::python::{PythonJob, Runner};
use crate::sandbox::types::*;

/// JSON text of the answers that later steps need, in bytes: 16 MiB. In memory they take up to about 60 times as much.
const HELD_BYTES: usize = 16 << 20;

/// Compiled tests.
#[derive(Debug)]
pub(in crate::sandbox) struct Compiled {
    requests: Vec<Request>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Request {
    /// A line of JSON, as a judge would write it.
    line: Vec<u8>,
    /// It hands over an object that the tests hold on to, so that a change of it would show later.
    shared: bool,
    /// The last step that uses the answer.
    last_step: usize,
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
        let mut requests: Vec<Request> = requests.iter().map(Request::read).collect::<Option<_>>()?;
        let steps: Vec<Step> = steps.iter().map(Step::read).collect::<Option<_>>()?;
        for (at, step) in steps.iter().enumerate() {
            step.test.calls(&mut |call| {
                if let Some(request) = requests.get_mut(call) {
                    request.last_step = at;
                }
            });
        }
        Some(Compiled { requests, steps })
    }
}

impl Request {
    fn read(value: &Value) -> Option<Request> {
        let line = format!("{}\n", value.get("line")?.as_str()?).into_bytes();
        Some(Request { line, shared: value.get("shared")?.as_bool()?, last_step: 0 })
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
    /// Only an interpreter can decide.
    Undecided,
    /// The candidate did something other than answering.
    Break(Break),
}

pub(super) fn run(place: Place<'_>, job: &TestJob, compiled: &Compiled) -> Result<Outcome, SandboxError> {
    let Place { worker, cancel, python } = place;
    let (running, ours) = worker.start(python, cancel, &job.limits, || {
        let (ours, theirs) = stream_pair().map_err(SandboxError::lost)?;
        Ok((vec![PythonJob::new(Runner::Candidate, &candidate_request(job, python), vec![theirs])?], ours))
    })?;
    let talk = Conversation::new(running, ours, &job.limits)?;
    let mut tests = Tests { talk, compiled, step: 0, calls: 0, answers: Vec::new(), dropped: 0, held: 0 };
    let stop = tests.through().err();
    tests.conclude(stop)
}

/// An answer that a later step needs.
struct HeldAnswer {
    object: Arc<Object>,
    /// Of its JSON text.
    bytes: usize,
    last_step: usize,
}

/// Compiled tests while they run.
struct Tests<'c> {
    talk: Conversation<'c>,
    compiled: &'c Compiled,
    /// The step that is evaluated.
    step: usize,
    /// Calls that were answered.
    calls: usize,
    /// By call; `None` once no step needs it.
    answers: Vec<Option<HeldAnswer>>,
    /// How many of the first `answers` were dropped.
    dropped: usize,
    /// Bytes of the JSON text of all `answers`.
    held: usize,
}

impl Answers for Tests<'_> {
    type Error = Stop;

    fn answer(&mut self, call: usize) -> Result<Arc<Object>, Stop> {
        while self.answers.len() <= call {
            self.next()?;
        }
        let answer = self.answers.get(call).and_then(Option::as_ref);
        answer.map(|answer| Arc::clone(&answer.object)).ok_or(Stop::Undecided)
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

impl Tests<'_> {
    /// `Ok`: every assert holds.
    fn through(&mut self) -> Result<(), Stop> {
        // The first request waits for the program, so that it need not wait for the request.
        self.ask();
        self.talk.greeting().map_err(Stop::Break)?;
        let compiled = self.compiled;
        for (at, step) in compiled.steps.iter().enumerate() {
            self.step = at;
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
            self.drop_answers();
        }
        if self.calls == compiled.requests.len() { Ok(()) } else { Err(Stop::Undecided) }
    }

    fn ask(&mut self) {
        if let Some(request) = self.compiled.requests.get(self.calls) {
            self.talk.question().extend_from_slice(&request.line);
        }
    }

    /// Asks for the next call, the first of which is under way, and waits for its answer.
    fn next(&mut self) -> Result<(), Stop> {
        let request = self.compiled.requests.get(self.calls).ok_or(Stop::Undecided)?;
        if self.calls > 0 {
            self.ask();
        }
        let (answer, bytes) =
            self.talk.answer(self.calls as u64 + 1, self.talk.deadline).map_err(Stop::Break)?;
        let object = read_answer(&answer, request)?;
        self.calls += 1;
        self.held = self.held.saturating_add(bytes);
        if self.held > HELD_BYTES {
            return Err(Stop::Verdict(TestVerdict::Failed(RunFailure::Ended(Ending::OutputLimit))));
        }
        self.answers.push(Some(HeldAnswer { object, bytes, last_step: request.last_step }));
        Ok(())
    }

    /// Drops the answers that no later step needs.
    fn drop_answers(&mut self) {
        for held in self.answers.iter_mut().skip(self.dropped) {
            if let Some(answer) = held.take_if(|answer| answer.last_step <= self.step) {
                self.held = self.held.saturating_sub(answer.bytes);
            }
        }
        let live = self.answers.iter().skip(self.dropped).position(Option::is_some);
        self.dropped = live.map_or(self.answers.len(), |at| self.dropped + at);
    }

    fn conclude(self, stop: Option<Stop>) -> Result<Outcome, SandboxError> {
        let calls = self.calls as u64;
        let started = self.talk.started();
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
                let (ended, failure) = self.talk.part()?;
                Outcome::Decided(report(failure.map_or(TestVerdict::Passed, TestVerdict::Failed), ended))
            }
            // The candidate ends by itself, so that what it printed is kept.
            Some(Stop::Verdict(verdict)) => Outcome::Decided(report(verdict, self.talk.part()?.0)),
            Some(Stop::Wordless(verdict)) => Outcome::Failed(report(verdict, self.talk.end()?)),
            Some(Stop::Undecided) => {
                self.talk.end()?;
                Outcome::Undecided
            }
            Some(Stop::Break(stop)) => {
                let (failure, ended) = self.talk.stop(stop)?;
                Outcome::Decided(report(TestVerdict::Failed(failure), ended))
            }
        })
    }
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
    let no_value = || Stop::Verdict(TestVerdict::Failed(forged("an answer without a value")));
    let value = value.ok_or_else(no_value)?;
    Object::from_tagged(&value).map(Arc::new).ok_or(Stop::Undecided)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(shared: bool) -> Request {
        Request {
            line: b"{\"i\": 1, \"f\": \"f\", \"a\": [[3, 1]], \"k\": {}}\n".to_vec(),
            shared,
            last_step: 0,
        }
    }

    fn answered(answer: Value, shared: bool) -> Result<String, String> {
        let Value::Object(map) = answer else { return Err("no object".to_owned()) };
        match read_answer(&map, &request(shared)) {
            Ok(object) => Ok(format!("{object:?}")),
            Err(Stop::Undecided) => Err("undecided".to_owned()),
            Err(Stop::Verdict(verdict) | Stop::Wordless(verdict)) => Err(format!("{verdict:?}")),
            Err(Stop::Break(stop)) => Err(format!("{stop:?}")),
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
