//! A score baseline as one side of a comparison.

use crate::model::{
    CaseScores, ComparedSide, EvalScores, IntervalScope, Outcome, RunScores, ScoreBaselineRead,
    ScoresSource,
};
use crate::spec::{ScoredCase, ScoredEval, ScoredOutcome};

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
            capture: false,
        },
        ks: file.ks.clone(),
        interval_scope: IntervalScope::default(),
        score_metrics: Vec::new(),
        evals: file
            .evals
            .iter()
            .map(|(id, eval)| eval_scores(id, eval))
            .collect(),
    }
}

fn eval_scores(id: &str, eval: &ScoredEval) -> EvalScores {
    EvalScores {
        id: id.to_owned(),
        outcome: outcome(eval.outcome),
        score: eval.score,
        kind: eval.kind,
        category: eval.category.clone(),
        tags: eval.tags.clone(),
        difficulty: eval.difficulty,
        criticality: eval.criticality,
        weight: eval.weight,
        score_threshold: eval.score_threshold,
        cases: eval
            .cases
            .iter()
            .map(|(id, case)| case_scores(id, case))
            .collect(),
    }
}

fn case_scores(id: &str, case: &ScoredCase) -> CaseScores {
    CaseScores {
        id: id.to_owned(),
        outcome: Some(outcome(case.outcome)),
        samples: case.samples.unwrap_or(case.n).max(case.n),
        n: case.n,
        // A file is edited by hand, or merged.
        c: case.c.min(case.n),
        score: case.score,
        fingerprint: case.fingerprint.clone(),
        content: case.content,
        tags: case.tags.clone(),
        ..CaseScores::default()
    }
}

fn outcome(outcome: ScoredOutcome) -> Outcome {
    match outcome {
        ScoredOutcome::Passed => Outcome::Passed,
        ScoredOutcome::Failed => Outcome::Failed,
    }
}
