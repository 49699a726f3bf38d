//! Models as targets and as judges, against servers on 127.0.0.1.

#[path = "../support/judge.rs"]
mod judge;
#[path = "../support/model_runs.rs"]
mod model_runs;
#[path = "../support/model_server.rs"]
mod model_server;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

mod cache;
mod calibrate;
mod check;
mod docs;
mod faults;
mod five_evals;
mod judge_faults;
mod judge_injection;
mod judge_reports;
mod judge_runs;
mod judge_workspaces;
mod keys;
mod mock_server;
mod providers;
mod resume;
mod runs;
mod targets;
mod traffic;
