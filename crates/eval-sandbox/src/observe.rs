//! Runs a program and counts its system calls, each of which waits for the harness to say what a
//! job would get.
//!
//! For people who want to know why a program does not run here (`doctor --observe`). No candidate
//! is graded in this way: every call costs some ten microseconds.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::channel::{CellLink, SharedValue, message_pair};
use super::error::SandboxError;
use super::filter::{FilterEmulator, FilterScope};
use super::listener::CallListener;
use super::pool::SandboxWorker;
use super::programs::{conclude, prepare};
use super::types::{ProgramJob, SyscallObservation, Tier};

/// How long a process may take from its start to its program.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn observe(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    program: ProgramJob,
) -> Result<SyscallObservation, SandboxError> {
    let limits = program.limits.clone();
    let (mut launch, shown) = prepare(program)?;
    let (tier, scratch) = worker.place()?;
    let confines = match tier {
        Tier::Userns | Tier::Rootns => FilterScope::Namespaces,
        // Whether Landlock keeps signals in plays no part: those to the job's processes are allowed
        // either way.
        Tier::Landlock => FilterScope::Host {
            owns_files: true,
            signals_kept_in: true,
            in_workspace: false,
        },
        Tier::None => {
            return Err(SandboxError::BadRequest(
                "without isolation no system call is refused".to_owned(),
            ));
        }
    };
    let verdicts = FilterEmulator::new(confines).ok_or_else(|| {
        SandboxError::BadRequest("only x86_64 and aarch64 are supported".to_owned())
    })?;
    let (ours, theirs) = message_pair()?;
    launch.spec.observed = true;
    launch.extra.insert(0, theirs);
    let mut shared = None;
    let running = worker.run_observed(cancel, launch, &limits, || {
        let (_, fds) = CellLink::new(ours).wait(&mut [0u8; 8], PATIENCE)?;
        // None came: the process ended before, and says why.
        let listener = fds
            .into_iter()
            .next()
            .map(|fd| SharedValue::new(CallListener::observing(fd, scratch, verdicts)));
        shared.clone_from(&listener);
        Ok(listener)
    })?;
    let result = conclude(running, &shown)?;
    let calls = shared
        .map(|listener| listener.get().observed())
        .unwrap_or_default();
    Ok(SyscallObservation { result, calls })
}
