//! When two values are equal.
//!
//! Every value is spelled in canonical bytes and the spellings are compared, so dicts and sets of
//! any size take n log n.

use num_bigint::BigInt;

use super::value::{Datum, float_repr};

/// Whether two values are equal, of which one was written in YAML or JSON, which has no tuples and
/// only text keys: numbers by value (1 equals 1.0) but `true` is no number, a tuple equals a list,
/// NaN equals NaN, and a dict's int, float, bool or None key equals its text (`{1: a}` arrives as
/// `{"1": a}`; `true` and `null` in YAML's spelling). A set equals only a set: a list can't say that
/// order doesn't matter (`comparator: unordered` does). A value that holds an opaque one equals
/// nothing.
pub fn equals(a: &Datum, b: &Datum) -> bool {
    match (canonical(a), canonical(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// Whether `a == b` in Python, both being values of Python: `True` equals 1, a tuple equals no
/// list, NaN equals nothing (the two were not one object), and keys of dicts are compared as other
/// values are. A value that holds an opaque one equals nothing.
pub fn python_equals(a: &Datum, b: &Datum) -> bool {
    match (
        canonical_as(a, EqualityRules::Python),
        canonical_as(b, EqualityRules::Python),
    ) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EqualityRules {
    /// Those of [`equals`].
    Authored,
    /// Those of [`python_equals`].
    Python,
}

/// Bytes that two values share exactly when they are equal; `None` for what equals nothing.
pub(super) fn canonical(datum: &Datum) -> Option<Vec<u8>> {
    canonical_as(datum, EqualityRules::Authored)
}

fn canonical_as(datum: &Datum, rules: EqualityRules) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    spell(datum, rules, &mut out)?;
    Some(out)
}

fn spell(datum: &Datum, rules: EqualityRules, out: &mut Vec<u8>) -> Option<()> {
    let python = rules == EqualityRules::Python;
    match datum {
        Datum::None => out.push(b'0'),
        Datum::Bool(b) if python => spell_int(&BigInt::from(u8::from(*b)), out),
        Datum::Bool(b) => out.extend([b'b', u8::from(*b)]),
        Datum::Float(f) if python && f.is_nan() => return None,
        Datum::Complex(re, im) if python && (re.is_nan() || im.is_nan()) => return None,
        Datum::Int(i) => spell_int(i, out),
        Datum::Float(f) => spell_float(*f, out),
        // Zero times i: a real number.
        Datum::Complex(re, im) if *im == 0.0 => spell_float(*re, out),
        Datum::Complex(re, im) => {
            out.push(b'c');
            spell_float(*re, out);
            spell_float(*im, out);
        }
        Datum::Text(text) => spell_bytes(b't', text.as_bytes(), out),
        Datum::WtfText(bytes) => spell_bytes(b't', bytes, out),
        Datum::Bytes(bytes) => spell_bytes(b'y', bytes, out),
        Datum::List(items) | Datum::Tuple(items) => {
            let is_tuple = python && matches!(datum, Datum::Tuple(_));
            out.push(if is_tuple { b'u' } else { b'l' });
            out.extend((items.len() as u64).to_le_bytes());
            items.iter().try_for_each(|item| spell(item, rules, out))?;
        }
        Datum::Set(items) => {
            let mut members = items
                .iter()
                .map(|item| canonical_as(item, rules))
                .collect::<Option<Vec<_>>>()?;
            members.sort_unstable();
            members.dedup();
            spell_spelled(b's', &members, out);
        }
        Datum::Dict(entries) => {
            let mut spelled = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let mut entry = Vec::new();
                match key_text(key).filter(|_| !python) {
                    Some(text) => spell_bytes(b't', text.as_bytes(), &mut entry),
                    None => spell(key, rules, &mut entry)?,
                }
                spell(value, rules, &mut entry)?;
                spelled.push(entry);
            }
            spelled.sort_unstable();
            spell_spelled(b'd', &spelled, out);
        }
        Datum::Range { start, step, .. } => {
            // As Python: ranges are equal when they yield the same numbers.
            let length = range_len(datum)?;
            out.push(b'r');
            spell_int(&length, out);
            if length > BigInt::ZERO {
                spell_int(start, out);
            }
            if length > BigInt::from(1u8) {
                spell_int(step, out);
            }
        }
        Datum::Opaque { .. } => return None,
    }
    Some(())
}

/// What YAML would make of a key that is no text.
fn key_text(key: &Datum) -> Option<String> {
    match key {
        // Nobody writes longer keys, and printing them takes quadratic time.
        Datum::Int(i) if i.bits() <= 2_000 => Some(i.to_string()),
        Datum::Float(f) => Some(float_repr(*f)),
        Datum::Bool(b) => Some(b.to_string()),
        Datum::None => Some("null".to_owned()),
        _ => None,
    }
}

fn spell_int(int: &BigInt, out: &mut Vec<u8>) {
    spell_bytes(b'i', &int.to_signed_bytes_le(), out);
}

/// Whole floats are spelled as the integers that they are, so that nothing is rounded on the way.
fn spell_float(f: f64, out: &mut Vec<u8>) {
    match whole(f) {
        Some(int) => spell_int(&int, out),
        // One NaN for all.
        None => {
            let bits = if f.is_nan() { f64::NAN } else { f }.to_bits();
            out.push(b'f');
            out.extend(bits.to_le_bytes());
        }
    }
}

/// The integer that a float is, exactly.
pub(super) fn whole(f: f64) -> Option<BigInt> {
    if !f.is_finite() || f.fract() != 0.0 {
        return None;
    }
    let bits = f.abs().to_bits();
    let exponent = (bits >> 52) as i64 - 1075;
    let mantissa = BigInt::from(bits & ((1 << 52) - 1) | if bits >> 52 == 0 { 0 } else { 1 << 52 });
    let magnitude = if exponent >= 0 {
        mantissa << exponent as u64
    } else {
        mantissa >> (-exponent) as u64
    };
    Some(if f < 0.0 { -magnitude } else { magnitude })
}

/// The number of elements of a range.
pub(super) fn range_len(datum: &Datum) -> Option<BigInt> {
    let Datum::Range { start, stop, step } = datum else {
        return None;
    };
    Some(stride_len(start, stop, step))
}

/// How many numbers lie from `start` on in steps of `step`, before `stop`.
pub(super) fn stride_len(start: &BigInt, stop: &BigInt, step: &BigInt) -> BigInt {
    let (distance, stride) = if *step > BigInt::ZERO {
        (stop - start, step.clone())
    } else {
        (start - stop, -step)
    };
    if stride == BigInt::ZERO || distance <= BigInt::ZERO {
        return BigInt::ZERO;
    }
    (distance - 1u8) / stride + 1u8
}

pub(super) fn spell_bytes(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

pub(super) fn spell_spelled(kind: u8, parts: &[Vec<u8>], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend((parts.len() as u64).to_le_bytes());
    parts.iter().for_each(|part| out.extend(part));
}
