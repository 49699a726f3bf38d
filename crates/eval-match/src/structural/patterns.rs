//! The paths that an author wrote, as one tree: a walk through values carries along where in the
//! tree it is, so that what a place costs does not grow with the number of paths.

use std::collections::HashMap;

use serde_json::Value;

use crate::paths::{PathPattern, PathStep, PlaceStep};

/// What paths that end at a node say of their place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PathMarks {
    pub ignored: bool,
    /// It may be absent: ignored, and not because its value doesn't count.
    pub optional: bool,
    /// A path that must exist leads here or through here.
    pub foreseen: bool,
    /// A path that must exist ends here.
    pub demanded: bool,
    /// Which tolerance holds; a lower one is more particular.
    pub tolerance: Option<usize>,
    /// Something ends here.
    pub reached: bool,
}

#[derive(Debug, Default)]
struct PathNode {
    named: HashMap<String, usize>,
    /// The named steps that are indices, by what they count.
    indexed: HashMap<usize, usize>,
    any: Option<usize>,
    /// It is reached by `*`.
    by_any: bool,
    marks: PathMarks,
}

impl PathNode {
    fn leads_on(&self) -> bool {
        self.any.is_some() || !self.named.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct PathTree {
    nodes: Vec<PathNode>,
}

impl Default for PathTree {
    fn default() -> Self {
        PathTree {
            nodes: vec![PathNode::default()],
        }
    }
}

impl PathTree {
    /// The node at which a path ends; `each` is told of every node on the way there.
    pub fn add(&mut self, pattern: &PathPattern, mut each: impl FnMut(&mut PathMarks)) -> usize {
        let mut at = 0;
        for step in &pattern.0 {
            each(&mut self.nodes[at].marks);
            let fresh = self.nodes.len();
            let node = &mut self.nodes[at];
            let next = match step {
                PathStep::Any => *node.any.get_or_insert(fresh),
                PathStep::Named(name) => {
                    let next = *node.named.entry(name.clone()).or_insert(fresh);
                    if let Ok(index) = name.parse() {
                        node.indexed.entry(index).or_insert(next);
                    }
                    next
                }
            };
            if next == fresh {
                self.nodes.push(PathNode {
                    by_any: *step == PathStep::Any,
                    ..PathNode::default()
                });
            }
            at = next;
        }
        each(&mut self.nodes[at].marks);
        at
    }

    pub fn marks(&mut self, node: usize) -> &mut PathMarks {
        &mut self.nodes[node].marks
    }

    /// The nodes that `at` leads to by one step.
    fn step(&self, at: usize, step: CursorStep, into: &mut Vec<usize>) {
        let node = &self.nodes[at];
        into.extend(node.any);
        into.extend(match step {
            CursorStep::Key(key) => node.named.get(key),
            CursorStep::Index(index) => node.indexed.get(&index),
        });
    }

    /// Marks as reached every node whose paths lead somewhere in a value. The `*` of an empty
    /// container counts, and whatever is below it: the path has its place there.
    pub fn find(&mut self, value: &Value) {
        self.find_below(&[0], value);
    }

    fn find_below(&mut self, states: &[usize], value: &Value) {
        for state in states {
            self.nodes[*state].marks.reached = true;
        }
        if !states.iter().any(|state| self.nodes[*state].leads_on()) {
            return;
        }
        let mut below = Vec::new();
        let mut each = |this: &mut Self, step: CursorStep, child: &Value| {
            below.clear();
            states
                .iter()
                .for_each(|state| this.step(*state, step, &mut below));
            if !below.is_empty() {
                let states = below.clone();
                this.find_below(&states, child);
            }
        };
        match value {
            Value::Object(map) if !map.is_empty() => {
                map.iter()
                    .for_each(|(key, child)| each(self, CursorStep::Key(key), child));
            }
            Value::Array(items) if !items.is_empty() => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, child)| each(self, CursorStep::Index(index), child));
            }
            Value::Object(_) | Value::Array(_) => {
                let all: Vec<usize> = states
                    .iter()
                    .filter_map(|state| self.nodes[*state].any)
                    .collect();
                all.into_iter().for_each(|any| self.reach_all(any));
            }
            _ => {}
        }
    }

    fn reach_all(&mut self, at: usize) {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            self.nodes[at].marks.reached = true;
            open.extend(
                self.nodes[at]
                    .any
                    .into_iter()
                    .chain(self.nodes[at].named.values().copied()),
            );
        }
    }

    /// Whether some path names an element of an array by its index.
    pub fn know_indices(&self) -> bool {
        self.nodes.iter().any(|node| !node.indexed.is_empty())
    }

    /// Whether a place, or one that holds it, may be absent.
    pub fn makes_optional(&self, place: &[PlaceStep]) -> bool {
        let mut states = vec![0];
        let mut steps = place.iter();
        loop {
            if states.iter().any(|state| self.nodes[*state].marks.optional) {
                return true;
            }
            let Some(step) = steps.next() else {
                return false;
            };
            let mut below = Vec::new();
            let step = match step {
                PlaceStep::Key(key) => CursorStep::Key(key),
                PlaceStep::Index(index) => CursorStep::Index(*index),
            };
            states
                .iter()
                .for_each(|state| self.step(*state, step, &mut below));
            states = below;
        }
    }
}

/// One step to a place in the values that are walked.
#[derive(Debug, Clone, Copy)]
pub(super) enum CursorStep<'v> {
    Key(&'v str),
    Index(usize),
}

/// Where a walk is, in the values and in the tree of paths.
#[derive(Debug)]
pub(super) struct WalkCursor<'v> {
    steps: Vec<CursorStep<'v>>,
    /// The nodes of every depth, one depth after the other.
    states: Vec<usize>,
    /// Where in `states` each depth begins, and the tolerance that holds there.
    depths: Vec<(usize, Option<usize>)>,
}

impl<'v> WalkCursor<'v> {
    pub fn new(patterns: &PathTree) -> Self {
        let tolerance = patterns.nodes[0].marks.tolerance;
        WalkCursor {
            steps: Vec::new(),
            states: vec![0],
            depths: vec![(0, tolerance)],
        }
    }

    pub fn push(&mut self, step: CursorStep<'v>, patterns: &PathTree) {
        let (start, mut tolerance) = self.depths.last().copied().unwrap_or_default();
        let end = self.states.len();
        for at in start..end {
            patterns.step(self.states[at], step, &mut self.states);
        }
        for state in &self.states[end..] {
            let own = patterns.nodes[*state].marks.tolerance;
            tolerance = match (tolerance, own) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        self.steps.push(step);
        self.depths.push((end, tolerance));
    }

    pub fn pop(&mut self) {
        if self.steps.pop().is_some()
            && let Some((start, _)) = self.depths.pop()
        {
            self.states.truncate(start);
        }
    }

    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    pub fn steps(&self) -> &[CursorStep<'v>] {
        &self.steps
    }

    pub fn place(&self) -> Vec<PlaceStep> {
        let place = |step: &CursorStep| match step {
            CursorStep::Key(key) => PlaceStep::Key((*key).to_owned()),
            CursorStep::Index(index) => PlaceStep::Index(*index),
        };
        self.steps.iter().map(place).collect()
    }

    fn here(&self) -> &[usize] {
        let start = self.depths.last().map_or(0, |(start, _)| *start);
        &self.states[start..]
    }

    pub fn is_ignored(&self, patterns: &PathTree) -> bool {
        self.here()
            .iter()
            .any(|state| patterns.nodes[*state].marks.ignored)
    }

    /// Whether `*` ignores whatever an array at this place holds.
    pub fn ignores_all_elements(&self, patterns: &PathTree) -> bool {
        let any = |state: &usize| patterns.nodes[*state].any;
        self.here()
            .iter()
            .filter_map(any)
            .any(|any| patterns.nodes[any].marks.ignored)
    }

    /// Whether a path that must exist leads here. That all keys of an object have something in
    /// common (`*`) is no word on which keys there are; of arrays `*` means however many elements.
    pub fn is_foreseen(&self, patterns: &PathTree) -> bool {
        let index = matches!(self.steps.last(), Some(CursorStep::Index(_)));
        let named = |state: &usize| index || !patterns.nodes[*state].by_any;
        self.here()
            .iter()
            .any(|state| patterns.nodes[*state].marks.foreseen && named(state))
    }

    /// Whether a path that must exist ends here, so that anything may stand here.
    pub fn is_demanded(&self, patterns: &PathTree) -> bool {
        self.is_foreseen(patterns)
            && self
                .here()
                .iter()
                .any(|state| patterns.nodes[*state].marks.demanded)
    }

    pub fn tolerance(&self) -> Option<usize> {
        self.depths.last().and_then(|(_, tolerance)| *tolerance)
    }

    /// Whether a path treats one element of an array at this place unlike the others.
    pub fn tells_elements_apart(&self, patterns: &PathTree) -> bool {
        self.here()
            .iter()
            .any(|state| !patterns.nodes[*state].indexed.is_empty())
    }
}
