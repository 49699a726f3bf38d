//! The report as a comment on a pull request: short, and whole whatever the run was.
//!
//! GitHub refuses a comment of more than 65,536 characters; these have at most [`LARGEST`] bytes. A
//! hidden first line names what the comment is about, so that who posts it finds the one of the
//! last time and replaces it. Nothing that a model or a data set said mentions anybody, refers to
//! an issue, or is markup.

use std::fmt::Write as _;
use std::io::Write;

use crate::model::{Counts, Failure, Gate, Outcome, Summary};
use crate::report::annotations::without_commands;
use crate::report::markdown::escape::{code_whole, inline, sentence};
use crate::report::markdown::{decision_sign, failures, table};
use crate::report::{ReportError, commands, comparison, differences, figures, notices};
use eval_base::text;

/// Bytes of a comment.
pub const LARGEST: usize = 60_000;
/// Bytes kept for what comes after the failures.
const FOOT: usize = 1_500;
/// Reasons and thresholds that are listed.
const REASONS: usize = 10;
const THRESHOLDS: usize = 30;
/// Columns of the line that a failure is folded under.
const HEADLINE: usize = 160;
/// Places of one failure that are shown, and columns of a side that are shown whole.
const PLACES: usize = 20;
const COLUMNS: usize = 120;
/// Bytes of a comparison.
const COMPARISON: usize = 20_000;
/// Bytes of one failure.
const FAILURE: usize = 8_000;

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let metadata = &summary.metadata;
    let mut page = marker("eval-harness", &metadata.suite_name);
    let decision = summary.gate.decision;
    let unsafe_run = if notices::is_unsandboxed(summary) {
        format!(" ({})", notices::NOT_SANDBOXED)
    } else {
        String::new()
    };
    let _ = writeln!(
        page,
        "## {} {}: {}{unsafe_run}\n",
        decision_sign(decision),
        figures::decision_label(decision),
        inline(&metadata.suite_name)
    );
    for notice in notices::notices(summary)
        .iter()
        .filter(|notice| notice.loud)
    {
        let _ = writeln!(page, "> [!CAUTION]\n> {}\n", sentence(&notice.headline));
    }
    gate(&summary.gate, &mut page)?;
    counts(summary, &mut page)?;
    compared(summary, &mut page)?;
    let room = LARGEST.saturating_sub(page.len() + FOOT);
    page.push_str(&not_passed(summary, room)?);
    foot(summary, &mut page);
    // Reasons and metrics full of what must be escaped can take more than all that was reckoned
    // with.
    Ok(out.write_all(
        super::cut::cut(&without_commands(&page), LARGEST, "See the report.").as_bytes(),
    )?)
}

/// The hidden line by which a bot knows its own comment, with its line end: whose it is, and what
/// it is about. The name is written as in file names, so that no name ends the line early.
pub fn marker(whose: &str, about: &str) -> String {
    let name = text::escape_path_component(about).replace("--", "-%2D");
    format!("<!-- {whose}: {name} -->\n")
}

/// Why, and the thresholds.
pub fn gate(gate: &Gate, page: &mut String) -> Result<(), ReportError> {
    for reason in gate.reasons.iter().take(REASONS) {
        let _ = writeln!(page, "- {}", sentence(reason));
    }
    let more = gate.reasons.len().saturating_sub(REASONS);
    if more > 0 {
        let _ = writeln!(page, "- ... and {}", text::plural(more, "more reason"));
    }
    if !gate.reasons.is_empty() {
        page.push('\n');
    }
    let rows: Vec<Vec<String>> = gate
        .thresholds
        .iter()
        .take(THRESHOLDS)
        .map(|threshold| {
            let row = figures::threshold_row(threshold);
            let needs = row.needs.replace(">=", "≥").replace("<=", "≤");
            let status = format!(
                "{} {}",
                decision_sign(row.status),
                figures::decision_label(row.status)
            );
            vec![inline(&row.metric), row.value, inline(&needs), status]
        })
        .collect();
    if !rows.is_empty() {
        append(page, |out| {
            table(
                out,
                &["Metric", "Value", "Threshold", "Status"],
                &[false, true, false, false],
                &rows,
            )
        })?;
    }
    let more = gate.thresholds.len().saturating_sub(THRESHOLDS);
    if more > 0 {
        let _ = writeln!(page, "... and {}\n", text::plural(more, "more threshold"));
    }
    Ok(())
}

fn counts(summary: &Summary, page: &mut String) -> Result<(), ReportError> {
    let totals = &summary.summary;
    let cells = |label: &str, counts: &Counts| {
        let numbers = [counts.total, counts.passed, counts.failed, counts.errored];
        let rest = counts.skipped + counts.pending;
        let mut cells = vec![label.to_owned()];
        cells.extend(numbers.into_iter().chain([rest]).map(text::group_digits));
        cells.push(figures::percent_or_none(counts.pass_rate));
        cells
    };
    let rows = [
        cells("Evals", &figures::eval_counts(totals)),
        cells("Cases", &totals.cases),
    ];
    let head = [
        "",
        "Total",
        "Passed",
        "Failed",
        "Errored",
        "Skipped or pending",
        "Pass rate",
    ];
    append(page, |out| {
        table(
            out,
            &head,
            &[false, true, true, true, true, true, true],
            &rows,
        )
    })
}

/// The run beside an earlier one.
fn compared(summary: &Summary, page: &mut String) -> Result<(), ReportError> {
    let Some(comparison) = &summary.comparison else {
        return Ok(());
    };
    let mut section = String::new();
    append(&mut section, |out| {
        comparison::section_comment(comparison, summary.fail_on, out)
    })?;
    page.push_str(&super::cut::cut(&section, COMPARISON, "See the report."));
    Ok(())
}

/// The failures of a run, each folded, as many as fit into `room` bytes; how many do not is told.
pub fn not_passed(summary: &Summary, room: usize) -> Result<String, ReportError> {
    let total = summary.failures.len() + notices::unlisted_failures(summary);
    if total == 0 {
        return Ok(String::new());
    }
    let mut page = format!("### Not passed ({})\n\n", text::group_digits(total));
    let mut shown = 0;
    for failure in &summary.failures {
        let block = folded(failure)?;
        if page.len() + block.len() + 100 > room {
            break;
        }
        page.push_str(&block);
        shown += 1;
    }
    if shown < total {
        let _ = writeln!(
            page,
            "... and {} more (see the report)\n",
            text::group_digits(total - shown)
        );
    }
    Ok(if page.len() > room {
        String::new()
    } else {
        page
    })
}

fn folded(failure: &Failure) -> Result<String, ReportError> {
    let sign = if failure.outcome == Outcome::Errored {
        "⚠️"
    } else {
        "❌"
    };
    let place = match failure.case_id == failure.eval_id {
        true => failure.eval_id.clone(),
        false => format!("{} › {}", failure.eval_id, failure.case_id),
    };
    let cause = failure
        .cause
        .map_or(failure.outcome.name(), |cause| cause.name());
    let mut block = format!(
        "<details><summary>{sign} <code>{}</code> {cause}</summary>\n\n",
        html(&place)
    );
    if !failure.reason.trim().is_empty() {
        let _ = writeln!(block, "{}\n", sentence(&failure.reason));
    }
    let limits = differences::Limits {
        rows: PLACES,
        columns: COLUMNS,
        unicode: true,
    };
    let mut sides = String::new();
    append(&mut sides, |out| {
        match differences::of_details(&failure.details, limits) {
            Some(rows) => failures::places(&rows, out),
            None => failures::whole(failure, out),
        }
    })?;
    block.push_str(&super::cut::cut(&sides, FAILURE, "See the report."));
    block.push_str("</details>\n\n");
    Ok(block)
}

/// A text within a line of HTML, which Markdown does not read: no tag, and within `<code>` no
/// mention either.
pub fn html(raw: &str) -> String {
    let line = text::one_line(text::truncate_bytes(raw, 64 * 1024));
    let line = text::truncate_width(&line, HEADLINE);
    line.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn foot(summary: &Summary, page: &mut String) {
    let metadata = &summary.metadata;
    if let Some(command) =
        commands::run_failed_again(summary).filter(|command| command.len() < FOOT / 2)
    {
        let _ = writeln!(page, "Run these again: {}\n", code_whole(&command));
    }
    let mut facts = vec![format!(
        "run {}",
        code_whole(&text::truncate_width(&metadata.run_id, 80))
    )];
    if let Some(git) = &metadata.environment.git {
        let commit = text::short_commit(&git.commit);
        let dirty = if git.dirty {
            " (with uncommitted changes)"
        } else {
            ""
        };
        facts.push(format!("commit {}{dirty}", code_whole(commit)));
    }
    facts.push(format!(
        "eval-harness {}",
        inline(&metadata.harness_version)
    ));
    let _ = writeln!(page, "{}", facts.join(", "));
}

/// What is written to a stream, at the end of a page.
fn append(
    page: &mut String,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    page.push_str(&String::from_utf8_lossy(&bytes));
    Ok(())
}
