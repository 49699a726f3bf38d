//! Talks to models: one question, one answer, with everything between them accounted for.
//!
//! A call goes through the cache and the recordings (`cache/`, `recordings/`), waits for its turn
//! (`traffic/`), is put into the language of its provider and read back (`providers/`), and is made
//! again where that may help. Nothing here knows what a target, a judge or a grade is.

mod ask;
mod budget;
pub mod cache;
mod fault;
mod input;
mod kept;
mod key;
mod providers;
mod recordings;
#[cfg(test)]
mod testing;
mod thoughts;
mod traffic;

pub use ask::{Models, ModelsConfig};
pub use budget::{Spent, about_tokens, cost_of, longest_answer, usage_of};
pub use fault::{Fault, FaultKind};
pub use input::{InputError, InputText, Rendered, messages_of, request_shown};
pub use kept::{Asked, KeptAnswers, KeptError, Look};
pub use key::{Key, Question, key_of};
pub use providers::places_of;
pub use recordings::{Recorder, Recordings, RecordingsError};
pub use thoughts::SplitAnswer;
pub use traffic::TrafficNow;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Finish, ModelCall, Sampling, Usage};
use eval_base::text::is_visible;

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub system: Option<String>,
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    /// Which of several independent answers this is: calls that differ in it alone never share one.
    pub index: CallIndex,
    /// For one try, where the endpoint does not say.
    pub timeout: Duration,
}

/// What of a question an API has places for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// For what the system says, apart from the prompt.
    pub system: bool,
    /// For a conversation of several turns.
    pub turns: bool,
    /// For a schema of the answer.
    pub schema: bool,
}

/// Independent answers to the same question are told apart by these; both from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallIndex {
    pub sample: u32,
    /// Of a sample that is tried again because its grade failed.
    pub attempt: u32,
    /// Of a judge that is asked several times about the same output.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vote: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `user`, `assistant`, `system`, `tool`: what the API knows.
    pub role: String,
    /// A text, or parts as the API has them.
    pub content: Value,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Message {
        Message {
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
    pub finish: Finish,
    /// `None` when the answer does not tell: unknown, not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The model that answered, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the API gives apart from the text as the model's reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
}

impl Completion {
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
pub struct Tokens {
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
pub struct Answer {
    pub result: Result<Completion, Fault>,
    /// Of the answer: its tokens and, where the price is known, its cost, wherever it came from.
    pub usage: Option<Usage>,
    /// How it was got.
    pub told: ModelCall,
    /// Wall time of the last try; `None` when nothing was sent.
    pub latency: Option<Duration>,
    /// Under which the cache has it, for [`Models::forget`]; `None` when it is not kept, or is all
    /// that there may be.
    pub key: Option<Key>,
}
