//! A small table on a terminal, or the knowledge that it does not fit.

use std::io;

use crate::report::terminal::page::{Page, Span, Tone, pad_left, pad_right, span};
use eval_base::text;

/// Columns that names keep however narrow the terminal is.
const NAME_AT_LEAST: usize = 14;
const GAP: usize = 2;

/// The first column holds names and gives way to the others, which are aligned to the right but for
/// those that `left` counts.
pub struct Table {
    pub head: Vec<String>,
    pub left: Vec<usize>,
    pub rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    fn widths(&self) -> Vec<usize> {
        let cells = |at: usize| {
            self.rows
                .iter()
                .filter_map(move |row| row.get(at))
                .map(|(_, cell)| cell)
        };
        let widest = |(at, head): (usize, &String)| {
            cells(at)
                .map(|cell| text::width(cell))
                .max()
                .unwrap_or(0)
                .max(text::width(head))
        };
        self.head.iter().enumerate().map(widest).collect()
    }

    /// The width of the first column when the table fits.
    fn room(&self, width: usize) -> Option<usize> {
        let widths = self.widths();
        let others: usize = widths.iter().skip(1).map(|width| width + GAP).sum();
        let name = widths.first().copied().unwrap_or(0);
        let room = width.checked_sub(others)?;
        (room >= name.min(NAME_AT_LEAST)).then_some(name.min(room))
    }

    pub fn fits(&self, page: &Page) -> bool {
        self.room(page.width()).is_some()
    }

    /// Writes the head and the rows, which are cut at the edge when the table does not fit.
    pub fn write(&self, page: &mut Page) -> io::Result<()> {
        let mut widths = self.widths();
        let room = self.room(page.width()).unwrap_or(NAME_AT_LEAST);
        if let Some(name) = widths.first_mut() {
            *name = room;
        }
        let head: Vec<(Tone, String)> = self
            .head
            .iter()
            .map(|cell| (Tone::Dim, cell.clone()))
            .collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut spans: Vec<Span> = Vec::new();
            for (at, ((tone, cell), width)) in row.iter().zip(&widths).enumerate() {
                let padded = match at {
                    0 => pad_right(
                        &text::truncate_width_with(cell, *width, page.ellipsis()),
                        *width,
                    ),
                    at if self.left.contains(&at) => format!("  {}", pad_right(cell, *width)),
                    _ => format!("  {}", pad_left(cell, *width)),
                };
                spans.push(span(*tone, padded));
            }
            page.line(&spans)?;
        }
        Ok(())
    }
}
