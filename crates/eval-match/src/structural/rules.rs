//! The paths of a structural comparison, resolved against baseline and output.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::patterns::{PathTree, WalkCursor};
use crate::matcher::{self, Matcher};
use crate::options::{SimilarityBound, StructuralOptions, Tolerance};
use crate::paths::{PathPattern, PathStep, PlaceStep};
use crate::{DistanceBudget, similarity};

/// Values that are looked at in search of an order before the search is given up; nested arrays in
/// any order would otherwise take time without bound. To these come a number for every value of the
/// baseline, each of which may be looked at more than once although nothing is searched.
const MAX_TRIALS: usize = if cfg!(test) { 100_000 } else { 1_000_000 };
const TRIALS_PER_VALUE: usize = 10;

pub(super) struct StructuralRules<'a> {
    structural: &'a StructuralOptions,
    http: bool,
    pub patterns: PathTree,
    /// From `ignore_values`; their existence [`StructuralRules::absent`] checks, too.
    values: Vec<PathPattern>,
    required: Vec<PathPattern>,
    /// The most particular first.
    tolerances: Vec<(PathPattern, Tolerance, String)>,
    /// Matchers by their text: a template's are asked once for every element.
    matchers: RefCell<HashMap<String, Rc<Result<Matcher, String>>>>,
    /// Values that may still be looked at in search of an order.
    trials_left: Cell<usize>,
    /// Whether two arrays fit each other, as was found before: nested ones would otherwise be tried
    /// again in every order of those that hold them. By where they lie, which is where they are
    /// compared unless a path names an element by its index; then there is no such memory.
    tried: Option<RefCell<HashMap<(*const Value, *const Value), bool>>>,
    undecided: RefCell<Option<String>>,
    /// What texts that are long to compare may still cost, all of them together.
    budget: RefCell<DistanceBudget>,
    lowest_likeness: Cell<Option<f64>>,
    pub warnings: Vec<String>,
}

impl<'a> StructuralRules<'a> {
    pub fn new(structural: &'a StructuralOptions, actual: &Value) -> Self {
        let mut rules = StructuralRules {
            structural,
            http: is_http(&structural.expected, actual),
            patterns: PathTree::default(),
            values: Vec::new(),
            required: Vec::new(),
            tolerances: Vec::new(),
            matchers: RefCell::default(),
            trials_left: Cell::new(MAX_TRIALS + TRIALS_PER_VALUE * values_in(structural)),
            tried: None,
            undecided: RefCell::default(),
            budget: RefCell::new(DistanceBudget::FULL),
            lowest_likeness: Cell::new(None),
            warnings: Vec::new(),
        };
        let fields = rules.resolve("ignore_fields", &structural.ignore_fields, actual, true);
        rules.values = rules.resolve("ignore_values", &structural.ignore_values, actual, false);
        rules.required = rules.resolve("require_keys", &structural.require_keys, actual, false);
        let paths: Vec<String> = structural.tolerance.keys().cloned().collect();
        let places = rules.resolve("tolerance", &paths, actual, true);
        let tolerances = places.into_iter().zip(structural.tolerance.values());
        rules.tolerances = tolerances
            .map(|(place, own)| (place, *own, shown(own)))
            .collect();
        rules.tolerances.sort_by_key(|(pattern, ..)| {
            let named = pattern
                .0
                .iter()
                .filter(|step| **step != PathStep::Any)
                .count();
            std::cmp::Reverse((pattern.0.len(), named))
        });
        for pattern in &fields {
            let end = rules.patterns.add(pattern, |_| {});
            let marks = rules.patterns.marks(end);
            (marks.ignored, marks.optional) = (true, true);
        }
        for pattern in &rules.values {
            let end = rules.patterns.add(pattern, |marks| marks.foreseen = true);
            let marks = rules.patterns.marks(end);
            (marks.ignored, marks.optional) = (true, false);
        }
        for pattern in &rules.required {
            let end = rules.patterns.add(pattern, |marks| marks.foreseen = true);
            rules.patterns.marks(end).demanded = true;
        }
        for (at, (pattern, ..)) in rules.tolerances.iter().enumerate() {
            let end = rules.patterns.add(pattern, |_| {});
            rules.patterns.marks(end).tolerance.get_or_insert(at);
        }
        rules.tried = (!rules.patterns.know_indices()).then(RefCell::default);
        rules
    }

    /// A path that leads somewhere in the body of an HTTP baseline means that, else the whole
    /// baseline; only of one that leads nowhere there the output is asked, so that no output can
    /// give a path another meaning. One that leads nowhere at all is looked for in the body, where
    /// most paths belong. With `warn`, leading nowhere is worth a warning; for the others it is a
    /// difference already.
    fn resolve(
        &mut self,
        what: &str,
        paths: &[String],
        actual: &Value,
        warn: bool,
    ) -> Vec<PathPattern> {
        if paths.is_empty() {
            return Vec::new();
        }
        let mut tree = PathTree::default();
        let mut ends = Vec::new();
        for path in paths {
            let pattern = PathPattern::parse(path);
            // The empty path is everything, not everything in the body.
            let in_body = (self.http && !pattern.0.is_empty()).then(|| pattern.under("body"));
            let ends_at = (
                tree.add(&pattern, |_| {}),
                in_body.as_ref().map(|p| tree.add(p, |_| {})),
            );
            ends.push((path, pattern, in_body, ends_at));
        }
        let reached = |tree: &mut PathTree, value: &Value| -> Vec<(bool, bool)> {
            tree.find(value);
            let each = ends.iter().map(|(.., (end, in_body))| {
                (
                    tree.marks(*end).reached,
                    in_body.is_some_and(|end| tree.marks(end).reached),
                )
            });
            each.collect()
        };
        let in_baseline = reached(&mut tree, &self.structural.expected);
        let anywhere = reached(&mut tree, actual);
        let mut resolved = Vec::new();
        for ((path, pattern, in_body, _), (known, found)) in
            ends.into_iter().zip(in_baseline.into_iter().zip(anywhere))
        {
            let (leads, leads_in_body) = if known == (false, false) {
                found
            } else {
                known
            };
            if warn && !leads && !leads_in_body {
                self.warnings
                    .push(format!("{what}: {path} matches nothing"));
            }
            resolved.push(match in_body {
                Some(in_body) if leads_in_body || !leads => in_body,
                _ => pattern,
            });
        }
        resolved
    }

    pub fn allow_additional_fields(&self) -> bool {
        self.structural.allow_additional_fields
    }

    pub fn any_order(&self) -> bool {
        self.structural.allow_field_reordering
    }

    /// The matcher that a baseline's text is, if it is one.
    pub fn matcher(&self, text: &str) -> Option<Rc<Result<Matcher, String>>> {
        if !matcher::has_the_form(text) {
            return None;
        }
        let mut known = self.matchers.borrow_mut();
        if let Some(matcher) = known.get(text) {
            return Some(Rc::clone(matcher));
        }
        let parsed = Rc::new(matcher::parse(text)?);
        known.insert(text.to_owned(), Rc::clone(&parsed));
        Some(parsed)
    }

    /// Takes what a trial costs; false when nothing is left.
    pub fn may_try(&self, cost: usize) -> bool {
        let left = self.trials_left.get();
        self.trials_left.set(left.saturating_sub(cost));
        left > 0
    }

    pub fn gave_up(&self) -> bool {
        self.trials_left.get() == 0
    }

    pub fn tried(&self, expected: &Value, actual: &Value) -> Option<bool> {
        self.tried
            .as_ref()?
            .borrow()
            .get(&(expected as *const Value, actual as *const Value))
            .copied()
    }

    pub fn remember(&self, expected: &Value, actual: &Value, fits: bool) {
        // What was cut short tells nothing.
        if let Some(tried) = self.tried.as_ref().filter(|_| !self.gave_up()) {
            tried
                .borrow_mut()
                .insert((expected as *const Value, actual as *const Value), fits);
        }
    }

    pub fn leave_undecided(&self, why: impl Into<String>) {
        self.undecided.borrow_mut().get_or_insert(why.into());
    }

    pub fn undecided(&self) -> Option<String> {
        self.undecided.borrow().clone()
    }

    pub fn likeness(&self) -> Option<SimilarityBound> {
        self.structural.likeness
    }

    /// How alike two texts are; `None` when that would take too long, which leaves the comparison
    /// undecided.
    pub fn measure(
        &self,
        likeness: SimilarityBound,
        text: &str,
        wanted: &str,
        record: bool,
    ) -> Option<f64> {
        match similarity::likeness(
            likeness.measure,
            text,
            wanted,
            &mut self.budget.borrow_mut(),
        ) {
            Ok(number) => {
                if record {
                    let lowest = self
                        .lowest_likeness
                        .get()
                        .map_or(number, |known| known.min(number));
                    self.lowest_likeness.set(Some(lowest));
                }
                Some(number)
            }
            Err(why) => {
                self.undecided.borrow_mut().get_or_insert(why.to_string());
                None
            }
        }
    }

    pub fn lowest_likeness(&self) -> Option<f64> {
        self.lowest_likeness.get()
    }

    pub fn is_http(&self) -> bool {
        self.http
    }

    /// The tolerance for the number at a place, and how it is told.
    pub fn tolerance(&self, cursor: &WalkCursor) -> Option<(&Tolerance, &str)> {
        let (_, tolerance, shown) = self.tolerances.get(cursor.tolerance()?)?;
        Some((tolerance, shown))
    }

    /// Places that must exist and don't, with what is expected there. An empty container has its
    /// `*` for `ignore_values`; for `require_keys` it lacks it.
    pub fn absent(&self, actual: &Value) -> Vec<(Vec<PlaceStep>, &'static str)> {
        let values = self
            .values
            .iter()
            .flat_map(|pattern| pattern.missing_in(actual, true));
        let keys = self
            .required
            .iter()
            .flat_map(|pattern| pattern.missing_in(actual, false));
        // What is ignored may be absent, whoever else asks for it.
        values
            .map(|place| (place, "any value"))
            .chain(keys.map(|place| (place, "a required key")))
            .filter(|(place, _)| !self.patterns.makes_optional(place))
            .collect()
    }
}

/// Whether a baseline is of an HTTP response: it has a status and a body, or has a status and the
/// output is one.
fn is_http(expected: &Value, actual: &Value) -> bool {
    let response = || {
        ["status", "headers", "body"]
            .iter()
            .all(|key| actual.get(key).is_some())
    };
    expected.get("status").is_some() && (expected.get("body").is_some() || response())
}

/// The values of a baseline, as far as they matter to the search for an order.
fn values_in(structural: &StructuralOptions) -> usize {
    let mut count = 0;
    let mut open = vec![&structural.expected];
    while let Some(value) = open.pop().filter(|_| structural.allow_field_reordering) {
        count += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            _ => {}
        }
    }
    count
}

fn shown(tolerance: &Tolerance) -> String {
    let parts = [
        tolerance.absolute.map(|x| format!("± {x}")),
        tolerance.relative.map(|x| format!("± {x} of it")),
        tolerance.min_delta.map(|x| format!("at least {x:+}")),
        tolerance.max_delta.map(|x| format!("at most {x:+}")),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    if told.is_empty() {
        "no tolerance".to_owned()
    } else {
        told.join(", ")
    }
}
