//! What a suite came to: metrics against their thresholds, every eval, and what was wrong with
//! those that did not pass.

use serde_json::{Value, json};

use crate::model::{
    Cause, Counts, EvalResult, EvalStepResult, EvalType, Failure, Figure, Outcome, Summary,
};
use crate::phase::report::figures::{self as table, PhaseMetricRow};
use crate::phase::report::suite::ungraded_words;
use crate::report::figures::{self, FigureUnit};
use crate::report::limits::phase as limits;
use crate::report::page::FailureEvidence;
use crate::report::values::{Excerpt, ShownValues};
use crate::report::{FailureIndex, failures, notices};
use eval_base::text;

pub fn of(eval: &EvalStepResult, room: &mut usize) -> Value {
    let summary = &eval.eval_report;
    let decision = summary.gate.decision;
    let mut told = FailureListing::new(summary, room);
    let kinds: Vec<Value> = [EvalType::Capability, EvalType::Regression]
        .into_iter()
        .filter_map(|kind| list(summary, kind, &mut told))
        .collect();
    json!({
        "suite": eval.suite,
        "run_id": summary.metadata.run_id,
        "journal": eval.journal,
        "decision": { "name": decision.name(), "label": figures::decision_label(decision) },
        "reasons": summary.gate.reasons,
        "notices": notices::notices(summary),
        "level": figures::interval_label(summary).replace("CI", "interval"),
        "interval_notes": figures::interval_notes(summary),
        "metrics": table::rows(eval).iter().map(|row| metric(summary, row)).collect::<Vec<_>>(),
        "ungraded": ungraded_words(summary),
        "kinds": kinds,
    })
}

/// A line of the table; what is drawn of it only where it is a share.
fn metric(summary: &Summary, row: &PhaseMetricRow) -> Value {
    let estimate = summary.estimates.get(&row.metric);
    let value = figures::value_of(summary, &row.metric);
    let is_share = FigureUnit::of_metric(&row.metric) == FigureUnit::Rate
        && value.is_some_and(|v| (0.0..=1.0).contains(&v));
    let threshold = summary.gate.thresholds.iter().find(|threshold| {
        threshold.metric == row.metric && figures::threshold_row(threshold).metric == row.name
    });
    let drawn = is_share.then(|| {
        json!({
            "value": value,
            "ci": estimate.and_then(|estimate| estimate.ci),
            "limit": threshold.map(|threshold| threshold.threshold),
            "on": threshold.map(|threshold| match threshold.on {
                Figure::Value => "value",
                Figure::CiLower => "low",
                Figure::CiUpper => "high",
            }),
        })
    });
    json!({
        "name": row.name,
        "value": row.value,
        "interval": row.interval,
        "threshold": row.threshold,
        "status": row.status,
        "tone": threshold.map(|threshold| threshold.status.name()),
        "undefined": table::undefined(summary, row),
        "drawn": drawn,
    })
}

fn list(summary: &Summary, kind: EvalType, told: &mut FailureListing<'_>) -> Option<Value> {
    let evals: Vec<&EvalResult> = summary
        .evals
        .iter()
        .filter(|eval| eval.kind == kind)
        .collect();
    if evals.is_empty() {
        return None;
    }
    let passed = evals
        .iter()
        .filter(|eval| eval.outcome == Outcome::Passed)
        .count();
    let number = text::group_digits;
    Some(json!({
        "title": format!("{} evals ({}/{} passed)", kind.title(), number(passed), number(evals.len())),
        "evals": evals.iter().map(|eval| item(eval, told)).collect::<Vec<_>>(),
    }))
}

fn item(eval: &EvalResult, told: &mut FailureListing<'_>) -> Value {
    let Counts { passed, total, .. } = eval.counts;
    let cases = (total > 1).then(|| {
        format!(
            "{} of {} passed",
            text::group_digits(passed),
            text::plural(total, "case")
        )
    });
    let failures = if eval.outcome == Outcome::Passed {
        Vec::new()
    } else {
        told.cases(eval)
    };
    let alike = eval
        .cases
        .iter()
        .filter(|case| case.outcome == eval.outcome)
        .count();
    let more = alike.saturating_sub(failures.len());
    json!({
        "id": eval.id,
        "name": (eval.name != eval.id).then_some(&eval.name),
        "outcome": eval.outcome,
        "cases": cases,
        "more": (!failures.is_empty() && more > 0).then(|| text::plural(more, "more case")),
        "told": failures,
    })
}

/// What is told of failures, as long as there is room.
struct FailureListing<'a> {
    failures: FailureIndex<'a>,
    room: &'a mut usize,
}

impl<'a> FailureListing<'a> {
    fn new(summary: &'a Summary, room: &'a mut usize) -> Self {
        FailureListing {
            failures: failures(summary),
            room,
        }
    }

    /// The first cases that ended as their eval did.
    fn cases(&mut self, eval: &EvalResult) -> Vec<Value> {
        let alike = eval
            .cases
            .iter()
            .filter(|case| case.outcome == eval.outcome);
        alike
            .take(limits::HTML_CASES)
            .map(|case| {
                let key = (eval.id.as_str(), case.id.as_str(), case.outcome);
                let failure = self.failures.get(&key).copied();
                let what = failure.map(|failure| self.of(failure)).unwrap_or_default();
                json!({
                    "case": (case.id != eval.id).then_some(&case.id),
                    "cause": case.cause.map(Cause::name),
                    "what": what,
                })
            })
            .collect()
    }

    /// The reason where it says more than the two sides, then the sides.
    fn of(&mut self, failure: &Failure) -> Value {
        let evidence = FailureEvidence::of(failure, limits::HTML_VALUES);
        let by_path = matches!(evidence, Some(FailureEvidence::ByPath(_)));
        let both = failure.expected.is_some() && failure.actual.is_some();
        let wrong = failure.cause == Some(Cause::WrongAnswer);
        let says_more = !by_path && !both || !wrong;
        let reason = Some(failure.reason.trim()).filter(|reason| !reason.is_empty() && says_more);
        let diff = evidence
            .as_ref()
            .and_then(|evidence| evidence.as_diff(limits::HTML_VALUES.columns));
        let (diff, more) = diff.map_or((None, None), |(diff, more)| {
            let end = if by_path {
                diff.len()
            } else {
                diff.trim_end_matches('\n').len()
            };
            (Some(diff[..end].to_owned()), more)
        });
        let (expected, actual) = match evidence {
            Some(FailureEvidence::Values(ShownValues::Sides { expected, actual })) => {
                (expected.map(cut), actual.map(cut))
            }
            _ => (None, None),
        };
        let sides: usize = [&diff, &expected, &actual]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum();
        let size = sides + reason.map_or(0, str::len);
        if size > *self.room {
            return json!({ "reason": reason.map(|reason| text::shortened(reason, limits::HTML_REASON)), "left_out": true });
        }
        *self.room -= size;
        json!({
            "reason": reason,
            "diff": diff,
            "expected": expected,
            "actual": actual,
            "more": more,
        })
    }
}

fn cut(excerpt: Excerpt) -> String {
    match excerpt.more {
        0 => excerpt.text,
        more => format!(
            "{}\n... and {}",
            excerpt.text,
            text::plural(more, "more line")
        ),
    }
}
