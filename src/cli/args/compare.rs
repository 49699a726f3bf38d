//! The arguments of `compare`, and those with which a run is compared.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::word;
use crate::cli::completions::{NameKind, by};
use crate::spec::words::{FailOn, Grouping};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people.
    Human,
    /// Everything, with `verdict`; schemas/comparison.schema.json describes it.
    Json,
    /// A page.
    Markdown,
    /// A page for a browser, in one file.
    Html,
    /// Markdown that fits into a comment on a pull request.
    Comment,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness compare previous                          the latest run against the one before it
  eval-harness compare eval-20260304-101500 latest
  eval-harness compare main                              the latest run against the scores accepted on a branch
  eval-harness compare accepted --fail-on any            exit 1 when any case broke
  eval-harness compare base.journal.jsonl head.journal.jsonl --format markdown --output comparison.md
  eval-harness compare base.jsonl small.jsonl large.jsonl
                                                         journals of any name: two candidates against one reference
  eval-harness compare shard-1.journal.jsonl+shard-2.journal.jsonl latest
  eval-harness compare previous --metric pass@1 --metric score --by category

A side is, whichever fits first: `latest`; `previous`, the run before the candidate of the same suite and target; the path of a
journal or of a score baseline; a run id; several of these joined by `+`, shards of one suite; `accepted`, the accepted scores of
suite and target; a git revision, for the scores that were accepted there.

Exit codes:
  0    nothing that `--fail-on` asks about
  1    a regression; with `--fail-on any` a case that passed and fails now
  2    a side can't be found or read, or the sides can't be compared
  3    undecided: samples without a grade leave it open, or there is nothing to compare")]
pub struct CompareArgs {
    /// What is held to be the standard.
    #[arg(value_name = "REFERENCE", add = by(NameKind::Sides))]
    pub reference: String,
    /// What is compared with it; each of several with the same reference. Default: `latest`.
    #[arg(value_name = "CANDIDATE", add = by(NameKind::Sides))]
    pub candidates: Vec<String>,
    /// A metric that the verdict rests on, such as `pass@3` or `score`. Default: `pass_at_1`. With
    /// several each needs stronger evidence, so that all of them together raise no more false
    /// alarms than one.
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// type, category, tag, eval or difficulty: the verdict rests on these groups, too. Without it
    /// groups are shown and decide nothing.
    #[arg(long, value_name = "WHAT", value_parser = word::<Grouping>)]
    pub by: Vec<Grouping>,
    /// The drop that you want to find, as a share: 0.02 is two points. The page tells how many
    /// cases and samples that takes.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub effect: Option<f64>,
    /// Which difference is exit code 1: significant (a regression beyond what chance explains), any
    /// (one case that broke), critical (one of a critical eval), never.
    #[arg(long, value_name = "WHAT", default_value = "significant", value_parser = word::<FailOn>)]
    pub fail_on: FailOn,
    /// Compare cases whose data or grading changed, too. They are other tasks than they were; the
    /// page says how many there are.
    #[arg(long)]
    pub allow_changed: bool,
    #[arg(long, value_enum, default_value_t = CompareFormat::Human)]
    pub format: CompareFormat,
    /// The file to write, in place of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Every case and group.
    #[arg(long, short)]
    pub verbose: bool,
    /// The suite whose results and accepted scores are meant. Default: `evals/eval-suite.yaml` or
    /// `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The target whose accepted scores are meant. Default: the candidate's.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// How often samples are drawn anew from the cases, for intervals and tests.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = resamples)]
    pub resamples: usize,
    /// Seed of what is drawn: the same gives the same figures.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// What a run is compared with.
#[derive(Debug, Clone, Default, Args)]
pub struct ComparedArgs {
    /// Compare the run with the accepted scores of this suite and target, or with those in a file.
    /// Without `--fail-on` it informs: the gate does not look at it.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "compare_to")]
    pub baseline: Option<Option<PathBuf>>,
    /// Compare the run with an earlier one, case by case, and let a regression fail the gate:
    /// `previous`, a run id, a journal's path, or whatever else `compare` takes.
    #[arg(long, value_name = "SIDE", add = by(NameKind::Sides))]
    pub compare_to: Option<String>,
    /// significant, any, critical or never: which difference to what the run is compared with fails
    /// the gate. Default with `--compare-to`: significant.
    #[arg(long, value_name = "WHAT", value_parser = word::<FailOn>)]
    pub fail_on: Option<FailOn>,
    /// With `--compare-to` or `--baseline`: compare cases whose data or grading changed, too.
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
