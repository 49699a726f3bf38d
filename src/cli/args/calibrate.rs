//! The arguments of `calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::CheckFormat;
use super::compare::share;
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness calibrate --labels labels.csv  a file of verdicts and labels
  eval-harness calibrate --run latest         with what people rated in `review`
  eval-harness calibrate --run latest --labels labels.jsonl
                                              labels for the outputs of a run
  eval-harness calibrate --labels labels.csv --random --judge tone
                                              the labelled outputs were drawn at
                                              random; `tone` is a judge of the
                                              suite
  eval-harness calibrate --labels scores.csv --pass-from 4 --format markdown

Columns of a file (CSV with a header, or JSON lines): `case` and `label` (pass or fail, or a score); \
`verdict` (pass or fail) or `score` of the judge, unless --run has them; and, if there are any, `eval`, \
`sample`, `judge`, `reviewer`, `criterion`, `category`, `target`, `output` or `length`, `position`, \
`doubt`. Rows with an empty label are outputs that only the judge rated.

The calibration of a judge of the suite or of the run is written to judges/NAME.yaml: commit it. See \
docs/calibration.md.")]
pub struct CalibrateArgs {
    /// The file of labels.
    #[arg(long, value_name = "FILE", required_unless_present = "run")]
    pub labels: Option<PathBuf>,
    /// The run whose outputs are labelled: `latest`, a run id, or the path of a journal.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub run: Option<String>,
    /// Only this judge: the name of its grader, or the id of its eval. Labels of a file that names
    /// no judge belong to it.
    #[arg(long, value_name = "NAME")]
    pub judge: Option<String>,
    /// The labelled outputs were drawn at random from all of them. Otherwise labels correct the
    /// judge's pass rate only if every output has one, or if they follow the order that this
    /// command prints.
    #[arg(long)]
    pub random: bool,
    /// Scores from which an output passes, where labels or verdicts are scores.
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub pass_from: Option<f64>,
    /// The width of intervals for which the number of labels is computed, as a share.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub width: f64,
    /// Number of outputs to list for the next labels.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub next: usize,
    /// Seed of the bootstrap and of the labelling order. Default: 0, as for `review`.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write no calibration.
    #[arg(long)]
    pub dry_run: bool,
    /// The suite whose judges are calibrated. Default: `evals/eval-suite.yaml` or
    /// `eval-suite.yaml`, if there is one.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = CheckFormat::Human)]
    pub format: CheckFormat,
    /// Show every listed output.
    #[arg(long, short)]
    pub verbose: bool,
}
