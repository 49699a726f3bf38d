//! Reports as one HTML file each: a run, a comparison, several targets side by side; `phase/` makes its page with the same shell.
//!
//! A page holds its data as JSON and draws it with the script under `assets/`, which sets texts only as texts. It needs no network
//! and no file beside itself. What people read as a number is written here, by [`super::figures`]; raw numbers cross for drawing and
//! sorting alone.

pub(crate) mod embed;
pub(crate) mod page;

mod cases;
mod comparison;
mod details;
mod overview;
mod sides;

use std::io::Write;

use crate::model::{Comparisons, Summary};
use crate::report::sides::Sides;
use crate::report::{ReportError, figures};

/// Writes the report of a run.
pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = figures::decision_label(summary.gate.decision);
    let metadata = &summary.metadata;
    let mut sentences = vec![format!("{}: {decision} ({})", metadata.suite_name, metadata.run_id)];
    sentences.extend(summary.gate.reasons.iter().cloned());
    let head = page::Head { title: format!("{decision}: {}", metadata.suite_name), sentences: &sentences };
    let cases = cases::of(summary);
    page::write(&head, out, |out| {
        embed::block("report", &overview::of(summary), out)?;
        embed::block("cases", &cases.columns(), out)?;
        cases.write_details(out)
    })
}

/// Writes one comparison, or several candidates against one reference.
pub fn comparison(comparisons: &Comparisons, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = figures::decision_label(comparisons.decision);
    let head = page::Head { title: format!("{decision}: comparison"), sentences: &comparisons.reasons };
    page::write(&head, out, |out| embed::block("report", &comparison::of(comparisons), out))
}

/// Writes several runs side by side.
pub fn sides(sides: &Sides<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let head = page::Head { title: "Side by side".to_owned(), sentences: &[] };
    page::write(&head, out, |out| embed::block("report", &sides::of(sides), out))
}
