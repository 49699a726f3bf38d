//! A run beside an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_scores::ComparedSide;
use super::summary::Decision;
use crate::spec::ScoreBaselineFile;
use crate::spec::words::{Criticality, FailOn, Grouping, IntervalScope};

/// The score baseline that a run is compared with, as of the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreBaselineRead {
    /// Path, relative to the project root if it is inside.
    pub path: String,
    /// The git revision that it was read from, as requested; absent for the file on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
    pub file: ScoreBaselineFile,
}

/// One or several runs, compared with a reference: the root of `compare --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparisons {
    /// The version of this format: 1.
    pub format_version: u32,
    /// `regression` if any candidate is one, otherwise `improvement` if any is one.
    pub verdict: ComparisonVerdict,
    pub fail_on: FailOn,
    /// `pass`, `fail`, or `incomplete` if ungraded samples could change the decision.
    pub decision: Decision,
    /// Exit code: 0, 1 or 3.
    pub exit_code: u8,
    /// Reasons, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The candidates, at least one, all compared with the same reference.
    pub candidates: Vec<Comparison>,
}

/// Verdict on the candidate, at the significance level of the settings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The candidate is worse, beyond what chance explains.
    Regression,
    /// The candidate is better, beyond what chance explains.
    Improvement,
    /// No evidence of a difference, which does not mean that there is none: see `detectable`.
    None,
}

/// Settings of the comparison; the same settings and runs give the same figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSettings {
    /// Share of comparisons of equal sides that may be reported as a regression: 0.05. The same
    /// share applies to improvements.
    pub alpha: f64,
    /// Confidence of intervals: 0.95.
    pub level: f64,
    /// The chance of detection that `detectable` uses: 0.8.
    pub power: f64,
    pub resamples: usize,
    pub seed: u64,
    /// The metrics that decide the verdict.
    pub metrics: Vec<String>,
    /// Groupings whose groups also decide the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<Grouping>,
    /// The drop to detect, as a share; `null` if it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    /// Number of candidates that are compared with the reference; their tests share `alpha`.
    pub candidates: usize,
    /// True if cases whose data or grading changed were also compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_changed: bool,
}

/// Two runs, paired by case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    pub reference: ComparedSide,
    pub candidate: ComparedSide,
    /// The verdict over the pairs that were graded on both sides.
    pub verdict: ComparisonVerdict,
    /// The verdict if all ungraded samples had ended against the candidate.
    pub verdict_worst: ComparisonVerdict,
    /// The verdict if all ungraded samples had ended in favour of the candidate.
    pub verdict_best: ComparisonVerdict,
    /// Scope of the verdict: `these_cases`, or `similar_evals` if whole evals were tested.
    pub scope: IntervalScope,
    /// The verdict in words, followed by its reasons.
    pub sentences: Vec<String>,
    /// Metrics in reading order; those that decide the verdict come first.
    pub metrics: Vec<MetricDifference>,
    /// The first tested metric by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupDifference>,
    pub cases: CaseChanges,
    /// Detectable drops; absent if nothing could be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<Detectable>,
    /// Other differences between the two, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub settings: ComparisonSettings,
}

/// A metric on both sides, over the same cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricDifference {
    pub name: String,
    /// Number of pairs in the metric, in `unit`.
    pub n: usize,
    /// `case` or `eval`.
    pub unit: String,
    /// Value of the reference; `null` if undefined.
    pub reference: Option<f64>,
    pub candidate: Option<f64>,
    /// `candidate` minus `reference`.
    pub difference: Option<f64>,
    /// Lower and upper end of the interval of the difference.
    pub ci: Option<[f64; 2]>,
    /// Method of the interval: `tango`, `bootstrap`, `cluster_bootstrap` or `none`.
    pub method: String,
    /// Whether higher values are better; `null` if unknown.
    pub higher_is_better: Option<bool>,
    pub test: Option<DifferenceTest>,
    /// The difference if all ungraded samples had ended against the candidate (`best`: in favour of
    /// it); `null` if that has no bound.
    pub worst: Option<f64>,
    pub best: Option<f64>,
    /// Reason why there is no difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
}

/// A test of the hypothesis that the two sides do not differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DifferenceTest {
    /// `mcnemar_mid_p`, `within_cases`, `sign_flip` or `cluster_sign_flip`.
    pub method: String,
    /// One-sided: the chance of a difference at least as bad for the candidate, if there is none.
    pub p_worse: f64,
    /// One-sided, in the other direction.
    pub p_better: f64,
    /// Holm's adjustment of both, over all tests that decide the verdict, or over all groups;
    /// `null` for tests that do not affect the verdict.
    pub p_worse_adjusted: Option<f64>,
    pub p_better_adjusted: Option<f64>,
    /// True if the test decides the verdict.
    pub decides: bool,
}

/// One metric over the cases of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupDifference {
    pub by: Grouping,
    pub group: String,
    /// The verdict of the test of this group alone, adjusted.
    pub verdict: ComparisonVerdict,
    pub metric: MetricDifference,
    pub broken: usize,
    pub fixed: usize,
}

/// Changes of the cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseChanges {
    /// Number of cases whose outcome is known on both sides.
    pub compared: usize,
    pub still_passing: usize,
    /// Number of cases of evals that are critical on either side: in the reference, and
    /// (`compared_critical`) among `compared`.
    #[serde(default)]
    pub reference_critical: usize,
    #[serde(default)]
    pub compared_critical: usize,
    /// Passed before, failed now.
    pub broken: FlipList,
    /// Of these, cases of critical evals.
    #[serde(default)]
    pub broken_critical: usize,
    /// Failed before, passed now.
    pub fixed: FlipList,
    pub still_failing: FlipList,
    /// Cases that the reference does not have.
    pub new: FlipList,
    /// Cases of the reference that the candidate no longer has.
    pub gone: FlipList,
    /// Cases of both sides that are not compared because their data or grading changed: they are
    /// different tasks now.
    pub changed: FlipList,
    /// Cases of both sides whose outcome is unknown on a side.
    pub ungraded: FlipList,
    /// Of these, cases that may be broken: they did not fail in the reference and did not pass in
    /// the candidate.
    #[serde(default)]
    pub may_be_broken: usize,
    /// Of these, cases of critical evals.
    #[serde(default)]
    pub may_be_broken_critical: usize,
    /// Number of cases of one side that the other side's filters or shards exclude.
    pub not_selected: usize,
    /// Number of paired cases with a different input.
    #[serde(default)]
    pub changed_input: usize,
    /// Number of paired cases whose own target changed.
    #[serde(default)]
    pub changed_target: usize,
    /// Number of cases that were paired although their data or grading changed (`allow_changed`).
    #[serde(default)]
    pub allowed: usize,
    /// Number of compared cases with a different number of graded samples than in the reference.
    pub other_samples: usize,
    /// Number of ungraded samples in cases of both sides, in the reference and in the candidate.
    pub ungraded_samples_reference: usize,
    pub ungraded_samples_candidate: usize,
}

/// A number of cases, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlipList {
    pub count: usize,
    /// Of these, cases of private datasets, which are never listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub private: usize,
    /// The cases: all of them in `compare --format json`, at most 100 in the report of a run.
    pub cases: Vec<CaseFlip>,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl FlipList {
    /// Number of cases that are neither listed nor private.
    pub fn unlisted(&self) -> usize {
        self.count - self.private - self.cases.len()
    }

    /// True when none of the listed cases records whether its input or its grading changed.
    pub fn only_input_or_grading(&self) -> bool {
        let unknown = |case: &CaseFlip| case.changed.contains(&CasePart::InputOrGrading);
        !self.cases.is_empty() && self.cases.iter().all(unknown)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFlip {
    pub eval_id: String,
    pub case_id: String,
    /// Criticality of the eval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criticality: Option<Criticality>,
    /// Number of samples whose first attempt passed, and of those whose first attempt was graded;
    /// `null` if the side does not have the case.
    pub reference: Option<[u32; 2]>,
    pub candidate: Option<[u32; 2]>,
    /// Parts of the case that differ between the sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<CasePart>,
}

/// Part of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CasePart {
    /// The input of the target: the prompt, the messages, the input file.
    Input,
    /// The data in the input: the dataset's row, the input's context, a request or a free-form
    /// input.
    Data,
    /// The expected output, the graders, the share of samples that must pass.
    Grading,
    /// The case's own target.
    Target,
    /// The input or the grading: one of the sides does not record which of them.
    InputOrGrading,
}

impl CasePart {
    pub fn name(self) -> &'static str {
        match self {
            CasePart::Input => "input",
            CasePart::Data => "data",
            CasePart::Grading => "grading",
            CasePart::Target => "target",
            CasePart::InputOrGrading => "input or grading",
        }
    }

    /// True when another one makes another task, so that outcomes are not those of the same
    /// question.
    pub fn defines_task(self) -> bool {
        matches!(
            self,
            CasePart::Data | CasePart::Grading | CasePart::InputOrGrading
        )
    }
}

/// The drop that the comparison could have detected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detectable {
    /// The metric: the first one that decides the verdict.
    pub metric: String,
    /// The smallest true drop that is detected with the chance `power` of the settings, in the
    /// metric's unit; `null` if there is none.
    pub drop: Option<f64>,
    /// The drop for `cases` and `samples`: the required one, otherwise the observed one, otherwise
    /// half of `drop`.
    pub effect: Option<f64>,
    /// Number of similar cases, with as many samples, that would detect it; `null` if it is more
    /// than 10 million or there is none.
    pub cases: Option<u64>,
    /// Number of samples per compared case that would detect it; `null` if there is none or it is
    /// unknown.
    pub samples: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseName {
    pub eval_id: String,
    pub case_id: String,
}
