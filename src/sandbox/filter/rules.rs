//! What is forbidden, by the names of system calls; the same on every architecture. What an architecture has and nobody
//! names here is allowed; what it doesn't have or what is newer than its table does not exist (ENOSYS).

use super::Rule::{self, *};

/// For every job.
pub(super) const EVERYWHERE: &[(Rule, &str)] = &[
    (
        Kill,
        "ptrace process_vm_readv process_vm_writev mount umount2 pivot_root chroot setns unshare mount_setattr open_tree \
         move_mount fsopen fsconfig fsmount fspick bpf perf_event_open userfaultfd keyctl add_key request_key init_module \
         finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff open_by_handle_at pidfd_getfd iopl \
         ioperm",
    ),
    (
        Errno(libc::EPERM),
        "socket connect bind listen accept accept4 shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop \
         semctl mq_open mq_unlink memfd_create fanotify_init fanotify_mark name_to_handle_at kcmp settimeofday \
         clock_settime clock_adjtime adjtimex acct quotactl quotactl_fd sethostname setdomainname personality modify_ldt \
         syslog vhangup lookup_dcookie uselib ustat mbind set_mempolicy migrate_pages move_pages sched_setscheduler \
         sched_setattr ioprio_set seccomp process_madvise process_mrelease mlock mlockall mlock2 vmsplice",
    ),
    // Programs fall back to what they did before these existed; only the numbers that a table has are meant.
    (
        Errno(libc::ENOSYS),
        "io_uring_setup io_uring_enter io_uring_register clone3 nfsservctl epoll_ctl_old epoll_wait_old create_module \
         memfd_secret futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules setxattrat \
         getxattrat listxattrat removexattrat",
    ),
    (Clone, "clone"),
    (SocketPair, "socketpair"),
    (Ioctl, "ioctl"),
    (Mmap, "mmap"),
    (Fcntl, "fcntl"),
];

/// Besides, for a job that shares the host's file system, users and processes: what Landlock does not govern.
pub(super) const ON_THE_HOST: &[(Rule, &str)] = &[
    (
        Errno(libc::EPERM),
        "inotify_init inotify_init1 inotify_add_watch chown lchown fchown fchownat utime utimes futimesat",
    ),
    (Errno(libc::EOPNOTSUPP), "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"),
    (HostIoctl, "ioctl"),
    (HostFcntl, "fcntl"),
    (Priority, "setpriority"),
    (Oneself, "prlimit64 sched_setaffinity sched_setparam"),
];

/// Besides, when the job's user owns files of the host.
pub(super) const OWNING_FILES: &[(Rule, &str)] =
    &[(Errno(libc::EPERM), "chmod fchmod fchmodat fchmodat2 utimensat")];

/// When it owns none but its own: times of what is open only, since a path may lead to what anybody may touch.
pub(super) const OWNING_NOTHING: &[(Rule, &str)] = &[(OpenTimes, "utimensat")];

/// Besides, where Landlock does not keep signals in.
pub(super) const SIGNALLING_ITSELF: &[(Rule, &str)] = &[
    (Signal, "kill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    (Errno(libc::EPERM), "tkill pidfd_send_signal pidfd_open"),
];

/// What a fork server needs to shut its jobs in, and what each job loses again.
pub(super) const FOR_SERVERS: &[(Rule, &str)] = &[(Allow, "mount unshare setns")];
