//! The JSON phase report: the report itself, under its root.

use std::io::Write;

use serde::Serialize;

use crate::model::PhaseReport;
use crate::report::ReportError;

/// `PhaseReportFile` without giving up the report.
#[derive(Serialize)]
struct Root<'a> {
    phase_report: &'a PhaseReport,
}

/// Writes `{"phase_report": ...}`, indented by two blanks, with a line end.
pub fn render(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let written = eval_base::json::to_writer_pretty(
        &mut *out,
        &Root {
            phase_report: report,
        },
    );
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
