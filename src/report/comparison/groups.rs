//! One metric by group, on a terminal.

use std::io;

use super::table::Table;
use super::terminal::{sign_of, tone_of};
use super::words::{self, Groups, Leaning};
use crate::model::{Comparison, ComparisonVerdict, GroupDifference, Outcome};
use crate::report::figures;
use crate::report::terminal::page::{Page, Tone, plain, span};
use crate::report::terminal::{TerminalOptions, glyph};
use eval_base::text;

/// Groups of a kind that are shown unless all are asked for.
const FEW: usize = 12;

pub fn section(
    page: &mut Page,
    comparison: &Comparison,
    options: &TerminalOptions,
) -> io::Result<()> {
    let kinds = words::groups(comparison, options.verbose);
    for kind in kinds.iter().filter(|kind| !kind.shown.is_empty()) {
        let most = if options.verbose { usize::MAX } else { FEW };
        let metric = kind
            .shown
            .first()
            .map(|group| figures::metric_name(&group.metric.name));
        let metric = metric.unwrap_or_default();
        page.blank()?;
        let mark = if kind.decides { " *" } else { "" };
        let head = format!("By {}: {metric}{mark}", kind.by.name());
        let shown = kind.shown.iter().take(most);
        let of = |with_flips: bool, page: &Page| Table {
            head: heads(&head, with_flips),
            left: Vec::new(),
            rows: shown
                .clone()
                .map(|group| row(group, comparison, with_flips, page))
                .collect(),
        };
        let wide = of(true, page);
        let narrow = of(false, page);
        match (wide.fits(page), narrow.fits(page)) {
            (true, _) => wide.write(page)?,
            (false, true) => narrow.write(page)?,
            (false, false) => in_words(page, &head, shown.clone().copied(), comparison)?,
        }
        let cut = kind.shown.len().saturating_sub(most);
        more(page, cut, kind)?;
    }
    silent(page, &kinds)
}

/// The groupings of which nothing is shown, in a line.
fn silent(page: &mut Page, kinds: &[Groups<'_>]) -> io::Result<()> {
    let silent: Vec<&str> = kinds
        .iter()
        .filter(|kind| kind.shown.is_empty())
        .map(|kind| kind.by.name())
        .collect();
    if silent.is_empty() {
        return Ok(());
    }
    page.blank()?;
    let words = format!(
        "by {}: no group differs by more than chance; --verbose shows them",
        silent.join(", ")
    );
    page.wrapped(&[plain("  ")], Tone::Dim, &words, 3)
}

fn more(page: &mut Page, cut: usize, kind: &Groups<'_>) -> io::Result<()> {
    let mut parts = Vec::new();
    if cut > 0 {
        parts.push(format!("{} more", text::group_digits(cut)));
    }
    if kind.others > 0 {
        let than = if kind.decides {
            "without a difference"
        } else {
            "that may differ by chance"
        };
        parts.push(format!("{} {than}", text::plural(kind.others, "group")));
    }
    if parts.is_empty() {
        return Ok(());
    }
    page.line(&[span(
        Tone::Dim,
        format!("  and {}; --verbose shows all", parts.join(" and ")),
    )])
}

fn heads(first: &str, with_flips: bool) -> Vec<String> {
    let mut head = vec![
        first,
        "cases",
        "from",
        "to",
        "difference",
        "95 % interval",
        "p",
    ];
    if with_flips {
        head.push("flips");
    }
    head.into_iter().map(str::to_owned).collect()
}

fn row(
    group: &GroupDifference,
    comparison: &Comparison,
    with_flips: bool,
    page: &Page,
) -> Vec<(Tone, String)> {
    let row = words::row(&group.metric, comparison);
    let (sign, tone) = match group.verdict {
        ComparisonVerdict::None => (" ", Tone::Plain),
        ComparisonVerdict::Regression => (sign_of(Leaning::Worse, page), tone_of(Leaning::Worse)),
        ComparisonVerdict::Improvement => {
            (sign_of(Leaning::Better, page), tone_of(Leaning::Better))
        }
    };
    let name = text::one_line(&group.group);
    let mut cells = vec![
        (tone, format!("{sign} {name}")),
        (Tone::Plain, text::group_digits(group.metric.n)),
        (Tone::Plain, row.reference),
        (Tone::Plain, row.candidate),
        (tone, row.difference),
        (Tone::Plain, row.interval),
        (Tone::Plain, row.p),
    ];
    if with_flips {
        let (broken, fixed) = (glyph(Outcome::Failed, page), glyph(Outcome::Passed, page));
        cells.push((
            Tone::Plain,
            format!("{broken}{} {fixed}{}", group.broken, group.fixed),
        ));
    }
    cells
}

/// Where no table fits.
fn in_words<'a>(
    page: &mut Page,
    head: &str,
    groups: impl Iterator<Item = &'a GroupDifference>,
    comparison: &Comparison,
) -> io::Result<()> {
    page.line(&[span(Tone::Bold, head.to_owned())])?;
    for group in groups {
        let row = words::row(&group.metric, comparison);
        let name = text::one_line(&group.group);
        let words = format!("{name}: {}", super::terminal::in_a_line(&row, page));
        page.wrapped(&[plain("  ")], Tone::Plain, &words, 4)?;
    }
    Ok(())
}
