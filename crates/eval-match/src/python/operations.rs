//! The few operations that compiled asserts apply to answers. `None`: Python would raise, or the
//! result isn't certain.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::equality::{EqualityKey, key};
use super::numbers::{NumericValue, RealNumber, compare, numeric};
use super::{Equality, PythonObject, python_equal};
use crate::equality::stride_len;

/// Integers up to here are doubles.
const EXACT: u64 = 1 << 53;

/// `bool(x)`.
pub fn truth(x: &PythonObject) -> Option<bool> {
    Some(match x {
        PythonObject::None => false,
        PythonObject::Bool(b) => *b,
        PythonObject::Int(i) | PythonObject::Fraction(i, _) => i.sign() != Sign::NoSign,
        PythonObject::Float(f) => *f != 0.0,
        PythonObject::Complex(re, im) => *re != 0.0 || *im != 0.0,
        PythonObject::Decimal(_) => return None,
        PythonObject::Text(bytes) | PythonObject::Bytes(bytes) | PythonObject::ByteArray(bytes) => {
            !bytes.is_empty()
        }
        PythonObject::List(items)
        | PythonObject::Tuple(items)
        | PythonObject::Deque(items)
        | PythonObject::Keys(items) => !items.is_empty(),
        PythonObject::Set { members, .. } => !members.is_empty(),
        PythonObject::Dict { entries, .. } => !entries.is_empty(),
        PythonObject::Range { start, stop, step } => stride_len(start, stop, step) > BigInt::ZERO,
        PythonObject::TimeDelta(us) => *us != 0,
        PythonObject::Type(_) | PythonObject::Ellipsis => true,
        // Views may be empty, and midnight was once false.
        PythonObject::Stamp(..) | PythonObject::Unique => return None,
        PythonObject::Opaque { truth, .. } => return *truth,
    })
}

/// `x is None`, `x is True`, `x is False` for the second operand.
pub fn identical(x: &PythonObject, singleton: &PythonObject) -> Option<bool> {
    match (x, singleton) {
        (PythonObject::None, PythonObject::None) => Some(true),
        (PythonObject::Bool(a), PythonObject::Bool(b)) => Some(a == b),
        (_, PythonObject::None | PythonObject::Bool(_)) => Some(false),
        _ => None,
    }
}

/// How two values stand to each other; `Some(None)` for NaN, which stands in no order.
pub fn ordered(a: &PythonObject, b: &PythonObject) -> Option<Option<Ordering>> {
    if let (PythonObject::Text(x), PythonObject::Text(y)) = (a, b) {
        // WTF-8 sorts as its code points do.
        return Some(Some(x.cmp(y)));
    }
    // Python refuses to order complex numbers, decimals beside NaN, and fractions beside decimals.
    let plain = |o: &PythonObject| {
        matches!(
            o,
            PythonObject::Bool(_) | PythonObject::Int(_) | PythonObject::Float(_)
        )
    };
    if !plain(a) || !plain(b) {
        return None;
    }
    match (numeric(a), numeric(b)) {
        (NumericValue::Real(x), NumericValue::Real(y)) => Some(compare(&x, &y)),
        _ => None,
    }
}

/// `x in items`, of a list or a tuple.
pub fn member(x: &PythonObject, items: &PythonObject) -> Option<bool> {
    let (PythonObject::List(items) | PythonObject::Tuple(items)) = items else {
        return None;
    };
    for item in items {
        match python_equal(item, x) {
            Equality::Equal => return Some(true),
            Equality::NotEqual => {}
            Equality::Unknown => return None,
        }
    }
    Some(false)
}

/// An integer, or the float that arithmetic with a float makes of it.
enum Operand {
    Int(BigInt),
    Float(f64),
}

fn operand(x: &PythonObject) -> Option<Operand> {
    match x {
        PythonObject::Bool(b) => Some(Operand::Int(BigInt::from(u8::from(*b)))),
        PythonObject::Int(i) => Some(Operand::Int(i.clone())),
        PythonObject::Float(f) => Some(Operand::Float(*f)),
        _ => None,
    }
}

fn to_float(x: &Operand) -> Option<f64> {
    match x {
        Operand::Float(f) => Some(*f),
        Operand::Int(i) => i64::try_from(i)
            .ok()
            .filter(|i| i.unsigned_abs() <= EXACT)
            .map(|i| i as f64),
    }
}

/// `a - b`.
pub fn minus(a: &PythonObject, b: &PythonObject) -> Option<PythonObject> {
    match (operand(a)?, operand(b)?) {
        (Operand::Int(x), Operand::Int(y)) => Some(PythonObject::Int(x - y)),
        (x, y) => Some(PythonObject::Float(to_float(&x)? - to_float(&y)?)),
    }
}

/// `abs(x)`.
pub fn absolute(x: &PythonObject) -> Option<PythonObject> {
    match operand(x)? {
        Operand::Int(i) => Some(PythonObject::Int(if i < BigInt::ZERO { -i } else { i })),
        Operand::Float(f) => Some(PythonObject::Float(f.abs())),
    }
}

/// `float(x)` of a number.
pub fn as_float(x: &PythonObject) -> Option<PythonObject> {
    to_float(&operand(x)?).map(PythonObject::Float)
}

/// `math.isclose(a, b, rel_tol=.., abs_tol=..)`, with CPython's own formula (`math_isclose_impl`).
pub fn close(a: &PythonObject, b: &PythonObject, relative: f64, absolute: f64) -> Option<bool> {
    let (a, b) = (to_float(&operand(a)?)?, to_float(&operand(b)?)?);
    if a == b {
        return Some(true);
    }
    if a.is_infinite() || b.is_infinite() {
        return Some(false);
    }
    let difference = (b - a).abs();
    Some(
        difference <= (relative * b).abs()
            || difference <= (relative * a).abs()
            || difference <= absolute,
    )
}

/// `len(x)`.
pub fn length(x: &PythonObject) -> Option<PythonObject> {
    let length = match x {
        PythonObject::List(items)
        | PythonObject::Tuple(items)
        | PythonObject::Deque(items)
        | PythonObject::Keys(items) => items.len(),
        PythonObject::Set { members, .. } => members.len(),
        PythonObject::Dict { entries, .. } => entries.len(),
        PythonObject::Bytes(bytes) | PythonObject::ByteArray(bytes) => bytes.len(),
        // Code points: every byte but those that go on with one.
        PythonObject::Text(bytes) => bytes.iter().filter(|b| **b & 0xc0 != 0x80).count(),
        _ => return None,
    };
    Some(PythonObject::Int(BigInt::from(length)))
}

fn in_order(x: &PythonObject) -> Option<Vec<PythonObject>> {
    match x {
        PythonObject::List(items) | PythonObject::Tuple(items) | PythonObject::Deque(items) => {
            Some(items.clone())
        }
        _ => None,
    }
}

/// `list(x)` of what has an order.
pub fn as_list(x: &PythonObject) -> Option<PythonObject> {
    in_order(x).map(PythonObject::List)
}

/// `tuple(x)` of what has an order.
pub fn as_tuple(x: &PythonObject) -> Option<PythonObject> {
    in_order(x).map(PythonObject::Tuple)
}

/// `set(x)`.
pub fn as_set(x: &PythonObject) -> Option<PythonObject> {
    let items = match x {
        PythonObject::Set { members, .. } | PythonObject::Keys(members) => members.clone(),
        _ => in_order(x)?,
    };
    let mut seen = std::collections::HashSet::new();
    let mut members = Vec::new();
    for item in items {
        match key(&item) {
            EqualityKey::Bytes(bytes) => {
                if seen.insert(bytes) {
                    members.push(item);
                }
            }
            // The same object twice is one member.
            EqualityKey::Unique | EqualityKey::Unknown => return None,
        }
    }
    Some(PythonObject::Set {
        members,
        frozen: false,
    })
}

/// `sorted(x)` of numbers or of texts.
pub fn sorted(x: &PythonObject) -> Option<PythonObject> {
    let mut items = match x {
        PythonObject::Set { members, .. } | PythonObject::Keys(members) => members.clone(),
        _ => in_order(x)?,
    };
    // Every pair must have an order: all texts, or all numbers without NaN.
    let texts = items.iter().all(|i| matches!(i, PythonObject::Text(_)));
    let number = |o: &PythonObject| {
        matches!(
            o,
            PythonObject::Bool(_) | PythonObject::Int(_) | PythonObject::Float(_)
        ) && !matches!(numeric(o), NumericValue::Real(RealNumber::Nan))
    };
    if !texts && !items.iter().all(number) {
        return None;
    }
    items.sort_by(|a, b| ordered(a, b).flatten().unwrap_or(Ordering::Equal));
    Some(PythonObject::List(items))
}
