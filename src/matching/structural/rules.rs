//! The paths of a structural comparison, resolved against baseline and output.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::matching::matcher::{self, Matcher};
use crate::matching::paths::{PathPattern, Place, Step};
use crate::model::{Structural, Tolerance};

/// Values that are looked at in search of an order before the search is given up; nested arrays in any order would
/// otherwise take time without bound.
const MAX_TRIALS: usize = 1_000_000;

pub(super) struct Rules<'a> {
    structural: &'a Structural,
    http: bool,
    /// From `ignore_fields`, and from `ignore_values`, whose existence [`Rules::absent`] checks.
    ignored: Vec<PathPattern>,
    values: Vec<PathPattern>,
    required: Vec<PathPattern>,
    tolerances: Vec<(PathPattern, Tolerance, String)>,
    /// Matchers by their text: a template's are asked once for every element.
    matchers: RefCell<HashMap<String, Rc<Result<Matcher, String>>>>,
    /// Values that may still be looked at in search of an order.
    trials_left: Cell<usize>,
    /// An array was compared in its own order although another may fit.
    undecided: Cell<bool>,
    pub warnings: Vec<String>,
}

impl<'a> Rules<'a> {
    pub fn new(structural: &'a Structural, actual: &Value) -> Self {
        let http = structural.expected.get("status").is_some() && structural.expected.get("body").is_some();
        let mut rules = Rules {
            structural,
            http,
            ignored: Vec::new(),
            values: Vec::new(),
            required: Vec::new(),
            tolerances: Vec::new(),
            matchers: RefCell::default(),
            trials_left: Cell::new(MAX_TRIALS),
            undecided: Cell::new(false),
            warnings: Vec::new(),
        };
        for path in &structural.ignore_fields {
            let pattern = rules.resolve("ignore_fields", path, actual, true);
            rules.ignored.push(pattern);
        }
        for path in &structural.ignore_values {
            let pattern = rules.resolve("ignore_values", path, actual, false);
            rules.values.push(pattern.clone());
            rules.ignored.push(pattern);
        }
        for path in &structural.require_keys {
            let pattern = rules.resolve("require_keys", path, actual, false);
            rules.required.push(pattern);
        }
        for (path, tolerance) in &structural.tolerance {
            let pattern = rules.resolve("tolerance", path, actual, true);
            rules.tolerances.push((pattern, *tolerance, shown(tolerance)));
        }
        // The most particular first.
        rules.tolerances.sort_by_key(|(pattern, ..)| {
            let named = pattern.0.iter().filter(|step| **step != Step::Any).count();
            std::cmp::Reverse((pattern.0.len(), named))
        });
        rules
    }

    /// A path that leads somewhere in the body of an HTTP baseline or output means that, else the whole output. One that
    /// leads nowhere is looked for in the body, where most paths belong. With `warn`, leading nowhere is worth a warning;
    /// for the others it is a difference already.
    fn resolve(&mut self, what: &str, path: &str, actual: &Value, warn: bool) -> PathPattern {
        let pattern = PathPattern::parse(path);
        let sides = [&self.structural.expected, actual];
        let leads = |pattern: &PathPattern| sides.iter().any(|side| pattern.exists_in(side));
        // The empty path is everything, not everything in the body.
        if self.http && !pattern.0.is_empty() {
            let in_body = pattern.under("body");
            if leads(&in_body) {
                return in_body;
            }
            if leads(&pattern) {
                return pattern;
            }
            if warn {
                self.warnings.push(format!("{what}: {path} matches nothing"));
            }
            return in_body;
        }
        if warn && !leads(&pattern) {
            self.warnings.push(format!("{what}: {path} matches nothing"));
        }
        pattern
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

    pub fn leave_undecided(&self) {
        self.undecided.set(true);
    }

    pub fn undecided(&self) -> bool {
        self.undecided.get()
    }

    pub fn ignores(&self, place: &[Place]) -> bool {
        self.ignored.iter().any(|pattern| pattern.names(place))
    }

    /// Whether `*` ignores whatever an array at this place holds.
    pub fn ignores_all_elements(&self, place: &[Place]) -> bool {
        self.ignored.iter().any(|pattern| match pattern.0.split_last() {
            Some((Step::Any, parent)) => PathPattern(parent.to_vec()).names(place),
            _ => false,
        })
    }

    /// Whether a required path leads to or through this place, so that what is there is no surprise.
    pub fn foresees(&self, place: &[Place]) -> bool {
        let through = |pattern: &PathPattern| {
            let length = pattern.0.len().min(place.len());
            length == place.len() && PathPattern(pattern.0[..length].to_vec()).names(place)
        };
        self.required.iter().chain(&self.values).any(through)
    }

    pub fn is_headers(&self, place: &[Place]) -> bool {
        self.http && matches!(place, [Place::Key(key)] if key == "headers")
    }

    /// The tolerance for the number at a place, and how it is told.
    pub fn tolerance(&self, place: &[Place]) -> Option<(&Tolerance, &str)> {
        self.tolerances
            .iter()
            .find(|(pattern, ..)| pattern.covers(place))
            .map(|(_, tolerance, shown)| (tolerance, shown.as_str()))
    }

    /// Places that must exist and don't, with what is expected there. An empty container has its `*` for `ignore_values`;
    /// for `require_keys` it lacks it.
    pub fn absent(&self, actual: &Value) -> Vec<(Vec<Place>, &'static str)> {
        let values = self.values.iter().flat_map(|pattern| pattern.missing_in(actual, true));
        let keys = self.required.iter().flat_map(|pattern| pattern.missing_in(actual, false));
        // What is ignored may be absent, whoever else asks for it.
        let optional: Vec<&PathPattern> = self.ignored.iter().filter(|i| !self.values.contains(i)).collect();
        values
            .map(|place| (place, "any value"))
            .chain(keys.map(|place| (place, "a required key")))
            .filter(|(place, _)| !optional.iter().any(|pattern| pattern.covers(place)))
            .collect()
    }
}

fn shown(tolerance: &Tolerance) -> String {
    let parts = [
        tolerance.absolute.map(|x| format!("± {x}")),
        tolerance.relative.map(|x| format!("± {x} of it")),
        tolerance.min_delta.map(|x| format!("at least {x:+}")),
        tolerance.max_delta.map(|x| format!("at most {x:+}")),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    if told.is_empty() { "no tolerance".to_owned() } else { told.join(", ") }
}
