//! Runs held against a reference: the verdict first, then what it rests on, then which cases
//! flipped.
//!
//! `compare` writes a whole page or the comparison as it is; the report of a run has a section of
//! it. Labels, ids, tags and notes come from outside: each form escapes them.

mod columns;
mod flips;
mod groups;
mod markdown;
mod table;
mod terminal;
pub(crate) mod words;

use std::io::{self, Write};

use crate::model::Comparisons;
use crate::report::annotations::WithoutCommands;
use crate::report::{ReportError, TerminalOptions};

pub use terminal::section as section_terminal;

pub(crate) use markdown::{brief as section_comment, section as section_markdown};

/// Writes one candidate as a page, several as a column each.
pub fn terminal(
    comparisons: &Comparisons,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    terminal::render(comparisons, options, out)
}

/// Writes GitHub-flavoured Markdown; long lists are folded.
pub fn markdown(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    WithoutCommands::write(out, |out| markdown::render(comparisons, out))
}

/// Writes Markdown of at most [`super::comment::LARGEST`] bytes, with a hidden first line that
/// names what it is about.
pub fn comment(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    markdown::comment(comparisons, out)
}

/// Writes the comparisons themselves, indented by two blanks, with a line end.
pub fn json(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let written = eval_base::json::to_writer_pretty(&mut *out, comparisons);
    written.map_err(|e| {
        if e.is_io() {
            ReportError::Io(e.into())
        } else {
            ReportError::Json(e)
        }
    })?;
    out.write_all(b"\n")?;
    Ok(())
}
