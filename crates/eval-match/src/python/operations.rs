//! The few operations that compiled asserts apply to answers. `None`: Python would raise, or the
//! result isn't certain.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::equality::{Key, key};
use super::numbers::{Numeric, Real, compare, numeric};
use super::{Equality, Object, python_equal};
use crate::equality::stride_len;

/// Integers up to here are doubles.
const EXACT: u64 = 1 << 53;

/// `bool(x)`.
pub fn truth(x: &Object) -> Option<bool> {
    Some(match x {
        Object::None => false,
        Object::Bool(b) => *b,
        Object::Int(i) | Object::Fraction(i, _) => i.sign() != Sign::NoSign,
        Object::Float(f) => *f != 0.0,
        Object::Complex(re, im) => *re != 0.0 || *im != 0.0,
        Object::Decimal(_) => return None,
        Object::Text(bytes) | Object::Bytes(bytes) | Object::ByteArray(bytes) => !bytes.is_empty(),
        Object::List(items) | Object::Tuple(items) | Object::Deque(items) | Object::Keys(items) => {
            !items.is_empty()
        }
        Object::Set { members, .. } => !members.is_empty(),
        Object::Dict { entries, .. } => !entries.is_empty(),
        Object::Range { start, stop, step } => stride_len(start, stop, step) > BigInt::ZERO,
        Object::TimeDelta(us) => *us != 0,
        Object::Type(_) | Object::Ellipsis => true,
        // Views may be empty, and midnight was once false.
        Object::Stamp(..) | Object::Unique => return None,
        Object::Opaque { truth, .. } => return *truth,
    })
}

/// `x is None`, `x is True`, `x is False` for the second operand.
pub fn identical(x: &Object, singleton: &Object) -> Option<bool> {
    match (x, singleton) {
        (Object::None, Object::None) => Some(true),
        (Object::Bool(a), Object::Bool(b)) => Some(a == b),
        (_, Object::None | Object::Bool(_)) => Some(false),
        _ => None,
    }
}

/// How two values stand to each other; `Some(None)` for NaN, which stands in no order.
pub fn ordered(a: &Object, b: &Object) -> Option<Option<Ordering>> {
    if let (Object::Text(x), Object::Text(y)) = (a, b) {
        // WTF-8 sorts as its code points do.
        return Some(Some(x.cmp(y)));
    }
    // Python refuses to order complex numbers, decimals beside NaN, and fractions beside decimals.
    let plain = |o: &Object| matches!(o, Object::Bool(_) | Object::Int(_) | Object::Float(_));
    if !plain(a) || !plain(b) {
        return None;
    }
    match (numeric(a), numeric(b)) {
        (Numeric::Real(x), Numeric::Real(y)) => Some(compare(&x, &y)),
        _ => None,
    }
}

/// `x in items`, of a list or a tuple.
pub fn member(x: &Object, items: &Object) -> Option<bool> {
    let (Object::List(items) | Object::Tuple(items)) = items else {
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

fn operand(x: &Object) -> Option<Operand> {
    match x {
        Object::Bool(b) => Some(Operand::Int(BigInt::from(u8::from(*b)))),
        Object::Int(i) => Some(Operand::Int(i.clone())),
        Object::Float(f) => Some(Operand::Float(*f)),
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
pub fn minus(a: &Object, b: &Object) -> Option<Object> {
    match (operand(a)?, operand(b)?) {
        (Operand::Int(x), Operand::Int(y)) => Some(Object::Int(x - y)),
        (x, y) => Some(Object::Float(to_float(&x)? - to_float(&y)?)),
    }
}

/// `abs(x)`.
pub fn absolute(x: &Object) -> Option<Object> {
    match operand(x)? {
        Operand::Int(i) => Some(Object::Int(if i < BigInt::ZERO { -i } else { i })),
        Operand::Float(f) => Some(Object::Float(f.abs())),
    }
}

/// `float(x)` of a number.
pub fn as_float(x: &Object) -> Option<Object> {
    to_float(&operand(x)?).map(Object::Float)
}

/// `math.isclose(a, b, rel_tol=.., abs_tol=..)`, with CPython's own formula (`math_isclose_impl`).
pub fn close(a: &Object, b: &Object, relative: f64, absolute: f64) -> Option<bool> {
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
pub fn length(x: &Object) -> Option<Object> {
    let length = match x {
        Object::List(items) | Object::Tuple(items) | Object::Deque(items) | Object::Keys(items) => {
            items.len()
        }
        Object::Set { members, .. } => members.len(),
        Object::Dict { entries, .. } => entries.len(),
        Object::Bytes(bytes) | Object::ByteArray(bytes) => bytes.len(),
        // Code points: every byte but those that go on with one.
        Object::Text(bytes) => bytes.iter().filter(|b| **b & 0xc0 != 0x80).count(),
        _ => return None,
    };
    Some(Object::Int(BigInt::from(length)))
}

fn in_order(x: &Object) -> Option<Vec<Object>> {
    match x {
        Object::List(items) | Object::Tuple(items) | Object::Deque(items) => Some(items.clone()),
        _ => None,
    }
}

/// `list(x)` of what has an order.
pub fn as_list(x: &Object) -> Option<Object> {
    in_order(x).map(Object::List)
}

/// `tuple(x)` of what has an order.
pub fn as_tuple(x: &Object) -> Option<Object> {
    in_order(x).map(Object::Tuple)
}

/// `set(x)`.
pub fn as_set(x: &Object) -> Option<Object> {
    let items = match x {
        Object::Set { members, .. } | Object::Keys(members) => members.clone(),
        _ => in_order(x)?,
    };
    let mut seen = std::collections::HashSet::new();
    let mut members = Vec::new();
    for item in items {
        match key(&item) {
            Key::Bytes(bytes) => {
                if seen.insert(bytes) {
                    members.push(item);
                }
            }
            // The same object twice is one member.
            Key::Unique | Key::Unknown => return None,
        }
    }
    Some(Object::Set {
        members,
        frozen: false,
    })
}

/// `sorted(x)` of numbers or of texts.
pub fn sorted(x: &Object) -> Option<Object> {
    let mut items = match x {
        Object::Set { members, .. } | Object::Keys(members) => members.clone(),
        _ => in_order(x)?,
    };
    // Every pair must have an order: all texts, or all numbers without NaN.
    let texts = items.iter().all(|i| matches!(i, Object::Text(_)));
    let number = |o: &Object| {
        matches!(o, Object::Bool(_) | Object::Int(_) | Object::Float(_))
            && !matches!(numeric(o), Numeric::Real(Real::Nan))
    };
    if !texts && !items.iter().all(number) {
        return None;
    }
    items.sort_by(|a, b| ordered(a, b).flatten().unwrap_or(Ordering::Equal));
    Some(Object::List(items))
}
