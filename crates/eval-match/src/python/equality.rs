//! Python's `==`, in the order in which Python compares.

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;

use super::numbers::{Numeric, Real, numeric};
use super::{DictKind, Equality, Object};
use crate::equality::{spell_bytes, spell_spelled, stride_len};
use Equality::{Equal, NotEqual, Unknown};

/// What a key is found by.
pub(super) enum Key {
    /// Two values have the same bytes exactly when they are equal.
    Bytes(Vec<u8>),
    /// Equal to nothing but itself.
    Unique,
    /// Not hashable, or not known.
    Unknown,
}

pub(super) fn equal(a: &Object, b: &Object) -> Equality {
    match (a, b) {
        // As a match object: it can't be what stands on the other side. The left side is asked
        // first.
        (Object::Opaque { unique: true, .. }, _) => NotEqual,
        (Object::Opaque { .. }, _) => Unknown,
        (_, Object::Opaque { unique: true, .. }) => NotEqual,
        (_, Object::Opaque { .. }) => Unknown,
        (Object::Int(x), Object::Int(y)) => Equality::of(x == y),
        (Object::Float(x), Object::Float(y)) => Equality::of(x == y),
        (Object::Bool(x), Object::Bool(y)) => Equality::of(x == y),
        (Object::Text(x), Object::Text(y)) => Equality::of(x == y),
        (Object::List(x), Object::List(y))
        | (Object::Tuple(x), Object::Tuple(y))
        | (Object::Deque(x), Object::Deque(y)) => in_order(x, y),
        (
            Object::Dict { kind, entries },
            Object::Dict {
                kind: other_kind,
                entries: others,
            },
        ) => dicts((*kind, entries), (*other_kind, others)),
        (
            Object::Set { members: x, .. } | Object::Keys(x),
            Object::Set { members: y, .. } | Object::Keys(y),
        ) => sets(x, y),
        (Object::Bytes(x) | Object::ByteArray(x), Object::Bytes(y) | Object::ByteArray(y)) => {
            Equality::of(x == y)
        }
        _ => by_key(a, b),
    }
}

/// Equality of what is no container that can change, by the spelling of both.
fn by_key(a: &Object, b: &Object) -> Equality {
    let is_container = |o: &Object| {
        matches!(
            o,
            Object::List(_)
                | Object::Deque(_)
                | Object::Dict { .. }
                | Object::ByteArray(_)
                | Object::Tuple(_)
                | Object::Set { .. }
                | Object::Keys(_)
        )
    };
    // Two containers of one kind have been compared already: different kinds are never equal.
    if is_container(a) || is_container(b) {
        return NotEqual;
    }
    match (key(a), key(b)) {
        (Key::Unknown, _) | (_, Key::Unknown) => Unknown,
        (Key::Bytes(x), Key::Bytes(y)) => Equality::of(x == y),
        _ => NotEqual,
    }
}

fn in_order(a: &[Object], b: &[Object]) -> Equality {
    if a.len() != b.len() {
        return NotEqual;
    }
    a.iter()
        .zip(b)
        .map(|(x, y)| equal(x, y))
        .find(|e| *e != Equal)
        .unwrap_or(Equal)
}

fn sets(a: &[Object], b: &[Object]) -> Equality {
    if a.len() != b.len() {
        return NotEqual;
    }
    let mut seen = HashSet::with_capacity(b.len());
    for member in b {
        match key(member) {
            Key::Bytes(bytes) => drop(seen.insert(bytes)),
            Key::Unique => {}
            Key::Unknown => return Unknown,
        }
    }
    let mut all = true;
    for member in a {
        match key(member) {
            Key::Bytes(bytes) => all &= seen.contains(&bytes),
            Key::Unique => all = false,
            Key::Unknown => return Unknown,
        }
    }
    Equality::of(all)
}

type Entries<'a> = (DictKind, &'a [(Object, Object)]);

fn dicts((kind, a): Entries<'_>, (other_kind, b): Entries<'_>) -> Equality {
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
            Key::Bytes(bytes) => drop(found.insert(bytes, v)),
            Key::Unique => {}
            Key::Unknown => return Unknown,
        }
    }
    // Their order got lost on the way here, so one that is unknown makes all of it unknown.
    let mut result = Equal;
    for (k, v) in a {
        let one = match key(k) {
            Key::Bytes(bytes) => found.get(&bytes).map_or(NotEqual, |w| equal(v, w)),
            Key::Unique => NotEqual,
            Key::Unknown => Unknown,
        };
        match one {
            Equal => {}
            NotEqual => result = NotEqual,
            Unknown => return Unknown,
        }
    }
    result
}

fn is_plain_count(v: &Object) -> bool {
    matches!(v, Object::Int(i) if *i != BigInt::ZERO)
}

fn any_opaque(entries: &[(Object, Object)]) -> bool {
    fn opaque(o: &Object) -> bool {
        match o {
            Object::Opaque { .. } => true,
            Object::List(items)
            | Object::Tuple(items)
            | Object::Deque(items)
            | Object::Keys(items) => items.iter().any(opaque),
            Object::Dict { entries, .. } => any_opaque(entries),
            _ => false,
        }
    }
    entries.iter().any(|(k, v)| opaque(k) || opaque(v))
}

/// What a value is found by in a dict or a set.
pub(super) fn key(object: &Object) -> Key {
    let mut out = Vec::new();
    match spell(object, &mut out) {
        Some(true) => Key::Bytes(out),
        Some(false) => Key::Unique,
        None => Key::Unknown,
    }
}

/// `Some(false)`: it holds something that equals nothing; `None`: it can be no key, or is unknown.
fn spell(object: &Object, out: &mut Vec<u8>) -> Option<bool> {
    match object {
        Object::None => out.push(b'0'),
        Object::Ellipsis => out.push(b'.'),
        Object::Text(text) => spell_bytes(b't', text, out),
        Object::Bytes(bytes) => spell_bytes(b'y', bytes, out),
        Object::Type(name) => spell_bytes(b'T', name.as_bytes(), out),
        Object::Stamp(kind, text) => {
            out.push(*kind as u8);
            spell_bytes(b'D', text.as_bytes(), out);
        }
        Object::TimeDelta(us) => {
            out.push(b'd');
            out.extend(us.to_le_bytes());
        }
        Object::Tuple(items) => {
            out.push(b'u');
            out.extend((items.len() as u64).to_le_bytes());
            let mut ordinary = true;
            for item in items {
                ordinary &= spell(item, out)?;
            }
            return Some(ordinary);
        }
        Object::Set {
            members,
            frozen: true,
        } => {
            let mut spelled = Vec::with_capacity(members.len());
            for member in members {
                match key(member) {
                    Key::Bytes(bytes) => spelled.push(bytes),
                    Key::Unique => return Some(false),
                    Key::Unknown => return None,
                }
            }
            spelled.sort_unstable();
            spell_spelled(b's', &spelled, out);
        }
        Object::Range { start, stop, step } => {
            let length = stride_len(start, stop, step);
            spell_int(b'r', &length, out);
            if length > BigInt::ZERO {
                spell_int(b'i', start, out);
            }
            if length > BigInt::from(1u8) {
                spell_int(b'i', step, out);
            }
        }
        Object::Unique => return Some(false),
        _ => return spell_number(object, out),
    }
    Some(true)
}

fn spell_number(object: &Object, out: &mut Vec<u8>) -> Option<bool> {
    match numeric(object) {
        Numeric::Real(Real::Nan) => return Some(false),
        Numeric::Real(Real::Infinite { negative }) => out.extend([b'8', u8::from(negative)]),
        Numeric::Real(Real::Finite(n, d)) => {
            spell_int(b'n', &n, out);
            spell_int(b'/', &d, out);
        }
        Numeric::Complex(re, im) if re.is_nan() || im.is_nan() => return Some(false),
        Numeric::Complex(re, im) => {
            out.push(b'c');
            // Minus zero is zero.
            out.extend((re + 0.0).to_bits().to_le_bytes());
            out.extend(im.to_bits().to_le_bytes());
        }
        Numeric::TooWide | Numeric::NotANumber => return None,
    }
    Some(true)
}

fn spell_int(kind: u8, int: &BigInt, out: &mut Vec<u8>) {
    spell_bytes(kind, &int.to_signed_bytes_le(), out);
}
