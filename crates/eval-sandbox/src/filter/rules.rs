//! The rules by the names of system calls, the same on every architecture. A call that an
//! architecture has and that no list here names is refused (ENOSYS) and named in the grade; what is
//! newer than its table does not exist.
//!
//! The list of allowed calls is what Python, node, the shell and coreutils, C and C++ with their
//! compilers, Java, Rust, Go, Ruby and Perl make, with their packages:
//! `eval-harness doctor --observe` lists what a program makes.

use super::SyscallRule::{self, *};

/// Allowed in every job.
const ALLOWED: &str = "read write open openat openat2 creat close close_range lseek pread64 pwrite64 readv writev preadv pwritev \
    preadv2 pwritev2 sendfile splice tee copy_file_range dup dup2 dup3 pipe pipe2 truncate ftruncate fallocate fadvise64 \
    stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd \
    chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat unlink unlinkat mknod mknodat umask \
    chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes utimensat futimesat \
    getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr \
    mprotect munmap mremap msync mincore madvise munlock munlockall brk pkey_mprotect pkey_alloc pkey_free map_shadow_stack \
    get_mempolicy \
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 \
    signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime \
    sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername setsockopt getsockopt \
    fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal set_tid_address \
    getpid getppid gettid getpgid getpgrp setpgid getsid setsid \
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo rt_sigsuspend \
    sigaltstack pause restart_syscall alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun \
    timer_delete nanosleep clock_gettime clock_getres clock_nanosleep gettimeofday time times \
    futex futex_waitv futex_wake futex_wait set_robust_list get_robust_list rseq \
    sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler sched_getattr \
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval getpriority setpriority getcpu ioprio_get \
    getrlimit setrlimit prlimit64 getrusage sysinfo uname getrandom prctl arch_prctl set_thread_area get_thread_area \
    getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid setgroups \
    setfsuid setfsgid capget capset landlock_create_ruleset landlock_add_rule landlock_restrict_self";

/// For every job.
pub(super) const EVERYWHERE: &[(SyscallRule, &str)] = &[
    (Allow, ALLOWED),
    // Deliberate: each reaches for other processes, mounts, namespaces, the kernel or devices, and
    // no program of a task needs it.
    (
        Kill,
        "ptrace process_vm_readv process_vm_writev mount umount2 pivot_root chroot setns unshare mount_setattr open_tree \
         move_mount fsopen fsconfig fsmount fspick bpf perf_event_open userfaultfd keyctl add_key request_key init_module \
         finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff open_by_handle_at pidfd_getfd iopl \
         ioperm",
    ),
    // Runtimes and libraries try these and go on without them: naming them would blame what did no
    // harm.
    (
        Errno(libc::EPERM),
        "memfd_create mbind set_mempolicy personality mlock mlock2 mlockall connect name_to_handle_at",
    ),
    (
        Errno(libc::ENOSYS),
        "io_uring_setup io_uring_enter io_uring_register clone3 nfsservctl epoll_ctl_old epoll_wait_old create_module \
         memfd_secret futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules setxattrat \
         getxattrat listxattrat removexattrat set_mempolicy_home_node mseal cachestat",
    ),
    // No file of a job outlives it, so there is nothing to make durable; on files of the host it
    // would cost the host.
    (Errno(0), "sync syncfs fsync fdatasync sync_file_range"),
    // Mono sets the usual policy on each thread and prints a warning when it can't. As root a
    // job could set one that no other process interrupts.
    (Errno(0), "sched_setscheduler"),
    (
        Refuse(libc::EPERM),
        "bind listen accept accept4 shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open \
         mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr fanotify_init fanotify_mark kcmp settimeofday \
         clock_settime clock_adjtime adjtimex acct quotactl quotactl_fd sethostname setdomainname modify_ldt syslog vhangup \
         lookup_dcookie uselib ustat migrate_pages move_pages sched_setattr ioprio_set seccomp \
         process_madvise process_mrelease vmsplice readahead",
    ),
    // Limits of the whole machine or of the user, which one job could use up.
    (
        Refuse(libc::ENOSYS),
        "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents inotify_init inotify_init1 inotify_add_watch \
         inotify_rm_watch",
    ),
    (Clone, "clone"),
    (Socket, "socket"),
    (SocketPair, "socketpair"),
    (Ioctl, "ioctl"),
    (Mmap, "mmap"),
    (Fcntl, "fcntl"),
    (Lock, "flock"),
    (Barrier, "membarrier"),
];

/// Besides, for a job in a workspace: servers work, on the loopback device of its own network
/// namespace, and what tools probe is an error and not their end.
pub(super) const IN_A_WORKSPACE: &[(SyscallRule, &str)] = &[
    (Allow, "bind listen accept accept4 connect"),
    (OwnSocket, "socket"),
    (
        Errno(libc::EPERM),
        "ptrace process_vm_readv process_vm_writev mount umount2 pivot_root chroot setns unshare mount_setattr open_tree \
         move_mount fsopen fsconfig fsmount fspick bpf perf_event_open userfaultfd keyctl add_key request_key open_by_handle_at \
         pidfd_getfd seccomp fanotify_init kcmp ioprio_set sched_setattr",
    ),
    (Errno(0), "readahead process_madvise"),
    (
        Errno(libc::ENOSYS),
        "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch io_setup",
    ),
    (QuietClone, "clone"),
];

/// Besides, when it has the host's network: abstract names of local sockets are a part of that.
pub(super) const ON_THE_INTERNET: &[(SyscallRule, &str)] = &[(InternetSocket, "socket")];

/// Besides, for a job that shares the host's file system, users and processes: what Landlock does
/// not govern.
pub(super) const ON_THE_HOST: &[(SyscallRule, &str)] = &[
    (
        Errno(libc::EPERM),
        "chown lchown fchown fchownat utime utimes futimesat",
    ),
    (
        Errno(libc::EOPNOTSUPP),
        "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
    ),
    (HostIoctl, "ioctl"),
    (Priority, "setpriority"),
    (Oneself, "prlimit64 sched_setaffinity sched_setparam"),
];

/// Besides, in a workspace: the cell's own program lets its minders watch files.
pub(super) const UNNOTIFIED_IN_A_WORKSPACE: &[(SyscallRule, &str)] = &[(
    Errno(libc::ENOSYS),
    "inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",
)];

/// Besides, when the job's user owns files of the host.
pub(super) const OWNING_FILES: &[(SyscallRule, &str)] = &[
    (Mode, "chmod fchmod fchmodat fchmodat2"),
    (OpenTimesNow, "utimensat"),
];

/// When it owns none but its own: times of what is open only, since a path may lead to what anybody
/// may touch.
pub(super) const OWNING_NOTHING: &[(SyscallRule, &str)] = &[(OpenTimes, "utimensat")];

/// Besides, where Landlock does not keep signals in.
pub(super) const SIGNALLING_ITSELF: &[(SyscallRule, &str)] = &[
    (Signal, "kill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    (Errno(libc::EPERM), "tkill pidfd_send_signal pidfd_open"),
];
