//! Requirements of a suite for the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Required isolation of the sandbox, and limits and files of the programs in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxSpec {
    /// Weakest accepted isolation. If the machine supports only weaker isolation, nothing runs
    /// (exit code 2), even with `--allow-unsandboxed`. Without this setting, `landlock` is required
    /// unless `--allow-unsandboxed` is given.
    pub minimum: Option<MinimumTier>,
    /// Weakest accepted trust level of verdicts on code: a test with a weaker one is errored and
    /// never passes. Default `in_process`.
    pub trust: Option<MinimumTrust>,
    /// The Python interpreter that runs code: a path relative to this file (such as that of a
    /// virtualenv), or a name in PATH. Default `python3`.
    pub python: Option<String>,
    /// Additional folders that programs may read, relative to this file; outside the project, only
    /// those in `allow_paths`.
    #[serde(default)]
    pub readable: Vec<String>,
    /// Memory limit in megabytes for each program, unless the grader sets it. Default 256.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Time limit in seconds for each program, unless the grader sets it. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Limit in megabytes for the return value of one call, unless the grader sets it. Default 16
    /// for `function_output`, 128 for tests.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
}

/// Isolation of programs, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MinimumTier {
    /// User namespaces.
    Userns,
    /// Namespaces created by root.
    Rootns,
    /// Landlock and seccomp on the real file system.
    Landlock,
    /// No isolation; it still requires `--allow-unsandboxed`.
    None,
}

impl MinimumTier {
    /// The value of `minimum:`.
    pub fn name(self) -> &'static str {
        match self {
            MinimumTier::Userns => "userns",
            MinimumTier::Rootns => "rootns",
            MinimumTier::Landlock => "landlock",
            MinimumTier::None => "none",
        }
    }
}

/// Trust levels of verdicts on code, the most reliable first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MinimumTrust {
    /// Results are compared in the harness.
    Harness,
    /// Tests run in a process that never loads the code.
    Split,
    /// Tests may share an interpreter with the code, which can then forge the verdict.
    InProcess,
}

impl MinimumTrust {
    /// The value of `trust:`.
    pub fn name(self) -> &'static str {
        match self {
            MinimumTrust::Harness => "harness",
            MinimumTrust::Split => "split",
            MinimumTrust::InProcess => "in_process",
        }
    }
}
