//! Runs untrusted programs: isolation, limits, and results that the program cannot forge.
//!
//! A [`Sandbox`] has workers; each has a *cell*, a process in namespaces of its own with a
//! read-only root, built once. Every job runs in a fresh pid namespace and a fresh private folder
//! inside a cell, so that it sees no other process and leaves nothing behind. Three kinds of jobs
//! stand on that:
//!
//! - [`Sandbox::run_program`] and [`Sandbox::run_script`]: stdin in, streams and ending out.
//!   [`Sandbox::run_in_workspace`] is the same in a folder that can be written to and is kept;
//! - [`Sandbox::call_functions`]: arguments in, values out, one call at a time by our clock. What
//!   is expected is compared by the caller and never enters the candidate's process;
//! - [`Sandbox::run_tests`]: tests written in Python. A *judge* process runs the tests and never
//!   loads the candidate's code; it reaches the candidate, in a second process, by plain data only.
//!
//! Inside, a job is a list of `ProcessLaunch`es (processes to start, `host.rs`) handed to `RunningJob` (one
//! loop that keeps every limit, `running.rs`); what talks to the processes (`functions.rs`,
//! `testing.rs`) sees channels only. A Python process (`PythonJob`) is a fork of a warm interpreter
//! in the cell (`python/server.rs`), or is started like any other program where there can be none;
//! nothing above notices which.
//!
//! Nothing here knows evals, graders or reports. Everything that a candidate says is checked before
//! it is believed, and `exit 0` is never taken for success.
//!
//! ```no_run
//! # async fn doc() -> Result<(), eval_sandbox::SandboxError> {
//! use eval_sandbox::{ProgramEnding, Sandbox, SandboxConfig, ScriptJob};
//!
//! // The helper is a program that calls `cell_main` when its first argument is `CELL_ARGUMENT`.
//! let sandbox = Sandbox::open(SandboxConfig::new("/usr/bin/eval-harness".into())).await?;
//! let report = sandbox.run_script(ScriptJob { code: "print(6 * 7)".into(), ..ScriptJob::default() }).await?;
//! assert_eq!(report.ending, ProgramEnding::Exited(0));
//! assert_eq!(report.streams.stdout, b"42\n");
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

pub mod languages;
pub mod probe;
pub mod process_tree;

mod error;
mod own_limits;
mod settings;
mod types;

/// The hidden first argument that makes this program a cell.
pub const CELL_ARGUMENT: &str = "__cell";

pub use error::SandboxError;
pub use own_limits::{end_helper, limit_own_memory};
pub use settings::*;
pub use types::*;

#[cfg(target_os = "linux")]
mod adjudicate;
#[cfg(target_os = "linux")]
mod artifacts;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(target_os = "linux")]
mod conversation;
#[cfg(target_os = "linux")]
mod detect;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
mod functions;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod listener;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod messages;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod observe;
#[cfg(target_os = "linux")]
mod open;
#[cfg(target_os = "linux")]
mod plans;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod protocol;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod protocol_fuzz;
#[cfg(target_os = "linux")]
mod python;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod same_core;
#[cfg(target_os = "linux")]
mod sql;
#[cfg(target_os = "linux")]
mod stage;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod testing;
#[cfg(target_os = "linux")]
mod verdict_file;
#[cfg(target_os = "linux")]
mod workspace;

#[cfg(target_os = "linux")]
pub use cell::cell_main;
#[cfg(target_os = "linux")]
pub use open::Sandbox;
#[cfg(target_os = "linux")]
pub use ports::CellPorts;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{CellPorts, Sandbox, cell_main};
