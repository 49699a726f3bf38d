//! Runs held against a reference, as a page and as a part of a run's page.
//!
//! What is said comes from [`words`], as in the other forms; raw numbers are added for drawing
//! alone.

mod candidate;
mod plots;

use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde_json::{Value, json};

use super::details::{self, CaseInRuns, NOTHING, RunOfCase};
use super::embed;
use crate::model::{
    CaseFlip, CaseResult, ComparedSide, Comparison, Comparisons, EvalResult, ScoresSource, Summary,
};
use crate::report::comparison::words::{self, ComparisonRow, FlipKind};
use crate::report::limits::html as limits;
use crate::report::{ReportError, commands, figures};

/// The runs whose scores are compared, as far as they were read: what makes the rows of a page open.
#[derive(Default)]
pub struct ComparedRuns {
    pub reference: ComparedRun,
    /// One for each candidate.
    pub candidates: Vec<ComparedRun>,
}

/// The run of a side; nothing of it is known where the side is a score baseline.
#[derive(Default)]
pub struct ComparedRun {
    /// The evals with the cases that changed.
    pub evals: Vec<EvalResult>,
    /// The address of the run's own page, as this page links to it.
    pub page: Option<String>,
}

impl ComparedRun {
    fn cases(&self) -> HashMap<(&str, &str), &CaseResult> {
        let cases = self.evals.iter().flat_map(|eval| {
            let cases = eval.cases.iter();
            cases.map(|case| ((eval.id.as_str(), case.id.as_str()), case))
        });
        cases.collect()
    }
}

/// The cases that a page lists, as eval and case: what [`ComparedRun::evals`] is to have.
pub fn flipped_cases(comparisons: &Comparisons) -> HashSet<(&str, &str)> {
    let kinds = FlipKind::ALL.into_iter();
    let lists = kinds.flat_map(|kind| {
        let candidates = comparisons.candidates.iter();
        candidates.map(move |candidate| kind.of(&candidate.cases))
    });
    let flips = lists.flat_map(|list| &list.cases);
    flips
        .map(|flip| (flip.eval_id.as_str(), flip.case_id.as_str()))
        .collect()
}

/// Writes the blocks of a page of comparisons: `report`, and for the n-th candidate `flips-n-0`,
/// `flips-n-1`, ...
pub(super) fn write(
    comparisons: &Comparisons,
    runs: &ComparedRuns,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let budget = limits::DETAILS / comparisons.candidates.len().max(1);
    let before = runs.reference.cases();
    let unread = ComparedRun::default();
    let (mut shown, mut rows) = (Vec::new(), Vec::new());
    for (at, comparison) in comparisons.candidates.iter().enumerate() {
        let run = runs.candidates.get(at).unwrap_or(&unread);
        let opened = opened_rows(comparison, &before, &run.cases(), budget)?;
        let block = format!("flips-{at}");
        let sides = [&comparison.reference, &comparison.candidate];
        let baselines = sides.map(|side| matches!(side.source, ScoresSource::ScoreBaseline { .. }));
        let mut candidate = candidate::of(comparison);
        candidate["opened"] = json!({
            "block": block,
            "cut": opened.cut,
            "pages": [runs.reference.page, run.page],
            "baselines": baselines,
        });
        shown.push(candidate);
        rows.push((block, opened.json));
    }
    embed::block("report", &of(comparisons, shown), out)?;
    for (block, rows) in rows {
        details::write_chunks(&block, &rows, out)?;
    }
    Ok(())
}

/// What the rows of flips open into.
struct OpenedRows {
    /// A JSON value for each row; [`NOTHING`] where it does not open.
    json: Vec<Vec<u8>>,
    /// Rows that do not open because the page is full.
    cut: usize,
}

fn opened_rows(
    comparison: &Comparison,
    before: &HashMap<(&str, &str), &CaseResult>,
    now: &HashMap<(&str, &str), &CaseResult>,
    budget: usize,
) -> Result<OpenedRows, ReportError> {
    let sides = |(kind, flip): (FlipKind, &CaseFlip)| {
        let id = (flip.eval_id.as_str(), flip.case_id.as_str());
        (kind, [before.get(&id).copied(), now.get(&id).copied()])
    };
    let flips: Vec<(FlipKind, [RunOfCase<'_>; 2])> =
        candidate::flips(&comparison.cases).map(sides).collect();
    // What failed before and still fails comes last.
    let matters = |(kind, _): &(FlipKind, _)| *kind != FlipKind::StillFailing;
    let is_known = |sides: &[RunOfCase<'_>; 2]| sides.iter().any(Option::is_some);
    let json = |(_, sides): &(FlipKind, [RunOfCase<'_>; 2]), limit| match is_known(sides) {
        true => serde_json::to_vec(&CaseInRuns::of(sides, limit)),
        false => Ok(NOTHING.to_vec()),
    };
    let rows = details::fitted(&flips, budget, matters, json)?;
    let is_cut = |(row, (_, sides)): &(&Vec<u8>, &(FlipKind, [RunOfCase<'_>; 2]))| {
        is_known(sides) && row.as_slice() == NOTHING
    };
    let cut = rows.iter().zip(&flips).filter(is_cut).count();
    Ok(OpenedRows { json: rows, cut })
}

fn of(comparisons: &Comparisons, candidates: Vec<Value>) -> Value {
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
        "candidates": candidates,
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
        "both_outputs": both_outputs(comparison),
    }))
}

/// The command that writes the page with the outputs of both runs; `None` where a side has none.
fn both_outputs(comparison: &Comparison) -> Option<String> {
    let sides = [&comparison.reference, &comparison.candidate];
    let is_run = |side: &&ComparedSide| match &side.source {
        ScoresSource::Journals(journals) => journals.len() == 1,
        ScoresSource::ScoreBaseline { .. } => false,
    };
    let flags = ["--format", "html", "--output", "comparison.html"];
    let runs = sides.map(|side| side.run_id.as_str());
    match sides.iter().all(is_run) {
        true => commands::compare(runs.into_iter().chain(flags)),
        false => None,
    }
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
