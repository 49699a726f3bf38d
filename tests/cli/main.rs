//! The program as people call it, verb by verb, with suites, journals and repositories of its own.

#[path = "../support/compared.rs"]
mod compared;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

mod accept;
mod baseline_cycle;
mod baseline_store;
mod broken_files;
mod changed;
mod ci;
mod clock;
mod compare;
mod compare_mismatches;
mod compare_to;
mod compared_runs;
mod completions;
mod configuration;
mod docs_ci;
mod example_suite;
mod export;
mod faults;
mod grading;
mod history;
mod intervals;
mod junit_schema;
mod kill_resume;
mod measures;
mod notify;
mod parts;
mod phase;
mod power;
mod prompts;
mod pull_request;
mod resume;
mod run_gate;
mod runs;
mod score_baselines;
mod seed_regressions;
mod seeds;
mod show;
mod sides;
mod statistics;
mod validate;
mod values;
mod walkthrough;
mod watch;
