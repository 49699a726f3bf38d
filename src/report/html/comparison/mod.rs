//! Runs held against a reference, as a page and as a part of a run's page.
//!
//! What is said comes from [`words`], as in the other forms; raw numbers are added for drawing
//! alone.

mod candidate;
mod plots;

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Comparison, Comparisons, Summary};
use crate::report::comparison::words::{self, ComparisonRow};
use crate::report::figures;

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
        "candidates": comparisons.candidates.iter().map(candidate::of).collect::<Vec<_>>(),
        "overview": (comparisons.candidates.len() > 1).then(|| columns(&comparisons.candidates)),
    })
}

/// What a run's page says of the run that it is compared with; absent when it is compared with
/// nothing.
pub(super) fn section(summary: &Summary) -> Option<Value> {
    let comparison = summary.comparison.as_deref()?;
    Some(json!({
        "shown": candidate::of(comparison),
        "bearing": words::bearing(summary.fail_on),
        "method": words::method(comparison),
        "cut": candidate::is_cut(&comparison.cases).then_some(words::ALL_LISTED_BY),
    }))
}

/// Several candidates beside each other: a cell for each, nothing where it does not know the
/// metric.
fn columns(candidates: &[Comparison]) -> Value {
    let lines: Vec<Vec<ComparisonRow>> = candidates.iter().map(words::rows).collect();
    let mut names: Vec<(&str, bool)> = Vec::new();
    for row in lines.iter().flatten() {
        if !names.iter().any(|(name, _)| *name == row.name) {
            names.push((&row.name, row.decides));
        }
    }
    let row = |(name, decides): (&str, bool)| {
        let cells = lines
            .iter()
            .map(|rows| rows.iter().find(|row| row.name == name));
        json!({ "name": name, "decides": decides, "cells": cells.collect::<Vec<_>>() })
    };
    json!({
        "rows": names.into_iter().map(row).collect::<Vec<_>>(),
        "plots": plots::across(candidates),
    })
}
