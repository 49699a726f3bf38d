//! The arguments of `history`.

use std::path::PathBuf;

use clap::Args;

use super::{ListFormat, at_least_one};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness history                       the runs of the default suite
  eval-harness history --eval reg-users-001  one eval, run by run
  eval-harness history --eval 'reg-*' --last 50
  eval-harness history --since 2026-03-01 --target staging
  eval-harness history --all-suites --format json

Runs that captured baselines are omitted. A regrade replaces the run that it graded again, and \
shards count as one run if all of them are present. See docs/history.md for the rules.")]
pub struct HistoryArgs {
    /// Eval ids; `*` and `?` are wildcards. A glob that matches a single eval shows each of its
    /// runs.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The results folder.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Show only the latest N runs of each suite and target.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub last: Option<usize>,
    /// Show only runs since this date, such as `2026-03-01`, or time, such as
    /// `2026-03-01T12:00:00Z`.
    #[arg(long, value_name = "DATE", value_parser = since)]
    pub since: Option<jiff::Timestamp>,
    /// Show only runs of this target.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// Show the runs of every suite, each suite separately.
    #[arg(long)]
    pub all_suites: bool,
    /// Show every eval, run and case.
    #[arg(long, short)]
    pub verbose: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

/// The beginning of a day in UTC, or a point in time.
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
        "write a date such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z".to_owned()
    })
}
