//! `target: {type: agent, ...}`: coding agents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prices::PriceSpec;
use super::words::{AgentName, TargetIsolation};
use super::workspace::WorkspaceFileSpec;

/// A coding agent. It works in the workspace of each sample, with a home folder that only the sample
/// has, and calls its model through a proxy. It sees no environment variables except PATH, LANG,
/// TERM, HOME and those of `env`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::key_source()))]
pub struct AgentSpec {
    /// Which agent, or `command` for the program of `command`.
    pub agent: AgentName,
    /// `PROVIDER:MODEL`, such as `anthropic:claude-sonnet-4-5`, as in a target of type `model`. The
    /// provider may be omitted if the agent calls one API only. An agent of type `command` may
    /// have no model.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Program and arguments of `agent: command`, which reads the prompt on stdin; for other agents
    /// the program to run instead of the usual one.
    #[serde(default)]
    pub command: Vec<String>,
    /// The agent whose output the program of `agent: command` prints, such as `claude-code` for its
    /// `stream-json`. Default: text.
    pub stream: Option<AgentName>,
    /// More arguments of the agent.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to pass to the agent.
    #[serde(default)]
    pub env: Vec<String>,
    /// The home folder of the agent, which is otherwise empty.
    pub home: Option<AgentHomeSpec>,
    /// Limits of one sample.
    pub limits: Option<AgentLimitsSpec>,
    /// Network access besides that to the model. Default: none.
    pub network: Option<AgentNetworkSpec>,
    /// Whether the model may use tools that its provider executes, such as a web search. They reach
    /// hosts that the agent cannot, and their fees are not part of the cost. Default false.
    #[serde(default)]
    pub provider_tools: bool,
    /// Where the agent runs: `sandbox` (in the workspace, in the sandbox) or `workspace` (in the
    /// workspace, with your rights and the network of this machine). Default `sandbox`.
    pub isolation: Option<TargetIsolation>,
    /// Base URL of the model's API, instead of the provider's, without the API's own path
    /// (`/chat/completions`, `/messages`). The agent does not see it.
    pub base_url: Option<String>,
    /// The environment variable that contains the API key. The agent does not see the key. Without
    /// it, no key is sent to a custom `base_url`.
    pub api_key_env: Option<String>,
    /// A file that contains the API key, instead of `api_key_env`. Relative to this file.
    #[schemars(length(min = 1))]
    pub api_key_file: Option<String>,
    /// A command whose standard output is the API key, instead of `api_key_env`: program and
    /// arguments, run without a shell in the suite's folder, at most once a run.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// HTTP headers to send with every call of the model.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A PEM file of certificates to trust in addition to the system's, relative to this file.
    pub ca_file: Option<String>,
    /// Price of the model, instead of the one in `prices:`.
    pub price: Option<PriceSpec>,
    /// A folder of recorded exchanges, relative to this file, from which all answers of the model
    /// are taken, without a key or network.
    pub replay: Option<String>,
    /// Files that the agent reads, as paths, folders or globs relative to this file. If one changes,
    /// `run --changed` calls the target again; without `depends_on`, it always does.
    pub depends_on: Option<Vec<String>>,
}

/// Files of an agent's home folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentHomeSpec {
    /// By their path in the home folder: a text, or a file or folder to copy.
    #[serde(default)]
    pub files: BTreeMap<String, WorkspaceFileSpec>,
}

/// Limits of an agent. A sample that exceeds one fails, with the cause `timeout` for its time and
/// `limit` for the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentLimitsSpec {
    /// Wall time in seconds. Default: the eval's time limit.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub wall_seconds: Option<f64>,
    /// Number of calls that the model answers.
    #[schemars(range(min = 1))]
    pub turns: Option<u64>,
    /// Input and output tokens together.
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// Dollars, for a model with a price.
    #[schemars(range(min = 0.0))]
    pub cost_usd: Option<f64>,
}

/// Network access of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentNetworkSpec {
    /// Hosts that it may connect to through the proxy, such as `pypi.org` or `*.npmjs.org:443`.
    #[serde(default)]
    pub allow: Vec<String>,
}
