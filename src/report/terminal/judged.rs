//! What judges said, on a terminal: criteria as a table, checks, why, and the votes.

use std::io;

use crate::model::{JudgeReply, JudgeVote, Outcome, SampleResult, Summary};
use crate::report::judged::{self, Row, Told};
use crate::report::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::{TerminalOptions, failures, glyph, tone_of};
use eval_base::text;

const INDENT: &str = "      ";
/// Criteria, checks and votes that are shown unless all are asked for; and then.
const FEW: usize = 12;
const MANY: usize = 200;
/// Judged cases that are shown where all passed.
const CASES: usize = 200;
/// The least columns of a criterion's name.
const NAME_AT_LEAST: usize = 8;
/// Columns of a vote's outcome.
const OUTCOME: usize = 9;
/// Lines of a reply.
const REPLY_LINES: usize = 30;

/// Every verdict on a sample.
pub fn verdicts(
    page: &mut Page,
    sample: &SampleResult,
    options: &TerminalOptions,
) -> io::Result<()> {
    for told in judged::told(sample) {
        verdict(page, &told, options)?;
    }
    Ok(())
}

/// What judges said of cases that did not fail; only when everything is asked for.
pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    if !options.verbose {
        return Ok(());
    }
    let mut all = judged::not_failed(summary).peekable();
    if all.peek().is_none() {
        return Ok(());
    }
    page.blank()?;
    page.line(&[span(Tone::Bold, "Judged")])?;
    for (eval, case, sample) in all.by_ref().take(CASES) {
        page.blank()?;
        let room = page.width().saturating_sub(4);
        let place = failures::place(page, eval, &case.id, room);
        let mark = format!("  {} ", glyph(sample.outcome, page));
        page.line(&[span(tone_of(sample.outcome), mark), span(Tone::Bold, place)])?;
        verdicts(page, sample, options)?;
    }
    let more = all.count();
    if more > 0 {
        let dots = page.ellipsis();
        let more = text::group_digits(more);
        page.line(&[span(
            Tone::Dim,
            format!("  {dots} and {more} more (the JSON report)"),
        )])?;
    }
    Ok(())
}

fn verdict(page: &mut Page, told: &Told, options: &TerminalOptions) -> io::Result<()> {
    let most = if options.verbose { MANY } else { FEW };
    let lines = if options.verbose { 20 } else { 4 };
    let outcome = told.outcome;
    let mut words = vec![outcome.name().to_owned()];
    words.extend(
        [told.score.as_str(), told.judged.panel.as_str()]
            .iter()
            .filter(|w| !w.is_empty())
            .map(|w| text::one_line(w)),
    );
    // The outcome must fit beside the name.
    let room = page
        .width()
        .saturating_sub("    judged by   ".len() + 16)
        .clamp(6, 30);
    let by = format!(
        "judged by {}  ",
        text::truncate_width_with(&text::one_line(told.by), room, page.ellipsis())
    );
    page.wrapped(
        &[plain("    "), span(Tone::Dim, by)],
        tone_of(outcome),
        &words.join("; "),
        3,
    )?;
    table(page, told, most)?;
    for (met, words) in told.checks.iter().take(most) {
        let (mark, tone) = if *met {
            (Outcome::Passed, Tone::Good)
        } else {
            (Outcome::Failed, Tone::Bad)
        };
        let mark = format!("{} ", glyph(mark, page));
        page.wrapped(
            &[plain(INDENT), span(tone, mark)],
            Tone::Plain,
            words,
            lines,
        )?;
    }
    left_out(page, told.checks.len().saturating_sub(most), "check")?;
    let judged = told.judged;
    if !judged.justification.trim().is_empty() {
        page.wrapped(
            &[plain(INDENT), span(Tone::Dim, "why     ")],
            Tone::Plain,
            &judged.justification,
            lines,
        )?;
    }
    for (at, feedback) in judged.feedback.iter().take(most).enumerate() {
        let label = if at == 0 { "advice  " } else { "        " };
        page.wrapped(
            &[plain(INDENT), span(Tone::Dim, label), plain("- ")],
            Tone::Plain,
            feedback,
            lines,
        )?;
    }
    for notice in judged.notices.iter().take(most) {
        page.wrapped(
            &[plain(INDENT), span(Tone::Warn, "note    ")],
            Tone::Warn,
            notice,
            lines,
        )?;
    }
    if told.has_telling_votes() || options.verbose {
        votes(page, told, most)?;
    }
    if options.verbose {
        for (at, vote) in judged
            .votes
            .iter()
            .enumerate()
            .filter(|(_, vote)| vote.outcome == Outcome::Errored)
        {
            exchange(page, at, vote)?;
        }
    }
    Ok(())
}

fn left_out(page: &mut Page, more: usize, noun: &str) -> io::Result<()> {
    if more == 0 {
        return Ok(());
    }
    let dots = page.ellipsis();
    let words = format!("{dots} and {}", text::plural(more, &format!("more {noun}")));
    page.line(&[plain(INDENT), span(Tone::Dim, words)])
}

fn table(page: &mut Page, told: &Told, most: usize) -> io::Result<()> {
    if told.rows.is_empty() {
        return Ok(());
    }
    let (scales, spreads) = told.columns();
    let ellipsis = page.ellipsis();
    let cut = |words: &str, columns: usize| {
        text::truncate_width_with(&text::one_line(words), columns, ellipsis).into_owned()
    };
    let cells = |row: &Row| {
        let mut cells = vec![cut(row.name, 60), row.weight.clone(), cut(&row.score, 16)];
        cells.extend(scales.then(|| row.scale.clone()));
        cells.push(row.share.clone());
        cells.extend(spreads.then(|| cut(&row.spread, 24)));
        cells
    };
    let mut head = vec!["criterion", "weight", "score"];
    head.extend(scales.then_some("scale"));
    head.push("share");
    head.extend(spreads.then_some("votes"));
    let mut rows: Vec<Vec<String>> = told.rows.iter().take(most).map(cells).collect();
    let widest = |column: usize, head: &str| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| text::width(cell))
            .max()
            .unwrap_or(0)
            .max(head.len())
    };
    let mut widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(at, head)| widest(at, head))
        .collect();
    let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
    if let Some(name) = widths.first_mut() {
        *name = (*name).min(
            page.width()
                .saturating_sub(INDENT.len() + others)
                .max(NAME_AT_LEAST),
        );
    }
    let lay = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                0 => pad_right(&cut(cell, *width), *width),
                _ => format!("  {}", pad_left(cell, *width)),
            });
        format!("{INDENT}{}", padded.collect::<String>())
    };
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
    page.line(&[span(Tone::Dim, lay(&head))])?;
    for row in rows.drain(..) {
        page.line(&[plain(lay(&row))])?;
    }
    left_out(page, told.rows.len().saturating_sub(most), "row")
}

fn votes(page: &mut Page, told: &Told, most: usize) -> io::Result<()> {
    let shown = || told.votes.iter().take(most);
    // The outcome and some of the words must fit beside the name.
    let room = page
        .width()
        .saturating_sub(INDENT.len() + "votes   ".len() + 2 + OUTCOME + 8)
        .clamp(6, 30);
    let widest = shown()
        .map(|vote| text::width(&text::one_line(vote.model)))
        .max()
        .unwrap_or(0)
        .min(room);
    for (at, vote) in shown().enumerate() {
        let label = if at == 0 { "votes   " } else { "        " };
        let model = text::truncate_width_with(&text::one_line(vote.model), widest, page.ellipsis())
            .into_owned();
        let outcome = pad_right(vote.outcome.name(), OUTCOME);
        let score = if vote.score.is_empty() {
            String::new()
        } else {
            format!("{}  ", vote.score)
        };
        let first = [
            plain(INDENT),
            span(Tone::Dim, label),
            plain(pad_right(&model, widest + 2)),
            span(tone_of(vote.outcome), outcome),
        ];
        page.wrapped(&first, Tone::Plain, &format!("{score}{}", vote.words), 3)?;
    }
    left_out(page, told.votes.len().saturating_sub(most), "vote")
}

/// What a judge answered whose answers could not be used, and what it was asked next.
fn exchange(page: &mut Page, at: usize, vote: &JudgeVote) -> io::Result<()> {
    for (
        turn,
        JudgeReply {
            text: said,
            fault,
            why,
            repair,
            ..
        },
    ) in vote.replies.iter().enumerate()
    {
        let fault = fault.map_or("", |fault| fault.name());
        let label = format!("reply {} of vote {}  ", turn + 1, at + 1);
        let words = [fault, why.as_str()]
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        page.wrapped(
            &[plain(INDENT), span(Tone::Dim, label)],
            Tone::Warn,
            &words,
            3,
        )?;
        let clean = text::sanitize(text::truncate_bytes(said, 16 * 1024));
        let mut lines = clean.lines();
        for line in lines.by_ref().take(REPLY_LINES) {
            page.line(&[plain(INDENT), span(Tone::Dim, "| "), plain(line.to_owned())])?;
        }
        let more = lines.count();
        left_out(page, more, "line")?;
        if !repair.is_empty() {
            page.wrapped(
                &[plain(INDENT), span(Tone::Dim, "then asked  ")],
                Tone::Plain,
                repair,
                4,
            )?;
        }
    }
    Ok(())
}
