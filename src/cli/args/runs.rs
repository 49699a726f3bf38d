//! The arguments of `runs` and its verbs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::cache::{CacheAge, age};
use super::{ListFormat, at_least_one};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  eval-harness runs  the last 20 runs, newest first
  eval-harness runs --all --format json
  eval-harness runs rm eval-20260304-101500
  eval-harness runs prune --keep 20 --older-than 30d --dry-run"
)]
pub struct RunsArgs {
    #[command(subcommand)]
    pub verb: Option<RunsVerb>,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
    /// Number of runs to list, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one)]
    pub last: usize,
    /// List every run.
    #[arg(long, conflicts_with = "last")]
    pub all: bool,
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

/// Which results folder.
#[derive(Debug, Args)]
pub struct RunsPlaceArgs {
    /// The suite whose results folder is searched.
    #[arg(long, value_name = "FILE", conflicts_with = "output_dir")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum RunsVerb {
    /// Remove runs: journal, outputs and reports.
    Rm(RunsRmArgs),
    /// Remove old runs.
    Prune(RunsPruneArgs),
}

const KEPT: &str = "\
Never removed are the latest run, runs in progress, runs that a YAML or JSON file of the project \
names (such as accepted scores), runs that a remaining run graded again, and single shards of a \
run.";

#[derive(Debug, Args)]
#[command(after_help = KEPT)]
pub struct RunsRmArgs {
    /// Run ids, or paths of journals in the results folder.
    #[arg(required = true, value_name = "RUN", add = by(NameKind::Runs))]
    pub runs: Vec<String>,
    /// Only print what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
}

#[derive(Debug, Args)]
#[command(
    group(clap::ArgGroup::new("what").required(true).multiple(true).args(["keep", "older_than"])),
    after_help = KEPT
)]
pub struct RunsPruneArgs {
    /// Number of runs to keep, the newest ones; the shards of a run count as one.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub keep: Option<usize>,
    /// Remove only runs that began longer ago: `12h`, `30d`, `8w`. With `--keep`, both must hold.
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub older_than: Option<CacheAge>,
    /// Only print what would be removed.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
}
