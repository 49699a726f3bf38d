use super::aarch64::AARCH64;
use super::x86_64::X86_64;
use super::*;

const HOST: FilterScope = FilterScope::Host {
    owns_files: true,
    signals_kept_in: false,
    in_workspace: false,
};
const WORKSPACE: FilterScope = FilterScope::Workspace {
    host_network: false,
};
const ONLINE: FilterScope = FilterScope::Workspace { host_network: true };
const EVERY: [FilterScope; 6] = [
    FilterScope::Namespaces,
    WORKSPACE,
    ONLINE,
    HOST,
    FilterScope::Host {
        owns_files: false,
        signals_kept_in: true,
        in_workspace: false,
    },
    FilterScope::Host {
        owns_files: true,
        signals_kept_in: true,
        in_workspace: false,
    },
];
const DENIED: u32 = RET_ERRNO | EPERM as u32;

fn decide(program: &[sock_filter], arch: u32, number: u32, args: [u64; 6]) -> u32 {
    run(program, arch, number, &args)
}

fn number(architecture: &SyscallNumbers, name: &str) -> u32 {
    architecture
        .calls()
        .find(|(_, n)| *n == name)
        .unwrap_or_else(|| panic!("{name}"))
        .0
}

/// What both architectures say to a call, which must be the same.
fn verdict(confines: FilterScope, name: &str, args: [u64; 6]) -> u32 {
    verdict_of(confines, FilterPart::Alone, name, args)
}

fn verdict_of(confines: FilterScope, part: FilterPart, name: &str, args: [u64; 6]) -> u32 {
    let of =
        |a: &SyscallNumbers| decide(&compile(a, confines, part), a.audit, number(a, name), args);
    assert_eq!(of(&X86_64), of(&AARCH64), "{name}");
    of(&X86_64)
}

/// What the kernel does with the answers of all programs: the strictest counts, as a signed number.
fn strictest(answers: &[u32]) -> u32 {
    answers
        .iter()
        .copied()
        .min_by_key(|answer| (answer & 0xffff_0000) as i32)
        .unwrap()
}

#[test]
fn the_tree_agrees_with_the_table_for_every_number() {
    for architecture in [&X86_64, &AARCH64] {
        for confines in EVERY {
            let program = compile(architecture, confines, FilterPart::Alone);
            for (number, rule) in (0..).zip(table(architecture, confines)) {
                let got = decide(&program, architecture.audit, number, [0; 6]);
                let want = match rule {
                    SyscallRule::Errno(e) | SyscallRule::Refuse(e) => RET_ERRNO | e as u32,
                    SyscallRule::Kill => RET_KILL_PROCESS,
                    SyscallRule::SocketPair | SyscallRule::Socket | SyscallRule::Mode => DENIED,
                    SyscallRule::HostIoctl => RET_ERRNO | ENOTTY as u32,
                    SyscallRule::OwnSocket | SyscallRule::InternetSocket => {
                        RET_ERRNO | EAFNOSUPPORT as u32
                    }
                    _ => RET_ALLOW,
                };
                assert_eq!(got, want, "syscall {number}: {rule:?}");
            }
        }
    }
}

#[test]
fn unknown_numbers_and_the_x32_abi_do_not_exist_and_other_machines_are_killed() {
    for (architecture, gaps) in [(&X86_64, [335, 423]), (&AARCH64, [244, 423])] {
        let program = compile(architecture, FilterScope::Namespaces, FilterPart::Alone);
        for number in [467u32, 500, 9999, 0x4000_0000, 0x4000_0065, u32::MAX]
            .into_iter()
            .chain(gaps)
        {
            let got = decide(&program, architecture.audit, number, [0; 6]);
            assert_eq!(got, RET_ERRNO | ENOSYS as u32, "{number:#x}");
        }
        // i386 and 32-bit ARM, whose programs these machines run too.
        for foreign in [0x4000_0003, 0x4000_0028] {
            assert_eq!(
                decide(&program, foreign, number(architecture, "read"), [0; 6]),
                RET_KILL_PROCESS
            );
        }
    }
}

#[test]
fn a_call_has_the_same_rule_on_every_architecture() {
    for confines in EVERY {
        let by_name = |a: &SyscallNumbers| -> HashMap<&str, SyscallRule> {
            let table = table(a, confines);
            a.calls()
                .map(|(number, name)| (name, table[number as usize]))
                .collect()
        };
        let (x86, arm) = (by_name(&X86_64), by_name(&AARCH64));
        for (name, rule) in &arm {
            assert_eq!(x86.get(name), Some(rule), "{name}");
        }
        for name in confines.rules().keys() {
            assert!(
                x86.contains_key(name),
                "a rule for {name}, which no table knows"
            );
        }
    }
    assert!(AARCH64.calls().count() > 310 && X86_64.calls().count() > 370);
}

#[test]
fn the_tables_hold_the_numbers_of_the_kernel() {
    // Ends of runs: a name too many or too few before them would move them.
    for (name, x86, arm) in [
        ("read", 0, 63),
        ("execve", 59, 221),
        ("openat", 257, 56),
        ("recvmmsg", 299, 243),
        ("prlimit64", 302, 261),
        ("rseq", 334, 293),
        ("kexec_file_load", 320, 294),
        ("unshare", 272, 97),
        ("close_range", 436, 436),
        ("landlock_restrict_self", 446, 446),
        ("fchmodat2", 452, 452),
        ("removexattrat", 466, 466),
    ] {
        assert_eq!(
            (number(&X86_64, name), number(&AARCH64, name)),
            (x86, arm),
            "{name}"
        );
    }
    #[cfg(target_arch = "x86_64")]
    for (name, number_here) in [
        ("fork", SYS_fork),
        ("epoll_wait", SYS_epoll_wait),
        ("openat2", SYS_openat2),
    ] {
        assert_eq!(c_long::from(number(&X86_64, name)), number_here, "{name}");
    }
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    for (name, number_here) in [
        ("ptrace", SYS_ptrace),
        ("seccomp", SYS_seccomp),
        ("mmap", SYS_mmap),
        ("faccessat2", SYS_faccessat2),
    ] {
        assert_eq!(
            c_long::from(number(HERE.unwrap(), name)),
            number_here,
            "{name}"
        );
    }
}

#[test]
fn rules_on_arguments_look_at_the_right_ones() {
    let verdict = |name, args| verdict(FilterScope::Namespaces, name, args);
    assert_eq!(
        verdict("clone", [CLONE_NEWUSER as u64, 0, 0, 0, 0, 0]),
        RET_KILL_PROCESS
    );
    assert_eq!(
        verdict("clone", [CLONE_PARENT as u64, 0, 0, 0, 0, 0]),
        RET_KILL_PROCESS
    );
    assert_eq!(
        verdict(
            "clone",
            [CLONE_VM as u64 | CLONE_THREAD as u64, 0, 0, 0, 0, 0]
        ),
        RET_ALLOW
    );
    let stream = SOCK_STREAM as u64 | SOCK_CLOEXEC as u64;
    assert_eq!(
        verdict("socketpair", [AF_UNIX as u64, stream, 0, 0, 0, 0]),
        RET_ALLOW
    );
    let packets = SOCK_SEQPACKET as u64 | SOCK_CLOEXEC as u64;
    assert_eq!(
        verdict("socketpair", [AF_UNIX as u64, packets, 0, 0, 0, 0]),
        RET_ALLOW
    );
    assert_eq!(
        verdict("socketpair", [AF_INET as u64, packets, 0, 0, 0, 0]),
        DENIED
    );
    assert_eq!(
        verdict(
            "socketpair",
            [AF_UNIX as u64, SOCK_DGRAM as u64, 0, 0, 0, 0]
        ),
        DENIED
    );
    assert_eq!(
        verdict("socketpair", [AF_INET as u64, stream, 0, 0, 0, 0]),
        DENIED
    );
    for bad in [0x5412, 0x541C, 0x8901, 0x8902] {
        assert_eq!(verdict("ioctl", [0, bad, 0, 0, 0, 0]), DENIED);
    }
    assert_eq!(verdict("ioctl", [0, 0x5401, 0, 0, 0, 0]), RET_ALLOW);
    let shared = (MAP_SHARED | MAP_ANONYMOUS) as u64;
    assert_eq!(
        verdict("mmap", [0, 0, 0, shared, 0, 0]),
        RET_ERRNO | ENOMEM as u32
    );
    assert_eq!(
        verdict(
            "mmap",
            [0, 0, 0, (MAP_PRIVATE | MAP_ANONYMOUS) as u64, 0, 0]
        ),
        RET_ALLOW
    );
    assert_eq!(
        verdict("mmap", [0, 0, 0, MAP_SHARED as u64, 0, 0]),
        RET_ALLOW
    );
    for bad in [8, 10, 15, 1024, 1026] {
        assert_eq!(verdict("fcntl", [0, bad, 0, 0, 0, 0]), DENIED);
    }
    for good in [F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_SETLK] {
        assert_eq!(verdict("fcntl", [0, good as u64, 0, 0, 0, 0]), RET_ALLOW);
    }
    assert_eq!(verdict("fchmod", [0; 6]), RET_ALLOW);
    assert_eq!(verdict("kill", [1, 9, 0, 0, 0, 0]), RET_ALLOW);
}

#[test]
fn a_workspace_differs_in_sockets_and_in_what_tools_probe() {
    let scopes = [WORKSPACE, FilterScope::Namespaces];
    let both = |name, args| scopes.map(|scope| verdict(scope, name, args));
    for name in ["bind", "listen", "accept", "accept4"] {
        assert_eq!(both(name, [0; 6]), [RET_ALLOW, DENIED], "{name}");
    }
    for family in [AF_UNIX, AF_INET, AF_INET6] {
        let stream = SOCK_STREAM as u64 | SOCK_CLOEXEC as u64;
        let made = both("socket", [family as u64, stream, 0, 0, 0, 0]);
        assert_eq!(made, [RET_ALLOW, DENIED], "{family}");
    }
    // For others the kernel would load a module.
    let internet = |kind: i32, protocol: i32| {
        let args = [AF_INET as u64, kind as u64, protocol as u64, 0, 0, 0];
        verdict(WORKSPACE, "socket", args)
    };
    for (kind, protocol) in [(SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP)] {
        assert_eq!(internet(kind, protocol), RET_ALLOW);
    }
    for protocol in [IPPROTO_SCTP, IPPROTO_DCCP, IPPROTO_UDPLITE, IPPROTO_MPTCP] {
        let refused = RET_ERRNO | EPROTONOSUPPORT as u32;
        assert_eq!(internet(SOCK_STREAM, protocol), refused, "{protocol}");
    }
    for kind in [SOCK_RAW, SOCK_RDM, SOCK_DCCP] {
        let refused = RET_ERRNO | ESOCKTNOSUPPORT as u32;
        assert_eq!(internet(kind, 0), refused, "{kind}");
    }
    for family in [AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG] {
        let made = verdict(scopes[0], "socket", [family as u64, 0, 0, 0, 0, 0]);
        assert_eq!(made, RET_ERRNO | EAFNOSUPPORT as u32, "{family}");
    }
    // Names of the host's abstract sockets would be in reach.
    let local = verdict(ONLINE, "socket", [AF_UNIX as u64, 0, 0, 0, 0, 0]);
    assert_eq!(local, RET_ERRNO | EAFNOSUPPORT as u32);
    let internet = verdict(
        ONLINE,
        "socket",
        [AF_INET6 as u64, SOCK_STREAM as u64, 0, 0, 0, 0],
    );
    assert_eq!(internet, RET_ALLOW);
    for name in ["unshare", "ptrace", "bpf", "keyctl", "mount", "setns"] {
        assert_eq!(both(name, [0; 6]), [DENIED, RET_KILL_PROCESS], "{name}");
    }
    let namespace = [CLONE_NEWUSER as u64, 0, 0, 0, 0, 0];
    assert_eq!(both("clone", namespace), [DENIED, RET_KILL_PROCESS]);
    for name in ["reboot", "kexec_load", "init_module", "iopl"] {
        let program = compile(&X86_64, WORKSPACE, FilterPart::Alone);
        let said = decide(&program, X86_64.audit, number(&X86_64, name), [0; 6]);
        assert_eq!(said, RET_KILL_PROCESS, "{name}");
    }
}

#[test]
fn on_the_host_nothing_reaches_others() {
    let says = |name, a: u64, b: u64| verdict(HOST, name, [a, b, 0, 0, 0, 0]);
    let not_a_terminal = RET_ERRNO | ENOTTY as u32;
    // FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY, BTRFS_IOC_SUBVOL_CREATE, TCGETS2
    for (command, want) in [
        (0x4008_6602, not_a_terminal),
        (0x4080_6685, not_a_terminal),
        (0x5000_940e, not_a_terminal),
    ] {
        assert_eq!(says("ioctl", 0, command), want, "{command:#x}");
    }
    for (command, want) in [
        (0x802c_542a, RET_ALLOW),
        (0x541b, RET_ALLOW),
        (0x5412, DENIED),
        (0x541c, DENIED),
    ] {
        assert_eq!(says("ioctl", 0, command), want, "{command:#x}");
    }
    assert_eq!(says("setpriority", 0, 0), RET_ALLOW);
    for (which, who) in [(0, 7), (1, 7), (2, 0), (2, 7)] {
        assert_eq!(says("setpriority", which, who), DENIED, "{which} {who}");
    }
    for call in ["prlimit64", "sched_setaffinity", "sched_setparam"] {
        assert_eq!(
            (says(call, 0, 0), says(call, 7, 0)),
            (RET_ALLOW, DENIED),
            "{call}"
        );
    }
    for call in ["fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat"] {
        assert_eq!(says(call, 0, 0), DENIED, "{call}");
    }
    for (path, times, want) in [
        (0, 0, RET_ALLOW),
        (0, 0x1000, DENIED),
        (0x1000, 0, DENIED),
        (0, 1 << 40, DENIED),
        (1 << 40, 0, DENIED),
    ] {
        assert_eq!(
            verdict(HOST, "utimensat", [3, path, times, 0, 0, 0]),
            want,
            "{path:#x} {times:#x}"
        );
    }
    assert_eq!(says("fsetxattr", 0, 0), RET_ERRNO | EOPNOTSUPP as u32);
    assert_eq!(says("ptrace", 0, 0), RET_KILL_PROCESS);
    let mark = u64::from(MARK);
    for (pid, want) in [
        (0, RET_ALLOW),
        (mark, RET_ALLOW),
        (u64::from(MARK.wrapping_neg()), RET_ALLOW),
        (1, DENIED),
        (u64::from(u32::MAX), DENIED),
    ] {
        for call in ["kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"] {
            assert_eq!(says(call, pid, 9), want, "{call} {pid:#x}");
        }
    }
    for call in ["tkill", "pidfd_send_signal", "pidfd_open"] {
        assert_eq!(says(call, 0, 0), DENIED, "{call}");
    }
}

#[test]
fn who_owns_nothing_on_the_host_may_change_its_own_files() {
    let owner = FilterScope::Host {
        owns_files: false,
        signals_kept_in: true,
        in_workspace: false,
    };
    let says = |name, path: u64| verdict(owner, name, [0, path, 0, 0, 0, 0]);
    assert_eq!(says("fchmod", 0), RET_ALLOW);
    assert_eq!(says("fchmodat", 0x7000_0000_0000), RET_ALLOW);
    assert_eq!(
        verdict(owner, "utimensat", [3, 0, 0x1000, 0, 0, 0]),
        RET_ALLOW
    );
    assert_eq!(says("utimensat", 0x1000), DENIED);
    assert_eq!(
        says("utimensat", 0x7000_0000_0000),
        DENIED,
        "the upper half counts too"
    );
    assert_eq!(says("kill", 1), RET_ALLOW);
    assert_eq!(says("fchown", 0), DENIED);
}

/// The kernel takes the strictest answer of all attached programs.
#[test]
fn a_job_of_a_server_may_do_what_any_job_may() {
    for architecture in [&x86_64::X86_64, &aarch64::AARCH64] {
        let server = compile_for_server(architecture, FilterPart::Alone);
        let extra = compile_job_extra(architecture);
        let whole = compile(architecture, FilterScope::Namespaces, FilterPart::Alone);
        assert_eq!(to_bytes(&extra).len(), 8 * extra.len());
        let names: HashMap<u32, &str> = architecture.calls().collect();
        for number in 0..600 {
            let ask = |p: &[sock_filter]| decide(p, architecture.audit, number, [0; 6]);
            let both = match (ask(&server), ask(&extra)) {
                (_, RET_KILL_PROCESS) | (RET_KILL_PROCESS, _) => RET_KILL_PROCESS,
                (server, RET_ALLOW) => server,
                other => panic!("{number}: {other:?}"),
            };
            assert_eq!(both, ask(&whole), "syscall {number}");
            let only_server = names
                .get(&number)
                .is_some_and(|name| SERVER_ONLY.contains(name));
            assert_eq!(ask(&server) != ask(&whole), only_server, "syscall {number}");
        }
    }
}

#[test]
fn refused_calls_reach_the_listener_and_never_run() {
    let notice = RET_USER_NOTIF;
    // In a workspace some of these are refused without notice.
    let in_workspace = |scope: &FilterScope| matches!(scope, FilterScope::Workspace { .. });
    for confines in EVERY.into_iter().filter(|scope| !in_workspace(scope)) {
        for (name, args) in [
            ("io_setup", [0; 6]),
            ("io_pgetevents", [0; 6]),
            ("inotify_init1", [0; 6]),
            ("readahead", [0; 6]),
            ("remap_file_pages", [0; 6]),
            ("socket", [AF_INET as u64, 0, 0, 0, 0, 0]),
            ("flock", [0; 6]),
            ("fcntl", [3, F_SETLK as u64, 0, 0, 0, 0]),
            ("fcntl", [3, F_OFD_SETLKW as u64, 0, 0, 0, 0]),
        ] {
            let of = |part| verdict_of(confines, part, name, args);
            let both = strictest(&[of(FilterPart::Listener), of(FilterPart::BelowListener)]);
            assert_eq!(both, notice, "{name}");
            let alone = of(FilterPart::Alone);
            let is_lock = name == "flock" || name == "fcntl";
            assert_eq!(alone == RET_ALLOW, is_lock, "{name}: {alone:#x}");
        }
    }
    let mode = verdict_of(HOST, FilterPart::Listener, "fchmodat", [0; 6]);
    assert_eq!(
        (
            mode,
            verdict_of(HOST, FilterPart::BelowListener, "fchmodat", [0; 6])
        ),
        (notice, RET_ALLOW)
    );
}

#[test]
fn what_is_not_refused_passes_the_listener_and_is_decided_as_without() {
    for architecture in [&X86_64, &AARCH64] {
        for confines in EVERY {
            let part = |part| compile(architecture, confines, part);
            let [alone, below, listener] = [
                FilterPart::Alone,
                FilterPart::BelowListener,
                FilterPart::Listener,
            ]
            .map(part);
            assert!(below.len() <= alone.len());
            for number in (0..600).chain([0x4000_0003]) {
                let of =
                    |program: &[sock_filter]| decide(program, architecture.audit, number, [0; 6]);
                match of(&listener) {
                    RET_ALLOW => assert_eq!(of(&below), of(&alone), "{number}"),
                    RET_USER_NOTIF => assert_ne!(of(&below), RET_KILL_PROCESS, "{number}"),
                    other => panic!("{number}: {other:#x}"),
                }
            }
            assert_eq!(
                decide(&listener, 0x4000_0003, 0, [0; 6]),
                RET_ALLOW,
                "a cell's own business"
            );
        }
    }
}

#[test]
fn answers_name_the_call_and_keep_its_error() {
    let architecture = HERE.unwrap();
    let of = |name: &str| answer(number(architecture, name) as i32);
    assert_eq!(
        of("io_setup"),
        Some(("io_setup", SyscallResponse::Refuse(ENOSYS)))
    );
    assert_eq!(
        of("fanotify_init"),
        Some(("fanotify_init", SyscallResponse::Refuse(EPERM)))
    );
    assert_eq!(
        of("socket"),
        Some(("socket", SyscallResponse::Refuse(EPERM)))
    );
    assert_eq!(of("flock"), Some(("flock", SyscallResponse::Lock)));
    assert_eq!(of("fcntl"), Some(("fcntl", SyscallResponse::Lock)));
    assert_eq!(of("fchmod"), Some(("fchmod", SyscallResponse::Mode)));
    assert_eq!((answer(-1), answer(9999)), (None, None));
}

/// [`answer`] goes by the rules of the host, whatever the cell.
#[test]
fn notified_call_has_the_same_rule_in_every_cell() {
    let notifies = |rule: &SyscallRule| {
        block(*rule, FilterPart::Listener)
            .iter()
            .any(|i| i.k == RET_USER_NOTIF)
    };
    let host = FilterScope::Host {
        owns_files: true,
        signals_kept_in: true,
        in_workspace: false,
    }
    .rules();
    for confines in EVERY {
        let rules = confines.rules();
        let notified: Vec<_> = rules.iter().filter(|(_, rule)| notifies(rule)).collect();
        assert!(notified.len() > 40, "{confines:?}: {}", notified.len());
        for (name, rule) in notified {
            assert_eq!(host.get(name), Some(rule), "{confines:?}: {name}");
        }
    }
}

/// What a job must be able to call, in every tier and on every architecture.
#[test]
fn event_loops_and_threads_are_allowed() {
    for confines in EVERY {
        for call in [
            "epoll_create1",
            "epoll_ctl",
            "epoll_pwait",
            "eventfd2",
            "timerfd_create",
            "signalfd4",
            "futex",
            "clone",
        ] {
            assert_eq!(verdict(confines, call, [0; 6]), RET_ALLOW, "{call}");
        }
        for nothing in ["sync", "syncfs", "fsync"] {
            assert_eq!(verdict(confines, nothing, [0; 6]), RET_ERRNO, "{nothing}");
        }
        let barrier = |command| verdict(confines, "membarrier", [command, 0, 0, 0, 0, 0]);
        assert_eq!([0, 8, 16, 32].map(barrier), [RET_ALLOW; 4]);
        assert_eq!([1, 2, 4].map(barrier), [DENIED; 3]);
    }
}

#[test]
fn observed_call_gets_what_a_job_would_get() {
    let architecture = HERE.unwrap();
    let verdicts = FilterEmulator::new(FilterScope::Namespaces).unwrap();
    let of = |name: &str, first: u64| {
        verdicts.of(number(architecture, name) as i32, &[first, 0, 0, 0, 0, 0])
    };
    assert_eq!(of("read", 0), SyscallVerdict::Allow);
    assert_eq!(of("io_setup", 0), SyscallVerdict::Notify);
    assert_eq!(of("flock", 0), SyscallVerdict::Notify);
    assert_eq!(of("clone3", 0), SyscallVerdict::Errno(ENOSYS));
    assert_eq!(of("sync", 0), SyscallVerdict::Errno(0));
    assert_eq!(of("ptrace", 0), SyscallVerdict::Kill);
    assert_eq!(of("clone", CLONE_NEWUSER as u64), SyscallVerdict::Kill);
    assert_eq!(of("socket", AF_INET as u64), SyscallVerdict::Notify);
    assert_eq!(of("socket", AF_UNIX as u64), SyscallVerdict::Errno(EPERM));
    assert_eq!(verdicts.of(9999, &[0; 6]), SyscallVerdict::Errno(ENOSYS));
}
