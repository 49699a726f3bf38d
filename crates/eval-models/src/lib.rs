//! Calls of model APIs: one question, one answer, with everything between them accounted for.
//!
//! A call goes through the cache and the recordings (`cache/`, `recordings/`), waits for its turn
//! (`traffic/`), is put into the language of its provider and read back (`providers/`), and is made
//! again where that may help. Nothing here knows what a target, a judge or a grade is. The HTTP
//! client below is [`net`].
//!
//! ```
//! use eval_models::{TokenCounts, TokenPrice, about_tokens, cost_of};
//!
//! let price = TokenPrice { input: 3.0, output: 15.0, cached_input: None, cache_write: None };
//! let tokens = TokenCounts { input: about_tokens(4_000), output: 100, ..TokenCounts::default() };
//! assert_eq!(cost_of(&price, tokens), 0.0045);
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod ask;
mod budget;
pub mod cache;
mod call;
mod endpoint;
mod fault;
mod kept;
mod key;
pub mod net;
mod providers;
mod recordings;
mod settings;
#[cfg(test)]
mod testing;
mod thoughts;
mod traffic;

pub use ask::{ModelsConfig, RunModels};
pub use budget::{ModelSpending, about_tokens, cost_of, longest_answer};
pub use call::{
    AgentCalls, AnswerSource, CallIndex, ChatMessage, Completion, FinishReason, ModelAnswer,
    ModelCall, ModelRequest, PromptSupport, TokenCounts, Usage,
};
pub use endpoint::{
    ApiKey, CallLimits, Endpoint, HttpDialect, KeySource, KeyValue, LaneLimits, ProviderApi,
    SamplingOptions, TokenPrice,
};
pub use fault::{FaultKind, ModelFault};
pub use kept::KeptError;
pub use key::QuestionKey;
pub use providers::{UsageForm, places_of};
pub use recordings::RecordingsError;
pub use settings::{CACHE_FILE_NAME, CacheMode, ModelSettings, RunBudget};
pub use thoughts::SplitAnswer;
pub use traffic::TrafficNow;
