//! Values as Python knows them: what a candidate's function returned, and what an author expects of
//! it.

use std::fmt::{self, Write as _};

use num_bigint::BigInt;
use serde_json::{Map, Value};

use super::shortened;
use super::tagged::TaggedError;

/// Deepest nesting of containers that is read; deeper input is an error, never a stack overflow.
pub const MAX_DEPTH: usize = 100;
/// Integers wider than this are shown and reported in words: printing decimals takes quadratic
/// time.
const SHOWN_BITS: u64 = 20_000;
/// Widest start, stop and step of a range that is read: its length is a division, which takes
/// quadratic time.
pub(super) const RANGE_BITS: u64 = 20_000;
/// Characters of a value in a message.
const SHOWN_CHARS: usize = 200;

/// A value. It has no `==`: whether two are equal depends on who asks, see [`super::equals`].
#[derive(Debug, Clone)]
pub enum Datum {
    None,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Text(String),
    /// A text with lone surrogates, in WTF-8 (Python's `surrogatepass`); never valid UTF-8.
    WtfText(Vec<u8>),
    /// `bytes` and `bytearray`.
    Bytes(Vec<u8>),
    List(Vec<Datum>),
    Tuple(Vec<Datum>),
    /// `set` and `frozenset`.
    Set(Vec<Datum>),
    /// In insertion order.
    Dict(Vec<(Datum, Datum)>),
    Complex(f64, f64),
    Range {
        start: BigInt,
        stop: BigInt,
        step: BigInt,
    },
    /// An object that doesn't cross: equal to nothing, itself included.
    Opaque {
        type_name: String,
        repr: String,
    },
}

impl Datum {
    /// What an author wrote: an integer literal of any size is an `Int`, any other number a `Float`
    /// (`1e3` is 1000.0), an object a dict with text keys. As JSON has no NaN and no infinity,
    /// `{"$float": "nan"}` (`inf`, `-inf`) stands for them; no other tag is known here.
    ///
    /// Fails on nesting beyond [`MAX_DEPTH`] and on floats too large for a double.
    pub fn from_json(value: &Value) -> Result<Datum, TaggedError> {
        from_json(value, 0)
    }

    /// Python's name of the type.
    pub fn type_name(&self) -> &str {
        match self {
            Datum::None => "None",
            Datum::Bool(_) => "bool",
            Datum::Int(_) => "int",
            Datum::Float(_) => "float",
            Datum::Text(_) | Datum::WtfText(_) => "str",
            Datum::Bytes(_) => "bytes",
            Datum::List(_) => "list",
            Datum::Tuple(_) => "tuple",
            Datum::Set(_) => "set",
            Datum::Dict(_) => "dict",
            Datum::Complex(..) => "complex",
            Datum::Range { .. } => "range",
            Datum::Opaque { type_name, .. } => type_name,
        }
    }

    /// For reports: tuples and sets become arrays, and what JSON can't hold (NaN, bytes, complex,
    /// ranges, dicts with other than text keys, opaque values, enormous integers) a text as Python
    /// would print it.
    pub fn to_json(&self) -> Value {
        match self {
            Datum::None => Value::Null,
            Datum::Bool(b) => Value::Bool(*b),
            Datum::Int(i) => json_int(i).unwrap_or_else(|| Value::String(self.to_string())),
            Datum::Float(f) => serde_json::Number::from_f64(*f)
                .map_or_else(|| Value::String(self.to_string()), Value::Number),
            Datum::Text(text) => Value::String(text.clone()),
            Datum::List(items) | Datum::Tuple(items) | Datum::Set(items) => {
                Value::Array(items.iter().map(Datum::to_json).collect())
            }
            Datum::Dict(entries) => {
                let texts: Option<Map<String, Value>> = entries
                    .iter()
                    .map(|(key, value)| match key {
                        Datum::Text(key) => Some((key.clone(), value.to_json())),
                        _ => None,
                    })
                    .collect();
                texts.map_or_else(|| Value::String(self.to_string()), Value::Object)
            }
            _ => Value::String(self.to_string()),
        }
    }
}

pub(super) fn json_int(int: &BigInt) -> Option<Value> {
    (int.bits() <= SHOWN_BITS)
        .then(|| serde_json::from_str(&int.to_string()).ok())
        .flatten()
}

fn from_json(value: &Value, depth: usize) -> Result<Datum, TaggedError> {
    if depth > MAX_DEPTH {
        return Err(TaggedError::TooDeep);
    }
    Ok(match value {
        Value::Null => Datum::None,
        Value::Bool(b) => Datum::Bool(*b),
        Value::Number(number) => authored_number(number)?,
        Value::String(text) => Datum::Text(text.clone()),
        Value::Array(items) => Datum::List(
            items
                .iter()
                .map(|item| from_json(item, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(map) => match special_float(map) {
            Some(float) => Datum::Float(float),
            None => Datum::Dict(
                map.iter()
                    .map(|(key, item)| Ok((Datum::Text(key.clone()), from_json(item, depth + 1)?)))
                    .collect::<Result<_, TaggedError>>()?,
            ),
        },
    })
}

/// The float that `{"$float": ...}` stands for.
pub(super) fn special_float(map: &Map<String, Value>) -> Option<f64> {
    match (map.len(), map.get("$float")?.as_str()?) {
        (1, "nan") => Some(f64::NAN),
        (1, "inf") => Some(f64::INFINITY),
        (1, "-inf") => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// A number of an author's, whose integers may have any number of digits.
fn authored_number(number: &serde_json::Number) -> Result<Datum, TaggedError> {
    let literal = number.to_string();
    if !is_integer(&literal) {
        return float_of(&literal);
    }
    let (negative, digits) = literal
        .strip_prefix('-')
        .map_or((false, literal.as_str()), |rest| (true, rest));
    let int = integer_of(digits).ok_or_else(|| TaggedError::Number(shortened(&literal, 40)))?;
    Ok(Datum::Int(if negative { -int } else { int }))
}

/// A number that a candidate sent: a runner writes long integers in hexadecimal, so that only a
/// forged one is long.
pub(super) fn number_of(number: &serde_json::Number) -> Result<Datum, TaggedError> {
    let literal = number.to_string();
    if !is_integer(&literal) {
        return float_of(&literal);
    }
    if literal.len() > 20_000 {
        return Err(TaggedError::LongInteger {
            digits: literal.len(),
        });
    }
    literal
        .parse()
        .map(Datum::Int)
        .map_err(|_| TaggedError::Number(shortened(&literal, 40)))
}

fn is_integer(literal: &str) -> bool {
    !literal.contains(['.', 'e', 'E', 'n', 'N', 'i', 'I'])
}

fn float_of(literal: &str) -> Result<Datum, TaggedError> {
    match literal.parse::<f64>() {
        Ok(float) if float.is_finite() => Ok(Datum::Float(float)),
        _ => Err(TaggedError::Number(shortened(literal, 40))),
    }
}

/// Digits as a number. Halves are read apart, because reading takes quadratic time and multiplying
/// does not.
fn integer_of(digits: &str) -> Option<BigInt> {
    const AT_ONCE: usize = 4_000;
    if digits.len() <= AT_ONCE {
        return digits.parse().ok();
    }
    let (high, low) = digits.split_at_checked(digits.len() / 2)?;
    let shift = BigInt::from(10u8).pow(u32::try_from(low.len()).ok()?);
    Some(integer_of(high)? * shift + integer_of(low)?)
}

/// As Python's `repr`, near enough for people; at most about 200 characters.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = BoundedWriter {
            text: String::new(),
            left: SHOWN_CHARS,
        };
        // An error only says that the room is used up.
        let complete = write_repr(self, &mut out).is_ok();
        f.write_str(&out.text)?;
        if complete {
            Ok(())
        } else {
            f.write_char('…')
        }
    }
}

/// Takes as many characters as there is room for, then fails, which ends the writing of even an
/// enormous value.
struct BoundedWriter {
    text: String,
    left: usize,
}

impl fmt::Write for BoundedWriter {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for c in s.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

fn write_repr(datum: &Datum, out: &mut BoundedWriter) -> fmt::Result {
    match datum {
        Datum::None => out.write_str("None"),
        Datum::Bool(b) => out.write_str(if *b { "True" } else { "False" }),
        Datum::Int(i) => write_int(i, out),
        Datum::Float(x) => out.write_str(&float_repr(*x)),
        Datum::Text(text) => write_quoted(text, out),
        Datum::WtfText(bytes) => write_quoted(&String::from_utf8_lossy(bytes), out),
        Datum::Bytes(bytes) => {
            out.write_str("b'")?;
            bytes
                .iter()
                .try_for_each(|b| write!(out, "{}", b.escape_ascii()))?;
            out.write_char('\'')
        }
        Datum::List(items) => write_items(items, "[", "]", out),
        Datum::Tuple(items) => {
            write_items(items, "(", if items.len() == 1 { ",)" } else { ")" }, out)
        }
        Datum::Set(items) if items.is_empty() => out.write_str("set()"),
        Datum::Set(items) => write_items(items, "{", "}", out),
        Datum::Dict(entries) => {
            out.write_char('{')?;
            for (i, (key, value)) in entries.iter().enumerate() {
                out.write_str(if i == 0 { "" } else { ", " })?;
                write_repr(key, out)?;
                out.write_str(": ")?;
                write_repr(value, out)?;
            }
            out.write_char('}')
        }
        Datum::Complex(re, im) => write!(out, "complex({}, {})", float_repr(*re), float_repr(*im)),
        Datum::Range { start, stop, step } => {
            out.write_str("range(")?;
            for (i, part) in [start, stop, step].into_iter().enumerate() {
                out.write_str(if i == 0 { "" } else { ", " })?;
                write_int(part, out)?;
            }
            out.write_char(')')
        }
        Datum::Opaque { type_name, repr } if repr.is_empty() => write!(out, "<{type_name} object>"),
        Datum::Opaque { repr, .. } => out.write_str(repr),
    }
}

/// An integer in decimals, or its width where decimals would take too long.
fn write_int(int: &BigInt, out: &mut BoundedWriter) -> fmt::Result {
    match int.bits() {
        bits if bits > SHOWN_BITS => write!(out, "<int of {bits} bits>"),
        _ => write!(out, "{int}"),
    }
}

fn write_items(items: &[Datum], open: &str, close: &str, out: &mut BoundedWriter) -> fmt::Result {
    out.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        out.write_str(if i == 0 { "" } else { ", " })?;
        write_repr(item, out)?;
    }
    out.write_str(close)
}

fn write_quoted(text: &str, out: &mut BoundedWriter) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\\' => out.write_str("\\\\")?,
            c if c == quote => write!(out, "\\{c}")?,
            c if c.is_control() => write!(out, "\\x{:02x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char(quote)
}

/// The shortest text that reads back, with a point or an exponent, so that 1.0 is not taken for 1.
pub(super) fn float_repr(x: f64) -> String {
    if x.is_nan() {
        "nan".to_owned()
    } else if x.is_infinite() {
        if x > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        // Rust's `{:?}` switches to exponents where Python does, at 1e16 and below 1e-4 or so.
        format!("{x:?}")
    }
}
