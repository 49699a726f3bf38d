//! What a report says of the models of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Attempt, SampleFinished};
use super::judged::JudgeCall;
use eval_models::{FinishReason, ModelSpending, Usage};

/// The model calls of a run and their costs. Counts every call of the run, also those of samples
/// that a resumed session ran again, whose earlier answers no other figure counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelsUsed {
    /// Calls of targets, by `provider:model`.
    pub by_model: BTreeMap<String, ModelUsed>,
    /// Calls of judges, by `provider:model`; a model that was both is in both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judges: BTreeMap<String, ModelUsed>,
    /// All of them together.
    pub total: ModelUsed,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelUsed {
    /// Usable answers, by source; of agents, the answers to all of their calls.
    pub answers: Answers,
    /// Calls without a usable answer; of agents, samples in which no call had one.
    pub unanswered: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests after the first one of a call, without those of agents, which repeat their calls
    /// themselves.
    pub retries: u64,
    /// Requests without a usable answer, by fault (`429`, `timeout`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// Milliseconds that calls waited because of rate limits, summed over concurrent calls.
    pub throttled_ms: f64,
    /// Milliseconds waited between tries, summed likewise.
    pub backoff_ms: f64,
    /// Latency of the last try, without waiting: for targets of each finished sample, for judges of
    /// each call; `null` if none was sent.
    pub latency_ms: Option<Latencies>,
    /// Tokens of answers from any source.
    pub tokens_input: u64,
    pub tokens_output: u64,
    /// Answers that report no tokens; no sum includes them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untold: u64,
    /// US dollars of answers from any source; `null` if no cost is known.
    pub cost_usd: Option<f64>,
    /// Answers of unknown cost: they report no tokens, or the model has no price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Samples of agents whose tokens and cost are a lower bound; the sums are then lower bounds, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lower_bounds: u64,
    /// Usage of the network by this run.
    pub spent: SpentOn,
    /// Answers that reached their token limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Answers that the model refused to give.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Time of the oldest answer from the cache or a recording (RFC 3339, UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_answer: Option<String>,
}

impl ModelUsed {
    /// Answers from anywhere.
    pub fn all_answers(&self) -> u64 {
        let Answers {
            network,
            cache,
            recording,
        } = self.answers;
        network + cache + recording
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    pub network: u64,
    pub cache: u64,
    pub recording: u64,
}

/// Percentiles, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Number of values.
    pub n: usize,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Tokens and US dollars of answers over the network and of tries with an unusable answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpentOn {
    pub tokens: u64,
    /// Of these, tokens of tries with an unusable answer.
    pub wasted_tokens: u64,
    /// Of these, tokens estimated by the length of texts because the answer reports none; only with
    /// a budget.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
    /// US dollars; `null` if there was usage of which no cost is known.
    pub usd: Option<f64>,
    /// Number of calls of unknown cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Attempt {
    /// Tokens of the output, when it tells them.
    pub fn usage(&self) -> Option<Usage> {
        match (&self.output, &self.stored) {
            (Some(output), _) => output.usage,
            (None, stored) => stored.as_ref().and_then(|stored| stored.usage),
        }
    }

    /// Why the model ended its answer, when it said.
    pub fn finish(&self) -> Option<FinishReason> {
        match (&self.output, &self.stored) {
            (Some(output), _) => output.finish,
            (None, stored) => stored.as_ref().and_then(|stored| stored.finish),
        }
    }

    /// The questions that were put to judges about this output.
    pub fn judge_calls(&self) -> impl Iterator<Item = &JudgeCall> {
        let judged = self
            .verdict
            .grades
            .iter()
            .filter_map(|grade| grade.judged.as_deref());
        judged
            .flat_map(|judged| &judged.votes)
            .flat_map(|vote| &vote.calls)
    }

    /// What the target's call for this output took of the network.
    pub fn spent_by_target(&self) -> impl Iterator<Item = Usage> {
        self.call
            .as_deref()
            .into_iter()
            .flat_map(|call| call.spent(self.usage()))
    }

    /// What the calls of judges took of the network.
    pub fn spent_by_judges(&self) -> impl Iterator<Item = Usage> {
        self.judge_calls()
            .flat_map(|asked| asked.call.spent(asked.usage))
    }

    /// What all calls for this output took of the network, those of the target and those of judges.
    pub fn spent(&self) -> impl Iterator<Item = Usage> {
        self.spent_by_target().chain(self.spent_by_judges())
    }
}

impl SampleFinished {
    /// What the calls of all attempts took of the network, as far as this run made them.
    pub fn spent(&self) -> ModelSpending {
        let mut spent = ModelSpending::default();
        let from = self.reused_from.as_deref();
        for attempt in &self.attempts {
            let target = attempt.spent_by_target().filter(|_| from.is_none());
            let is_judged = from.is_none_or(|from| from.graded_again);
            let judges = attempt.spent_by_judges().filter(|_| is_judged);
            target
                .chain(judges)
                .for_each(|usage| spent.add(usage.into()));
        }
        spent
    }
}
