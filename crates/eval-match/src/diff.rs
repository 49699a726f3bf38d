//! What two sequences share: lines, characters, elements.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

use similar::{Algorithm, capture_diff_slices_deadline};
pub use similar::{DiffOp, DiffTag, group_diff_ops};

/// How `old` becomes `new`, as ranges of both in order (Myers, "An O(ND) Difference Algorithm and
/// Its Variations", 1986).
///
/// Items are compared by number, so that the algorithm is compiled once: as a generic function it
/// was a twentieth of the program's code.
pub fn diff<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    diff_until(old, new, None)
}

/// As [`diff`]; after the deadline what is left is replaced as a whole.
pub fn diff_until<T: Eq + Hash>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut known: HashMap<&T, u32> = HashMap::new();
    let mut numbered = Vec::with_capacity(old.len() + new.len());
    for item in old.iter().chain(new) {
        let next = known.len() as u32;
        numbered.push(*known.entry(item).or_insert(next));
    }
    let (old, new) = numbered.split_at(old.len());
    of_numbers(old, new, deadline)
}

fn of_numbers(old: &[u32], new: &[u32], deadline: Option<Instant>) -> Vec<DiffOp> {
    capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline)
}
