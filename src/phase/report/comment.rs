//! The phase report as a comment on a pull request: the Markdown report below a hidden line that
//! names the phase, cut where GitHub would not take it.

use std::io::Write;

use crate::model::PhaseReport;
use crate::report::{ReportError, comment, cut};

pub fn render(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    // A suite of the same name has a comment of its own.
    let marker = comment::marker("eval-harness phase", &report.metadata.phase_id);
    let mut page = Vec::new();
    super::markdown(report, &mut page)?;
    let room = comment::LARGEST.saturating_sub(marker.len());
    let page = cut::cut(
        &String::from_utf8_lossy(&page),
        room,
        "The report has it all.",
    );
    Ok(out.write_all(format!("{marker}{page}").as_bytes())?)
}
