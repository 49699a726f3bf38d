//! Values in the tagged JSON that crosses the sandbox's border.
//!
//! Plain: null, booleans, numbers, texts, lists, and dicts whose keys are texts that don't start
//! with `$`. Everything else is an object with one tag: `$int` (hexadecimal), `$float` (`nan`,
//! `inf`, `-inf`), `$tuple`, `$set`, `$dict` (pairs), `$bytes` and `$wtf8` (hexadecimal),
//! `$complex`, `$range`; and `$opaque` with an optional `repr` beside it. The other containers of
//! the standard library are read as the plain ones that they compare as (`$frozenset`, `$counter`,
//! `$odict`, `$defaultdict`, `$deque`, `$bytearray`, `$dict_keys`), `$decimal` and `$fraction` as
//! the number that they are if an integer or a float is exactly that; all others (`$iter`,
//! `$dict_values`, `$date`, `$type`, ...) equal no plain value. What the other side sends is
//! hostile: every shape that isn't one of these is an error.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use serde_json::{Map, Value, json};

use super::decimal::Number;
use super::shortened;
use super::value::{Datum, MAX_DEPTH, RANGE_BITS, float_repr, number_of, special_float};

/// Why JSON could not be read as a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaggedError {
    #[error("values are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("an integer of {digits} digits is too long")]
    LongInteger { digits: usize },
    #[error("{0} is not a number that can be held")]
    Number(String),
    #[error("unknown tag {0:?}")]
    UnknownTag(String),
    #[error("malformed {tag}: {found}")]
    Malformed { tag: &'static str, found: String },
    #[error("the parts of a range are wider than {RANGE_BITS} bits")]
    WideRange,
}

impl Datum {
    /// Reads tagged JSON. The depth is bounded by [`MAX_DEPTH`] containers.
    pub fn from_tagged(value: &Value) -> Result<Datum, TaggedError> {
        read(value, 0)
    }

    /// Writes tagged JSON: `from_tagged(to_tagged(x))` is `x`. Finite floats keep a point or
    /// exponent, so that 1.0 stays a float in a reader that tells them apart.
    pub fn to_tagged(&self) -> Value {
        match self {
            Datum::None => Value::Null,
            Datum::Bool(b) => Value::Bool(*b),
            Datum::Int(i) => match i64::try_from(i) {
                Ok(small) if small.unsigned_abs() < 1 << 53 => json!(small),
                _ => json!({"$int": hex_int(i)}),
            },
            Datum::Float(f) if f.is_finite() => {
                serde_json::from_str(&float_repr(*f)).unwrap_or_default()
            }
            Datum::Float(f) => json!({"$float": float_repr(*f)}),
            Datum::Text(text) => Value::String(text.clone()),
            Datum::WtfText(bytes) => json!({"$wtf8": hex(bytes)}),
            Datum::Bytes(bytes) => json!({"$bytes": hex(bytes)}),
            Datum::List(items) => list(items),
            Datum::Tuple(items) => json!({"$tuple": list(items)}),
            Datum::Set(items) => json!({"$set": list(items)}),
            Datum::Dict(entries) => dict(entries),
            Datum::Complex(re, im) => {
                json!({"$complex": [Datum::Float(*re).to_tagged(), Datum::Float(*im).to_tagged()]})
            }
            Datum::Range { start, stop, step } => {
                let parts: Vec<Value> = [start, stop, step]
                    .into_iter()
                    .map(|part| Datum::Int(part.clone()).to_tagged())
                    .collect();
                json!({"$range": parts})
            }
            Datum::Opaque { type_name, repr } => json!({"$opaque": type_name, "repr": repr}),
        }
    }
}

fn list(items: &[Datum]) -> Value {
    Value::Array(items.iter().map(Datum::to_tagged).collect())
}

fn dict(entries: &[(Datum, Datum)]) -> Value {
    let plain: Option<Map<String, Value>> = entries
        .iter()
        .map(|(key, value)| match key {
            Datum::Text(key) if !key.starts_with('$') => Some((key.clone(), value.to_tagged())),
            _ => None,
        })
        .collect();
    // A JSON object sorts its keys and keeps one of two equal ones; a dict in any other order must
    // cross as pairs.
    let ascending = entries.is_sorted_by(|(a, _), (b, _)| match (a, b) {
        (Datum::Text(a), Datum::Text(b)) => a < b,
        _ => false,
    });
    match plain {
        Some(map) if ascending => Value::Object(map),
        _ => {
            let pairs: Vec<Value> = entries
                .iter()
                .map(|(k, v)| json!([k.to_tagged(), v.to_tagged()]))
                .collect();
            json!({"$dict": pairs})
        }
    }
}

fn read(value: &Value, depth: usize) -> Result<Datum, TaggedError> {
    if depth > MAX_DEPTH {
        return Err(TaggedError::TooDeep);
    }
    Ok(match value {
        Value::Null => Datum::None,
        Value::Bool(b) => Datum::Bool(*b),
        Value::Number(number) => number_of(number)?,
        Value::String(text) => Datum::Text(text.clone()),
        Value::Array(items) => Datum::List(read_all(items, depth)?),
        Value::Object(map) => match map.keys().find(|key| key.starts_with('$')) {
            Some(tag) => read_tag(tag, map, depth)?,
            None => Datum::Dict(
                map.iter()
                    .map(|(key, item)| Ok((Datum::Text(key.clone()), read(item, depth + 1)?)))
                    .collect::<Result<_, TaggedError>>()?,
            ),
        },
    })
}

fn read_all(items: &[Value], depth: usize) -> Result<Vec<Datum>, TaggedError> {
    items.iter().map(|item| read(item, depth + 1)).collect()
}

fn read_tag(tag: &str, map: &Map<String, Value>, depth: usize) -> Result<Datum, TaggedError> {
    let body = map.get(tag).unwrap_or(&Value::Null);
    if tag == "$opaque" {
        let text =
            |v: Option<&Value>| shortened(v.and_then(Value::as_str).unwrap_or_default(), 500);
        return Ok(Datum::Opaque {
            type_name: text(Some(body)),
            repr: text(map.get("repr")),
        });
    }
    let malformed = |tag| TaggedError::Malformed {
        tag,
        found: shortened(&body.to_string(), 60),
    };
    if map.len() != 1 {
        return Err(TaggedError::Malformed {
            tag: "tag",
            found: format!("{} keys", map.len()),
        });
    }
    match tag {
        "$int" => body
            .as_str()
            .and_then(parse_hex_int)
            .map(Datum::Int)
            .ok_or_else(|| malformed("$int")),
        "$float" => special_float(map)
            .map(Datum::Float)
            .ok_or_else(|| malformed("$float")),
        "$bytes" | "$bytearray" => body
            .as_str()
            .and_then(unhex)
            .map(Datum::Bytes)
            .ok_or_else(|| malformed("$bytes")),
        "$wtf8" => {
            let bytes = body
                .as_str()
                .and_then(unhex)
                .ok_or_else(|| malformed("$wtf8"))?;
            // Python's encoding of a text without lone surrogates is plain UTF-8.
            Ok(String::from_utf8(bytes)
                .map_or_else(|error| Datum::WtfText(error.into_bytes()), Datum::Text))
        }
        "$tuple" => Ok(Datum::Tuple(read_all(
            body.as_array().ok_or_else(|| malformed("$tuple"))?,
            depth,
        )?)),
        "$set" | "$frozenset" | "$dict_keys" => Ok(Datum::Set(read_all(
            body.as_array().ok_or_else(|| malformed("$set"))?,
            depth,
        )?)),
        "$deque" => match body.as_array().map(Vec::as_slice) {
            Some([Value::Array(items), _]) => Ok(Datum::List(read_all(items, depth)?)),
            _ => Err(malformed("$deque")),
        },
        "$decimal" => {
            let text = body.as_str().ok_or_else(|| malformed("$decimal"))?;
            Ok(exact_number(text).unwrap_or_else(|| opaque("Decimal", text)))
        }
        "$fraction" => match body.as_array().map(Vec::as_slice) {
            Some([n, d]) => match (read(n, depth + 1)?, read(d, depth + 1)?) {
                (Datum::Int(n), Datum::Int(d)) if d > BigInt::ZERO => Ok(fraction(n, d)),
                _ => Err(malformed("$fraction")),
            },
            _ => Err(malformed("$fraction")),
        },
        "$iter" => Ok(opaque("iterator", "")),
        "$dict_values" | "$dict_items" => Ok(opaque(tag.trim_start_matches('$'), "")),
        "$date" | "$datetime" | "$time" | "$timedelta" | "$uuid" => {
            let shown = body
                .as_str()
                .map_or_else(|| body.to_string(), str::to_owned);
            Ok(opaque(tag.trim_start_matches('$'), &shown))
        }
        "$type" => Ok(opaque("type", body.as_str().unwrap_or_default())),
        "$ellipsis" => Ok(opaque("ellipsis", "Ellipsis")),
        "$dict" | "$counter" | "$odict" | "$defaultdict" => body
            .as_array()
            .ok_or_else(|| malformed("$dict"))?
            .iter()
            .map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => Ok((read(key, depth + 1)?, read(value, depth + 1)?)),
                _ => Err(malformed("$dict")),
            })
            .collect::<Result<_, _>>()
            .map(Datum::Dict),
        "$complex" => match body.as_array().map(Vec::as_slice) {
            Some([re, im]) => match (read(re, depth + 1)?, read(im, depth + 1)?) {
                (Datum::Float(re), Datum::Float(im)) => Ok(Datum::Complex(re, im)),
                _ => Err(malformed("$complex")),
            },
            _ => Err(malformed("$complex")),
        },
        "$range" => match body.as_array().map(Vec::as_slice) {
            Some([a, b, c]) => match (
                read(a, depth + 1)?,
                read(b, depth + 1)?,
                read(c, depth + 1)?,
            ) {
                (Datum::Int(start), Datum::Int(stop), Datum::Int(step))
                    if [&start, &stop, &step]
                        .iter()
                        .any(|part| part.bits() > RANGE_BITS) =>
                {
                    Err(TaggedError::WideRange)
                }
                (Datum::Int(start), Datum::Int(stop), Datum::Int(step)) if step != BigInt::ZERO => {
                    Ok(Datum::Range { start, stop, step })
                }
                _ => Err(malformed("$range")),
            },
            _ => Err(malformed("$range")),
        },
        _ => Err(TaggedError::UnknownTag(shortened(tag, 40))),
    }
}

fn opaque(type_name: &str, repr: &str) -> Datum {
    Datum::Opaque {
        type_name: type_name.to_owned(),
        repr: shortened(repr, 500),
    }
}

/// Powers of ten of the decimals that are read as numbers: those of all doubles are among them.
const EXACT_POWERS: i64 = 1_100;

/// The integer or the float that a decimal text is without rounding.
fn exact_number(text: &str) -> Option<Datum> {
    // A short text such as 1E+19999 is a long number, and an answer may hold very many of them.
    let decimal = Number::parse(text).filter(|number| number.is_near_its_text(EXACT_POWERS))?;
    if let Some(int) = decimal.to_int() {
        return Some(Datum::Int(int));
    }
    let float = text.parse::<f64>().ok()?;
    (Number::from_f64(float).compare(&decimal) == Some(Ordering::Equal))
        .then_some(Datum::Float(float))
}

/// The integer or the float that a fraction in lowest terms is without rounding.
fn fraction(n: BigInt, d: BigInt) -> Datum {
    if d == BigInt::from(1u8) {
        return Datum::Int(n);
    }
    // Integers up to here, and their quotients by powers of two, are doubles.
    let small = |int: &BigInt| {
        i64::try_from(int)
            .ok()
            .filter(|i| i.unsigned_abs() <= 1 << 53)
    };
    match (small(&n), small(&d)) {
        (Some(n), Some(d)) if d.count_ones() == 1 => Datum::Float(n as f64 / d as f64),
        _ => opaque(
            "Fraction",
            &format!("Fraction({}, {})", Datum::Int(n), Datum::Int(d)),
        ),
    }
}

fn hex_int(int: &BigInt) -> String {
    let sign = if int.sign() == Sign::Minus { "-" } else { "" };
    format!("{sign}0x{}", int.magnitude().to_str_radix(16))
}

pub(super) fn parse_hex_int(text: &str) -> Option<BigInt> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (Sign::Minus, rest),
        None => (Sign::Plus, text),
    };
    let digits = digits.strip_prefix("0x")?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    num_bigint::BigUint::parse_bytes(digits.as_bytes(), 16)
        .map(|magnitude| BigInt::from_biguint(sign, magnitude))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8))
        .collect()
}
