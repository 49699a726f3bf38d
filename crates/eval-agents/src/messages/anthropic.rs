//! Anthropic Messages.

use serde_json::Value;

use super::{AgentTurn, CallTurn, MessageTurn, ResultTurn};
use crate::build::{content_of, is_block_error, text_at};
use crate::trajectory::MessageContent;

pub(super) fn request_turns(request: &Value) -> Vec<MessageTurn> {
    let mut turns = Vec::new();
    if let Some(system) = request.get("system").filter(|system| !system.is_null()) {
        turns.push(MessageTurn::System(content_of(system)));
    }
    for message in request
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let content = message.get("content").unwrap_or(&Value::Null);
        if text_at(message, "role") == Some("assistant") {
            turns.push(MessageTurn::Agent(agent_turn(content)));
            continue;
        }
        let Value::Array(blocks) = content else {
            turns.push(MessageTurn::User(content_of(content)));
            continue;
        };
        let is_result = |block: &&Value| text_at(block, "type") == Some("tool_result");
        turns.extend(
            blocks
                .iter()
                .filter(is_result)
                .map(|block| MessageTurn::Result(result(block))),
        );
        let said: Vec<_> = blocks
            .iter()
            .filter(|block| !is_result(block))
            .cloned()
            .collect();
        if !said.is_empty() {
            turns.push(MessageTurn::User(content_of(&Value::Array(said))));
        }
    }
    turns
}

pub(super) fn answer_turn(answer: &Value) -> Option<AgentTurn> {
    Some(agent_turn(answer.get("content")?))
}

fn agent_turn(content: &Value) -> AgentTurn {
    let mut turn = AgentTurn::default();
    let Value::Array(blocks) = content else {
        turn.texts.extend(content.as_str().map(str::to_owned));
        return turn;
    };
    for block in blocks {
        let kind = text_at(block, "type").unwrap_or("text");
        let add = |texts: &mut Vec<String>, name: &str| {
            texts.extend(
                text_at(block, name)
                    .filter(|text| !text.is_empty())
                    .map(str::to_owned),
            );
        };
        match kind {
            "text" => add(&mut turn.texts, "text"),
            "thinking" => add(&mut turn.thoughts, "thinking"),
            _ if kind == "tool_use" || kind.ends_with("_tool_use") => turn.calls.push(CallTurn {
                id: text_at(block, "id").map(str::to_owned),
                name: text_at(block, "name").unwrap_or("?").to_owned(),
                arguments: block.get("input").cloned().unwrap_or_default(),
            }),
            _ if kind.ends_with("_tool_result") => turn.results.push(result(block)),
            _ => {}
        }
    }
    turn
}

fn result(block: &Value) -> ResultTurn {
    ResultTurn {
        id: text_at(block, "tool_use_id").map(str::to_owned),
        name: None,
        content: block
            .get("content")
            .map_or_else(MessageContent::default, content_of),
        is_error: Some(is_block_error(block)),
    }
}
