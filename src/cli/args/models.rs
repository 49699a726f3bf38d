//! How models are asked: the arguments of every verb that asks some.

use std::path::PathBuf;

use clap::Args;

use super::word;
use crate::load::ModelOverrides;
use crate::spec::words::CacheMode;

const MODELS: &str = "Models";

#[derive(Debug, Clone, Default, Args)]
pub struct ModelArgs {
    /// `use`: answers of earlier runs count, and new ones are kept. `refresh`: all is asked anew,
    /// and kept. `off`: neither. `only`: nobody is asked, and what is not in the cache is an error.
    #[arg(long, value_name = "MODE", value_parser = word::<CacheMode>, help_heading = MODELS)]
    pub cache: Option<CacheMode>,
    /// Write every exchange with a model, kept ones too, as a file into this folder; not those of a
    /// target's own `replay`.
    #[arg(long, value_name = "DIR", conflicts_with = "replay", help_heading = MODELS)]
    pub record: Option<PathBuf>,
    /// Take every model's answers from this folder of recordings: no model is asked, and no key is
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
