//! Cases in full: what each was given, what came back, and what the graders reported.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::html::{facts_of_sample, parts_of_input};
use crate::model::{
    CaseResult, EvalResult, Grade, InputKind, InputShown, Outcome, SampleResult, TrajectoryRecord,
};
use crate::report::figures;
use crate::report::page::{
    FailureEvidence, ListItem, ListMark, Page, PageBlock, PageView, StyledText, TextTone, bold,
    dim, mark, outside, outside_lines, own, place, terminal, text,
};
use crate::report::run::{details, verdicts};
use crate::report::{TerminalOptions, limits, values};
use eval_agents::trajectory::TrajectoryText;
use eval_base::shell;
use eval_base::text::plural;

/// A case and the eval that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct ShownCase<'a> {
    pub eval: &'a EvalResult,
    pub case: &'a CaseResult,
}

/// What `show --format json` prints of a case.
#[derive(Serialize)]
struct CaseDocument<'a> {
    eval_id: &'a str,
    eval_name: &'a str,
    #[serde(flatten)]
    case: &'a CaseResult,
}

/// Writes cases for people. `sample` (from 0) selects one sample of each; `source` are the arguments
/// that select the run.
pub fn render(
    cases: &[ShownCase<'_>],
    sample: Option<u32>,
    source: &[&str],
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = PageView::in_full(options);
    let mut page = Page::default();
    for shown in cases {
        part(&mut page, shown, sample, source, &view);
    }
    // Reasons are whole, however many lines they take.
    let whole = TerminalOptions {
        verbose: true,
        ..*options
    };
    terminal::write(&page, &whole, out)
}

/// Writes cases as a JSON array, with an end of line.
pub fn write_json(
    cases: &[ShownCase<'_>],
    sample: Option<u32>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let documents: Vec<serde_json::Value> = cases
        .iter()
        .map(|shown| {
            let mut case = shown.case.clone();
            case.samples
                .retain(|one| sample.is_none_or(|at| one.index == at));
            let mut document = serde_json::to_value(CaseDocument {
                eval_id: &shown.eval.id,
                eval_name: &shown.eval.name,
                case: &case,
            })?;
            for (at, sample) in case.samples.iter().enumerate() {
                let record = sample.trajectory.as_deref();
                let Some(content) = record.and_then(TrajectoryRecord::content) else {
                    continue;
                };
                let place = document.pointer_mut(&format!("/samples/{at}/trajectory"));
                if let Some(Value::Object(place)) = place {
                    place.insert("content".to_owned(), serde_json::to_value(content)?);
                }
            }
            Ok(document)
        })
        .collect::<serde_json::Result<_>>()?;
    eval_base::json::to_writer_pretty(&mut *out, &documents)?;
    out.write_all(b"\n")
}

/// Cases as a page for the browser; `run` is the id of their run.
pub fn page(cases: &[ShownCase<'_>], run: &str) -> Page {
    let view = PageView {
        limits: limits::view::CASE,
        ..PageView::html()
    };
    let mut page = Page::default();
    for shown in cases {
        part(&mut page, shown, None, &["--run", run], &view);
    }
    page
}

fn part(
    page: &mut Page,
    shown: &ShownCase<'_>,
    sample: Option<u32>,
    source: &[&str],
    view: &PageView,
) {
    let ShownCase { eval, case } = *shown;
    let mut body = Page::default();
    if let Some(name) = case.name.as_deref().filter(|name| *name != case.id) {
        body.words(dim(outside(name)));
    }
    match &case.input {
        Some(given) => input(&mut body, given),
        None => body.words(dim(own("The journal does not contain the input."))),
    }
    for one in case
        .samples
        .iter()
        .filter(|one| sample.is_none_or(|at| one.index == at))
    {
        samples(&mut body, case, one, view);
    }
    let unlisted = case.first_graded as usize;
    if case.samples.is_empty() && unlisted > 0 {
        body.words(dim(own("The report keeps no details of these samples.")));
    }
    if let Some(command) = accept_command(shown, source) {
        body.words(dim(own(format!("If the output is right: {command}"))));
    }
    page.part(headline(eval, case), false, body.blocks);
}

/// The command that makes the output of a case what it expects, where a literal was expected.
fn accept_command(shown: &ShownCase<'_>, source: &[&str]) -> Option<String> {
    const LITERALS: [&str; 4] = ["exact_match", "json", "numeric", "structural_match"];
    let ShownCase { eval, case } = *shown;
    let differs = |grade: &Grade| {
        grade.outcome == Outcome::Failed
            && grade.expected.is_some()
            && LITERALS.contains(&grade.method.as_str())
    };
    let mut grades = case.samples.iter().flat_map(|sample| &sample.grades);
    if case.outcome != Outcome::Failed || !grades.any(differs) {
        return None;
    }
    let name = if eval.id == case.id {
        case.id.clone()
    } else {
        format!("{}/{}", eval.id, case.id)
    };
    let words = ["eval-harness", "accept", &name];
    shell::line(&[&words, source].concat())
}

fn headline(eval: &EvalResult, case: &CaseResult) -> StyledText {
    let mut facts = Vec::new();
    match case.cause {
        Some(cause) => facts.push(own(cause.name()).toned(TextTone::of(case.outcome))),
        None => facts.push(own(case.outcome.name()).toned(TextTone::of(case.outcome))),
    }
    if case.first_graded > 1 {
        let graded = plural(case.first_graded as usize, "sample");
        facts.push(dim(own(format!(
            "{} of {graded} passed",
            case.first_passes
        ))));
    }
    if case.flaky {
        facts.push(own("flaky").toned(TextTone::Warn));
    }
    text![
        mark(case.outcome),
        " ",
        bold(place(&eval.id, &case.id)),
        "  ",
        StyledText::joined(facts, crate::report::page::DOT),
    ]
}

fn input(body: &mut Page, given: &InputShown) {
    let label = match (given.kind, &given.path) {
        (InputKind::File, Some(path)) => text!["Input, ", outside(path)],
        _ => StyledText::from("Input"),
    };
    let parts = parts_of_input(&given.value, usize::MAX);
    for (role, text) in parts {
        let label = if role.is_empty() {
            label.clone()
        } else {
            text![label.clone(), ", ", outside(&role)]
        };
        code(body, label, &text.text, text.cut.as_deref());
    }
    if let Some(context) = &given.context {
        code(body, "Context".into(), &whole(context), None);
    }
    if given.truncated {
        body.words(dim(own(
            "The journal keeps at most 16 KiB of an input; this is its beginning.",
        )));
    }
}

/// A value as text, nothing omitted: what was kept of it is bounded already.
fn whole(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) if text.len() > limits::READ || ends_are_seen(text) => {
            Cow::Borrowed(text)
        }
        value => Cow::Owned(values::whole(value, usize::MAX)),
    }
}

/// True for a text that can be shown without quotes: only line ends follow its last character.
fn ends_are_seen(text: &str) -> bool {
    let body = text.trim_end_matches(['\n', '\r']);
    !body.is_empty() && body.trim() == body
}

fn code(body: &mut Page, label: StyledText, text: &str, note: Option<&str>) {
    body.push(PageBlock::Code {
        label,
        language: "text",
        text: text.trim_end().to_owned(),
    });
    if let Some(note) = note {
        body.words(dim(outside(note)));
    }
}

fn samples(body: &mut Page, case: &CaseResult, sample: &SampleResult, view: &PageView) {
    if case.samples.len() > 1 || case.first_graded > 1 {
        let title = text![
            mark(sample.outcome),
            " ",
            own(format!("Sample {}", sample.index + 1)),
            "  ",
            own(sample
                .cause
                .map_or(sample.outcome.name(), |cause| cause.name()))
            .toned(TextTone::of(sample.outcome)),
        ];
        let mut within = Page::default();
        of_sample(&mut within, sample, view);
        body.part(title, false, within.blocks);
    } else {
        of_sample(body, sample, view);
    }
}

fn of_sample(body: &mut Page, sample: &SampleResult, view: &PageView) {
    match &sample.output {
        Some(output) => {
            let note = sample
                .output_truncated
                .then_some("The target's output was longer; the rest was not kept.");
            code(body, "Output".into(), &whole(output), note);
        }
        None => body.words(dim(own("No output."))),
    }
    if let Some(extracted) = &sample.extracted {
        code(
            body,
            "Graded part of the output".into(),
            &whole(extracted),
            None,
        );
    }
    if let Some(left) = &sample.workspace {
        let note = left
            .diff
            .truncated
            .then_some("The difference is longer; the rest was not kept.");
        let title = format!("Changes in the workspace: {}", left.summary());
        code(body, title.into(), &with_short_ids(&left.diff.text), note);
        if let Some(record) = &left.record {
            body.words(text![
                own("All changes are in "),
                outside(record),
                own(" beside the journal.")
            ]);
        }
        if let Some(kept) = &left.kept {
            body.words(text![
                own("Kept in "),
                outside(kept),
                own(" beside the journal.")
            ]);
        }
    }
    if let Some(record) = &sample.trajectory {
        trajectory(body, record, view);
    }
    if let Some(thoughts) = sample.thoughts.as_ref().filter(|_| view.verbose) {
        code(body, "Reasoning of the model".into(), thoughts, None);
    }
    for grade in &sample.grades {
        of_grade(body, grade, view);
    }
    for name in &sample.not_run {
        let text = text![bold(outside(name)), ": not run, the verdict was decided"];
        body.list([ListItem::new(ListMark::Dash, text)]);
    }
    verdicts(body, sample, view);
    if sample
        .grades
        .iter()
        .all(|grade| grade.reason != sample.reason)
    {
        body.prose(&sample.reason, view);
    }
    body.list(sample.earlier.iter().enumerate().map(|(at, earlier)| {
        let words = own(format!("Attempt {}: {}", at + 1, earlier.outcome.name()));
        let reason = match earlier.reason.as_str() {
            "" => StyledText::default(),
            reason => text![": ", outside(reason)],
        };
        ListItem::new(ListMark::Sign(mark(earlier.outcome)), text![words, reason])
    }));
    let measured = sample.metrics.iter().map(|(name, value)| {
        let label = outside(&figures::shown_metric(name));
        (label, own(figures::figure(name, *value)))
    });
    let facts = facts_of_sample(sample, usize::MAX)
        .into_iter()
        .map(|(label, words)| (outside(&label), outside(&words)));
    if view.verbose {
        body.facts(measured.chain(facts));
    }
}

fn trajectory(body: &mut Page, record: &TrajectoryRecord, view: &PageView) {
    if !record.denied.is_empty() {
        let denied = record.denied.iter().map(|what| outside(what));
        body.words(text![
            "The proxy of the agent refused ",
            StyledText::joined(denied, ", ")
        ]);
    }
    let title = format!("Trajectory: {}", record.summary());
    match record.content() {
        Some(trajectory) => {
            let text = TrajectoryText {
                trajectory,
                result_lines: (!view.verbose).then_some(limits::terminal::RESULT_LINES),
            };
            code(body, title.into(), &text.to_string(), None);
        }
        None => {
            let note = "Only the shortened timeline is shown: the trajectory's file is missing, damaged or too large.";
            code(body, title.into(), &record.timeline_text(), Some(note));
        }
    }
}

/// A diff whose `index` lines, which are for programs, fit a screen: ids of contents with 10 digits.
fn with_short_ids(diff: &str) -> String {
    let short = |line: &str| match line.strip_prefix("index ") {
        Some(ids) => {
            let (ids, rest) = ids.split_at(ids.find([' ', '\n']).unwrap_or(ids.len()));
            let ids: Vec<&str> = ids
                .split("..")
                .map(|id| id.get(..10).unwrap_or(id))
                .collect();
            format!("index {}{rest}", ids.join(".."))
        }
        None => line.to_owned(),
    };
    diff.split_inclusive('\n').map(short).collect()
}

/// A verdict and, where it did not pass, expected against actual.
fn of_grade(body: &mut Page, grade: &Grade, view: &PageView) {
    let name = grade.grader.as_deref().unwrap_or(&grade.method);
    let score = grade.score.filter(|score| ![0.0, 1.0].contains(score));
    let score = score.map_or_else(String::new, |score| format!(" {}", figures::rate(score)));
    let informative = if grade.informative {
        " (informative)"
    } else {
        ""
    };
    let reason = match grade.reason.as_str() {
        "" => StyledText::default(),
        reason => text![": ", outside_lines(reason, view.limits.evidence.lines)],
    };
    let mut item = ListItem::new(
        ListMark::Sign(mark(grade.outcome)),
        text![bold(outside(name)), own(score), own(informative), reason],
    );
    if grade.outcome != Outcome::Passed {
        let mut below = Page::default();
        let evidence = FailureEvidence::between(
            &grade.details,
            grade.expected.as_ref(),
            grade.actual.as_ref(),
            view.limits.evidence,
        );
        let by_path = matches!(&evidence, Some(FailureEvidence::ByPath(rows)) if rows.more == 0);
        below.blocks.extend(evidence.map(PageBlock::Evidence));
        if view.verbose {
            details(&mut below, &grade.details, by_path, view);
        }
        item.below = below.blocks;
    } else if let Some(expected) = grade.expected.as_ref().filter(|_| view.verbose) {
        let mut below = Page::default();
        below.facts([("Expected".into(), outside(&whole(expected)))]);
        item.below = below.blocks;
    }
    body.list([item]);
}
