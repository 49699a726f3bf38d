//! How all models of a run are called: the cache, recordings and the budget.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub budget: RunBudget,
}

/// What a run may spend on models; beyond it nothing more is asked. What a cache or a recording
/// answers costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBudget {
    pub usd: Option<f64>,
    /// Input and output together.
    pub tokens: Option<u64>,
}

/// Use of stored answers to the same request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Stored answers are used, and new ones are stored.
    #[default]
    Use,
    /// The model is called again, and the answers are stored.
    Refresh,
    /// The cache is neither read nor written.
    Off,
    /// Only stored answers are used, without network; an answer that is not in the cache is an
    /// error.
    Only,
}
