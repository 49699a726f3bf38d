//! Pages on a terminal.

use std::io::{self, Write};

use super::grid::{GAP, Grid, end_of};
use super::lines::{TerminalLines, TerminalOptions, TonedPieces, pad_right, width_of};
use super::{
    FailureEvidence, ListItem, ListMark, NarrowLayout, Page, PageBlock, PageNotice, PageSection,
    PageTable, SpanContent, StyledText, TableRow, TextTone, bold, dim, outside, own, plain, span,
    text,
};
use crate::report::differences::DifferenceSide;
use crate::report::limits;
use crate::report::values::{Excerpt, LineKind, ShownValues};
use eval_base::text::{plural, sanitize};
use unicode_width::UnicodeWidthChar as _;

/// Columns of a label, at most.
const LABEL: usize = 24;
const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const PLAIN_BARS: [&str; 8] = ["_", ".", ":", "-", "=", "+", "*", "#"];

pub fn write(page: &Page, options: &TerminalOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = TerminalWriter {
        lines: TerminalLines::new(out, options),
        spaced: true,
    };
    writer.blocks(&page.blocks, 2)
}

struct TerminalWriter<'a> {
    lines: TerminalLines<'a>,
    /// Nothing was written since the last blank line.
    spaced: bool,
}

/// A line of code in rows of at most `room` columns.
fn broken(line: &str, room: usize) -> Vec<&str> {
    let (mut rows, mut from, mut taken) = (Vec::new(), 0, 0);
    for (at, c) in line.char_indices() {
        let columns = c.width().unwrap_or(0);
        if taken + columns > room {
            rows.push(&line[from..at]);
            (from, taken) = (at, 0);
        }
        taken += columns;
    }
    rows.push(&line[from..]);
    rows
}

fn margin(columns: usize) -> TonedPieces {
    vec![(TextTone::Plain, " ".repeat(columns))]
}

impl TerminalWriter<'_> {
    /// Blocks with their texts so far from the edge, and their titles two columns less.
    fn blocks(&mut self, blocks: &[PageBlock], indent: usize) -> io::Result<()> {
        let mut at = 0;
        while let Some(block) = blocks.get(at) {
            at += 1;
            match (block, blocks.get(at)) {
                (PageBlock::Heading(_, title), Some(PageBlock::Table(table))) => {
                    self.table(table, Some(title), indent)?;
                    at += 1;
                }
                _ => self.block(block, indent)?,
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &PageBlock, indent: usize) -> io::Result<()> {
        match block {
            PageBlock::Heading(_, title) => {
                self.space()?;
                self.title(title, indent - 2)
            }
            PageBlock::Lead(text) => self.hanging(indent - 2, text),
            PageBlock::Words(text) => self.wrapped(margin(indent), text),
            PageBlock::Facts(facts) => self.facts(facts, indent),
            PageBlock::Notice(notice) => self.notice(notice, indent - 2),
            PageBlock::Table(table) => self.table(table, None, indent),
            PageBlock::List(items) => self.list(items, indent),
            PageBlock::Evidence(evidence) => self.evidence(evidence, indent),
            PageBlock::Code { label, text, .. } => {
                if !label.is_empty() {
                    self.wrapped(margin(indent), &dim(label.clone()))?;
                }
                self.code(text, indent)
            }
            PageBlock::Diff(lines) => lines.iter().try_for_each(|line| {
                self.spaced = false;
                let mut pieces = margin(indent);
                pieces.extend(self.lines.pieces(&line.0));
                self.lines.uncut(pieces)
            }),
            PageBlock::Copy(label, text) => {
                self.spaced = false;
                let label = pad_right(label, 9);
                self.lines
                    .uncut(self.lines.pieces(&[plain(label), plain(text)]))
            }
            PageBlock::Part(part) => match part.blocks.split_first() {
                Some((PageBlock::Table(table), rest)) => {
                    self.table(table, Some(&part.title), indent + 2)?;
                    self.blocks(rest, indent + 2)
                }
                _ => {
                    self.space()?;
                    self.title(&part.title, indent)?;
                    self.blocks(&part.blocks, indent + 2)
                }
            },
            PageBlock::Fill(blocks, more, noun) => self.filled(blocks, *more, noun, indent),
            PageBlock::Bounded(blocks) => self.blocks(blocks, indent),
            PageBlock::Bars(label, rates) => self.bars(label, rates, indent),
            PageBlock::Gap => self.space(),
        }
    }

    /// As many of the blocks as a screen has room for, all with `--verbose`; of the next ones the
    /// titles.
    fn filled(
        &mut self,
        blocks: &[PageBlock],
        more: usize,
        noun: &str,
        indent: usize,
    ) -> io::Result<()> {
        let mut room = match self.lines.verbose() {
            true => usize::MAX,
            false => limits::terminal::FILLED,
        };
        let mut rest = blocks;
        while let Some((block, after)) = rest.split_first() {
            let height = self.lines.height(|lines| {
                TerminalWriter {
                    lines,
                    spaced: false,
                }
                .block(block, indent)
            })?;
            if height > room && rest.len() < blocks.len() {
                break;
            }
            self.block(block, indent)?;
            room = room.saturating_sub(height);
            rest = after;
        }
        let parts = rest.iter().filter_map(|block| match block {
            PageBlock::Part(part) => Some(part),
            _ => None,
        });
        let parts: Vec<&PageSection> = parts.take(limits::terminal::NAMED).collect();
        if !parts.is_empty() {
            self.space()?;
        }
        for part in &parts {
            self.named(part, indent)?;
        }
        let more = more + rest.len() - parts.len();
        if more > 0 {
            self.space()?;
            let more = plural(more, &format!("more {noun}"));
            let more = dim(own(format!("... and {more}; {}", self.lines.rest())));
            self.wrapped(margin(indent), &more)?;
        }
        Ok(())
    }

    /// The title of a part, and what fits beside it of the words that are not dim: in a list of
    /// failures, the reason.
    fn named(&mut self, part: &PageSection, indent: usize) -> io::Result<()> {
        let reason = part.blocks.iter().find_map(|block| match block {
            PageBlock::Words(words) => words.0.iter().find(|span| span.tone != TextTone::Dim),
            _ => None,
        });
        let mut line = margin(indent);
        line.extend(self.lines.pieces(&part.title.0));
        let room = self.lines.width().saturating_sub(width_of(&line));
        let Some(reason) = reason.filter(|_| room >= LABEL) else {
            return self.hanging(indent, &part.title);
        };
        line.push((TextTone::Plain, "  ".to_owned()));
        line.extend(self.lines.pieces(&dim(StyledText(vec![reason.clone()])).0));
        let line = self.lines.cut(line, self.lines.width());
        self.write(line)
    }

    /// A blank line, unless there is one.
    fn space(&mut self) -> io::Result<()> {
        if !self.spaced {
            self.lines.blank()?;
            self.spaced = true;
        }
        Ok(())
    }

    fn title(&mut self, title: &StyledText, indent: usize) -> io::Result<()> {
        self.hanging(indent, &bold(title.clone()))
    }

    fn write(&mut self, pieces: TonedPieces) -> io::Result<()> {
        self.spaced = false;
        self.lines.write(pieces)
    }

    fn wrapped(&mut self, first: TonedPieces, text: &StyledText) -> io::Result<()> {
        self.spaced = false;
        let most = match self.lines.verbose() {
            true => limits::terminal::LINES_VERBOSE,
            false => limits::terminal::LINES,
        };
        let indent = width_of(&first);
        let mut first = Some(first);
        for line in text.0.split(|span| span.content == SpanContent::Break) {
            let first = first.take().unwrap_or_else(|| margin(indent));
            self.lines
                .wrapped(first, &StyledText(line.to_vec()), most)?;
        }
        Ok(())
    }

    /// A paragraph whose lines but the first have a margin of two columns more.
    fn hanging(&mut self, indent: usize, text: &StyledText) -> io::Result<()> {
        self.spaced = false;
        self.lines
            .hanging(margin(indent), indent + 2, text, limits::terminal::LINES)
    }

    fn facts(&mut self, facts: &[(StyledText, StyledText)], indent: usize) -> io::Result<()> {
        let labels: Vec<TonedPieces> = facts
            .iter()
            .map(|(label, _)| self.lines.pieces(&dim(label.clone()).0))
            .collect();
        let column = labels.iter().map(width_of).max().unwrap_or(0).min(LABEL);
        for (label, (_, text)) in labels.into_iter().zip(facts) {
            let mut first = margin(indent);
            first.extend(self.fitted(label, column, false));
            first.push((TextTone::Plain, "  ".to_owned()));
            self.wrapped(first, text)?;
        }
        Ok(())
    }

    fn notice(&mut self, notice: &PageNotice, indent: usize) -> io::Result<()> {
        let (mark, tone) = if notice.loud {
            ("!! ", TextTone::Alarm)
        } else {
            ("!  ", TextTone::Warn)
        };
        let mut first = margin(indent);
        first.push((tone, mark.to_owned()));
        self.wrapped(first, &outside(&notice.headline).toned(tone))?;
        for note in &notice.notes {
            let mut first = margin(indent + 3);
            first.push((TextTone::Plain, "- ".to_owned()));
            self.wrapped(first, &outside(note).toned(TextTone::Warn))?;
        }
        Ok(())
    }

    fn list(&mut self, items: &[ListItem], indent: usize) -> io::Result<()> {
        for (at, item) in items.iter().enumerate() {
            let mut first = margin(indent);
            match &item.mark {
                ListMark::Dash => first.push((TextTone::Plain, "- ".to_owned())),
                ListMark::Number => first.push((TextTone::Plain, format!("{}. ", at + 1))),
                ListMark::Box(ticked) => {
                    let mark = if *ticked { "[x] " } else { "[ ] " };
                    first.push((TextTone::Plain, mark.to_owned()));
                }
                ListMark::Sign(sign) => {
                    first.extend(self.lines.pieces(&sign.0));
                    first.push((TextTone::Plain, " ".to_owned()));
                }
            }
            let below = width_of(&first);
            self.wrapped(first, &item.text)?;
            self.blocks(&item.below, below)?;
        }
        Ok(())
    }

    fn code(&mut self, text: &str, indent: usize) -> io::Result<()> {
        let bar = self.lines.pick("│ ", "| ");
        let room = self.lines.width().saturating_sub(indent + 2).max(20);
        for line in sanitize(text).lines() {
            for row in broken(line, room) {
                let mut pieces = margin(indent);
                pieces.push((TextTone::Dim, bar.to_owned()));
                pieces.extend(self.lines.pieces(&[plain(row)]));
                self.write(pieces)?;
            }
        }
        Ok(())
    }

    /// A bar for each rate, the full one only for 1, so that nothing looks better than it is; of
    /// neighbours the mean where they are more than there is room.
    fn bars(&mut self, label: &StyledText, rates: &[Option<f64>], indent: usize) -> io::Result<()> {
        let mut pieces = margin(indent);
        pieces.extend(self.lines.pieces(&label.0));
        pieces.extend(margin(3));
        let room = self.lines.width().saturating_sub(width_of(&pieces) + 1);
        let (bars, none) = self.lines.pick((BARS, "·"), (PLAIN_BARS, " "));
        let bar = |rate: &Option<f64>| match rate {
            Some(rate) => bars[((rate.clamp(0.0, 1.0) * 7.0) as usize).min(7)],
            None => none,
        };
        let shown: String = squeezed(rates, room).iter().map(bar).collect();
        pieces.push((TextTone::Plain, shown));
        self.write(pieces)?;
        match rates.len() > room {
            true => self.wrapped(margin(indent), &dim("each bar is the mean of several runs")),
            false => Ok(()),
        }
    }

    // Expected against actual.

    fn evidence(&mut self, evidence: &FailureEvidence, indent: usize) -> io::Result<()> {
        match evidence {
            FailureEvidence::ByPath(rows) => {
                self.legend(indent)?;
                for row in &rows.rows {
                    let note = match row.note.as_str() {
                        "" => String::new(),
                        note => format!("  {note}"),
                    };
                    let mut pieces = margin(indent);
                    pieces.push((TextTone::Bold, row.path.clone()));
                    pieces.push((TextTone::Dim, note));
                    self.write(pieces)?;
                    self.place('-', TextTone::Good, row.expected.as_ref(), indent)?;
                    self.place('+', TextTone::Bad, row.actual.as_ref(), indent)?;
                }
                self.left_out(evidence, indent)
            }
            FailureEvidence::Values(ShownValues::Sides { expected, actual }) => {
                self.side("expected", TextTone::Good, expected.as_ref(), indent)?;
                self.side("actual", TextTone::Bad, actual.as_ref(), indent)
            }
            FailureEvidence::Values(ShownValues::Diff { lines, .. }) => {
                self.legend(indent)?;
                for line in lines {
                    let (sign, tone) = match line.kind {
                        LineKind::Same => (" ", TextTone::Plain),
                        LineKind::Missing => ("-", TextTone::Good),
                        LineKind::Extra => ("+", TextTone::Bad),
                        LineKind::Gap => (self.lines.pick("⋯", ":"), TextTone::Dim),
                    };
                    let text = StyledText::marked(tone, &line.text, &line.marks);
                    self.after(margin(indent), tone, &format!("{sign} "), &text)?;
                }
                self.left_out(evidence, indent)
            }
            FailureEvidence::Values(ShownValues::Nothing) => Ok(()),
        }
    }

    /// One line whose blanks count.
    fn after(
        &mut self,
        mut lead: TonedPieces,
        tone: TextTone,
        sign: &str,
        text: &StyledText,
    ) -> io::Result<()> {
        lead.push((tone, sign.to_owned()));
        lead.extend(self.lines.pieces(&text.0));
        self.write(lead)
    }

    fn legend(&mut self, indent: usize) -> io::Result<()> {
        let mut pieces = margin(indent);
        pieces.push((TextTone::Good, "- expected".to_owned()));
        pieces.push((TextTone::Plain, "  ".to_owned()));
        pieces.push((TextTone::Bad, "+ actual".to_owned()));
        self.write(pieces)
    }

    fn place(
        &mut self,
        sign: char,
        tone: TextTone,
        side: Option<&DifferenceSide>,
        indent: usize,
    ) -> io::Result<()> {
        let Some(side) = side else { return Ok(()) };
        let text = StyledText::marked(tone, &side.text, &side.marks);
        let sign = format!("{sign} ");
        if !self.lines.verbose() {
            return self.after(margin(indent + 2), tone, &sign, &text);
        }
        let mut first = margin(indent + 2);
        first.push((tone, sign));
        self.spaced = false;
        self.lines
            .wrapped(first, &text, limits::terminal::SIDE_LINES)
    }

    fn side(
        &mut self,
        label: &str,
        tone: TextTone,
        side: Option<&Excerpt>,
        indent: usize,
    ) -> io::Result<()> {
        let Some(side) = side else { return Ok(()) };
        let label = pad_right(label, 10);
        let text = StyledText::marked(tone, &side.text, &side.marks);
        if side.text.contains('\n') {
            self.after(
                margin(indent),
                TextTone::Dim,
                &label,
                &StyledText::default(),
            )?;
            for line in side.text.lines() {
                let line = StyledText::from(span(tone, line));
                self.after(margin(indent + 2), tone, "", &line)?;
            }
        } else if side.text.trim() == side.text && !side.text.contains("  ") {
            let mut first = margin(indent);
            first.push((TextTone::Dim, label));
            self.spaced = false;
            self.lines
                .wrapped(first, &text, limits::terminal::SIDE_LINES)?;
        } else {
            // Words must not be moved where blanks count.
            self.after(margin(indent), TextTone::Dim, &label, &text)?;
        }
        if side.more > 0 {
            let more = eval_base::text::plural(side.more, "more line");
            self.more(&more, indent + 2)?;
        }
        Ok(())
    }

    fn left_out(&mut self, evidence: &FailureEvidence, indent: usize) -> io::Result<()> {
        match evidence.more() {
            Some(more) => self.more(&more, indent + 2),
            None => Ok(()),
        }
    }

    fn more(&mut self, more: &str, indent: usize) -> io::Result<()> {
        let dots = self.lines.ellipsis();
        let rest = match self.lines.verbose() {
            true => "the JSON report contains everything",
            false => self.lines.rest(),
        };
        let mut pieces = margin(indent);
        pieces.push((TextTone::Dim, format!("{dots} {more}; {rest}")));
        self.write(pieces)
    }

    // Tables.

    /// A table whose rows begin at a margin. Its title is two columns further left, in the line
    /// of its heads, where there is room for it.
    fn table(
        &mut self,
        table: &PageTable,
        title: Option<&StyledText>,
        indent: usize,
    ) -> io::Result<()> {
        self.space()?;
        let grid = Grid::new(table, title, indent, &self.lines);
        match (grid.fitted(self.lines.width()), table.narrow) {
            (Some(grid), _) => self.grid(&grid, indent),
            (None, _) if title.is_some() => {
                // Perhaps it is the title that does not fit.
                if let Some(title) = title {
                    self.title(title, indent - 2)?;
                }
                self.spaced = true;
                let result = self.table(table, None, indent);
                self.spaced = false;
                result
            }
            (None, NarrowLayout::Split) => {
                for (at, part) in grid.parts(self.lines.width()).iter().enumerate() {
                    if at > 0 {
                        self.space()?;
                    }
                    self.grid(part, indent)?;
                }
                Ok(())
            }
            (None, NarrowLayout::Facts) => table
                .rows
                .iter()
                .try_for_each(|row| self.sentence(table, row, indent)),
        }
    }

    fn grid(&mut self, grid: &Grid, indent: usize) -> io::Result<()> {
        if grid.columns.iter().any(|column| width_of(&column.head) > 0) {
            let lead = if grid.titled { 2 } else { 0 };
            let mut pieces = margin(indent - lead);
            for (at, column) in grid.columns.iter().enumerate() {
                let room = column.width + if at == 0 { lead } else { 0 };
                let head = match column.of.keeps_end {
                    true => end_of(column.head.clone(), room, self.lines.ellipsis()),
                    false => column.head.clone(),
                };
                pieces.extend(self.fitted(head, room, column.of.right));
                pieces.extend(margin(GAP));
            }
            self.write(pieces)?;
        }
        for row in &grid.rows {
            let height = row.cells.iter().map(Vec::len).max().unwrap_or(0);
            if row.is_title {
                let mut pieces = margin(indent - 2);
                pieces.extend(row.cells.iter().flatten().flatten().cloned());
                self.write(pieces)?;
                continue;
            }
            for line in 0..height {
                let mut pieces = margin(indent);
                let noted = !row.note.is_empty();
                for (at, column) in grid.columns.iter().enumerate() {
                    let mut rest = row.cells.iter().skip(at).flatten();
                    if noted && rest.all(|cell| width_of(cell) == 0) {
                        break;
                    }
                    let cell = row.cells.get(at).and_then(|cell| cell.get(line)).cloned();
                    let mut cell = cell.unwrap_or_default();
                    if column.of.keeps_end {
                        cell = end_of(cell, column.width, "");
                    }
                    pieces.extend(self.fitted(cell, column.width, column.of.right));
                    pieces.extend(margin(GAP));
                }
                if noted {
                    self.wrapped(pieces, &dim(row.note.clone()))?;
                } else {
                    self.write(pieces)?;
                }
            }
        }
        Ok(())
    }

    /// Pieces of exactly so many columns.
    fn fitted(&self, pieces: TonedPieces, columns: usize, right: bool) -> TonedPieces {
        let mut pieces = self.lines.cut(pieces, columns);
        let blanks = " ".repeat(columns.saturating_sub(width_of(&pieces)));
        pieces.insert(
            if right { 0 } else { pieces.len() },
            (TextTone::Plain, blanks),
        );
        pieces
    }

    /// A row where no table fits.
    fn sentence(&mut self, table: &PageTable, row: &TableRow, indent: usize) -> io::Result<()> {
        let Some((name, cells)) = row.cells.split_first() else {
            return Ok(());
        };
        if cells.is_empty() {
            return self.title(name, indent - 2);
        }
        let facts = cells.iter().zip(table.columns.iter().skip(1));
        let facts = facts.filter(|(cell, _)| !cell.is_empty());
        let facts = facts.map(|(cell, column)| match column.head.is_empty() {
            true => cell.clone(),
            false => text![dim(column.head.clone().uncapital()), " ", cell.clone()],
        });
        let facts = facts.chain(Some(row.note.clone()).filter(|note| !note.is_empty()));
        let facts = StyledText::joined(facts, ", ");
        let between = if facts.is_empty() { "" } else { ": " };
        self.hanging(indent, &text![name.clone(), between, facts])
    }
}

/// As many rates as there are columns: of neighbours the mean.
fn squeezed(rates: &[Option<f64>], columns: usize) -> Vec<Option<f64>> {
    let columns = columns.max(1);
    if rates.len() <= columns {
        return rates.to_vec();
    }
    let mean = |column: usize| {
        let (from, to) = (column * rates.len(), (column + 1) * rates.len());
        let part = rates.get(from / columns..to / columns)?;
        let known: Vec<f64> = part.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    (0..columns).map(mean).collect()
}
