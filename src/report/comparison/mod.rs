//! Runs held against a reference: the verdict first, then what it rests on, then which cases
//! flipped.
//!
//! `compare` writes a whole page or the comparison as it is; the report of a run has a section of
//! it. Labels, ids, tags and notes come from outside: each form escapes them.

mod page;
pub(crate) mod words;

use std::io::{self, Write};

use crate::model::Comparisons;
use crate::report::page::{PageView, markdown, terminal};
use crate::report::{ReportError, TerminalOptions, comment as comments, json};
use eval_base::text;

pub use page::section;

/// Writes one candidate as a page, several as a column each.
pub fn terminal(
    comparisons: &Comparisons,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = page::page(comparisons, &PageView::terminal(options));
    terminal::write(&page, options, out)
}

/// Writes GitHub-flavoured Markdown; long lists are folded.
pub fn markdown(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let page = page::page(comparisons, &PageView::markdown());
    let page = markdown::write(&page, markdown::MarkdownOptions::default());
    Ok(out.write_all(page.as_bytes())?)
}

/// Writes Markdown of at most [`super::comment::LARGEST`] bytes, with a hidden first line that
/// names what it is about.
pub fn comment(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let candidates = comparisons.candidates.iter().map(|one| &one.candidate);
    let suite = candidates.clone().next().map(|side| side.suite.as_str());
    let mut targets: Vec<&str> = candidates.map(|side| side.target.as_str()).collect();
    targets.dedup();
    // Not the runs: who posts it replaces the comment of the last ones.
    let about = format!("{} {}", suite.unwrap_or_default(), targets.join(" "));
    let about = text::truncate_bytes(about.trim_end(), 1_000);
    let marker = comments::marker("eval-harness comparison", about);
    let page = page::page(comparisons, &PageView::comment());
    comments::write(&marker, &page, "The comparison has all.", out)
}

/// Writes the comparisons themselves, indented by two blanks, with a line end.
pub fn json(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    json::write(comparisons, out)
}
