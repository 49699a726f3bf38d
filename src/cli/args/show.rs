//! The arguments of `show`.

use clap::Args;

use super::{ListFormat, RunsPlaceArgs, at_least_one};
use crate::cli::completions::{NameKind, by};
use crate::model::{CaseResult, Outcome};

/// Filters by outcome, each an alternative to the others.
#[derive(Debug, Clone, Default, Args)]
pub struct OutcomeArgs {
    /// Only cases that failed.
    #[arg(long)]
    pub failed: bool,
    /// Only cases that errored.
    #[arg(long)]
    pub errored: bool,
    /// Only cases whose samples or attempts disagree.
    #[arg(long)]
    pub flaky: bool,
}

impl OutcomeArgs {
    pub fn is_empty(&self) -> bool {
        !(self.failed || self.errored || self.flaky)
    }

    /// False for every case when no filter is given.
    pub fn fit(&self, case: &CaseResult) -> bool {
        self.failed && case.outcome == Outcome::Failed
            || self.errored && case.outcome == Outcome::Errored
            || self.flaky && (case.flaky || (1..case.first_graded).contains(&case.first_passes))
    }

    /// `no case of run RUN failed`; `other` is `other ` where not all of them are known.
    pub fn none_of(&self, other: &str, run: &str) -> String {
        let which = match (self.failed, self.errored, self.flaky) {
            (true, false, false) => "failed",
            (false, true, false) => "errored",
            (false, false, true) => "is flaky",
            _ => "has such an outcome",
        };
        format!("no {other}case of run {run} {which}")
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness show               cases of the latest run that did not pass
  eval-harness show cap-auth-001  one eval, case by case
  eval-harness show 'HumanEval/1*' --sample 2
  eval-harness show --flaky --run eval-20260304-101500
  eval-harness show 'cap-*' --failed --format json

A pattern selects cases whose eval id, case id or `eval/case` it matches. With a pattern, cases \
that passed are shown as well, unless --failed, --errored or --flaky is given.")]
pub struct ShowArgs {
    /// Evals or cases; `*` and `?` are wildcards. Default: the cases that did not pass.
    #[arg(value_name = "CASE", add = by(NameKind::Cases))]
    pub cases: Vec<String>,
    /// `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    #[command(flatten)]
    pub outcomes: OutcomeArgs,
    /// Only this sample of each case, counted from 1.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub sample: Option<usize>,
    /// Also show the model's reasoning, votes of judges, measured numbers, time and tokens.
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
    /// Print everything at once, even if it is longer than the terminal.
    #[arg(long)]
    pub no_pager: bool,
}
