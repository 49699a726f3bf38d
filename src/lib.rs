//! `eval-harness`: author evals of AI output as YAML, run them, and let the result gate work.
//!
//! The modules stand in layers; each may use what is below it in this list and nothing above or beside it
//! (`tests/module_order.rs` reads the `use crate::` lines and fails on a breach):
//!
//! ```text
//! cli
//! phase
//! report  review  notify
//! run
//! baseline  gate  summary
//! grade  target
//! sandbox  llm  journal  load
//! stats  matching  net
//! model
//! spec
//! base
//! ```

pub mod base;
pub mod baseline;
pub mod cli;
pub mod gate;
pub mod grade;
pub mod journal;
pub mod llm;
pub mod load;
pub mod matching;
pub mod model;
pub mod net;
pub mod notify;
pub mod phase;
pub mod report;
pub mod review;
pub mod run;
pub mod sandbox;
pub mod spec;
pub mod stats;
pub mod summary;
pub mod target;
