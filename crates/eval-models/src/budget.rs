//! What answers cost, and what a run may spend on them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use super::providers::ANTHROPIC_MAX_TOKENS;
use super::{ModelRequest, TokenCounts};
use crate::{Endpoint, ProviderApi, RunBudget, SamplingOptions, TokenPrice, Usage};
use eval_base::sync::lock;

/// Tokens that an answer is taken to have while none has come and nothing limits it. Few answers
/// are longer, so that a small budget waits for the first answer instead of asking everything at
/// once.
const UNKNOWN_ANSWER: u64 = 16_384;

/// Sums of floats are a little off: ten times 0.005 is less than 0.05.
const DUST: f64 = 1e-9;

/// Dollars:
/// `(rest x input + cached x cached_input + written x cache_write + output x output) / 1,000,000`,
/// where `rest` is the question without what the provider's cache of prompts held or took. Both
/// cost what `input` costs unless the price says more. Never negative; parts that are more than the
/// whole are charged as they are told.
pub fn cost_of(price: &TokenPrice, tokens: TokenCounts) -> f64 {
    let rest = tokens
        .input
        .saturating_sub(tokens.cached_input)
        .saturating_sub(tokens.cache_write);
    let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million.max(0.0);
    let sum = dollars(rest, price.input)
        + dollars(
            tokens.cached_input,
            price.cached_input.unwrap_or(price.input),
        )
        + dollars(tokens.cache_write, price.cache_write.unwrap_or(price.input))
        + dollars(tokens.output, price.output);
    sum / 1e6
}

/// Tokens and, where the price is known, dollars of an answer.
pub fn usage_of(endpoint: &Endpoint, tokens: TokenCounts) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cost_usd: endpoint.price.as_ref().map(|price| cost_of(price, tokens)),
    }
}

/// About how many tokens a text has: one for four bytes of it, which is what English and code come
/// to.
pub fn about_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// What was spent on calls: tries without a usable answer count, answers from a cache or a
/// recording don't.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelSpending {
    pub tokens: u64,
    pub usd: f64,
}

impl ModelSpending {
    pub fn add(&mut self, other: ModelSpending) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.usd += other.usd;
    }
}

impl From<Usage> for ModelSpending {
    fn from(usage: Usage) -> ModelSpending {
        ModelSpending {
            tokens: usage.tokens(),
            usd: usage.cost_usd.unwrap_or(0.0),
        }
    }
}

/// The most that answers of a model took so far.
#[derive(Debug, Clone, Copy)]
struct LargestAnswer {
    /// Output tokens.
    longest: u64,
    /// Input tokens for each that was expected, at least 1.
    denser: f64,
}

/// What is spent against what may be.
///
/// A try is let through when what is spent, what the tries under way are expected to take, and what
/// it is itself expected to take fit the budget. When that is too much it waits for those under
/// way; when none is, it is let through as long as anything is left. So a budget is used up, and
/// passed by no more than the last try and what tries under way take beyond what is expected of
/// them: of the question by its length, of the answer as the longest of the model so far, also for
/// tries that began before that one came, and before the first one as many tokens as it may have.
#[derive(Debug, Default)]
pub(super) struct BudgetLedger {
    budget: RunBudget,
    state: Mutex<LedgerState>,
    /// Told when a try ends.
    settled: Notify,
}

/// A try that has not ended.
#[derive(Debug)]
struct UnderWay {
    model: String,
    price: Option<TokenPrice>,
    /// About how many tokens the question has.
    question: u64,
    /// The most tokens that the answer may have.
    most: Option<u64>,
}

#[derive(Debug, Default)]
struct LedgerState {
    spent: ModelSpending,
    /// The tries under way, by number.
    under_way: HashMap<u64, UnderWay>,
    next: u64,
    /// True when something was refused: nothing more is asked then.
    closed: bool,
    /// What was seen of each model.
    seen: HashMap<String, LargestAnswer>,
}

impl BudgetLedger {
    pub fn new(budget: RunBudget, spent: ModelSpending) -> BudgetLedger {
        let mut state = LedgerState {
            spent,
            ..LedgerState::default()
        };
        state.closed = passed(budget, spent);
        BudgetLedger {
            budget,
            state: Mutex::new(state),
            settled: Notify::new(),
        }
    }

    /// True when nothing more may be asked.
    pub fn is_spent(&self) -> bool {
        self.state().closed
    }

    /// Waits until a try may be made; `None` when the run may spend no more. A hold that is dropped
    /// counts nothing.
    pub async fn admit(&self, endpoint: &Endpoint, call: &ModelRequest) -> Option<BudgetHold<'_>> {
        let question = about_question(call);
        loop {
            // Asked for before the look, so that no news between the two is lost.
            let news = self.settled.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            {
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                let wanted = UnderWay {
                    model: endpoint.name(),
                    price: endpoint.price,
                    question,
                    most: longest_answer(endpoint, &call.sampling),
                };
                let expected = state.about(&wanted);
                let alone = state.under_way.is_empty();
                if state.fits(self.budget, expected)
                    || (alone && !self.is_used_up(state.spent, expected))
                {
                    let number = state.next;
                    state.next += 1;
                    state.under_way.insert(number, wanted);
                    return Some(BudgetHold {
                        purse: self,
                        number,
                        question,
                    });
                }
                if alone {
                    state.closed = true;
                    self.settled.notify_waiters();
                    return None;
                }
            }
            news.await;
        }
    }

    /// True when nothing is left of a budget that a try would need some of.
    fn is_used_up(&self, spent: ModelSpending, expected: ModelSpending) -> bool {
        self.budget
            .usd
            .is_some_and(|most| is_reached(spent.usd, most) && expected.usd > 0.0)
            || self
                .budget
                .tokens
                .is_some_and(|most| spent.tokens >= most && expected.tokens > 0)
    }

    /// Counts what earlier sessions of the run spent.
    pub fn spent_before(&self, before: ModelSpending) {
        let mut state = self.state();
        state.spent.add(before);
        state.closed |= passed(self.budget, state.spent);
    }

    pub fn spent(&self) -> ModelSpending {
        self.state().spent
    }

    fn state(&self) -> MutexGuard<'_, LedgerState> {
        lock(&self.state)
    }
}

impl LedgerState {
    /// What all tries under way are expected to take.
    fn held(&self) -> ModelSpending {
        let mut held = ModelSpending::default();
        self.under_way
            .values()
            .for_each(|one| held.add(self.about(one)));
        held
    }

    fn fits(&self, budget: RunBudget, expected: ModelSpending) -> bool {
        let held = self.held();
        let tokens = self
            .spent
            .tokens
            .saturating_add(held.tokens)
            .saturating_add(expected.tokens);
        let usd = self.spent.usd + held.usd + expected.usd;
        budget.tokens.is_none_or(|most| tokens <= most)
            && budget.usd.is_none_or(|most| usd <= most * (1.0 + DUST))
    }

    /// What a try is expected to take.
    fn about(&self, one: &UnderWay) -> ModelSpending {
        let most = one.most.unwrap_or(u64::MAX);
        let (input, output) = match self.seen.get(&one.model) {
            Some(seen) => (
                (one.question as f64 * seen.denser).ceil() as u64,
                seen.longest.min(most),
            ),
            None => (one.question, one.most.unwrap_or(UNKNOWN_ANSWER)),
        };
        let cost = |price| {
            cost_of(
                price,
                TokenCounts {
                    input,
                    output,
                    ..TokenCounts::default()
                },
            )
        };
        ModelSpending {
            tokens: input.saturating_add(output),
            usd: one.price.as_ref().map_or(0.0, cost),
        }
    }

    fn see(&mut self, model: String, question: u64, took: TokenCounts) {
        let seen = self.seen.entry(model).or_insert(LargestAnswer {
            longest: 0,
            denser: 1.0,
        });
        seen.longest = seen.longest.max(took.output);
        if question > 0 {
            seen.denser = seen.denser.max(took.input as f64 / question as f64);
        }
    }
}

/// True when a budget has nothing left. One of 0 that nothing was taken of still lets through what
/// is free.
fn passed(budget: RunBudget, spent: ModelSpending) -> bool {
    budget
        .usd
        .is_some_and(|most| is_reached(spent.usd, most) && spent.usd > 0.0)
        || budget.tokens.is_some_and(|most| spent.tokens >= most)
}

/// True when dollars have reached a budget, but for what sums of floats are off.
fn is_reached(spent: f64, most: f64) -> bool {
    spent >= most * (1.0 - DUST)
}

/// The most tokens that an answer may have, when something limits it.
pub fn longest_answer(endpoint: &Endpoint, sampling: &SamplingOptions) -> Option<u64> {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let option = |name: &&str| sampling.options.get(*name)?.to_value().as_u64();
    let usual = (endpoint.api == ProviderApi::Anthropic).then_some(ANTHROPIC_MAX_TOKENS);
    names
        .iter()
        .find_map(option)
        .or(sampling.max_tokens)
        .or(usual)
}

/// About how many tokens a question has.
fn about_question(call: &ModelRequest) -> u64 {
    let texts = call.messages.iter().map(|message| match &message.content {
        serde_json::Value::String(text) => text.len(),
        parts => text_bytes(parts),
    });
    about_tokens(texts.sum::<usize>() + call.system.as_ref().map_or(0, String::len))
}

/// Bytes of all texts in a value.
fn text_bytes(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Array(items) => items.iter().map(text_bytes).sum(),
        serde_json::Value::Object(map) => map.values().map(text_bytes).sum(),
        _ => 0,
    }
}

/// Room in the budget for one try.
#[derive(Debug)]
#[must_use = "a hold that is dropped counts nothing"]
pub(super) struct BudgetHold<'a> {
    purse: &'a BudgetLedger,
    number: u64,
    /// About how many tokens the question has.
    question: u64,
}

impl BudgetHold<'_> {
    /// Counts what the try took, as the server says.
    pub fn spend(self, endpoint: &Endpoint, tokens: TokenCounts) {
        let mut state = self.purse.state();
        state.spent.add(usage_of(endpoint, tokens).into());
        state.see(endpoint.name(), self.question, tokens);
        state.closed |= passed(self.purse.budget, state.spent);
    }

    /// Counts an answer that does not say what it took, by the length of its text. Returns what it
    /// is taken to be; `None` without a budget, where nobody needs to know.
    pub fn spend_unsaid(
        self,
        endpoint: &Endpoint,
        call: &ModelRequest,
        answer: &str,
    ) -> Option<Usage> {
        if self.purse.budget == RunBudget::default() {
            return None;
        }
        let tokens = TokenCounts {
            input: about_question(call),
            output: about_tokens(answer.len()),
            ..TokenCounts::default()
        };
        self.spend(endpoint, tokens);
        Some(usage_of(endpoint, tokens))
    }
}

impl Drop for BudgetHold<'_> {
    fn drop(&mut self) {
        self.purse.state().under_way.remove(&self.number);
        self.purse.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
