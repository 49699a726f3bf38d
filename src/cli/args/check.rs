//! The arguments of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FilterArgs, ModelArgs, ProgressMode, at_least_one, budget, key_value};
use crate::cli::completions::{NameKind, by};
use crate::model::RunBudget;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Human,
    Json,
    Markdown,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness check                       prove the default suite
  eval-harness check --suite evals/eval-suite.yaml --eval 'cap-code-*'
  eval-harness check --oracle right.jsonl  with right answers from a file in the
                                           format of recorded outputs
  eval-harness check --judges --budget usd=1
                                           ask the judges, too
  eval-harness check --format json > check.json
  eval-harness run --checked               run only what a check has proved

Exit codes:
  0    every reference passes; every null answer and every cheat fails, except those
       that are excused by name; there may be notes
  1    a reference fails, a null answer or a cheat passes, or a test proves nothing
  2    the command line, a definition or a setting is wrong; nothing ran
  3    something could not be found out, or no case has a reference")]
pub struct CheckArgs {
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// Right answers in the format of recorded outputs. They replace the `solution` of the cases
    /// that they name; the first sample of a case counts.
    #[arg(long, value_name = "FILE")]
    pub oracle: Option<PathBuf>,
    /// Call each model judge with the reference, an empty answer and five injections. Judges cost
    /// money; without this option, cases that a model judges are left out.
    #[arg(long)]
    pub judges: bool,
    /// A case without a reference is a finding.
    #[arg(long)]
    pub require_references: bool,
    /// Spending limit for judges, such as `usd=2.5` or `usd=2.5,tokens=1000000`, instead of the
    /// suite's `budget`.
    #[arg(long, value_name = "LIMITS", value_parser = budget::budget)]
    pub budget: Option<RunBudget>,
    /// Number of probes to run at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Run programs without isolation if none is available.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// The results folder, in which the stamp for `run --checked` is written.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub filters: FilterArgs,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub format: CheckFormat,
    /// Progress output on stderr.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    /// Show every probe and every finding.
    #[arg(long, short)]
    pub verbose: bool,
}
