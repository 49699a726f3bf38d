//! What a program prints against what it should print: by lines or by tokens.

use crate::options::Tolerance;

use super::decimal::DecimalNumber;
use super::{MatchResult, shortened};

/// Characters of a line or token in a reason.
const SHOWN: usize = 80;

/// Line by line, white space at the ends of lines and empty lines at the end left out.
pub fn lines(actual: &str, expected: &str) -> MatchResult {
    let of = |text: &str| -> Vec<String> {
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    pairwise("line", &of(actual), &of(expected), |a, e| a == e)
}

/// What white space separates. Two tokens that are numbers are equal by value, and within the
/// tolerance if there is one; any others must be the same text.
pub fn tokens(actual: &str, expected: &str, tolerance: Option<&Tolerance>) -> MatchResult {
    let of = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    pairwise("token", &of(actual), &of(expected), |a, e| {
        a == e
            || match (number(a), number(e)) {
                (Some(a), Some(e)) => tolerance.map_or_else(|| a.same(&e), |t| a.within(&e, t)),
                _ => false,
            }
    })
}

/// Line by line, after white space at the ends of the text and of each line is removed. Lines that
/// differ are equal if all their words are decimal numbers of equal value, as Python's `Decimal`
/// reads them: the rule of LiveCodeBench.
pub fn decimals(actual: &str, expected: &str) -> MatchResult {
    let of = |text: &str| -> Vec<String> {
        let lines = text.trim().split('\n').map(|line| line.trim().to_owned());
        lines.collect()
    };
    pairwise("line", &of(actual), &of(expected), |a, e| {
        a == e || same_decimals(a, e)
    })
}

fn same_decimals(actual: &str, expected: &str) -> bool {
    let read = |line: &str| -> Option<Vec<DecimalNumber>> {
        line.split_whitespace().map(DecimalNumber::parse).collect()
    };
    // No `NaN` equals any number in Python, itself included.
    let same = |a: &DecimalNumber, e: &DecimalNumber| !matches!(a, DecimalNumber::Nan) && a.same(e);
    match (read(actual), read(expected)) {
        (Some(a), Some(e)) => a.len() == e.len() && a.iter().zip(&e).all(|(a, e)| same(a, e)),
        _ => false,
    }
}

/// A name such as `Nan` or `inf` is a word here.
fn number(token: &str) -> Option<DecimalNumber> {
    let digits = token.trim_start_matches(['+', '-', '.']);
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| DecimalNumber::parse(token))
        .flatten()
}

fn pairwise(
    what: &str,
    actual: &[String],
    expected: &[String],
    same: impl Fn(&str, &str) -> bool,
) -> MatchResult {
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        if !same(a, e) {
            let (a, e) = (shortened(a, SHOWN), shortened(e, SHOWN));
            return MatchResult::differs(format!("{what} {}: expected {e:?}, got {a:?}", i + 1));
        }
    }
    let at = actual.len().min(expected.len());
    match (actual.get(at), expected.get(at)) {
        (None, None) => MatchResult::matched(),
        (Some(more), _) => MatchResult::differs(format!(
            "expected {} {what}s, got {}: the first extra one is {:?}",
            expected.len(),
            actual.len(),
            shortened(more, SHOWN)
        )),
        (None, Some(next)) => MatchResult::differs(format!(
            "expected {} {what}s, got {}: the first missing one is {:?}",
            expected.len(),
            actual.len(),
            shortened(next, SHOWN)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absolute(limit: f64) -> Tolerance {
        Tolerance {
            absolute: Some(limit),
            ..Tolerance::default()
        }
    }

    #[test]
    fn tokens_are_numbers_where_both_are() {
        let same = |a: &str, e: &str| tokens(a, e, None).matched;
        for (a, e) in [
            ("1 2\n", "1\t2.0"),
            ("1e3", "1000"),
            ("+5 .5", "5 0.5"),
            ("a b", "a  b\n"),
            ("", " \n"),
        ] {
            assert!(same(a, e), "{a:?} {e:?}");
        }
        let beyond_doubles = ("9007199254740993", "9007199254740992");
        for (a, e) in [
            ("1", "2"),
            ("nan", "NaN"),
            ("1 2", "1"),
            ("1", "1 2"),
            ("YES", "Yes"),
            ("0x10", "16"),
            beyond_doubles,
        ] {
            assert!(!same(a, e), "{a:?} {e:?}");
        }
        assert!(tokens("x 3.1415", "x 3.1416", Some(&absolute(1e-3))).matched);
        assert!(!tokens("x 3.1415", "y 3.1416", Some(&absolute(1e-3))).matched);
        assert!(!tokens("3.15", "3.1416", Some(&absolute(1e-3))).matched);
    }

    #[test]
    fn decimals_are_compared_where_a_line_differs() {
        let same = |a: &str, e: &str| decimals(a, e).matched;
        for (a, e) in [
            ("Yes\n1 2\n", "Yes\r\n 1 2"),
            ("1.0 2", "1 2.00"),
            ("\n\n3\n", "3"),
            ("1e3", "1000"),
            ("", " \n"),
        ] {
            assert!(same(a, e), "{a:?} {e:?}");
        }
        for (a, e) in [
            ("yes", "Yes"),
            ("1 2", "1\n2"),
            ("1", "1\n\n1"),
            ("1  a", "1 a"),
            ("nan", "NaN"),
            ("9007199254740993", "9007199254740992"),
            ("1", ""),
        ] {
            assert!(!same(a, e), "{a:?} {e:?}");
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let lines_of = [
            tokens("1 5 3", "1 2 3", None).reason,
            tokens("1 2 3 4", "1 2 3", None).reason,
            tokens("1", "1 two", None).reason,
            lines("a \nb\n\n", "a\nc").reason,
            lines("a", "a\n\nb").reason,
        ];
        insta::assert_snapshot!(lines_of.join("\n"), @r#"
        token 2: expected "2", got "5"
        expected 3 tokens, got 4: the first extra one is "4"
        expected 2 tokens, got 1: the first missing one is "two"
        line 2: expected "c", got "b"
        expected 3 lines, got 1: the first missing one is ""
        "#);
        assert!(lines("a \r\n b\n\n", "a\n b").matched);
        assert!(!lines(" a", "a").matched);
    }
}
