//! Values cut to what a report can hold.

use serde_json::Value;

use crate::model::{Grade, OutputValue};
use eval_base::text::shortened;

/// Bytes of an expected or actual value in a grade.
const KEPT: usize = 4 << 10;

/// Bytes of a text inside a reason.
const IN_REASON: usize = 300;

/// The value, or the beginning of its JSON as a text when it is long.
pub(crate) fn bounded(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, KEPT)),
        value => match beginning(value) {
            None => value.clone(),
            Some(json) => Value::String(cut(&json, KEPT)),
        },
    }
}

/// The beginning of a value's JSON, when it is too long to be kept whole; no more of it than that
/// is written.
fn beginning(value: &Value) -> Option<String> {
    let mut out = PrefixWriter(Vec::new());
    // It fails when it has enough.
    let short = serde_json::to_writer(&mut out, value).is_ok();
    (!short).then(|| String::from_utf8_lossy(&out.0).into_owned())
}

struct PrefixWriter(Vec<u8>);

impl std::io::Write for PrefixWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > KEPT {
            Err(std::io::ErrorKind::StorageFull.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn bounded_text(text: &str) -> Value {
    Value::String(cut(text, KEPT))
}

pub(crate) fn bounded_output(value: &OutputValue) -> Value {
    match value {
        OutputValue::Text(text) | OutputValue::Program(text) => bounded_text(text),
        OutputValue::Json(value) => bounded(value),
    }
}

/// A text for the middle of a sentence.
pub(crate) fn in_reason(text: &str) -> String {
    cut(text.trim(), IN_REASON)
}

fn cut(text: &str, limit: usize) -> String {
    shortened(text, limit).into_owned()
}

/// Fills in what was compared, unless the grade says it already.
pub(crate) fn compared(mut grade: Grade, expected: Option<Value>, actual: &OutputValue) -> Grade {
    grade.expected = grade.expected.or(expected.map(|value| bounded(&value)));
    grade.actual = grade.actual.or_else(|| Some(bounded_output(actual)));
    grade
}
