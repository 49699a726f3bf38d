//! The Phase Completion Report: Markdown, JSON, HTML and terminal over a [`PhaseReport`], and what
//! it recommends.
//!
//! Pure, as `report/` is: the same report gives the same bytes. The Markdown may be kept in git, so
//! it holds no time stamp, no duration, no run id and no absolute path.

mod figures;
mod page;
mod recommend;
mod suite;

use std::io::Write;

use crate::model::{PhaseReport, StepResult};
use crate::report::html::page as shell;
use crate::report::limits;
use crate::report::page::{PageView, html as blocks, markdown, terminal};
use crate::report::{ReportError, TerminalOptions, comment as comments, json};

/// The report for people and for git: GitHub-flavoured.
pub fn markdown(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let options = markdown::MarkdownOptions {
        deeper: 1,
        evidence: Some(limits::phase::EVIDENCE),
        ..markdown::MarkdownOptions::default()
    };
    let page = page::page(report, &PageView::markdown(), &[]);
    Ok(out.write_all(markdown::write(&page, options).as_bytes())?)
}

/// The report as a comment on a pull request: at most 60,000 bytes.
pub fn comment(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    // A suite of the same name has a comment of its own.
    let marker = comments::marker("eval-harness phase", &report.metadata.phase_id);
    let page = page::page(report, &PageView::markdown(), &[]);
    comments::write(&marker, &page, "the report contains everything", out)
}

/// The address of a run's HTML page, by its journal as the report names it; `None` where there is no
/// page to link to.
pub type PageOfRun<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The report as one HTML file, which needs nothing beside itself.
pub fn html(
    report: &PhaseReport,
    page_of: &PageOfRun<'_>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let options = blocks::HtmlOptions {
        most: limits::phase::HTML_PAGE,
        evidence: limits::phase::HTML_EVIDENCE,
        rest: "The JSON report contains everything.",
        titles: 0,
    };
    let document = shell::HtmlDocument {
        decision: report.gate.decision,
        subject: &report.metadata.name,
        version: &report.metadata.harness_version,
        main: blocks::write(&page::html(report, page_of), options),
    };
    shell::document(&document, out)
}

/// The report for machines: a `PhaseReportFile`, serialised.
pub fn json(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    json::rooted("phase_report", report, out)
}

/// One page for a terminal. `written` are the paths of what was written, in the order to show them.
pub fn terminal(
    report: &PhaseReport,
    options: &TerminalOptions,
    written: &[String],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let page = page::page(report, &PageView::terminal(options), written);
    Ok(terminal::write(&page, options, out)?)
}

/// What to do about steps that did not pass, the most pressing first: a sentence each, at most
/// ten.
pub fn recommendations(steps: &[StepResult]) -> Vec<String> {
    recommend::of_steps(steps)
}

#[cfg(test)]
mod tests;
