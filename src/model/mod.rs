//! Plans, outcomes, grades, events and summaries: plain data that the modules hand to each other.

mod agent;
mod baseline;
mod calibration;
mod cases;
mod check;
mod comparison;
mod dataset;
mod dependency;
mod env_file;
mod event;
mod executor;
mod fingerprint;
mod grade;
mod grader;
mod input_shown;
mod judge;
mod judge_health;
mod judged;
pub mod limits;
mod metric;
mod models;
mod notify;
mod outcome;
mod outline;
mod part;
mod people;
mod phase;
mod plan;
mod planned_samples;
mod power;
mod problem;
mod prompt;
mod reading;
mod review;
mod run;
mod run_scores;
mod sandbox;
mod summary;
mod target;
#[cfg(test)]
pub mod testing;
mod trajectory;
mod workspace;

pub use agent::*;
pub use baseline::*;
pub use calibration::*;
pub use cases::*;
pub use check::*;
pub use comparison::*;
pub use dataset::*;
pub use dependency::*;
pub use env_file::*;
pub use event::*;
pub use executor::*;
pub use fingerprint::*;
pub use grade::*;
pub use grader::*;
pub use input_shown::*;
pub use judge::*;
pub use judge_health::*;
pub use judged::*;
pub use metric::*;
pub use models::*;
pub use notify::*;
pub use outcome::*;
pub use outline::*;
pub use part::*;
pub use people::*;
pub use phase::*;
pub use plan::*;
pub use planned_samples::*;
pub use power::*;
pub use problem::*;
pub use prompt::*;
pub use reading::without_details;
pub use review::*;
pub use run::*;
pub use run_scores::*;
pub use sandbox::*;
pub use summary::*;
pub use target::*;
pub use trajectory::*;
pub use workspace::*;

pub use crate::spec::words::*;
pub use eval_models::{
    AgentCalls, AnswerSource, ApiKey, CACHE_FILE_NAME, CallLimits, Endpoint, HttpDialect,
    KeySource, KeyValue, LaneLimits, ModelCall, ModelSettings, ProviderApi, RunBudget,
    SamplingOptions, TokenPrice, Usage,
};
