//! `prices:` of a suite: the prices of models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RefOr;

/// Price of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSpec {
    /// Price of input tokens.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub input_per_million: f64,
    /// Price of output tokens.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub output_per_million: f64,
    /// Price of input tokens read from the provider's prompt cache. Default: `input_per_million`.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub cached_input_per_million: Option<f64>,
    /// Price of input tokens written to the provider's prompt cache. Default: `input_per_million`.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub cache_write_per_million: Option<f64>,
}

/// A file with `prices:`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesFile {
    /// Prices by `provider:model`, or by a glob such as `openai:gpt-4o*`; the most specific one
    /// applies.
    pub prices: BTreeMap<String, PriceSpec>,
}

/// `prices:` of a suite: the prices, or a reference to a file of them.
pub type SuitePrices = RefOr<BTreeMap<String, PriceSpec>>;

/// Spending limit for models in a run; answers from the cache and from recordings are free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    /// Limit in US dollars. Every model of the suite then needs a price.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub usd: Option<f64>,
    /// Limit of input and output tokens together.
    pub tokens: Option<u64>,
}
