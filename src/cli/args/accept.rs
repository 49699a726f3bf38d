//! The arguments of `accept`.

use std::path::PathBuf;

use clap::Args;

use super::{OfSuiteArgs, at_least_one};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness accept cap-capital-001  the output of the latest run becomes
                                       `expected`
  eval-harness accept cap-words/wrong --sample 2
                                       of samples that disagree, the second
  eval-harness accept reg-users-001    a regression: its baseline, as `baseline
                                       accept` does
  eval-harness accept cap-capital-001 --dry-run
                                       show the difference; write nothing

The value is replaced where it is written: comments, quotes and line ends of the file stay. A \
template, an alias, a row of a dataset or several accepted values can't be replaced; the error \
shows the place. With CI=true, nothing is written.")]
pub struct AcceptCaseArgs {
    /// The case: its id, `EVAL/CASE`, or the id of an eval with one case.
    #[arg(value_name = "CASE", add = by(NameKind::Cases))]
    pub case: String,
    #[command(flatten)]
    pub from: FromRunArgs,
    /// Show the difference; write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Write without a prompt.
    #[arg(long, short, conflicts_with = "dry_run")]
    pub yes: bool,
}

/// The run whose output of a case is taken.
#[derive(Debug, Args)]
pub struct FromRunArgs {
    /// `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    /// The sample, counted from 1. Required if the samples of the case disagree.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub sample: Option<usize>,
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
}
