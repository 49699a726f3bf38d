//! The raw system calls that building a cell needs and that the standard library does not offer.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Turns the kernel's -1 into the error it stands for.
pub(super) fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Puts what was tried in front of an error, keeping its kind and its number readable.
pub(super) fn step<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|e| io::Error::new(e.kind(), format!("{what}: {e}")))
}

pub(super) fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in a name"))
}

pub(super) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare takes no pointers; the process is single-threaded, as CLONE_NEWUSER asks.
    check(unsafe { libc::unshare(flags) } as libc::c_long).map(drop)
}

pub(super) fn mount(
    source: &str,
    target: &str,
    kind: &str,
    flags: libc::c_ulong,
    data: &str,
) -> io::Result<()> {
    let (s, t, k, d) = (
        c_string(source)?,
        c_string(target)?,
        c_string(kind)?,
        c_string(data)?,
    );
    // SAFETY: all four are NUL-terminated strings that outlive the call.
    let r = unsafe { libc::mount(s.as_ptr(), t.as_ptr(), k.as_ptr(), flags, d.as_ptr().cast()) };
    step(
        &format!("mount {kind} on {target}"),
        check(r as libc::c_long),
    )
    .map(drop)
}

const OPEN_TREE_CLONE: libc::c_uint = 1;
const AT_RECURSIVE: libc::c_uint = 0x8000;

/// A private copy of the mount tree below `path`, not attached anywhere yet.
pub(super) fn clone_tree(path: &str) -> io::Result<OwnedFd> {
    let p = c_string(path)?;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint | AT_RECURSIVE;
    // SAFETY: `p` is a NUL-terminated string that outlives the call.
    let r = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, p.as_ptr(), flags) };
    let fd = step(&format!("open_tree {path}"), check(r))?;
    // SAFETY: the kernel just gave us this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

pub(super) const ATTR_RDONLY: u64 = 1;
pub(super) const ATTR_NOSUID: u64 = 2;
pub(super) const ATTR_NODEV: u64 = 4;
pub(super) const ATTR_NOEXEC: u64 = 8;

/// Sets mount attributes on the tree at `path` (relative to `dir`; empty: `dir` itself).
pub(super) fn set_mount_attributes(
    dir: RawFd,
    path: &str,
    set: u64,
    recursive: bool,
) -> io::Result<()> {
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let p = c_string(path)?;
    let flags = libc::AT_EMPTY_PATH as libc::c_uint | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: `p` and `attributes` outlive the call and the size is that of the struct.
    let r = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            dir,
            p.as_ptr(),
            flags,
            &attributes as *const MountAttr,
            std::mem::size_of::<MountAttr>(),
        )
    };
    step("mount_setattr", check(r)).map(drop)
}

/// Attaches a tree of [`clone_tree`] at `target`.
pub(super) fn attach_tree(tree: &OwnedFd, target: &str) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    let (empty, t) = (c_string("")?, c_string(target)?);
    // SAFETY: both strings outlive the call; `tree` is an open descriptor.
    let r = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            empty.as_ptr(),
            libc::AT_FDCWD,
            t.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    step(&format!("move_mount {target}"), check(r)).map(drop)
}

/// Makes the current directory, which must be a mount point, the root, and lets go of the old one.
pub(super) fn pivot_here() -> io::Result<()> {
    let dot = c_string(".")?;
    // SAFETY: the string outlives both calls.
    unsafe {
        step(
            "pivot_root",
            check(libc::syscall(
                libc::SYS_pivot_root,
                dot.as_ptr(),
                dot.as_ptr(),
            )),
        )?;
        step(
            "umount the old root",
            check(libc::umount2(dot.as_ptr(), libc::MNT_DETACH) as libc::c_long),
        )?;
    }
    std::env::set_current_dir("/")
}

/// Kills the caller when its parent *thread* ends. A change of credentials clears it, so it is
/// asked for again after each.
pub(super) fn die_with_parent() {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

pub(super) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: prctl with integer arguments only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } as libc::c_long).map(drop)
}

/// Whether other processes of the same user may look into this one.
pub(super) fn set_dumpable(yes: bool) {
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(yes), 0, 0, 0) };
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

const CAP_HEADER: CapHeader = CapHeader {
    version: 0x2008_0522,
    pid: 0,
};

/// The capability that mounting and making namespaces need.
pub(super) const CAP_SYS_ADMIN: u32 = 21;
/// The capability to read files and enter folders that are not the caller's.
pub(super) const CAP_DAC_READ_SEARCH: u32 = 2;

/// The permitted capabilities of the caller, as bits.
pub(super) fn permitted_capabilities() -> u64 {
    let mut data = [0u32; 6];
    // SAFETY: version 3 of the call reads the header and writes exactly two triples of u32.
    unsafe {
        libc::syscall(
            libc::SYS_capget,
            &CAP_HEADER as *const CapHeader,
            data.as_mut_ptr(),
        )
    };
    u64::from(data[1]) | u64::from(data[4]) << 32
}

/// Sets effective, permitted and inheritable capabilities to `bits`.
pub(super) fn set_capabilities(bits: u64) -> io::Result<()> {
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    let data: [u32; 6] = [low, low, low, high, high, high];
    // SAFETY: version 3 of the call reads the header and exactly two triples of u32.
    let r = unsafe {
        libc::syscall(
            libc::SYS_capset,
            &CAP_HEADER as *const CapHeader,
            data.as_ptr(),
        )
    };
    step("capset", check(r)).map(drop)
}

/// Keeps only the capability `keep`, in every set, across `execve` too.
pub(super) fn keep_only_capability(keep: u32) -> io::Result<()> {
    // SAFETY: prctl with integer arguments only.
    unsafe {
        for cap in (0..64u32).filter(|cap| *cap != keep) {
            libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(cap), 0, 0, 0);
        }
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        );
    }
    set_capabilities(1 << keep)
}

/// Hands a permitted capability on to what is executed.
pub(super) fn raise_ambient(capability: u32) -> io::Result<()> {
    let (raise, capability) = (libc::PR_CAP_AMBIENT_RAISE, libc::c_ulong::from(capability));
    // SAFETY: prctl with integer arguments only.
    let r = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, capability, 0, 0) };
    step("ambient capability", check(r as libc::c_long)).map(drop)
}

/// Changes from root to the user and group `id`, without further groups. Permitted capabilities are
/// kept when `keep_capabilities`; effective ones are gone, and so is the wish to end with the
/// parent.
pub(super) fn become_user(id: u32, keep_capabilities: bool) -> io::Result<()> {
    // SAFETY: integer arguments, and for setgroups an empty list.
    unsafe {
        libc::prctl(
            libc::PR_SET_KEEPCAPS,
            libc::c_ulong::from(keep_capabilities),
            0,
            0,
            0,
        );
        libc::setgroups(0, std::ptr::null());
        step(
            "setresgid",
            check(libc::setresgid(id, id, id) as libc::c_long),
        )?;
        step(
            "setresuid",
            check(libc::setresuid(id, id, id) as libc::c_long),
        )
        .map(drop)
    }
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
    // SAFETY: prctl with integer arguments only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Gives up every capability.
pub(super) fn drop_all_capabilities() -> io::Result<()> {
    // SAFETY: prctl with integer arguments only.
    unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        )
    };
    set_capabilities(0)
}

/// Forks. Only for the cell's process, which has one thread: there the child may allocate.
pub(super) fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: the process is single-threaded, so the child inherits no lock held by another thread.
    let pid = check(unsafe { libc::fork() } as libc::c_long)?;
    Ok(pid as libc::pid_t)
}

/// Forks into new namespaces (`flags` of clone(2) without CLONE_VM).
pub(super) fn fork_into(flags: libc::c_int) -> io::Result<libc::pid_t> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: no shared memory and no new stack: this is a fork. The process is single-threaded.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    Ok(pid as libc::pid_t)
}

pub(super) fn open_pidfd(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: integer arguments only.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: the kernel just gave us this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// SIGKILL through a pidfd: it can't hit a process that took over the number.
pub(super) fn kill_by_pidfd(pidfd: &OwnedFd) {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo is allowed; the descriptor is open.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            libc::SIGKILL,
            none,
            0,
        );
    }
}

/// What is known of an ended child.
pub(super) struct Reaped {
    pub pid: libc::pid_t,
    pub status: i32,
    /// User and system time of the child and of everything it reaped, in microseconds.
    pub cpu_us: i64,
    pub max_rss_kib: i64,
}

/// Waits for any child.
pub(super) fn reap() -> io::Result<Reaped> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let pid = unsafe { libc::wait4(-1, &mut status, 0, &mut usage) };
        match check(pid as libc::c_long) {
            Ok(_) => {
                let us = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
                let cpu_us = us(usage.ru_utime) + us(usage.ru_stime);
                return Ok(Reaped {
                    pid,
                    status,
                    cpu_us,
                    max_rss_kib: usage.ru_maxrss,
                });
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Ends every other process of a pid namespace. Only its first process may call this.
pub(super) fn kill_all_others() {
    // SAFETY: integer arguments; the first process of a namespace reaches no process outside of it.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// What [`reap_ended`] found.
pub(super) enum Children {
    /// One had ended and is gone now.
    Ended,
    /// There are some, and all of them run.
    Running,
    None,
}

/// Reaps one child that has ended, without waiting.
pub(super) fn reap_ended() -> io::Result<Children> {
    // SAFETY: a null status is allowed.
    let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
    match check(pid as libc::c_long) {
        Ok(0) => Ok(Children::Running),
        Ok(_) => Ok(Children::Ended),
        Err(e) if e.raw_os_error() == Some(libc::ECHILD) => Ok(Children::None),
        Err(e) => Err(e),
    }
}

/// Ends the process at once, without destructors: right in a forked child.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

pub(super) fn set_limit(
    resource: libc::__rlimit_resource_t,
    soft: u64,
    hard: u64,
) -> io::Result<()> {
    let mut old = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `old` is a live local of the right type.
    unsafe { libc::getrlimit(resource, &mut old) };
    // A limit that the caller already lowered stays: without privilege it can't be raised, and need
    // not be.
    let hard = hard.min(old.rlim_max);
    let new = libc::rlimit {
        rlim_cur: soft.min(hard),
        rlim_max: hard,
    };
    // SAFETY: `new` is a live local of the right type.
    check(unsafe { libc::setrlimit(resource, &new) } as libc::c_long).map(drop)
}
