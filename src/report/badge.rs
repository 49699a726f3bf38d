//! The gate of a run as a badge: a small SVG image for a README or a merge request.
//!
//! It contains nothing but our own words and counts.

use std::io::Write;

use super::ReportError;
use super::notices::is_unsandboxed;
use crate::model::{Decision, Summary};

/// Width of a character in a sans-serif font of 11 pixels, about.
const CHARACTER: usize = 7;
/// Blank space at both ends of each half.
const MARGIN: usize = 12;
const LABEL: &str = "evals";

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let cases = &summary.summary.cases;
    let decision = summary.gate.decision;
    let mut words = format!("{}, {}/{}", decision.name(), cases.passed, cases.total);
    if is_unsandboxed(summary) {
        words.push_str(", sandbox not enforced");
    }
    let colour = match decision {
        Decision::Pass => "#2a7d32",
        Decision::Fail => "#b3261e",
        Decision::Incomplete | Decision::Pending | Decision::Undecided => "#8a5a00",
    };
    let (left, right) = (width(LABEL), width(&words));
    let whole = left + right;
    Ok(writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"{LABEL}: {words}\">\
         <title>{LABEL}: {words}</title>\
         <rect width=\"{whole}\" height=\"20\" rx=\"3\" fill=\"#444\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" rx=\"3\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{}\" y=\"14\">{LABEL}</text><text x=\"{}\" y=\"14\">{words}</text></g></svg>",
        left / 2,
        left + right / 2,
    )?)
}

fn width(text: &str) -> usize {
    text.chars().count() * CHARACTER + MARGIN
}
