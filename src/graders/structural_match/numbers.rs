//! Tolerances of numbers in a baseline: that each leads to a number, and the comparison of numbers
//! alone.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::load::{Code, Problem, Span, SuiteDesk};
use eval_base::nearest::did_you_mean;
use eval_match::paths::{PathPattern, PathStep};
use eval_match::{StructuralOptions, validate_matcher};

/// Paths of a baseline that are offered in place of one that leads nowhere.
const MAX_OFFERED: usize = 5_000;

/// Whether every tolerance leads to a number of the baseline; says so where one does not.
pub(crate) fn check_tolerances(
    desk: &mut SuiteDesk,
    structural: &StructuralOptions,
    at: Span,
) -> bool {
    let mut whole = true;
    for path in structural.tolerance.keys() {
        let pattern = PathPattern::parse(path).within(&structural.expected);
        let found = pattern.values_in(&structural.expected);
        if found.iter().any(|value| holds_number(value)) {
            continue;
        }
        whole = false;
        let problem = match found.first() {
            Some(Value::String(text)) => {
                let message = format!(
                    "the tolerance of `{path}` is for numbers, and the baseline has a text there"
                );
                Problem::error(Code::GraderConflict, at, message).maybe_hint(
                    text.trim()
                        .parse::<f64>()
                        .is_ok()
                        .then(|| "write the number without quotes".to_owned()),
                )
            }
            Some(_) => {
                let message = format!("the tolerance of `{path}` covers no number of the baseline");
                Problem::error(Code::GraderConflict, at, message)
            }
            None => {
                let message = format!("the tolerance of `{path}` leads nowhere in the baseline");
                let offered = places_of_numbers(&structural.expected);
                let near = did_you_mean(path, offered.iter().map(String::as_str));
                let hint = match near {
                    Some(near) => Some(format!("did you mean `{near}`?")),
                    None if offered.is_empty() => Some("the baseline holds no number".to_owned()),
                    None => {
                        let listed: Vec<String> = offered
                            .iter()
                            .take(6)
                            .map(|path| format!("`{path}`"))
                            .collect();
                        Some(format!("its numbers are under {}", listed.join(", ")))
                    }
                };
                Problem::error(Code::GraderConflict, at, message).maybe_hint(hint)
            }
        };
        desk.push(problem);
    }
    whole
}

fn holds_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => stands_for_a_number(text),
        Value::Array(items) => items.iter().any(holds_number),
        Value::Object(map) => map.values().any(holds_number),
        _ => false,
    }
}

fn stands_for_a_number(text: &str) -> bool {
    text.contains("any_number") && validate_matcher(text) == Some(Ok(()))
}

/// The paths of numbers, and of what holds some, as people write them: `users.*.age`, and below a
/// response's body without it.
fn places_of_numbers(baseline: &Value) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    let body = baseline
        .get("body")
        .filter(|_| baseline.get("status").is_some());
    for value in std::iter::once(baseline).chain(body) {
        collect(value, &mut PathPattern::default(), &mut places);
    }
    places
}

fn collect(value: &Value, path: &mut PathPattern, places: &mut BTreeSet<String>) {
    if places.len() >= MAX_OFFERED || !holds_number(value) {
        return;
    }
    if !path.0.is_empty() {
        places.insert(path.to_string());
    }
    let mut each = |step: PathStep, inner: &Value| {
        path.0.push(step);
        collect(inner, path, places);
        path.0.pop();
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, inner)| each(PathStep::Named(key.clone()), inner)),
        Value::Array(items) => items.iter().for_each(|inner| each(PathStep::Any, inner)),
        _ => {}
    }
}

/// Leaves in the expectation only its numbers: those that tolerances name, or all of them when none
/// is named. Paths are written from the top of the output then, because what remains may no longer
/// look like a response.
pub(crate) fn only_numbers(structural: &mut StructuralOptions) {
    let from_the_top = |path: &String| PathPattern::parse(path).within(&structural.expected);
    let tolerances: Vec<_> = structural
        .tolerance
        .iter()
        .map(|(path, tolerance)| (from_the_top(path), *tolerance))
        .collect();
    let rewritten = |paths: &[String]| {
        paths
            .iter()
            .map(|path| from_the_top(path).to_string())
            .collect::<Vec<_>>()
    };
    let (fields, values, keys) = (
        rewritten(&structural.ignore_fields),
        rewritten(&structural.ignore_values),
        rewritten(&structural.require_keys),
    );
    let mut kept = NumberFilter {
        paths: tolerances.iter().map(|(path, _)| path.clone()).collect(),
        ignored: Vec::new(),
    };
    let expected = match &structural.expected {
        // A command's output was captured as the text of a number.
        Value::String(text) => serde_json::from_str::<Value>(text.trim())
            .ok()
            .filter(Value::is_number),
        value => kept.numbers(value, &mut PathPattern::default()),
    };
    (
        structural.ignore_fields,
        structural.ignore_values,
        structural.require_keys,
    ) = (fields, values, keys);
    structural.tolerance = tolerances
        .into_iter()
        .map(|(path, t)| (path.to_string(), t))
        .collect();
    structural.expected = expected.unwrap_or(Value::Null);
    structural.allow_additional_fields = true;
    structural.ignore_fields.append(&mut kept.ignored);
}

struct NumberFilter {
    paths: Vec<PathPattern>,
    /// Elements of arrays that are no numbers: they can't be dropped without moving the others.
    ignored: Vec<String>,
}

impl NumberFilter {
    fn wanted(&self, place: &PathPattern) -> bool {
        let fits = |(step, at): (&PathStep, &PathStep)| *step == PathStep::Any || step == at;
        let covers = |path: &PathPattern| {
            path.0.len() <= place.0.len() && path.0.iter().zip(&place.0).all(fits)
        };
        self.paths.is_empty() || self.paths.iter().any(covers)
    }

    fn numbers(&mut self, value: &Value, place: &mut PathPattern) -> Option<Value> {
        match value {
            Value::Number(_) => self.wanted(place).then(|| value.clone()),
            Value::String(text) if stands_for_a_number(text) => {
                self.wanted(place).then(|| value.clone())
            }
            Value::Object(map) => {
                let mut kept = Map::new();
                for (key, inner) in map {
                    place.0.push(PathStep::Named(key.clone()));
                    if let Some(number) = self.numbers(inner, place) {
                        kept.insert(key.clone(), number);
                    }
                    place.0.pop();
                }
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            Value::Array(items) => {
                let before = self.ignored.len();
                let mut any = false;
                let mut kept = Vec::new();
                for (i, inner) in items.iter().enumerate() {
                    place.0.push(PathStep::Named(i.to_string()));
                    match self.numbers(inner, place) {
                        Some(number) => {
                            any = true;
                            kept.push(number);
                        }
                        None => {
                            self.ignored.push(place.to_string());
                            kept.push(inner.clone());
                        }
                    }
                    place.0.pop();
                }
                if !any {
                    self.ignored.truncate(before);
                }
                any.then_some(Value::Array(kept))
            }
            _ => None,
        }
    }
}
