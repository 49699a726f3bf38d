//! Accepted results in git: capture, diff, review, accept. `load` reads baselines; this module writes them.

pub mod capture;
pub mod merge;
pub mod redact;
pub mod status;
