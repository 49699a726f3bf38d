//! Tidiness without namespaces: jobs that share the host's processes and files leave processes and
//! files behind, which no kernel removes for us.
//!
//! Between the harness and such a cell stands a *keeper*. It makes the folder that jobs get theirs
//! in, and when the cell ends, or the harness does, however that may come about, it ends every
//! process below it and removes the folder.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open, wait,
};

use super::channel::poll_entry;
use super::own_limits::end_helper;
use super::{folder, memory, syscalls as sys};

/// How often the keeper looks whether its parent is still there, should the socket not tell.
const LOOK_MS: i32 = 1000;
/// A tree that is still there after this long can't be ended; the folder is tried anyway.
const PATIENCE: Duration = Duration::from_secs(20);

/// Forks the cell. Returns in the cell only; the keeper stays until the end. `scratch` must not
/// exist. `signals_stay_in` puts the caller where it can signal only its descendants, and says
/// whether that holds.
pub(super) fn stay_behind(
    socket: &OwnedFd,
    scratch: &str,
    signals_stay_in: impl FnOnce() -> io::Result<bool>,
) -> io::Result<()> {
    sys::become_subreaper();
    sys::set_dumpable(false);
    // Jobs of another user must come through.
    sys::step(scratch, fs::DirBuilder::new().mode(0o711).create(scratch))?;
    let parent = getppid();
    let forked = signals_stay_in().and_then(|exact| Ok((exact, sys::fork()?)));
    let (exact, cell) = match forked {
        Ok((_, None)) => {
            sys::die_with_parent();
            return Ok(());
        }
        Ok((exact, Some(cell))) => (exact, cell),
        Err(e) => {
            let _ = fs::remove_dir(scratch);
            return Err(e);
        }
    };
    // What is meant for the harness' group of processes must not keep us from tidying up.
    let signals = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
    sys::set_signals(&signals, libc::SIG_IGN);
    wait_for_end(socket, cell, parent);
    end_descendants(exact);
    let removed = folder::remove(Path::new(scratch));
    end_helper(i32::from(removed.is_err()))
}

/// Returns when the cell has ended or the harness is gone.
fn wait_for_end(socket: &OwnedFd, cell: Pid, parent: Option<Pid>) {
    let Ok(pidfd) = pidfd_open(cell, PidfdFlags::empty()) else {
        return;
    };
    loop {
        // No events are asked for: the end of the other side is told anyway.
        let mut entries = [
            poll_entry(socket.as_raw_fd(), 0),
            poll_entry(pidfd.as_raw_fd(), libc::POLLIN),
        ];
        let failed = sys::poll(&mut entries, LOOK_MS).is_err();
        let orphaned = getppid() != parent;
        if failed || orphaned || entries.iter().any(|e| e.revents != 0) {
            return;
        }
    }
}

/// Ends everything below the caller, which must be their subreaper and have one thread.
///
/// `exact`: the caller can signal only its descendants, so that one call reaches them all at once,
/// whatever they do. Else the tree is walked until nothing is left, which a program that forks all
/// the time can outrun for a while.
pub(super) fn end_descendants(exact: bool) {
    let start = Instant::now();
    loop {
        if exact {
            sys::kill_all_others();
        } else {
            // A number that was just read below us may have been reused only if its process ended
            // and was reaped by another descendant in between.
            for pid in tree_below(std::process::id()) {
                if let Some(pid) = Pid::from_raw(pid as i32) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
        // All of them end soon; whoever was born meanwhile is met by the next round.
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There are none.
                Err(_) => return,
            }
        }
        if start.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Every process below `root`, from the top down.
fn tree_below(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        found.extend(memory::children(pid));
    }
    found.split_off(1)
}
