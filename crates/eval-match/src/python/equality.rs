//! Python's `==`, in the order in which Python compares.

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;

use super::numbers::{NumericValue, RealNumber, numeric};
use super::{DictKind, Equality, PythonObject};
use crate::equality::{spell_bytes, spell_spelled, stride_len};
use Equality::{Equal, NotEqual, Unknown};

/// What a key is found by.
pub(super) enum EqualityKey {
    /// Two values have the same bytes exactly when they are equal.
    Bytes(Vec<u8>),
    /// Equal to nothing but itself.
    Unique,
    /// Not hashable, or not known.
    Unknown,
}

pub(super) fn equal(a: &PythonObject, b: &PythonObject) -> Equality {
    match (a, b) {
        // As a match object: it can't be what stands on the other side. The left side is asked
        // first.
        (PythonObject::Opaque { unique: true, .. }, _) => NotEqual,
        (PythonObject::Opaque { .. }, _) => Unknown,
        (_, PythonObject::Opaque { unique: true, .. }) => NotEqual,
        (_, PythonObject::Opaque { .. }) => Unknown,
        (PythonObject::Int(x), PythonObject::Int(y)) => Equality::of(x == y),
        (PythonObject::Float(x), PythonObject::Float(y)) => Equality::of(x == y),
        (PythonObject::Bool(x), PythonObject::Bool(y)) => Equality::of(x == y),
        (PythonObject::Text(x), PythonObject::Text(y)) => Equality::of(x == y),
        (PythonObject::List(x), PythonObject::List(y))
        | (PythonObject::Tuple(x), PythonObject::Tuple(y))
        | (PythonObject::Deque(x), PythonObject::Deque(y)) => in_order(x, y),
        (
            PythonObject::Dict { kind, entries },
            PythonObject::Dict {
                kind: other_kind,
                entries: others,
            },
        ) => dicts((*kind, entries), (*other_kind, others)),
        (
            PythonObject::Set { members: x, .. } | PythonObject::Keys(x),
            PythonObject::Set { members: y, .. } | PythonObject::Keys(y),
        ) => sets(x, y),
        (
            PythonObject::Bytes(x) | PythonObject::ByteArray(x),
            PythonObject::Bytes(y) | PythonObject::ByteArray(y),
        ) => Equality::of(x == y),
        _ => by_key(a, b),
    }
}

/// Equality of what is no container that can change, by the spelling of both.
fn by_key(a: &PythonObject, b: &PythonObject) -> Equality {
    let is_container = |o: &PythonObject| {
        matches!(
            o,
            PythonObject::List(_)
                | PythonObject::Deque(_)
                | PythonObject::Dict { .. }
                | PythonObject::ByteArray(_)
                | PythonObject::Tuple(_)
                | PythonObject::Set { .. }
                | PythonObject::Keys(_)
        )
    };
    // Two containers of one kind have been compared already: different kinds are never equal.
    if is_container(a) || is_container(b) {
        return NotEqual;
    }
    match (key(a), key(b)) {
        (EqualityKey::Unknown, _) | (_, EqualityKey::Unknown) => Unknown,
        (EqualityKey::Bytes(x), EqualityKey::Bytes(y)) => Equality::of(x == y),
        _ => NotEqual,
    }
}

fn in_order(a: &[PythonObject], b: &[PythonObject]) -> Equality {
    if a.len() != b.len() {
        return NotEqual;
    }
    a.iter()
        .zip(b)
        .map(|(x, y)| equal(x, y))
        .find(|e| *e != Equal)
        .unwrap_or(Equal)
}

fn sets(a: &[PythonObject], b: &[PythonObject]) -> Equality {
    if a.len() != b.len() {
        return NotEqual;
    }
    let mut seen = HashSet::with_capacity(b.len());
    for member in b {
        match key(member) {
            EqualityKey::Bytes(bytes) => drop(seen.insert(bytes)),
            EqualityKey::Unique => {}
            EqualityKey::Unknown => return Unknown,
        }
    }
    let mut all = true;
    for member in a {
        match key(member) {
            EqualityKey::Bytes(bytes) => all &= seen.contains(&bytes),
            EqualityKey::Unique => all = false,
            EqualityKey::Unknown => return Unknown,
        }
    }
    Equality::of(all)
}

type DictEntries<'a> = (DictKind, &'a [(PythonObject, PythonObject)]);

fn dicts((kind, a): DictEntries<'_>, (other_kind, b): DictEntries<'_>) -> Equality {
    if kind == DictKind::Counter
        && other_kind == DictKind::Counter
        && a.iter().chain(b).any(|(_, v)| !is_plain_count(v))
    {
        // Since Python 3.10 a missing element counts as zero.
        return Unknown;
    }
    if a.len() != b.len() {
        return NotEqual;
    }
    if kind == DictKind::Ordered && other_kind == DictKind::Ordered {
        let same_keys = a
            .iter()
            .zip(b)
            .map(|(x, y)| equal(&x.0, &y.0))
            .find(|e| *e != Equal);
        if let Some(difference) = same_keys {
            // The order differs: equal in no case, unless a comparison of the values raises first.
            return if any_opaque(a) || any_opaque(b) {
                Unknown
            } else {
                difference
            };
        }
    }
    let mut found = HashMap::with_capacity(b.len());
    for (k, v) in b {
        match key(k) {
            EqualityKey::Bytes(bytes) => drop(found.insert(bytes, v)),
            EqualityKey::Unique => {}
            EqualityKey::Unknown => return Unknown,
        }
    }
    // Their order got lost on the way here, so one that is unknown makes all of it unknown.
    let mut result = Equal;
    for (k, v) in a {
        let one = match key(k) {
            EqualityKey::Bytes(bytes) => found.get(&bytes).map_or(NotEqual, |w| equal(v, w)),
            EqualityKey::Unique => NotEqual,
            EqualityKey::Unknown => Unknown,
        };
        match one {
            Equal => {}
            NotEqual => result = NotEqual,
            Unknown => return Unknown,
        }
    }
    result
}

fn is_plain_count(v: &PythonObject) -> bool {
    matches!(v, PythonObject::Int(i) if *i != BigInt::ZERO)
}

fn any_opaque(entries: &[(PythonObject, PythonObject)]) -> bool {
    fn opaque(o: &PythonObject) -> bool {
        match o {
            PythonObject::Opaque { .. } => true,
            PythonObject::List(items)
            | PythonObject::Tuple(items)
            | PythonObject::Deque(items)
            | PythonObject::Keys(items) => items.iter().any(opaque),
            PythonObject::Dict { entries, .. } => any_opaque(entries),
            _ => false,
        }
    }
    entries.iter().any(|(k, v)| opaque(k) || opaque(v))
}

/// What a value is found by in a dict or a set.
pub(super) fn key(object: &PythonObject) -> EqualityKey {
    let mut out = Vec::new();
    match spell(object, &mut out) {
        Some(true) => EqualityKey::Bytes(out),
        Some(false) => EqualityKey::Unique,
        None => EqualityKey::Unknown,
    }
}

/// `Some(false)`: it holds something that equals nothing; `None`: it can be no key, or is unknown.
fn spell(object: &PythonObject, out: &mut Vec<u8>) -> Option<bool> {
    match object {
        PythonObject::None => out.push(b'0'),
        PythonObject::Ellipsis => out.push(b'.'),
        PythonObject::Text(text) => spell_bytes(b't', text, out),
        PythonObject::Bytes(bytes) => spell_bytes(b'y', bytes, out),
        PythonObject::Type(name) => spell_bytes(b'T', name.as_bytes(), out),
        PythonObject::Stamp(kind, text) => {
            out.push(*kind as u8);
            spell_bytes(b'D', text.as_bytes(), out);
        }
        PythonObject::TimeDelta(us) => {
            out.push(b'd');
            out.extend(us.to_le_bytes());
        }
        PythonObject::Tuple(items) => {
            out.push(b'u');
            out.extend((items.len() as u64).to_le_bytes());
            let mut ordinary = true;
            for item in items {
                ordinary &= spell(item, out)?;
            }
            return Some(ordinary);
        }
        PythonObject::Set {
            members,
            frozen: true,
        } => {
            let mut spelled = Vec::with_capacity(members.len());
            for member in members {
                match key(member) {
                    EqualityKey::Bytes(bytes) => spelled.push(bytes),
                    EqualityKey::Unique => return Some(false),
                    EqualityKey::Unknown => return None,
                }
            }
            spelled.sort_unstable();
            spell_spelled(b's', &spelled, out);
        }
        PythonObject::Range { start, stop, step } => {
            let length = stride_len(start, stop, step);
            spell_int(b'r', &length, out);
            if length > BigInt::ZERO {
                spell_int(b'i', start, out);
            }
            if length > BigInt::from(1u8) {
                spell_int(b'i', step, out);
            }
        }
        PythonObject::Unique => return Some(false),
        _ => return spell_number(object, out),
    }
    Some(true)
}

fn spell_number(object: &PythonObject, out: &mut Vec<u8>) -> Option<bool> {
    match numeric(object) {
        NumericValue::Real(RealNumber::Nan) => return Some(false),
        NumericValue::Real(RealNumber::Infinite { negative }) => {
            out.extend([b'8', u8::from(negative)])
        }
        NumericValue::Real(RealNumber::Finite(n, d)) => {
            spell_int(b'n', &n, out);
            spell_int(b'/', &d, out);
        }
        NumericValue::Complex(re, im) if re.is_nan() || im.is_nan() => return Some(false),
        NumericValue::Complex(re, im) => {
            out.push(b'c');
            // Minus zero is zero.
            out.extend((re + 0.0).to_bits().to_le_bytes());
            out.extend(im.to_bits().to_le_bytes());
        }
        NumericValue::TooWide | NumericValue::NotANumber => return None,
    }
    Some(true)
}

fn spell_int(kind: u8, int: &BigInt, out: &mut Vec<u8>) {
    spell_bytes(kind, &int.to_signed_bytes_le(), out);
}
