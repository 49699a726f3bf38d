//! A run beside the accepted scores of an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::ScoreBaselineFile;

/// The score baseline that a run is compared with, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreBaselineRead {
    /// Relative to the project's root when it lies below.
    pub path: String,
    /// The git revision that it was read at, as it was asked for; absent for the file in the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
    pub file: ScoreBaselineFile,
}

/// What differs between the run and the accepted scores. It informs; it does not decide the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaselineComparison {
    /// The score baseline's file.
    pub path: String,
    /// The git revision that it was read at; `null` for the file in the folder.
    pub rev: Option<String>,
    pub captured_at: String,
    pub run_id: String,
    pub commit: Option<String>,
    pub dirty: bool,
    /// What else differs between the two runs, in sentences.
    pub notes: Vec<String>,
    /// Cases that were graded in both.
    pub compared_cases: usize,
    /// True when both runs have the same cases, all of them graded: then `metrics` are those of the whole runs, else those
    /// of the compared cases alone.
    pub same_cases: bool,
    pub metrics: Vec<MetricChange>,
    /// Cases that failed in the baseline and pass now.
    pub fixed: CaseList,
    /// Cases that passed in the baseline and fail now.
    pub broken: CaseList,
    /// Cases that the baseline does not have.
    pub new: CaseList,
    /// Cases of the baseline that the suite no longer has.
    pub gone: CaseList,
    /// Cases of both whose input or grading is no longer what it was: their outcomes tell nothing of the target.
    pub changed: CaseList,
    /// Cases of both that ended without a grade now.
    pub not_comparable: CaseList,
    /// Cases of the baseline that the run's filters or its shard leave out.
    pub not_selected: usize,
    /// Compared cases with another number of graded samples than in the baseline.
    pub other_samples: usize,
}

/// A metric of both runs, over the same cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricChange {
    pub name: String,
    /// `null` when undefined.
    pub baseline: Option<f64>,
    pub now: Option<f64>,
    /// `now` minus `baseline`; `null` when one of them is undefined, or when they were measured over other numbers of cases.
    pub delta: Option<f64>,
    /// Cases (of latencies and costs: samples) that entered `now`.
    pub n_cases: usize,
}

/// How many cases, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseList {
    pub count: usize,
    /// At most 100.
    pub cases: Vec<CaseName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseName {
    pub eval_id: String,
    pub case_id: String,
}

impl CaseList {
    /// Names beyond which cases are only counted.
    pub const LISTED: usize = 100;

    pub fn add(&mut self, eval: &str, case: &str) {
        self.count += 1;
        if self.cases.len() < CaseList::LISTED {
            self.cases.push(CaseName { eval_id: eval.to_owned(), case_id: case.to_owned() });
        }
    }
}
