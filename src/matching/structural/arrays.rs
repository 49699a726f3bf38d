//! Arrays element by element, in order or in any order.

use serde_json::Value;

use crate::matching::paths::Place;

use super::{DifferenceKind, Found, Walk, json};

/// Pairs of elements that are compared to find an order; beyond it arrays must come in the baseline's order.
const MAX_PAIRS: usize = 1_000_000;
/// Pairs of elements that are compared only to say more helpfully that nothing but the order differs.
const MAX_PAIRS_FOR_A_HINT: usize = 10_000;

impl Walk<'_> {
    pub(super) fn elements(&mut self, wanted: &[Value], items: &[Value]) {
        // An empty array agrees by being one.
        self.found.agreeing += usize::from(wanted.is_empty());
        let same_length = wanted.len() == items.len();
        let in_order =
            same_length && wanted.iter().zip(items).enumerate().all(|(i, (e, a))| self.fits(i, e, a));
        if in_order || wanted.is_empty() || items.is_empty() {
            return self.in_order(wanted, items);
        }
        let pairs = wanted.len().saturating_mul(items.len());
        if self.rules.any_order() && pairs <= MAX_PAIRS {
            return self.in_any_order(wanted, items);
        }
        if !self.rules.any_order() && same_length && pairs <= MAX_PAIRS_FOR_A_HINT {
            let partners = self.partners(wanted, items);
            if partners.iter().all(Option::is_some) {
                let (expected, actual) = (json(&Value::from(wanted)), json(&Value::from(items)));
                return self.found.add(
                    &self.place,
                    DifferenceKind::Order,
                    format!("the order {expected}"),
                    actual,
                );
            }
        }
        self.in_order(wanted, items);
    }

    fn in_order(&mut self, wanted: &[Value], items: &[Value]) {
        for index in 0..wanted.len().max(items.len()) {
            self.element(index, wanted.get(index), items.get(index));
        }
    }

    /// Compares the elements that belong together, and what is left over in the order in which it stands.
    fn in_any_order(&mut self, wanted: &[Value], items: &[Value]) {
        let partners = self.partners(wanted, items);
        let mut used = vec![false; items.len()];
        for partner in partners.iter().flatten() {
            if let Some(used) = used.get_mut(*partner) {
                *used = true;
            }
        }
        let mut spare = (0..items.len()).filter(|index| !used.get(*index).copied().unwrap_or(true));
        for (index, expected) in wanted.iter().enumerate() {
            let partner = partners.get(index).copied().flatten().or_else(|| spare.next());
            self.element(index, Some(expected), partner.and_then(|partner| items.get(partner)));
        }
        for index in spare {
            self.element(index, None, items.get(index));
        }
    }

    fn element(&mut self, index: usize, expected: Option<&Value>, actual: Option<&Value>) {
        self.place.push(Place::Index(index));
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.value(expected, actual),
            _ if self.rules.ignores(&self.place) => {}
            (Some(expected), None) => {
                self.found.add(&self.place, DifferenceKind::Missing, json(expected), String::new());
            }
            (None, Some(actual)) => {
                self.found.add(&self.place, DifferenceKind::Unexpected, String::new(), json(actual));
            }
            (None, None) => {}
        }
        self.place.pop();
    }

    fn fits(&self, index: usize, expected: &Value, actual: &Value) -> bool {
        let mut place = self.place.clone();
        place.push(Place::Index(index));
        let mut walk = Walk { rules: self.rules, place, found: Found::default() };
        walk.value(expected, actual);
        walk.found.differing == 0
    }

    /// For every expected element one of the actual ones that fits it, each used once, as many as possible: a maximum
    /// matching by augmenting paths (Kuhn), since an element that fits several must not take another's only partner.
    fn partners(&self, wanted: &[Value], items: &[Value]) -> Vec<Option<usize>> {
        let fitting: Vec<Vec<usize>> = wanted
            .iter()
            .enumerate()
            .map(|(index, expected)| {
                // Its own place first, so that what is in order stays in order.
                let own = (index < items.len()).then_some(index);
                let others = (0..items.len()).filter(|other| *other != index);
                let fits =
                    |other: &usize| items.get(*other).is_some_and(|item| self.fits(index, expected, item));
                own.into_iter().chain(others).filter(fits).collect()
            })
            .collect();
        let mut taken_by: Vec<Option<usize>> = vec![None; items.len()];
        for start in 0..wanted.len() {
            augment(start, &fitting, &mut taken_by);
        }
        let mut partners = vec![None; wanted.len()];
        for (item, taker) in taken_by.iter().enumerate() {
            if let Some(slot) = taker.and_then(|taker| partners.get_mut(taker)) {
                *slot = Some(item);
            }
        }
        partners
    }
}

/// Finds a partner for `start`, moving others to other partners where that helps. Breadth first, without recursion: the
/// path may be as long as the array.
fn augment(start: usize, fitting: &[Vec<usize>], taken_by: &mut [Option<usize>]) {
    // For each item that was reached: the expected element that reached it.
    let mut reached_from: Vec<Option<usize>> = vec![None; taken_by.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(element) = queue.pop_front() {
        for &item in fitting.get(element).into_iter().flatten() {
            match reached_from.get_mut(item) {
                Some(from @ None) => *from = Some(element),
                _ => continue,
            }
            if let Some(taker) = taken_by.get(item).copied().flatten() {
                queue.push_back(taker);
                continue;
            }
            // Free: hand every item on the way back to the one that reached it.
            let mut free = Some(item);
            while let Some(item) = free {
                let Some(element) = reached_from.get(item).copied().flatten() else { return };
                free = taken_by.iter().position(|taker| *taker == Some(element));
                if let Some(taker) = taken_by.get_mut(item) {
                    *taker = Some(element);
                }
                if let Some(left) = free.and_then(|left| taken_by.get_mut(left)) {
                    *left = None;
                }
                if element == start {
                    return;
                }
            }
            return;
        }
    }
}
