//! What identifies a run, and how it is configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison::ScoreBaselineRead;
use super::event::{Against, Environment, Shard};
use super::metric::Composite;
use super::plan::GateSpec;
use super::reading::detail;
use super::run_scores::RunScores;
use crate::spec::CalibrationFile;
use crate::spec::words::{FailOn, IntervalScope, ReportFormat};

/// Identity of a run: suite, time, environment and program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunIdentity {
    pub suite_name: String,
    pub suite_version: Option<String>,
    pub run_id: String,
    /// Start of the run (RFC 3339, UTC).
    pub timestamp: String,
    pub harness_version: String,
    pub environment: Environment,
    /// Filters in words, if the run covers only a part of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The shard, if the run is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The run whose stored outputs were graded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regrade_of: Option<String>,
    /// The run from which samples were taken whose inputs did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// The git revision whose baselines were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

impl RunIdentity {
    /// Whether a session of the same run has the same identity. When and where it takes place, and
    /// by which version, is its own.
    pub fn is_session_of(&self, run: &RunIdentity) -> bool {
        let RunIdentity {
            timestamp,
            harness_version,
            environment,
            ..
        } = run.clone();
        RunIdentity {
            timestamp,
            harness_version,
            environment,
            ..self.clone()
        } == *run
    }
}

/// Configuration of counting, gate and reports: with an equal configuration, the same events give
/// the same report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunConfig {
    pub suite_description: Option<String>,
    pub gate: GateSpec,
    /// Metrics of parts that are reported whether or not a threshold is on them, such as
    /// `pass_at_1[tag=month:2024-03]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reported_parts: Vec<String>,
    /// Metrics that the suite computes from others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub composites: Vec<Composite>,
    /// Named metrics that are scores in [0, 1]; if all values are 0 or 1, they are proportions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub score_metrics: Vec<String>,
    /// The k of pass@k and pass^k.
    pub ks: Vec<u32>,
    /// Scope of the intervals.
    #[serde(default, skip_serializing_if = "IntervalScope::is_default")]
    pub interval_scope: IntervalScope,
    pub seed: u64,
    pub formats: Vec<ReportFormat>,
    pub include_details: bool,
    /// Comparison in reports.
    #[serde(default, skip_serializing_if = "ComparisonConfig::is_default")]
    pub comparison: ComparisonConfig,
    /// Calibrations of judges, as of the start of the run; only if judges grade.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<CalibrationFile>,
}

/// Comparison in reports, and its effect on the gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonConfig {
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub reference: Option<ComparisonReference>,
    /// Difference that fails the gate; absent if the comparison does not affect the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<FailOn>,
    /// True if cases whose data or grading changed are also compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_changed: bool,
}

impl ComparisonConfig {
    fn is_default(&self) -> bool {
        *self == ComparisonConfig::default()
    }
}

/// The reference of a run, as of the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonReference {
    /// Accepted scores.
    ScoreBaseline(Box<ScoreBaselineRead>),
    /// An earlier run.
    Run(Box<RunScores>),
}
