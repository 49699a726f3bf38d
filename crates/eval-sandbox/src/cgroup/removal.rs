//! Emptying and removing groups. Also what the janitor does, which has no other part of the
//! harness.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::syscalls::{kill_by_pidfd, open_pidfd};

/// A killed process is gone within milliseconds, except when the machine has other worries.
const PATIENCE: Duration = Duration::from_secs(5);
/// When the harness was killed, cells tidy up by themselves: those that share the host's folders
/// must not be cut short.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Ends everything in the group and below it and removes the folders, as far as that can be done.
/// `grace`: how long whoever is in there may take to end by himself.
pub(super) fn remove(folder: &Path, grace: Duration) {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    while try_remove(folder).is_err_and(|e| may_pass(&e)) && start.elapsed() < grace + PATIENCE {
        if start.elapsed() >= grace {
            // Version 2 kills all at once.
            let _ = fs::write(folder.join("cgroup.kill"), "1");
            kill_all(folder);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// From the deepest folder up.
fn try_remove(folder: &Path) -> io::Result<()> {
    groups_below(folder)
        .iter()
        .try_for_each(|below| try_remove(below))?;
    match fs::remove_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Somebody is still in there; any other error stays.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ResourceBusy | io::ErrorKind::DirectoryNotEmpty
    )
}

fn groups_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_group = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries
        .flatten()
        .filter(is_group)
        .map(|entry| entry.path())
        .collect()
}

fn kill_all(folder: &Path) {
    groups_below(folder)
        .iter()
        .for_each(|below| kill_all(below));
    for pid in processes(folder) {
        // The number may be another's by now: only who is still listed once we hold him is killed.
        let Ok(pidfd) = open_pidfd(pid) else {
            continue;
        };
        if processes(folder).contains(&pid) {
            kill_by_pidfd(&pidfd);
        }
    }
}

pub(super) fn processes(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // 0 stands for a process that our pid namespace can't name.
    text.lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid != 0)
        .collect()
}

/// Whether the process is `ancestor` or was started by it, at any remove.
pub(super) fn descends(pid: u32, ancestor: u32) -> bool {
    let mut pid = pid;
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match parent(pid) {
            Some(above) if above > 1 => pid = above,
            _ => return false,
        }
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    text.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Version 2: undoes the harness' move into `leaf`, as far as nobody else is in the way.
pub(super) fn leave(leaf: &Path) {
    let Some(group) = leaf.parent() else { return };
    let control = group.join("cgroup.subtree_control");
    // Groups of another harness below this one keep the controllers, and then everybody stays where
    // he is.
    if groups_below(group).iter().any(|other| other != leaf) {
        return;
    }
    let _ = fs::write(&control, "-memory");
    let _ = fs::write(&control, "-pids");
    for pid in processes(leaf) {
        let _ = fs::write(group.join("cgroup.procs"), pid.to_string());
    }
    let _ = fs::remove_dir(leaf);
}
