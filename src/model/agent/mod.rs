//! Coding agents as targets.

mod programs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use eval_models::Endpoint;
pub use eval_proxy::AgentApi;
use serde::{Deserialize, Serialize};

use super::target::CommandTarget;
use crate::spec::words::AgentName;

pub use programs::{AgentLaunch, AgentPrompt, AgentStream, AgentValues};

/// A coding agent. Serialised it is what tells agents apart: no keys, no paths of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTarget {
    pub agent: AgentName,
    /// Of its program, as that prints it; `None` where it was not asked, or prints none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its model and the way to it, which only the proxy knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// What it calls; `None` if it has no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<AgentApi>,
    /// Its program with the first arguments, its variables, its time limit and where it runs.
    pub command: CommandTarget,
    /// The agent whose output it prints.
    pub stream: AgentName,
    /// Arguments after those that it always has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Files of its home folder, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub home: BTreeMap<String, AgentFile>,
    pub limits: AgentLimits,
    /// Hosts that it may connect to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Tools that the provider of the model executes are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider_tools: bool,
    /// The file that is started: its program, or the program that this is a link to.
    #[serde(skip)]
    pub program: PathBuf,
    /// Folders and files that its program consists of, besides what every sandbox shows.
    #[serde(skip)]
    pub readable: Vec<PathBuf>,
}

impl AgentTarget {
    /// The word after `agent:`; for `command` its program.
    pub fn name(&self) -> &str {
        let program = self.command.argv.first().map_or("", String::as_str);
        AgentLaunch::of(self.agent).map_or(program, |launch| launch.name)
    }
}

/// A file of an agent's home folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFile {
    Text(String),
    /// A copy of a file of the project.
    Copy {
        /// SHA-256 of its content.
        digest: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
        #[serde(skip)]
        path: PathBuf,
    },
}

/// Limits of the calls of one sample; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
