//! The runs of one suite against one target.

use std::collections::BTreeMap;
use std::io;

use super::{Shown, commit, day, legend, spark};
use crate::model::{Criticality, EvalType, Outcome};
use crate::report::TerminalOptions;
use crate::report::figures;
use crate::report::terminal::page::{Page, Span, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::tone_of_decision;
use crate::run::history::{EvalHistory, Group, PastRun};
use eval_base::text;

/// With more evals than this, only those that did not always pass are shown, and so many of them.
const MANY_EVALS: usize = 40;
/// Flaky and slow cases that are shown.
const FEW: usize = 5;
const LABEL: usize = 14;

pub fn group(
    page: &mut Page,
    group: &Group,
    evals: &BTreeMap<&str, EvalHistory>,
    shown: Shown<'_>,
    options: &TerminalOptions,
) -> io::Result<()> {
    header(page, group)?;
    trend(page, group)?;
    table(page, evals, options)?;
    flaky(page, group, |id| shown.takes(id), options)?;
    slowest(page, group, shown, options)?;
    Ok(())
}

/// Suite, target and period.
pub fn header(page: &mut Page, group: &Group) -> io::Result<()> {
    page.line(&[span(Tone::Bold, text::one_line(&group.suite))])?;
    let mut facts = Vec::new();
    if !group.target.is_empty() {
        let (target, kind) = (
            text::one_line(&group.target),
            text::one_line(&group.target_type),
        );
        facts.push(if kind.is_empty() || kind == target {
            format!("target {target}")
        } else {
            format!("target {target} ({kind})")
        });
    }
    if let (Some(first), Some(last)) = (group.runs.first(), group.runs.last()) {
        let (from, to) = (day(&first.timestamp), day(&last.timestamp));
        let period = if from == to {
            format!("on {from}")
        } else {
            format!("from {from} to {to}")
        };
        facts.push(format!(
            "{} {period}",
            text::plural(group.runs.len(), "run")
        ));
    }
    let separator = page.pick(" · ", ", ");
    page.wrapped(&[plain("  ")], Tone::Dim, &facts.join(separator), 3)
}

fn label(words: &str) -> Span<'static> {
    span(Tone::Bold, pad_right(&format!("  {words}"), LABEL))
}

fn trend(page: &mut Page, group: &Group) -> io::Result<()> {
    let trend = group.trend();
    page.blank()?;
    let columns = page.width().saturating_sub(LABEL + 1);
    let squeezed = spark::squeezed(&trend.rates, columns);
    if !trend.rates.is_empty() {
        let bars = spark::bars(&squeezed, page);
        page.line(&[label("Pass rate"), plain(bars)])?;
        let figures = [
            ("first", trend.first),
            ("last", trend.last),
            ("lowest", trend.lowest),
            ("highest", trend.highest),
        ]
        .map(|(word, rate)| format!("{word} {}", figures::percent_or_none(rate)));
        page.line(&[plain(" ".repeat(LABEL)), plain(figures.join("   "))])?;
    }
    let mut notes = vec![format!(
        "of evals, over {}",
        text::plural(trend.rates.len(), "whole run")
    )];
    if squeezed.len() < trend.rates.len() {
        notes.push("a sign is the mean of neighbours".to_owned());
    }
    if trend.left_out > 0 {
        let (are, it) = if trend.left_out == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        let words = text::plural(trend.left_out, "run");
        notes.push(format!(
            "{words} more {are} not in it, since a filter, an end or a shard cut {it} short"
        ));
    }
    page.wrapped(&[plain(" ".repeat(LABEL))], Tone::Dim, &notes.join("; "), 3)?;
    match group.runs.last() {
        Some(run) => last_run(page, run),
        None => Ok(()),
    }
}

fn last_run(page: &mut Page, run: &PastRun) -> io::Result<()> {
    let mut line = vec![
        label("Last run"),
        plain(format!("{}  ", text::one_line(&run.id))),
    ];
    let commit = commit(run);
    if !commit.is_empty() {
        line.push(span(Tone::Dim, format!("{commit}  ")));
    }
    let evals = format!("{} of {} evals passed", run.counts.passed, run.counts.total);
    line.push(plain(evals));
    if let Some(gate) = run.gate {
        line.push(plain("  "));
        line.push(span(
            tone_of_decision(gate),
            format!("gate {}", gate.name()),
        ));
    }
    page.line(&line)?;
    if let Some(by) = run.regraded_by.last() {
        let words = format!(
            "graded again by {}, whose outcomes count",
            text::one_line(by)
        );
        page.wrapped(&[plain(" ".repeat(LABEL))], Tone::Dim, &words, 2)?;
    }
    Ok(())
}

/// Widths of the columns of a table of evals or cases.
pub struct Columns {
    id: usize,
    marks: usize,
    /// Whether there is room for when it last passed.
    last_passed: bool,
}

impl Columns {
    pub fn within(width: usize) -> Columns {
        let last_passed = width >= 72;
        let right = 2 + 7 + if last_passed { 2 + 19 } else { 0 } + 2 + 5;
        let room = width.saturating_sub(right + 4);
        let marks = (room * 2 / 5).clamp(8, 40);
        Columns {
            id: room.saturating_sub(marks).max(8),
            marks,
            last_passed,
        }
    }

    pub fn head(&self, page: &mut Page, what: &str) -> io::Result<()> {
        let marks = text::truncate_width_with("last runs", self.marks, "").into_owned();
        let mut head = format!(
            "  {}  {}",
            pad_right(what, self.id),
            pad_left(&marks, self.marks)
        );
        head.push_str(&format!("  {}", pad_left("rate", 7)));
        if self.last_passed {
            head.push_str(&format!("  {}", pad_right("last passed", 19)));
        }
        head.push_str(&format!("  {}", pad_left("fails", 5)));
        page.line(&[span(Tone::Dim, head)])
    }

    /// One line: outcomes are oldest first.
    pub fn row(
        &self,
        page: &mut Page,
        id: &str,
        outcomes: &[Outcome],
        rate: Option<f64>,
        last_passed: Option<&PastRun>,
    ) -> io::Result<()> {
        let id =
            text::truncate_width_with(&text::one_line(id), self.id, page.ellipsis()).into_owned();
        let failures = outcomes
            .iter()
            .filter(|outcome| **outcome == Outcome::Failed)
            .count();
        let well = outcomes.last() == Some(&Outcome::Passed);
        let mut line = vec![span(
            if well { Tone::Plain } else { Tone::Bold },
            format!("  {}  ", pad_right(&id, self.id)),
        )];
        line.extend(spark::marks(outcomes, self.marks, page));
        line.push(plain(format!(
            "  {}",
            pad_left(&figures::percent_or_none(rate), 7)
        )));
        if self.last_passed {
            let passed = last_passed.map_or_else(
                || "never".to_owned(),
                |run| format!("{} {}", day(&run.timestamp), commit(run)),
            );
            let tone = if last_passed.is_none() {
                Tone::Warn
            } else {
                Tone::Plain
            };
            line.push(span(tone, format!("  {}", pad_right(&passed, 19))));
        }
        let tone = if failures > 0 { Tone::Bad } else { Tone::Dim };
        line.push(span(
            tone,
            format!("  {}", pad_left(&text::group_digits(failures), 5)),
        ));
        page.line(&line)
    }
}

/// Regressions first, the most critical of them first; then the broken before the sound, and those
/// that pass least.
fn order(eval: &EvalHistory) -> impl Ord {
    let latest = eval.latest;
    let kind = match latest.kind {
        EvalType::Regression => 0u8,
        EvalType::Capability => 1,
    };
    let sound = eval
        .runs
        .last()
        .is_some_and(|(_, eval)| eval.outcome == Outcome::Passed);
    let rate = eval.counts.pass_rate.map_or(0, |rate| (rate * 1e9) as u64);
    (
        kind,
        std::cmp::Reverse(latest.criticality.map(rank)),
        sound,
        rate,
        latest.id.to_string(),
    )
}

fn rank(criticality: Criticality) -> u8 {
    match criticality {
        Criticality::Low => 0,
        Criticality::Medium => 1,
        Criticality::High => 2,
        Criticality::Critical => 3,
    }
}

/// What a part of the table is called.
fn heading(eval: &EvalHistory) -> String {
    match (eval.latest.kind, eval.latest.criticality) {
        (EvalType::Capability, _) => "Capabilities".to_owned(),
        (EvalType::Regression, None) => "Regressions".to_owned(),
        (EvalType::Regression, Some(criticality)) => {
            let word = match criticality {
                Criticality::Low => "low",
                Criticality::Medium => "medium",
                Criticality::High => "high",
                Criticality::Critical => "critical",
            };
            format!("Regressions, {word}")
        }
    }
}

fn table(
    page: &mut Page,
    evals: &BTreeMap<&str, EvalHistory>,
    options: &TerminalOptions,
) -> io::Result<()> {
    let many = evals.len() > MANY_EVALS && !options.verbose;
    let mut rows: Vec<&EvalHistory> = evals.values().collect();
    rows.sort_by_key(|eval| order(eval));
    if many {
        rows.retain(|eval| eval.counts.passed < eval.counts.total || eval.runs.is_empty());
        rows.truncate(MANY_EVALS);
    }
    page.blank()?;
    let columns = Columns::within(page.width());
    columns.head(page, "")?;
    let mut under = String::new();
    for eval in &rows {
        let heading = heading(eval);
        if heading != under {
            page.line(&[span(Tone::Bold, heading.clone())])?;
            under = heading;
        }
        let outcomes: Vec<Outcome> = eval.runs.iter().map(|(_, eval)| eval.outcome).collect();
        let id = eval.latest.id.as_ref();
        if outcomes.is_empty() {
            let words = format!(
                "{}: in {}, in none with all of its cases for certain",
                text::one_line(id),
                text::plural(eval.partial, "run")
            );
            page.wrapped(&[plain("  ")], Tone::Dim, &words, 2)?;
        } else {
            columns.row(
                page,
                id,
                &outcomes,
                eval.counts.pass_rate,
                eval.last(Outcome::Passed),
            )?;
        }
    }
    if evals.len() > rows.len() {
        let more = evals.len() - rows.len();
        let words = format!(
            "and {} more; --verbose shows all",
            text::plural(more, "eval")
        );
        page.line(&[plain("  "), span(Tone::Dim, words)])?;
    }
    legend(page)
}

pub fn flaky(
    page: &mut Page,
    group: &Group,
    takes: impl Fn(&str) -> bool,
    options: &TerminalOptions,
) -> io::Result<()> {
    let (mut flaky, mut unproved) = group.flaky();
    unproved.retain(|case| takes(&case.eval_id));
    flaky.retain(|case| takes(&case.eval));
    if !flaky.is_empty() {
        page.blank()?;
        let cases = text::plural(flaky.len(), "case");
        let words =
            format!("{cases} passed and failed at one commit, asked and graded in the same way");
        page.wrapped(&[span(Tone::Warn, "Flaky ")], Tone::Plain, &words, 2)?;
    }
    let most = if options.verbose { usize::MAX } else { FEW };
    for case in flaky.iter().take(most) {
        let Some(worst) = case.commits.first() else {
            continue;
        };
        let commit = text::one_line(worst.commit.get(..7).unwrap_or(&worst.commit));
        let more = match case.commits.len() - 1 {
            0 => String::new(),
            n => format!(", and at {} more", text::plural(n, "commit")),
        };
        let facts = format!(
            "  passed {}, failed {} at {commit}{more}",
            worst.passed, worst.failed
        );
        named(page, &case.eval, &case.case, &facts)?;
    }
    if flaky.len() > most {
        page.line(&[span(
            Tone::Dim,
            format!("  and {} more; --verbose shows all", flaky.len() - most),
        )])?;
    }
    if !unproved.is_empty() {
        page.blank()?;
        let cases = text::plural(unproved.len(), "case");
        let words = format!(
            "{cases} passed and failed in checkouts with changes, or without git: that may be the changes' doing"
        );
        page.wrapped(&[plain("  ")], Tone::Dim, &words, 3)?;
    }
    Ok(())
}

fn slowest(
    page: &mut Page,
    group: &Group,
    shown: Shown<'_>,
    options: &TerminalOptions,
) -> io::Result<()> {
    let mut slow = group.slowest();
    slow.retain(|case| shown.takes(&case.eval));
    if slow.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(&[
        span(Tone::Bold, "Slowest "),
        plain("by the median time of the target's answers"),
    ])?;
    let most = if options.verbose { usize::MAX } else { FEW };
    for case in slow.iter().take(most) {
        let samples = text::plural(case.samples, "sample");
        let facts = format!("  {} over {samples}", figures::duration_ms(case.median_ms));
        named(page, &case.eval, &case.case, &facts)?;
    }
    Ok(())
}

/// A case and what is told of it; of a long name the end is cut, not the facts.
fn named(page: &mut Page, eval: &str, case: &str, facts: &str) -> io::Result<()> {
    let name = if eval == case {
        text::one_line(eval)
    } else {
        text::one_line(&format!("{eval} / {case}"))
    };
    let room = page.width().saturating_sub(text::width(facts) + 2).max(12);
    let name = text::truncate_width_with(&name, room, page.ellipsis()).into_owned();
    page.line(&[
        plain(format!("  {}", pad_right(&name, room.min(34)))),
        plain(facts.to_owned()),
    ])
}
