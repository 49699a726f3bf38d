//! `eval-harness`: author evals of AI output as YAML, run them, and let the result gate work.
//!
//! The program is this package; what it rests on has crates of its own, whose order the compiler
//! keeps: `eval-base` (texts, files, redaction), `eval-stats`, `eval-match` (comparisons),
//! `eval-models` (calls of model APIs) and `eval-sandbox`. The modules here are in layers; each may
//! use what is below it in this list and nothing above or beside it (`tests/rules` fails on a
//! breach). The exception is `graders`, which is cut by subject: one file of it holds what `spec`,
//! `load` and `model` have of a code grader, and these may name it.
//!
//! ```text
//! cli
//! phase
//! report  notify
//! run
//! baseline  gate  summary
//! grade  target
//! graders
//! isolation  input  journal  load
//! model
//! spec
//! ```

// A server that tests start resets its connections by a system call.
#![cfg_attr(not(test), forbid(unsafe_code))]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

pub mod baseline;
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "the program speaks and ends here"
)]
pub mod cli;
pub mod gate;
pub mod grade;
pub mod graders;
pub mod input;
pub mod isolation;
pub mod journal;
pub mod load;
pub mod model;
pub mod notify;
pub mod phase;
pub mod report;
pub mod run;
pub mod spec;
pub mod summary;
pub mod target;
