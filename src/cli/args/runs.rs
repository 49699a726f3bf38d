//! The arguments of `runs`.

use std::path::PathBuf;

use clap::Args;

use super::{ListFormat, at_least_one};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness runs                        the last 20 runs, newest first
  eval-harness runs --all --format json")]
pub struct RunsArgs {
    /// Number of runs to list, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
    pub last: usize,
    /// List every run.
    #[arg(long, conflicts_with = "last")]
    pub all: bool,
    /// The suite whose results folder is searched.
    #[arg(long, value_name = "FILE", conflicts_with = "output_dir")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}
