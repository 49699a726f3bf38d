//! The command line as typed: one definition of each flag gives parsing, help and completions.

mod accept;
mod baseline;
mod budget;
mod cache;
mod calibrate;
mod check;
mod ci;
mod compare;
mod history;
mod models;
mod new;
mod phase;
mod power;
mod regrade;
mod review;
mod runs;
mod show;
mod view;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::completions::{NameKind, by, words};
use crate::model::{Criticality, Difficulty, GraderType, Outcome, ReportFormat, RunBudget, Shard};

pub use self::accept::{AcceptCaseArgs, FromRunArgs};
pub use self::baseline::*;
pub use self::cache::*;
pub use self::calibrate::CalibrateArgs;
pub use self::check::{CheckArgs, CheckFormat};
pub use self::ci::{CiArgs, CiRunArgs};
pub use self::compare::{CompareArgs, CompareFormat, ComparedArgs};
pub use self::history::HistoryArgs;
pub use self::models::ModelArgs;
pub use self::new::{InitArgs, InitTemplate, NewArgs, NewKind};
pub use self::phase::{PhaseArgs, PhaseFormat};
pub use self::power::PowerArgs;
pub use self::regrade::RegradeArgs;
pub use self::review::RunReviewArgs;
pub use self::runs::{RunsArgs, RunsPlaceArgs, RunsPruneArgs, RunsRmArgs, RunsVerb};
pub use self::show::{OutcomeArgs, ShowArgs};
pub use self::view::ViewArgs;
pub use crate::spec::{CiMode, ColorMode, ProgressMode};

const HELP: &str = "\
A suite, such as evals/eval-suite.yaml:
  eval_suite:
    name: My assistant
    target: {type: model, model: \"openai:gpt-4o-mini\"}
    evals:
      - id: capital
        prompt: What is the capital of France? Answer in one word.
        expected: Paris
      - id: add-function
        prompt: Write a Python function add(a, b).
        asserts: [\"assert add(1, 2) == 3\"]
      - id: poem
        prompt: Write a short poem about the sea.
        grader: {judge: \"openai:gpt-4o\", rubric: Is it a poem about the sea?}
      - {id: greeting, prompt: Say hello, baseline: Hello!}

Exit codes:
  0    the gate passed
  1    the gate failed: an eval failed, a threshold was missed, or a regression was found
  2    the command line, a definition or a setting is wrong; nothing ran
  3    incomplete: something errored, so the gate is undecided
  4    pending: human grades are still missing
  130  interrupted; `run --resume` continues the run";

const FORMATS: [&str; 7] = [
    "terminal", "json", "markdown", "html", "junit", "comment", "badge",
];
const GRADER_TYPES: [&str; 3] = ["code", "model", "human"];
const DIFFICULTIES: [&str; 3] = ["easy", "medium", "hard"];
const CRITICALITIES: [&str; 4] = ["low", "medium", "high", "critical"];
const OUTCOMES: [&str; 4] = ["passed", "failed", "errored", "pending"];

const FILTERS: &str = "Filters";

const BASE_HELP: &str = "The base branch, or any git revision, whose accepted scores the run is \
compared with. Default: the target branch of the pull request as the CI server names it, else `origin/HEAD`.";

/// Parts of a suite at most.
const MAX_SHARDS: u32 = 10_000;

/// Author evals of AI output as YAML, run them, and let the result gate your work.
#[derive(Debug, Parser)]
#[command(name = "eval-harness", version, after_help = HELP, max_term_width = 100)]
pub struct Cli {
    /// Use of colour.
    #[arg(long, global = true, value_enum, default_value_t = ColorMode::Auto, value_name = "WHEN")]
    pub color: ColorMode,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Scaffold a suite that works offline.
    Init(InitArgs),
    /// Write a new eval file.
    #[command(
        mut_arg("run", |arg| arg.requires("from")),
        mut_arg("sample", |arg| arg.requires("from")),
        mut_arg("suite", |arg| arg.requires("from")),
        mut_arg("vars", |arg| arg.requires("from")),
        mut_arg("output_dir", |arg| arg.requires("from"))
    )]
    New(NewArgs),
    /// Check files and report every problem.
    Validate(ValidateArgs),
    /// Show what would run.
    List(ListArgs),
    /// Prove a suite: right answers pass, null answers and cheats fail.
    Check(Box<CheckArgs>),
    /// Run a suite and decide its gate.
    Run(Box<RunArgs>),
    /// Run a suite for a pull request: compared with the accepted scores of the base branch, with a
    /// summary, annotations, a comment and a badge.
    #[command(
        mut_arg("against", |arg| arg.help(BASE_HELP).long_help(BASE_HELP)),
        mut_arg("resume", |arg| arg.hide(true))
    )]
    Ci(Box<CiRunArgs>),
    /// Grade the stored outputs of a run again, without calling the target. Judges are called.
    Regrade(Box<RegradeArgs>),
    /// Rate outputs of a run: what people grade, and whether they agree with judges.
    Review(Box<RunReviewArgs>),
    /// Render a report from the journal of a run, or join the shards of a run.
    Report(ReportArgs),
    /// Show cases in full: input, output, what was expected, what graders reported.
    Show(ShowArgs),
    /// List the runs of a results folder: gate, cases, suite, target, age; remove old ones.
    Runs(RunsArgs),
    /// Show all runs in the browser, also while they go on: list, trend, cases, comparisons, search.
    View(ViewArgs),
    /// Compare runs, paired by case: is the candidate worse than the reference, and could that be
    /// chance?
    Compare(CompareArgs),
    /// Show the smallest drop that a suite can detect, and the cases and samples that a smaller one
    /// needs.
    Power(PowerArgs),
    /// Hold judges against labels of people: what their verdicts are worth, and the pass rate that
    /// people would give.
    Calibrate(CalibrateArgs),
    /// Show past runs: pass rates over time, flaky and slow cases, last passes.
    History(HistoryArgs),
    /// Run the steps of a phase, or the suite of a trigger, as a gate.
    Phase(Box<PhaseArgs>),
    /// Write the outputs of a run as JSON lines, to grade them again or with other tools.
    Export(ExportArgs),
    /// Make the output of a run what its case expects: the value in the file is replaced.
    Accept(AcceptCaseArgs),
    /// Keep known-good outputs of regressions in git: capture, review, accept.
    Baseline(BaselineArgs),
    /// Show, shrink or clear the cache of model answers.
    Cache(CacheArgs),
    /// Write (or check) the JSON Schemas of suites, evals and reports.
    Schema(SchemaArgs),
    /// Show what this machine supports: sandbox tier, interpreters.
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
  eval-harness validate                  the default suite and the files that it
                                         refers to
  eval-harness validate --suite evals/eval-suite.yaml
  eval-harness validate evals/**/*.yaml  files of any kind, each in the suite
                                         that refers to it
  eval-harness validate --format json    for editors and scripts

Under GitHub Actions, problems are also shown as annotations.")]
pub struct ValidateArgs {
    /// The suite to check, with all files that it refers to.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub suite: Option<PathBuf>,
    /// Files, folders or globs to check, each file in the suite that refers to it (beside it or in
    /// a folder above).
    pub files: Vec<PathBuf>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ProblemFormat::Human)]
    pub format: ProblemFormat,
    /// Treat warnings as errors.
    #[arg(long)]
    pub strict: bool,
}

/// The suite, and the selection of its cases.
#[derive(Debug, Default, Args)]
pub struct SuiteArgs {
    /// The suite. Default: `evals/eval-suite.yaml` or `eval-suite.yaml`.
    #[arg(long, value_name = "FILE")]
    pub suite: Option<PathBuf>,
    /// Set a suite variable.
    #[arg(long = "var", value_name = "KEY=VALUE", value_parser = key_value, add = by(NameKind::Vars))]
    pub vars: Vec<(String, String)>,
    /// The target to use, by its name under `targets:`. With `run`, repeat it for several targets:
    /// each runs the whole plan, and a report shows them side by side.
    #[arg(long, value_name = "NAME", add = by(NameKind::Targets))]
    pub target: Vec<String>,
    /// The prompt to use, by its name under `prompts:`. With `run`, repeat it for several prompts.
    /// Default for `run`: every prompt of the suite, each in a separate run, and a report that shows
    /// and compares them side by side.
    #[arg(long, value_name = "NAME", add = by(NameKind::Prompts))]
    pub prompt: Vec<String>,
    /// Recorded outputs to grade, instead of calling a target.
    #[arg(long, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// Compare with the accepted baselines of this git revision, instead of those on disk.
    #[arg(long, value_name = "REV")]
    pub against: Option<String>,
    /// Number of samples per case.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: Option<u32>,
    /// Grade with graders of this type instead.
    #[arg(long, value_name = "TYPE", value_parser = word::<GraderType>, add = words(&GRADER_TYPES))]
    pub grader_type: Option<GraderType>,
    /// Select one part of the cases, such as `2/5`. The split is by case and always the same.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// Repeated filters of one kind are alternatives; filters of different kinds must all match. Each
/// argument sets its heading, because `next_help_heading` would also apply to the arguments after
/// them.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Eval category: `capability`, `regression`, or a custom one.
    #[arg(long, value_name = "NAME", help_heading = FILTERS, add = by(NameKind::Categories))]
    pub category: Vec<String>,
    /// Tag of the eval or of the case.
    #[arg(long, value_name = "TAG", help_heading = FILTERS, add = by(NameKind::Tags))]
    pub tag: Vec<String>,
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", help_heading = FILTERS, add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", help_heading = FILTERS, add = by(NameKind::Cases))]
    pub case: Vec<String>,
    /// Difficulty: `easy`, `medium` or `hard`.
    #[arg(long, value_name = "LEVEL", value_parser = word::<Difficulty>, help_heading = FILTERS, add = words(&DIFFICULTIES))]
    pub difficulty: Vec<Difficulty>,
    /// Criticality: `low`, `medium`, `high` or `critical`.
    #[arg(long, value_name = "LEVEL", value_parser = word::<Criticality>, help_heading = FILTERS, add = words(&CRITICALITIES))]
    pub criticality: Vec<Criticality>,
    /// Cases that did not pass in an earlier run (`latest` or a run id). If all of them passed,
    /// nothing runs and the exit code is 0.
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
    /// Show every case, with its graders and the inferred settings.
    #[arg(long, short)]
    pub verbose: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness run --suite evals/eval-suite.yaml
  eval-harness run --category regression --tag critical
  eval-harness run --outputs samples.jsonl --threshold pass@1=0.9
  eval-harness run --dry-run
  eval-harness run --changed              run only what changed since the latest
                                          run
  eval-harness run --changed --dry-run    show what would be reused, and what
                                          would run and why
  eval-harness run --watch                run again whenever a file changes
  eval-harness run --compare-to previous  fail if it is worse than the previous
                                          run
  eval-harness run --baseline             compare with the accepted scores;
                                          `--baseline=FILE`: with those of a
                                          file
  eval-harness run --baseline --against origin/main --fail-on significant
  eval-harness run --record recordings/   write every exchange with a model to a
                                          file
  eval-harness run --replay recordings/   use the answers from those files: no
                                          network, no key
  eval-harness run --resume latest        continue an interrupted run
  eval-harness run --resume latest --samples 10
                                          add samples to a run
  eval-harness run --target small --target large
                                          run on both targets, and show them in
                                          one report
  eval-harness run --prompt short --prompt long
                                          run with both prompts, and compare
                                          them
  eval-harness run --shard 2/5            one of five parts; `report --run A
                                          --run B ...` joins them
  eval-harness run --events | jq .sample_finished.case")]
#[command(args_override_self = true)]
pub struct RunArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Continue a run (`latest`, a run id, or the path of a journal): finished samples are kept,
    /// and errored samples are run again. The arguments of the run apply, except `--events`,
    /// `--progress`, `--quiet` and `--verbose`; arguments given now override them.
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub resume: Option<String>,
    /// Reuse samples of an earlier run: unchanged samples are reused, those whose grader or
    /// expectation changed are graded again, and the others run. If unsure, the sample runs. The
    /// earlier run is the latest one of this suite and target, unless `--since` names one.
    #[arg(long, conflicts_with_all = ["resume", "record", "replay"])]
    pub changed: bool,
    /// With `--changed` or `--watch`: the run to reuse (`latest`, a run id, or the path of a journal).
    #[arg(long, value_name = "RUN", add = by(NameKind::Runs))]
    pub since: Option<String>,
    /// Run, wait until a file of the suite changes, and run again what it affects, as `--changed`
    /// does. At a terminal, `a` runs all, `f` what did not pass, `r` what changed, and `q` quits.
    #[arg(long, conflicts_with_all = [
        "resume", "dry_run", "failed_in", "shard", "record", "replay", "events",
    ])]
    pub watch: bool,
    /// Time limit in seconds for one call of the target.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub timeout: Option<f64>,
    /// Spending limit for models, such as `usd=2.5` or `usd=2.5,tokens=1000000`, instead of the
    /// suite's `budget`. When it is reached, the remaining samples are skipped.
    #[arg(long, value_name = "LIMITS", value_parser = budget::budget)]
    pub budget: Option<RunBudget>,
    /// Start no more samples after this many have failed.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_fail: Option<usize>,
    #[command(flatten)]
    pub compared: ComparedArgs,
    /// Run only if `check` has proved this very content of the suite, with the interpreters,
    /// packages and sandbox that grade the run.
    #[arg(long)]
    pub checked: bool,
    /// With `--checked`: every case must have had a reference that passed.
    #[arg(long, requires = "checked")]
    pub require_references: bool,
    /// Show the plan and the number of calls that it makes; run nothing.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    #[command(flatten)]
    pub models: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Arguments of `run` and `regrade`: how samples are processed, and what is written and shown.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Number of samples to run at once.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Run model-written code without isolation if none is available; every report then states it.
    #[arg(long)]
    pub allow_unsandboxed: bool,
    /// Required value of a metric, such as `pass@1=0.9` or `lint_warnings<=3`; `require=all_evals`
    /// also requires that every eval passes.
    #[arg(long = "threshold", value_name = "METRIC=VALUE")]
    pub thresholds: Vec<String>,
    /// The set of thresholds to use: development, staging, production, critical, or one of the
    /// suite's.
    #[arg(long, value_name = "NAME", add = by(NameKind::Presets))]
    pub preset: Option<String>,
    /// The results folder.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Reports to write: json, markdown, html, junit, comment, badge. Repeat it, or separate them
    /// with commas.
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = word::<ReportFormat>, add = words(&FORMATS))]
    pub format: Vec<ReportFormat>,
    /// Progress output on stderr.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "MODE")]
    pub progress: ProgressMode,
    #[command(flatten)]
    pub ci: CiArgs,
    /// Print every event as a JSON line on stdout, instead of the summary.
    #[arg(long)]
    pub events: bool,
    /// Print a line for each case as it ends, and the whole report at the end.
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
    /// Show only the gate.
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness report  the latest run, as text for the terminal
  eval-harness report --run eval-20260304-101500 --format markdown
  eval-harness report --run latest --format junit --output junit.xml
  eval-harness report --failed --eval 'cap-*' --verbose
  eval-harness report --run shard-1.journal.jsonl --run shard-2.journal.jsonl
  eval-harness report --run eval-20260304-101500 --run eval-20260304-101712
                       two targets, side by side")]
pub struct ReportArgs {
    /// The run: `latest`, a run id, or the path of a journal. Repeat it to join all shards of a run
    /// into one report, or to show several runs of one suite side by side.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: Vec<String>,
    #[command(flatten)]
    pub outcomes: OutcomeArgs,
    /// Only these evals; `*` and `?` are wildcards. Filters change the lists of cases; figures and
    /// the gate stay those of the whole run.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// Only these cases; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Cases))]
    pub case: Vec<String>,
    /// Format of the report: terminal, json, markdown, html, junit, comment or badge.
    #[arg(long, default_value = "terminal", value_parser = word::<ReportFormat>, add = words(&FORMATS))]
    pub format: ReportFormat,
    /// The file to write, instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
    /// Show every eval, metric, model and failure.
    #[arg(long, short)]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// `{"eval", "case", "sample", "output"}`, with `usage`, `model` and `trajectory`: the format
    /// that `--outputs` reads.
    Outputs,
    /// `{"task_id", "completion"}`, the format of code benchmarks; a whole program is `solution`.
    Completions,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness export --output outputs.jsonl  the latest run
  eval-harness run --outputs outputs.jsonl    grade the same outputs again
  eval-harness export --run eval-20260304-101500 --eval 'cap-*' --outcome failed
  eval-harness export --format completions --output samples.jsonl

Writes one line per sample that has an output, in the order of the plan. With retries, it is the \
output of the last attempt, which decides the case; graded again, it is the first attempt, so \
pass@k may rise. Samples that the target returned no output for, or failed at, are omitted; their \
number is printed on stderr.")]
pub struct ExportArgs {
    /// The run: `latest`, a run id, or the path of a journal.
    #[arg(long, default_value = "latest", add = by(NameKind::Runs))]
    pub run: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ExportFormat::Outputs)]
    pub format: ExportFormat,
    /// The file to write, instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Eval ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Evals))]
    pub eval: Vec<String>,
    /// Case ids; `*` and `?` are wildcards.
    #[arg(long, value_name = "GLOB", add = by(NameKind::Cases))]
    pub case: Vec<String>,
    /// Only samples with this outcome: passed, failed, errored or pending.
    #[arg(long, value_name = "OUTCOME", value_parser = word::<Outcome>, add = words(&OUTCOMES))]
    pub outcome: Vec<Outcome>,
    #[command(flatten)]
    pub place: RunsPlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness schema                           write the JSON Schemas to
                                                schemas/
  eval-harness schema --output .vscode/schemas  write them to another folder
  eval-harness schema --check                   in CI: exit 1 if they are out of
                                                date")]
pub struct SchemaArgs {
    /// Write nothing; fail if a file differs from what would be written.
    #[arg(long)]
    pub check: bool,
    /// The folder to write the schemas to.
    #[arg(long, short, default_value = "schemas", value_name = "DIR")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness doctor
  eval-harness doctor --format json
  eval-harness doctor --observe python3 solution.py
                                              list the system calls of a
                                              program, and which are refused
  eval-harness doctor --format json --observe node a.js")]
pub struct DoctorArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub format: ListFormat,
    /// Run a command in the sandbox and list the system calls that it makes. All arguments after it
    /// belong to the command.
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    pub observe: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  eval-harness completions bash > ~/.local/share/bash-completion/completions/eval-harness
  eval-harness completions zsh > ~/.zfunc/_eval-harness
                                              in a folder of $fpath
  eval-harness completions fish > ~/.config/fish/completions/eval-harness.fish

The scripts call `eval-harness` on PATH for the evals, cases, tags, targets and presets of the \
suite, and for run ids.")]
pub struct CompletionsArgs {
    /// The shell.
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

/// A word of one of the closed lists that files also use.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::load::{CheckRequest, check_files};

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
                "expected one of `terminal`, `json`, `markdown`, `html`, `junit`, `comment`, `badge`"
            ),
            "{error}"
        );
        let error = Cli::try_parse_from(["eval-harness", "run", "--var", "novalue"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("write KEY=VALUE"), "{error}");
    }

    #[test]
    fn completed_words_are_those_that_parse() {
        /// The words that the error of a wrong one lists.
        fn parsed<T: serde::de::DeserializeOwned + std::fmt::Debug>() -> Vec<String> {
            let error = word::<T>("no-word").expect_err("no such word");
            let (_, expected) = error.split_once("expected ").expect("the right words");
            let words = expected.split('`').skip(1).step_by(2);
            words.map(str::to_owned).collect()
        }
        assert_eq!(parsed::<ReportFormat>(), FORMATS);
        assert_eq!(parsed::<GraderType>(), GRADER_TYPES);
        assert_eq!(parsed::<Difficulty>(), DIFFICULTIES);
        assert_eq!(parsed::<Criticality>(), CRITICALITIES);
        // A skipped sample has no output to export.
        let mut outcomes = parsed::<Outcome>();
        outcomes.retain(|outcome| outcome != "skipped");
        assert_eq!(outcomes, OUTCOMES);
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
    fn the_suite_of_the_help_is_valid() {
        let (_, rest) = HELP.split_once(":\n").expect("a suite");
        let (suite, _) = rest.split_once("\n\n").expect("its end");
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("suite.yaml"), suite).expect("written");
        let checked = check_files(&CheckRequest {
            paths: vec!["suite.yaml".into()],
            cwd: dir.path().to_owned(),
            ..CheckRequest::default()
        });
        let told: Vec<&str> = checked
            .problems
            .iter()
            .map(|p| p.message.as_str())
            .collect();
        assert_eq!(told, [""; 0]);
    }

    #[test]
    fn examples_fit_80_columns() {
        fn check(verb: &clap::Command) {
            let help = verb
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
            for line in examples.lines().take_while(|line| line.starts_with(' ')) {
                let is_command = line.trim_start().starts_with("eval-harness ")
                    && !line.trim_start().contains("  ");
                assert!(line.chars().count() <= 80 || is_command, "{line}");
            }
            verb.get_subcommands().for_each(check);
        }
        check(&Cli::command());
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
