//! Expected and actual values as people read them: two short texts, or the lines in which they
//! differ.
//!
//! All that comes out of here is sanitised and bounded. Two values that differ never look the same:
//! where they would, both are shown with every character visible.

use serde_json::Value;

use crate::report::emphasis::{self, EmphasisMarks};
use crate::report::limits;
use crate::report::page::EvidenceLimits;
use eval_base::text;
use eval_match::diff::{self, DiffTag, group_diff_ops};

/// Longer JSON is shown over several lines.
const SHORT_JSON: usize = 60;
/// Columns of a line that is shown whole.
const SHORT_LINE: usize = 64;
/// Characters before the first difference of two long lines that are shown.
const LEAD: usize = 24;

/// What there is to show.
#[derive(Debug, Clone, PartialEq)]
pub enum ShownValues {
    Nothing,
    /// Each side as it is; at least one is there.
    Sides {
        expected: Option<Excerpt>,
        actual: Option<Excerpt>,
    },
    Diff {
        lines: Vec<DiffLine>,
        more: usize,
    },
}

/// The beginning of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// Sanitised; at most as many lines as asked, without a final line break.
    pub text: String,
    /// Lines that are not shown.
    pub more: usize,
    /// Where the text differs from the other side's; only for texts of one line.
    pub marks: EmphasisMarks,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Sanitised, without its line break.
    pub text: String,
    /// Where the line differs from the one that stands for it on the other side.
    pub marks: EmphasisMarks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// In both.
    Same,
    /// Expected and not there.
    Missing,
    /// There and not expected.
    Extra,
    /// Lines in both are left out here.
    Gap,
}

impl LineKind {
    /// The first column of a unified diff.
    pub fn sign(self) -> char {
        match self {
            LineKind::Same => ' ',
            LineKind::Missing => '-',
            LineKind::Extra => '+',
            LineKind::Gap => '@',
        }
    }
}

/// An expectation of several alternatives in words: `one of "a", "b"`.
pub fn alternatives(expected: &Value) -> Option<String> {
    let all = expected.as_object().filter(|all| all.len() == 1)?;
    let all = all.get("any_of")?.as_array().filter(|all| all.len() > 1)?;
    let each = all.iter().map(|one| written(one, false, limits::READ));
    Some(format!("one of {}", each.collect::<Vec<_>>().join(", ")))
}

/// Holds what was expected against what came.
pub fn compare(
    expected: Option<&Value>,
    actual: Option<&Value>,
    limits: EvidenceLimits,
) -> ShownValues {
    let in_words = expected.and_then(alternatives).map(Value::String);
    let expected = in_words.as_ref().or(expected);
    let (Some(expected), Some(actual)) = (expected, actual) else {
        if expected.is_none() && actual.is_none() {
            return ShownValues::Nothing;
        }
        let excerpt =
            |value: Option<&Value>| value.map(|value| excerpt(&shown_value(value), limits));
        return ShownValues::Sides {
            expected: excerpt(expected),
            actual: excerpt(actual),
        };
    };
    if same_shape(expected, actual) {
        let (old, new) = (long_form(expected), long_form(actual));
        if old.contains('\n') || new.contains('\n') {
            let (lines, more) = diff(&old, &new, limits);
            if lines
                .iter()
                .any(|line| matches!(line.kind, LineKind::Missing | LineKind::Extra))
            {
                return ShownValues::Diff { lines, more };
            }
        }
    }
    let (mut old, mut new) = (shown_value(expected), shown_value(actual));
    // Beside a text in quotes another without would seem to lack them.
    let quotes =
        expected.is_string() && actual.is_string() && (must_quote(expected) || must_quote(actual));
    if quotes || old.lines().eq(new.lines()) {
        (old, new) = (unmistakable(expected), unmistakable(actual));
    }
    if !old.contains('\n') && !new.contains('\n') {
        (old, new) = from_first_difference(&old, &new, limits);
    }
    let (mut old, mut new) = (excerpt(&old, limits), excerpt(&new, limits));
    if !old.text.contains('\n') && !new.text.contains('\n') {
        (old.marks, new.marks) = emphasis::marks(&old.text, &new.text);
    }
    ShownValues::Sides {
        expected: Some(old),
        actual: Some(new),
    }
}

/// The beginning of a value, in as many lines as it has.
pub fn whole(value: &Value, most: usize) -> String {
    let shown = shown_value(value);
    text::shortened(shown.trim_end(), most).into_owned()
}

/// Two texts, or two containers: only then is a diff of lines worth reading.
fn same_shape(a: &Value, b: &Value) -> bool {
    let container = |value: &Value| value.is_array() || value.is_object();
    a.is_string() && b.is_string() || container(a) && container(b)
}

fn long_form(value: &Value) -> String {
    if let Value::String(s) = value {
        return text::sanitize(text::truncate_bytes(s, limits::READ)).into_owned();
    }
    let short = written(value, false, SHORT_JSON + 1);
    let long = if short.len() <= SHORT_JSON {
        short
    } else {
        written(value, true, limits::READ)
    };
    text::sanitize(&long).into_owned()
}

/// The beginning of a value as JSON, of which no more than so many bytes is made.
fn written(value: &Value, pretty: bool, most: usize) -> String {
    let mut out = ValueExcerptWriter {
        bytes: Vec::new(),
        most,
    };
    // The writer fails when it is full, which is no failure here.
    let _ = if pretty {
        serde_json::to_writer_pretty(&mut out, value)
    } else {
        serde_json::to_writer(&mut out, value)
    };
    String::from_utf8_lossy(&out.bytes).into_owned()
}

struct ValueExcerptWriter {
    bytes: Vec<u8>,
    most: usize,
}

impl std::io::Write for ValueExcerptWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.most - self.bytes.len();
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            Err(std::io::ErrorKind::StorageFull.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Texts as they are unless their ends can't be seen, other values as JSON.
fn shown_value(value: &Value) -> String {
    match value {
        Value::String(s) => {
            let s = text::truncate_bytes(s, limits::READ);
            if must_quote(value) {
                text::quoted(s)
            } else {
                text::sanitize(s).into_owned()
            }
        }
        _ => long_form(value),
    }
}

/// An empty text, or one line with blanks or a line break at an end.
fn must_quote(value: &Value) -> bool {
    let Value::String(s) = value else {
        return false;
    };
    let one_line = !s.trim_end_matches('\n').contains('\n');
    s.trim().is_empty() || one_line && s.trim() != s
}

fn unmistakable(value: &Value) -> String {
    match value {
        Value::String(s) => text::quoted(text::truncate_bytes(s, limits::READ)),
        _ => text::sanitize(&written(value, false, limits::READ)).into_owned(),
    }
}

/// Two long lines without most of what they begin with alike.
fn from_first_difference(a: &str, b: &str, limits: EvidenceLimits) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    if same <= LEAD * 2 || text::width(a).max(text::width(b)) <= SHORT_LINE {
        return (a.to_owned(), b.to_owned());
    }
    let tail = |s: &str| {
        format!(
            "{}{}",
            limits.ellipsis(),
            s.chars().skip(same - LEAD).collect::<String>()
        )
    };
    (tail(a), tail(b))
}

fn excerpt(shown: &str, limits: EvidenceLimits) -> Excerpt {
    let bounded = text::truncate_bytes(shown, limits.bytes);
    let cut = bounded.len() < shown.len();
    let mut lines: Vec<&str> = bounded.lines().take(limits.lines).collect();
    while lines.len() > 1 && lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let mut text = lines.join("\n");
    let more = shown.trim_end().lines().count().saturating_sub(lines.len());
    if cut && (more == 0 || bounded.lines().count() <= limits.lines) {
        text.push_str(limits.ellipsis());
    }
    Excerpt {
        text,
        more,
        marks: EmphasisMarks::new(),
    }
}

/// The lines in which two texts differ, with how many more changed lines there are.
fn diff(old: &str, new: &str, limits: EvidenceLimits) -> (Vec<DiffLine>, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Far apart texts would take quadratic time, and what comes late would never be seen.
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(limits.context);
    let window = |lines: &[&str]| -> Vec<String> {
        let bound = |line: &&str| text::truncate_bytes(line, limits.bytes).to_owned();
        lines
            .iter()
            .skip(start)
            .take(limits::COMPARED)
            .map(bound)
            .collect()
    };
    let beyond = old.len().saturating_sub(start + limits::COMPARED)
        + new.len().saturating_sub(start + limits::COMPARED);
    let (old, new) = (window(&old), window(&new));
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let mut lines = Vec::new();
    if start > 0 {
        lines.push(gap(start));
    }
    let mut last_end = 0;
    for group in group_diff_ops(diff::diff(&old, &new), limits.context) {
        let at = group.first().map_or(0, |op| op.old_range().start);
        if at > last_end {
            lines.push(gap(at - last_end));
        }
        last_end = group.last().map_or(at, |op| op.old_range().end);
        for op in &group {
            if op.tag() == DiffTag::Equal {
                lines.extend(old[op.old_range()].iter().map(|line| same_line(line)));
                continue;
            }
            let missing = old[op.old_range()]
                .iter()
                .map(|line| (LineKind::Missing, line));
            let extra = new[op.new_range()]
                .iter()
                .map(|line| (LineKind::Extra, line));
            lines.extend(
                missing
                    .chain(extra)
                    .map(|(kind, line)| changed_line(kind, line, limits)),
            );
        }
    }
    // Blank lines at the end say nothing.
    while lines
        .last()
        .is_some_and(|line| line.kind == LineKind::Same && line.text.trim().is_empty())
    {
        lines.pop();
    }
    let mut more = beyond;
    let mut bytes = 0;
    let mut keep = 0;
    while keep < lines.len().min(limits.lines) && bytes <= limits.bytes {
        bytes += lines[keep].text.len();
        keep += 1;
    }
    more += lines[keep..]
        .iter()
        .filter(|line| line.kind != LineKind::Gap)
        .count();
    lines.truncate(keep);
    mark_pairs(&mut lines);
    (lines, more)
}

fn gap(lines: usize) -> DiffLine {
    let text = text::plural(lines, "equal line");
    DiffLine {
        kind: LineKind::Gap,
        text,
        marks: EmphasisMarks::new(),
    }
}

fn same_line(line: &str) -> DiffLine {
    DiffLine {
        kind: LineKind::Same,
        text: line.to_owned(),
        marks: EmphasisMarks::new(),
    }
}

/// Blanks at the end of a changed line may be all that changed, so they are shown.
fn changed_line(kind: LineKind, line: &str, limits: EvidenceLimits) -> DiffLine {
    let body = line.trim_end_matches([' ', '\t']);
    let [blank, tab] = if limits.unicode {
        ['·', '→']
    } else {
        ['_', '>']
    };
    let tail: String = line[body.len()..]
        .chars()
        .map(|c| if c == ' ' { blank } else { tab })
        .collect();
    DiffLine {
        kind,
        text: format!("{body}{tail}"),
        marks: EmphasisMarks::new(),
    }
}

/// Marks in lines that stand for each other: as many that are missing as there are extra ones right
/// after them.
fn mark_pairs(lines: &mut [DiffLine]) {
    let run = |lines: &[DiffLine], from: usize, kind: LineKind| {
        lines
            .iter()
            .skip(from)
            .take_while(|line| line.kind == kind)
            .count()
    };
    let mut at = 0;
    while at < lines.len() {
        let missing = run(lines, at, LineKind::Missing);
        let extra = run(lines, at + missing, LineKind::Extra);
        if missing == extra {
            for pair in at..at + missing {
                let (old, new) = emphasis::marks(&lines[pair].text, &lines[pair + missing].text);
                lines[pair].marks = old;
                lines[pair + missing].marks = new;
            }
        }
        at += (missing + extra).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const LIMITS: EvidenceLimits = EvidenceLimits {
        lines: 12,
        bytes: 2000,
        context: 1,
        places: 0,
        columns: 0,
        unicode: true,
    };

    fn show(expected: Value, actual: Value) -> String {
        match compare(Some(&expected), Some(&actual), LIMITS) {
            ShownValues::Nothing => "nothing".to_owned(),
            ShownValues::Sides { expected, actual } => {
                let side = |side: Option<Excerpt>| {
                    side.map_or_else(String::new, |s| format!("{} +{}", s.text, s.more))
                };
                format!("{} | {}", side(expected), side(actual))
            }
            ShownValues::Diff { lines, more } => {
                let lines: Vec<String> = lines
                    .iter()
                    .map(|l| format!("{}{}", l.kind.sign(), l.text))
                    .collect();
                format!("{} +{more}", lines.join("\n"))
            }
        }
    }

    #[test]
    fn short_values_stand_side_by_side() {
        assert_eq!(show(json!(42), json!(43)), "42 +0 | 43 +0");
        assert_eq!(show(json!("a"), json!("b")), "a +0 | b +0");
        assert_eq!(show(json!([1, 2]), json!([1, 3])), "[1,2] +0 | [1,3] +0");
    }

    #[test]
    fn values_that_differ_never_look_the_same() {
        assert_eq!(show(json!("1"), json!(1)), "\"1\" +0 | 1 +0");
        assert_eq!(show(json!("a"), json!("a\r")), "\"a\" +0 | \"a\\r\" +0");
        assert_eq!(
            show(json!("a"), json!("\u{1b}[1ma")),
            "\"a\" +0 | \"\\u{1b}[1ma\" +0"
        );
        assert_eq!(
            show(json!("a\nb"), json!("a\nb\n")),
            r#""a\nb" +0 | "a\nb\n" +0"#
        );
        assert_eq!(show(json!("42"), json!("42\n")), r#""42" +0 | "42\n" +0"#);
        assert_eq!(show(json!(""), json!("  ")), "\"\" +0 | \"  \" +0");
    }

    #[test]
    fn long_lines_begin_near_their_difference() {
        let long = "x".repeat(500);
        let shown = show(json!(format!("{long}A")), json!(format!("{long}B")));
        assert_eq!(shown, format!("…{0}A +0 | …{0}B +0", "x".repeat(LEAD)));
    }

    #[test]
    fn texts_of_several_lines_are_diffed() {
        assert_eq!(
            show(json!("a\nb\nc\nd"), json!("a\nB \nc\nd")),
            " a\n-b\n+B·\n c +0"
        );
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let mut other = many.clone();
        other[900] = "x".into();
        assert_eq!(
            show(json!(many.join("\n")), json!(other.join("\n"))),
            "@899 equal lines\n 899\n-900\n+x\n 901 +0"
        );
        let document = |b: char| json!({"a": [1, 2, 3], "b": b.to_string().repeat(60)});
        let expected = format!(
            "@5 equal lines\n   ],\n-  \"b\": \"{}\"\n+  \"b\": \"{}\"\n }} +0",
            "x".repeat(60),
            "y".repeat(60)
        );
        assert_eq!(show(document('x'), document('y')), expected);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let many: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        let ShownValues::Sides {
            actual: Some(side), ..
        } = compare(None, Some(&json!(many.join("\n"))), LIMITS)
        else {
            panic!("one side");
        };
        assert_eq!((side.text.lines().count(), side.more), (12, 38));
        let other: Vec<String> = (50..100).map(|n| n.to_string()).collect();
        let ShownValues::Diff { lines, more } = compare(
            Some(&json!(many.join("\n"))),
            Some(&json!(other.join("\n"))),
            LIMITS,
        ) else {
            panic!("a diff");
        };
        assert_eq!((lines.len(), more), (12, 88));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn every_excerpt_is_clean_and_bounded(a in "(?s).{0,200}", b in "(?s).{0,200}") {
            let (a, b) = (json!(a), json!(b));
            let limits = EvidenceLimits { lines: 5, bytes: 100, ..LIMITS };
            let texts: Vec<String> = match compare(Some(&a), Some(&b), limits) {
                ShownValues::Nothing => Vec::new(),
                ShownValues::Sides { expected, actual } => {
                    let sides: Vec<Excerpt> = expected.into_iter().chain(actual).collect();
                    if a != b {
                        prop_assert_ne!(&sides[0], &sides[1]);
                    }
                    sides.into_iter().map(|side| side.text).collect()
                }
                ShownValues::Diff { lines, .. } => {
                    prop_assert!(lines.len() <= 5);
                    lines.into_iter().map(|line| line.text).collect()
                }
            };
            for text in texts {
                prop_assert!(text.lines().count() <= 5 && text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            }
        }
    }
}
