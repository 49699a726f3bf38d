//! Programs in workspaces: what a job asks for, checked and turned into a process and its stage
//! (`stage.rs`), and what this machine can mount.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::geteuid;

use super::artifacts;
use super::channel::{memory_file, pipe, set_nonblocking};
use super::error::SandboxError;
use super::folder;
use super::host::DiskWatch;
use super::launch::{ProcessLaunch, process_limits};
use super::pool::SandboxWorker;
use super::ports::CellPorts;
use super::programs::conclude;
use super::protocol::{BuiltIn, StageBind, StageRoot, StageSpec};
use super::settings::{WORKSPACE_USER, WorkspaceSettings};
use super::stage;
use super::syscalls as sys;
use super::types::{
    MountAbility, ProgramEnding, RESULTS_FOLDER, ReadOnlyBind, Tier, WORKSPACE_FOLDER,
    WORKSPACE_HOME, WorkspaceJob, WorkspaceMount, WorkspaceResult, WorkspaceRoot,
};

/// Files on disk for each MiB of the disk limit.
const FILES_PER_MB: u64 = 512;
/// A command may use every core; its time is bounded by the clock alone.
const CORES: u64 = 64;
/// Bytes that a program gets on a descriptor: what every user may have in a pipe.
const MOST_GIVEN: usize = 1 << 20;
/// What a pipe has at first.
const PIPE_BYTES: usize = 64 << 10;
const PROBE_WALL: Duration = Duration::from_secs(30);

/// The settings with real paths, which those of jobs are compared with.
///
/// # Errors
/// When a source, or a folder of `readable`, contains the store or is in it: programs would see what
/// their workspace is not made of.
pub(super) fn real_settings(
    settings: &WorkspaceSettings,
    readable: &[PathBuf],
) -> Result<WorkspaceSettings, SandboxError> {
    let sources = settings.sources.iter().map(|path| real(path));
    let found = WorkspaceSettings {
        store: real(&settings.store)?,
        sources: sources.collect::<Result<_, _>>()?,
        renames: settings.renames,
        network: settings.network,
    };
    let readable = readable
        .iter()
        .filter_map(|path| fs::canonicalize(path).ok());
    let mut shown = found.sources.iter().cloned().chain(readable);
    let store = &found.store;
    match shown.find(|path| store.starts_with(path) || path.starts_with(store)) {
        Some(path) => {
            let (path, store) = (path.display(), store.display());
            Err(bad(format!(
                "programs can read {path}, so the store can't be {store}"
            )))
        }
        None => Ok(found),
    }
}

/// `renames`: what [`mount_ability`] found.
pub(super) fn run(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    settings: &WorkspaceSettings,
    job: WorkspaceJob,
    renames: bool,
    ports: Option<&CellPorts>,
) -> Result<WorkspaceResult, SandboxError> {
    if let Some(ports) = ports {
        worker.open_ports(ports)?;
    }
    run_process(worker, cancel, settings, job, renames, None)
}

fn run_process(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    settings: &WorkspaceSettings,
    job: WorkspaceJob,
    renames: bool,
    built_in: Option<BuiltIn>,
) -> Result<WorkspaceResult, SandboxError> {
    let (tier, _) = worker.place()?;
    let mut stage = StagePaths { settings, tier }.stage(&job)?;
    let mut overlay = None;
    if let WorkspaceRoot::Overlay(mount) = &job.root
        && renames
    {
        let opened = stage::open_overlay(mount);
        overlay = Some(opened.map_err(|e| cannot_mount(e.to_string()))?);
        stage.root = StageRoot::Mounted;
    }
    let dir = inside_workspace(&job.cwd)?;
    let program = match (job.argv.first(), built_in) {
        (Some(program), _) => program.clone(),
        (None, Some(_)) => String::new(),
        (None, None) => return Err(bad("the command is empty")),
    };
    let mut env = job.env;
    if !env.iter().any(|(name, _)| name == "HOME") {
        env.push(("HOME".to_owned(), WORKSPACE_HOME.to_owned()));
    }
    let mut limits = process_limits(&job.limits);
    limits.cpu_seconds = limits.cpu_seconds.saturating_mul(CORES);
    let mut launch = ProcessLaunch::new(job.argv, &env, limits);
    let kept = memory_file()?;
    launch.stdin = job.stdin;
    if let Some(bytes) = &job.given_once {
        launch.extra.push(readable_once(bytes)?);
    }
    launch.extra.push(kept.try_clone()?);
    launch.extra.extend(overlay);
    launch.spec.dir = Some(dir);
    launch.spec.collect = true;
    launch.spec.built_in = built_in;
    launch.spec.stage = Some(stage);
    let written = match job.root {
        WorkspaceRoot::Overlay(mount) => vec![mount.upper, mount.work],
        WorkspaceRoot::Folder(folder) => vec![folder],
    };
    let most = (
        job.disk_mb.saturating_mul(1 << 20),
        job.disk_mb.saturating_mul(FILES_PER_MB),
    );
    let in_memory = job.tmp_mb.saturating_mul(2);
    let stdout = job.stdout_file.map(|(path, keep)| {
        let file = fs::File::create(&path);
        let file = file.map_err(|error| bad(format!("cannot write {}: {error}", path.display())));
        file.map(|file| (file, keep))
    });
    let stdout = stdout.transpose()?;
    let mut running = worker.run_with_files(cancel, vec![launch], &job.limits, in_memory)?;
    if let Some((file, keep)) = stdout {
        running.write_stdout(file, keep);
    }
    let mut disk = DiskWatch::new(written, most);
    disk.looks_into_all = false;
    running.disk = Some(disk);
    let result = conclude(running, &program)?;
    // A program that a limit ended took its minder along, who collects.
    let found = artifacts::read(kept).unwrap_or_default();
    let results_cut = found.is_cut;
    let results = found.files.into_iter();
    let results = results
        .map(|artifact| (artifact.path, artifact.content))
        .collect();
    Ok(WorkspaceResult {
        result,
        results,
        results_cut,
        verdict_doubted: found.is_doubted,
    })
}

/// A pipe that contains the bytes already: they can be read once.
fn readable_once(bytes: &[u8]) -> Result<OwnedFd, SandboxError> {
    if bytes.len() > MOST_GIVEN {
        let most = MOST_GIVEN >> 10;
        return Err(bad(format!(
            "more than {most} KiB can't be given to a program on a descriptor"
        )));
    }
    let (read, write) = pipe()?;
    if bytes.len() > PIPE_BYTES {
        sys::set_pipe_size(&write, MOST_GIVEN)?;
    }
    // A user of many pipes gets small ones.
    set_nonblocking(write.as_fd())?;
    fs::File::from(write).write_all(bytes)?;
    Ok(read)
}

fn cannot_mount(reason: String) -> SandboxError {
    SandboxError::CannotStart {
        program: "an overlay".to_owned(),
        reason,
    }
}

fn bad(message: impl Into<String>) -> SandboxError {
    SandboxError::BadRequest(message.into())
}

fn real(path: &Path) -> Result<PathBuf, SandboxError> {
    fs::canonicalize(path).map_err(|e| bad(format!("{}: {e}", path.display())))
}

fn utf8(path: &Path) -> Result<String, SandboxError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| bad(format!("the path {} is not UTF-8", path.display())))
}

/// The path inside of one that is relative to the workspace.
fn inside_workspace(path: &Path) -> Result<String, SandboxError> {
    let normal = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if !path.components().all(normal) || path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(bad(format!("{} is not in the workspace", path.display())));
    }
    utf8(&Path::new(WORKSPACE_FOLDER).join(path))
}

/// Finds the paths of a job where its minder sees them.
struct StagePaths<'s> {
    settings: &'s WorkspaceSettings,
    tier: Tier,
}

impl StagePaths<'_> {
    fn stage(&self, job: &WorkspaceJob) -> Result<StageSpec, SandboxError> {
        let root = match &job.root {
            WorkspaceRoot::Overlay(_) if self.tier.on_the_host() => {
                let message = format!("the tier {} can't mount an overlay", self.tier);
                return Err(bad(message));
            }
            WorkspaceRoot::Overlay(mount) => self.overlay(mount)?,
            WorkspaceRoot::Folder(folder) => StageRoot::Folder(self.in_store(folder)?),
        };
        let binds = job.read_only.iter().map(|bind| self.bind(bind));
        Ok(StageSpec {
            root,
            read_only: binds.collect::<Result<_, _>>()?,
            tmp_mb: job.tmp_mb,
            verdict: job.verdict.clone(),
        })
    }

    fn overlay(&self, mount: &WorkspaceMount) -> Result<StageRoot, SandboxError> {
        if mount.lowers.is_empty() {
            return Err(bad("the workspace has no layer"));
        }
        let lowers = mount.lowers.iter().map(|path| self.in_store(path));
        Ok(StageRoot::Overlay {
            lowers: lowers.collect::<Result<_, _>>()?,
            upper: self.in_store(&mount.upper)?,
            work: self.in_store(&mount.work)?,
        })
    }

    fn in_store(&self, path: &Path) -> Result<String, SandboxError> {
        let path = real(path)?;
        if path == self.settings.store || !path.starts_with(&self.settings.store) {
            let (path, store) = (path.display(), self.settings.store.display());
            return Err(bad(format!("{path} is not in the store {store}")));
        }
        self.seen(&path)
    }

    /// A real path as the minder sees it.
    fn seen(&self, path: &Path) -> Result<String, SandboxError> {
        if self.tier.on_the_host() {
            return utf8(path);
        }
        let WorkspaceSettings { store, sources, .. } = self.settings;
        for (i, folder) in std::iter::once(store).chain(sources).enumerate() {
            if let Ok(below) = path.strip_prefix(folder) {
                return utf8(&Path::new(&i.to_string()).join(below));
            }
        }
        let message = "is neither in the store nor in a source folder";
        Err(bad(format!("{} {message}", path.display())))
    }

    fn bind(&self, bind: &ReadOnlyBind) -> Result<StageBind, SandboxError> {
        let from = real(&bind.from)?;
        if from == self.settings.store {
            return Err(bad("the whole store can't be shown"));
        }
        let seen = self.seen(&from)?;
        if self.tier.on_the_host() {
            // Words and variables are translated from a place in `/tmp`.
            if from != bind.at && !bind.at.starts_with("/tmp") {
                let (from, at) = (from.display(), bind.at.display());
                let message = format!("the tier {} can't show {from} at {at}", self.tier);
                return Err(bad(message));
            }
        } else {
            let fixed = [WORKSPACE_FOLDER, WORKSPACE_HOME, RESULTS_FOLDER, "/tmp"].map(Path::new);
            let mut places = fixed
                .into_iter()
                .chain(self.settings.sources.iter().map(PathBuf::as_path));
            let plain = bind
                .at
                .components()
                .all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
            if !plain || !places.any(|place| bind.at != place && bind.at.starts_with(place)) {
                let message = "is not a place where a file can be shown";
                return Err(bad(format!("{} {message}", bind.at.display())));
            }
        }
        Ok(StageBind {
            from: seen,
            at: utf8(&bind.at)?,
        })
    }
}

/// Names that a probe's program expects in its workspace.
const KEPT: &str = "kept";
const DELETED: &str = "deleted";
const INNER: &str = "folder/inner";

/// What can be mounted, found out by a job that changes a small workspace.
pub(super) fn mount_ability(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    settings: &WorkspaceSettings,
) -> Result<MountAbility, SandboxError> {
    let (tier, _) = worker.place()?;
    if tier.on_the_host() {
        let why = format!("the tier {tier} can't mount file systems");
        return Ok(MountAbility::Copy { why });
    }
    let mut attempt = |renames| {
        let place = probe_folder(&settings.store)?;
        let ability = try_overlay(worker, cancel, settings, &place, renames);
        folder::remove(&place)?;
        ability
    };
    if settings.renames && geteuid().is_root() && attempt(true).is_ok_and(|renames| renames) {
        return Ok(MountAbility::Overlay { renames: true });
    }
    match attempt(false) {
        Ok(renames) => Ok(MountAbility::Overlay { renames }),
        Err(SandboxError::CannotStart { reason, .. }) => Ok(MountAbility::Copy { why: reason }),
        Err(e) => Err(e),
    }
}

fn probe_folder(store: &Path) -> io::Result<PathBuf> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let place = store.join(format!(".probe-{}-{serial}", std::process::id()));
    fs::create_dir(&place)?;
    Ok(place)
}

fn try_overlay(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    settings: &WorkspaceSettings,
    place: &Path,
    renames: bool,
) -> Result<bool, SandboxError> {
    let at = |name: &str| place.join(name);
    let (lower, upper) = (at("lower"), at("upper"));
    let folders = [
        place.to_owned(),
        lower.clone(),
        lower.join("folder"),
        upper.clone(),
        at("work"),
    ];
    let files = [KEPT, DELETED, INNER].map(|name| lower.join(name));
    for folder in folders.iter().skip(1) {
        fs::create_dir(folder)?;
    }
    for file in &files {
        fs::write(file, "lower")?;
    }
    for path in folders.iter().chain(&files) {
        if geteuid().is_root() {
            chown(path, Some(WORKSPACE_USER), Some(WORKSPACE_USER))?;
        }
    }
    let mount = WorkspaceMount {
        lowers: vec![lower.clone()],
        upper: upper.clone(),
        work: at("work"),
    };
    let mut job = WorkspaceJob::new(Vec::new(), WorkspaceRoot::Overlay(mount));
    job.limits.wall = PROBE_WALL;
    let probe = Some(BuiltIn::WorkspaceProbe);
    let result = run_process(worker, cancel, settings, job, renames, probe)?.result;
    let said = String::from_utf8_lossy(&result.streams.stdout).into_owned();
    let is_whiteout = |path: PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_char_device())
    };
    let holds = files
        .iter()
        .all(|file| fs::read(file).is_ok_and(|text| text == b"lower"))
        && fs::read(upper.join(KEPT)).is_ok_and(|text| text == b"changed")
        && is_whiteout(upper.join(DELETED));
    match (result.ending, said.as_str()) {
        (ProgramEnding::Exited(0), "renames" | "no renames") if holds => Ok(said == "renames"),
        (ProgramEnding::Exited(0), _) if !holds => Err(cannot_mount(
            "a trial overlay did not keep changes in its upper layer".to_owned(),
        )),
        (ProgramEnding::Exited(1), reason) => Err(cannot_mount(reason.to_owned())),
        (ending, _) => Err(cannot_mount(format!("a trial job {ending}"))),
    }
}

/// What a probe's program does; its exit code.
pub(super) fn probe_inside() -> i32 {
    let (text, code) = match change_workspace() {
        Ok(true) => ("renames".to_owned(), 0),
        Ok(false) => ("no renames".to_owned(), 0),
        Err(e) => (e.to_string(), 1),
    };
    let _ = rustix::io::write(rustix::stdio::stdout(), text.as_bytes());
    code
}

fn change_workspace() -> io::Result<bool> {
    let at = |name: &str| Path::new(WORKSPACE_FOLDER).join(name);
    fs::File::options()
        .write(true)
        .truncate(true)
        .open(at(KEPT))?
        .write_all(b"changed")?;
    fs::remove_file(at(DELETED))?;
    fs::write(at("new"), "new")?;
    fs::rename(at("new"), at("newer"))?;
    let renames = fs::rename(at("folder"), at("folder-2")).is_ok();
    let folder = at(if renames { "folder-2" } else { "folder" });
    fs::remove_dir_all(&folder)?;
    fs::create_dir(&folder)?;
    fs::set_permissions(at(KEPT), fs::Permissions::from_mode(0o755))?;
    let right = fs::read(at(KEPT))? == b"changed"
        && fs::read(at("newer"))? == b"new"
        && fs::symlink_metadata(at(DELETED)).is_err()
        && fs::read_dir(&folder)?.next().is_none();
    match right {
        true => Ok(renames),
        false => Err(io::Error::other("what was written can't be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_that_programs_could_read_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["suite/cache/store/layers", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let refused = |source: &str, readable: &str| {
            let settings = WorkspaceSettings {
                store: at("suite/cache/store"),
                sources: vec![at(source)],
                ..WorkspaceSettings::default()
            };
            real_settings(&settings, &[at(readable)]).is_err()
        };
        assert!(refused("suite", "other"));
        assert!(refused("other", "suite/cache"));
        assert!(refused("other", "suite/cache/store"));
        assert!(refused("suite/cache/store/layers", "other"));
        assert!(!refused("other", "other"));
    }

    #[test]
    fn paths_outside_of_the_store_and_the_workspace_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["store/layer", "suite", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("store/link")).unwrap();
        let settings = real_settings(
            &WorkspaceSettings {
                store: at("store"),
                sources: vec![at("suite")],
                ..WorkspaceSettings::default()
            },
            &[],
        )
        .unwrap();
        let paths = StagePaths {
            settings: &settings,
            tier: Tier::Userns,
        };
        assert_eq!(paths.in_store(&at("store/layer")).unwrap(), "0/layer");
        for outside in [
            "store",
            "other",
            "store/link",
            "suite",
            "store/../other",
            "no",
        ] {
            assert!(paths.in_store(&at(outside)).is_err(), "{outside}");
        }
        let bind = |from: &str, to: &str| {
            paths.bind(&ReadOnlyBind {
                from: at(from),
                at: to.into(),
            })
        };
        assert_eq!(bind("suite", "/workspace/t").unwrap().from, "1/");
        assert!(bind("store/layer", "/tmp/x").is_ok());
        for to in [
            "/workspace",
            "/usr/x",
            "/workspace/../usr",
            "workspace/x",
            "/",
        ] {
            assert!(bind("suite", to).is_err(), "{to}");
        }
        assert!(bind("other", "/workspace/t").is_err());
        assert_eq!(
            inside_workspace(Path::new("a/b")).unwrap(),
            "/workspace/a/b"
        );
        for outside in ["/a", "../a", "a/../../b"] {
            assert!(inside_workspace(Path::new(outside)).is_err(), "{outside}");
        }
    }
}
