//! Chat completions, as OpenAI has them and many servers after it.

use serde_json::{Value, json};

use super::words::error_in;
use super::{
    ApiRequest, bearer, classify, count, count_or_none, fields, misshapen, plain, stop, text_of,
    thoughts_of, tokens,
};
use crate::thoughts::kept;
use crate::{Completion, Endpoint, FinishReason, ModelFault, ModelRequest, TokenCounts};
use eval_base::ordered::OrderedValue;

pub(super) fn speak(
    endpoint: &Endpoint,
    call: &ModelRequest,
    key: Option<&str>,
) -> Result<ApiRequest, ModelFault> {
    let sampling = &call.sampling;
    let fields = fields([
        ("model", plain(Some(endpoint.model.clone()))),
        ("messages", plain(Some(messages(call)))),
        ("temperature", plain(sampling.temperature)),
        ("top_p", plain(sampling.top_p)),
        (limit_name(&endpoint.base_url), plain(sampling.max_tokens)),
        ("stop", plain(stop(sampling))),
        ("seed", plain(sampling.seed)),
        (
            "response_format",
            sampling.json_schema.as_ref().map(response_format),
        ),
    ]);
    ApiRequest::post("chat/completions", bearer(key), fields, &sampling.options)
}

/// The system prompt in front, then the messages as they are.
pub(super) fn messages(call: &ModelRequest) -> Vec<Value> {
    let system = call
        .system
        .iter()
        .map(|text| json!({"role": "system", "content": text}));
    let messages = call
        .messages
        .iter()
        .map(|message| json!({"role": message.role, "content": message.content}));
    system.chain(messages).collect()
}

/// OpenAI itself calls the limit of tokens anew, since its newer models refuse the old name; other
/// servers know the old one.
fn limit_name(base_url: &str) -> &'static str {
    let host = base_url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host
        .split(['/', ':'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    // Where data has to stay in a region, the host begins with it.
    match host.strip_suffix("api.openai.com") {
        Some(region) if region.is_empty() || region.ends_with('.') => "max_completion_tokens",
        _ => "max_tokens",
    }
}

fn response_format(schema: &OrderedValue) -> OrderedValue {
    let named = [
        ("name", "answer".into()),
        ("schema", schema.clone()),
        ("strict", OrderedValue::Plain(true.into())),
    ];
    OrderedValue::map([
        ("type", "json_schema".into()),
        ("json_schema", OrderedValue::map(named)),
    ])
}

pub(super) fn read(host: &str, body: &Value) -> Result<Completion, ModelFault> {
    let Some(choices) = body.get("choices").and_then(Value::as_array) else {
        return Err(misshapen(host, "it has no `choices`"));
    };
    let Some(choice) = choices.first() else {
        return Ok(Completion::new("", FinishReason::Other));
    };
    if let Some(said) = error_in(choice) {
        return Err(classify::of_error_body(host, &said));
    }
    let reason = choice.get("finish_reason").and_then(Value::as_str);
    let finish = classify::of_end(host, reason)?;
    let message = match choice.get("message") {
        Some(message @ Value::Object(_)) => message,
        // Servers of before there was a chat.
        _ => match choice.get("text").and_then(Value::as_str) {
            Some(text) => return Ok(Completion::new(text, finish)),
            None => return Err(misshapen(host, "its first choice has no `message`")),
        },
    };
    let content = message.get("content").unwrap_or(&Value::Null);
    let text =
        text_of(content).ok_or_else(|| misshapen(host, "the content of its message is no text"))?;
    let refusal = message
        .get("refusal")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let refusal = refusal.map(str::to_owned).or_else(|| refusal_part(content));
    Ok(Completion {
        finish: match refusal {
            Some(_) => FinishReason::Refused,
            None => finish,
        },
        text: match text.is_empty() {
            true => refusal.unwrap_or_default(),
            false => text,
        },
        tool_calls: tool_calls(message),
        thoughts: thoughts(message),
        ..Completion::new("", finish)
    })
}

/// Reasoning apart from the text: DeepSeek's and vLLM's `reasoning_content`, OpenRouter's
/// `reasoning`, Mistral's parts.
fn thoughts(message: &Value) -> Option<String> {
    let texts = ["reasoning_content", "reasoning"]
        .iter()
        .filter_map(|name| message.get(*name)?.as_str());
    let apart = texts.map(str::trim).find(|text| !text.is_empty()).map(kept);
    apart.or_else(|| thoughts_of(message.get("content")?))
}

fn refusal_part(content: &Value) -> Option<String> {
    let part = content
        .as_array()?
        .iter()
        .find(|part| part.get("type").and_then(Value::as_str) == Some("refusal"))?;
    Some(part.get("refusal")?.as_str()?.to_owned())
}

fn tool_calls(message: &Value) -> Option<Value> {
    match (message.get("tool_calls"), message.get("function_call")) {
        (Some(calls @ Value::Array(list)), _) if !list.is_empty() => Some(calls.clone()),
        (_, Some(call @ Value::Object(_))) => Some(json!([{"type": "function", "function": call}])),
        _ => None,
    }
}

pub(super) fn usage(usage: &Value) -> Option<TokenCounts> {
    let details = usage.get("prompt_tokens_details");
    let cached = count_or_none(details.and_then(|details| details.get("cached_tokens")))?;
    let input = count(usage.get("prompt_tokens"))?;
    let said = count(usage.get("completion_tokens"))?;
    // Some servers (xAI's, Gemini's) count what is thought apart from what is said, and bill both:
    // the total has all.
    let total = count(usage.get("total_tokens")).unwrap_or_default();
    tokens(input, said.max(total.saturating_sub(input)), cached, 0)
}
