//! What the cases of a run came to: all that a comparison looks at, whatever it was read from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Shard;
use crate::spec::by_id;
use crate::spec::words::IntervalScope;
pub use crate::spec::{CaseRecord, EvalRecord};

/// One side of a comparison, read from journals or from a score baseline. It is journalled with a
/// run that is compared with it, so that a report can be made again when its source is gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunScores {
    pub side: ComparedSide,
    /// The k of pass@k and pass^k that were reported.
    pub ks: Vec<u32>,
    /// What intervals of the run speak about.
    #[serde(default, skip_serializing_if = "IntervalScope::is_default")]
    pub interval_scope: IntervalScope,
    /// Named metrics that are scores, in [0, 1].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub score_metrics: Vec<String>,
    /// In the plan's order; of a score baseline by id.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, EvalRecord>")]
    pub evals: Vec<EvalRecord>,
}

/// Who stands on one side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedSide {
    /// As the command line named it.
    pub label: String,
    pub source: ScoresSource,
    pub suite: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_version: Option<String>,
    pub target: String,
    pub target_type: String,
    /// A fingerprint (hex) of the target's settings; absent for recorded outputs, and where the
    /// source does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub run_id: String,
    /// When the run began. RFC 3339, UTC.
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True when the checkout held changes that no commit has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    pub harness_version: String,
    /// Filters in words, when the run was not the whole suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The shards that this is made of, when they are not all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Shard>,
    /// True when the run was ended early, or its journal breaks off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The run whose stored outputs were graded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regrade_of: Option<String>,
    /// True when the run was made to capture baselines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capture: bool,
}

/// What the scores were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoresSource {
    /// A journal, or those of joined shards; relative to the project's root when it lies below.
    Journals(Vec<String>),
    /// A score baseline's file.
    ScoreBaseline {
        path: String,
        /// The git revision that it was read at, as it was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rev: Option<String>,
    },
}
