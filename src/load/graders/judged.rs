//! Graders that ask a model or people: their settings are kept as written, with the rubric in place of its name.

use serde_json::Value;

use super::super::problem::{Code, Problem, did_you_mean};
use super::super::scope::Desk;
use super::super::tree::Node;
use crate::spec::{HumanGraderConfig, ModelGraderConfig, RatingKind, ScoringKind};

pub(super) fn model(desk: &mut Desk, config: &ModelGraderConfig, node: &Node) -> Option<Value> {
    let mut config = config.clone();
    config.rubric = rubric(desk, &config.rubric, node)?;
    let mut whole = true;
    if config.pass_threshold == Some(0.0) {
        let at = node.locate("/config/pass_threshold");
        let problem =
            Problem::error(Code::SuspiciousValue, at, "`pass_threshold: 0` passes whatever the judge says");
        desk.push(problem.hint("a threshold above 0"));
        whole = false;
    }
    if let Some(scoring) = &config.scoring {
        let at = node.locate("/config/scoring");
        let fault = match scoring.kind {
            ScoringKind::Numeric => match scoring.range {
                Some([low, high]) if low >= high => {
                    Some("the `range` is empty: its first number must be the lower")
                }
                _ => None,
            },
            ScoringKind::Categorical if scoring.categories.is_empty() => {
                Some("`categorical` scoring needs `categories`")
            }
            ScoringKind::Categorical | ScoringKind::Boolean => None,
        };
        if let Some(fault) = fault {
            desk.push(Problem::error(Code::GraderIncomplete, at, fault));
            whole = false;
        }
    }
    whole.then(|| without_nulls(serde_json::to_value(&config).unwrap_or(Value::Null)))
}

pub(super) fn human(desk: &mut Desk, config: &HumanGraderConfig, node: &Node) -> Option<Value> {
    let mut config = config.clone();
    if let Some(written) = &config.rubric {
        config.rubric = Some(rubric(desk, written, node)?);
    }
    let mut faults: Vec<(&str, String)> = Vec::new();
    if let Some(people) = &config.evaluators
        && let (Some(min), Some(max)) = (people.min_required, people.max_allowed)
        && min > max
    {
        faults
            .push(("/config/evaluators", format!("`min_required: {min}` is more than `max_allowed: {max}`")));
    }
    if let Some(scale) = &config.rating_scale {
        let at = "/config/rating_scale";
        match (scale.kind, scale.range) {
            (RatingKind::Likert, Some([low, high])) if low >= high => {
                faults.push((at, "the `range` is empty: its first number must be the lower".to_owned()));
            }
            (RatingKind::Ranking, _) if scale.min_items > scale.max_items && scale.max_items.is_some() => {
                faults.push((at, "`min_items` is more than `max_items`".to_owned()));
            }
            _ => {}
        }
    }
    let whole = faults.is_empty();
    for (at, message) in faults {
        desk.push(Problem::error(Code::GraderConflict, node.locate(at), message));
    }
    whole.then(|| without_nulls(serde_json::to_value(&config).unwrap_or(Value::Null)))
}

/// A rubric's text: a single word is a name, anything longer the criteria themselves.
fn rubric(desk: &mut Desk, written: &str, node: &Node) -> Option<String> {
    let shelf = &desk.suite.shelf;
    if let Some(text) = shelf.rubrics.get(written) {
        return Some(text.clone());
    }
    let is_name = !written.is_empty() && written.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let at = node.locate("/config/rubric");
    if written.trim().is_empty() {
        desk.push(Problem::error(Code::GraderIncomplete, at, "the rubric is empty: a judge needs criteria"));
        return None;
    }
    if !is_name {
        return Some(written.to_owned());
    }
    let near = did_you_mean(written, shelf.rubrics.keys().map(String::as_str));
    let hint = near.map_or_else(
        || "define it under `graders: {rubrics: ...}` in the suite, or write the criteria here".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let open = shelf.open;
    let message = format!("no rubric is named `{written}`");
    desk.push(Problem::error(Code::UnknownRubric, at, message).hint(hint).maybe_warning(open));
    open.then(|| written.to_owned())
}

/// Drops what was not written, so that hashes and journals hold only settings.
pub(in crate::load) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_nulls(v))).collect(),
        ),
        other => other,
    }
}
