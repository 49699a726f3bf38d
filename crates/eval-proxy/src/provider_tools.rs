//! What a provider would do for a request besides the model's answer: its own tools reach any host,
//! and it fetches what a request names.

use std::ops::Range;

use hyper::body::Bytes;
use serde_json::Value;

use crate::AgentApi;

/// Lists of a request that hold what a model reads.
const READ: [&str; 7] = [
    "messages",
    "input",
    "contents",
    "system",
    "systemInstruction",
    "system_instruction",
    "generateContentRequest",
];

/// A request without the tools that its provider executes, and the names of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StrippedRequest {
    pub body: Bytes,
    pub tools: Vec<String>,
}

/// Takes out the tools that the provider executes: some agents always name one. `None` when there
/// are none.
///
/// # Errors
/// A sentence for a request that is made for the sake of them, or names what the provider would
/// fetch.
pub(crate) fn strip(
    api: AgentApi,
    value: &Value,
    body: &Bytes,
) -> Result<Option<StrippedRequest>, String> {
    for name in ["mcp_servers", "web_search_options", "prompt"] {
        let is_empty = |value: &Value| {
            value.is_null() || value.as_array().is_some_and(Vec::is_empty) || *value == false
        };
        if value.get(name).is_some_and(|value| !is_empty(value)) {
            return Err(format!("`{name}` lets the provider reach other hosts"));
        }
    }
    for name in READ {
        if let Some(what) = value.get(name).and_then(fetched) {
            return Err(format!("the provider would fetch or reach `{what}`"));
        }
    }
    let tools = value.get("tools").filter(|tools| !tools.is_null());
    if tools.is_some_and(|tools| !tools.is_array()) {
        return Err("`tools` is not a list".to_owned());
    }
    let tools = tools.and_then(Value::as_array);
    let mut named = Vec::new();
    let mut left = 0;
    for tool in tools.into_iter().flatten() {
        let own = provider_parts(api, tool);
        left += usize::from(own.is_empty() || own.len() < part_count(api, tool));
        named.extend(own);
    }
    if named.is_empty() {
        return Ok(None);
    }
    let chosen = value.get("tool_choice").map(Value::to_string);
    let is_chosen = |name: &String| {
        let quoted = format!("\"{name}\"");
        chosen
            .as_ref()
            .is_some_and(|choice| choice.contains(&quoted))
    };
    if left == 0 || named.iter().any(is_chosen) {
        return Err(format!(
            "the provider would execute the tool {}",
            named.join(", ")
        ));
    }
    let bytes = without_tools(api, body).ok_or("its list of tools cannot be parsed")?;
    Ok(Some(StrippedRequest {
        body: bytes.into(),
        tools: named,
    }))
}

/// How many tools an item of the list has.
fn part_count(api: AgentApi, tool: &Value) -> usize {
    match (api, tool) {
        (AgentApi::Gemini, Value::Object(fields)) => fields.len(),
        _ => 1,
    }
}

/// The tools of an item that the provider executes.
fn provider_parts(api: AgentApi, tool: &Value) -> Vec<String> {
    let kind = tool.get("type").and_then(Value::as_str);
    let has_type = tool.get("type").is_some();
    let is_client = match (api, kind) {
        (AgentApi::Gemini, _) => {
            let names = tool
                .as_object()
                .into_iter()
                .flat_map(|fields| fields.keys());
            let own = names.filter(|name| !is_function_list(name));
            return own.cloned().collect();
        }
        (AgentApi::Anthropic | AgentApi::Openai, None) => !has_type,
        (AgentApi::Anthropic, Some(kind)) => {
            // The search of tools is among those of the request.
            let beginnings = [
                "bash_",
                "text_editor_",
                "computer_",
                "memory_",
                "tool_search_tool_",
            ];
            kind == "custom" || beginnings.iter().any(|begin| kind.starts_with(begin))
        }
        (AgentApi::Openai, Some("namespace")) => {
            let within = tool.get("tools").and_then(Value::as_array);
            let mut within = within.into_iter().flatten();
            within.all(|tool| provider_parts(api, tool).is_empty())
        }
        (AgentApi::Openai, Some("shell")) => {
            let place = tool.get("environment").and_then(|place| place.get("type"));
            place.is_none_or(|place| place == "local")
        }
        (AgentApi::Openai, Some(kind)) => matches!(
            kind,
            "function"
                | "custom"
                | "local_shell"
                | "apply_patch"
                | "tool_search"
                | "computer"
                | "computer_use_preview"
        ),
    };
    match is_client {
        true => Vec::new(),
        false => vec![kind.unwrap_or("without a type").to_owned()],
    }
}

fn is_function_list(name: &str) -> bool {
    matches!(name, "functionDeclarations" | "function_declarations")
}

/// What of a message the provider would fetch: the name of the field. Arguments of tools and what
/// these returned are no messages.
fn fetched(value: &Value) -> Option<&'static str> {
    match value {
        Value::Array(items) => items.iter().find_map(fetched),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            for name in ["image_url", "file_url", "video_url", "audio_url"] {
                let field = fields.get(name);
                let url = field.and_then(|field| field.get("url").or(Some(field)));
                let url = url.and_then(Value::as_str);
                if url.is_some_and(|url| !url.starts_with("data:")) {
                    return Some("image_url");
                }
            }
            let has_uri = |name: &str| {
                let file = fields.get(name);
                file.is_some_and(|file| {
                    file.get("fileUri").is_some() || file.get("file_uri").is_some()
                })
            };
            if has_uri("fileData") || has_uri("file_data") {
                return Some("fileData");
            }
            let source = fields.get("source").and_then(|source| source.get("type"));
            if source.is_some_and(|kind| kind == "url") {
                return Some("source");
            }
            if fields.contains_key("server_url") || text("type") == Some("mcp") {
                return Some("mcp");
            }
            let is_call = matches!(text("type"), Some("tool_use" | "server_tool_use"));
            let skipped =
                |name: &str| matches!(name, "args" | "response") || is_call && name == "input";
            let mut rest = fields.iter().filter(|(name, _)| !skipped(name));
            rest.find_map(|(_, field)| fetched(field))
        }
        _ => None,
    }
}

/// A body whose list of tools lacks those of the provider. All else is as it is written: the order
/// of fields is part of what the model reads.
fn without_tools(api: AgentApi, body: &[u8]) -> Option<Vec<u8>> {
    replaced(body, |name, text| {
        if name != Some("tools") {
            return Some(text.to_vec());
        }
        replaced(text, |_, tool| {
            let value: Value = serde_json::from_slice(tool).ok()?;
            let own = provider_parts(api, &value);
            match own.len() {
                0 => Some(tool.to_vec()),
                some if some < part_count(api, &value) => replaced(tool, |name, text| {
                    name.is_some_and(is_function_list).then(|| text.to_vec())
                }),
                _ => None,
            }
        })
    })
}

/// A sound JSON object or list with other texts for its members; `None` leaves one out.
pub(crate) fn replaced(
    json: &[u8],
    mut each: impl FnMut(Option<&str>, &[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let (open, ranges) = members(json)?;
    let mut parts = Vec::new();
    for (key, value) in ranges {
        let name = match &key {
            Some(key) => Some(serde_json::from_slice::<String>(json.get(key.clone())?).ok()?),
            None => None,
        };
        if let Some(text) = each(name.as_deref(), json.get(value)?) {
            let mut part = Vec::new();
            if let Some(key) = key {
                part.extend_from_slice(json.get(key)?);
                part.push(b':');
            }
            part.extend(text);
            parts.push(part);
        }
    }
    let close = if open == b'{' { b'}' } else { b']' };
    Some([&[open][..], &parts.join(&b','), &[close]].concat())
}

/// Where the key and the value of a member are.
type MemberRange = (Option<Range<usize>>, Range<usize>);

/// The members of a sound JSON object or list, and what it begins with.
fn members(json: &[u8]) -> Option<(u8, Vec<MemberRange>)> {
    let begin = json.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let open = *json.get(begin).filter(|byte| matches!(byte, b'{' | b'['))?;
    let (mut found, mut key) = (Vec::new(), None);
    let (mut depth, mut start, mut in_text, mut escaped) = (0_usize, begin + 1, false, false);
    for (at, byte) in json.iter().enumerate().skip(begin) {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b':' if depth == 1 => {
                key = Some(start..at);
                start = at + 1;
            }
            b',' | b'}' | b']' => {
                if depth == 1 {
                    let is_empty = json.get(start..at)?.trim_ascii().is_empty();
                    if !is_empty {
                        found.push((key.take(), start..at));
                    }
                    start = at + 1;
                }
                if *byte != b',' {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Some((open, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(api: AgentApi, body: &str) -> Result<Option<(String, Vec<String>)>, String> {
        let value = serde_json::from_str(body).unwrap();
        let found = strip(api, &value, &Bytes::from(body.to_owned()))?;
        Ok(found.map(|found| {
            let body = String::from_utf8(found.body.to_vec()).unwrap();
            (body, found.tools)
        }))
    }

    #[test]
    fn tools_of_the_provider_are_taken_out_and_all_else_stays_as_written() {
        let codex = r#" {"model" : "m", "tools": [{"type":"function","z":1,"a":"]},\""},
            {"type":"web_search","external_web_access":true}, {"type":"local_shell"},
            {"type":"namespace","name":"n","tools":[{"type":"function"}]}], "z":[], "a": 1}"#;
        let (body, tools) = stripped(AgentApi::Openai, codex).unwrap().unwrap();
        assert_eq!(tools, ["web_search"]);
        let mut expected: Value = serde_json::from_str(codex).unwrap();
        expected["tools"].as_array_mut().unwrap().remove(1);
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
        assert!(
            body.find("\"z\":[]").unwrap() < body.find("\"a\": 1").unwrap(),
            "{body}"
        );
        let gemini =
            r#"{"tools":[{"functionDeclarations":[],"googleSearch":{}},{"urlContext":{}}]}"#;
        let (body, tools) = stripped(AgentApi::Gemini, gemini).unwrap().unwrap();
        assert_eq!(body, r#"{"tools":[{"functionDeclarations":[]}]}"#);
        assert_eq!(tools, ["googleSearch", "urlContext"]);
        for body in [
            r#"{"tools":{"googleSearch":{}}}"#,
            r#"{"tools":"googleSearch"}"#,
        ] {
            assert_eq!(
                stripped(AgentApi::Gemini, body).unwrap_err(),
                "`tools` is not a list"
            );
        }
        assert!(
            stripped(AgentApi::Gemini, r#"{"tools":null}"#)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn tools_of_agents_stay() {
        for (api, body) in [
            (
                AgentApi::Anthropic,
                r#"{"tools":[{"name":"a"},{"type":"custom"},{"type":"bash_20250124"}]}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"tools":[{"type":"custom"},{"type":"tool_search","execution":"client"}]}"#,
            ),
            (
                AgentApi::Gemini,
                r#"{"tools":[{"functionDeclarations":[{"name":"a"}]}]}"#,
            ),
            (
                AgentApi::Anthropic,
                r#"{"messages":[{"content":[{"type":"tool_use","input":{"image_url":"https://a"}}]}]}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,a"}}]}]}"#,
            ),
            (
                AgentApi::Anthropic,
                r#"{"mcp_servers":[],"messages":"see image_url https://a"}"#,
            ),
        ] {
            assert_eq!(stripped(api, body), Ok(None), "{body}");
        }
    }

    #[test]
    fn requests_for_the_sake_of_the_provider_are_refused() {
        for (api, body) in [
            (
                AgentApi::Anthropic,
                r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
            ),
            (
                AgentApi::Anthropic,
                r#"{"mcp_servers":[{"url":"https://a"}]}"#,
            ),
            (
                AgentApi::Anthropic,
                r#"{"tools":[{"name":"a"},{"type":7}],"tool_choice":{"name":"without a type"}}"#,
            ),
            (
                AgentApi::Anthropic,
                r#"{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"https://a"}}]}]}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"tools":[{"type":"function"},{"type":"web_search"}],"tool_choice":{"type":"web_search"}}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"messages":[{"content":[{"image_url":{"url":"https://a"}}]}]}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"input":[{"content":[{"type":"input_image","image_url":"http://a"}]}]}"#,
            ),
            (
                AgentApi::Openai,
                r#"{"input":[{"tools":[{"type":"mcp","server_url":"https://a"}]}]}"#,
            ),
            (AgentApi::Openai, r#"{"prompt":{"id":"p"}}"#),
            (AgentApi::Gemini, r#"{"tools":[{"google_search":{}}]}"#),
            (
                AgentApi::Gemini,
                r#"{"contents":[{"parts":[{"fileData":{"fileUri":"https://a"}}]}]}"#,
            ),
        ] {
            assert!(stripped(api, body).is_err(), "{body}");
        }
    }
}
