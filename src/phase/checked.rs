//! Steps that a command or test results decide: what is run and read, and by which rules the step has passed.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::command::{self, Ran};
use crate::base::text::sanitize;
use crate::model::{Step, StepCommand, StepResult, StepStatus};
use crate::run::Cancel;
use crate::sandbox::process_tree::WatchedEnd;

/// Runs the command of a step and reads what its tests came to.
///
/// `heard` gets the command's output as it comes, both streams. Paths in the result are relative to `root`. When `cancel` is
/// turned, the command is ended and the step is incomplete.
pub async fn command_step(
    step: &Step,
    command: &StepCommand,
    cancel: &Cancel,
    heard: &mut dyn FnMut(&[u8]),
    root: &Path,
) -> StepResult {
    let _ = root;
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    match command::run(command, &env, cancel, &mut |_, bytes| heard(bytes)).await {
        Err(error) => StepResult { reason: error.reason, ..result(step, StepStatus::Incomplete) },
        Ok(ran) => judged(step, command.timeout, &ran),
    }
}

/// Reads test results that others wrote.
pub fn junit_step(step: &Step, globs: &[String], root: &Path) -> StepResult {
    let _ = (globs, root);
    result(step, StepStatus::Incomplete)
}

fn judged(step: &Step, timeout: Duration, ran: &Ran) -> StepResult {
    let status = match ran.end {
        WatchedEnd::Exited(0) => StepStatus::Passed,
        WatchedEnd::Cancelled => StepStatus::Incomplete,
        WatchedEnd::Exited(_) | WatchedEnd::Signaled(_) | WatchedEnd::TimedOut => StepStatus::Failed,
    };
    let output_tail = match status {
        StepStatus::Passed => String::new(),
        _ => sanitize(&String::from_utf8_lossy(&ran.tail)).into_owned(),
    };
    StepResult {
        reason: ran.trouble(timeout).unwrap_or_default(),
        duration_seconds: ran.elapsed.as_secs_f64(),
        exit_code: if let WatchedEnd::Exited(code) = ran.end { Some(code) } else { None },
        output_tail,
        ..result(step, status)
    }
}

fn result(step: &Step, status: StepStatus) -> StepResult {
    StepResult {
        kind: step.kind,
        name: step.name.clone(),
        action: step.action,
        status,
        reason: String::new(),
        duration_seconds: 0.0,
        exit_code: None,
        output_tail: String::new(),
        tests: None,
        eval: None,
    }
}
