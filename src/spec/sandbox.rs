//! What a suite demands of the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the sandbox must give, and what programs in it may use and see.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxSpec {
    /// The weakest isolation that is accepted: where a machine gives less, nothing runs (exit code
    /// 2), also with `--allow-unsandboxed`. Default `landlock`, with which `--allow-unsandboxed`
    /// may do without.
    pub minimum: Option<MinimumTier>,
    /// The weakest ground that a verdict over code may rest on: a test that needs a weaker one is
    /// errored and never passes. Default `in_process`.
    pub trust: Option<MinimumTrust>,
    /// The Python that runs code: a path relative to this file (of a virtualenv, say), or a name in
    /// PATH. Default `python3`.
    pub python: Option<String>,
    /// Further folders that programs may read, relative to this file; outside the project only what
    /// `allow_paths` names.
    #[serde(default)]
    pub readable: Vec<String>,
    /// Megabytes of memory for each program whose grader does not say. Default 256.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Seconds for each program whose grader does not say. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Megabytes that what one call returns may take, where the grader does not say. Default 16 for
    /// `function_output`, 128 for tests.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
}

/// Ways of isolating programs, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MinimumTier {
    /// User namespaces.
    Userns,
    /// Namespaces made by root.
    Rootns,
    /// Landlock and seccomp on the file system as it is.
    Landlock,
    /// No isolation; it still takes `--allow-unsandboxed`.
    None,
}

impl MinimumTier {
    /// The word after `minimum:`.
    pub fn name(self) -> &'static str {
        match self {
            MinimumTier::Userns => "userns",
            MinimumTier::Rootns => "rootns",
            MinimumTier::Landlock => "landlock",
            MinimumTier::None => "none",
        }
    }
}

/// What verdicts may rest on, the most reliable first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MinimumTrust {
    /// Results are compared in the harness.
    Harness,
    /// Tests run in a process that never loads the code.
    Split,
    /// Tests may share an interpreter with the code, which could forge the verdict.
    InProcess,
}

impl MinimumTrust {
    /// The word after `trust:`.
    pub fn name(self) -> &'static str {
        match self {
            MinimumTrust::Harness => "harness",
            MinimumTrust::Split => "split",
            MinimumTrust::InProcess => "in_process",
        }
    }
}
