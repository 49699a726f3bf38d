//! Tables of a terminal: columns with their widths, cut or split where they don't fit.

use std::collections::BTreeSet;

use super::lines::{TerminalLines, TonedPieces, width_of};
use super::{PageTable, StyledText, TableColumn, TableRow, TextTone, bold, dim};
use eval_base::text::width;

/// Blanks between columns.
pub(super) const GAP: usize = 2;
/// Columns of the end of a long head: `2026-01-03/run-093000`.
const HEAD_END: usize = 21;
/// Columns of a cell in a row of tables that stand below each other.
const SPLIT_CELL: usize = 8;

/// A table as one terminal shows it.
#[derive(Clone)]
pub(super) struct Grid<'a> {
    pub titled: bool,
    pub indent: usize,
    pub columns: Vec<GridColumn<'a>>,
    pub rows: Vec<GridRow>,
}

#[derive(Clone)]
pub(super) struct GridColumn<'a> {
    pub of: &'a TableColumn,
    pub head: TonedPieces,
    pub width: usize,
    /// How narrow it may become.
    least: Option<usize>,
}

#[derive(Clone)]
pub(super) struct GridRow {
    /// Lines of each cell.
    pub cells: Vec<Vec<TonedPieces>>,
    pub is_title: bool,
    pub note: StyledText,
}

impl<'a> Grid<'a> {
    pub fn new(
        table: &'a PageTable,
        title: Option<&StyledText>,
        indent: usize,
        lines: &TerminalLines,
    ) -> Grid<'a> {
        let shown = table.shown();
        let row = |row: &TableRow| GridRow {
            is_title: row.cells.len() == 1,
            cells: match row.cells.as_slice() {
                [title] => vec![lines.cell(&bold(title.clone()))],
                cells => shown
                    .iter()
                    .filter_map(|at| cells.get(*at))
                    .map(|cell| lines.cell(cell))
                    .collect(),
            },
            note: row.note.clone(),
        };
        let rows: Vec<GridRow> = table.rows.iter().map(row).collect();
        let column = |(at, of): (usize, &usize)| {
            let of = &table.columns[*of];
            let title = title.filter(|_| at == 0);
            let head = match title {
                Some(title) => bold(title.clone()),
                None => dim(of.head.clone()),
            };
            let head = lines.pieces(&head.0);
            let cells = rows
                .iter()
                .filter(|row| !row.is_title)
                .filter_map(|row| row.cells.get(at));
            let widest = cells.flatten().map(width_of).max().unwrap_or(0);
            // The title begins two columns further left.
            let offset = if title.is_some() { 2 } else { 0 };
            // The beginning of a long head may go.
            let end = HEAD_END + width(lines.ellipsis());
            let least = of.least.or(of.keeps_end.then_some(widest.max(end)));
            GridColumn {
                of,
                least,
                width: widest.max(width_of(&head).saturating_sub(offset)),
                head,
            }
        };
        Grid {
            titled: title.is_some(),
            indent,
            columns: shown.iter().enumerate().map(column).collect(),
            rows,
        }
    }

    fn total(&self) -> usize {
        let columns = self.columns.iter().map(|column| column.width + GAP);
        self.indent + columns.sum::<usize>() - GAP
    }

    /// The grid within a width: columns that may be cut give way first, of them those that may be
    /// left out, then the widest; at last columns are left out.
    pub fn fitted(&self, width: usize) -> Option<Grid<'a>> {
        let mut whole = self.clone();
        loop {
            let mut grid = whole.clone();
            while grid.total() > width {
                let may = grid.columns.iter_mut().rev();
                let may =
                    may.filter(|column| column.least.is_some_and(|least| column.width > least));
                match may.max_by_key(|column| (column.of.optional, column.width)) {
                    Some(widest) => widest.width -= 1,
                    None => break,
                }
            }
            if grid.total() <= width {
                // A title that had to be cut needs a line of its own.
                let first = grid.columns.first();
                let cut = grid.titled
                    && first.is_some_and(|first| width_of(&first.head) > first.width + 2);
                return (!cut && !grid.confuses_heads()).then_some(grid);
            }
            let last = whole
                .columns
                .iter()
                .rposition(|column| column.of.optional)?;
            whole.remove(last);
        }
    }

    /// Whether heads that differ have the same end where they are cut.
    fn confuses_heads(&self) -> bool {
        let is_cut = |column: &&GridColumn| width_of(&column.head) > column.width;
        let ends = self.columns.iter().filter(|column| column.of.keeps_end);
        let cut: Vec<&GridColumn> = ends.filter(is_cut).collect();
        let least = cut.iter().map(|column| column.width).min().unwrap_or(0);
        let heads = |columns: usize| -> BTreeSet<String> {
            let head = |column: &&GridColumn| end_of(column.head.clone(), columns, "");
            let text = |pieces: TonedPieces| pieces.into_iter().map(|(_, text)| text).collect();
            cut.iter().map(head).map(text).collect()
        };
        heads(least).len() < heads(usize::MAX).len()
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        for row in self.rows.iter_mut().filter(|row| !row.is_title) {
            row.cells.remove(at);
        }
    }

    /// Grids of as many columns as fit each, with the first column.
    pub fn parts(&self, width: usize) -> Vec<Grid<'a>> {
        let mut parts = Vec::new();
        let half = (width / 2).saturating_sub(self.indent).max(SPLIT_CELL);
        let name = self
            .columns
            .first()
            .map_or(0, |column| column.width)
            .min(half);
        let all = width.saturating_sub(self.indent + name);
        let mut from = 1;
        while from < self.columns.len() {
            let (mut room, mut to) = (all, from);
            while let Some(left) = self
                .columns
                .get(to)
                .and_then(|column| room.checked_sub(column.width + GAP))
            {
                (room, to) = (left, to + 1);
            }
            let to = to.max(from + 1);
            let mut part = self.clone();
            for at in (1..self.columns.len())
                .rev()
                .filter(|at| !(from..to).contains(at))
            {
                part.remove(at);
            }
            for (at, column) in part.columns.iter_mut().enumerate() {
                let most = if at == 0 {
                    name
                } else {
                    all.saturating_sub(GAP).max(1)
                };
                column.width = column.width.min(most);
            }
            parts.push(part);
            from = to;
        }
        parts
    }
}

/// The end of a text that is longer than so many columns, behind a mark.
pub(super) fn end_of(pieces: TonedPieces, columns: usize, mark: &str) -> TonedPieces {
    let whole = width_of(&pieces);
    if whole <= columns {
        return pieces;
    }
    let mut drop = whole - columns.saturating_sub(width(mark));
    let mut kept = vec![(TextTone::Dim, mark.to_owned())];
    for (tone, text) in pieces {
        let head = eval_base::text::prefix_of_width(&text, drop);
        drop -= width(head).min(drop);
        kept.push((tone, text[head.len()..].to_owned()));
    }
    kept
}
