//! The arguments of `view`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness view         all runs of the default results folder
  eval-harness view latest  the latest run, live while it goes on
  eval-harness view --suite evals/other.yaml --port 8123
  eval-harness view --output-dir results --no-open

The pages are served on 127.0.0.1. The printed address contains a token, without which nothing is \
shown. Ctrl-C ends the server.
See docs/view.md.")]
pub struct ViewArgs {
    /// The run to open: `latest` or a run id. Default: the list of runs.
    #[arg(value_name = "RUN", add = by(NameKind::Runs))]
    pub run: Option<String>,
    /// The suite whose results folder is shown; at first only its runs are listed.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// The port. Default: any free port.
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
}
