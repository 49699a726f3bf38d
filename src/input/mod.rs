//! What others are shown of a case's input: as messages for a model, as one text, as JSON for
//! programs.
//!
//! What is shown is data: nothing in it is rendered. A context stands before the prompt of a
//! message, as it is when it is a text, else as JSON in a fence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::model::CaseInput;
use eval_base::files::open_file;
use eval_base::ordered::OrderedValue;
use eval_base::redact::{REDACTED, is_sensitive_header, without_secret_parameters};
use eval_models::ChatMessage;

/// The longest file that may be an input.
const MAX_FILE: u64 = 16 << 20;

/// An input can't be shown: a fault of the eval, not of who is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the input file {}: {why}", path.display())]
pub struct InputError {
    pub path: PathBuf,
    pub why: String,
}

/// An input in the two forms that a program may want.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedInput {
    /// The prompt, when the input is one: a prompt's text or a file's content.
    pub text: Option<String>,
    /// The whole input with its context.
    pub whole: Value,
}

impl RenderedInput {
    /// Reads what is to be read and lays the input out.
    pub async fn of(input: &CaseInput) -> Result<RenderedInput, InputError> {
        Ok(match input {
            CaseInput::Prompt { text, context } => RenderedInput {
                whole: with_context(json!({"type": "prompt", "content": text}), context),
                text: Some(text.clone()),
            },
            CaseInput::File { path, context } => {
                let text = read_file(path).await?;
                let whole =
                    json!({"type": "file", "path": path.to_string_lossy(), "content": text});
                RenderedInput {
                    whole: with_context(whole, context),
                    text: Some(text),
                }
            }
            CaseInput::Messages { messages, context } => RenderedInput {
                whole: with_context(json!({"type": "messages", "messages": messages}), context),
                text: None,
            },
            CaseInput::ApiCall {
                method,
                endpoint,
                headers,
                body,
            } => {
                let mut whole = json!({"type": "api_call", "method": method, "endpoint": endpoint, "headers": headers});
                if let (Some(map), Some(body)) = (whole.as_object_mut(), body) {
                    map.insert("body".to_owned(), body.to_value());
                }
                RenderedInput { whole, text: None }
            }
            CaseInput::Data { value } => RenderedInput {
                whole: value.clone(),
                text: None,
            },
        })
    }

    /// The prompt's text; the whole input as JSON when it is no prompt.
    pub fn into_text(self) -> String {
        match self.text {
            Some(text) => text,
            None => self.whole.to_string(),
        }
    }
}

/// An input as a reader is shown it who is not the one that is asked: without what authorises a
/// request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputText {
    pub text: String,
    /// What stands beside the prompt; `None` when there is nothing.
    pub context: Option<String>,
}

impl InputText {
    /// Prompts and files as they are, conversations as `role: content`, everything else as JSON.
    pub async fn of(input: &CaseInput) -> Result<InputText, InputError> {
        let (text, context) = match input {
            CaseInput::Prompt { text, context } => (text.clone(), context.as_ref()),
            CaseInput::File { path, context } => (read_file(path).await?, context.as_ref()),
            CaseInput::Messages { messages, context } => {
                let lines = messages
                    .iter()
                    .map(|message| format!("{}: {}", message.role, message.content));
                (lines.collect::<Vec<_>>().join("\n\n"), context.as_ref())
            }
            CaseInput::ApiCall {
                method,
                endpoint,
                headers,
                body,
            } => (
                pretty(&request_shown(method, endpoint, headers, body)),
                None,
            ),
            CaseInput::Data {
                value: Value::String(text),
            } => (text.clone(), None),
            CaseInput::Data { value } => (pretty(value), None),
        };
        let context = context
            .filter(|context| !is_nothing(context))
            .map(|context| match context {
                Value::String(text) => text.clone(),
                data => pretty(data),
            });
        Ok(InputText { text, context })
    }
}

/// A request without what authorises it.
pub fn request_shown(
    method: &str,
    endpoint: &str,
    headers: &BTreeMap<String, String>,
    body: &Option<OrderedValue>,
) -> Value {
    let shown = |(name, value): (&String, &String)| {
        let value = if is_sensitive_header(name) {
            REDACTED
        } else {
            value.as_str()
        };
        (name.clone(), Value::from(value))
    };
    let headers: serde_json::Map<String, Value> = headers.iter().map(shown).collect();
    let endpoint = without_secret_parameters(endpoint);
    json!({"method": method, "endpoint": endpoint, "headers": headers, "body": body})
}

/// What a model is told of an input.
pub async fn messages_of(
    input: &CaseInput,
    show_context: bool,
) -> Result<Vec<ChatMessage>, InputError> {
    let (mut messages, context) = match input {
        CaseInput::Messages { messages, context } => {
            let said = messages.iter().map(|message| ChatMessage {
                role: message.role.clone(),
                content: Value::String(message.content.clone()),
            });
            (said.collect(), context.as_ref())
        }
        CaseInput::Prompt { context, .. } | CaseInput::File { context, .. } => (
            vec![ChatMessage::user(
                RenderedInput::of(input).await?.into_text(),
            )],
            context.as_ref(),
        ),
        CaseInput::ApiCall { .. } => (
            vec![ChatMessage::user(pretty(
                &RenderedInput::of(input).await?.whole,
            ))],
            None,
        ),
        CaseInput::Data {
            value: Value::String(text),
        } => (vec![ChatMessage::user(text.as_str())], None),
        CaseInput::Data { value } => (vec![ChatMessage::user(pretty(value))], None),
    };
    if let Some(context) = context.filter(|context| show_context && !is_nothing(context)) {
        put_before(&mut messages, &laid_out(context));
    }
    Ok(messages)
}

fn with_context(mut whole: Value, context: &Option<Value>) -> Value {
    if let (Some(map), Some(context)) = (whole.as_object_mut(), context) {
        map.insert("context".to_owned(), context.clone());
    }
    whole
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
fn put_before(messages: &mut Vec<ChatMessage>, context: &str) {
    let first = messages.iter_mut().find(|message| message.role == "user");
    match first.map(|message| &mut message.content) {
        Some(Value::String(text)) => *text = format!("{context}\n\n{text}"),
        // Of parts that the API knows: a message of its own.
        _ => {
            let place = messages
                .iter()
                .position(|message| message.role != "system")
                .unwrap_or(messages.len());
            messages.insert(place, ChatMessage::user(context));
        }
    }
}

async fn read_file(path: &Path) -> Result<String, InputError> {
    let fault = |why: String| InputError {
        path: path.to_owned(),
        why,
    };
    let file = open_file(path)
        .map(tokio::fs::File::from_std)
        .map_err(|e| fault(e.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|e| fault(e.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fault(format!("it is longer than {} MiB", MAX_FILE >> 20)));
    }
    String::from_utf8(bytes).map_err(|e| {
        fault(format!(
            "it is not UTF-8 (byte {})",
            e.utf8_error().valid_up_to()
        ))
    })
}

#[cfg(test)]
mod tests;
