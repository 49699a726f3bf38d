//! Graders that ask a model or people: their settings are kept as written, with the rubric in place of its name.

use serde_json::Value;

use super::super::models;
use super::super::problem::{Code, Problem, did_you_mean};
use super::super::scope::{Desk, seconds};
use super::super::tree::Node;
use super::Expected;
use crate::model::{Judge, Scoring};
use crate::spec::{HumanGraderConfig, ModelGraderConfig, ModelSpec, RatingKind};

pub(super) fn model(
    desk: &mut Desk,
    config: &ModelGraderConfig,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<Judge> {
    let rubric = rubric(desk, config.rubric.as_deref().unwrap_or_default(), node)?;
    let at = node.get("config").unwrap_or(node);
    let spec = ModelSpec {
        model: config.model.clone(),
        base_url: config.base_url.clone(),
        api_key_env: config.api_key_env.clone(),
        temperature: config.temperature,
        max_tokens: config.max_tokens,
        retries: config.retries,
        replay: config.replay.clone(),
        ..ModelSpec::default()
    };
    let dir = desk.dir.to_owned();
    let model = models::resolve(desk, &spec, at, &dir)?;
    Some(Judge {
        models: vec![model],
        votes: config.votes.unwrap_or(1),
        panel: config.panel.unwrap_or_default(),
        rubric,
        criteria: Vec::new(),
        scoring: Scoring::Boolean,
        pass_threshold: config.pass_threshold.unwrap_or(Judge::PASS_THRESHOLD),
        examples: Vec::new(),
        prompt: config.prompt.clone(),
        reference: super::reference(expected, baseline),
        alternatives: Vec::new(),
        must_include: Vec::new(),
        must_not_include: Vec::new(),
        max_chars: config.max_chars.unwrap_or(Judge::MAX_CHARS),
        repairs: config.repairs.unwrap_or(Judge::REPAIRS),
        structured: config.structured.unwrap_or(true),
        timeout: config.timeout_seconds.map_or(Judge::TIMEOUT, seconds),
    })
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
