//! What the cases of a run came to, from its fold.

use std::collections::BTreeMap;

use super::super::SummaryError;
use super::super::columns::CaseView;
use super::super::fold::Fold;
use super::super::metrics::CountedEval;
use crate::model::{CaseScores, ComparedSide, EvalScores, RunScores, RunStarted, ScoresSource};

impl Fold {
    /// Everything that a comparison looks at, as one of its sides. Of a fold that does not keep
    /// what cases are (see [`Fold::scoring`]) no case has a fingerprint.
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

fn eval_scores(eval: &CountedEval<'_>) -> EvalScores {
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
        let mut scores = CaseScores {
            id: case.id().to_owned(),
            outcome: (finals.total() > 0).then_some(outcome),
            samples: finals.total(),
            n: firsts.passed + firsts.failed,
            c: firsts.passed,
            ungraded: finals.ungraded(),
            score: finals.score(),
            fingerprint: case.fingerprint(),
            content: case.content(),
            tags: case.tags().to_vec(),
            ..CaseScores::default()
        };
        measure(case, &named, &mut scores);
        cases.push(scores);
    }
    EvalScores {
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
        cases,
    }
}

/// The means over a case's samples of what was measured.
fn measure(case: CaseView<'_>, named: &[(&str, &BTreeMap<u32, f64>)], scores: &mut CaseScores) {
    let [mut latency, mut tokens, mut cost] = [Mean::default(); 3];
    for slot in case.slots() {
        if let Some(ms) = case.latency_ms(slot) {
            latency.add(ms);
        }
        let Some(usage) = case.usage(slot) else {
            continue;
        };
        tokens.add(usage.input_tokens as f64 + usage.output_tokens as f64);
        if let Some(usd) = usage.cost_usd {
            cost.add(usd);
        }
    }
    scores.latency_ms = latency.value();
    scores.tokens = tokens.value();
    scores.cost_usd = cost.value();
    for (name, numbers) in named {
        let mut mean = Mean::default();
        let slots = case.slots();
        let own = numbers.range(slots.start as u32..slots.end as u32);
        own.map(|(_, number)| *number)
            .filter(|number| !number.is_nan())
            .for_each(|number| mean.add(number));
        if let Some(value) = mean.value() {
            scores.metrics.insert((*name).to_owned(), value);
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    n: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.n += 1;
    }

    /// `None` also where the sum is too large for a number: JSON has no infinity.
    fn value(self) -> Option<f64> {
        (self.n > 0)
            .then(|| self.sum / f64::from(self.n))
            .filter(|mean| mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::Mean;

    #[test]
    fn a_mean_that_json_cannot_hold_is_none() {
        let of = |values: &[f64]| {
            let mut mean = Mean::default();
            values.iter().for_each(|value| mean.add(*value));
            mean.value()
        };
        assert_eq!(
            [of(&[]), of(&[1.0, 2.0]), of(&[f64::MAX, f64::MAX])],
            [None, Some(1.5), None]
        );
    }
}
