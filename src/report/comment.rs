//! The report as a comment on a pull request: short, and whole whatever the run was.
//!
//! GitHub refuses a comment of more than 65,536 characters; these have at most [`LARGEST`] bytes. A
//! hidden first line names what the comment is about, so that who posts it finds the one of the
//! last time and replaces it. Nothing that a model or a data set said mentions anybody, refers to
//! an issue, or is markup.

use std::io::Write;

use super::page::markdown::{self, MarkdownOptions};
use super::page::{Page, PageView};
use super::{ReportError, run};
use crate::model::Summary;
use eval_base::text;

/// Bytes of a comment.
pub const LARGEST: usize = 60_000;

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let marker = marker("eval-harness", &summary.metadata.suite_name);
    let page = run::page(summary, &PageView::comment(), &[]);
    write(&marker, &page, "The report has all.", out)
}

/// Writes a page below the hidden line that names it. `rest` says where the whole is.
pub fn write(
    marker: &str,
    page: &Page,
    rest: &'static str,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let options = MarkdownOptions {
        deeper: 1,
        most: Some(LARGEST - marker.len()),
        rest,
        ..MarkdownOptions::default()
    };
    let page = markdown::write(page, options);
    Ok(out.write_all(format!("{marker}{page}").as_bytes())?)
}

/// The hidden line by which a bot knows its own comment, with its line end: whose it is, and what
/// it is about. The name is written as in file names, so that no name ends the line early.
pub fn marker(whose: &str, about: &str) -> String {
    let name = text::escape_path_component(about).replace("--", "-%2D");
    format!("<!-- {whose}: {name} -->\n")
}
