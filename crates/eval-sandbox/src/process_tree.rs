//! Runs a program that the suite's author wrote (a command target, a command grader) and ends it
//! with all its descendants.
//!
//! This is no sandbox: the program is trusted with the user's files. What it must not do is outlive
//! its call, so between the harness and the program stands a *supervisor*: a forked copy of the
//! harness that adopts every orphan below it (it is their subreaper), reports how the program
//! ended, and ends everything that is left as soon as the harness lets go of it. A double fork and
//! a session of its own therefore don't get a process away, and neither does a killed harness.
//!
//! Other systems than Linux have no subreaper: there the program's process group is ended.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use eval_base::text::sanitize;

/// After the program has ended: how long something that it left behind may still write to its
/// streams.
const LINGER: Duration = Duration::from_secs(1);

/// How long the supervisor may take to end what is left.
const ENDING: Duration = Duration::from_secs(6);

/// A program to run, and its limits.
#[derive(Debug, Clone)]
pub struct TreeCommand {
    /// Program and arguments; a program with a slash is relative to `dir`, any other is looked up
    /// in PATH.
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// The whole environment.
    pub env: Vec<(String, OsString)>,
    pub stdin: Vec<u8>,
    pub timeout: Duration,
    /// Bytes of stdout that are kept, from its beginning. The rest is read and dropped.
    pub keep_stdout: usize,
    /// A file to keep them in, instead of memory.
    pub stdout_file: Option<PathBuf>,
    /// Bytes of stderr that are kept, from its end.
    pub keep_stderr: usize,
}

impl TreeCommand {
    fn program(&self) -> ProgramStart<'_> {
        ProgramStart {
            argv: &self.argv,
            dir: &self.dir,
            env: self
                .env
                .iter()
                .map(|(name, value)| (OsStr::new(name), value.as_os_str()))
                .collect(),
            joined: None,
            home: "the suite",
        }
    }
}

/// What it takes to start a program.
struct ProgramStart<'a> {
    argv: &'a [String],
    dir: &'a Path,
    env: Vec<(&'a OsStr, &'a OsStr)>,
    /// Where both its streams go, and then it reads nothing; else it gets three pipes.
    joined: Option<io::PipeWriter>,
    /// What its folder is the folder of, for the hint on how to name a file of it.
    home: &'static str,
}

/// What is left of a program when its tree has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeOutput {
    pub end: TreeEnd,
    pub stdout: Vec<u8>,
    pub stdout_truncated: bool,
    pub stderr_tail: Vec<u8>,
    /// From the start to the program's end.
    pub elapsed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEnd {
    Exited(i32),
    /// Ended by this signal.
    Signaled(i32),
    TimedOut,
    /// By the sandbox that it ran in, in words.
    Stopped(&'static str),
}

/// The program could not be started; the text says why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    pub reason: String,
}

/// Runs the program to its end or its time limit. When this future is dropped, the tree is ended
/// too.
pub async fn run(command: &TreeCommand) -> Result<TreeOutput, StartError> {
    run_until(std::future::pending(), command).await
}

/// The same for a program that is killed once it is not needed any more. The answer comes when the
/// tree has ended.
pub async fn run_until(
    unneeded: impl Future<Output = ()>,
    command: &TreeCommand,
) -> Result<TreeOutput, StartError> {
    let started = Instant::now();
    let mut tree = ProcessTree::start(&command.program())?;
    let mut stdout = OutputHead {
        kept: match &command.stdout_file {
            None => KeptOutput::Bytes(Vec::new()),
            Some(path) => KeptOutput::File(File::create(path).map_err(|error| unwritten(&error))?),
        },
        room: command.keep_stdout,
        truncated: false,
        fault: None,
    };
    let mut stderr = OutputTail {
        kept: Vec::new(),
        limit: command.keep_stderr,
    };
    let pipes = (
        tree.child.stdin.take(),
        tree.child.stdout.take(),
        tree.child.stderr.take(),
    );

    let end = {
        let pump = async {
            tokio::join!(
                feed(pipes.0, &command.stdin),
                drain(pipes.1, |bytes| stdout.take(bytes)),
                drain(pipes.2, |bytes| stderr.take(bytes))
            )
        };
        tokio::pin!(pump);
        let mut pumped = false;
        let program_end = async {
            let ended = tree.program_end();
            tokio::pin!(ended);
            loop {
                tokio::select! {
                    end = &mut ended => break end,
                    _ = &mut pump, if !pumped => pumped = true,
                }
            }
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(command.timeout, program_end) => Some(ended),
            () = unneeded => None,
        };
        match ended {
            Some(Ok(end)) => {
                let elapsed = started.elapsed();
                if !pumped {
                    // A child of the program may hold the streams open: what it still says in a
                    // moment counts, but it does not keep the call waiting for ever.
                    let _ = tokio::time::timeout(LINGER, &mut pump).await;
                }
                end.map(|end| (end, elapsed))
            }
            Some(Err(_)) => Ok((TreeEnd::TimedOut, started.elapsed())),
            None => Ok((TreeEnd::Signaled(libc::SIGKILL), started.elapsed())),
        }
    };
    tree.end().await;
    let (end, elapsed) = end.map_err(|error| explain(&command.program(), &error))?;
    if let Some(error) = stdout.fault {
        return Err(unwritten(&error));
    }
    Ok(TreeOutput {
        end,
        stdout: match stdout.kept {
            KeptOutput::Bytes(bytes) => bytes,
            KeptOutput::File(_) => Vec::new(),
        },
        stdout_truncated: stdout.truncated,
        stderr_tail: stderr.kept,
        elapsed,
    })
}

/// A text from a program's bytes that is safe to show: escape sequences and control characters are
/// dropped.
pub fn printable(bytes: &[u8]) -> String {
    sanitize(&String::from_utf8_lossy(bytes)).trim().to_owned()
}

/// `SIGSEGV` for 11; `signal 99` for what has no name.
pub fn signal_name(signal: i32) -> String {
    known_signal(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// `SIGSEGV` for 11; `None` for what has no common name.
pub(super) fn known_signal(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

async fn feed(pipe: Option<tokio::process::ChildStdin>, bytes: &[u8]) {
    if let Some(mut pipe) = pipe {
        // A program that doesn't read its input (EPIPE) is in its rights.
        let _ = pipe.write_all(bytes).await;
        let _ = pipe.shutdown().await;
    }
}

async fn drain(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(n) => take(buffer.get(..n).unwrap_or_default()),
        }
    }
}

struct OutputHead {
    kept: KeptOutput,
    /// Bytes that are still kept.
    room: usize,
    truncated: bool,
    fault: Option<io::Error>,
}

enum KeptOutput {
    Bytes(Vec<u8>),
    File(File),
}

impl OutputHead {
    fn take(&mut self, bytes: &[u8]) {
        self.truncated |= bytes.len() > self.room;
        let kept = bytes.get(..self.room).unwrap_or(bytes);
        self.room -= kept.len();
        match &mut self.kept {
            KeptOutput::Bytes(all) => all.extend_from_slice(kept),
            KeptOutput::File(file) => {
                if self.fault.is_none() {
                    self.fault = file.write_all(kept).err();
                }
            }
        }
    }
}

fn unwritten(error: &io::Error) -> StartError {
    StartError {
        reason: format!("the output of the program cannot be written: {error}"),
    }
}

struct OutputTail {
    kept: Vec<u8>,
    limit: usize,
}

impl OutputTail {
    fn take(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..surplus);
    }
}

fn executable(argv0: &str, dir: &Path) -> PathBuf {
    if argv0.contains('/') {
        dir.join(argv0)
    } else {
        PathBuf::from(argv0)
    }
}

fn base_command(program: &ProgramStart) -> Result<Command, StartError> {
    let Some(argv0) = program.argv.first() else {
        return Err(StartError {
            reason: "the command is empty".to_owned(),
        });
    };
    let mut child = Command::new(executable(argv0, program.dir));
    child
        .args(program.argv.iter().skip(1))
        .current_dir(program.dir)
        .env_clear()
        .envs(program.env.iter().copied());
    match &program.joined {
        None => child
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        Some(output) => {
            let both = [output.try_clone(), output.try_clone()];
            let [stdout, stderr] = both.map(|end| end.map_err(|error| explain(program, &error)));
            child.stdin(Stdio::null()).stdout(stdout?).stderr(stderr?)
        }
    };
    Ok(child)
}

/// Why a program did not start, with what to do about it.
fn explain(program: &ProgramStart, error: &io::Error) -> StartError {
    let argv0 = program.argv.first().map(String::as_str).unwrap_or_default();
    let file = executable(argv0, program.dir);
    let reason = match error.kind() {
        io::ErrorKind::NotFound if !program.dir.is_dir() => {
            format!(
                "cannot run `{argv0}`: its folder {} does not exist",
                program.dir.display()
            )
        }
        io::ErrorKind::NotFound if !argv0.contains('/') => {
            format!(
                "`{argv0}` was not found in PATH; for a file of {} write `./{argv0}`",
                program.home
            )
        }
        io::ErrorKind::NotFound if file.is_file() => match shebang(&file) {
            Some(line) => {
                format!(
                    "cannot run `{argv0}`: the interpreter in its first line `{line}` was not found"
                )
            }
            None => format!("cannot run `{argv0}`: its loader or interpreter was not found"),
        },
        io::ErrorKind::NotFound => {
            format!("`{argv0}` does not exist (looked for {})", file.display())
        }
        io::ErrorKind::PermissionDenied if file.is_dir() => {
            format!("cannot run `{argv0}`: it is a folder")
        }
        io::ErrorKind::PermissionDenied => {
            format!("cannot run `{argv0}`: it is not executable (`chmod +x {argv0}`)")
        }
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            format!("cannot run `{argv0}`: it is not a program and has no `#!` line")
        }
        _ => format!("cannot run `{argv0}`: {error}"),
    };
    StartError { reason }
}

/// The first line of a script, when it begins with `#!`.
pub fn shebang(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut start = Vec::new();
    std::fs::File::open(file)
        .ok()?
        .take(256)
        .read_to_end(&mut start)
        .ok()?;
    let line = start.split(|b| *b == b'\n').next()?;
    line.starts_with(b"#!").then(|| printable(line))
}

#[cfg(target_os = "linux")]
use supervised::ProcessTree;

#[cfg(target_os = "linux")]
mod supervised;
mod watched;

pub use watched::{WatchResult, WatchedCommand, WatchedEnd, watch};

#[cfg(not(target_os = "linux"))]
use rustix::process::{Pid, Signal, kill_process_group};

#[cfg(not(target_os = "linux"))]
struct ProcessTree {
    child: Child,
    group: Option<Pid>,
}

#[cfg(not(target_os = "linux"))]
impl ProcessTree {
    fn start(program: &ProgramStart) -> Result<ProcessTree, StartError> {
        let mut child = base_command(program)?;
        child.process_group(0).kill_on_drop(true);
        let child = child.spawn().map_err(|error| explain(program, &error))?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(ProcessTree { child, group })
    }

    async fn program_end(&mut self) -> io::Result<TreeEnd> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.child.wait().await?;
        Ok(match status.signal() {
            Some(signal) => TreeEnd::Signaled(signal),
            None => TreeEnd::Exited(status.code().unwrap_or(-1)),
        })
    }

    fn ask_to_end(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    async fn end(mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = tokio::time::timeout(ENDING, self.child.wait()).await;
    }
}

#[cfg(test)]
mod tests;
