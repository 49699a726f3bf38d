//! Arrays element by element, in order or in any order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::matching::paths::Place;

use super::{DifferenceKind, Found, Mode, Walk, json};

/// Pairs of elements that are compared only to say more helpfully that nothing but the order differs.
const MAX_PAIRS_FOR_A_HINT: usize = 10_000;

impl Walk<'_> {
    /// Every place is walked for the record once only, after trials have found what belongs together: trials are bounded,
    /// and two walks at every level of nested arrays would double with each.
    pub(super) fn elements(&mut self, wanted: &[Value], items: &[Value]) {
        // An empty array agrees by being one.
        self.found.agreeing += usize::from(wanted.is_empty());
        let pairs = wanted.len().saturating_mul(items.len());
        if pairs <= 1 || (self.rules.any_order() && self.fits_in_order(wanted, items)) {
            return self.in_order(wanted, items);
        }
        match (self.rules.any_order(), self.found.mode) {
            (true, Mode::Record) => self.in_any_order(wanted, items),
            (true, _) => {
                let complete =
                    wanted.len() == items.len() && self.partners(wanted, items).iter().all(Option::is_some);
                self.found.differing += usize::from(!complete);
            }
            (false, Mode::Record) => self.in_order_with_a_hint(wanted, items),
            (false, _) => self.in_order(wanted, items),
        }
    }

    fn fits_in_order(&mut self, wanted: &[Value], items: &[Value]) -> bool {
        if wanted.len() != items.len() {
            return false;
        }
        let mode = if self.found.mode == Mode::Trial { Mode::Trial } else { Mode::Check };
        let outer = std::mem::replace(&mut self.found, Found { mode, ..Found::default() });
        self.in_order(wanted, items);
        let found = std::mem::replace(&mut self.found, outer);
        found.differing == 0
    }

    /// Says so when nothing but the order differs.
    fn in_order_with_a_hint(&mut self, wanted: &[Value], items: &[Value]) {
        let mut whole = std::mem::take(&mut self.found);
        self.in_order(wanted, items);
        let small = wanted.len() == items.len() && wanted.len() * items.len() <= MAX_PAIRS_FOR_A_HINT;
        if self.found.differing > 0 && small && self.partners(wanted, items).iter().all(Option::is_some) {
            let (expected, actual) = (json(&Value::from(wanted)), json(&Value::from(items)));
            self.found = Found::default();
            self.found.add(&self.place, DifferenceKind::Order, format!("the order {expected}"), actual);
        }
        whole.join(std::mem::take(&mut self.found));
        self.found = whole;
    }

    fn in_order(&mut self, wanted: &[Value], items: &[Value]) {
        for index in 0..wanted.len().max(items.len()) {
            self.element(index, wanted.get(index), items.get(index));
        }
    }

    /// Compares the elements that belong together, and what is left over in the order in which it stands.
    fn in_any_order(&mut self, wanted: &[Value], items: &[Value]) {
        let partners = self.partners(wanted, items);
        // Arrays of different lengths differ in any order.
        if self.rules.gave_up() && wanted.len() == items.len() && partners.iter().any(Option::is_none) {
            self.rules.leave_undecided();
        }
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
        if !self.rules.may_try(self.place.len() + 1) {
            return false;
        }
        let mut place = self.place.clone();
        place.push(Place::Index(index));
        let found = Found { mode: Mode::Trial, ..Found::default() };
        let mut walk = Walk { rules: self.rules, place, found };
        walk.value(expected, actual);
        walk.found.differing == 0
    }

    /// For every expected element one of the actual ones that fits it, each used once, as many as possible: a maximum
    /// matching by augmenting paths, since an element that fits several must not take another's only partner.
    fn partners(&self, wanted: &[Value], items: &[Value]) -> Vec<Option<usize>> {
        let mut pairs = Pairs { partner_of: vec![None; wanted.len()], taken_by: vec![None; items.len()] };
        // Elements that are spelled alike are paired at once, which leaves little to search in long plain arrays; the
        // search moves them again where that makes room for more.
        let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
        let record = self.found.mode == Mode::Record;
        for (index, item) in items.iter().enumerate().rev().filter(|_| record) {
            alike.entry(item.to_string()).or_default().push(index);
        }
        for (element, expected) in wanted.iter().enumerate().filter(|_| record) {
            let partner = alike.get_mut(&expected.to_string()).and_then(Vec::pop);
            if let Some(item) = partner.filter(|item| self.fits(element, expected, &items[*item])) {
                pairs.pair(element, item);
            }
        }
        let mut known: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut fitting = |element: usize| -> Vec<usize> {
            let fits = |item: &usize| self.fits(element, &wanted[element], &items[*item]);
            known.entry(element).or_insert_with(|| (0..items.len()).filter(fits).collect()).clone()
        };
        for start in 0..wanted.len() {
            if pairs.partner_of[start].is_none() && !self.rules.gave_up() {
                pairs.augment(start, &mut fitting);
            }
        }
        pairs.partner_of
    }
}

/// Which expected element and which actual item are paired; both hold indices of the other, all in range.
struct Pairs {
    partner_of: Vec<Option<usize>>,
    taken_by: Vec<Option<usize>>,
}

impl Pairs {
    fn pair(&mut self, element: usize, item: usize) {
        self.partner_of[element] = Some(item);
        self.taken_by[item] = Some(element);
    }

    /// Finds a partner for `start`, moving others to other partners where that helps. Breadth first and without recursion:
    /// the path may be as long as the array.
    fn augment(&mut self, start: usize, fitting: &mut dyn FnMut(usize) -> Vec<usize>) {
        // For each item that was reached: the element that reached it.
        let mut reached_from: Vec<Option<usize>> = vec![None; self.taken_by.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(element) = queue.pop_front() {
            for item in fitting(element) {
                if reached_from[item].is_some() {
                    continue;
                }
                reached_from[item] = Some(element);
                match self.taken_by[item] {
                    Some(taker) => queue.push_back(taker),
                    None => return self.shift(item, &reached_from),
                }
            }
        }
    }

    /// Gives a free item to the element that reached it, that one's old item to the element that reached that, and so on
    /// back to the element that had none.
    fn shift(&mut self, free: usize, reached_from: &[Option<usize>]) {
        let mut next = Some(free);
        while let Some((item, element)) = next.and_then(|item| Some((item, reached_from[item]?))) {
            next = self.partner_of[element];
            self.pair(element, item);
        }
    }
}
