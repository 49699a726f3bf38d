//! What must be as it was once a program has ended: processes, mounts, files, modes and the harness
//! itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::processes::{below, field, told};

/// What programs call the files that they try to leave outside.
const MARK: &str = "left-behind";
/// Ended processes may take a moment to go on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// The outside of the jobs, looked at by the process that owns the sandbox.
pub struct Outside {
    /// A file of the host's that belongs to the very user that jobs run as.
    pub bait: PathBuf,
    mounts: String,
    states: BTreeMap<PathBuf, String>,
    /// Of a sandbox in which every kind of job ran.
    settled: Tally,
    own: String,
}

/// The processes below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    /// Those that are not over.
    all: usize,
    /// Over, and not waited for: what a cell that was replaced left, this process adopts and nobody
    /// waits for.
    zombies: usize,
    /// In a pid namespace within a pid namespace, as jobs are.
    of_jobs: usize,
    /// Stopped by a signal.
    stopped: usize,
    descriptors: usize,
}

impl Tally {
    fn take() -> Tally {
        let mut tally = Tally {
            all: 0,
            zombies: 0,
            of_jobs: 0,
            stopped: 0,
            descriptors: 0,
        };
        let own_depth = depth("self");
        for pid in below(std::process::id()) {
            let name = pid.to_string();
            match field(&name, "State:").as_bytes().first() {
                Some(b'Z') => tally.zombies += 1,
                _ => tally.all += 1,
            }
            tally.of_jobs += usize::from(depth(&name) >= own_depth + 2);
            tally.stopped += usize::from(matches!(
                field(&name, "State:").as_bytes().first(),
                Some(b'T' | b't')
            ));
        }
        tally.descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        tally
    }

    fn exceeds(&self, other: &Tally) -> bool {
        self.all > other.all
            // One for each of a few cells, never one for each job.
            || self.zombies > other.zombies + 6
            || self.of_jobs > other.of_jobs
            || self.stopped > other.stopped
            || self.descriptors > other.descriptors + 4
    }
}

impl Outside {
    /// Call it when every kind of job has run once. `folder`: where the bait lies.
    pub fn look(folder: &Path) -> Outside {
        let bait = folder.join("bait");
        let mut outside = Outside {
            bait,
            mounts: mounts(),
            states: BTreeMap::new(),
            settled: Tally::take(),
            own: own_settings(),
        };
        // The jobs of the warm-up may still be going, and on a busy machine a cell may be on its
        // way: what counts is what stays.
        let start = Instant::now();
        let mut since = start;
        while since.elapsed() < Duration::from_millis(500) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
            let now = Tally::take();
            if now != outside.settled {
                (outside.settled, since) = (now, Instant::now());
            }
        }
        outside.states = outside.states_now();
        outside
    }

    /// Starts to measure the memory of this process.
    pub fn begin(&self) -> u64 {
        // Resets the peak; where that is refused the peak since the start is compared.
        let _ = fs::write("/proc/self/clear_refs", "5");
        kib("VmHWM:")
    }

    /// What is not as it was. `before`: from [`Outside::begin`]; `growth_mib`: what the harness may
    /// have held beyond that.
    pub fn changes(&self, before: u64, growth_mib: u64) -> Vec<String> {
        let mut changes = Vec::new();
        let grown = kib("VmHWM:").saturating_sub(before);
        if grown > growth_mib << 10 {
            changes.push(format!("the harness' memory grew by {grown} KiB"));
        }
        if mounts() != self.mounts {
            changes.push(format!("mounts changed to {}", mounts()));
        }
        if own_settings() != self.own {
            changes.push(format!("the harness' own settings are {}", own_settings()));
        }
        for (path, state) in self.states_now() {
            if self.states.get(&path) != Some(&state) {
                changes.push(format!(
                    "{} is {state}, was {:?}",
                    path.display(),
                    self.states.get(&path)
                ));
            }
        }
        changes.extend(
            left_behind()
                .into_iter()
                .map(|path| format!("{} was left", path.display())),
        );
        let start = Instant::now();
        while Tally::take().exceeds(&self.settled) {
            if start.elapsed() > PATIENCE {
                changes.push(format!(
                    "{:?} are there, {:?} belong there: {}",
                    Tally::take(),
                    self.settled,
                    told(&below(std::process::id()))
                ));
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        changes
    }

    fn states_now(&self) -> BTreeMap<PathBuf, String> {
        let mut paths: Vec<PathBuf> = [
            "/",
            "/usr",
            "/usr/bin",
            "/usr/lib",
            "/etc",
            "/tmp",
            "/var/tmp",
            "/dev",
            "/dev/shm",
            "/dev/null",
            "/dev/zero",
            "/bin/sh",
        ]
        .iter()
        .map(PathBuf::from)
        .collect();
        paths.push(env!("CARGO_MANIFEST_DIR").into());
        paths.push(self.bait.clone());
        paths.extend(self.bait.parent().map(Path::to_owned));
        let mut states = BTreeMap::new();
        for path in paths {
            let ours = path.starts_with(self.bait.parent().unwrap_or(&path));
            let Ok(meta) = fs::metadata(&path) else {
                continue;
            };
            let mut state = format!(
                "{:o} {}:{} {:x}",
                meta.permissions().mode(),
                meta.uid(),
                meta.gid(),
                meta.rdev()
            );
            // Others may write elsewhere meanwhile.
            if ours {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let names = fs::read_dir(&path)
                    .map(|d| d.flatten().map(|e| e.file_name()).collect::<Vec<_>>());
                state += &format!(
                    " {}.{} {}.{} {} {text} {:?}",
                    meta.mtime(),
                    meta.mtime_nsec(),
                    meta.ctime(),
                    meta.ctime_nsec(),
                    meta.nlink(),
                    names.ok()
                );
            }
            states.insert(path, state);
        }
        states
    }
}

/// Makes the bait: a file and its folder, both of `owner` and open to everybody.
pub fn lay_bait(folder: &Path, owner: Option<u32>) {
    fs::create_dir_all(folder).unwrap();
    let bait = folder.join("bait");
    fs::write(&bait, "untouched").unwrap();
    fs::set_permissions(&bait, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    if let Some(owner) = owner {
        std::os::unix::fs::chown(&bait, Some(owner), Some(owner)).unwrap();
        std::os::unix::fs::chown(folder, Some(owner), Some(owner)).unwrap();
    }
}

/// In how many pid namespaces a process has a number.
fn depth(pid: &str) -> usize {
    field(pid, "NSpid:").split_whitespace().count()
}

fn kib(name: &str) -> u64 {
    field("self", name)
        .trim_end_matches(" kB")
        .parse()
        .unwrap_or(0)
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// Limits, priority and processors of this process: what others of the same user could change.
fn own_settings() -> String {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let numbers: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let nice = numbers.get(16).copied().unwrap_or_default();
    format!(
        "nice {nice}, processors {}, {limits}",
        field("self", "Cpus_allowed:")
    )
}

/// Marked files outside.
fn left_behind() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = [
        "/",
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/dev/mqueue",
        "/run",
        "/usr",
        env!("CARGO_MANIFEST_DIR"),
    ];
    let places = places.iter().map(PathBuf::from).chain(home);
    places
        .filter_map(|place| fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(MARK))
        })
        .collect()
}
