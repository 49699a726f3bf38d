//! Whether later questions tell what earlier answers should be. Calls are asked for ahead of their answers, so a candidate can
//! read `decode("bcd")` before it answers `encode("abc")`; where that would help it, calls are asked for one by one.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// Whole numbers below are everywhere and tell nothing.
const TELLING_NUMBER: f64 = 1000.0;

/// Whether a part of what is expected of a call is part of an argument of a later call. `calls`: of each what is expected, and
/// its arguments, all as tagged JSON. Truths, small numbers, single characters and what holds no more than one part don't count.
pub fn foretold<'v, E, A>(calls: impl DoubleEndedIterator<Item = (E, A)>) -> bool
where
    E: IntoIterator<Item = &'v Value>,
    A: IntoIterator<Item = &'v Value>,
{
    let mut later = HashSet::new();
    for (expected, arguments) in calls.rev() {
        let mut found = false;
        if !later.is_empty() {
            expected.into_iter().for_each(|value| telling(value, &mut |part| found |= later.contains(&part)));
        }
        if found {
            return true;
        }
        arguments.into_iter().for_each(|value| {
            telling(value, &mut |part| {
                later.insert(part);
            })
        });
    }
    false
}

/// The parts of a value that would be recognised, each as a hash of its text. A collision only costs time.
fn telling(value: &Value, tell: &mut impl FnMut(u64)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            let whole = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < TELLING_NUMBER);
            if whole.is_none() {
                tell(hash(number));
            }
        }
        Value::String(text) => {
            if text.chars().nth(1).is_some() {
                tell(hash(text));
            }
        }
        Value::Array(items) => {
            if items.len() > 1 {
                tell(hash(value));
            }
            items.iter().for_each(|item| telling(item, tell));
        }
        Value::Object(map) => {
            if map.len() > 1 {
                tell(hash(value));
            }
            for (name, item) in map {
                if !name.starts_with('$') && name.chars().nth(1).is_some() {
                    tell(hash(name));
                }
                telling(item, tell);
            }
        }
    }
}

fn hash(part: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(calls: &[(Value, Value)]) -> bool {
        foretold(calls.iter().map(|(expected, argument)| ([expected], [argument])))
    }

    #[test]
    fn an_argument_that_an_earlier_call_should_give_is_seen() {
        for value in [
            json!("ab"),
            json!(1000),
            json!(0.5),
            json!([1, 2]),
            json!({"$tuple": [1, 2]}),
            json!({"$int": "0x40000000000001"}),
            json!({"a": 1, "b": 2}),
            json!([["deep"]]),
            json!({"name": 1}),
        ] {
            assert!(told(&[(value.clone(), json!(1)), (json!(2), json!([value.clone()]))]), "{value}");
            assert!(
                !told(&[(json!(2), value.clone()), (value.clone(), value.clone())]),
                "{value}: not later"
            );
        }
        assert!(told(&[(json!({"$set": ["xyz"]}), json!(0)), (json!(0), json!("xyz"))]), "parts of both");
    }

    #[test]
    fn what_is_everywhere_tells_nothing() {
        for value in
            [json!(null), json!(true), json!(-999), json!(7.0), json!("a"), json!(""), json!([3]), json!({})]
        {
            assert!(!told(&[(value.clone(), json!(1)), (json!(2), value.clone())]), "{value}");
        }
    }
}
