//! Exact and partial match of texts.

use std::borrow::Cow;

use super::{MatchResult, shortened};

/// Characters of a line that a reason shows around a difference.
const SHOWN: usize = 40;

/// What is levelled before two texts are compared; in this order, as the fields stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Whitespace at both ends is dropped (Python's `str.strip`).
    pub trim_whitespace: bool,
    /// CR LF becomes LF.
    pub normalize_newlines: bool,
    /// When false, both sides are lowercased.
    pub case_sensitive: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            trim_whitespace: true,
            normalize_newlines: true,
            case_sensitive: true,
        }
    }
}

impl TextOptions {
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(if self.trim_whitespace {
            trim(text)
        } else {
            text
        });
        if self.normalize_newlines && text.contains("\r\n") {
            text = Cow::Owned(text.replace("\r\n", "\n"));
        }
        if !self.case_sensitive {
            text = Cow::Owned(text.to_lowercase());
        }
        text
    }
}

/// Without the white space at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// White space for Python's `str.split` and `str.strip`: Unicode's, and the four ASCII separators.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.split()`.
pub(super) fn split_at_blanks(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_blank).filter(|word| !word.is_empty())
}

/// Whether two texts are equal once levelled; the reason names the first difference by line and
/// column (from 1, in characters) and makes visible what can't be seen.
pub fn exact(actual: &str, expected: &str, options: TextOptions) -> MatchResult {
    let (actual, expected) = (options.apply(actual), options.apply(expected));
    if actual == expected {
        MatchResult::matched()
    } else {
        MatchResult::differs(first_difference(&actual, &expected))
    }
}

/// What of `must_include` a text lacks and what of `must_not_include` it has, in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartMismatches {
    pub missing: Vec<String>,
    pub forbidden: Vec<String>,
}

impl PartMismatches {
    pub fn matched(&self) -> bool {
        self.missing.is_empty() && self.forbidden.is_empty()
    }

    /// One sentence; empty when matched.
    pub fn reason(&self) -> String {
        let quoted = |parts: &[String]| {
            let shown: Vec<String> = parts
                .iter()
                .take(5)
                .map(|p| visible(&shortened(p, SHOWN)))
                .collect();
            let more = if parts.len() > 5 {
                format!(" and {} more", parts.len() - 5)
            } else {
                String::new()
            };
            format!("{}{more}", shown.join(", "))
        };
        let mut said = Vec::new();
        if !self.missing.is_empty() {
            said.push(format!("missing {}", quoted(&self.missing)));
        }
        if !self.forbidden.is_empty() {
            said.push(format!(
                "contains {}, which it must not",
                quoted(&self.forbidden)
            ));
        }
        said.join("; ")
    }
}

pub fn contains(
    text: &str,
    must_include: &[String],
    must_not_include: &[String],
    case_sensitive: bool,
) -> PartMismatches {
    let fold = |t: &str| {
        if case_sensitive {
            t.to_owned()
        } else {
            t.to_lowercase()
        }
    };
    let text = fold(text);
    let has = |part: &&String| text.contains(&fold(part));
    PartMismatches {
        missing: must_include
            .iter()
            .filter(|part| !has(part))
            .cloned()
            .collect(),
        forbidden: must_not_include.iter().filter(has).cloned().collect(),
    }
}

fn first_difference(actual: &str, expected: &str) -> String {
    let same: usize = actual
        .chars()
        .zip(expected.chars())
        .take_while(|(a, e)| a == e)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let (before, rest, wanted) = (&actual[..same], &actual[same..], &expected[same..]);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    let place = format!("line {line}, column {column}");
    let hint = hint(actual, expected, rest, wanted);
    if rest.is_empty() && actual.is_empty() {
        return format!("the output is empty, expected {}", snippet(wanted));
    }
    if wanted.is_empty() && expected.is_empty() {
        return format!("expected nothing, got {}", snippet(rest));
    }
    // Of two short lines people see at once where they differ.
    let is_short = |text: &str| !text.contains('\n') && text.chars().count() <= SHOWN;
    if is_short(actual) && is_short(expected) {
        return format!(
            "expected {}, got {}{hint}",
            visible(expected),
            visible(actual)
        );
    }
    match (rest.is_empty(), wanted.is_empty()) {
        (true, _) => format!(
            "at {place}: ends where {} is expected{hint}",
            snippet(wanted)
        ),
        (_, true) => format!(
            "at {place}: continues with {} where the end is expected{hint}",
            snippet(rest)
        ),
        _ => format!(
            "at {place}: expected {}, got {}{hint}",
            snippet(wanted),
            snippet(rest)
        ),
    }
}

/// The text up to its line's end (the line's end itself when it starts with it), made visible.
fn snippet(text: &str) -> String {
    let end = text
        .char_indices()
        .find(|(i, c)| *c == '\n' && *i > 0)
        .map_or(text.len(), |(i, _)| i);
    visible(&shortened(&text[..end], SHOWN))
}

/// Quoted, with escapes for what can't be told from its neighbours by eye: controls, odd spaces,
/// marks that combine.
fn visible(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' => out.push(' '),
            c if c.is_control() || c.is_whitespace() || is_invisible(c) || is_combining(c) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Names a difference that is easily overlooked, when it is the only one.
fn hint(actual: &str, expected: &str, rest: &str, wanted: &str) -> String {
    let without_cr = |t: &str| t.replace("\r\n", "\n").replace('\r', "\n");
    let squeezed = |t: &str| t.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = |t: &str| t.chars().filter(|c| !is_invisible(*c)).collect::<String>();
    let what = if without_cr(actual) == without_cr(expected) {
        "only line endings differ"
    } else if squeezed(actual) == squeezed(expected) {
        "only whitespace differs"
    } else if actual.to_lowercase() == expected.to_lowercase() {
        "only case differs"
    } else if seen(actual) == seen(expected) {
        "only invisible characters differ"
    } else if decomposed_against_composed(rest, wanted) || decomposed_against_composed(wanted, rest)
    {
        "perhaps the same letter in another Unicode normalisation form"
    } else if lookalike(rest, wanted) {
        "different characters that look alike"
    } else {
        return String::new();
    };
    format!(" ({what})")
}

/// True when one side spells with a combining mark what the other spells in one non-ASCII
/// character. Both texts start at the first difference, which is either the base letter or the mark
/// itself.
fn decomposed_against_composed(decomposed: &str, composed: &str) -> bool {
    let mut marks = decomposed.chars();
    let base = marks.next();
    let marked = base.is_some_and(|c| is_combining(c) || marks.next().is_some_and(is_combining));
    marked
        && composed
            .chars()
            .next()
            .is_some_and(|c| !c.is_ascii() && c.is_alphabetic())
}

/// Typographic twins of ASCII characters.
fn lookalike(a: &str, b: &str) -> bool {
    let plain = |c: char| match c {
        '\u{2018}' | '\u{2019}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' => ' ',
        c => c,
    };
    match (a.chars().next(), b.chars().next()) {
        (Some(a), Some(b)) => plain(a) == plain(b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    fn why(actual: &str, expected: &str) -> String {
        let raw = TextOptions {
            trim_whitespace: false,
            normalize_newlines: false,
            case_sensitive: true,
        };
        let comparison = exact(actual, expected, raw);
        assert!(!comparison.matched);
        comparison.reason
    }

    #[test]
    fn steps_come_in_the_seeds_order() {
        let default = TextOptions::default();
        assert!(exact("  olleh\r\n", "olleh", default).matched);
        assert!(exact("a\r\nb", "a\nb", default).matched);
        assert!(!exact("a\rb", "a\nb", default).matched);
        assert!(!exact("Olleh", "olleh", default).matched);
        assert!(
            exact(
                "ÉTÉ ",
                "été",
                TextOptions {
                    case_sensitive: false,
                    ..default
                }
            )
            .matched
        );
        assert!(
            !exact(
                "a ",
                "a",
                TextOptions {
                    trim_whitespace: false,
                    ..default
                }
            )
            .matched
        );
        assert!(
            !exact(
                "a\r\nb",
                "a\nb",
                TextOptions {
                    normalize_newlines: false,
                    ..default
                }
            )
            .matched
        );
        assert!(exact("", " \n", default).matched);
    }

    #[test]
    fn reasons_show_the_first_difference() {
        assert_snapshot!(why("hello\nwurld\n", "hello\nworld\n"), @r#"at line 2, column 2: expected "orld", got "urld""#);
        assert_snapshot!(why("", "x"), @r#"the output is empty, expected "x""#);
        assert_snapshot!(why("x", ""), @r#"expected nothing, got "x""#);
        assert_snapshot!(why("ab", "abc"), @r#"expected "abc", got "ab""#);
        assert_snapshot!(why("abc\nd", "abc"), @r#"at line 1, column 4: continues with "\nd" where the end is expected"#);
    }

    #[test]
    fn reasons_make_the_invisible_visible() {
        assert_snapshot!(why("a \nb", "a\nb"), @r#"at line 1, column 2: expected "\nb", got " " (only whitespace differs)"#);
        assert_snapshot!(why("a\tb", "a b"), @r#"expected "a b", got "a\tb" (only whitespace differs)"#);
        assert_snapshot!(why("a\r\nb", "a\nb"), @r#"at line 1, column 2: expected "\nb", got "\r" (only line endings differ)"#);
        assert_snapshot!(why("caf\u{65}\u{301}", "caf\u{e9}"), @r#"expected "café", got "cafe\u{301}" (perhaps the same letter in another Unicode normalisation form)"#);
        assert_snapshot!(why("a\u{200b}b", "ab"), @r#"expected "ab", got "a\u{200b}b" (only invisible characters differ)"#);
        assert_snapshot!(why("Yes", "yes"), @r#"expected "yes", got "Yes" (only case differs)"#);
        assert_snapshot!(why("it\u{2019}s", "it's"), @r#"expected "it's", got "it’s" (different characters that look alike)"#);
    }

    #[test]
    fn contains_names_what_is_missing_and_what_is_forbidden() {
        let own = |parts: &[&str]| parts.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
        let parts = contains(
            "PostgreSQL 14+ is legacy",
            &own(&["PostgreSQL 14+", "/api"]),
            &own(&["legacy", "old"]),
            true,
        );
        assert_eq!(
            (parts.missing.as_slice(), parts.forbidden.as_slice()),
            (&own(&["/api"])[..], &own(&["legacy"])[..])
        );
        assert_snapshot!(parts.reason(), @r#"missing "/api"; contains "legacy", which it must not"#);
        assert!(!parts.matched());
        assert!(contains("ABC", &own(&["b"]), &[], false).matched());
        assert!(!contains("ABC", &own(&["b"]), &[], true).matched());
        assert!(contains("", &[], &own(&["x"]), true).matched());
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_a_reason_never_breaks(a in "(?s).{0,12}", b in "(?s).{0,12}") {
            let raw = TextOptions { trim_whitespace: false, normalize_newlines: false, case_sensitive: true };
            prop_assert!(exact(&a, &a, raw).matched);
            let comparison = exact(&a, &b, raw);
            prop_assert_eq!(comparison.matched, a == b);
            prop_assert_eq!(comparison.reason.is_empty(), a == b);
        }
    }
}
