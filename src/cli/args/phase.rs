//! The arguments of `phase`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CiArgs, ModelArgs, ProgressMode, at_least_one, key_value};
use crate::cli::completions::{NameKind, by};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PhaseFormat {
    Terminal,
    Json,
    Markdown,
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness phase --plan plan.yaml                          the steps of a phase, in order
  eval-harness phase --plan plan.yaml --phase-id 2 --dry-run   what the steps of one of several phases would run
  eval-harness phase --trigger evals/trigger.yaml --phase-id 2 --when after_tests_pass --junit 'target/junit/*.xml'
  eval-harness phase --plan plan.yaml --base origin/main       what changed since then stands in the report

A blocking step that does not pass ends the phase. The exit code is that of the worst blocking step; a wrong file or setting
(2) and an interruption (130) are never softened. The report is written as Markdown, JSON and HTML, whatever came of the phase.
docs/phases.md tells all of it.")]
#[command(group(clap::ArgGroup::new("file").required(true).args(["plan", "trigger"])))]
pub struct PhaseArgs {
    /// A file with `phase:` or `phases:`, whose steps are worked off.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// A file with `eval_trigger:`: one suite, and what follows from how it ends.
    #[arg(long, value_name = "FILE")]
    pub trigger: Option<PathBuf>,
    /// Which phase of a plan; of a trigger the id that its reports carry.
    #[arg(long, value_name = "ID")]
    pub phase_id: Option<String>,
    /// The moment that it is now, such as `after_tests_pass`: a trigger for another one does
    /// nothing and ends with 0.
    #[arg(long, value_name = "MOMENT", conflicts_with = "plan")]
    pub when: Option<String>,
    /// JUnit files that the tests before a trigger wrote: failing tests fail the phase. Repeat it
    /// for more.
    #[arg(long, value_name = "GLOB", conflicts_with = "plan")]
    pub junit: Vec<String>,
    /// The git revision that the phase began at. Default: that of the plan, else `HEAD`.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Where the Markdown report goes, in place of what the file says. The JSON and the HTML report
    /// lie beside it.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write the report as a comment for a pull request, of at most 60,000 bytes.
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// What stdout shows.
    #[arg(long, value_enum, default_value_t = PhaseFormat::Terminal)]
    pub format: PhaseFormat,
    /// The target of every suite, by its name under `targets:`.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// Recorded outputs, in place of any target.
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// A suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// Samples in flight at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Where results go.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Run model-written code without isolation when there is none; every report then says so.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// Show the steps and what they would run; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// What stderr shows while a suite runs.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    #[command(flatten)]
    pub ci: CiArgs,
    /// Show what commands write as they write it, on stderr, and every case.
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
    /// Show only the gate.
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
}
