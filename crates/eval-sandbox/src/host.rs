//! The harness' end of a cell.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::cgroup::CellGroups;
use super::channel::{CellLink, SharedValue, hang_up, message_pair, pipe, sealed_file, send};
use super::confinement::Confinement;
use super::filter::FilterPart;
use super::launch::ProcessLaunch;
use super::listener::CallListener;
use super::namespaces::below_tmp;
use super::probe::free_bytes;
use super::protocol::{CellConfig, FIXED_FDS, START_SERVER, encode_spec};
use super::settings::{SandboxConfig, WorkspaceNetwork, WorkspaceSettings};
use super::types::{RESULTS_FOLDER, WORKSPACE_FOLDER, WORKSPACE_HOME};
use super::{Tier, folder};

/// Building a cell takes milliseconds; a machine that needs longer than this is not going to run
/// tests either.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30);
/// The size of a job's private folder.
pub(super) const TMP_MB: u64 = 64;
pub(super) const TMP_INODES: u64 = 4096;
/// The same for a job in a workspace that shares the host's file system.
const WORKSPACE_TMP_MB: u64 = 512;
const WORKSPACE_TMP_INODES: u64 = 65_536;
/// How often the size of a folder on the host is looked at; each look walks through it.
const LOOK_AT_DISK: Duration = Duration::from_millis(100);
/// A workspace is looked at earlier when this part of its limit was written to the disk.
const LOOK_PARTS: u64 = 16;
/// A disk fills when this part of the limit was written to it between two looks.
const FILL_PARTS: u64 = 64;
/// Looking at a workspace takes at most one part in this many of a worker's time.
const LOOKS_SHARE: u32 = 20;
/// How long a keeper may take to end what is left and to remove the folder.
const TIDYING: Duration = Duration::from_secs(25);

/// Host paths that every cell shows.
const STANDARD_BINDS: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/lib32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Besides, with a network: whom TLS clients trust.
const CERTIFICATES: [&str; 3] = [
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];

/// What all cells of a sandbox have in common.
#[derive(Debug, Clone)]
pub(super) struct CellSettings {
    pub helper: PathBuf,
    pub tier: Tier,
    pub binds: Vec<String>,
    pub jobs_per_server: u32,
    /// See [`SandboxConfig::grace`].
    pub grace: Duration,
    /// Jobs are observed (`observe.rs`).
    pub observed: bool,
    /// See [`SandboxConfig::workspaces`].
    pub workspaces: Option<WorkspaceSettings>,
    /// Where cells get their control groups.
    pub cgroups: Option<Arc<CellGroups>>,
}

impl CellSettings {
    pub fn new(config: &SandboxConfig, tier: Tier, interpreter_binds: &[String]) -> Self {
        let mut binds: Vec<String> = STANDARD_BINDS.iter().map(|s| (*s).to_owned()).collect();
        let readable = config
            .readable
            .iter()
            .filter_map(|p| p.to_str().map(str::to_owned));
        binds.extend(interpreter_binds.iter().cloned().chain(readable));
        let workspaces = config.workspaces.as_ref();
        if workspaces.is_some_and(|workspaces| workspaces.network == WorkspaceNetwork::All) {
            binds.extend(CERTIFICATES.map(str::to_owned));
        }
        let jobs_per_server = config.jobs_per_server;
        CellSettings {
            helper: config.helper.clone(),
            tier,
            binds,
            jobs_per_server,
            grace: config.grace,
            observed: config.observed,
            workspaces: config.workspaces.clone(),
            cgroups: None,
        }
    }
}

/// Our ends of a started process' pipes.
pub(super) struct PipeEnds {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// Where its minder tells how it ended; a fork server tells that itself.
    pub status: Option<OwnedFd>,
}

/// Keeps an eye on the size of folders on the host.
pub(super) struct DiskWatch {
    folders: Vec<PathBuf>,
    /// Bytes and files that each may hold.
    most: (u64, u64),
    /// Also into folders that their owner shut, whose modes it changes. Else only when the disk
    /// fills, since a workspace is kept.
    pub looks_into_all: bool,
    /// Bytes that were free at the start, when the folders were last looked at, and when the disk was.
    free: Option<u64>,
    free_at_look: Option<u64>,
    free_seen: Option<u64>,
    next_look: Instant,
}

impl DiskWatch {
    pub fn new(folders: Vec<PathBuf>, most: (u64, u64)) -> Self {
        let free = free_in(&folders);
        DiskWatch {
            folders,
            most,
            looks_into_all: true,
            free,
            free_at_look: free,
            free_seen: free,
            next_look: Instant::now(),
        }
    }

    /// Whether a folder holds more than it may, or files without a name do, which `unlinked` counts
    /// the bytes of when the disk fills. Looks now and then only, the less often the longer a look
    /// takes.
    pub fn is_over(&mut self, unlinked: impl FnOnce() -> u64) -> bool {
        let now = Instant::now();
        let (bytes, files) = self.most;
        let free = free_in(&self.folders);
        // Not of a cell's own folder, which is small against what others write.
        let fills = !self.looks_into_all && has_lost(self.free_at_look, free, bytes / LOOK_PARTS);
        if now < self.next_look && !fills {
            return false;
        }
        self.free_at_look = free;
        let shut = self.looks_into_all || self.has_filled(bytes);
        let over = self
            .folders
            .iter()
            .any(|path| folder::holds_more_than(path, bytes, files, shut))
            || self.has_filled(bytes) && unlinked() > bytes;
        // A cell's own folder is small; that of a workspace may hold many files.
        let share = if self.looks_into_all { 0 } else { LOOKS_SHARE };
        self.next_look = now + LOOK_AT_DISK.max(now.elapsed() * share);
        over
    }

    /// Whether so much was written to the disk since this was last called that the limit is soon
    /// reached.
    pub fn is_filling(&mut self) -> bool {
        let free = free_in(&self.folders);
        let before = std::mem::replace(&mut self.free_seen, free);
        has_lost(before, free, self.most.0 / FILL_PARTS)
    }

    /// Whether so many bytes fewer are free than at the start; other programs count, too.
    fn has_filled(&self, bytes: u64) -> bool {
        let free = free_in(&self.folders);
        free.is_none() || self.free.is_none() || has_lost(self.free, free, bytes)
    }
}

/// Bytes that are free on the disk of the folders.
fn free_in(folders: &[PathBuf]) -> Option<u64> {
    folders.first().and_then(|path| free_bytes(path))
}

fn has_lost(before: Option<u64>, now: Option<u64>, bytes: u64) -> bool {
    let lost = before
        .zip(now)
        .map(|(before, now)| before.saturating_sub(now));
    lost.is_some_and(|lost| lost > bytes)
}

/// A running cell. Dropping it ends the cell and everything in it.
pub(super) struct SandboxCell {
    child: Child,
    pub link: CellLink,
    /// What is missing in it, in words; usually empty.
    pub notes: String,
    /// What its fork server has to show again below a job's `/tmp`: where it stands, and where it
    /// shall.
    pub below_tmp: Vec<(String, String)>,
    /// Where its jobs have their folders, on the host.
    scratch: Option<PathBuf>,
}

impl SandboxCell {
    /// Starts the helper and waits until its namespaces stand. Call it from a thread that lives as
    /// long as the cell shall: the kernel ends the cell with the thread.
    pub fn open(settings: &CellSettings) -> io::Result<SandboxCell> {
        let scratch = settings.tier.on_the_host().then(new_scratch);
        let (ours, theirs) = message_pair()?;
        let cgroup = settings
            .cgroups
            .as_ref()
            .map(|groups| groups.group())
            .transpose()?
            .map(SharedValue::new);
        let child = Command::new(&settings.helper)
            .arg("__cell")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of the terminal's foreground group: Ctrl-C is ours to handle.
            .process_group(0)
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", settings.helper.display())))?;
        let disk = scratch.clone().map(|scratch| {
            let (megabytes, files) = match settings.workspaces {
                Some(_) => (WORKSPACE_TMP_MB, WORKSPACE_TMP_INODES),
                None => (TMP_MB, TMP_INODES),
            };
            DiskWatch::new(vec![scratch], (megabytes << 20, files))
        });
        let counts_processes = settings.tier == Tier::Landlock
            || settings.tier == Tier::Rootns && settings.workspaces.is_some();
        let grace = settings.grace;
        let link = CellLink {
            disk,
            counts_processes,
            cgroup,
            grace,
            ..CellLink::new(ours)
        };
        // It waits for its settings: it has started nothing yet.
        if let Some(group) = &link.cgroup {
            group.get().add(child.id())?;
        }
        let below_tmp = below_tmp(&settings.binds);
        let mut cell = SandboxCell {
            child,
            link,
            notes: String::new(),
            below_tmp,
            scratch,
        };
        let config = CellConfig {
            tier: settings.tier,
            binds: settings.binds.clone(),
            tmp_mb: TMP_MB,
            tmp_inodes: TMP_INODES,
            observed: settings.observed,
            scratch: cell
                .scratch
                .as_deref()
                .and_then(Path::to_str)
                .unwrap_or_default()
                .to_owned(),
            workspaces: settings.workspaces.clone(),
            confinement: Confinement::default(),
            part: FilterPart::default(),
        };
        let file = sealed_file(&serde_json::to_vec(&config)?)?;
        send(cell.link.socket.as_fd(), b"C", &[file.as_fd()])?;
        let lockable = settings.workspaces.as_ref();
        cell.await_answer(lockable.map(|workspaces| lockable_in(settings.tier, workspaces)))?;
        Ok(cell)
    }

    fn await_answer(&mut self, lockable: Option<Vec<PathBuf>>) -> io::Result<()> {
        let mut buffer = [0u8; 1024];
        let (length, fds) = self.link.wait(&mut buffer, BUILD_TIMEOUT)?;
        let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
        match (text.strip_prefix('O'), text.strip_prefix('E')) {
            (Some(notes), _) => {
                self.notes = notes.to_owned();
                let listener = fds.into_iter().next();
                self.link.listener = listener.map(|fd| {
                    let mut listener = CallListener::new(fd, self.scratch.clone());
                    listener.lockable = lockable;
                    SharedValue::new(listener)
                });
                Ok(())
            }
            (_, Some(reason)) => Err(io::Error::other(reason.to_owned())),
            _ => Err(io::Error::other(
                "the helper ended before its cell was ready",
            )),
        }
    }

    /// Where its jobs have their folders; `None`: each has a private `/tmp`.
    pub fn scratch(&self) -> Option<PathBuf> {
        self.scratch.clone()
    }

    /// Starts a process that becomes a fork server: its pidfd and our ends.
    pub fn start_server(&self, launch: ProcessLaunch) -> io::Result<(OwnedFd, PipeEnds)> {
        let mut theirs = Vec::new();
        let ours = descriptors(launch, &mut theirs)?;
        let fds: Vec<_> = theirs.iter().map(|fd| fd.as_fd()).collect();
        send(self.link.socket.as_fd(), START_SERVER, &fds)?;
        let mut buffer = [0u8; 64];
        let (_, mut pidfd) = self.link.wait(&mut buffer, BUILD_TIMEOUT)?;
        pidfd
            .pop()
            .map(|pidfd| (pidfd, ours))
            .ok_or_else(|| io::Error::other("the cell ended"))
    }
}

/// Asks a cell for the processes of one job.
pub(super) fn request(cell: &CellLink, launches: Vec<ProcessLaunch>) -> io::Result<Vec<PipeEnds>> {
    let mut counts = Vec::new();
    let mut theirs: Vec<OwnedFd> = Vec::new();
    let mut ours = Vec::new();
    for launch in launches {
        counts.push((FIXED_FDS + launch.extra.len()) as u8);
        ours.push(descriptors(launch, &mut theirs)?);
    }
    let fds: Vec<_> = theirs.iter().map(|fd| fd.as_fd()).collect();
    send(cell.socket.as_fd(), &counts, &fds)?;
    Ok(ours)
}

/// Makes the descriptors of a process, in the order of [`FIXED_FDS`]; returns our ends.
fn descriptors(launch: ProcessLaunch, theirs: &mut Vec<OwnedFd>) -> io::Result<PipeEnds> {
    let (out_read, out_write) = pipe()?;
    let (err_read, err_write) = pipe()?;
    let (status_read, status_write) = pipe()?;
    let stdin = input(&launch.stdin)?;
    let spec = sealed_file(&encode_spec(&launch.spec, &launch.contents)?)?;
    theirs.extend([spec, stdin, out_write, err_write, status_write]);
    theirs.extend(launch.extra);
    Ok(PipeEnds {
        stdout: out_read,
        stderr: err_read,
        status: Some(status_read),
    })
}

/// What a program reads as its stdin.
pub(super) fn input(bytes: &[u8]) -> io::Result<OwnedFd> {
    if bytes.is_empty() {
        Ok(std::fs::File::open("/dev/null")?.into())
    } else {
        sealed_file(bytes)
    }
}

impl Drop for SandboxCell {
    fn drop(&mut self) {
        if let Some(scratch) = &self.scratch {
            // The keeper tidies up and ends.
            hang_up(self.link.socket.as_fd());
            let start = Instant::now();
            while start.elapsed() < TIDYING && matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = folder::remove(scratch);
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a job in a workspace may lock files, as the harness sees their paths: those of another mount
/// namespace start at its root.
fn lockable_in(tier: Tier, workspaces: &WorkspaceSettings) -> Vec<PathBuf> {
    if tier.on_the_host() {
        vec![workspaces.store.clone()]
    } else {
        [WORKSPACE_FOLDER, WORKSPACE_HOME, RESULTS_FOLDER, "/tmp"]
            .map(PathBuf::from)
            .into()
    }
}

/// A folder that does not exist yet; the keeper makes it, who will also remove it.
fn new_scratch() -> PathBuf {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    // The listener compares it with real paths, and the cell works in another folder.
    let temporary = std::env::temp_dir();
    let temporary = std::fs::canonicalize(&temporary).unwrap_or(temporary);
    loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = temporary.join(format!("eval-harness-{}-{serial}", std::process::id()));
        if std::fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_is_looked_at_early_when_the_disk_fills() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), vec![0; 2 << 20]).unwrap();
        let mut watch = DiskWatch::new(vec![folder.path().to_owned()], (1 << 20, 100));
        watch.next_look += Duration::from_secs(3600);
        watch.free_at_look = Some(0);
        assert!(!watch.is_over(|| 0), "it is not the time");
        watch.free_at_look = Some(u64::MAX);
        assert!(!watch.is_over(|| 0), "a cell's own folder has its times");
        watch.looks_into_all = false;
        assert!(watch.is_over(|| 0));
        watch.free_seen = Some(u64::MAX);
        assert!(watch.is_filling());
        watch.free_seen = Some(0);
        assert!(!watch.is_filling());
    }
}
