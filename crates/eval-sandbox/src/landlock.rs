//! Landlock, by the kernel's own interface (`include/uapi/linux/landlock.h`): what a process and
//! its descendants may do with files, TCP and signals, for ever.
//!
//! The three calls are made directly, without a library for Landlock: they are few, and a forked
//! job needs to know exactly which right it has given away.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::Errno;
use rustix::process::{getppid, test_kill_process};

use super::syscalls::{self as sys, RulesetAttributes};

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

/// What may be done below, or with, a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathRight {
    /// Read, list and execute.
    Read,
    /// Read and write a device or a file that exists.
    Use,
    /// Everything but making devices.
    Own,
}

impl PathRight {
    fn bits(self, handled: u64, is_dir: bool) -> u64 {
        let wanted = match self {
            PathRight::Read => EXECUTE | READ_FILE | READ_DIR,
            PathRight::Use => READ_FILE | WRITE_FILE | TRUNCATE,
            PathRight::Own => handled & !(MAKE_CHAR | MAKE_BLOCK),
        };
        // The kernel refuses the rights of folders for anything else.
        let of_files = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE;
        wanted & handled & if is_dir { u64::MAX } else { of_files }
    }
}

/// The version that the kernel offers, or in words why there is none.
pub(super) fn abi() -> Result<u32, &'static str> {
    sys::landlock_abi().map_err(|e| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP) => "Landlock is switched off in this kernel (boot parameter `lsm=`)",
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

/// Puts the caller under a ruleset. Needs NO_NEW_PRIVS.
fn restrict(ruleset: &OwnedFd, abi: u32) -> io::Result<()> {
    // From version 7 on denials are logged; a hostile program must not fill the machine's log.
    let quiet = if abi >= 7 { 0b101 } else { 0 };
    sys::landlock_restrict(ruleset.as_fd(), quiet)
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
        let attributes = RulesetAttributes {
            files,
            network,
            scopes,
        };
        let fd = sys::landlock_ruleset(&attributes)?;
        Ok(Ruleset { fd, files, abi })
    }

    /// Grants a right to what lies below `path`, or to the file itself. What does not exist is
    /// passed over.
    pub fn allow(&self, path: &str, right: PathRight) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let parent = match options.read(true).custom_flags(libc::O_PATH).open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => sys::step(path, opened)?,
        };
        let is_dir = sys::step(path, parent.metadata())?.is_dir();
        let rights = right.bits(self.files, is_dir);
        let allowed = sys::landlock_allow(self.fd.as_fd(), parent.as_fd(), rights);
        sys::step(&format!("landlock_add_rule {path}"), allowed)
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
    let ask = || getppid().map(|parent| (parent, test_kill_process(parent)));
    let before = ask();
    let attributes = RulesetAttributes {
        files: 0,
        network: 0,
        scopes: SCOPE_SIGNAL,
    };
    restrict(&sys::landlock_ruleset(&attributes)?, abi)?;
    Ok(match (before, ask()) {
        (Some((parent, Ok(()))), Some((same, Err(Errno::PERM)))) => parent == same,
        _ => false,
    })
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
        assert_eq!(
            PathRight::Read.bits(all, true),
            EXECUTE | READ_FILE | READ_DIR
        );
        assert_eq!(PathRight::Read.bits(all, false), EXECUTE | READ_FILE);
        assert_eq!(
            PathRight::Use.bits(all_files(1), false),
            READ_FILE | WRITE_FILE
        );
        assert_eq!(
            PathRight::Own.bits(all, true),
            all & !(MAKE_CHAR | MAKE_BLOCK)
        );
        assert_eq!(
            PathRight::Own.bits(all, false),
            EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE
        );
    }
}
