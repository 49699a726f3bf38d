//! Tests that were compiled into calls and comparisons: the candidate answers, the harness
//! compares.
//!
//! No interpreter runs the tests, so that there is no verdict to forge: what is expected never
//! leaves this process.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::expression::{Answers, Expression};
use super::{Place, candidate_request, raised_verdict};
use crate::channel::stream_pair;
use crate::conversation::{AnswerBudget, Conversation, ConversationEnd, most_weight};
use crate::ending::EndedProcess;
use crate::error::SandboxError;
use crate::messages::{CallAnswer, forged, object};
use crate::python::{PythonJob, RunnerKind};
use crate::types::*;
use eval_match::python::PythonObject;

/// Memory of the answers that later steps need, in bytes, by their estimated weight: three times
/// the heaviest answer.
const HELD_BYTES: usize = 192 << 20;

/// Compiled tests.
#[derive(Debug)]
pub(crate) struct Compiled {
    requests: Vec<Request>,
    steps: Vec<Step>,
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
    /// Calls whose answers no later step uses.
    last_uses: Vec<usize>,
}

impl Compiled {
    /// Reads what `plan.py` wrote; `None` when it isn't that.
    pub fn read(value: &Value) -> Option<Compiled> {
        let requests = value.get("requests")?.as_array()?;
        let steps = value.get("steps")?.as_array()?;
        let requests: Vec<Request> = requests.iter().map(Request::read).collect::<Option<_>>()?;
        let mut steps: Vec<Step> = steps.iter().map(Step::read).collect::<Option<_>>()?;
        let mut used_later = HashSet::new();
        for step in steps.iter_mut().rev() {
            let (test, last_uses) = (&step.test, &mut step.last_uses);
            test.calls(&mut |call| {
                if used_later.insert(call) {
                    last_uses.push(call);
                }
            });
        }
        Some(Compiled { requests, steps })
    }
}

impl Request {
    fn read(value: &Value) -> Option<Request> {
        let line = format!("{}\n", value.get("line")?.as_str()?).into_bytes();
        Some(Request {
            line,
            shared: value.get("shared")?.as_bool()?,
        })
    }

    /// An argument as it was handed over.
    fn argument(&self, k: usize) -> Option<Value> {
        object(&self.line)?.remove("a")?.get(k).cloned()
    }
}

impl Step {
    fn read(value: &Value) -> Option<Step> {
        Some(Step {
            index: usize::try_from(value.get("index")?.as_u64()?).ok()?,
            line: value.get("line")?.as_u64()?,
            source: value.get("source")?.as_str()?.to_owned(),
            message: value
                .get("message")
                .and_then(Value::as_str)
                .map(str::to_owned),
            test: Expression::read(value.get("test")?)?,
            asserts: value.get("asserts")?.as_bool()?,
            last_uses: Vec::new(),
        })
    }
}

/// What became of compiled tests.
pub(super) enum ComparedOutcome {
    Decided(TestReport),
    /// An assert does not hold. What a judge would say of it takes a judge; that it fails is
    /// decided.
    Failed(TestReport),
    /// A judge has to decide.
    Undecided,
}

/// Why the tests do not go on.
enum TestStop {
    Verdict(TestVerdict),
    /// A verdict without the words of a judge.
    Wordless(TestVerdict),
    /// Only an interpreter can decide.
    Undecided,
    /// The candidate did something other than answering.
    Ended(ConversationEnd),
}

pub(super) fn run(
    place: &mut Place<'_>,
    job: &TestJob,
    compiled: &Compiled,
) -> Result<ComparedOutcome, SandboxError> {
    // Larger answers are for a judge, in memory that is not the harness's.
    let return_bytes = job
        .limits
        .return_bytes
        .min(ProgramLimits::default().return_bytes);
    let limits = ProgramLimits {
        return_bytes,
        ..job.limits.clone()
    };
    let most_weight = Some(most_weight(&limits));
    let request = candidate_request(job, place.python, limits.return_bytes, most_weight);
    let (running, ours) = place.start(&limits, || {
        let (ours, theirs) = stream_pair()?;
        let candidate = PythonJob::new(RunnerKind::Candidate, &request, vec![theirs])?;
        Ok((vec![candidate], ours))
    })?;
    let mut budget = AnswerBudget::of(&limits);
    let talk = Conversation::new(running, ours, &limits, &mut budget)?;
    let mut tests = Tests {
        talk,
        compiled,
        calls: 0,
        answers: Vec::new(),
        held: 0,
    };
    let stop = tests.through().err();
    tests.conclude(stop)
}

/// Weight of an answer that is kept to be shown, in bytes, and how many a verdict shows.
const SHOWN_BYTES: usize = 4 << 10;
const SHOWN_ANSWERS: usize = 3;

/// An answer that a later step needs.
struct HeldAnswer {
    object: Arc<PythonObject>,
    /// The same as it came, where it is small.
    shown: Option<Value>,
    /// Its estimated memory, in bytes.
    weight: usize,
}

/// Compiled tests while they run.
struct Tests<'c> {
    talk: Conversation<'c>,
    compiled: &'c Compiled,
    /// Calls that were answered.
    calls: usize,
    /// By call; `None` once no step needs it.
    answers: Vec<Option<HeldAnswer>>,
    /// The weight of all `answers`.
    held: usize,
}

impl Answers for Tests<'_> {
    type Error = TestStop;

    fn answer(&mut self, call: usize) -> Result<Arc<PythonObject>, TestStop> {
        while self.answers.len() <= call {
            self.next()?;
        }
        let answer = self.answers.get(call).and_then(Option::as_ref);
        answer
            .map(|answer| Arc::clone(&answer.object))
            .ok_or(TestStop::Undecided)
    }

    fn undecided(&self, operands: &[&PythonObject]) -> TestStop {
        // A judge ends a test that uses such a value.
        let opaque = operands.iter().find_map(|object| match object {
            PythonObject::Opaque { type_name, .. } => Some(type_name.clone()),
            _ => None,
        });
        opaque.map_or(TestStop::Undecided, |type_name| {
            TestStop::Verdict(TestVerdict::Opaque { type_name })
        })
    }
}

impl Tests<'_> {
    /// `Ok`: every assert holds.
    fn through(&mut self) -> Result<(), TestStop> {
        // The first request waits for the program, so that it need not wait for the request.
        self.send_request();
        self.talk.greeting().map_err(TestStop::Ended)?;
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
                    returned: self.returned(&step.test),
                };
                let known = step.message.is_some();
                return Err(if known {
                    TestStop::Verdict(verdict)
                } else {
                    TestStop::Wordless(verdict)
                });
            }
            self.drop_answers(&step.last_uses);
        }
        if self.calls == compiled.requests.len() {
            Ok(())
        } else {
            Err(TestStop::Undecided)
        }
    }

    /// What the calls of a failed assert returned; nothing when one of them can't be shown.
    fn returned(&self, test: &Expression) -> Vec<Value> {
        let mut calls = Vec::new();
        test.calls(&mut |call| {
            if !calls.contains(&call) {
                calls.push(call);
            }
        });
        let answers = calls.iter().map_while(|call| self.answers.get(*call));
        let shown: Option<Vec<Value>> = answers
            .map(|answer| answer.as_ref()?.shown.clone())
            .collect();
        shown
            .filter(|shown| shown.len() <= SHOWN_ANSWERS)
            .unwrap_or_default()
    }

    fn send_request(&mut self) {
        if let Some(request) = self.compiled.requests.get(self.calls) {
            self.talk.question().extend_from_slice(&request.line);
        }
    }

    /// Requests the next call (the first was sent before) and waits for its answer.
    fn next(&mut self) -> Result<(), TestStop> {
        let request = self
            .compiled
            .requests
            .get(self.calls)
            .ok_or(TestStop::Undecided)?;
        if self.calls > 0 {
            self.send_request();
        }
        let (answer, mut weight) = self
            .talk
            .answer(self.calls as u64 + 1, self.talk.deadline)
            .map_err(|stop| match stop {
                // A judge reads any number of answers.
                ConversationEnd::Failed(RunFailure::ReturnTotal { .. }) => TestStop::Undecided,
                stop => TestStop::Ended(stop),
            })?;
        let (object, value) = read_answer(answer, request)?;
        let shown = (weight <= SHOWN_BYTES).then_some(value);
        if shown.is_some() {
            weight *= 2;
        }
        self.calls += 1;
        self.held = self.held.saturating_add(weight);
        if self.held > HELD_BYTES {
            // In its own process a judge may hold what the harness may not.
            return Err(TestStop::Undecided);
        }
        self.answers.push(Some(HeldAnswer {
            object,
            shown,
            weight,
        }));
        Ok(())
    }

    fn drop_answers(&mut self, calls: &[usize]) {
        for call in calls {
            if let Some(answer) = self.answers.get_mut(*call).and_then(Option::take) {
                self.held = self.held.saturating_sub(answer.weight);
            }
        }
    }

    fn conclude(self, stop: Option<TestStop>) -> Result<ComparedOutcome, SandboxError> {
        let calls = self.calls as u64;
        let started = self.talk.started();
        let report = |verdict, ended: EndedProcess| TestReport {
            calls,
            streams: ended.streams,
            wall: started.elapsed(),
            cpu: ended.cpu,
            ..TestReport::new(verdict, TestMode::Compared)
        };
        Ok(match stop {
            None => {
                let (ended, failure) = self.talk.part()?;
                ComparedOutcome::Decided(report(
                    failure.map_or(TestVerdict::Passed, TestVerdict::Failed),
                    ended,
                ))
            }
            // The candidate may end, so that what it printed is kept.
            Some(TestStop::Verdict(verdict)) => {
                ComparedOutcome::Decided(report(verdict, self.talk.part()?.0))
            }
            Some(TestStop::Wordless(verdict)) => {
                ComparedOutcome::Failed(report(verdict, self.talk.end()?))
            }
            Some(TestStop::Undecided) => {
                self.talk.end()?;
                ComparedOutcome::Undecided
            }
            Some(TestStop::Ended(stop)) => {
                let (failure, ended) = self.talk.stop(stop)?;
                ComparedOutcome::Decided(report(TestVerdict::Failed(failure), ended))
            }
        })
    }
}

/// What a candidate answered to a request, and the same as it came.
fn read_answer(
    answer: Map<String, Value>,
    request: &Request,
) -> Result<(Arc<PythonObject>, Value), TestStop> {
    let failed = |failure| Err(TestStop::Verdict(TestVerdict::Failed(failure)));
    match CallAnswer::read(answer, |k| request.argument(k)) {
        CallAnswer::Value { changed: true, .. } if request.shared => Err(TestStop::Undecided),
        CallAnswer::Value { value, .. } => match PythonObject::from_tagged(&value) {
            Some(object) => Ok((Arc::new(object), value)),
            None => Err(TestStop::Undecided),
        },
        CallAnswer::Raised(error) => Err(TestStop::Verdict(raised_verdict(Some(&error)))),
        CallAnswer::TooLarge => Err(TestStop::Undecided),
        CallAnswer::Malformed => failed(forged("an answer without a value")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(shared: bool) -> Request {
        Request {
            line: b"{\"i\": 1, \"f\": \"f\", \"a\": [[3, 1]], \"k\": {}}\n".to_vec(),
            shared,
        }
    }

    fn answered(answer: Value, shared: bool) -> Result<String, String> {
        let Value::Object(map) = answer else {
            return Err("no object".to_owned());
        };
        match read_answer(map, &request(shared)) {
            Ok((object, _)) => Ok(format!("{object:?}")),
            Err(TestStop::Undecided) => Err("undecided".to_owned()),
            Err(TestStop::Verdict(verdict) | TestStop::Wordless(verdict)) => {
                Err(format!("{verdict:?}"))
            }
            Err(TestStop::Ended(stop)) => Err(format!("{stop:?}")),
        }
    }

    #[test]
    fn an_answer_may_be_one_of_the_arguments_as_the_call_left_it() {
        assert_eq!(
            answered(json!({"i": 1, "same": 0}), false).unwrap(),
            "List([Int(3), Int(1)])"
        );
        let sorted = json!({"i": 1, "same": 0, "a": {"0": [1, 3]}});
        assert_eq!(
            answered(sorted.clone(), false).unwrap(),
            "List([Int(1), Int(3)])"
        );
        assert_eq!(
            answered(sorted, true).unwrap_err(),
            "undecided",
            "the tests hold the list too"
        );
        assert!(
            answered(json!({"i": 1, "same": 7}), false)
                .unwrap_err()
                .contains("Forged")
        );
        assert!(
            answered(json!({"i": 1}), false)
                .unwrap_err()
                .contains("Forged")
        );
    }

    #[test]
    fn what_cannot_be_read_for_certain_is_left_to_a_judge() {
        for value in [
            json!({"$what": 1}),
            json!({"$set": [[1]]}),
            json!([{"$date": "2024-W01-1"}]),
        ] {
            assert_eq!(
                answered(json!({"i": 1, "v": value}), false).unwrap_err(),
                "undecided"
            );
        }
    }
}
