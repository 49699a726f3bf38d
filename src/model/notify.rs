//! Who is told of a gate, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::spec::{NotifyFormat, NotifyOn};

/// A channel, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct NotifyChannel {
    /// For warnings.
    pub name: String,
    pub on: NotifyOn,
    pub way: NotifyMethod,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NotifyMethod {
    Webhook(Box<Webhook>),
    Command(NotifyCommand),
}

/// A text that nobody may see.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

/// A value, or the environment variable that would hold it and is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretValue {
    Value(SecretText),
    Unset(String),
}

/// A POST to an address.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    pub url: SecretValue,
    pub format: NotifyFormat,
    /// A template in place of what the format sends.
    pub body: Option<Value>,
    pub headers: Vec<(String, SecretValue)>,
    /// For one try.
    pub timeout: Duration,
    pub connect_timeout: Duration,
    /// Further tries.
    pub retries: u32,
    /// Absolute.
    pub ca_file: Option<PathBuf>,
}

/// A program that reads the message as JSON on stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyCommand {
    pub argv: Vec<String>,
    /// Absolute.
    pub dir: PathBuf,
    pub timeout: Duration,
}

/// The names that the body of a webhook may read.
pub const MESSAGE_NAMES: [&str; 10] = [
    "suite",
    "phase",
    "decision",
    "exit_code",
    "reasons",
    "failures",
    "more_failures",
    "metrics",
    "run_id",
    "report",
];
