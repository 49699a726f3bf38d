//! `notify:` of a suite: the channels that receive a message about a gate.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tagged;

/// A notification channel. Runs with `reporting.notify_on_failure: true` and phases with
/// `notification: true` use it. If sending fails, a warning is shown; the gate does not change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChannelSpec {
    /// A POST request to a URL, such as an incoming webhook of Slack.
    Webhook(WebhookSpec),
    /// A program that reads the message as JSON on stdin.
    Command(NotifyCommandSpec),
}

tagged!(ChannelSpec by "type" { Webhook = "webhook", Command = "command" });

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSpec {
    /// Its name in warnings. Default: its type and its position in the list.
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// The environment variable that contains the URL. Its value is never shown.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub url_env: Option<String>,
    /// The URL, if it is not a secret.
    pub url: Option<String>,
    /// Which results are sent. Default `failure`.
    #[serde(default)]
    pub on: NotifyOn,
    /// Format of the message, unless `body` is set, and escaping of texts.
    #[serde(default)]
    pub format: NotifyFormat,
    /// Message to send instead of the format's own. Its texts are templates over `suite`, `phase`,
    /// `decision`, `exit_code`, `reasons`, `failures`, `more_failures`, `metrics`, `run_id` and
    /// `report`; a text that consists of a single `{{ name }}` becomes the value unchanged.
    #[serde(
        default,
        deserialize_with = "super::grader::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub body: Option<Value>,
    /// Additional HTTP headers, sent unchanged.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Additional HTTP headers, each with the environment variable that contains its value.
    #[serde(default)]
    pub headers_env: BTreeMap<String, String>,
    /// Time limit in seconds for one try, from the connection to the answer. Default 10.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub timeout_seconds: Option<f64>,
    /// Time limit in seconds for the connection. Default 10.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Number of further tries if the connection fails or the answer is 429 or 5xx. Default 3.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// A PEM file of certificates to trust in addition to the system's, relative to this file.
    pub ca_file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyCommandSpec {
    /// Its name in warnings. Default: its type and its position in the list.
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// Program and arguments, run without a shell, in the suite's folder and with the environment
    /// of `eval-harness`.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Which results are sent. Default `failure`.
    #[serde(default)]
    pub on: NotifyOn,
    /// Time limit in seconds; then the command and all processes that it started are stopped.
    /// Default 30.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub timeout_seconds: Option<f64>,
}

/// Results that a channel receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyOn {
    /// All results except a pass.
    #[default]
    Failure,
    /// All results, also a pass.
    Always,
}

/// Format of a webhook's message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyFormat {
    /// `{"text": ...}` in Slack's markup, which Mattermost, Rocket.Chat and Discord (`/slack`) also
    /// accept.
    #[default]
    Slack,
    /// The fields of the message as JSON.
    Json,
}
