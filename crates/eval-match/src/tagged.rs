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

use eval_base::text::{hex, unhex};

use super::decimal::DecimalNumber;
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
    if map.len() != 1 {
        return Err(TaggedError::Malformed {
            tag: "tag",
            found: format!("{} keys", map.len()),
        });
    }
    let malformed = |tag| TaggedError::Malformed {
        tag,
        found: shortened(&body.to_string(), 60),
    };
    let kind = match tag {
        "$int" => "$int",
        "$float" => "$float",
        "$bytes" | "$bytearray" => "$bytes",
        "$wtf8" => "$wtf8",
        "$tuple" => "$tuple",
        "$set" | "$frozenset" | "$dict_keys" => "$set",
        "$deque" => "$deque",
        "$decimal" => "$decimal",
        "$fraction" => "$fraction",
        "$dict" | "$counter" | "$odict" | "$defaultdict" => "$dict",
        "$complex" => "$complex",
        "$range" => "$range",
        "$iter" => return Ok(opaque("iterator", "")),
        "$dict_values" | "$dict_items" => return Ok(opaque(tag.trim_start_matches('$'), "")),
        "$date" | "$datetime" | "$time" | "$timedelta" | "$uuid" => {
            let shown = body
                .as_str()
                .map_or_else(|| body.to_string(), str::to_owned);
            return Ok(opaque(tag.trim_start_matches('$'), &shown));
        }
        "$type" => return Ok(opaque("type", body.as_str().unwrap_or_default())),
        "$ellipsis" => return Ok(opaque("ellipsis", "Ellipsis")),
        _ => return Err(TaggedError::UnknownTag(shortened(tag, 40))),
    };
    let datum = match (kind, body) {
        ("$int", Value::String(text)) => parse_hex_int(text).map(Datum::Int),
        ("$float", _) => special_float(map).map(Datum::Float),
        ("$bytes", Value::String(text)) => unhex(text).map(Datum::Bytes),
        // Python's encoding of a text without lone surrogates is plain UTF-8.
        ("$wtf8", Value::String(text)) => unhex(text).map(|bytes| {
            String::from_utf8(bytes)
                .map_or_else(|error| Datum::WtfText(error.into_bytes()), Datum::Text)
        }),
        ("$decimal", Value::String(text)) => {
            Some(exact_number(text).unwrap_or_else(|| opaque("Decimal", text)))
        }
        ("$tuple", Value::Array(items)) => Some(Datum::Tuple(read_all(items, depth)?)),
        ("$set", Value::Array(items)) => Some(Datum::Set(read_all(items, depth)?)),
        ("$deque", Value::Array(parts)) => match parts.as_slice() {
            [Value::Array(items), _] => Some(Datum::List(read_all(items, depth)?)),
            _ => None,
        },
        ("$dict", Value::Array(pairs)) => {
            let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => Ok((read(key, depth + 1)?, read(value, depth + 1)?)),
                _ => Err(malformed(kind)),
            };
            Some(Datum::Dict(
                pairs.iter().map(pair).collect::<Result<_, _>>()?,
            ))
        }
        ("$fraction", Value::Array(parts)) if parts.len() == 2 => {
            match <[Datum; 2]>::try_from(read_all(parts, depth)?) {
                Ok([Datum::Int(n), Datum::Int(d)]) if d > BigInt::ZERO => Some(fraction(n, d)),
                _ => None,
            }
        }
        ("$complex", Value::Array(parts)) if parts.len() == 2 => {
            match read_all(parts, depth)?.as_slice() {
                [Datum::Float(re), Datum::Float(im)] => Some(Datum::Complex(*re, *im)),
                _ => None,
            }
        }
        ("$range", Value::Array(parts)) if parts.len() == 3 => {
            match <[Datum; 3]>::try_from(read_all(parts, depth)?) {
                Ok([Datum::Int(start), Datum::Int(stop), Datum::Int(step)]) => {
                    if [&start, &stop, &step]
                        .iter()
                        .any(|part| part.bits() > RANGE_BITS)
                    {
                        return Err(TaggedError::WideRange);
                    }
                    (step != BigInt::ZERO).then_some(Datum::Range { start, stop, step })
                }
                _ => None,
            }
        }
        _ => None,
    };
    datum.ok_or_else(|| malformed(kind))
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
    let decimal =
        DecimalNumber::parse(text).filter(|number| number.is_near_its_text(EXACT_POWERS))?;
    if let Some(int) = decimal.to_int() {
        return Some(Datum::Int(int));
    }
    let float = text.parse::<f64>().ok()?;
    (DecimalNumber::from_f64(float).compare(&decimal) == Some(Ordering::Equal))
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
