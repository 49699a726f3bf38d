//! The program as people call it, verb by verb, with suites, journals and repositories of its own.

#[path = "../support/code_case.rs"]
mod code_case;
#[path = "../support/compared.rs"]
mod compared;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/tier.rs"]
mod tier;

mod accept;
mod agent_endings;
mod agents;
mod apps;
mod baseline_cycle;
mod baseline_store;
mod benchmarks;
mod broken_files;
mod changed;
mod check;
mod ci;
mod clock;
mod compare;
mod compare_mismatches;
mod compare_to;
mod compared_runs;
mod completions;
mod configuration;
mod docs_ci;
mod ds1000;
mod example_suite;
mod export;
mod faults;
mod grading;
mod history;
mod humaneval_pack;
mod intervals;
mod junit_schema;
mod kill_resume;
mod languages;
mod measures;
mod notify;
mod parts;
mod phase;
mod phase_workspaces;
mod power;
mod private;
mod prompts;
mod pull_request;
mod released;
mod resume;
mod reviews;
mod run_gate;
mod runs;
mod score_baselines;
mod seed_regressions;
mod seeds;
mod show;
mod sides;
mod statistics;
mod trajectories;
mod trajectory_graders;
mod validate;
mod values;
mod walkthrough;
mod watch;
mod workspace_commands;
mod workspace_graders;
mod workspace_records;
mod workspaces;
