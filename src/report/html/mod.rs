//! Reports as one HTML file each: a run, a comparison, several targets side by side. A phase is a
//! document in the same shell, see [`page::document`].
//!
//! An interactive page holds its data as JSON and draws it with the script under `assets/`, which sets texts
//! only as texts. It needs no network and no file beside itself. What people read as a number is
//! written here, by [`super::figures`]; raw numbers cross for drawing and sorting alone.

pub(crate) mod page;

mod cases;
mod comparison;
mod details;
pub(crate) mod embed;
mod overview;
mod sides;

pub use comparison::{ComparedRun, ComparedRuns, flipped_cases};
pub(super) use details::{facts_of_sample, parts_of_input};
pub use page::PageLink;

use std::io::Write;

use crate::model::{Comparisons, Summary};
use crate::report::limits::html as limits;
use crate::report::sides::RunSides;
use crate::report::{ReportError, figures};

/// Writes the report of a run.
pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    render_within(summary, &[], out)
}

/// As [`render`], with links to the pages of the server that shows it.
pub fn render_within(
    summary: &Summary,
    around: &[PageLink],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let decision = figures::decision_label(summary.gate.decision);
    let metadata = &summary.metadata;
    let mut sentences = vec![format!(
        "{}: {decision} ({})",
        metadata.suite_name, metadata.run_id
    )];
    sentences.extend(summary.gate.reasons.iter().cloned());
    let head = page::PageHead {
        title: format!("{decision}: {}", metadata.suite_name),
        sentences: &sentences,
        around,
    };
    let mut told = Vec::new();
    embed::block("report", &overview::of(summary), &mut told)?;
    let report = told.len();
    let mut most = limits::CASES;
    let cases = loop {
        let cases = cases::of(summary, most);
        told.truncate(report);
        embed::block("cases", &cases.columns(), &mut told)?;
        if told.len() <= limits::TABLE || most == 0 {
            break cases;
        }
        most = cases.len().min(most) / 2;
    };
    page::write(&head, out, |out| {
        out.write_all(&told)?;
        cases.write_details(limits::DATA.saturating_sub(told.len()), out)
    })
}

/// Writes one comparison, or several candidates against one reference.
pub fn comparison(
    comparisons: &Comparisons,
    runs: &ComparedRuns,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    comparison_within(comparisons, runs, &[], out)
}

/// As [`comparison`], with links to the pages of the server that shows it.
pub fn comparison_within(
    comparisons: &Comparisons,
    runs: &ComparedRuns,
    around: &[PageLink],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let decision = figures::decision_label(comparisons.decision);
    let head = page::PageHead {
        title: format!("{decision}: comparison"),
        sentences: &comparisons.reasons,
        around,
    };
    page::write(&head, out, |out| comparison::write(comparisons, runs, out))
}

/// Writes several runs side by side.
pub fn sides(sides: &RunSides<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let head = page::PageHead {
        title: "Side by side".to_owned(),
        sentences: &[],
        around: &[],
    };
    page::write(&head, out, |out| sides::write(sides, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EvalResult, Outcome};
    use crate::report::tests::green;

    #[test]
    fn very_long_names_leave_room_for_fewer_cases_which_is_told() {
        let mut summary = green(1);
        let eval = summary.evals[0].clone();
        let case = eval.cases[0].clone();
        let cases = (0..6_000).map(|at| crate::model::CaseResult {
            id: format!("{at} {}", "<a question as an id> ".repeat(200)),
            outcome: if at % 100 == 7 {
                Outcome::Failed
            } else {
                Outcome::Passed
            },
            ..case.clone()
        });
        let id = "long ".repeat(1_000);
        summary.evals = vec![EvalResult {
            cases: cases.collect(),
            ..eval.clone()
        }];
        // Evals of whose cases none is held take no room.
        summary.evals.extend((0..6_000).map(|at| EvalResult {
            id: format!("{id}{at}"),
            cases: Vec::new(),
            ..eval.clone()
        }));
        summary.summary.cases.total = 6_000;
        summary.summary.cases.passed = 5_930;
        let mut page = Vec::new();
        render(&summary, &mut page).expect("written");
        assert!(
            (4 << 20..20_000_000).contains(&page.len()),
            "{}",
            page.len()
        );
        let page = String::from_utf8(page).expect("UTF-8");
        assert!(page.contains(
            "This page contains 1,500 of 6,000 cases: 60 that did not pass or were flaky, and 1,440 that passed."
        ));
        // The counts that the lists stand beside have ten more.
        assert!(page.contains("10 of 70 cases that did not pass are not on this page."));
        assert!(
            page.contains(r#""more":5791"#),
            "evals that the overview leaves out"
        );
    }

    #[test]
    fn long_names_leave_less_room_for_details() {
        let mut summary = green(1);
        let one = summary.evals[0].clone();
        summary.evals = (0..4_000)
            .map(|at| {
                let mut eval = one.clone();
                eval.id = format!("{at}{}", "long ".repeat(150));
                for case in &mut eval.cases {
                    case.id.clone_from(&eval.id);
                    case.outcome = Outcome::Failed;
                    let sample = crate::report::tests::sample(Outcome::Failed, None, "no");
                    case.samples = vec![crate::model::SampleResult {
                        output: Some("no ".repeat(2_000).into()),
                        ..sample
                    }];
                }
                eval
            })
            .collect();
        let mut page = Vec::new();
        render(&summary, &mut page).expect("written");
        assert!(
            (12 << 20..20_000_000).contains(&page.len()),
            "{}",
            page.len()
        );
    }
}
