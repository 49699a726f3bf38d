//! Side by side on a terminal: a column for each target, as many beside each other as fit.

use std::io::{self, Write};
use std::ops::Range;

use super::{CaseLine, EvalLine, Sides};
use crate::report::figures;
use crate::report::terminal::page::{Page, Tone, plain, span};
use crate::report::terminal::{TerminalOptions, glyph, tone_of, tone_of_decision};
use eval_base::text;

/// Columns of a target: an interval fits.
const CELL: usize = 17;
/// Columns of the names of lines.
const NAME: usize = 24;
/// Blanks at the end of a column, at least.
const GAP: usize = 1;
/// Lines of evals and of cases, unless all are asked for.
const LINES: usize = 40;

pub fn render(sides: &Sides, options: &TerminalOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let metadata = sides.runs.first().map(|run| &run.metadata);
    let name = metadata
        .map(|metadata| text::one_line(&metadata.suite_name))
        .unwrap_or_default();
    let targets = text::plural(sides.runs.len(), "target");
    page.line(&[
        span(Tone::Bold, name),
        plain(format!(": {targets} side by side")),
    ])?;
    for caution in sides.cautions() {
        page.wrapped(&[span(Tone::Warn, "!  ")], Tone::Warn, &caution, 4)?;
    }
    let labels: Vec<String> = sides
        .labels()
        .iter()
        .map(|label| text::one_line(label))
        .collect();
    let at_once = (page.width().saturating_sub(NAME) / CELL).max(1);
    let evals: Vec<EvalLine> = sides
        .evals()
        .into_iter()
        .filter(EvalLine::differs)
        .collect();
    let cases = sides.cases();
    let most = if options.verbose { usize::MAX } else { LINES };
    let mut start = 0;
    while start < sides.runs.len() {
        let block = Block {
            sides,
            labels: &labels,
            shown: start..(start + at_once).min(sides.runs.len()),
        };
        page.blank()?;
        block.head(&mut page)?;
        block.gates(&mut page)?;
        block.metrics(&mut page)?;
        block.evals(&mut page, &evals, most)?;
        block.cases(&mut page, cases.as_deref().unwrap_or_default(), most)?;
        start += at_once;
    }
    notes(
        &mut page,
        &evals,
        cases.as_deref(),
        sides.compare().as_deref(),
    )?;
    gates(&mut page, sides, &labels)
}

/// The targets of some columns.
struct Block<'a> {
    sides: &'a Sides<'a>,
    labels: &'a [String],
    shown: Range<usize>,
}

impl Block<'_> {
    fn row(
        &self,
        page: &mut Page,
        name: &str,
        cell: impl Fn(usize) -> (Tone, String),
    ) -> io::Result<()> {
        page.columns((name, NAME), (CELL, GAP), self.shown.clone().map(cell))
    }

    fn head(&self, page: &mut Page) -> io::Result<()> {
        self.row(page, "", |at| {
            (Tone::Bold, self.labels.get(at).cloned().unwrap_or_default())
        })
    }

    fn gates(&self, page: &mut Page) -> io::Result<()> {
        self.row(page, "gate", |at| match self.sides.runs.get(at) {
            Some(run) => (
                tone_of_decision(run.gate.decision),
                figures::decision_label(run.gate.decision).to_owned(),
            ),
            None => (Tone::Plain, String::new()),
        })?;
        self.row(page, "cases passed", |at| {
            let counts = self
                .sides
                .runs
                .get(at)
                .map(|run| run.summary.cases)
                .unwrap_or_default();
            let (passed, total) = (
                text::group_digits(counts.passed),
                text::group_digits(counts.total),
            );
            (Tone::Plain, format!("{passed} of {total}"))
        })
    }

    fn metrics(&self, page: &mut Page) -> io::Result<()> {
        for metric in self.sides.metrics() {
            let rows: Vec<figures::MetricRow> = self
                .sides
                .runs
                .iter()
                .map(|run| figures::metric_row(run, metric))
                .collect();
            let value = |at: usize| {
                rows.get(at)
                    .map(|row| row.value.clone())
                    .unwrap_or_default()
            };
            let interval = |at: usize| {
                rows.get(at)
                    .map(|row| row.interval.clone())
                    .unwrap_or_default()
            };
            self.row(page, &figures::metric_name(metric), |at| {
                (Tone::Plain, value(at))
            })?;
            if self.shown.clone().any(|at| !interval(at).is_empty()) {
                self.row(page, "", |at| (Tone::Dim, interval(at)))?;
            }
        }
        Ok(())
    }

    fn evals(&self, page: &mut Page, lines: &[EvalLine], most: usize) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        page.blank()?;
        page.line(&[span(Tone::Bold, "evals that differ")])?;
        let signs = Signs::of(page);
        for line in lines.iter().take(most) {
            self.row(page, &text::one_line(line.id), |at| {
                match line.runs.get(at).copied().flatten() {
                    None => (Tone::Dim, "not run".to_owned()),
                    Some(eval) => {
                        let counts = format!("{}/{}", eval.counts.passed, eval.counts.total);
                        (
                            tone_of(eval.outcome),
                            format!("{} {counts}", signs.of_outcome(eval.outcome)),
                        )
                    }
                }
            })?;
        }
        more(page, lines.len(), most, "eval")
    }

    fn cases(&self, page: &mut Page, lines: &[CaseLine], most: usize) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        page.blank()?;
        page.line(&[span(Tone::Bold, "cases that differ")])?;
        let signs = Signs::of(page);
        for line in lines.iter().take(most) {
            self.row(page, &text::one_line(&line.name()), |at| {
                match line.runs.get(at).copied().flatten() {
                    None => (Tone::Dim, "not run".to_owned()),
                    Some(case) => {
                        let word = case.cause.map_or(case.outcome.name(), |cause| cause.name());
                        (
                            tone_of(case.outcome),
                            format!("{} {word}", signs.of_outcome(case.outcome)),
                        )
                    }
                }
            })?;
        }
        more(page, lines.len(), most, "case")
    }
}

/// The signs of outcomes, asked of a page before it is written to.
struct Signs([(crate::model::Outcome, &'static str); 5]);

impl Signs {
    fn of(page: &Page) -> Signs {
        Signs(crate::model::Outcome::ALL.map(|outcome| (outcome, glyph(outcome, page))))
    }

    fn of_outcome(&self, outcome: crate::model::Outcome) -> &'static str {
        self.0
            .iter()
            .find(|(known, _)| *known == outcome)
            .map_or("", |(_, sign)| sign)
    }
}

fn more(page: &mut Page, lines: usize, most: usize, noun: &str) -> io::Result<()> {
    match lines.checked_sub(most).filter(|hidden| *hidden > 0) {
        None => Ok(()),
        Some(hidden) => {
            let words = format!(
                "and {} more; --verbose shows all",
                text::plural(hidden, noun)
            );
            page.line(&[span(Tone::Dim, words)])
        }
    }
}

fn notes(
    page: &mut Page,
    differing: &[EvalLine],
    cases: Option<&[CaseLine]>,
    compare: Option<&str>,
) -> io::Result<()> {
    page.blank()?;
    if differing.is_empty() && cases.is_some_and(<[CaseLine]>::is_empty) {
        page.line(&[plain("every eval ended alike on each target")])?;
    }
    if cases.is_none() {
        page.line(&[plain(
            "the runs are too large to list the cases that ended differently",
        )])?;
    }
    let words =
        "in brackets: intervals at 95 % of each target alone; nothing here tests a difference";
    page.wrapped(&[], Tone::Dim, words, 2)?;
    match compare {
        // What people copy is never cut.
        Some(command) => page.uncut("test it  ", command),
        None => Ok(()),
    }
}

/// Why each gate decided as it did, the gates that passed without remarks left out.
fn gates(page: &mut Page, sides: &Sides, labels: &[String]) -> io::Result<()> {
    for (run, label) in sides.runs.iter().zip(labels) {
        let decision = run.gate.decision;
        if run.gate.reasons.is_empty() {
            continue;
        }
        page.blank()?;
        page.line(&[
            span(Tone::Bold, label.clone()),
            plain(": "),
            span(
                tone_of_decision(decision),
                figures::decision_label(decision),
            ),
        ])?;
        for reason in &run.gate.reasons {
            page.wrapped(&[plain("  - ")], Tone::Plain, reason, 4)?;
        }
    }
    Ok(())
}
