//! A score baseline as one side of a comparison.

use crate::model::{ComparedSide, IntervalScope, RunScores, ScoreBaselineRead, ScoresSource};

/// The side that accepted scores are. They are those of a whole run of which nothing is left open.
pub fn of_baseline(label: String, read: &ScoreBaselineRead) -> RunScores {
    let file = &read.file;
    let model = file
        .environment
        .get("model")
        .and_then(|model| model.as_str());
    RunScores {
        side: ComparedSide {
            label,
            source: ScoresSource::ScoreBaseline {
                path: read.path.clone(),
                rev: read.rev.clone(),
            },
            suite: file.suite.clone(),
            suite_version: file.suite_version.clone(),
            target: file.target.name.clone(),
            target_type: file.target.kind.clone(),
            target_hash: file.target.fingerprint.clone(),
            model: model.map(str::to_owned),
            run_id: file.run_id.clone(),
            timestamp: file.captured_at.clone(),
            commit: file.commit.clone(),
            dirty: file.dirty,
            harness_version: file.harness_version.clone(),
            filters: Vec::new(),
            shards: Vec::new(),
            interrupted: false,
            regrade_of: None,
            changed_since: None,
            reused_from: vec![],
            capture: false,
        },
        ks: file.ks.clone(),
        interval_scope: IntervalScope::default(),
        score_metrics: Vec::new(),
        evals: file.evals.clone(),
    }
}
