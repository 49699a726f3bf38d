//! OpenAI Chat Completions, and servers that speak it.

use serde_json::Value;

use super::{AgentTurn, CallTurn, MessageTurn, ResultTurn};
use crate::build::{content_of, text_at};
use crate::trajectory::MessageContent;

pub(super) fn request_turns(request: &Value) -> Vec<MessageTurn> {
    let messages = request
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    messages
        .map(|message| {
            let content = message
                .get("content")
                .map_or_else(MessageContent::default, content_of);
            match text_at(message, "role") {
                Some("system" | "developer") => MessageTurn::System(content),
                Some("assistant") => MessageTurn::Agent(agent_turn(message)),
                Some("tool" | "function") => MessageTurn::Result(ResultTurn {
                    id: text_at(message, "tool_call_id").map(str::to_owned),
                    name: text_at(message, "name").map(str::to_owned),
                    content,
                    is_error: None,
                }),
                _ => MessageTurn::User(content),
            }
        })
        .collect()
}

pub(super) fn answer_turn(answer: &Value) -> Option<AgentTurn> {
    Some(agent_turn(answer.pointer("/choices/0/message")?))
}

pub(super) fn choices(answer: &Value) -> usize {
    answer
        .get("choices")
        .and_then(Value::as_array)
        .map_or(1, Vec::len)
}

fn agent_turn(message: &Value) -> AgentTurn {
    let mut turn = AgentTurn::default();
    for name in ["content", "refusal"] {
        let text = message
            .get(name)
            .map_or_else(MessageContent::default, content_of);
        turn.texts
            .extend((!text.is_empty()).then(|| text.text().into_owned()));
    }
    let thoughts = ["reasoning_content", "reasoning"]
        .iter()
        .find_map(|name| text_at(message, name));
    turn.thoughts
        .extend(thoughts.filter(|text| !text.is_empty()).map(str::to_owned));
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    // Before there were several calls, there was one.
    for call in calls.chain(message.get("function_call").filter(|call| !call.is_null())) {
        let function = call
            .get("function")
            .or_else(|| call.get("custom"))
            .unwrap_or(call);
        let arguments = function.get("arguments").or_else(|| function.get("input"));
        turn.calls.push(CallTurn {
            id: text_at(call, "id").map(str::to_owned),
            name: text_at(function, "name").unwrap_or("?").to_owned(),
            arguments: arguments.cloned().unwrap_or_default(),
        });
    }
    turn
}
