//! The JSON report: the summary itself.

use std::io::Write;

use serde::Serialize;

use crate::model::Summary;
use crate::report::ReportError;
use eval_base::json;

/// `ReportFile` without giving up the summary.
#[derive(Serialize)]
struct Root<'a> {
    eval_report: &'a Summary,
}

/// Writes `{"eval_report": ...}`, indented by two blanks, with a line end.
pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let written = json::to_writer_pretty(
        &mut *out,
        &Root {
            eval_report: summary,
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
