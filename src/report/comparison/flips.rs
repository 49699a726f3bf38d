//! Which cases flipped, on a terminal.

use std::io;

use super::words::{self, Kind};
use crate::model::{CaseChanges, Outcome};
use crate::report::terminal::page::{Page, Tone, pad_right, plain, span};
use crate::report::terminal::{TerminalOptions, glyph};
use eval_base::text;

/// Cases of a kind that are shown unless all are asked for.
fn few(kind: Kind) -> usize {
    match kind {
        Kind::Broken | Kind::Fixed => 10,
        Kind::Ungraded | Kind::Changed | Kind::New | Kind::Gone => 5,
        Kind::StillFailing => 0,
    }
}

pub fn section(page: &mut Page, cases: &CaseChanges, options: &TerminalOptions) -> io::Result<()> {
    for kind in Kind::ALL {
        list(page, kind, cases, options)?;
    }
    Ok(())
}

/// Only what was broken and fixed, and what was not compared because it changed: what the report of
/// a run shows.
pub fn brief(page: &mut Page, cases: &CaseChanges, options: &TerminalOptions) -> io::Result<()> {
    for kind in Kind::ALL {
        if options.verbose || matches!(kind, Kind::Broken | Kind::Fixed | Kind::Changed) {
            list(page, kind, cases, options)?;
        }
    }
    Ok(())
}

fn mark(kind: Kind, page: &Page) -> (Tone, &'static str) {
    match kind {
        Kind::Broken => (Tone::Bad, glyph(Outcome::Failed, page)),
        Kind::Fixed => (Tone::Good, glyph(Outcome::Passed, page)),
        Kind::StillFailing => (Tone::Dim, glyph(Outcome::Failed, page)),
        Kind::Ungraded => (Tone::Warn, glyph(Outcome::Errored, page)),
        Kind::Changed => (Tone::Plain, "~"),
        Kind::New => (Tone::Plain, "+"),
        Kind::Gone => (Tone::Plain, glyph(Outcome::Skipped, page)),
    }
}

fn list(
    page: &mut Page,
    kind: Kind,
    cases: &CaseChanges,
    options: &TerminalOptions,
) -> io::Result<()> {
    let list = kind.of(cases);
    let most = if options.verbose {
        usize::MAX
    } else {
        few(kind)
    };
    if list.count == 0 || most == 0 {
        return Ok(());
    }
    page.blank()?;
    let title = format!("{} ({})", kind.title(list), text::group_digits(list.count));
    page.line(&[span(Tone::Bold, title)])?;
    let (tone, sign) = mark(kind, page);
    let arrow = page.pick("→", "->");
    let listed = words::critical_first(list);
    let shown: Vec<(String, String, bool)> = listed
        .iter()
        .take(most)
        .map(|case| {
            (
                words::case_name(case),
                words::passes(case, arrow),
                words::is_critical(case),
            )
        })
        .collect();
    let widest = |of: fn(&(String, String, bool)) -> &str| {
        shown
            .iter()
            .map(|line| text::width(of(line)))
            .max()
            .unwrap_or(0)
    };
    let passes = widest(|(_, passes, _)| passes);
    let others = "  x ".len() + 2 + passes + "  critical".len();
    let name = widest(|(name, _, _)| name).min(page.width().saturating_sub(others).max(12));
    for (case, counts, is_critical) in &shown {
        let cut = text::truncate_width_with(case, name, page.ellipsis()).into_owned();
        let mut spans = vec![
            span(tone, format!("  {sign} ")),
            plain(pad_right(&cut, name)),
            span(Tone::Dim, format!("  {}", pad_right(counts, passes))),
        ];
        if *is_critical {
            spans.push(span(
                if kind == Kind::Broken {
                    Tone::Bad
                } else {
                    Tone::Bold
                },
                "  critical",
            ));
        }
        page.line(&spans)?;
    }
    let hidden = list.count - shown.len().min(list.count);
    if hidden > 0 {
        let hidden = text::group_digits(hidden);
        let words = match list.cases.len() < list.count && options.verbose {
            true => format!("    and {hidden} more; {}", words::ALL_LISTED_BY),
            false => format!("    and {hidden} more; --verbose shows all"),
        };
        page.line(&[span(Tone::Dim, words)])?;
    }
    Ok(())
}
