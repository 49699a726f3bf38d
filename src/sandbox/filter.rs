//! The seccomp program of a job: an allow-list by ranges of syscall numbers, compiled to a balanced decision tree.
//!
//! A tree, because the kernel runs the program for every syscall number when it is attached: a linear chain of the same
//! list costs about 2 us an instruction at every job. What is unknown, newer than this list or of the x32 ABI gets
//! ENOSYS, so that programs fall back to what they did on older kernels.

use std::io;

use libc::*;

use super::syscalls::{check, step};

/// What happens to a range of syscalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Allow,
    Errno(i32),
    /// Ends the process with SIGSYS: nothing honest calls these.
    Kill,
    /// `clone`: threads and children, no namespaces.
    Clone,
    /// `socketpair`: local streams only.
    SocketPair,
    /// `ioctl`: not the ones that push input into a terminal or signal others.
    Ioctl,
    /// `mmap`: no shared anonymous memory, which RLIMIT_DATA does not count.
    Mmap,
}

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
const AUDIT_ARCH_X86_64: u32 = 0xC000_003E;

/// CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} of clone(2).
const CLONE_NEW_ANY: u32 = 0x7E02_0000;
/// The highest number judged by hand (466, removexattrat).
const LAST_KNOWN: usize = 466;

fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn branch(code: u32, k: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: if_true, jf: if_false, k }
}

/// Loads the low half of argument `i`.
fn argument(i: u32) -> sock_filter {
    op(LOAD, 16 + 8 * i)
}

fn errno(e: i32) -> sock_filter {
    op(RETURN, RET_ERRNO | e as u32)
}

fn block(rule: Rule) -> Vec<sock_filter> {
    let allow = op(RETURN, RET_ALLOW);
    let kill = op(RETURN, RET_KILL_PROCESS);
    match rule {
        Rule::Allow => vec![allow],
        Rule::Errno(e) => vec![errno(e)],
        Rule::Kill => vec![kill],
        Rule::Clone => vec![argument(0), branch(IF_ANY_BIT, CLONE_NEW_ANY, 0, 1), kill, allow],
        Rule::SocketPair => vec![
            argument(0),
            branch(IF_EQUAL, AF_UNIX as u32, 0, 3),
            argument(1),
            op(AND, 0xf),
            branch(IF_EQUAL, SOCK_STREAM as u32, 1, 0),
            errno(EPERM),
            allow,
        ],
        // TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP
        Rule::Ioctl => vec![
            argument(1),
            branch(IF_EQUAL, 0x5412, 4, 0),
            branch(IF_EQUAL, 0x541C, 3, 0),
            branch(IF_EQUAL, 0x8901, 2, 0),
            branch(IF_EQUAL, 0x8902, 1, 0),
            allow,
            errno(EPERM),
        ],
        Rule::Mmap => {
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

fn tree(ranges: &[(u32, Rule)]) -> Vec<sock_filter> {
    match ranges {
        [] => block(Rule::Errno(ENOSYS)),
        [(_, rule)] => block(*rule),
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (tree(low), tree(high));
            let middle = high.first().map_or(0, |r| r.0);
            // Below is skipped by a jump that may be far, hence not by the 8-bit offset of the branch.
            let mut program = vec![branch(IF_AT_LEAST, middle, 0, 1), op(GOTO, below.len() as u32)];
            program.extend(below);
            program.extend(above);
            program
        }
    }
}

/// The rule of every syscall number up to [`LAST_KNOWN`].
fn rules() -> Vec<Rule> {
    let mut table = vec![Rule::Allow; LAST_KNOWN + 1];
    let mut set = |numbers: &[c_long], rule: Rule| {
        for n in numbers {
            if let Some(slot) = table.get_mut(*n as usize) {
                *slot = rule;
            }
        }
    };
    set(&(335..424).collect::<Vec<_>>(), Rule::Errno(ENOSYS)); // a gap in the table
    set(
        &[
            SYS_ptrace,
            SYS_process_vm_readv,
            SYS_process_vm_writev,
            SYS_mount,
            SYS_umount2,
            SYS_pivot_root,
            SYS_chroot,
            SYS_setns,
            SYS_unshare,
            SYS_mount_setattr,
            SYS_open_tree,
            SYS_move_mount,
            SYS_fsopen,
            SYS_fsconfig,
            SYS_fsmount,
            SYS_fspick,
            SYS_bpf,
            SYS_perf_event_open,
            SYS_userfaultfd,
            SYS_keyctl,
            SYS_add_key,
            SYS_request_key,
            SYS_init_module,
            SYS_finit_module,
            SYS_delete_module,
            SYS_kexec_load,
            SYS_kexec_file_load,
            SYS_reboot,
            SYS_swapon,
            SYS_swapoff,
            SYS_open_by_handle_at,
            SYS_pidfd_getfd,
            SYS_iopl,
            SYS_ioperm,
        ],
        Rule::Kill,
    );
    set(
        &[
            SYS_socket,
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept,
            SYS_accept4,
            SYS_shmget,
            SYS_shmat,
            SYS_shmctl,
            SYS_msgget,
            SYS_semget,
            SYS_mq_open,
            SYS_mq_unlink,
            SYS_memfd_create,
            SYS_fanotify_init,
            SYS_fanotify_mark,
            SYS_name_to_handle_at,
            SYS_kcmp,
            SYS_settimeofday,
            SYS_clock_settime,
            SYS_clock_adjtime,
            SYS_adjtimex,
            SYS_acct,
            SYS_quotactl,
            SYS_sethostname,
            SYS_setdomainname,
            SYS_personality,
            SYS_modify_ldt,
            SYS_syslog,
            SYS_vhangup,
            SYS_lookup_dcookie,
            SYS_uselib,
            SYS_ustat,
            SYS_mbind,
            SYS_set_mempolicy,
            SYS_migrate_pages,
            SYS_move_pages,
            SYS_sched_setscheduler,
            SYS_sched_setattr,
            SYS_ioprio_set,
            SYS_seccomp,
            SYS_process_madvise,
            SYS_mlock,
            SYS_mlockall,
            SYS_mlock2,
            SYS_vmsplice,
        ],
        Rule::Errno(EPERM),
    );
    // 174 create_module, 447 memfd_secret, 456-461 futex_wake .. lsm_list_modules, 465-466 listxattrat, removexattrat
    set(
        &[
            SYS_io_uring_setup,
            SYS_io_uring_enter,
            SYS_io_uring_register,
            SYS_clone3,
            SYS_nfsservctl,
            SYS_epoll_ctl_old,
            SYS_epoll_wait_old,
            174,
            447,
            456,
            457,
            458,
            459,
            460,
            461,
            465,
            466,
        ],
        Rule::Errno(ENOSYS),
    );
    set(&[SYS_clone], Rule::Clone);
    set(&[SYS_socketpair], Rule::SocketPair);
    set(&[SYS_ioctl], Rule::Ioctl);
    set(&[SYS_mmap], Rule::Mmap);
    table
}

/// What a fork server needs to shut its jobs in, and what each job loses by [`job_extra`].
const SERVER_ONLY: [c_long; 3] = [SYS_mount, SYS_unshare, SYS_setns];

/// The whole program.
pub(super) fn program() -> Vec<sock_filter> {
    compile(rules())
}

/// The program of a fork server, which its jobs inherit: it lets through what makes namespaces.
pub(super) fn for_server() -> Vec<sock_filter> {
    let mut table = rules();
    for number in SERVER_ONLY {
        if let Some(slot) = table.get_mut(number as usize) {
            *slot = Rule::Allow;
        }
    }
    compile(table)
}

/// What a job adds to [`for_server`], so that the two together decide as [`program`] does. Short, because attaching costs
/// by the instruction. The inherited program has looked at the architecture.
pub(super) fn job_extra() -> Vec<sock_filter> {
    let mut program = vec![op(LOAD, 0)];
    for (i, number) in SERVER_ONLY.into_iter().enumerate() {
        program.push(branch(IF_EQUAL, number as u32, (SERVER_ONLY.len() - i) as u8, 0));
    }
    program.extend([op(RETURN, RET_ALLOW), op(RETURN, RET_KILL_PROCESS)]);
    program
}

/// A program as the kernel takes it.
pub(super) fn to_bytes(program: &[sock_filter]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|i| [&i.code.to_ne_bytes()[..], &[i.jt, i.jf], &i.k.to_ne_bytes()[..]].concat())
        .collect()
}

fn compile(rules: Vec<Rule>) -> Vec<sock_filter> {
    let mut ranges: Vec<(u32, Rule)> = Vec::new();
    for (number, rule) in rules.into_iter().enumerate() {
        if ranges.last().is_none_or(|(_, last)| *last != rule) {
            ranges.push((number as u32, rule));
        }
    }
    ranges.push((LAST_KNOWN as u32 + 1, Rule::Errno(ENOSYS)));
    let mut program = vec![
        op(LOAD, 4),
        branch(IF_EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        op(RETURN, RET_KILL_PROCESS),
        op(LOAD, 0),
    ];
    program.extend(tree(&ranges));
    program
}

/// Puts the caller and all its descendants under `program`, for ever. Needs NO_NEW_PRIVS or CAP_SYS_ADMIN.
pub(super) fn attach(program: &mut [sock_filter]) -> io::Result<()> {
    let fprog = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: `fprog` points to a live array of that length; the kernel copies it.
    let r = unsafe {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER as c_ulong, &fprog as *const sock_fprog as c_ulong, 0, 0)
    };
    step("seccomp", check(r as c_long)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel does, over (number, arguments).
    fn decide(program: &[sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => number,
            4 => arch,
            o => {
                let arg = args[((o - 16) / 8) as usize];
                if o % 8 == 0 { arg as u32 } else { (arg >> 32) as u32 }
            }
        };
        let (mut at, mut acc) = (0usize, 0u32);
        loop {
            let i = program[at];
            at += 1;
            let jump = |yes: bool| if yes { i.jt as usize } else { i.jf as usize };
            match u32::from(i.code) {
                LOAD => acc = word(i.k),
                RETURN => return i.k,
                AND => acc &= i.k,
                GOTO => at += i.k as usize,
                IF_EQUAL => at += jump(acc == i.k),
                IF_AT_LEAST => at += jump(acc >= i.k),
                IF_ANY_BIT => at += jump(acc & i.k != 0),
                other => panic!("unknown instruction {other:#x}"),
            }
        }
    }

    fn verdict(number: c_long, args: [u64; 6]) -> u32 {
        decide(&program(), AUDIT_ARCH_X86_64, number as u32, args)
    }

    #[test]
    fn the_tree_agrees_with_the_table_for_every_number() {
        let program = program();
        for (number, rule) in rules().into_iter().enumerate() {
            let got = decide(&program, AUDIT_ARCH_X86_64, number as u32, [0; 6]);
            let want = match rule {
                Rule::Allow | Rule::Clone | Rule::Ioctl | Rule::Mmap => RET_ALLOW,
                Rule::Errno(e) => RET_ERRNO | e as u32,
                Rule::Kill => RET_KILL_PROCESS,
                Rule::SocketPair => RET_ERRNO | EPERM as u32,
            };
            assert_eq!(got, want, "syscall {number}: {rule:?}");
        }
    }

    /// The kernel takes the strictest answer of all attached programs; a kill is the lowest number of these.
    #[test]
    fn a_job_of_a_server_may_do_what_any_job_may() {
        let (server, extra, whole) = (for_server(), job_extra(), program());
        assert_eq!(to_bytes(&extra).len(), 8 * extra.len());
        for number in 0..LAST_KNOWN as u32 + 10 {
            let ask = |p: &[sock_filter]| decide(p, AUDIT_ARCH_X86_64, number, [0; 6]);
            let both = match (ask(&server), ask(&extra)) {
                (_, RET_KILL_PROCESS) | (RET_KILL_PROCESS, _) => RET_KILL_PROCESS,
                (server, RET_ALLOW) => server,
                other => panic!("{number}: {other:?}"),
            };
            assert_eq!(both, ask(&whole), "syscall {number}");
            let differs = ask(&server) != ask(&whole);
            assert_eq!(differs, SERVER_ONLY.contains(&c_long::from(number)), "syscall {number}");
        }
    }

    #[test]
    fn unknown_numbers_and_the_x32_abi_do_not_exist_and_other_machines_are_killed() {
        let program = program();
        for number in [467u32, 500, 9999, 0x4000_0000, 0x4000_0065, u32::MAX] {
            let got = decide(&program, AUDIT_ARCH_X86_64, number, [0; 6]);
            assert_eq!(got, RET_ERRNO | ENOSYS as u32, "{number:#x}");
        }
        assert_eq!(decide(&program, 0x4000_0003, SYS_read as u32, [0; 6]), RET_KILL_PROCESS);
    }

    #[test]
    fn rules_on_arguments_look_at_the_right_ones() {
        let denied = RET_ERRNO | EPERM as u32;
        assert_eq!(verdict(SYS_clone, [CLONE_NEWUSER as u64, 0, 0, 0, 0, 0]), RET_KILL_PROCESS);
        assert_eq!(verdict(SYS_clone, [CLONE_VM as u64 | CLONE_THREAD as u64, 0, 0, 0, 0, 0]), RET_ALLOW);
        let stream = SOCK_STREAM as u64 | SOCK_CLOEXEC as u64;
        assert_eq!(verdict(SYS_socketpair, [AF_UNIX as u64, stream, 0, 0, 0, 0]), RET_ALLOW);
        assert_eq!(verdict(SYS_socketpair, [AF_UNIX as u64, SOCK_DGRAM as u64, 0, 0, 0, 0]), denied);
        assert_eq!(verdict(SYS_socketpair, [AF_INET as u64, stream, 0, 0, 0, 0]), denied);
        assert_eq!(verdict(SYS_ioctl, [0, 0x5412, 0, 0, 0, 0]), denied);
        assert_eq!(verdict(SYS_ioctl, [0, 0x8902, 0, 0, 0, 0]), denied);
        assert_eq!(verdict(SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]), RET_ALLOW);
        let shared = (MAP_SHARED | MAP_ANONYMOUS) as u64;
        assert_eq!(verdict(SYS_mmap, [0, 0, 0, shared, 0, 0]), RET_ERRNO | ENOMEM as u32);
        assert_eq!(verdict(SYS_mmap, [0, 0, 0, (MAP_PRIVATE | MAP_ANONYMOUS) as u64, 0, 0]), RET_ALLOW);
        assert_eq!(verdict(SYS_mmap, [0, 0, 0, MAP_SHARED as u64, 0, 0]), RET_ALLOW);
    }
}
