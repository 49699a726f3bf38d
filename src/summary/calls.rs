//! What the calls of models took: sums by model, whatever came of the samples that asked.
//!
//! Sums of times and dollars are kept as whole numbers, so that they don't depend on the order in
//! which samples finished.

use std::collections::BTreeMap;

use super::metrics::CountedEval;
use crate::model::{
    AnswerSource, Attempt, Cause, FinishReason, JudgeCall, Latencies, ModelCall, ModelUsed,
    ModelsUsed, ReusedFrom, Usage,
};
use eval_stats::percentile;

/// Models that get a number of their own; what further ones take is counted, but their latencies
/// are not told apart.
const NUMBERED: usize = u16::MAX as usize - 1;
/// No model was asked, or its number is not kept.
pub(super) const NO_MODEL: u16 = u16::MAX;

/// A sum that does not depend on the order of its parts.
#[derive(Debug, Clone, Copy, Default)]
struct ExactSum(i128);

impl ExactSum {
    /// Parts of one: far finer than what a token costs.
    const STEP: f64 = 1e15;

    fn add(&mut self, value: f64) {
        if value.is_finite() {
            // Saturates, as `as` does.
            self.0 = self
                .0
                .saturating_add((value * ExactSum::STEP).round() as i128);
        }
    }

    fn value(self) -> f64 {
        self.0 as f64 / ExactSum::STEP
    }
}

/// One question to a model, and what came of it.
#[derive(Clone, Copy)]
struct CountedCall<'a> {
    call: &'a ModelCall,
    answered: bool,
    refused: bool,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
}

impl<'a> CountedCall<'a> {
    fn of_target(attempt: &Attempt, call: &'a ModelCall) -> CountedCall<'a> {
        let finish = attempt.finish();
        let refused =
            finish == Some(FinishReason::Refused) || attempt.verdict.cause == Some(Cause::Refused);
        let gave = attempt.is_answer() && (attempt.output.is_some() || attempt.stored.is_some());
        CountedCall {
            call,
            answered: refused || gave,
            refused,
            finish,
            usage: attempt.usage(),
        }
    }

    fn of_judge(asked: &'a JudgeCall) -> CountedCall<'a> {
        let JudgeCall {
            call,
            usage,
            answered,
            finish,
            ..
        } = asked;
        let refused = *answered && *finish == Some(FinishReason::Refused);
        CountedCall {
            call,
            answered: *answered,
            refused,
            finish: *finish,
            usage: *usage,
        }
    }
}

impl CountedCall<'_> {
    /// Usable answers: of an agent, those to all of its calls, whatever came of its sample.
    fn answers(&self) -> u64 {
        let agent = self.call.agent.as_ref();
        agent.map_or(u64::from(self.answered), |agent| agent.answers)
    }
}

/// What is summed of one model.
#[derive(Debug, Clone, Default)]
struct CallSums {
    /// Counts and tokens; times, dollars and percentiles are filled in at the end.
    used: ModelUsed,
    throttled: ExactSum,
    backoff: ExactSum,
    cost: ExactSum,
    /// Answers whose cost is known.
    costed: u64,
    spent: ExactSum,
    /// Parts of what was spent whose cost is known.
    spent_costed: u64,
}

/// What the models of a run took so far.
#[derive(Debug, Default)]
pub(super) struct CallTotals {
    /// By name; the number tells models apart where a name would be too much.
    models: BTreeMap<String, (u16, CallSums)>,
    /// Judges, with the latency of each of their calls.
    judges: BTreeMap<String, (CallSums, Vec<f64>)>,
    total: CallSums,
    /// True while events are those of a run that asked no target: outputs that are graded again.
    graded_again: bool,
}

impl CallTotals {
    /// A run begins, or a shard that is joined to it.
    pub fn started(&mut self, graded_again: bool) {
        self.graded_again = graded_again;
    }

    /// Counts the calls of a sample; the number of the model that gave the last output. Those of an
    /// earlier run, which `from` says, are not of this one.
    pub fn add(&mut self, attempts: &[Attempt], from: Option<&ReusedFrom>) -> u16 {
        let mut last = NO_MODEL;
        if from.is_some_and(|from| !from.graded_again) {
            return last;
        }
        let asks_target = !self.graded_again && from.is_none();
        for attempt in attempts {
            attempt
                .judge_calls()
                .for_each(|asked| self.add_judge(asked));
            let Some(call) = attempt.call.as_deref().filter(|_| asks_target) else {
                continue;
            };
            let asked = CountedCall::of_target(attempt, call);
            let next = self.models.len();
            if !self.models.contains_key(&call.model) {
                let number = if next < NUMBERED {
                    next as u16
                } else {
                    NO_MODEL
                };
                self.models
                    .insert(call.model.clone(), (number, CallSums::default()));
            }
            if let Some((number, sums)) = self.models.get_mut(&call.model) {
                sums.add(asked);
                last = *number;
            }
            self.total.add(asked);
        }
        last
    }

    fn add_judge(&mut self, said: &JudgeCall) {
        let asked = CountedCall::of_judge(said);
        let name = &said.call.model;
        if !self.judges.contains_key(name) {
            self.judges.insert(name.clone(), Default::default());
        }
        if let Some((sums, latencies)) = self.judges.get_mut(name) {
            sums.add(asked);
            latencies.extend(said.latency_ms);
        }
        self.total.add(asked);
    }

    /// What is told of the models; `None` when none was asked. `evals` are those that the report
    /// counts.
    pub fn finish(&self, evals: &[CountedEval<'_>]) -> Option<ModelsUsed> {
        if self.models.is_empty() && self.judges.is_empty() {
            return None;
        }
        let mut by_number: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
        let mut all = Vec::new();
        for case in evals.iter().flat_map(CountedEval::cases) {
            for slot in case.slots() {
                let model = case.model(slot);
                if let Some(latency) = case.latency_ms(slot).filter(|_| model != NO_MODEL) {
                    by_number.entry(model).or_default().push(latency);
                    all.push(latency);
                }
            }
        }
        let by_model = self.models.iter().map(|(name, (number, sums))| {
            (
                name.clone(),
                sums.told(by_number.get_mut(number).and_then(|all| latencies(all))),
            )
        });
        let by_model = by_model.collect();
        let judges = self.judges.iter().map(|(name, (sums, of_calls))| {
            all.extend(of_calls);
            (name.clone(), sums.told(latencies(&mut of_calls.clone())))
        });
        let judges = judges.collect();
        Some(ModelsUsed {
            by_model,
            judges,
            total: self.total.told(latencies(&mut all)),
        })
    }
}

impl CallSums {
    fn add(&mut self, asked: CountedCall<'_>) {
        let CountedCall {
            call,
            refused,
            finish,
            usage,
            ..
        } = asked;
        let used = &mut self.used;
        let answers = asked.answers();
        if answers > 0 {
            match call.source {
                AnswerSource::Network => used.answers.network += answers,
                AnswerSource::Cache => used.answers.cache += answers,
                AnswerSource::Recording => used.answers.recording += answers,
            }
            used.cut += u64::from(finish == Some(FinishReason::Length));
            used.refused += u64::from(refused);
            // Of an agent, some of the answers.
            let without_usage = call.agent.as_ref().map_or(0, |agent| agent.without_usage);
            match usage {
                Some(usage) => {
                    used.tokens_input = used.tokens_input.saturating_add(usage.input_tokens);
                    used.tokens_output = used.tokens_output.saturating_add(usage.output_tokens);
                    used.untold += without_usage;
                }
                None => used.untold += answers,
            }
            match usage.and_then(|usage| usage.cost_usd) {
                Some(cost) => {
                    self.cost.add(cost);
                    self.costed += 1;
                    used.unpriced += without_usage;
                }
                None => used.unpriced += answers,
            }
        } else {
            used.unanswered += 1;
        }
        used.lower_bounds += u64::from(call.usage_is_lower_bound);
        used.requests += u64::from(call.requests);
        // An agent makes several calls, and repeats them itself.
        if call.agent.is_none() {
            used.retries += u64::from(call.requests.saturating_sub(1));
        }
        for (label, n) in &call.faults {
            *used.faults.entry(label.clone()).or_default() += u64::from(*n);
        }
        self.throttled.add(call.throttled_ms.unwrap_or(0.0));
        self.backoff.add(call.backoff_ms.unwrap_or(0.0));
        if call.source != AnswerSource::Network {
            let oldest = &mut used.oldest_answer;
            if let Some(at) = call
                .answered_at
                .as_ref()
                .filter(|at| oldest.as_ref().is_none_or(|old| *at < old))
            {
                *oldest = Some(at.clone());
            }
        }
        self.spend(asked);
    }

    fn spend(&mut self, asked: CountedCall<'_>) {
        let CountedCall { call, usage, .. } = asked;
        let spent = &mut self.used.spent;
        let tokens = |sum: &mut u64, usage: &Usage| *sum = sum.saturating_add(usage.tokens());
        let mut known = true;
        for usage in call.spent(usage) {
            tokens(&mut spent.tokens, &usage);
            match usage.cost_usd {
                Some(cost) => {
                    self.spent.add(cost);
                    self.spent_costed += 1;
                }
                None => known = false,
            }
        }
        if let Some(wasted) = &call.wasted {
            tokens(&mut spent.wasted_tokens, wasted);
        }
        if call.is_from_network() && asked.answers() > 0 && usage.is_none() {
            match &call.estimated {
                Some(estimated) => tokens(&mut spent.estimated_tokens, estimated),
                None => known = false,
            }
        }
        spent.unpriced += u64::from(!known);
    }

    fn told(&self, latency_ms: Option<Latencies>) -> ModelUsed {
        let mut used = self.used.clone();
        used.throttled_ms = self.throttled.value();
        used.backoff_ms = self.backoff.value();
        used.latency_ms = latency_ms;
        used.cost_usd = (self.costed > 0).then(|| self.cost.value());
        // What nobody took anything for cost nothing, and that is known.
        let known = self.spent_costed > 0 || used.spent.unpriced == 0;
        used.spent.usd = known.then(|| self.spent.value());
        used
    }
}

fn latencies(all: &mut [f64]) -> Option<Latencies> {
    all.sort_by(f64::total_cmp);
    let at = |share| percentile(all, share).ok();
    Some(Latencies {
        n: all.len(),
        p50: at(0.5)?,
        p95: at(0.95)?,
        p99: at(0.99)?,
    })
}
