//! The command line as typed: one definition of each flag gives parsing, help and completions.

mod baseline;
mod budget;
mod cache;
mod ci;
mod compare;
mod history;
mod models;
mod new;
mod phase;
mod power;
mod regrade;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::completions::{NameKind, by};
use crate::model::{Criticality, Difficulty, GraderType, Outcome, ReportFormat, RunBudget, Shard};

pub use self::baseline::*;
pub use self::cache::*;
pub use self::ci::{CiArgs, CiMode};
pub use self::compare::{CompareArgs, CompareFormat, ComparedArgs};
pub use self::history::HistoryArgs;
pub use self::models::ModelArgs;
pub use self::new::{InitArgs, NewArgs, NewKind};
pub use self::phase::{PhaseArgs, PhaseFormat};
pub use self::power::PowerArgs;
pub use self::regrade::RegradeArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0    the gate passed
  1    the gate failed: an eval failed, a threshold was missed, a regression was found
  2    the command line, a definition or a setting is wrong; nothing ran
  3    incomplete: something errored, so the gate is undecided
  4    pending: human grades are still missing
  130  interrupted; the journal is whole and `run --resume` continues";

const FILTERS: &str = "Filters";

/// Parts of a suite at most.
const MAX_SHARDS: u32 = 10_000;

/// Author evals of AI output as YAML, run them, and let the result gate your work.
#[derive(Debug, Parser)]
#[command(name = "eval-harness", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = ColorMode::Auto, value_name = "WHEN")]
    pub color: ColorMode,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorMode {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Scaffold a suite that works offline.
    Init(InitArgs),
    /// Write a new eval file.
    New(NewArgs),
    /// Check files and tell every problem of all of them.
    Validate(ValidateArgs),
    /// Show what would run.
    List(ListArgs),
    /// Run a suite and decide its gate.
    Run(Box<RunArgs>),
    /// Grade the stored outputs of a run again, without asking the target. Judges are asked.
    Regrade(Box<RegradeArgs>),
    /// Render a run again from its journal, or join the shards of one.
    Report(ReportArgs),
    /// Compare runs, paired by case: is the candidate worse than the reference, and could that be
    /// chance?
    Compare(CompareArgs),
    /// Tell what a suite could find: the smallest drop, and the cases and samples that a smaller
    /// one takes.
    Power(PowerArgs),
    /// Show past runs: pass rates over time, flaky and slow cases, last passes.
    History(HistoryArgs),
    /// Work off the steps of a phase, or the evals that a trigger names, as a gate.
    Phase(Box<PhaseArgs>),
    /// Write the outputs of a run as JSON lines, to be graded again or elsewhere.
    Export(ExportArgs),
    /// Keep known-good outputs of regressions in git: capture, review, accept.
    Baseline(BaselineArgs),
    /// Show, shrink or clear the answers of models that are kept.
    Cache(CacheArgs),
    /// Write (or check) the JSON Schemas of suites, evals and reports.
    Schema(SchemaArgs),
    /// Tell what this machine can do: sandbox tier, interpreters.
    Doctor(DoctorArgs),
    /// Print a completion script.
    Completions(CompletionsArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProblemFormat {
    Human,
    Json,
    Github,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness validate                              the default suite and all that it names
  eval-harness validate --suite evals/eval-suite.yaml
  eval-harness validate evals/**/*.yaml              files on their own, of any kind
  eval-harness validate --format json                for editors and scripts

Under GitHub Actions problems are also shown as annotations.")]
pub struct ValidateArgs {
    /// The suite whose files are checked together.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub suite: Option<PathBuf>,
    /// Files, folders or globs that are checked each on its own.
    pub files: Vec<PathBuf>,
    /// A suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    #[arg(long, value_enum, default_value_t = ProblemFormat::Human)]
    pub format: ProblemFormat,
    /// Treat warnings as errors.
    #[arg(long)]
    pub strict: bool,
}

/// Which suite, and which of its cases.
#[derive(Debug, Default, Args)]
pub struct SuiteArgs {
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// A suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// The target to use, by its name under `targets:`. With `run` several: each runs the whole
    /// plan, and a report puts them side by side.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Vec<String>,
    /// Recorded outputs, in place of any target.
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// Compare with the accepted baselines of this git revision, in place of those on disk.
    #[arg(long, value_name = "REV")]
    pub against: Option<String>,
    /// Samples of each case.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: Option<u32>,
    /// Grade with this type of grader instead.
    #[arg(long, value_name = "TYPE", value_parser = word::<GraderType>)]
    pub grader_type: Option<GraderType>,
    /// Only one part of the cases, such as `2/5`: the same split every time, by case.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// The same kind repeated means or, different kinds mean and. Each names its heading:
/// `next_help_heading` would hold for what comes after them, too.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// `capability`, `regression`, or a category.
    #[arg(long, value_name = "NAME", help_heading = FILTERS, add = by(NameKind::Categories))]
    pub category: Vec<String>,
    /// A tag of the eval or of the case.
    #[arg(long, value_name = "TAG", help_heading = FILTERS, add = by(NameKind::Tags))]
    pub tag: Vec<String>,
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", help_heading = FILTERS, add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", help_heading = FILTERS, add = by(NameKind::Cases))]
    pub case: Vec<String>,
    /// `easy`, `medium` or `hard`.
    #[arg(long, value_name = "LEVEL", value_parser = word::<Difficulty>, help_heading = FILTERS)]
    pub difficulty: Vec<Difficulty>,
    /// `low`, `medium`, `high` or `critical`.
    #[arg(long, value_name = "LEVEL", value_parser = word::<Criticality>, help_heading = FILTERS)]
    pub criticality: Vec<Criticality>,
    /// The cases that did not pass in an earlier run (`latest` or a run id).
    #[arg(long, value_name = "RUN", help_heading = FILTERS, add = by(NameKind::Runs))]
    pub failed_in: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    Human,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness list
  eval-harness list --suite evals/eval-suite.yaml --tag critical --verbose")]
pub struct ListArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Every case, with its graders and what was inferred.
    #[arg(long, short)]
    pub verbose: bool,
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// A bar on a terminal, else plain lines.
    Auto,
    /// A bar with counts, rate, time left and the slowest samples.
    Bar,
    /// A line every few seconds, for logs.
    Plain,
    /// Nothing.
    None,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness run --suite evals/eval-suite.yaml
  eval-harness run --category regression --tag critical
  eval-harness run --outputs samples.jsonl --threshold pass@1=0.9
  eval-harness run --dry-run
  eval-harness run --compare-to previous           fail when it is worse than the run before it
  eval-harness run --baseline                      beside the accepted scores; `--baseline=FILE` beside others
  eval-harness run --baseline --against origin/main --fail-on significant
  eval-harness run --record recordings/            keep every exchange with a model as a file
  eval-harness run --replay recordings/            answer from those files: no network, no key
  eval-harness run --resume latest                 go on with a run that was cut off
  eval-harness run --resume latest --samples 10    add samples to a run
  eval-harness run --target small --target large   one run on each, and a report side by side
  eval-harness run --shard 2/5                     a part of five; `report --run A --run B ...` joins them
  eval-harness run --events | jq .sample_finished.case")]
#[command(args_override_self = true)]
pub struct RunArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Go on with a run (`latest`, a run id, or the path of a journal): what is finished is kept,
    /// and errored samples are run again. Its own arguments hold, except `--events`, `--progress`,
    /// `--quiet` and `--verbose`, and those typed now come on top.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub resume: Option<String>,
    /// Seconds for one call of the target.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub timeout: Option<f64>,
    /// What may be spent on models, such as `usd=2.5` or `usd=2.5,tokens=1000000`, in place of the
    /// suite's `budget`. What is left then is skipped.
    #[arg(long, value_name = "LIMITS", value_parser = budget::budget)]
    pub budget: Option<RunBudget>,
    /// Start nothing more after this many failed samples.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_fail: Option<usize>,
    #[command(flatten)]
    pub compared: ComparedArgs,
    /// Show the plan and how many calls it makes; run nothing.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    #[command(flatten)]
    pub models: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// What a run and a regrade have in common: how samples are worked off, and what is written and
/// shown.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Samples in flight at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Run model-written code without isolation when there is none; every report then says so.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// A demand on a metric, such as `pass@1=0.9` or `lint_warnings<=3`; `require=all_evals`
    /// requires that every eval passes, too.
    #[arg(long = "threshold", value_name = "METRIC=VALUE")]
    pub thresholds: Vec<String>,
    /// A set of thresholds: development, staging, production, critical, or one of the suite's.
    #[arg(long, value_name = "NAME", add = by(NameKind::Presets))]
    pub preset: Option<String>,
    /// Where results go.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Reports to write: json, markdown, junit, comment. Repeat it, or separate with commas.
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = word::<ReportFormat>)]
    pub format: Vec<ReportFormat>,
    /// What stderr shows while the run goes on.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    #[command(flatten)]
    pub ci: CiArgs,
    /// Every event as one JSON line on stdout, in place of the summary.
    #[arg(long)]
    pub events: bool,
    /// Show every case, not only those that did not pass.
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
    /// Show only the gate.
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness report                                the latest run, for people
  eval-harness report --run eval-20260304-101500 --format markdown
  eval-harness report --run latest --format junit --output junit.xml
  eval-harness report --run shard-1.journal.jsonl --run shard-2.journal.jsonl
  eval-harness report --run eval-20260304-101500 --run eval-20260304-101712     two targets, side by side")]
pub struct ReportArgs {
    /// `latest`, a run id, or the path of a journal. Several: all shards of one suite, joined to
    /// one report; or runs of one suite, put side by side.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: Vec<String>,
    /// terminal, json, markdown, junit or comment.
    #[arg(long, default_value = "terminal", value_parser = word::<ReportFormat>)]
    pub format: ReportFormat,
    /// The file to write, in place of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The suite whose results folder is searched.
    #[arg(long, value_name = "FILE", conflicts_with = "output_dir")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Show every case.
    #[arg(long, short)]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// `{"eval", "case", "sample", "output"}`, with `usage` and `model`: what `--outputs` reads.
    Outputs,
    /// `{"task_id", "completion"}`, as code benchmarks have it; a whole program as `solution`.
    Completions,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness export --output outputs.jsonl                   the latest run
  eval-harness run --outputs outputs.jsonl                     grade the same outputs again
  eval-harness export --run eval-20260304-101500 --eval 'cap-*' --outcome failed
  eval-harness export --format completions --output samples.jsonl

One line for each sample that has an output, in the order of the plan, however the run was scheduled. With retries it is
the output of the last attempt, the one that counts for the case; graded again it is the first attempt, too, so that
pass@k may rise. Samples that the target gave no output for, or failed at, are left
out, and their number is told on stderr.")]
pub struct ExportArgs {
    /// `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    #[arg(long, value_enum, default_value_t = ExportFormat::Outputs)]
    pub format: ExportFormat,
    /// The file to write, in place of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Cases))]
    pub case: Vec<String>,
    /// passed, failed, errored or pending: only samples that ended so.
    #[arg(long, value_name = "OUTCOME", value_parser = word::<Outcome>)]
    pub outcome: Vec<Outcome>,
    /// The suite whose results folder is searched.
    #[arg(long, value_name = "FILE", conflicts_with = "output_dir")]
    pub suite: Option<PathBuf>,
    /// The results folder. Default: `results/` in the project root.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness schema                                write the JSON Schemas to schemas/
  eval-harness schema --output .vscode/schemas       write them to another folder
  eval-harness schema --check                        in CI: exit 1 when they are out of date")]
pub struct SchemaArgs {
    /// Write nothing; fail when a file differs from what would be written.
    #[arg(long)]
    pub check: bool,
    /// The folder of the schemas.
    #[arg(long, short, default_value = "schemas", value_name = "DIR")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness doctor
  eval-harness doctor --format json
  eval-harness doctor --observe python3 solution.py        the system calls of a program, and which are refused
  eval-harness doctor --format json --observe node a.js")]
pub struct DoctorArgs {
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
    /// Run a command in the sandbox and list the system calls that it makes. Everything behind it
    /// is the command's.
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    pub observe: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness completions bash > ~/.local/share/bash-completion/completions/eval-harness
  eval-harness completions zsh > ~/.zfunc/_eval-harness          in a folder of $fpath
  eval-harness completions fish > ~/.config/fish/completions/eval-harness.fish

The scripts ask `eval-harness` on PATH: for evals, cases, tags, targets and presets of the suite, and for run ids.")]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `KEY=VALUE`, with a key that is not empty.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("write a whole number of at least 1".to_owned()),
    }
}

/// `I/N`: part I of N.
fn shard(text: &str) -> Result<Shard, String> {
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, of)) if 1 <= index && index <= of && of <= MAX_SHARDS => {
            Ok(Shard { index, of })
        }
        _ => Err(format!(
            "write I/N with I from 1 to N, such as 2/5, and N up to {MAX_SHARDS}"
        )),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("write seconds above 0, such as 30 or 0.5".to_owned()),
    }
}

/// A word of one of the closed lists that files use, too.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let error = Cli::try_parse_from(["eval-harness", "run", "--format", "jsn"])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(
                "expected one of `terminal`, `json`, `markdown`, `html`, `junit`, `comment`"
            ),
            "{error}"
        );
        let error = Cli::try_parse_from(["eval-harness", "run", "--var", "novalue"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("write KEY=VALUE"), "{error}");
    }

    #[test]
    fn a_number_that_means_nothing_is_refused() {
        for (flag, wrong, reason) in [
            ("--timeout", "nan", "write seconds above 0"),
            ("--timeout", "-1", "write seconds above 0"),
            ("--timeout", "0", "write seconds above 0"),
            ("--timeout", "inf", "write seconds above 0"),
            ("--jobs", "0", "at least 1"),
            ("--max-fail", "0", "at least 1"),
            ("--shard", "0/3", "I from 1 to N"),
            ("--shard", "4/3", "I from 1 to N"),
            ("--shard", "1/10001", "N up to 10000"),
            ("--shard", "1", "write I/N"),
        ] {
            let error = Cli::try_parse_from(["eval-harness", "run", flag, wrong])
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{flag} {wrong}: {error}");
        }
        assert!(
            Cli::try_parse_from(["eval-harness", "run", "--timeout", "0.5", "--jobs", "2"]).is_ok()
        );
    }

    #[test]
    fn every_verb_shows_examples() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.clone().render_long_help().to_string();
            let shown = format!("Examples:\n  eval-harness {}", verb.get_name());
            assert!(help.contains(&shown), "{help}");
        }
    }
}
