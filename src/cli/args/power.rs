//! The arguments of `power`.

use std::path::PathBuf;

use clap::Args;

use super::compare::share;
use super::{FilterArgs, ListFormat, key_value};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness power                the drop that comparing two runs of this
                                    suite can detect
  eval-harness power --effect 0.02  what detecting a drop of 2 points needs
  eval-harness power --run latest --samples 1 --samples 5
                                    with the spread that a run measured, at 1
                                    and 5 samples
  eval-harness power --rate 0.95 --eval 'cap-*' --format json

Nothing is run. A chance of 80 % means: of five comparisons in which the candidate is really that \
much worse, four report it. See docs/statistics.md for the method.")]
pub struct PowerArgs {
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The drop to detect, as a share: 0.05 is five points.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    pub effect: f64,
    /// The share of samples that is expected to pass, if no run is given. Default: 0.8.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "run")]
    pub rate: Option<f64>,
    /// Number of samples per case. Repeat it to compare several numbers. Default: the suite's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: Vec<u32>,
    /// The chance of detecting the drop.
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = likely)]
    pub power: f64,
    /// A run (`latest`, a run id, the path of a journal) used to measure how much cases, and
    /// samples of one case, differ.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub run: Option<String>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// The results folder in which `--run` is searched. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub filters: FilterArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

/// A chance of at least a half: a test that is right less often finds nothing.
fn likely(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(chance) if (0.5..1.0).contains(&chance) => Ok(chance),
        _ => Err("write a chance from 0.5 to below 1, such as 0.8".to_owned()),
    }
}
