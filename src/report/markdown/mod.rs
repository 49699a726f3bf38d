//! The Markdown report, for pull requests and people: GitHub-flavoured.

pub(crate) mod escape;
pub(crate) mod failures;
mod judged;
mod judges;
mod models;

use std::collections::HashMap;
use std::io::Write;

use crate::model::{Counts, Decision, EvalResult, EvalType, Failure, Outcome, Summary};
use crate::report::ReportError;
use crate::report::notices::{self, Notice};
use crate::report::{comparison, differences, figures, values};
use eval_base::text;

use escape::{code, code_whole, inline, sentence};

/// Failed cases that are listed under their eval in the checklist.
const CASES_PER_EVAL: usize = 3;
/// With more evals of a type than this, those that passed are only counted; and so many of the
/// others are listed.
const MANY_EVALS: usize = 100;
/// Categories, or causes, in a table.
const GROUPS: usize = 50;

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    title(summary, out)?;
    warnings(summary, out)?;
    metadata(summary, out)?;
    gate(summary, out)?;
    totals(summary, out)?;
    groups(summary, out)?;
    metrics(summary, out)?;
    models::section(summary, out)?;
    judges::section(summary, out)?;
    if let Some(comparison) = &summary.comparison {
        comparison::section_markdown(comparison, summary.fail_on, out)?;
    }
    checklist(summary, out)?;
    failures::section(summary, out)?;
    failures::flaky(summary, out)?;
    judged::section(summary, out)?;
    recommendations(summary, out)?;
    Ok(())
}

pub(crate) fn decision_sign(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "✅",
        Decision::Fail => "❌",
        Decision::Incomplete => "⚠️",
        Decision::Pending => "⏳",
        Decision::Undecided => "➗",
    }
}

pub(crate) fn outcome_sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "✅",
        Outcome::Failed => "❌",
        Outcome::Errored => "⚠️",
        Outcome::Skipped => "➖",
        Outcome::Pending => "⏳",
    }
}

fn title(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = summary.gate.decision;
    let name = inline(&summary.metadata.suite_name);
    let version = summary
        .metadata
        .suite_version
        .as_deref()
        .map(|v| format!(" {}", inline(v)))
        .unwrap_or_default();
    let unsafe_run = if notices::is_unsandboxed(summary) {
        format!(" ({})", notices::NOT_SANDBOXED)
    } else {
        String::new()
    };
    writeln!(
        out,
        "# {} {}: {name}{version}{unsafe_run}\n",
        decision_sign(decision),
        figures::decision_label(decision)
    )?;
    Ok(())
}

fn warnings(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    notes(&notices::notices(summary), out)
}

/// Remarks on a run as quotes of their own.
pub(crate) fn notes(notices: &[Notice], out: &mut dyn Write) -> Result<(), ReportError> {
    for notice in notices {
        let headline = sentence(&notice.headline);
        if notice.loud {
            writeln!(out, "> [!CAUTION]\n> **{headline}**")?;
        } else {
            writeln!(out, "> [!NOTE]\n> {headline}")?;
        }
        if !notice.notes.is_empty() {
            writeln!(out, ">")?;
        }
        for note in &notice.notes {
            writeln!(out, "> - {}", sentence(note))?;
        }
        if let Some(command) = &notice.command {
            writeln!(out, ">\n> {}", code_whole(command))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn metadata(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let metadata = &summary.metadata;
    let environment = &metadata.environment;
    let mut facts = vec![
        format!("Run {}", code(&metadata.run_id)),
        inline(&metadata.timestamp),
        figures::duration_seconds(metadata.duration_seconds),
    ];
    if !environment.target.is_empty() {
        let kind = if environment.target_type.is_empty()
            || environment.target_type == environment.target
        {
            String::new()
        } else {
            format!(" ({})", inline(&environment.target_type))
        };
        facts.push(format!("target {}{kind}", code(&environment.target)));
    }
    facts.extend(
        environment
            .model
            .as_deref()
            .map(|model| format!("model {}", code(model))),
    );
    if let Some(sandbox) = &environment.sandbox {
        let state = if sandbox.enforced {
            ""
        } else {
            " (**not enforced**)"
        };
        facts.push(format!("sandbox {}{state}", inline(&sandbox.tier)));
    }
    if let Some(git) = &environment.git {
        let commit = text::short_commit(&git.commit);
        facts.push(format!(
            "commit {}{}",
            code(commit),
            if git.dirty {
                " (with uncommitted changes)"
            } else {
                ""
            }
        ));
    }
    facts.push(format!(
        "eval-harness {}",
        inline(&metadata.harness_version)
    ));
    facts.push(format!(
        "{}/{}",
        inline(&environment.os),
        inline(&environment.arch)
    ));
    writeln!(out, "{}\n", facts.join(" · "))?;
    Ok(())
}

/// A table; the cells are escaped already. Columns from the second on are aligned to the right when
/// `right` says so.
pub(crate) fn table(
    out: &mut dyn Write,
    head: &[&str],
    right: &[bool],
    rows: &[Vec<String>],
) -> Result<(), ReportError> {
    let rule: Vec<&str> = right
        .iter()
        .map(|right| if *right { "---:" } else { "---" })
        .collect();
    writeln!(out, "| {} |\n| {} |", head.join(" | "), rule.join(" | "))?;
    for row in rows {
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    writeln!(out)?;
    Ok(())
}

fn gate(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let gate = &summary.gate;
    writeln!(out, "## Gate\n")?;
    writeln!(
        out,
        "**{}** (exit code {})\n",
        figures::decision_label(gate.decision),
        gate.exit_code
    )?;
    for reason in &gate.reasons {
        writeln!(out, "- {}", sentence(reason))?;
    }
    if !gate.reasons.is_empty() {
        writeln!(out)?;
    }
    if gate.thresholds.is_empty() {
        writeln!(
            out,
            "No thresholds are set: the gate passes when every eval passes.\n"
        )?;
        return Ok(());
    }
    let rows: Vec<Vec<String>> = gate
        .thresholds
        .iter()
        .map(|threshold| {
            let row = figures::threshold_row(threshold);
            let status = format!(
                "{} {}",
                decision_sign(row.status),
                figures::decision_label(row.status)
            );
            let interval = figures::interval_of(summary, &threshold.metric);
            vec![
                inline(&row.metric),
                row.value,
                interval,
                inline(&row.needs.replace(">=", "≥").replace("<=", "≤")),
                status,
            ]
        })
        .collect();
    let interval = figures::interval_label(summary);
    let head = ["Metric", "Value", interval.as_str(), "Threshold", "Status"];
    table(out, &head, &[false, true, false, false, false], &rows)
}

fn counts_cells(label: String, counts: &Counts) -> Vec<String> {
    let numbers = [
        counts.total,
        counts.passed,
        counts.failed,
        counts.errored,
        counts.skipped,
        counts.pending,
    ];
    let mut cells = vec![label];
    cells.extend(numbers.map(text::group_digits));
    cells.push(figures::percent_or_none(counts.pass_rate));
    cells
}

const COUNTS_RIGHT: [bool; 8] = [false, true, true, true, true, true, true, true];

fn counts_head(first: &str) -> [&str; 8] {
    [
        first,
        "Total",
        "Passed",
        "Failed",
        "Errored",
        "Skipped",
        "Pending",
        "Pass rate",
    ]
}

fn totals(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let totals = &summary.summary;
    writeln!(out, "## Summary\n")?;
    let rows = [
        counts_cells("Evals".to_owned(), &figures::eval_counts(totals)),
        counts_cells("Cases".to_owned(), &totals.cases),
        counts_cells("Samples".to_owned(), &totals.samples),
    ];
    table(out, &counts_head(""), &COUNTS_RIGHT, &rows)?;
    let mut remarks =
        vec!["Pass rates are over what was graded: passed / (passed + failed).".to_owned()];
    if let Some(score) = totals.weighted_score {
        remarks.push(format!("Weighted score: {}.", figures::rate(score)));
    }
    remarks.extend(
        notices::retries(summary)
            .into_iter()
            .map(|words| format!("{words}.")),
    );
    writeln!(out, "{}\n", remarks.join(" "))?;
    Ok(())
}

fn groups(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let totals = &summary.summary;
    let mut rows = Vec::new();
    for (kind, counts) in &totals.by_type {
        rows.push(counts_cells(
            format!("type: {}", type_name(*kind).to_lowercase()),
            counts,
        ));
    }
    for (category, counts) in totals.by_category.iter().take(GROUPS) {
        rows.push(counts_cells(
            format!("category: {}", inline(category)),
            counts,
        ));
    }
    if !rows.is_empty() {
        writeln!(out, "### By type and category\n")?;
        table(out, &counts_head("Group"), &COUNTS_RIGHT, &rows)?;
    }
    if totals.by_category.len() > GROUPS {
        let more = text::group_digits(totals.by_category.len() - GROUPS);
        writeln!(
            out,
            "... and {more} more categories (see the JSON report)\n"
        )?;
    }
    if !totals.by_cause.is_empty() {
        writeln!(out, "### By cause\n")?;
        let rows: Vec<Vec<String>> = totals
            .by_cause
            .iter()
            .map(|(cause, n)| vec![inline(cause), text::group_digits(*n)])
            .collect();
        table(out, &["Cause", "Samples"], &[false, true], &rows)?;
    }
    if !totals.by_trust.is_empty() {
        writeln!(out, "### By trust\n")?;
        let rows: Vec<Vec<String>> = totals
            .by_trust
            .iter()
            .map(|(level, counts)| {
                let numbers = [counts.samples, counts.grades].map(text::group_digits);
                let [samples, grades] = numbers;
                vec![
                    inline(level.name()),
                    samples,
                    grades,
                    notices::trust_meaning(*level).to_owned(),
                ]
            })
            .collect();
        table(
            out,
            &["Trust", "Samples", "Grades", "What it means"],
            &[false, true, true, false],
            &rows,
        )?;
    }
    Ok(())
}

pub(crate) fn type_name(kind: EvalType) -> &'static str {
    match kind {
        EvalType::Capability => "Capability",
        EvalType::Regression => "Regression",
    }
}

fn metrics(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let rows = figures::metric_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Metrics\n")?;
    let ranged = rows.iter().any(|row| !row.range.is_empty());
    let interval = figures::interval_label(summary);
    let mut head = vec!["Metric", "Value", interval.as_str(), "Cases"];
    let mut right = vec![false, true, false, true];
    if ranged {
        head.push("[worst, best]");
        right.push(false);
    }
    head.push("Remark");
    right.push(false);
    let cells: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| {
            let mut cells = vec![inline(&row.name), row.value, row.interval, row.cases];
            if ranged {
                cells.push(row.range);
            }
            cells.push(if row.undefined.is_empty() {
                String::new()
            } else {
                format!("undefined: {}", inline(&row.undefined))
            });
            cells
        })
        .collect();
    table(out, &head, &right, &cells)?;
    let notes = figures::interval_notes(summary);
    if !notes.is_empty() {
        writeln!(out, "{}\n", notes.join(" "))?;
    }
    if ranged {
        writeln!(
            out,
            "[worst, best]: the value if all that errored, was skipped or is pending had failed, or had passed.\n"
        )?;
    }
    Ok(())
}

fn checklist(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "## Evals\n")?;
    let mut failures: HashMap<&str, Vec<&Failure>> = HashMap::new();
    for failure in &summary.failures {
        failures
            .entry(failure.eval_id.as_str())
            .or_default()
            .push(failure);
    }
    for kind in [EvalType::Capability, EvalType::Regression] {
        let evals: Vec<&EvalResult> = summary
            .evals
            .iter()
            .filter(|eval| eval.kind == kind)
            .collect();
        if evals.is_empty() {
            continue;
        }
        let passed = evals
            .iter()
            .filter(|eval| eval.outcome == Outcome::Passed)
            .count();
        writeln!(
            out,
            "### {} evals ({passed}/{} passed)\n",
            type_name(kind),
            evals.len()
        )?;
        let many = evals.len() > MANY_EVALS;
        let listed = evals
            .iter()
            .filter(|eval| !many || eval.outcome != Outcome::Passed);
        for eval in listed
            .clone()
            .take(if many { MANY_EVALS } else { usize::MAX })
        {
            let failures = failures
                .get(eval.id.as_str())
                .map_or(&[][..], Vec::as_slice);
            // The list of failures ends within this eval: how many more it has is not known here.
            let last = summary
                .failures
                .last()
                .is_some_and(|failure| failure.eval_id == eval.id);
            let cut = last && notices::unlisted_failures(summary) > 0;
            checklist_item(eval, failures, cut, out)?;
        }
        if many {
            let more = listed.count().saturating_sub(MANY_EVALS);
            if more > 0 {
                writeln!(
                    out,
                    "- ... and {} more that did not pass",
                    text::plural(more, "eval")
                )?;
            }
            if passed > 0 {
                writeln!(out, "- [x] {} passed", text::plural(passed, "eval"))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn checklist_item(
    eval: &EvalResult,
    failures: &[&Failure],
    cut: bool,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let box_ = if eval.outcome == Outcome::Passed {
        "x"
    } else {
        " "
    };
    let label = if eval.outcome == Outcome::Passed {
        String::new()
    } else {
        format!(" ({})", eval.outcome.name().to_uppercase())
    };
    let name = inline(&eval.name);
    let name = if name.is_empty() || eval.name == eval.id {
        String::new()
    } else {
        format!(": {name}")
    };
    let cases = match eval.counts.total {
        0 | 1 => String::new(),
        total => format!(
            ", {} of {}",
            text::group_digits(eval.counts.passed),
            text::plural(total, "case")
        ),
    };
    writeln!(out, "- [{box_}] {}{name}{label}{cases}", inline(&eval.id))?;
    for failure in failures.iter().take(CASES_PER_EVAL) {
        let lone = eval.counts.total <= 1;
        if !lone {
            let cause = failure
                .cause
                .map_or(failure.outcome.name(), |cause| cause.name());
            writeln!(out, "  - {} ({cause})", inline(&failure.case_id))?;
        }
        let indent = if lone { "  " } else { "    " };
        // The reason names the first path that differs: the beginnings of two documents say less.
        let by_path = differences::are_listed(&failure.details);
        for (label, value) in [("Expected", &failure.expected), ("Actual", &failure.actual)] {
            if let Some(value) = value.as_ref().filter(|_| !by_path) {
                writeln!(
                    out,
                    "{indent}- {label}: {}",
                    code(&values::inline(value, 100))
                )?;
            }
        }
        let sides = failure.expected.is_some() || failure.actual.is_some();
        if (by_path || !sides) && !failure.reason.trim().is_empty() {
            writeln!(out, "{indent}- Reason: {}", inline(&failure.reason))?;
        }
    }
    if failures.len() > CASES_PER_EVAL {
        let least = if cut { "at least " } else { "" };
        writeln!(
            out,
            "  - ... and {least}{} more",
            text::group_digits(failures.len() - CASES_PER_EVAL)
        )?;
    }
    Ok(())
}

fn recommendations(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    if summary.recommendations.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Recommendations\n")?;
    for (at, advice) in summary.recommendations.iter().enumerate() {
        writeln!(out, "{}. {}", at + 1, sentence(advice))?;
    }
    Ok(())
}
