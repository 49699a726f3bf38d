//! What the cases of a run came to: all that a comparison looks at, whatever it was read from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dataset::private_case_id;
use super::event::Shard;
use super::plan::EvalInfo;
use crate::spec::by_id;
use crate::spec::words::IntervalScope;
pub use crate::spec::{CaseRecord, EvalRecord};

/// One side of a comparison, read from journals or from a score baseline. The journal of a run that
/// is compared with it contains it, so that reports can be rendered again without the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunScores {
    pub side: ComparedSide,
    /// The reported k of pass@k and pass^k.
    pub ks: Vec<u32>,
    /// Scope of the intervals of the run.
    #[serde(default, skip_serializing_if = "IntervalScope::is_default")]
    pub interval_scope: IntervalScope,
    /// Named metrics that are scores, in [0, 1].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub score_metrics: Vec<String>,
    /// Evals in the order of the plan; for a score baseline, by id.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, EvalRecord>")]
    pub evals: Vec<EvalRecord>,
}

impl RunScores {
    /// Ids of evals whose datasets are private.
    pub fn private_evals(&self) -> impl Iterator<Item = String> {
        let private = self.evals.iter().filter(|eval| eval.private);
        private.map(|eval| eval.id.clone())
    }

    /// How this run names a case of a plan's eval, by the evals that are private in the run.
    pub fn id_of<'a>(private: &BTreeSet<String>, eval: &EvalInfo, id: &'a str) -> Cow<'a, str> {
        match private.contains(&eval.id) {
            true => Cow::Owned(private_case_id(&eval.id, id)),
            false => eval.case_id(id),
        }
    }

    /// The same with hashes in place of the ids of cases of evals in `private`: a dataset may have
    /// become private since.
    pub fn hiding(&self, private: &BTreeSet<String>) -> Cow<'_, RunScores> {
        let is_shown = |eval: &EvalRecord| !eval.private && private.contains(&eval.id);
        if !self.evals.iter().any(is_shown) {
            return Cow::Borrowed(self);
        }
        let mut hidden = self.clone();
        for eval in hidden.evals.iter_mut().filter(|eval| is_shown(eval)) {
            eval.private = true;
            for case in &mut eval.cases {
                case.id = private_case_id(&eval.id, &case.id);
            }
        }
        Cow::Owned(hidden)
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparedSide {
    /// The name of the side, as on the command line.
    pub label: String,
    pub source: ScoresSource,
    pub suite: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_version: Option<String>,
    pub target: String,
    pub target_type: String,
    /// Fingerprint (hex) of the target's settings; absent for recorded outputs, and if the source
    /// does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub run_id: String,
    /// Start of the run (RFC 3339, UTC).
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True if tracked files had uncommitted changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    pub harness_version: String,
    /// Filters in words, if the run covers only a part of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The shards of this side, if they are not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Shard>,
    /// True if the run was ended early, or its journal is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The run whose stored outputs were graded again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regrade_of: Option<String>,
    /// The run from which unchanged samples were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// The runs whose target returned the outputs of these samples: `changed_since`, or a run before
    /// it from which that run had taken them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused_from: Vec<String>,
    /// True if the run captured baselines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capture: bool,
}

/// Source of the scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoresSource {
    /// A journal, or those of joined shards; paths are relative to the project root if they are
    /// inside.
    Journals(Vec<String>),
    /// The file of a score baseline.
    ScoreBaseline {
        path: String,
        /// The git revision that it was read from, as requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rev: Option<String>,
    },
}
