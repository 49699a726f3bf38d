//! The harness' end of a cell.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::adjudicate::Shortage;
use super::cgroup::{CellGroup, CellGroups};
use super::channel::{hang_up, message_pair, pipe, poll, poll_entry, receive, sealed_file, send};
use super::confinement::Confinement;
use super::protocol::{CellConfig, FIXED_FDS, ProcessSpec, encode_spec};
use super::{Tier, folder, types::SandboxConfig};

/// Building a cell takes milliseconds; a machine that needs longer than this is not going to run tests either.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30);
/// The size of a job's private folder.
const TMP_MB: u64 = 64;
const TMP_INODES: u64 = 4096;
/// How often the size of a folder on the host is looked at; each look walks through it.
const LOOK_AT_DISK: Duration = Duration::from_millis(100);
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

/// What all cells of a sandbox have in common.
#[derive(Debug, Clone)]
pub(super) struct CellSettings {
    pub helper: PathBuf,
    pub tier: Tier,
    pub binds: Vec<String>,
    /// Where cells get their control groups.
    pub cgroups: Option<Arc<CellGroups>>,
}

impl CellSettings {
    pub fn new(config: &SandboxConfig, tier: Tier, interpreter_binds: &[String]) -> Self {
        let mut binds: Vec<String> = STANDARD_BINDS.iter().map(|s| (*s).to_owned()).collect();
        let readable = config.readable.iter().filter_map(|p| p.to_str().map(str::to_owned));
        binds.extend(interpreter_binds.iter().cloned().chain(readable));
        CellSettings { helper: config.helper.clone(), tier, binds, cgroups: None }
    }
}

/// A process to start in a cell.
pub(super) struct Launch {
    pub spec: ProcessSpec,
    /// Contents of `spec.files`.
    pub contents: Vec<Vec<u8>>,
    pub stdin: Vec<u8>,
    /// Becomes descriptors 3, 4, ...
    pub extra: Vec<OwnedFd>,
}

/// Our ends of a started process' pipes.
pub(super) struct Ends {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub status: OwnedFd,
}

/// A running cell. Dropping it ends the cell and everything in it.
pub(super) struct Cell {
    child: Child,
    pub(super) socket: OwnedFd,
    /// What is missing in it, in words; usually empty.
    pub notes: String,
    /// Set when its state is not known any more; it must not get another job.
    pub broken: bool,
    /// Where its jobs have their folders, on the host.
    scratch: Option<PathBuf>,
    next_look: Instant,
    /// What bounds the memory of everything in it. Dropped, hence removed, after the cell has ended.
    pub(super) cgroup: Option<CellGroup>,
    /// Of time-outs: what the processes had of the processor. Emptied by who asks.
    pub(super) late: Vec<Shortage>,
}

impl Cell {
    /// Starts the helper and waits until its namespaces stand. Call it from a thread that lives as long as the cell shall:
    /// the kernel ends the cell with the thread.
    pub fn open(settings: &CellSettings) -> io::Result<Cell> {
        let scratch = settings.tier.on_the_host().then(new_scratch);
        let (ours, theirs) = message_pair()?;
        let cgroup = settings.cgroups.as_ref().map(|groups| groups.group()).transpose()?;
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
        let next_look = Instant::now();

        let mut cell = Cell {
            child,
            socket: ours,
            notes: String::new(),
            broken: false,
            scratch,
            next_look,
            cgroup,
            late: Vec::new(),
        };
        // It waits for its settings: it has started nothing yet.
        if let Some(group) = &cell.cgroup {
            group.add(cell.child.id())?;
        }
        let config = CellConfig {
            tier: settings.tier,
            binds: settings.binds.clone(),
            tmp_mb: TMP_MB,
            tmp_inodes: TMP_INODES,
            scratch: cell.scratch.as_deref().and_then(Path::to_str).unwrap_or_default().to_owned(),
            confinement: Confinement::default(),
        };
        let file = sealed_file(&serde_json::to_vec(&config)?)?;
        send(cell.socket.as_fd(), b"C", &[file.as_raw_fd()])?;
        cell.notes = cell.await_answer()?;
        Ok(cell)
    }

    fn await_answer(&self) -> io::Result<String> {
        let mut entry = [poll_entry(self.socket.as_raw_fd(), libc::POLLIN)];
        let start = Instant::now();
        // A signal of the harness' own may interrupt the wait.
        while entry[0].revents == 0 {
            let left = BUILD_TIMEOUT.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the cell did not get ready"));
            }
            poll(&mut entry, i32::try_from(left.as_millis()).unwrap_or(i32::MAX).max(1))?;
        }
        let mut buffer = [0u8; 1024];
        let (length, _) = receive(self.socket.as_fd(), &mut buffer)?;
        let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
        match (text.strip_prefix('O'), text.strip_prefix('E')) {
            (Some(notes), _) => Ok(notes.to_owned()),
            (_, Some(reason)) => Err(io::Error::other(reason.to_owned())),
            _ => Err(io::Error::other("the helper ended before its cell was ready")),
        }
    }

    /// Whether the job's folders hold more than they would in a namespace. Looks now and then only.
    pub fn is_over_its_disk(&mut self) -> bool {
        let now = Instant::now();
        let Some(scratch) = self.scratch.as_deref().filter(|_| now >= self.next_look) else { return false };
        let over = folder::holds_more_than(scratch, TMP_MB << 20, TMP_INODES);
        self.next_look = now + LOOK_AT_DISK;
        over
    }

    /// Asks for the processes of one job.
    pub fn request(&self, launches: Vec<Launch>) -> io::Result<Vec<Ends>> {
        let mut counts = Vec::new();
        let mut theirs: Vec<OwnedFd> = Vec::new();
        let mut ours = Vec::new();
        for launch in launches {
            let contents: Vec<&[u8]> = launch.contents.iter().map(Vec::as_slice).collect();
            let (out_read, out_write) = pipe()?;
            let (err_read, err_write) = pipe()?;
            let (status_read, status_write) = pipe()?;
            let stdin = if launch.stdin.is_empty() {
                OwnedFd::from(std::fs::File::open("/dev/null")?)
            } else {
                sealed_file(&launch.stdin)?
            };
            counts.push((FIXED_FDS + launch.extra.len()) as u8);
            let spec = sealed_file(&encode_spec(&launch.spec, &contents)?)?;
            theirs.extend([spec, stdin, out_write, err_write, status_write]);
            theirs.extend(launch.extra);
            ours.push(Ends { stdout: out_read, stderr: err_read, status: status_read });
        }
        let raw: Vec<i32> = theirs.iter().map(|fd| fd.as_raw_fd()).collect();
        send(self.socket.as_fd(), &counts, &raw)?;
        Ok(ours)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        if let Some(scratch) = &self.scratch {
            // The keeper tidies up and ends.
            hang_up(self.socket.as_fd());
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

/// A folder that does not exist yet; the keeper makes it, who will also remove it.
fn new_scratch() -> PathBuf {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    loop {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("eval-harness-{}-{serial}", std::process::id()));
        if std::fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}
