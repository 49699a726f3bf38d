//! What a target is shown of a case's input.

use std::path::Path;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::model::{Cause, Input, Output, OutputValue};

use super::TargetFailure;

/// The longest file that may be an input.
const MAX_FILE: u64 = 16 << 20;

/// An input in the two forms that a target may want.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rendered {
    /// The prompt, when the input is one: a prompt's text or a file's content.
    pub text: Option<String>,
    /// The whole input with its context.
    pub whole: Value,
}

impl Rendered {
    /// The prompt's text; the whole input as JSON when it is no prompt.
    pub fn into_text(self) -> String {
        match self.text {
            Some(text) => text,
            None => self.whole.to_string(),
        }
    }
}

/// Reads what is to be read and lays the input out.
pub(super) async fn render(input: &Input) -> Result<Rendered, TargetFailure> {
    Ok(match input {
        Input::Prompt { text, context } => Rendered {
            whole: with_context(json!({"type": "prompt", "content": text}), context),
            text: Some(text.clone()),
        },
        Input::File { path, context } => {
            let text = read_file(path).await?;
            let whole = json!({"type": "file", "path": path.to_string_lossy(), "content": text});
            Rendered { whole: with_context(whole, context), text: Some(text) }
        }
        Input::Messages { messages, context } => Rendered {
            whole: with_context(json!({"type": "messages", "messages": messages}), context),
            text: None,
        },
        Input::ApiCall { method, endpoint, headers, body } => {
            let mut whole =
                json!({"type": "api_call", "method": method, "endpoint": endpoint, "headers": headers});
            if let (Some(map), Some(body)) = (whole.as_object_mut(), body) {
                map.insert("body".to_owned(), body.clone());
            }
            Rendered { whole, text: None }
        }
        Input::Data { value } => Rendered { whole: value.clone(), text: None },
    })
}

/// The input as its own answer: texts as text, everything else as JSON.
pub(super) async fn echo(input: &Input) -> Result<Output, TargetFailure> {
    let rendered = render(input).await?;
    let value = match (rendered.text, rendered.whole) {
        (Some(text), _) | (None, Value::String(text)) => OutputValue::Text(text),
        (None, whole) => OutputValue::Json(whole),
    };
    Ok(Output { value, truncated: false, usage: None, model: None, finish: None })
}

fn with_context(mut whole: Value, context: &Option<Value>) -> Value {
    if let (Some(map), Some(context)) = (whole.as_object_mut(), context) {
        map.insert("context".to_owned(), context.clone());
    }
    whole
}

/// A fault of the input is a fault of the eval, not of its target.
async fn read_file(path: &Path) -> Result<String, TargetFailure> {
    let fault = |why: String| {
        TargetFailure::new(Cause::Harness, format!("cannot read the input file {}: {why}", path.display()))
    };
    let file = tokio::fs::File::open(path).await.map_err(|e| fault(e.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).await.map_err(|e| fault(e.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fault(format!("it is longer than {} MiB", MAX_FILE >> 20)));
    }
    String::from_utf8(bytes)
        .map_err(|e| fault(format!("it is not UTF-8 (byte {})", e.utf8_error().valid_up_to())))
}
