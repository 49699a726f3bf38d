//! The arguments of `compare`, and those with which a run is compared.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::word;
use crate::cli::completions::{NameKind, by};
use crate::spec::words::{FailOn, Grouping};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Text for the terminal.
    Human,
    /// All data, with `verdict`; see schemas/comparison.schema.json.
    Json,
    /// A Markdown page.
    Markdown,
    /// An HTML page, in one file.
    Html,
    /// Markdown that fits into a pull request comment.
    Comment,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness compare previous                the latest run against the one
                                               before it
  eval-harness compare eval-20260304-101500 latest
  eval-harness compare main                    the latest run against the scores
                                               accepted on a branch
  eval-harness compare accepted --fail-on any  exit 1 if any case broke
  eval-harness compare base.journal.jsonl head.journal.jsonl --format markdown --output comparison.md
  eval-harness compare base.jsonl small.jsonl large.jsonl
                                               journals of any name: two
                                               candidates against one reference
  eval-harness compare shard-1.journal.jsonl+shard-2.journal.jsonl latest
  eval-harness compare previous --metric pass@1 --metric score --by category

A side is the first of these that fits: `latest`; `previous`, the run of the same suite and target \
before the candidate; the path of a journal or of a score baseline; a run id; several of these \
joined by `+`, the shards of one run; `accepted`, the accepted scores of the suite and target; a \
git revision, for the scores that were accepted there.

Exit codes:
  0    no difference that `--fail-on` selects
  1    a regression; with `--fail-on any`, a case that passed and now fails
  2    a side can't be found or read, or the sides can't be compared
  3    undecided: ungraded samples could change the result, or there is nothing
       to compare")]
pub struct CompareArgs {
    /// The reference.
    #[arg(value_name = "REFERENCE", add = by(NameKind::Sides))]
    pub reference: String,
    /// The candidates, each of which is compared with the reference. Default: `latest`.
    #[arg(value_name = "CANDIDATE", add = by(NameKind::Sides))]
    pub candidates: Vec<String>,
    /// A metric that decides the verdict, such as `pass@3` or `score`. Default: `pass@1`. With
    /// several metrics, each needs stronger evidence, so they cause no more false alarms than one.
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Grouping that also decides the verdict: type, category, tag, eval or difficulty. Without it,
    /// groups are shown but do not affect the verdict.
    #[arg(long, value_name = "WHAT", value_parser = word::<Grouping>)]
    pub by: Vec<Grouping>,
    /// The drop to detect, as a share: 0.02 is two points. The page shows how many cases and
    /// samples it needs.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub effect: Option<f64>,
    /// Difference that sets exit code 1: significant (a regression beyond what chance explains),
    /// any (a case that broke), critical (a broken case of a critical eval), never.
    #[arg(long, value_name = "WHAT", default_value = "significant", value_parser = word::<FailOn>)]
    pub fail_on: FailOn,
    /// Also compare cases whose data or grading changed. They are now different tasks; the page
    /// shows their number.
    #[arg(long)]
    pub allow_changed: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CompareFormat::Human)]
    pub format: CompareFormat,
    /// The file to write, instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show every case and group.
    #[arg(long, short)]
    pub verbose: bool,
    /// The suite whose results and accepted scores are used. Default: `evals/eval-suite.yaml` or
    /// `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The target whose accepted scores are used. Default: the candidate's.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Number of resamples for intervals and tests.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = resamples)]
    pub resamples: usize,
    /// Seed of the resampling; the same seed gives the same figures. Default: the seed that the
    /// candidate's run recorded.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The reference of a run.
#[derive(Debug, Clone, Default, Args)]
pub struct ComparedArgs {
    /// Compare the run with the accepted scores of this suite and target, or with those in a file.
    /// Without `--fail-on`, the comparison does not affect the gate.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "compare_to")]
    pub baseline: Option<Option<PathBuf>>,
    /// Compare the run case by case with an earlier one, and fail the gate on a regression:
    /// `previous`, a run id, the path of a journal, or any other side that `compare` takes.
    #[arg(long, value_name = "SIDE", add = by(NameKind::Sides))]
    pub compare_to: Option<String>,
    /// Difference from the reference that fails the gate: significant, any, critical or never.
    /// Default with `--compare-to`: significant.
    #[arg(long, value_name = "WHAT", value_parser = word::<FailOn>)]
    pub fail_on: Option<FailOn>,
    /// With `--compare-to` or `--baseline`: also compare cases whose data or grading changed.
    #[arg(long)]
    pub allow_changed: bool,
}

impl ComparedArgs {
    /// True when they name something to compare with.
    pub fn name_a_side(&self) -> bool {
        self.baseline.is_some() || self.compare_to.is_some()
    }
}

/// A share above 0 and below 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("write a share above 0 and below 1, such as 0.05".to_owned()),
    }
}

fn resamples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1_000..=1_000_000) => Ok(n),
        _ => Err("write a whole number from 1000 to 1000000".to_owned()),
    }
}
