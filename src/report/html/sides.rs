//! Runs of one suite on several targets, side by side.

use std::io::Write;

use serde_json::{Value, json};

use super::details::{self, CaseInRuns, NOTHING};
use super::embed;
use crate::model::{Outcome, Summary};
use crate::report::ReportError;
use crate::report::figures::{self, FigureUnit};
use crate::report::limits::html as limits;
use crate::report::sides::{CaseLine, EvalLine, RunSides};
use eval_base::text;

/// What the blocks of the cases that differ begin with.
const BLOCK: &str = "differing";

/// Writes the blocks of a page of several runs: `report`, and of the cases that differ
/// `differing-0`, `differing-1`, ...
pub(super) fn write(sides: &RunSides<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let cases = sides.cases();
    let lines = cases.as_deref().unwrap_or_default();
    let json = |line: &CaseLine<'_>, limit| serde_json::to_vec(&CaseInRuns::of(&line.runs, limit));
    let rows = details::fitted(lines, limits::DETAILS, |_| true, json)?;
    let cut = rows.iter().filter(|row| row.as_slice() == NOTHING).count();
    embed::block("report", &of(sides, cases.as_deref(), cut), out)?;
    details::write_chunks(BLOCK, &rows, out)
}

/// `cut` cases that differ have no room on the page.
fn of(sides: &RunSides<'_>, cases: Option<&[CaseLine<'_>]>, cut: usize) -> Value {
    let first = sides.runs.first().map(|run| &run.metadata);
    let lines = sides.evals();
    let differing: Vec<Value> = lines
        .iter()
        .filter(|line| line.differs())
        .map(eval)
        .collect();
    let alike = lines.len() - differing.len();
    let runs: Vec<Value> = sides
        .runs
        .iter()
        .zip(sides.labels())
        .map(|(run, label)| side(run, label))
        .collect();
    json!({
        "kind": "sides",
        "subject": first.map(|metadata| &metadata.suite_name),
        "harness_version": first.map(|metadata| &metadata.harness_version),
        "runs": runs,
        "cautions": sides.cautions(),
        "metrics": sides.metrics().into_iter().map(|name| metric(sides, name)).collect::<Vec<_>>(),
        "evals": differing,
        "alike": (alike > 0).then(|| text::plural(alike, "more eval")),
        "cases": cases.map(|cases| cases.iter().map(case).collect::<Vec<_>>()),
        "opened": { "block": BLOCK, "cut": cut, "pages": sides.pages },
        "compare": sides.compare(),
        "count": sides.count(),
        "pairs": sides.pair_rows(),
        "pair_metric": sides.pair_metric(),
        "pair_notes": sides.pair_notes(),
    })
}

fn side(run: &Summary, label: String) -> Value {
    let (metadata, gate) = (&run.metadata, &run.gate);
    let cases = &run.summary.cases;
    let counts: Vec<(&str, usize)> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcome.name(), figures::count_of(cases, outcome)))
        .collect();
    json!({
        "label": label,
        "model": metadata.environment.model,
        "decision": { "name": gate.decision.name(), "label": figures::decision_label(gate.decision), "exit_code": gate.exit_code },
        "reasons": gate.reasons,
        "passed": format!("{} of {}", text::group_digits(cases.passed), text::group_digits(cases.total)),
        "counts": counts,
        "duration": figures::duration_seconds(metadata.duration_seconds),
        "run_id": metadata.run_id,
        "timestamp": metadata.timestamp,
    })
}

/// One metric of each run, with an axis that holds all of its intervals.
fn metric(sides: &RunSides<'_>, metric: &str) -> Value {
    let drawn: Vec<(Option<f64>, Option<[f64; 2]>)> = sides
        .runs
        .iter()
        .map(|run| {
            let estimate = run.estimates.get(metric);
            let value = figures::value_of(run, metric);
            (
                value,
                estimate
                    .and_then(|estimate| estimate.ci)
                    .filter(|_| value.is_some()),
            )
        })
        .collect();
    let places = || {
        drawn
            .iter()
            .flat_map(|(value, ci)| value.iter().copied().chain(ci.iter().flatten().copied()))
    };
    let is_share = FigureUnit::of_metric(metric) == FigureUnit::Rate
        && places().all(|at| (0.0..=1.0).contains(&at));
    let max = if is_share {
        1.0
    } else {
        places().fold(0.0, f64::max)
    };
    let cells: Vec<Value> = sides
        .runs
        .iter()
        .zip(&drawn)
        .map(|(run, (value, ci))| {
            let row = figures::metric_row(run, metric);
            json!({
                "value": row.value, "interval": row.interval, "range": row.range,
                "undefined": row.undefined, "at": value, "ci": ci,
            })
        })
        .collect();
    let min = places().fold(0.0, f64::min);
    json!({ "name": figures::shown_metric(metric), "min": min, "max": max, "cells": cells })
}

fn eval(line: &EvalLine<'_>) -> Value {
    let cells = line.runs.iter().map(|eval| {
        let eval = (*eval)?;
        let counts = &eval.counts;
        let passed = format!(
            "{}/{}",
            text::group_digits(counts.passed),
            text::group_digits(counts.total)
        );
        Some((eval.outcome, passed))
    });
    json!({ "id": line.id, "cells": cells.collect::<Vec<_>>() })
}

fn case(line: &CaseLine<'_>) -> Value {
    let cells = line.runs.iter().map(|case| {
        let case = (*case)?;
        let cause = case.cause.filter(|_| case.outcome != Outcome::Passed);
        Some((
            case.outcome,
            cause.map_or(case.outcome.name(), |cause| cause.name()),
        ))
    });
    json!({ "eval": line.eval, "case": line.case, "cells": cells.collect::<Vec<_>>() })
}
