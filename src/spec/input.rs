//! What a target is given.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::Message;
use super::{NameOr, tagged};

/// An input; a bare text is a prompt.
pub type InputRef = NameOr<InputSpec>;

/// What the target is given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputSpec {
    /// A text.
    Prompt(PromptInput),
    /// A file whose content is the input.
    File(FileInput),
    /// An HTTP request.
    ApiCall(ApiCallInput),
    /// A conversation.
    Messages(MessagesInput),
}

tagged!(InputSpec by "type" { Prompt = "prompt", File = "file", ApiCall = "api_call", Messages = "messages" });

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptInput {
    /// A template over `vars.*`, `context.*` and `env.*`.
    pub content: String,
    /// Further facts, for the prompt's template and for the target.
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileInput {
    /// A path relative to this file.
    #[schemars(length(min = 1))]
    pub content: String,
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiCallInput {
    /// Default GET.
    pub method: Option<String>,
    #[schemars(extend("x-aliases" = ["path"]))]
    pub endpoint: String,
    /// Each value a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Added to the endpoint's query: a text, a number, true or false, or a list of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Value>,
    /// Sent as JSON; a text as it is, unless the content type is JSON.
    pub body: Option<Value>,
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesInput {
    #[schemars(length(min = 1), extend("x-aliases" = ["content"]))]
    pub messages: Vec<Message>,
    pub context: Option<Value>,
}
