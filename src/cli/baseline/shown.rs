//! A change of a baseline in lines: path by path what is there now and what would be.

use serde_json::Value;

use super::pending::PendingBaseline;
use crate::baseline::emit;
use crate::report::differences::{DifferenceLimits, DifferenceRow, of_differences};
use crate::report::emphasis::EmphasisMarks;
use crate::spec::BaselineFile;
use eval_base::text::{exact_line, plural, sanitize};
use eval_match::counted_differences;
use eval_match::diff::{DiffTag, diff, group_diff_ops};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingTone {
    Plain,
    /// What is accepted now.
    Old,
    /// What would be accepted.
    New,
    Quiet,
}

/// One line, clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingLine {
    pub tone: PendingTone,
    pub text: String,
    /// What differs from the line beside it, in bytes of `text`.
    pub marks: EmphasisMarks,
}

impl PendingLine {
    fn new(tone: PendingTone, text: impl Into<String>) -> PendingLine {
        PendingLine {
            tone,
            text: text.into(),
            marks: Vec::new(),
        }
    }
}

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

/// The lines of a change, at most `limits.rows` places of it, or as many lines of a new one.
pub(super) fn lines(pending: &PendingBaseline, limits: DifferenceLimits) -> Vec<PendingLine> {
    match &pending.accepted {
        Some(Ok(_)) if pending.is_same() => {
            vec![PendingLine::new(
                PendingTone::Quiet,
                "the output is the accepted one; what is said about the capture would change",
            )]
        }
        Some(Ok(accepted)) => changed(&accepted.output, &pending.pending.output, limits),
        None | Some(Err(_)) => fresh(pending, limits.rows),
    }
}

fn changed(accepted: &Value, pending: &Value, limits: DifferenceLimits) -> Vec<PendingLine> {
    if let (Value::String(old), Value::String(new)) = (accepted, pending)
        && (old.contains('\n') || new.contains('\n'))
    {
        return text_lines(old, new, limits.rows);
    }
    let (found, all) = counted_differences(accepted, pending);
    let rows = of_differences(&found, all, limits);
    let mut lines: Vec<PendingLine> = rows.rows.into_iter().flat_map(place).collect();
    if rows.more > 0 {
        lines.push(PendingLine::new(
            PendingTone::Quiet,
            format!("... and {} more", plural(rows.more, "place")),
        ));
    }
    lines
}

/// One place. The words beside a path are for what an output lacks; here something is added or
/// removed.
fn place(row: DifferenceRow) -> Vec<PendingLine> {
    let note = row
        .note
        .replacen("not expected", "added", 1)
        .replacen("missing", "removed", 1);
    let head = if note.is_empty() {
        row.path
    } else {
        format!("{} ({note})", row.path)
    };
    let mut lines = vec![PendingLine::new(PendingTone::Plain, head)];
    for (tone, sign, side) in [
        (PendingTone::Old, "- ", row.expected),
        (PendingTone::New, "+ ", row.actual),
    ] {
        if let Some(side) = side {
            let marks = side
                .marks
                .iter()
                .map(|at| at.start + sign.len()..at.end + sign.len())
                .collect();
            lines.push(PendingLine {
                tone,
                text: format!("{sign}{}", side.text),
                marks,
            });
        }
    }
    lines
}

/// Texts of several lines, with three lines around each change.
fn text_lines(old: &str, new: &str, most: usize) -> Vec<PendingLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut lines = Vec::new();
    for (index, group) in group_diff_ops(diff(&old, &new), 3).iter().enumerate() {
        if index > 0 {
            lines.push(PendingLine::new(PendingTone::Quiet, "..."));
        }
        for op in group {
            let mut add = |tone, sign, texts: &[&str]| {
                for text in texts {
                    let line = text.strip_suffix('\n').unwrap_or(text);
                    lines.push(PendingLine::new(
                        tone,
                        format!("{sign}{}", exact_line(line)),
                    ));
                    if line.len() == text.len() && tone != PendingTone::Quiet {
                        lines.push(PendingLine::new(
                            PendingTone::Quiet,
                            "  (no line break at the end)",
                        ));
                    }
                }
            };
            if op.tag() == DiffTag::Equal {
                add(PendingTone::Quiet, "  ", &old[op.old_range()]);
            } else {
                add(PendingTone::Old, "- ", &old[op.old_range()]);
                add(PendingTone::New, "+ ", &new[op.new_range()]);
            }
        }
    }
    if lines.is_empty() {
        lines.push(PendingLine::new(
            PendingTone::Quiet,
            "only the ends of lines differ",
        ));
    }
    bounded(lines, most)
}

/// A new baseline as its file.
fn fresh(pending: &PendingBaseline, most: usize) -> Vec<PendingLine> {
    let kept = &pending.pending;
    let file = BaselineFile {
        output: Some(kept.output.clone()),
        output_file: None,
        ..kept.file.clone()
    };
    let text = emit(&file);
    let lines = text
        .lines()
        .take(most + 1)
        .map(|line| PendingLine::new(PendingTone::New, format!("+ {}", sanitize(line))));
    let shown: Vec<PendingLine> = lines.collect();
    let all = text.lines().count();
    let more = all.saturating_sub(most);
    cut(shown, most, more)
}

fn bounded(lines: Vec<PendingLine>, most: usize) -> Vec<PendingLine> {
    let more = lines.len().saturating_sub(most);
    cut(lines, most, more)
}

fn cut(mut lines: Vec<PendingLine>, most: usize, more: usize) -> Vec<PendingLine> {
    lines.truncate(most);
    if more > 0 {
        lines.push(PendingLine::new(
            PendingTone::Quiet,
            format!("... and {} more", plural(more, "line")),
        ));
    }
    lines
}

/// A line with its colours.
pub(super) fn painted(line: &PendingLine, color: bool) -> String {
    if !color {
        return line.text.clone();
    }
    let style = match line.tone {
        PendingTone::Plain => return line.text.clone(),
        PendingTone::Old => "31",
        PendingTone::New => "32",
        PendingTone::Quiet => "2",
    };
    let mut painted = format!("\x1b[{style}m");
    let mut from = 0;
    for mark in &line.marks {
        let (Some(before), Some(marked)) =
            (line.text.get(from..mark.start), line.text.get(mark.clone()))
        else {
            continue;
        };
        painted.push_str(&format!("{before}\x1b[7m{marked}\x1b[27m"));
        from = mark.end;
    }
    painted.push_str(line.text.get(from..).unwrap_or_default());
    painted.push_str("\x1b[0m");
    painted
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a line has a list of marks"
)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMITS: DifferenceLimits = DifferenceLimits {
        rows: 20,
        columns: 60,
        unicode: true,
    };

    fn shown(accepted: Value, pending: Value) -> String {
        let lines = changed(&accepted, &pending, LIMITS);
        lines
            .iter()
            .map(|line| painted(line, false))
            .collect::<Vec<_>>()
            .join("\n")
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
        assert!(shown(many(0), many(1)).ends_with("... and 2980 places more"));
    }

    #[test]
    fn what_differs_within_a_line_is_marked() {
        let line = PendingLine {
            tone: PendingTone::Old,
            text: "- abcdef".to_owned(),
            marks: vec![4..6],
        };
        assert_eq!(
            painted(&line, true),
            "\x1b[31m- ab\x1b[7mcd\x1b[27mef\x1b[0m"
        );
    }
}
