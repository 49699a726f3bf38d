//! The arguments of `history`.

use std::path::PathBuf;

use clap::Args;

use super::{ListFormat, at_least_one};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness history                             the runs of the default suite
  eval-harness history --eval reg-users-001        one eval, run by run
  eval-harness history --eval 'reg-*' --last 50
  eval-harness history --since 2026-03-01 --target staging
  eval-harness history --all-suites --format json

Runs that were made to capture baselines are left out. A regrade takes the place of the run that it graded again, and shards
count as one run when all of them are there. docs/history.md tells how everything is counted.")]
pub struct HistoryArgs {
    /// Eval ids; `*` and `?` are wildcards. One that fits a single eval shows each of its runs.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// Where the results lie.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Only so many runs of each suite and target, the latest.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub last: Option<usize>,
    /// Only runs from then on: `2026-03-01`, or a time such as `2026-03-01T12:00:00Z`.
    #[arg(long, value_name = "DATE", value_parser = since)]
    pub since: Option<jiff::Timestamp>,
    /// Only runs against this target.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// The runs of every suite, each suite apart.
    #[arg(long)]
    pub all_suites: bool,
    /// Every eval, run and case.
    #[arg(long, short)]
    pub verbose: bool,
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

/// The beginning of a day in UTC, or a moment.
fn since(text: &str) -> Result<jiff::Timestamp, String> {
    let day = || {
        text.parse::<jiff::civil::Date>()
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
    };
    // A time is no day: a day's parser would take a time and drop its hours.
    let is_day = text.len() == 10;
    let moment = || text.parse::<jiff::Timestamp>().ok();
    let at = if is_day {
        day().map(|day| day.timestamp())
    } else {
        moment()
    };
    at.ok_or_else(|| {
        "write a day such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z".to_owned()
    })
}
