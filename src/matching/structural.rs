//! A JSON output against a known-good one: matchers, paths that don't count, tolerances, and a list of what differs.
//!
//! Rules that aren't obvious:
//! - In an HTTP baseline (an object with `status` and `body`) a path is looked for in `body`, then in the whole output.
//! - A path in `ignore_fields` may be absent on either side; one in `ignore_values` must exist in the output. `data.*` on an
//!   array means its elements, any number of them.
//! - An array of one element that holds a matcher is a template for every element, and there must be at least one: a
//!   baseline that was captured with elements must not pass for an output without any.
//! - `allow_field_reordering` lets arrays come in any order (each element is used once); JSON objects have no order.
//! - `allow_additional_fields` concerns objects; arrays that aren't templates must have equal length.
//! - Where several tolerances cover a number the one with the longest path counts.

mod arrays;
mod rules;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::model::Structural;

use super::decimal::{Number, same_number};
use super::differences::{Difference, DifferenceKind, apart, json, type_name};
use super::matcher::{self, Matcher, holds_matcher};
use super::paths::{Place, Shown};
use rules::Rules;

/// Differences that are listed; the rest is counted in a warning.
const MAX_DIFFERENCES: usize = 100;
/// Deepest nesting that is compared.
const MAX_DEPTH: usize = 200;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuralResult {
    pub matched: bool,
    /// Differences were found in arrays that are too large to try every order, so that it is not known whether they count.
    pub undecided: bool,
    pub differences: Vec<Difference>,
    /// Paths that lead nowhere, and the like.
    pub warnings: Vec<String>,
    /// Share of the places that agree, in [0, 1]; 1 exactly when matched.
    pub score: f64,
}

/// Compares an output with a baseline.
pub fn compare(structural: &Structural, actual: &Value) -> StructuralResult {
    let mut rules = Rules::new(structural, actual);
    let mut warnings = std::mem::take(&mut rules.warnings);
    let mut walk = Walk { rules: &rules, place: Vec::new(), found: Found::default() };
    for (place, expected) in rules.absent(actual) {
        walk.found.add(&place, DifferenceKind::Missing, expected.to_owned(), String::new());
    }
    walk.value(&structural.expected, actual);
    let found = walk.found;
    if rules.gave_up() {
        warnings.push(
            "the arrays are too large to be compared in any order; some were compared in their own"
                .to_owned(),
        );
    }
    let result = found.into_result(warnings);
    StructuralResult { undecided: !result.matched && rules.undecided(), ..result }
}

/// What a walk is for. But for the record only whether anything differs is asked: nothing is listed and the first
/// difference ends the walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Record,
    /// One look at an array in its own order.
    Check,
    /// One of many tries to find an order; their sum is bounded.
    Trial,
}

/// What a walk has found so far.
#[derive(Debug, Default)]
struct Found {
    mode: Mode,
    differences: Vec<Difference>,
    differing: usize,
    agreeing: usize,
}

impl Found {
    fn add(&mut self, place: &[Place], kind: DifferenceKind, expected: String, actual: String) {
        if self.mode != Mode::Record {
            self.differing += 1;
            return;
        }
        let path = Shown(place).to_string();
        if self.lists_missing(&path, kind) {
            return;
        }
        self.differing += 1;
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(Difference { path, kind, expected, actual });
        }
    }

    /// A field that is both required and in the baseline is missing once.
    fn lists_missing(&self, path: &str, kind: DifferenceKind) -> bool {
        kind == DifferenceKind::Missing && self.differences.iter().any(|d| d.kind == kind && d.path == path)
    }

    fn join(&mut self, other: Found) {
        self.differing += other.differing;
        self.agreeing += other.agreeing;
        for difference in other.differences {
            if self.lists_missing(&difference.path, difference.kind) {
                self.differing -= 1;
            } else if self.differences.len() < MAX_DIFFERENCES {
                self.differences.push(difference);
            }
        }
    }

    fn into_result(self, mut warnings: Vec<String>) -> StructuralResult {
        if self.differing > self.differences.len() {
            warnings
                .push(format!("{} more differences are not listed", self.differing - self.differences.len()));
        }
        let places = self.agreeing + self.differing;
        let score = if self.differing == 0 { 1.0 } else { self.agreeing as f64 / places as f64 };
        let matched = self.differing == 0;
        StructuralResult { matched, undecided: false, differences: self.differences, warnings, score }
    }
}

struct Walk<'a> {
    rules: &'a Rules<'a>,
    place: Vec<Place>,
    found: Found,
}

impl Walk<'_> {
    fn value(&mut self, expected: &Value, actual: &Value) {
        let mode = self.found.mode;
        if mode != Mode::Record && self.found.differing > 0 {
            return;
        }
        if mode == Mode::Trial && !self.rules.may_try(1) {
            self.found.differing += 1;
            return;
        }
        if self.rules.ignores(&self.place) {
            return;
        }
        if self.place.len() > MAX_DEPTH {
            return self.differs(DifferenceKind::Type, "a value nested less deeply", actual);
        }
        match (expected, actual) {
            (Value::String(text), _) => self.text(text, actual),
            (Value::Object(wanted), Value::Object(map)) => self.object(wanted, map),
            (Value::Array(wanted), Value::Array(items)) => self.array(wanted, items),
            (Value::Number(wanted), Value::Number(number)) => self.number(wanted, number),
            (Value::Bool(a), Value::Bool(b)) if a == b => self.found.agreeing += 1,
            (Value::Null, Value::Null) => self.found.agreeing += 1,
            (Value::Bool(_), Value::Bool(_)) => self.differs(DifferenceKind::Value, &json(expected), actual),
            _ => {
                let wanted = format!("{} {}", type_name(expected), json(expected));
                self.differs(DifferenceKind::Type, wanted.trim_end(), actual);
            }
        }
    }

    fn text(&mut self, wanted: &str, actual: &Value) {
        match self.rules.matcher(wanted).as_deref() {
            Some(Ok(Matcher::Literal(meant))) => self.plain_text(meant, actual),
            Some(Ok(matcher)) => match matcher.mismatch(actual) {
                None => self.found.agreeing += 1,
                Some(why) => {
                    let wanted = format!("{why} ({})", matcher::shown(wanted));
                    self.differs(DifferenceKind::Matcher, &wanted, actual);
                }
            },
            Some(Err(why)) => self.differs(DifferenceKind::Matcher, why, actual),
            None => self.plain_text(wanted, actual),
        }
    }

    fn plain_text(&mut self, wanted: &str, actual: &Value) {
        if actual.as_str() == Some(wanted) {
            self.found.agreeing += 1;
            return;
        }
        let kind = if actual.is_string() { DifferenceKind::Value } else { DifferenceKind::Type };
        if self.found.mode == Mode::Record {
            let (expected, actual) = apart(&Value::from(wanted), actual);
            self.found.add(&self.place, kind, expected, actual);
        } else {
            self.found.differing += 1;
        }
    }

    fn number(&mut self, wanted: &serde_json::Number, number: &serde_json::Number) {
        let (kind, allowed) = match self.rules.tolerance(&self.place) {
            Some((tolerance, shown)) => match (Number::from_json(wanted), Number::from_json(number)) {
                (Some(e), Some(a)) if a.within(&e, tolerance) => return self.found.agreeing += 1,
                _ => (DifferenceKind::Tolerance, format!(" ({shown})")),
            },
            None if same_number(wanted, number) => return self.found.agreeing += 1,
            None => (DifferenceKind::Value, String::new()),
        };
        self.differs(kind, &format!("{wanted}{allowed}"), &Value::Number(number.clone()));
    }

    fn object(&mut self, wanted: &Map<String, Value>, map: &Map<String, Value>) {
        // An empty object agrees by being one.
        self.found.agreeing += usize::from(wanted.is_empty());
        let headers = self.rules.is_headers(&self.place);
        // Names of HTTP headers differ in case without meaning anything by it.
        let same_name = |a: &str, b: &str| a == b || (headers && a.eq_ignore_ascii_case(b));
        for (key, expected) in wanted {
            self.place.push(Place::Key(key.clone()));
            let actual = map
                .get(key)
                .or_else(|| map.iter().find(|(name, _)| same_name(name, key)).map(|(_, value)| value));
            match actual {
                Some(actual) => self.value(expected, actual),
                None if self.rules.ignores(&self.place) => {}
                None => self.found.add(&self.place, DifferenceKind::Missing, json(expected), String::new()),
            }
            self.place.pop();
        }
        if self.rules.allow_additional_fields() {
            return;
        }
        for (key, actual) in map {
            if wanted.keys().any(|name| name == key) || wanted.keys().any(|name| same_name(name, key)) {
                continue;
            }
            self.place.push(Place::Key(key.clone()));
            if !self.rules.ignores(&self.place) && !self.rules.foresees(&self.place) {
                self.found.add(&self.place, DifferenceKind::Unexpected, String::new(), json(actual));
            }
            self.place.pop();
        }
    }

    fn array(&mut self, wanted: &[Value], items: &[Value]) {
        if self.rules.ignores_all_elements(&self.place) {
            self.found.agreeing += 1;
            return;
        }
        match wanted {
            [template] if holds_matcher(template) => self.template(template, items),
            _ => self.elements(wanted, items),
        }
    }

    fn template(&mut self, template: &Value, items: &[Value]) {
        self.place.push(Place::Index(0));
        if items.is_empty() {
            self.found.add(&self.place, DifferenceKind::Missing, json(template), String::new());
        }
        for (index, item) in items.iter().enumerate() {
            if let Some(last) = self.place.last_mut() {
                *last = Place::Index(index);
            }
            self.value(template, item);
        }
        self.place.pop();
    }

    fn differs(&mut self, kind: DifferenceKind, expected: &str, actual: &Value) {
        self.found.add(&self.place, kind, expected.to_owned(), json(actual));
    }
}
