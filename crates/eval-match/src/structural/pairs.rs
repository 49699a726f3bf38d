//! Which elements of two arrays belong together when any order is fine: a maximum matching by
//! augmenting paths, since an element that fits several must not take another's only partner.
//!
//! Elements that are spelled alike are one class, and classes are compared only when their keys
//! agree: then long arrays of which few differ take little more time than one walk.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use serde_json::Value;

use super::keys::{ValueMask, ValueSide, key};
use super::{StructuralWalk, WalkMode};

/// Masks by which actual elements are looked at; beyond, all of the rest are tried with each other.
const MAX_MASKS: usize = 32;
/// Pairs of elements that are tried without looking for keys first.
const MAX_SMALL: usize = 64;
/// What a value of a document takes as JSON, or less.
const BYTES_A_VALUE: usize = 8;

/// Elements that are spelled alike.
struct ElementClass<'v> {
    value: &'v Value,
    members: Vec<usize>,
    /// Of all members as JSON; 0 where they were not spelled out.
    bytes: usize,
    /// Members without a partner.
    free: usize,
}

pub(super) struct ElementPairs<'v> {
    wanted: Vec<ElementClass<'v>>,
    items: Vec<ElementClass<'v>>,
    elements: usize,
    /// Every element is a class of its own.
    apart: bool,
    /// Of every wanted class: which bucket holds the items that it may fit.
    bucket_of: Vec<Option<usize>>,
    buckets: Vec<ItemBucket>,
    /// How many members of a wanted class (first) have partners in a class of items, both ways.
    flow: Vec<BTreeMap<usize, usize>>,
    takers: Vec<BTreeMap<usize, usize>>,
    /// Of wanted classes: the items that fit.
    known: HashMap<usize, Rc<[usize]>>,
    /// Items that a search has reached in vain. What may reach them can only go on to others of
    /// them, all of which are taken, so that no later search need look at them again.
    dead: Vec<bool>,
}

#[derive(Default)]
struct ItemBucket {
    items: Vec<usize>,
    /// Those before have no free member.
    start: usize,
}

impl<'v> ElementPairs<'v> {
    pub fn of(walk: &mut StructuralWalk<'_, 'v>, wanted: &'v [Value], items: &'v [Value]) -> Self {
        // Where a path names one element by its index, no two are alike. In the midst of a search
        // what is small is tried at once, and what is large is paid for by its size.
        let searching = walk.found.mode != WalkMode::Record;
        let small = wanted.len().saturating_mul(items.len()) <= MAX_SMALL;
        let apart = walk.cursor.tells_elements_apart(&walk.rules.patterns)
            || (searching && (small || walk.rules.gave_up()));
        let (elements, wanted, items) =
            (wanted.len(), classes(wanted, apart), classes(items, apart));
        if searching && !apart {
            let bytes: usize = wanted.iter().chain(&items).map(|class| class.bytes).sum();
            walk.rules.may_try(bytes / BYTES_A_VALUE);
        }
        let (bucket_of, buckets) = buckets(walk, &wanted, &items, apart);
        let flow = vec![BTreeMap::new(); wanted.len()];
        let takers = vec![BTreeMap::new(); items.len()];
        let (known, dead) = (HashMap::new(), vec![false; items.len()]);
        ElementPairs {
            wanted,
            items,
            elements,
            apart,
            bucket_of,
            buckets,
            flow,
            takers,
            known,
            dead,
        }
    }

    /// For every expected element its partner's index.
    pub fn found(mut self, walk: &mut StructuralWalk<'_, 'v>) -> Vec<Option<usize>> {
        if !self.apart {
            self.pair_alike(walk);
        }
        for class in 0..self.wanted.len() {
            self.pair_first_fit(walk, class);
        }
        for class in 0..self.wanted.len() {
            while self.wanted[class].free > 0 && !walk.rules.gave_up() && self.augment(walk, class)
            {
            }
        }
        let mut partners = vec![None; self.elements];
        let mut given = vec![0; self.items.len()];
        for (class, flow) in self.wanted.iter().zip(&self.flow) {
            let taken = flow
                .iter()
                .flat_map(|(item, count)| std::iter::repeat_n(*item, *count));
            for (member, item) in class.members.iter().zip(taken) {
                partners[*member] = self.items[item].members.get(given[item]).copied();
                given[item] += 1;
            }
        }
        partners
    }

    fn fits(&self, walk: &mut StructuralWalk<'_, 'v>, class: usize, item: usize) -> bool {
        let (expected, actual) = (&self.wanted[class], &self.items[item]);
        walk.fits(expected.members[0], expected.value, actual.value)
    }

    /// Gives members of a wanted class as many partners of a class of items as both have left.
    fn pair(&mut self, class: usize, item: usize, count: usize) {
        *self.flow[class].entry(item).or_default() += count;
        *self.takers[item].entry(class).or_default() += count;
        self.wanted[class].free -= count;
        self.items[item].free -= count;
    }

    fn unpair(&mut self, class: usize, item: usize) {
        for (map, key) in [
            (&mut self.flow[class], item),
            (&mut self.takers[item], class),
        ] {
            if let Some(count) = map.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    map.remove(&key);
                }
            }
        }
        self.wanted[class].free += 1;
        self.items[item].free += 1;
    }

    /// Elements that are spelled alike are paired at once; the search moves them again where that
    /// makes room for more.
    fn pair_alike(&mut self, walk: &mut StructuralWalk<'_, 'v>) {
        let spelled: HashMap<String, usize> = self
            .items
            .iter()
            .enumerate()
            .map(|(at, item)| (item.value.to_string(), at))
            .collect();
        for class in 0..self.wanted.len() {
            let Some(item) = spelled.get(&self.wanted[class].value.to_string()).copied() else {
                continue;
            };
            let count = self.wanted[class].free.min(self.items[item].free);
            if count > 0 && self.fits(walk, class, item) {
                self.pair(class, item, count);
            }
        }
    }

    /// Takes partners in the order in which they stand.
    fn pair_first_fit(&mut self, walk: &mut StructuralWalk<'_, 'v>, class: usize) {
        let Some(bucket) = self.bucket_of[class] else {
            return;
        };
        let mut at = self.buckets[bucket].start;
        while self.wanted[class].free > 0 && !walk.rules.gave_up() {
            let Some(item) = self.buckets[bucket].items.get(at).copied() else {
                return;
            };
            let free = self.items[item].free;
            if free == 0 && at == self.buckets[bucket].start {
                self.buckets[bucket].start += 1;
            } else if free > 0 && self.fits(walk, class, item) {
                self.pair(class, item, free.min(self.wanted[class].free));
            }
            at += 1;
        }
    }

    fn fitting(&mut self, walk: &mut StructuralWalk<'_, 'v>, class: usize) -> Rc<[usize]> {
        if let Some(known) = self.known.get(&class) {
            return Rc::clone(known);
        }
        let bucket = self.bucket_of[class].and_then(|bucket| self.buckets.get(bucket));
        let candidates = bucket
            .map(|bucket| bucket.items.clone())
            .unwrap_or_default();
        let fitting: Rc<[usize]> = candidates
            .into_iter()
            .filter(|item| self.fits(walk, class, *item))
            .collect();
        self.known.insert(class, Rc::clone(&fitting));
        fitting
    }

    /// Finds a partner for one more member of a class, moving others to other partners where that
    /// helps; false when there is none. Breadth first and without recursion: the path may be as
    /// long as the array.
    fn augment(&mut self, walk: &mut StructuralWalk<'_, 'v>, start: usize) -> bool {
        // For each class of items: the wanted class that reached it. For each wanted class: the
        // item that it would leave.
        let mut reached_from: Vec<Option<usize>> = vec![None; self.items.len()];
        let mut leaves: Vec<Option<usize>> = vec![None; self.wanted.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(class) = queue.pop_front() {
            for item in self.fitting(walk, class).iter().copied() {
                if self.dead[item] || reached_from[item].is_some() {
                    continue;
                }
                reached_from[item] = Some(class);
                if self.items[item].free > 0 {
                    self.shift(item, start, &reached_from, &leaves);
                    return true;
                }
                for taker in self.takers[item].keys() {
                    if *taker != start && leaves[*taker].is_none() {
                        leaves[*taker] = Some(item);
                        queue.push_back(*taker);
                    }
                }
            }
        }
        for (dead, reached) in self.dead.iter_mut().zip(&reached_from) {
            *dead |= reached.is_some();
        }
        false
    }

    /// Gives a free item to the class that reached it, that one's old item to the class that
    /// reached that, and so on back to the one that had none.
    fn shift(
        &mut self,
        free: usize,
        start: usize,
        reached_from: &[Option<usize>],
        leaves: &[Option<usize>],
    ) {
        let mut item = free;
        while let Some(class) = reached_from[item] {
            match leaves[class].filter(|_| class != start) {
                Some(old) => {
                    self.unpair(class, old);
                    self.pair(class, item, 1);
                    item = old;
                }
                None => return self.pair(class, item, 1),
            }
        }
    }
}

fn classes<'v>(values: &'v [Value], apart: bool) -> Vec<ElementClass<'v>> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut classes: Vec<ElementClass> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let fresh = classes.len();
        let spelled = if apart {
            String::new()
        } else {
            value.to_string()
        };
        let bytes = spelled.len();
        let at = if apart {
            fresh
        } else {
            *known.entry(spelled).or_insert(fresh)
        };
        match classes.get_mut(at) {
            Some(class) => {
                class.members.push(index);
                class.bytes += bytes;
                class.free += 1;
            }
            None => classes.push(ElementClass {
                value,
                members: vec![index],
                bytes,
                free: 1,
            }),
        }
    }
    classes
}

/// Of every wanted class the bucket of items that have its key under its mask, if any has.
fn buckets<'v>(
    walk: &mut StructuralWalk<'_, 'v>,
    wanted: &[ElementClass<'v>],
    items: &[ElementClass<'v>],
    apart: bool,
) -> (Vec<Option<usize>>, Vec<ItemBucket>) {
    let mut masks: HashMap<ValueMask<'v>, usize> = HashMap::new();
    let mut by_mask: Vec<(ValueMask<'v>, HashMap<u64, usize>)> = Vec::new();
    let mut buckets: Vec<ItemBucket> = Vec::new();
    let mut bucket_of = Vec::new();
    for class in wanted {
        let mask = if apart {
            ValueMask::Any
        } else {
            walk.element_mask(class.value)
        };
        let known = masks.len();
        let mask = if known < MAX_MASKS || masks.contains_key(&mask) {
            mask
        } else {
            ValueMask::Any
        };
        let at = *masks.entry(mask.clone()).or_insert(known);
        if at == by_mask.len() {
            let mut keyed: HashMap<u64, usize> = HashMap::new();
            for (item, class) in items.iter().enumerate() {
                let Some(key) = key(&mask, class.value, ValueSide::Actual) else {
                    continue;
                };
                let bucket = *keyed.entry(key).or_insert(buckets.len());
                if bucket == buckets.len() {
                    buckets.push(ItemBucket::default());
                }
                buckets[bucket].items.push(item);
            }
            by_mask.push((mask, keyed));
        }
        let (mask, keyed) = &by_mask[at];
        bucket_of.push(
            key(mask, class.value, ValueSide::Expected).and_then(|key| keyed.get(&key).copied()),
        );
    }
    (bucket_of, buckets)
}
