//! What APIs say in words: why a model ended, what went wrong, and what a page that is no answer
//! is.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};

use super::limits::{span, wait_in};
use crate::{FaultKind, FinishReason};
use eval_base::text::{one_line, truncate_bytes, truncate_width};

/// Columns of a server's own words that are searched for what they mean, and bytes of them that are
/// looked at.
const SEARCHED: usize = 300;
const LOOKED_AT: usize = 8 << 10;

/// Columns of a reason.
const SHOWN: usize = 420;

/// Bytes of a name that a model calls itself.
const NAME: usize = 160;

/// Why the model ended, by the words of the APIs that are known here.
pub(super) fn finish(word: &str) -> FinishReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "stop_sequence" | "stop_token" | "end_turn" | "eos" | "eos_token" | "complete"
        | "completed" => FinishReason::Stop,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => FinishReason::Length,
        "content_filter"
        | "content_filtered"
        | "refusal"
        | "refused"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "guardrail_intervened" => FinishReason::Refused,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        _ => FinishReason::Other,
    }
}

/// What a server says that broke its answer off itself: what there is of it is no answer. `None` of
/// all other ends.
pub(super) fn broken_off(word: &str) -> Option<(&'static str, FaultKind)> {
    Some(match word.to_ascii_lowercase().as_str() {
        "error" => ("error", FaultKind::ErrorBody),
        "failed" => ("failed", FaultKind::ErrorBody),
        "abort" | "aborted" => ("abort", FaultKind::ErrorBody),
        "cancelled" | "canceled" => ("cancelled", FaultKind::ErrorBody),
        "insufficient_system_resource" => ("insufficient_system_resource", FaultKind::Overloaded),
        _ => return None,
    })
}

/// The model that answered, as the answer calls it.
pub(super) fn model_of(body: &Value) -> Option<String> {
    let name = body.get("model")?.as_str()?;
    Some(one_line(truncate_bytes(name, NAME))).filter(|name| !name.is_empty())
}

/// An error as a server tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ErrorReply {
    /// On one line, without control characters, and longer than what is shown of it: who cuts it
    /// first takes out what is secret.
    pub message: Option<String>,
    /// Types and codes, in lower case.
    pub words: Vec<String>,
    /// A code that is the number of a status, as gateways pass it on.
    pub status: Option<u16>,
    /// How long to wait before the next try, by the message or, as Google writes it, by a detail.
    pub retry_after: Option<Duration>,
}

impl ErrorReply {
    pub fn new(message: &str) -> ErrorReply {
        ErrorReply {
            message: shown(message),
            retry_after: wait_in(message),
            ..ErrorReply::default()
        }
    }

    /// True when one of the types and codes is one of these.
    pub fn is_one_of(&self, known: &[&str]) -> bool {
        self.words.iter().any(|word| known.contains(&word.as_str()))
    }

    /// True when one of the types and codes begins with this.
    pub fn begins(&self, known: &str) -> bool {
        self.words.iter().any(|word| word.starts_with(known))
    }

    /// True when the message holds one of these, which are in lower case.
    pub fn mentions(&self, known: &[&str]) -> bool {
        let message = self.message.as_deref().unwrap_or_default();
        let message = truncate_width(message, SEARCHED).to_lowercase();
        known.iter().any(|words| message.contains(words))
    }

    fn of_object(map: &Map<String, Value>) -> ErrorReply {
        let mut said = ErrorReply::default();
        for name in ["type", "code", "status"] {
            match map.get(name) {
                Some(Value::String(word)) if !word.is_empty() => {
                    said.words
                        .push(truncate_bytes(word, 100).to_ascii_lowercase());
                    said.status = said.status.or_else(|| status_in(word));
                }
                Some(Value::Number(number)) => {
                    said.status = said.status.or_else(|| status_in(&number.to_string()));
                }
                _ => {}
            }
        }
        let text = [
            "message",
            "detail",
            "msg",
            "error",
            "errors",
            "title",
            "description",
            "reason",
        ];
        said.message = text.iter().find_map(|name| message_in(map.get(*name)?));
        let details = map
            .get("details")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let delay = details
            .iter()
            .find_map(|detail| span(detail.get("retryDelay")?.as_str()?));
        said.retry_after = delay.or_else(|| said.message.as_deref().and_then(wait_in));
        said
    }

    /// What an error is, wherever it stands; `None` when it says nothing.
    pub fn of_error(error: &Value) -> Option<ErrorReply> {
        match error {
            Value::Null | Value::Bool(false) => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(ErrorReply::new(text)),
            Value::Array(items) => items.iter().find_map(ErrorReply::of_error),
            Value::Object(map) if map.is_empty() => None,
            Value::Object(map) => Some(ErrorReply::of_object(map)),
            Value::Bool(true) | Value::Number(_) => Some(ErrorReply::new(&error.to_string())),
        }
    }
}

/// A message: a text, or the first of several. What stands beside it may be what was asked.
fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => shown(text),
        Value::Array(items) => items.iter().find_map(message_in),
        Value::Object(map) => ["message", "msg", "detail"]
            .iter()
            .find_map(|name| message_in(map.get(*name)?)),
        _ => None,
    }
}

fn status_in(text: &str) -> Option<u16> {
    text.parse()
        .ok()
        .filter(|status| (400..600).contains(status))
}

fn shown(text: &str) -> Option<String> {
    let kept = truncate_bytes(text, LOOKED_AT);
    let mut line = one_line(kept);
    // A word that is cut may be part of a key, which nobody would know again.
    if kept.len() < text.len() {
        line.truncate(line.rfind(' ').unwrap_or_default());
    }
    (!line.is_empty()).then_some(line)
}

/// As much of a reason as is shown, once nothing secret is in it.
pub(super) fn shorten(reason: &mut String) {
    if let Cow::Owned(short) = truncate_width(reason, SHOWN) {
        *reason = short;
    }
}

/// Takes out of a reason what a server repeats of the question, from its beginning on.
pub(super) fn hide_question(reason: &mut String, question: &str) {
    /// Characters of a question that tell it from words that happen to be alike.
    const TELLING: usize = 16;
    let question = one_line(truncate_bytes(question, LOOKED_AT));
    let Some((end, _)) = question.char_indices().nth(TELLING) else {
        return;
    };
    while let Some(at) = question.get(..end).and_then(|start| reason.find(start)) {
        let rest = reason.get(at..).unwrap_or_default();
        let alike = rest
            .chars()
            .zip(question.chars())
            .take_while(|(a, b)| a == b);
        let length: usize = alike.map(|(c, _)| c.len_utf8()).sum();
        reason.replace_range(at..at + length, "[the question]");
    }
}

/// The error inside an answer whose status says that all is well; `None` when it holds none.
pub(super) fn error_in(body: &Value) -> Option<ErrorReply> {
    let map = match body {
        Value::Array(items) => items.first()?.as_object()?,
        other => other.as_object()?,
    };
    let marked = |name: &str| map.get(name).and_then(Value::as_str) == Some("error");
    match map.get("error").and_then(ErrorReply::of_error) {
        Some(mut said) => {
            if matches!(map.get("error"), Some(Value::String(_))) {
                let outer = ErrorReply::of_object(map);
                said.words = outer.words;
                said.status = outer.status;
            }
            Some(said)
        }
        None if marked("type") || marked("object") => Some(ErrorReply::of_object(map)),
        None => None,
    }
}

/// What the body of an answer says whose status says that it is an error.
pub(super) fn error_of_status(body: &[u8]) -> ErrorReply {
    if let Ok(value) = serde_json::from_slice::<Value>(without_mark(body)) {
        return error_in(&value)
            .or_else(|| ErrorReply::of_error(&value))
            .unwrap_or_default();
    }
    let text = String::from_utf8_lossy(body);
    match page(&text) {
        Some(page) => ErrorReply {
            message: Some(page),
            ..ErrorReply::default()
        },
        // What breaks off is shown as well as plain words: it is what there is.
        None => ErrorReply::new(&text),
    }
}

/// The bytes without a byte order mark.
pub(super) fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// What a page of HTML is, in words; `None` when it is none.
pub(super) fn page(text: &str) -> Option<String> {
    let head = text.trim_start().as_bytes();
    let begins = |word: &str| {
        head.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    if ![
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<!--",
        "<center",
    ]
    .iter()
    .any(|tag| begins(tag))
    {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let from = at + lower.get(at..)?.find('>')? + 1;
        let to = from + lower.get(from..)?.find("</title")?;
        shown(text.get(from..to)?)
    });
    Some(match title {
        Some(title) => format!("an HTML page titled `{title}`"),
        None => "an HTML page without a title".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_read_in_the_shapes_of_many_servers() {
        let mut told = String::new();
        for body in [
            json!({"error": {"message": "m", "type": "t", "param": null, "code": "C"}}),
            json!({"error": {"message": "m", "code": 429}}),
            json!({"error": "plain", "code": "503"}),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}),
            json!([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}]),
            json!({"error": {"message": {"detail": "inner"}}}),
            json!({"error": true}),
            json!([{"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.Help"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
            ]}}]),
            json!({"error": {"message": "Rate limit reached. Please try again in 1.2s."}}),
            json!({"error": null, "choices": []}),
            json!({"error": {}, "choices": []}),
            json!({"error": "", "choices": []}),
            json!({"choices": []}),
            json!("error"),
            json!({"error": {"message": "a\u{1b}[31mb\n\nc\u{0}d"}}),
        ] {
            let said = error_in(&body)
                .map(|said| (said.message, said.words, said.status, said.retry_after));
            told.push_str(&format!("{body}: {said:?}\n"));
        }
        let mut long = error_in(&json!({"error": "wörd ".repeat(10_000)}))
            .unwrap()
            .message
            .unwrap();
        assert!(long.len() <= LOOKED_AT);
        shorten(&mut long);
        assert!(long.chars().count() <= SHOWN, "{long}");
        insta::assert_snapshot!(told, @r#"
            {"error":{"code":"C","message":"m","param":null,"type":"t"}}: Some((Some("m"), ["t", "c"], None, None))
            {"error":{"code":429,"message":"m"}}: Some((Some("m"), [], Some(429), None))
            {"code":"503","error":"plain"}: Some((Some("plain"), ["503"], Some(503), None))
            {"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}: Some((Some("Overloaded"), ["overloaded_error"], None, None))
            {"code":400,"message":"m","object":"error","type":"BadRequestError"}: Some((Some("m"), ["badrequesterror"], Some(400), None))
            [{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]: Some((Some("API key not valid"), ["invalid_argument"], Some(400), None))
            {"error":{"message":{"detail":"inner"}}}: Some((Some("inner"), [], None, None))
            {"error":true}: Some((Some("true"), [], None, None))
            [{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}],"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}]: Some((Some("Quota exceeded"), ["resource_exhausted"], Some(429), Some(34s)))
            {"error":{"message":"Rate limit reached. Please try again in 1.2s."}}: Some((Some("Rate limit reached. Please try again in 1.2s."), [], None, Some(1.2s)))
            {"choices":[],"error":null}: None
            {"choices":[],"error":{}}: None
            {"choices":[],"error":""}: None
            {"choices":[]}: None
            "error": None
            {"error":{"message":"a\u001b[31mb\n\nc\u0000d"}}: Some((Some("ab cd"), [], None, None))
            "#);
    }

    #[test]
    fn a_question_that_comes_back_is_not_shown() {
        let question = "What is the capital of\n Fränce, and why?";
        let hidden = |reason: &str| {
            let mut reason = reason.to_owned();
            hide_question(&mut reason, question);
            reason
        };
        assert_eq!(
            hidden("h: bad `What is the capital of Fränce, and why?` twice"),
            "h: bad `[the question]` twice"
        );
        assert_eq!(
            hidden("h: bad `What is the capital of Fr…"),
            "h: bad `[the question]…"
        );
        assert_eq!(hidden("h: What is the matter?"), "h: What is the matter?");
        let mut short = "stop".to_owned();
        hide_question(&mut short, "stop");
        assert_eq!(short, "stop");
    }

    #[test]
    fn failing_statuses_say_what_their_bodies_say() {
        let mut told = String::new();
        for body in [
            r#"{"detail": "Not Found"}"#,
            r#"{"detail": [{"loc": ["body"], "msg": "field required", "input": "the question"}]}"#,
            r#"{"message": "no"}"#,
            r#"{"errors": [{"message": "no"}]}"#,
            "<!DOCTYPE html>\n<html><head><title>502 Bad\nGateway</title></head>",
            "<html><body>x",
            "upstream connect error",
            r#"{"error": {"message": "half"#,
            "",
            "null",
        ] {
            told.push_str(&format!(
                "{body:?}: {:?}\n",
                error_of_status(body.as_bytes()).message
            ));
        }
        insta::assert_snapshot!(told, @r#"
        "{\"detail\": \"Not Found\"}": Some("Not Found")
        "{\"detail\": [{\"loc\": [\"body\"], \"msg\": \"field required\", \"input\": \"the question\"}]}": Some("field required")
        "{\"message\": \"no\"}": Some("no")
        "{\"errors\": [{\"message\": \"no\"}]}": Some("no")
        "<!DOCTYPE html>\n<html><head><title>502 Bad\nGateway</title></head>": Some("an HTML page titled `502 Bad Gateway`")
        "<html><body>x": Some("an HTML page without a title")
        "upstream connect error": Some("upstream connect error")
        "{\"error\": {\"message\": \"half": Some("{\"error\": {\"message\": \"half")
        "": None
        "null": None
        "#);
    }
}
