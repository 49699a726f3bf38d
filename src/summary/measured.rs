//! Latencies, tokens, costs and counts: sums and percentiles of what was observed.

use super::metrics::{CountedEval, blank, undefined, undefined_because};
use super::outcomes::OutcomeReading;
use super::packed::{COST_IN_PART, FLAKY, KEPT, USAGE_IN_PART};
use crate::model::{Estimate, Metric, Outcome};
use eval_stats::{UndefinedReason, mean, percentile};

/// What all samples together took, observed once for all readings.
#[derive(Debug, Default)]
pub(super) struct MeasuredTotals {
    /// Planned samples.
    pub samples: usize,
    finished: usize,
    graded: usize,
    failed: usize,
    errored: usize,
    skipped: usize,
    flaky: usize,
    latencies: usize,
    /// Samples whose answer came from a cache, a recording or an earlier run.
    kept: usize,
    /// Mean, median and 95th percentile of the latencies, when there are any.
    latency: Option<[Result<f64, UndefinedReason>; 3]>,
    /// Samples that told tokens, and among them those whose outputs all did; their sums.
    told_usage: usize,
    whole_usage: usize,
    tokens_input: f64,
    tokens_output: f64,
    tokens: f64,
    told_cost: usize,
    whole_cost: usize,
    cost_usd: f64,
}

impl MeasuredTotals {
    pub fn new(evals: &[CountedEval<'_>]) -> Self {
        let mut all = MeasuredTotals::default();
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
                all.kept += usize::from(packed.has(KEPT));
                latencies.extend(case.latency_ms(slot));
                let Some(usage) = case.usage(slot) else {
                    continue;
                };
                all.told_usage += 1;
                all.whole_usage += usize::from(!packed.has(USAGE_IN_PART));
                all.tokens_input += usage.input_tokens as f64;
                all.tokens_output += usage.output_tokens as f64;
                all.tokens += usage.input_tokens as f64 + usage.output_tokens as f64;
                if let Some(cost) = usage.cost_usd {
                    all.told_cost += 1;
                    all.whole_cost += usize::from(!packed.has(COST_IN_PART));
                    all.cost_usd += cost;
                }
            }
        }
        if !latencies.is_empty() {
            latencies.sort_by(f64::total_cmp);
            all.latencies = latencies.len();
            all.latency = Some([
                mean(&latencies),
                percentile(&latencies, 0.5),
                percentile(&latencies, 0.95),
            ]);
        }
        all
    }

    /// True when some samples told what they took and others did not, or not all of it.
    pub fn is_in_part(&self) -> bool {
        let in_part = |told: usize, whole: usize| told > 0 && whole < self.finished;
        in_part(self.told_usage, self.whole_usage)
            || in_part(self.told_cost, self.whole_cost)
            || (self.latencies > 0 && self.kept > 0)
    }

    pub fn estimates(&self, reading: OutcomeReading) -> Vec<(Metric, Estimate)> {
        // A sample that errored or never ran might have been as slow or as dear as can be.
        let unbounded = reading == OutcomeReading::Worst && self.graded < self.samples;
        let observed = |value: Result<f64, UndefinedReason>, n: usize| match value {
            Ok(_) if unbounded => {
                undefined_because("samples without a grade have no upper bound".to_owned())
            }
            Ok(value) => Estimate {
                value: Some(value),
                n_cases: n,
                ..blank()
            },
            Err(reason) => undefined(reason),
        };
        // The sum over those that told is not what the run cost: no upper bound may be held against
        // it.
        let total = |sum: f64, told: usize, whole: usize, lack: &str| match told {
            0 => undefined(UndefinedReason::NoData),
            _ if whole < self.finished && reading == OutcomeReading::Worst => {
                undefined_because(format!(
                    "{} of {} samples {lack}",
                    self.finished - whole,
                    self.finished
                ))
            }
            told => observed(Ok(sum), told),
        };
        let tokens = |sum: f64| total(sum, self.told_usage, self.whole_usage, "report no usage");
        let cost = total(
            self.cost_usd,
            self.told_cost,
            self.whole_cost,
            "have an unknown cost",
        );
        // What was answered earlier might be as slow as can be if it were asked now.
        let latency = |value: Result<f64, UndefinedReason>| match (self.latencies, self.kept) {
            (_, 0) => observed(value, self.latencies),
            (n, kept) if n == 0 || reading == OutcomeReading::Worst => undefined_because(format!(
                "{kept} of {} samples have no latency: their answers came from a cache, a recording or an earlier run",
                self.finished
            )),
            (n, _) => observed(value, n),
        };
        let open = self.samples - self.graded;
        let at_worst = |more: usize| {
            if reading == OutcomeReading::Worst {
                more
            } else {
                0
            }
        };
        let count = |value: usize| Estimate {
            value: Some(value as f64),
            n_cases: self.samples,
            ..blank()
        };
        let none = Err(UndefinedReason::NoData);
        let [latency_mean, latency_p50, latency_p95] = self.latency.unwrap_or([none, none, none]);
        vec![
            (Metric::LatencyMeanMs, latency(latency_mean)),
            (Metric::LatencyP50Ms, latency(latency_p50)),
            (Metric::LatencyP95Ms, latency(latency_p95)),
            (Metric::TokensInput, tokens(self.tokens_input)),
            (Metric::TokensOutput, tokens(self.tokens_output)),
            (Metric::Tokens, tokens(self.tokens)),
            (Metric::CostUsd, cost),
            (Metric::FailedSamples, count(self.failed + at_worst(open))),
            // What never ran might have errored; what has no grade might have passed on a later
            // attempt only.
            (
                Metric::ErroredSamples,
                count(self.errored + at_worst(self.skipped)),
            ),
            (Metric::FlakySamples, count(self.flaky + at_worst(open))),
        ]
    }
}
