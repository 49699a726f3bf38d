//! Arrays element by element, in order or in any order.

use serde_json::Value;

use super::pairs::ElementPairs;
use super::patterns::CursorStep;
use super::{DifferenceKind, StructuralWalk, WalkFindings, WalkMode, json};

/// Pairs of elements that are compared only to say more helpfully that nothing but the order
/// differs.
const MAX_PAIRS_FOR_A_HINT: usize = 10_000;
const TOO_LARGE: &str = "arrays of the output are too large to be compared in every order, so it is not known whether it matches";

impl<'v> StructuralWalk<'_, 'v> {
    /// Every place is walked for the record once only, after trials have found what belongs
    /// together: trials are bounded, and two walks at every level of nested arrays would double
    /// with each.
    pub(super) fn elements(&mut self, wanted: &'v [Value], items: &'v [Value]) {
        // An empty array agrees by being one.
        self.found.agreeing += usize::from(wanted.is_empty());
        let pairs = wanted.len().saturating_mul(items.len());
        let any_order = self.rules.any_order();
        let record = self.found.mode == WalkMode::Record;
        if any_order && self.fits_in_order(wanted, items) {
            if record {
                self.in_order(wanted, items);
            }
            return;
        }
        match (any_order, record) {
            (true, true) => self.in_any_order(wanted, items),
            (true, false) => {
                let complete = wanted.len() == items.len()
                    && self.partners(wanted, items).iter().all(Option::is_some);
                self.found.differing += usize::from(!complete);
            }
            (false, true) if pairs > 1 => self.in_order_with_a_hint(wanted, items),
            (false, _) => self.in_order(wanted, items),
        }
    }

    fn fits_in_order(&mut self, wanted: &'v [Value], items: &'v [Value]) -> bool {
        // Only a path that names an element by its index lets one be absent.
        if wanted.len() != items.len() && !self.cursor.tells_elements_apart(&self.rules.patterns) {
            return false;
        }
        let mode = if self.found.mode == WalkMode::Trial {
            WalkMode::Trial
        } else {
            WalkMode::Check
        };
        self.agrees(mode, |walk| walk.in_order(wanted, items))
    }

    /// Whether a walk finds no difference; nothing of it is recorded.
    fn agrees(&mut self, mode: WalkMode, walk: impl FnOnce(&mut Self)) -> bool {
        let inner = WalkFindings {
            mode,
            ..WalkFindings::default()
        };
        let outer = std::mem::replace(&mut self.found, inner);
        walk(self);
        std::mem::replace(&mut self.found, outer).differing == 0
    }

    /// Says so when nothing but the order differs.
    fn in_order_with_a_hint(&mut self, wanted: &'v [Value], items: &'v [Value]) {
        let mut whole = std::mem::take(&mut self.found);
        self.in_order(wanted, items);
        // Likenesses are too dear to be looked at for a hint.
        let small = wanted.len() == items.len()
            && wanted.len() * items.len() <= MAX_PAIRS_FOR_A_HINT
            && self.rules.likeness().is_none();
        if self.found.differing > 0
            && small
            && self.partners(wanted, items).iter().all(Option::is_some)
        {
            let (expected, actual) = (json(&Value::from(wanted)), json(&Value::from(items)));
            self.found = WalkFindings::default();
            self.add(DifferenceKind::Order, || {
                (format!("the order {expected}"), actual)
            });
        }
        whole.join(std::mem::take(&mut self.found));
        self.found = whole;
    }

    fn in_order(&mut self, wanted: &'v [Value], items: &'v [Value]) {
        for index in 0..wanted.len().max(items.len()) {
            if self.found.mode != WalkMode::Record && self.found.differing > 0 {
                return;
            }
            self.element(index, wanted.get(index), items.get(index));
        }
    }

    /// Compares the elements that belong together, and what is left over in the order in which it
    /// stands.
    fn in_any_order(&mut self, wanted: &'v [Value], items: &'v [Value]) {
        let partners = self.partners(wanted, items);
        // Arrays of different lengths differ in any order.
        let (gave_up, before) = (self.rules.gave_up(), self.found.differing);
        let uncertain = (gave_up || self.rules.undecided().is_some())
            && wanted.len() == items.len()
            && partners.iter().any(Option::is_none);
        if uncertain && gave_up {
            self.rules.leave_undecided(TOO_LARGE);
        }
        let mut used = vec![false; items.len()];
        for partner in partners.iter().flatten() {
            if let Some(used) = used.get_mut(*partner) {
                *used = true;
            }
        }
        let mut spare = (0..items.len()).filter(|index| !used.get(*index).copied().unwrap_or(true));
        for (index, expected) in wanted.iter().enumerate() {
            let partner = partners
                .get(index)
                .copied()
                .flatten()
                .or_else(|| spare.next());
            self.push(CursorStep::Index(index));
            match partner.and_then(|partner| items.get(partner)) {
                Some(actual) => self.value(expected, actual),
                None => self.add(DifferenceKind::Missing, || (json(expected), String::new())),
            }
            self.pop();
        }
        for index in spare {
            let Some(actual) = items.get(index) else {
                continue;
            };
            self.push(CursorStep::Index(index));
            self.add(DifferenceKind::Unexpected, || (String::new(), json(actual)));
            self.pop();
        }
        if uncertain {
            self.found.uncertain += self.found.differing - before;
        }
    }

    fn element(&mut self, index: usize, expected: Option<&'v Value>, actual: Option<&'v Value>) {
        self.push(CursorStep::Index(index));
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.value(expected, actual),
            _ if self.is_ignored() => {}
            (Some(expected), None) => {
                self.add(DifferenceKind::Missing, || (json(expected), String::new()));
            }
            (None, Some(actual)) => {
                self.add(DifferenceKind::Unexpected, || (String::new(), json(actual)));
            }
            (None, None) => {}
        }
        self.pop();
    }

    /// Whether an element fits one of the actual ones; false, too, when there is no trial left to
    /// find out.
    pub(super) fn fits(&mut self, index: usize, expected: &'v Value, actual: &'v Value) -> bool {
        if !self.rules.may_try(1) {
            return false;
        }
        self.agrees(WalkMode::Trial, |walk| {
            walk.push(CursorStep::Index(index));
            walk.value(expected, actual);
            walk.pop();
        })
    }

    /// As [`StructuralWalk::array`], where only whether anything differs is asked; nothing has differed
    /// before.
    pub(super) fn array_once(&mut self, expected: &'v Value, actual: &'v Value) {
        let (Value::Array(wanted), Value::Array(items)) = (expected, actual) else {
            return;
        };
        match self.rules.tried(expected, actual) {
            Some(fits) => self.found.differing += usize::from(!fits),
            None => {
                self.array(wanted, items);
                self.rules
                    .remember(expected, actual, self.found.differing == 0);
            }
        }
    }

    /// For every expected element one of the actual ones that fits it, each used once, as many as
    /// possible.
    fn partners(&mut self, wanted: &'v [Value], items: &'v [Value]) -> Vec<Option<usize>> {
        ElementPairs::of(self, wanted, items).found(self)
    }
}
