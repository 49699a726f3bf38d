//! The runs, pair by pair: whether they differ by more than chance.

use serde_json::{Value, json};

use super::RunSides;
use crate::model::RunScores;
use crate::summary::compare::{CompareSettings, ComparisonError, SidePair, compare_pairs};

impl RunSides<'_> {
    /// Tests every pair. `scores` are those of the runs, in their order.
    ///
    /// # Errors
    /// When a run has no value of what is tested.
    pub fn compare_pairs(&mut self, scores: &[RunScores]) -> Result<(), ComparisonError> {
        self.pairs = compare_pairs(scores, &CompareSettings::default())?;
        Ok(())
    }
}

pub fn json(pair: &SidePair, labels: &[String]) -> Value {
    let label = |at: usize| labels.get(at);
    let metric = &pair.metric;
    json!({
        "first": label(pair.first),
        "second": label(pair.second),
        "metric": metric.name,
        "n": metric.n,
        "difference": metric.difference,
        "ci": metric.ci,
        "p": pair.p,
        "verdict": pair.verdict.name(),
        "undefined": metric.undefined,
        "only_first_passed": pair.only_first,
        "only_second_passed": pair.only_second,
        "not_compared": pair.changed,
    })
}
