//! What a session returns: counts, the reason of its end, and the exchanges.

use std::collections::BTreeMap;
use std::fmt;

use eval_models::TokenCounts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A limit that was reached, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReachedLimit {
    Turns(u64),
    Tokens(u64),
    CostUsd(f64),
    /// Calls that are no turns: failed ones, counts of tokens and lists of models.
    OtherCalls(u64),
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReachedLimit::Turns(limit) => write!(f, "the limit of {limit} turns is reached"),
            ReachedLimit::Tokens(limit) => write!(f, "the limit of {limit} tokens is reached"),
            ReachedLimit::OtherCalls(limit) => {
                write!(
                    f,
                    "the limit of {limit} calls that are not turns is reached"
                )
            }
            ReachedLimit::CostUsd(limit) => write!(f, "the limit of ${limit} is reached"),
        }
    }
}

/// A request that the recording has no answer to, and where it first differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayDivergence {
    /// The recorded exchange, from 0, that the request was compared with; `None` when the
    /// recording has no further one in this conversation.
    pub exchange: Option<usize>,
    /// JSON pointer (RFC 6901) into the request body; empty where there is nothing to compare.
    pub pointer: String,
    /// As normalised, shortened, without secrets; `None` where the value is missing.
    pub recorded: Option<String>,
    pub requested: Option<String>,
    /// One sentence.
    pub message: String,
}

/// Why the agent must be stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEnd {
    Limit(ReachedLimit),
    Diverged(ReplayDivergence),
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionEnd::Limit(limit) => limit.fmt(f),
            SessionEnd::Diverged(divergence) => f.write_str(&divergence.message),
        }
    }
}

/// One call of a model and its answer, for trajectories. Without secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// `anthropic_messages`, `openai_chat`, `openai_responses` or `gemini`.
    pub protocol: crate::ApiProtocol,
    /// Of the request's arrival.
    pub at: jiff::Timestamp,
    /// From there to the last byte of the answer, in a replay as well.
    pub duration_ms: u64,
    /// Exchanges with the same number belong to the same conversation (the same system prompt and
    /// first message); numbered from 0 in the order of their first requests.
    pub conversation: usize,
    pub model: Option<String>,
    /// The request's body. Where `continues` is set, it has only what differs from that earlier
    /// request: equal fields are left out, and lists are without their common beginning.
    pub request: Value,
    pub continues: Option<ContinuedRequest>,
    /// 0 without an answer.
    pub status: u16,
    /// The call did not fail, and the agent did not give it up.
    pub is_whole: bool,
    /// The answer's body; a streamed one is assembled to the body that the API would have sent
    /// without streaming.
    pub answer: Value,
    /// `None` when the answer has none.
    pub usage: Option<TokenCounts>,
    pub cost_usd: Option<f64>,
}

/// How a request is written as its difference from an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuedRequest {
    /// The index of the earlier exchange.
    pub exchange: usize,
    /// Top-level fields that are the same there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<String>,
    /// Top-level lists, and how many of their first items are the same there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub items: BTreeMap<String, usize>,
}

/// What a session counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionReport {
    /// Requests to model APIs that were passed on or answered from the recording, also failed ones,
    /// lists of models and counts of tokens.
    pub calls: u64,
    /// Requests that left for a server; none in a replay.
    pub sent: u64,
    /// Answered calls of models, each one turn, however many choices its answer has.
    pub turns: u64,
    /// Sum over the answers that report it. In a replay: of the recorded answers, which cost
    /// nothing now.
    pub usage: TokenCounts,
    /// Turns that report no tokens, or were ended before they did; then `usage` and `cost_usd` are
    /// lower bounds.
    pub turns_without_usage: u64,
    /// Sum over the turns that report usage; `None` when one of them is of a model without a price,
    /// and when there are turns but none reports usage.
    pub cost_usd: Option<f64>,
    /// `usage` or `cost_usd` leave something out: a turn without usage, or what token prices do
    /// not cover (one-hour cache writes, searches on the provider's side).
    pub is_lower_bound: bool,
    /// Names of the models that answered, as requested, sorted.
    pub models: Vec<String>,
    /// Models that answered and have no price, sorted.
    pub unpriced: Vec<String>,
    pub limit: Option<ReachedLimit>,
    pub divergence: Option<ReplayDivergence>,
    /// What was refused: `host:port`, or method and path of an API that is not passed on. Sorted;
    /// at most 100.
    pub denied: Vec<String>,
    /// Requests with a wrong or no token.
    pub unauthorized: u64,
    /// Failed calls by status (`429`, `503`) or kind of failure (`network`, `cut_off`).
    pub upstream_faults: BTreeMap<String, u64>,
    /// Why the last call of a model gave no answer, unless the request itself was refused; `None` if
    /// it gave one.
    pub last_fault: Option<String>,
    /// Calls of models, in the order in which they ended.
    pub exchanges: Vec<Exchange>,
    /// Exchanges that are not in `exchanges` because they exceed its bounds.
    pub exchanges_left_out: u64,
    /// Recorded exchanges that were not requested in a replay.
    pub unused: u64,
    /// The recording could not be written, or lacks an exchange that is too large.
    pub recording_fault: Option<String>,
}

impl SessionReport {
    /// Every exchange with its whole request, one after the other.
    pub fn whole_requests(&self) -> impl Iterator<Item = (&Exchange, Value)> {
        // The latest of each conversation, which the next one mostly continues.
        let mut latest: BTreeMap<usize, (usize, Value)> = BTreeMap::new();
        (0..)
            .zip(&self.exchanges)
            .filter_map(move |(index, exchange)| {
                let known = latest.remove(&exchange.conversation);
                let whole = match (&exchange.continues, known) {
                    (None, _) => Some(exchange.request.clone()),
                    (Some(continues), Some((at, earlier))) if at == continues.exchange => {
                        continues.whole(&earlier, &exchange.request)
                    }
                    _ => self.whole_request(index),
                }?;
                latest.insert(exchange.conversation, (index, whole.clone()));
                Some((exchange, whole))
            })
    }

    /// The whole body of a request: that of an exchange in `exchanges` with the parts that it shares
    /// with earlier ones. `None` for an index that there is not, or when an earlier exchange was
    /// left out.
    pub fn whole_request(&self, index: usize) -> Option<Value> {
        let at = |index: usize| {
            let exchange = self.exchanges.get(index)?;
            Some((&exchange.request, exchange.continues.as_ref()))
        };
        whole_request(at, index)
    }
}

impl ContinuedRequest {
    /// A whole request from the earlier whole one and the difference.
    pub(crate) fn whole(&self, earlier: &Value, difference: &Value) -> Option<Value> {
        let mut whole = difference.as_object()?.clone();
        for name in &self.same {
            whole.insert(name.clone(), earlier.get(name)?.clone());
        }
        for (name, items) in &self.items {
            let shared = earlier.get(name)?.as_array()?.get(..*items)?;
            let rest = whole.get_mut(name)?.as_array_mut()?;
            rest.splice(..0, shared.iter().cloned());
        }
        Some(Value::Object(whole))
    }
}

/// A whole request from the requests that it continues; `at` has what was written of each.
pub(crate) fn whole_request<'a>(
    at: impl Fn(usize) -> Option<(&'a Value, Option<&'a ContinuedRequest>)>,
    index: usize,
) -> Option<Value> {
    let (mut difference, mut continues) = at(index)?;
    let (mut chain, mut number) = (Vec::new(), index);
    while let Some(parts) = continues {
        // Only earlier ones, so that this ends.
        number = Some(parts.exchange).filter(|earlier| *earlier < number)?;
        chain.push((difference, parts));
        (difference, continues) = at(number)?;
    }
    let mut whole = difference.clone();
    while let Some((difference, parts)) = chain.pop() {
        whole = parts.whole(&whole, difference)?;
    }
    Some(whole)
}
