//! Tiers of the sandbox, as the program finds them on machines that have no others.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has `unshare` fail with EPERM in the command where one of the flags is asked for, as in
/// containers.
pub fn refuse_namespaces(command: &mut Command, flags: u32) {
    if flags == 0 {
        return;
    }
    let step = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let answer = libc::BPF_RET | libc::BPF_K;
    let filter = [
        // The number of the call, then the low half of its first argument.
        step(load, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            3,
            libc::SYS_unshare as u32,
        ),
        step(load, 0, 0, 16),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 1, flags),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: only system calls, with a filter that outlives them.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            let mode = libc::SECCOMP_MODE_FILTER;
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, 0, 0) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
}
