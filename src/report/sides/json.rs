//! Side by side for programs. Numbers are as in reports, and `null` where there is none.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{RunSides, pairs};
use crate::report::{ReportError, figures, json};

/// The version of this form.
const FORMAT_VERSION: u32 = 1;

pub fn render(sides: &RunSides, out: &mut dyn Write) -> Result<(), ReportError> {
    json::write(&report(sides), out)
}

fn report(sides: &RunSides) -> Value {
    let labels = sides.labels();
    let runs: Vec<Value> = sides
        .runs
        .iter()
        .zip(&labels)
        .map(|(run, label)| {
            let metadata = &run.metadata;
            json!({
                "label": label,
                "target": metadata.environment.target,
                "target_type": metadata.environment.target_type,
                "model": metadata.environment.model,
                "run_id": metadata.run_id,
                "timestamp": metadata.timestamp,
                "duration_seconds": metadata.duration_seconds,
                "decision": run.gate.decision,
                "exit_code": run.gate.exit_code,
                "reasons": run.gate.reasons,
                "cases": run.summary.cases,
                "samples": run.summary.samples,
            })
        })
        .collect();
    let by_run = |of: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        labels
            .iter()
            .enumerate()
            .map(|(at, label)| (label.clone(), of(at)))
            .collect()
    };
    let metrics: Map<String, Value> = sides
        .metrics()
        .into_iter()
        .map(|metric| {
            let of_run = |at: usize| {
                let Some(run) = sides.runs.get(at) else {
                    return Value::Null;
                };
                let estimate = run.estimates.get(metric);
                let value = figures::value_of(run, metric);
                json!({
                    "value": value,
                    "ci": estimate.and_then(|estimate| estimate.ci),
                    "worst": estimate.and_then(|estimate| estimate.worst),
                    "best": estimate.and_then(|estimate| estimate.best),
                    "undefined": estimate.and_then(|estimate| estimate.undefined.as_deref()),
                })
            };
            (metric.to_owned(), Value::Object(by_run(&of_run)))
        })
        .collect();
    let evals: Vec<Value> = sides
        .evals()
        .iter()
        .map(|line| {
            let of_run = |at: usize| match line.runs.get(at).copied().flatten() {
                Some(eval) => {
                    json!({"outcome": eval.outcome, "score": eval.score, "cases": eval.counts})
                }
                None => Value::Null,
            };
            json!({"id": line.id, "differs": line.differs(), "runs": by_run(&of_run)})
        })
        .collect();
    let cases = sides.cases().map(|lines| -> Vec<Value> {
        let line = |line: &super::CaseLine| {
            let of_run = |at: usize| match line.runs.get(at).copied().flatten() {
                Some(case) => {
                    json!({"outcome": case.outcome, "score": case.score, "cause": case.cause})
                }
                None => Value::Null,
            };
            json!({"eval_id": line.eval, "case_id": line.case, "runs": by_run(&of_run)})
        };
        lines.iter().map(line).collect()
    });
    let first = sides.runs.first().map(|run| &run.metadata);
    json!({
        "side_by_side": {
            "format_version": FORMAT_VERSION,
            "suite_name": first.map(|metadata| &metadata.suite_name),
            "suite_version": first.map(|metadata| &metadata.suite_version),
            "runs": runs,
            "cautions": sides.cautions(),
            "metrics": metrics,
            "pairs": sides.pairs.iter().map(|pair| pairs::json(pair, &labels)).collect::<Vec<_>>(),
            "evals": evals,
            "differing_cases": cases,
        }
    })
}
