//! The landlock tier: jobs on the host's own file system, confined by Landlock and seccomp.
//!
//! A job may read and execute below the folders that every cell shows, and write only in its
//! private folder. It can't reach the network, signal anybody outside, or change what its user
//! owns. What it can do, other than in a namespace: ask whether a path or a process exists.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, set_no_new_privs};

use super::filter::FilterScope;
use super::landlock::{self, NEEDED_ABI, PathRight, Ruleset, SIGNALS_ABI};
use super::own_limits::end_helper;
use super::protocol::{CellConfig, StageRoot, StageSpec};
use super::syscalls as sys;

/// Each process of a job gets a user of its own from here on when the harness is root; no account
/// uses the range.
const FIRST_ID: u32 = 0x7100_0000;
/// `nobody`, where the range does not exist (in a container).
const NOBODY: u32 = super::settings::WORKSPACE_USER;
/// What the caller's other programs may start while a job runs, before a limit that counts by user
/// hurts the job. No more: what a fork bomb may start until it is ended (`Running::look`) takes its
/// time to end.
const OTHERS_GROWTH: u64 = 128;

/// Small files that the world may read anyway and that programs don't start without when they exist
/// and can't be read.
const READABLE_FILES: [&str; 2] = ["/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"];
/// What a program may read of itself below `/proc/self`.
const ABOUT_ITSELF: [&str; 8] = [
    "maps", "stat", "statm", "status", "cmdline", "auxv", "limits", "fd",
];

/// Who jobs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SandboxUser {
    /// The caller.
    #[default]
    Caller,
    /// A user of its own for each process.
    Own,
    Nobody,
}

/// What a cell of this tier found out about itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Confinement {
    abi: u32,
    user: SandboxUser,
    /// Only with a capability can the job's user read what it is shown.
    reads_all: bool,
    /// Signals of this cell reach its descendants only.
    pub exact: bool,
}

impl Confinement {
    /// Called once by the cell, from a process whose parent is the keeper. The answer's notes are
    /// for people.
    pub fn enter(config: &CellConfig) -> io::Result<(Confinement, String)> {
        let abi = usable_abi()?;
        set_no_new_privs(true)?;
        sys::become_subreaper();
        sys::set_dumpable(false);
        let exact = landlock::keep_signals_in(abi)?;
        let mut confinement = Confinement {
            abi,
            exact,
            ..Confinement::default()
        };
        if geteuid().is_root() {
            (confinement.user, confinement.reads_all) = choose_user(config)?;
        }
        Ok((confinement.clone(), confinement.notes()))
    }

    pub fn confines(&self, in_workspace: bool) -> FilterScope {
        let signals_kept_in = self.abi >= SIGNALS_ABI;
        FilterScope::Host {
            owns_files: self.user != SandboxUser::Own,
            signals_kept_in,
            in_workspace,
        }
    }

    fn notes(&self) -> String {
        let mut notes = vec![format!(
            "Landlock ABI {}: jobs see which paths and processes exist; the size of their folder is watched, not limited",
            self.abi
        )];
        if !self.exact {
            notes.push(
                "a job that forks continuously may run for a moment after it is stopped".to_owned(),
            );
        }
        match self.user {
            SandboxUser::Own => {}
            SandboxUser::Nobody => notes.push("all jobs run as `nobody`".to_owned()),
            SandboxUser::Caller if geteuid().is_root() => notes.push(
                "jobs run as root without capabilities, because no other user is available: the number of \
                     processes is not limited"
                    .to_owned(),
            ),
            SandboxUser::Caller => notes.push("the process limit counts all processes of the user".to_owned()),
        }
        if self.reads_all {
            notes.push(
                "only root can access the interpreter's folder, so jobs can read every file that they see".to_owned(),
            );
        }
        notes.join("; ")
    }

    fn id_of(&self, serial: u64) -> Option<u32> {
        match self.user {
            SandboxUser::Caller => None,
            SandboxUser::Nobody => Some(NOBODY),
            // The processes of a job have consecutive serials; the cell is their parent's parent at
            // most.
            SandboxUser::Own => Some(FIRST_ID + cell_pid() * 2 + (serial % 2) as u32),
        }
    }

    /// Called by the minder: makes the folder that is the process' own and goes there. What the
    /// minder writes from now on belongs to the process' user.
    pub fn private_folder(&self, config: &CellConfig, serial: u64) -> io::Result<String> {
        let path = format!("{}/{serial}", config.scratch);
        sys::step(&path, fs::create_dir(&path))?;
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        std::env::set_current_dir(&path)?;
        if let Some(id) = self.id_of(serial) {
            sys::step("chown", std::os::unix::fs::chown(&path, Some(id), Some(id)))?;
            sys::write_files_as(id)?;
        }
        Ok(path)
    }

    /// Called by the minder when the job's files stand in the folder.
    pub fn files_are_written(&self) -> io::Result<()> {
        if self.user == SandboxUser::Caller {
            Ok(())
        } else {
            sys::write_files_as(0)
        }
    }

    /// Called by the forked child: from here on it is confined but for the filter of its system
    /// calls.
    pub fn confine(
        &self,
        config: &CellConfig,
        stage: Option<&StageSpec>,
        folder: &str,
        serial: u64,
    ) -> io::Result<()> {
        let rules = Ruleset::new(self.abi)?;
        for path in &config.binds {
            let device = path.starts_with("/dev/");
            rules.allow(
                path,
                if device {
                    PathRight::Use
                } else {
                    PathRight::Read
                },
            )?;
        }
        for path in READABLE_FILES {
            rules.allow(path, PathRight::Read)?;
        }
        for name in ABOUT_ITSELF {
            rules.allow(&format!("/proc/self/{name}"), PathRight::Read)?;
        }
        rules.allow(folder, PathRight::Own)?;
        if let Some(stage) = stage {
            if let StageRoot::Folder(workspace) = &stage.root {
                rules.allow(workspace, PathRight::Own)?;
            }
            for bind in &stage.read_only {
                rules.allow(&bind.from, PathRight::Read)?;
            }
        }
        rules.restrict()?;
        if let Some(id) = self.id_of(serial) {
            sys::become_user(id, self.reads_all)?;
        }
        if self.reads_all {
            sys::keep_only_capability(CapabilitySet::DAC_READ_SEARCH)?;
            sys::raise_ambient(CapabilitySet::DAC_READ_SEARCH)?;
        } else {
            sys::drop_all_capabilities()?;
        }
        sys::die_with_parent();
        Ok(())
    }

    /// RLIMIT_NPROC counts a user's processes over the whole machine: what the caller's other
    /// programs have comes on top.
    pub fn processes(&self, wanted: u64) -> u64 {
        match self.user {
            SandboxUser::Own => wanted,
            SandboxUser::Caller => wanted
                .saturating_add(tasks_of_user(geteuid().as_raw()))
                .saturating_add(OTHERS_GROWTH),
            SandboxUser::Nobody => wanted
                .saturating_add(tasks_of_user(NOBODY))
                .saturating_add(OTHERS_GROWTH),
        }
    }
}

/// For the keeper: its signals reach descendants only. True when that holds.
pub(super) fn keep_signals_in() -> io::Result<bool> {
    let abi = usable_abi()?;
    set_no_new_privs(true)?;
    landlock::keep_signals_in(abi)
}

fn usable_abi() -> io::Result<u32> {
    match landlock::abi() {
        Ok(abi) if abi >= NEEDED_ABI => Ok(abi),
        Ok(abi) => Err(io::Error::other(format!(
            "the kernel has Landlock ABI {abi}, but ABI {NEEDED_ABI} (Linux 6.2) is needed to prevent files from \
                 being truncated"
        ))),
        Err(reason) => Err(io::Error::other(reason)),
    }
}

/// What the trial job asks: whether the kernel does what was asked of it.
pub(super) fn check_that_it_holds() -> io::Result<()> {
    let outside = fs::read_dir("/")
        .map(drop)
        .or_else(|_| fs::read("/proc/version").map(drop));
    if outside.is_ok() {
        return Err(io::Error::other("Landlock has no effect here"));
    }
    fs::write("trial", "x").and_then(|()| fs::remove_file("trial"))
}

/// The process that all jobs of a cell descend from: the cell, whose child the minder is and whose
/// grandchild the program.
fn cell_pid() -> u32 {
    static CELL: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CELL.get_or_init(std::process::id)
}

/// For root: whom jobs can be, and whether that user needs a capability to read what jobs are
/// shown. Tried by a child, which a change of users does no harm to.
fn choose_user(config: &CellConfig) -> io::Result<(SandboxUser, bool)> {
    cell_pid();
    // A job in a workspace reads what another one has left there.
    let users: &[SandboxUser] = match config.workspaces {
        Some(_) => &[SandboxUser::Nobody],
        None => &[SandboxUser::Own, SandboxUser::Nobody],
    };
    for user in users.iter().copied() {
        let trial = Confinement {
            user,
            ..Confinement::default()
        };
        let Some(id) = trial.id_of(0) else { continue };
        if sys::fork()?.is_none() {
            let code = match sys::become_user(id, false).and_then(|()| sys::drop_all_capabilities())
            {
                Err(_) => 2,
                Ok(()) if can_read(config) => 0,
                Ok(()) => 1,
            };
            end_helper(code);
        }
        let ended = sys::reap()?;
        match libc::WIFEXITED(ended.status).then(|| libc::WEXITSTATUS(ended.status)) {
            Some(0) => return Ok((user, false)),
            Some(1) => return Ok((user, true)),
            _ => {}
        }
    }
    Ok((SandboxUser::Caller, false))
}

/// Whether the caller can read what jobs are shown and come to their folders.
fn can_read(config: &CellConfig) -> bool {
    let denied = |e: io::Error| e.kind() == io::ErrorKind::PermissionDenied;
    let comes_through = fs::symlink_metadata(format!("{}/.", config.scratch)).is_ok();
    comes_through
        && config
            .binds
            .iter()
            .filter(|path| !path.starts_with("/dev/"))
            .all(|path| {
                let read = match fs::metadata(path) {
                    Ok(meta) if meta.is_dir() => fs::read_dir(path).map(drop),
                    Ok(_) => fs::File::open(path).map(drop),
                    Err(e) => Err(e),
                };
                !read.is_err_and(denied)
            })
}

/// Processes and threads of a user, as far as they can be seen.
fn tasks_of_user(user: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.parse::<u32>().is_ok())
        })
        // A process that nobody may look into shows as root's, and is asked like ours.
        .filter(|entry| {
            entry
                .metadata()
                .is_ok_and(|meta| meta.uid() == user || meta.uid() == 0)
        })
        .filter_map(|entry| {
            threads_of(&fs::read_to_string(entry.path().join("status")).ok()?, user)
        })
        .sum()
}

/// The number of threads in the text of a `status` file, when its user is the real one.
fn threads_of(status: &str, user: u32) -> Option<u64> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (field("Uid:")? == u64::from(user)).then(|| field("Threads:"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_for_their_real_user() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\nThreads:\t12\n";
        assert_eq!(threads_of(status, 1000), Some(12));
        assert_eq!(threads_of(status, 0), None);
        assert_eq!(threads_of("", 0), None);
        assert!(tasks_of_user(geteuid().as_raw()) >= 1);
    }

    #[test]
    fn processes_of_a_job_are_users_of_their_own() {
        let own = Confinement {
            user: SandboxUser::Own,
            ..Confinement::default()
        };
        let (one, two) = (own.id_of(7).unwrap(), own.id_of(8).unwrap());
        assert_ne!(one, two);
        assert!(one >= FIRST_ID && two >= FIRST_ID);
        assert_eq!(own.processes(32), 32);
        let caller = Confinement::default();
        assert_eq!(caller.id_of(7), None);
        assert!(caller.processes(32) > 32 + OTHERS_GROWTH);
        assert_eq!(
            caller.confines(false),
            FilterScope::Host {
                owns_files: true,
                in_workspace: false,
                signals_kept_in: false
            }
        );
    }
}
