//! The arguments of `baseline` and its verbs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{
    CiArgs, CiMode, ComparedArgs, FilterArgs, ListFormat, ModelArgs, ProgressMode, RunArgs,
    SessionArgs, SuiteArgs, at_least_one, key_value, positive_seconds,
};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline capture  call the targets of all regressions; write
                                 *.pending.yaml
  eval-harness baseline review   show what changed; accept or reject it
  eval-harness baseline list     all regressions, each with the state of its
                                 baseline

A capture does not change accepted baselines; only `accept` and `review` do. With CI=true, nothing \
is written.")]
pub struct BaselineArgs {
    #[command(subcommand)]
    pub verb: BaselineVerb,
}

#[derive(Debug, Subcommand)]
pub enum BaselineVerb {
    /// Capture the outputs of regressions as pending baselines.
    Capture(Box<CaptureArgs>),
    /// Show what pending baselines would change.
    Diff(DiffArgs),
    /// Accept or reject pending baselines, one after the other.
    Review(ReviewArgs),
    /// Accept pending baselines.
    Accept(AcceptArgs),
    /// Delete pending baselines.
    Reject(RejectArgs),
    /// Show every regression with the state of its baseline.
    List(BaselineListArgs),
    /// Remove baseline files whose evals no longer exist.
    Prune(PruneArgs),
}

/// The suite that the baselines belong to.
#[derive(Debug, Args)]
pub struct OfSuiteArgs {
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
}

impl OfSuiteArgs {
    /// As the arguments of a verb that looks at the whole suite.
    pub fn whole(&self) -> SuiteArgs {
        SuiteArgs {
            suite: self.suite.clone(),
            vars: self.vars.clone(),
            ..SuiteArgs::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline capture               all regressions of the suite
  eval-harness baseline capture 'reg-api-*' --var base_url=http://127.0.0.1:8080
  eval-harness baseline capture --run latest  use the outputs of a finished run;
                                              no target is called
  eval-harness baseline capture reg-users-001 --force
  eval-harness baseline capture --scores      the scores of the latest run, for
                                              `run --baseline`

Matchers and ignored values of the accepted baseline are kept where they still fit. Every new \
baseline is first compared with its own output; if it does not match, it is not written.")]
pub struct CaptureArgs {
    /// Eval ids; `*` and `?` are wildcards. Default: all regressions.
    #[arg(value_name = "GLOB", add = by(NameKind::Evals))]
    pub evals: Vec<String>,
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// The target to use, by its name under `targets:`.
    #[arg(long, value_name = "NAME", conflicts_with = "run", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// The prompt to use, by its name under `prompts:`.
    #[arg(long, value_name = "NAME", conflicts_with = "run", add = by(NameKind::Prompts))]
    pub prompt: Option<String>,
    /// Recorded outputs to capture, instead of calling a target.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub outputs: Option<PathBuf>,
    /// Number of samples per case; the first one with an output is captured, the others show what
    /// varies.
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: Option<u32>,
    /// Use the outputs of a finished run: `latest`, a run id, or the path of a journal.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub run: Option<String>,
    /// Capture the scores of a run (its cases and metrics) instead of its outputs: of the latest
    /// run, or of the one that `--run` selects.
    #[arg(long, conflicts_with_all = ["evals", "target", "prompt", "outputs", "samples", "baseline_version", "force"])]
    pub scores: bool,
    /// The version to store in the baselines. Default: the output of `git describe`.
    #[arg(long, value_name = "VERSION")]
    pub baseline_version: Option<String>,
    /// Ignore the accepted baselines, and write every baseline even if it did not change.
    #[arg(long)]
    pub force: bool,
    /// Number of samples to run at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Time limit in seconds for one call of the target.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub timeout: Option<f64>,
    /// Run model-written code without isolation if none is available.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// The results folder; `--run` is also searched there.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Progress output on stderr.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    #[command(flatten)]
    pub models: ModelArgs,
    #[command(flatten)]
    pub filters: FilterArgs,
}

impl CaptureArgs {
    /// The run that a capture makes.
    pub fn as_run(&self) -> RunArgs {
        let mut filters = self.filters.clone();
        filters.eval.extend(self.evals.iter().cloned());
        RunArgs {
            suite: SuiteArgs {
                target: self.target.clone().into_iter().collect(),
                prompt: self.prompt.clone().into_iter().collect(),
                outputs: self.outputs.clone(),
                samples: self.samples,
                filters,
                ..self.of.whole()
            },
            resume: None,
            changed: false,
            since: None,
            watch: false,
            timeout: self.timeout,
            budget: None,
            max_fail: None,
            compared: ComparedArgs::default(),
            checked: false,
            require_references: false,
            dry_run: false,
            models: self.models.clone(),
            session: SessionArgs {
                // A capture gates nothing.
                ci: CiArgs { mode: CiMode::None },
                jobs: self.jobs,
                allow_unsandboxed: self.allow_unsandboxed,
                thresholds: Vec::new(),
                preset: None,
                output_dir: self.output_dir.clone(),
                format: Vec::new(),
                progress: self.progress,
                events: false,
                verbose: false,
                quiet: false,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    Human,
    Json,
    Markdown,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline diff
  eval-harness baseline diff 'reg-api-*' --format markdown
  eval-harness baseline diff --exit-code  exit 1 if a pending baseline differs")]
pub struct DiffArgs {
    /// Eval ids; `*` and `?` are wildcards. Default: all pending baselines.
    #[arg(value_name = "GLOB", add = by(NameKind::Evals))]
    pub evals: Vec<String>,
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = DiffFormat::Human)]
    pub format: DiffFormat,
    /// Show the pending scores beside the accepted ones, instead of outputs.
    #[arg(long, conflicts_with = "evals")]
    pub scores: bool,
    /// Exit with 1 if there are differences, as `git diff --exit-code` does.
    #[arg(long)]
    pub exit_code: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline review  keys: a accept, r reject, s skip, b back, q quit
  eval-harness baseline review --accept-all
  printf 'a\\nr\\n' | eval-harness baseline review
                                answers from a pipe, one per line

Baselines that were accepted or rejected before you quit stay accepted or rejected.")]
pub struct ReviewArgs {
    /// Eval ids; `*` and `?` are wildcards. Default: all pending baselines.
    #[arg(value_name = "GLOB", add = by(NameKind::Evals))]
    pub evals: Vec<String>,
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// Accept all pending baselines without a prompt.
    #[arg(long)]
    pub accept_all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline accept reg-users-001 'reg-api-*'
  eval-harness baseline accept --all
  eval-harness baseline accept reg-users-001 --force
                                              even if the accepted one changed
                                              since the capture")]
pub struct AcceptArgs {
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(value_name = "GLOB", add = by(NameKind::Evals))]
    pub evals: Vec<String>,
    /// Accept all pending baselines.
    #[arg(long, conflicts_with = "evals")]
    pub all: bool,
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// Accept the pending scores of the suite, instead of outputs.
    #[arg(long, conflicts_with_all = ["evals", "all"])]
    pub scores: bool,
    /// Accept even if the accepted baseline changed since the capture.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline reject reg-users-001
  eval-harness baseline reject --all")]
pub struct RejectArgs {
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(value_name = "GLOB", add = by(NameKind::Evals))]
    pub evals: Vec<String>,
    /// Reject all pending baselines.
    #[arg(long, conflicts_with = "evals")]
    pub all: bool,
    /// Reject the pending scores of the suite, instead of outputs.
    #[arg(long, conflicts_with_all = ["evals", "all"])]
    pub scores: bool,
    #[command(flatten)]
    pub of: OfSuiteArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline list
  eval-harness baseline list --format json")]
pub struct BaselineListArgs {
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// The results folder, from which last passes and failures are read.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness baseline prune --dry-run
  eval-harness baseline prune

Files of other suites in the same folder are kept. Restore a file that git tracks with `git \
checkout -- FILE`.")]
pub struct PruneArgs {
    #[command(flatten)]
    pub of: OfSuiteArgs,
    /// Show what would be removed; remove nothing.
    #[arg(long)]
    pub dry_run: bool,
}
