//! Where results are shown apart from the terminal, and the arguments of `ci`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::RunArgs;

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

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness ci  the default suite, compared with the base branch
  eval-harness ci --preset staging --comment comment.md
                   also write the comment to a file, for a later step to post
  eval-harness ci --against origin/main --fail-on any
                   name the base branch; fail if any case broke

The same as `run --compare-to BASE --format json,markdown,html,junit,comment,badge`, with the exit \
code of `run`. Only the scores are read from the base branch; baselines of regressions are those \
of the checkout. If the base branch has no accepted scores, the run is not compared with anything, \
and the gate alone decides. In CI, and with `--fail-on`, it is an error if no base branch is found \
for scores that were accepted.")]
pub struct CiRunArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Also write the comment to this file.
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Also write the badge (SVG) to this file.
    #[arg(long, value_name = "FILE")]
    pub badge: Option<PathBuf>,
}
