//! Outputs from HTTP services, commands and skills.

#[path = "../support/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

mod hostile_lines;
mod http;
mod http_runs;
mod refused_calls;
mod skill;
mod skill_runs;
