//! Models: who is meant by a name, where and how fast it is asked, and what it is told.

mod endpoint;
mod key;
mod name;
mod providers;
mod request;
mod settings;

pub(crate) use key::AskedModels;
pub use key::KeyValues;
pub(super) use key::{KeyPlaces, check_keys};
pub(super) use providers::{WrittenProviders, check_providers};
pub use settings::cache_folder;
pub(super) use settings::{is_offline, settings};

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, to_value};

use super::problem::{Code, Problem};
use super::reach::{InheritedKind, SparePart};
use super::scope::SuiteDesk;
use super::source::Span;
use super::tree::Node;
use crate::model::{CaseInput, HttpDialect, ModelTarget, ProviderApi, SamplingOptions};
use crate::spec::words::ThoughtsMode;
use crate::spec::{ApiWord, ModelSpec};
use eval_base::ordered::OrderedValue;

/// Fields of a request that are this program's own to say: what is asked, of whom, and that the
/// answer comes whole.
const OWN_FIELDS: [&str; 3] = ["messages", "model", "stream"];

/// What somebody wrote of a model, with what it stands on.
pub(super) struct WrittenModel<'a> {
    pub spec: &'a ModelSpec,
    pub node: &'a Node,
    /// Where the rest was written, of what stands on another target.
    pub base: Option<&'a Node>,
    /// The folder of the file.
    pub dir: &'a Path,
}

impl WrittenModel<'_> {
    /// The value of a key, or what it would be part of.
    fn at(&self, key: &str) -> Span {
        let base = self.base.filter(|_| self.node.get(key).is_none());
        base.unwrap_or(self.node).locate(&format!("/{key}"))
    }

    /// What a field of `options` is written as.
    fn node_of_option(&self, name: &str) -> Option<&Node> {
        let option = |node: &'_ Node| {
            node.get("options")
                .is_some_and(|options| options.get(name).is_some())
        };
        let node = if option(self.node) {
            Some(self.node)
        } else {
            self.base
        };
        node?.get("options")?.get(name)
    }

    /// The node that has the key.
    fn node_of(&self, key: &str) -> &Node {
        self.base
            .filter(|_| self.node.get(key).is_none())
            .unwrap_or(self.node)
    }
}

/// A model target with everything in place; `dir` is the folder of the file that says it. One that
/// names no model stands on the suite's.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: &ModelSpec,
    node: &Node,
    dir: &Path,
) -> Option<ModelTarget> {
    if spec.model.is_some() {
        return target(
            desk,
            &WrittenModel {
                spec,
                node,
                base: None,
                dir,
            },
        );
    }
    desk.require(&SparePart::Inherited(InheritedKind::Model))?;
    let Some((base, base_node)) = desk.suite.model.clone() else {
        // A suite that is not known, or is broken, may well have one.
        if !desk.suite.shelf.open {
            desk.push_lenient(Problem::error(Code::MissingKey, node.span, "no `model` is set").hint(
                "add `model: \"openai:gpt-4o-mini\"`, or add a target of type `model` to the suite; executions without a model use it",
            ));
        }
        return None;
    };
    let spec = &read(desk, node, on_top(spec, &base))?;
    target(
        desk,
        &WrittenModel {
            spec,
            node,
            base: Some(&base_node),
            dir,
        },
    )
}

fn target(desk: &mut SuiteDesk, written: &WrittenModel) -> Option<ModelTarget> {
    let errors = desk.problems.error_count();
    let sampling = sampling(desk, written);
    let endpoint = endpoint::resolve(desk, written)?;
    let system = written
        .spec
        .system
        .clone()
        .filter(|text| !text.trim().is_empty());
    let deaf = |dialect: &&HttpDialect| !request::holds(dialect, &["system", "messages"]);
    if system.is_some() && endpoint.dialect.as_deref().filter(deaf).is_some() {
        let message = "there is a system prompt, but the request has no place for it";
        let hint = "put `{{ system }}` or `{{ messages }}` into its body";
        desk.push(Problem::error(Code::BadRequest, written.at("system"), message).hint(hint));
    }
    if let Some(dialect) = endpoint.dialect.as_deref() {
        warn_of_unsent(desk, written, dialect);
    }
    (desk.problems.error_count() == errors).then(|| ModelTarget {
        show_context: written.spec.show_context.unwrap_or(true),
        keep_thoughts: written.spec.thoughts == Some(ThoughtsMode::Keep),
        training_cutoff: written.spec.training_cutoff.clone(),
        system,
        endpoint,
        sampling,
    })
}

/// Warns of what is set and never sent, because the request has no place for it.
fn warn_of_unsent(desk: &mut SuiteDesk, written: &WrittenModel, dialect: &HttpDialect) {
    let spec = written.spec;
    let set = [
        ("temperature", spec.temperature.is_some()),
        ("top_p", spec.top_p.is_some()),
        ("max_tokens", spec.max_tokens.is_some()),
        ("stop", !spec.stop.0.is_empty()),
        ("seed", spec.seed.is_some()),
        ("json_schema", spec.json_schema.is_some()),
    ];
    for (name, _) in set
        .into_iter()
        .filter(|(name, set)| *set && !request::holds(dialect, &[name]))
    {
        let message = format!("`{name}` is never sent: the request has no place for it");
        let hint = format!("put `{{{{ {name} }}}}` into its body");
        desk.push(Problem::warning(Code::SuspiciousValue, written.at(name), message).hint(hint));
    }
}

/// A value with its keys in the order in which they are written; what is not written there comes
/// last.
pub(super) fn ordered(value: &Value, node: Option<&Node>) -> OrderedValue {
    match value {
        Value::Object(fields) => {
            let keys = node.and_then(Node::as_map).unwrap_or(&[]);
            let written = keys.iter().filter_map(|(key, node)| {
                let name: &str = &key.name;
                Some((name.to_owned(), ordered(fields.get(name)?, Some(node))))
            });
            let names: HashSet<&str> = keys.iter().map(|(key, _)| &*key.name).collect();
            let rest = fields
                .iter()
                .filter(|(name, _)| !names.contains(name.as_str()));
            OrderedValue::map(
                written.chain(rest.map(|(name, value)| (name.clone(), ordered(value, None)))),
            )
        }
        Value::Array(items) => {
            let nodes = node.and_then(Node::as_seq).unwrap_or(&[]);
            let items = items
                .iter()
                .enumerate()
                .map(|(at, item)| ordered(item, nodes.get(at)));
            OrderedValue::List(items.collect())
        }
        plain => plain.clone().into(),
    }
}

fn sampling(desk: &mut SuiteDesk, written: &WrittenModel) -> SamplingOptions {
    let spec = written.spec;
    if let Some(schema) = spec.json_schema.clone().map(Value::Object)
        && let Err(error) = jsonschema::validator_for(&schema)
    {
        let message = format!("not a valid JSON Schema: {error}");
        desk.push(Problem::error(
            Code::BadSchema,
            written.at("json_schema"),
            message,
        ));
    }
    let options = written.node_of("options").get("options");
    for name in spec
        .options
        .keys()
        .filter(|name| OWN_FIELDS.contains(&name.as_str()))
    {
        let at = options.map_or(written.node.span, |node| node.key_span(&format!("/{name}")));
        let message = format!("`{name}` is not allowed under `options`: eval-harness sets it");
        desk.push(Problem::error(Code::BadRequest, at, message).hint("remove it"));
    }
    if spec.stop.0.iter().any(String::is_empty) {
        let message = "a text under `stop` must not be empty";
        desk.push(Problem::error(Code::BadFormat, written.at("stop"), message));
    }
    SamplingOptions {
        temperature: spec.temperature,
        top_p: spec.top_p,
        max_tokens: spec.max_tokens,
        stop: spec.stop.0.clone(),
        seed: spec.seed,
        json_schema: spec.json_schema.as_ref().map(|schema| {
            ordered(
                &Value::Object(schema.clone()),
                written.node_of("json_schema").get("json_schema"),
            )
        }),
        options: spec
            .options
            .iter()
            .map(|(name, value)| (name.clone(), ordered(value, written.node_of_option(name))))
            .collect(),
    }
}

/// What is written, and below it what it stands on. A key, the headers that open doors and the word
/// that any certificate will do stay with the address that they were written for.
///
/// # Errors
/// As [`layered`].
pub(super) fn on_top(own: &ModelSpec, base: &ModelSpec) -> serde_json::Result<ModelSpec> {
    let elsewhere = own.base_url.is_some() && own.base_url != base.base_url;
    let headers = endpoint::joined(&base.headers, &own.headers, elsewhere);
    let options = base.options.iter().chain(&own.options);
    let options = options
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut base = base.clone();
    // A price is of a model: another one has its own.
    base.price = base.price.filter(|_| own.model.is_none());
    if elsewhere || own.sets_key() {
        (base.api_key_env, base.api_key_file, base.api_key_command) = (None, None, None);
    }
    base.insecure = base.insecure.filter(|_| !elsewhere);
    Ok(ModelSpec {
        headers,
        options,
        ..layered([to_value(&base), to_value(own)])?
    })
}

/// Layered settings, unless they fit no model.
pub(super) fn read(
    desk: &mut SuiteDesk,
    node: &Node,
    layered: serde_json::Result<ModelSpec>,
) -> Option<ModelSpec> {
    let at = node.span.at_start();
    let unfit = |error: serde_json::Error| Problem::error(Code::BadShape, at, error.to_string());
    desk.problems.take(layered.map_err(unfit))
}

/// What any of the layers sets of a model; of two that set the same, the later one wins.
///
/// # Errors
/// A layer has another type for a setting than models have.
pub(super) fn layered(
    layers: impl IntoIterator<Item = serde_json::Result<Value>>,
) -> serde_json::Result<ModelSpec> {
    let mut all = to_value(ModelSpec::default())?;
    for layer in layers {
        let Value::Object(settings) = layer? else {
            continue;
        };
        for (name, value) in settings {
            let is_set = !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty());
            if let Some(setting) = all.get_mut(&name).filter(|_| is_set) {
                *setting = value;
            }
        }
    }
    serde_json::from_value(all)
}

/// Checks that a model can be told this input.
pub(super) fn check_input(
    desk: &mut SuiteDesk,
    target: &ModelTarget,
    input: &CaseInput,
    node: &Node,
) -> Option<()> {
    let known: &[&str] = match target.endpoint.api {
        ProviderApi::Openai => &["system", "developer", "user", "assistant", "tool"],
        ProviderApi::Anthropic => &["system", "user", "assistant"],
        ProviderApi::Http => &[],
    };
    let CaseInput::Messages { messages, .. } = input else {
        return Some(());
    };
    if let Some(dialect) = target.endpoint.dialect.as_deref() {
        if request::holds(dialect, &["messages"]) {
            return Some(());
        }
        let (of_system, said): (Vec<_>, Vec<_>) = messages
            .iter()
            .partition(|message| message.role == "system");
        let message = if said.len() > 1 {
            "the input is a conversation, but the request has only one `prompt`"
        } else if !of_system.is_empty() && !request::holds(dialect, &["system"]) {
            "the input has a system message, but the request has no place for it"
        } else {
            return Some(());
        };
        let hint = "put `{{ messages }}` into its body";
        return desk.refuse(
            Problem::error(Code::BadRequest, node.locate("/messages"), message).hint(hint),
        );
    }
    let mut whole = Some(());
    for (i, message) in messages.iter().enumerate() {
        if !known.contains(&message.role.as_str()) {
            let at = node.locate(&format!("/messages/{i}/role"));
            let text = format!("unknown role `{}`", message.role);
            let hint = format!("valid roles: {}", known.join(", "));
            desk.push(Problem::error(Code::UnknownValue, at, text).hint(hint));
            whole = None;
        }
    }
    whole
}

fn api_of(word: ApiWord) -> ProviderApi {
    match word {
        ApiWord::Openai => ProviderApi::Openai,
        ApiWord::Anthropic => ProviderApi::Anthropic,
        ApiWord::Http => ProviderApi::Http,
    }
}

#[cfg(test)]
mod tests;
