//! The arguments of `regrade`.

use clap::Args;

use super::{ModelArgs, SessionArgs, SuiteArgs, budget};
use crate::cli::completions::{NameKind, by};
use crate::model::RunBudget;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness regrade                               grade the latest run again with the suite as it is now
  eval-harness regrade --run eval-20260304-101500 --threshold pass@1=0.9
  eval-harness regrade --grader-type model           ask judges about outputs that code has graded
  eval-harness regrade --budget usd=1 --cache refresh

The suite is loaded with the arguments of the run, except `--events`, `--progress`, `--quiet` and `--verbose`, and those typed now
come on top: `--cache` and `--record` also end a `--replay` of the run. The result is a run of its own; what the other one spent is
not counted in it.")]
#[command(args_override_self = true)]
pub struct RegradeArgs {
    /// The run whose outputs are graded: `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// What may be spent on judges, such as `usd=2.5` or `usd=2.5,tokens=1000000`, in place of the
    /// suite's `budget`. What can't be judged then is skipped.
    #[arg(long, value_name = "LIMITS", value_parser = budget::budget)]
    pub budget: Option<RunBudget>,
    #[command(flatten)]
    pub models: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}
