//! The arguments of `regrade`.

use clap::Args;

use super::{ModelArgs, SessionArgs, SuiteArgs, budget};
use crate::cli::completions::{NameKind, by};
use crate::model::RunBudget;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness regrade                      grade the latest run again with the
                                            current suite
  eval-harness regrade --run eval-20260304-101500 --threshold pass@1=0.9
  eval-harness regrade --grader-type model  use judges for outputs that code has
                                            graded
  eval-harness regrade --people             count reviews written since
  eval-harness regrade --budget usd=1 --cache refresh

The suite is loaded with the arguments of the run, except `--events`, `--progress`, `--quiet` and \
`--verbose`; arguments given now override them. `--cache` and `--record` also override a \
`--replay` of the run. The result is a separate run, without the costs of the graded run.")]
#[command(args_override_self = true)]
pub struct RegradeArgs {
    /// The run whose outputs are graded: `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    /// Only renew the grades by people from the reviews, where the grading of a case did not change:
    /// nothing runs, and no judge is called.
    #[arg(long)]
    pub people: bool,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Spending limit for judges, such as `usd=2.5` or `usd=2.5,tokens=1000000`, instead of the
    /// suite's `budget`. Samples that can't be judged within it are skipped.
    #[arg(long, value_name = "LIMITS", value_parser = budget::budget)]
    pub budget: Option<RunBudget>,
    #[command(flatten)]
    pub models: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}
