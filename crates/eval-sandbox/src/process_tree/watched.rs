//! A program that is watched: what it says is handed on as it comes and nothing of it is kept, so
//! that its output may be of any size.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::process::ChildStdout;

use super::{LINGER, ProcessTree, ProgramStart, StartError, TreeEnd, drain, explain};

/// How long a program may tidy up after it was asked to end, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A program to run and watch. It reads nothing from stdin.
#[derive(Debug, Clone, Copy)]
pub struct WatchedCommand<'a> {
    /// Program and arguments; a program with a slash is relative to `dir`, any other is looked up
    /// in PATH.
    pub argv: &'a [String],
    pub dir: &'a Path,
    /// The whole environment.
    pub env: &'a [(OsString, OsString)],
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchResult {
    pub end: WatchedEnd,
    /// From the start to the program's end.
    pub elapsed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedEnd {
    Exited(i32),
    /// Ended by this signal, which nobody here sent.
    Signaled(i32),
    TimedOut,
    /// What `until` waited for came first.
    Cancelled,
}

/// Runs the program until it ends, its time is over, or `until` is ready; then ends all that it
/// started.
///
/// A program that is cut short gets SIGTERM, and two seconds later, with everything it started,
/// SIGKILL. `heard` gets each piece of output as it comes; stdout and stderr are one pipe, so that
/// they come in the order in which they were written. When this future is dropped, the tree is
/// killed.
///
/// # Errors
/// The program could not be started.
pub async fn watch(
    command: &WatchedCommand<'_>,
    until: impl Future<Output = ()>,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<WatchResult, StartError> {
    let started = Instant::now();
    let broken = |error: io::Error| StartError {
        reason: format!("cannot start a program: {error}"),
    };
    let (output, input) = io::pipe().map_err(broken)?;
    let mut program = ProgramStart {
        argv: command.argv,
        dir: command.dir,
        env: command
            .env
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            .collect(),
        joined: Some(input),
        home: "its folder",
    };
    let mut tree = ProcessTree::start(&program)?;
    // Our own end for writing would keep the pipe from ever ending.
    program.joined = None;
    let output = ChildStdout::from_std(OwnedFd::from(output).into()).map_err(broken)?;
    let mut listening = pin!(drain(Some(output), heard));
    let mut silent = false;
    let (mut until, mut timeout) = (pin!(until), pin!(tokio::time::sleep(command.timeout)));
    let end = loop {
        tokio::select! {
            biased;
            ended = tree.program_end() => break ended.map(|end| match end {
                TreeEnd::Signaled(signal) => WatchedEnd::Signaled(signal),
                TreeEnd::Exited(code) => WatchedEnd::Exited(code),
                TreeEnd::TimedOut | TreeEnd::Stopped(_) => WatchedEnd::TimedOut,
            }),
            () = &mut until => break Ok(WatchedEnd::Cancelled),
            () = &mut timeout => break Ok(WatchedEnd::TimedOut),
            () = &mut listening, if !silent => silent = true,
        }
    };
    let end = end.map_err(|error| explain(&program, &error))?;
    if matches!(end, WatchedEnd::TimedOut | WatchedEnd::Cancelled) {
        tree.ask_to_end();
        let mut grace = pin!(tokio::time::sleep(GRACE));
        loop {
            tokio::select! {
                _ = tree.program_end() => break,
                () = &mut grace => break,
                () = &mut listening, if !silent => silent = true,
            }
        }
    }
    let elapsed = started.elapsed();
    // A child of the program may hold the streams open: what it still says in a moment counts, but
    // nobody waits for it for ever. Of a tree that is to go, only what is in the pipes is left to
    // read.
    let rest = async {
        if !silent {
            let _ = tokio::time::timeout(LINGER, &mut listening).await;
        }
    };
    if matches!(end, WatchedEnd::TimedOut | WatchedEnd::Cancelled) {
        tokio::join!(tree.end(), rest);
    } else {
        rest.await;
        tree.end().await;
    }
    Ok(WatchResult { end, elapsed })
}
