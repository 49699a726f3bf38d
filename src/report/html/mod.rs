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

/// Bytes of all data of a run's page, which is to stay below 20 MB. What is told of every case comes first: ids of great length leave
/// less room for details.
const DATA: usize = 18 << 20;

/// Writes the report of a run.
pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let decision = figures::decision_label(summary.gate.decision);
    let metadata = &summary.metadata;
    let mut sentences = vec![format!("{}: {decision} ({})", metadata.suite_name, metadata.run_id)];
    sentences.extend(summary.gate.reasons.iter().cloned());
    let head = page::Head { title: format!("{decision}: {}", metadata.suite_name), sentences: &sentences };
    let cases = cases::of(summary);
    let mut told = Vec::new();
    embed::block("report", &overview::of(summary), &mut told)?;
    embed::block("cases", &cases.columns(), &mut told)?;
    page::write(&head, out, |out| {
        out.write_all(&told)?;
        cases.write_details(DATA.saturating_sub(told.len()), out)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Outcome;
    use crate::report::tests::green;

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
        assert!((12 << 20..20_000_000).contains(&page.len()), "{}", page.len());
    }
}
