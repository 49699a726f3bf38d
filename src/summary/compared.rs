//! A run beside the accepted scores of an earlier one: which cases flipped, and how metrics moved over the cases of both.

use std::collections::{BTreeMap, HashSet};

use super::metrics::{Counted, CountedEval};
use crate::model::{
    BaselineComparison, CaseList, Estimate, Metric, MetricChange, Outcome, RunStarted, ScoreBaselineRead,
    Shard, split_part,
};
use crate::spec::{ScoreBaselineFile, ScoredCase, ScoredOutcome};

/// What both runs say of the cases that were graded in both.
#[derive(Default)]
struct Shared {
    cases: usize,
    passed_before: usize,
    passed_now: usize,
    /// Cases with first attempts that were graded in both; sums of their shares that passed.
    tried: usize,
    share_before: f64,
    share_now: f64,
}

/// Compares. `estimates` are the run's metrics; `shards` are its parts when they are not all of them.
pub(super) fn compare(
    counted: &Counted<'_>,
    started: &RunStarted,
    shards: &[Shard],
    estimates: &BTreeMap<String, Estimate>,
    with: &ScoreBaselineRead,
) -> BaselineComparison {
    let file = &with.file;
    let mut comparison = blank(with, started);
    let mut shared = Shared::default();
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    for eval in &counted.evals {
        let id = eval.info().id.as_str();
        let before = file.evals.get(id);
        for case in eval.cases() {
            seen.insert((id, case.id()));
            let Some(before) = before.and_then(|eval| eval.cases.get(case.id())) else {
                comparison.new.add(id, case.id());
                continue;
            };
            if differ(before.fingerprint.as_ref(), case.fingerprint().as_ref()) {
                comparison.changed.add(id, case.id());
                continue;
            }
            let outcome = case.finals().outcome(eval.info().pass_rate_threshold);
            if !outcome.is_graded() {
                comparison.not_comparable.add(id, case.id());
                continue;
            }
            let firsts = case.firsts();
            let (n, c) = (firsts.passed + firsts.failed, firsts.passed);
            shared.add(before, outcome, n, c);
            comparison.other_samples += usize::from(n != before.n);
            match (before.outcome, outcome) {
                (ScoredOutcome::Failed, Outcome::Passed) => comparison.fixed.add(id, case.id()),
                (ScoredOutcome::Passed, Outcome::Failed) => comparison.broken.add(id, case.id()),
                _ => {}
            }
        }
    }
    let part = !started.filters.is_empty() || !shards.is_empty();
    for (id, eval) in &file.evals {
        for case in eval.cases.keys().filter(|case| !seen.contains(&(id.as_str(), case.as_str()))) {
            if part {
                comparison.not_selected += 1;
            } else {
                comparison.gone.add(id, case);
            }
        }
    }
    let lists = [&comparison.new, &comparison.gone, &comparison.changed, &comparison.not_comparable];
    comparison.same_cases = lists.iter().all(|list| list.count == 0) && comparison.not_selected == 0;
    comparison.compared_cases = shared.cases;
    comparison.metrics = if comparison.same_cases { whole(file, estimates) } else { shared.metrics() };
    let reweighed = reweighed(counted, file);
    if reweighed > 0 {
        let have = if reweighed == 1 { "eval has" } else { "evals have" };
        let words = format!(
            "{reweighed} {have} another weight or score threshold: figures over evals have no difference"
        );
        comparison.notes.push(words);
        let rests_on_it = |name: &str| match name.parse::<Metric>() {
            Ok(
                Metric::WeightedScore
                | Metric::PassRate
                | Metric::CapabilityPassRate
                | Metric::RegressionPassRate,
            ) => true,
            _ => started.composites.iter().any(|composite| composite.name == name),
        };
        comparison.metrics.iter_mut().filter(|m| rests_on_it(&m.name)).for_each(|m| m.delta = None);
    }
    comparison
}

/// True when both are known and not the same.
fn differ<T: PartialEq>(before: Option<T>, now: Option<T>) -> bool {
    before.zip(now).is_some_and(|(before, now)| before != now)
}

/// Evals of both runs that count otherwise than they did: a figure over evals moves with that, whatever the target does.
fn reweighed(counted: &Counted<'_>, file: &ScoreBaselineFile) -> usize {
    let moved = |eval: &&CountedEval<'_>| {
        let now = eval.info();
        file.evals.get(&now.id).is_some_and(|before| {
            differ(before.weight, Some(now.weight))
                || (before.weight.is_some() && before.score_threshold != now.score_threshold)
        })
    };
    counted.evals.iter().filter(moved).count()
}

fn blank(with: &ScoreBaselineRead, started: &RunStarted) -> BaselineComparison {
    let file = &with.file;
    BaselineComparison {
        path: with.path.clone(),
        rev: with.rev.clone(),
        captured_at: file.captured_at.clone(),
        run_id: file.run_id.clone(),
        commit: file.commit.clone(),
        dirty: file.dirty,
        notes: notes(file, started),
        compared_cases: 0,
        same_cases: false,
        metrics: Vec::new(),
        fixed: CaseList::default(),
        broken: CaseList::default(),
        new: CaseList::default(),
        gone: CaseList::default(),
        changed: CaseList::default(),
        not_comparable: CaseList::default(),
        not_selected: 0,
        other_samples: 0,
    }
}

fn notes(file: &ScoreBaselineFile, started: &RunStarted) -> Vec<String> {
    let mut notes = Vec::new();
    let version = |version: &Option<String>| {
        version.as_ref().map_or("no version".to_owned(), |v| format!("version {v}"))
    };
    if file.suite_version != started.suite_version {
        let (then, now) = (version(&file.suite_version), version(&started.suite_version));
        notes.push(format!("the suite had {then} and has {now}"));
    }
    if file.target.name != started.environment.target {
        let (then, now) = (&file.target.name, &started.environment.target);
        notes.push(format!("the accepted scores are those of target {then}, and this run asked {now}"));
    }
    if file.ks != started.ks {
        let list = |ks: &[u32]| ks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        notes.push(format!("k was {} and is {}", list(&file.ks), list(&started.ks)));
    }
    if file.target.kind != started.environment.target_type {
        let (then, now) = (&file.target.kind, &started.environment.target_type);
        notes.push(format!("the target was of type {then} and is of type {now}"));
    }
    if file.harness_version != started.harness_version {
        let (then, now) = (&file.harness_version, &started.harness_version);
        notes.push(format!("it was eval-harness {then} and is {now}"));
    }
    let mut cases = file.evals.values().flat_map(|eval| eval.cases.values());
    if cases.any(|case| case.fingerprint.is_none()) {
        notes.push(
            "the accepted scores do not tell what every case was: one that changed since counts as it is"
                .into(),
        );
    }
    notes
}

impl Shared {
    fn add(&mut self, before: &ScoredCase, now: Outcome, n: u32, c: u32) {
        self.cases += 1;
        self.passed_before += usize::from(before.outcome == ScoredOutcome::Passed);
        self.passed_now += usize::from(now == Outcome::Passed);
        if before.n > 0 && n > 0 {
            self.tried += 1;
            self.share_before += f64::from(before.c) / f64::from(before.n);
            self.share_now += f64::from(c) / f64::from(n);
        }
    }

    /// pass@1 and the share of cases that passed, both over nothing but these cases.
    fn metrics(&self) -> Vec<MetricChange> {
        let mean = |sum: f64, n: usize| (n > 0).then(|| sum / n as f64);
        let (before, now) = (self.passed_before as f64, self.passed_now as f64);
        vec![
            change(
                Metric::CasePassRate.to_string(),
                mean(before, self.cases),
                mean(now, self.cases),
                self.cases,
            ),
            change(
                Metric::PassAt(1).to_string(),
                mean(self.share_before, self.tried),
                mean(self.share_now, self.tried),
                self.tried,
            ),
        ]
    }
}

fn change(name: String, baseline: Option<f64>, now: Option<f64>, n_cases: usize) -> MetricChange {
    let delta = baseline.zip(now).map(|(baseline, now)| now - baseline);
    MetricChange { name, baseline, now, delta, n_cases }
}

/// The metrics that either run has, each as it says itself. Not those of parts: which cases have a tag may have changed.
fn whole(file: &ScoreBaselineFile, estimates: &BTreeMap<String, Estimate>) -> Vec<MetricChange> {
    let of_all = |name: &&String| split_part(name).1.is_none();
    let defined = estimates.iter().filter(|(_, estimate)| estimate.value.is_some()).map(|(name, _)| name);
    let mut names: Vec<&String> = file.metrics.keys().chain(defined).filter(of_all).collect();
    names.sort();
    names.dedup();
    let row = |name: &String| {
        let (before, now) = (file.metrics.get(name), estimates.get(name));
        let n_cases = now.map_or(0, |now| now.n_cases);
        let mut change =
            change(name.clone(), before.map(|before| before.value), now.and_then(|now| now.value), n_cases);
        if before.is_some_and(|before| before.n_cases != n_cases) {
            change.delta = None;
        }
        change
    };
    names.into_iter().map(row).collect()
}
