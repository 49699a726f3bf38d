//! What the first view of a run shows: everything that the other formats tell of it, but for what
//! the page of each case holds.
//!
//! Figures are the texts of [`figures`]; raw numbers beside them say where something is drawn.

mod distributions;
mod groups;
mod metrics;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{comparison, details};
use crate::model::{Counts, Decision, Failure, Outcome, PastRate, Summary};
use crate::report::limits::html as limits;
use crate::report::{commands, differences, disclosure, figures, flaky, judges, models, notices};
use eval_base::text;

/// The block `report` of a run.
pub(super) fn of(summary: &Summary) -> impl Serialize {
    let metadata = &summary.metadata;
    let decision = summary.gate.decision;
    json!({
        "kind": "run",
        "subject": metadata.suite_name,
        "suite": { "name": metadata.suite_name, "version": metadata.suite_version },
        "run_id": metadata.run_id,
        "timestamp": metadata.timestamp,
        "duration": figures::duration_seconds(metadata.duration_seconds),
        "harness_version": metadata.harness_version,
        "decision": {
            "name": decision.name(), "label": figures::decision_label(decision), "exit_code": summary.gate.exit_code,
        },
        "gate": gate(summary),
        "notices": notices::notices(summary),
        "counts": counts(summary),
        "unknown": unknown(summary),
        "metrics": metrics::of(summary),
        "curve": metrics::curve(summary),
        "groups": groups::of(summary),
        "causes": groups::causes(summary),
        "trust": groups::trust(summary),
        "distributions": distributions::of(summary),
        "comparison": comparison::section(summary),
        "history": history(summary),
        "evals": groups::evals(summary),
        "failures": failures(summary),
        "flaky": flaky_samples(summary),
        "recommendations": summary.recommendations,
        "commands": {
            "resume": commands::resume(summary), "run_failed_again": commands::run_failed_again(summary),
        },
        "models": models_used(summary),
        "judges": judges_asked(summary),
        "environment": environment(summary),
        "disclosure": disclosed(summary),
    })
}

/// One line of a text that somebody else wrote, of bounded length.
fn brief(words: &str) -> String {
    text::shortened(&text::one_line(words), limits::TEXT).into_owned()
}

/// True when the page is about cases: of a single eval, a rate over evals is 0 or 1.
fn is_single_eval(summary: &Summary) -> bool {
    summary.summary.total_evals == 1
}

fn gate(summary: &Summary) -> Value {
    let gate = &summary.gate;
    let rows: Vec<Value> = gate
        .thresholds
        .iter()
        .map(|threshold| {
            let row = figures::threshold_row(threshold);
            json!({
                "metric": row.metric,
                "value": row.value,
                "interval": figures::interval_of(summary, &threshold.metric),
                "needs": row.needs,
                "status": row.status.name(),
                "label": figures::decision_label(row.status),
            })
        })
        .collect();
    json!({
        "meaning": meaning(summary),
        "reasons": gate.reasons,
        "interval_label": figures::interval_label(summary),
        "thresholds": rows,
    })
}

/// What a decision says, in a sentence; exit code 130 says that somebody ended the run.
fn meaning(summary: &Summary) -> &'static str {
    let gate = &summary.gate;
    let all_graded =
        without_grade(&summary.summary.samples) + without_grade(&summary.summary.cases) == 0;
    match gate.decision {
        _ if gate.exit_code == 130 => "The run ended before it was complete.",
        Decision::Pass if all_graded => "The gate passed.",
        Decision::Pass => {
            "The gate passed; no result of the samples without a grade could change that."
        }
        Decision::Fail if all_graded => "The gate failed.",
        Decision::Fail => {
            "The gate failed; no result of the samples without a grade could change that."
        }
        Decision::Incomplete => {
            "Undecided: some samples could not be graded, and their results could change the decision."
        }
        Decision::Pending => {
            "Undecided: human grades are missing, and they could change the decision."
        }
        Decision::Undecided => "The gate was not decided: this run is one shard of a suite.",
    }
}

fn without_grade(counts: &Counts) -> usize {
    counts.errored + counts.skipped + counts.pending
}

/// Counts by outcome, as numbers of things.
fn counted(counts: &Counts) -> Value {
    let Counts {
        total,
        passed,
        failed,
        errored,
        skipped,
        pending,
        pass_rate,
    } = counts;
    json!({
        "total": total, "passed": passed, "failed": failed, "errored": errored, "skipped": skipped, "pending": pending,
        "rate": figures::percent_or_none(*pass_rate),
    })
}

fn counts(summary: &Summary) -> Value {
    let totals = &summary.summary;
    let mut remarks =
        vec!["Pass rates are over what was graded: passed / (passed + failed).".to_owned()];
    remarks.extend(
        notices::retries(summary)
            .into_iter()
            .map(|words| format!("{words}.")),
    );
    json!({
        "evals": counted(&figures::eval_counts(totals)),
        "single_eval": is_single_eval(summary),
        "cases": counted(&totals.cases),
        "samples": counted(&totals.samples),
        "remarks": remarks,
    })
}

/// Samples without a grade, why, and what they leave open; `null` when all were graded.
fn unknown(summary: &Summary) -> Option<Value> {
    let (samples, cases) = (&summary.summary.samples, &summary.summary.cases);
    if without_grade(samples) + without_grade(cases) == 0 {
        return None;
    }
    let groups: Vec<Value> = [Outcome::Errored, Outcome::Skipped, Outcome::Pending]
        .into_iter()
        .filter(|outcome| {
            figures::count_of(samples, *outcome) + figures::count_of(cases, *outcome) > 0
        })
        .map(|outcome| {
            json!({
                "outcome": outcome.name(),
                "samples": figures::count_of(samples, outcome),
                "cases": figures::count_of(cases, outcome),
                "causes": groups::causes_with(summary, outcome),
            })
        })
        .collect();
    let mut open = figures::telling_metrics(summary);
    // What the gate asks about comes first.
    open.sort_by_key(|metric| {
        !summary
            .gate
            .thresholds
            .iter()
            .any(|threshold| threshold.metric == *metric)
    });
    let ranges: Vec<Value> = open
        .into_iter()
        .map(|metric| figures::metric_row(summary, metric))
        .filter(|row| !row.range.is_empty())
        .map(|row| json!({ "metric": row.name, "value": row.value, "range": row.range }))
        .collect();
    Some(json!({ "groups": groups, "ranges": ranges }))
}

/// What did not pass: first cases, then samples of cases that passed all the same. A case may have
/// several entries: `total` counts cases, `more` the entries that are not here.
fn failures(summary: &Summary) -> Value {
    let cases = summary
        .evals
        .iter()
        .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
    let passed: HashMap<(&str, &str), bool> = cases
        .map(|(eval, case)| {
            (
                (eval.id.as_str(), case.id.as_str()),
                case.outcome == Outcome::Passed,
            )
        })
        .collect();
    let has_passed = |failure: &Failure| {
        passed
            .get(&(failure.eval_id.as_str(), failure.case_id.as_str()))
            .copied()
            .unwrap_or(false)
    };
    let (tolerated, failed): (Vec<&Failure>, Vec<&Failure>) = summary
        .failures
        .iter()
        .partition(|failure| has_passed(failure));
    let of = |all: Vec<&Failure>| {
        let first = all.iter().take(limits::FAILURES);
        let first: Vec<Value> = first.map(|told| failure(told)).collect();
        let more = all.len() - first.len();
        json!({ "first": first, "more": more, "total": notices::cases_of(all) })
    };
    json!({
        "failed": of(failed),
        "tolerated": of(tolerated),
        "unlisted": notices::unlisted_failures(summary),
    })
}

fn failure(failure: &Failure) -> Value {
    // The reason names the first path that differs: the beginnings of two documents say less.
    let by_path = differences::are_listed(&failure.details);
    let side = |value: &Option<Value>| {
        let value = value.as_ref().filter(|_| !by_path);
        value.map(|value| json!(details::compact(value, limits::SIDE)))
    };
    let named = failure.name != failure.eval_id && failure.name != failure.case_id;
    json!({
        "eval": failure.eval_id,
        "case": failure.case_id,
        "name": named.then(|| brief(&failure.name)),
        "outcome": failure.outcome.name(),
        "cause": failure.cause.map(|cause| cause.name()),
        "reason": text::shortened(failure.reason.trim(), limits::TEXT),
        "expected": side(&failure.expected),
        "actual": side(&failure.actual),
        "samples": failure.samples,
    })
}

fn flaky_samples(summary: &Summary) -> Value {
    let mut all = flaky::flaky(summary);
    let first: Vec<Value> = all
        .by_ref()
        .take(limits::FLAKY)
        .map(|flaky| {
            json!({
                "eval": flaky.eval,
                "case": flaky.case,
                "words": flaky.words(),
                "first": flaky.first.map(|first| brief(&first.reason)),
            })
        })
        .collect();
    json!({ "first": first, "more": all.count() })
}

/// Earlier runs and this one, the oldest first; `null` where no earlier one is known.
fn history(summary: &Summary) -> Option<Vec<Value>> {
    if summary.history.is_empty() {
        return None;
    }
    let metadata = &summary.metadata;
    let cases = &summary.summary.cases;
    let this = PastRate {
        run_id: metadata.run_id.clone(),
        timestamp: metadata.timestamp.clone(),
        commit: metadata
            .environment
            .git
            .as_ref()
            .filter(|git| !git.dirty)
            .map(|git| git.commit.clone()),
        decision: Some(summary.gate.decision),
        passed: cases.passed,
        graded: cases.passed + cases.failed,
    };
    let told = |run: &PastRate| {
        let rate = (run.graded > 0).then(|| run.passed as f64 / run.graded as f64);
        let counts = format!(
            "{} of {}",
            text::group_digits(run.passed),
            text::group_digits(run.graded)
        );
        json!({
            "run": run.run_id,
            "timestamp": run.timestamp,
            "commit": run.commit.as_deref().map(text::short_commit),
            "decision": run.decision.map(|decision| json!({
                "name": decision.name(), "label": figures::decision_label(decision),
            })),
            "value": rate,
            "text": match rate {
                Some(_) => format!("{} ({counts} cases)", figures::percent_or_none(rate)),
                None => "no case was graded".to_owned(),
            },
        })
    };
    Some(summary.history.iter().chain([&this]).map(told).collect())
}

fn models_used(summary: &Summary) -> Option<Value> {
    let all = models::model_overviews(summary.models.as_ref()?);
    let rows: Vec<Value> = all
        .iter()
        .take(limits::MODELS)
        .map(|told| {
            let mut row = json!({ "name": told.name, "role": told.role, "remarks": told.remarks });
            for (label, words) in &told.lines {
                row[*label] = json!(words);
            }
            row
        })
        .collect();
    Some(json!({ "rows": rows, "more": all.len().saturating_sub(limits::MODELS) }))
}

fn disclosed(summary: &Summary) -> Option<Value> {
    let disclosure = summary.disclosure.as_deref()?;
    let all = disclosure::of_datasets(disclosure);
    let more = all.len().saturating_sub(limits::GROUPS);
    let datasets = all.into_iter().take(limits::GROUPS);
    let datasets: Vec<Value> = datasets
        .map(|(eval, facts)| json!({ "eval": eval, "facts": facts }))
        .collect();
    Some(json!({ "run": disclosure::of_run(disclosure), "datasets": datasets, "more": more }))
}

fn judges_asked(summary: &Summary) -> Option<Value> {
    let health = summary.judges.as_ref()?;
    let told =
        |told: judges::JudgeOverview| json!({ "lines": told.lines, "remarks": told.remarks });
    let by_model: Vec<Value> = health
        .by_model
        .iter()
        .take(limits::MODELS)
        .map(|(name, votes)| json!({ "name": name, "told": told(judges::of_judge(votes)) }))
        .chain(health.worth.iter().take(limits::MODELS).map(|worth| {
            let name = format!("{} beside people", worth.judge);
            json!({ "name": name, "told": told(judges::of_worth(worth)) })
        }))
        .collect();
    let more = health.by_model.len().saturating_sub(limits::MODELS);
    Some(json!({ "all": told(judges::of_all(health)), "by_model": by_model, "more": more }))
}

fn environment(summary: &Summary) -> Value {
    let metadata = &summary.metadata;
    let environment = &metadata.environment;
    json!({
        "target": environment.target,
        "target_type": environment.target_type,
        "model": environment.model,
        "model_address": environment.model_address,
        "git": environment.git.as_ref().map(|git| json!({
            "commit": text::short_commit(&git.commit), "whole": git.commit, "dirty": git.dirty,
        })),
        "sandbox": environment.sandbox.as_ref().map(|sandbox| json!({
            "tier": sandbox.tier, "enforced": sandbox.enforced, "notes": sandbox.notes,
            "landlock_abi": sandbox.landlock_abi, "cgroup": sandbox.cgroup,
        })),
        "unsandboxed": notices::is_unsandboxed(summary),
        "os": format!("{}/{}", environment.os, environment.arch),
        "cpus": environment.cpus,
        "interpreters": environment.interpreters,
        "suite_path": metadata.suite_path,
        "arguments": metadata.rerun_arguments,
        "filters": metadata.filters,
        "against": metadata.against.as_ref().map(ToString::to_string),
        "regrade_of": metadata.regrade_of,
        "joined": metadata.joined,
        "shard": metadata.shard.map(|shard| format!("{} of {}", shard.index, shard.of)),
    })
}
