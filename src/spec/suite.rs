//! Suites.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::baseline::SuiteBaselines;
use super::executor::SuiteExecutors;
use super::grader::SuiteGraders;
use super::prices::{BudgetSpec, SuitePrices};
use super::sandbox::SandboxSpec;
use super::shape::EvalShape;
use super::thresholds::Thresholds;
use super::words::{IntervalScope, ReportFormat};
use super::{ChannelSpec, OneOrMany, ProviderSpec, RefOr, SkillSpec, SuiteCache, TargetSpec};

/// A file with `eval_suite:`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    pub eval_suite: SuiteSpec,
}

/// Evals, a target, graders, thresholds and reporting.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteSpec {
    #[schemars(length(min = 1))]
    pub name: String,
    pub version: Option<String>,
    pub description: Option<String>,
    #[serde(default)]
    pub config: SuiteConfig,
    /// References (`$ref: path`, a glob, or `path#eval-id`) and evals written inline.
    #[schemars(length(min = 1))]
    pub evals: Vec<RefOr<EvalShape>>,
    /// The system under test.
    pub target: Option<TargetSpec>,
    /// Named targets, chosen with `--target`; without a choice the first by name `default`, or the
    /// only one.
    #[serde(default)]
    pub targets: BTreeMap<String, TargetSpec>,
    /// Where models are asked, by the name that stands before the colon of `model: "NAME:MODEL"`.
    /// `openai` and `anthropic` are there without it.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderSpec>,
    /// How skills are run: what `execution: {type: skill}` of an eval leaves out is taken from
    /// here.
    pub skill: Option<SkillSpec>,
    /// Variables of templates.
    #[serde(default)]
    pub vars: BTreeMap<String, Value>,
    /// Environment variables that templates may read as `env.NAME`.
    #[serde(default)]
    pub env: Vec<String>,
    /// Named graders, defaults and rubrics.
    pub graders: Option<SuiteGraders>,
    /// Languages that graders may name after `executor:` beside the built-in ones; `$ref` to a file
    /// of them.
    pub executors: Option<SuiteExecutors>,
    /// What models cost, by `provider:model`; `$ref` to a file of prices. Default: `prices.yaml` in
    /// the folder `config/` beside this file, or beside this file.
    pub prices: Option<SuitePrices>,
    /// What the sandbox that runs code must give.
    pub sandbox: Option<SandboxSpec>,
    /// Demands on metrics; `$ref` to a file of presets and thresholds.
    pub thresholds: Option<RefOr<Thresholds>>,
    /// Presets that `--preset` knows besides the built-in ones.
    #[serde(default)]
    pub presets: BTreeMap<String, Thresholds>,
    /// The set of thresholds that holds unless `--preset` says another.
    pub preset: Option<String>,
    /// Metrics that are computed from others, by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, MetricSpec>,
    /// Failed regression evals that the gate forgives (never critical ones).
    pub max_regressions: Option<u32>,
    /// The folder of baselines, relative to this file, or the folder and more. Default `baselines/`
    /// in the project root.
    pub baselines: Option<SuiteBaselines>,
    /// Folders outside the project that `$ref` and file inputs may reach.
    #[serde(default)]
    pub allow_paths: Vec<String>,
    /// Who gets a message about a gate: webhooks and commands.
    #[serde(default)]
    pub notify: Vec<ChannelSpec>,
    #[serde(default)]
    pub reporting: ReportingSpec,
}

/// A metric of the suite's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    /// The weighted mean of these, each brought to 0 (bad) to 1 (good).
    #[schemars(length(min = 1, max = 64))]
    pub composite: Vec<ComponentSpec>,
}

/// One part of a composite metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentSpec {
    /// A built-in metric, or one that a grader measures.
    pub metric: String,
    /// Its share of the whole, relative to the other weights. Default 1.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    pub weight: Option<f64>,
    /// `true` for what is better when it is lower: 1 - its value in the range. Default false.
    #[serde(default)]
    pub invert: bool,
    /// The values that count 0 and 1; beyond them nothing is gained or lost. Default `[0, 1]`;
    /// metrics that are no shares need one.
    pub range: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteConfig {
    /// `false`: samples run one after the other. Default true.
    pub parallel_execution: Option<bool>,
    /// Samples in flight at once. Default: the number of cores.
    #[schemars(range(min = 1, max = 4096))]
    pub max_workers: Option<usize>,
    /// Seconds for the whole run.
    #[schemars(range(min = 0.001, max = 31536000.0))]
    pub timeout_global: Option<f64>,
    /// Seconds for one grader that looks at an output, and for `extract`; beyond them the sample is
    /// errored. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub grade_timeout_seconds: Option<f64>,
    /// Try failed samples again. Default false.
    pub retry_failed: Option<bool>,
    /// How often. Default 1 when `retry_failed` is true.
    #[schemars(range(max = 100))]
    pub retry_count: Option<u32>,
    /// Independent samples of each case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// The k of pass@k and pass^k to report.
    #[serde(default)]
    pub k: OneOrMany<u32>,
    /// What intervals speak about: `these_cases` (more samples of the same cases), `similar_cases`
    /// (cases like these in these evals, the default) or `similar_evals` (evals like these; at
    /// least 5).
    pub intervals: Option<IntervalScope>,
    /// Seed of the resampling. Default 0.
    pub seed: Option<u64>,
    /// Seconds for one call of the target, where the eval does not say. Default 60.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Whether answers of models are kept and used again: `use` (the default), `refresh`, `off` or
    /// `only`; or the mode and the folder.
    pub cache: Option<SuiteCache>,
    /// What the run may spend on models; beyond it nothing more is asked, and what is left is
    /// skipped.
    pub budget: Option<BudgetSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportingSpec {
    /// Default `json` and `markdown`.
    pub format: Option<OneOrMany<ReportFormat>>,
    /// Relative to this file. Default `results/` in the project root.
    pub output_dir: Option<String>,
    /// `false` leaves inputs, outputs, grades and samples out of the JSON and the HTML report.
    /// Default true.
    pub include_details: Option<bool>,
    /// Tell the channels of `notify:` of a run whose gate does not pass (those with `on: always` of
    /// every run), and ring the terminal's bell.
    pub notify_on_failure: Option<bool>,
}
