//! The run beside accepted scores.

use std::io;

use crate::base::text;
use crate::model::{CaseList, Outcome, Summary};
use crate::report::beside;
use crate::report::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::{TerminalOptions, glyph};

/// Cases of each kind that are shown.
const FEW: usize = 10;
const LONGEST_NAME: usize = 36;

pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    let Some(comparison) = &summary.baseline else { return Ok(()) };
    page.blank()?;
    let title = [span(Tone::Bold, "Beside the accepted scores ")];
    page.wrapped(&title, Tone::Plain, &beside::origin(comparison), 2)?;
    let rows = beside::rows(comparison);
    if !rows.is_empty() {
        let widest = |head: &str, column: fn(&beside::Row) -> &str| {
            rows.iter().map(|row| text::width(column(row))).max().unwrap_or(0).max(head.len())
        };
        let name = widest("Metric", |row| &row.name).min(LONGEST_NAME);
        let before = widest("accepted", |row| &row.before);
        let now = widest("now", |row| &row.now);
        let change = widest("change", |row| &row.change);
        let lay = |cells: [&str; 4]| {
            let shown = text::truncate_width_with(cells[0], name, page.ellipsis()).into_owned();
            format!(
                "  {}  {}  {}  {}",
                pad_right(&shown, name),
                pad_left(cells[1], before),
                pad_left(cells[2], now),
                pad_left(cells[3], change)
            )
        };
        let head = lay(["Metric", "accepted", "now", "change"]);
        let lines: Vec<String> =
            rows.iter().map(|row| lay([&row.name, &row.before, &row.now, &row.change])).collect();
        page.line(&[span(Tone::Dim, head)])?;
        for line in lines {
            page.line(&[plain(line)])?;
        }
    }
    for words in beside::sentences(comparison) {
        page.wrapped(&[plain("  ")], Tone::Plain, &words, 3)?;
    }
    let most = if options.verbose { usize::MAX } else { FEW };
    cases(page, &comparison.broken, Outcome::Failed, "broken", most)?;
    cases(page, &comparison.fixed, Outcome::Passed, "fixed", most)?;
    page.wrapped(&[plain("  ")], Tone::Dim, beside::INFORMS, 2)
}

fn cases(page: &mut Page, list: &CaseList, now: Outcome, word: &str, most: usize) -> io::Result<()> {
    let tone = crate::report::terminal::tone_of(now);
    let shown = list.cases.len().min(most);
    for case in list.cases.iter().take(most) {
        let mark = format!("  {} {} ", glyph(now, page), pad_right(word, 6));
        page.line(&[span(tone, mark), plain(beside::case_name(case))])?;
    }
    if list.count > shown && shown > 0 {
        let more = text::group_digits(list.count - shown);
        page.line(&[span(Tone::Dim, format!("    and {more} more {word}; the JSON report lists them"))])?;
    }
    Ok(())
}
