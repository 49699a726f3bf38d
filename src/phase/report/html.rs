//! The phase as an HTML page, with the shell of the reports of runs.

use std::io::Write;

use serde_json::json;

use crate::model::PhaseReport;
use crate::report::html::{embed, page};
use crate::report::{ReportError, figures};

pub(super) fn render(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = report.gate.decision;
    let label = figures::decision_label(decision);
    let head =
        page::Head { title: format!("{label}: {}", report.metadata.name), sentences: &report.gate.reasons };
    let data = json!({
        "kind": "phase",
        "subject": report.metadata.name,
        "decision": { "name": decision.name(), "label": label, "exit_code": report.gate.exit_code },
    });
    page::write(&head, out, |out| embed::block("report", &data, out))
}
