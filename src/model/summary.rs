//! What a run amounts to. The JSON report is this, serialised.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::comparison::Comparison;
use super::grade::{Grade, Trust};
use super::input_shown::InputShown;
use super::judge_health::JudgeHealth;
use super::models::ModelsUsed;
use super::outcome::{Cause, Outcome};
use super::plan::Place;
use super::plan::Threshold;
use super::run::RunIdentity;
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
    /// How models were asked and what that took; absent when none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelsUsed>,
    /// How well judges could be asked, read and believed; absent when none was to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judges: Option<JudgeHealth>,
    /// Beside an earlier run or accepted scores, paired by case; absent when nothing of that kind
    /// was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Box<Comparison>>,
    /// Earlier runs of the same suite and target, oldest first, at most 30; only of runs that write
    /// an HTML report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastRate>,
    /// Which difference of `comparison` fails the gate; absent, it informs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<FailOn>,
    /// Why the figures may be wrong: lost records, and verdicts that contradict their grades. With
    /// any of these the gate does not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
    pub evals: Vec<EvalResult>,
    pub failures: Vec<Failure>,
    pub recommendations: Vec<String>,
    /// True when something is not listed; figures count everything, and the journal has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How much is not listed; absent when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omitted>,
}

/// A reason why the figures of a run may be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunWarning {
    pub kind: RunWarningKind,
    /// How many records or samples it is about.
    pub count: usize,
    /// One sentence, which names the first ones.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunWarningKind {
    /// A recording holds records that can't be read and name no case: samples may be missing.
    LostRecords,
    /// An outcome does not follow from its grades and its score.
    Contradiction,
}

/// What an earlier run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PastRate {
    pub run_id: String,
    /// RFC 3339, UTC.
    pub timestamp: String,
    /// The commit that was checked out without changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Absent when a part of it was graded again: nobody decided over what it then came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Cases that passed, of those that passed or failed.
    pub passed: usize,
    pub graded: usize,
}

/// What the lists of a summary leave out. Beyond 20,000 planned samples `evals[].cases` holds only
/// cases that are not passed in all their samples, or flaky, at most 20,000 of them, and `failures`
/// at most 1,000; details are kept of at most 20,000 samples and 128 MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Omitted {
    /// Cases that no eval lists.
    pub cases: usize,
    /// Finished samples that no case lists.
    pub samples: usize,
    /// Of these, samples that did not pass: too many, or too large.
    pub unpassed_samples: usize,
    /// Entries of `failures`.
    pub failures: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Metadata {
    /// Of joined runs: when the first of them began.
    #[serde(flatten)]
    pub run: RunIdentity,
    /// Sum over the sessions of a resumed run; of joined shards the longest.
    pub duration_seconds: f64,
    /// What intervals speak about.
    #[serde(default)]
    pub interval_scope: IntervalScope,
    /// True when the run was ended early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The suite file as it was given on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_path: Option<String>,
    /// Arguments beside the suite that a further run of the same cases needs (`--target`,
    /// `--outputs`, ...).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rerun_arguments: Vec<String>,
    /// The other runs that were joined to this one, each a shard of the same suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
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
    /// Calls of the target that did not get through and were made again.
    #[serde(default)]
    pub infrastructure_retries: usize,
    pub by_type: BTreeMap<EvalType, Counts>,
    pub by_category: BTreeMap<String, Counts>,
    pub by_tag: BTreeMap<String, Counts>,
    /// Cases by the type of their graders; a case with two types counts in both.
    pub by_grader: BTreeMap<String, Counts>,
    /// Samples by cause.
    pub by_cause: BTreeMap<String, usize>,
    /// By what the verdicts over candidates' code rest on; empty when no code ran.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_trust: BTreeMap<Trust, TrustCounts>,
    /// Samples with a program that ran out of time and was run once more, alone, before that was
    /// believed.
    #[serde(default, skip_serializing_if = "none")]
    pub adjudicated: usize,
    /// Cases with several graded samples, when all of them (at least 5) have identical outputs and
    /// verdicts in each; else absent.
    #[serde(default, skip_serializing_if = "none")]
    pub repeated_cases: usize,
}

/// How much rests on a level of trust. A sample with grades of two levels counts in both.
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

/// A metric with what is known of its accuracy.
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
    /// Cases that entered the estimate.
    pub n_cases: usize,
    /// The value if every errored, skipped and pending sample had failed.
    pub worst: Option<f64>,
    /// The value if every errored, skipped and pending sample had passed.
    pub best: Option<f64>,
    /// Why there is no value.
    pub undefined: Option<String>,
    /// What a reader must know of the interval, such as why there is none.
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
    /// Nothing was decided, because the run is one shard of a suite.
    Undecided,
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
    /// 0, 1, 3, 4 or 130, as documented.
    pub exit_code: u8,
    pub thresholds: Vec<ThresholdResult>,
    /// Why, in sentences; empty when the gate passed without remarks.
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
    /// `pass`, `fail`, or `incomplete` (the samples that are not graded could decide either way),
    /// or `pending`.
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
    /// Where it is written; absent for runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Place>,
    pub outcome: Outcome,
    /// Mean score of the graded cases, in [0, 1].
    pub score: Option<f64>,
    pub counts: Counts,
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
    /// The commonest cause among samples with the case's outcome.
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Samples whose first attempt passed, over samples whose first attempt was graded.
    pub first_passes: u32,
    pub first_graded: u32,
    /// The case's own tags, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the target was given, as far as it was kept: 16 KiB a case, 32 MiB in all.
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
    /// Text or JSON as the target gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// True when the target said more than was kept of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_truncated: bool,
    /// What the model thought aloud before it answered; never graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
    /// What was graded, when extraction changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<Grade>,
    /// Numbers that graders measured, by name; of several grades with one name the first counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// How many attempts were made; more than 1 only with retries.
    pub attempts: usize,
    /// The attempts before the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierAttempt>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Calls of the target that did not get through and were made again, over all attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub infrastructure_retries: u32,
    pub latency_ms: Option<f64>,
    pub duration_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model ended the last answer, when it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// How the model was asked for the last answer; absent when no model was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
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

/// A sample's failure as people want to read it; errored ones are listed too.
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
    /// Samples of the case that ended this way.
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
