//! A program that is watched: what it says is handed on as it comes and nothing of it is kept, so that its output may be of
//! any size.

use std::ffi::OsString;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{LINGER, Program, StartError, Tree, TreeEnd, explain};

/// How long a program may tidy up after it was asked to end, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// A program to run and watch. It reads nothing from stdin.
#[derive(Debug, Clone, Copy)]
pub struct WatchedCommand<'a> {
    /// Program and arguments; a program with a slash is relative to `dir`, any other is looked up in PATH.
    pub argv: &'a [String],
    pub dir: &'a Path,
    /// The whole environment.
    pub env: &'a [(OsString, OsString)],
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
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

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Runs the program until it ends, its time is over, or `until` is ready; then ends all that it started.
///
/// A program that is cut short gets SIGTERM, and two seconds later, with everything it started, SIGKILL. `heard` gets each
/// piece of output as it comes. When this future is dropped, the tree is killed.
///
/// # Errors
/// The program could not be started.
pub async fn watch(
    command: &WatchedCommand<'_>,
    until: impl Future<Output = ()>,
    heard: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Watched, StartError> {
    let started = Instant::now();
    let program = Program {
        argv: command.argv,
        dir: command.dir,
        env: command.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect(),
        stdin: false,
        home: "its folder",
    };
    let mut tree = Tree::start(&program)?;
    let pipes = (tree.child.stdout.take(), tree.child.stderr.take());
    let mut listening = pin!(listen(pipes.0, pipes.1, heard));
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
    // A child of the program may hold the streams open: what it still says in a moment counts, but nobody waits for it for
    // ever. Of a tree that is to go, only what is in the pipes is left to read.
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
    Ok(Watched { end, elapsed })
}

/// Reads both streams to their ends.
async fn listen(
    mut stdout: Option<impl AsyncRead + Unpin>,
    mut stderr: Option<impl AsyncRead + Unpin>,
    heard: &mut dyn FnMut(Stream, &[u8]),
) {
    let (mut from_stdout, mut from_stderr) = (vec![0u8; 64 * 1024], vec![0u8; 64 * 1024]);
    loop {
        tokio::select! {
            n = read(&mut stdout, &mut from_stdout), if stdout.is_some() => match n {
                0 => stdout = None,
                n => heard(Stream::Stdout, from_stdout.get(..n).unwrap_or_default()),
            },
            n = read(&mut stderr, &mut from_stderr), if stderr.is_some() => match n {
                0 => stderr = None,
                n => heard(Stream::Stderr, from_stderr.get(..n).unwrap_or_default()),
            },
            else => return,
        }
    }
}

/// 0 at the end, which a broken pipe is too.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}
