//! Runs a program that the suite's author wrote (a command target, a command grader) and ends it with all its descendants.
//!
//! This is no sandbox: the program is trusted with the user's files. What it must not do is outlive its call, so between the
//! harness and the program stands a *supervisor*: a forked copy of the harness that adopts every orphan below it (it is their
//! subreaper), reports how the program ended, and ends everything that is left as soon as the harness lets go of it. A
//! double fork and a session of its own therefore don't get a process away, and neither does a killed harness.
//!
//! Other systems than Linux have no subreaper: there the program's process group is ended.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::base::text::sanitize;

/// After the program has ended: how long something that it left behind may still write to its streams.
const LINGER: Duration = Duration::from_secs(1);

/// How long the supervisor may take to end what is left.
const ENDING: Duration = Duration::from_secs(6);

/// A program to run, and its limits.
#[derive(Debug, Clone)]
pub struct TreeCommand {
    /// Program and arguments; a program with a slash is relative to `dir`, any other is looked up in PATH.
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// The whole environment.
    pub env: Vec<(String, OsString)>,
    pub stdin: Vec<u8>,
    pub timeout: Duration,
    /// Bytes of stdout that are kept, from its beginning. The rest is read and dropped.
    pub keep_stdout: usize,
    /// Bytes of stderr that are kept, from its end.
    pub keep_stderr: usize,
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
}

/// The program could not be started; the text says why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    pub reason: String,
}

/// Runs the program to its end or its time limit. When this future is dropped, the tree is ended too.
pub async fn run(command: &TreeCommand) -> Result<TreeOutput, StartError> {
    let started = Instant::now();
    let mut tree = Tree::start(command)?;
    let mut stdout = Head { kept: Vec::new(), limit: command.keep_stdout, truncated: false };
    let mut stderr = Tail { kept: Vec::new(), limit: command.keep_stderr };
    let pipes = (tree.child.stdin.take(), tree.child.stdout.take(), tree.child.stderr.take());

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
        match tokio::time::timeout(command.timeout, program_end).await {
            Ok(end) => {
                let elapsed = started.elapsed();
                if !pumped {
                    // A child of the program may hold the streams open: what it still says in a moment counts, but it
                    // does not keep the call waiting for ever.
                    let _ = tokio::time::timeout(LINGER, &mut pump).await;
                }
                end.map(|end| (end, elapsed))
            }
            Err(_) => Ok((TreeEnd::TimedOut, started.elapsed())),
        }
    };
    tree.end().await;
    let (end, elapsed) = end.map_err(|error| explain(command, &error))?;
    Ok(TreeOutput {
        end,
        stdout: stdout.kept,
        stdout_truncated: stdout.truncated,
        stderr_tail: stderr.kept,
        elapsed,
    })
}

/// A text from a program's bytes that is safe to show: escape sequences and control characters are dropped.
pub fn printable(bytes: &[u8]) -> String {
    sanitize(&String::from_utf8_lossy(bytes)).trim().to_owned()
}

/// `SIGSEGV` for 11; `signal 99` for what has no name.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
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
        other => return format!("signal {other}"),
    };
    name.to_owned()
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

struct Head {
    kept: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Head {
    fn take(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.kept.len());
        self.truncated |= bytes.len() > room;
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

struct Tail {
    kept: Vec<u8>,
    limit: usize,
}

impl Tail {
    fn take(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..surplus);
    }
}

fn executable(argv0: &str, dir: &Path) -> PathBuf {
    if argv0.contains('/') { dir.join(argv0) } else { PathBuf::from(argv0) }
}

fn base_command(command: &TreeCommand) -> Result<Command, StartError> {
    let Some(argv0) = command.argv.first() else {
        return Err(StartError { reason: "the command is empty".to_owned() });
    };
    let mut child = Command::new(executable(argv0, &command.dir));
    child
        .args(command.argv.iter().skip(1))
        .current_dir(&command.dir)
        .env_clear()
        .envs(command.env.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(child)
}

/// Why a program did not start, with what to do about it.
fn explain(command: &TreeCommand, error: &io::Error) -> StartError {
    let argv0 = command.argv.first().map(String::as_str).unwrap_or_default();
    let file = executable(argv0, &command.dir);
    let reason = match error.kind() {
        io::ErrorKind::NotFound if !command.dir.is_dir() => {
            format!("cannot run `{argv0}`: its folder {} does not exist", command.dir.display())
        }
        io::ErrorKind::NotFound if !argv0.contains('/') => {
            format!("`{argv0}` was not found in PATH; for a file of the suite write `./{argv0}`")
        }
        io::ErrorKind::NotFound if file.is_file() => match shebang(&file) {
            Some(line) => {
                format!("cannot run `{argv0}`: the interpreter of its first line `{line}` was not found")
            }
            None => format!("cannot run `{argv0}`: its loader or interpreter was not found"),
        },
        io::ErrorKind::NotFound => format!("`{argv0}` does not exist (looked for {})", file.display()),
        io::ErrorKind::PermissionDenied if file.is_dir() => format!("cannot run `{argv0}`: it is a folder"),
        io::ErrorKind::PermissionDenied => {
            format!("cannot run `{argv0}`: it is not executable (`chmod +x {argv0}`)")
        }
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => {
            format!("cannot run `{argv0}`: it is no program and has no `#!` line")
        }
        _ => format!("cannot run `{argv0}`: {error}"),
    };
    StartError { reason }
}

fn shebang(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.split(|b| *b == b'\n').next()?;
    line.starts_with(b"#!").then(|| printable(line))
}

#[cfg(target_os = "linux")]
use supervised::Tree;

#[cfg(target_os = "linux")]
mod supervised {
    use std::ffi::{CString, c_char};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// First word of a record on the status pipe: the program's wait status, or the errno of its exec, follows.
    const ENDED: i32 = 0;
    const NOT_STARTED: i32 = 1;

    /// What `execve` needs, laid out before the fork: the forked child must not allocate.
    struct Exec {
        path: CString,
        argv: Vec<*const c_char>,
        envp: Vec<*const c_char>,
        _strings: Vec<CString>,
    }

    // SAFETY: the pointers point into `_strings`, which the value owns and nobody changes.
    unsafe impl Send for Exec {}
    // SAFETY: as above; shared access only reads.
    unsafe impl Sync for Exec {}

    impl Exec {
        fn of(command: &TreeCommand) -> Result<Exec, StartError> {
            let c_string = |bytes: Vec<u8>| {
                CString::new(bytes).map_err(|_| StartError {
                    reason: "cannot run a command whose words hold a NUL character".to_owned(),
                })
            };
            let path = c_string(find(command)?.into_os_string().into_vec())?;
            let mut strings = Vec::new();
            for word in &command.argv {
                strings.push(c_string(word.clone().into_bytes())?);
            }
            for (name, value) in &command.env {
                strings.push(c_string([name.as_bytes(), b"=", value.as_bytes()].concat())?);
            }
            let pointers = |strings: &[CString]| -> Vec<*const c_char> {
                strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
            };
            let (words, variables) = strings.split_at(command.argv.len());
            Ok(Exec { path, argv: pointers(words), envp: pointers(variables), _strings: strings })
        }
    }

    /// The program's file, as `execvp` would find it.
    fn find(command: &TreeCommand) -> Result<PathBuf, StartError> {
        let argv0 = command.argv.first().map(String::as_str).unwrap_or_default();
        if argv0.contains('/') {
            return Ok(executable(argv0, &command.dir));
        }
        let path = command.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let mut denied = None;
        for folder in std::env::split_paths(path.unwrap_or_default()) {
            let file = command.dir.join(folder).join(argv0);
            match file.metadata() {
                Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => return Ok(file),
                Ok(meta) if meta.is_file() => denied = Some(io::Error::from_raw_os_error(libc::EACCES)),
                _ => {}
            }
        }
        Err(explain(command, &denied.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))))
    }

    /// A running program and its supervisor.
    pub(super) struct Tree {
        pub(super) child: Child,
        status: tokio::process::ChildStdout,
        /// Dropping it tells the supervisor to end everything.
        lifeline: Option<OwnedFd>,
    }

    impl Tree {
        pub(super) fn start(command: &TreeCommand) -> Result<Tree, StartError> {
            let broken = |error: io::Error| StartError { reason: format!("cannot start a program: {error}") };
            let (status_read, status_write) = pipe().map_err(broken)?;
            let (lifeline_read, lifeline_write) = pipe().map_err(broken)?;
            let (status_fd, lifeline_fd) = (status_write.as_raw_fd(), lifeline_read.as_raw_fd());
            let mut child = base_command(command)?;
            let exec = Exec::of(command)?;
            // SAFETY: the closure runs in the forked child and calls async-signal-safe functions only: raw system calls on
            // integers and on buffers of its own stack. It neither allocates nor takes a lock nor unwinds.
            unsafe {
                child.pre_exec(move || supervise(&exec, status_fd, lifeline_fd));
            }
            let child = child.spawn().map_err(|error| explain(command, &error))?;
            let status = tokio::process::ChildStdout::from_std(status_read.into()).map_err(broken)?;
            Ok(Tree { child, status, lifeline: Some(lifeline_write) })
        }

        /// How the program itself ended; what it started may still run.
        pub(super) async fn program_end(&mut self) -> io::Result<TreeEnd> {
            let mut words = [[0u8; 4]; 2];
            for word in &mut words {
                self.status.read_exact(word).await?;
            }
            let [kind, status] = words.map(i32::from_ne_bytes);
            if kind == NOT_STARTED {
                return Err(io::Error::from_raw_os_error(status));
            }
            Ok(if libc::WIFSIGNALED(status) {
                TreeEnd::Signaled(libc::WTERMSIG(status))
            } else {
                TreeEnd::Exited(libc::WEXITSTATUS(status))
            })
        }

        /// Ends all that is left and waits until it is gone.
        pub(super) async fn end(mut self) {
            self.lifeline = None;
            let _ = tokio::time::timeout(ENDING, self.child.wait()).await;
        }
    }

    fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
        let mut fds: [RawFd; 2] = [-1; 2];
        // SAFETY: `fds` has room for the two descriptors that pipe2 writes.
        if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both descriptors were opened just now and belong to nobody else.
        Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
    }

    /// Splits the forked child in two: the program's process and the supervisor. Returns only if that can't be done.
    ///
    /// The program's process executes here and not in `Command`, which would wait for the end of its child when the exec
    /// fails; its child is the supervisor, which has no reason to end.
    fn supervise(exec: &Exec, status: RawFd, lifeline: RawFd) -> io::Result<()> {
        // SAFETY: system calls on integers. `clone` without CLONE_VM is a fork that runs no atfork handlers, whose locks
        // another thread of the harness may have held.
        unsafe {
            libc::setsid();
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            let flags = libc::c_long::from(libc::SIGCHLD);
            let program = libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) as libc::pid_t;
            if program < 0 {
                return Err(io::Error::last_os_error());
            }
            if program == 0 {
                libc::setpgid(0, 0);
                libc::execve(exec.path.as_ptr(), exec.argv.as_ptr(), exec.envp.as_ptr());
                let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
                report(status, NOT_STARTED, errno);
                libc::_exit(127)
            }
            watch(program, status, lifeline);
            end_all(program);
            libc::_exit(0)
        }
    }

    /// Reports the program's end and returns when the harness lets go.
    ///
    /// # Safety
    /// Only in a forked child that will not return to the code it was forked from.
    unsafe fn watch(program: libc::pid_t, status: RawFd, lifeline: RawFd) {
        // SAFETY: system calls on integers and on this frame's buffers; every descriptor that is closed here is this
        // process's own copy.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
                libc::signal(signal, libc::SIG_IGN);
            }
            // The copies of other calls' pipes would keep those from ever ending.
            let (low, high) = (status.min(lifeline), status.max(lifeline));
            close_between(0, low - 1);
            close_between(low + 1, high - 1);
            close_between(high + 1, RawFd::MAX);
            let pidfd = libc::syscall(libc::SYS_pidfd_open, program, 0) as RawFd;
            let mut running = true;
            loop {
                let mut polled = [
                    libc::pollfd { fd: lifeline, events: libc::POLLIN, revents: 0 },
                    libc::pollfd { fd: if running { pidfd } else { -1 }, events: libc::POLLIN, revents: 0 },
                ];
                // Kernels before 5.3 have no pidfd: look every few milliseconds.
                let wait_ms = if running && pidfd < 0 { 5 } else { -1 };
                libc::poll(polled.as_mut_ptr(), 2, wait_ms);
                if running {
                    let mut ended: libc::c_int = 0;
                    if libc::waitpid(program, &mut ended, libc::WNOHANG) == program {
                        report(status, ENDED, ended);
                        libc::close(status);
                        running = false;
                    }
                }
                if polled[0].revents != 0 {
                    return;
                }
            }
        }
    }

    /// # Safety
    /// `status` must be an open descriptor of this process.
    unsafe fn report(status: RawFd, kind: i32, value: i32) {
        let record = [kind, value];
        // SAFETY: the buffer is as long as said; eight bytes go into a pipe in one piece.
        unsafe { libc::write(status, record.as_ptr().cast(), size_of_val(&record)) };
    }

    /// Kills children until none is left; those of a killed child become children of this process and come next.
    ///
    /// # Safety
    /// As for `watch`.
    unsafe fn end_all(program: libc::pid_t) {
        // SAFETY: system calls on integers and on this frame's buffers.
        unsafe {
            libc::kill(-program, libc::SIGKILL);
            for _ in 0..5_000 {
                kill_children();
                loop {
                    let mut status: libc::c_int = 0;
                    let reaped = libc::waitpid(-1, &mut status, libc::WNOHANG);
                    if reaped < 0 {
                        return;
                    }
                    if reaped == 0 {
                        break;
                    }
                }
                libc::poll(std::ptr::null_mut(), 0, 1);
            }
        }
    }

    /// # Safety
    /// As for `watch`.
    unsafe fn kill_children() {
        let mut buffer = [0u8; 4096];
        // SAFETY: the path is a C string, the buffer is as long as said, and the descriptor is closed below.
        let read = unsafe {
            let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if fd < 0 {
                return;
            }
            let read = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            libc::close(fd);
            read
        };
        let read = usize::try_from(read).unwrap_or(0);
        let mut pid: libc::pid_t = 0;
        for byte in buffer.iter().take(read) {
            if byte.is_ascii_digit() {
                pid = pid.wrapping_mul(10).wrapping_add(libc::pid_t::from(byte - b'0'));
            } else {
                if pid > 1 {
                    // SAFETY: a child of this process that it has not reaped, so the number can't belong to another.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                }
                pid = 0;
            }
        }
    }

    /// # Safety
    /// As for `watch`; nothing may use the descriptors from `first` to `last` afterwards.
    unsafe fn close_between(first: RawFd, last: RawFd) {
        if last < first {
            return;
        }
        // SAFETY: closing this process's own descriptors.
        unsafe {
            if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
                return;
            }
            for fd in first..=last.min(65_535) {
                libc::close(fd);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Tree {
    child: Child,
    group: Option<i32>,
}

#[cfg(not(target_os = "linux"))]
impl Tree {
    fn start(command: &TreeCommand) -> Result<Tree, StartError> {
        let mut child = base_command(command)?;
        child.process_group(0).kill_on_drop(true);
        let child = child.spawn().map_err(|error| explain(command, &error))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Tree { child, group })
    }

    async fn program_end(&mut self) -> io::Result<TreeEnd> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.child.wait().await?;
        Ok(match status.signal() {
            Some(signal) => TreeEnd::Signaled(signal),
            None => TreeEnd::Exited(status.code().unwrap_or(-1)),
        })
    }

    async fn end(mut self) {
        if let Some(group) = self.group {
            // SAFETY: a system call on integers; the group was made by `process_group(0)`.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = tokio::time::timeout(ENDING, self.child.wait()).await;
    }
}

#[cfg(test)]
#[path = "process_tree_tests.rs"]
mod tests;
