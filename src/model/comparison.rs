//! A run beside an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_scores::ComparedSide;
use super::summary::Decision;
use crate::spec::ScoreBaselineFile;
use crate::spec::words::{Criticality, FailOn, Grouping, IntervalScope};

/// The score baseline that a run is compared with, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreBaselineRead {
    /// Relative to the project's root when it lies below.
    pub path: String,
    /// The git revision that it was read at, as it was asked for; absent for the file in the
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
    pub file: ScoreBaselineFile,
}

/// One run, or several, held against a reference: the root of `compare --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparisons {
    /// The version of this form: 1.
    pub format_version: u32,
    /// `regression` when any candidate is one, else `improvement` when any is.
    pub verdict: ComparisonVerdict,
    pub fail_on: FailOn,
    /// `pass`, `fail`, or `incomplete` when samples without a grade leave it open.
    pub decision: Decision,
    /// 0, 1 or 3.
    pub exit_code: u8,
    /// Why, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// At least one, all held against the same reference.
    pub candidates: Vec<Comparison>,
}

/// What a comparison says of the candidate, at the level of its settings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The candidate is worse, beyond what chance explains.
    Regression,
    /// The candidate is better, beyond what chance explains.
    Improvement,
    /// No evidence of a difference. That is not evidence of none: see `detectable`.
    None,
}

/// How it was compared: with the same settings and runs every figure comes out the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSettings {
    /// Share of comparisons of equals that may be called a regression: 0.05. Improvements have as
    /// much.
    pub alpha: f64,
    /// Confidence of intervals: 0.95.
    pub level: f64,
    /// The chance of being found that `detectable` speaks of: 0.8.
    pub power: f64,
    pub resamples: usize,
    pub seed: u64,
    /// The metrics that the verdict rests on.
    pub metrics: Vec<String>,
    /// Groupings whose groups the verdict rests on, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<Grouping>,
    /// The drop that somebody wants to find, as a share; `null` when nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    /// Candidates that are held against the reference at once; their tests share `alpha`.
    pub candidates: usize,
    /// True when cases whose data or grading changed were compared, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_changed: bool,
}

/// Two runs, paired by case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    pub reference: ComparedSide,
    pub candidate: ComparedSide,
    /// Over the pairs that were graded on both sides.
    pub verdict: ComparisonVerdict,
    /// The verdict if everything without a grade had gone against the candidate.
    pub verdict_worst: ComparisonVerdict,
    /// The verdict if everything without a grade had gone for the candidate.
    pub verdict_best: ComparisonVerdict,
    /// What the verdict speaks about: `these_cases`, or `similar_evals` where whole evals were
    /// tested.
    pub scope: IntervalScope,
    /// The verdict in words: the first sentence says it, the others say what it rests on.
    pub sentences: Vec<String>,
    /// In reading order; those that the verdict rests on first.
    pub metrics: Vec<MetricDifference>,
    /// The first tested metric by group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupDifference>,
    pub cases: CaseChanges,
    /// What could have been found; absent when nothing could be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<Detectable>,
    /// What else differs between the two, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub settings: ComparisonSettings,
}

/// A metric on both sides, over the same cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricDifference {
    pub name: String,
    /// Pairs that entered it, of `unit`.
    pub n: usize,
    /// `case` or `eval`.
    pub unit: String,
    /// `null` when undefined.
    pub reference: Option<f64>,
    pub candidate: Option<f64>,
    /// `candidate` minus `reference`.
    pub difference: Option<f64>,
    /// Lower and upper end of the interval of the difference.
    pub ci: Option<[f64; 2]>,
    /// How the interval was made: `tango`, `bootstrap`, `cluster_bootstrap` or `none`.
    pub method: String,
    /// Whether more of it is better; `null` where nobody said.
    pub higher_is_better: Option<bool>,
    pub test: Option<DifferenceTest>,
    /// The difference if everything without a grade had gone against, or for, the candidate; `null`
    /// where that has no bound.
    pub worst: Option<f64>,
    pub best: Option<f64>,
    /// Why there is no difference.
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
    /// One-sided, the other way.
    pub p_better: f64,
    /// Holm's adjustment of both, over all tests that the verdict rests on, or over all groups;
    /// `null` for what informs only.
    pub p_worse_adjusted: Option<f64>,
    pub p_better_adjusted: Option<f64>,
    /// True when the verdict rests on it.
    pub decides: bool,
}

/// One metric over the cases of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupDifference {
    pub by: Grouping,
    pub group: String,
    /// What the test of this group alone says, adjusted.
    pub verdict: ComparisonVerdict,
    pub metric: MetricDifference,
    pub broken: usize,
    pub fixed: usize,
}

/// What became of the cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseChanges {
    /// Cases whose outcome is known on both sides.
    pub compared: usize,
    pub still_passing: usize,
    /// Cases of critical evals, by either side's word: how many the reference has, and how many of
    /// them are among `compared`.
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
    /// Cases of both whose data or grading changed and that are not compared: they are other tasks
    /// than they were.
    pub changed: FlipList,
    /// Cases of both whose outcome is open on a side.
    pub ungraded: FlipList,
    /// Of these, cases that may have broken: the reference did not fail them, and the candidate did
    /// not pass them.
    #[serde(default)]
    pub may_be_broken: usize,
    /// Of these, cases of critical evals.
    #[serde(default)]
    pub may_be_broken_critical: usize,
    /// Cases of the reference that the candidate's filters or shards leave out, and the other way
    /// round.
    pub not_selected: usize,
    /// Paired cases that were asked for with another input.
    #[serde(default)]
    pub changed_input: usize,
    /// Paired cases whose own target changed.
    #[serde(default)]
    pub changed_target: usize,
    /// Cases whose data or grading changed and that were paired nevertheless, since that was
    /// allowed.
    #[serde(default)]
    pub allowed: usize,
    /// Compared cases with another number of graded samples than in the reference.
    pub other_samples: usize,
    /// Samples without a grade in cases of both sides.
    pub ungraded_samples_reference: usize,
    pub ungraded_samples_candidate: usize,
}

/// How many cases, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlipList {
    pub count: usize,
    /// All of them in `compare --format json`; in the report of a run at most 100.
    pub cases: Vec<CaseFlip>,
}

impl FlipList {
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
    /// Of the eval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criticality: Option<Criticality>,
    /// Samples whose first attempt passed, and those whose first attempt was graded; `null` where
    /// the side lacks the case.
    pub reference: Option<[u32; 2]>,
    pub candidate: Option<[u32; 2]>,
    /// What is not the same on both sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<CasePart>,
}

/// What makes a case what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CasePart {
    /// How the target is asked: the prompt, the messages, the input file.
    Input,
    /// What the input is made of: the dataset's row, the input's context, a request or a free-form
    /// input.
    Data,
    /// The expectation, the graders, the share of samples that must pass.
    Grading,
    /// The case's own target.
    Target,
    /// The input or the grading: one of the sides does not record which.
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

/// What the comparison could have found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detectable {
    /// The metric that it speaks of: the first that the verdict rests on.
    pub metric: String,
    /// The smallest true drop that is found with the chance `power` of the settings, in the
    /// metric's unit; `null` when none is.
    pub drop: Option<f64>,
    /// The drop that `cases` and `samples` are for: the required one, else the observed one, else
    /// half of `drop`.
    pub effect: Option<f64>,
    /// Cases like these that would find it, with as many samples; `null` when more than 10 million,
    /// or none would.
    pub cases: Option<u64>,
    /// Samples of each of the compared cases that would find it; `null` when no number would, or it
    /// can't be known.
    pub samples: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseName {
    pub eval_id: String,
    pub case_id: String,
}
