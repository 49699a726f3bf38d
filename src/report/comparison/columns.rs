//! Several candidates against one reference on a terminal: a column each, as many beside each other
//! as fit.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use super::groups;
use super::terminal::{loud, notes, side, sign_of, signs, tone_of, verdict, whole};
use super::words::{self, Headline, Kind, Leaning, Row};
use crate::model::Comparison;
use crate::report::terminal::TerminalOptions;
use crate::report::terminal::page::{Page, Tone, plain, span};
use eval_base::text;

/// Columns of a candidate: an interval fits.
const CELL: usize = 19;
/// Columns of the names of lines.
const NAME: usize = 22;
/// Blanks at the end of a column, at least.
const GAP: usize = 2;

pub fn render(
    page: &mut Page,
    candidates: &[Comparison],
    options: &TerminalOptions,
) -> io::Result<()> {
    let Some(first) = candidates.first() else {
        return Ok(());
    };
    let number = text::plural(candidates.len(), "candidate");
    let reference = words::label(&first.reference);
    page.wrapped(
        &[span(Tone::Bold, words::suite(first)), plain(": ")],
        Tone::Plain,
        &format!("{number} against {reference}"),
        2,
    )?;
    side(page, "reference", &first.reference)?;
    for candidate in candidates {
        side(page, "candidate", &candidate.candidate)?;
    }
    let labels = labels(candidates, page);
    for (candidate, label) in candidates.iter().zip(&labels) {
        page.blank()?;
        page.line(&[span(Tone::Bold, label.whole.clone())])?;
        verdict(page, candidate)?;
        notes(page, candidate)?;
    }
    let rows: Vec<Vec<Row>> = candidates.iter().map(words::rows).collect();
    let at_once = (page.width().saturating_sub(NAME) / CELL).max(1);
    let mut start = 0;
    while start < candidates.len() {
        let shown = start..(start + at_once).min(candidates.len());
        let block = Block {
            candidates,
            labels: &labels,
            rows: &rows,
            shown,
        };
        page.blank()?;
        block.head(page)?;
        block.metrics(page)?;
        block.cases(page)?;
        start += at_once;
    }
    page.blank()?;
    page.wrapped(&[], Tone::Dim, &words::legend(first, signs(page)), 3)?;
    // Groups that the verdicts rest on.
    let by_group = !first.settings.by.is_empty() && !options.verbose;
    for (candidate, label) in candidates.iter().zip(&labels).filter(|_| by_group) {
        if candidate.groups.is_empty() {
            continue;
        }
        page.blank()?;
        page.line(&[span(Tone::Bold, label.whole.clone())])?;
        groups::section(page, candidate, options)?;
    }
    for candidate in candidates.iter().filter(|_| options.verbose) {
        page.blank()?;
        page.line(&[span(Tone::Dim, "-".repeat(page.width().min(80)))])?;
        whole(page, candidate, options)?;
    }
    Ok(())
}

/// A candidate's name.
struct Label {
    whole: String,
    /// As much of it as the head of a column has room for.
    head: String,
}

/// As the command line named the candidates; numbered, and with the ends of their names over the
/// columns, where the cut names are not told apart.
fn labels(candidates: &[Comparison], page: &Page) -> Vec<Label> {
    let room = CELL - 2;
    let names: Vec<String> = candidates
        .iter()
        .map(|c| words::label(&c.candidate))
        .collect();
    let cut = |name: &String| text::truncate_width_with(name, room, page.ellipsis()).into_owned();
    let distinct: BTreeSet<String> = names.iter().map(cut).collect();
    if distinct.len() == names.len() {
        return names
            .into_iter()
            .map(|whole| Label {
                head: cut(&whole),
                whole,
            })
            .collect();
    }
    let numbered = |(at, name): (usize, String)| {
        let number = format!("{}: ", at + 1);
        let end = end_of(
            &name,
            room.saturating_sub(text::width(&number)),
            page.ellipsis(),
        );
        Label {
            head: format!("{number}{end}"),
            whole: format!("{number}{name}"),
        }
    };
    names.into_iter().enumerate().map(numbered).collect()
}

/// A text, or as much of its end as fits: ids of one day, and paths of one folder, differ there.
fn end_of(label: &str, room: usize, ellipsis: &str) -> String {
    if text::width(label) <= room {
        return label.to_owned();
    }
    let room = room.saturating_sub(text::width(ellipsis));
    let fits =
        |(at, _): &(usize, char)| label.get(*at..).is_some_and(|end| text::width(end) <= room);
    let from = label
        .char_indices()
        .rev()
        .take_while(fits)
        .last()
        .map_or(label.len(), |(at, _)| at);
    format!("{ellipsis}{}", label.get(from..).unwrap_or_default())
}

/// The candidates of some columns.
struct Block<'a> {
    candidates: &'a [Comparison],
    labels: &'a [Label],
    rows: &'a [Vec<Row>],
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
            (
                Tone::Bold,
                self.labels
                    .get(at)
                    .map(|label| label.head.clone())
                    .unwrap_or_default(),
            )
        })?;
        let verdicts: Vec<(Tone, String)> = self
            .candidates
            .iter()
            .map(|candidate| {
                let headline = Headline::of(candidate);
                let (sign, tone) = loud(headline, page);
                // What is no evidence is not to be cut into something else.
                let words = match headline {
                    Headline::NoEvidence => "no evidence",
                    Headline::Untested => "not tested",
                    told => told.words(),
                };
                (tone, format!("{sign} {words}"))
            })
            .collect();
        self.row(page, "verdict", |at| {
            verdicts
                .get(at)
                .cloned()
                .unwrap_or((Tone::Plain, String::new()))
        })
    }

    fn metrics(&self, page: &mut Page) -> io::Result<()> {
        let mut names: Vec<(&str, bool)> = Vec::new();
        for row in self.rows.iter().flatten() {
            if !names.iter().any(|(name, _)| *name == row.name) {
                names.push((&row.name, row.decides));
            }
        }
        let arrow = page.pick("→", "->");
        let signs = [Leaning::Worse, Leaning::Better, Leaning::Neither]
            .map(|way| (way, sign_of(way, page)));
        let sign = |way: Leaning| {
            signs
                .iter()
                .find(|(known, _)| *known == way)
                .map_or(" ", |(_, sign)| *sign)
        };
        for (name, decides) in names {
            let of = |at: usize| {
                self.rows
                    .get(at)
                    .and_then(|rows| rows.iter().find(|row| row.name == name))
            };
            let shown: Vec<&Row> = self.shown.clone().filter_map(of).collect();
            if shown.is_empty() {
                continue;
            }
            let mark = if decides {
                format!("{name} *")
            } else {
                name.to_owned()
            };
            self.row(page, &mark, |at| match of(at) {
                Some(row) if row.undefined.is_empty() => (
                    Tone::Plain,
                    format!("{} {arrow} {}", row.reference, row.candidate),
                ),
                _ => (Tone::Dim, "n/a".to_owned()),
            })?;
            if shown.iter().any(|row| !row.difference.is_empty()) {
                self.row(page, "", |at| match of(at) {
                    Some(row) if row.moved => (
                        tone_of(row.leaning),
                        format!("{} {}", sign(row.leaning), row.difference),
                    ),
                    Some(row) => (Tone::Plain, row.difference.clone()),
                    None => (Tone::Plain, String::new()),
                })?;
            }
            for (word, column) in [("", 0), ("p", 1)] {
                let cell = |row: &Row| {
                    if column == 0 {
                        row.interval.clone()
                    } else {
                        row.p.clone()
                    }
                };
                if shown.iter().any(|row| !cell(row).is_empty()) {
                    let lead = if word.is_empty() {
                        String::new()
                    } else {
                        format!("{word} ")
                    };
                    self.row(page, "", |at| {
                        match of(at).map(cell).filter(|cell| !cell.is_empty()) {
                            Some(cell) => (Tone::Dim, format!("{lead}{cell}")),
                            None => (Tone::Dim, String::new()),
                        }
                    })?;
                }
            }
        }
        Ok(())
    }

    fn cases(&self, page: &mut Page) -> io::Result<()> {
        page.blank()?;
        let count = |page: &mut Page, name: &str, of: &dyn Fn(&Comparison) -> usize, tone: Tone| {
            let counts: Vec<usize> = self.candidates.iter().map(of).collect();
            if counts.iter().all(|n| *n == 0) && name != "cases compared" {
                return Ok(());
            }
            self.row(page, name, |at| {
                let n = counts.get(at).copied().unwrap_or(0);
                (if n == 0 { Tone::Dim } else { tone }, text::group_digits(n))
            })
        };
        count(page, "cases compared", &|c| c.cases.compared, Tone::Plain)?;
        for (kind, name, tone) in [
            (Kind::Broken, "broken", Tone::Bad),
            (Kind::Fixed, "fixed", Tone::Good),
            (Kind::StillFailing, "still failing", Tone::Plain),
            (Kind::Ungraded, "without a grade", Tone::Warn),
            (Kind::Changed, "changed", Tone::Plain),
            (Kind::New, "new", Tone::Plain),
            (Kind::Gone, "gone", Tone::Plain),
        ] {
            count(page, name, &|c| kind.of(&c.cases).count, tone)?;
        }
        let drops: Vec<String> = self
            .candidates
            .iter()
            .map(|c| {
                let found = c.detectable.as_ref();
                found
                    .and_then(|d| Some(words::size(&d.metric, d.drop?)))
                    .unwrap_or_default()
            })
            .collect();
        if self
            .shown
            .clone()
            .any(|at| drops.get(at).is_some_and(|drop| !drop.is_empty()))
        {
            self.row(page, "could have found", |at| {
                (Tone::Dim, drops.get(at).cloned().unwrap_or_default())
            })?;
        }
        Ok(())
    }
}
