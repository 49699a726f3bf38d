//! The Phase Completion Report in Markdown.

use std::io::Write;

use crate::model::PhaseReport;
use crate::report::ReportError;

pub fn render(_report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "## Phase Completion Report")?;
    Ok(())
}
