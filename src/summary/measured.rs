//! Latencies, tokens, costs and counts: sums and percentiles of what was observed.

use super::metrics::{CountedEval, blank, undefined, undefined_because};
use super::outcomes::Reading;
use super::packed::FLAKY;
use crate::model::{Estimate, Metric, Outcome};
use crate::stats::{Undefined, mean, percentile};

/// What all samples together took, observed once for all readings.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Planned samples.
    pub samples: usize,
    finished: usize,
    graded: usize,
    failed: usize,
    errored: usize,
    skipped: usize,
    flaky: usize,
    latencies: usize,
    /// Mean, median and 95th percentile of the latencies, when there are any.
    latency: Option<[Result<f64, Undefined>; 3]>,
    /// Samples that told tokens; their sums.
    told_usage: usize,
    tokens_input: f64,
    tokens_output: f64,
    tokens: f64,
    told_cost: usize,
    cost_usd: f64,
}

impl Measured {
    pub fn new(evals: &[CountedEval<'_>]) -> Self {
        let mut all = Measured::default();
        let mut latencies = Vec::new();
        for case in evals.iter().flat_map(CountedEval::cases) {
            for slot in case.slots() {
                let packed = case.eval.packed(slot);
                all.samples += 1;
                all.finished += usize::from(packed.is_finished());
                all.graded += usize::from(packed.outcome().is_graded());
                all.failed += usize::from(packed.outcome() == Outcome::Failed);
                all.errored += usize::from(packed.outcome() == Outcome::Errored);
                all.skipped += usize::from(packed.outcome() == Outcome::Skipped);
                all.flaky += usize::from(packed.has(FLAKY));
                latencies.extend(case.latency_ms(slot));
                let Some(usage) = case.usage(slot) else { continue };
                all.told_usage += 1;
                all.tokens_input += usage.input_tokens as f64;
                all.tokens_output += usage.output_tokens as f64;
                all.tokens += usage.input_tokens as f64 + usage.output_tokens as f64;
                if let Some(cost) = usage.cost_usd {
                    all.told_cost += 1;
                    all.cost_usd += cost;
                }
            }
        }
        if !latencies.is_empty() {
            latencies.sort_by(f64::total_cmp);
            all.latencies = latencies.len();
            all.latency = Some([mean(&latencies), percentile(&latencies, 0.5), percentile(&latencies, 0.95)]);
        }
        all
    }

    /// True when some samples told what they used and others did not.
    pub fn usage_in_part(&self) -> bool {
        let in_part = |told: usize| told > 0 && told < self.finished;
        in_part(self.told_usage) || in_part(self.told_cost)
    }

    pub fn estimates(&self, reading: Reading) -> Vec<(Metric, Estimate)> {
        // A sample that errored or never ran might have been as slow or as dear as can be.
        let unbounded = reading == Reading::Worst && self.graded < self.samples;
        let observed = |value: Result<f64, Undefined>, n: usize| match value {
            Ok(_) if unbounded => undefined_because("samples without a grade have no upper bound".to_owned()),
            Ok(value) => Estimate { value: Some(value), n_cases: n, ..blank() },
            Err(reason) => undefined(reason),
        };
        // The sum over those that told is not what the run cost: no upper bound may be held against it.
        let total = |sum: f64, told: usize| match told {
            0 => undefined(Undefined::NoData),
            told if told < self.finished && reading == Reading::Worst => undefined_because(format!(
                "{} of {} samples tell no usage",
                self.finished - told,
                self.finished
            )),
            told => observed(Ok(sum), told),
        };
        let open = self.samples - self.graded;
        let at_worst = |more: usize| if reading == Reading::Worst { more } else { 0 };
        let count = |value: usize| Estimate { value: Some(value as f64), n_cases: self.samples, ..blank() };
        let none = Err(Undefined::NoData);
        let [latency_mean, latency_p50, latency_p95] = self.latency.unwrap_or([none, none, none]);
        vec![
            (Metric::LatencyMeanMs, observed(latency_mean, self.latencies)),
            (Metric::LatencyP50Ms, observed(latency_p50, self.latencies)),
            (Metric::LatencyP95Ms, observed(latency_p95, self.latencies)),
            (Metric::TokensInput, total(self.tokens_input, self.told_usage)),
            (Metric::TokensOutput, total(self.tokens_output, self.told_usage)),
            (Metric::Tokens, total(self.tokens, self.told_usage)),
            (Metric::CostUsd, total(self.cost_usd, self.told_cost)),
            (Metric::FailedSamples, count(self.failed + at_worst(open))),
            // What never ran might have errored; what has no grade might have passed on a later attempt only.
            (Metric::ErroredSamples, count(self.errored + at_worst(self.skipped))),
            (Metric::FlakySamples, count(self.flaky + at_worst(open))),
        ]
    }
}
