//! A summary rendered as a stream of bytes: terminal, Markdown, JSON, HTML, JUnit, a comment, a badge.
//!
//! Renderers are pure. They write to what they are given, open no file and ask nothing of the
//! environment; the same summary gives the same bytes. What models, targets and data sets said is
//! hostile here: each renderer escapes it for its format.

pub mod annotations;
mod badge;
pub mod calibration;
pub mod check;
pub mod comment;
pub mod comparison;
pub mod differences;
mod disclosure;
pub mod figures;
mod files;
pub mod history;
pub mod html;
pub(crate) mod limits;
pub mod power;
pub mod runs;
pub mod show;
pub mod sides;

mod commands;
pub mod emphasis;
mod flaky;
pub(crate) mod json;
mod judged;
mod judges;
mod junit;
mod models;
pub(crate) mod notices;
pub(crate) mod page;
mod people;
pub(crate) mod run;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, Write};

use crate::model::{Failure, Outcome, ReportFormat, Summary};
use page::PageView;
use page::markdown::MarkdownOptions;

pub use commands::resume as resume_command;
pub use files::{page_address, write_report, write_reports};
pub(crate) use files::{percent_encoded, write_file};
pub use page::lines::TerminalOptions;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot write the report: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write the report as JSON: {0}")]
    Json(serde_json::Error),
    #[error("cannot write the report as JUnit XML: {0}")]
    Junit(#[from] quick_junit::SerializeError),
    #[error(
        "a report in this format shows a single run; for several runs use terminal, markdown, json or html"
    )]
    OfOneRun,
}

/// Writes one report. [`ReportFormat::Terminal`] is written for a pipe: 80 columns, no colour.
pub fn render(
    format: ReportFormat,
    summary: &Summary,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    match format {
        ReportFormat::Terminal => Ok(terminal(summary, &TerminalOptions::default(), &[], out)?),
        ReportFormat::Json => json::rooted("eval_report", summary, out),
        ReportFormat::Markdown => {
            let page = run::page(summary, &PageView::markdown(), &[]);
            let page = page::markdown::write(&page, MarkdownOptions::default());
            Ok(out.write_all(page.as_bytes())?)
        }
        ReportFormat::Junit => junit::render(summary, out),
        ReportFormat::Comment => comment::render(summary, out),
        ReportFormat::Badge => badge::render(summary, out),
        ReportFormat::Html => html::render(summary, out),
    }
}

/// Writes the end of a run. `written` are the paths of reports, in the order to show them.
pub fn terminal(
    summary: &Summary,
    options: &TerminalOptions,
    written: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = run::page(summary, &PageView::terminal(options), written);
    page::terminal::write(&page, options, out)
}

/// Failures by eval, case and outcome: a case that failed may have errored samples too.
pub(crate) type FailureIndex<'a> = HashMap<(&'a str, &'a str, Outcome), &'a Failure>;

pub(crate) fn failures(summary: &Summary) -> FailureIndex<'_> {
    let failures = summary.failures.iter();
    failures
        .map(|f| ((f.eval_id.as_str(), f.case_id.as_str(), f.outcome), f))
        .collect()
}

/// What follows the dot of a report's file name; `None` for the terminal, which has no file.
pub fn extension(format: ReportFormat) -> Option<&'static str> {
    match format {
        ReportFormat::Terminal => None,
        ReportFormat::Json => Some("json"),
        ReportFormat::Markdown => Some("md"),
        ReportFormat::Html => Some("html"),
        ReportFormat::Junit => Some("junit.xml"),
        ReportFormat::Comment => Some("comment.md"),
        ReportFormat::Badge => Some("badge.svg"),
    }
}
