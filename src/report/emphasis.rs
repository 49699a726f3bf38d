//! Where two lines that are much alike differ.

use std::ops::Range;

use eval_match::diff::{DiffTag, diff};
use unicode_width::UnicodeWidthChar;

/// Clusters of a line that are compared; a longer one is left without marks.
const LONGEST: usize = 600;
/// In shorter texts everybody sees what differs.
const SHORTEST: usize = 6;
/// Share that must be alike, else there would be little but marks.
const ALIKE: f64 = 0.5;

/// Byte ranges that differ.
pub type EmphasisMarks = Vec<Range<usize>>;

/// The ranges in which two lines differ; none when they have little in common or are too long or
/// short to tell.
pub fn marks(old: &str, new: &str) -> (EmphasisMarks, EmphasisMarks) {
    let none = (Vec::new(), Vec::new());
    if old.len().max(new.len()) > LONGEST * 4 {
        return none;
    }
    let (a, b) = (clusters(old), clusters(new));
    if a.len().max(b.len()) > LONGEST || a.len().min(b.len()) < SHORTEST {
        return none;
    }
    let ops = diff(&a, &b);
    let alike: usize = ops
        .iter()
        .filter(|op| op.tag() == DiffTag::Equal)
        .map(|op| op.old_range().len())
        .sum();
    if ((2 * alike) as f64) < ALIKE * (a.len() + b.len()) as f64 {
        return none;
    }
    let (mut in_old, mut in_new) = (Vec::new(), Vec::new());
    for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
        join(&mut in_old, op.old_range());
        join(&mut in_new, op.new_range());
    }
    (to_bytes(&a, &in_old), to_bytes(&b, &in_new))
}

/// What a reader takes for one character: what has no width of its own, or follows a joiner,
/// belongs to the one before.
fn clusters(text: &str) -> Vec<&str> {
    let mut clusters: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut joined = false;
    for (at, c) in text.char_indices() {
        let skin_tone = ('\u{1f3fb}'..='\u{1f3ff}').contains(&c);
        let belongs = joined || skin_tone || c.width().unwrap_or(0) == 0;
        if at > start && !belongs {
            clusters.push(&text[start..at]);
            start = at;
        }
        joined = c == '\u{200d}';
    }
    if start < text.len() {
        clusters.push(&text[start..]);
    }
    clusters
}

/// Adds a range; a single cluster between two would only be noise.
fn join(ranges: &mut EmphasisMarks, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    match ranges.last_mut() {
        Some(last) if range.start <= last.end + 1 => last.end = range.end,
        _ => ranges.push(range),
    }
}

fn to_bytes(clusters: &[&str], ranges: &[Range<usize>]) -> EmphasisMarks {
    let mut offsets = vec![0];
    for cluster in clusters {
        offsets.push(offsets.last().copied().unwrap_or(0) + cluster.len());
    }
    let at = |index: usize| offsets.get(index).copied().unwrap_or(0);
    ranges
        .iter()
        .map(|range| at(range.start)..at(range.end))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(old: &str, new: &str) -> String {
        let side = |text: &str, marks: &EmphasisMarks| {
            let mut text = text.to_owned();
            for mark in marks.iter().rev() {
                text.insert(mark.end, ']');
                text.insert(mark.start, '[');
            }
            text
        };
        let (a, b) = marks(old, new);
        format!("{} | {}", side(old, &a), side(new, &b))
    }

    #[test]
    fn what_differs_is_marked() {
        assert_eq!(
            shown("return a + b", "return a - b"),
            "return a [+] b | return a [-] b"
        );
        assert_eq!(
            shown("the answer is 42", "the answer is 4"),
            "the answer is 4[2] | the answer is 4"
        );
        assert_eq!(
            shown("x-1-2-yyyy", "x-3-4-yyyy"),
            "x-[1-2]-yyyy | x-[3-4]-yyyy"
        );
        assert_eq!(
            shown("hi 👩\u{200d}💻 there", "hi 👩\u{200d}🔬 there"),
            "hi [👩\u{200d}💻] there | hi [👩\u{200d}🔬] there"
        );
        assert_eq!(
            shown("cafe\u{301} noir", "cafe noir"),
            "caf[e\u{301}] noir | caf[e] noir"
        );
    }

    #[test]
    fn what_is_short_or_all_different_has_no_marks() {
        assert_eq!(shown("42", "43"), "42 | 43");
        assert_eq!(
            shown("completely other", "nothing of the kind at all"),
            "completely other | nothing of the kind at all"
        );
        let long = "x".repeat(3000);
        assert_eq!(marks(&long, &format!("{long}y")), (Vec::new(), Vec::new()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn without_the_marks_the_two_are_nearly_alike(a in "[ab é👩\u{200d}]{0,30}", b in "[ab é👩\u{200d}]{0,30}") {
            let (in_a, in_b) = marks(&a, &b);
            for (text, marks) in [(&a, &in_a), (&b, &in_b)] {
                let mut end = 0;
                for mark in marks {
                    prop_assert!(mark.start >= end && mark.end > mark.start);
                    prop_assert!(text.get(mark.clone()).is_some());
                    end = mark.end;
                }
            }
            prop_assert!(a != b || in_a.is_empty() && in_b.is_empty());
        }
    }
}
