//! A summary rendered as a stream of bytes: terminal, Markdown, JSON, JUnit.
//!
//! Renderers are pure. They write to what they are given, open no file and ask nothing of the environment; the same
//! summary gives the same bytes. What models, targets and data sets said is hostile here: each renderer escapes it for
//! its format.

pub mod figures;

mod json;
mod notices;
mod values;

use std::io;

use crate::model::ReportFormat;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot write the report: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write the report as JSON: {0}")]
    Json(serde_json::Error),
    #[error("cannot write the report as JUnit XML: {0}")]
    Junit(#[from] quick_junit::SerializeError),
    /// The format exists, but not in this version: worth a warning, not a failed run.
    #[error("{what} come with a later version")]
    NotAvailable { format: ReportFormat, what: &'static str },
}
