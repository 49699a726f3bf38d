//! Asking models: what a run may spend and keep, and what the journal says of each call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::words::CacheMode;

/// The name of the cache's file in its folder.
pub const CACHE_FILE_NAME: &str = "answers.sqlite";

/// How all models of a run are asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    pub cache: CacheMode,
    /// The file of the cache, absolute; `None` when there is no place for one.
    pub cache_file: Option<PathBuf>,
    /// Every exchange is written into this folder. Absolute.
    pub record: Option<PathBuf>,
    /// All answers come from recordings in this folder, whatever a target says. Absolute.
    pub replay: Option<PathBuf>,
    pub budget: Budget,
}

/// What a run may spend on models; beyond it nothing more is asked. What a cache or a recording
/// answers costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub usd: Option<f64>,
    /// Input and output together.
    pub tokens: Option<u64>,
}

/// Where an answer came from.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    #[default]
    Network,
    Cache,
    Recording,
}

/// How a model was asked for one output. Of an answer from a cache or a recording only `source` and
/// `answered_at` speak.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelCall {
    /// `provider:model` as the suite names it.
    pub model: String,
    #[serde(default)]
    pub source: AnswerSource,
    /// Requests that were sent, those without a usable answer included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// Tries without a usable answer, by what went wrong (`429`, `timeout`, `reset`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u32>,
    /// Milliseconds that the call waited for its turn because of rate limits, its own and those
    /// that the server spoke of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ms: Option<f64>,
    /// Milliseconds between tries that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<f64>,
    /// Tokens and dollars of tries whose answer could not be used; part of what was spent, not of
    /// the output's usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasted: Option<super::Usage>,
    /// What an answer over the network is taken to have cost that does not tell its tokens; only
    /// under a budget, which counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<super::Usage>,
    /// RFC 3339, UTC: when the answer was first given, of one from a cache or a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
