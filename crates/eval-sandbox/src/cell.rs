//! The inside of a cell: the same program started again with the hidden argument `__cell`.
//!
//! It has one thread, so it may fork and then allocate. It builds namespaces and root once, then
//! serves jobs until its control socket (descriptor 0) closes. Every process of a job is the child
//! of a *minder*, the first process of a separate pid namespace: when the minder ends, the kernel
//! ends everything that the job has started.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, wait};
use rustix::thread::{CapabilitySet, UnshareFlags, set_no_new_privs};

use super::channel::{receive, send};
use super::confinement::{self, Confinement};
use super::filter::{self, FilterPart, FilterScope};
use super::job::{become_server, mind, report};
use super::own_limits::end_helper;
use super::protocol::{CellConfig, OPEN_PORTS, START_SERVER};
use super::{Tier, folder, keeper, namespaces, ports, syscalls as sys};

/// What `eval-harness __cell` does. Call it first thing in `main`, while the process has one
/// thread.
pub fn cell_main() -> ! {
    let mut arguments = std::env::args_os().skip(2);
    if arguments
        .next()
        .is_some_and(|a| a == super::cgroup::janitor::ARGUMENT)
    {
        super::cgroup::janitor::main(arguments);
    }
    let code = match take_control_socket().and_then(|socket| run(&socket)) {
        Ok(()) => 0,
        Err(_) => 97,
    };
    end_helper(code)
}

/// Moves the control socket away from descriptor 0, where it came, and puts `/dev/null` there.
fn take_control_socket() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(null)?;
    Ok(socket)
}

fn run(socket: &OwnedFd) -> io::Result<()> {
    let mut buffer = [0u8; 16];
    let (_, fds) = receive(socket.as_fd(), &mut buffer)?;
    let mut config: CellConfig = fds
        .first()
        .and_then(|fd| read_all(fd).ok())
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| io::Error::other("no settings were received"))?;
    drop(fds);
    match prepare(socket, &mut config) {
        Ok(()) => Ok(()),
        Err(e) => send(socket.as_fd(), format!("E{e}").as_bytes(), &[]),
    }
}

fn prepare(socket: &OwnedFd, config: &mut CellConfig) -> io::Result<()> {
    if config.tier.on_the_host() {
        return prepare_on_the_host(socket, config);
    }
    // Not before the settings came: a cell on the host must outlive the harness for a moment.
    sys::die_with_parent();
    let loopback = namespaces::build(config)?;
    sys::unshare(UnshareFlags::NEWPID)?;
    if sys::fork()?.is_some() {
        sys::reap()?;
        return Ok(());
    }
    sys::die_with_parent();
    let mut first = || -> io::Result<()> {
        let proc_works = namespaces::enter_root()?;
        sys::keep_only_capability(config.capabilities())?;
        set_no_new_privs(true)?;
        // A change of credentials clears the wish to end with the parent.
        sys::die_with_parent();
        let missing = [
            (proc_works, "jobs have no /proc"),
            (loopback, "programs in workspaces can't use 127.0.0.1"),
        ];
        let missing = missing.into_iter().filter(|(works, _)| !works);
        let notes: Vec<&str> = missing.map(|(_, note)| note).collect();
        let scope = config.namespace_scope();
        listen_and_serve(socket, config, scope, notes.join("; "))
    };
    let code = match first() {
        Ok(()) => 0,
        Err(e) => {
            let _ = send(socket.as_fd(), format!("E{e}").as_bytes(), &[]);
            97
        }
    };
    end_helper(code)
}

fn prepare_on_the_host(socket: &OwnedFd, config: &mut CellConfig) -> io::Result<()> {
    let lone = config.tier == Tier::None;
    keeper::stay_behind(socket, &config.scratch, || {
        if lone {
            Ok(false)
        } else {
            confinement::keep_signals_in()
        }
    })?;
    if lone {
        sys::become_subreaper();
        send(socket.as_fd(), b"O", &[])?;
        return serve(socket, config);
    }
    let (confinement, notes) = Confinement::enter(config)?;
    let confines = confinement.confines(config.workspaces.is_some());
    config.confinement = confinement;
    listen_and_serve(socket, config, confines, notes)
}

/// Attaches the program that the harness listens to, where one can be had, says that the cell is
/// ready, and serves jobs.
fn listen_and_serve(
    socket: &OwnedFd,
    config: &mut CellConfig,
    confines: FilterScope,
    mut notes: String,
) -> io::Result<()> {
    let listener = if config.observed {
        None
    } else {
        Some(filter::listen(confines))
    };
    let refused = listener.as_ref().is_some_and(|listener| listener.is_err());
    let listener = listener.and_then(Result::ok);
    if listener.is_some() {
        config.part = FilterPart::BelowListener;
    } else if refused {
        let space = if notes.is_empty() { "" } else { "; " };
        notes += &format!(
            "{space}refused system calls are not named, because they can't be observed here"
        );
    }
    // Made here once instead of by every forked child.
    filter::program(confines, config.part);
    let fds: Vec<_> = listener.iter().map(|fd| fd.as_fd()).collect();
    send(socket.as_fd(), format!("O{notes}").as_bytes(), &fds)?;
    drop(listener);
    serve(socket, config)
}

/// Between jobs on the host: nothing of the last one is left.
fn clear_away(config: &CellConfig) -> io::Result<()> {
    keeper::end_descendants(config.confinement.exact);
    folder::empty(Path::new(&config.scratch))
}

/// Serves jobs, one at a time, until the harness closes the socket.
fn serve(socket: &OwnedFd, config: &CellConfig) -> io::Result<()> {
    let mut buffer = [0u8; 64];
    let mut jobs = 0u64;
    loop {
        let (length, fds) = receive(socket.as_fd(), &mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        if buffer.get(..length) == Some(START_SERVER) {
            // No job is under way, so whoever has ended is a server of before. Left as they are
            // they would count as processes.
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            let pid = start_server(config, &fds)?;
            let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
            send(socket.as_fd(), b"V", &[pidfd.as_fd()])?;
            continue;
        }
        if let (Some(OPEN_PORTS), Some(socket)) = (buffer.get(..length), fds.first()) {
            open_ports(socket)?;
            continue;
        }
        let mut fds = fds.into_iter();
        let mut pids = Vec::new();
        let mut pidfds = Vec::new();
        for count in buffer.iter().take(length) {
            jobs += 1;
            let process: Vec<OwnedFd> = fds.by_ref().take(*count as usize).collect();
            let pid = start(config, process, jobs)?;
            pidfds.push(pidfd_open(pid, PidfdFlags::empty())?);
            pids.push(Some(pid));
        }
        let fds: Vec<_> = pidfds.iter().map(|fd| fd.as_fd()).collect();
        send(socket.as_fd(), b"S", &fds)?;
        drop(pidfds);
        let mut left = pids.len();
        while left > 0 {
            let ended = sys::reap()?;
            let Some(index) = pids.iter().position(|pid| *pid == ended.pid) else {
                continue;
            };
            left -= 1;
            if left == 0 && config.tier.on_the_host() {
                clear_away(config)?;
            }
            let line = format!(
                "X{index} {} {} {}",
                ended.status, ended.cpu_us, ended.peak_kib
            );
            send(socket.as_fd(), line.as_bytes(), &[])?;
        }
    }
}

/// Forks the minder of one process.
fn start(config: &CellConfig, fds: Vec<OwnedFd>, serial: u64) -> io::Result<Pid> {
    let namespaces = match config.tier {
        Tier::Landlock | Tier::None => 0,
        _ => libc::CLONE_NEWPID | libc::CLONE_NEWNS,
    };
    if let Some(pid) = sys::fork_into(namespaces)? {
        return Ok(pid);
    }
    sys::die_with_parent();
    close_all_but(&fds);
    let code = match mind(config, &fds, serial) {
        Ok(()) => 0,
        Err(e) => {
            report(fds.get(4), &format!("F{e}\n"));
            98
        }
    };
    end_helper(code)
}

/// Forks a fork server. Its end is seen by the harness; here it is only reaped, with the next job's
/// processes.
fn start_server(config: &CellConfig, fds: &[OwnedFd]) -> io::Result<Pid> {
    if let Some(pid) = sys::fork()? {
        return Ok(pid);
    }
    sys::die_with_parent();
    close_all_but(fds);
    if let Err(e) = become_server(config, fds) {
        report(fds.get(4), &format!("F{e}\n"));
    }
    end_helper(98)
}

/// Forks a process that connects to ports. Its end is only reaped, with the next job's processes.
fn open_ports(socket: &OwnedFd) -> io::Result<()> {
    if sys::fork()?.is_none() {
        sys::die_with_parent();
        close_all_but(std::slice::from_ref(socket));
        let _ =
            sys::keep_only_capability(CapabilitySet::empty()).and_then(|()| ports::serve(socket));
        end_helper(0);
    }
    Ok(())
}

/// Closes what a forked minder has of others: the control socket, and the descriptors of the other
/// process of its job, whose end would otherwise never be seen.
fn close_all_but(fds: &[OwnedFd]) {
    let mut kept: Vec<i32> = fds.iter().map(|fd| fd.as_raw_fd()).collect();
    kept.sort_unstable();
    let mut from = 3;
    for fd in kept.into_iter().chain([i32::MAX]) {
        if from < fd {
            let _ = sys::close_range(from, fd - 1);
        }
        from = fd.saturating_add(1);
    }
}

pub(super) fn read_all(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::from(fd.try_clone()?).read_to_end(&mut bytes)?;
    Ok(bytes)
}
