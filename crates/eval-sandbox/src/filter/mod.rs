//! The seccomp program of a job: an allow list of system calls, compiled to a balanced decision
//! tree.
//!
//! Two programs decide together. That of the job (attached last, to each job or to the fork server)
//! allows, refuses or kills. That of the cell (attached once, before any job) has a listener in the
//! harness (`listener.rs`), which names what was refused and decides about locks and modes. A
//! refused call passes the job's program and reaches the cell's, so that it never runs. Where there
//! can be no listener the job's program refuses alone. A call that is on the list costs nothing
//! more.
//!
//! A tree, because the kernel runs the program for every syscall number when it is attached: a
//! linear chain of the same list costs about 2 us an instruction at every job. What is unknown,
//! newer than our tables or of a foreign ABI gets ENOSYS, so that programs fall back to what they
//! did on older kernels. The rules go by name (`rules.rs`) and are the same everywhere; an
//! architecture is a table of numbers.

use std::collections::HashMap;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::OnceLock;

use libc::*;

use super::syscalls as sys;

#[cfg(any(target_arch = "aarch64", test))]
mod aarch64;
mod rules;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", test))]
mod x86_64;

/// What happens to a range of syscalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SyscallRule {
    Allow,
    /// Refused without notice: programs try these calls and go on without them. 0: does nothing and
    /// succeeds.
    Errno(i32),
    /// Refused, and named in the grade.
    Refuse(i32),
    /// Ends the process with SIGSYS: nothing honest calls these.
    Kill,
    /// `clone`: threads and children, no namespaces and no children of the caller's parent, who
    /// would have to reap them before the job's pid namespace can end.
    Clone,
    /// `socket`: refused, and named unless it is of [`PROBED_FAMILIES`].
    Socket,
    /// The same where namespaces are an error and not the end.
    QuietClone,
    /// `socket`: of [`OWN_FAMILIES`]; else refused without notice.
    OwnSocket,
    /// The same of [`INTERNET_FAMILIES`].
    InternetSocket,
    /// `socketpair`: local and connected, which Rust's `Command` makes to hear whether `exec`
    /// failed. A datagram socket could send to any name.
    SocketPair,
    /// `ioctl`: not the ones that push input into a terminal or signal others.
    Ioctl,
    /// `mmap`: no shared anonymous memory, which RLIMIT_DATA does not count.
    Mmap,
    /// `fcntl`: none that has the kernel send signals to others, no leases, which keep others from
    /// opening a file, and no notes of what others do. Locks as [`SyscallRule::Lock`].
    Fcntl,
    /// `flock`: the listener allows it on files of the job's folder; without one it is allowed.
    Lock,
    /// `chmod` and its kin: the listener does it to files of the job's folder; without one it is
    /// refused.
    Mode,
    /// `membarrier`: the caller's own threads.
    Barrier,
    /// `ioctl`: what is asked of terminals and pipes, nothing that a file system offers (it may
    /// change what is only read).
    HostIoctl,
    /// `setpriority`: the caller's own process or group.
    Priority,
    /// What takes a pid first: 0, the caller itself.
    Oneself,
    /// `utimensat`: by descriptor.
    OpenTimes,
    /// `utimensat`: by descriptor, and to the present only, which is what creating a file with
    /// `touch` asks for.
    OpenTimesNow,
    /// What takes a pid first and sends it a signal: [`MARK`] and its group.
    Signal,
}

/// What a program decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum FilterPart {
    /// Everything: there is no listener.
    #[default]
    Alone,
    /// What the listener's program does not.
    BelowListener,
    /// What the harness is notified of; everything else passes.
    Listener,
}

/// Whom a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FilterScope {
    /// A job in separate namespaces.
    Namespaces,
    /// A job in a workspace, in separate namespaces.
    Workspace {
        /// But for the network's.
        host_network: bool,
    },
    /// A job that shares the host's file system and processes.
    Host {
        /// Its user may own files of the host, whose modes and times Landlock does not govern.
        owns_files: bool,
        /// Landlock keeps its signals in; else it may signal only the process that [`attach`] is
        /// called by.
        signals_kept_in: bool,
        /// Its minder watches files.
        in_workspace: bool,
    },
}

/// The numbers of an architecture.
struct SyscallNumbers {
    /// AUDIT_ARCH_* of the kernel.
    audit: u32,
    /// What stands below [`SHARED_FROM`]: the first number of a run and the names in order.
    own: &'static [(u32, &'static str)],
}

/// From here on every architecture has the same numbers.
const SHARED_FROM: u32 = 424;
const SHARED: &str = "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig \
    fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr \
    quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv \
    set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount \
    lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat";

impl SyscallNumbers {
    fn calls(&self) -> impl Iterator<Item = (u32, &'static str)> {
        let shared = [(SHARED_FROM, SHARED)];
        self.own
            .iter()
            .copied()
            .chain(shared)
            .flat_map(|(first, names)| (first..).zip(names.split_whitespace()))
    }
}

#[cfg(target_arch = "x86_64")]
const HERE: Option<&SyscallNumbers> = Some(&x86_64::X86_64);
#[cfg(target_arch = "aarch64")]
const HERE: Option<&SyscallNumbers> = Some(&aarch64::AARCH64);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const HERE: Option<&SyscallNumbers> = None;

/// Whether there is a table for this machine.
pub(super) const SUPPORTED: bool = HERE.is_some();

/// Stands in a program for the pid of the process that it is attached to, and its negative for the
/// process' group.
const MARK: u32 = 0x5BD0_11D5;

const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
const RETURN: u32 = BPF_RET | BPF_K;
const IF_EQUAL: u32 = BPF_JMP | BPF_JEQ | BPF_K;
const IF_AT_LEAST: u32 = BPF_JMP | BPF_JGE | BPF_K;
const IF_ANY_BIT: u32 = BPF_JMP | BPF_JSET | BPF_K;
const GOTO: u32 = BPF_JMP | BPF_JA;
const AND: u32 = BPF_ALU | BPF_AND | BPF_K;

const RET_ALLOW: u32 = 0x7fff_0000;
const RET_KILL_PROCESS: u32 = 0x8000_0000;
const RET_ERRNO: u32 = 0x0005_0000;
const RET_USER_NOTIF: u32 = 0x7fc0_0000;

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
const FIOSETOWN: u32 = 0x8901;
const SIOCSPGRP: u32 = 0x8902;
const F_SETSIG: u32 = 10;
const F_SETOWN_EX: u32 = 15;
const LOCKS: [u32; 4] = [
    F_SETLK as u32,
    F_SETLKW as u32,
    F_OFD_SETLK as u32,
    F_OFD_SETLKW as u32,
];
/// What runtimes try at their start: the C library a name service, Java whether there is IPv6.
const PROBED_FAMILIES: [u32; 2] = [AF_UNIX as u32, AF_INET6 as u32];
/// What works within a network namespace.
const OWN_FAMILIES: [u32; 3] = [AF_UNIX as u32, AF_INET as u32, AF_INET6 as u32];
const INTERNET_FAMILIES: [u32; 2] = [AF_INET as u32, AF_INET6 as u32];
const SOCKET_TYPES: [u32; 3] = [SOCK_STREAM as u32, SOCK_DGRAM as u32, SOCK_SEQPACKET as u32];
/// The default one, and those that are named: local, TCP, UDP.
const SOCKET_PROTOCOLS: [u32; 4] = [0, AF_UNIX as u32, IPPROTO_TCP as u32, IPPROTO_UDP as u32];
/// MEMBARRIER_CMD_QUERY and the private ones of membarrier(2).
const OWN_BARRIERS: [u32; 7] = [0, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8];

/// CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} of clone(2).
const CLONE_NEW_ANY: u32 = 0x7E02_0000;

fn op(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}

fn branch(code: u32, k: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k,
    }
}

/// Loads the low half of argument `i`.
fn argument(i: u32) -> sock_filter {
    op(LOAD, 16 + 8 * i)
}

fn errno(e: i32) -> sock_filter {
    op(RETURN, RET_ERRNO | e as u32)
}

/// Looks at argument 1 or 0, as loaded: `named` for one of `values`, `other` for everything else.
fn select(values: &[u32], named: sock_filter, other: sock_filter) -> Vec<sock_filter> {
    let mut program = pass(values, other);
    program.push(named);
    program
}

/// Looks at what is loaded: goes on for one of `values`, `other` for everything else.
fn pass(values: &[u32], other: sock_filter) -> Vec<sock_filter> {
    let mut program: Vec<sock_filter> = (0u8..)
        .zip(values)
        .map(|(i, k)| branch(IF_EQUAL, *k, values.len() as u8 - i, 0))
        .collect();
    program.push(other);
    program
}

/// Sockets of these families with an ordinary type and protocol: for others the kernel would load a
/// module.
fn known_sockets(families: &[u32]) -> Vec<sock_filter> {
    let mut program = after(argument(0), pass(families, errno(EAFNOSUPPORT)));
    program.extend([argument(1), op(AND, 0xf)]);
    program.extend(pass(&SOCKET_TYPES, errno(ESOCKTNOSUPPORT)));
    program.push(argument(2));
    let allow = op(RETURN, RET_ALLOW);
    program.extend(select(&SOCKET_PROTOCOLS, allow, errno(EPROTONOSUPPORT)));
    program
}

/// One of `bad` is EPERM, everything else fine.
fn refuse(bad: &[u32]) -> Vec<sock_filter> {
    select(bad, errno(EPERM), op(RETURN, RET_ALLOW))
}

/// The reverse of [`refuse`].
fn accept(good: &[u32]) -> Vec<sock_filter> {
    select(good, op(RETURN, RET_ALLOW), errno(EPERM))
}

/// Pointers that must be null: both halves of each argument.
fn null(arguments: &[u32]) -> Vec<sock_filter> {
    let halves: Vec<u32> = arguments
        .iter()
        .flat_map(|i| [16 + 8 * i, 20 + 8 * i])
        .collect();
    let mut program = Vec::new();
    for (i, offset) in (1u8..).zip(&halves) {
        program.extend([
            op(LOAD, *offset),
            branch(IF_EQUAL, 0, 0, 2 * (halves.len() as u8 - i) + 1),
        ]);
    }
    program.extend([op(RETURN, RET_ALLOW), errno(EPERM)]);
    program
}

/// The listener's part of a rule.
fn notice(rule: SyscallRule) -> Vec<sock_filter> {
    let (allow, notify) = (op(RETURN, RET_ALLOW), op(RETURN, RET_USER_NOTIF));
    match rule {
        SyscallRule::Refuse(_) | SyscallRule::Lock | SyscallRule::Mode => vec![notify],
        SyscallRule::Socket => after(argument(0), select(&PROBED_FAMILIES, allow, notify)),
        SyscallRule::Fcntl => after(argument(1), select(&LOCKS, notify, allow)),
        _ => vec![allow],
    }
}

fn block(rule: SyscallRule, part: FilterPart) -> Vec<sock_filter> {
    if part == FilterPart::Listener {
        return notice(rule);
    }
    let allow = op(RETURN, RET_ALLOW);
    let kill = op(RETURN, RET_KILL_PROCESS);
    let refused = |e| {
        if part == FilterPart::BelowListener {
            allow
        } else {
            errno(e)
        }
    };
    match rule {
        SyscallRule::Allow | SyscallRule::Lock => vec![allow],
        SyscallRule::Errno(e) => vec![errno(e)],
        SyscallRule::Refuse(e) => vec![refused(e)],
        SyscallRule::Mode => vec![refused(EPERM)],
        SyscallRule::Socket => after(
            argument(0),
            select(&PROBED_FAMILIES, errno(EPERM), refused(EPERM)),
        ),
        SyscallRule::Barrier => after(argument(0), accept(&OWN_BARRIERS)),
        SyscallRule::Kill => vec![kill],
        SyscallRule::Clone | SyscallRule::QuietClone => {
            let refused = match rule {
                SyscallRule::Clone => kill,
                _ => errno(EPERM),
            };
            vec![
                argument(0),
                branch(IF_ANY_BIT, CLONE_NEW_ANY | CLONE_PARENT as u32, 0, 1),
                refused,
                allow,
            ]
        }
        SyscallRule::OwnSocket => known_sockets(&OWN_FAMILIES),
        SyscallRule::InternetSocket => known_sockets(&INTERNET_FAMILIES),
        SyscallRule::SocketPair => vec![
            argument(0),
            branch(IF_EQUAL, AF_UNIX as u32, 0, 4),
            argument(1),
            op(AND, 0xf),
            branch(IF_EQUAL, SOCK_STREAM as u32, 2, 0),
            branch(IF_EQUAL, SOCK_SEQPACKET as u32, 1, 0),
            errno(EPERM),
            allow,
        ],
        SyscallRule::Ioctl => after(
            argument(1),
            refuse(&[TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP]),
        ),
        SyscallRule::Fcntl => {
            let bad = [
                F_SETOWN as u32,
                F_SETSIG,
                F_SETOWN_EX,
                F_SETLEASE as u32,
                F_NOTIFY as u32,
            ];
            after(argument(1), refuse(&bad))
        }
        // The second byte is the kind of device; 'T' is terminals, and what every file understands.
        SyscallRule::HostIoctl => vec![
            argument(1),
            branch(IF_EQUAL, TIOCSTI, 5, 0),
            branch(IF_EQUAL, TIOCLINUX, 4, 0),
            op(AND, 0xff00),
            branch(IF_EQUAL, 0x5400, 0, 1),
            allow,
            errno(ENOTTY),
            errno(EPERM),
        ],
        SyscallRule::Priority => vec![
            argument(0),
            branch(IF_EQUAL, PRIO_USER, 2, 0),
            argument(1),
            branch(IF_EQUAL, 0, 1, 0),
            errno(EPERM),
            allow,
        ],
        SyscallRule::Oneself => after(argument(0), accept(&[0])),
        SyscallRule::Signal => after(argument(0), accept(&[0, MARK, MARK.wrapping_neg()])),
        SyscallRule::OpenTimes => null(&[1]),
        SyscallRule::OpenTimesNow => null(&[1, 2]),
        SyscallRule::Mmap => {
            let shared_anonymous = (MAP_SHARED | MAP_ANONYMOUS) as u32;
            vec![
                argument(3),
                op(AND, shared_anonymous),
                branch(IF_EQUAL, shared_anonymous, 0, 1),
                errno(ENOMEM),
                allow,
            ]
        }
    }
}

fn after(first: sock_filter, mut program: Vec<sock_filter>) -> Vec<sock_filter> {
    program.insert(0, first);
    program
}

fn tree(ranges: &[(u32, SyscallRule)], part: FilterPart) -> Vec<sock_filter> {
    match ranges {
        [] => block(SyscallRule::Errno(ENOSYS), part),
        [(_, rule)] => block(*rule, part),
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (tree(low, part), tree(high, part));
            let middle = high.first().map_or(0, |r| r.0);
            // Below is skipped by a jump that may be far, hence not by the 8-bit offset of the
            // branch.
            let mut program = vec![
                branch(IF_AT_LEAST, middle, 0, 1),
                op(GOTO, below.len() as u32),
            ];
            program.extend(below);
            program.extend(above);
            program
        }
    }
}

impl FilterScope {
    fn rules(self) -> HashMap<&'static str, SyscallRule> {
        let mut lists = vec![rules::EVERYWHERE];
        if let FilterScope::Workspace { host_network } = self {
            lists.push(rules::IN_A_WORKSPACE);
            if host_network {
                lists.push(rules::ON_THE_INTERNET);
            }
        } else if let FilterScope::Host {
            owns_files,
            signals_kept_in,
            in_workspace,
        } = self
        {
            lists.push(rules::ON_THE_HOST);
            if in_workspace {
                lists.push(rules::UNNOTIFIED_IN_A_WORKSPACE);
            }
            lists.push(if owns_files {
                rules::OWNING_FILES
            } else {
                rules::OWNING_NOTHING
            });
            if !signals_kept_in {
                lists.push(rules::SIGNALLING_ITSELF);
            }
        }
        let entries = lists.into_iter().flatten();
        entries
            .flat_map(|(rule, names)| names.split_whitespace().map(move |name| (name, *rule)))
            .collect()
    }
}

/// The rule of every number up to the last that is known.
fn table(architecture: &SyscallNumbers, confines: FilterScope) -> Vec<SyscallRule> {
    let rules = confines.rules();
    let mut table = Vec::new();
    for (number, name) in architecture.calls() {
        table.resize(
            table.len().max(number as usize + 1),
            SyscallRule::Errno(ENOSYS),
        );
        if let Some(slot) = table.get_mut(number as usize) {
            *slot = rules
                .get(name)
                .copied()
                .unwrap_or(SyscallRule::Refuse(ENOSYS));
        }
    }
    table
}

fn compile(
    architecture: &SyscallNumbers,
    confines: FilterScope,
    part: FilterPart,
) -> Vec<sock_filter> {
    assemble(architecture, table(architecture, confines), part)
}

fn assemble(
    architecture: &SyscallNumbers,
    table: Vec<SyscallRule>,
    part: FilterPart,
) -> Vec<sock_filter> {
    let mut ranges: Vec<(u32, SyscallRule)> = Vec::new();
    for (number, rule) in (0..).zip(table.into_iter().chain([SyscallRule::Errno(ENOSYS)])) {
        // Rules that this part decides alike are one range: attaching costs by the instruction.
        let same = |last: &(u32, SyscallRule)| {
            last.1 == rule
                || block(last.1, part)
                    .iter()
                    .map(fields)
                    .eq(block(rule, part).iter().map(fields))
        };
        if !ranges.last().is_some_and(same) {
            ranges.push((number, rule));
        }
    }
    // The job's program kills what comes by another ABI; that of the listener is also the cell's
    // own.
    let foreign = if part == FilterPart::Listener {
        RET_ALLOW
    } else {
        RET_KILL_PROCESS
    };
    let mut program = vec![
        op(LOAD, 4),
        branch(IF_EQUAL, architecture.audit, 1, 0),
        op(RETURN, foreign),
        op(LOAD, 0),
    ];
    program.extend(tree(&ranges, part));
    program
}

fn fields(i: &sock_filter) -> (u16, u8, u8, u32) {
    (i.code, i.jt, i.jf, i.k)
}

/// What a fork server needs to shut its jobs in, and what each job loses by [`job_extra`].
const SERVER_ONLY: [&str; 3] = ["mount", "unshare", "setns"];

fn server_only(architecture: &SyscallNumbers) -> impl Iterator<Item = u32> {
    architecture
        .calls()
        .filter(|(_, name)| SERVER_ONLY.contains(name))
        .map(|(number, _)| number)
}

/// The program of a fork server, which its jobs inherit: it lets through what makes namespaces.
pub(super) fn for_server(part: FilterPart) -> Vec<sock_filter> {
    HERE.map_or_else(Vec::new, |architecture| {
        compile_for_server(architecture, part)
    })
}

fn compile_for_server(architecture: &SyscallNumbers, part: FilterPart) -> Vec<sock_filter> {
    let mut table = table(architecture, FilterScope::Namespaces);
    for number in server_only(architecture) {
        if let Some(slot) = table.get_mut(number as usize) {
            *slot = SyscallRule::Allow;
        }
    }
    assemble(architecture, table, part)
}

/// What a job adds to [`for_server`], so that the two together decide as [`program`] does. Short,
/// because attaching costs by the instruction. The inherited program has looked at the
/// architecture.
pub(super) fn job_extra() -> Vec<sock_filter> {
    HERE.map_or_else(Vec::new, compile_job_extra)
}

fn compile_job_extra(architecture: &SyscallNumbers) -> Vec<sock_filter> {
    let mut program = vec![op(LOAD, 0)];
    for (i, number) in server_only(architecture).enumerate() {
        program.push(branch(IF_EQUAL, number, (SERVER_ONLY.len() - i) as u8, 0));
    }
    program.extend([op(RETURN, RET_ALLOW), op(RETURN, RET_KILL_PROCESS)]);
    program
}

/// A program as the kernel takes it.
pub(super) fn to_bytes(program: &[sock_filter]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|i| {
            [
                &i.code.to_ne_bytes()[..],
                &[i.jt, i.jf],
                &i.k.to_ne_bytes()[..],
            ]
            .concat()
        })
        .collect()
}

/// The program of a job; empty where this machine has no table. A cell needs one kind only, so that
/// one is kept: made before a fork, it costs the forked nothing.
pub(super) fn program(confines: FilterScope, part: FilterPart) -> Vec<sock_filter> {
    static KEPT: OnceLock<((FilterScope, FilterPart), Vec<sock_filter>)> = OnceLock::new();
    let make = || {
        HERE.map_or_else(Vec::new, |architecture| {
            compile(architecture, confines, part)
        })
    };
    let (kept_for, kept) = KEPT.get_or_init(|| ((confines, part), make()));
    if *kept_for == (confines, part) {
        kept.clone()
    } else {
        make()
    }
}

/// Attaches the listener's program to the caller and all its descendants and returns the listener.
/// Errors: EBUSY where something around this program listens already (a container), EINVAL before
/// Linux 5.0.
pub(super) fn listen(confines: FilterScope) -> io::Result<OwnedFd> {
    sys::attach_listener(&mut HERE.map_or_else(Vec::new, |architecture| {
        compile(architecture, confines, FilterPart::Listener)
    }))
}

/// What the harness does about a call that it was notified of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SyscallResponse {
    Refuse(i32),
    /// A lock on the file of descriptor `args[0]`.
    Lock,
    /// A change of a file's mode.
    Mode,
}

/// The name of a call of this machine and what is done about one that is notified. A number without
/// a name does not exist here. The rules of the host serve for every cell: they differ only in
/// calls that a cell in namespaces is not notified of.
pub(super) fn answer(number: i32) -> Option<(&'static str, SyscallResponse)> {
    static KNOWN: OnceLock<HashMap<u32, (&'static str, SyscallResponse)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let on_the_host = FilterScope::Host {
            owns_files: true,
            signals_kept_in: true,
            in_workspace: false,
        };
        let rules = on_the_host.rules();
        let of = |name: &str| match rules.get(name) {
            Some(SyscallRule::Lock | SyscallRule::Fcntl) => SyscallResponse::Lock,
            Some(SyscallRule::Mode) => SyscallResponse::Mode,
            Some(SyscallRule::Refuse(e)) => SyscallResponse::Refuse(*e),
            Some(SyscallRule::Socket) => SyscallResponse::Refuse(EPERM),
            _ => SyscallResponse::Refuse(ENOSYS),
        };
        HERE.iter()
            .flat_map(|here| here.calls())
            .map(|(number, name)| (number, (name, of(name))))
            .collect()
    });
    known.get(&u32::try_from(number).ok()?).copied()
}

/// What becomes of one call, as the programs of a job decide together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SyscallVerdict {
    Allow,
    /// The listener decides.
    Notify,
    /// Refused without notice; 0: does nothing and succeeds.
    Errno(i32),
    Kill,
}

/// Decides as the kernel does, for a job whose every call is looked at (`doctor --observe`).
pub(super) struct FilterEmulator {
    audit: u32,
    job: Vec<sock_filter>,
    listener: Vec<sock_filter>,
}

impl FilterEmulator {
    /// `None` where this machine has no table.
    pub fn new(confines: FilterScope) -> Option<FilterEmulator> {
        let part = |part| HERE.map(|architecture| compile(architecture, confines, part));
        Some(FilterEmulator {
            audit: HERE?.audit,
            job: part(FilterPart::BelowListener)?,
            listener: part(FilterPart::Listener)?,
        })
    }

    pub fn of(&self, number: i32, args: &[u64; 6]) -> SyscallVerdict {
        let run = |program| run(program, self.audit, number as u32, args);
        match run(&self.job) {
            RET_ALLOW if run(&self.listener) == RET_USER_NOTIF => SyscallVerdict::Notify,
            RET_ALLOW => SyscallVerdict::Allow,
            returned if returned & 0xffff_0000 == RET_ERRNO => {
                SyscallVerdict::Errno((returned & 0xffff) as i32)
            }
            _ => SyscallVerdict::Kill,
        }
    }
}

/// Runs a program over a call; what the kernel would refuse to attach kills.
fn run(program: &[sock_filter], audit: u32, number: u32, args: &[u64; 6]) -> u32 {
    let word = |offset: u32| match offset {
        0 => number,
        4 => audit,
        offset => {
            let argument = args
                .get((offset.saturating_sub(16) / 8) as usize)
                .copied()
                .unwrap_or(0);
            if offset % 8 == 0 {
                argument as u32
            } else {
                (argument >> 32) as u32
            }
        }
    };
    let (mut at, mut loaded) = (0usize, 0u32);
    while let Some(i) = program.get(at) {
        at += 1;
        let jump = |yes: bool| usize::from(if yes { i.jt } else { i.jf });
        match u32::from(i.code) {
            LOAD => loaded = word(i.k),
            RETURN => return i.k,
            AND => loaded &= i.k,
            GOTO => at += i.k as usize,
            IF_EQUAL => at += jump(loaded == i.k),
            IF_AT_LEAST => at += jump(loaded >= i.k),
            IF_ANY_BIT => at += jump(loaded & i.k != 0),
            _ => return RET_KILL_PROCESS,
        }
    }
    RET_KILL_PROCESS
}

/// Where a process that is observed has the socket that its listener leaves by. No program may open
/// as many files.
pub(super) const OBSERVER_FD: RawFd = 198;

/// Attaches a program that notifies of every call and returns its listener, for [`FilterEmulator`] to
/// answer. Only `sendmsg` on [`OBSERVER_FD`] passes.
pub(super) fn listen_to_all() -> io::Result<OwnedFd> {
    let here =
        HERE.ok_or_else(|| io::Error::other("there is no table of system calls for this machine"))?;
    let send = here
        .calls()
        .find(|(_, name)| *name == "sendmsg")
        .map_or(0, |(number, _)| number);
    sys::attach_listener(&mut [
        op(LOAD, 4),
        branch(IF_EQUAL, here.audit, 1, 0),
        op(RETURN, RET_KILL_PROCESS),
        op(LOAD, 0),
        branch(IF_EQUAL, send, 0, 3),
        argument(0),
        branch(IF_EQUAL, OBSERVER_FD as u32, 0, 1),
        op(RETURN, RET_ALLOW),
        op(RETURN, RET_USER_NOTIF),
    ])
}

/// Puts the caller and all its descendants under `program`, for ever. Needs NO_NEW_PRIVS or
/// CAP_SYS_ADMIN.
pub(super) fn attach(program: &mut [sock_filter]) -> io::Result<()> {
    if program.is_empty() {
        return Err(io::Error::other(
            "there is no table of system calls for this machine",
        ));
    }
    let me = std::process::id();
    for instruction in program.iter_mut().filter(|i| u32::from(i.code) == IF_EQUAL) {
        match instruction.k {
            MARK => instruction.k = me,
            k if k == MARK.wrapping_neg() => instruction.k = me.wrapping_neg(),
            _ => {}
        }
    }
    sys::attach_filter(program)
}
