//! What a helper process of this program does to itself: limits before it reads anything, and its
//! end.

use std::io;

/// Bounds the private memory of this process for the rest of its life, and forbids core dumps. An
/// allocation beyond the bound ends the process. Without effect where the system cannot bound
/// memory (anything but Linux).
pub fn limit_own_memory(bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        super::syscalls::set_limit(rustix::process::Resource::Data, bytes, bytes)?;
        super::syscalls::set_limit(rustix::process::Resource::Core, 0, 0)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
    Ok(())
}

/// Ends a helper process at once, without destructors and whatever its other threads do: right in a
/// forked child, too.
#[allow(unsafe_code, reason = "the standard library runs handlers at an exit")]
pub fn end_helper(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory of ours.
    unsafe { libc::_exit(code) }
}
