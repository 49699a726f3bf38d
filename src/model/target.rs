//! The systems under test that a plan can name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use eval_base::ordered::OrderedValue;
use eval_base::redact::{serialize_headers, serialize_url, without_secret_parameters};
use eval_models::{Endpoint, SamplingOptions};

use super::agent::AgentTarget;
use super::dependency::DependsOn;
use super::env_file::EnvFile;
use crate::spec::words::{OnError, OutputFormat, TargetIsolation};

/// What produces an output for a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Outputs that were recorded earlier, one JSON object a line. `path` is absolute.
    Recorded {
        path: PathBuf,
        /// The reasoning with which a text opens is no part of the output.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        separate_thoughts: bool,
    },
    Command(CommandTarget),
    /// The input's text is the output: for trying graders.
    Echo,
    /// A model behind an API.
    Model(Box<ModelTarget>),
    Http(Box<HttpTarget>),
    Skill(Box<SkillTarget>),
    Agent(Box<AgentTarget>),
}

impl Target {
    /// The word after `type:`.
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Recorded { .. } => "recorded",
            Target::Command(_) => "command",
            Target::Echo => "echo",
            Target::Model(_) => "model",
            Target::Http(_) => "http",
            Target::Skill(_) => "skill",
            Target::Agent(_) => "agent",
        }
    }

    /// The model that gives the answers, if one does: the target itself, or that of an agent.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Target::Model(model) => Some(&model.endpoint),
            Target::Agent(agent) => agent.endpoint.as_ref(),
            _ => None,
        }
    }
}

/// A model as a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTarget {
    pub endpoint: Endpoint,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default)]
    pub sampling: SamplingOptions,
    /// It is shown the context of inputs, before the prompt.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub show_context: bool,
    /// The reasoning with which an answer opens is part of the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_thoughts: bool,
    /// For reports: no part of what tells models apart.
    #[serde(skip)]
    pub training_cutoff: Option<String>,
}

/// A program that reads the prompt on stdin and answers on stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandTarget {
    /// Program and arguments. Suite variables are already in place; `{{ input_file }}` is filled
    /// for each call with the path of an `input.json` that holds the whole input.
    pub argv: Vec<String>,
    /// Where the program runs: the suite's folder. No part of what tells targets apart, which is
    /// the same on every machine.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Names of the environment variables that it sees besides PATH.
    pub env: Vec<String>,
    /// Of the suite: holds those that the process environment lacks.
    #[serde(skip)]
    pub env_file: EnvFile,
    /// Overrides the case's time limit.
    pub timeout: Option<Duration>,
    pub on_error: OnError,
    /// `json`: stdout must be one JSON value, which becomes the output.
    pub output: OutputFormat,
    /// It runs inside the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// Where it runs if the case has a workspace; `None` as `sandbox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<TargetIsolation>,
    /// The reasoning with which stdout opens is no part of the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub separate_thoughts: bool,
    #[serde(skip)]
    pub depends_on: Option<DependsOn>,
}

/// An HTTP service. Serialised it is what tells services apart: no secrets, no paths of one
/// machine, and nothing of how patiently it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpTarget {
    /// `http` or `https`, a host, and a path that endpoints lie below.
    #[serde(serialize_with = "serialize_url")]
    pub base_url: String,
    /// The program that is the service, in the workspace of a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<Box<CommandTarget>>,
    /// How long that program may take until it listens.
    #[serde(skip)]
    pub ready_within: Duration,
    /// Sent with every request, below the request's own.
    #[serde(serialize_with = "serialize_headers")]
    pub headers: BTreeMap<String, String>,
    /// How inputs that are no API calls are put to it; `None` when it only takes API calls.
    pub call: Option<HttpCall>,
    /// Overrides the case's time limit, which is for the whole call.
    pub timeout: Option<Duration>,
    /// Redirects that are followed; with 0 a redirect is the answer.
    pub redirects: u32,
    /// Takes any certificate.
    pub insecure: bool,
    /// Bytes of a body that are kept; a longer one is an output that is truncated.
    pub max_body_bytes: u64,
    #[serde(skip)]
    pub connect_timeout: Duration,
    /// Certificates of further authorities, in PEM. Absolute.
    #[serde(skip)]
    pub ca_file: Option<PathBuf>,
    /// Further tries of a call that did not get through.
    #[serde(skip)]
    pub retries: u32,
    #[serde(skip)]
    pub depends_on: Option<DependsOn>,
}

/// A request that is made of any input: texts in it may hold `{{ prompt }}`, `{{ messages }}`,
/// `{{ context }}` and `{{ input }}`, which are filled for each call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpCall {
    pub method: String,
    /// Serialised without the values of parameters that are secrets.
    #[serde(serialize_with = "without_parameters")]
    pub endpoint: String,
    /// Sent with its keys in the order in which they are written.
    pub body: Option<OrderedValue>,
}

/// A skill of a coding agent: a command line, filled with its name and parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillTarget {
    /// `None` when a suite only says how skills are run, and each eval names its own.
    pub skill_name: Option<String>,
    pub parameters: BTreeMap<String, Value>,
    /// Runs as any command. Words at the places `late` are templates still.
    pub command: CommandTarget,
    /// Places in `command.argv` of what is filled with the input when it runs, ascending.
    pub late: Vec<usize>,
}

/// An endpoint without the values of parameters that are secrets: another token is the same
/// target, and the same input.
pub fn without_parameters<S: Serializer>(endpoint: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_secret_parameters(endpoint))
}

fn yes() -> bool {
    true
}

fn is_true(shown: &bool) -> bool {
    *shown
}
