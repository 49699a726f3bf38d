//! Inputs of targets.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::Message;
use super::{NameOr, tagged};

/// An input; a plain text is a prompt.
pub type InputRef = NameOr<InputSpec>;

/// The input of a target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputSpec {
    /// A prompt.
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
    /// The prompt: a template over `vars.*`, `context.*` and `env.*`.
    pub content: String,
    /// Further data for the prompt's template and for the target.
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileInput {
    /// The file, relative to this file.
    #[schemars(length(min = 1))]
    pub content: String,
    /// Further data for the target.
    pub context: Option<Value>,
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiCallInput {
    /// HTTP method. Default GET.
    pub method: Option<String>,
    /// The endpoint: a path below the target's `base_url`.
    #[schemars(extend("x-aliases" = ["path"]))]
    pub endpoint: String,
    /// HTTP headers; each value is a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Query parameters to add to the endpoint: texts, numbers, booleans, or lists of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Value>,
    /// Request body, sent as JSON. A text is sent unchanged, unless the content type is JSON.
    pub body: Option<Value>,
    /// Further data for the target.
    pub context: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesInput {
    /// The messages of the conversation, in order.
    #[schemars(length(min = 1), extend("x-aliases" = ["content"]))]
    pub messages: Vec<Message>,
    /// Further data for the target.
    pub context: Option<Value>,
}

/// Prompts by name.
pub type SuitePrompts = BTreeMap<String, PromptRef>;

/// A prompt: a template over `input`, `context.*`, `vars.*` and `env.*`.
pub type PromptRef = NameOr<PromptFile>;

/// A prompt that a file contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptFile {
    /// The file, relative to this file.
    #[schemars(length(min = 1))]
    pub file: String,
}
