//! Model targets: an input becomes messages, and what the model says an output.
//!
//! What is asked is data: nothing in it is rendered. A context stands before the prompt, as it is when it is a text, else as JSON in
//! a fence.

use serde_json::{Value, json};

use crate::llm::{Answer as ModelAnswer, Call, CallIndex, Completion, Message, Models};
use crate::model::{Case, Cause, Finish, Input, ModelTarget, Output, OutputValue, Usage};

use super::input::render;
use super::{Answer, TargetFailure};

/// Asks for one output.
pub(super) async fn ask(
    target: &ModelTarget,
    case: &Case,
    sample: u32,
    attempt: u32,
    models: &Models,
) -> Answer {
    let shown = target.show_context && !case.context_told;
    let messages = match messages(&case.input, shown).await {
        Ok(messages) => messages,
        Err(failure) => return Answer { result: Err(failure), latency: None, call: None },
    };
    let call = Call {
        system: target.system.clone(),
        messages,
        sampling: target.sampling.clone(),
        index: CallIndex { sample, attempt, vote: 0 },
        timeout: case.timeout,
    };
    let ModelAnswer { result, usage, told, latency } = match case.max_latency {
        Some(_) => models.ask_timed(&target.endpoint, &call).await,
        None => models.ask(&target.endpoint, &call).await,
    };
    let result = match result {
        Ok(completion) => output(completion, usage),
        Err(fault) => Err(TargetFailure::new(fault.cause(), fault.reason)),
    };
    Answer { result, latency, call: Some(Box::new(told)) }
}

/// Bytes of text that a model is told of a case; `None` when its input can't be read now.
pub async fn question_bytes(target: &ModelTarget, case: &Case) -> Option<usize> {
    let messages = messages(&case.input, target.show_context && !case.context_told).await.ok()?;
    let said = messages.iter().map(|message| match &message.content {
        Value::String(text) => text.len(),
        parts => parts.to_string().len(),
    });
    Some(said.sum::<usize>() + target.system.as_ref().map_or(0, String::len))
}

/// What the model is told of an input.
async fn messages(input: &Input, show_context: bool) -> Result<Vec<Message>, TargetFailure> {
    let (mut messages, context) = match input {
        Input::Messages { messages, context } => {
            let said = messages.iter().map(|message| Message {
                role: message.role.clone(),
                content: Value::String(message.content.clone()),
            });
            (said.collect(), context.as_ref())
        }
        Input::Prompt { context, .. } | Input::File { context, .. } => {
            (vec![Message::user(render(input).await?.into_text())], context.as_ref())
        }
        Input::ApiCall { .. } => (vec![Message::user(pretty(&render(input).await?.whole))], None),
        Input::Data { value: Value::String(text) } => (vec![Message::user(text.as_str())], None),
        Input::Data { value } => (vec![Message::user(pretty(value))], None),
    };
    if let Some(context) = context.filter(|context| show_context && !is_nothing(context)) {
        put_before(&mut messages, &laid_out(context));
    }
    Ok(messages)
}

fn is_nothing(context: &Value) -> bool {
    match context {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// As people would write it down for another person.
fn laid_out(context: &Value) -> String {
    match context {
        Value::String(text) => format!("Context:\n\n{}", text.trim_end()),
        data => format!("Context:\n\n```json\n{}\n```", pretty(data)),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Before what the user says first.
fn put_before(messages: &mut Vec<Message>, context: &str) {
    let first = messages.iter_mut().find(|message| message.role == "user");
    match first.map(|message| &mut message.content) {
        Some(Value::String(text)) => *text = format!("{context}\n\n{text}"),
        // Of parts that the API knows: a message of its own.
        _ => {
            let place =
                messages.iter().position(|message| message.role != "system").unwrap_or(messages.len());
            messages.insert(place, Message::user(context));
        }
    }
}

/// A refusal without a word has nothing to grade; it fails as what it is.
fn output(completion: Completion, usage: Option<Usage>) -> Result<Output, TargetFailure> {
    let silent = completion.is_silent();
    let Completion { text, tool_calls, finish, model, .. } = completion;
    let value = match tool_calls {
        Some(calls) => OutputValue::Json(json!({ "text": text, "tool_calls": calls })),
        // No text would pass whatever looks for what must not be there.
        None if silent => {
            let (cause, why) = match finish {
                Finish::Refused => (Cause::Refused, "the model declined to answer, and gave no text"),
                Finish::Length => (
                    Cause::TargetFailed,
                    "the answer was cut at its limit of tokens before its first word (`max_tokens` may be too low)",
                ),
                _ => (Cause::TargetFailed, "the model answered with an empty text"),
            };
            let said = Output { usage, model, finish: Some(finish), ..Output::text(text) };
            return Err(TargetFailure { output: Some(Box::new(said)), ..TargetFailure::new(cause, why) });
        }
        None => OutputValue::Text(text),
    };
    Ok(Output { value, truncated: false, usage, model, finish: Some(finish) })
}

#[cfg(test)]
mod tests;
