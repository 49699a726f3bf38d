//! What people see at the end of a run: evals, what did not pass, counts, metrics, thresholds, and
//! last the gate and where to look.

mod evals;
pub(crate) mod failures;
mod judged;
mod judges;
mod models;
pub mod page;

use std::io::{self, Write};

use crate::model::{Counts, Decision, Outcome, Summary};
use crate::report::differences as rows;
use crate::report::{commands, comparison, figures, notices};
use eval_base::text;
use eval_match::Difference;

use page::{Page, Span, Tone, pad_left, pad_right, plain, span};

/// How a terminal wants its text; the caller asks the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns; no line is longer, save commands and the paths of reports.
    pub width: usize,
    pub color: bool,
    /// Every eval, every failure and more of each.
    pub verbose: bool,
    /// False where only ASCII can be shown; texts from outside are not changed by it.
    pub unicode: bool,
}

impl Default for TerminalOptions {
    /// 80 columns, no colour, Unicode.
    fn default() -> Self {
        TerminalOptions {
            width: 80,
            color: false,
            verbose: false,
            unicode: true,
        }
    }
}

/// Writes the end of a run. `reports` are the paths of what was written, in the order to show them.
pub fn render(
    summary: &Summary,
    options: &TerminalOptions,
    reports: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    header(&mut page, summary)?;
    evals::section(&mut page, summary, options)?;
    failures::section(&mut page, summary, options)?;
    failures::flaky(&mut page, summary, options)?;
    judged::section(&mut page, summary, options)?;
    counts(&mut page, summary)?;
    metrics(&mut page, summary)?;
    models::section(&mut page, summary, options)?;
    judges::section(&mut page, summary, options)?;
    if let Some(comparison) = &summary.comparison {
        comparison::section_terminal(&mut page, comparison, summary.fail_on, options)?;
    }
    thresholds(&mut page, summary)?;
    recommendations(&mut page, summary)?;
    gate(&mut page, summary)?;
    // What people copy is never cut.
    if let Some(command) = commands::resume(summary) {
        page.uncut("go on    ", &command)?;
    }
    if let Some(command) = commands::run_failed_again(summary) {
        page.uncut("rerun    ", &command)?;
    }
    for (at, path) in reports.iter().enumerate() {
        page.uncut(if at == 0 { "reports  " } else { "         " }, path)?;
    }
    Ok(())
}

/// The places in which two values differ, of any number of differences; `total` counts those that
/// are not among them.
pub fn differences(
    found: &[Difference],
    total: usize,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = rows::of_differences(found, total, failures::limits(options));
    failures::places(&mut Page::new(out, options), &rows, options.verbose)
}

/// The sign of an outcome.
pub fn glyph(outcome: Outcome, page: &Page) -> &'static str {
    match outcome {
        Outcome::Passed => page.pick("✓", "+"),
        Outcome::Failed => page.pick("✗", "x"),
        Outcome::Errored => "!",
        Outcome::Skipped => page.pick("–", "-"),
        Outcome::Pending => "?",
    }
}

/// The colour of an outcome.
pub fn tone_of(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Passed => Tone::Good,
        Outcome::Failed => Tone::Bad,
        Outcome::Errored => Tone::Warn,
        Outcome::Skipped => Tone::Dim,
        Outcome::Pending => Tone::Wait,
    }
}

/// The colour of a gate.
pub fn tone_of_decision(decision: Decision) -> Tone {
    match decision {
        Decision::Pass => Tone::Good,
        Decision::Fail => Tone::Bad,
        Decision::Incomplete => Tone::Warn,
        Decision::Pending | Decision::Undecided => Tone::Wait,
    }
}

fn header(page: &mut Page, summary: &Summary) -> io::Result<()> {
    let metadata = &summary.metadata;
    let environment = &metadata.environment;
    let mut title = vec![span(Tone::Bold, text::one_line(&metadata.suite_name))];
    if let Some(version) = &metadata.suite_version {
        title.push(span(Tone::Dim, format!(" {}", text::one_line(version))));
    }
    page.line(&title)?;

    let mut facts = Vec::new();
    if !environment.target.is_empty() {
        let kind = text::one_line(&environment.target_type);
        let target = text::one_line(&environment.target);
        facts.push(if kind.is_empty() || kind == target {
            format!("target {target}")
        } else {
            format!("target {target} ({kind})")
        });
    }
    facts.extend(
        environment
            .model
            .as_deref()
            .map(|model| format!("model {}", text::one_line(model))),
    );
    facts.push(format!("run {}", text::one_line(&metadata.run_id)));
    facts.push(figures::duration_seconds(metadata.duration_seconds));
    if let Some(sandbox) = environment
        .sandbox
        .as_ref()
        .filter(|sandbox| sandbox.enforced)
    {
        facts.push(format!("sandbox {}", text::one_line(&sandbox.tier)));
    }
    let separator = page.pick(" · ", ", ");
    // Indented, so that a text from outside never begins a line and poses as one of ours.
    page.wrapped(&[plain("  ")], Tone::Dim, &facts.join(separator), 3)?;

    for notice in notices::notices(summary) {
        let (mark, tone) = if notice.loud {
            ("!! ", Tone::Alarm)
        } else {
            ("!  ", Tone::Warn)
        };
        page.wrapped(&[span(tone, mark)], tone, &notice.headline, 4)?;
        for note in &notice.notes {
            page.wrapped(&[plain("   "), plain("- ")], Tone::Warn, note, 3)?;
        }
    }
    Ok(())
}

/// A table of outcomes; those that nothing had are left out.
fn counts(page: &mut Page, summary: &Summary) -> io::Result<()> {
    let totals = &summary.summary;
    let evals = figures::eval_counts(totals);
    let mut rows = vec![("Evals", &evals), ("Cases", &totals.cases)];
    if totals.samples.total != totals.cases.total {
        rows.push(("Samples", &totals.samples));
    }
    let outcomes: Vec<Outcome> = Outcome::ALL
        .into_iter()
        .filter(|outcome| {
            *outcome == Outcome::Passed
                || rows.iter().any(|(_, c)| figures::count_of(c, *outcome) > 0)
        })
        .collect();
    let widest = rows
        .iter()
        .map(|(_, c)| text::group_digits(c.total).len())
        .max()
        .unwrap_or(0)
        .max("errored".len());
    page.blank()?;
    let mut head = format!(
        "{}{}  pass rate",
        pad_right("", 11),
        pad_left("total", widest)
    );
    for outcome in &outcomes {
        head.push_str(&format!("  {}", pad_left(outcome.name(), widest)));
    }
    if text::width(&head) > page.width() {
        return narrow_counts(page, summary, &rows);
    }
    page.line(&[span(Tone::Dim, head)])?;
    for (label, counts) in rows {
        let mut spans = vec![
            span(Tone::Bold, pad_right(&format!("  {label}"), 11)),
            plain(pad_left(&text::group_digits(counts.total), widest)),
            plain(format!(
                "  {}",
                pad_left(
                    &figures::percent_or_none(counts.pass_rate),
                    "pass rate".len()
                )
            )),
        ];
        for outcome in &outcomes {
            let n = figures::count_of(counts, *outcome);
            let tone = if n == 0 { Tone::Dim } else { tone_of(*outcome) };
            spans.push(span(
                tone,
                format!("  {}", pad_left(&text::group_digits(n), widest)),
            ));
        }
        page.line(&spans)?;
    }
    remarks(page, summary)
}

/// The same in words, where the table would be cut.
fn narrow_counts(page: &mut Page, summary: &Summary, rows: &[(&str, &Counts)]) -> io::Result<()> {
    for (label, counts) in rows {
        let outcomes = Outcome::ALL.map(|outcome| (outcome, figures::count_of(counts, outcome)));
        let parts: Vec<String> = outcomes
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(outcome, n)| format!("{} {outcome}", text::group_digits(*n)))
            .collect();
        let (total, rate) = (
            text::group_digits(counts.total),
            figures::percent_or_none(counts.pass_rate),
        );
        let lead = [span(Tone::Bold, pad_right(&format!("  {label}"), 11))];
        page.wrapped(
            &lead,
            Tone::Plain,
            &format!("{total}, pass rate {rate}: {}", parts.join(", ")),
            3,
        )?;
    }
    remarks(page, summary)
}

/// What verdicts over code rest on, and second tries.
fn remarks(page: &mut Page, summary: &Summary) -> io::Result<()> {
    if let Some(trust) = notices::trust(summary) {
        page.wrapped(
            &[span(Tone::Bold, pad_right("  Trust", 11))],
            Tone::Plain,
            &trust,
            2,
        )?;
    }
    for words in notices::retries(summary) {
        page.wrapped(&[plain("  ")], Tone::Warn, &words, 2)?;
    }
    Ok(())
}

/// Columns that a metric's name keeps however narrow the terminal is.
const NAME_AT_LEAST: usize = 24;

fn metrics(page: &mut Page, summary: &Summary) -> io::Result<()> {
    let rows = figures::metric_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let ranged = rows.iter().any(|row| !row.range.is_empty());
    let head = [
        "  Metric".to_owned(),
        "value".to_owned(),
        figures::interval_label(summary),
        "cases".to_owned(),
        if ranged {
            "[worst, best]".to_owned()
        } else {
            String::new()
        },
    ];
    let mut cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            [
                format!("  {}", row.name),
                row.value.clone(),
                row.interval.clone(),
                row.cases.clone(),
                row.range.clone(),
            ]
        })
        .collect();
    let mut widths: Vec<usize> = (0..5)
        .map(|at| {
            cells
                .iter()
                .chain([&head])
                .map(|row| text::width(&row[at]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    // An author's long name must not push the figures off the page.
    let others: usize = widths[1..]
        .iter()
        .filter(|width| **width > 0)
        .map(|width| width + 2)
        .sum();
    widths[0] = widths[0].min(page.width().saturating_sub(others).max(NAME_AT_LEAST));
    for row in &mut cells {
        row[0] = text::truncate_width_with(&row[0], widths[0], page.ellipsis()).into_owned();
    }
    let lay = |row: &[String; 5], tone: Tone| {
        let padded: Vec<Span> = row
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                let text = if at == 1 || at == 3 {
                    pad_left(cell, widths[at])
                } else {
                    pad_right(cell, widths[at])
                };
                span(tone, format!("{text}  "))
            })
            .collect();
        padded
    };
    page.blank()?;
    page.line(&lay(&head, Tone::Dim))?;
    for (row, cells) in rows.iter().zip(&cells) {
        if row.undefined.is_empty() {
            page.line(&lay(cells, Tone::Plain))?;
        } else {
            let first = [
                plain(pad_right(&cells[0], widths[0] + 2)),
                span(Tone::Warn, pad_left(&row.value, widths[1])),
                plain("  "),
            ];
            page.wrapped(&first, Tone::Dim, &row.undefined, 2)?;
        }
    }
    for note in figures::interval_notes(summary) {
        page.wrapped(&[plain("  ")], Tone::Dim, &note, 2)?;
    }
    if ranged {
        let note = "[worst, best]: if all that errored, was skipped or is pending had failed, or had passed.";
        page.wrapped(&[plain("  ")], Tone::Dim, note, 2)?;
    }
    Ok(())
}

fn thresholds(page: &mut Page, summary: &Summary) -> io::Result<()> {
    let rows: Vec<figures::ThresholdRow> = summary
        .gate
        .thresholds
        .iter()
        .map(figures::threshold_row)
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let widest = |head: &str, column: fn(&figures::ThresholdRow) -> &str| {
        rows.iter()
            .map(|row| text::width(column(row)))
            .max()
            .unwrap_or(0)
            .max(head.len())
    };
    let value = widest("value", |row| &row.value);
    let needs = widest("needs", |row| &row.needs);
    let status = widest("status", |row| row.status.name());
    let room = page
        .width()
        .saturating_sub(value + needs + status + 8)
        .max(NAME_AT_LEAST);
    let metric = widest("Threshold", |row| &row.metric).min(room);
    let lead = format!(
        "{}  {}  {}  ",
        pad_right("  Threshold", metric + 2),
        pad_left("value", value),
        pad_right("needs", needs)
    );
    page.blank()?;
    page.line(&[span(Tone::Dim, lead), span(Tone::Dim, "status")])?;
    for row in &rows {
        page.line(&[
            plain(pad_right(
                &format!(
                    "  {}",
                    text::truncate_width_with(&row.metric, metric, page.ellipsis())
                ),
                metric + 4,
            )),
            plain(pad_left(&row.value, value)),
            plain(format!("  {}", pad_right(&row.needs, needs + 2))),
            span(tone_of_decision(row.status), row.status.name()),
        ])?;
    }
    Ok(())
}

fn recommendations(page: &mut Page, summary: &Summary) -> io::Result<()> {
    if summary.recommendations.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(&[span(Tone::Bold, "Next")])?;
    for advice in &summary.recommendations {
        page.wrapped(&[plain("  - ")], Tone::Plain, advice, 4)?;
    }
    Ok(())
}

fn gate(page: &mut Page, summary: &Summary) -> io::Result<()> {
    verdict(
        page,
        summary.gate.decision,
        &summary.gate.reasons,
        notices::is_unsandboxed(summary),
    )
}

/// The decision with its reasons: the last thing that people read.
pub(crate) fn verdict(
    page: &mut Page,
    decision: Decision,
    reasons: &[String],
    unsandboxed: bool,
) -> io::Result<()> {
    let tone = tone_of_decision(decision);
    let label = format!("GATE {}", figures::decision_label(decision));
    page.blank()?;
    if unsandboxed {
        page.line(&[span(Tone::Alarm, format!("!! {}", notices::NOT_SANDBOXED))])?;
    }
    match reasons {
        [] => page.line(&[span(tone, label)]),
        [reason] => page.wrapped(&[span(tone, format!("{label}: "))], Tone::Plain, reason, 6),
        reasons => {
            page.line(&[span(
                tone,
                format!("{label}: {}", text::plural(reasons.len(), "reason")),
            )])?;
            for reason in reasons {
                page.wrapped(&[plain("  - ")], Tone::Plain, reason, 4)?;
            }
            Ok(())
        }
    }
}
