//! Gemini `generateContent`: calls and results may be without ids, and are paired by name and order.

use serde_json::Value;

use super::{AgentTurn, CallTurn, MessageTurn, ResultTurn};
use crate::build::{content_of, text_at};

pub(super) fn request_turns(request: &Value) -> Vec<MessageTurn> {
    let mut turns = Vec::new();
    let instruction = request
        .get("systemInstruction")
        .or_else(|| request.get("system_instruction"));
    if let Some(parts) = instruction.and_then(|system| system.get("parts")) {
        turns.push(MessageTurn::System(content_of(parts)));
    }
    for content in request
        .get("contents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let parts = content
            .get("parts")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        if text_at(content, "role") == Some("model") {
            turns.push(MessageTurn::Agent(agent_turn(parts)));
            continue;
        }
        turns.extend(parts.iter().filter_map(result).map(MessageTurn::Result));
        let said: Vec<_> = parts
            .iter()
            .filter(|part| result(part).is_none())
            .cloned()
            .collect();
        if !said.is_empty() {
            turns.push(MessageTurn::User(content_of(&Value::Array(said))));
        }
    }
    turns
}

pub(super) fn answer_turn(answer: &Value) -> Option<AgentTurn> {
    let parts = answer
        .pointer("/candidates/0/content/parts")
        .and_then(Value::as_array);
    parts.map(|parts| agent_turn(parts))
}

pub(super) fn choices(answer: &Value) -> usize {
    answer
        .get("candidates")
        .and_then(Value::as_array)
        .map_or(1, Vec::len)
}

fn agent_turn(parts: &[Value]) -> AgentTurn {
    let mut turn = AgentTurn::default();
    for part in parts {
        if let Some(call) = part.get("functionCall") {
            turn.calls.push(CallTurn {
                id: text_at(call, "id").map(str::to_owned),
                name: text_at(call, "name").unwrap_or("?").to_owned(),
                arguments: call.get("args").cloned().unwrap_or_default(),
            });
        } else if let Some(text) = text_at(part, "text").filter(|text| !text.is_empty()) {
            let is_thought = part.get("thought") == Some(&Value::Bool(true));
            let texts = if is_thought {
                &mut turn.thoughts
            } else {
                &mut turn.texts
            };
            // A stream's pieces are parts of their own.
            match texts.last_mut() {
                Some(last) => last.push_str(text),
                None => texts.push(text.to_owned()),
            }
        }
    }
    turn
}

fn result(part: &Value) -> Option<ResultTurn> {
    let given = part.get("functionResponse")?;
    let response = given.get("response").unwrap_or(&Value::Null);
    let error = response.get("error").filter(|error| !error.is_null());
    let output = error.or_else(|| response.get("output")).unwrap_or(response);
    Some(ResultTurn {
        id: text_at(given, "id").map(str::to_owned),
        name: text_at(given, "name").map(str::to_owned),
        content: content_of(output),
        is_error: error.is_some().then_some(true),
    })
}
