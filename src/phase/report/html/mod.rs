//! The phase as an HTML page, with the shell of the reports of runs.
//!
//! It lies with the results of its day, so that it may tell times and runs, which the Markdown
//! report does not.

mod evals;
mod steps;

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Implementation, Outcome, PhaseReport, StepResult};
use crate::report::html::{embed, page};
use crate::report::limits;
use crate::report::{ReportError, figures, notices};
use eval_base::text;

pub(super) fn render(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = figures::decision_label(report.gate.decision);
    let head = page::PageHead {
        title: format!("{decision}: {}", report.metadata.name),
        sentences: &report.gate.reasons,
    };
    page::write(&head, out, |out| embed::block("report", &of(report), out))
}

/// The block `report` of a phase.
pub(super) fn of(report: &PhaseReport) -> impl Serialize + use<> {
    let (metadata, gate) = (&report.metadata, &report.gate);
    let evals = report.steps.iter().filter_map(|step| step.eval.as_ref());
    let unsafe_run = evals
        .into_iter()
        .any(|eval| notices::is_unsandboxed(&eval.eval_report));
    let mut room = limits::phase::HTML_EVIDENCE;
    let steps: Vec<Value> = report
        .steps
        .iter()
        .map(|step| steps::of(step, &mut room))
        .collect();
    let commit = metadata.git.as_ref().map(|git| {
        let short = text::short_commit(&git.commit);
        if git.dirty {
            format!("{short} with changes")
        } else {
            short.to_owned()
        }
    });
    json!({
        "kind": "phase",
        "subject": metadata.name,
        "decision": {
            "name": gate.decision.name(),
            "label": figures::decision_label(gate.decision),
            "exit_code": gate.exit_code,
        },
        "id": (metadata.phase_id != metadata.name).then_some(&metadata.phase_id),
        "description": metadata.description.as_deref().filter(|words| !words.trim().is_empty()),
        "harness_version": metadata.harness_version,
        "facts": [
            ("File", Some(metadata.file.clone())),
            ("When", metadata.when.clone()),
            ("Began", Some(metadata.timestamp.clone())),
            ("Took", Some(figures::duration_seconds(metadata.duration_seconds))),
            ("Commit", commit),
            ("Exit code", Some(gate.exit_code.to_string())),
        ],
        "reasons": gate.reasons,
        "interrupted": gate.interrupted,
        "unsandboxed": unsafe_run.then_some(notices::NOT_SANDBOXED),
        "notes": report.notes,
        "recommendations": report.recommendations,
        "steps": steps,
        "implementation": report.implementation.as_ref().map(implementation),
        "pending": pending(&report.steps),
    })
}

fn implementation(changed: &Implementation) -> Value {
    let lines = |n: Option<usize>| n.map_or_else(|| "binary".to_owned(), text::group_digits);
    let commit = text::short_commit(&changed.base_commit);
    let named = !commit.is_empty() && !changed.base_commit.starts_with(&changed.base);
    let files = changed
        .files
        .iter()
        .map(|file| (&file.path, lines(file.added), lines(file.removed)));
    json!({
        "files_modified": text::plural(changed.files_modified, "file"),
        "added": text::group_digits(changed.lines_added),
        "removed": text::group_digits(changed.lines_removed),
        "base": changed.base,
        "commit": named.then_some(commit),
        "files": files.collect::<Vec<_>>(),
        "omitted": (changed.omitted_files > 0).then(|| text::plural(changed.omitted_files, "more file")),
    })
}

/// Cases that wait for people, of all suites; nothing when no sample does.
fn pending(steps: &[StepResult]) -> Option<Value> {
    let summaries = || {
        steps
            .iter()
            .filter_map(|step| step.eval.as_ref())
            .map(|eval| &eval.eval_report)
    };
    let samples: usize = summaries()
        .map(|summary| summary.summary.samples.pending)
        .sum();
    let cases = summaries()
        .flat_map(|summary| &summary.evals)
        .flat_map(|eval| {
            let waiting = eval
                .cases
                .iter()
                .filter(|case| case.outcome == Outcome::Pending);
            waiting.map(move |case| (&eval.id, &case.id, case.name.as_ref().unwrap_or(&eval.name)))
        });
    let verb = if samples == 1 { "waits" } else { "wait" };
    let words = format!(
        "{} {verb} for a person's grade.",
        text::plural(samples, "sample")
    );
    (samples > 0).then(|| json!({ "words": words, "cases": cases.collect::<Vec<_>>() }))
}
