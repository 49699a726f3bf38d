//! The matchers of baselines: `{{any_uuid}}` and its kin, and `{{literal("...")}}` for a text that
//! would read as one.

use serde_json::Value;

use crate::options::RegexFlags;

use super::decimal::same_number;
use super::pattern::CompiledPattern;
use eval_base::nearest::did_you_mean;

use super::shortened;

/// The names of all matchers.
pub const MATCHERS: [&str; 8] = [
    "any_uuid",
    "any_string",
    "any_email",
    "any_iso_datetime",
    "any_number",
    "any_bool",
    "any_url",
    "any_regex",
];

const PREFIX: &str = "any_";
const LITERAL: &str = "literal";
/// After a matcher, as in `{{any_uuid!}}`: it stands for this one value, so that an array that
/// holds it is no template.
const ONCE: char = '!';

/// What stands for a whole value in a baseline.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    Uuid,
    /// Any text, the empty one too.
    String,
    Email,
    IsoDatetime,
    /// A JSON number; not a text that holds one.
    Number,
    Bool,
    Url,
    /// A text that the pattern matches from its start to its end, to which it is tied.
    Regex(Box<CompiledPattern>),
    /// This text and no other. It stands for one value only, so that an array that holds it is no
    /// template.
    Literal(String),
}

/// Checks a text of a baseline at load: `None` when it isn't of the form of a matcher, an error
/// with a suggestion when it is but names none, or holds a pattern that doesn't compile.
///
/// Only a text that is nothing but `{{ any_... }}` or `{{ literal(...) }}` is a matcher; whitespace
/// inside the braces is free.
pub fn validate_matcher(text: &str) -> Option<Result<(), String>> {
    Some(parse(text)?.map(|_| ()))
}

/// Reads a matcher; see [`validate_matcher`]. The argument of `any_regex` is taken as it stands
/// between its quotes (`'` or `"`), with only a backslash before such a quote dropped.
pub(super) fn parse(text: &str) -> Option<Result<Matcher, String>> {
    let (name, argument) = form(text)?;
    if name == LITERAL {
        return Some(literal_argument(argument));
    }
    let plain = match name {
        "any_uuid" => Matcher::Uuid,
        "any_string" => Matcher::String,
        "any_email" => Matcher::Email,
        "any_iso_datetime" => Matcher::IsoDatetime,
        "any_number" => Matcher::Number,
        "any_bool" => Matcher::Bool,
        "any_url" => Matcher::Url,
        "any_regex" => return Some(regex(argument)),
        _ => return Some(Err(unknown(name))),
    };
    // `{{any_uuid()}}` can mean nothing else.
    let bare = argument.is_empty() || argument == "()";
    Some(if bare {
        Ok(plain)
    } else {
        Err(format!("matcher {name} takes no argument, got {argument}"))
    })
}

/// The name and the argument of what has the form of a matcher.
fn form(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let end = inner
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(inner.len());
    let (name, rest) = (&inner[..end], inner[end..].trim());
    match name {
        LITERAL => Some((name, rest)),
        _ if name.starts_with(PREFIX) => {
            Some((name, rest.strip_suffix(ONCE).map_or(rest, str::trim_end)))
        }
        _ => None,
    }
}

/// The value with every matcher in it said to stand for one value alone: an array of one element
/// stays one of one element.
pub fn each_once(value: &Value) -> Value {
    with_texts(value, |text| {
        is_template(text).then(|| {
            let inner = text.trim_end_matches('}').trim_end();
            format!("{inner}{ONCE}}}}}")
        })
    })
}

/// The value with those texts in it replaced that there is another one for.
fn with_texts(value: &Value, replaced: fn(&str) -> Option<String>) -> Value {
    let inner = |value: &Value| with_texts(value, replaced);
    match value {
        Value::String(text) => replaced(text).map_or_else(|| value.clone(), Value::String),
        Value::Array(items) => items.iter().map(inner).collect(),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (key.clone(), inner(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Whether a text is a matcher that may stand for several values: one without an exclamation mark.
fn is_template(text: &str) -> bool {
    is_matcher(text) && !text.trim_end_matches('}').trim_end().ends_with(ONCE)
}

pub(super) fn has_the_form(text: &str) -> bool {
    form(text).is_some()
}

/// Whether a text has a matcher or a literal in it, although it isn't one as a whole: most likely a
/// mistake, which is refused where a baseline is read.
pub fn holds_a_matcher_within(text: &str) -> bool {
    let opened = |at: usize| text[..at].trim_end().ends_with("{{");
    let called = |at: usize| text[at + LITERAL.len()..].trim_start().starts_with('(');
    !has_the_form(text)
        && (text.match_indices(PREFIX).any(|(at, _)| opened(at))
            || text
                .match_indices(LITERAL)
                .any(|(at, _)| opened(at) && called(at)))
}

/// How a text is written in a baseline so that it means itself and nothing else: as it is, unless
/// it reads as a matcher or a literal, or holds one.
pub fn literal(text: &str) -> String {
    if has_the_form(text) || holds_a_matcher_within(text) {
        format!("{{{{{LITERAL}({})}}}}", Value::from(text))
    } else {
        text.to_owned()
    }
}

/// A value of a baseline with every literal replaced by the text that it stands for.
pub fn without_literals(value: &Value) -> Value {
    with_texts(value, literal_text)
}

/// The text that a well-formed literal stands for.
pub fn literal_text(text: &str) -> Option<String> {
    match form(text)? {
        (LITERAL, argument) => match literal_argument(argument) {
            Ok(Matcher::Literal(meant)) => Some(meant),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one value of a baseline, which is no array and no object, accepts a value of an output.
pub fn fits(pattern: &Value, actual: &Value) -> bool {
    match (pattern, actual) {
        (Value::String(text), _) => match parse(text) {
            Some(Ok(matcher)) => matcher.mismatch(actual) == Ok(None),
            Some(Err(_)) => false,
            None => actual.as_str() == Some(text),
        },
        (Value::Number(wanted), Value::Number(number)) => same_number(wanted, number),
        (Value::Bool(wanted), Value::Bool(got)) => wanted == got,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

fn unknown(name: &str) -> String {
    let help = match did_you_mean(name, MATCHERS) {
        Some(known) => format!("did you mean {known}?"),
        None => format!("the matchers are {}", MATCHERS.join(", ")),
    };
    format!("unknown matcher {name}; {help}")
}

fn literal_argument(argument: &str) -> Result<Matcher, String> {
    let text = parenthesised(argument).and_then(|quoted| serde_json::from_str(quoted).ok());
    text.map(Matcher::Literal).ok_or_else(|| {
        "literal needs one JSON string: literal(\"the text\"), with \\\" and \\\\ for a quote and a backslash".to_owned()
    })
}

/// What stands in parentheses.
fn parenthesised(argument: &str) -> Option<&str> {
    Some(argument.strip_prefix('(')?.strip_suffix(')')?.trim())
}

fn regex(argument: &str) -> Result<Matcher, String> {
    let pattern = parenthesised(argument).and_then(|quoted| {
        ['"', '\''].into_iter().find_map(|quote| {
            // One quote alone is no pair.
            let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
            Some(inner.replace(&format!("\\{quote}"), &quote.to_string()))
        })
    });
    let Some(pattern) = pattern else {
        return Err("matcher any_regex needs a quoted pattern: any_regex(\"^[a-z]+$\")".to_owned());
    };
    // Compiled alone first: a stray parenthesis must not pair with those around it.
    let flags = RegexFlags::default();
    CompiledPattern::compile(&pattern, flags)
        .and_then(|_| CompiledPattern::compile(&format!(r"\A(?:{pattern})\Z"), flags))
        .map(|pattern| Matcher::Regex(Box::new(pattern)))
        .map_err(|error| format!("matcher any_regex: {error}"))
}

impl Matcher {
    /// `None` when the value fits, else what was expected, in words.
    ///
    /// # Errors
    /// When a pattern gave up on the text, so that it is not known whether it fits.
    pub(super) fn mismatch(&self, value: &Value) -> Result<Option<&'static str>, String> {
        let text = value.as_str();
        let (fits, wanted) = match self {
            Matcher::Uuid => (text.is_some_and(is_uuid), "a UUID"),
            Matcher::String => (value.is_string(), "a string"),
            Matcher::Email => (text.is_some_and(is_email), "an e-mail address"),
            Matcher::IsoDatetime => (
                text.is_some_and(is_iso_datetime),
                "an ISO 8601 date and time",
            ),
            Matcher::Number => (value.is_number(), "a number"),
            Matcher::Bool => (value.is_boolean(), "true or false"),
            Matcher::Url => (text.is_some_and(is_url), "a URL"),
            Matcher::Regex(pattern) => match text.map(|text| pattern.is_in(text)) {
                Some(Err(error)) => return Err(error.to_string()),
                found => (
                    matches!(found, Some(Ok(true))),
                    "a text that the whole pattern matches",
                ),
            },
            Matcher::Literal(meant) => (text == Some(meant), "this text"),
        };
        Ok((!fits).then_some(wanted))
    }
}

/// Whether a text stands for more than one value: a matcher, and no literal.
pub fn is_matcher(text: &str) -> bool {
    form(text).is_some_and(|(name, _)| name != LITERAL)
}

/// Whether a value holds a matcher anywhere inside.
pub fn holds_matcher(value: &Value) -> bool {
    holds(value, is_matcher)
}

/// Whether the only element of an array makes it a template for every element: it holds a matcher
/// that does not stand for one value alone.
pub fn makes_template(element: &Value) -> bool {
    holds(element, is_template)
}

fn holds(value: &Value, wanted: fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => wanted(text),
        Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
        Value::Object(map) => map.values().any(|item| holds(item, wanted)),
        _ => false,
    }
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// One `@` between a local part and a domain of at least two labels; no whitespace. Whether it can
/// be delivered to, only sending tells.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let label = |l: &str| {
        !l.is_empty()
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let local_fits = !local.is_empty()
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && local
            .chars()
            .all(|c| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-".contains(c));
    local_fits && domain.contains('.') && domain.split('.').all(label)
}

/// A calendar date and a time of day that exist, joined by `T` (or a space, as RFC 3339 allows),
/// with or without an offset.
fn is_iso_datetime(text: &str) -> bool {
    let joined = matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' '));
    if !joined || text.len() < 16 || text.contains('[') {
        return false;
    }
    text.parse::<jiff::Timestamp>().is_ok() || text.parse::<jiff::civil::DateTime>().is_ok()
}

/// `scheme://host...` without whitespace.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let scheme_fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    scheme_fits
        && !host.is_empty()
        && !host.starts_with(':')
        && !text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || "<>\"".contains(c))
}

/// For messages: the matcher as written.
pub(super) fn shown(text: &str) -> String {
    shortened(text, 80)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fits(matcher: &str, value: Value) -> bool {
        parse(matcher).unwrap().unwrap().mismatch(&value) == Ok(None)
    }

    #[test]
    fn only_a_whole_text_is_a_matcher() {
        assert_eq!(validate_matcher("{{any_uuid}}"), Some(Ok(())));
        assert_eq!(validate_matcher("{{ any_number }}"), Some(Ok(())));
        assert_eq!(validate_matcher("{{any_bool()}}"), Some(Ok(())));
        for text in [
            "any_uuid",
            "x{{any_uuid}}",
            "{{any_uuid}} ",
            "{{vars.x}}",
            "{{anything}}",
            "{{}}",
            "{{ }}",
            "{{",
            "{{literally}}",
            "{{ literal_value }}",
        ] {
            assert_eq!(validate_matcher(text), None, "{text}");
        }
    }

    #[test]
    fn a_literal_is_one_text() {
        for (written, meant) in [
            (r#"{{literal("{{any_uuid}}")}}"#, "{{any_uuid}}"),
            ("{{ literal (\u{a0}\"a\\n\\\"}}\" ) }}", "a\n\"}}"),
            (r#"{{literal("")}}"#, ""),
        ] {
            assert_eq!(literal_text(written).as_deref(), Some(meant), "{written}");
            assert!(
                fits(written, json!(meant)) && !fits(written, json!(written)),
                "{written}"
            );
            assert!(!holds_matcher(&json!([written])), "{written}");
        }
        assert_eq!(literal_text("{{any_uuid}}"), None);
        let why = |text: &str| validate_matcher(text).unwrap().unwrap_err();
        assert_snapshot!(why("{{literal}}"), @r#"literal needs one JSON string: literal("the text"), with \" and \\ for a quote and a backslash"#);
        for broken in [
            "{{literal()}}",
            "{{literal('x')}}",
            r#"{{literal("a" "b")}}"#,
            "{{literal(1)}}",
        ] {
            assert_eq!(why(broken), why("{{literal}}"), "{broken}");
        }
        let value = json!({"a": ["{{literal(\"x\")}}", "{{any_uuid}}", 1.50]});
        assert_eq!(
            without_literals(&value).to_string(),
            r#"{"a":["x","{{any_uuid}}",1.5]}"#
        );
    }

    #[test]
    fn a_text_is_escaped_when_it_would_be_read_as_more() {
        for (text, written) in [
            ("plain {{ x }}", "plain {{ x }}"),
            ("{{literally}}", "{{literally}}"),
            ("any_uuid }}", "any_uuid }}"),
            ("{{any_uuid}}", r#"{{literal("{{any_uuid}}")}}"#),
            ("{{any_thing}}", r#"{{literal("{{any_thing}}")}}"#),
            ("a {{\tany_uuid", "{{literal(\"a {{\\tany_uuid\")}}"),
            ("{{{any_uuid}}}", r#"{{literal("{{{any_uuid}}}")}}"#),
            ("{{literal}}", r#"{{literal("{{literal}}")}}"#),
            (
                r#"{{literal("x")}}"#,
                r#"{{literal("{{literal(\"x\")}}")}}"#,
            ),
        ] {
            assert_eq!(literal(text), written, "{text}");
        }
    }

    #[test]
    fn one_value_fits_or_not() {
        use super::fits;
        assert!(fits(&json!("{{any_number}}"), &json!(1)) && fits(&json!(1), &json!(1.0)));
        assert!(fits(&json!(null), &json!(null)) && fits(&json!(true), &json!(true)));
        for (pattern, actual) in [
            (json!("{{any_nmber}}"), json!("{{any_nmber}}")),
            (json!(1), json!("1")),
            (json!(true), json!(1)),
            (json!([]), json!([])),
            (json!({}), json!({})),
        ] {
            assert!(!fits(&pattern, &actual), "{pattern}");
        }
    }

    proptest! {
        /// Texts made of what matters to the reader, and a text one edit away.
        #[test]
        fn a_captured_text_means_itself_and_nothing_near_it(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{{", "}}", "{", "}", "any_", "any_uuid", "any_string", "literal", "(", ")", "\"", "\\", " ", "\n",
                    "\u{a0}", "\u{0}", "é", "x", "(\"^a$\")",
                ]),
                0..9,
            ),
            at: prop::sample::Index,
            other in "[ x{}\"\\\\(]",
        ) {
            let text = parts.concat();
            let written = literal(&text);
            prop_assert!(!holds_a_matcher_within(&written) && !is_matcher(&written));
            prop_assert!(validate_matcher(&written).is_none_or(|read| read.is_ok()));
            prop_assert!(super::fits(&json!(written), &json!(text)));
            let mut near: Vec<char> = text.chars().collect();
            near.insert(at.index(near.len() + 1), other.chars().next().unwrap_or('x'));
            let near: String = near.into_iter().collect();
            prop_assert!(!super::fits(&json!(written), &json!(near)));
            prop_assert!(written == text || !super::fits(&json!(written), &json!(written)));
            prop_assert_eq!(without_literals(&json!(written)), json!(text));
        }
    }

    #[test]
    fn a_misspelt_matcher_is_told() {
        let why = |text: &str| validate_matcher(text).unwrap().unwrap_err();
        assert_snapshot!(why("{{any_uid}}"), @"unknown matcher any_uid; did you mean any_uuid?");
        assert_snapshot!(why("{{any_thing_whatsoever}}"), @"unknown matcher any_thing_whatsoever; the matchers are any_uuid, any_string, any_email, any_iso_datetime, any_number, any_bool, any_url, any_regex");
        assert_snapshot!(why("{{any_uuid(4)}}"), @"matcher any_uuid takes no argument, got (4)");
        assert_snapshot!(why("{{any_regex}}"), @r#"matcher any_regex needs a quoted pattern: any_regex("^[a-z]+$")"#);
        assert_snapshot!(why("{{any_regex(\")}}"), @r#"matcher any_regex needs a quoted pattern: any_regex("^[a-z]+$")"#);
        assert_snapshot!(why("{{any_regex(\"a)(b\")}}"), @"matcher any_regex: unopened group");
    }

    #[test]
    fn matchers_take_what_they_say_and_nothing_else() {
        for (matcher, yes, no) in [
            (
                "{{any_uuid}}",
                vec![json!("123e4567-e89b-12d3-a456-426614174000")],
                vec![
                    json!("123e4567e89b12d3a456426614174000"),
                    json!("x"),
                    json!(1),
                    json!(null),
                ],
            ),
            (
                "{{any_string}}",
                vec![json!(""), json!("x")],
                vec![json!(1), json!(null), json!([])],
            ),
            (
                "{{any_email}}",
                vec![json!("a.b+c@d.example"), json!("ü@bücher.example")],
                vec![
                    json!("a@b"),
                    json!("a b@c.de"),
                    json!("@c.de"),
                    json!("a@b@c.de"),
                    json!("a@.de"),
                    json!("a@c.de\n"),
                ],
            ),
            (
                "{{any_iso_datetime}}",
                vec![
                    json!("2024-01-15T10:30:00Z"),
                    json!("2024-01-15T10:30:00.123+02:00"),
                    json!("2024-01-15T10:30:00"),
                    json!("2024-01-15 10:30:00Z"),
                    json!("2024-01-15T10:30Z"),
                ],
                vec![
                    json!("2024-01-15"),
                    json!("2024-02-30T10:30:00Z"),
                    json!("2024-01-15T25:30:00Z"),
                    json!("yesterday"),
                    json!(1705314600),
                ],
            ),
            (
                "{{any_number}}",
                vec![json!(0), json!(1.5)],
                vec![json!("1"), json!(true), json!(null)],
            ),
            (
                "{{any_bool}}",
                vec![json!(true), json!(false)],
                vec![json!(0), json!("true")],
            ),
            (
                "{{any_url}}",
                vec![
                    json!("https://a.example/x?y#z"),
                    json!("http://127.0.0.1:80"),
                ],
                vec![
                    json!("a.example"),
                    json!("https://"),
                    json!("https:// x"),
                    json!("://x"),
                    json!("mailto:x@y.de"),
                ],
            ),
            (
                r#"{{ any_regex("^v\d+(\.\d+)*$") }}"#,
                vec![json!("v1.2.3")],
                vec![json!("v1.2.3\n"), json!("v"), json!(1)],
            ),
            // Without anchors too the whole text must match.
            (
                r"{{any_regex('[a-z]+|\'')}}",
                vec![json!("abc"), json!("'")],
                vec![json!("abc1"), json!("")],
            ),
        ] {
            for value in yes {
                assert!(fits(matcher, value.clone()), "{matcher} {value}");
            }
            for value in no {
                assert!(!fits(matcher, value.clone()), "{matcher} {value}");
            }
        }
    }
}
