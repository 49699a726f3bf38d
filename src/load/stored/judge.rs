//! What can be wrong with a baseline file.

use std::path::Path;

use serde_json::Value;

use crate::graders::structural_match::check_matchers;
use crate::load::problem::{Code, Problem, Problems};
use crate::load::scope::{SuiteDesk, SuiteScope};
use crate::load::source::{FileId, SourceFiles, Span};
use crate::load::tree::{Node, NodeValue};
use crate::model::{BaselineStage, baseline_file_name};
use crate::spec::BaselineFile;
use eval_match::validate_matcher;

/// The lines that a merge which met two changes leaves in a file.
const MARKERS: [&str; 2] = ["<<<<<<<", ">>>>>>>"];

/// The first line of an unfinished merge, and what to do.
pub(in crate::load) fn conflict(sources: &SourceFiles, file: FileId) -> Option<Problem> {
    let text = sources.text(file);
    if !MARKERS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let mut at = 0;
    let first = text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let is_marker = |mark: &&&str| {
            let rest = line
                .strip_prefix(**mark)
                .map(|rest| rest.trim_end_matches(['\n', '\r']));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        MARKERS
            .iter()
            .find(is_marker)
            .map(|mark| Span::new(file, start, start + mark.len()))
    })?;
    let shown = sources.display(file);
    Some(Problem::error(Code::MergeConflict, first, "a merge that is not finished left its marks here").hint(format!(
        "edit the file, or take one side: `git checkout --ours -- {shown}` or `git checkout --theirs -- {shown}`, then `git add`"
    )))
}

/// What is wrong with the version of the format of a baseline (a `score ` one), before anything else
/// is judged: a newer file may hold what we don't know.
pub(in crate::load) fn unknown_version(node: &Node, word: &str, newest: u32) -> Option<Problem> {
    let at = node.get("format_version")?;
    let NodeValue::Number(number) = &at.value else {
        return None;
    };
    match number.as_u64()? {
        0 => {
            let message = format!("there is no version 0 of the format of {word}baselines");
            Some(Problem::error(Code::BadBaseline, at.span, message))
        }
        version if version <= u64::from(newest) => None,
        version => {
            let message = format!(
                "this {word}baseline was written by a newer eval-harness: its format has version {version}, and this \
                 program knows versions up to {newest}"
            );
            Some(Problem::error(Code::NewerBaseline, at.span, message).hint("update eval-harness"))
        }
    }
}

/// A file and the eval that it was looked up for.
pub(super) struct BaselineFileName<'a> {
    pub name: &'a str,
    pub id: Option<&'a str>,
}

/// `x.pending.yaml` waits, every other file counts.
pub(super) fn standing_of(name: &str) -> BaselineStage {
    if name.ends_with(".pending.yaml") {
        BaselineStage::Pending
    } else {
        BaselineStage::Accepted
    }
}

pub(super) fn header(
    spec: &BaselineFile,
    node: &Node,
    of: &BaselineFileName,
    problems: &mut Problems,
) {
    let standing = standing_of(of.name);
    let at = node.locate("/eval_id");
    let right = baseline_file_name(&spec.eval_id, standing);
    match of.id {
        Some(id) if id != spec.eval_id => {
            let message = format!("this is the baseline of `{}`, not of `{id}`", spec.eval_id);
            let hint = if id.to_lowercase() == spec.eval_id.to_lowercase() {
                "ids that differ only in case share a file where the file system ignores case: rename one"
                    .to_owned()
            } else {
                format!("its file would be `{right}`")
            };
            problems.push(Problem::error(Code::OtherBaseline, at, message).hint(hint));
        }
        None if of.name != right && of.name.ends_with(".yaml") => {
            let message = format!(
                "this file is not read: the baseline of `{}` lies in `{right}`",
                spec.eval_id
            );
            problems.push(
                Problem::error(Code::OtherBaseline, at, message)
                    .hint("rename the file, or change `eval_id`"),
            );
        }
        _ => {}
    }
    if standing == BaselineStage::Accepted && spec.replaces.is_some() {
        let message = "`replaces` belongs to pending files; here it says nothing";
        let problem = Problem::warning(Code::SuspiciousValue, node.key_span("/replaces"), message);
        problems.push(problem.hint("`eval-harness baseline accept` leaves it out"));
    }
    if let Some(time) = spec
        .captured_at
        .as_deref()
        .filter(|time| time.parse::<jiff::Timestamp>().is_err())
    {
        let message = format!("`{time}` is no time such as 2026-01-31T12:00:00Z");
        problems.push(Problem::error(
            Code::BadFormat,
            node.locate("/captured_at"),
            message,
        ));
    }
}

/// The name of an output file: one of this folder, and one that git has when the baseline counts.
pub(super) fn output_name(name: &str, standing: BaselineStage, at: Span) -> Result<(), Problem> {
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
        let message = format!("`{name}` is no name of a file in the same folder");
        return Err(Problem::error(Code::BadPath, at, message));
    }
    if standing == BaselineStage::Accepted && name.ends_with(".pending.output.json") {
        let message = format!("`{name}` belongs to a pending baseline, which git ignores");
        return Err(Problem::error(Code::OutputFile, at, message)
            .hint("`eval-harness baseline accept` moves it to where it counts"));
    }
    Ok(())
}

pub(super) fn matchers(sources: &SourceFiles, problems: &mut Problems, output: &Node) {
    let suite = SuiteScope::default();
    check_matchers(
        &mut SuiteDesk {
            sources,
            problems,
            suite: &suite,
            dir: Path::new(""),
        },
        output,
    );
}

/// True when a text may hold a matcher that [`matchers`] would complain of.
pub(super) fn suspicious(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.contains("{{") && !matches!(validate_matcher(text.trim()), Some(Ok(())))
        }
        Value::Array(items) => items.iter().any(suspicious),
        Value::Object(fields) => fields.values().any(suspicious),
        _ => false,
    }
}

pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}
