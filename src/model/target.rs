//! The systems under test that a plan can name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::words::{OnError, OutputFormat};

/// What produces an output for a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Outputs that were recorded earlier, one JSON object a line. `path` is absolute.
    Recorded {
        path: PathBuf,
    },
    Command(CommandTarget),
    /// The input's text is the output: for trying graders.
    Echo,
    /// The kinds below load and validate; running them needs the module that talks to them.
    Model {
        model: String,
        config: Value,
    },
    Http {
        base_url: String,
        config: Value,
    },
    Skill {
        skill: Option<String>,
        command: Vec<String>,
        parameters: BTreeMap<String, Value>,
        config: Value,
    },
}

impl Target {
    /// The word after `type:`.
    pub fn kind(&self) -> &'static str {
        match self {
            Target::Recorded { .. } => "recorded",
            Target::Command(_) => "command",
            Target::Echo => "echo",
            Target::Model { .. } => "model",
            Target::Http { .. } => "http",
            Target::Skill { .. } => "skill",
        }
    }
}

/// A program that reads the prompt on stdin and answers on stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandTarget {
    /// Program and arguments. Suite variables are already in place; `{{ input_file }}` is filled for each call with the path of
    /// an `input.json` that holds the whole input.
    pub argv: Vec<String>,
    /// Where the program runs: the suite's folder. No part of what tells targets apart, which is the same on every machine.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Names of the environment variables that it sees besides PATH.
    pub env: Vec<String>,
    /// Overrides the case's time limit.
    pub timeout: Option<Duration>,
    pub on_error: OnError,
    /// `json`: stdout must be one JSON value, which becomes the output.
    pub output: OutputFormat,
    /// It runs inside the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
}
