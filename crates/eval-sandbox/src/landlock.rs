//! Landlock, by the kernel's own interface (`include/uapi/linux/landlock.h`): what a process and
//! its descendants may do with files, TCP and signals, for ever.
//!
//! The three calls are made directly: they are few, and a forked job needs to know exactly which
//! right it has given away.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::syscalls::{c_string, check, step};

/// Below this version a job could cut the caller's files to nothing (`truncate`).
pub(super) const NEEDED_ABI: u32 = 3;
/// From this one on signals can be kept in.
pub(super) const SIGNALS_ABI: u32 = 6;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;

const SCOPE_ABSTRACT_UNIX: u64 = 1;
const SCOPE_SIGNAL: u64 = 1 << 1;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    rights: u64,
    parent: RawFd,
}

/// What may be done below, or with, a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Right {
    /// Read, list and execute.
    Read,
    /// Read and write a device or a file that exists.
    Use,
    /// Everything but making devices.
    Own,
}

impl Right {
    fn bits(self, handled: u64, is_dir: bool) -> u64 {
        let wanted = match self {
            Right::Read => EXECUTE | READ_FILE | READ_DIR,
            Right::Use => READ_FILE | WRITE_FILE | TRUNCATE,
            Right::Own => handled & !(MAKE_CHAR | MAKE_BLOCK),
        };
        // The kernel refuses the rights of folders for anything else.
        let of_files = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE;
        wanted & handled & if is_dir { u64::MAX } else { of_files }
    }
}

/// The version that the kernel offers, or in words why there is none.
pub(super) fn abi() -> Result<u32, &'static str> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: a null ruleset of size 0 with this flag asks for the version.
    let r = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<RulesetAttributes>(),
            0usize,
            VERSION,
        )
    };
    check(r)
        .map(|version| version as u32)
        .map_err(|e| match e.raw_os_error() {
            Some(libc::EOPNOTSUPP) => {
                "Landlock is switched off in this kernel (boot parameter `lsm=`)"
            }
            Some(libc::ENOSYS) => "the kernel has no Landlock, or a container's filter hides it",
            _ => "Landlock does not answer",
        })
}

/// All rights over files that a version knows.
fn all_files(abi: u32) -> u64 {
    let count = match abi {
        0..=1 => 13,
        2 => 14,
        3..=4 => 15,
        _ => 16,
    };
    (1 << count) - 1
}

fn create(files: u64, network: u64, scopes: u64) -> io::Result<OwnedFd> {
    let attributes = RulesetAttributes {
        files,
        network,
        scopes,
    };
    // A version that knows fewer fields takes a longer struct when the rest is zero.
    // SAFETY: the struct outlives the call and the size is its own.
    let r = unsafe {
        let size = std::mem::size_of::<RulesetAttributes>();
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &attributes as *const RulesetAttributes,
            size,
            0,
        )
    };
    let fd = step("landlock_create_ruleset", check(r))?;
    // SAFETY: the kernel just gave us this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Puts the caller under a ruleset. Needs NO_NEW_PRIVS.
fn restrict(ruleset: &OwnedFd, abi: u32) -> io::Result<()> {
    // From version 7 on denials are logged; a hostile program must not fill the machine's log.
    let quiet: libc::c_uint = if abi >= 7 { 0b101 } else { 0 };
    // SAFETY: an open descriptor and a flag.
    let r = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), quiet) };
    step("landlock_restrict_self", check(r)).map(drop)
}

/// A ruleset that denies every file, all of TCP, and signals and abstract sockets to the outside,
/// as far as `abi` goes.
pub(super) struct Ruleset {
    fd: OwnedFd,
    files: u64,
    abi: u32,
}

impl Ruleset {
    pub fn new(abi: u32) -> io::Result<Ruleset> {
        let files = all_files(abi);
        let network = if abi >= 4 { 0b11 } else { 0 };
        let scopes = if abi >= SIGNALS_ABI {
            SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL
        } else {
            0
        };
        Ok(Ruleset {
            fd: create(files, network, scopes)?,
            files,
            abi,
        })
    }

    /// Grants a right to what lies below `path`, or to the file itself. What does not exist is
    /// passed over.
    pub fn allow(&self, path: &str, right: Right) -> io::Result<()> {
        let p = c_string(path)?;
        // SAFETY: `p` is NUL-terminated and outlives the call; the descriptor is new and ours.
        let parent = unsafe {
            match check(libc::open(p.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) as libc::c_long) {
                Ok(fd) => OwnedFd::from_raw_fd(fd as RawFd),
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(e) => return step(path, Err(e)),
            }
        };
        // SAFETY: an all-zero stat is valid, and it outlives the call.
        let is_dir = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            step(
                path,
                check(libc::fstat(parent.as_raw_fd(), &mut status) as libc::c_long),
            )?;
            status.st_mode & libc::S_IFMT == libc::S_IFDIR
        };
        let rule = PathBeneath {
            rights: right.bits(self.files, is_dir),
            parent: parent.as_raw_fd(),
        };
        const PATH_BENEATH: libc::c_int = 1;
        // SAFETY: the rule outlives the call; the descriptors are open.
        let r = unsafe {
            let rule = &rule as *const PathBeneath;
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.fd.as_raw_fd(),
                PATH_BENEATH,
                rule,
                0,
            )
        };
        step(&format!("landlock_add_rule {path}"), check(r)).map(drop)
    }

    /// Needs NO_NEW_PRIVS.
    pub fn restrict(self) -> io::Result<()> {
        restrict(&self.fd, self.abi)
    }
}

/// From here on the caller and its descendants can signal nobody but each other. True: the kernel
/// can do that, and it was seen to hold. Needs NO_NEW_PRIVS and a parent that lives.
pub(super) fn keep_signals_in(abi: u32) -> io::Result<bool> {
    if abi < SIGNALS_ABI {
        return Ok(false);
    }
    // SAFETY: no pointers; signal 0 only asks.
    let ask = || unsafe {
        (
            libc::getppid(),
            check(libc::kill(libc::getppid(), 0) as libc::c_long),
        )
    };
    let (parent, before) = ask();
    restrict(&create(0, 0, SCOPE_SIGNAL)?, abi)?;
    let (same, after) = ask();
    let refused = after.is_err_and(|e| e.raw_os_error() == Some(libc::EPERM));
    Ok(before.is_ok() && same == parent && refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_those_of_the_version_and_of_the_kind_of_file() {
        assert_eq!(
            [1, 2, 3, 4, 5, 7, 99].map(all_files),
            [0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff]
        );
        let all = all_files(5);
        assert_eq!(Right::Read.bits(all, true), EXECUTE | READ_FILE | READ_DIR);
        assert_eq!(Right::Read.bits(all, false), EXECUTE | READ_FILE);
        assert_eq!(Right::Use.bits(all_files(1), false), READ_FILE | WRITE_FILE);
        assert_eq!(Right::Own.bits(all, true), all & !(MAKE_CHAR | MAKE_BLOCK));
        assert_eq!(
            Right::Own.bits(all, false),
            EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE
        );
    }
}
