//! The command of a step: a program of the user's, in the user's own environment or in the sandbox,
//! ended with all that it started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::graders::programs::LanguageLookup;
use crate::isolation::SandboxRequest;
use crate::model::limits;
use crate::model::{SandboxDemand, StepCommand};
use crate::run::{CancelLevel, CancelSwitch};
use crate::workspace::{RunWorkspaces, SampleWorkspace, WorkspaceFault};
use eval_sandbox::ProgramEnding;
use eval_sandbox::process_tree::{self, StartError, WatchedCommand, WatchedEnd, signal_name};

/// Bytes of each stream of a command in a copy: more ends it.
const COPY_OUTPUT: u64 = 64 << 20;

/// The signal by which limits end a program.
const SIGKILL: i32 = 9;

/// The workspaces of a phase's commands. `helper` is the program that builds sandbox cells, `dir`
/// where relative folders of PATH start, `cache` where layers are kept.
pub(super) fn workspaces(helper: PathBuf, dir: PathBuf, cache: Option<PathBuf>) -> RunWorkspaces {
    let request = SandboxRequest {
        helper,
        workers: 1,
        allow_unsandboxed: false,
        demand: SandboxDemand::default(),
        // Whatever is installed: what commands start is not known.
        readable: LanguageLookup::new(dir).toolchains(),
        pythons: Vec::new(),
    };
    RunWorkspaces::new(request, cache, std::env::var_os("PATH"))
}

/// What is left of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FinishedCommand {
    pub end: WatchedEnd,
    /// The limit of the sandbox that ended it.
    pub stopped: Option<String>,
    /// The end of what it wrote to both streams.
    pub tail: Vec<u8>,
    /// Whether it wrote more than that.
    pub cut: bool,
    pub elapsed: Duration,
}

impl FinishedCommand {
    /// Why a command that did not end by itself with exit code 0 is no success, in words.
    pub fn trouble(&self, timeout: Duration) -> Option<String> {
        if let Some(why) = &self.stopped {
            return Some(format!("it was stopped: it {why}"));
        }
        match self.end {
            WatchedEnd::Exited(0) => None,
            WatchedEnd::Exited(code) => Some(format!("it ended with exit code {code}")),
            WatchedEnd::Signaled(signal) => {
                Some(format!("it was ended by {}", signal_name(signal)))
            }
            WatchedEnd::TimedOut => Some(format!(
                "did not end within {} s; it was stopped with all processes it had started",
                timeout.as_secs_f64()
            )),
            WatchedEnd::Cancelled => {
                Some("interrupted; it was stopped with all processes it had started".to_owned())
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
    dir: &Path,
    env: &[(OsString, OsString)],
    cancel: &CancelSwitch,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<FinishedCommand, StartError> {
    let mut tail = CommandTail::default();
    let watched = WatchedCommand {
        argv: &command.argv,
        dir,
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
        stopped: None,
        cut: tail.cut,
        tail: tail.kept(),
        elapsed: watched.elapsed,
    })
}

/// Runs the command in its workspace, as [`run`] does in place. `heard` gets its output when it has
/// ended, stdout first.
///
/// # Errors
/// The command could not be run.
pub(super) async fn run_in(
    workspace: &SampleWorkspace,
    command: &StepCommand,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<FinishedCommand, WorkspaceFault> {
    let ran = workspace
        .run_command(&command.argv, command.timeout, COPY_OUTPUT)
        .await?;
    let mut tail = CommandTail::default();
    let streams = [&ran.streams.stdout, &ran.streams.stderr];
    for stream in streams.into_iter().filter(|stream| !stream.is_empty()) {
        // Lines of the two are not to become one.
        let end: &[u8] = if stream.ends_with(b"\n") { b"" } else { b"\n" };
        for bytes in [stream, end] {
            tail.take(bytes);
            heard(bytes);
        }
    }
    let (end, stopped) = match ran.ending {
        ProgramEnding::Exited(code) => (WatchedEnd::Exited(code), None),
        ProgramEnding::Signaled(signal) => (WatchedEnd::Signaled(signal), None),
        ProgramEnding::TimedOut => (WatchedEnd::TimedOut, None),
        ended @ (ProgramEnding::MemoryLimit
        | ProgramEnding::OutputLimit
        | ProgramEnding::DiskLimit) => (WatchedEnd::Signaled(SIGKILL), Some(ended.to_string())),
        ProgramEnding::Violation(what) => {
            let why = format!("did what the sandbox forbids ({what})");
            (WatchedEnd::Signaled(SIGKILL), Some(why))
        }
    };
    Ok(FinishedCommand {
        end,
        stopped,
        cut: tail.cut,
        tail: tail.kept(),
        elapsed: ran.wall,
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
        if self.bytes.len() + bytes.len() > 4 * limits::STEP_OUTPUT {
            self.shorten();
        }
        self.bytes.extend_from_slice(
            bytes
                .get(bytes.len().saturating_sub(limits::STEP_OUTPUT)..)
                .unwrap_or(bytes),
        );
        self.cut |= bytes.len() > limits::STEP_OUTPUT;
    }

    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(limits::STEP_OUTPUT);
        self.cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    fn kept(mut self) -> Vec<u8> {
        self.shorten();
        self.bytes
    }
}
