//! One question to a model, its answer, and what the journal records of the call.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::usage_of;
use crate::{Endpoint, ModelFault, QuestionKey, SamplingOptions};
use eval_base::text::is_visible;

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub system: Option<String>,
    pub messages: Vec<ChatMessage>,
    pub sampling: SamplingOptions,
    /// Which of several independent answers this is: calls that differ in it alone never share one.
    pub index: CallIndex,
    /// For one try, where the endpoint does not say.
    pub timeout: Duration,
}

/// What of a question an API has places for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSupport {
    /// For what the system says, apart from the prompt.
    pub system: bool,
    /// For a conversation of several turns.
    pub turns: bool,
    /// For a schema of the answer.
    pub schema: bool,
}

/// Independent answers to the same question are told apart by these; both from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CallIndex {
    pub sample: u32,
    /// Of a sample that is tried again because its grade failed.
    pub attempt: u32,
    /// Of a judge that is asked several times about the same output.
    pub vote: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// `user`, `assistant`, `system`, `tool`: what the API knows.
    pub role: String,
    /// A text, or parts as the API has them.
    pub content: Value,
}

impl ChatMessage {
    pub fn user(text: impl Into<String>) -> ChatMessage {
        ChatMessage {
            role: "user".to_owned(),
            content: Value::String(text.into()),
        }
    }
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    pub text: String,
    /// Calls of tools as the API gave them, when the model asks for some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Value>,
    pub finish: FinishReason,
    /// `None` when the answer does not tell: unknown, not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCounts>,
    /// The model that answered, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the API gives apart from the text as the model's reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
}

impl Completion {
    pub(crate) fn new(text: impl Into<String>, finish: FinishReason) -> Completion {
        Completion {
            text: text.into(),
            tool_calls: None,
            finish,
            tokens: None,
            model: None,
            thoughts: None,
        }
    }

    /// True when there is no text that anybody could see: it would pass whatever looks for what
    /// must not be there.
    pub fn is_silent(&self) -> bool {
        self.text
            .chars()
            .all(|c| c.is_whitespace() || !is_visible(c))
    }
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// All of the question, those included that a provider's own cache of prompts held or took.
    pub input: u64,
    pub output: u64,
    #[serde(default)]
    pub cached_input: u64,
    #[serde(default)]
    pub cache_write: u64,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    pub result: Result<Completion, ModelFault>,
    /// Of the answer: its tokens and, where the price is known, its cost, wherever it came from.
    pub usage: Option<Usage>,
    /// How it was got.
    pub call: ModelCall,
    /// Wall time of the last try; `None` when nothing was sent.
    pub latency: Option<Duration>,
    /// Under which the cache has it, for [`RunModels::forget`]; `None` when it is not kept, or is all
    /// that there may be.
    pub key: Option<QuestionKey>,
}

impl ModelAnswer {
    pub(crate) fn new(
        endpoint: &Endpoint,
        result: Result<Completion, ModelFault>,
        call: ModelCall,
        latency: Option<Duration>,
    ) -> ModelAnswer {
        let tokens = result.as_ref().ok().and_then(|answer| answer.tokens);
        ModelAnswer {
            usage: tokens.map(|tokens| usage_of(endpoint, tokens)),
            result,
            call,
            latency,
            key: None,
        }
    }
}

/// Reason why a model ended its answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete, or a stop text was reached.
    Stop,
    /// The token limit was reached: the answer is truncated.
    Length,
    /// The model or a filter of its provider refused.
    Refused,
    /// The model requests a tool call.
    ToolCalls,
    /// Another reason, or none was given.
    Other,
}

/// Tokens and cost of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens.
    #[serde(default)]
    pub input_tokens: u64,
    /// Output tokens.
    #[serde(default)]
    pub output_tokens: u64,
    /// Cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Input and output together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(a, b)| a + b),
        }
    }
}

/// Source of an answer.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    #[default]
    Network,
    Cache,
    Recording,
}

/// The model call for one output. For an answer from the cache or a recording, only `source` and
/// `answered_at` are meaningful.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCall {
    /// `provider:model` as the suite names it.
    pub model: String,
    /// Source of the answer.
    #[serde(default)]
    pub source: AnswerSource,
    /// Number of requests sent, including those without a usable answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// Number of tries without a usable answer, by fault (`429`, `timeout`, `reset`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u32>,
    /// Milliseconds that the call waited because of rate limits, the configured ones and those that
    /// the server reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ms: Option<f64>,
    /// Milliseconds waited between failed tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<f64>,
    /// Tokens and dollars of tries with an unusable answer; included in the spending, but not in
    /// the output's usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasted: Option<Usage>,
    /// Estimated usage of an answer over the network that reports no tokens; only with a budget,
    /// which counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Usage>,
    /// Time of the original answer (RFC 3339, UTC), if it is from the cache or a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    /// True if tokens and cost of the output are a lower bound: an answer of the agent's model
    /// reports no usage, or not all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usage_is_lower_bound: bool,
    /// The calls of an agent's sample; absent for other targets. The agent makes them itself, and
    /// repeats those that fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentCalls>>,
}

/// The model calls of one sample of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCalls {
    /// Number of calls that a model answered.
    pub answers: u64,
    /// Number of these answers that report no tokens.
    #[serde(default, skip_serializing_if = "is_no_answer")]
    pub without_usage: u64,
    /// Names of models other than that of the target that answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Number of recorded answers that the agent did not request in a replay.
    #[serde(default, skip_serializing_if = "is_no_answer")]
    pub not_requested: u64,
}

fn is_no_answer(n: &u64) -> bool {
    *n == 0
}

impl ModelCall {
    /// A call for which nothing was sent yet.
    pub(crate) fn of(endpoint: &Endpoint) -> ModelCall {
        ModelCall {
            model: endpoint.name(),
            ..ModelCall::default()
        }
    }

    /// True when the answer came over the network.
    pub fn is_from_network(&self) -> bool {
        self.source == AnswerSource::Network
    }

    /// Whether the tokens and the cost of what this call gave are a lower bound.
    pub fn has_lower_bound(call: Option<&ModelCall>) -> bool {
        call.is_some_and(|call| call.usage_is_lower_bound)
    }

    /// What the call took of the network: of its answer, which used `usage`, and of tries whose
    /// answer could not be used. An answer that is only estimated counts as that.
    pub fn spent(&self, usage: Option<Usage>) -> impl Iterator<Item = Usage> + use<> {
        let answer = Some(self)
            .filter(|call| call.is_from_network())
            .and_then(|call| usage.or(call.estimated));
        answer.into_iter().chain(self.wasted)
    }
}
