//! The arguments of `review`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::RunsPlaceArgs;
use crate::cli::completions::{NameKind, by};
use crate::review::ReviewQueue;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness review                       outputs of the latest run that wait
                                            for a review
  eval-harness review --as ana --blind
  eval-harness review --queue disagreements decide where reviewers differ
  eval-harness review --queue sample=100    a random sample, the same for every
                                            reviewer
  eval-harness review eval-20260304-101500 --beside eval-20260304-111500
  eval-harness review --cli                 in the terminal
  eval-harness review --serve 127.0.0.1:8470 --reviewer ana --reviewer ben
  eval-harness review --export page.html    for people without this program;
  eval-harness review --import FILE         what they decided

The page is served on 127.0.0.1. The printed address contains a token, without which nothing is \
shown. Ctrl-C ends the server.

Every decision is written to `reviews/<suite>/<reviewer>.jsonl` of the project at once; commit \
these files. `eval-harness regrade --people` then makes grades of them.")]
pub struct RunReviewArgs {
    /// The run whose outputs are reviewed: `latest`, a run id, or the path of a journal. Other runs
    /// of the same command are reviewed with it.
    #[arg(value_name = "RUN", default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    /// Another run, such as one of a different target, to review or to rank beside RUN.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub beside: Vec<String>,
    /// Your name. Default: git's `user.name`, else `$USER`.
    #[arg(long = "as", value_name = "NAME")]
    pub reviewer: Option<String>,
    /// What to review: `pending` (what lacks reviewers), `disagreements` (where reviewers or a judge
    /// differ), `uncertain` (where a judge is), `sample=N` (a random sample), `all`.
    #[arg(long, value_name = "QUEUE", default_value = "pending")]
    pub queue: ReviewQueue,
    /// Hide target, model, verdicts of judges and names of other reviewers, as
    /// `blind_evaluation: true` of a grader does.
    #[arg(long)]
    pub blind: bool,
    /// Share of the items that are shown twice, to measure how consistent you are.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub repeats: f64,
    /// Seed of the order of items and of the sides of a comparison.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Review in the terminal.
    #[arg(long, group = "interface")]
    pub cli: bool,
    /// The port of the page. Default: any free port.
    #[arg(long, value_name = "N", conflicts_with = "interface")]
    pub port: Option<u16>,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
    /// Serve the page and its API to several reviewers, each with a token. An address of other
    /// machines requires a certificate.
    #[arg(long, value_name = "ADDR", group = "interface")]
    pub serve: Option<SocketAddr>,
    /// A reviewer of `--serve`. Default: you.
    #[arg(long = "reviewer", value_name = "NAME", requires = "serve")]
    pub reviewers: Vec<String>,
    /// The file that keeps the tokens of reviewers, as a JSON object. It is written if it does not
    /// exist. Without it each start makes new tokens.
    #[arg(long, value_name = "FILE", requires = "serve")]
    pub tokens: Option<PathBuf>,
    /// The certificate chain of `--serve`, as PEM.
    #[arg(long, value_name = "FILE", requires = "serve", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Write the items as one HTML file that works without this program and without a network. It
    /// saves decisions as a file.
    #[arg(
        long,
        value_name = "PAGE",
        group = "interface",
        conflicts_with = "repeats"
    )]
    pub export: Option<PathBuf>,
    /// Record the decisions of files that a page saved.
    #[arg(long, value_name = "FILE", group = "interface", conflicts_with_all = ["queue", "reviewer", "repeats"])]
    pub import: Vec<PathBuf>,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=0.5).contains(&share) => Ok(share),
        _ => Err("must be a number from 0 to 0.5".to_owned()),
    }
}
