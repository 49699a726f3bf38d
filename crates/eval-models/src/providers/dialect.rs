//! JSON APIs of one's own, as a [`HttpDialect`] describes them.

use std::cell::Cell;

use serde_json::Value;
use serde_json_path::JsonPath;

use super::words::{ErrorReply, error_in, without_mark};
use super::{
    ApiRequest, bearer, classify, count, misshapen, openai, stop, text_of, tokens, with_options,
};
use crate::{
    ChatMessage, Completion, Endpoint, FaultKind, FinishReason, HttpDialect, ModelFault,
    ModelRequest, PromptSupport, TokenCounts,
};
use eval_base::ordered::OrderedValue;
use eval_base::percent;
use eval_base::placeholders::{fill, lone};

/// Names that a path and a body may hold.
const SYSTEM: &str = "system";
const MESSAGES: &str = "messages";
const PROMPT: &str = "prompt";
const SCHEMA: &str = "json_schema";

pub(super) fn speak(
    dialect: &HttpDialect,
    endpoint: &Endpoint,
    call: &ModelRequest,
    key: Option<&str>,
) -> Result<ApiRequest, ModelFault> {
    let names = UsedPlaceholders::of(dialect);
    names.check(call)?;
    let filling = PlaceholderValues {
        endpoint,
        call,
        with_system: !names.system,
    };
    let path = fill(&dialect.path, |name| {
        Some(percent::encode(&filled_text(&filling.value(name)?)))
    });
    let mut body = filling.filled(&dialect.body).unwrap_or(Value::Null.into());
    if let OrderedValue::Map(fields) = &mut body {
        with_options(fields, &call.sampling.options);
    }
    let body = match body {
        OrderedValue::Plain(Value::Null) => None,
        OrderedValue::Plain(Value::String(text)) => Some(("text/plain; charset=utf-8", text)),
        data => Some(("application/json", data.to_string())),
    };
    let kind = body
        .iter()
        .map(|(kind, _)| ("content-type", (*kind).to_owned()));
    Ok(ApiRequest {
        method: dialect.method.clone(),
        path: path.unwrap_or_else(|| dialect.path.clone()),
        headers: kind.chain(bearer(key)).collect(),
        body: body.map(|(_, text)| text.into_bytes()),
    })
}

/// What of a question the request speaks of: what it leaves out the model would never hear of.
#[derive(Default)]
struct UsedPlaceholders {
    system: bool,
    messages: bool,
    prompt: bool,
    schema: bool,
}

/// What of a question an API of one's own has places for.
pub(super) fn places(dialect: &HttpDialect) -> PromptSupport {
    let UsedPlaceholders {
        system,
        messages,
        schema,
        ..
    } = UsedPlaceholders::of(dialect);
    PromptSupport {
        system: system || messages,
        turns: messages,
        schema,
    }
}

impl UsedPlaceholders {
    fn of(dialect: &HttpDialect) -> UsedPlaceholders {
        let mut names = UsedPlaceholders::default();
        let mut see = |text: &str| {
            let _ = fill(text, |name| {
                names.system |= name == SYSTEM;
                names.messages |= name == MESSAGES;
                names.prompt |= name == PROMPT;
                names.schema |= name == SCHEMA;
                None
            });
        };
        see(&dialect.path);
        every_text(&dialect.body, &mut see);
        names
    }

    fn check(&self, call: &ModelRequest) -> Result<(), ModelFault> {
        let bad = |why: &str| Err(ModelFault::new(FaultKind::BadRequest, why));
        if self.messages {
            return Ok(());
        }
        if self.prompt
            && call
                .messages
                .iter()
                .filter(|message| message.role != SYSTEM)
                .count()
                > 1
        {
            return bad(
                "the request has a place for one `prompt`, and the input is a conversation: use `{{ messages }}`",
            );
        }
        if !self.system && system(call).is_some() {
            return bad(
                "there is a system prompt, and the request has no place for it: use `{{ system }}` or `{{ messages }}`",
            );
        }
        Ok(())
    }
}

/// All that the system says: its prompt, and the messages of that role.
fn system(call: &ModelRequest) -> Option<String> {
    let told = call
        .messages
        .iter()
        .filter(|message| message.role == SYSTEM);
    let told = told.map(|message| words_of(&message.content));
    let all: Vec<String> = call.system.iter().cloned().chain(told).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

fn words_of(content: &Value) -> String {
    text_of(content).unwrap_or_else(|| content.to_string())
}

fn every_text(value: &OrderedValue, see: &mut impl FnMut(&str)) {
    match value {
        OrderedValue::Plain(Value::String(text)) => see(text),
        OrderedValue::Plain(_) => {}
        OrderedValue::List(items) => items.iter().for_each(|item| every_text(item, see)),
        OrderedValue::Map(entries) => entries.iter().for_each(|(_, value)| every_text(value, see)),
    }
}

/// What stands for placeholders.
struct PlaceholderValues<'a> {
    endpoint: &'a Endpoint,
    call: &'a ModelRequest,
    /// What the system says stands among the messages, having no other place.
    with_system: bool,
}

impl PlaceholderValues<'_> {
    /// `None` for a name that nothing is called by; `Value::Null` for what is not set.
    fn value(&self, name: &str) -> Option<OrderedValue> {
        let sampling = &self.call.sampling;
        if name == SCHEMA {
            return Some(sampling.json_schema.clone().unwrap_or(Value::Null.into()));
        }
        let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
        let value: Value = match name {
            PROMPT => prompt(&self.call.messages).into(),
            SYSTEM => or_null(system(self.call).map(Value::from)),
            MESSAGES => {
                let mut messages = openai::messages(self.call);
                messages.retain(|message| self.with_system || message["role"] != SYSTEM);
                messages.into()
            }
            "model" => self.endpoint.model.clone().into(),
            "temperature" => or_null(sampling.temperature.map(Value::from)),
            "top_p" => or_null(sampling.top_p.map(Value::from)),
            "max_tokens" => or_null(sampling.max_tokens.map(Value::from)),
            "stop" => or_null(stop(sampling).map(Value::from)),
            "seed" => or_null(sampling.seed.map(Value::from)),
            _ => return None,
        };
        Some(value.into())
    }

    /// The template with its placeholders filled; `None` when it is one for what is not set, and
    /// its field is left out.
    fn filled(&self, template: &OrderedValue) -> Option<OrderedValue> {
        Some(match template {
            OrderedValue::Plain(Value::String(text)) => {
                if let Some(value) = lone(text).and_then(|name| self.value(name)) {
                    return (!value.is_null()).then_some(value);
                }
                let unset = Cell::new(false);
                let filled = fill(text, |name| {
                    let value = self.value(name)?;
                    unset.set(unset.get() || value.is_null());
                    Some(filled_text(&value))
                });
                if unset.get() {
                    return None;
                }
                Value::String(filled.unwrap_or_else(|| text.clone())).into()
            }
            OrderedValue::List(items) => {
                OrderedValue::List(items.iter().filter_map(|item| self.filled(item)).collect())
            }
            OrderedValue::Map(entries) => OrderedValue::map(
                entries
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), self.filled(value)?))),
            ),
            other => other.clone(),
        })
    }
}

/// What was said last.
fn prompt(messages: &[ChatMessage]) -> String {
    let last = messages.iter().rev().find(|message| message.role != SYSTEM);
    last.map(|message| words_of(&message.content))
        .unwrap_or_default()
}

/// As [`as_text`], with keys in their order.
fn filled_text(value: &OrderedValue) -> String {
    match value {
        OrderedValue::Plain(plain) => as_text(plain),
        data => data.to_string(),
    }
}

/// A text as it is, other data as it is written.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What an answer with the status of an error says, where the API says such things.
pub(super) fn error_of_status(dialect: &HttpDialect, body: &[u8]) -> Option<ErrorReply> {
    let value: Value = serde_json::from_slice(without_mark(body)).ok()?;
    nodes(dialect.error.as_ref()?, &value)
        .ok()?
        .into_iter()
        .find_map(ErrorReply::of_error)
}

pub(super) fn read(
    dialect: &HttpDialect,
    host: &str,
    body: &Value,
) -> Result<Completion, ModelFault> {
    if let Some(path) = &dialect.error {
        let nodes = nodes(path, body)?;
        if let Some(said) = nodes.into_iter().find_map(ErrorReply::of_error) {
            return Err(classify::of_error_body(host, &said));
        }
    }
    let reason = match &dialect.finish {
        Some(path) => nodes(path, body)?.into_iter().find_map(Value::as_str),
        None => None,
    };
    let finish = classify::of_end(host, reason)?;
    let found = nodes(&dialect.answer, body)?;
    let text = match (found.as_slice(), finish) {
        // Who declines may leave the answer out.
        ([], FinishReason::Refused | FinishReason::Length) => String::new(),
        ([], _) => {
            return Err(match error_in(body) {
                Some(said) => classify::of_error_body(host, &said),
                None => misshapen(host, &format!("there is nothing at `{}`", dialect.answer)),
            });
        }
        (parts, _) => parts.iter().map(|part| as_text(part)).collect(),
    };
    Ok(Completion::new(text, finish))
}

pub(super) fn usage(
    dialect: &HttpDialect,
    body: &Value,
) -> Result<Option<TokenCounts>, ModelFault> {
    let (Some(input), Some(output)) = (&dialect.input_tokens, &dialect.output_tokens) else {
        return Ok(None);
    };
    let of = |path: &str| Ok::<_, ModelFault>(count(nodes(path, body)?.first().copied()));
    Ok(match (of(input)?, of(output)?) {
        (Some(input), Some(output)) => tokens(input, output, 0, 0),
        _ => None,
    })
}

fn nodes<'b>(path: &str, body: &'b Value) -> Result<Vec<&'b Value>, ModelFault> {
    let parsed = JsonPath::parse(path).map_err(|error| {
        ModelFault::new(
            FaultKind::Settings,
            format!("`{path}` is not a JSON path (RFC 9535): {error}"),
        )
    })?;
    Ok(parsed.query(body).all())
}
