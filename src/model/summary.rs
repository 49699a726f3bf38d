//! What a run amounts to. The JSON report is this, serialised.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::Comparison;
use super::dataset::Disclosure;
use super::dependency::{ReuseCounts, ReusedFrom};
use super::grade::{Grade, Trust};
use super::input_shown::InputShown;
use super::judge_health::JudgeHealth;
use super::models::ModelsUsed;
use super::outcome::{Cause, Outcome};
use super::people::PeopleSummary;
use super::plan::Place;
use super::plan::Threshold;
use super::run::RunIdentity;
use super::trajectory::TrajectoryRecord;
use super::workspace::WorkspaceOutput;
use crate::spec::words::{
    Bound, Criticality, Difficulty, EvalType, FailOn, Figure, FinishReason, IntervalScope,
};
use eval_models::{ModelCall, Usage};

/// The root of `run-<time>.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportFile {
    pub eval_report: Summary,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Summary {
    pub metadata: Metadata,
    pub summary: Totals,
    /// Numbers by metric name, `null` when undefined.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// The same metrics with their intervals and reasons, by name.
    pub estimates: BTreeMap<String, Estimate>,
    pub gate: Gate,
    /// Model calls and their costs; absent if no model was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelsUsed>,
    /// What a reader needs to judge and repeat the result of a benchmark; absent if no eval has a
    /// dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<Box<Disclosure>>,
    /// Health of the judges; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judges: Option<JudgeHealth>,
    /// Ratings by people; absent if no grader is human.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<Box<PeopleSummary>>,
    /// Comparison with an earlier run or accepted scores, paired by case; absent if none was
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Box<Comparison>>,
    /// Earlier runs of the same suite and target, oldest first, at most 30; only of runs that write
    /// an HTML report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastRate>,
    /// Difference of `comparison` that fails the gate; absent if the comparison does not affect the
    /// gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<FailOn>,
    /// Reasons why the figures may be wrong: lost records, and verdicts that contradict their
    /// grades. With any of these, the gate does not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
    /// Filters of `evals` and `failures`, such as `--failed`; figures and gate are those of the
    /// whole run. Absent if nothing was filtered out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list_filters: Vec<String>,
    pub evals: Vec<EvalResult>,
    pub failures: Vec<Failure>,
    pub recommendations: Vec<String>,
    /// True if something is not listed. Figures count everything, and the journal contains it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Number of items that are not listed; absent if all are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
}

/// A reason why the figures of a run may be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunWarning {
    pub kind: RunWarningKind,
    /// Number of affected records or samples.
    pub count: usize,
    /// One sentence that names the first of them.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunWarningKind {
    /// A recording contains unreadable records whose case is unknown: samples may be missing.
    LostRecords,
    /// An outcome does not follow from its grades and its score.
    Contradiction,
}

/// The result of an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PastRate {
    pub run_id: String,
    /// Start of the run (RFC 3339, UTC).
    pub timestamp: String,
    /// The commit that was checked out, if there were no changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The decision; absent if a part of the run was graded again, which was not decided again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Number of cases that passed, of those that passed or failed.
    pub passed: usize,
    pub graded: usize,
}

/// Numbers of items that the lists of a summary omit. With more than 20,000 planned samples,
/// `evals[].cases` contains only cases that are flaky or did not pass in all samples, at most
/// 20,000, and `failures` at most 1,000 entries. Details are limited to 20,000 samples and 128 MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Omitted {
    /// Cases that are not listed.
    pub cases: usize,
    /// Finished samples that are not listed.
    pub samples: usize,
    /// Of these, samples that did not pass.
    pub unpassed_samples: usize,
    /// Omitted entries of `failures`.
    pub failures: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Metadata {
    /// The run; for joined runs, the timestamp is the start of the first one.
    #[serde(flatten)]
    pub run: RunIdentity,
    /// Duration: for resumed runs the sum of the sessions, for joined shards the longest.
    pub duration_seconds: f64,
    /// Scope of the intervals.
    #[serde(default)]
    pub interval_scope: IntervalScope,
    /// True if the run was ended early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The suite file, as on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_path: Option<String>,
    /// Arguments, apart from the suite, that another run of the same cases needs (`--target`,
    /// `--outputs`, ...).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rerun_arguments: Vec<String>,
    /// The other runs that were joined with this one, each a shard of the same suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// Samples that were taken from `changed_since`, and those that were not; absent if the run
    /// took none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReuseCounts>,
}

/// The fields of the identity are fields of the metadata, as they are in JSON.
impl std::ops::Deref for Metadata {
    type Target = RunIdentity;

    fn deref(&self) -> &RunIdentity {
        &self.run
    }
}

impl std::ops::DerefMut for Metadata {
    fn deref_mut(&mut self) -> &mut RunIdentity {
        &mut self.run
    }
}

/// Counts of evals and of cases, and the same by several groupings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    pub total_evals: usize,
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub skipped: usize,
    pub pending: usize,
    /// passed / (passed + failed) over evals; `null` when nothing was graded.
    pub pass_rate: Option<f64>,
    /// Sum of weight x score over the sum of weights, over graded evals.
    pub weighted_score: Option<f64>,
    pub cases: Counts,
    pub samples: Counts,
    /// Samples that passed only on a later attempt.
    pub flaky: usize,
    /// Number of failed calls of the target that were retried.
    #[serde(default)]
    pub infrastructure_retries: usize,
    pub by_type: BTreeMap<EvalType, Counts>,
    pub by_category: BTreeMap<String, Counts>,
    pub by_tag: BTreeMap<String, Counts>,
    /// Cases by the type of their graders; a case with two types counts in both.
    pub by_grader: BTreeMap<String, Counts>,
    /// Samples by cause.
    pub by_cause: BTreeMap<String, usize>,
    /// Trust levels of verdicts on code; empty if no code ran.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_trust: BTreeMap<Trust, TrustCounts>,
    /// Samples with a program that exceeded its time limit and was run again, alone, to confirm it.
    #[serde(default, skip_serializing_if = "none")]
    pub adjudicated: usize,
    /// Number of cases with several graded samples, if there are at least 5 and the samples of each
    /// have identical outputs and verdicts; otherwise absent.
    #[serde(default, skip_serializing_if = "none")]
    pub repeated_cases: usize,
    /// Number of samples that passed with an empty output because no grader requires a text;
    /// absent if 0.
    #[serde(default, skip_serializing_if = "none")]
    pub empty_passes: usize,
}

/// Numbers for one trust level. A sample with grades of two levels counts in both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustCounts {
    pub samples: usize,
    pub grades: usize,
}

fn none(n: &usize) -> bool {
    *n == 0
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub total: usize,
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub skipped: usize,
    pub pending: usize,
    /// passed / (passed + failed); `null` when nothing was graded.
    pub pass_rate: Option<f64>,
}

impl Counts {
    /// Counts one more and keeps `pass_rate` right.
    pub fn add(&mut self, outcome: Outcome) {
        self.total += 1;
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Errored => self.errored += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Pending => self.pending += 1,
        }
        let graded = self.passed + self.failed;
        self.pass_rate = (graded > 0).then(|| self.passed as f64 / graded as f64);
    }
}

/// A metric with its accuracy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// `null` when undefined.
    pub value: Option<f64>,
    /// Lower and upper end of the interval.
    pub ci: Option<[f64; 2]>,
    /// Confidence of the interval, 0.95.
    pub level: f64,
    /// `empirical_likelihood`, `normal`, or `none`.
    pub method: String,
    /// Number of cases in the estimate.
    pub n_cases: usize,
    /// The value if every errored, skipped and pending sample had failed.
    pub worst: Option<f64>,
    /// The value if every errored, skipped and pending sample had passed.
    pub best: Option<f64>,
    /// Reason why there is no value.
    pub undefined: Option<String>,
    /// Note on the value or its interval: samples that are left out, or the reason why there is no
    /// interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Pass,
    Fail,
    Incomplete,
    Pending,
    /// No decision, because the run is one shard of a suite.
    Undecided,
}

impl Summary {
    /// Number of cases of private datasets, which are not listed.
    pub fn private_cases(&self) -> usize {
        let private = self.evals.iter().filter(|eval| eval.private);
        private.map(|eval| eval.counts.total).sum()
    }

    /// Those of [`Summary::private_cases`] that failed or errored.
    pub fn private_unpassed(&self) -> usize {
        let private = self.evals.iter().filter(|eval| eval.private);
        private
            .map(|eval| eval.counts.failed + eval.counts.errored)
            .sum()
    }
}

impl Decision {
    pub fn name(self) -> &'static str {
        match self {
            Decision::Pass => "pass",
            Decision::Fail => "fail",
            Decision::Incomplete => "incomplete",
            Decision::Pending => "pending",
            Decision::Undecided => "undecided",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub decision: Decision,
    /// Exit code: 0, 1, 3, 4 or 130.
    pub exit_code: u8,
    pub thresholds: Vec<ThresholdResult>,
    /// Reasons, in sentences; empty if the gate passed without remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdResult {
    pub metric: String,
    /// `null` when undefined.
    pub value: Option<f64>,
    pub bound: Bound,
    pub threshold: f64,
    pub on: Figure,
    /// `pass`, `fail`, `incomplete` (ungraded samples could change it) or `pending`.
    pub status: Decision,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalResult {
    pub id: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: EvalType,
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub weight: f64,
    pub difficulty: Option<Difficulty>,
    pub criticality: Option<Criticality>,
    /// File and line of its definition; absent for runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Place>,
    pub outcome: Outcome,
    /// Mean score of the graded cases, in [0, 1].
    pub score: Option<f64>,
    pub counts: Counts,
    /// True if the dataset is private: its cases are counted, but not listed here or elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    pub cases: Vec<CaseResult>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseResult {
    pub id: String,
    pub name: Option<String>,
    pub outcome: Outcome,
    /// Mean score of the graded samples, in [0, 1].
    pub score: Option<f64>,
    /// The most common cause of the samples with the case's outcome.
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Number of samples whose first attempt passed.
    pub first_passes: u32,
    pub first_graded: u32,
    /// Tags of the case, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The input of the target, limited to 16 KiB per case and 32 MiB in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<InputShown>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleResult>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleResult {
    pub index: u32,
    pub outcome: Outcome,
    pub score: Option<f64>,
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The output of the target, a text or JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// True if the output is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_truncated: bool,
    /// The reasoning of the model before its answer; never graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
    /// What the target left in its workspace, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Box<WorkspaceOutput>>,
    /// What the agent did, if it reports that; the whole trajectory is in a file beside the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Box<TrajectoryRecord>>,
    /// The graded text, if extraction changed the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<Grade>,
    /// Graders that did not run because the others decided the verdict, by name or method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
    /// Numbers that graders measured, by name; of several grades with the same name, the first
    /// counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// Number of attempts; more than 1 only with retries.
    pub attempts: usize,
    /// The attempts before the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierAttempt>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Number of failed calls of the target that were retried, over all attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub infrastructure_retries: u32,
    pub latency_ms: Option<f64>,
    pub duration_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Reason why the model ended the last answer, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The model call for the last answer; absent if no model was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
    /// The source of a sample that was taken from an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<Box<ReusedFrom>>,
}

/// An attempt that another one followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierAttempt {
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A failed or errored case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub eval_id: String,
    pub case_id: String,
    pub name: String,
    pub outcome: Outcome,
    pub cause: Option<Cause>,
    pub reason: String,
    pub expected: Option<Value>,
    pub actual: Option<Value>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub details: serde_json::Map<String, Value>,
    /// Number of samples of the case that ended this way.
    pub samples: usize,
}

/// What a gate decides from: the run as graded, and the two extremes that the samples without a
/// grade leave open.
#[derive(Debug, Clone, PartialEq)]
pub struct GateTallies {
    /// Of thresholds on ends of intervals that are missed.
    pub lacks: Vec<IntervalShortfall>,
    pub actual: RunTally,
    /// As if every sample without a grade had failed.
    pub worst: RunTally,
    /// As if every sample without a grade had passed.
    pub best: RunTally,
    /// Samples without a grade, by why.
    pub errored: usize,
    pub skipped: usize,
    pub pending: usize,
}

/// What an end of an interval lacks to meet a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalShortfall {
    pub threshold: Threshold,
    pub end: f64,
    /// What the interval is over: `sample`, `case` or `eval`; so many of them, and so many like
    /// these that it takes. `None`: more than 10 million, or no number would.
    pub unit: &'static str,
    pub units: u64,
    pub needed: Option<u64>,
}

/// Outcomes and metrics under one reading of the samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunTally {
    pub evals: Vec<EvalTally>,
    pub metrics: BTreeMap<String, Estimate>,
    /// Of metrics that are a share of evals or cases with one verdict each: how many passed, of how
    /// many.
    pub shares: BTreeMap<String, [u64; 2]>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EvalTally {
    pub id: String,
    pub kind: EvalType,
    pub criticality: Option<Criticality>,
    pub outcome: Outcome,
}
