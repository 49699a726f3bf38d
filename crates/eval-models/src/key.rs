//! What tells two questions apart: whoever has the same key gets the same answer from a cache or a
//! recording.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{ChatMessage, ModelRequest};
use crate::{Endpoint, HttpDialect, ProviderApi, SamplingOptions};
use eval_base::redact::{is_sensitive_header, without_secret_parameters, without_userinfo};
use eval_base::text::{hex, unhex};

/// Raised when the same question gets another key; then old answers are not found any more.
const VERSION: u32 = 1;

/// The SHA-256 of a question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionKey([u8; 32]);

impl QuestionKey {
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From 64 hex digits in lower case.
    pub fn parse(text: &str) -> Option<QuestionKey> {
        let bytes = unhex(text).filter(|bytes| hex(bytes) == text)?;
        bytes.try_into().ok().map(QuestionKey)
    }

    #[cfg(test)]
    pub(super) fn of_byte(byte: u8) -> QuestionKey {
        QuestionKey([byte; 32])
    }
}

impl fmt::Display for QuestionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for QuestionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Everything that changes an answer, and nothing else: not the name that the suite gives the
/// provider, not the key, not how fast or how patiently it is asked. Numbers of `options`, of a
/// schema and of parts are as written: 1 and 1.0 are two questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyedQuestion {
    pub api: ProviderApi,
    /// Without user, password, secret parameters and a final slash.
    pub base_url: String,
    pub model: String,
    /// Those whose values are no secrets, with names in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<HttpDialect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    pub messages: Vec<ChatMessage>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub sampling: SamplingOptions,
    /// Which of several independent answers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample: u32,
    /// Of a sample that is tried again because its grade failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// Of a judge that is asked several times.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vote: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl KeyedQuestion {
    pub fn of(endpoint: &Endpoint, call: &ModelRequest) -> KeyedQuestion {
        let headers = endpoint
            .headers
            .iter()
            .filter(|(name, _)| !is_sensitive_header(name));
        let base_url = without_secret_parameters(&without_userinfo(&endpoint.base_url));
        KeyedQuestion {
            api: endpoint.api,
            base_url: base_url.trim_end_matches('/').to_owned(),
            model: endpoint.model.clone(),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
                .collect(),
            dialect: endpoint.dialect.as_deref().map(|dialect| HttpDialect {
                path: without_secret_parameters(&dialect.path),
                ..dialect.clone()
            }),
            system: call.system.clone(),
            messages: call.messages.clone(),
            sampling: call.sampling.clone(),
            sample: call.index.sample,
            attempt: call.index.attempt,
            vote: call.index.vote,
        }
    }

    /// Over the JSON with the keys of every map in order, so that the order in which somebody wrote
    /// them does not matter.
    pub fn key(&self) -> QuestionKey {
        // Maps of values are sorted. A question is plain JSON, of which writing does not fail.
        let value = serde_json::to_value(self).unwrap_or_default();
        let text = format!("eval-harness question {VERSION}\n{value}");
        QuestionKey(Sha256::digest(text).into())
    }

    /// The beginning of what is asked, in one line, for people.
    pub fn beginning(&self) -> String {
        let last = self
            .messages
            .iter()
            .rev()
            .find(|message| message.role == "user");
        match last
            .or(self.messages.last())
            .map(|message| &message.content)
        {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(|part| part.get("text").and_then(Value::as_str))
                .collect::<Vec<_>>()
                .join(" "),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
