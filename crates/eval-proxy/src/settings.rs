//! What a run and a sample set: servers, keys, prices, limits, hosts and recordings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use eval_base::redact::Redactor;
use eval_models::{KeyValue, TokenPrice};
use serde::{Deserialize, Serialize};

use crate::AllowedHosts;

/// A model API that agents call, and the first part of its path below the agent's base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentApi {
    /// Messages.
    Anthropic,
    /// Chat Completions and Responses.
    Openai,
    /// `generateContent` and `streamGenerateContent`.
    Gemini,
}

impl AgentApi {
    pub const ALL: [AgentApi; 3] = [AgentApi::Anthropic, AgentApi::Openai, AgentApi::Gemini];

    /// The word in recordings and messages.
    pub fn name(self) -> &'static str {
        match self {
            AgentApi::Anthropic => "anthropic",
            AgentApi::Openai => "openai",
            AgentApi::Gemini => "gemini",
        }
    }

    /// What an agent's base URL has behind host and port: where the agent's own library puts its
    /// paths. Anthropic's library adds `/v1/messages`, OpenAI's `/chat/completions`, Google's
    /// `/v1beta/models/...`.
    pub fn base_path(self) -> &'static str {
        match self {
            AgentApi::Anthropic => "/anthropic",
            AgentApi::Openai => "/openai/v1",
            AgentApi::Gemini => "/gemini",
        }
    }

    /// The part of the agent's path that [`ApiUpstream::base_url`] replaces.
    pub(crate) fn replaced_path(self) -> &'static str {
        match self {
            AgentApi::Anthropic => "/anthropic/v1",
            AgentApi::Openai => "/openai/v1",
            AgentApi::Gemini => "/gemini",
        }
    }

    /// Where the API's own public server is.
    pub fn default_base_url(self) -> &'static str {
        match self {
            AgentApi::Anthropic => "https://api.anthropic.com/v1",
            AgentApi::Openai => "https://api.openai.com/v1",
            AgentApi::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

/// The server behind one API.
#[derive(Debug, Clone)]
pub struct ApiUpstream {
    pub api: AgentApi,
    /// As `base_url` of a provider: it ends before `/messages`, `/chat/completions`, `/responses`;
    /// for Gemini before the version (`/v1beta`).
    pub base_url: String,
    /// `None` sends no key. An unset value is an error of the first call that needs it, which a
    /// replay never does.
    pub key: Option<KeyValue>,
    /// Sent with every call, over what the agent sends.
    pub headers: BTreeMap<String, String>,
    /// Certificates of further authorities, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Takes any certificate.
    pub insecure: bool,
}

impl ApiUpstream {
    /// The API's own public server, without a key.
    pub fn new(api: AgentApi) -> ApiUpstream {
        ApiUpstream {
            api,
            base_url: api.default_base_url().to_owned(),
            key: None,
            headers: BTreeMap::new(),
            ca_file: None,
            insecure: false,
        }
    }
}

/// What all sessions of a run share.
#[derive(Debug, Clone, Default)]
pub struct ProxySettings {
    /// At most one of each API; an API without one is refused.
    pub upstreams: Vec<ApiUpstream>,
    /// By the model's name in requests, or else the name in answers (often with a date).
    pub prices: BTreeMap<String, TokenPrice>,
    /// Secrets of the run that must not get into recordings, reports and errors. The keys and the
    /// tokens of sessions are redacted in any case.
    pub redactor: Redactor,
}

/// What ends a sample. `None` is no limit.
///
/// A limit is checked before each call and whenever an answer reports tokens, so it is exceeded by
/// at most what the calls under way take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProxyLimits {
    /// Answers of a model; the call after that many ends the sample. Failed calls, lists of models
    /// and counts of tokens are not turns.
    pub turns: Option<u64>,
    /// Input and output together, cached input included. Answers without usage are estimated here.
    pub tokens: Option<u64>,
    /// Dollars. With this limit a call of a model without a price is refused.
    pub cost_usd: Option<f64>,
}

/// Where exchanges are recorded or read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RecordingPlan {
    #[default]
    Off,
    /// Writes a recording; a name that ends in `.gz` compresses it. The file appears, or is replaced,
    /// when the session finishes. Folders above it are created.
    Write(PathBuf),
    /// Answers from a recording, without keys and network: `CONNECT` and other hosts are refused.
    Read(PathBuf),
}

/// What one attempt at a sample sets.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// What the agent has for a key. At least 16 characters, see [`crate::new_token`]; a prefix that
    /// an agent demands may be put before it.
    pub token: String,
    pub limits: ProxyLimits,
    pub hosts: AllowedHosts,
    /// Lets the provider execute its own tools (searches, servers of MCP) and fetch addresses. Else
    /// such tools are taken out of requests, and requests for their sake are refused: they reach any
    /// host, and their fees are not counted.
    pub provider_tools: bool,
    pub recording: RecordingPlan,
    /// The agent's name (`claude-code`, `codex`, ...): selects which fields vary between runs.
    pub agent: String,
    /// What the exchanges depend on, exactly: a digest of the prompt, the agent's version, its
    /// arguments and the model. A recording with another one answers nothing, since dates and numbers
    /// of a prompt are among what requests are compared without. Empty is a value like any other.
    pub fingerprint: String,
    /// Folders as the agent sees them whose paths may differ between recording and replay, such as
    /// the workspace and the home, each with a name for it.
    pub folders: Vec<(String, String)>,
}

impl SessionSettings {
    /// No limits, no hosts, no recording.
    pub fn new(token: String) -> SessionSettings {
        SessionSettings {
            token,
            limits: ProxyLimits::default(),
            hosts: AllowedHosts::default(),
            provider_tools: false,
            recording: RecordingPlan::Off,
            agent: String::new(),
            fingerprint: String::new(),
            folders: Vec::new(),
        }
    }
}
