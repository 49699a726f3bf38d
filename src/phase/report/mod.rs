//! The Phase Completion Report: a [`PhaseReport`](crate::model::PhaseReport) as Markdown, JSON, and for the terminal.

use std::io::Write;

use crate::model::{PhaseReport, PhaseReportFile, StepResult};
use crate::report::{ReportError, TerminalOptions};

pub fn markdown(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}", report.gate.decision.name())?)
}

pub fn json(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let file = PhaseReportFile { phase_report: report.clone() };
    serde_json::to_writer_pretty(out, &file).map_err(ReportError::Json)
}

pub fn terminal(
    report: &PhaseReport,
    _options: &TerminalOptions,
    _written: &[String],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}\n{}", report.gate.decision.name(), report.gate.reasons.join("\n"))?)
}

pub fn recommendations(_steps: &[StepResult]) -> Vec<String> {
    Vec::new()
}
