//! The comparison against one that is written to be read: paths are looked up anew at every place,
//! every order is tried, and nothing is remembered.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::options::Tolerance;
use crate::paths::{PathPattern, PlaceStep};

type Path = Vec<String>;

struct Oracle<'a> {
    rule: &'a StructuralOptions,
    actual: &'a Value,
}

/// Whether a path such as `a.*.0` leads to a place, or to one that holds it.
fn leads(path: &str, place: &[String], whole: bool) -> bool {
    let steps: Vec<&str> = path.split('.').collect();
    (if whole {
        steps.len() == place.len()
    } else {
        steps.len() <= place.len()
    }) && steps
        .iter()
        .zip(place)
        .all(|(step, at)| *step == "*" || step == at)
}

fn holds_any(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with("{{any_"),
        Value::Array(items) => items.iter().any(holds_any),
        Value::Object(map) => map.values().any(holds_any),
        _ => false,
    }
}

impl Oracle<'_> {
    fn ignored(&self, place: &[String]) -> bool {
        self.rule
            .ignore_fields
            .iter()
            .chain(&self.rule.ignore_values)
            .any(|path| leads(path, place, true))
    }

    fn optional(&self, place: &[String]) -> bool {
        let both = |path: &&String| !self.rule.ignore_values.contains(path);
        self.rule
            .ignore_fields
            .iter()
            .filter(both)
            .any(|path| leads(path, place, false))
    }

    fn matches(&self) -> bool {
        let exist = |paths: &[String], empty_is_fine: bool| {
            paths.iter().all(|path| {
                self.exists(&mut path.split('.'), self.actual, Vec::new(), empty_is_fine)
            })
        };
        exist(&self.rule.ignore_values, true)
            && exist(&self.rule.require_keys, false)
            && self.value(&self.rule.expected, self.actual, Vec::new())
    }

    /// Whether every place of a path is there, unless it may be absent.
    fn exists(
        &self,
        steps: &mut (dyn Iterator<Item = &str> + '_),
        value: &Value,
        at: Path,
        empty_is_fine: bool,
    ) -> bool {
        let rest: Vec<&str> = steps.collect();
        let Some((first, rest)) = rest.split_first() else {
            return true;
        };
        let below = |step: &str| {
            let mut below = at.clone();
            below.push(step.to_owned());
            below
        };
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, inner)| (key.clone(), inner))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(i, inner)| (i.to_string(), inner))
                .collect(),
            _ => return self.optional(&below(first)),
        };
        if *first == "*" && children.is_empty() {
            return empty_is_fine || self.optional(&below("*"));
        }
        let meant: Vec<&(String, &Value)> = children
            .iter()
            .filter(|(key, _)| *first == "*" || first == key)
            .collect();
        if meant.is_empty() {
            return self.optional(&below(first));
        }
        meant.iter().all(|(key, inner)| {
            self.exists(&mut rest.iter().copied(), inner, below(key), empty_is_fine)
        })
    }

    fn value(&self, expected: &Value, actual: &Value, at: Path) -> bool {
        if self.ignored(&at) {
            return true;
        }
        match (expected, actual) {
            (Value::String(wanted), _) => match wanted.as_str() {
                "{{any_string}}" => actual.is_string(),
                "{{any_number}}" => actual.is_number(),
                r#"{{literal("{{any_string}}")}}"# => *actual == json!("{{any_string}}"),
                _ => actual.as_str() == Some(wanted),
            },
            (Value::Number(a), Value::Number(b)) => {
                self.number(a.as_f64().unwrap(), b.as_f64().unwrap(), &at)
            }
            (Value::Object(wanted), Value::Object(map)) => self.object(wanted, map, &at),
            (Value::Array(wanted), Value::Array(items)) => self.array(wanted, items, &at),
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            _ => false,
        }
    }

    fn number(&self, wanted: f64, number: f64, at: &[String]) -> bool {
        let particular = |path: &String| {
            let steps: Vec<&str> = path.split('.').collect();
            (
                steps.len(),
                steps.iter().filter(|step| **step != "*").count(),
            )
        };
        let rule = self
            .rule
            .tolerance
            .iter()
            .filter(|(path, _)| leads(path, at, false))
            .max_by(|(a, _), (b, _)| {
                // Of two that are as particular the first counts.
                particular(a).cmp(&particular(b)).then(b.cmp(a))
            });
        let absolute = rule
            .and_then(|(_, tolerance)| tolerance.absolute)
            .unwrap_or(0.0);
        (wanted - number).abs() <= absolute
    }

    fn object(&self, wanted: &Map<String, Value>, map: &Map<String, Value>, at: &[String]) -> bool {
        let below = |key: &String| at.iter().chain([key]).cloned().collect::<Path>();
        wanted.iter().all(|(key, inner)| match map.get(key) {
            Some(actual) => self.value(inner, actual, below(key)),
            None => self.ignored(&below(key)),
        }) && map
            .iter()
            .filter(|(key, _)| !wanted.contains_key(*key))
            .all(|(key, inner)| {
                self.rule.allow_additional_fields || self.asked_for(inner, &below(key), false)
            })
    }

    /// Whether paths ask for all that a value holds which the baseline lacks.
    fn asked_for(&self, value: &Value, place: &[String], element: bool) -> bool {
        let leading = |path: &&String, whole: bool| {
            let steps: Vec<&str> = path.split('.').collect();
            (if whole {
                steps.len() == place.len()
            } else {
                steps.len() >= place.len()
            }) && steps
                .iter()
                .zip(place)
                .all(|(step, at)| *step == "*" || step == at)
                && (element || steps[place.len() - 1] != "*")
        };
        let (required, values) = (&self.rule.require_keys, &self.rule.ignore_values);
        let through = required
            .iter()
            .chain(values)
            .any(|path| leading(&path, false));
        let below = |step: String| place.iter().cloned().chain([step]).collect::<Path>();
        self.ignored(place)
            || through && required.iter().any(|path| leads(path, place, true))
            || through
                && match value {
                    Value::Object(map) => map
                        .iter()
                        .all(|(key, inner)| self.asked_for(inner, &below(key.clone()), false)),
                    Value::Array(items) => items
                        .iter()
                        .enumerate()
                        .all(|(i, inner)| self.asked_for(inner, &below(i.to_string()), true)),
                    _ => true,
                }
    }

    fn array(&self, wanted: &[Value], items: &[Value], at: &[String]) -> bool {
        let below = |i: usize| at.iter().cloned().chain([i.to_string()]).collect::<Path>();
        let star = |path: &String| {
            path.strip_suffix('*').is_some_and(|parent| {
                let parent = parent.trim_end_matches('.');
                if parent.is_empty() {
                    at.is_empty()
                } else {
                    leads(parent, at, true)
                }
            })
        };
        if self
            .rule
            .ignore_fields
            .iter()
            .chain(&self.rule.ignore_values)
            .any(star)
        {
            return true;
        }
        if let [template] = wanted
            && holds_any(template)
        {
            return !items.is_empty()
                && items
                    .iter()
                    .enumerate()
                    .all(|(i, item)| self.value(template, item, below(i)));
        }
        let in_order = || {
            (0..wanted.len().max(items.len())).all(|i| match (wanted.get(i), items.get(i)) {
                (Some(wanted), Some(item)) => self.value(wanted, item, below(i)),
                _ => self.ignored(&below(i)),
            })
        };
        if !self.rule.allow_field_reordering || in_order() {
            return in_order();
        }
        wanted.len() == items.len()
            && self.any_order(wanted, items, &below, 0, &mut vec![false; items.len()])
    }

    fn any_order(
        &self,
        wanted: &[Value],
        items: &[Value],
        below: &dyn Fn(usize) -> Path,
        from: usize,
        used: &mut Vec<bool>,
    ) -> bool {
        let Some(first) = wanted.get(from) else {
            return true;
        };
        (0..items.len()).any(|i| {
            if used[i] || !self.value(first, &items[i], below(from)) {
                return false;
            }
            used[i] = true;
            let fits = self.any_order(wanted, items, below, from + 1, used);
            used[i] = false;
            fits
        })
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.5),
        json!("a"),
        json!("b"),
        json!("{{any_string}}"),
        json!("{{any_number}}"),
        json!(r#"{{literal("{{any_string}}")}}"#),
    ])
}

fn document() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An output that a baseline could have: matchers filled in, and a few things changed.
fn answer(value: &Value, changes: &mut impl Iterator<Item = u8>) -> Value {
    match (value, changes.next().unwrap_or(0)) {
        (_, 1) => json!("changed"),
        (Value::String(text), _) => match text.as_str() {
            "{{any_string}}" => json!("filled"),
            "{{any_number}}" => json!(7),
            r#"{{literal("{{any_string}}")}}"# => json!("{{any_string}}"),
            plain => json!(plain),
        },
        (Value::Number(n), 2) => json!(n.as_f64().unwrap() + 0.5),
        (Value::Array(items), change) => {
            let mut made: Vec<Value> = items.iter().map(|item| answer(item, changes)).collect();
            match change {
                3 => made.reverse(),
                4 => made.push(json!(0)),
                5 => drop(made.pop()),
                _ => {}
            }
            Value::Array(made)
        }
        (Value::Object(map), change) => {
            let mut made: Map<String, Value> = map
                .iter()
                .map(|(key, inner)| (key.clone(), answer(inner, changes)))
                .collect();
            match change {
                4 => drop(made.insert("d".to_owned(), json!(0))),
                5 => drop(made.remove("a")),
                _ => {}
            }
            Value::Object(made)
        }
        (other, _) => other.clone(),
    }
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([a-d]|[*]|[01])([.]([a-d]|[*]|[01])){0,2}", 0..2)
}

prop_compose! {
    fn rule()(
        expected in document(),
        switches: (bool, bool),
        ignore_fields in paths(),
        ignore_values in paths(),
        require_keys in paths(),
        tolerances in paths(),
    ) -> StructuralOptions {
        let half = Tolerance { absolute: Some(0.5), ..Tolerance::default() };
        let one = Tolerance { absolute: Some(1.0), ..Tolerance::default() };
        StructuralOptions {
            expected,
            allow_additional_fields: switches.0,
            allow_field_reordering: switches.1,
            ignore_fields,
            ignore_values,
            require_keys,
            tolerance: tolerances.into_iter().zip([half, one]).collect::<BTreeMap<_, _>>(),
            likeness: None,
        }
    }
}

/// Whether a path of a difference names a place of a value, or of one in its container.
fn is_in(path: &str, value: &Value) -> bool {
    path == "(root)" || PathPattern::parse(path).exists_in(value)
}

/// Whether a path names something new in a container of the baseline that stands elsewhere in the
/// output.
fn is_new_in(path: &str, expected: &Value) -> bool {
    let mut path = PathPattern::parse(path);
    path.0.pop();
    path.exists_in(expected)
}

proptest! {
    #[test]
    fn agrees_with_the_oracle(rule in rule(), changes in prop::collection::vec(0..40u8, 0..12)) {
        let actual = answer(&rule.expected, &mut changes.into_iter());
        let result = compare(&rule, &actual);
        let agrees = Oracle { rule: &rule, actual: &actual }.matches();
        prop_assert_eq!(result.matched, agrees, "{:?}\n{}\n{:?}", rule, actual, result);
        prop_assert_eq!(result.matched, result.differences.is_empty());
        prop_assert_eq!(result.matched, result.total == 0);
        prop_assert!(result.undecided.is_none());
        for difference in &result.differences {
            // What must exist may be in neither; it is then named by the path that asks for it.
            let asked = difference.expected == "any value" || difference.expected == "a required key";
            prop_assert!(
                asked
                    || is_in(&difference.path, &rule.expected)
                    || is_in(&difference.path, &actual)
                    || rule.allow_field_reordering
                        && difference.kind == DifferenceKind::Unexpected
                        && is_new_in(&difference.path, &rule.expected),
                "{} in {} or {}", difference.path, rule.expected, actual
            );
        }
    }
}

#[test]
fn places_are_spelled_as_paths_are_read() {
    let place = [
        PlaceStep::Key("a.b".to_owned()),
        PlaceStep::Index(3),
        PlaceStep::Key("c".to_owned()),
    ];
    assert!(PathPattern::parse(&ShownPath(&place).to_string()).names(&place));
}
