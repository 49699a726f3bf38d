//! HTML reports in a real browser.

#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/judge.rs"]
mod judge;
#[path = "../support/model_runs.rs"]
mod model_runs;
#[path = "../support/model_server.rs"]
mod model_server;
#[path = "../support/pages.rs"]
mod pages;
#[path = "../support/payloads.rs"]
mod payloads;
#[path = "../support/mod.rs"]
mod support;

mod files;
mod hostile;
mod many;
mod report;
mod review;
mod served;
mod timeline;
mod view;
