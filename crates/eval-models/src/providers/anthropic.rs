//! Messages, as Anthropic has them.

use serde_json::{Value, json};

use super::words::finish;
use super::{
    ApiRequest, count, count_or_none, fields, misshapen, plain, stop, text_of, thoughts_of, tokens,
};
use crate::{
    ChatMessage, Completion, Endpoint, FaultKind, FinishReason, ModelFault, ModelRequest,
    TokenCounts,
};
use eval_base::ordered::OrderedValue;

/// The version of the API that is spoken.
const VERSION: &str = "2023-06-01";

/// The API wants a limit of tokens; this is it when nobody says one.
pub(crate) const MAX_TOKENS: u64 = 4096;

/// A `seed` is not sent: the API has none.
pub(super) fn speak(
    endpoint: &Endpoint,
    call: &ModelRequest,
    key: Option<&str>,
) -> Result<ApiRequest, ModelFault> {
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
    let sampling = &call.sampling;
    let spoken = |message: &&ChatMessage| message.role != "system";
    let messages: Vec<Value> = call
        .messages
        .iter()
        .filter(spoken)
        .map(|message| json!({"role": message.role, "content": message.content}))
        .collect();
    let format = |schema: &OrderedValue| {
        let format =
            OrderedValue::map([("type", "json_schema".into()), ("schema", schema.clone())]);
        OrderedValue::map([("format", format)])
    };
    let fields = fields([
        ("model", plain(Some(endpoint.model.clone()))),
        ("messages", plain(Some(messages))),
        (
            "max_tokens",
            plain(sampling.max_tokens.or(Some(MAX_TOKENS))),
        ),
        ("system", plain(system(call))),
        ("temperature", plain(sampling.temperature)),
        ("top_p", plain(sampling.top_p)),
        ("stop_sequences", plain(stop(sampling))),
        ("output_config", sampling.json_schema.as_ref().map(format)),
    ]);
    ApiRequest::post("messages", headers, fields, &sampling.options)
}

/// The system prompt and the messages of that role, which the API does not know: one text, or
/// blocks when one of them has parts.
fn system(call: &ModelRequest) -> Option<Value> {
    let own = call.system.iter().map(|text| Value::String(text.clone()));
    let told = call
        .messages
        .iter()
        .filter(|message| message.role == "system");
    let all: Vec<Value> = own
        .chain(told.map(|message| message.content.clone()))
        .collect();
    if all.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
    Some(match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => all
            .into_iter()
            .flat_map(|content| match content {
                Value::Array(parts) => parts,
                Value::String(text) => vec![json!({"type": "text", "text": text})],
                other => vec![other],
            })
            .collect::<Vec<_>>()
            .into(),
    })
}

pub(super) fn read(host: &str, body: &Value) -> Result<Completion, ModelFault> {
    let Some(content @ (Value::Array(_) | Value::String(_))) = body.get("content") else {
        return Err(misshapen(host, "it has no `content`"));
    };
    let reason = body.get("stop_reason").and_then(Value::as_str);
    if reason == Some("pause_turn") {
        let why = format!(
            "{host} paused before the answer was complete (`pause_turn`), and a paused turn is not continued; leave tools that run \
             on the server out of `options.tools`, or lower their `max_uses`"
        );
        return Err(ModelFault::new(FaultKind::Cut, why));
    }
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_call = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("tool_use");
    let calls: Vec<Value> = blocks.iter().filter(is_call).cloned().collect();
    let finish = reason.map_or(FinishReason::Other, finish);
    Ok(Completion {
        tool_calls: (!calls.is_empty()).then_some(Value::Array(calls)),
        thoughts: thoughts_of(content),
        ..Completion::new(text_of(content).unwrap_or_default(), finish)
    })
}

/// `input_tokens` are only those that the API's cache of prompts had no part in.
pub(super) fn usage(usage: &Value) -> Option<TokenCounts> {
    let read = count_or_none(usage.get("cache_read_input_tokens"))?;
    let written = count_or_none(usage.get("cache_creation_input_tokens"))?;
    let input = count(usage.get("input_tokens"))?
        .checked_add(read)?
        .checked_add(written)?;
    tokens(input, count(usage.get("output_tokens"))?, read, written)
}
