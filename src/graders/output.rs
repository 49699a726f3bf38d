//! An output as graders look at it: as text or as JSON, what they find, and which work on it is
//! quick.

use std::io;

use serde_json::{Map, Value, json};

use super::patterns::PatternCache;
use super::show::{compared, in_reason};
use crate::model::{Cause, Grade, GraderType, OutputValue, RegexFlags};
use eval_base::unique_keys;
use eval_match::{Datum, MatchResult, StructuralOptions, structural};

/// Bytes of an output that linear work is done on.
const TEXT_BYTES: usize = 64 << 10;

/// Bytes of an output that is read as JSON and compared as such.
pub(crate) const JSON_BYTES: usize = 16 << 10;

/// Bytes of an output times what it is compared with.
const COMPARED: usize = 16 << 20;

/// Bytes of a compiled pattern times the bytes that it searches.
const SEARCHED: usize = 1 << 30;

/// An output as text: JSON texts as what they say, other JSON as it is written.
pub(crate) fn as_text(value: &OutputValue) -> String {
    match value {
        OutputValue::Text(text)
        | OutputValue::Program(text)
        | OutputValue::Json(Value::String(text)) => text.clone(),
        OutputValue::Json(value) => value.to_string(),
    }
}

/// An output as JSON: a text must be one JSON value and nothing else, and its objects have each key
/// once.
pub(crate) fn as_json(value: &OutputValue) -> Result<Value, serde_json::Error> {
    match value {
        OutputValue::Json(value) => Ok(value.clone()),
        OutputValue::Text(text) | OutputValue::Program(text) => whole_json(text),
    }
}

/// The verdict on an output that had to be JSON.
pub(crate) fn not_json(value: &OutputValue, error: &serde_json::Error) -> MethodVerdict {
    let is_fenced = match value {
        OutputValue::Json(_) => false,
        OutputValue::Text(text) | OutputValue::Program(text) => text.contains("```"),
    };
    let hint = match is_fenced {
        true => "; it has a code fence: with `extract: json`, the JSON within is graded",
        false => "",
    };
    MethodVerdict::failed(format!("the output is not JSON: {error}{hint}"))
}

fn whole_json(text: &str) -> Result<Value, serde_json::Error> {
    unique_keys::from_str(text.trim_start_matches('\u{feff}'))
}

/// What a method found in an output.
pub(crate) enum MethodVerdict {
    Passed {
        details: Map<String, Value>,
    },
    Failed {
        reason: String,
        score: f64,
        details: Map<String, Value>,
    },
    /// The grader can't be applied: the author's fault.
    Broken(String),
}

impl MethodVerdict {
    pub fn passed() -> MethodVerdict {
        MethodVerdict::Passed {
            details: Map::new(),
        }
    }

    pub fn failed(reason: impl Into<String>) -> MethodVerdict {
        MethodVerdict::failed_with(reason, Map::new())
    }

    pub fn failed_with(reason: impl Into<String>, details: Map<String, Value>) -> MethodVerdict {
        MethodVerdict::Failed {
            reason: reason.into(),
            score: 0.0,
            details,
        }
    }

    pub fn of(result: Result<MatchResult, String>) -> MethodVerdict {
        match result {
            Ok(comparison) if comparison.matched => MethodVerdict::passed(),
            Ok(comparison) => MethodVerdict::failed(comparison.reason),
            Err(why) => MethodVerdict::Broken(why),
        }
    }

    /// The grade, with what was compared.
    pub fn grade(self, method: &str, expected: Option<Value>, value: &OutputValue) -> Grade {
        let grade = match self {
            MethodVerdict::Passed { details } => Grade {
                details,
                ..Grade::passed(GraderType::Code, method)
            },
            MethodVerdict::Failed {
                reason,
                score,
                details,
            } => Grade {
                details,
                ..Grade::failed(GraderType::Code, method, Cause::WrongAnswer, reason)
                    .with_score(score)
            },
            MethodVerdict::Broken(why) => {
                Grade::errored(GraderType::Code, method, Cause::Harness, why)
            }
        };
        compared(grade, expected, value)
    }
}

/// What was expected, for the grade: the value itself when there is one, else all alternatives.
pub(crate) fn one_of(any_of: &[Value]) -> Option<Value> {
    match any_of {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(json!({ "any_of": all })),
    }
}

pub(crate) fn among(alternatives: usize, reason: String) -> String {
    if alternatives > 1 {
        format!("none of {alternatives} alternatives matches; the first: {reason}")
    } else {
        reason
    }
}

/// Equality of two JSON values, by value.
pub(crate) fn equal(expected: &Value, actual: &Value) -> Result<MatchResult, String> {
    let wanted = Datum::from_json(expected)
        .map_err(|why| format!("the expected value can't be compared: {why}"))?;
    let Ok(got) = Datum::from_json(actual) else {
        return Ok(MatchResult::differs(
            "the output is nested too deeply, or contains a number that is too large",
        ));
    };
    if eval_match::equals(&got, &wanted) {
        return Ok(MatchResult::matched());
    }
    let differences =
        structural::compare(&StructuralOptions::as_it_stands(expected.clone()), actual).differences;
    let reason = match differences.as_slice() {
        [] => {
            format!(
                "expected {}, got {}",
                in_reason(&expected.to_string()),
                in_reason(&actual.to_string())
            )
        }
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", differences_word(rest.len())),
    };
    Ok(MatchResult::differs(reason))
}

pub(crate) fn differences_word(n: usize) -> String {
    if n == 1 {
        "1 difference".to_owned()
    } else {
        format!("{n} differences")
    }
}

/// An output that is small enough for work in place.
pub(crate) struct SmallOutput<'o> {
    pub value: &'o OutputValue,
    pub bytes: usize,
}

impl SmallOutput<'_> {
    /// `None` when the output is too large for any work in place. No more of it is read than that.
    pub fn of(value: &OutputValue) -> Option<SmallOutput<'_>> {
        let bytes = match value {
            OutputValue::Text(text)
            | OutputValue::Program(text)
            | OutputValue::Json(Value::String(text)) => text.len(),
            OutputValue::Json(value) => {
                let mut count = SizeCounter(0);
                // It fails when it has enough.
                serde_json::to_writer(&mut count, value).ok()?;
                count.0
            }
        };
        (bytes <= TEXT_BYTES).then_some(SmallOutput { value, bytes })
    }

    /// Whether it may be compared with this many texts or numbers.
    pub fn compares(&self, others: usize) -> bool {
        self.bytes.saturating_mul(others) <= COMPARED
    }

    /// Whether it may be read as JSON and compared with these values.
    pub fn compares_json(&self, any_of: &[Value]) -> bool {
        self.bytes <= JSON_BYTES && self.compares(any_of.len()) && !any_of.iter().any(has_matcher)
    }

    /// Whether it may be searched by patterns of this compiled size in all; of no size is known when
    /// a search is not bounded.
    pub fn is_searched_by(&self, size: Option<usize>) -> bool {
        size.is_some_and(|size| size.saturating_mul(self.bytes) <= SEARCHED)
    }
}

/// Whether some text of a value may be a matcher, which a reason would try.
fn has_matcher(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_matcher),
        Value::Object(map) => map.values().any(has_matcher),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

struct SizeCounter(usize);

impl io::Write for SizeCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > TEXT_BYTES {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of a compiled pattern, 0 for one that does not compile; `None` when a search with it is
/// not bounded.
pub(crate) fn compiled_size(
    source: &str,
    flags: RegexFlags,
    patterns: &PatternCache,
) -> Option<usize> {
    patterns
        .get(source, flags)
        .map_or(Some(0), |pattern| pattern.linear_size())
}
