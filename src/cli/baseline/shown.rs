//! A change of a baseline in lines: path by path what is there now and what would be.

use serde_json::Value;

use super::pending::PendingBaseline;
use super::relative;
use crate::baseline::emit;
use crate::report::differences::{DifferenceLimits, DifferenceRow, of_differences};
use crate::report::page::{PageBlock, StyledText, TextTone, span};
use crate::spec::BaselineFile;
use eval_base::text::{exact_line, plural, sanitize};
use eval_match::counted_differences;
use eval_match::diff::{DiffTag, diff, group_diff_ops};

/// What a pending baseline would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingEffect {
    New,
    /// In so many places.
    Changed(usize),
    /// Only what is said about the capture.
    Same,
    /// The accepted file can't be read.
    ReplacesBroken,
}

impl PendingEffect {
    pub fn of(pending: &PendingBaseline) -> PendingEffect {
        match &pending.accepted {
            None => PendingEffect::New,
            Some(Err(_)) => PendingEffect::ReplacesBroken,
            Some(Ok(_)) if pending.is_same() => PendingEffect::Same,
            Some(Ok(accepted)) => PendingEffect::Changed(
                counted_differences(&accepted.output, &pending.pending.output)
                    .1
                    .max(1),
            ),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            PendingEffect::New => "new",
            PendingEffect::Changed(_) => "changed",
            PendingEffect::Same => "same",
            PendingEffect::ReplacesBroken => "replaces_broken",
        }
    }

    pub fn words(self) -> String {
        match self {
            PendingEffect::New => "new".to_owned(),
            PendingEffect::Changed(n) => format!("changed in {}", plural(n, "place")),
            PendingEffect::Same => "the same output, captured again".to_owned(),
            PendingEffect::ReplacesBroken => {
                "instead of an accepted file that can't be read".to_owned()
            }
        }
    }
}

/// A change, at most `limits.rows` places of it, or as many lines of a new one.
pub(super) fn change(pending: &PendingBaseline, limits: DifferenceLimits) -> PageBlock {
    let (lines, more) = match &pending.accepted {
        Some(Ok(_)) if pending.is_same() => {
            let same = "the output is the accepted one; only data about the capture would change";
            (vec![line(TextTone::Dim, same)], None)
        }
        Some(Ok(accepted)) => changed(&accepted.output, &pending.pending.output, limits),
        None | Some(Err(_)) => fresh(pending, limits.rows),
    };
    let path = || relative(&pending.pending.path);
    let more = more.map(|more| {
        line(
            TextTone::Dim,
            format!("... and {more}; {} contains everything", path()),
        )
    });
    PageBlock::Diff(lines.into_iter().chain(more).collect())
}

/// Lines, each clean, and how much they leave out.
pub(in crate::cli) type Lines = (Vec<StyledText>, Option<String>);

/// A line: red is what is accepted now, green what would be accepted.
fn line(tone: TextTone, text: impl Into<String>) -> StyledText {
    span(tone, text).into()
}

fn changed(accepted: &Value, pending: &Value, limits: DifferenceLimits) -> Lines {
    if let (Value::String(old), Value::String(new)) = (accepted, pending)
        && (old.contains('\n') || new.contains('\n'))
    {
        return text_lines(old, new, limits.rows);
    }
    let (found, all) = counted_differences(accepted, pending);
    let rows = of_differences(&found, all, limits);
    let more = (rows.more > 0).then(|| plural(rows.more, "more place"));
    (rows.rows.into_iter().flat_map(place).collect(), more)
}

/// One place. The words beside a path are for what an output lacks; here something is added or
/// removed.
fn place(row: DifferenceRow) -> Vec<StyledText> {
    let note = row
        .note
        .replacen("not expected", "added", 1)
        .replacen("missing", "removed", 1);
    let head = if note.is_empty() {
        row.path
    } else {
        format!("{} ({note})", row.path)
    };
    let sides = [
        (TextTone::Bad, "- ", row.expected),
        (TextTone::Good, "+ ", row.actual),
    ];
    let sides = sides.into_iter().filter_map(|(tone, sign, side)| {
        let side = side?;
        let mut text = line(tone, sign);
        text.push(StyledText::marked(tone, &side.text, &side.marks));
        Some(text)
    });
    [line(TextTone::Plain, head)]
        .into_iter()
        .chain(sides)
        .collect()
}

/// Texts of several lines, with three lines around each change.
pub(in crate::cli) fn text_lines(old: &str, new: &str, most: usize) -> Lines {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut lines = Vec::new();
    for (index, group) in group_diff_ops(diff(&old, &new), 3).iter().enumerate() {
        if index > 0 {
            lines.push(line(TextTone::Dim, "..."));
        }
        for op in group {
            let mut add = |tone, sign, texts: &[&str]| {
                for text in texts {
                    let bare = text.strip_suffix('\n').unwrap_or(text);
                    lines.push(line(tone, format!("{sign}{}", exact_line(bare))));
                    if bare.len() == text.len() && tone != TextTone::Dim {
                        lines.push(line(TextTone::Dim, "  (no line break at the end)"));
                    }
                }
            };
            if op.tag() == DiffTag::Equal {
                add(TextTone::Dim, "  ", &old[op.old_range()]);
            } else {
                add(TextTone::Bad, "- ", &old[op.old_range()]);
                add(TextTone::Good, "+ ", &new[op.new_range()]);
            }
        }
    }
    if lines.is_empty() {
        lines.push(line(TextTone::Dim, "only the line endings differ"));
    }
    bounded(lines, most)
}

/// A new baseline as its file.
fn fresh(pending: &PendingBaseline, most: usize) -> Lines {
    let kept = &pending.pending;
    let file = BaselineFile {
        output: Some(kept.output.clone()),
        output_file: None,
        ..kept.file.clone()
    };
    let text = emit(&file);
    let added = |text: &str| line(TextTone::Good, format!("+ {}", sanitize(text)));
    let more = text.lines().count().saturating_sub(most);
    let lines = text.lines().take(most).map(added).collect();
    (lines, (more > 0).then(|| plural(more, "more line")))
}

fn bounded(mut lines: Vec<StyledText>, most: usize) -> Lines {
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    (lines, (more > 0).then(|| plural(more, "more line")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::page::SpanContent;

    const LIMITS: DifferenceLimits = DifferenceLimits {
        rows: 20,
        columns: 60,
        unicode: true,
    };

    fn shown(accepted: Value, pending: Value) -> String {
        let (mut lines, more) = changed(&accepted, &pending, LIMITS);
        lines.extend(more.map(|more| line(TextTone::Dim, more)));
        let words = |line: &StyledText| -> String {
            let pieces = line.0.iter().map(|span| match &span.content {
                SpanContent::Own(text) => text.as_str(),
                other => panic!("{other:?}"),
            });
            pieces.collect()
        };
        lines.iter().map(words).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn values_differ_path_by_path() {
        let said = shown(
            json!({"users": [{"role": "user", "id": "{{any_uuid}}"}], "gone": 1, "n": 1}),
            json!({"users": [{"role": "admin", "id": "{{any_uuid}}"}], "n": 1.0, "more": [2]}),
        );
        insta::assert_snapshot!(said, @r#"
        gone (removed)
        - 1
        users[0].role
        - "user"
        + "admin"
        more (added)
        + [2]
        "#);
    }

    #[test]
    fn texts_differ_line_by_line() {
        let old = "# Notes\n\na\nb\nc\nd\ne\nf\n";
        let new = "# Notes\n\na\nB\u{1b}[31m\nc\nd\ne\nf\n";
        insta::assert_snapshot!(shown(json!(old), json!(new)), @"
          # Notes
          
          a
        - b
        + B⟨U+001B⟩[31m
          c
          d
          e
        ");
        insta::assert_snapshot!(shown(json!("one"), json!("two")), @r#"
        (root)
        - "one"
        + "two"
        "#);
    }

    /// What would be accepted is what is seen: nothing is swallowed, and what is not shown is
    /// counted.
    #[test]
    fn nothing_hides_from_a_reviewer() {
        insta::assert_snapshot!(shown(json!("a\nx y\n"), json!("a\r\nx  y\u{9d}more\u{9c}\u{202e}")), @"
        - a
        - x y
        + a⟨U+000D⟩
        + x  y⟨U+009D⟩more⟨U+009C⟩⟨U+202E⟩
          (no line break at the end)
        ");
        insta::assert_snapshot!(shown(json!({"a": "x y"}), json!({"a": "x  y\u{9d}more\u{9c}\u{a0}"})), @r#"
        a
        - "x y"
        + "x  y⟨U+009D⟩more⟨U+009C⟩⟨U+00A0⟩"
        "#);
        let many = |from: u32| {
            Value::Object(
                (0..3000)
                    .map(|n| (format!("k{n}"), json!(from + n)))
                    .collect(),
            )
        };
        assert!(shown(many(0), many(1)).ends_with("2,980 more places"));
    }

    #[test]
    fn what_differs_within_a_line_is_marked() {
        let (lines, _) = changed(&json!("x = 12345"), &json!("x = 12945"), LIMITS);
        let marked = |line: &StyledText| line.0.iter().any(|span| span.tone == TextTone::BadMark);
        assert!(lines.iter().any(marked), "{lines:?}");
    }
}
