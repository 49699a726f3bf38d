//! A JSON output against a known-good one: matchers, paths that don't count, tolerances, and a list
//! of what differs.
//!
//! Rules that aren't obvious:
//! - In an HTTP baseline (an object with `status` and `body`) a path is looked for in `body`, then
//!   in the whole output.
//! - A path in `ignore_fields` may be absent on either side; one in `ignore_values` must exist in
//!   the output. `data.*` on an array means its elements, any number of them.
//! - An array of one element that holds a matcher is a template for every element, and there must
//!   be at least one: a baseline that was captured with elements must not pass for an output
//!   without any.
//! - `allow_field_reordering` lets arrays come in any order (each element is used once); JSON
//!   objects have no order.
//! - `allow_additional_fields` concerns objects; arrays that aren't templates must have equal
//!   length.
//! - Where several tolerances cover a number the one with the longest path counts.

mod arrays;
mod keys;
#[cfg(test)]
mod oracle_tests;
mod pairs;
mod patterns;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::options::{SimilarityBound, StructuralOptions};

use super::decimal::{DecimalNumber, same_number};
use super::differences::{Difference, DifferenceKind, apart, json, type_name};
use super::matcher::{self, Matcher, makes_template};
use super::paths::{PlaceStep, ShownPath};
use patterns::{CursorStep, WalkCursor};
use rules::StructuralRules;

/// Differences that are listed; the rest is counted in a warning.
const MAX_DIFFERENCES: usize = 100;
const HEADERS: &str = "headers";
/// Bytes that are read in a trial for the price of one more value.
const BYTES_A_TRIAL: usize = 64;
/// What a number with an exponent costs at most, about, as if it were so long.
const DIGITS_OF_A_POWER: usize = 4_096;
/// Deepest nesting that is compared.
const MAX_DEPTH: usize = 200;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuralResult {
    pub matched: bool,
    /// Why it is not known whether the differences count: arrays are too large to try every order,
    /// or texts too long.
    pub undecided: Option<String>,
    /// Of texts that need only be alike and are not equal.
    pub lowest_likeness: Option<f64>,
    pub differences: Vec<Difference>,
    /// Paths that lead nowhere, and the like.
    pub warnings: Vec<String>,
    /// Differences in all; no more than 100 of them are listed.
    pub total: usize,
    /// Share of the places that agree, in [0, 1]; 1 exactly when matched.
    pub score: f64,
}

/// Compares an output with a baseline.
pub fn compare(structural: &StructuralOptions, actual: &Value) -> StructuralResult {
    let mut rules = StructuralRules::new(structural, actual);
    let mut warnings = std::mem::take(&mut rules.warnings);
    let cursor = WalkCursor::new(&rules.patterns);
    let mut walk = StructuralWalk {
        rules: &rules,
        cursor,
        found: WalkFindings::default(),
    };
    for (place, expected) in rules.absent(actual) {
        walk.found.add(
            &place,
            DifferenceKind::Missing,
            expected.to_owned(),
            String::new(),
        );
    }
    walk.value(&structural.expected, actual);
    let found = walk.found;
    if rules.any_order() && rules.gave_up() {
        warnings.push(
            "the arrays are too large to be compared in any order; some were compared in their own"
                .to_owned(),
        );
    }
    let lowest = rules.lowest_likeness();
    // One difference that is certain decides.
    let undecided = rules
        .undecided()
        .filter(|_| found.differing > 0 && found.differing <= found.uncertain);
    let result = found.into_result(warnings);
    StructuralResult {
        undecided,
        lowest_likeness: lowest,
        ..result
    }
}

/// What a walk is for. But for the record only whether anything differs is asked: nothing is listed
/// and the first difference ends the walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum WalkMode {
    #[default]
    Record,
    /// One look at an array in its own order.
    Check,
    /// One of many tries to find an order; their sum is bounded.
    Trial,
}

/// What a walk has found so far.
#[derive(Debug, Default)]
struct WalkFindings {
    mode: WalkMode,
    differences: Vec<Difference>,
    differing: usize,
    /// Of those, how many may be none: what would tell was too large to be looked at.
    uncertain: usize,
    agreeing: usize,
}

impl WalkFindings {
    fn add(&mut self, place: &[PlaceStep], kind: DifferenceKind, expected: String, actual: String) {
        let path = ShownPath(place).to_string();
        if self.lists_missing(&path, kind) {
            return;
        }
        self.differing += 1;
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(Difference {
                path,
                kind,
                expected,
                actual,
            });
        }
    }

    /// Whether one more difference would only be counted.
    fn only_counts(&self) -> bool {
        self.mode != WalkMode::Record || self.differences.len() >= MAX_DIFFERENCES
    }

    /// A field that is both required and in the baseline is missing once.
    fn lists_missing(&self, path: &str, kind: DifferenceKind) -> bool {
        kind == DifferenceKind::Missing
            && self
                .differences
                .iter()
                .any(|d| d.kind == kind && d.path == path)
    }

    fn join(&mut self, other: WalkFindings) {
        self.differing += other.differing;
        self.uncertain += other.uncertain;
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
            warnings.push(format!(
                "{} more differences are not listed",
                self.differing - self.differences.len()
            ));
        }
        let places = self.agreeing + self.differing;
        let score = if self.differing == 0 {
            1.0
        } else {
            self.agreeing as f64 / places as f64
        };
        let matched = self.differing == 0;
        let total = self.differing;
        let (undecided, lowest_likeness) = (None, None);
        StructuralResult {
            matched,
            undecided,
            lowest_likeness,
            differences: self.differences,
            warnings,
            total,
            score,
        }
    }
}

struct StructuralWalk<'a, 'v> {
    rules: &'a StructuralRules<'a>,
    cursor: WalkCursor<'v>,
    found: WalkFindings,
}

impl<'v> StructuralWalk<'_, 'v> {
    fn value(&mut self, expected: &'v Value, actual: &'v Value) {
        let mode = self.found.mode;
        if mode != WalkMode::Record && self.found.differing > 0 {
            return;
        }
        if mode == WalkMode::Trial && !self.rules.may_try(1) {
            self.found.differing += 1;
            return;
        }
        if self.is_ignored() {
            return;
        }
        if self.cursor.depth() > MAX_DEPTH {
            return self.differs(DifferenceKind::Type, actual, || {
                "a value nested less deeply".to_owned()
            });
        }
        match (expected, actual) {
            (Value::String(text), _) => self.text(text, actual),
            (Value::Object(wanted), Value::Object(map)) => self.object(wanted, map),
            (Value::Array(_), Value::Array(_))
                if mode != WalkMode::Record && self.rules.any_order() =>
            {
                self.array_once(expected, actual);
            }
            (Value::Array(wanted), Value::Array(items)) => self.array(wanted, items),
            (Value::Number(wanted), Value::Number(number)) => self.number(wanted, number, actual),
            (Value::Bool(a), Value::Bool(b)) if a == b => self.found.agreeing += 1,
            (Value::Null, Value::Null) => self.found.agreeing += 1,
            (Value::Bool(_), Value::Bool(_)) => {
                self.differs(DifferenceKind::Value, actual, || json(expected))
            }
            _ => self.differs(DifferenceKind::Type, actual, || {
                format!("{} {}", type_name(expected), json(expected))
                    .trim()
                    .to_owned()
            }),
        }
    }

    fn text(&mut self, wanted: &str, actual: &Value) {
        match self.rules.matcher(wanted).as_deref() {
            Some(Ok(Matcher::Literal(meant))) => self.plain_text(meant, actual),
            Some(Ok(matcher)) => {
                if !self.may_read(actual.as_str().map_or(0, str::len)) {
                    return;
                }
                match matcher.mismatch(actual) {
                    Ok(None) => self.found.agreeing += 1,
                    Ok(Some(why)) => self.differs(DifferenceKind::Matcher, actual, || {
                        format!("{why} ({})", matcher::shown(wanted))
                    }),
                    Err(why) => {
                        self.rules.leave_undecided(why);
                        self.found.uncertain += 1;
                        self.found.differing += 1;
                    }
                }
            }
            Some(Err(why)) => self.differs(DifferenceKind::Matcher, actual, || why.clone()),
            None => self.plain_text(wanted, actual),
        }
    }

    fn plain_text(&mut self, wanted: &str, actual: &Value) {
        if actual.as_str() == Some(wanted) {
            self.found.agreeing += 1;
            return;
        }
        if let (Some(likeness), Some(text)) = (self.rules.likeness(), actual.as_str()) {
            return self.alike(likeness, wanted, text, actual);
        }
        let kind = if actual.is_string() {
            DifferenceKind::Value
        } else {
            DifferenceKind::Type
        };
        self.add(kind, || apart(&Value::from(wanted), actual));
    }

    /// Takes what a trial of this many bytes costs beside being one; says that it differs when
    /// nothing is left.
    fn may_read(&mut self, bytes: usize) -> bool {
        let may = self.found.mode != WalkMode::Trial || self.rules.may_try(bytes / BYTES_A_TRIAL);
        self.found.differing += usize::from(!may);
        may
    }

    fn alike(&mut self, likeness: SimilarityBound, wanted: &str, text: &str, actual: &Value) {
        if !self.may_read(wanted.len() + text.len()) {
            return;
        }
        let record = self.found.mode == WalkMode::Record;
        let Some(number) = self.rules.measure(likeness, text, wanted, record) else {
            self.found.differing += 1;
            self.found.uncertain += 1;
            return;
        };
        if number >= likeness.threshold {
            self.found.agreeing += 1;
            return;
        }
        let name = likeness.measure.name();
        self.add(DifferenceKind::Similarity, || {
            let (expected, actual) = apart(&Value::from(wanted), actual);
            let (least, number) = (likeness.threshold, (number * 1e4).floor() / 1e4);
            (
                format!("{expected} ({name} at least {least})"),
                format!("{actual} ({number})"),
            )
        });
    }

    fn number(&mut self, wanted: &serde_json::Number, number: &serde_json::Number, actual: &Value) {
        // Powers of ten are written out to be compared.
        let written = number.as_str();
        let digits = if written.contains(['e', 'E']) {
            DIGITS_OF_A_POWER
        } else {
            0
        };
        if !self.may_read(written.len() + digits) {
            return;
        }
        match self.rules.tolerance(&self.cursor) {
            Some((tolerance, shown)) => {
                match (
                    DecimalNumber::from_json(wanted),
                    DecimalNumber::from_json(number),
                ) {
                    (Some(e), Some(a)) if a.within(&e, tolerance) => self.found.agreeing += 1,
                    _ => self.differs(DifferenceKind::Tolerance, actual, || {
                        format!("{wanted} ({shown})")
                    }),
                }
            }
            None if same_number(wanted, number) => self.found.agreeing += 1,
            None => self.differs(DifferenceKind::Value, actual, || wanted.to_string()),
        }
    }

    fn object(&mut self, wanted: &'v Map<String, Value>, map: &'v Map<String, Value>) {
        // An empty object agrees by being one.
        self.found.agreeing += usize::from(wanted.is_empty());
        if self.is_headers() {
            return self.headers(wanted, map);
        }
        for (key, expected) in wanted {
            self.field(key, expected, map.get(key));
        }
        if self.rules.allow_additional_fields() {
            return;
        }
        let response = self.rules.is_http() && self.cursor.depth() == 0;
        for (key, actual) in map
            .iter()
            .filter(|(key, _)| !wanted.contains_key(key.as_str()))
        {
            if self.found.mode != WalkMode::Record && self.found.differing > 0 {
                return;
            }
            // What a server says about a response beside it is nobody's promise.
            if response && key == HEADERS {
                continue;
            }
            self.push(CursorStep::Key(key));
            self.additional(actual);
            self.pop();
        }
    }

    /// What the baseline lacks is fine in a strict comparison only as far as a path asks for it.
    fn additional(&mut self, actual: &'v Value) {
        if self.is_ignored() || self.cursor.is_demanded(&self.rules.patterns) {
            return;
        }
        match actual {
            _ if !self.cursor.is_foreseen(&self.rules.patterns) => {
                self.add(DifferenceKind::Unexpected, || (String::new(), json(actual)));
            }
            Value::Object(map) => {
                for (key, inner) in map {
                    self.push(CursorStep::Key(key));
                    self.additional(inner);
                    self.pop();
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.push(CursorStep::Index(index));
                    self.additional(item);
                    self.pop();
                }
            }
            // A path leads on from here, which was told.
            _ => {}
        }
    }

    /// Names of HTTP headers differ in case without meaning anything by it, and those that the
    /// baseline doesn't name are no difference.
    fn headers(&mut self, wanted: &'v Map<String, Value>, map: &'v Map<String, Value>) {
        let mut by_name: HashMap<String, &Value> = HashMap::new();
        for (name, value) in map {
            by_name.entry(name.to_ascii_lowercase()).or_insert(value);
        }
        for (name, expected) in wanted {
            let actual = map
                .get(name)
                .or_else(|| by_name.get(&name.to_ascii_lowercase()).copied());
            self.field(name, expected, actual);
        }
    }

    fn field(&mut self, key: &'v str, expected: &'v Value, actual: Option<&'v Value>) {
        if self.found.mode != WalkMode::Record && self.found.differing > 0 {
            return;
        }
        self.push(CursorStep::Key(key));
        match actual {
            Some(actual) => self.value(expected, actual),
            None if self.is_ignored() => {}
            None => self.add(DifferenceKind::Missing, || (json(expected), String::new())),
        }
        self.pop();
    }

    fn array(&mut self, wanted: &'v [Value], items: &'v [Value]) {
        if self.cursor.ignores_all_elements(&self.rules.patterns) {
            self.found.agreeing += 1;
            return;
        }
        match wanted {
            [template] if makes_template(template) => self.template(template, items),
            _ => self.elements(wanted, items),
        }
    }

    fn template(&mut self, template: &'v Value, items: &'v [Value]) {
        if items.is_empty() {
            self.push(CursorStep::Index(0));
            self.add(DifferenceKind::Missing, || (json(template), String::new()));
            self.pop();
        }
        for (index, item) in items.iter().enumerate() {
            self.push(CursorStep::Index(index));
            self.value(template, item);
            self.pop();
        }
    }

    fn push(&mut self, step: CursorStep<'v>) {
        self.cursor.push(step, &self.rules.patterns);
    }

    fn pop(&mut self) {
        self.cursor.pop();
    }

    fn is_ignored(&self) -> bool {
        self.cursor.is_ignored(&self.rules.patterns)
    }

    fn is_headers(&self) -> bool {
        self.rules.is_http() && matches!(self.cursor.steps(), [CursorStep::Key(HEADERS)])
    }

    fn differs(&mut self, kind: DifferenceKind, actual: &Value, expected: impl FnOnce() -> String) {
        self.add(kind, || (expected(), json(actual)));
    }

    /// Adds a difference; both sides are told only if it is listed.
    fn add(&mut self, kind: DifferenceKind, sides: impl FnOnce() -> (String, String)) {
        // What is missing may be listed already, and is then not counted again.
        if self.found.only_counts()
            && (self.found.mode != WalkMode::Record || kind != DifferenceKind::Missing)
        {
            self.found.differing += 1;
            return;
        }
        let (expected, actual) = sides();
        self.found.add(&self.cursor.place(), kind, expected, actual);
    }
}
