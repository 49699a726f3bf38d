//! The command of a step: a program of the user's, in the user's own environment, ended with all
//! that it started.

use std::ffi::OsString;
use std::time::Duration;

use crate::model::StepCommand;
use crate::run::{CancelLevel, CancelSwitch};
use eval_sandbox::process_tree::{self, StartError, WatchedCommand, WatchedEnd, signal_name};

/// Bytes of output that are kept, from the end, of stdout and stderr together.
const TAIL: usize = 64 * 1024;

/// What is left of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FinishedCommand {
    pub end: WatchedEnd,
    /// The end of what it wrote to both streams.
    pub tail: Vec<u8>,
    /// Whether it wrote more than that.
    pub cut: bool,
    pub elapsed: Duration,
}

impl FinishedCommand {
    /// Why a command that did not end by itself with exit code 0 is no success, in words.
    pub fn trouble(&self, timeout: Duration) -> Option<String> {
        match self.end {
            WatchedEnd::Exited(0) => None,
            WatchedEnd::Exited(code) => Some(format!("it ended with exit code {code}")),
            WatchedEnd::Signaled(signal) => {
                Some(format!("it was ended by {}", signal_name(signal)))
            }
            WatchedEnd::TimedOut => Some(format!(
                "did not end within {} s; it was ended with all it had started",
                timeout.as_secs_f64()
            )),
            WatchedEnd::Cancelled => {
                Some("interrupted; it was ended with all it had started".to_owned())
            }
        }
    }
}

/// Runs the command to its end or its time limit, or until the first wish to cancel: whoever
/// interrupts a phase does not wait for tests of an hour. `heard` gets each piece of output as it
/// comes.
///
/// # Errors
/// The command could not be started.
pub(super) async fn run(
    command: &StepCommand,
    env: &[(OsString, OsString)],
    cancel: &CancelSwitch,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<FinishedCommand, StartError> {
    let mut tail = CommandTail::default();
    let watched = WatchedCommand {
        argv: &command.argv,
        dir: &command.dir,
        env,
        timeout: command.timeout,
    };
    let mut listen = |bytes: &[u8]| {
        tail.take(bytes);
        heard(bytes);
    };
    let watched =
        process_tree::watch(&watched, cancel.reached(CancelLevel::Finish), &mut listen).await?;
    Ok(FinishedCommand {
        end: watched.end,
        cut: tail.cut,
        tail: tail.kept(),
        elapsed: watched.elapsed,
    })
}

/// The last bytes of a stream. What is dropped is dropped in large pieces, so that each byte is
/// moved at most twice.
#[derive(Default)]
struct CommandTail {
    bytes: Vec<u8>,
    cut: bool,
}

impl CommandTail {
    fn take(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > 4 * TAIL {
            self.shorten();
        }
        self.bytes.extend_from_slice(
            bytes
                .get(bytes.len().saturating_sub(TAIL)..)
                .unwrap_or(bytes),
        );
        self.cut |= bytes.len() > TAIL;
    }

    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(TAIL);
        self.cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    fn kept(mut self) -> Vec<u8> {
        self.shorten();
        self.bytes
    }
}
