//! The comparators of function cases: what came back against what was expected.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::options::{Comparator, RegexFlags, Tolerance};

use super::MatchResult;
use super::decimal::DecimalNumber;
use super::equality::{canonical, equals, range_len};
use super::pattern::CompiledPattern;
use super::value::Datum;

/// What `approx` allows when the author says nothing: Python's `math.isclose`.
const DEFAULT_TOLERANCE: Tolerance = Tolerance {
    absolute: None,
    relative: Some(1e-9),
    min_delta: None,
    max_delta: None,
};

/// Compares a returned value with what an author wrote, by [`equals`].
///
/// - `contains`: a text holds the text; a list, tuple, set or range has an equal element; a dict
///   has the key, or all the entries of an expected dict.
/// - `regex`: the expected text is a pattern that is searched in the returned text.
/// - `unordered`: two lists (tuples, sets) have equal elements equally often, at the top level.
/// - `approx`: numbers within the tolerance at any depth, anything else equal.
/// - `not_equals` holds only for values that are known to differ: never when the returned value
///   holds an opaque one.
///
/// An error is the author's: an expectation that the comparator can't use.
pub fn compare(
    comparator: Comparator,
    actual: &Datum,
    expected: &Datum,
    tolerance: Option<&Tolerance>,
) -> Result<MatchResult, String> {
    Ok(match comparator {
        Comparator::Equals if equals(actual, expected) => MatchResult::matched(),
        Comparator::Equals => MatchResult::differs(difference(actual, expected, &|_, _| false)),
        Comparator::NotEquals => not_equals(actual, expected),
        Comparator::Approx => {
            let tolerance = tolerance.unwrap_or(&DEFAULT_TOLERANCE);
            let near = |a: &Datum, e: &Datum| numbers_within(a, e, tolerance);
            if approx(actual, expected, &near) {
                MatchResult::matched()
            } else {
                MatchResult::differs(difference(actual, expected, &near))
            }
        }
        Comparator::Contains => contains(actual, expected),
        Comparator::Regex => return regex(actual, expected),
        Comparator::Unordered => return unordered(actual, expected),
    })
}

fn not_equals(actual: &Datum, expected: &Datum) -> MatchResult {
    if let Some(type_name) = opaque_within(actual) {
        MatchResult::differs(format!(
            "returned a {type_name} object, of which it can't be known what it equals"
        ))
    } else if equals(actual, expected) {
        MatchResult::differs(format!("returned {actual}, which it must not equal"))
    } else {
        MatchResult::matched()
    }
}

fn opaque_within(datum: &Datum) -> Option<&str> {
    match datum {
        Datum::Opaque { type_name, .. } => Some(type_name),
        Datum::List(items) | Datum::Tuple(items) | Datum::Set(items) => {
            items.iter().find_map(opaque_within)
        }
        Datum::Dict(entries) => entries
            .iter()
            .find_map(|(key, value)| opaque_within(key).or_else(|| opaque_within(value))),
        _ => None,
    }
}

type NearTest<'a> = &'a dyn Fn(&Datum, &Datum) -> bool;

fn numbers_within(actual: &Datum, expected: &Datum, tolerance: &Tolerance) -> bool {
    match (actual, expected) {
        (Datum::Complex(a, b), Datum::Complex(c, d)) => {
            let near = |x: f64, y: f64| {
                DecimalNumber::from_f64(x).within(&DecimalNumber::from_f64(y), tolerance)
            };
            near(*a, *c) && near(*b, *d)
        }
        _ => match (number(actual), number(expected)) {
            (Some(a), Some(e)) => a.within(&e, tolerance),
            _ => false,
        },
    }
}

pub(super) fn number(datum: &Datum) -> Option<DecimalNumber> {
    match datum {
        Datum::Int(i) => Some(DecimalNumber::from_int(i)),
        Datum::Float(f) => Some(DecimalNumber::from_f64(*f)),
        _ => None,
    }
}

fn approx(actual: &Datum, expected: &Datum, near: NearTest) -> bool {
    match (actual, expected) {
        (Datum::List(a) | Datum::Tuple(a), Datum::List(e) | Datum::Tuple(e)) => {
            a.len() == e.len() && a.iter().zip(e).all(|(a, e)| approx(a, e, near))
        }
        (Datum::Dict(a), Datum::Dict(e)) => {
            let values = by_key(a);
            a.len() == e.len()
                && values.len() == a.len()
                && e.iter().all(|(key, value)| {
                    key_of(key)
                        .and_then(|key| values.get(&key).copied())
                        .is_some_and(|a| approx(a, value, near))
                })
        }
        _ => near(actual, expected) || equals(actual, expected),
    }
}

/// A dict's key in canonical bytes, as it would be spelled as a key: the key of a dict of its own.
fn key_of(key: &Datum) -> Option<Vec<u8>> {
    canonical(&Datum::Dict(vec![(key.clone(), Datum::None)]))
}

fn by_key(entries: &[(Datum, Datum)]) -> HashMap<Vec<u8>, &Datum> {
    entries
        .iter()
        .filter_map(|(key, value)| Some((key_of(key)?, value)))
        .collect()
}

fn contains(actual: &Datum, expected: &Datum) -> MatchResult {
    let found = match (actual, expected) {
        (Datum::Text(text), Datum::Text(part)) => text.contains(part.as_str()),
        (Datum::List(items) | Datum::Tuple(items) | Datum::Set(items), _) => canonical(expected)
            .is_some_and(|e| {
                items
                    .iter()
                    .any(|item| canonical(item).as_ref() == Some(&e))
            }),
        (Datum::Dict(entries), Datum::Dict(wanted)) => {
            let values = by_key(entries);
            wanted.iter().all(|(key, value)| {
                key_of(key)
                    .and_then(|key| values.get(&key).copied())
                    .is_some_and(|actual| equals(actual, value))
            })
        }
        (Datum::Dict(entries), key) => key_of(key).is_some_and(|key| {
            entries
                .iter()
                .any(|(k, _)| key_of(k).as_ref() == Some(&key))
        }),
        (Datum::Range { start, step, .. }, Datum::Int(wanted)) => {
            let offset = wanted - start;
            &offset % step == BigInt::ZERO
                && offset.clone() / step >= BigInt::ZERO
                && range_len(actual).is_some_and(|length| offset / step < length)
        }
        _ => {
            let reason = format!(
                "a {} can't contain a {}",
                actual.type_name(),
                expected.type_name()
            );
            return MatchResult::differs(reason);
        }
    };
    if found {
        MatchResult::matched()
    } else {
        MatchResult::differs(format!("{actual} doesn't contain {expected}"))
    }
}

fn regex(actual: &Datum, expected: &Datum) -> Result<MatchResult, String> {
    compare_pattern(&expected_pattern(expected)?, actual, expected)
}

/// The pattern that an expected value is for [`Comparator::Regex`], compiled before the answer is
/// there.
pub fn expected_pattern(expected: &Datum) -> Result<CompiledPattern, String> {
    let Datum::Text(pattern) = expected else {
        return Err(format!("a regex must be a text, not {expected}"));
    };
    CompiledPattern::compile_bounded(pattern, RegexFlags::default())
        .map_err(|error| error.to_string())
}

/// [`compare`] by [`Comparator::Regex`] with the pattern that [`expected_pattern`] gave.
pub fn compare_pattern(
    pattern: &CompiledPattern,
    actual: &Datum,
    expected: &Datum,
) -> Result<MatchResult, String> {
    let Datum::Text(text) = actual else {
        return Ok(MatchResult::differs(format!(
            "expected a str that matches, got {actual}"
        )));
    };
    Ok(
        match pattern.search(text).map_err(|error| error.to_string())? {
            Some(_) => MatchResult::matched(),
            None => MatchResult::differs(format!("{actual} doesn't match {expected}")),
        },
    )
}

fn unordered(actual: &Datum, expected: &Datum) -> Result<MatchResult, String> {
    let (Datum::List(wanted) | Datum::Tuple(wanted) | Datum::Set(wanted)) = expected else {
        return Err(format!(
            "comparator unordered expects a list, not {expected}"
        ));
    };
    let (Datum::List(items) | Datum::Tuple(items) | Datum::Set(items)) = actual else {
        return Ok(MatchResult::differs(format!(
            "expected a list, got {actual}"
        )));
    };
    let mut left: HashMap<Vec<u8>, i64> = HashMap::new();
    for item in items {
        match canonical(item) {
            Some(key) => *left.entry(key).or_default() += 1,
            None => return Ok(MatchResult::differs(format!("{item} can't be compared"))),
        }
    }
    for item in wanted {
        let count = canonical(item)
            .and_then(|key| left.get_mut(&key))
            .filter(|n| **n > 0);
        match count {
            Some(count) => *count -= 1,
            None => {
                return Ok(MatchResult::differs(format!(
                    "{item} is missing from {actual}"
                )));
            }
        }
    }
    let surplus = items
        .iter()
        .find(|i| canonical(i).is_some_and(|key| left.get(&key) > Some(&0)));
    Ok(match surplus {
        Some(item) => MatchResult::differs(format!("{item} is one too many in {actual}")),
        None => MatchResult::matched(),
    })
}

/// The first place where two values differ, in words. The values are known to differ.
fn difference(actual: &Datum, expected: &Datum, near: NearTest) -> String {
    let mut path = String::new();
    let (a, e) = deepest_difference(actual, expected, near, &mut path);
    let what = match (a, e) {
        (Some(a), Some(e)) => told_apart(a, e),
        (None, Some(e)) => format!("{e} is missing"),
        (Some(a), None) => format!("{a} is one too many"),
        (None, None) => "the values differ".to_owned(),
    };
    if path.is_empty() {
        what
    } else {
        format!("at {path}: {what}")
    }
}

/// Two unequal values whose texts may look alike.
fn told_apart(actual: &Datum, expected: &Datum) -> String {
    let plain = format!("expected {expected}, got {actual}");
    match (actual, expected) {
        (Datum::Set(_), Datum::List(_)) => {
            format!("{plain} (a set has no order: `comparator: unordered` compares it with a list)")
        }
        (Datum::Opaque { type_name, .. }, _) => {
            format!("{plain} (a {type_name} object equals no plain value)")
        }
        _ if actual.type_name() != expected.type_name() => {
            format!(
                "{plain} (a {} where a {} is expected)",
                actual.type_name(),
                expected.type_name()
            )
        }
        _ => plain,
    }
}

type DatumPair<'a> = (Option<&'a Datum>, Option<&'a Datum>);

fn deepest_difference<'a>(
    a: &'a Datum,
    e: &'a Datum,
    near: NearTest,
    path: &mut String,
) -> DatumPair<'a> {
    match (a, e) {
        (Datum::List(x) | Datum::Tuple(x), Datum::List(y) | Datum::Tuple(y)) => {
            for index in 0..x.len().max(y.len()) {
                let at = format!("[{index}]");
                match (x.get(index), y.get(index)) {
                    (Some(left), Some(right)) if approx(left, right, near) => {}
                    (Some(left), Some(right)) => {
                        path.push_str(&at);
                        return deepest_difference(left, right, near, path);
                    }
                    sides => {
                        path.push_str(&at);
                        return sides;
                    }
                }
            }
            (Some(a), Some(e))
        }
        (Datum::Dict(x), Datum::Dict(y)) => {
            let (left, right) = (by_key(x), by_key(y));
            for (key, value) in y {
                let other = key_of(key).and_then(|key| left.get(&key).copied());
                if other.is_some_and(|other| approx(other, value, near)) {
                    continue;
                }
                path.push_str(&format!("[{key}]"));
                return match other {
                    Some(other) => deepest_difference(other, value, near, path),
                    None => (None, Some(value)),
                };
            }
            for (key, value) in x {
                if !key_of(key).is_some_and(|key| right.contains_key(&key)) {
                    path.push_str(&format!("[{key}]"));
                    return (Some(value), None);
                }
            }
            (Some(a), Some(e))
        }
        _ => (Some(a), Some(e)),
    }
}
