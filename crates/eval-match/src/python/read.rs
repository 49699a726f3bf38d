//! From tagged JSON to an [`PythonObject`]. What can't be read for certain as the runner's decoder would
//! read it is `None`.

use num_bigint::BigInt;
use serde_json::{Map, Value};

use eval_base::text::unhex;

use super::equality::{EqualityKey, key};
use super::{DictKind, PythonDecimal, PythonObject, StampKind};
use crate::tagged::parse_hex_int;
use crate::value::RANGE_BITS;

impl PythonObject {
    /// Reads tagged JSON whose nesting its parser has bounded.
    pub fn from_tagged(value: &Value) -> Option<PythonObject> {
        Some(match value {
            Value::Null => PythonObject::None,
            Value::Bool(b) => PythonObject::Bool(*b),
            Value::Number(number) => number_of(&number.to_string())?,
            Value::String(text) => PythonObject::Text(text.clone().into_bytes()),
            Value::Array(items) => PythonObject::List(read_all(items)?),
            Value::Object(map) => object_of(map)?,
        })
    }
}

fn number_of(literal: &str) -> Option<PythonObject> {
    if literal.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return if literal.len() > 40 {
            None
        } else {
            literal.parse().ok().map(PythonObject::Int)
        };
    }
    literal
        .parse::<f64>()
        .ok()
        .filter(|f| f.is_finite())
        .map(PythonObject::Float)
}

fn read_all(items: &[Value]) -> Option<Vec<PythonObject>> {
    items.iter().map(PythonObject::from_tagged).collect()
}

fn object_of(map: &Map<String, Value>) -> Option<PythonObject> {
    let mut tags = map
        .keys()
        .filter(|key| map.len() <= 2 && key.starts_with('$'));
    match (tags.next(), tags.next()) {
        (None, _) => {
            let entries = map
                .iter()
                .map(|(k, v)| {
                    Some((
                        PythonObject::Text(k.clone().into_bytes()),
                        PythonObject::from_tagged(v)?,
                    ))
                })
                .collect::<Option<_>>()?;
            Some(PythonObject::Dict {
                kind: DictKind::Plain,
                entries,
            })
        }
        (Some(tag), None) => tagged(tag, map.get(tag)?, map),
        _ => None,
    }
}

fn tagged(tag: &str, body: &Value, map: &Map<String, Value>) -> Option<PythonObject> {
    if tag == "$opaque" {
        let own = map.get("truth").and_then(Value::as_bool);
        let truth = own.or_else(|| map.get("only_truth").and_then(Value::as_bool));
        return Some(PythonObject::Opaque {
            type_name: body.as_str()?.to_owned(),
            truth: if map.contains_key("truth") {
                own
            } else {
                truth
            },
            unique: own.is_some(),
        });
    }
    if map.len() != 1 {
        return None;
    }
    let text = || body.as_str();
    let items = || body.as_array().map(Vec::as_slice);
    let numbers = || items()?.iter().map(int_of).collect::<Option<Vec<BigInt>>>();
    Some(match tag {
        "$int" => PythonObject::Int(parse_hex_int(text()?)?),
        "$float" => PythonObject::Float(match text()? {
            "nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            _ => return None,
        }),
        "$wtf8" => PythonObject::Text(wtf8(unhex(text()?)?)?),
        "$tuple" => PythonObject::Tuple(read_all(items()?)?),
        "$dict" => PythonObject::Dict {
            kind: DictKind::Plain,
            entries: pairs(items()?)?,
        },
        "$defaultdict" => PythonObject::Dict {
            kind: DictKind::Plain,
            entries: pairs(items()?)?,
        },
        "$odict" => PythonObject::Dict {
            kind: DictKind::Ordered,
            entries: pairs(items()?)?,
        },
        "$counter" => PythonObject::Dict {
            kind: DictKind::Counter,
            entries: pairs(items()?)?,
        },
        "$set" => PythonObject::Set {
            members: distinct(items()?)?,
            frozen: false,
        },
        "$frozenset" => PythonObject::Set {
            members: distinct(items()?)?,
            frozen: true,
        },
        "$dict_keys" => PythonObject::Keys(distinct(items()?)?),
        "$deque" => match items()? {
            [Value::Array(held), Value::Null] => PythonObject::Deque(read_all(held)?),
            [Value::Array(held), Value::Number(most)] if most.as_u64()? >= held.len() as u64 => {
                PythonObject::Deque(read_all(held)?)
            }
            _ => return None,
        },
        "$bytes" => PythonObject::Bytes(unhex(text()?)?),
        "$bytearray" => PythonObject::ByteArray(unhex(text()?)?),
        "$complex" => match read_all(items()?)?.as_slice() {
            [PythonObject::Float(re), PythonObject::Float(im)] => PythonObject::Complex(*re, *im),
            _ => return None,
        },
        "$range" => match <[BigInt; 3]>::try_from(numbers()?) {
            Ok(parts) if parts.iter().any(|part| part.bits() > RANGE_BITS) => return None,
            Ok([start, stop, step]) if step != BigInt::ZERO => {
                PythonObject::Range { start, stop, step }
            }
            _ => return None,
        },
        "$fraction" => match <[BigInt; 2]>::try_from(numbers()?) {
            Ok([n, d]) if d != BigInt::ZERO => PythonObject::Fraction(n, d),
            _ => return None,
        },
        "$decimal" => PythonObject::Decimal(decimal(text()?)?),
        "$timedelta" => match <[BigInt; 3]>::try_from(numbers()?) {
            Ok([days, seconds, us]) => PythonObject::TimeDelta(microseconds(&days, &seconds, &us)?),
            _ => return None,
        },
        "$date" => stamp(StampKind::Date, text()?)?,
        "$datetime" => stamp(StampKind::DateTime, text()?)?,
        "$time" => stamp(StampKind::Time, text()?)?,
        "$uuid" => stamp(StampKind::Uuid, text()?)?,
        "$type" => PythonObject::Type(text()?.to_owned()),
        "$ellipsis" => PythonObject::Ellipsis,
        // What it yields must be readable too, or the decoder would refuse it.
        "$iter" | "$dict_values" => read_all(items()?).map(|_| PythonObject::Unique)?,
        _ => return None,
    })
}

fn int_of(value: &Value) -> Option<BigInt> {
    match PythonObject::from_tagged(value)? {
        PythonObject::Int(int) => Some(int),
        _ => None,
    }
}

/// The runner's own spelling of a text that UTF-8 can't hold.
fn wtf8(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut rest = bytes.as_slice();
    // Valid UTF-8 but for the three bytes of each lone surrogate (ED A0..BF 80..BF).
    loop {
        match std::str::from_utf8(rest) {
            Ok(_) => return Some(bytes),
            Err(e) => match rest.get(e.valid_up_to()..)? {
                [0xed, 0xa0..=0xbf, 0x80..=0xbf, after @ ..] => rest = after,
                _ => return None,
            },
        }
    }
}

/// Members of a set; `None` when one can't be a member. Of equal ones the first stays.
fn distinct(items: &[Value]) -> Option<Vec<PythonObject>> {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let object = PythonObject::from_tagged(item)?;
        match key(&object) {
            EqualityKey::Bytes(bytes) => {
                if seen.insert(bytes) {
                    kept.push(object);
                }
            }
            EqualityKey::Unique => kept.push(object),
            EqualityKey::Unknown => return None,
        }
    }
    Some(kept)
}

/// Entries of a dict. Of equal keys the first stays, with the last value.
fn pairs(items: &[Value]) -> Option<Vec<(PythonObject, PythonObject)>> {
    let mut places = std::collections::HashMap::with_capacity(items.len());
    let mut entries: Vec<(PythonObject, PythonObject)> = Vec::with_capacity(items.len());
    for item in items {
        let [k, v] = item.as_array()?.as_slice() else {
            return None;
        };
        let (k, v) = (PythonObject::from_tagged(k)?, PythonObject::from_tagged(v)?);
        match key(&k) {
            EqualityKey::Bytes(bytes) => match places
                .get(&bytes)
                .and_then(|at: &usize| entries.get_mut(*at))
            {
                Some(entry) => entry.1 = v,
                None => {
                    places.insert(bytes, entries.len());
                    entries.push((k, v));
                }
            },
            EqualityKey::Unique => entries.push((k, v)),
            EqualityKey::Unknown => return None,
        }
    }
    Some(entries)
}

fn decimal(text: &str) -> Option<PythonDecimal> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    match unsigned {
        "Infinity" => return Some(PythonDecimal::Infinite { negative }),
        "NaN" => return Some(PythonDecimal::Nan),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.split_once('E') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [before, after].concat();
    if before.is_empty() || digits.len() > 20_000 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits: BigInt = digits.parse().ok()?;
    let exponent = exponent.checked_sub(i64::try_from(after.len()).ok()?)?;
    Some(PythonDecimal::Finite {
        digits: if negative { -digits } else { digits },
        exponent,
    })
}

fn microseconds(days: &BigInt, seconds: &BigInt, us: &BigInt) -> Option<i128> {
    let days = i128::try_from(days)
        .ok()
        .filter(|d| d.abs() <= 999_999_999)?;
    let seconds = i128::try_from(seconds)
        .ok()
        .filter(|s| (0..86_400).contains(s))?;
    let us = i128::try_from(us)
        .ok()
        .filter(|u| (0..1_000_000).contains(u))?;
    Some((days * 86_400 + seconds) * 1_000_000 + us)
}

/// As the types print themselves, where equal values have equal texts: without a time zone.
fn stamp(kind: StampKind, text: &str) -> Option<PythonObject> {
    let shape = |pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(b, p)| match p {
                b'0' => b.is_ascii_digit(),
                b'x' => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
                p => b == p,
            })
    };
    let good = match kind {
        StampKind::Date => shape("0000-00-00"),
        StampKind::DateTime => shape("0000-00-00T00:00:00") || shape("0000-00-00T00:00:00.000000"),
        StampKind::Time => shape("00:00:00") || shape("00:00:00.000000"),
        StampKind::Uuid => shape("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
    };
    good.then(|| PythonObject::Stamp(kind, text.to_owned()))
}
