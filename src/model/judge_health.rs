//! What a report says of the judges of a run: how well they could be asked, read and believed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summary::Estimate;

/// Health of the judges of a run. Counts the last attempt of each sample, as scores do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeHealth {
    /// Samples for which a judge was called.
    pub samples: u64,
    /// Of these, samples for which a judge gave no verdict.
    pub errored: u64,
    /// Missing verdicts, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errored_by_cause: BTreeMap<String, u64>,
    /// Samples without a grade for which no judge was called, although their cases have one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_judged: u64,
    /// Verdicts with at least two usable votes.
    pub panels: u64,
    /// Of these, verdicts whose votes do not all agree on whether the output passes.
    pub disagreeing: u64,
    /// Verdicts over an output (or texts shown with it) that was truncated in the middle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Verdicts over an output that could have steered the judge and was neutralised.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub neutralised: u64,
    /// All judges together.
    pub total: JudgeVotes,
    /// Votes by `provider:model`.
    pub by_model: BTreeMap<String, JudgeVotes>,
    /// What the verdicts are worth by labels of people, for each judge; absent if no judge is
    /// calibrated and no threshold requires it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worth: Vec<JudgeWorth>,
}

/// A judge beside its calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeWorth {
    /// The name of its grader, or the id of its eval.
    pub judge: String,
    /// Fingerprint (hex) of the judge; empty in runs of earlier versions.
    pub fingerprint: String,
    pub status: CalibrationStatus,
    /// Time of the calibration (RFC 3339, UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated_at: Option<String>,
    /// The run or the file whose outputs were labelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels_of: Option<String>,
    /// Number of labelled outputs.
    pub labels: u64,
    /// Outputs of this run with a verdict of the judge, and how many of them it passed.
    pub judged: u64,
    pub judged_passed: u64,
    pub sensitivity: Estimate,
    pub specificity: Estimate,
    /// The judge's pass rate, and the rate that people would give.
    pub judged_rate: Estimate,
    pub corrected_rate: Estimate,
}

/// Whether a calibration counts for a judge of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationStatus {
    /// The labels are a random draw of the outputs of this run.
    ThisRun,
    /// The labels are a random draw of other outputs.
    AnotherRun,
    /// The labels are no random draw: they correct nothing.
    Chosen,
    /// There is a calibration of this name, but of a different judge.
    Void,
    /// There is no calibration.
    Missing,
}

/// The votes of one judge, or of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeVotes {
    pub votes: u64,
    /// Votes that pass the output.
    pub passed: u64,
    pub failed: u64,
    /// Votes that could not be used, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errored: BTreeMap<String, u64>,
    /// Votes that got a reply.
    pub replied: u64,
    /// Votes whose first reply could not be used, by fault.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// Number of repair requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u64,
    /// Pairs of usable votes of one model on one request, and (`agreeing_pairs`) those that agree
    /// on whether the output passes.
    pub pairs: u64,
    pub agreeing_pairs: u64,
    /// Usable votes whose judge stated a different verdict than its scores give.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub said_otherwise: u64,
    /// The share of the scale that every usable vote gave, if at least 10 votes on several requests
    /// all gave the same: such a judge may not distinguish good from bad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_score: Option<f64>,
}

impl JudgeVotes {
    /// Votes that could not be used.
    pub fn all_errored(&self) -> u64 {
        self.errored.values().sum()
    }

    /// Votes whose first reply could not be used.
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
