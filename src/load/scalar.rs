//! What a YAML scalar means by the YAML 1.2 core schema: null, a boolean, a number or a text.
//!
//! Two deviations, both for what authors mean: a number with a leading zero (`0777`, `007.5`) is a
//! text, and integers keep every digit. `yes`, `no`, `on`, `off`, `1_000` and `12:30` are texts, as
//! in the core schema.

use std::sync::Arc;

use num_bigint::BigInt;
use serde_json::Number;

use super::tree::NodeValue;

/// Hexadecimal and octal numbers longer than this stay texts: making them decimal costs the square
/// of their length.
const MAX_RADIX_DIGITS: usize = 1_000;

/// The value of an unquoted scalar.
pub fn plain(text: &str) -> NodeValue {
    let Some(first) = text.bytes().next() else {
        return NodeValue::Null;
    };
    let resolved = match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text),
        b'n' | b'N' | b'~' if is_null(text) => Some(NodeValue::Null),
        b't' | b'T' | b'f' | b'F' => boolean(text).map(NodeValue::Bool),
        _ => None,
    };
    resolved.unwrap_or_else(|| NodeValue::Text(Arc::from(text)))
}

/// `null`, `~` and nothing at all.
pub fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// `true` and `false` in the three cases of the core schema.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A number, or one of the floats that JSON lacks.
pub fn number(text: &str) -> Option<NodeValue> {
    if let Some(name) = special(text) {
        return Some(NodeValue::Special(name));
    }
    decimal(text).or_else(|| radix(text)).map(NodeValue::Number)
}

/// Whether a number is written as an integer.
pub fn is_integer(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

fn special(text: &str) -> Option<&'static str> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some("inf"),
        "-.inf" | "-.Inf" | "-.INF" => Some("-inf"),
        ".nan" | ".NaN" | ".NAN" => Some("nan"),
        _ => None,
    }
}

/// `[-+]? ( [0-9]+ ( \. [0-9]* )? | \. [0-9]+ ) ( [eE] [-+]? [0-9]+ )?`, in the spelling of JSON.
fn decimal(text: &str) -> Option<Number> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole_len = digits(unsigned);
    let (whole, mut rest) = unsigned.split_at(whole_len);
    let mut fraction = None;
    if let Some(after) = rest.strip_prefix('.') {
        let (f, tail) = after.split_at(digits(after));
        (fraction, rest) = (Some(f), tail);
    }
    if whole.is_empty() && fraction.unwrap_or("").is_empty()
        || whole.len() > 1 && whole.starts_with('0')
    {
        return None;
    }
    if rest.is_empty() && fraction.is_none() {
        return Some(Number::from_string_unchecked(format!("{sign}{whole}")));
    }
    let exponent = match rest.strip_prefix(['e', 'E']) {
        Some(e) => {
            let figures = e.strip_prefix(['-', '+']).unwrap_or(e);
            if figures.is_empty() || digits(figures) != figures.len() {
                return None;
            }
            format!("e{e}")
        }
        None if rest.is_empty() => String::new(),
        None => return None,
    };
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = match fraction {
        Some("") => ".0".to_owned(),
        Some(f) => format!(".{f}"),
        None => String::new(),
    };
    // Through serde_json's own parser, so that the same JSON text gives the same spelling here and
    // there.
    format!("{sign}{whole}{fraction}{exponent}").parse().ok()
}

/// `0x1F` and `0o17`.
fn radix(text: &str) -> Option<Number> {
    let (digits, radix) = match text.get(..2)? {
        "0x" => (text.get(2..)?, 16),
        "0o" => (text.get(2..)?, 8),
        _ => return None,
    };
    let valid = !digits.is_empty()
        && digits.len() <= MAX_RADIX_DIGITS
        && digits.chars().all(|c| c.is_digit(radix));
    let value = valid.then(|| BigInt::parse_bytes(digits.as_bytes(), radix))??;
    Some(Number::from_string_unchecked(value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match plain(text) {
            NodeValue::Null => "null".into(),
            NodeValue::Bool(b) => format!("bool {b}"),
            NodeValue::Number(n) => format!("number {n}"),
            NodeValue::Special(s) => format!("special {s}"),
            NodeValue::Text(t) => format!("text {t}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_core_schema_and_nothing_more() {
        let table = [
            ("", "null"),
            ("~", "null"),
            ("null", "null"),
            ("NULL", "null"),
            ("nULL", "text nULL"),
            ("true", "bool true"),
            ("True", "bool true"),
            ("FALSE", "bool false"),
            ("tRUE", "text tRUE"),
            ("yes", "text yes"),
            ("no", "text no"),
            ("on", "text on"),
            ("Off", "text Off"),
            ("y", "text y"),
            ("0", "number 0"),
            ("-0", "number -0"),
            ("+5", "number 5"),
            ("007", "text 007"),
            ("0777", "text 0777"),
            ("-0777", "text -0777"),
            ("00.5", "text 00.5"),
            ("1_000", "text 1_000"),
            ("1,000", "text 1,000"),
            ("12:30", "text 12:30"),
            ("0x1F", "number 31"),
            ("0o17", "number 15"),
            ("0b11", "text 0b11"),
            ("0xG", "text 0xG"),
            ("0x", "text 0x"),
            (
                "265252859812191058636308480000000",
                "number 265252859812191058636308480000000",
            ),
            ("0xFFFFFFFFFFFFFFFFFF", "number 4722366482869645213695"),
            (".5", "number 0.5"),
            ("-.5", "number -0.5"),
            ("1.", "number 1.0"),
            ("1.50", "number 1.50"),
            ("1e3", "number 1e+3"),
            ("1E-3", "number 1e-3"),
            ("1e", "text 1e"),
            ("e3", "text e3"),
            (".", "text ."),
            ("..", "text .."),
            ("-", "text -"),
            ("+", "text +"),
            ("1.2.3", "text 1.2.3"),
            ("2024-01-01", "text 2024-01-01"),
            (".inf", "special inf"),
            ("-.INF", "special -inf"),
            (".NaN", "special nan"),
            ("nan", "text nan"),
            ("inf", "text inf"),
            ("é", "text é"),
            ("0é", "text 0é"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "of {text:?}");
        }
    }

    #[test]
    fn a_huge_hexadecimal_number_stays_a_text() {
        assert_eq!(
            shown(&format!("0x{}", "f".repeat(1_001))),
            format!("text 0x{}", "f".repeat(1_001))
        );
    }
}
