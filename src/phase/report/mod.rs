//! The Phase Completion Report: Markdown, JSON, HTML and terminal over a [`PhaseReport`], and what
//! it recommends.
//!
//! Pure, as `report/` is: the same report gives the same bytes. The Markdown may be kept in git, so
//! it holds no time stamp, no duration, no run id and no absolute path.

mod comment;
mod html;
mod json;
mod markdown;
mod recommend;
mod terminal;

use std::io::Write;

use crate::model::{PhaseReport, StepResult};
use crate::report::annotations::WithoutCommands;
use crate::report::{ReportError, TerminalOptions};

/// The report for people and for git: GitHub-flavoured.
pub fn markdown(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    WithoutCommands::write(out, |out| markdown::render(report, out))
}

/// The report as a comment on a pull request: at most 60,000 bytes.
pub fn comment(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    comment::render(report, out)
}

/// The report as one HTML file, which needs nothing beside itself.
pub fn html(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    html::render(report, out)
}

/// The report for machines: a `PhaseReportFile`, serialised.
pub fn json(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    json::render(report, out)
}

/// One page for a terminal. `written` are the paths of what was written, in the order to show them.
pub fn terminal(
    report: &PhaseReport,
    options: &TerminalOptions,
    written: &[String],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    terminal::render(report, options, written, out)
}

/// What to do about steps that did not pass, the most pressing first: a sentence each, at most
/// ten.
pub fn recommendations(steps: &[StepResult]) -> Vec<String> {
    recommend::of_steps(steps)
}

#[cfg(test)]
mod tests;
