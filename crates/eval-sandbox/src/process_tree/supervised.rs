//! The supervisor between the harness and a program: Linux only.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Mode, OFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, setpgid, setsid, wait, waitpid,
};

use super::*;
use crate::channel::{pipe, poll_entry};
use crate::own_limits::end_helper;
use crate::syscalls::{self as sys, ExecArguments};

/// First word of a record on the status pipe: the program's wait status, or the errno of its exec,
/// follows.
const ENDED: i32 = 0;
const NOT_STARTED: i32 = 1;

/// Laid out before the fork: the forked child must not allocate.
fn exec_of(program: &ProgramStart) -> Result<ExecArguments, StartError> {
    let c_string = |bytes: Vec<u8>| {
        CString::new(bytes).map_err(|_| StartError {
            reason: "cannot run a command whose words hold a NUL character".to_owned(),
        })
    };
    let path = c_string(find(program)?.into_os_string().into_vec())?;
    let words = program.argv.iter();
    let argv = words.map(|word| c_string(word.clone().into_bytes()));
    let variables = program.env.iter();
    let env =
        variables.map(|(name, value)| c_string([name.as_bytes(), b"=", value.as_bytes()].concat()));
    Ok(ExecArguments::new(
        path,
        argv.collect::<Result<_, _>>()?,
        env.collect::<Result<_, _>>()?,
    ))
}

/// The program's file, as `execvp` would find it.
fn find(program: &ProgramStart) -> Result<PathBuf, StartError> {
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
pub(super) struct ProcessTree {
    pub(super) child: Child,
    status: tokio::process::ChildStdout,
    /// Dropping it tells the supervisor to end everything.
    lifeline: Option<OwnedFd>,
}

impl ProcessTree {
    pub(super) fn start(program: &ProgramStart) -> Result<ProcessTree, StartError> {
        let broken = |error: io::Error| StartError {
            reason: format!("cannot start a program: {error}"),
        };
        let (status_read, status_write) = pipe().map_err(broken)?;
        let (lifeline_read, lifeline_write) = pipe().map_err(broken)?;
        let mut child = base_command(program)?;
        let exec = exec_of(program)?;
        sys::call_after_fork(&mut child, move || {
            supervise(&exec, &status_write, &lifeline_read)
        });
        let child = child.spawn().map_err(|error| explain(program, &error))?;
        let status = tokio::process::ChildStdout::from_std(status_read.into()).map_err(broken)?;
        Ok(ProcessTree {
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
            // A supervisor that is gone has ended everything already (EPIPE; Rust programs ignore
            // the signal).
            let _ = rustix::io::write(lifeline, b"t");
        }
    }

    /// Ends all that is left and waits until it is gone.
    pub(super) async fn end(mut self) {
        self.lifeline = None;
        let _ = tokio::time::timeout(ENDING, self.child.wait()).await;
    }
}

/// Splits the forked child in two: the program's process and the supervisor. Returns only if that
/// can't be done.
///
/// The program's process executes here and not in `Command`, which would wait for the end of its
/// child when the exec fails; its child is the supervisor, which has no reason to end.
///
/// From here on everything runs in a fork of a process with several threads, whose locks may be
/// held: system calls on integers and on buffers of the stack only.
fn supervise(exec: &ExecArguments, status: &OwnedFd, lifeline: &OwnedFd) -> io::Result<()> {
    let _ = setsid();
    set_child_subreaper(Some(Pid::INIT))?;
    // A fork that runs no atfork handlers.
    let Some(program) = sys::fork_into(0)? else {
        let _ = setpgid(None, None);
        let errno = exec.run().raw_os_error().unwrap_or(0);
        report(status, NOT_STARTED, errno);
        end_helper(127)
    };
    watch(program, status, lifeline);
    end_all(program);
    end_helper(0)
}

/// Reports the program's end, passes on a wish that it end, and returns when the harness lets go.
fn watch(program: Pid, status: &OwnedFd, lifeline: &OwnedFd) {
    sys::set_signals(&[libc::SIGCHLD], libc::SIG_DFL);
    let ignored = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
    ];
    sys::set_signals(&ignored, libc::SIG_IGN);
    // The copies of other calls' pipes would keep those from ever ending.
    let (one, other) = (status.as_raw_fd(), lifeline.as_raw_fd());
    let (low, high) = (one.min(other), one.max(other));
    close_between(0, low - 1);
    close_between(low + 1, high - 1);
    close_between(high + 1, RawFd::MAX);
    let pidfd = pidfd_open(program, PidfdFlags::empty());
    let pidfd = pidfd.as_ref().map_or(-1, |fd| fd.as_raw_fd());
    let mut running = true;
    loop {
        let mut polled = [
            poll_entry(lifeline.as_raw_fd(), libc::POLLIN),
            poll_entry(if running { pidfd } else { -1 }, libc::POLLIN),
        ];
        // Kernels before 5.3 have no pidfd: look every few milliseconds.
        let wait_ms = if running && pidfd < 0 { 5 } else { -1 };
        let _ = sys::poll(&mut polled, wait_ms);
        if running && let Ok(Some((_, ended))) = waitpid(Some(program), WaitOptions::NOHANG) {
            report(status, ENDED, ended.as_raw());
            sys::close(status.as_raw_fd());
            running = false;
        }
        if polled[0].revents != 0 {
            // A byte asks the program to end; the end of the pipe means that nobody waits any
            // more.
            if !matches!(rustix::io::read(lifeline, &mut [0u8]), Ok(1)) {
                return;
            }
            if running {
                let _ = kill_process_group(program, Signal::TERM);
            }
        }
    }
}

/// Eight bytes go into a pipe in one piece.
fn report(status: &OwnedFd, kind: i32, value: i32) {
    let [[a, b, c, d], [e, f, g, h]] = [kind, value].map(i32::to_ne_bytes);
    let _ = rustix::io::write(status, &[a, b, c, d, e, f, g, h]);
}

/// Kills children until none is left; those of a killed child become children of this process and
/// come next.
fn end_all(program: Pid) {
    let _ = kill_process_group(program, Signal::KILL);
    for _ in 0..5_000 {
        kill_children();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        let _ = sys::poll(&mut [], 1);
    }
}

fn kill_children() {
    let mut buffer = [0u8; 4096];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let read = rustix::fs::open(c"/proc/thread-self/children", flags, Mode::empty())
        .and_then(|children| rustix::io::read(children, &mut buffer));
    let mut pid: i32 = 0;
    for byte in buffer.iter().take(read.unwrap_or(0)) {
        if byte.is_ascii_digit() {
            pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
        } else {
            // A child of this process that it has not reaped, so the number can't belong to
            // another.
            if pid > 1
                && let Some(child) = Pid::from_raw(pid)
            {
                let _ = kill_process(child, Signal::KILL);
            }
            pid = 0;
        }
    }
}

/// Closes this process's own descriptors; also where the kernel (before 5.9) has no call for it.
fn close_between(first: RawFd, last: RawFd) {
    if first <= last && sys::close_range(first, last).is_err() {
        (first..=last.min(65_535)).for_each(sys::close);
    }
}
