//! Accepted results in git: capture, diff, review, accept. `load` reads baselines; this module writes them.
//!
//! `emit` is the one form in which baseline files are written, `lock` keeps writers apart, `replace` puts a whole file in
//! the place of another, `store` is what the verbs use.

mod emit;
mod lock;
mod replace;
mod store;

#[cfg(test)]
mod store_tests;

pub use emit::emit;
pub use store::{Accepted, Broken, Entry, Locked, Store, StoreError};

pub use crate::load::stored::Kept;
