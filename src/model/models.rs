//! What a report says of the models of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Attempt, SampleFinished};
use super::judged::JudgeCall;
use eval_models::{FinishReason, ModelSpending, Usage};

/// How the models of a run were asked, and what that took. Counts every call of the run: also those
/// of samples that a resumed session asked again, whose earlier answers no other figure counts any
/// more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelsUsed {
    /// Those that were targets, by `provider:model`.
    pub by_model: BTreeMap<String, ModelUsed>,
    /// Those that were judges, likewise; a model that was both is in both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judges: BTreeMap<String, ModelUsed>,
    /// All of them together.
    pub total: ModelUsed,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelUsed {
    /// Answers that could be used, by where they came from.
    pub answers: Answers,
    /// Calls that ended without one.
    pub unanswered: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests beyond the first one of their call.
    pub retries: u64,
    /// Requests without a usable answer, by what went wrong (`429`, `timeout`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// Milliseconds that calls waited for their turn because of rate limits; a sum over calls that
    /// waited side by side.
    pub throttled_ms: f64,
    /// Milliseconds between tries; likewise a sum.
    pub backoff_ms: f64,
    /// Of the last try, without waiting: of targets that of each finished sample, of judges that of
    /// each of their calls; `null` when none was sent.
    pub latency_ms: Option<Latencies>,
    /// Tokens of answers, wherever they came from.
    pub tokens_input: u64,
    pub tokens_output: u64,
    /// Answers that don't tell their tokens, which are in no sum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untold: u64,
    /// Dollars of answers, wherever they came from; `null` when no answer's cost is known.
    pub cost_usd: Option<f64>,
    /// Answers whose cost is not known: they don't tell their tokens, or nobody says the price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// What this run took of the network.
    pub spent: SpentOn,
    /// Answers that ended at their limit of tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Answers that the model refused to give.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// RFC 3339, UTC: when the oldest answer was given that came from the cache or a recording.
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
    /// How many there are.
    pub n: usize,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Tokens and dollars of answers that came over the network and of tries whose answer could not be
/// used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpentOn {
    pub tokens: u64,
    /// Tokens among them of tries whose answer could not be used.
    pub wasted_tokens: u64,
    /// Tokens among them that are estimated by the length of texts, because the answer does not
    /// tell; only under a budget.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
    /// `null` when something was taken and no cost of it is known.
    pub usd: Option<f64>,
    /// Calls that took something whose cost is not known.
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
    /// What the calls of all attempts took of the network.
    pub fn spent(&self) -> ModelSpending {
        let mut spent = ModelSpending::default();
        self.attempts
            .iter()
            .flat_map(Attempt::spent)
            .for_each(|usage| spent.add(usage.into()));
        spent
    }
}
