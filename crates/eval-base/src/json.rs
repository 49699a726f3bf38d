//! JSON that people may look at: what hides or turns text is written as an escape.
//!
//! Bidirectional controls (U+202A to U+202E, U+2066 to U+2069, U+200E, U+200F, U+061C), DEL and the
//! C1 controls are written as `\uXXXX`, and so is the `#` that would make `##[` or `##vso[`, which
//! runners of build services take for commands. A reader of JSON gets the same text. All of these
//! can only be inside of texts, so that the escapes need no parser.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// Writes a value on one line.
pub fn to_writer<T: Serialize + ?Sized>(out: impl Write, value: &T) -> serde_json::Result<()> {
    serde_json::to_writer(EscapingWriter(out), value)
}

/// Writes a value, indented by two blanks.
pub fn to_writer_pretty<T: Serialize + ?Sized>(
    out: impl Write,
    value: &T,
) -> serde_json::Result<()> {
    serde_json::to_writer_pretty(EscapingWriter(out), value)
}

/// A text that is JSON, with its hiding characters escaped.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let begins = |(at, byte): (usize, &u8)| {
        may_begin_escape(byte) && bytes.get(at..).and_then(escape).is_some()
    };
    if !bytes.iter().enumerate().any(begins) {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(bytes.len() + 64);
    match write_escaped(bytes, &mut out).map(|()| String::from_utf8(out)) {
        Ok(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(json),
    }
}

/// Passes JSON on, escaped. The pieces that it is given hold whole characters.
struct EscapingWriter<W>(W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_escaped(bytes, &mut self.0)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write_escaped(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let (mut written, mut at) = (0, 0);
    // In nearly all pieces there is nothing to do.
    while let Some(next) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(may_begin_escape))
    {
        at += next;
        match bytes.get(at..).and_then(escape) {
            None => at += 1,
            Some((length, code)) => {
                out.write_all(bytes.get(written..at).unwrap_or_default())?;
                write!(out, "\\u{code:04x}")?;
                at += length;
                written = at;
            }
        }
    }
    out.write_all(bytes.get(written..).unwrap_or_default())
}

/// The first bytes of what [`escape`] takes.
fn may_begin_escape(byte: &u8) -> bool {
    matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2 | b'#')
}

/// The length of the character that begins here and its code point, when it is written as an
/// escape.
fn escape(rest: &[u8]) -> Option<(usize, u32)> {
    match *rest {
        [0x7f, ..] => Some((1, 0x7f)),
        [0xc2, second @ 0x80..=0x9f, ..] => Some((2, u32::from(second))),
        [0xd8, 0x9c, ..] => Some((2, 0x61c)),
        [0xe2, 0x80, third @ (0x8e | 0x8f | 0xaa..=0xae), ..] => {
            Some((3, 0x2000 + u32::from(third) - 0x80))
        }
        [0xe2, 0x81, third @ 0xa6..=0xa9, ..] => Some((3, 0x2040 + u32::from(third) - 0x80)),
        [b'#', b'#', b'[', ..] | [b'#', b'#', b'v', b's', b'o', b'[', ..] => {
            Some((1, u32::from(b'#')))
        }
        _ => None,
    }
}

/// True when arrays and objects are nested to more than `levels` levels. Looks no deeper than that.
pub fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(inner) = levels.checked_sub(1) else {
        return matches!(value, Value::Array(_) | Value::Object(_));
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, inner)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, inner)),
        _ => false,
    }
}

/// True when the values of a JSON text take about more than `most` bytes of memory, apart from
/// their texts.
pub fn is_heavier(json: &[u8], most: usize) -> bool {
    // The lightest heavy text is this long.
    json.len() > most / 640 && weight(json) > most
}

/// About how many bytes of memory the values of a JSON text take apart from their texts, by the
/// marks outside of these: an element, a member, a list's first four places, a map's first node.
pub fn weight(json: &[u8]) -> usize {
    let (mut sum, mut quoted, mut escaped) = (0usize, false, false);
    for byte in json {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b',' | b':' => sum += 64,
            b'[' => sum += 128,
            b'{' => sum += 640,
            _ => {}
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_weighed_outside_of_texts() {
        let json = br#"{"a,[{": [1, "\"{,", "\\", {}]}"#;
        assert_eq!(weight(json), 640 + 64 + 128 + 3 * 64 + 640);
        assert!(is_heavier(&b"[]".repeat(10), 1279) && !is_heavier(&b"[]".repeat(10), 1280));
    }

    #[test]
    fn hiding_characters_are_escaped_and_read_back() {
        let hostile: String = (0x61c..=0x61c)
            .chain(0x7f..=0x9f)
            .chain(0x200e..=0x200f)
            .chain(0x202a..=0x202e)
            .chain(0x2066..=0x2069)
            .filter_map(char::from_u32)
            .collect();
        let text =
            format!("{hostile} ##[error]x ##vso[task.complete] # ## [ é 日 \u{200b} \" \\ \n");
        let mut out = Vec::new();
        to_writer_pretty(
            &mut out,
            &serde_json::json!({ text.as_str(): [text.as_str()] }),
        )
        .unwrap();
        let json = String::from_utf8(out).unwrap();
        assert!(!json.contains(|c: char| hostile.contains(c)), "{json}");
        assert!(!json.contains("##[") && !json.contains("##vso["), "{json}");
        assert!(json.contains("é 日"), "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read[&text][0], text.as_str());
        let plain = serde_json::to_string(&text).unwrap();
        assert_eq!(
            serde_json::from_str::<String>(&escaped(&plain)).unwrap(),
            text
        );
        assert!(matches!(escaped("{\"a\": \"é #\"}"), Cow::Borrowed(_)));
        assert_eq!(
            escaped("\"\u{202e}\u{9b}#\u{61c}\""),
            "\"\\u202e\\u009b#\\u061c\""
        );
    }

    #[test]
    fn depth_counts_arrays_and_objects() {
        let nested =
            |levels: usize| (0..levels).fold(Value::Null, |value, _| serde_json::json!([1, value]));
        for levels in [0, 1, 5] {
            assert!(!is_deeper(&nested(levels), levels));
            assert!(is_deeper(&nested(levels + 1), levels));
        }
        assert!(is_deeper(&serde_json::json!({"a": {"b": {}}}), 2));
    }
}
