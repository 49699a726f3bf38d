//! What a run may spend.

use std::sync::Mutex;

use super::Tokens;
use crate::model::{Budget, Endpoint, Price, Usage};

/// Dollars of an answer.
pub fn cost_of(price: &Price, tokens: Tokens) -> f64 {
    let rest = tokens.input.saturating_sub(tokens.cached_input).saturating_sub(tokens.cache_write);
    let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million.max(0.0);
    let sum = dollars(rest, price.input)
        + dollars(tokens.cached_input, price.cached_input.unwrap_or(price.input))
        + dollars(tokens.cache_write, price.cache_write.unwrap_or(price.input))
        + dollars(tokens.output, price.output);
    sum / 1e6
}

/// Tokens and, where the price is known, dollars of an answer.
pub fn usage_of(endpoint: &Endpoint, tokens: Tokens) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cost_usd: endpoint.price.as_ref().map(|price| cost_of(price, tokens)),
    }
}

/// What was spent on calls: tries without a usable answer count, answers from a cache or a recording don't.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub tokens: u64,
    pub usd: f64,
}

/// What is spent against what may be.
#[derive(Debug, Default)]
pub(super) struct Purse {
    budget: Budget,
    spent: Mutex<Spent>,
}

impl Purse {
    pub fn new(budget: Budget, spent: Spent) -> Purse {
        Purse { budget, spent: Mutex::new(spent) }
    }

    /// True when nothing more may be asked.
    pub fn is_spent(&self) -> bool {
        let spent = self.spent();
        self.budget.usd.is_some_and(|most| spent.usd >= most)
            || self.budget.tokens.is_some_and(|most| spent.tokens >= most)
    }

    pub fn spend(&self, usage: Usage) {
        let mut spent = self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        spent.tokens = spent.tokens.saturating_add(usage.input_tokens).saturating_add(usage.output_tokens);
        spent.usd += usage.cost_usd.unwrap_or(0.0);
    }

    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
