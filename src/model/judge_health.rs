//! What a report says of the judges of a run: how well they could be asked, read and believed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
