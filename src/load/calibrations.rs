//! Calibrations of judges as YAML: read with what is wrong with them, and written for review.

use std::path::Path;

use serde_json::Value;

use super::problem::{Code, Problem, Problems};
use super::scores::BrokenDocument;
use super::session::read_or_explain;
use super::source::SourceFiles;
use super::stored::conflict;
use super::tree::{self, Node};
use super::yaml::entry;
use crate::spec::{CALIBRATION_VERSION, CalibrationFile, SchemaKind};

/// The calibration that a text holds; `path` is how messages name it.
///
/// # Errors
/// Everything that is wrong with it, with its places.
pub fn parse_calibration(path: &Path, text: &str) -> Result<CalibrationFile, Box<BrokenDocument>> {
    let mut broken = BrokenDocument {
        problems: Problems::new(),
        sources: SourceFiles::new(),
    };
    let BrokenDocument { problems, sources } = &mut broken;
    let id = sources.add(path.display().to_string(), text);
    if let Some(problem) = conflict(sources, id) {
        problems.push(problem);
    } else if let Some(node) = tree::parse(sources, id, problems)
        && problems.error_count() == 0
        && let Some(file) = read(&node, problems)
    {
        return Ok(file);
    }
    Err(Box::new(broken))
}

/// Reads a document; `None` after saying what is wrong with it.
pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<CalibrationFile> {
    let version = node.get("format_version");
    if let Some(at) = version
        && let Some(version) = at.to_json().as_u64()
        && version != u64::from(CALIBRATION_VERSION)
    {
        let message = format!(
            "the format version of this calibration is {version}, but this program supports version {CALIBRATION_VERSION}"
        );
        problems.push(
            Problem::error(Code::OutOfRange, at.span, message)
                .hint("update eval-harness, or calibrate the judge again"),
        );
        return None;
    }
    let file: CalibrationFile =
        read_or_explain(SchemaKind::Calibration, node.to_json(), node, problems)?;
    let Some((pointer, message)) = fault(&file) else {
        return Some(file);
    };
    let hint = "`eval-harness calibrate` writes this file";
    problems.push(Problem::error(Code::OutOfRange, node.locate(pointer), message).hint(hint));
    None
}

/// What the shape allows and cannot be: where, and in words.
fn fault(file: &CalibrationFile) -> Option<(&'static str, &'static str)> {
    if file.votes == 0 {
        return Some(("/votes", "a judge has at least one vote"));
    }
    let (rows, labels) = (&file.confusion, &file.labels);
    if rows
        .iter()
        .any(|row| !(row.weight.is_finite() && row.weight >= 1.0))
    {
        return Some(("/confusion", "a weight must be a number of at least 1"));
    }
    let count = |passes: bool| {
        let of = rows.iter().filter(|row| row.judge_passes == passes);
        of.fold(0u64, |sum, row| sum.saturating_add(row.count))
    };
    let (passed, failed) = (count(true), count(false));
    let judged_failed = labels.judged.checked_sub(labels.judged_passed);
    match judged_failed {
        None => Some(("/labels", "`judged_passed` is more than `judged`")),
        Some(judged_failed) if passed > labels.judged_passed || failed > judged_failed => {
            Some(("/labels", "more outputs are labelled than were judged"))
        }
        Some(_) => None,
    }
}

/// The text of the file of a calibration.
pub fn write_calibration(file: &CalibrationFile) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(file) else {
        return String::new();
    };
    let mut out = String::from(
        "# Written by `eval-harness calibrate`. Commit it; another judge needs another calibration.\n",
    );
    let order = [
        "format_version",
        "judge",
        "fingerprint",
        "models",
        "votes",
        "calibrated_at",
        "labels",
        "confusion",
    ];
    for key in order {
        if let Some(value) = fields.remove(key) {
            entry(&mut out, key, &value, 0);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ConfusionRow, LabelDraw, LabelOrigin};

    fn file() -> CalibrationFile {
        let row = |judge_passes, people_pass, count| ConfusionRow {
            judge_passes,
            people_pass,
            weight: 1.0,
            count,
        };
        CalibrationFile {
            format_version: CALIBRATION_VERSION,
            judge: "tone".to_owned(),
            fingerprint: "f123456789abcdef0123456789abcdef".to_owned(),
            models: vec!["judge".to_owned()],
            votes: 3,
            calibrated_at: "2026-03-04T05:06:07.000Z".to_owned(),
            labels: LabelOrigin {
                run: Some("eval-20260304-050607".to_owned()),
                file: None,
                draw: LabelDraw::Random,
                judged: 200,
                judged_passed: 150,
                reviewers: vec!["ana".to_owned()],
            },
            confusion: vec![
                row(true, true, 60),
                row(true, false, 12),
                ConfusionRow {
                    weight: 2.5,
                    ..row(false, false, 8)
                },
            ],
        }
    }

    #[test]
    fn written_calibration_reads_back_as_the_same() {
        let text = write_calibration(&file());
        insta::assert_snapshot!(text, @r"
        # Written by `eval-harness calibrate`. Commit it; another judge needs another calibration.
        format_version: 1
        judge: tone
        fingerprint: f123456789abcdef0123456789abcdef
        models:
          - judge
        votes: 3
        calibrated_at: 2026-03-04T05:06:07.000Z
        labels:
          draw: random
          judged: 200
          judged_passed: 150
          reviewers:
            - ana
          run: eval-20260304-050607
        confusion:
          - count: 60
            judge_passes: true
            people_pass: true
          - count: 12
            judge_passes: true
            people_pass: false
          - count: 8
            judge_passes: false
            people_pass: false
            weight: 2.5
        ");
        assert_eq!(parse_calibration(Path::new("x"), &text).unwrap(), file());
    }

    #[test]
    fn impossible_calibrations_are_refused_with_their_place() {
        let text = write_calibration(&file());
        for (from, to, place, message) in [
            (
                "weight: 2.5",
                "weight: 0",
                "x:",
                "a weight must be a number of at least 1",
            ),
            (
                "judged: 200",
                "judged: 100",
                "x:",
                "`judged_passed` is more than `judged`",
            ),
            (
                "count: 60",
                "count: 160",
                "x:",
                "more outputs are labelled than were judged",
            ),
            (
                "format_version: 1",
                "format_version: 2",
                "x:2:",
                "supports version 1",
            ),
            ("votes: 3", "votes: 0", "x:7:", ""),
            ("draw: random", "draw: rnadom", "x:10:", ""),
            ("judge: tone", "<<<<<<< HEAD", "x:3:", "conflict markers"),
        ] {
            let wrong = text.replacen(from, to, 1);
            assert_ne!(wrong, text, "{from}");
            let broken = parse_calibration(Path::new("x"), &wrong)
                .unwrap_err()
                .to_string();
            assert!(broken.starts_with(place), "{broken}");
            assert!(broken.contains(message), "{broken}");
        }
    }
}
