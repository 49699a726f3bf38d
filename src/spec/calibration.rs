//! Calibrations of judges, as kept in git.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format version of calibrations; readers refuse higher versions.
pub const CALIBRATION_VERSION: u32 = 1;

/// The verdicts of a judge beside the labels of people: `judges/<name>.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationFile {
    /// The version of this format: 1.
    pub format_version: u32,
    /// The judge's name: that of its grader, or the id of its eval.
    #[schemars(length(min = 1))]
    pub judge: String,
    /// Fingerprint (hex) of the judge: models, votes, prompt, rubric, scale and what it is shown. A
    /// judge with a different fingerprint is not calibrated by this file.
    pub fingerprint: String,
    /// The models, as `provider:model`.
    #[serde(default)]
    pub models: Vec<String>,
    /// Votes of each model.
    #[schemars(range(min = 1))]
    pub votes: u32,
    /// Time of the calibration (RFC 3339, UTC).
    pub calibrated_at: String,
    /// The origin of the labels.
    pub labels: LabelOrigin,
    /// Labelled outputs by verdict of the judge and label of people.
    pub confusion: Vec<ConfusionRow>,
}

/// The origin of the labels of a calibration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelOrigin {
    /// The run whose outputs were labelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The file of labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How the labelled outputs were chosen.
    pub draw: LabelDraw,
    /// Number of outputs that the judge judged, with and without a label.
    pub judged: u64,
    /// Number of these that the judge passed.
    pub judged_passed: u64,
    /// The people who labelled, if they are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
}

/// How labelled outputs were chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelDraw {
    /// At random, each with a known chance (or all of them). Such labels correct rates.
    Random,
    /// By choice, or it is unknown how. Such labels correct no rate.
    #[default]
    Chosen,
}

/// Labelled outputs with the same verdict, label and weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfusionRow {
    /// True if the judge passes them.
    pub judge_passes: bool,
    /// True if people pass them.
    pub people_pass: bool,
    /// 1 divided by the chance of being drawn; 1 if all chances are equal.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: f64,
    /// Number of outputs.
    pub count: u64,
}

fn one() -> f64 {
    1.0
}

fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}
