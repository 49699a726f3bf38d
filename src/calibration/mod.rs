//! Judges held against labels of people: which labels there are, what they show of a judge, and the
//! calibrations that are kept in git.
//!
//! `labels` reads files, `of_run` journals, `people` the ratings of reviewers,
//! `measure` computes, `corrected` applies calibrations to
//! runs, `store` keeps `judges/`. The statistics are those of `eval-stats`.

mod corrected;
mod labels;
mod measure;
mod of_run;
mod people;
mod store;
#[cfg(test)]
mod tests;

pub use corrected::{CalibratedJudge, JudgedCounts};
pub use labels::{LabelsFile, read_labels};
pub use measure::{MeasureOptions, calibrate};
pub use of_run::{join, judge_doubt, judged_outputs};
pub use people::{RatedOutput, add_ratings};
pub use store::CalibrationStore;

use crate::model::LabelledOutput;

/// The name of the judge of labels that name none.
pub const UNNAMED_JUDGE: &str = "judge";

/// The outputs that one judge judged, with the labels that people gave to some of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedOutputs {
    pub judge: String,
    pub identity: Option<JudgeIdentity>,
    pub outputs: Vec<JudgedOutput>,
}

/// What a judge is, where it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeIdentity {
    pub fingerprint: String,
    pub models: Vec<String>,
    pub votes: u32,
}

/// An output with the verdict of a judge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedOutput {
    pub output: LabelledOutput,
    /// The criterion that verdict and labels are about; `None` for the verdict as a whole.
    pub criterion: Option<String>,
    pub category: Option<String>,
    /// Characters of the output.
    pub length: Option<f64>,
    /// Where the output was shown, such as `first`.
    pub position: Option<String>,
    pub passed: Option<bool>,
    pub score: Option<f64>,
    /// How far votes differ, or how near the score is to the threshold: from 0 to 1.
    pub doubt: f64,
    pub labels: Vec<PersonLabel>,
    /// What ratings of the output are about, if it is of a run.
    pub rated: Option<RatedOutput>,
    /// The name of the question to reviewers, by which queues draw; empty if it is not of a run.
    pub key: String,
}

/// What one person said of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonLabel {
    pub reviewer: String,
    pub passed: Option<bool>,
    pub score: Option<f64>,
}

impl JudgedOutput {
    /// Whether most people pass it; `None` without labels, and if as many pass as fail it.
    fn people_pass(&self) -> Option<bool> {
        let [passed, failed] = self.people();
        (passed != failed).then_some(passed > failed)
    }

    /// How many people pass it, and how many fail it.
    fn people(&self) -> [u64; 2] {
        let said = |passed| {
            let of = self.labels.iter();
            of.filter(|label| label.passed == Some(passed)).count() as u64
        };
        [said(true), said(false)]
    }

    /// The mean score of people.
    fn people_score(&self) -> Option<f64> {
        let scores: Vec<f64> = self.labels.iter().filter_map(|label| label.score).collect();
        eval_stats::mean(&scores).ok()
    }
}
