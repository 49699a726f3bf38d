//! Messages, as Anthropic has them.

use serde_json::{Value, json};

use super::words::{error_in, finish, model_of};
use super::{
    Fields, Spoken, classify, count, count_or_none, misshapen, text_of, thoughts_of, tokens,
    with_options,
};
use crate::{Call, Completion, Endpoint, Fault, FaultKind, Finish, Message, Tokens};
use eval_base::ordered::OrderedValue;

/// The version of the API that is spoken.
const VERSION: &str = "2023-06-01";

/// The API wants a limit of tokens; this is it when nobody says one.
pub(crate) const MAX_TOKENS: u64 = 4096;

pub(super) fn speak(endpoint: &Endpoint, call: &Call, key: Option<&str>) -> Result<Spoken, Fault> {
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
    Spoken::post("messages", headers, body(endpoint, call))
}

/// A `seed` is not sent: the API has none.
fn body(endpoint: &Endpoint, call: &Call) -> Fields {
    let sampling = &call.sampling;
    let spoken = |message: &&Message| message.role != "system";
    let messages: Vec<Value> = call
        .messages
        .iter()
        .filter(spoken)
        .map(|message| json!({"role": message.role, "content": message.content}))
        .collect();
    let mut fields = Fields::new();
    fields.push((
        "model".to_owned(),
        Value::from(endpoint.model.clone()).into(),
    ));
    fields.push(("messages".to_owned(), Value::from(messages).into()));
    fields.push((
        "max_tokens".to_owned(),
        Value::from(sampling.max_tokens.unwrap_or(MAX_TOKENS)).into(),
    ));
    let mut put = |name: &str, value: Option<OrderedValue>| {
        if let Some(value) = value {
            fields.push((name.to_owned(), value));
        }
    };
    put("system", system(call).map(OrderedValue::from));
    put(
        "temperature",
        sampling.temperature.map(|n| Value::from(n).into()),
    );
    put("top_p", sampling.top_p.map(|n| Value::from(n).into()));
    put(
        "stop_sequences",
        (!sampling.stop.is_empty()).then(|| Value::from(sampling.stop.clone()).into()),
    );
    let format = |schema: &OrderedValue| {
        let format =
            OrderedValue::map([("type", "json_schema".into()), ("schema", schema.clone())]);
        OrderedValue::map([("format", format)])
    };
    put("output_config", sampling.json_schema.as_ref().map(format));
    with_options(&mut fields, &sampling.options);
    fields
}

/// The system prompt and the messages of that role, which the API does not know: one text, or
/// blocks when one of them has parts.
fn system(call: &Call) -> Option<Value> {
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

pub(super) fn read(host: &str, body: &Value) -> Result<Completion, Fault> {
    let used = body.get("usage").and_then(usage);
    if let Some(said) = error_in(body) {
        return Err(Fault {
            tokens: used,
            ..classify::of_error_body(host, &said)
        });
    }
    let Some(content @ (Value::Array(_) | Value::String(_))) = body.get("content") else {
        return Err(Fault {
            tokens: used,
            ..misshapen(host, "it has no `content`")
        });
    };
    let told = body.get("stop_reason").and_then(Value::as_str);
    if told == Some("pause_turn") {
        let why = format!(
            "{host} paused before the answer was complete (`pause_turn`), and a paused turn is not continued; leave tools that run \
             on the server out of `options.tools`, or lower their `max_uses`"
        );
        return Err(Fault {
            tokens: used,
            ..Fault::new(FaultKind::Cut, why)
        });
    }
    let mut finish = told.map_or(Finish::Other, finish);
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_call = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("tool_use");
    let calls: Vec<Value> = blocks.iter().filter(is_call).cloned().collect();
    let tool_calls = (!calls.is_empty()).then_some(Value::Array(calls));
    if tool_calls.is_some() && !matches!(finish, Finish::Refused | Finish::Length) {
        finish = Finish::ToolCalls;
    }
    let model = model_of(body);
    let thoughts = thoughts_of(content);
    let text = text_of(content).unwrap_or_default();
    Ok(Completion {
        text,
        tool_calls,
        finish,
        tokens: used,
        model,
        thoughts,
    })
}

/// `input_tokens` are only those that the API's cache of prompts had no part in.
fn usage(usage: &Value) -> Option<Tokens> {
    let read = count_or_none(usage.get("cache_read_input_tokens"))?;
    let written = count_or_none(usage.get("cache_creation_input_tokens"))?;
    let input = count(usage.get("input_tokens"))?
        .checked_add(read)?
        .checked_add(written)?;
    tokens(input, count(usage.get("output_tokens"))?, read, written)
}
