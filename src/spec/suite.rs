//! Suites.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::baseline::SuiteBaselines;
use super::check::CheckSpec;
use super::executor::SuiteExecutors;
use super::grader::SuiteGraders;
use super::input::SuitePrompts;
use super::prices::{BudgetSpec, SuitePrices};
use super::sandbox::SandboxSpec;
use super::shape::EvalShape;
use super::thresholds::Thresholds;
use super::words::{IntervalScope, ReportFormat};
use super::workspace::WorkspaceSetting;
use super::{ChannelSpec, OneOrMany, ProviderSpec, RefOr, SkillSpec, SuiteCache, TargetSpec};

/// A file with `eval_suite:`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// The suite.
    pub eval_suite: SuiteSpec,
}

/// Evals, a target, graders, thresholds and reporting.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteSpec {
    /// Name of the suite.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Version of the suite, for reports.
    pub version: Option<String>,
    /// Description for reports.
    pub description: Option<String>,
    /// Settings for running the suite.
    #[serde(default)]
    pub config: SuiteConfig,
    /// References (`$ref: path`, a glob, or `path#eval-id`) and evals written inline.
    #[schemars(length(min = 1))]
    pub evals: Vec<RefOr<EvalShape>>,
    /// The system under test.
    pub target: Option<TargetSpec>,
    /// Named targets, selected with `--target`. Default: the target named `default`, or the only
    /// one.
    #[serde(default)]
    pub targets: BTreeMap<String, TargetSpec>,
    /// Model APIs, by the name before the colon in `model: "NAME:MODEL"`. `openai` and `anthropic`
    /// are built in.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderSpec>,
    /// Prompts to compare, by name: each replaces the text of every input; `{{ input }}` is that
    /// text. Without `--prompt`, `run` uses every one.
    #[serde(default)]
    pub prompts: SuitePrompts,
    /// How skills are run: defaults for `execution: {type: skill}` of evals.
    pub skill: Option<SkillSpec>,
    /// Variables for templates.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
    /// Environment variables that templates may read as `env.NAME`.
    #[serde(default)]
    pub env: Vec<String>,
    /// Named graders, defaults and rubrics.
    pub graders: Option<SuiteGraders>,
    /// Languages that graders may use in `executor:` in addition to the built-in ones; `$ref` to a
    /// file of them.
    pub executors: Option<SuiteExecutors>,
    /// Prices of models, by `provider:model`; `$ref` to a file of prices. Default:
    /// `config/prices.yaml` or `prices.yaml` next to this file.
    pub prices: Option<SuitePrices>,
    /// Requirements for the sandbox that runs code.
    pub sandbox: Option<SandboxSpec>,
    /// The folder in which each sample of a case is made.
    #[serde(default)]
    pub workspace: WorkspaceSetting,
    /// Settings of `eval-harness check`.
    #[serde(default)]
    pub check: CheckSpec,
    /// Required values of metrics; `$ref` to a file of presets and thresholds.
    pub thresholds: Option<RefOr<Thresholds>>,
    /// Presets for `--preset`, in addition to the built-in ones.
    #[serde(default)]
    pub presets: BTreeMap<String, Thresholds>,
    /// The set of thresholds to use; `--preset` overrides it.
    pub preset: Option<String>,
    /// Metrics computed from other metrics, by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, MetricSpec>,
    /// Number of regression evals that may fail without failing the gate (critical ones never may).
    pub max_regressions: Option<u32>,
    /// The folder of the baselines, relative to this file, or an object with the folder and other
    /// settings. Default `baselines/` in the project root.
    pub baselines: Option<SuiteBaselines>,
    /// Folders outside the project that `$ref` and file inputs may read.
    #[serde(default)]
    pub allow_paths: Vec<String>,
    /// Channels that receive a message about a gate: webhooks and commands.
    #[serde(default)]
    pub notify: Vec<ChannelSpec>,
    /// Reports and notifications.
    #[serde(default)]
    pub reporting: ReportingSpec,
}

/// A metric computed from other metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// Parts of the metric: it is their weighted mean, each scaled to 0 (bad) to 1 (good).
    #[schemars(length(min = 1, max = 64))]
    pub composite: Vec<ComponentSpec>,
}

/// One part of a composite metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentSpec {
    /// A built-in metric, or one that a grader measures.
    pub metric: String,
    /// Weight of the part, relative to the other parts. Default 1.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub weight: Option<f64>,
    /// `true` for metrics of which lower values are better: the part is 1 minus the scaled value.
    /// Default false.
    #[serde(default)]
    pub invert: bool,
    /// The values that score 0 and 1; values outside score 0 or 1. Default `[0, 1]`; required for
    /// metrics that are not shares.
    pub range: Option<[f64; 2]>,
}

/// Settings for running a suite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteConfig {
    /// `false` runs samples one after the other. Default true.
    pub parallel_execution: Option<bool>,
    /// Number of samples to run at once. Default: the number of cores.
    #[schemars(range(min = 1, max = 4096))]
    pub max_workers: Option<usize>,
    /// Time limit in seconds for the whole run.
    #[schemars(range(min = 0.001, max = 31536000.0))]
    pub timeout_global: Option<f64>,
    /// Time limit in seconds for one code grader that runs no program, and for `extract`; a sample
    /// that exceeds it is errored. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub grade_timeout_seconds: Option<f64>,
    /// Retry failed samples. Default false.
    pub retry_failed: Option<bool>,
    /// Number of retries. Default 1 if `retry_failed` is true.
    #[schemars(range(max = 100))]
    pub retry_count: Option<u32>,
    /// Number of independent samples per case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// The k of pass@k and pass^k to report.
    #[serde(default)]
    pub k: OneOrMany<u32>,
    /// Scope of the intervals: `these_cases` (more samples of the same cases), `similar_cases`
    /// (similar cases in these evals, the default) or `similar_evals` (similar evals; requires at
    /// least 5).
    pub intervals: Option<IntervalScope>,
    /// Seed of the resampling. Default 0.
    pub seed: Option<u64>,
    /// Time limit in seconds for one call of the target, unless the eval sets it. Default 60.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Cache for model answers: `use` (the default), `refresh`, `off` or `only`; or the mode and
    /// the folder.
    pub cache: Option<SuiteCache>,
    /// Spending limit for models; when it is reached, no model is called, and the remaining samples
    /// are skipped.
    pub budget: Option<BudgetSpec>,
}

/// Reports and notifications.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportingSpec {
    /// Formats of the reports. Default `json` and `markdown`.
    pub format: Option<OneOrMany<ReportFormat>>,
    /// The results folder, relative to this file. Default `results/` in the project root.
    pub output_dir: Option<String>,
    /// `false` omits inputs, outputs, grades and samples from the JSON and HTML reports. Default
    /// true.
    pub include_details: Option<bool>,
    /// Notify the channels of `notify:` of runs whose gate does not pass (with `on: always`, of
    /// every run), and ring the terminal's bell. Default false.
    pub notify_on_failure: Option<bool>,
}
