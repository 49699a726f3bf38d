//! The tool calls in an output, in the shapes of OpenAI (Chat Completions, Responses), Anthropic and
//! Gemini.

use serde_json::{Map, Value, json};

use crate::model::OutputValue;
use eval_agents::trajectory::ToolCall;
use eval_base::unique_keys;

/// Levels of an output that are searched.
const DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputCall {
    pub name: String,
    /// What is not an object is kept as it is.
    pub arguments: Result<Map<String, Value>, Value>,
}

impl OutputCall {
    pub fn of(call: &ToolCall) -> OutputCall {
        OutputCall {
            name: call.function_name.clone(),
            arguments: match call.raw_arguments() {
                None => Ok(call.arguments.clone()),
                Some(raw) => Err(raw.clone()),
            },
        }
    }

    fn new(name: &str, arguments: Option<&Value>) -> OutputCall {
        let arguments = match arguments {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            // OpenAI's are JSON in a text; some servers write none for no arguments.
            Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
            Some(Value::String(text)) => match unique_keys::from_str(text) {
                Ok(Value::Object(object)) => Ok(object),
                _ => Err(Value::from(text.as_str())),
            },
            Some(other) => Err(other.clone()),
        };
        OutputCall {
            name: name.to_owned(),
            arguments,
        }
    }

    pub fn shown(&self) -> Value {
        match &self.arguments {
            Ok(arguments) => json!({"name": self.name, "args": arguments}),
            Err(raw) => json!({"name": self.name, "args": raw}),
        }
    }
}

/// The calls of an output, in order. A text must be JSON as a whole.
pub(super) fn calls_in(output: &OutputValue) -> Vec<OutputCall> {
    let mut calls = Vec::new();
    match output {
        OutputValue::Json(value) => collect(value, Untyped::WithArguments, 0, &mut calls),
        OutputValue::Text(text) | OutputValue::Program(text) => {
            if let Ok(value) = unique_keys::from_str(text) {
                collect(&value, Untyped::WithArguments, 0, &mut calls);
            }
        }
    }
    calls
}

/// Which objects with a name are calls although they have no type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Untyped {
    /// In a list of calls.
    All,
    /// An answer may have a name, too.
    WithArguments,
    None,
}

fn collect(value: &Value, untyped: Untyped, depth: usize, calls: &mut Vec<OutputCall>) {
    if depth > DEPTH {
        return;
    }
    let object = match value {
        Value::Array(items) => {
            items
                .iter()
                .for_each(|item| collect(item, untyped, depth + 1, calls));
            return;
        }
        Value::Object(object) => object,
        _ => return,
    };
    if let Some(list @ Value::Array(_)) = object.get("tool_calls") {
        return collect(list, Untyped::All, depth + 1, calls);
    }
    if let Some(call) = call_of(object, untyped) {
        calls.push(call);
        return;
    }
    // What holds calls in whole answers of the APIs. Their parts have types.
    let below = [
        "choices",
        "message",
        "output",
        "content",
        "candidates",
        "parts",
        "toolCall",
        "functionCalls",
    ];
    for key in below {
        if let Some(inner) = object.get(key) {
            let untyped = match key {
                "functionCalls" => Untyped::All,
                _ => Untyped::None,
            };
            collect(inner, untyped, depth + 1, calls);
        }
    }
}

fn call_of(object: &Map<String, Value>, untyped: Untyped) -> Option<OutputCall> {
    let text = |object: &Map<String, Value>, key: &str| {
        object.get(key).and_then(Value::as_str).map(str::to_owned)
    };
    let kind = object.get("type").and_then(Value::as_str);
    // Gemini; also as Python writes it.
    for key in ["functionCall", "function_call"] {
        if let Some(Value::Object(call)) = object.get(key) {
            let arguments = call.get("args").or_else(|| call.get("arguments"));
            return Some(OutputCall::new(&text(call, "name")?, arguments));
        }
    }
    if let (None | Some("function"), Some(Value::Object(function))) = (kind, object.get("function"))
    {
        return Some(OutputCall::new(
            &text(function, "name")?,
            function.get("arguments"),
        ));
    }
    let name = text(object, "name")?;
    match kind {
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            Some(OutputCall::new(&name, object.get("input")))
        }
        Some("function_call" | "tool_call" | "mcp_call") => Some(OutputCall::new(
            &name,
            object.get("arguments").or_else(|| object.get("args")),
        )),
        Some("custom_tool_call") => Some(OutputCall::new(&name, object.get("input"))),
        None | Some("function") if untyped != Untyped::None => {
            let keys = ["arguments", "args", "input", "parameters"];
            let arguments = keys.iter().find_map(|key| object.get(*key));
            let call = OutputCall::new(&name, arguments);
            let is_call =
                untyped == Untyped::All || (arguments.is_some() && call.arguments.is_ok());
            is_call.then_some(call)
        }
        _ => None,
    }
}
