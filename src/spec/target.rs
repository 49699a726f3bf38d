//! `target:` blocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::prices::PriceSpec;
use super::providers::RequestSpec;
use super::words::{OnError, OutputFormat, ThoughtsMode};
use super::{OneOrMany, tagged};

/// The system under test.
#[allow(clippy::large_enum_variant, reason = "a suite has a handful")]
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
    /// `separate` takes off the reasoning with which a text opens. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Program and arguments, each a template; `{{ input_file }}` is the path of an `input.json`
    /// with the whole input.
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
    /// `true` runs it inside the sandbox: it sees this file's folder read-only, a private `/tmp`,
    /// and no network. Default false.
    #[serde(default)]
    pub sandbox: bool,
    /// `separate` takes off the reasoning with which stdout opens. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoSpec {}

/// A model behind an API. As an eval's `execution` it may leave `model` out, and is then the
/// suite's model target with what is written here on top.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// `PROVIDER:MODEL`, such as `openai:gpt-4o-mini`: a provider of the suite's `providers:`, or
    /// `openai`, `anthropic`. Names that begin with `claude-`, `gpt-`, `chatgpt-` or `o1` find
    /// theirs; with a `base_url` any name is asked as OpenAI's are.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// In place of the provider's. Ends where the provider's own path (`/chat/completions`,
    /// `/messages`) begins.
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Without it no key is sent to a custom
    /// `base_url`.
    pub api_key_env: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Of one answer. An answer that is cut there is graded as it is.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Texts at which the model stops.
    #[serde(default)]
    pub stop: OneOrMany<String>,
    /// For APIs that know one.
    pub seed: Option<i64>,
    /// A JSON Schema that the answer must fit, for APIs that take one.
    pub json_schema: Option<Map<String, Value>>,
    /// What it costs, in place of what `prices:` says.
    pub price: Option<PriceSpec>,
    /// Further fields of the request, sent as they are.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// `false` keeps the context of inputs from the model. Default true: it is shown before the
    /// prompt, unless the prompt was made of it.
    pub show_context: Option<bool>,
    /// `keep` leaves the reasoning with which an answer opens in it. Default `separate`: it is
    /// shown beside the output, and not graded.
    pub thoughts: Option<ThoughtsMode>,
    /// Calls in flight at once. Default: the provider's, else `config.max_workers` where that is
    /// written, else 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Input and output together.
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
    /// Sent with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A file of certificates in PEM that are trusted besides the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` takes any certificate, and with it anybody for the server. Default false.
    pub insecure: Option<bool>,
    /// Bytes of an answer that are read; a longer one is an error. Default 16 MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_answer_bytes: Option<u64>,
    /// A folder of recorded exchanges, relative to this file, which give all answers: no key and no
    /// network.
    pub replay: Option<String>,
    /// How a custom JSON API is called and read, in place of OpenAI's way.
    pub request: Option<RequestSpec>,
}

/// An HTTP service. As an eval's `execution` it may leave `base_url` out, and is then the suite's
/// HTTP target with what is written here on top.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// `http://` or `https://`, a host, and a path that endpoints are put below.
    pub base_url: Option<String>,
    /// Sent with every request, unless the request has its own of that name; each a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Seconds for one call, redirects and the whole answer included.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Seconds until there is a connection. Default 10.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Further tries of a call that did not get through. Default 2.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Redirects that are followed; with 0 a redirect is the answer. Default 10.
    #[schemars(range(max = 100))]
    pub redirects: Option<u32>,
    /// A file of certificates in PEM that are trusted besides the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` takes any certificate, and with it anybody for the server. Default false.
    pub insecure: Option<bool>,
    /// Bytes of an answer's body that are kept; a longer body fails with `output_limit`. Default 16
    /// MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_body_bytes: Option<u64>,
    /// Of requests made from inputs that are no API calls: the method. Default POST.
    pub method: Option<String>,
    /// Of requests made from inputs that are no API calls: where they go. May hold `{{ prompt }}`.
    pub endpoint: Option<String>,
    /// Of requests made from inputs that are no API calls: what is sent. Its texts may hold
    /// `{{ prompt }}`, `{{ messages }}`, `{{ context }}` and `{{ input }}`; one that is nothing
    /// else becomes the value itself. Default `{{ input }}`.
    #[serde(
        default,
        deserialize_with = "super::grader::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub body: Option<Value>,
}

/// A skill of a coding agent. What an eval's `execution` leaves out is taken from the suite's
/// `skill:`, or from its target when that is a skill; parameters are joined, the eval's own win.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillSpec {
    pub skill_name: Option<String>,
    /// The agent's command line, each part a template over `skill_name`, `parameters`, `input`,
    /// `prompt` and `input_file`.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Seconds for one call.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Environment variables that the agent sees besides PATH.
    #[serde(default)]
    pub env: Vec<String>,
    /// What a non-zero exit code means.
    pub on_error: Option<OnError>,
    /// How stdout is read.
    pub output: Option<OutputFormat>,
    /// `separate` takes off the reasoning with which stdout opens. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
}
