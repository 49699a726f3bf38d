//! Where results are shown apart from the terminal.

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiMode {
    /// `github` if `GITHUB_ACTIONS` is `true`, otherwise `none`.
    Auto,
    /// Annotations on stderr, the report in `$GITHUB_STEP_SUMMARY`, the decision in
    /// `$GITHUB_OUTPUT`.
    Github,
    /// No output for CI.
    None,
}

#[derive(Debug, Clone, Args)]
pub struct CiArgs {
    /// Output for a CI server.
    #[arg(long = "ci", value_enum, default_value_t = CiMode::Auto, value_name = "WHERE")]
    pub mode: CiMode,
}
