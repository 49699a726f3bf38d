//! The summary of a whole run.

use std::collections::{BTreeMap, BTreeSet};

use super::fold::{CaseFold, EvalFold, Fold};
use super::metrics::Counted;
use super::outcomes::Reading;
use super::{DETAILED_SAMPLES, SummaryError, failures, rerun};
use crate::model::{
    CaseResult, Cause, Counts, Estimate, EvalResult, Gate, GateSpec, Metadata, Outcome, RunStarted,
    SampleResult, Summary, Tallies, Totals,
};

/// A run's summary but for its gate.
#[derive(Debug)]
pub struct Report {
    pub tallies: Tallies,
    pub started: RunStarted,
    /// True when the run was ended early or its journal breaks off.
    pub interrupted: bool,
    metadata: Metadata,
    totals: Totals,
    estimates: BTreeMap<String, Estimate>,
    evals: Vec<EvalResult>,
    truncated: bool,
    /// Samples with a grade that shared an interpreter with the candidate's code.
    in_process: usize,
}

impl Fold {
    /// Counts everything that was taken.
    pub fn finish(&self) -> Result<Report, SummaryError> {
        let started = self.started.clone().ok_or(SummaryError::NotStarted)?;
        let counted = Counted::new(&self.evals, &started.ks, started.seed);
        let tallies = tallies(&counted);
        let estimates = ranged(&tallies);
        let evals: Vec<EvalResult> = self
            .evals
            .iter()
            .zip(&counted.evals)
            .map(|(eval, counted)| {
                let (outcome, score) = counted.outcome();
                let cases = eval
                    .cases
                    .iter()
                    .enumerate()
                    .map(|(at, case)| {
                        let counts = &counted.finals[at];
                        let outcome = counts.outcome(eval.info.pass_rate_threshold);
                        case_result(case, outcome, counts.score(), counted.first_attempts(at))
                    })
                    .collect();
                eval_result(eval, outcome, score, cases)
            })
            .collect();
        let interrupted = self.finished.as_ref().is_none_or(|finished| finished.interrupted);
        Ok(Report {
            metadata: metadata(&started, self, interrupted),
            totals: self.totals(&evals, &tallies),
            tallies,
            estimates,
            evals,
            truncated: self.planned_samples > DETAILED_SAMPLES,
            in_process: self.in_process(),
            interrupted,
            started,
        })
    }

    fn in_process(&self) -> usize {
        let cases = self.evals.iter().flat_map(|eval| &eval.cases);
        let samples = cases.flat_map(|case| &case.samples).filter_map(|sample| sample.finished());
        samples.filter(|sample| sample.in_process).count()
    }

    fn totals(&self, evals: &[EvalResult], tallies: &Tallies) -> Totals {
        let mut totals = Totals { total_evals: evals.len(), ..Totals::default() };
        let mut all = Counts::default();
        for (eval, fold) in evals.iter().zip(&self.evals) {
            all.add(eval.outcome);
            totals.by_type.entry(eval.kind).or_default().add(eval.outcome);
            if let Some(category) = &eval.category {
                totals.by_category.entry(category.clone()).or_default().add(eval.outcome);
            }
            for tag in eval.tags.iter().collect::<BTreeSet<_>>() {
                totals.by_tag.entry(tag.clone()).or_default().add(eval.outcome);
            }
            for (case, case_fold) in eval.cases.iter().zip(&fold.cases) {
                totals.cases.add(case.outcome);
                for grader in case_fold.planned.graders.iter().collect::<BTreeSet<_>>() {
                    totals.by_grader.entry(grader.name().to_owned()).or_default().add(case.outcome);
                }
                for sample in &case_fold.samples {
                    totals.samples.add(sample.outcome());
                    if let Some(cause) = sample.cause() {
                        *totals.by_cause.entry(cause.name().to_owned()).or_default() += 1;
                    }
                    totals.infrastructure_retries +=
                        sample.finished().map_or(0, |f| f.result.infrastructure_retries as usize);
                    totals.flaky += usize::from(sample.finished().is_some_and(|f| f.result.flaky));
                }
            }
        }
        totals.passed = all.passed;
        totals.failed = all.failed;
        totals.errored = all.errored;
        totals.skipped = all.skipped;
        totals.pending = all.pending;
        totals.pass_rate = all.pass_rate;
        totals.weighted_score = tallies.actual.metrics.get("weighted_score").and_then(|e| e.value);
        totals
    }
}

impl Report {
    /// What the thresholds of the run were.
    pub fn gate_spec(&self) -> &GateSpec {
        &self.started.gate
    }

    /// The summary, with the decision that was made from [`Report::tallies`].
    pub fn with_gate(self, gate: Gate) -> Summary {
        let failures = failures::list(&self.evals);
        let mut recommendations = failures::recommend(&self.evals, &self.totals);
        if self.truncated || !self.started.include_details {
            // Where the grades are not in the report, they can't say this for themselves.
            recommendations.extend(failures::in_process(self.in_process));
        }
        let metrics = self.estimates.iter().map(|(name, estimate)| (name.clone(), estimate.value)).collect();
        let mut evals = self.evals;
        for case in evals.iter_mut().flat_map(|eval| &mut eval.cases) {
            if !self.started.include_details {
                case.samples.clear();
            } else if self.truncated {
                case.samples.retain(|sample| sample.outcome != Outcome::Passed);
            }
        }
        let failures =
            if self.started.include_details { failures } else { failures::without_outputs(failures) };
        Summary {
            metadata: self.metadata,
            summary: self.totals,
            metrics,
            estimates: self.estimates,
            gate,
            evals,
            failures,
            recommendations,
            truncated: self.truncated,
        }
    }
}

fn tallies(counted: &Counted<'_>) -> Tallies {
    let (errored, skipped, pending) = counted.ungraded();
    let actual = counted.tally(Reading::Graded);
    let (worst, best) = if errored + skipped + pending == 0 && !counted.usage_in_part() {
        (actual.clone(), actual.clone())
    } else {
        (counted.tally(Reading::Worst), counted.tally(Reading::Best))
    };
    Tallies { actual, worst, best, errored, skipped, pending }
}

/// The estimates with the range that samples without a grade leave open.
fn ranged(tallies: &Tallies) -> BTreeMap<String, Estimate> {
    let mut estimates = tallies.actual.metrics.clone();
    for (name, estimate) in &mut estimates {
        estimate.worst = tallies.worst.metrics.get(name).and_then(|worst| worst.value);
        estimate.best = tallies.best.metrics.get(name).and_then(|best| best.value);
    }
    estimates
}

fn metadata(started: &RunStarted, fold: &Fold, interrupted: bool) -> Metadata {
    Metadata {
        suite_name: started.suite_name.clone(),
        suite_version: started.suite_version.clone(),
        run_id: started.run_id.clone(),
        timestamp: started.timestamp.clone(),
        duration_seconds: fold.finished.as_ref().map_or(0.0, |finished| finished.duration_seconds),
        harness_version: started.harness_version.clone(),
        environment: started.environment.clone(),
        filters: started.filters.clone(),
        interrupted,
        shard: started.shard,
        regrade_of: started.regrade_of.clone(),
        suite_path: rerun::suite_path(started),
        rerun_arguments: rerun::arguments(&started.arguments),
    }
}

fn eval_result(eval: &EvalFold, outcome: Outcome, score: Option<f64>, cases: Vec<CaseResult>) -> EvalResult {
    let info = &eval.info;
    let mut counts = Counts::default();
    for case in &cases {
        counts.add(case.outcome);
    }
    EvalResult {
        id: info.id.clone(),
        name: info.name.clone(),
        kind: info.kind,
        category: info.category.clone(),
        tags: info.tags.clone(),
        weight: info.weight,
        difficulty: info.difficulty,
        criticality: info.criticality,
        outcome,
        score,
        counts,
        cases,
    }
}

fn case_result(
    case: &CaseFold,
    outcome: Outcome,
    score: Option<f64>,
    (first_passes, first_graded): (u32, u32),
) -> CaseResult {
    let samples: Vec<SampleResult> =
        case.samples.iter().filter_map(|sample| sample.finished()).map(|f| f.result.clone()).collect();
    CaseResult {
        id: case.planned.id.clone(),
        name: case.planned.name.clone(),
        outcome,
        score,
        cause: commonest_cause(case, outcome),
        flaky: samples.iter().any(|sample| sample.flaky),
        first_passes,
        first_graded,
        samples,
    }
}

/// The commonest cause among the samples that ended as the case did; of equals the first in the list of causes.
fn commonest_cause(case: &CaseFold, outcome: Outcome) -> Option<Cause> {
    if outcome == Outcome::Passed {
        return None;
    }
    let mut tally: BTreeMap<Cause, usize> = BTreeMap::new();
    for sample in case.samples.iter().filter(|sample| sample.outcome() == outcome) {
        if let Some(cause) = sample.cause() {
            *tally.entry(cause).or_default() += 1;
        }
    }
    tally.into_iter().max_by_key(|(cause, n)| (*n, std::cmp::Reverse(*cause))).map(|(cause, _)| cause)
}
