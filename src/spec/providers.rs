//! `providers:` of a suite: where models are, and how fast and how patiently they are asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The language that an API speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiWord {
    /// Chat completions, as OpenAI and every compatible server have them.
    Openai,
    /// Messages, as Anthropic has them.
    Anthropic,
    /// Any JSON API, described under `request`.
    Http,
}

/// A place where models are asked. `model: "NAME:MODEL"` of a target uses it; what the target says
/// itself wins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSpec {
    /// Default: `anthropic` for a provider of that name, `http` where `request` is written, else
    /// `openai`.
    pub api: Option<ApiWord>,
    /// Ends where the API's own path (`/chat/completions`, `/messages`) begins. `openai` and
    /// `anthropic` have one.
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Without it no key is sent to a custom
    /// `base_url`.
    pub api_key_env: Option<String>,
    /// Sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Calls in flight at once, of all models of the provider together. Default:
    /// `config.max_workers` where that is written, else 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    /// Of all models of the provider together.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Input and output together, of all models of the provider.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Seconds for one try, from the connection to the last byte. Default: the eval's time limit.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Seconds until there is a connection. Default 10.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Seconds until the answer begins. Default: as long as the whole try.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub first_byte_timeout_seconds: Option<f64>,
    /// Further tries of a call that got no usable answer. Default 4.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// A file of certificates in PEM that are trusted besides the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` takes any certificate, and with it anybody for the server. Default false.
    pub insecure: Option<bool>,
    /// Bytes of an answer that are read; a longer one is an error. Default 16 MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_answer_bytes: Option<u64>,
    /// How an API of kind `http` is asked and read.
    pub request: Option<RequestSpec>,
}

/// How a custom JSON API is called and read. Texts of `body` and `path` may hold
/// `{{ prompt }}`, `{{ messages }}`, `{{ system }}`, `{{ model }}`, `{{ temperature }}`,
/// `{{ top_p }}`, `{{ max_tokens }}`, `{{ stop }}`, `{{ seed }}` and `{{ json_schema }}`; one that
/// is nothing else becomes the value itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Default POST.
    pub method: Option<String>,
    /// Put below `base_url`. Default: nothing is.
    pub path: Option<String>,
    /// What is sent, as JSON.
    pub body: Value,
    /// JSONPath (RFC 9535) of the answer's text.
    #[schemars(length(min = 1))]
    pub answer: String,
    /// JSONPath of the tokens of the question.
    pub input_tokens: Option<String>,
    /// JSONPath of the tokens of the answer.
    pub output_tokens: Option<String>,
    /// JSONPath of what an error says; an answer that has it is an error, whatever its status.
    pub error: Option<String>,
    /// JSONPath of why the model ended: `stop`, `length`, `refused`, ...
    pub finish: Option<String>,
}
