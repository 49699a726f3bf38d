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
  eval-harness phase --plan plan.yaml  run the steps of a phase in order
  eval-harness phase --plan plan.yaml --phase-id 2 --dry-run
                                       show what the steps of one of several
                                       phases would run
  eval-harness phase --trigger evals/trigger.yaml --phase-id 2 --when after_tests_pass --junit 'target/junit/*.xml'
  eval-harness phase --plan plan.yaml --base origin/main
                                       the report shows what changed since then

A blocking step that does not pass ends the phase. The exit code is that of the worst blocking \
step. A wrong file or setting always ends with 2, and an interruption with 130. The report is \
always written, as Markdown, JSON and HTML. See docs/phases.md.")]
#[command(group(clap::ArgGroup::new("file").required(true).args(["plan", "trigger"])))]
pub struct PhaseArgs {
    /// A file with `phase:` or `phases:`, whose steps are run.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// A file with `eval_trigger:`: one suite, and the actions that follow its result.
    #[arg(long, value_name = "FILE")]
    pub trigger: Option<PathBuf>,
    /// The phase of a plan to run; for a trigger, the id that its reports show.
    #[arg(long, value_name = "ID")]
    pub phase_id: Option<String>,
    /// The current moment, such as `after_tests_pass`: a trigger for a different moment does
    /// nothing and ends with exit code 0.
    #[arg(long, value_name = "MOMENT", conflicts_with = "plan")]
    pub when: Option<String>,
    /// JUnit files of the tests that ran before a trigger: failed tests fail the phase. Repeat it
    /// for more files.
    #[arg(long, value_name = "GLOB", conflicts_with = "plan")]
    pub junit: Vec<String>,
    /// The git revision at which the phase began. Default: `base` of the plan, otherwise `HEAD`.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// The path of the Markdown report, instead of the `report_path` of the file. The JSON and HTML
    /// reports are written next to it.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write the report as a comment for a pull request, of at most 60,000 bytes.
    #[arg(long, value_name = "FILE")]
    pub comment: Option<PathBuf>,
    /// Format of the output on stdout.
    #[arg(long, value_enum, default_value_t = PhaseFormat::Terminal)]
    pub format: PhaseFormat,
    /// The target for every suite, by its name under `targets:`.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Option<String>,
    /// Recorded outputs to grade, instead of calling a target.
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// Number of samples to run at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub models: ModelArgs,
    /// The results folder.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Run model-written code without isolation if none is available; every report then states it.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// Show the steps and what they would run; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Progress output on stderr.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    #[command(flatten)]
    pub ci: CiArgs,
    /// Show the output of commands on stderr while they run, and every case.
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
    /// Show only the gate.
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
}
