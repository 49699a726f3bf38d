//! What an eval step (or a trigger) asks of its suite.

use serde_json::Value;

use super::{PhaseDesk, StepPlace};
use crate::load::problem::{Code, Problem};
use crate::load::refs::{PathFence, existing_file};
use crate::load::source::Span;
use crate::load::thresholds::{WrittenSet, required_pass_rate, resolve_thresholds, unknown_metric};
use crate::load::tree::Node;
use crate::load::workspace::LevelWorkspace;
use crate::model::{EvalStep, Metric, StepWork};
use crate::spec::StepConfig;

/// The step, with the places of its parts below `node`. `None` when it can't be used, which is
/// told.
pub(super) fn eval_step(
    desk: &mut PhaseDesk,
    config: StepConfig,
    node: &Node,
    notification: Option<Span>,
    workspace: Option<&LevelWorkspace>,
) -> Option<(StepWork, StepPlace)> {
    let shown = config.suite?;
    let set: WrittenSet = (config.thresholds, node.get("thresholds").cloned());
    let (mut demands, max_regressions, require) =
        resolve_thresholds(&set, &mut desk.session.problems);
    if let Some(value) = config.required_pass_rate {
        let at = node.locate("/required_pass_rate");
        let problems = &mut desk.session.problems;
        required_pass_rate(value, Some(at), &set, &mut demands, problems);
        if value <= 0.0 {
            let message = format!("every run meets `required_pass_rate: {value}`");
            problems.push(Problem::warning(Code::SuspiciousValue, at, message));
        }
    }
    let metrics = metrics(desk, &config.metrics, node);
    let suite_at = node.locate("/suite");
    let suite = match existing_file(&desk.dir, &shown, &PathFence::default(), suite_at) {
        Ok(path) => path,
        Err(problem) => {
            // A plan may be written before its evals are.
            desk.problem(problem.maybe_warning(!desk.strict));
            return None;
        }
    };
    let eval = EvalStep {
        suite,
        shown,
        filters: config.filters.unwrap_or_default(),
        demands,
        max_regressions,
        require,
        preset: config.preset,
        metrics: metrics.iter().map(|(name, _)| name.clone()).collect(),
        target: config.target,
        prompt: config.prompt,
        samples: config.samples,
        vars: config
            .vars
            .into_iter()
            .map(|(name, value)| (name, text_of(value)))
            .collect(),
    };
    let place = StepPlace {
        node: node.clone(),
        metrics,
        notification,
        workspace: workspace.map(LevelWorkspace::for_suites),
    };
    Some((StepWork::Eval(Box::new(eval)), place))
}

/// The canonical names of metrics that are to be shown; twice the same is told.
fn metrics(desk: &mut PhaseDesk, names: &[String], node: &Node) -> Vec<(String, Span)> {
    let mut known: Vec<(String, Span)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let at = node.locate(&format!("/metrics/{index}"));
        let Ok(metric) = name.parse::<Metric>() else {
            desk.problem(unknown_metric(name, Some(at), &[]));
            continue;
        };
        let canonical = metric.to_string();
        if let Some((_, first)) = known.iter().find(|(other, _)| *other == canonical) {
            let message = format!("`{name}` is listed twice");
            let problem =
                Problem::warning(Code::SuspiciousValue, at, message).related(*first, "first here");
            desk.problem(problem);
        } else {
            known.push((canonical, at));
        }
    }
    known
}

/// A value as `--var` gives it.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
