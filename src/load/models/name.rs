//! Names of models: whose they are.

use super::WrittenModel;
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::template::is_template;
use eval_base::nearest::did_you_mean;

/// Providers that are there without a word under `providers:`; the last one needs a `request`.
pub(super) const BUILT_IN: [&str; 3] = ["openai", "anthropic", "http"];

/// A model and who is asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedModel {
    pub provider: String,
    pub model: String,
}

impl NamedModel {
    fn new(provider: &str, model: &str) -> NamedModel {
        NamedModel {
            provider: provider.to_owned(),
            model: model.to_owned(),
        }
    }
}

/// Who is meant by `PROVIDER:MODEL`, or by a model's name alone.
pub(super) fn resolve(desk: &mut SuiteDesk, written: &WrittenModel) -> Option<NamedModel> {
    let (text, at) = (
        written.spec.model.as_deref().unwrap_or_default(),
        written.at("model"),
    );
    if is_template(text) {
        // What a template failed to fill was told.
        return Some(NamedModel::new("openai", text));
    }
    let spaced = |text: &str| text.trim() != text;
    if spaced(text)
        || text
            .split_once(':')
            .is_some_and(|(provider, model)| spaced(provider) || spaced(model))
        || text.chars().any(char::is_control)
    {
        let message = "the model's name has a space at its ends, or a control character in it";
        return desk.refuse(Problem::error(Code::BadFormat, at, message));
    }
    let Some((provider, model)) = text.split_once(':') else {
        return bare(desk, written, text);
    };
    if model.is_empty() || provider.is_empty() {
        let lack = if model.is_empty() {
            "no model is named after the colon"
        } else {
            "no provider is named before the colon"
        };
        return desk.refuse(
            Problem::error(Code::BadFormat, at, lack)
                .hint("write `PROVIDER:MODEL`, such as `openai:gpt-4o-mini`"),
        );
    }
    let suite = desk.suite;
    // The suite that is not known may have it.
    let is_known = suite.providers.contains_key(provider) || BUILT_IN.contains(&provider);
    if is_known || suite.shelf.open {
        return Some(NamedModel::new(provider, model));
    }
    let known = suite.providers.keys().map(String::as_str).chain(BUILT_IN);
    let hint = match did_you_mean(provider, known) {
        Some(near) => format!("did you mean `{near}:{model}`?"),
        None if written.spec.request.is_some() => {
            format!("if the colon is part of the model's name, write `http:{text}`")
        }
        None if written.spec.base_url.is_some() => {
            format!(
                "if the colon is part of the model's name, write `openai:{text}` (`openai` is the language of compatible servers, too)"
            )
        }
        None => format!(
            "add it to the suite (`providers: {{{provider}: {{base_url: \"http://...\"}}}}`); a model whose own name has a colon is \
             written `PROVIDER:{text}`"
        ),
    };
    let message = format!("there is no provider `{provider}`");
    desk.refuse(Problem::error(Code::UnknownProvider, at, message).hint(hint))
}

/// Whose model it is when nobody says.
fn bare(desk: &mut SuiteDesk, written: &WrittenModel, text: &str) -> Option<NamedModel> {
    let at = written.at("model");
    if text.is_empty() {
        return desk.refuse(Problem::error(Code::BadFormat, at, "the model has no name"));
    }
    let spec = written.spec;
    if spec.request.is_some() {
        return Some(NamedModel::new("http", text));
    }
    // Whatever it is called, a server of one's own speaks the common language.
    if spec.base_url.is_some() {
        return Some(NamedModel::new("openai", text));
    }
    if let Some(provider) = owner(text) {
        return Some(NamedModel::new(provider, text));
    }
    let message = format!("nothing says whose model `{text}` is");
    let hint = match desk
        .suite
        .providers
        .keys()
        .next()
        .filter(|_| desk.suite.providers.len() == 1)
    {
        Some(only) => format!("write `{only}:{text}`"),
        None => format!(
            "write `PROVIDER:{text}` with `openai`, `anthropic` or a name under the suite's `providers:`, or give a `base_url`"
        ),
    };
    desk.refuse(Problem::error(Code::UnknownProvider, at, message).hint(hint))
}

/// The provider whose models begin like this.
fn owner(model: &str) -> Option<&'static str> {
    let reasoner = || {
        model
            .strip_prefix('o')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match model {
        _ if model.starts_with("claude-") => Some("anthropic"),
        _ if model.starts_with("gpt-") || model.starts_with("chatgpt-") || reasoner() => {
            Some("openai")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_names_tell_whose_they_are() {
        let table = [
            ("claude-sonnet-4-5", Some("anthropic")),
            ("gpt-4o-mini", Some("openai")),
            ("chatgpt-4o-latest", Some("openai")),
            ("o1", Some("openai")),
            ("o3-mini", Some("openai")),
            ("o4-mini-2025-04-16", Some("openai")),
            ("olmo-2", None),
            ("o", None),
            ("claude", None),
            ("my-gpt-4", None),
            ("mistral-large", None),
        ];
        for (model, whose) in table {
            assert_eq!(owner(model), whose, "{model}");
        }
    }
}
