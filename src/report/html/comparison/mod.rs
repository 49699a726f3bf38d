//! Runs held against a reference, as a page and as a part of a run's page.
//!
//! What is said comes from [`words`], as in the other forms; raw numbers are added for drawing
//! alone.

mod candidate;
mod plots;

use serde::Serialize;
use serde_json::json;

use crate::model::{Comparison, Comparisons, Summary};
use crate::report::comparison::words::{self, Headline, Row};
use crate::report::figures;

use candidate::Candidate;

/// The block `report` of a page of comparisons.
pub(super) fn of(comparisons: &Comparisons) -> impl Serialize {
    let decision = comparisons.decision;
    let first = comparisons.candidates.first();
    json!({
        "kind": "comparison",
        "subject": first.map(words::suite).unwrap_or_default(),
        "decision": { "name": decision.name(), "label": figures::decision_label(decision), "exit_code": comparisons.exit_code },
        "fail_on": { "name": comparisons.fail_on.name(), "means": words::what_fails(comparisons.fail_on) },
        "reasons": comparisons.reasons,
        "harness_version": env!("CARGO_PKG_VERSION"),
        "method": first.map(words::method),
        "reference": first.map(|first| candidate::side(&first.reference)),
        "candidates": comparisons.candidates.iter().map(Candidate::of).collect::<Vec<_>>(),
        "overview": (comparisons.candidates.len() > 1).then(|| Columns::of(&comparisons.candidates)),
    })
}

/// What a run's page says of the run that it is compared with.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Section {
    shown: Candidate,
    /// Whether the gate looks at it.
    bearing: String,
    method: String,
    /// Where cases are that the lists leave out.
    cut: Option<&'static str>,
}

/// Absent when the run is compared with nothing.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let comparison = summary.comparison.as_deref()?;
    let shown = Candidate::of(comparison);
    Some(Section {
        bearing: words::bearing(summary.fail_on),
        method: words::method(comparison),
        cut: shown.is_cut().then_some(words::ALL_LISTED_BY),
        shown,
    })
}

/// Several candidates beside each other: a column each.
#[derive(Debug, Clone, Serialize)]
struct Columns {
    rows: Vec<ColumnsRow>,
    plots: Vec<plots::Plot>,
}

#[derive(Debug, Clone, Serialize)]
struct ColumnsRow {
    name: String,
    decides: bool,
    /// A cell for each candidate; nothing where it does not know the metric.
    cells: Vec<Option<candidate::Line>>,
}

impl Columns {
    fn of(candidates: &[Comparison]) -> Columns {
        let lines: Vec<Vec<Row>> = candidates.iter().map(words::rows).collect();
        let mut names: Vec<(&str, bool)> = Vec::new();
        for row in lines.iter().flatten() {
            if !names.iter().any(|(name, _)| *name == row.name) {
                names.push((&row.name, row.decides));
            }
        }
        let rows = names.into_iter().map(|(name, decides)| {
            let of = |rows: &Vec<Row>| {
                rows.iter()
                    .find(|row| row.name == name)
                    .map(candidate::Line::of)
            };
            ColumnsRow {
                name: name.to_owned(),
                decides,
                cells: lines.iter().map(of).collect(),
            }
        });
        Columns {
            rows: rows.collect(),
            plots: plots::across(candidates),
        }
    }
}

/// The name of a headline in the page: what it is drawn by.
fn headline_name(headline: Headline) -> &'static str {
    match headline {
        Headline::Regression => "regression",
        Headline::Improvement => "improvement",
        Headline::NoEvidence => "none",
        Headline::Undecided => "undecided",
        Headline::Untested => "untested",
    }
}
