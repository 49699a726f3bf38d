//! Where results are shown besides the terminal.

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiMode {
    /// GitHub, when `GITHUB_ACTIONS` is `true`.
    Auto,
    /// Annotations on stderr, the report in `$GITHUB_STEP_SUMMARY`, the decision in
    /// `$GITHUB_OUTPUT`.
    Github,
    /// Nowhere.
    None,
}

#[derive(Debug, Clone, Args)]
pub struct CiArgs {
    /// Where a CI server shows results.
    #[arg(long = "ci", value_enum, default_value_t = CiMode::Auto, value_name = "WHERE")]
    pub mode: CiMode,
}
