//! `.eval-harness.yaml`: defaults of command-line arguments.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::ReportFormat;

/// Defaults of command-line arguments: presentation, the number of jobs, and paths, which are
/// relative to the file. An argument on the command line overrides its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefaultsFile {
    /// The suite: `--suite`.
    #[schemars(length(min = 1))]
    pub suite: Option<String>,
    /// The results folder: `--output-dir`.
    #[schemars(length(min = 1))]
    pub output_dir: Option<String>,
    /// Number of samples to run at once: `--jobs`.
    #[schemars(range(min = 1))]
    pub jobs: Option<usize>,
    /// Reports that `run` and `regrade` write: `--format`.
    #[serde(default)]
    pub format: Vec<ReportFormat>,
    /// Progress output on stderr: `--progress`.
    pub progress: Option<ProgressMode>,
    /// Use of colour: `--color`. The environment variable `NO_COLOR` overrides it.
    pub color: Option<ColorMode>,
    /// Output for a CI server: `--ci`.
    pub ci: Option<CiMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColorMode {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressMode {
    /// A bar on a terminal, otherwise plain lines.
    Auto,
    /// A bar with counts, rate, time left and the slowest samples.
    Bar,
    /// A line every few seconds, for logs.
    Plain,
    /// No progress output.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CiMode {
    /// `github` if `GITHUB_ACTIONS` is `true`, otherwise `none`.
    Auto,
    /// Annotations on stderr, the report in `$GITHUB_STEP_SUMMARY`, the decision in
    /// `$GITHUB_OUTPUT`.
    Github,
    /// No output for CI.
    None,
}
