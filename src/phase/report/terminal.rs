//! The page at the end of `phase`.

use std::io::Write;

use crate::model::PhaseReport;
use crate::report::{ReportError, TerminalOptions};

pub fn render(
    report: &PhaseReport,
    _options: &TerminalOptions,
    written: &[String],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    writeln!(out, "GATE {}", report.gate.decision.name().to_uppercase())?;
    for path in written {
        writeln!(out, "{path}")?;
    }
    Ok(())
}
