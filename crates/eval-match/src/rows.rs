//! Rows of a table against the rows that it should have.

use std::collections::HashMap;

use crate::options::Tolerance;

use super::MatchResult;
use super::compare::number;
use super::equality::canonical;
use super::value::Datum;

/// Rows that share everything but their numbers are paired by trying every way up to this many;
/// beyond it in ascending order of their numbers.
const PAIRED: usize = 400;

/// Numbers by value (1 equals 1.0) and within the tolerance, everything else exactly. Without
/// `ordered` as multisets: a row counts as often as it is there.
pub fn rows(
    actual: &[Vec<Datum>],
    expected: &[Vec<Datum>],
    ordered: bool,
    tolerance: Option<&Tolerance>,
) -> MatchResult {
    if ordered {
        return in_order(actual, expected, tolerance);
    }
    let Some((missing, surplus)) = unmatched(actual, expected, tolerance) else {
        return MatchResult::matched();
    };
    let say =
        |rows: &[Vec<Datum>], i: Option<usize>| i.and_then(|i| rows.get(i)).map(|row| shown(row));
    MatchResult::differs(match (say(expected, missing), say(actual, surplus)) {
        (Some(missing), Some(surplus)) => {
            format!("the row {missing} is missing, {surplus} is there instead")
        }
        (Some(missing), None) => format!("the row {missing} is missing"),
        (None, Some(surplus)) => format!("the row {surplus} is one too many"),
        (None, None) => "the rows differ".to_owned(),
    })
}

fn in_order(
    actual: &[Vec<Datum>],
    expected: &[Vec<Datum>],
    tolerance: Option<&Tolerance>,
) -> MatchResult {
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        if !same_row(a, e, tolerance) {
            return MatchResult::differs(format!(
                "row {}: expected {}, got {}",
                i + 1,
                shown(e),
                shown(a)
            ));
        }
    }
    if actual.len() == expected.len() {
        return MatchResult::matched();
    }
    MatchResult::differs(format!(
        "expected {} rows, got {}",
        expected.len(),
        actual.len()
    ))
}

fn shown(row: &[Datum]) -> String {
    Datum::Tuple(row.to_vec()).to_string()
}

fn same_row(a: &[Datum], e: &[Datum], tolerance: Option<&Tolerance>) -> bool {
    a.len() == e.len() && a.iter().zip(e).all(|(a, e)| same_cell(a, e, tolerance))
}

fn same_cell(a: &Datum, e: &Datum, tolerance: Option<&Tolerance>) -> bool {
    let near = tolerance.zip(number(a)).zip(number(e));
    near.is_some_and(|((tolerance, a), e)| a.within(&e, tolerance)) || {
        let a = canonical(a);
        a.is_some() && a == canonical(e)
    }
}

/// Places of rows, one of `expected` that nothing matches and one of `actual` that matches nothing;
/// `None` when all do.
fn unmatched(
    actual: &[Vec<Datum>],
    expected: &[Vec<Datum>],
    tolerance: Option<&Tolerance>,
) -> Option<(Option<usize>, Option<usize>)> {
    type Group = (Vec<usize>, Vec<usize>);
    let mut groups: HashMap<Vec<u8>, Group> = HashMap::new();
    let near = tolerance.is_some();
    for (i, row) in actual.iter().enumerate() {
        groups.entry(outline(row, near)).or_default().0.push(i);
    }
    for (i, row) in expected.iter().enumerate() {
        groups.entry(outline(row, near)).or_default().1.push(i);
    }
    let (mut missing, mut surplus) = (Vec::new(), Vec::new());
    for (have, want) in groups.into_values() {
        let (lacks, over) = match tolerance {
            // Rows of a group are equal.
            None => {
                let paired = have.len().min(want.len());
                (
                    want.into_iter().skip(paired).collect(),
                    have.into_iter().skip(paired).collect(),
                )
            }
            Some(tolerance) => pair(actual, expected, have, want, tolerance),
        };
        missing.extend::<Vec<usize>>(lacks);
        surplus.extend::<Vec<usize>>(over);
    }
    let first = (missing.iter().min().copied(), surplus.iter().min().copied());
    (first != (None, None)).then_some(first)
}

/// What rows must share to be equal: all of them, or with a tolerance all but the numbers.
fn outline(row: &[Datum], near: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for cell in row {
        if near && matches!(cell, Datum::Int(_) | Datum::Float(_)) {
            out.push(b'#');
        } else if let Some(bytes) = canonical(cell) {
            out.extend(bytes);
        } else {
            // Equal to nothing: no value is spelled like this.
            out.push(b'?');
        }
        out.push(0xff);
    }
    out
}

fn ascending(rows: &[Vec<Datum>], mut places: Vec<usize>) -> Vec<usize> {
    let compare = |a: &usize, b: &usize| {
        let (Some(a), Some(b)) = (rows.get(*a), rows.get(*b)) else {
            return std::cmp::Ordering::Equal;
        };
        let mut pairs = a
            .iter()
            .zip(b)
            .filter_map(|(a, b)| number(a)?.compare(&number(b)?));
        pairs
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    places.sort_by(compare);
    places
}

/// Pairs rows that are near each other, as many as there can be (Kuhn's augmenting paths); returns
/// those left over.
fn pair(
    actual: &[Vec<Datum>],
    expected: &[Vec<Datum>],
    have: Vec<usize>,
    want: Vec<usize>,
    tolerance: &Tolerance,
) -> (Vec<usize>, Vec<usize>) {
    let (have, want) = (ascending(actual, have), ascending(expected, want));
    let near = |h: usize, w: usize| match (
        have.get(h).and_then(|i| actual.get(*i)),
        want.get(w).and_then(|i| expected.get(*i)),
    ) {
        (Some(a), Some(e)) => same_row(a, e, Some(tolerance)),
        _ => false,
    };
    // Who took each of `want`.
    let mut taken: Vec<Option<usize>> = vec![None; want.len()];
    if have.len().max(want.len()) > PAIRED {
        for (w, slot) in taken.iter_mut().enumerate() {
            *slot = near(w, w).then_some(w);
        }
    } else {
        for h in 0..have.len() {
            let mut seen = vec![false; want.len()];
            augment(h, &near, &mut taken, &mut seen);
        }
    }
    let lacks = taken
        .iter()
        .zip(&want)
        .filter(|(by, _)| by.is_none())
        .map(|(_, i)| *i)
        .collect();
    let over = (0..have.len())
        .filter(|h| !taken.contains(&Some(*h)))
        .filter_map(|h| have.get(h).copied());
    (lacks, over.collect())
}

fn augment(
    h: usize,
    near: &dyn Fn(usize, usize) -> bool,
    taken: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for w in 0..taken.len() {
        if seen.get(w).copied().unwrap_or(true) || !near(h, w) {
            continue;
        }
        if let Some(seen) = seen.get_mut(w) {
            *seen = true;
        }
        let free = match taken.get(w).copied().flatten() {
            None => true,
            Some(other) => augment(other, near, taken, seen),
        };
        if free && let Some(slot) = taken.get_mut(w) {
            *slot = Some(h);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn table(rows: Value) -> Vec<Vec<Datum>> {
        let row = |row: &Value| {
            row.as_array()
                .unwrap()
                .iter()
                .map(|c| Datum::from_tagged(c).unwrap())
                .collect()
        };
        rows.as_array().unwrap().iter().map(row).collect()
    }

    fn near(limit: f64) -> Tolerance {
        Tolerance {
            absolute: Some(limit),
            ..Tolerance::default()
        }
    }

    #[test]
    fn rows_are_a_multiset_unless_order_counts() {
        let (a, b) = (
            table(json!([[1, "x"], [2, null]])),
            table(json!([[2.0, null], [1, "x"]])),
        );
        assert!(rows(&a, &b, false, None).matched);
        insta::assert_snapshot!(rows(&a, &b, true, None).reason, @"row 1: expected (2.0, None), got (1, 'x')");
        assert!(rows(&a, &a, true, None).matched);
        let twice = table(json!([[1, "x"], [1, "x"], [2, null]]));
        insta::assert_snapshot!(rows(&twice, &a, false, None).reason, @"the row (1, 'x') is one too many");
        insta::assert_snapshot!(rows(&a, &twice, false, None).reason, @"the row (1, 'x') is missing");
        insta::assert_snapshot!(rows(&table(json!([["1"]])), &table(json!([[1]])), false, None).reason, @"the row (1,) is missing, ('1',) is there instead");
        assert!(!rows(&table(json!([[1, 2]])), &table(json!([[1]])), false, None).matched);
        assert!(
            !rows(
                &table(json!([[1, 2]])),
                &table(json!([[1]])),
                false,
                Some(&near(9.0))
            )
            .matched
        );
    }

    #[test]
    fn near_rows_are_paired_so_that_all_find_one() {
        // Taken greedily in this order, 1.0 would take 1.5 and leave 0.2 alone.
        let (a, b) = (table(json!([[1.0], [2.0]])), table(json!([[1.5], [0.2]])));
        assert!(rows(&a, &b, false, Some(&near(0.8))).matched);
        assert!(!rows(&a, &b, false, Some(&near(0.4))).matched);
        assert!(!rows(&a, &b, false, None).matched);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn multisets_agree_with_removing_one_by_one(
            a in prop::collection::vec(prop::collection::vec(0..3i64, 2), 0..6),
            b in prop::collection::vec(prop::collection::vec(0..3i64, 2), 0..6),
        ) {
            let mut left = b.clone();
            let all = a.iter().all(|row| left.iter().position(|x| x == row).map(|i| left.remove(i)).is_some());
            let naive = all && left.is_empty();
            let (x, y) = (table(json!(a)), table(json!(b)));
            prop_assert_eq!(rows(&x, &y, false, None).matched, naive);
            prop_assert_eq!(rows(&x, &y, false, Some(&near(0.0))).matched, naive);
        }
    }
}
