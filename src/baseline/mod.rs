//! Accepted results in git: capture, diff, review, accept. `load` reads baselines; this module
//! writes them.
//!
//! `emit` is the one form in which baseline files are written, `lock` keeps writers apart,
//! `replace` puts a whole file in the place of another, `store` is what the verbs use; `scores`
//! does all of that for score baselines.

pub mod capture;
mod emit;
mod lock;
pub mod merge;
pub mod redact;
mod replace;
mod scores;
pub mod status;
mod store;

#[cfg(test)]
mod store_tests;

pub use emit::emit;
#[cfg(test)]
pub use scores::emit as emit_scores;
pub use scores::{ScoreChanges, ScoreStore, ScoresEntry, ScoresError, ScoresOf, score_changes};
pub use store::{BaselineEntry, BaselineStore, BrokenFile, LockedStore, StoreError};

pub use crate::load::stored::KeptBaseline;
