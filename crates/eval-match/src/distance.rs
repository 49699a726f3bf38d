//! Edit distance and longest common subsequence of two sequences, 64 cells of their table at a
//! time.
//!
//! Levenshtein distance: G. Myers 1999, *A fast bit-vector algorithm for approximate string
//! matching based on dynamic programming*, JACM 46(3), in the form of H. Hyyrö 2003, *A bit-vector
//! algorithm for computing Levenshtein and Damerau edit distances*. Longest common subsequence: H.
//! Hyyrö 2004, *Bit-parallel LCS-length computation revisited*. Both take the table in strips of 64
//! rows; what one strip hands to the next is kept for each column.

use std::collections::HashMap;
use std::hash::Hash;

/// Cells of tables that may still be computed. A second of work for sequences whose lengths
/// multiply to [`DistanceBudget::FULL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistanceBudget(u64);

/// Texts that are too long to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// In bytes.
    #[error("a text of {0} bytes is too long to be compared")]
    One(usize),
    /// In elements, without their common ends.
    #[error(
        "the texts are too long to be compared: {0} by {1} characters, words or lines that differ"
    )]
    Pair(usize, usize),
}

/// The text, if it takes at most so many bytes.
pub(super) fn bounded(text: &str, longest: usize) -> Result<&str, TooLong> {
    if text.len() <= longest {
        Ok(text)
    } else {
        Err(TooLong::One(text.len()))
    }
}

impl DistanceBudget {
    /// Some 140,000 characters against as many others.
    pub const FULL: DistanceBudget = DistanceBudget(20_000_000_000);

    #[cfg(test)]
    pub fn of(cells: u64) -> DistanceBudget {
        DistanceBudget(cells)
    }

    fn take(&mut self, a: usize, b: usize) -> Result<(), TooLong> {
        let cells = (a as u64).saturating_mul(b as u64);
        self.0 = self.0.checked_sub(cells).ok_or(TooLong::Pair(a, b))?;
        Ok(())
    }
}

/// Insertions, deletions and replacements of one element that turn `a` into `b`, at least.
pub fn levenshtein<T: Eq + Hash + Copy>(
    a: &[T],
    b: &[T],
    budget: &mut DistanceBudget,
) -> Result<usize, TooLong> {
    let (a, b, _) = without_common_ends(a, b);
    budget.take(a.len(), b.len())?;
    let (rows, columns) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if rows.is_empty() {
        return Ok(columns.len());
    }
    let (rows, columns, symbols) = numbered(rows, columns);
    let mut masks = vec![0u64; symbols];
    // The difference from each column to the next along the upper edge of a strip: +1, 0 or -1.
    let mut steps = vec![1i8; columns.len()];
    for strip in rows.chunks(64) {
        mark(&mut masks, strip);
        let last = strip.len() - 1;
        let (mut rises, mut falls) = (u64::MAX, 0u64);
        for (column, step) in columns.iter().zip(&mut steps) {
            let equal = mask(&masks, *column);
            let (up, down) = (u64::from(*step > 0), u64::from(*step < 0));
            let x = equal | down;
            let same = ((x & rises).wrapping_add(rises) ^ rises) | x | falls;
            let right_up = falls | !(same | rises);
            let right_down = same & rises;
            *step = i8::from(right_up >> last & 1 == 1) - i8::from(right_down >> last & 1 == 1);
            let right_up = (right_up << 1) | up;
            let right_down = (right_down << 1) | down;
            rises = right_down | !(same | right_up);
            falls = right_up & same;
        }
        clear(&mut masks, strip);
    }
    let along: i64 = steps.iter().map(|step| i64::from(*step)).sum();
    Ok((rows.len() as i64 + along).max(0) as usize)
}

/// Length of the longest sequence that can be had from `a` and from `b` by leaving elements out.
pub fn common_subsequence<T: Eq + Hash + Copy>(
    a: &[T],
    b: &[T],
    budget: &mut DistanceBudget,
) -> Result<usize, TooLong> {
    let (a, b, shared) = without_common_ends(a, b);
    budget.take(a.len(), b.len())?;
    let (rows, columns) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let (rows, columns, symbols) = numbered(rows, columns);
    let mut masks = vec![0u64; symbols];
    let mut carries = vec![false; columns.len()];
    let mut length = shared;
    for strip in rows.chunks(64) {
        mark(&mut masks, strip);
        let mut state = u64::MAX;
        for (column, carry) in columns.iter().zip(&mut carries) {
            let hits = state & mask(&masks, *column);
            let (sum, over) = state.overflowing_add(hits);
            let (sum, over_again) = sum.overflowing_add(u64::from(*carry));
            // A strip that is not full has no next one, so that its carry is of no account.
            *carry = over | over_again;
            state = sum | (state & !hits);
        }
        let kept = if strip.len() == 64 {
            u64::MAX
        } else {
            (1 << strip.len()) - 1
        };
        length += (!state & kept).count_ones() as usize;
        clear(&mut masks, strip);
    }
    Ok(length)
}

/// Both without the beginning and the end that they share, and how long those are together.
fn without_common_ends<'t, T: Eq>(a: &'t [T], b: &'t [T]) -> (&'t [T], &'t [T], usize) {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[before..], &b[before..]);
    let after = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (&a[..a.len() - after], &b[..b.len() - after], before + after)
}

/// Both as numbers from 0, and how many there are.
fn numbered<T: Eq + Hash + Copy>(a: &[T], b: &[T]) -> (Vec<u32>, Vec<u32>, usize) {
    let mut numbers: HashMap<T, u32> = HashMap::new();
    let mut number = |element: &T| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(*element).or_insert(next)
    };
    let a: Vec<u32> = a.iter().map(&mut number).collect();
    let b: Vec<u32> = b.iter().map(&mut number).collect();
    (a, b, numbers.len())
}

fn mask(masks: &[u64], symbol: u32) -> u64 {
    masks.get(symbol as usize).copied().unwrap_or(0)
}

fn mark(masks: &mut [u64], strip: &[u32]) {
    for (row, symbol) in strip.iter().enumerate() {
        if let Some(mask) = masks.get_mut(*symbol as usize) {
            *mask |= 1 << row;
        }
    }
}

fn clear(masks: &mut [u64], strip: &[u32]) {
    for symbol in strip {
        if let Some(mask) = masks.get_mut(*symbol as usize) {
            *mask = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The recurrence of the textbooks, cell by cell.
    fn naive(a: &[u8], b: &[u8]) -> (usize, usize) {
        let mut edits = vec![vec![0usize; b.len() + 1]; a.len() + 1];
        let mut common = edits.clone();
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                if i == 0 || j == 0 {
                    edits[i][j] = i + j;
                    continue;
                }
                let same = a[i - 1] == b[j - 1];
                let replaced = edits[i - 1][j - 1] + usize::from(!same);
                edits[i][j] = replaced.min(edits[i - 1][j] + 1).min(edits[i][j - 1] + 1);
                common[i][j] = if same {
                    common[i - 1][j - 1] + 1
                } else {
                    common[i - 1][j].max(common[i][j - 1])
                };
            }
        }
        (edits[a.len()][b.len()], common[a.len()][b.len()])
    }

    fn both(a: &[u8], b: &[u8]) -> (usize, usize) {
        let mut budget = DistanceBudget::FULL;
        (
            levenshtein(a, b, &mut budget).unwrap(),
            common_subsequence(a, b, &mut budget).unwrap(),
        )
    }

    #[test]
    fn known_pairs() {
        // The classic example: k->s, e->i, +g.
        assert_eq!(both(b"kitten", b"sitting"), (3, 4));
        assert_eq!(both(b"", b""), (0, 0));
        assert_eq!(both(b"", b"abc"), (3, 0));
        assert_eq!(both(b"abc", b"abc"), (0, 3));
        assert_eq!(both(b"XMJYAUZ", b"MZJAWXU").1, 4);
    }

    #[test]
    fn what_would_take_too_long_is_refused_after_the_common_ends() {
        let mut budget = DistanceBudget::of(6);
        assert_eq!(levenshtein(b"xxabcyy", b"xxdeyy", &mut budget), Ok(3));
        assert_eq!(budget, DistanceBudget::of(0));
        assert_eq!(
            levenshtein(b"xay", b"xby", &mut budget),
            Err(TooLong::Pair(1, 1))
        );
        assert_eq!(levenshtein(b"same", b"same", &mut budget), Ok(0));
        assert_eq!(
            common_subsequence(b"ab", b"cde", &mut DistanceBudget::of(5)),
            Err(TooLong::Pair(2, 3))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        // Few letters, so that much is in common; up to three strips.
        #[test]
        fn equals_the_recurrence(
            a in prop::collection::vec(0..4u8, 0..150),
            b in prop::collection::vec(0..4u8, 0..150),
        ) {
            prop_assert_eq!(both(&a, &b), naive(&a, &b));
            prop_assert_eq!(both(&b, &a), naive(&a, &b));
        }

        #[test]
        fn equals_another_implementation(a in "\\PC{0,80}", b in "\\PC{0,80}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let ours = levenshtein(&chars(&a), &chars(&b), &mut DistanceBudget::FULL.clone());
            prop_assert_eq!(ours, Ok(strsim::levenshtein(&a, &b)));
        }
    }
}
