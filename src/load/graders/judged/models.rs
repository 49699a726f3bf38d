//! Who judges: one model or several, each with all that is needed to ask it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::to_value;

use crate::load::models;
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::tree::{MappingKey, Node, NodeValue};
use crate::model::ModelTarget;
use crate::spec::{JudgeModel, JudgeModelSpec, ModelGraderConfig, ModelSpec};
use eval_base::redact::is_sensitive_header;

/// Keys that an entry of `models` may have in place of what stands beside `models`.
const OWN_KEYS: [&str; 10] = [
    "base_url",
    "api_key_env",
    "api_key_file",
    "api_key_command",
    "temperature",
    "max_tokens",
    "options",
    "price",
    "replay",
    "model",
];

/// The models of a judge; `None` after saying what is wrong. `dir` is the folder of the file that
/// says it.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    node: &Node,
    dir: &Path,
) -> Option<Vec<ModelTarget>> {
    let common = models::read(desk, node, models::layered([to_value(config)]))?;
    let models = match (&config.model, config.models.as_slice()) {
        (Some(_), [_, ..]) => {
            let at = node.key_span("/models");
            let problem = Problem::error(
                Code::GraderConflict,
                at,
                "use `model` or `models`, not both",
            );
            return desk.refuse(
                problem
                    .hint("put all of them under `models:`")
                    .related(node.key_span("/model"), "the other one"),
            );
        }
        (None, []) => {
            let message = "the judge has no `model`";
            let hint = "add `model: \"openai:gpt-4o-mini\"`, or list several under `models:`";
            return desk.refuse(Problem::error(Code::MissingKey, node.span, message).hint(hint));
        }
        (Some(_), []) => vec![models::resolve(desk, &common, node, dir)?],
        (None, several) => panel(desk, config, several, node, dir)?,
    };
    warn_of_equal_votes(desk, config, &models, node);
    Some(models)
}

fn panel(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    several: &[JudgeModel],
    node: &Node,
    dir: &Path,
) -> Option<Vec<ModelTarget>> {
    let nodes = node.seq("models");
    let common = models::read(desk, node, models::layered([to_value(config)]))?;
    let mut found: Vec<ModelTarget> = Vec::new();
    let mut whole = true;
    for (i, model) in several.iter().enumerate() {
        let own = nodes.get(i).unwrap_or(node);
        let spec = match model {
            JudgeModel::Name(name) => JudgeModelSpec {
                model: name.clone(),
                ..JudgeModelSpec::default()
            },
            JudgeModel::Own(own) => (**own).clone(),
        };
        let price = spec.price.or(config.price);
        // What is said beside `models` is said of each of them.
        let layered = models::layered([to_value(&spec)]);
        let layered = layered.and_then(|spec| models::on_top(&spec, &common));
        let spec = ModelSpec {
            price,
            ..models::read(desk, own, layered)?
        };
        let Some(model) = models::resolve(desk, &spec, &joined(own, node), dir) else {
            whole = false;
            continue;
        };
        let is_same = |other: &ModelTarget| {
            other.endpoint.name() == model.endpoint.name()
                && other.endpoint.base_url == model.endpoint.base_url
        };
        if found.iter().any(is_same) {
            let message = format!("`{}` is listed twice", model.endpoint.name());
            let hint = "set `votes: 2` to call each model twice";
            desk.push(Problem::error(Code::GraderConflict, own.span, message).hint(hint));
            whole = false;
        }
        found.push(model);
    }
    whole &= keys_stay_home(desk, config, several, &found, node);
    whole.then_some(found)
}

/// A key (or a header that opens doors) beside `models` would be sent to every place that one of
/// them is at.
fn keys_stay_home(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    several: &[JudgeModel],
    found: &[ModelTarget],
    node: &Node,
) -> bool {
    let has_own_address =
        |model: &&JudgeModel| matches!(model, JudgeModel::Own(own) if own.base_url.is_some());
    if found.len() != several.len() {
        return false;
    }
    let places = |takes: &dyn Fn(&JudgeModel) -> bool| -> BTreeSet<String> {
        let all = several
            .iter()
            .zip(found)
            .filter(|(model, _)| !has_own_address(model) && takes(model));
        all.map(|(_, target)| target.endpoint.base_url.clone())
            .collect()
    };
    let without_key = |model: &JudgeModel| !matches!(model, JudgeModel::Own(own) if own.sets_key());
    let mut faults = Vec::new();
    let key = [
        config.api_key_env.as_ref().map(|_| "/api_key_env"),
        config.api_key_file.as_ref().map(|_| "/api_key_file"),
        config.api_key_command.as_ref().map(|_| "/api_key_command"),
    ];
    if let Some(key) = key.into_iter().flatten().next()
        && places(&without_key).len() > 1
    {
        let message = "one API key would be sent to several servers";
        faults.push((key, message.to_owned()));
    }
    if let Some(header) = config.headers.keys().find(|name| is_sensitive_header(name))
        && places(&|_| true).len() > 1
    {
        faults.push((
            "/headers",
            format!("the header `{header}` would be sent to several servers"),
        ));
    }
    let whole = faults.is_empty();
    for (at, message) in faults {
        let hint = "set the keys under the suite's `providers:`, or set `api_key_env`, `api_key_file` or `api_key_command` for each of `models`";
        desk.push(Problem::error(Code::GraderConflict, node.key_span(at), message).hint(hint));
    }
    whole
}

/// At temperature 0 a model says the same again.
fn warn_of_equal_votes(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    models: &[ModelTarget],
    node: &Node,
) {
    let votes = config.votes.unwrap_or(1);
    if votes > 1
        && models
            .iter()
            .any(|model| model.sampling.temperature == Some(0.0))
    {
        let at = if node.get("temperature").is_some() {
            "/temperature"
        } else {
            "/votes"
        };
        let message = format!(
            "{votes} votes at `temperature: 0` are no better than one: the model repeats its answer"
        );
        let hint = "remove `temperature`, or list several `models`";
        desk.push(Problem::warning(Code::SuspiciousValue, node.key_span(at), message).hint(hint));
    }
}

/// An entry of `models` with what stands beside `models`, so that each setting is told where it is
/// written.
fn joined(own: &Node, config: &Node) -> Node {
    let mut entries = match &own.value {
        NodeValue::Map(entries) => entries.clone(),
        _ => vec![(
            MappingKey {
                name: "model".into(),
                span: own.span,
            },
            own.clone(),
        )],
    };
    let beside = config.as_map().unwrap_or(&[]).iter();
    let is_said = |name: &str| own.get(name).is_some() && OWN_KEYS.contains(&name);
    entries.extend(
        beside
            .filter(|(key, _)| &*key.name != "models" && !is_said(&key.name))
            .cloned(),
    );
    Node {
        span: own.span,
        value: NodeValue::Map(entries),
    }
}
