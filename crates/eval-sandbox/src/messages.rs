//! What the Python runners say, read without trust: everything may be missing, of the wrong kind,
//! or a lie.

use serde_json::{Map, Value};

use super::ending::EndedProcess;
use super::error::SandboxError;
use super::types::{ProgramEnding, RaisedException, RunFailure};
use eval_base::json::is_heavier;
use eval_base::text::shortened;

/// Bytes of memory that the values of one line may take where nothing else is said. A line of 8 MiB
/// can hold values of half a gigabyte; the candidate's runner keeps to its limit itself (`heavy` in
/// `candidate.py`), so that only a forged line is heavier.
pub(super) const MOST_WEIGHT: usize = 64 << 20;

/// A line that is one JSON object; `None` for anything else. Of one with more values than an answer
/// may hold, only which call it answers, and that it is too large.
pub(super) fn object(line: &[u8]) -> Option<Map<String, Value>> {
    object_within(line, MOST_WEIGHT)
}

/// The same with values of up to `most` bytes.
pub(super) fn object_within(line: &[u8], most: usize) -> Option<Map<String, Value>> {
    if is_heavier(line, most) {
        return too_heavy(line);
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// The runners begin an answer with its index.
fn too_heavy(line: &[u8]) -> Option<Map<String, Value>> {
    let rest = line.strip_prefix(b"{\"i\":")?.trim_ascii_start();
    let digits: String = rest
        .iter()
        .map_while(|b| b.is_ascii_digit().then_some(*b as char))
        .take(20)
        .collect();
    let index: u64 = digits.parse().ok()?;
    let large = Value::from(line.len());
    Some(Map::from_iter([
        ("i".to_owned(), Value::from(index)),
        ("large".to_owned(), large),
    ]))
}

pub(super) fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn number(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key).and_then(Value::as_u64)
}

/// Bytes of a class's name, and of a message or a traceback. The runners keep to about the same, so
/// that only forged ones are longer.
const MOST_NAME: usize = 800;
const MOST_MESSAGE: usize = 16 << 10;

/// What a runner answers to a call.
pub(super) enum CallAnswer {
    /// Tagged JSON. `changed`: the call changed an argument in place.
    Value {
        value: Value,
        changed: bool,
    },
    Raised(Value),
    /// More than an answer may hold.
    TooLarge,
    Malformed,
}

impl CallAnswer {
    /// `argument`: the argument at this place, as it was sent.
    pub fn read(
        mut answer: Map<String, Value>,
        argument: impl FnOnce(usize) -> Option<Value>,
    ) -> CallAnswer {
        if answer.contains_key("large") {
            return CallAnswer::TooLarge;
        }
        if let Some(error) = answer.remove("e") {
            return CallAnswer::Raised(error);
        }
        let mut changes = answer.remove("a");
        let changed = changes.is_some();
        let value = match answer.remove("same") {
            None => answer.remove("v"),
            // It returned one of its arguments: as the call left it.
            Some(k) => k.as_u64().and_then(|k| {
                let now = changes
                    .as_mut()
                    .and_then(Value::as_object_mut)
                    .and_then(|a| a.remove(&k.to_string()));
                now.or_else(|| argument(usize::try_from(k).ok()?))
            }),
        };
        value.map_or(CallAnswer::Malformed, |value| CallAnswer::Value {
            value,
            changed,
        })
    }
}

/// An exception as the runners tell it.
pub(super) fn raised(error: Option<&Value>) -> RaisedException {
    let empty = Map::new();
    let map = error.and_then(Value::as_object).unwrap_or(&empty);
    let mro = map
        .get("mro")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let cut = |text: &str, most: usize| shortened(text, most).into_owned();
    RaisedException {
        type_name: cut(&text(map, "type"), MOST_NAME),
        mro: mro
            .iter()
            .filter_map(Value::as_str)
            .take(24)
            .map(|name| cut(name, MOST_NAME))
            .collect(),
        message: cut(&text(map, "message"), MOST_MESSAGE),
        traceback: cut(&text(map, "traceback"), MOST_MESSAGE),
    }
}

impl RaisedException {
    /// Whether the exception is of this type or one derived from it.
    pub fn is(&self, name: &str) -> bool {
        self.type_name == name || self.mro.iter().any(|n| n == name)
    }
}

/// Exceptions that are something else: the end of the program, or a limit.
pub(super) fn disguised(raised: &RaisedException, error: Option<&Value>) -> Option<RunFailure> {
    if raised.is("SystemExit") {
        let code = error.and_then(|e| e.get("code")).and_then(Value::as_i64);
        return Some(RunFailure::Exited {
            code: code.and_then(|c| i32::try_from(c).ok()),
        });
    }
    raised
        .is("MemoryError")
        .then_some(RunFailure::Ended(ProgramEnding::MemoryLimit))
}

/// Why a program could not be loaded. `phase`: `compile` or `run`.
pub(super) fn load_failure(phase: &str, error: Option<&Value>, line: Option<u64>) -> RunFailure {
    let raised = raised(error);
    if let Some(failure) = disguised(&raised, error) {
        return failure;
    }
    // A NUL byte in the source is a ValueError, nesting too deep a RecursionError: of the compiler
    // all the same.
    if phase == "compile" {
        let message = if raised.is("SyntaxError") {
            raised.message
        } else {
            format!("{}: {}", raised.type_name, raised.message)
        };
        return RunFailure::SyntaxError { message, line };
    }
    RunFailure::LoadRaised(raised)
}

/// How a process that stopped answering ended. An error when it never started: only a cell can say
/// so, and it says nothing about the candidate.
pub(super) fn silent_end(ended: &EndedProcess) -> Result<RunFailure, SandboxError> {
    Ok(match &ended.ending {
        Ok(ProgramEnding::Exited(code)) => RunFailure::Exited { code: Some(*code) },
        // We ended it after it had closed its channel.
        Ok(ProgramEnding::Signaled(_)) if !ended.by_itself => RunFailure::Exited { code: None },
        Ok(ending) => RunFailure::Ended(ending.clone()),
        Err(reason) => {
            let program = "the interpreter".to_owned();
            return Err(SandboxError::CannotStart {
                program,
                reason: reason.clone(),
            });
        }
    })
}

pub(super) fn forged(evidence: &str) -> RunFailure {
    RunFailure::Forged {
        evidence: evidence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exceptions_that_are_something_else_are_recognised_by_their_bases() {
        let exit = json!({"type": "Quit", "mro": ["Quit", "SystemExit", "BaseException"], "message": "", "code": 3});
        assert_eq!(
            load_failure("run", Some(&exit), None),
            RunFailure::Exited { code: Some(3) }
        );
        let memory = json!({"type": "MemoryError", "mro": ["MemoryError"], "message": ""});
        assert_eq!(
            load_failure("compile", Some(&memory), None),
            RunFailure::Ended(ProgramEnding::MemoryLimit)
        );
    }

    #[test]
    fn an_interpreter_that_did_not_start_is_no_failure_of_the_candidate() {
        let ended = |ending| EndedProcess {
            ending,
            unwritten: None,
            by_itself: false,
            streams: super::super::types::ProgramStreams::default(),
            cpu: std::time::Duration::ZERO,
        };
        let error = silent_end(&ended(Err("Cannot allocate memory".to_owned()))).unwrap_err();
        insta::assert_snapshot!(error, @"the interpreter could not be started in the sandbox: Cannot allocate memory");
        assert_eq!(
            silent_end(&ended(Ok(ProgramEnding::Exited(0)))),
            Ok(RunFailure::Exited { code: Some(0) })
        );
    }

    #[test]
    fn values_of_a_line_are_weighed_before_they_are_made() {
        let line = |item: &str, n: usize| format!(r#"{{"v":[{}0]}}"#, item.repeat(n)).into_bytes();
        for (item, most) in [("0,", 1 << 20), ("[],", 340_000), ("{},", 95_000)] {
            assert_eq!(object(&line(item, most + 20_000)), None, "{item}");
            assert!(object(&line(item, most - 20_000)).is_some(), "{item}");
        }
        let answer = format!(r#"{{"i": 7,"v":[{}0]}}"#, "[],".repeat(400_000));
        let read = object(answer.as_bytes()).unwrap();
        assert_eq!(
            (number(&read, "i"), read.contains_key("large"), read.len()),
            (Some(7), true, 2)
        );
        let text = format!(r#"{{"v":"{}"}}"#, "{[,".repeat(1 << 20));
        assert!(object(text.as_bytes()).is_some());
    }

    #[test]
    fn nonsense_is_read_as_an_exception_without_a_name() {
        for value in [
            json!(null),
            json!([1]),
            json!({"type": 1, "mro": "x", "message": {}}),
        ] {
            assert_eq!(raised(Some(&value)), RaisedException::default());
        }
        assert_eq!(object(b"[1]"), None);
        assert_eq!(object("[".repeat(10_000).as_bytes()), None);
        assert_eq!(object(b"{\"a\": NaN}"), None);
    }
}
