//! `prices:` of a suite: what models cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RefOr;

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSpec {
    /// Tokens of questions.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub input_per_million: f64,
    /// Tokens of answers.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub output_per_million: f64,
    /// Tokens of questions that the provider's own cache of prompts held. Default: as
    /// `input_per_million`.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub cached_input_per_million: Option<f64>,
    /// Tokens of questions that the provider's own cache of prompts took in. Default: as
    /// `input_per_million`.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub cache_write_per_million: Option<f64>,
}

/// A file with `prices:`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PricesFile {
    /// Prices by `provider:model`, or a glob over it such as `openai:gpt-4o*`; the most exact one
    /// counts.
    pub prices: BTreeMap<String, PriceSpec>,
}

/// `prices:` of a suite: the prices, or a reference to a file of them.
pub type SuitePrices = RefOr<BTreeMap<String, PriceSpec>>;

/// What a run may spend on models; answers from the cache and from recordings are free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    /// Dollars. Every model of the suite then needs a price.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub usd: Option<f64>,
    /// Tokens of questions and answers together.
    pub tokens: Option<u64>,
}
