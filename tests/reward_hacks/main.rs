//! Reward hacks end to end: recorded outputs, graded by the program itself. None may pass unless it
//! solves its task, and no honest program beside it may fail.
//!
//! `known.rs` has the hacks that benchmarks report, each against every trust; docs/trust.md has the
//! same table. `classes.rs` and `ahead.rs` have what attacks on this program found, by classes,
//! several variants of each. `mutations.rs` draws any number of further variants:
//!
//! ```text
//! EVAL_HARNESS_ATTACKS=2000 EVAL_HARNESS_ATTACK_SEED=7 cargo nextest run --test reward_hacks drawn --no-capture
//! ```

#[path = "../support/mod.rs"]
mod support;

mod ahead;
mod classes;
mod known;
mod mutations;
mod trials;
