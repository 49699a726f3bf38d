//! Code of candidates: what runs, what it may, how it is judged.

#[path = "../support/code_case.rs"]
mod code_case;
#[path = "../sandbox_attacks/processes.rs"]
mod processes;
#[path = "../support/mod.rs"]
mod support;

mod answer_bounds;
mod correct_answers;
mod demands;
mod grace_periods;
mod honest;
mod hostile_outputs;
mod interpreters;
mod jobs;
mod killed;
mod landlock;
mod languages;
mod limits;
mod no_isolation;
mod properties;
mod raised;
mod result_protocol;
mod server;
mod soak;
mod workspaces;
