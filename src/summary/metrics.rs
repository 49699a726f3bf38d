//! Metrics with their intervals, under each reading of the samples without a grade.

use std::collections::BTreeMap;

use super::fold::{CaseFold, EvalFold};
use super::outcomes::{Reading, SampleCounts, eval_outcome};
use crate::model::{Estimate, EvalInfo, EvalTally, EvalType, Metric, Outcome, Tally, Usage};
use crate::stats::{
    DEFAULT_RESAMPLES, Interval, Undefined, bootstrap_mean, bootstrap_weighted_mean, cluster_bootstrap_mean,
    mean, pass_at_k, pass_hat_k, pass_hat_k_unbiased, percentile, weighted_mean, wilson,
};

/// Confidence of every interval.
pub(super) const LEVEL: f64 = 0.95;
/// Evals from which on whole evals are resampled, when they hold several cases.
const CLUSTERS: usize = 10;

/// The counts of a run, by eval and case.
pub(super) struct Counted<'a> {
    pub evals: Vec<CountedEval<'a>>,
    ks: &'a [u32],
    seed: u64,
}

pub(super) struct CountedEval<'a> {
    pub info: &'a EvalInfo,
    /// Final outcomes by case: what cases and evals are decided from.
    pub finals: Vec<SampleCounts>,
    /// First attempts by case: what pass@k and pass^k count.
    firsts: Vec<SampleCounts>,
    cases: &'a [CaseFold],
}

impl<'a> Counted<'a> {
    pub fn new(evals: &'a [EvalFold], ks: &'a [u32], seed: u64) -> Self {
        let evals = evals.iter().map(CountedEval::new).collect();
        Counted { evals, ks, seed }
    }

    /// True when some samples told what they used and others did not.
    pub fn usage_in_part(&self) -> bool {
        let samples = || self.evals.iter().flat_map(|eval| eval.cases).flat_map(|case| &case.samples);
        let told = |tells: fn(Usage) -> bool| {
            let counts =
                samples().filter_map(|sample| sample.finished()).fold((0, 0), |(yes, no), sample| {
                    if sample.result.usage.is_some_and(tells) { (yes + 1, no) } else { (yes, no + 1) }
                });
            counts.0 > 0 && counts.1 > 0
        };
        told(|_| true) || told(|usage| usage.cost_usd.is_some())
    }

    /// All samples without a grade: errored, skipped and pending.
    pub fn ungraded(&self) -> (usize, usize, usize) {
        let cases = || self.evals.iter().flat_map(|eval| &eval.finals);
        let sum = |field: fn(&SampleCounts) -> u32| cases().map(|case| field(case) as usize).sum();
        (sum(|case| case.errored), sum(|case| case.skipped), sum(|case| case.pending))
    }

    /// Outcomes and metrics under one reading.
    pub fn tally(&self, reading: Reading) -> Tally {
        let read: Vec<ReadEval> = self.evals.iter().map(|eval| eval.read(reading)).collect();
        let evals = read
            .iter()
            .map(|eval| EvalTally {
                id: eval.info.id.clone(),
                kind: eval.info.kind,
                criticality: eval.info.criticality,
                outcome: eval.outcome,
            })
            .collect();
        let mut metrics = BTreeMap::new();
        for k in self.ks {
            for metric in [Metric::PassAt(*k), Metric::PassHat(*k), Metric::PassHatUnbiased(*k)] {
                metrics.insert(metric.to_string(), self.pass_k(&read, metric, u64::from(*k)));
            }
        }
        for (metric, estimate) in self.rates(&read) {
            metrics.insert(metric.to_string(), estimate);
        }
        for (metric, value) in self.measured(reading) {
            metrics.insert(metric.to_string(), value);
        }
        Tally { evals, metrics }
    }

    fn pass_k(&self, read: &[ReadEval], metric: Metric, k: u64) -> Estimate {
        let planned_short = self
            .evals
            .iter()
            .flat_map(|eval| &eval.firsts)
            .map(|case| u64::from(case.total()))
            .filter(|planned| *planned < k)
            .min();
        if let Some(n) = planned_short {
            return undefined(Undefined::TooFewSamples { n, k });
        }
        let estimator = match metric {
            Metric::PassAt(_) => pass_at_k,
            Metric::PassHat(_) => pass_hat_k,
            _ => pass_hat_k_unbiased,
        };
        let mut values = Vec::new();
        let mut single = true;
        for (at, eval) in read.iter().enumerate() {
            for case in &eval.firsts {
                let (n, c) = (u64::from(case.passed + case.failed), u64::from(case.passed));
                if n >= k
                    && let Ok(value) = estimator(n, c, k)
                {
                    single &= n == 1;
                    values.push((at, value));
                }
            }
        }
        if values.is_empty() {
            return undefined_because(if self.evals.iter().all(|eval| eval.cases.is_empty()) {
                "there are no cases".to_owned()
            } else {
                format!("no case has {k} graded sample{}", if k == 1 { "" } else { "s" })
            });
        }
        self.over_cases(&values, single)
    }

    /// The mean over cases, with Wilson's interval when each value is 0 or 1 from one sample, else a bootstrap.
    fn over_cases(&self, values: &[(usize, f64)], single: bool) -> Estimate {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let interval = if single {
            wilson(plain.iter().filter(|value| **value > 0.5).count() as u64, plain.len() as u64, LEVEL)
        } else {
            let mut clusters: BTreeMap<usize, (f64, u64)> = BTreeMap::new();
            for (at, value) in values {
                let cluster = clusters.entry(*at).or_default();
                *cluster = (cluster.0 + value, cluster.1 + 1);
            }
            let belong_together =
                clusters.len() >= CLUSTERS && clusters.values().any(|(_, count)| *count > 1);
            if belong_together {
                let clusters: Vec<(f64, u64)> = clusters.into_values().collect();
                cluster_bootstrap_mean(&clusters, DEFAULT_RESAMPLES, self.seed, LEVEL)
            } else {
                bootstrap_mean(&plain, DEFAULT_RESAMPLES, self.seed, LEVEL)
            }
        };
        estimate(mean(&plain), interval, plain.len())
    }

    fn rates(&self, read: &[ReadEval]) -> Vec<(Metric, Estimate)> {
        let rate = |outcomes: &mut dyn Iterator<Item = Outcome>| {
            let (passed, graded) = outcomes
                .filter(|outcome| outcome.is_graded())
                .fold((0, 0), |(p, g), outcome| (p + u64::from(outcome == Outcome::Passed), g + 1));
            if graded == 0 {
                return undefined(Undefined::NoData);
            }
            estimate(Ok(passed as f64 / graded as f64), wilson(passed, graded, LEVEL), graded as usize)
        };
        let of_type = |kind: EvalType| read.iter().filter(move |e| e.info.kind == kind).map(|e| e.outcome);
        let case_outcomes = read
            .iter()
            .flat_map(|eval| eval.finals.iter().map(|case| case.outcome(eval.info.pass_rate_threshold)));
        let scores: Vec<(usize, f64)> = read
            .iter()
            .enumerate()
            .flat_map(|(at, eval)| {
                eval.finals.iter().filter_map(move |case| case.score().map(|score| (at, score)))
            })
            .collect();
        let weighted: Vec<(f64, f64)> = read
            .iter()
            .filter(|eval| eval.outcome.is_graded())
            .filter_map(|eval| eval.score.map(|score| (score, eval.info.weight)))
            .collect();
        let weighted_interval = bootstrap_weighted_mean(&weighted, DEFAULT_RESAMPLES, self.seed, LEVEL);
        let score = if scores.is_empty() {
            undefined(Undefined::NoData)
        } else {
            let single = read.iter().flat_map(|eval| &eval.finals).all(|case| {
                case.total() == 1 && case.score().is_none_or(|score| score == 0.0 || score == 1.0)
            });
            self.over_cases(&scores, single)
        };
        vec![
            (Metric::PassRate, rate(&mut read.iter().map(|eval| eval.outcome))),
            (Metric::CapabilityPassRate, rate(&mut of_type(EvalType::Capability))),
            (Metric::RegressionPassRate, rate(&mut of_type(EvalType::Regression))),
            (Metric::CasePassRate, rate(&mut case_outcomes.into_iter())),
            (Metric::Score, score),
            (Metric::WeightedScore, estimate(weighted_mean(&weighted), weighted_interval, weighted.len())),
        ]
    }

    /// Latencies, tokens, costs and counts: sums and percentiles of what was observed.
    fn measured(&self, reading: Reading) -> Vec<(Metric, Estimate)> {
        let samples = || self.evals.iter().flat_map(|eval| eval.cases).flat_map(|case| &case.samples);
        let finished: Vec<_> = samples().filter_map(|sample| sample.finished()).map(|f| &f.result).collect();
        let mut latencies: Vec<f64> = finished.iter().filter_map(|result| result.latency_ms).collect();
        latencies.sort_by(f64::total_cmp);
        // A sample that errored or never ran might have been as slow or as dear as can be.
        let unbounded = reading == Reading::Worst && samples().any(|sample| !sample.outcome().is_graded());
        let observed = |value: Result<f64, Undefined>, n: usize| match value {
            Ok(_) if unbounded => undefined_because("samples without a grade have no upper bound".to_owned()),
            Ok(value) => Estimate { value: Some(value), n_cases: n, ..blank() },
            Err(reason) => undefined(reason),
        };
        let usages: Vec<_> = finished.iter().filter_map(|result| result.usage).collect();
        // The sum over those that told is not what the run cost: no upper bound may be held against it.
        let total = |values: Vec<f64>| match values.len() {
            0 => undefined(Undefined::NoData),
            n if n < finished.len() && reading == Reading::Worst => undefined_because(format!(
                "{} of {} samples tell no usage",
                finished.len() - n,
                finished.len()
            )),
            n => observed(Ok(values.iter().sum()), n),
        };
        let counts = |outcome: Outcome| samples().filter(|sample| sample.outcome() == outcome).count();
        let open = samples().filter(|sample| !sample.outcome().is_graded()).count();
        let failed = counts(Outcome::Failed) + if reading == Reading::Worst { open } else { 0 };
        let flaky = finished.iter().filter(|result| result.flaky).count();
        let count =
            |value: usize| Estimate { value: Some(value as f64), n_cases: samples().count(), ..blank() };
        vec![
            (Metric::LatencyMeanMs, observed(mean(&latencies), latencies.len())),
            (Metric::LatencyP50Ms, observed(percentile(&latencies, 0.5), latencies.len())),
            (Metric::LatencyP95Ms, observed(percentile(&latencies, 0.95), latencies.len())),
            (Metric::TokensInput, total(usages.iter().map(|usage| usage.input_tokens as f64).collect())),
            (Metric::TokensOutput, total(usages.iter().map(|usage| usage.output_tokens as f64).collect())),
            (
                Metric::Tokens,
                total(usages.iter().map(|u| u.input_tokens as f64 + u.output_tokens as f64).collect()),
            ),
            (Metric::CostUsd, total(usages.iter().filter_map(|usage| usage.cost_usd).collect())),
            (Metric::FailedSamples, count(failed)),
            (Metric::ErroredSamples, count(counts(Outcome::Errored))),
            (Metric::FlakySamples, count(flaky)),
        ]
    }
}

struct ReadEval<'a> {
    info: &'a EvalInfo,
    finals: Vec<SampleCounts>,
    firsts: Vec<SampleCounts>,
    outcome: Outcome,
    score: Option<f64>,
}

impl<'a> CountedEval<'a> {
    fn new(eval: &'a EvalFold) -> Self {
        let mut finals = Vec::with_capacity(eval.cases.len());
        let mut firsts = Vec::with_capacity(eval.cases.len());
        for case in &eval.cases {
            let (mut last, mut first) = (SampleCounts::default(), SampleCounts::default());
            for sample in &case.samples {
                last.add(sample.outcome(), sample.finished().and_then(|f| f.result.score));
                first.add(sample.first(), None);
            }
            finals.push(last);
            firsts.push(first);
        }
        CountedEval { info: &eval.info, finals, firsts, cases: &eval.cases }
    }

    fn read(&self, reading: Reading) -> ReadEval<'a> {
        let read = |counts: &[SampleCounts]| counts.iter().map(|case| case.read(reading)).collect::<Vec<_>>();
        let (finals, firsts) = (read(&self.finals), read(&self.firsts));
        let (outcome, score) = self.outcome_of(&finals);
        ReadEval { info: self.info, finals, firsts, outcome, score }
    }

    fn outcome_of(&self, finals: &[SampleCounts]) -> (Outcome, Option<f64>) {
        eval_outcome(finals, self.info.pass_rate_threshold, self.info.score_threshold)
    }

    pub fn outcome(&self) -> (Outcome, Option<f64>) {
        self.outcome_of(&self.finals)
    }

    /// Passes and graded samples among the first attempts of a case.
    pub fn first_attempts(&self, case: usize) -> (u32, u32) {
        let first = &self.firsts[case];
        (first.passed, first.passed + first.failed)
    }
}

fn blank() -> Estimate {
    Estimate {
        value: None,
        ci: None,
        level: LEVEL,
        method: "none".to_owned(),
        n_cases: 0,
        worst: None,
        best: None,
        undefined: None,
    }
}

fn undefined(reason: Undefined) -> Estimate {
    undefined_because(reason.to_string())
}

fn undefined_because(reason: String) -> Estimate {
    Estimate { undefined: Some(reason), ..blank() }
}

fn estimate(value: Result<f64, Undefined>, interval: Result<Interval, Undefined>, n: usize) -> Estimate {
    match (value, interval) {
        (Err(reason), _) => undefined(reason),
        (Ok(value), Ok(ci)) => Estimate {
            value: Some(value),
            ci: Some([ci.low, ci.high]),
            method: ci.method.name().to_owned(),
            n_cases: n,
            ..blank()
        },
        (Ok(value), Err(_)) => Estimate { value: Some(value), n_cases: n, ..blank() },
    }
}
