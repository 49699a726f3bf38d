//! A history for programs. Numbers are as in reports, and `null` where there is none.

use serde_json::{Value, json};

use super::{HistoryFilter, cause};
use crate::model::Outcome;
use crate::run::history::{EvalHistory, FlakyCommit, HistoryGroup, PastEval, PastRun, RunHistory};

/// The version of this form.
const FORMAT_VERSION: u32 = 1;

pub fn history(history: &RunHistory, shown: HistoryFilter<'_>) -> Value {
    let left = &history.left_out;
    let groups: Vec<Value> = history
        .groups
        .iter()
        .filter(|group| !shown.evals(group).is_empty())
        .map(|of_group| group(of_group, shown))
        .collect();
    json!({
        "history": {
            "format_version": FORMAT_VERSION,
            "groups": groups,
            "left_out": {
                "captures": left.captures,
                "other_suites": left.other_suites,
                "other_targets": left.other_targets,
                "earlier": left.earlier,
            },
            "warnings": history.warnings,
        }
    })
}

fn group(group: &HistoryGroup, shown: HistoryFilter<'_>) -> Value {
    let trend = group.trend();
    let (mut flaky, mut unproved) = group.flaky();
    unproved.retain(|case| shown.takes(&case.eval_id));
    flaky.retain(|case| shown.takes(&case.eval));
    let mut slow = group.slowest();
    slow.retain(|case| shown.takes(&case.eval));
    let evals: Vec<Value> = shown
        .evals(group)
        .values()
        .map(|of_eval| eval(group, of_eval, shown.evals.is_some()))
        .collect();
    let flaky: Vec<Value> = flaky
        .iter()
        .map(|case| {
            let commit =
                |at: &FlakyCommit| json!({"commit": at.commit, "passed": at.passed, "failed": at.failed});
            let commits: Vec<Value> = case.commits.iter().map(commit).collect();
            json!({"eval_id": *case.eval, "case_id": *case.case, "commits": commits})
        })
        .collect();
    let slowest: Vec<Value> = slow
        .iter()
        .map(|case| {
            json!({"eval_id": *case.eval, "case_id": *case.case, "latency_p50_ms": case.median_ms,
                   "samples": case.samples})
        })
        .collect();
    json!({
        "suite_name": group.suite,
        "target": group.target,
        "target_type": group.target_type,
        "runs": group.runs.iter().map(run).collect::<Vec<_>>(),
        "pass_rate": {
            "first": trend.first, "last": trend.last, "lowest": trend.lowest, "highest": trend.highest,
            "runs": trend.rates.len(), "runs_left_out": trend.left_out,
        },
        "evals": evals,
        "flaky": flaky,
        "flaky_unproved": unproved,
        "slowest": slowest,
    })
}

fn run(run: &PastRun) -> Value {
    let git = run.environment.git.as_ref();
    json!({
        "run_id": run.run_id,
        "timestamp": run.timestamp,
        "suite_version": run.suite_version,
        "harness_version": run.harness_version,
        "commit": git.map(|git| &git.commit),
        "dirty": git.map(|git| git.dirty),
        "whole": run.is_whole(),
        "filters": run.filters,
        "interrupted": run.interrupted,
        "shard": run.shard.is_some(),
        "joined": run.joined,
        "regraded_by": run.regraded_by,
        "regrade_of": run.regrade_of,
        "evals": run.counts,
        "cases": run.cases,
        "gate": run.gate,
        "duration_seconds": run.duration_seconds,
    })
}

/// Where and when, for a run that is spoken of.
fn reference(run: Option<&PastRun>) -> Option<Value> {
    let run = run?;
    let git = run.environment.git.as_ref();
    Some(
        json!({"run_id": run.run_id, "timestamp": run.timestamp, "commit": git.map(|git| &git.commit),
           "dirty": git.map(|git| git.dirty)}),
    )
}

fn eval(group: &HistoryGroup, eval: &EvalHistory, with_cases: bool) -> Value {
    let latest = eval.latest;
    let of_runs = group.runs.iter().flat_map(|run| {
        run.evals
            .iter()
            .filter(|of_run| of_run.id == latest.id)
            .map(move |of_run| (run, of_run))
    });
    let outcomes: Vec<Value> = of_runs
        .map(|(run, eval)| outcome(run, eval, with_cases))
        .collect();
    json!({
        "id": *latest.id,
        "name": *latest.name,
        "type": latest.kind,
        "criticality": latest.criticality,
        "runs": eval.counts,
        "partial_runs": eval.partial,
        "failure_count": eval.counts.failed,
        "last_passed": reference(eval.last(Outcome::Passed)),
        "last_failed": reference(eval.last(Outcome::Failed)),
        "outcomes": outcomes,
    })
}

fn outcome(run: &PastRun, eval: &PastEval, with_cases: bool) -> Value {
    let mut value = json!({
        "run_id": run.run_id,
        "outcome": eval.outcome,
        "partial": eval.partial,
        "score": eval.score,
        "cause": cause(eval),
        "cases": {"total": eval.counts.total, "passed": eval.counts.passed},
        "latency_p50_ms": eval.median_latency_ms(),
    });
    if eval.private {
        value["private"] = true.into();
    } else if with_cases {
        let cases = eval.cases.iter().map(|case| {
            json!({
                "id": *case.id, "outcome": case.outcome, "score": case.score, "cause": case.cause, "flaky": case.flaky,
            })
        });
        value["case_outcomes"] = cases.collect();
    }
    value
}
