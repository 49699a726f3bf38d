//! A summary rendered as a stream of bytes: terminal, Markdown, JSON, HTML, JUnit, a comment.
//!
//! Renderers are pure. They write to what they are given, open no file and ask nothing of the
//! environment; the same summary gives the same bytes. What models, targets and data sets said is
//! hostile here: each renderer escapes it for its format.

pub mod annotations;
pub mod comment;
pub mod comparison;
pub mod cut;
pub mod differences;
pub mod figures;
mod files;
pub mod history;
pub mod html;
pub mod power;
pub mod sides;
pub mod terminal;

mod commands;
pub mod emphasis;
mod flaky;
mod json;
mod judged;
mod judges;
mod junit;
pub(crate) mod markdown;
mod models;
pub(crate) mod notices;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use crate::model::{ReportFormat, Summary};
use annotations::WithoutCommands;

pub use files::{write_report, write_reports};
pub use terminal::TerminalOptions;

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
        "a report in this format is one of a single run; terminal, markdown, json and html show several"
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
        ReportFormat::Terminal => Ok(terminal::render(
            summary,
            &TerminalOptions::default(),
            &[],
            out,
        )?),
        ReportFormat::Json => json::render(summary, out),
        ReportFormat::Markdown => WithoutCommands::write(out, |out| markdown::render(summary, out)),
        ReportFormat::Junit => WithoutCommands::write(out, |out| junit::render(summary, out)),
        // Has no commands already: what replaces them counts towards its length.
        ReportFormat::Comment => comment::render(summary, out),
        ReportFormat::Html => html::render(summary, out),
    }
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
    }
}
