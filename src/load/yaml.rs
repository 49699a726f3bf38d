//! Values as YAML that people like to read: one key a line, long texts as literal blocks, numbers
//! with the digits that they have.
//!
//! A text has no quotes where YAML 1.2 (and an older reader, too) takes it for the same text.
//! Whatever is written here, [`super::tree`] reads back as the same value.

use std::fmt::Write as _;

use serde_json::Value;

use super::scalar;
use super::tree::NodeValue;
use eval_base::text::is_visible;

/// Keys of more bytes are written as `? key`: other readers of YAML look for a `:` no further than
/// 1,024 characters.
const LONGEST_KEY: usize = 200;

/// A list or a map that is not empty, one line for each key and element.
pub(super) fn lines(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) => items.iter().for_each(|item| element(&mut out, item, 0)),
        Value::Object(fields) => {
            let mut add = |(key, value): (&String, &Value)| entry(&mut out, key, value, 0);
            fields.iter().for_each(&mut add);
        }
        scalar => leaf(&mut out, scalar, 0),
    }
    out
}

fn indent(out: &mut String, level: usize) {
    (0..level).for_each(|_| out.push_str("  "));
}

/// `key: value` at the place where the line has been indented.
pub fn entry(out: &mut String, key: &str, value: &Value, level: usize) {
    if key.len() > LONGEST_KEY {
        out.push_str("? ");
        inline_text(out, key);
        out.push('\n');
        indent(out, level);
    } else {
        inline_text(out, key);
    }
    out.push(':');
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            for (key, value) in fields {
                indent(out, level + 1);
                entry(out, key, value, level + 1);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                indent(out, level + 1);
                element(out, item, level + 1);
            }
        }
        scalar => {
            out.push(' ');
            leaf(out, scalar, level + 1);
        }
    }
}

/// `- value` at the place where the line has been indented.
fn element(out: &mut String, value: &Value, level: usize) {
    out.push_str("- ");
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (at, (key, value)) in fields.iter().enumerate() {
                if at > 0 {
                    indent(out, level + 1);
                }
                entry(out, key, value, level + 1);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    indent(out, level + 1);
                }
                element(out, item, level + 1);
            }
        }
        scalar => leaf(out, scalar, level + 1),
    }
}

/// What holds nothing further, with its line break. The lines of a block stand at `level`.
fn leaf(out: &mut String, value: &Value, level: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) if is_block(text) => return block(out, text, level),
        Value::String(text) => inline_text(out, text),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
    out.push('\n');
}

/// A text of several lines that a literal block can hold: every character visible, and something to
/// see in it.
pub(super) fn is_block(text: &str) -> bool {
    text.contains('\n')
        && text.chars().all(is_visible)
        && text
            .lines()
            .next()
            .is_some_and(|line| !line.trim().is_empty() && !line.starts_with('\t'))
}

fn block(out: &mut String, text: &str, level: usize) {
    out.push('|');
    if text.starts_with(' ') {
        // Blanks in front would be taken for indentation.
        out.push('2');
    }
    let content = match text.strip_suffix('\n') {
        None => {
            out.push('-');
            text
        }
        Some(rest) if rest.ends_with('\n') => {
            out.push('+');
            rest
        }
        Some(rest) => rest,
    };
    out.push('\n');
    for line in content.split('\n') {
        if !line.is_empty() {
            indent(out, level);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// A text on one line: without quotes where that is safe, else in those that read best.
pub(super) fn inline_text(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        quoted(out, text);
    }
}

/// A text in the quotes that read best.
pub(super) fn quoted(out: &mut String, text: &str) {
    if !text.contains(['"', '\\']) || !single_quoted(out, text) {
        double_quoted(out, text);
    }
}

/// A text in single quotes; false where they can't hold it.
pub(super) fn single_quoted(out: &mut String, text: &str) -> bool {
    let fits = text
        .chars()
        .all(|c| c != '\n' && c != '\t' && is_visible(c));
    if fits {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
    fits
}

/// True when the text means itself without quotes, also to readers of YAML 1.1 and to people.
pub(super) fn is_plain(text: &str) -> bool {
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else {
        return false;
    };
    let begins =
        first.is_alphanumeric() || matches!(first, '/' | '_' | '.' | '(' | '$' | '^' | '+' | ';');
    begins
        && last != ' '
        && last != ':'
        && !text.contains(": ")
        && !text.contains(" #")
        && text
            .chars()
            .all(|c| c != '\n' && c != '\t' && is_visible(c))
        && text != "..."
        && matches!(scalar::plain(text), NodeValue::Text(_))
        && !is_word_of_older_yaml(text)
}

/// Words and numbers that YAML 1.1 takes for something else than a text.
fn is_word_of_older_yaml(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(lower.as_str(), "y" | "n" | "yes" | "no" | "on" | "off")
        || text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+'))
            && text.chars().all(|c| {
                c.is_ascii_digit() || matches!(c, '_' | ':' | '.' | '+' | '-' | ',' | 'e' | 'E')
            })
            && !text.contains('-')
}

pub(super) fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_visible(c) => out.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}
