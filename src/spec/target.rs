//! `target:` blocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tagged;
use super::words::{OnError, OutputFormat};

/// The system under test.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TargetSpec {
    /// Outputs recorded earlier, one JSON object a line.
    Recorded(RecordedSpec),
    /// A program that reads the prompt on stdin and answers on stdout.
    Command(CommandSpec),
    /// Answers with the prompt itself: for trying graders.
    Echo(EchoSpec),
    /// A model behind an API.
    Model(ModelSpec),
    /// An HTTP service, for `api_call` inputs.
    Http(HttpSpec),
    /// A skill of a coding agent.
    Skill(SkillSpec),
}

tagged!(TargetSpec by "type" {
    Recorded = "recorded", Command = "command", Echo = "echo", Model = "model", Http = "http", Skill = "skill",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpec {
    /// A file of JSON lines, relative to this file.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Program and arguments, each a template; `{{ input_file }}` is the path of an `input.json` with the whole input.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Seconds for one call.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Environment variables that the program sees besides PATH.
    #[serde(default)]
    pub env: Vec<String>,
    /// What a non-zero exit code means.
    #[serde(default)]
    pub on_error: OnError,
    /// How stdout is read.
    #[serde(default)]
    pub output: OutputFormat,
    /// `true` runs it inside the sandbox: it sees this file's folder read-only, a private `/tmp`, and no network. Default false.
    #[serde(default)]
    pub sandbox: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoSpec {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// `provider:model`, such as `openai:gpt-4o-mini`.
    pub model: String,
    /// Ends where the provider's own path begins.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Calls in flight at once.
    #[schemars(range(min = 1))]
    pub max_concurrency: Option<u64>,
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Retries of calls that did not get through.
    pub retries: Option<u32>,
    /// Texts at which the model stops.
    #[serde(default)]
    pub stop: Vec<String>,
    /// Further settings, sent as they are.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    pub base_url: String,
    /// Sent with every request; each a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    pub retries: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillSpec {
    pub skill_name: Option<String>,
    /// The agent's command line, each part a template over `skill_name` and `parameters`.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    #[serde(default)]
    pub env: Vec<String>,
    #[serde(default)]
    pub output: OutputFormat,
}
