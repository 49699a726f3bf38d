//! `notify:` of a suite: who gets a message about a gate.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tagged;

/// A channel. It is used by runs with `reporting.notify_on_failure: true` and by phases with
/// `notification: true`. What goes wrong with it is a warning and changes no gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChannelSpec {
    /// A POST to an address, such as an incoming webhook of Slack.
    Webhook(WebhookSpec),
    /// A program that reads the message as JSON on stdin.
    Command(NotifyCommandSpec),
}

tagged!(ChannelSpec by "type" { Webhook = "webhook", Command = "command" });

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSpec {
    /// How warnings call it. Default: its type and its place in the list.
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// The environment variable that holds the address. What it holds is shown nowhere.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub url_env: Option<String>,
    /// The address, when it is no secret.
    pub url: Option<String>,
    /// When it is sent.
    #[serde(default)]
    pub on: NotifyOn,
    /// What is sent where `body` does not say, and how texts are escaped.
    #[serde(default)]
    pub format: NotifyFormat,
    /// What is sent in place of the format's own. Its texts are templates over `suite`, `phase`,
    /// `decision`, `exit_code`, `reasons`, `failures`, `more_failures`, `metrics`, `run_id` and
    /// `report`; one that is nothing but `{{ name }}` becomes the value itself.
    #[serde(
        default,
        deserialize_with = "super::grader::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub body: Option<Value>,
    /// Further headers, as they are.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Further headers, each with the environment variable that holds its value.
    #[serde(default)]
    pub headers_env: BTreeMap<String, String>,
    /// Seconds for one try, from the connection to the answer. Default 10.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub timeout_seconds: Option<f64>,
    /// Seconds until there is a connection. Default 10.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub connect_timeout_seconds: Option<f64>,
    /// Further tries when there is no connection, or the answer is 429 or 5xx. Default 3.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// A file of certificates in PEM that are trusted besides the system's, relative to this file.
    pub ca_file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyCommandSpec {
    /// How warnings call it. Default: its type and its place in the list.
    #[schemars(length(min = 1, max = 100))]
    pub name: Option<String>,
    /// Program and arguments; no shell reads them. It runs in the suite's folder with the
    /// environment of `eval-harness`.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// When it is sent.
    #[serde(default)]
    pub on: NotifyOn,
    /// Seconds that it may take; then it is ended with all that it started. Default 30.
    #[schemars(range(min = 0.001, max = 3600.0))]
    pub timeout_seconds: Option<f64>,
}

/// When a channel gets a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyOn {
    /// Of everything that is not a pass.
    #[default]
    Failure,
    /// Of passes, too.
    Always,
}

/// What a webhook is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotifyFormat {
    /// `{"text": ...}` in Slack's markup, which Mattermost, Rocket.Chat and Discord (`/slack`)
    /// read, too.
    #[default]
    Slack,
    /// The message's fields, as they are.
    Json,
}
