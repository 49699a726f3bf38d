//! OpenAI Responses: a list of items, of which those of the model in a row are one turn.

use serde_json::Value;

use super::{AgentTurn, CallTurn, MessageTurn, ResultTurn};
use crate::build::{content_of, text_at};
use crate::trajectory::MessageContent;

pub(super) fn request_turns(request: &Value) -> Vec<MessageTurn> {
    let mut turns = Vec::new();
    if let Some(text) = text_at(request, "instructions") {
        turns.push(MessageTurn::System(text.into()));
    }
    match request.get("input") {
        Some(Value::String(text)) => turns.push(MessageTurn::User(text.as_str().into())),
        Some(Value::Array(items)) => items.iter().for_each(|item| add_item(&mut turns, item)),
        _ => {}
    }
    turns
}

pub(super) fn answer_turn(answer: &Value) -> Option<AgentTurn> {
    let mut turn = AgentTurn::default();
    for item in answer.get("output")?.as_array()? {
        if !add_to_turn(&mut turn, item) {
            turn.results.extend(result(item));
        }
    }
    Some(turn)
}

fn add_item(turns: &mut Vec<MessageTurn>, item: &Value) {
    if let Some(result) = result(item) {
        return turns.push(MessageTurn::Result(result));
    }
    let content = || {
        item.get("content")
            .map_or_else(MessageContent::default, content_of)
    };
    let role = text_at(item, "role");
    match (text_at(item, "type").unwrap_or("message"), role) {
        ("message", Some("system" | "developer")) => turns.push(MessageTurn::System(content())),
        ("message", role) if role != Some("assistant") => turns.push(MessageTurn::User(content())),
        _ => {
            let mut turn = match turns.pop() {
                Some(MessageTurn::Agent(turn)) => turn,
                last => {
                    turns.extend(last);
                    AgentTurn::default()
                }
            };
            add_to_turn(&mut turn, item);
            turns.push(MessageTurn::Agent(turn));
        }
    }
}

/// Adds what is of the model; false if the item is something else.
fn add_to_turn(turn: &mut AgentTurn, item: &Value) -> bool {
    match text_at(item, "type").unwrap_or("message") {
        "message" => {
            let text = item
                .get("content")
                .map_or_else(MessageContent::default, content_of);
            turn.texts
                .extend((!text.is_empty()).then(|| text.text().into_owned()));
        }
        "reasoning" => {
            for name in ["summary", "content"] {
                let text = item
                    .get(name)
                    .map_or_else(MessageContent::default, content_of);
                turn.thoughts
                    .extend((!text.is_empty()).then(|| text.text().into_owned()));
            }
        }
        kind if kind.ends_with("_call") => {
            // Tools of the API itself are called by the name of their item.
            let name = match kind {
                "function_call" | "custom_tool_call" | "mcp_call" => text_at(item, "name"),
                _ => None,
            };
            let arguments = ["arguments", "input", "action"]
                .iter()
                .find_map(|name| item.get(*name));
            turn.calls.push(CallTurn {
                id: text_at(item, "call_id")
                    .or_else(|| text_at(item, "id"))
                    .map(str::to_owned),
                name: name
                    .unwrap_or_else(|| kind.trim_end_matches("_call"))
                    .to_owned(),
                arguments: arguments.cloned().unwrap_or_default(),
            });
        }
        _ => return false,
    }
    true
}

fn result(item: &Value) -> Option<ResultTurn> {
    text_at(item, "type")?
        .strip_suffix("_output")
        .filter(|kind| kind.ends_with("_call"))?;
    Some(ResultTurn {
        id: text_at(item, "call_id")
            .or_else(|| text_at(item, "id"))
            .map(str::to_owned),
        name: None,
        content: item
            .get("output")
            .map_or_else(MessageContent::default, content_of),
        is_error: None,
    })
}
