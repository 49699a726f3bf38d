//! One candidate against a reference, on a terminal.

use std::io::{self, Write};

use super::table::Table;
use super::words::{self, Headline, Leaning, Row};
use super::{columns, flips, groups};
use crate::model::{ComparedSide, Comparison, Comparisons};
use crate::report::terminal::page::{Page, Tone, plain, span};
use crate::report::terminal::{TerminalOptions, tone_of_decision};
use crate::spec::words::FailOn;
use eval_base::text;

/// Lines of a sentence.
const LINES: usize = 8;

pub fn render(
    comparisons: &Comparisons,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    match comparisons.candidates.as_slice() {
        [one] => whole(&mut page, one, options)?,
        several => columns::render(&mut page, several, options)?,
    }
    decision(&mut page, comparisons)
}

/// Everything that is to be said of one candidate.
pub fn whole(
    page: &mut Page,
    comparison: &Comparison,
    options: &TerminalOptions,
) -> io::Result<()> {
    let candidate = words::label(&comparison.candidate);
    let reference = words::label(&comparison.reference);
    page.wrapped(
        &[span(Tone::Bold, words::suite(comparison)), plain(": ")],
        Tone::Plain,
        &format!("{candidate} against {reference}"),
        2,
    )?;
    side(page, "reference", &comparison.reference)?;
    side(page, "candidate", &comparison.candidate)?;
    page.blank()?;
    verdict(page, comparison)?;
    notes(page, comparison)?;
    metrics(page, comparison, options)?;
    groups::section(page, comparison, options)?;
    page.blank()?;
    cases(page, comparison)?;
    flips::section(page, &comparison.cases, options)?;
    if options.verbose {
        page.blank()?;
        page.wrapped(&[], Tone::Dim, &words::method(comparison), 4)?;
    }
    Ok(())
}

/// The section of a run's report; `fail_on` as the run was started with.
pub fn section(
    page: &mut Page,
    comparison: &Comparison,
    fail_on: Option<FailOn>,
    options: &TerminalOptions,
) -> io::Result<()> {
    page.blank()?;
    let reference = words::label(&comparison.reference);
    page.line(&[span(Tone::Bold, format!("Compared with {reference}"))])?;
    side(page, "reference", &comparison.reference)?;
    verdict(page, comparison)?;
    notes(page, comparison)?;
    metrics(page, comparison, options)?;
    groups::section(page, comparison, options)?;
    page.blank()?;
    cases(page, comparison)?;
    flips::brief(page, &comparison.cases, options)?;
    page.blank()?;
    page.wrapped(&[plain("  ")], Tone::Dim, &words::bearing(fail_on), 2)
}

/// One side in a line or some.
pub fn side(page: &mut Page, role: &str, side: &ComparedSide) -> io::Result<()> {
    let mut facts = vec![words::label(side)];
    facts.extend(words::facts(side));
    let separator = page.pick(" · ", ", ");
    page.wrapped(
        &[plain(format!("  {role}  "))],
        Tone::Dim,
        &facts.join(separator),
        4,
    )
}

/// The loudest line, and what it rests on.
pub fn verdict(page: &mut Page, comparison: &Comparison) -> io::Result<()> {
    let headline = Headline::of(comparison);
    let (sign, tone) = loud(headline, page);
    page.line(&[span(
        tone,
        format!("{sign} {}", headline.words().to_uppercase()),
    )])?;
    if let Some(why) = words::undecided(comparison) {
        page.wrapped(&[plain("  ")], Tone::Warn, &why, LINES)?;
    }
    let first = words::first_sentence(comparison);
    if !first.is_empty() {
        page.wrapped(&[plain("  ")], Tone::Bold, &first, LINES)?;
    }
    for sentence in words::further_sentences(comparison) {
        page.wrapped(&[plain("  ")], Tone::Plain, &sentence, LINES)?;
    }
    Ok(())
}

/// The sign of a headline, and its colour where it counts most.
pub fn loud(headline: Headline, page: &Page) -> (&'static str, Tone) {
    match headline {
        Headline::Regression => (page.pick("▼", "v"), Tone::BadMark),
        Headline::Improvement => (page.pick("▲", "^"), Tone::GoodMark),
        Headline::NoEvidence => (page.pick("○", "o"), Tone::Bold),
        Headline::Undecided | Headline::Untested => ("!", Tone::Warn),
    }
}

pub fn notes(page: &mut Page, comparison: &Comparison) -> io::Result<()> {
    for note in &comparison.notes {
        page.wrapped(&[span(Tone::Warn, "!  ")], Tone::Warn, note, 4)?;
    }
    Ok(())
}

pub fn sign_of(leaning: Leaning, page: &Page) -> &'static str {
    match leaning {
        Leaning::Worse => page.pick("▼", "v"),
        Leaning::Better => page.pick("▲", "^"),
        Leaning::Neither => " ",
    }
}

/// The signs of what is worse and of what is better.
pub fn signs(page: &Page) -> [&'static str; 2] {
    [
        sign_of(Leaning::Worse, page),
        sign_of(Leaning::Better, page),
    ]
}

pub fn tone_of(leaning: Leaning) -> Tone {
    match leaning {
        Leaning::Worse => Tone::Bad,
        Leaning::Better => Tone::Good,
        Leaning::Neither => Tone::Plain,
    }
}

fn metrics(page: &mut Page, comparison: &Comparison, options: &TerminalOptions) -> io::Result<()> {
    let rows = words::rows(comparison);
    if rows.is_empty() {
        return Ok(());
    }
    let (defined, undefined): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.undefined.is_empty());
    let table = Table {
        head: ["  Metric", "from", "to", "difference", "95 % interval", "p"]
            .map(str::to_owned)
            .to_vec(),
        left: Vec::new(),
        rows: defined.iter().map(|row| cells(row, page)).collect(),
    };
    page.blank()?;
    if defined.is_empty() {
        page.line(&[span(Tone::Dim, "  Metric")])?;
    } else if table.fits(page) {
        table.write(page)?;
    } else {
        for row in &defined {
            let words = format!("{}: {}", named(row), in_a_line(row, page));
            page.wrapped(&[plain("  ")], Tone::Plain, &words, 4)?;
        }
    }
    for row in undefined {
        let first = [
            plain(format!("  {}  ", cut_name(row, page))),
            span(Tone::Warn, "n/a  "),
        ];
        page.wrapped(&first, Tone::Dim, &row.undefined, 2)?;
    }
    remarks(page, &defined, options)?;
    match words::legend(comparison, signs(page)) {
        legend if legend.is_empty() => Ok(()),
        legend => page.wrapped(&[plain("  ")], Tone::Dim, &legend, 3),
    }
}

fn cut_name(row: &Row, page: &Page) -> String {
    let room = (page.width() / 2).max(8);
    text::truncate_width_with(&named(row), room, page.ellipsis()).into_owned()
}

/// The metric's name, marked when the verdict rests on it.
fn named(row: &Row) -> String {
    if row.decides {
        format!("{} *", row.name)
    } else {
        row.name.clone()
    }
}

fn cells(row: &Row, page: &Page) -> Vec<(Tone, String)> {
    let leaning = if row.moved {
        row.leaning
    } else {
        Leaning::Neither
    };
    let tone = tone_of(leaning);
    let plain = if row.decides { Tone::Bold } else { Tone::Plain };
    vec![
        (
            if leaning == Leaning::Neither {
                plain
            } else {
                tone
            },
            format!("{} {}", sign_of(leaning, page), named(row)),
        ),
        (plain, row.reference.clone()),
        (plain, row.candidate.clone()),
        (
            if leaning == Leaning::Neither {
                plain
            } else {
                tone
            },
            row.difference.clone(),
        ),
        (plain, row.interval.clone()),
        (plain, row.p.clone()),
    ]
}

/// A row where no table fits: `0.850 -> 0.790, -6.0 points [-9.1, -2.9], p 0.0004`.
pub fn in_a_line(row: &Row, page: &Page) -> String {
    if !row.undefined.is_empty() {
        return format!("n/a, {}", row.undefined);
    }
    let arrow = page.pick("→", "->");
    let mut words = format!(
        "{} {arrow} {}, {}",
        row.reference, row.candidate, row.difference
    );
    if !row.interval.is_empty() {
        words.push_str(&format!(" {}", row.interval));
    }
    if !row.p.is_empty() {
        words.push_str(&format!(", p {}", row.p));
    }
    words
}

/// Room for the number of pairs of every metric that a comparison shows.
const PAIRED_LINES: usize = 12;

/// Over how many pairs, where that is not the same for all, and how far what has no grade could
/// move a figure.
fn remarks(page: &mut Page, rows: &[&Row], options: &TerminalOptions) -> io::Result<()> {
    let usual = rows.first().map(|row| row.n.as_str()).unwrap_or_default();
    let others: Vec<String> = rows
        .iter()
        .filter(|row| row.n != usual)
        .map(|row| format!("{} {}", row.name, row.n))
        .collect();
    if !usual.is_empty() {
        let first = rows
            .first()
            .map(|row| row.name.as_str())
            .unwrap_or_default();
        let words = match others.is_empty() {
            true => format!("paired: {usual}"),
            false => format!("paired: {first} {usual}, {}", others.join(", ")),
        };
        page.wrapped(&[plain("  ")], Tone::Dim, &words, PAIRED_LINES)?;
    }
    for row in rows
        .iter()
        .filter(|row| !row.range.is_empty() && (row.decides || options.verbose))
    {
        let words = format!(
            "{} {} if all without a grade had gone against, or for, the candidate",
            row.name, row.range
        );
        page.wrapped(&[plain("  ")], Tone::Warn, &words, 3)?;
    }
    Ok(())
}

fn cases(page: &mut Page, comparison: &Comparison) -> io::Result<()> {
    for (at, sentence) in words::case_sentences(&comparison.cases).iter().enumerate() {
        let tone = if at == 0 { Tone::Bold } else { Tone::Plain };
        page.wrapped(&[plain(if at == 0 { "" } else { "  " })], tone, sentence, 4)?;
    }
    Ok(())
}

/// What the caller's exit code says: the last thing that people read.
fn decision(page: &mut Page, comparisons: &Comparisons) -> io::Result<()> {
    let tone = tone_of_decision(comparisons.decision);
    let label = format!(
        "GATE {}",
        words::decision(comparisons.decision, comparisons.fail_on)
    );
    page.blank()?;
    match comparisons.reasons.as_slice() {
        [] if comparisons.fail_on == FailOn::Never => {
            page.line(&[span(tone, label), plain(": it informs")])
        }
        [] => page.line(&[span(tone, label)]),
        reasons => {
            page.line(&[span(tone, label)])?;
            for reason in reasons {
                page.wrapped(&[plain("  - ")], Tone::Plain, reason, 4)?;
            }
            Ok(())
        }
    }
}
