//! `target:` blocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent::AgentSpec;
use super::prices::PriceSpec;
use super::providers::RequestSpec;
use super::words::{OnError, OutputFormat, TargetIsolation, ThoughtsMode};
use super::{OneOrMany, tagged};

/// The system under test.
#[allow(clippy::large_enum_variant, reason = "a suite has a handful")]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TargetSpec {
    /// Outputs recorded earlier, as JSON lines.
    Recorded(RecordedSpec),
    /// A program that reads the prompt on stdin and answers on stdout.
    Command(CommandSpec),
    /// Answers with the prompt itself, to try graders.
    Echo(EchoSpec),
    /// A model behind an API.
    Model(ModelSpec),
    /// An HTTP service, for `api_call` inputs.
    Http(HttpSpec),
    /// A skill of a coding agent.
    Skill(SkillSpec),
    /// A coding agent, which works in the workspace of each sample.
    Agent(AgentSpec),
}

tagged!(TargetSpec by "type" {
    Recorded = "recorded", Command = "command", Echo = "echo", Model = "model", Http = "http", Skill = "skill", Agent = "agent",
});

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpec {
    /// A file of JSON lines, relative to this file.
    pub path: String,
    /// `separate` removes the reasoning at the beginning of a text from the output. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Program and arguments; each is a template. `{{ input_file }}` is the path of an `input.json`
    /// with the whole input.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Time limit in seconds for one call.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Environment variables to pass to the program, in addition to PATH.
    #[serde(default)]
    pub env: Vec<String>,
    /// Meaning of a non-zero exit code.
    #[serde(default)]
    pub on_error: OnError,
    /// Format of stdout.
    #[serde(default)]
    pub output: OutputFormat,
    /// `true` runs the program in the sandbox: it sees this file's folder read-only, a private
    /// `/tmp`, and no network. Default false.
    #[serde(default)]
    pub sandbox: bool,
    /// Where the program runs if the case has a workspace: `sandbox` (in it, in the sandbox),
    /// `workspace` (in it, with your rights) or `none` (in the suite's folder). Default `sandbox`.
    /// It has no effect on cases without a workspace.
    pub isolation: Option<TargetIsolation>,
    /// `separate` removes the reasoning at the beginning of stdout from the output. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
    /// Files that the program reads, as paths, folders or globs relative to this file. If one
    /// changes, `run --changed` calls the target again. Default: the files that the command names.
    pub depends_on: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoSpec {}

/// A model behind an API. As an eval's `execution` it may omit `model`; it is then the suite's
/// model target with these settings on top.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::key_source()))]
pub struct ModelSpec {
    /// `PROVIDER:MODEL`, such as `openai:gpt-4o-mini`. The provider is one of the suite's
    /// `providers:`, `openai` or `anthropic`. It may be omitted if the name begins with `claude-`,
    /// `gpt-`, `chatgpt-` or `o1`, and with a `base_url`, which is then called as OpenAI's API.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Base URL, instead of the provider's, without the API's own path (`/chat/completions`,
    /// `/messages`).
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
    /// The system prompt.
    pub system: Option<String>,
    /// Sampling temperature.
    #[schemars(range(min = 0.0))]
    pub temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Maximum number of tokens of one answer. A truncated answer is graded unchanged.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Texts at which the model stops.
    #[serde(default)]
    pub stop: OneOrMany<String>,
    /// Sampling seed, for APIs that support one.
    pub seed: Option<i64>,
    /// A JSON Schema that the answer must match, for APIs that support one.
    pub json_schema: Option<Map<String, Value>>,
    /// Training cut-off of the model, which reports of benchmarks show. If it is a date
    /// (`2024-09-01`) or a month (`2024-09`), they also show the pass@1 of tasks before and after it.
    #[schemars(length(min = 1))]
    pub training_cutoff: Option<String>,
    /// Price of the model, instead of the one in `prices:`.
    pub price: Option<PriceSpec>,
    /// Additional fields of the request, sent unchanged.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// `false` hides the context of inputs from the model. Default true: the context is sent before
    /// the prompt, unless the prompt is a template that uses it.
    pub show_context: Option<bool>,
    /// `keep` leaves the reasoning at the beginning of an answer in the output. Default `separate`:
    /// it is shown next to the output, and not graded.
    pub thoughts: Option<ThoughtsMode>,
    /// Number of calls at once. Default: the provider's, otherwise `config.max_workers` if it is
    /// set, otherwise 32.
    #[schemars(range(min = 1, max = 100000))]
    pub max_concurrency: Option<usize>,
    /// Limit of requests per minute.
    #[schemars(range(min = 1))]
    pub requests_per_minute: Option<u64>,
    /// Limit of input and output tokens per minute.
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
    /// HTTP headers to send with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A PEM file of certificates to trust in addition to the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` accepts any certificate, so the identity of the server is not checked. Default false.
    pub insecure: Option<bool>,
    /// Maximum size of an answer in bytes; a larger one is an error. Default 16 MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_answer_bytes: Option<u64>,
    /// A folder of recorded exchanges, relative to this file, from which all answers are taken,
    /// without a key or network.
    pub replay: Option<String>,
    /// Requests to a custom JSON API and their answers, instead of OpenAI's format.
    pub request: Option<RequestSpec>,
}

impl ModelSpec {
    /// True when it has a setting for its key.
    pub fn sets_key(&self) -> bool {
        self.api_key_env.is_some() || self.api_key_file.is_some() || self.api_key_command.is_some()
    }
}

/// An HTTP service. As an eval's `execution` it may omit `base_url`; it is then the suite's HTTP
/// target with these settings on top.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// Base URL: `http://` or `https://`, a host, and a path to which endpoints are appended.
    pub base_url: Option<String>,
    /// The program of the service, which runs in the workspace of each sample, instead of
    /// `base_url`.
    pub serve: Option<ServeSpec>,
    /// HTTP headers to send with every request, unless the request has a header of that name; each
    /// value is a template.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Time limit in seconds for one call, including redirects and the whole answer.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Time limit in seconds for the connection. Default 10.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Number of further tries if the connection fails, or a request that may be repeated gets no
    /// answer. Default 2.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Maximum number of redirects to follow; with 0, a redirect is the answer. Default 10.
    #[schemars(range(max = 100))]
    pub redirects: Option<u32>,
    /// A PEM file of certificates to trust in addition to the system's, relative to this file.
    pub ca_file: Option<String>,
    /// `true` accepts any certificate, so the identity of the server is not checked. Default false.
    pub insecure: Option<bool>,
    /// Maximum size of an answer's body in bytes; a larger body fails with `output_limit`. Default
    /// 16 MiB.
    #[schemars(range(min = 1, max = 1073741824))]
    pub max_body_bytes: Option<u64>,
    /// HTTP method for inputs that are not API calls. Default POST.
    pub method: Option<String>,
    /// Endpoint for inputs that are not API calls; it may contain `{{ prompt }}`.
    pub endpoint: Option<String>,
    /// Request body for inputs that are not API calls. Its texts may contain `{{ prompt }}`,
    /// `{{ messages }}`, `{{ context }}` and `{{ input }}`; a text that consists of a single one
    /// becomes the value unchanged. Default `{{ input }}`.
    #[serde(
        default,
        deserialize_with = "super::grader::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub body: Option<Value>,
    /// Files of the service, as paths, folders or globs relative to this file. If one changes,
    /// `run --changed` calls the target again; without `depends_on`, it always does.
    pub depends_on: Option<Vec<String>>,
}

/// A program that is started in the workspace of a sample, is called once it listens on its port,
/// and is killed when it has answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServeSpec {
    /// Program and arguments. The port of 127.0.0.1 on which it must listen is `{{ port }}`, and the
    /// environment variable PORT.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Environment variables to pass to the program, in addition to PATH and PORT.
    #[serde(default)]
    pub env: Vec<String>,
    /// Where the program runs: `sandbox` (in the workspace, in the sandbox) or `workspace` (in the
    /// workspace, with your rights). Default `sandbox`.
    pub isolation: Option<TargetIsolation>,
    /// Time limit in seconds until the program listens. Default 30.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub ready_seconds: Option<f64>,
}

/// A skill of a coding agent. Defaults for an eval's `execution` are in the suite's `skill:`, or in
/// its target if that is a skill; parameters are merged, and the eval's override the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillSpec {
    /// Name of the skill, for the command.
    pub skill_name: Option<String>,
    /// The command line of the agent; each part is a template over `skill_name`, `parameters`,
    /// `input`, `prompt` and `input_file`.
    #[serde(default)]
    pub command: Vec<String>,
    /// Parameters of the skill, for the command.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Time limit in seconds for one call.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Environment variables to pass to the agent, in addition to PATH.
    #[serde(default)]
    pub env: Vec<String>,
    /// Meaning of a non-zero exit code.
    pub on_error: Option<OnError>,
    /// Format of stdout.
    pub output: Option<OutputFormat>,
    /// Where the agent runs if the case has a workspace: `sandbox` (in it, in the sandbox),
    /// `workspace` (in it, with your rights) or `none` (in the suite's folder). Default `sandbox`.
    /// It has no effect on cases without a workspace.
    pub isolation: Option<TargetIsolation>,
    /// `separate` removes the reasoning at the beginning of stdout from the output. Default `keep`.
    pub thoughts: Option<ThoughtsMode>,
    /// Files of the skill, as paths, folders or globs relative to this file. If one changes,
    /// `run --changed` calls the target again. Default: the files that the command names.
    pub depends_on: Option<Vec<String>>,
}
