//! Numbers in output texts.
//!
//! An output is a number when all of it is one, apart from whitespace around it: `42`, `-1.5e3`,
//! `1,234.5`, `$1,234`, `50%`. Separators, a currency sign and a percent sign are dropped (`50%` is
//! 50, not 0.5: compare it with an expected 50). A number inside a sentence is not taken:
//! `It is not 42` must not pass for 42; that is what `extract` is for.

use serde_json::Value;

use crate::options::Tolerance;

use super::decimal::DecimalNumber;
use super::{MatchResult, shortened};

/// Characters of a number in a reason.
const SHOWN: usize = 60;

/// What a number must meet.
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberRule<'a> {
    /// One of these must be met within the tolerance; when empty, only the bounds count. Numbers,
    /// or texts as above.
    pub any_of: &'a [Value],
    /// Largest distance; with `relative` too, the wider of the two counts. Without both, exact by
    /// value.
    pub absolute: Option<f64>,
    /// Largest distance as a share of the expected magnitude.
    pub relative: Option<f64>,
    /// Inclusive bounds on the number itself.
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// Whether an output text is a number that meets the rule. NaN and infinities meet nothing but
/// themselves in `any_of`.
///
/// An error is the author's: an expected value that is no number, or a rule that demands nothing.
pub fn compare_text(output: &str, rule: &NumberRule) -> Result<MatchResult, String> {
    compare(read(output), rule)
}

/// As [`compare_text`], for an output that is JSON: a number, or a text that holds one.
pub fn compare_json(output: &Value, rule: &NumberRule) -> Result<MatchResult, String> {
    compare(read_value(output), rule)
}

fn compare(
    actual: Result<DecimalNumber, String>,
    rule: &NumberRule,
) -> Result<MatchResult, String> {
    if rule.any_of.is_empty() && rule.min.is_none() && rule.max.is_none() {
        return Err("a numeric comparison needs an expected value, `min` or `max`".to_owned());
    }
    let mut expected = Vec::with_capacity(rule.any_of.len());
    for value in rule.any_of {
        expected.push(
            read_value(value).map_err(|why| format!("the expected value is no number: {why}"))?,
        );
    }
    let actual = match actual {
        Ok(actual) => actual,
        Err(why) => return Ok(MatchResult::differs(why)),
    };
    // Up to 20,000 digits are read.
    let shown = shortened(&actual.to_string(), SHOWN);
    let tolerance = Tolerance {
        absolute: rule.absolute,
        relative: rule.relative,
        min_delta: None,
        max_delta: None,
    };
    if !expected.is_empty() && !expected.iter().any(|e| actual.within(e, &tolerance)) {
        let wanted: Vec<String> = expected
            .iter()
            .map(|number| shortened(&number.to_string(), SHOWN))
            .collect();
        let reason = format!(
            "expected {}{}, got {shown}",
            wanted.join(" or "),
            tolerance_text(rule)
        );
        return Ok(MatchResult::differs(reason));
    }
    let bounded = rule.min.is_some() || rule.max.is_some();
    if bounded && expected.is_empty() && !matches!(actual, DecimalNumber::Finite(_)) {
        return Ok(MatchResult::differs(format!(
            "expected a finite number, got {shown}"
        )));
    }
    for (bound, wrong, word) in [
        (rule.min, std::cmp::Ordering::Less, "at least"),
        (rule.max, std::cmp::Ordering::Greater, "at most"),
    ] {
        let Some(bound) = bound else { continue };
        // NaN compares with nothing and so is within no bound.
        if actual
            .compare(&DecimalNumber::from_f64(bound))
            .is_none_or(|order| order == wrong)
        {
            return Ok(MatchResult::differs(format!(
                "expected {word} {bound}, got {shown}"
            )));
        }
    }
    Ok(MatchResult::matched())
}

fn tolerance_text(rule: &NumberRule) -> String {
    match (rule.absolute, rule.relative) {
        (None, None) => String::new(),
        (Some(a), None) => format!(" (± {a})"),
        (None, Some(r)) => format!(" (± {r} of it)"),
        (Some(a), Some(r)) => format!(" (± {a} or {r} of it)"),
    }
}

fn read_value(value: &Value) -> Result<DecimalNumber, String> {
    match value {
        Value::Number(number) => DecimalNumber::from_json(number)
            .ok_or_else(|| format!("{} is too long", shortened(&number.to_string(), 40))),
        Value::String(text) => read(text),
        other => Err(format!(
            "{} is no number",
            shortened(&other.to_string(), 40)
        )),
    }
}

/// The number that a text is, by the rules at the head of this file.
pub fn read(text: &str) -> Result<DecimalNumber, String> {
    let trimmed = text.trim();
    let plain = trimmed.replace('\u{2212}', "-");
    if let Some(number) = plain_number(&plain).or_else(|| plain_number(&without_units(&plain)?)) {
        return Ok(number);
    }
    if trimmed.is_empty() {
        return Err("the output is empty, so it holds no number".to_owned());
    }
    let shown = shortened(trimmed, 60);
    Err(match numbers_within(&plain).as_slice() {
        [] => format!("no number in {shown:?}"),
        [one] => {
            let one = shortened(one, SHOWN);
            format!(
                "the output is more than a number: {shown:?} (`extract` can take the {one} out of it)"
            )
        }
        [..] => format!("no single number in {shown:?}"),
    })
}

/// A number, with or without thousands separators.
fn plain_number(text: &str) -> Option<DecimalNumber> {
    DecimalNumber::parse(text).or_else(|| DecimalNumber::parse(&without_separators(text)?))
}

/// The text without its currency or percent sign, if it has exactly one of them.
fn without_units(text: &str) -> Option<String> {
    if let Some(number) = text.strip_suffix('%') {
        return Some(number.trim_end().to_owned());
    }
    const CURRENCIES: [char; 5] = ['$', '€', '£', '¥', '₹'];
    let (sign, amount) = match text.strip_prefix(['-', '+']) {
        Some(amount) => (&text[..1], amount),
        None => ("", text),
    };
    if let Some(amount) = amount.strip_prefix(CURRENCIES) {
        return Some(format!("{sign}{}", amount.trim_start()));
    }
    amount
        .strip_suffix(CURRENCIES)
        .map(|amount| format!("{sign}{}", amount.trim_end()))
}

/// Drops commas that part the whole digits into threes; anything else with a comma is no number
/// (`1,5` could be either).
fn without_separators(text: &str) -> Option<String> {
    let (sign, unsigned) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (&text[..1], rest),
        None => ("", text),
    };
    let end = unsigned.find(['.', 'e', 'E']).unwrap_or(unsigned.len());
    let (whole, rest) = unsigned.split_at(end);
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let grouped = whole.contains(',')
        && (1..=3).contains(&first.len())
        && digits(first)
        && groups.all(|group| group.len() == 3 && digits(group));
    (grouped && !rest.contains(',')).then(|| format!("{sign}{}{rest}", whole.replace(',', "")))
}

/// Up to two runs of text that look like numbers, for the message only.
fn numbers_within(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-')))
        .map(|run| run.trim_matches(['.', ',']).trim_end_matches('-'))
        .filter(|run| run.bytes().any(|b| b.is_ascii_digit()))
        .take(2)
        .collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    fn shown(text: &str) -> String {
        read(text).map_or_else(|why| why, |number| number.to_string())
    }

    fn one(expected: &Value) -> NumberRule<'_> {
        NumberRule {
            any_of: std::slice::from_ref(expected),
            ..NumberRule::default()
        }
    }

    #[test]
    fn reads_what_is_all_number() {
        for (text, number) in [
            (" 42\n", "42"),
            ("-1.5e3", "-15e2"),
            ("1,234.5", "1234.5"),
            ("-1,234,567", "-1234567"),
            ("$1,234", "1234"),
            ("-$5", "-5"),
            ("$ 5.00", "5.00"),
            ("5 €", "5"),
            ("50%", "50"),
            ("50 %", "50"),
            ("\u{2212}7", "-7"),
            (".5", "0.5"),
            ("42.", "42"),
            (
                "265252859812191058636308480000000",
                "265252859812191058636308480000000",
            ),
            ("NaN", "nan"),
            ("-inf", "-inf"),
        ] {
            assert_eq!(shown(text), number, "{text}");
        }
    }

    #[test]
    fn takes_no_number_out_of_a_sentence() {
        assert_snapshot!(shown("It is not 42."), @r#"the output is more than a number: "It is not 42." (`extract` can take the 42 out of it)"#);
        assert_snapshot!(shown("between 3 and 5"), @r#"no single number in "between 3 and 5""#);
        assert_snapshot!(shown("none"), @r#"no number in "none""#);
        assert_snapshot!(shown(" \n"), @"the output is empty, so it holds no number");
        for text in [
            "1,5", "12,34", "1,234,5", "1.234,5", "1,,234", "$5%", "$$5", "1e5e5", "0x10", "5 000",
            "1_000",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn compares_exactly_without_a_tolerance() {
        let passes =
            |text: &str, expected: Value| compare_text(text, &one(&expected)).unwrap().matched;
        assert!(passes("42.0", json!(42)));
        assert!(passes("1e3", json!(1000)));
        assert!(passes("50%", json!("50%")));
        assert!(passes("nan", json!("nan")));
        assert!(passes("9007199254740993", json!(9007199254740993u64)));
        assert!(!passes("9007199254740992", json!(9007199254740993u64)));
        assert!(!passes("50%", json!(0.5)));
        assert!(!passes("nan", json!(1)));
        assert!(!passes("42.0000001", json!(42)));
        let big: Value = serde_json::from_str("265252859812191058636308480000000").unwrap();
        assert!(passes(
            "265,252,859,812,191,058,636,308,480,000,000",
            big.clone()
        ));
        assert!(!passes("265252859812191058636308480000001", big));
    }

    #[test]
    fn tolerances_and_bounds() {
        let expected = [json!(0.3), json!(10)];
        let rule = NumberRule {
            any_of: &expected,
            absolute: Some(0.1),
            ..NumberRule::default()
        };
        assert!(compare_text("0.4", &rule).unwrap().matched);
        assert!(compare_text("9.9", &rule).unwrap().matched);
        assert_snapshot!(compare_text("9.8", &rule).unwrap().reason, @"expected 0.3 or 10 (± 0.1), got 9.8");
        let bounds = NumberRule {
            min: Some(0.0),
            max: Some(1.0),
            ..NumberRule::default()
        };
        assert!(compare_text("0", &bounds).unwrap().matched);
        assert!(compare_text("1.0", &bounds).unwrap().matched);
        assert_snapshot!(compare_text("1.01", &bounds).unwrap().reason, @"expected at most 1, got 1.01");
        assert_snapshot!(compare_text("nan", &bounds).unwrap().reason, @"expected a finite number, got nan");
        let above = NumberRule {
            min: Some(0.0),
            ..NumberRule::default()
        };
        assert!(!compare_text("inf", &above).unwrap().matched);
        assert!(compare_json(&json!(3), &above).unwrap().matched);
        assert!(!compare_json(&json!(true), &above).unwrap().matched);
    }

    #[test]
    fn an_authors_mistake_is_no_failure() {
        assert_snapshot!(compare_text("1", &NumberRule::default()).unwrap_err(), @"a numeric comparison needs an expected value, `min` or `max`");
        assert_snapshot!(compare_text("1", &one(&json!("many"))).unwrap_err(), @r#"the expected value is no number: no number in "many""#);
    }
}
