//! The system calls that building a cell needs. rustix makes them where it has them; the few that
//! it lacks are made here, in the only module of the program with `unsafe` code.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::mount::{self, MountFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use rustix::process::{self, DumpableBehavior, Pid, Resource, Rlimit, Signal};
use rustix::thread::{self, CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};

/// Turns the kernel's -1 into the error it stands for.
fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A descriptor that the kernel returned.
fn check_fd(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = check(result)? as RawFd;
    // SAFETY: the kernel just gave us this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Puts what was tried in front of an error, keeping its kind and its number readable.
pub(super) fn step<T, E: Into<io::Error>>(what: &str, result: Result<T, E>) -> io::Result<T> {
    result.map_err(|e| {
        let e = e.into();
        io::Error::new(e.kind(), format!("{what}: {e}"))
    })
}

pub(super) fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in a name"))
}

pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the table of descriptors is not among what callers unshare.
    step("unshare", unsafe { thread::unshare_unsafe(flags) })
}

/// Mounts a new file system.
pub(super) fn mount(kind: &str, target: &str, flags: MountFlags, data: &str) -> io::Result<()> {
    let data = c_string(data)?;
    let mounted = mount::mount(kind, target, kind, flags, data.as_c_str());
    step(&format!("mount {kind} on {target}"), mounted)
}

/// A private copy of the mount tree below `path`, not attached anywhere yet.
pub(super) fn clone_tree(path: &str) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = mount::open_tree(rustix::fs::CWD, path, flags);
    step(&format!("open_tree {path}"), tree)
}

/// Sets mount attributes (`MOUNT_ATTR_*`) on the tree at `path` (relative to `dir`; empty: `dir`
/// itself).
pub(super) fn set_mount_attributes(
    dir: BorrowedFd<'_>,
    path: &CStr,
    set: u64,
    recursive: bool,
) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `path` and `attributes` outlive the call and the size is that of the struct.
    let r = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            dir.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    step("mount_setattr", check(r)).map(drop)
}

/// Attaches a tree of [`clone_tree`] at `target`.
pub(super) fn attach_tree(tree: &OwnedFd, target: &str) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    let moved = mount::move_mount(tree, c"", rustix::fs::CWD, target, flags);
    step(&format!("move_mount {target}"), moved)
}

/// Attaches a tree of [`clone_tree`] at an open place, which `shown` names.
pub(super) fn attach_tree_to(tree: &OwnedFd, place: &OwnedFd, shown: &str) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let moved = mount::move_mount(tree, c"", place, c"", flags);
    step(&format!("move_mount {shown}"), moved)
}

/// Switches the loopback device of the caller's network namespace on.
pub(super) fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let kind = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(kind.0, kind.1, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all-zero is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = *from as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the struct outlives the call and is of the type that this request takes.
    let r = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw mut request,
        )
    };
    step("raise the loopback device", check(r.into())).map(drop)
}

/// Makes the current directory, which must be a mount point, the root, and lets go of the old one.
pub(super) fn pivot_here() -> io::Result<()> {
    step("pivot_root", process::pivot_root(c".", c"."))?;
    step(
        "umount the old root",
        mount::unmount(c".", UnmountFlags::DETACH),
    )?;
    std::env::set_current_dir("/")
}

/// Kills the caller when its parent *thread* ends. A change of credentials clears it, so it is
/// asked for again after each.
pub(super) fn die_with_parent() {
    let _ = process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Whether other processes of the same user may look into this one.
pub(super) fn set_dumpable(yes: bool) {
    let _ = process::set_dumpable_behavior(if yes {
        DumpableBehavior::Dumpable
    } else {
        DumpableBehavior::NotDumpable
    });
}

/// Sets effective, permitted and inheritable capabilities.
pub(super) fn set_capabilities(all: CapabilitySet) -> io::Result<()> {
    let sets = CapabilitySets {
        effective: all,
        permitted: all,
        inheritable: all,
    };
    step("capset", thread::set_capabilities(None, sets))
}

/// Keeps only the capabilities `keep`, in every set, across `execve` too.
pub(super) fn keep_only_capability(keep: CapabilitySet) -> io::Result<()> {
    for capability in (0..64u32).map(|i| CapabilitySet::from_bits_retain(1 << i)) {
        if !keep.contains(capability) {
            let _ = thread::remove_capability_from_bounding_set(capability);
        }
    }
    let _ = thread::clear_ambient_capability_set();
    set_capabilities(keep)
}

/// Gives up every capability.
pub(super) fn drop_all_capabilities() -> io::Result<()> {
    let _ = thread::clear_ambient_capability_set();
    set_capabilities(CapabilitySet::empty())
}

/// Hands a permitted capability on to what is executed.
pub(super) fn raise_ambient(capability: CapabilitySet) -> io::Result<()> {
    let raised = thread::configure_capability_in_ambient_set(capability, true);
    step("ambient capability", raised)
}

/// Changes from root to the user and group `id`, without further groups. Permitted capabilities are
/// kept when `keep_capabilities`; effective ones are gone, and so is the wish to end with the
/// parent. Of the calling thread only: the caller has no other.
pub(super) fn become_user(id: u32, keep_capabilities: bool) -> io::Result<()> {
    let _ = thread::set_keep_capabilities(keep_capabilities);
    let _ = thread::set_thread_groups(&[]);
    let (group, user) = (Gid::from_raw(id), Uid::from_raw(id));
    step("setresgid", thread::set_thread_res_gid(group, group, group))?;
    step("setresuid", thread::set_thread_res_uid(user, user, user))
}

/// Files that root makes from now on belong to `id`, and only what `id` may write can be written; 0
/// undoes it.
pub(super) fn write_files_as(id: u32) -> io::Result<()> {
    // SAFETY: integer arguments; a second call with an invalid number only asks.
    let now = unsafe {
        libc::setfsgid(id);
        libc::setfsuid(id);
        libc::setfsuid(u32::MAX)
    };
    if now as u32 == id {
        Ok(())
    } else {
        Err(io::Error::other("setfsuid was refused"))
    }
}

/// Orphans below the caller become its children.
pub(super) fn become_subreaper() {
    let _ = process::set_child_subreaper(Some(Pid::INIT));
}

/// Forks; `None` in the child. Only for the cell's process, which has one thread: there the child
/// may allocate.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process is single-threaded, so the child inherits no lock held by another thread.
    let pid = check(unsafe { libc::fork() }.into())?;
    Ok(Pid::from_raw(pid as libc::pid_t))
}

/// Forks into new namespaces (`flags` of clone(2) without CLONE_VM). It runs no atfork handlers; in
/// a process with several threads the child must neither allocate nor take a lock.
pub(super) fn fork_into(flags: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: no shared memory and no new stack: this is a fork.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(Pid::from_raw(pid as libc::pid_t))
}

/// SIGKILL through a pidfd: it can't hit a process that took over the number.
pub(super) fn kill_by_pidfd(pidfd: &OwnedFd) {
    let _ = process::pidfd_send_signal(pidfd, Signal::KILL);
}

pub(super) fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(rustix::io::Errno::SRCH)?;
    Ok(process::pidfd_open(pid, process::PidfdFlags::empty())?)
}

/// What is known of an ended child.
pub(super) struct ReapedChild {
    pub pid: Option<Pid>,
    pub status: i32,
    /// User and system time of the child and of everything it reaped, in microseconds.
    pub cpu_us: i64,
    /// Of the largest process that it waited for, itself included.
    pub peak_kib: i64,
}

/// Waits for any child.
pub(super) fn reap() -> io::Result<ReapedChild> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let pid = unsafe { libc::wait4(-1, &mut status, 0, &mut usage) };
        match check(pid.into()) {
            Ok(_) => {
                let us = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
                return Ok(ReapedChild {
                    pid: Pid::from_raw(pid),
                    status,
                    cpu_us: us(usage.ru_utime) + us(usage.ru_stime),
                    peak_kib: usage.ru_maxrss,
                });
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Ends every process that the caller may signal, except itself. Only for the first process of a
/// pid namespace, and for one whose signals reach its descendants only.
pub(super) fn kill_all_others() {
    // SAFETY: integer arguments.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Sets what these signals do: `SIG_IGN` or `SIG_DFL`.
pub(super) fn set_signals(signals: &[libc::c_int], action: libc::sighandler_t) {
    for signal in signals {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(*signal, action) };
    }
}

/// Lowers a limit. One that the caller already lowered stays: without privilege it can't be raised,
/// and need not be.
pub(super) fn set_limit(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let old = process::getrlimit(resource).maximum;
    let hard = old.map_or(hard, |old| hard.min(old));
    let limit = Rlimit {
        current: Some(soft.min(hard)),
        maximum: Some(hard),
    };
    Ok(process::setrlimit(resource, limit)?)
}

/// Makes `place` a copy of a descriptor. Only for a process that never uses the owner of what
/// `place` was again, and that ends without destructors or is replaced.
pub(super) fn duplicate_to(fd: RawFd, place: RawFd) -> io::Result<()> {
    // SAFETY: integer arguments only.
    check(unsafe { libc::dup2(fd, place) }.into()).map(drop)
}

/// The same with a copy that `execve` closes, and which must stay open until then.
pub(super) fn duplicate_until_exec(fd: RawFd, place: RawFd) -> io::Result<BorrowedFd<'static>> {
    // SAFETY: integer arguments only; the copy is open and nobody owns it.
    unsafe {
        check(libc::dup3(fd, place, libc::O_CLOEXEC).into())?;
        Ok(BorrowedFd::borrow_raw(place))
    }
}

/// Closes the descriptors from `first` to `last`. Only for a process that never uses their owners
/// again, and that ends without destructors or is replaced.
pub(super) fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    // SAFETY: integer arguments only.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Closes one descriptor; see [`close_range`].
pub(super) fn close(fd: RawFd) {
    // SAFETY: an integer argument.
    unsafe { libc::close(fd) };
}

/// Makes room for as many bytes in a pipe.
pub(super) fn set_pipe_size(pipe: &OwnedFd, bytes: usize) -> io::Result<()> {
    let bytes = bytes as libc::c_int;
    // SAFETY: an open descriptor and an integer.
    check(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) }.into()).map(drop)
}

/// Waits until one of `fds` has something to say, at most `timeout_ms`; descriptors of -1, which
/// rustix has no entry for, are passed over. A signal ends the wait.
pub(super) fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<()> {
    // SAFETY: the slice is live and of that length.
    let r = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) };
    match check(r.into()) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// What `execve` needs, laid out beforehand: a child that was forked from a process with several
/// threads must not allocate.
pub(super) struct ExecArguments {
    path: CString,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    _strings: [Vec<CString>; 2],
}

// SAFETY: the pointers point into `_strings`, which the value owns and nobody changes.
unsafe impl Send for ExecArguments {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for ExecArguments {}

impl ExecArguments {
    pub fn new(path: CString, argv: Vec<CString>, env: Vec<CString>) -> ExecArguments {
        let pointers = |strings: &[CString]| -> Vec<*const c_char> {
            let pointers = strings.iter().map(|s| s.as_ptr());
            pointers.chain([std::ptr::null()]).collect()
        };
        ExecArguments {
            path,
            argv: pointers(&argv),
            envp: pointers(&env),
            _strings: [argv, env],
        }
    }

    /// Replaces the program. Returns only on failure, with why.
    pub fn run(&self) -> io::Error {
        // SAFETY: both arrays are null-terminated and hold pointers to live strings.
        unsafe { libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) };
        io::Error::last_os_error()
    }
}

/// Has the child of `command` call `first` before anything else.
///
/// `first` runs in a fork of a process with several threads: it must neither allocate nor take a
/// lock nor unwind.
pub(super) fn call_after_fork(
    command: &mut tokio::process::Command,
    first: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the one caller, `process_tree::supervised`, makes raw system calls on integers and on
    // buffers of its own stack only.
    unsafe { command.pre_exec(first) };
}

/// A program for the kernel's filter of system calls.
fn filter_program(program: &mut [libc::sock_filter]) -> libc::sock_fprog {
    libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    }
}

/// Puts the caller under a filter of system calls.
pub(super) fn attach_filter(program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = filter_program(program);
    let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
    // SAFETY: `program` points to a live array of that length; the kernel copies it.
    let r = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, 0, 0) };
    step("seccomp", check(r.into())).map(drop)
}

/// Puts the caller under a filter and returns the listener that is notified by it.
pub(super) fn attach_listener(program: &mut [libc::sock_filter]) -> io::Result<OwnedFd> {
    let program = filter_program(program);
    let mode = libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER);
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: `program` points to a live array of that length; the kernel copies it.
    let r = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    step("seccomp listener", check_fd(r))
}

/// The next call that a listener was notified of. Does not wait when poll reported one.
pub(super) fn receive_notice(listener: RawFd) -> io::Result<libc::seccomp_notif> {
    // SAFETY: all-zero is a valid value, and what the kernel wants to find.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one struct of this type.
    let r = unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut notice) };
    check(r.into()).map(|_| notice)
}

/// Answers a call; an error means that its thread is gone.
pub(super) fn answer_notice(listener: RawFd, answer: &libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the struct outlives the call.
    check(unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, answer) }.into()).map(drop)
}

/// Whether the thread of a call still waits for its answer.
pub(super) fn notice_waits(listener: RawFd, id: u64) -> bool {
    // SAFETY: the id outlives the call.
    unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 }
}

/// `struct landlock_ruleset_attr`.
#[repr(C)]
pub(super) struct RulesetAttributes {
    pub files: u64,
    pub network: u64,
    pub scopes: u64,
}

/// The version of Landlock that the kernel offers.
pub(super) fn landlock_abi() -> io::Result<u32> {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<RulesetAttributes>();
    // SAFETY: a null ruleset of size 0 with this flag asks for the version.
    let r = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) };
    check(r).map(|version| version as u32)
}

/// A new ruleset of Landlock. A version that knows fewer fields takes a longer struct when the rest
/// is zero.
pub(super) fn landlock_ruleset(attributes: &RulesetAttributes) -> io::Result<OwnedFd> {
    let size = size_of::<RulesetAttributes>();
    let attributes: *const RulesetAttributes = attributes;
    // SAFETY: the struct outlives the call and the size is its own.
    let r = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size, 0) };
    step("landlock_create_ruleset", check_fd(r))
}

/// Grants rights below, or to, what `parent` is.
pub(super) fn landlock_allow(
    ruleset: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    rights: u64,
) -> io::Result<()> {
    /// `struct landlock_path_beneath_attr`.
    #[repr(C, packed)]
    struct PathBeneath {
        rights: u64,
        parent: RawFd,
    }
    const PATH_BENEATH: libc::c_int = 1;
    let (ruleset, parent) = (ruleset.as_raw_fd(), parent.as_raw_fd());
    let rule = PathBeneath { rights, parent };
    let (number, rule) = (libc::SYS_landlock_add_rule, &raw const rule);
    // SAFETY: the rule outlives the call; the descriptors are open.
    check(unsafe { libc::syscall(number, ruleset, PATH_BENEATH, rule, 0) }).map(drop)
}

/// Puts the caller under a ruleset. Needs NO_NEW_PRIVS.
pub(super) fn landlock_restrict(ruleset: BorrowedFd<'_>, flags: libc::c_uint) -> io::Result<()> {
    let ruleset = ruleset.as_raw_fd();
    // SAFETY: an open descriptor and flags.
    let r = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, flags) };
    step("landlock_restrict_self", check(r)).map(drop)
}
