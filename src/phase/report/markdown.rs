//! The Phase Completion Report in Markdown, for pull requests, for people and for git.
//!
//! Two phases with the same results give the same bytes: nothing in it tells when it was, how long
//! it took, which run it was or where it lay. Lists are cut so that those who host it still show
//! it; the JSON report has more.

pub mod evals;
pub mod figures;
pub mod steps;

use std::io::Write;

use crate::model::{CaseResult, Implementation, Outcome, PhaseReport, StepResult};
use crate::report::markdown::escape::{code, inline, sentence};
use crate::report::markdown::{decision_sign, table};
use crate::report::notices;
use crate::report::{ReportError, figures::decision_label};
use eval_base::text;

/// Files of the implementation that are listed.
const FILES: usize = 50;
/// Cases without a human grade that are listed.
const PENDING: usize = 50;

pub fn render(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "## Phase Completion Report\n")?;
    decision(report, out)?;
    implementation(report, out)?;
    steps::tests(&report.steps, out)?;
    steps::others(&report.steps, out)?;
    evals::sections(report, out)?;
    pending(&report.steps, out)?;
    recommendations(&report.recommendations, out)
}

fn decision(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let (metadata, gate) = (&report.metadata, &report.gate);
    let mut evals = report.steps.iter().filter_map(|step| step.eval.as_ref());
    let unsafe_run = if evals.any(|eval| notices::is_unsandboxed(&eval.eval_report)) {
        format!(" ({})", notices::NOT_SANDBOXED)
    } else {
        String::new()
    };
    let name = inline(&metadata.name);
    let id = if metadata.phase_id == metadata.name {
        String::new()
    } else {
        format!(" ({})", code(&metadata.phase_id))
    };
    writeln!(
        out,
        "{} **{}**{unsafe_run}: {name}{id}\n",
        decision_sign(gate.decision),
        decision_label(gate.decision)
    )?;
    if let Some(description) = metadata
        .description
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        writeln!(out, "{}\n", sentence(description))?;
    }
    if gate.interrupted {
        writeln!(
            out,
            "> [!CAUTION]\n> **INTERRUPTED: the phase was ended early; what it left out was not checked**\n"
        )?;
    }
    for reason in &gate.reasons {
        writeln!(out, "- {}", sentence(reason))?;
    }
    for note in &report.notes {
        writeln!(out, "- Note: {}", sentence(note))?;
    }
    if !(gate.reasons.is_empty() && report.notes.is_empty()) {
        writeln!(out)?;
    }
    Ok(())
}

fn implementation(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "### Implementation Summary\n")?;
    match &report.implementation {
        Some(changed) => changes(changed, out),
        // The notes say why it could not be told.
        None if report.notes.is_empty() => {
            writeln!(
                out,
                "What changed is not known: there is no commit to compare with.\n"
            )?;
            Ok(())
        }
        None => {
            writeln!(out, "What changed is not known.\n")?;
            Ok(())
        }
    }
}

fn changes(changed: &Implementation, out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(
        out,
        "- Files modified: {}",
        text::group_digits(changed.files_modified)
    )?;
    writeln!(
        out,
        "- Lines added: {}",
        text::group_digits(changed.lines_added)
    )?;
    writeln!(
        out,
        "- Lines removed: {}\n",
        text::group_digits(changed.lines_removed)
    )?;
    let commit = text::short_commit(&changed.base_commit);
    let named = if commit.is_empty() || changed.base_commit.starts_with(&changed.base) {
        String::new()
    } else {
        format!(" (commit {})", code(commit))
    };
    writeln!(
        out,
        "Counted since {}{named}, with what is not committed yet.\n",
        code(&changed.base)
    )?;
    if changed.files.is_empty() {
        return Ok(());
    }
    let lines = |n: Option<usize>| n.map_or_else(|| "binary".to_owned(), text::group_digits);
    let rows: Vec<Vec<String>> = changed
        .files
        .iter()
        .take(FILES)
        .map(|file| vec![inline(&file.path), lines(file.added), lines(file.removed)])
        .collect();
    writeln!(out, "<details><summary>Files</summary>\n")?;
    table(
        out,
        &["File", "Added", "Removed"],
        &[false, true, true],
        &rows,
    )?;
    let more = changed.files.len().saturating_sub(FILES) + changed.omitted_files;
    if more > 0 {
        writeln!(out, "... and {}\n", text::plural(more, "more file"))?;
    }
    writeln!(out, "</details>\n")?;
    Ok(())
}

/// Cases that wait for people, of all suites.
fn pending(steps: &[StepResult], out: &mut dyn Write) -> Result<(), ReportError> {
    let waiting = || {
        let evals = steps
            .iter()
            .filter_map(|step| step.eval.as_ref())
            .flat_map(|eval| &eval.eval_report.evals);
        evals.flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)))
    };
    let is_pending = |case: &CaseResult| case.outcome == Outcome::Pending;
    let samples: usize = steps
        .iter()
        .filter_map(|step| step.eval.as_ref())
        .map(|eval| eval.eval_report.summary.samples.pending)
        .sum();
    if samples == 0 {
        return Ok(());
    }
    let verb = if samples == 1 { "waits" } else { "wait" };
    writeln!(out, "### Pending Human Grades\n")?;
    writeln!(
        out,
        "{} {verb} for a person's grade.\n",
        text::plural(samples, "sample")
    )?;
    let mut cases = waiting().filter(|(_, case)| is_pending(case));
    for (eval, case) in cases.by_ref().take(PENDING) {
        let name = case.name.as_deref().unwrap_or(&eval.name);
        writeln!(
            out,
            "- [ ] {}{}",
            evals::place(&eval.id, &case.id),
            evals::named(name, &[&eval.id, &case.id])
        )?;
    }
    let more = cases.count();
    if more > 0 {
        writeln!(out, "- ... and {}", text::plural(more, "more case"))?;
    }
    writeln!(out)?;
    Ok(())
}

fn recommendations(advice: &[String], out: &mut dyn Write) -> Result<(), ReportError> {
    if advice.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Recommendations\n")?;
    for (at, advice) in advice.iter().enumerate() {
        writeln!(out, "{}. {}", at + 1, sentence(advice))?;
    }
    Ok(())
}
