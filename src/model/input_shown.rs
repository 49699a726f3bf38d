//! The input of a case as reports show it: bounded, and without what authorises a request.

use super::limits::{CONTEXT_BYTES, INPUT_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    Prompt,
    File,
    ApiCall,
    Messages,
    Data,
}

impl InputKind {
    pub fn name(self) -> &'static str {
        match self {
            InputKind::Prompt => "prompt",
            InputKind::File => "file",
            InputKind::ApiCall => "api_call",
            InputKind::Messages => "messages",
            InputKind::Data => "data",
        }
    }
}

/// The input of a case. A value or a context that is too large is truncated to the beginning of its
/// text or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputShown {
    #[serde(rename = "type")]
    pub kind: InputKind,
    /// Text of a prompt or a file, `{method, endpoint, headers, body}`, a list of messages, or any
    /// data; `null` with `truncated` if there was no room for it.
    pub value: Value,
    /// The file, relative to the project root, with `/` between folders; absolute if it is outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The context of a prompt, a file or messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// True if the input is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl InputShown {
    /// As much of an input as may be kept.
    pub fn bounded(
        kind: InputKind,
        value: Value,
        path: Option<String>,
        context: Option<Value>,
    ) -> InputShown {
        let mut shown = InputShown {
            kind,
            value,
            path,
            context,
            truncated: false,
        };
        if shown.bytes() > INPUT_BYTES {
            shown.truncated = true;
            let mut room = INPUT_BYTES;
            if let Some(context) = &mut shown.context {
                cut(context, CONTEXT_BYTES);
                room -= bytes(context);
            }
            cut(&mut shown.value, room);
        }
        shown
    }

    /// What stands in its place where there is no room for it.
    pub fn left_out(&self) -> InputShown {
        InputShown {
            value: Value::Null,
            path: self.path.clone(),
            context: None,
            truncated: true,
            ..*self
        }
    }

    /// What the value and the context take, in bytes of text.
    pub fn bytes(&self) -> usize {
        bytes(&self.value) + self.context.as_ref().map_or(0, bytes)
    }
}

/// A text's own length, the length of anything else as JSON, nothing for nothing. Counted without
/// making that JSON.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::String(text) => text.len(),
        other => json_bytes(other),
    }
}

fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields
                .iter()
                .map(|(name, value)| name.len() + 4 + json_bytes(value))
                .sum::<usize>()
        }
    }
}

/// Makes a value that is longer than `most` the beginning of its text.
fn cut(value: &mut Value, most: usize) {
    if bytes(value) <= most {
        return;
    }
    let mut text = match std::mem::take(value) {
        Value::String(text) => text,
        other => serde_json::to_string_pretty(&other).unwrap_or_default(),
    };
    text.truncate(text.floor_char_boundary(most));
    // The rest of a text that was cut from a large one is not kept.
    text.shrink_to_fit();
    *value = Value::String(text);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: Value, context: Option<Value>) -> InputShown {
        InputShown::bounded(InputKind::Prompt, value, None, context)
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let whole = shown("é".repeat(INPUT_BYTES / 2).into(), None);
        assert!(!whole.truncated);
        let data = shown(
            json!({"n": 1.50, "list": [null, true]}),
            Some(json!("beside")),
        );
        assert_eq!(
            (data.truncated, data.value),
            (false, json!({"n": 1.50, "list": [null, true]}))
        );
    }

    #[test]
    fn what_is_too_large_becomes_the_beginning_of_its_text() {
        let text = shown(format!("x{}", "é".repeat(INPUT_BYTES)).into(), None);
        // A character is not cut in two.
        assert_eq!((text.truncated, text.bytes()), (true, INPUT_BYTES - 1));
        let data = shown(json!({"rows": vec!["abc"; INPUT_BYTES]}), None);
        assert!(data.truncated);
        assert!(
            data.value
                .as_str()
                .unwrap()
                .starts_with("{\n  \"rows\": [\n    \"abc\","),
            "{:?}",
            data.value
        );
        assert_eq!(data.bytes(), INPUT_BYTES);
    }

    #[test]
    fn a_large_context_leaves_most_of_the_room_to_the_input() {
        let both = shown(
            "p".repeat(2 * INPUT_BYTES).into(),
            Some("c".repeat(2 * INPUT_BYTES).into()),
        );
        assert_eq!(both.context.as_ref().map(bytes), Some(CONTEXT_BYTES));
        assert_eq!(both.bytes(), INPUT_BYTES);
        let small = shown("p".repeat(2 * INPUT_BYTES).into(), Some("c".into()));
        assert_eq!(
            (small.context, bytes(&small.value)),
            (Some("c".into()), INPUT_BYTES - 1)
        );
    }
}
