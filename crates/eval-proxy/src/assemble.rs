//! The body that an API would have sent without streaming, from the events of a stream.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::ApiProtocol;
use crate::sse::SseBlock;

/// Pieces that a list may have: an index beyond is of no real answer.
const MOST_ITEMS: u64 = 4096;

/// Puts the events together. What cannot be read is left out.
pub(crate) fn whole_body<'a>(
    protocol: ApiProtocol,
    events: impl IntoIterator<Item = &'a str>,
) -> Value {
    let data = events.into_iter().filter_map(|text| {
        let data = SseBlock::of_text(text).data?;
        serde_json::from_str::<Value>(&data).ok()
    });
    match protocol {
        ApiProtocol::AnthropicMessages => anthropic(data),
        ApiProtocol::OpenaiChat => chat(data),
        ApiProtocol::OpenaiResponses => responses(data),
        ApiProtocol::Gemini => gemini(data),
    }
}

fn text_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Appends to a text field, which may be missing.
fn append(fields: &mut Map<String, Value>, name: &str, piece: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => {
            fields.insert(name.to_owned(), piece.into());
        }
    }
}

fn anthropic(events: impl Iterator<Item = Value>) -> Value {
    let mut message = Map::new();
    let mut blocks: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    let mut arguments: BTreeMap<u64, String> = BTreeMap::new();
    for event in events {
        let index = event.get("index").and_then(Value::as_u64);
        let index = index.filter(|index| *index < MOST_ITEMS);
        match (text_of(&event, "type"), index) {
            (Some("message_start"), _) => {
                if let Some(Value::Object(start)) = event.get("message") {
                    message.clone_from(start);
                }
            }
            (Some("content_block_start"), Some(index)) => {
                if let Some(Value::Object(block)) = event.get("content_block") {
                    blocks.insert(index, block.clone());
                }
            }
            (Some("content_block_delta"), Some(index)) => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                if let Some(piece) = text_of(delta, "partial_json") {
                    arguments.entry(index).or_default().push_str(piece);
                }
                let Some(block) = blocks.get_mut(&index) else {
                    continue;
                };
                for name in ["text", "thinking", "signature"] {
                    if let Some(piece) = text_of(delta, name) {
                        append(block, name, piece);
                    }
                }
                if let Some(citation) = delta.get("citation") {
                    let citations = block.entry("citations").or_insert(Value::Null);
                    match citations {
                        Value::Array(list) => list.push(citation.clone()),
                        other => *other = json!([citation]),
                    }
                }
            }
            (Some("message_delta"), _) => {
                if let Some(Value::Object(delta)) = event.get("delta") {
                    message.extend(delta.clone());
                }
                if let Some(Value::Object(usage)) = event.get("usage") {
                    match message.get_mut("usage") {
                        Some(Value::Object(known)) => known.extend(usage.clone()),
                        _ => {
                            message.insert("usage".to_owned(), usage.clone().into());
                        }
                    }
                }
            }
            _ => {}
        }
    }
    for (index, text) in arguments {
        // Arguments that were cut off stay a text.
        let input = serde_json::from_str(&text).unwrap_or(Value::String(text));
        if let Some(block) = blocks.get_mut(&index) {
            block.insert("input".to_owned(), input);
        }
    }
    let content = blocks.into_values().map(Value::Object).collect();
    message.insert("content".to_owned(), Value::Array(content));
    Value::Object(message)
}

fn chat(chunks: impl Iterator<Item = Value>) -> Value {
    let mut whole = Map::new();
    let mut choices: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    for chunk in chunks {
        let Value::Object(mut chunk) = chunk else {
            continue;
        };
        let pieces = chunk.remove("choices");
        for (name, value) in chunk {
            if !value.is_null() {
                whole.insert(name, value);
            }
        }
        for piece in pieces
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let index = piece.get("index").and_then(Value::as_u64).unwrap_or(0);
            if index >= MOST_ITEMS {
                continue;
            }
            let choice = choices.entry(index).or_default();
            for (name, value) in piece.as_object().into_iter().flatten() {
                if name != "delta" && !(value.is_null() && choice.contains_key(name)) {
                    choice.insert(name.clone(), value.clone());
                }
            }
            let message = choice.entry("message").or_insert_with(|| json!({}));
            if let (Value::Object(message), Some(Value::Object(delta))) =
                (message, piece.get("delta"))
            {
                merge_delta(message, delta);
            }
        }
    }
    if whole.get("object").is_some() {
        whole.insert("object".to_owned(), "chat.completion".into());
    }
    let choices = choices.into_values().map(Value::Object).collect();
    whole.insert("choices".to_owned(), Value::Array(choices));
    Value::Object(whole)
}

/// Texts grow, but for names and kinds; lists are merged by the `index` of their items.
fn merge_delta(message: &mut Map<String, Value>, delta: &Map<String, Value>) {
    for (name, value) in delta {
        match (message.get_mut(name), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::String(_)), Value::String(piece))
                if !matches!(name.as_str(), "role" | "id" | "type" | "name" | "index") =>
            {
                append(message, name, piece);
            }
            (Some(Value::Object(known)), Value::Object(pieces)) => merge_delta(known, pieces),
            (known, Value::Array(pieces)) => {
                let mut list = match known.map(Value::take) {
                    Some(Value::Array(list)) => list,
                    _ => Vec::new(),
                };
                for piece in pieces {
                    merge_item(&mut list, piece);
                }
                message.insert(name.clone(), list.into());
            }
            _ => {
                message.insert(name.clone(), value.clone());
            }
        }
    }
}

fn merge_item(list: &mut Vec<Value>, piece: &Value) {
    let index = piece.get("index").and_then(Value::as_u64);
    let is_full = list.len() as u64 >= MOST_ITEMS;
    let known = list
        .iter_mut()
        .find(|item| index.is_some() && item.get("index").and_then(Value::as_u64) == index);
    match (known, piece) {
        (Some(Value::Object(known)), Value::Object(pieces)) => merge_delta(known, pieces),
        _ if !is_full => list.push(piece.clone()),
        _ => {}
    }
}

/// The last event has the whole answer.
fn responses(events: impl Iterator<Item = Value>) -> Value {
    let mut items: BTreeMap<u64, Value> = BTreeMap::new();
    let mut whole = None;
    for mut event in events {
        let kind = text_of(&event, "type").unwrap_or_default().to_owned();
        if kind == "response.output_item.done" {
            let index = event.get("output_index").and_then(Value::as_u64);
            if let (Some(index), Some(item)) = (index, event.get_mut("item")) {
                items.insert(index, item.take());
            }
        } else if let Some(response) = event.get_mut("response") {
            whole = Some(response.take());
        }
    }
    let mut whole = whole.unwrap_or_else(|| json!({}));
    // Some servers leave the output out of the last event.
    let is_empty = whole
        .get("output")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty);
    if let (Value::Object(fields), true) = (&mut whole, is_empty && !items.is_empty()) {
        fields.insert("output".to_owned(), items.into_values().collect());
    }
    whole
}

/// One answer from the pieces of a stream, or of a list.
pub(crate) fn gemini(pieces: impl Iterator<Item = Value>) -> Value {
    let mut whole = Map::new();
    let mut candidates: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    for piece in pieces {
        let Value::Object(mut piece) = piece else {
            continue;
        };
        let parts = piece.remove("candidates");
        whole.extend(piece);
        for part in parts
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let index = part.get("index").and_then(Value::as_u64).unwrap_or(0);
            if index >= MOST_ITEMS {
                continue;
            }
            let candidate = candidates.entry(index).or_default();
            for (name, value) in part.as_object().into_iter().flatten() {
                match (name.as_str(), candidate.get_mut(name)) {
                    ("content", Some(known)) => extend_parts(known, value),
                    _ => {
                        candidate.insert(name.clone(), value.clone());
                    }
                }
            }
        }
    }
    if !candidates.is_empty() {
        let candidates = candidates.into_values().map(Value::Object).collect();
        whole.insert("candidates".to_owned(), Value::Array(candidates));
    }
    Value::Object(whole)
}

/// Adds the parts of a content; a text goes on a text of the same kind (answer or thought).
fn extend_parts(known: &mut Value, more: &Value) {
    let Some(more) = more.get("parts").and_then(Value::as_array) else {
        return;
    };
    let Some(fields) = known.as_object_mut() else {
        return;
    };
    let parts = fields.entry("parts").or_insert_with(|| json!([]));
    let Some(parts) = parts.as_array_mut() else {
        return;
    };
    let is_plain = |part: &Value| {
        part.as_object().is_some_and(|fields| {
            fields.contains_key("text")
                && fields
                    .keys()
                    .all(|name| matches!(name.as_str(), "text" | "thought"))
        })
    };
    for part in more {
        match (parts.last_mut(), text_of(part, "text")) {
            (Some(last), Some(piece))
                if is_plain(last)
                    && is_plain(part)
                    && last.get("thought") == part.get("thought") =>
            {
                if let Some(fields) = last.as_object_mut() {
                    append(fields, "text", piece);
                }
            }
            _ => parts.push(part.clone()),
        }
    }
}

/// The texts of one place in all events, and where each is: event, JSON pointer.
type SpreadTexts = BTreeMap<String, Vec<(usize, String)>>;

/// Applies `change` to each text that is spread over the events of a stream: where that changes
/// something, the first piece is the whole new text, and the others are empty.
pub(crate) fn joined_texts(events: &mut [String], change: impl Fn(String) -> String) {
    let blocks = events.iter().map(|event| SseBlock::of_text(event));
    let mut blocks: Vec<(SseBlock, Option<Value>)> = blocks
        .map(|block| {
            let data = block.data.as_deref();
            let value = data.and_then(|data| serde_json::from_str(data).ok());
            (block, value)
        })
        .collect();
    let mut texts = SpreadTexts::new();
    for (at, (_, value)) in blocks.iter().enumerate() {
        if let Some(value) = value {
            find_texts(value, String::new(), String::new(), at, &mut texts);
        }
    }
    for places in texts.into_values() {
        let piece = |(at, pointer): &(usize, String)| {
            let value = blocks.get(*at)?.1.as_ref()?;
            value.pointer(pointer)?.as_str()
        };
        let before: String = places.iter().filter_map(piece).collect();
        let after = change(before.clone());
        if before == after {
            continue;
        }
        let mut new = Some(after);
        for (at, pointer) in places {
            let value = blocks.get_mut(at).and_then(|(_, value)| value.as_mut());
            if let Some(text) = value.and_then(|value| value.pointer_mut(&pointer)) {
                *text = Value::String(new.take().unwrap_or_default());
            }
            if let (Some((block, Some(value))), Some(event)) = (blocks.get(at), events.get_mut(at))
            {
                let block = SseBlock {
                    data: Some(value.to_string()),
                    ..block.clone()
                };
                *event = block.text().unwrap_or_default();
            }
        }
    }
}

/// `place` is the pointer with the numbers of choices, blocks and items in it: pieces of the same
/// text have the same one.
fn find_texts(value: &Value, pointer: String, place: String, at: usize, texts: &mut SpreadTexts) {
    match value {
        Value::String(_) => texts.entry(place).or_default().push((at, pointer)),
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                // A list of pieces has their own numbers.
                let own = match item.get("index") {
                    Some(_) => String::new(),
                    None => number.to_string(),
                };
                let pointer = format!("{pointer}/{number}");
                find_texts(item, pointer, format!("{place}/{own}"), at, texts);
            }
        }
        Value::Object(fields) => {
            let numbers = ["index", "output_index", "content_index", "summary_index"];
            let numbers = numbers.iter().filter_map(|name| {
                let number = fields.get(*name)?.as_u64()?;
                Some(format!("[{name} {number}]"))
            });
            let place = format!("{place}{}", numbers.collect::<String>());
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                let (pointer, place) = (format!("{pointer}/{name}"), format!("{place}/{name}"));
                find_texts(field, pointer, place, at, texts);
            }
        }
        _ => {}
    }
}
