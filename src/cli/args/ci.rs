//! Where results are shown apart from the terminal, and the arguments of `ci`.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;
use crate::spec::CiMode;

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
// Refused by `ci`, each with a hint.
#[command(mut_arg("watch", |arg| arg.hide(true)), mut_arg("resume", |arg| arg.hide(true)))]
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
