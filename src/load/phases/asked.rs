//! What an eval step (or a trigger) asks of its suite.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{PhaseDesk, StepPlace};
use crate::load::problem::{Code, Problem};
use crate::load::refs::{Fence, existing_file};
use crate::load::source::Span;
use crate::load::thresholds::{WrittenSet, asked, required_pass_rate, unknown_metric};
use crate::load::tree::Node;
use crate::model::{EvalStep, Metric};
use crate::spec::{FilterSpec, Thresholds};

/// What a step of a plan and a trigger have in common.
pub(super) struct Asking {
    pub suite: String,
    pub required_pass_rate: Option<f64>,
    pub metrics: Vec<String>,
    pub thresholds: Thresholds,
    pub preset: Option<String>,
    pub filters: Option<FilterSpec>,
    pub target: Option<String>,
    pub samples: Option<u32>,
    pub vars: BTreeMap<String, Value>,
}

/// The step, with the places of its parts below `node`. `None` when it can't be used, which is
/// told.
pub(super) fn eval_step(
    desk: &mut PhaseDesk,
    asking: Asking,
    node: &Node,
    notification: Option<Span>,
) -> Option<(EvalStep, StepPlace)> {
    let set: WrittenSet = (asking.thresholds, node.get("thresholds").cloned());
    let (mut demands, max_regressions, require) = asked(&set, &mut desk.session.problems);
    if let Some(value) = asking.required_pass_rate {
        let at = node.locate("/required_pass_rate");
        let problems = &mut desk.session.problems;
        required_pass_rate(value, Some(at), &set, &mut demands, problems);
        if value <= 0.0 {
            let message = format!("`required_pass_rate: {value}` is met by every run");
            problems.push(Problem::warning(Code::SuspiciousValue, at, message));
        }
    }
    let (metrics, placed) = metrics(desk, &asking.metrics, node);
    let suite_at = node.locate("/suite");
    let here = |key: &str| node.get(key).map(|node| node.span);
    let place = StepPlace {
        suite: suite_at,
        preset: here("preset"),
        target: here("target"),
        samples: here("samples"),
        filters: here("filters"),
        thresholds: here("thresholds"),
        metrics: placed,
        notification,
    };
    let suite = match existing_file(&desk.dir, &asking.suite, &Fence::default(), suite_at) {
        Ok(path) => path,
        Err(problem) => {
            // A plan may be written before its evals are.
            desk.problem(problem.maybe_warning(!desk.strict));
            return None;
        }
    };
    let eval = EvalStep {
        suite,
        shown: asking.suite,
        filters: asking.filters.unwrap_or_default(),
        demands,
        max_regressions,
        require,
        preset: asking.preset,
        metrics,
        target: asking.target,
        samples: asking.samples,
        vars: asking
            .vars
            .into_iter()
            .map(|(name, value)| (name, text_of(value)))
            .collect(),
    };
    Some((eval, place))
}

/// The canonical names of metrics that are to be shown; twice the same is told.
fn metrics(
    desk: &mut PhaseDesk,
    names: &[String],
    node: &Node,
) -> (Vec<String>, Vec<(String, Span)>) {
    let mut known: Vec<(String, Span)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let at = node.locate(&format!("/metrics/{index}"));
        let Ok(metric) = name.parse::<Metric>() else {
            desk.problem(unknown_metric(name, Some(at), &[]));
            continue;
        };
        let canonical = metric.to_string();
        if let Some((_, first)) = known.iter().find(|(other, _)| *other == canonical) {
            let message = format!("`{name}` stands here twice");
            let problem =
                Problem::warning(Code::SuspiciousValue, at, message).related(*first, "first here");
            desk.problem(problem);
        } else {
            known.push((canonical, at));
        }
    }
    (known.iter().map(|(name, _)| name.clone()).collect(), known)
}

/// A value as `--var` gives it.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
