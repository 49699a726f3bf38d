//! What an answer says of itself: tokens, model, and whether it is complete. From a whole body, or
//! from the events of a stream as they pass.

use std::collections::BTreeSet;

use eval_models::TokenCounts;
use serde_json::{Map, Value};

use crate::ApiProtocol;
use crate::sse::SseBlock;

/// Reads an answer without keeping it.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    protocol: ApiProtocol,
    /// Fields of the latest usage report over those of earlier ones.
    usage: Map<String, Value>,
    /// The usage report is the answer's last.
    usage_is_final: bool,
    /// Choices that the answer has, and those that ended.
    choices: u64,
    ended_choices: BTreeSet<u64>,
    /// The answer ended as its API ends answers.
    ended: bool,
    fault: Option<String>,
    model: Option<String>,
    tier: Option<Value>,
}

/// Tokens of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerUsage {
    pub tokens: TokenCounts,
    /// False when the answer was cut before its last report.
    pub is_final: bool,
    /// Prices per token don't cover everything that the report has.
    pub has_extras: bool,
}

impl AnswerReader {
    pub fn new(protocol: ApiProtocol) -> AnswerReader {
        AnswerReader::with_choices(protocol, 1)
    }

    /// Of an answer that ends when so many choices have ended.
    pub fn with_choices(protocol: ApiProtocol, choices: u64) -> AnswerReader {
        AnswerReader {
            protocol,
            usage: Map::new(),
            usage_is_final: false,
            choices,
            ended_choices: BTreeSet::new(),
            ended: false,
            fault: None,
            model: None,
            tier: None,
        }
    }

    /// The next event of a stream. True when it changed the usage.
    pub fn event(&mut self, block: &SseBlock) -> bool {
        let Some(data) = block.data.as_deref() else {
            return false;
        };
        let name = block.name.as_str();
        // Most events are pieces of text, which need no parsing. A quotation mark within a text is
        // escaped, so that these words are found only as names and values.
        let has = |word: &str| data.contains(word);
        match self.protocol {
            ApiProtocol::AnthropicMessages => {
                if has("\"usage\"") || has("\"message_stop\"") || has("\"error\"") {
                    return self.anthropic_event(data);
                }
            }
            ApiProtocol::OpenaiChat => {
                if data.trim() == "[DONE]" {
                    self.ended = true;
                } else if has("\"usage\"") || has("\"finish_reason\"") || has("\"error\"") {
                    return self.chat_event(data);
                }
            }
            ApiProtocol::OpenaiResponses => {
                let last = [
                    "response.completed",
                    "response.incomplete",
                    "response.failed",
                ];
                let is_last = |word: &&str| name == *word || has(&format!("\"{word}\""));
                if last.iter().any(is_last) || name == "error" || has("\"error\"") {
                    return self.responses_event(data);
                }
            }
            ApiProtocol::Gemini => {
                if let Ok(value) = serde_json::from_str::<Value>(data) {
                    return self.gemini_piece(&value);
                }
            }
        }
        false
    }

    /// A whole body that is not a stream of events.
    pub fn body(&mut self, body: &Value) {
        match (self.protocol, body) {
            // `streamGenerateContent` without `alt=sse` sends a list of pieces.
            (ApiProtocol::Gemini, Value::Array(pieces)) => {
                for piece in pieces {
                    self.gemini_piece(piece);
                }
            }
            (ApiProtocol::Gemini, piece) => {
                self.gemini_piece(piece);
            }
            (_, body) => {
                self.read_model(body);
                self.merge(body.get("usage"));
                let status = body.get("status").and_then(Value::as_str);
                self.usage_is_final = !matches!(status, Some("queued" | "in_progress"));
                self.ended = true;
                if self.protocol == ApiProtocol::OpenaiResponses && status == Some("failed") {
                    self.fault = Some("failed".to_owned());
                }
            }
        }
        self.close();
        if self.fault.is_none() {
            self.ended = true;
        }
    }

    /// Nothing follows. Servers may make fewer choices than were requested.
    pub fn close(&mut self) {
        if !self.ended_choices.is_empty() {
            self.ended = true;
            self.usage_is_final |= self.protocol == ApiProtocol::Gemini;
        }
    }

    fn anthropic_event(&mut self, data: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return false;
        };
        match value.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                let message = value.get("message").unwrap_or(&Value::Null);
                self.read_model(message);
                self.merge(message.get("usage"))
            }
            Some("message_delta") => {
                self.usage_is_final = true;
                self.merge(value.get("usage"))
            }
            Some("message_stop") => {
                self.ended = true;
                false
            }
            Some("error") => self.read_fault(value.get("error")),
            _ => false,
        }
    }

    fn chat_event(&mut self, data: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return false;
        };
        self.read_model(&value);
        if value.get("error").is_some_and(Value::is_object) {
            return self.read_fault(value.get("error"));
        }
        let choices = value.get("choices").and_then(Value::as_array);
        self.ended |= self.end_choices(choices, "finish_reason");
        // Some servers report with every piece what was used so far.
        let changed = self.merge(value.get("usage"));
        let is_last = self.ended || choices.is_none_or(Vec::is_empty);
        self.usage_is_final |= changed && is_last;
        changed
    }

    fn responses_event(&mut self, data: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return false;
        };
        let kind = value.get("type").and_then(Value::as_str);
        let response = value.get("response").unwrap_or(&Value::Null);
        match kind {
            Some("response.completed" | "response.incomplete") => {
                self.ended = true;
                self.read_model(response);
                self.usage_is_final = true;
                self.merge(response.get("usage"))
            }
            Some("response.failed") => {
                let changed = self.merge(response.get("usage"));
                self.read_fault(response.get("error"));
                changed
            }
            Some("error") => self.read_fault(value.get("error").or(Some(&value))),
            _ => false,
        }
    }

    fn gemini_piece(&mut self, value: &Value) -> bool {
        if let Some(model) = value.get("modelVersion").and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        if value.get("error").is_some_and(Value::is_object) {
            return self.read_fault(value.get("error"));
        }
        let candidates = value.get("candidates").and_then(Value::as_array);
        let are_ended = self.end_choices(candidates, "finishReason");
        let is_blocked = value
            .get("promptFeedback")
            .is_some_and(|feedback| feedback.get("blockReason").is_some());
        if are_ended || is_blocked {
            self.ended = true;
            self.usage_is_final = true;
        }
        self.merge(value.get("usageMetadata"))
    }

    /// Whether all choices have ended after these, of which those with this field end.
    fn end_choices(&mut self, choices: Option<&Vec<Value>>, field: &str) -> bool {
        for choice in choices.into_iter().flatten() {
            let is_open = (self.ended_choices.len() as u64) < self.choices;
            if is_open && choice.get(field).is_some_and(Value::is_string) {
                let index = choice.get("index").and_then(Value::as_u64);
                self.ended_choices.insert(index.unwrap_or(0));
            }
        }
        self.ended_choices.len() as u64 >= self.choices
    }

    fn read_model(&mut self, holder: &Value) {
        if let Some(model) = holder.get("model").and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        // OpenAI's servers have it beside the usage.
        if let Some(tier) = holder.get("service_tier").filter(|tier| tier.is_string()) {
            self.tier = Some(tier.clone());
        }
    }

    fn read_fault(&mut self, error: Option<&Value>) -> bool {
        let word = |name| error?.get(name)?.as_str();
        let word = word("type").or_else(|| word("code")).unwrap_or("error");
        self.fault = Some(eval_base::text::shortened(word, 60).into_owned());
        false
    }

    /// Reports are totals so far: a later one replaces fields of an earlier one.
    fn merge(&mut self, usage: Option<&Value>) -> bool {
        let Some(Value::Object(fields)) = usage else {
            return false;
        };
        for (name, value) in fields {
            if !value.is_null() {
                self.usage.insert(name.clone(), value.clone());
            }
        }
        !fields.is_empty()
    }

    /// The usage report so far, as the API has it.
    pub fn report(&self) -> Value {
        Value::Object(self.usage.clone())
    }

    /// A report that is not part of the answer.
    pub fn add_report(&mut self, report: &Value) {
        self.merge(Some(report));
        self.usage_is_final = true;
    }

    /// As the answer calls it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub fn usage(&self) -> Option<AnswerUsage> {
        let report = Value::Object(self.usage.clone());
        let tokens = self.protocol.usage_form().counts(&report)?;
        let positive = |value: Option<&Value>| {
            value.is_some_and(|value| value.as_f64().is_some_and(|number| number > 0.0))
        };
        let hour = report
            .get("cache_creation")
            .and_then(|parts| parts.get("ephemeral_1h_input_tokens"));
        let tools = report.get("server_tool_use").and_then(Value::as_object);
        let tools = tools.is_some_and(|tools| tools.values().any(|uses| positive(Some(uses))));
        let tier = report.get("service_tier").or(self.tier.as_ref());
        let words = [tier, report.get("speed")].map(|word| word.and_then(Value::as_str));
        let is_other_price = |word: &str| !matches!(word, "default" | "standard");
        let is_other_price = words.into_iter().flatten().any(is_other_price);
        let parts = report.get("iterations").and_then(Value::as_array);
        let is_apart = |part: &Value| part.get("type").and_then(Value::as_str) != Some("message");
        let has_apart = parts.is_some_and(|parts| parts.iter().any(is_apart));
        Some(AnswerUsage {
            tokens,
            is_final: self.usage_is_final,
            has_extras: positive(hour) || tools || is_other_price || has_apart,
        })
    }

    /// Whether nothing more is reported.
    pub fn is_final(&self) -> bool {
        self.usage_is_final && !self.usage.is_empty()
    }

    /// Whether the answer is whole: it ended as its API ends answers, and reports no error.
    pub fn is_complete(&self) -> bool {
        self.ended && self.fault.is_none()
    }

    /// The kind of error that an answer with a good status reports.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
