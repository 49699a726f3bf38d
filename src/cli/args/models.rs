//! How models are called: the arguments of every verb that calls models.

use std::path::PathBuf;

use clap::Args;

use super::word;
use crate::load::ModelOverrides;
use crate::spec::words::CacheMode;

const MODELS: &str = "Models";

#[derive(Debug, Clone, Default, Args)]
pub struct ModelArgs {
    /// `use`: use stored answers and store new ones. `refresh`: call the model again and store the
    /// answers. `off`: neither. `only`: call no model; an answer that is not in the cache is an
    /// error.
    #[arg(long, value_name = "MODE", value_parser = word::<CacheMode>, help_heading = MODELS)]
    pub cache: Option<CacheMode>,
    /// Write every exchange with a model, also those from the cache, as a file to this folder;
    /// exchanges of a target with `replay` are not written.
    #[arg(long, value_name = "DIR", conflicts_with = "replay", help_heading = MODELS)]
    pub record: Option<PathBuf>,
    /// Take all model answers from this folder of recordings: no model is called, and no key is
    /// needed.
    #[arg(long, value_name = "DIR", help_heading = MODELS)]
    pub replay: Option<PathBuf>,
}

impl ModelArgs {
    pub fn overrides(&self) -> ModelOverrides {
        ModelOverrides {
            cache: self.cache,
            record: self.record.clone(),
            replay: self.replay.clone(),
        }
    }
}
