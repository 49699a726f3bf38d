//! Judges beside people: the root of `calibrate --format json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summary::Estimate;
pub use crate::spec::{CalibrationFile, LabelDraw};

/// What the verdicts of judges are worth against labels of people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationReport {
    /// The version of this format: 1.
    pub format_version: u32,
    /// The run whose outputs were labelled; absent if all data are from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The file of labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Seed of the bootstrap, and of the order in which outputs are to be labelled.
    pub seed: u64,
    pub judges: Vec<JudgeCalibration>,
    /// Remarks on the labels, such as those that match no output.
    pub notes: Vec<String>,
}

/// One judge beside people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeCalibration {
    pub name: String,
    /// Fingerprint (hex) of the judge; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The models, as `provider:model`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Votes of each model; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<u32>,
    /// Outputs with a verdict of the judge.
    pub judged: u64,
    /// Those of them that the judge passed.
    pub judged_passed: u64,
    /// How the labelled outputs were chosen.
    pub draw: LabelDraw,
    /// Labelled outputs on which as many people disagree as agree; they are left out.
    pub undecided: u64,
    /// All labelled outputs together.
    pub overall: JudgeFigures,
    /// The judge's own pass rate over all its outputs.
    pub judged_rate: Estimate,
    /// The rate at which people would pass all these outputs.
    pub corrected_rate: Estimate,
    /// Scores of the judge beside those of people, if both gave scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoreFigures>,
    /// Agreement of people with each other; absent if no output has two labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<PeopleFigures>,
    /// The same figures by criterion and by category.
    pub groups: Vec<FigureGroup>,
    /// Differences in leniency between kinds of outputs.
    pub biases: Vec<BiasFigure>,
    /// Labelled outputs on which the judge and people differ, the most certain first; at most 50.
    pub differences: Vec<LabelDifference>,
    /// Number of labels that intervals of a given width take.
    pub labels_needed: LabelsNeeded,
    /// The outputs to label next, in this order.
    pub next: Vec<NextLabel>,
}

/// Verdicts of a judge beside labels of people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeFigures {
    pub labelled: u64,
    /// Passed by the judge and by people.
    pub true_passes: u64,
    /// Passed by the judge, failed by people.
    pub false_passes: u64,
    /// Failed by the judge and by people.
    pub true_fails: u64,
    /// Failed by the judge, passed by people.
    pub false_fails: u64,
    /// Share of what people pass that the judge passes.
    pub sensitivity: Estimate,
    /// Share of what people fail that the judge fails.
    pub specificity: Estimate,
    /// Share of outputs with equal verdicts.
    pub agreement: Estimate,
    /// Gwet's AC1: agreement beyond chance.
    pub ac1: Estimate,
    /// Cohen's kappa: agreement beyond chance.
    pub kappa: Estimate,
}

/// Figures of a part of the labelled outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureGroup {
    /// `criterion` or `category`.
    pub by: String,
    pub name: String,
    pub figures: JudgeFigures,
}

/// Scores of a judge and of people for the same outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreFigures {
    pub labelled: u64,
    /// Mean of the judge's score minus that of people.
    pub difference: Estimate,
    /// Mean score of the judge over all its outputs.
    pub judged_mean: f64,
    /// Mean score that people would give to all these outputs (prediction-powered inference).
    pub corrected_mean: Estimate,
}

/// Agreement of people on outputs that several of them labelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeopleFigures {
    /// Outputs with two labels or more.
    pub outputs: u64,
    /// Share of pairs of labels that are equal.
    pub agreement: Estimate,
    /// Gwet's AC1.
    pub ac1: Estimate,
    /// Krippendorff's alpha for nominal data.
    pub alpha: Estimate,
}

/// How much more lenient a judge is, compared with people, for some outputs than for the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BiasFigure {
    /// `length`, `position` or `target`.
    pub by: String,
    /// The outputs of this row, in words.
    pub of: String,
    pub labelled: u64,
    /// The difference: positive if the judge is more lenient for these outputs. Leniency is the
    /// share of false passes minus the share of false fails.
    pub leniency: Estimate,
}

/// An output that the judge and people rate differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelDifference {
    pub output: LabelledOutput,
    pub judge_passes: bool,
    /// Number of people who differ from the judge, and of all who labelled it.
    pub against: u64,
    pub people: u64,
}

/// An output of a run or of a file of labels.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct LabelledOutput {
    /// Empty if the file of labels has no evals.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub eval: String,
    pub case: String,
    /// Number of the sample, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sample: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Number of labels, in all, with which 95 % intervals are at most so wide, if further labels
/// resemble the present ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelsNeeded {
    pub width: f64,
    /// `null` if the number is unknown, or too large.
    pub sensitivity: Option<u64>,
    pub specificity: Option<u64>,
    /// `null` if labels of all outputs are not enough, or there is no corrected rate.
    pub corrected_rate: Option<u64>,
}

/// An output that people should label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextLabel {
    pub output: LabelledOutput,
    /// Whether votes of the judge differ, or its score is near the threshold: from 0 to 1.
    pub doubt: f64,
}
