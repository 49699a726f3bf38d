//! What a report says of the judges of a run: how well they could be asked, read and believed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the judges of a run did. Counts the last attempt of each sample, as scores do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeHealth {
    /// Samples that a judge was asked about.
    pub samples: u64,
    /// Of these, samples of which some judge gave no verdict.
    pub errored: u64,
    /// Verdicts that are missing, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errored_by_cause: BTreeMap<String, u64>,
    /// Samples that have no grade and that no judge was asked about, though their cases have one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_judged: u64,
    /// Verdicts that rest on at least two usable votes.
    pub panels: u64,
    /// Of these, verdicts whose votes do not all agree on whether the output passes.
    pub disagreeing: u64,
    /// Verdicts over an output (or what was shown with it) of which the middle was left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Verdicts over an output that looked as if it were to steer the judge, and was made harmless.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub neutralised: u64,
    /// All judges together.
    pub total: JudgeVotes,
    /// By `provider:model`.
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
    /// Votes whose first reply could not be used, by what was wrong with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// Requests for repair.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u64,
    /// Pairs of usable votes of one model on one question, and those of them that agree on whether
    /// the output passes.
    pub pairs: u64,
    pub agreeing_pairs: u64,
    /// Usable votes whose judge said of itself another verdict than its scores give.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub said_otherwise: u64,
    /// The share of the scale that every usable vote gave, where there are at least 10 of them on
    /// several questions and all gave the same: such a judge may not tell good from bad.
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
