//! What the cases of a run came to, from its fold.

use std::collections::BTreeMap;

use super::super::SummaryError;
use super::super::columns::CaseView;
use super::super::fold::SummaryFold;
use super::super::metrics::CountedEval;
use super::super::outcomes::RunningMean;
use crate::model::{CaseRecord, ComparedSide, EvalRecord, RunScores, RunStarted, ScoresSource};

impl SummaryFold {
    /// Everything that a comparison looks at, as one of its sides. Of a fold that does not keep
    /// what cases are (see [`SummaryFold::scoring`]) no case has a fingerprint.
    ///
    /// # Errors
    /// When no run has started.
    pub fn run_scores(
        &self,
        label: String,
        source: ScoresSource,
    ) -> Result<RunScores, SummaryError> {
        let started = self.started.as_ref().ok_or(SummaryError::NotStarted)?;
        let counted = self.counted_evals();
        Ok(RunScores {
            side: self.side(started, label, source),
            ks: started.config.ks.clone(),
            interval_scope: started.config.interval_scope,
            score_metrics: started.config.score_metrics.clone(),
            evals: counted.iter().map(eval_scores).collect(),
        })
    }

    fn side(&self, started: &RunStarted, label: String, source: ScoresSource) -> ComparedSide {
        let run = self.sessions.identity(started);
        let mut environment = run.environment;
        let git = environment.git.take();
        ComparedSide {
            label,
            source,
            suite: run.suite_name,
            suite_version: run.suite_version,
            target: environment.target,
            target_type: environment.target_type,
            target_hash: settings_of_target(started),
            model: environment.model,
            run_id: run.run_id,
            timestamp: run.timestamp,
            dirty: git.as_ref().is_some_and(|git| git.dirty),
            commit: git.map(|git| git.commit),
            harness_version: run.harness_version,
            filters: run.filters,
            shards: self.sessions.lone_shards(),
            interrupted: self.sessions.interrupted(),
            regrade_of: run.regrade_of,
            changed_since: run.changed_since,
            reused_from: self.origins.iter().cloned().collect(),
            capture: started.capture,
        }
    }
}

/// The fingerprint of the target's settings; `None` for recorded outputs, of which it is the file's
/// place on one machine.
fn settings_of_target(started: &RunStarted) -> Option<String> {
    let is_told =
        started.run.environment.target_type != "recorded" && !started.target_hash.is_empty();
    is_told.then(|| started.target_hash.clone())
}

fn eval_scores(eval: &CountedEval<'_>) -> EvalRecord {
    let info = eval.info();
    let mut counter = eval.counter();
    let named: Vec<(&str, &BTreeMap<u32, f64>)> = eval
        .fold
        .metric_names()
        .filter_map(|name| {
            Some((
                name,
                eval.fold
                    .metric(name)
                    .filter(|numbers| !numbers.is_empty())?,
            ))
        })
        .collect();
    let mut cases = Vec::with_capacity(eval.len());
    for case in eval.cases() {
        let finals = case.finals();
        let outcome = counter.add(&finals);
        let firsts = case.firsts();
        let mut scores = CaseRecord {
            id: info.case_id(case.id()).into_owned(),
            outcome: (finals.total() > 0).then_some(outcome),
            samples: finals.total(),
            n: firsts.passed + firsts.failed,
            c: firsts.passed,
            ungraded: finals.ungraded(),
            score: finals.score(),
            fingerprint: case.fingerprint(),
            content: case.content(),
            tags: case.tags().to_vec(),
            ..CaseRecord::default()
        };
        measure(case, &named, &mut scores);
        cases.push(scores);
    }
    EvalRecord {
        id: info.id.clone(),
        outcome: counter.outcome(),
        score: counter.score(),
        kind: Some(info.kind),
        category: info.category.clone(),
        tags: info.tags.clone(),
        difficulty: info.difficulty,
        criticality: info.criticality,
        weight: Some(info.weight),
        score_threshold: info.score_threshold,
        private: info.is_private(),
        cases,
    }
}

/// The means over a case's samples of what was measured.
fn measure(case: CaseView<'_>, named: &[(&str, &BTreeMap<u32, f64>)], scores: &mut CaseRecord) {
    let [mut latency, mut tokens, mut cost] = [RunningMean::default(); 3];
    for slot in case.slots() {
        if let Some(ms) = case.latency_ms(slot) {
            latency.add(Some(ms));
        }
        let Some(usage) = case.usage(slot) else {
            continue;
        };
        tokens.add(Some(usage.input_tokens as f64 + usage.output_tokens as f64));
        if let Some(usd) = usage.cost_usd {
            cost.add(Some(usd));
        }
    }
    scores.latency_ms = latency.finite();
    scores.tokens = tokens.finite();
    scores.cost_usd = cost.finite();
    for (name, numbers) in named {
        let mut mean = RunningMean::default();
        let slots = case.slots();
        let own = numbers.range(slots.start as u32..slots.end as u32);
        own.map(|(_, number)| *number)
            .filter(|number| !number.is_nan())
            .for_each(|number| mean.add(Some(number)));
        if let Some(value) = mean.finite() {
            scores.metrics.insert((*name).to_owned(), value);
        }
    }
}
