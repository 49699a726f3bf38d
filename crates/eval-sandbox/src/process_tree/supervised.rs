//! The supervisor between the harness and a program: Linux only.

use std::ffi::{CString, c_char};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;

use super::*;

/// First word of a record on the status pipe: the program's wait status, or the errno of its exec,
/// follows.
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
    fn of(program: &Program) -> Result<Exec, StartError> {
        let c_string = |bytes: Vec<u8>| {
            CString::new(bytes).map_err(|_| StartError {
                reason: "cannot run a command whose words hold a NUL character".to_owned(),
            })
        };
        let path = c_string(find(program)?.into_os_string().into_vec())?;
        let mut strings = Vec::new();
        for word in program.argv {
            strings.push(c_string(word.clone().into_bytes())?);
        }
        for (name, value) in &program.env {
            strings.push(c_string(
                [name.as_bytes(), b"=", value.as_bytes()].concat(),
            )?);
        }
        let pointers = |strings: &[CString]| -> Vec<*const c_char> {
            strings
                .iter()
                .map(|s| s.as_ptr())
                .chain([std::ptr::null()])
                .collect()
        };
        let (words, variables) = strings.split_at(program.argv.len());
        Ok(Exec {
            path,
            argv: pointers(words),
            envp: pointers(variables),
            _strings: strings,
        })
    }
}

/// The program's file, as `execvp` would find it.
fn find(program: &Program) -> Result<PathBuf, StartError> {
    let argv0 = program.argv.first().map(String::as_str).unwrap_or_default();
    if argv0.contains('/') {
        return Ok(executable(argv0, program.dir));
    }
    let path = program
        .env
        .iter()
        .find(|(name, _)| *name == "PATH")
        .map(|(_, value)| *value);
    let mut denied = None;
    for folder in std::env::split_paths(path.unwrap_or_default()) {
        let file = program.dir.join(folder).join(argv0);
        match file.metadata() {
            Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {
                return Ok(file);
            }
            Ok(meta) if meta.is_file() => denied = Some(io::Error::from_raw_os_error(libc::EACCES)),
            _ => {}
        }
    }
    Err(explain(
        program,
        &denied.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT)),
    ))
}

/// A running program and its supervisor.
pub(super) struct Tree {
    pub(super) child: Child,
    status: tokio::process::ChildStdout,
    /// Dropping it tells the supervisor to end everything.
    lifeline: Option<OwnedFd>,
}

impl Tree {
    pub(super) fn start(program: &Program) -> Result<Tree, StartError> {
        let broken = |error: io::Error| StartError {
            reason: format!("cannot start a program: {error}"),
        };
        let (status_read, status_write) = pipe().map_err(broken)?;
        let (lifeline_read, lifeline_write) = pipe().map_err(broken)?;
        let (status_fd, lifeline_fd) = (status_write.as_raw_fd(), lifeline_read.as_raw_fd());
        let mut child = base_command(program)?;
        let exec = Exec::of(program)?;
        // SAFETY: the closure runs in the forked child and calls async-signal-safe functions only:
        // raw system calls on integers and on buffers of its own stack. It neither allocates nor
        // takes a lock nor unwinds.
        unsafe {
            child.pre_exec(move || supervise(&exec, status_fd, lifeline_fd));
        }
        let child = child.spawn().map_err(|error| explain(program, &error))?;
        let status = tokio::process::ChildStdout::from_std(status_read.into()).map_err(broken)?;
        Ok(Tree {
            child,
            status,
            lifeline: Some(lifeline_write),
        })
    }

    /// How the program itself ended; what it started may still run. May be dropped and asked again.
    pub(super) async fn program_end(&mut self) -> io::Result<TreeEnd> {
        // One piece, as it was written: who stops waiting and comes back finds all of it.
        let mut record = [0u8; 8];
        self.status.read_exact(&mut record).await?;
        let [a, b, c, d, e, f, g, h] = record;
        let [kind, status] = [[a, b, c, d], [e, f, g, h]].map(i32::from_ne_bytes);
        if kind == NOT_STARTED {
            return Err(io::Error::from_raw_os_error(status));
        }
        Ok(if libc::WIFSIGNALED(status) {
            TreeEnd::Signaled(libc::WTERMSIG(status))
        } else {
            TreeEnd::Exited(libc::WEXITSTATUS(status))
        })
    }

    /// Has SIGTERM sent to the program and its process group.
    pub(super) fn ask_to_end(&self) {
        if let Some(lifeline) = &self.lifeline {
            // SAFETY: one byte from a buffer of this frame into a pipe of our own. A supervisor
            // that is gone has ended everything already (EPIPE; Rust programs ignore the signal).
            unsafe { libc::write(lifeline.as_raw_fd(), [b't'].as_ptr().cast(), 1) };
        }
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

/// Splits the forked child in two: the program's process and the supervisor. Returns only if that
/// can't be done.
///
/// The program's process executes here and not in `Command`, which would wait for the end of its
/// child when the exec fails; its child is the supervisor, which has no reason to end.
fn supervise(exec: &Exec, status: RawFd, lifeline: RawFd) -> io::Result<()> {
    // SAFETY: system calls on integers. `clone` without CLONE_VM is a fork that runs no atfork
    // handlers, whose locks another thread of the harness may have held.
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

/// Reports the program's end, passes on a wish that it end, and returns when the harness lets go.
///
/// # Safety
/// Only in a forked child that will not return to the code it was forked from.
unsafe fn watch(program: libc::pid_t, status: RawFd, lifeline: RawFd) {
    // SAFETY: system calls on integers and on this frame's buffers; every descriptor that is closed
    // here is this process's own copy.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        for signal in [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGPIPE,
        ] {
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
                libc::pollfd {
                    fd: lifeline,
                    events: libc::POLLIN,
                    revents: 0,
                },
                libc::pollfd {
                    fd: if running { pidfd } else { -1 },
                    events: libc::POLLIN,
                    revents: 0,
                },
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
                // A byte asks the program to end; the end of the pipe means that nobody waits any
                // more.
                let mut asked = 0u8;
                if libc::read(lifeline, (&raw mut asked).cast(), 1) != 1 {
                    return;
                }
                if running {
                    libc::kill(-program, libc::SIGTERM);
                }
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

/// Kills children until none is left; those of a killed child become children of this process and
/// come next.
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
    // SAFETY: the path is a C string, the buffer is as long as said, and the descriptor is closed
    // below.
    let read = unsafe {
        let fd = libc::open(
            c"/proc/thread-self/children".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
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
            pid = pid
                .wrapping_mul(10)
                .wrapping_add(libc::pid_t::from(byte - b'0'));
        } else {
            if pid > 1 {
                // SAFETY: a child of this process that it has not reaped, so the number can't
                // belong to another.
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
