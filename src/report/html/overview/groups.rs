//! The run by type, category, tag and grader, by cause and trust, and its evals.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{brief, counted};
use crate::model::{Cause, Counts, EvalResult, IntervalScope, Outcome, Summary};
use crate::report::limits::html as limits;
use crate::report::{figures, notices};
use eval_stats::likelihood::of_counts;

const LEVEL: f64 = 0.95;

/// The kinds of groups that there are. Evals have one verdict each, so that their share has an
/// interval; that of cases has none where intervals are about evals like these, of which it would
/// be too narrow.
pub(super) fn of(summary: &Summary) -> Vec<Value> {
    let totals = &summary.summary;
    let by_type: BTreeMap<String, Counts> = totals
        .by_type
        .iter()
        .map(|(kind, counts)| (kind.name().to_owned(), *counts))
        .collect();
    let independent = summary.metadata.interval_scope != IntervalScope::SimilarEvals;
    let kinds = [
        ("type", "evals", &by_type, true),
        ("grader", "cases", &totals.by_grader, independent),
        ("category", "evals", &totals.by_category, true),
        ("tag", "evals", &totals.by_tag, true),
    ];
    kinds
        .into_iter()
        // Of a single eval every group of evals is that eval.
        .filter(|(_, unit, groups, _)| {
            !groups.is_empty() && (*unit != "evals" || !super::is_single_eval(summary))
        })
        .map(|(by, unit, groups, independent)| {
            let mut sorted: Vec<(&String, &Counts)> = groups.iter().collect();
            // The worst first; what nobody knows comes before what passed, too.
            sorted.sort_by(|(a, of_a), (b, of_b)| {
                let rate = |counts: &Counts| counts.pass_rate.unwrap_or(-1.0);
                rate(of_a).total_cmp(&rate(of_b)).then_with(|| a.cmp(b))
            });
            let rows: Vec<Value> = sorted
                .iter()
                .take(limits::GROUPS)
                .map(|(name, counts)| row(name, counts, independent))
                .collect();
            let more = sorted.len().saturating_sub(limits::GROUPS);
            json!({ "by": by, "unit": unit, "rows": rows, "more": more, "intervals": independent })
        })
        .collect()
}

fn row(name: &str, counts: &Counts, independent: bool) -> Value {
    let graded = counts.passed + counts.failed;
    let interval = independent
        .then(|| of_counts(counts.passed as f64, graded as f64, LEVEL).ok())
        .flatten();
    json!({
        "name": name,
        "counts": counted(counts),
        "value": counts.pass_rate,
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "interval": interval.map(|i| format!("[{}, {}]", figures::percent(i.low), figures::percent(i.high))),
    })
}

/// Samples by cause, the commonest first.
pub(super) fn causes(summary: &Summary) -> Vec<Value> {
    causes_of(summary, |_| true)
}

/// Samples by cause, of those that ended so.
pub(super) fn causes_with(summary: &Summary, outcome: Outcome) -> Vec<Value> {
    causes_of(summary, |of| of == Some(outcome))
}

fn causes_of(summary: &Summary, is_asked: impl Fn(Option<Outcome>) -> bool) -> Vec<Value> {
    let mut all: Vec<(&String, usize, Option<Outcome>)> = summary
        .summary
        .by_cause
        .iter()
        .map(|(name, samples)| (name, *samples, outcome_of(name)))
        .filter(|(_, _, outcome)| is_asked(*outcome))
        .collect();
    all.sort_by_key(|(name, samples, _)| (std::cmp::Reverse(*samples), *name));
    let told = |(name, samples, outcome): (&String, usize, Option<Outcome>)| json!({ "cause": name, "samples": samples, "outcome": outcome.map(Outcome::name) });
    all.into_iter().map(told).collect()
}

fn outcome_of(cause: &str) -> Option<Outcome> {
    serde_json::from_value::<Cause>(Value::String(cause.to_owned()))
        .ok()
        .map(Cause::outcome)
}

/// What verdicts over candidates' code rest on.
pub(super) fn trust(summary: &Summary) -> Vec<Value> {
    let levels = summary.summary.by_trust.iter();
    levels
        .map(|(level, counts)| {
            json!({
                "level": level.name(), "samples": counts.samples, "grades": counts.grades,
                "meaning": notices::trust_meaning(*level),
            })
        })
        .collect()
}

/// Evals, those first that did not pass.
pub(super) fn evals(summary: &Summary) -> Value {
    let mut sorted: Vec<&EvalResult> = summary.evals.iter().collect();
    sorted.sort_by_key(|eval| figures::urgency(eval.outcome));
    let mut room = limits::EVAL_NAMES;
    let fits = |eval: &&&EvalResult| {
        let names = eval.id.len() + eval.category.as_ref().map_or(0, String::len);
        let fits = names <= room;
        room = room.saturating_sub(names);
        fits
    };
    let rows: Vec<Value> = sorted
        .iter()
        .take(limits::EVALS)
        .take_while(fits)
        .map(|eval| one(eval))
        .collect();
    json!({ "more": sorted.len() - rows.len(), "rows": rows })
}

fn one(eval: &EvalResult) -> Value {
    json!({
        "id": eval.id,
        "name": (eval.name != eval.id).then(|| brief(&eval.name)),
        "type": eval.kind.name(),
        "category": eval.category,
        "criticality": eval.criticality.map(|criticality| criticality.name()),
        "outcome": eval.outcome.name(),
        "score": eval.score.map(figures::rate),
        "counts": counted(&eval.counts),
        "source": eval.source.as_ref().map(|place| format!("{}:{}", place.file, place.line)),
    })
}
