//! Texts and data of others, as a page gets them: data as text, so that its numbers keep their
//! digits; long ones cut.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::report::values;
use eval_base::text;

/// A text, or data pretty-printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownText<'a> {
    pub text: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
    /// How much is shown, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

fn cut(kept: usize, of: usize) -> String {
    let [kept, of] = [kept, of].map(text::group_digits);
    format!("Truncated: {kept} of {of} bytes are shown; the journal has all of them.")
}

pub fn of_text(whole: &str, limit: usize) -> ShownText<'_> {
    let kept = text::truncate_bytes(whole, limit);
    let cut = (kept.len() < whole.len()).then(|| cut(kept.len(), whole.len()));
    ShownText {
        text: Cow::Borrowed(kept),
        json: false,
        cut,
    }
}

pub fn of_value(value: &Value, limit: usize) -> ShownText<'_> {
    if let Value::String(whole) = value {
        return of_text(whole, limit);
    }
    let (kept, of) = pretty(value, limit);
    let cut = (kept.len() < of).then(|| cut(kept.len(), of));
    ShownText {
        text: Cow::Owned(kept),
        json: true,
        cut,
    }
}

/// What a grader expected: of several alternatives, words.
pub fn of_expected(value: &Value, limit: usize) -> ShownText<'_> {
    let Some(words) = values::alternatives(value) else {
        return of_value(value, limit);
    };
    let kept = text::truncate_bytes(&words, limit);
    let cut = (kept.len() < words.len()).then(|| cut(kept.len(), words.len()));
    ShownText {
        text: Cow::Owned(kept.to_owned()),
        json: false,
        cut,
    }
}

/// Data of at most so many bytes are on one line.
const SHORT: usize = 60;

/// A value in few lines: short data on one.
pub fn compact(value: &Value, limit: usize) -> ShownText<'_> {
    let shown = of_value(value, limit);
    if !shown.json || shown.cut.is_some() {
        return shown;
    }
    match serde_json::to_string(value) {
        Ok(line) if line.len() <= SHORT.min(limit) => ShownText {
            text: Cow::Owned(line),
            ..shown
        },
        _ => shown,
    }
}

/// A text on its own, cut without a word: for names and labels.
pub fn name(whole: &str, limit: usize) -> Cow<'_, str> {
    text::shortened(whole, limit.min(300))
}

/// The beginning of the data, and how long it is in all.
fn pretty(value: &Value, limit: usize) -> (String, usize) {
    let mut beginning = ShownTextWriter {
        kept: Vec::new(),
        limit,
        of: 0,
    };
    // The writer never fails, and a value always is JSON.
    let _ = serde_json::to_writer_pretty(&mut beginning, value);
    let ShownTextWriter { mut kept, of, .. } = beginning;
    if let Err(error) = std::str::from_utf8(&kept) {
        kept.truncate(error.valid_up_to());
    }
    (String::from_utf8(kept).unwrap_or_default(), of)
}

/// Keeps as much as fits, and counts all.
struct ShownTextWriter {
    kept: Vec<u8>,
    limit: usize,
    of: usize,
}

impl Write for ShownTextWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.of += bytes.len();
        let room = self.limit.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept
            .extend_from_slice(bytes.get(..room).unwrap_or_default());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
