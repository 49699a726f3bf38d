//! Models behind an API: who answers, how they are reached, and how they are asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use eval_base::ordered::OrderedValue;
use eval_base::redact::{
    serialize_headers, serialize_url, without_secret_parameters, without_userinfo,
};

/// The language that an API speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderApi {
    /// Chat completions, as OpenAI and every compatible server have them.
    Openai,
    /// Messages, as Anthropic has them.
    Anthropic,
    /// Any JSON API, described by a [`HttpDialect`].
    Http,
}

impl ProviderApi {
    /// The word in suites and reports.
    pub fn name(self) -> &'static str {
        match self {
            ProviderApi::Openai => "openai",
            ProviderApi::Anthropic => "anthropic",
            ProviderApi::Http => "http",
        }
    }
}

/// A model and the way to it. Serialised it is what tells models apart: no keys, no paths of one
/// machine, and nothing of how fast or how patiently it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    pub api: ProviderApi,
    /// The provider's name in the suite: `openai`, `anthropic`, or one under `providers:`.
    pub provider: String,
    /// As the API knows it, without the provider.
    pub model: String,
    /// Ends where the API's own path begins.
    #[serde(serialize_with = "serialize_url")]
    pub base_url: String,
    /// The environment variable that set `base_url`, where no file says it.
    #[serde(skip)]
    pub address_variable: Option<String>,
    /// Sent with every request; the key is not among them.
    #[serde(default, serialize_with = "serialize_headers")]
    pub headers: BTreeMap<String, String>,
    /// How an [`ProviderApi::Http`] is spoken to; `None` for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Box<HttpDialect>>,
    /// `None` sends no key.
    #[serde(skip)]
    pub key: Option<ApiKey>,
    #[serde(skip)]
    pub limits: LaneLimits,
    #[serde(skip)]
    pub patience: CallLimits,
    /// Certificates of further authorities, in PEM. Absolute.
    #[serde(skip)]
    pub ca_file: Option<PathBuf>,
    /// Takes any certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// `None` when nobody said what it costs: then it is unknown, and not 0.
    #[serde(skip)]
    pub price: Option<TokenPrice>,
    /// Answers come from recordings in this folder and from nowhere else. Absolute.
    #[serde(skip)]
    pub replay: Option<PathBuf>,
}

impl Endpoint {
    /// `provider:model`, as people read it.
    pub fn name(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }

    /// The address without its secrets, as it is recorded.
    pub fn shown_address(&self) -> String {
        without_secret_parameters(&without_userinfo(&self.base_url))
    }
}

/// Where a key is read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// An environment variable, by name.
    Variable(String),
    /// A file. Absolute.
    File(PathBuf),
    /// Standard output of a program that runs in `dir`.
    Command { argv: Vec<String>, dir: PathBuf },
}

impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::Variable(name) => write!(f, "the variable {name}"),
            KeySource::File(path) => write!(f, "the file {}", path.display()),
            // Arguments are left out, which may be long.
            KeySource::Command { argv, .. } => {
                let program = argv.first().map(String::as_str).unwrap_or_default();
                write!(f, "the command {program}")
            }
        }
    }
}

/// The value of a key, shared by all that read it from the same source, and empty until one of them
/// needs it.
#[derive(Clone, Default)]
pub struct KeyValue(Arc<OnceLock<String>>);

impl KeyValue {
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// The first value counts.
    pub fn set(&self, value: impl Into<String>) {
        let _ = self.0.set(value.into());
    }
}

impl From<String> for KeyValue {
    fn from(value: String) -> KeyValue {
        KeyValue(Arc::new(OnceLock::from(value)))
    }
}

impl PartialEq for KeyValue {
    fn eq(&self, other: &KeyValue) -> bool {
        self.get() == other.get()
    }
}

impl Eq for KeyValue {}

impl std::fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.get().is_some() { "Set" } else { "Unset" })
    }
}

/// A key, and where it is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub source: KeySource,
    /// Unset is an error once the key is needed, which a recording never does.
    pub value: KeyValue,
}

/// How a custom JSON API is called and read. Texts of `body` may hold `{{ prompt }}`,
/// `{{ messages }}`, `{{ system }}`, `{{ model }}`, `{{ temperature }}`, `{{ max_tokens }}` and so
/// on; one that is nothing else becomes the value itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpDialect {
    pub method: String,
    /// Put below `base_url`.
    pub path: String,
    pub body: OrderedValue,
    /// JSONPath (RFC 9535) of the answer's text.
    pub answer: String,
    /// JSONPaths of counts of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<String>,
    /// JSONPath of what an error says; an answer that has it is an error, whatever its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// JSONPath of why the model ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

/// How fast a model may be asked. Endpoints with the same `lane` share one allowance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLimits {
    pub lane: String,
    /// Calls in flight at once, at least 1: the most that a lane grows to.
    pub max_concurrency: usize,
    pub requests_per_minute: Option<u64>,
    /// Input and output together.
    pub tokens_per_minute: Option<u64>,
}

impl LaneLimits {
    /// Calls in flight at once when nobody says.
    pub const CONCURRENCY: usize = 32;
}

impl Default for LaneLimits {
    fn default() -> Self {
        LaneLimits {
            lane: String::new(),
            max_concurrency: LaneLimits::CONCURRENCY,
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }
}

/// How long an answer is waited for, and how often a call is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    pub connect: Duration,
    /// Until the head of the answer; `None`: as long as the whole call.
    pub first_byte: Option<Duration>,
    /// For one try, from the connection to the last byte; `None`: the case's time limit.
    pub total: Option<Duration>,
    /// Further tries of a call that got no usable answer.
    pub retries: u32,
    /// Bytes of an answer that are read; a longer one is an error.
    pub max_answer_bytes: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits {
            connect: Duration::from_secs(10),
            first_byte: None,
            total: None,
            retries: 4,
            max_answer_bytes: 16 << 20,
        }
    }
}

/// Dollars for a million tokens. `cached_input` and `cache_write` are those of a provider's own
/// cache of prompts; where they are not said such tokens cost what `input` costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TokenPrice {
    pub input: f64,
    pub output: f64,
    pub cached_input: Option<f64>,
    pub cache_write: Option<f64>,
}

/// What a model is told besides the messages. What is `None` is not sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// A JSON Schema that the answer must fit, where the API can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<OrderedValue>,
    /// Further fields of the request, sent as they are; they win over what would be sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, OrderedValue>,
}
