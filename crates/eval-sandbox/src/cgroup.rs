//! Control groups: a bound on what all processes of a cell hold together, kept by the kernel, and
//! its proof when it was hit.
//!
//! Below the harness' own group stands a folder of this sandbox (`eval-harness-PID-N`), in it one
//! for each cell; in version 1 so for each controller. The harness puts a new cell into its group
//! while the cell still waits for its settings, so that everything that it starts later is in it
//! too. The folder is locked (flock) as long as the harness lives: a folder that can be locked
//! belonged to a dead one and is swept. A *janitor* ([`janitor`]) cleans up when the harness is
//! killed.
//!
//! The bound is a belt: the tree of a job is measured by `memory.rs` against the job's own limit,
//! and the group also holds the cell, warm interpreters and the job's /tmp ([`HEADROOM_MB`]). What
//! the group adds is that nothing grows beyond it between two looks, that /tmp and kernel memory
//! count, and that swap can't hide anything.

pub(super) mod janitor;
mod layout;
mod removal;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use layout::{CgroupController, CgroupLayout, CgroupPlace, CgroupVersion};

use super::settings::NoCgroup;
use super::types::ProgramLimits;
use janitor::Janitor;

/// How long the cells of a dead harness may still tidy up before they are ended.
const SWEEP_GRACE: Duration = Duration::from_secs(1);
/// Names of our folders begin so.
const PREFIX: &str = "eval-harness-";
/// What a cell may hold beyond its job's limit: 64 MiB that interpreters have beyond their data, as
/// much in /tmp, and the cell itself with the interpreters that it keeps warm.
const HEADROOM_MB: u64 = 256;
/// Processes of a cell that are not its job's: itself, minders, warm interpreters.
const HEADROOM_PROCESSES: u64 = 32;
/// Swap that a group may get beyond its memory, in version 1: with none, hitting the limit counts
/// as one of swap.
const SWAP_MARGIN: u64 = 1 << 20;

/// The folders of one sandbox. Dropping the last reference removes them.
#[derive(Debug)]
pub(super) struct CellGroups {
    bases: Vec<CgroupBase>,
    serial: AtomicU64,
    janitor: Option<Janitor>,
}

/// Our folder in one hierarchy.
#[derive(Debug)]
struct CgroupBase {
    place: CgroupPlace,
    folder: CgroupFolder,
    /// Version 2: where the harness had to move to, so that its own group may have groups.
    leaf: Option<CgroupFolder>,
}

/// A folder that we made, and the lock that says that we live.
#[derive(Debug)]
struct CgroupFolder {
    path: PathBuf,
    _lock: File,
}

impl CellGroups {
    /// Makes the folders and starts the janitor; the error says in words why that can't be done.
    pub fn prepare(helper: &Path) -> Result<Arc<CellGroups>, NoCgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let offered = |folder: &Path| {
            fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default()
        };
        CellGroups::below(&layout::find(&own, &mountinfo, &offered), Some(helper))
    }

    fn below(layout: &CgroupLayout, helper: Option<&Path>) -> Result<Arc<CellGroups>, NoCgroup> {
        let mut reasons: Vec<String> = layout
            .missing
            .iter()
            .map(|(controller, why)| format!("{}: {why}", controller.name()))
            .collect();
        let mut groups = CellGroups {
            bases: Vec::new(),
            serial: AtomicU64::new(0),
            janitor: None,
        };
        for place in &layout.places {
            sweep(&place.folder);
            match CgroupBase::make(place) {
                Ok(base) => groups.bases.push(base),
                Err(why) => reasons.push(why),
            }
        }
        // A group that only counts processes is not worth a janitor.
        let memory = groups
            .bases
            .iter()
            .any(|base| base.place.has(CgroupController::Memory));
        // One group is tried, so that what does not work is known before the first job.
        let tried = if memory {
            groups
                .group()
                .and_then(|mut group| group.hold(&ProgramLimits::default()))
                .map_err(|e| e.to_string())
        } else {
            Err(reasons.join("; "))
        };
        tried.map_err(no_cgroup)?;
        if let Some(helper) = helper {
            let folders: Vec<&Path> = groups
                .bases
                .iter()
                .map(|b| b.folder.path.as_path())
                .collect();
            let leaves: Vec<&Path> = groups
                .bases
                .iter()
                .filter_map(|b| Some(b.leaf.as_ref()?.path.as_path()))
                .collect();
            let janitor =
                Janitor::start(helper, &folders, &leaves).map_err(|e| no_cgroup(e.to_string()))?;
            groups.janitor = Some(janitor);
        }
        Ok(Arc::new(groups))
    }

    /// A group for one cell.
    pub fn group(&self) -> io::Result<CellGroup> {
        let name = format!("cell-{}", self.serial.fetch_add(1, Ordering::Relaxed));
        let mut group = CellGroup {
            parts: Vec::new(),
            memory: None,
            held: None,
        };
        for base in &self.bases {
            let folder = base.folder.path.join(&name);
            fs::create_dir(&folder)?;
            group.parts.push(CellGroupPart {
                place: base.place.clone(),
                folder: folder.clone(),
            });
            if base.place.has(CgroupController::Memory) {
                group.memory = Some(MemoryMeter::open(base.place.version, &folder)?);
            }
        }
        Ok(group)
    }
}

/// As `v1 memory, pids`.
impl std::fmt::Display for CellGroups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told: Vec<(CgroupVersion, Vec<&str>)> = Vec::new();
        for place in self.bases.iter().map(|base| &base.place) {
            let names = place.controllers.iter().map(|c| c.name());
            match told
                .last_mut()
                .filter(|(version, _)| *version == place.version)
            {
                Some((_, all)) => all.extend(names),
                None => told.push((place.version, names.collect())),
            }
        }
        let parts: Vec<String> = told
            .iter()
            .map(|(v, names)| format!("{v} {}", names.join(", ")))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

impl Drop for CellGroups {
    fn drop(&mut self) {
        for base in &self.bases {
            removal::remove(&base.folder.path, Duration::ZERO);
            if let Some(leaf) = &base.leaf {
                removal::leave(&leaf.path);
            }
        }
        // Only now may the janitor come: it finds nothing to do.
        self.janitor = None;
    }
}

impl CgroupBase {
    fn make(place: &CgroupPlace) -> Result<CgroupBase, String> {
        let leaf = match place.version {
            CgroupVersion::V1 => None,
            CgroupVersion::V2 => delegate(place)?,
        };
        let made = new_folder(&place.folder).and_then(|folder| {
            if place.version == CgroupVersion::V2 {
                fs::write(folder.path.join("cgroup.subtree_control"), wanted(place))
                    .inspect_err(|_| removal::remove(&folder.path, Duration::ZERO))?;
            }
            Ok(folder)
        });
        match made {
            Ok(folder) => Ok(CgroupBase {
                place: place.clone(),
                folder,
                leaf,
            }),
            Err(e) => {
                if let Some(leaf) = leaf {
                    removal::leave(&leaf.path);
                }
                Err(refused(&place.folder, &e))
            }
        }
    }
}

/// A folder of ours with its lock. Between the two a harness that sweeps may have taken it for a
/// dead one's.
fn new_folder(below: &Path) -> io::Result<CgroupFolder> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = format!(
            "{PREFIX}{}-{}",
            std::process::id(),
            SERIAL.fetch_add(1, Ordering::Relaxed)
        );
        let path = below.join(name);
        match fs::create_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        let same = |a: &fs::Metadata, b: &fs::Metadata| a.ino() == b.ino();
        if let (Ok(ours), Ok(there)) = (file.metadata(), fs::metadata(&path))
            && same(&ours, &there)
        {
            return Ok(CgroupFolder { path, _lock: file });
        }
    }
}

/// Ends and removes what harnesses left behind that ended without their janitor.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let ours = entry.metadata().is_ok_and(|meta| meta.uid() == user);
        if !ours || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        if file.try_lock().is_ok() {
            removal::remove(&entry.path(), SWEEP_GRACE);
        }
    }
}

/// As `+memory +pids`.
fn wanted(place: &CgroupPlace) -> String {
    place
        .controllers
        .iter()
        .map(|c| format!("+{}", c.name()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Version 2: lets groups below ours have the controllers. A group with such groups may have no
/// processes of its own, so the harness moves into a group below when it is alone in its own; its
/// new place is returned.
fn delegate(place: &CgroupPlace) -> Result<Option<CgroupFolder>, String> {
    let control = place.folder.join("cgroup.subtree_control");
    let now = fs::read_to_string(&control).unwrap_or_default();
    if place
        .controllers
        .iter()
        .all(|c| now.split_whitespace().any(|n| n == c.name()))
    {
        return Ok(None);
    }
    match fs::write(&control, wanted(place)) {
        Ok(()) => return Ok(None),
        Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {}
        Err(e) => return Err(refused(&place.folder, &e)),
    }
    let inside = removal::processes(&place.folder);
    if inside
        .iter()
        .any(|pid| !removal::descends(*pid, std::process::id()))
    {
        return Err(format!(
            "other processes share our control group {}",
            place.folder.display()
        ));
    }
    let leaf = new_folder(&place.folder).map_err(|e| refused(&place.folder, &e))?;
    let moved = inside
        .iter()
        .try_for_each(|pid| fs::write(leaf.path.join("cgroup.procs"), pid.to_string()))
        .and_then(|()| fs::write(&control, wanted(place)));
    match moved {
        Ok(()) => Ok(Some(leaf)),
        Err(e) => {
            removal::leave(&leaf.path);
            Err(refused(&place.folder, &e))
        }
    }
}

fn refused(folder: &Path, error: &io::Error) -> String {
    let shown = folder.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{shown} is not ours to write"),
        _ => format!("{shown}: {error}"),
    }
}

fn no_cgroup(reason: String) -> NoCgroup {
    let remedy = if reason.contains("not ours") || reason.contains("share") {
        "`systemd-run --user --scope -p Delegate=yes eval-harness ...` gives the harness a group of its own"
    } else if reason.contains("read-only") {
        "in a container, mount /sys/fs/cgroup writable (for Docker: `--privileged`; for Podman: `--cgroupns=private --security-opt unmask=/sys/fs/cgroup`)"
    } else {
        "mount a control group file system with the memory controller"
    };
    NoCgroup {
        reason,
        remedy: remedy.to_owned(),
    }
}

/// The group of one cell. Dropping it ends what is still in it and removes it.
#[derive(Debug)]
pub(super) struct CellGroup {
    parts: Vec<CellGroupPart>,
    memory: Option<MemoryMeter>,
    /// The memory in MiB and the processes that were set last.
    held: Option<(u64, u64)>,
}

#[derive(Debug)]
struct CellGroupPart {
    place: CgroupPlace,
    folder: PathBuf,
}

/// How often the bound was met, and how often the kernel killed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MemoryKills {
    limit: u64,
    kills: u64,
}

impl MemoryKills {
    /// Whether the kernel killed a process since `before` because the group was full. A machine
    /// that is itself out of memory kills too, but then the group's bound was not met.
    pub fn of_limit_since(self, before: MemoryKills) -> bool {
        self.kills > before.kills && self.limit > before.limit
    }

    /// A process of the group was killed because the machine is out of memory.
    pub fn of_machine_since(self, before: MemoryKills) -> bool {
        self.kills > before.kills && self.limit == before.limit
    }
}

impl CellGroup {
    /// Puts a process into the group; what it starts afterwards is in it as well.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        self.parts
            .iter()
            .try_for_each(|part| fs::write(part.folder.join("cgroup.procs"), pid.to_string()))
    }

    /// Sets the bounds for a job; costs nothing when they are those of the job before.
    pub fn hold(&mut self, limits: &ProgramLimits) -> io::Result<()> {
        let wanted = (limits.memory_mb, limits.processes);
        if self.held == Some(wanted) {
            return Ok(());
        }
        let bytes = limits
            .memory_mb
            .saturating_add(HEADROOM_MB)
            .saturating_mul(1 << 20)
            .min(i64::MAX as u64);
        let processes = limits
            .processes
            .saturating_add(HEADROOM_PROCESSES)
            .min(1 << 22);
        for part in &self.parts {
            if part.place.has(CgroupController::Memory) {
                set_memory(part, bytes)?;
            }
            if part.place.has(CgroupController::Pids) {
                fs::write(part.folder.join("pids.max"), processes.to_string())?;
            }
        }
        self.held = Some(wanted);
        Ok(())
    }

    /// The counts until now; zero where they can't be read.
    pub fn kills(&self) -> MemoryKills {
        self.memory
            .as_ref()
            .and_then(MemoryMeter::kills)
            .unwrap_or_default()
    }

    /// KiB that the group holds: at least what its processes hold.
    pub fn held_kib(&self) -> Option<u64> {
        self.memory.as_ref().and_then(MemoryMeter::held_kib)
    }
}

fn set_memory(part: &CellGroupPart, bytes: u64) -> io::Result<()> {
    let set = |name: &str, value: u64| fs::write(part.folder.join(name), value.to_string());
    let optional = |set: io::Result<()>| match set {
        // Without swap accounting the file is not there.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    match part.place.version {
        CgroupVersion::V2 => {
            set("memory.max", bytes)?;
            // Not memory.oom.group: it would take the cell along with the job.
            optional(set("memory.swap.max", 0))
        }
        CgroupVersion::V1 => {
            let with_swap = bytes.saturating_add(SWAP_MARGIN);
            // Memory with swap may never be less than memory alone, so which goes first depends on
            // the direction.
            if set("memory.limit_in_bytes", bytes).is_err() {
                optional(set("memory.memsw.limit_in_bytes", with_swap))?;
                set("memory.limit_in_bytes", bytes)?;
            }
            optional(set("memory.memsw.limit_in_bytes", with_swap))
        }
    }
}

impl Drop for CellGroup {
    fn drop(&mut self) {
        self.parts
            .iter()
            .for_each(|part| removal::remove(&part.folder, Duration::ZERO));
    }
}

/// The open files of a group's memory controller: reading them again costs a microsecond or two.
#[derive(Debug)]
struct MemoryMeter {
    version: CgroupVersion,
    held: File,
    kills: File,
    /// Version 1 tells how often the limit was met in a file of its own.
    limit: Option<File>,
}

impl MemoryMeter {
    fn open(version: CgroupVersion, folder: &Path) -> io::Result<MemoryMeter> {
        let open = |name: &str| File::open(folder.join(name));
        Ok(match version {
            CgroupVersion::V1 => MemoryMeter {
                version,
                held: open("memory.usage_in_bytes")?,
                kills: open("memory.oom_control")?,
                limit: Some(open("memory.failcnt")?),
            },
            CgroupVersion::V2 => MemoryMeter {
                version,
                held: open("memory.current")?,
                kills: open("memory.events")?,
                limit: None,
            },
        })
    }

    fn kills(&self) -> Option<MemoryKills> {
        let text = read(&self.kills)?;
        let kills = entry(&text, "oom_kill")?;
        let limit = match (&self.limit, self.version) {
            (Some(file), _) => read(file)?.trim().parse().ok()?,
            (None, _) => entry(&text, "oom")?,
        };
        Some(MemoryKills { limit, kills })
    }

    fn held_kib(&self) -> Option<u64> {
        read(&self.held)?
            .trim()
            .parse::<u64>()
            .ok()
            .map(|bytes| bytes >> 10)
    }
}

fn read(file: &File) -> Option<String> {
    let mut buffer = [0u8; 512];
    let n = file.read_at(&mut buffer, 0).ok()?;
    Some(String::from_utf8_lossy(buffer.get(..n)?).into_owned())
}

/// The number on the line that begins with `name`.
fn entry(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

#[cfg(test)]
mod tests;
