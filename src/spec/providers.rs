//! `providers:` of a suite: model APIs, with their rate limits, time limits and retries.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiWord {
    /// Chat completions, as in the API of OpenAI and compatible servers.
    Openai,
    /// Messages, as in the API of Anthropic.
    Anthropic,
    /// Any JSON API, described in `request`.
    Http,
}

/// A model API, used by `model: "NAME:MODEL"` of a target or judge, whose own settings override it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::key_source()))]
pub struct ProviderSpec {
    /// Format of the API. Default: `anthropic` for a provider of that name, `http` if `request` is
    /// set, otherwise `openai`.
    pub api: Option<ApiWord>,
    /// Base URL, without the API's own path (`/chat/completions`, `/messages`). `openai` and
    /// `anthropic` have a default.
    pub base_url: Option<String>,
    /// The environment variable that contains the API key. Without it, no key is sent to a custom
    /// `base_url`.
    pub api_key_env: Option<String>,
    /// A file that contains the API key, instead of `api_key_env`. Relative to this file.
    #[schemars(length(min = 1))]
    pub api_key_file: Option<String>,
    /// A command whose standard output is the API key, instead of `api_key_env`: program and
    /// arguments, run without a shell in the suite's folder, at most once a run.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// HTTP headers to send with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Number of calls at once, for all models of the provider together. Default:
    /// `config.max_workers` if it is set, otherwise 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    /// Limit of requests per minute, for all models of the provider together.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Limit of input and output tokens per minute, for all models of the provider together.
    #[schemars(range(min = 1))]
    pub tokens_per_minute: Option<u64>,
    /// Time limit in seconds for one try, from the connection to the last byte. Default: the eval's
    /// time limit.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Time limit in seconds for the connection. Default 10.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Time limit in seconds until the answer begins. Default: `timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub first_byte_timeout_seconds: Option<f64>,
    /// Number of further tries of a call without a usable answer. Default 4.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// A PEM file of certificates to trust in addition to the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` accepts any certificate, so the identity of the server is not checked. Default false.
    pub insecure: Option<bool>,
    /// Maximum size of an answer in bytes; a larger one is an error. Default 16 MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_answer_bytes: Option<u64>,
    /// Requests to an API with `api: http`, and their answers.
    pub request: Option<RequestSpec>,
}

/// Requests to a custom JSON API, and their answers. Texts of `body` and `path` may contain
/// `{{ prompt }}`, `{{ messages }}`, `{{ system }}`, `{{ model }}`, `{{ temperature }}`,
/// `{{ top_p }}`, `{{ max_tokens }}`, `{{ stop }}`, `{{ seed }}` and `{{ json_schema }}`; a text
/// that consists of a single one becomes the value unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// HTTP method. Default POST.
    pub method: Option<String>,
    /// Path below `base_url`. Default: empty.
    pub path: Option<String>,
    /// Body of the request, sent as JSON.
    pub body: Value,
    /// JSONPath (RFC 9535) of the answer's text.
    #[schemars(length(min = 1))]
    pub answer: String,
    /// JSONPath of the number of input tokens.
    pub input_tokens: Option<String>,
    /// JSONPath of the number of output tokens.
    pub output_tokens: Option<String>,
    /// JSONPath of the error message; an answer that has one is an error, regardless of its status.
    pub error: Option<String>,
    /// JSONPath of the reason why the model stopped: `stop`, `length`, `refused`, ...
    pub finish: Option<String>,
}
