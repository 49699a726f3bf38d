//! A job's side of a cell: the minder, and what the forked child does before it is the program.

use std::borrow::Cow;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use rustix::process::Resource;
use rustix::thread::CapabilitySet;

use super::cell::read_all;
use super::confinement::check_that_it_holds;
use super::filter;
use super::own_limits::end_helper;
use super::protocol::{
    BuiltIn, CellConfig, FIXED_FDS, ProcessLimits, ProcessSpec, StageRoot, StageSpec, decode_spec,
};
use super::types::{RESULTS_FOLDER, WORKSPACE_FOLDER, WORKSPACE_HOME};
use super::verdict_file::VerdictFile;
use super::{Tier, artifacts, keeper, stage, syscalls as sys};

/// Where the status pipe stands in the program's process until `execve`.
const STATUS_FD: i32 = 199;
/// Descriptors are moved here, above all that came, before they are moved to their places.
const PARKING: i32 = STATUS_FD + 1;

/// The home and the results of a job in a workspace, below its private folder, where nothing can be
/// mounted.
const HOST_HOME: &str = "home";
const HOST_RESULTS: &str = "results";

/// The minder: makes the private folder, starts the program, waits for it, tells its status, cleans
/// up.
pub(super) fn mind(config: &CellConfig, fds: &[OwnedFd], serial: u64) -> io::Result<()> {
    let bytes = fds.first().map(read_all).transpose()?.unwrap_or_default();
    let (spec, files) =
        decode_spec(&bytes).ok_or_else(|| io::Error::other("no specification was received"))?;
    let folder = private_folder(config, spec.stage.as_ref(), serial)?;
    let is_mounted = |stage: &StageSpec| matches!(stage.root, StageRoot::Mounted);
    let (fds, overlay) = match fds.split_last() {
        Some((last, rest)) if spec.stage.as_ref().is_some_and(is_mounted) => (rest, Some(last)),
        _ => (fds, None),
    };
    prepare_stage(config, spec.stage.as_ref(), overlay)?;
    let results = match config.tier.on_the_host() {
        true => HOST_RESULTS,
        false => RESULTS_FOLDER,
    };
    let verdict = spec
        .stage
        .as_ref()
        .and_then(|stage| stage.verdict.as_deref());
    let verdict = verdict.map(|name| {
        let made = VerdictFile::make(Path::new(results), name);
        Ok::<_, io::Error>((name, sys::step("the file for the verdict", made)?))
    });
    let verdict = verdict.transpose()?;
    for (path, content) in files {
        if let Some(parent) = Path::new(&path).parent() {
            fs::create_dir_all(parent)?;
        }
        sys::step(&path, fs::write(&path, content))?;
        if spec.executables.contains(&path) {
            sys::step(
                &path,
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)),
            )?;
        }
    }
    let (fds, collection) = match fds.split_last() {
        Some((last, rest)) if spec.collect => (rest, Some(last)),
        _ => (fds, None),
    };
    if config.tier == Tier::Landlock {
        config.confinement.files_are_written()?;
    }
    if config.tier.on_the_host() {
        // What the memory is measured of stays in one tree.
        sys::become_subreaper();
    }
    // The program runs as the same user: it must not be able to look in here.
    sys::set_dumpable(false);
    let program = sys::fork()?;
    if program.is_none() {
        let program = || become_program(config, &spec, folder.as_deref(), serial);
        place_and_become(fds, program);
        end_helper(126);
    }
    // Only the program holds its streams now, so that their end means its end.
    for fd in fds.iter().take(4).chain(fds.iter().skip(FIXED_FDS)) {
        sys::close(fd.as_raw_fd());
    }
    let status = loop {
        let ended = sys::reap()?;
        if ended.pid == program {
            break ended.status;
        }
    };
    // Tests that fail have results too.
    let is_collected = status == 0 || spec.stage.is_some();
    if let Some(collection) = collection.filter(|_| is_collected) {
        // What is still running could change the files while they are read.
        if std::process::id() == 1 {
            sys::kill_all_others();
        } else {
            keeper::end_descendants(false);
        }
        let folder = if spec.stage.is_some() { results } else { "." };
        let collect = || artifacts::collect(Path::new(folder), collection);
        if let Some((name, file)) = verdict {
            sys::step(
                "collect",
                artifacts::collect_verdict(name, file, collection),
            )?;
        } else if spec.stage.is_none() {
            sys::step("collect", collect())?;
        } else if fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir()) {
            // On the host the program may have removed the folder, or put a link to another there.
            let _ = collect();
        }
    }
    report(fds.get(4), &format!("S{status}\n"));
    if config.tier.on_the_host() {
        // What the program left running. The cell makes sure once more, and removes the folder.
        keeper::end_descendants(false);
    }
    Ok(())
}

/// A fresh, empty working folder. In the tiers with namespaces it is a private `/tmp` of bounded
/// size, which vanishes with the namespace; on the host it is a folder below the cell's, whose path
/// is returned.
fn private_folder(
    config: &CellConfig,
    stage: Option<&StageSpec>,
    serial: u64,
) -> io::Result<Option<String>> {
    if config.tier == Tier::None {
        let folder = format!("{}/{serial}", config.scratch);
        sys::step(&folder, fs::create_dir(&folder))?;
        std::env::set_current_dir(&folder)?;
        return Ok(Some(folder));
    }
    if config.tier == Tier::Landlock {
        return config.confinement.private_folder(config, serial).map(Some);
    }
    // The private folder would hide what is shown below the host's /tmp: a suite may lie there.
    let shown = config
        .binds
        .iter()
        .filter(|path| path.starts_with("/tmp/") && Path::new(path).is_dir());
    let shown: Vec<(&String, OwnedFd)> = shown
        .map(|path| Ok((path, sys::clone_tree(path)?)))
        .collect::<io::Result<_>>()?;
    let options = match stage {
        Some(stage) => stage::memory_folder(stage.tmp_mb),
        None => format!(
            "size={}m,nr_inodes={},mode=700",
            config.tmp_mb, config.tmp_inodes
        ),
    };
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    sys::mount("tmpfs", "/tmp", flags, &options)?;
    for (path, tree) in shown {
        fs::create_dir_all(path)?;
        sys::attach_tree(&tree, path)?;
    }
    // Programs that need /proc fail without it, in their own words; the others need not care.
    // Read-only, since `/proc/PID/mem` lets a process change the code of any other of the job, such
    // as that of the agent or of the runner that reports its tests.
    let flags = flags | MountFlags::NOEXEC | MountFlags::RDONLY;
    let _ = sys::mount("proc", "/proc", flags, "subset=pid,hidepid=invisible");
    std::env::set_current_dir("/tmp")?;
    Ok(None)
}

/// In a cell for workspaces: mounts what the job sees, and takes the store away. Called in the
/// private folder.
fn prepare_stage(
    config: &CellConfig,
    spec: Option<&StageSpec>,
    overlay: Option<&OwnedFd>,
) -> io::Result<()> {
    if config.workspaces.is_none() {
        return Ok(());
    }
    if config.tier.on_the_host() {
        return match spec {
            Some(_) => [HOST_HOME, HOST_RESULTS]
                .into_iter()
                .try_for_each(fs::create_dir),
            None => Ok(()),
        };
    }
    if let Some(spec) = spec {
        stage::build(config, spec, overlay)?;
    }
    stage::detach_sources()
}

/// Turns the forked child into a fork server, which keeps the one capability that shutting jobs in
/// needs. Returns only when that fails.
pub(super) fn become_server(config: &CellConfig, fds: &[OwnedFd]) -> io::Result<()> {
    let bytes = fds.first().map(read_all).transpose()?.unwrap_or_default();
    let (spec, _) =
        decode_spec(&bytes).ok_or_else(|| io::Error::other("no specification was received"))?;
    place_and_become(fds, || {
        sys::raise_ambient(CapabilitySet::SYS_ADMIN)?;
        filter::attach(&mut filter::for_server(config.part))?;
        execute(&spec, &PathNames::default())
    });
    Ok(())
}

/// Puts the descriptors in their places and calls `program`, which returns only when it fails. A
/// failure goes to the status pipe.
fn place_and_become(fds: &[OwnedFd], program: impl FnOnce() -> io::Result<()>) {
    match place_descriptors(fds) {
        Err(e) => report(fds.get(4), &format!("F{e}\n")),
        Ok(status) => {
            if let Err(e) = program() {
                report(Some(status), &format!("F{e}\n"));
            }
        }
    }
}

/// Turns the forked child into the program. Returns only when that fails.
fn become_program(
    config: &CellConfig,
    spec: &ProcessSpec,
    folder: Option<&str>,
    serial: u64,
) -> io::Result<()> {
    let observer = spec.observed.then(place_observer).transpose()?;
    set_limits(&spec.limits, config)?;
    let confines = match config.tier {
        Tier::None => {
            sys::die_with_parent();
            None
        }
        Tier::Landlock => {
            config.confinement.confine(
                config,
                spec.stage.as_ref(),
                folder.unwrap_or_default(),
                serial,
            )?;
            Some(config.confinement.confines(config.workspaces.is_some()))
        }
        Tier::Userns | Tier::Rootns => {
            sys::drop_all_capabilities()?;
            Some(config.namespace_scope())
        }
    };
    match (confines, observer) {
        (Some(_), Some(observer)) => {
            let listener = filter::listen_to_all()?;
            super::channel::send(observer, b"L", &[listener.as_fd()])?;
        }
        (Some(confines), None) => filter::attach(&mut filter::program(confines, config.part))?,
        (None, _) => {}
    }
    match spec.built_in {
        Some(BuiltIn::Sql) => end_helper(super::sql::serve()),
        Some(BuiltIn::WorkspaceProbe) => end_helper(super::workspace::probe_inside()),
        None => {}
    }
    sys::set_dumpable(true);
    if spec.argv.is_empty() {
        if config.tier == Tier::Landlock {
            check_that_it_holds()?;
        }
        // A trial: everything is in place.
        end_helper(0);
    }
    execute(spec, &PathNames::of(spec, folder))
}

/// Moves the socket of an observed process to where its program does not have it.
fn place_observer() -> io::Result<BorrowedFd<'static>> {
    const FIRST_EXTRA: i32 = 3;
    let observer = sys::duplicate_until_exec(FIRST_EXTRA, filter::OBSERVER_FD)?;
    sys::close(FIRST_EXTRA);
    Ok(observer)
}

/// stdin, stdout, stderr as 0, 1, 2; the extra ones as 3, 4, ...; the status pipe at [`STATUS_FD`],
/// where `execve` closes it; everything else is closed.
fn place_descriptors(fds: &[OwnedFd]) -> io::Result<BorrowedFd<'static>> {
    let wanted: Vec<&OwnedFd> = fds
        .iter()
        .skip(1)
        .take(3)
        .chain(fds.iter().skip(FIXED_FDS))
        .collect();
    let status = fds
        .get(4)
        .ok_or_else(|| io::Error::other("no status pipe was received"))?;
    let _ = rustix::process::setsid();
    let status = sys::duplicate_until_exec(status.as_raw_fd(), STATUS_FD)?;
    for (i, fd) in (PARKING..).zip(&wanted) {
        sys::duplicate_to(fd.as_raw_fd(), i)?;
    }
    let count = wanted.len() as i32;
    for i in 0..count {
        sys::duplicate_to(PARKING + i, i)?;
    }
    let _ = sys::close_range(count, STATUS_FD - 1);
    let _ = sys::close_range(PARKING, i32::MAX);
    Ok(status)
}

fn set_limits(limits: &ProcessLimits, config: &CellConfig) -> io::Result<()> {
    let same = |resource, value| sys::set_limit(resource, value, value);
    // SIGXCPU at the soft limit can be caught; the hard one can't.
    let seconds = limits.cpu_seconds;
    sys::set_limit(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    same(Resource::Data, limits.data_bytes)?;
    same(Resource::As, limits.address_bytes)?;
    same(Resource::Fsize, limits.file_bytes)?;
    same(Resource::Nofile, limits.open_files)?;
    same(Resource::Core, 0)?;
    same(Resource::Memlock, 0)?;
    same(Resource::Msgqueue, 0)?;
    // The last two count by user, which may be everything the caller runs.
    match config.tier {
        Tier::None => Ok(()),
        Tier::Landlock => {
            let processes = config.confinement.processes(limits.processes);
            same(Resource::Nproc, processes)
        }
        // All of these jobs are one user of the machine's: the harness counts.
        Tier::Rootns if config.workspaces.is_some() => Ok(()),
        Tier::Userns | Tier::Rootns => {
            same(Resource::Nproc, limits.processes)?;
            same(Resource::Sigpending, 256)
        }
    }
}

/// What folders that jobs know by a fixed name are called on the host, where nothing can be mounted.
#[derive(Default)]
struct PathNames {
    /// Instead of `/tmp`.
    private: Option<String>,
    /// Of a job in a workspace: what stands for what.
    others: Vec<(String, String)>,
}

impl PathNames {
    fn of(spec: &ProcessSpec, folder: Option<&str>) -> PathNames {
        let mut names = PathNames {
            private: folder.map(str::to_owned),
            others: Vec::new(),
        };
        if let (Some(stage), Some(folder)) = (&spec.stage, folder) {
            names.others = vec![
                (WORKSPACE_HOME.to_owned(), format!("{folder}/{HOST_HOME}")),
                (
                    RESULTS_FOLDER.to_owned(),
                    format!("{folder}/{HOST_RESULTS}"),
                ),
            ];
            if let StageRoot::Folder(workspace) = &stage.root {
                let workspace = (WORKSPACE_FOLDER.to_owned(), workspace.clone());
                names.others.push(workspace);
            }
            let shown = stage.read_only.iter();
            let shown = shown.map(|bind| (bind.at.clone(), bind.from.clone()));
            names.others.extend(shown);
        }
        names
    }

    /// A path that begins with a fixed name, with the host's name in its place.
    fn translated<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.others.iter().find_map(|(name, place)| {
            let rest = text.strip_prefix(name.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{place}{rest}"))
        });
        found.map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

fn execute(spec: &ProcessSpec, names: &PathNames) -> io::Result<()> {
    if let Some(dir) = &spec.dir {
        let dir = names.translated(dir);
        sys::step(&dir, std::env::set_current_dir(&*dir))?;
    }
    let here = names.private.as_deref().unwrap_or("/tmp");
    let argv = spec
        .argv
        .iter()
        .map(|a| sys::c_string(&names.translated(a).replace('\0', here)))
        .collect::<io::Result<Vec<_>>>()?;
    let env = spec
        .env
        .iter()
        .map(|(name, value)| match (&names.private, value.as_str()) {
            // The private folder has another name when there is no private /tmp.
            (Some(folder), "/tmp") => sys::c_string(&format!("{name}={folder}")),
            _ => {
                let value = names.translated(value).replace('\0', here);
                sys::c_string(&format!("{name}={value}"))
            }
        })
        .collect::<io::Result<Vec<_>>>()?;
    let program = match (&spec.stage, argv.first()) {
        (_, None) => return Err(io::Error::other("the specification names no program")),
        (Some(_), Some(program)) => find_program(program, &env)?,
        (None, Some(program)) => program.clone(),
    };
    // The Rust runtime ignores SIGPIPE, and whoever is executed would inherit that.
    sys::set_signals(&[libc::SIGPIPE], libc::SIG_DFL);
    Err(sys::ExecArguments::new(program, argv, env).run())
}

/// A program by its name, in the folders of PATH as they are inside.
fn find_program(name: &CString, env: &[CString]) -> io::Result<CString> {
    if name.as_bytes().contains(&b'/') {
        return Ok(name.clone());
    }
    let path = env
        .iter()
        .find_map(|pair| pair.as_bytes().strip_prefix(b"PATH="))
        .unwrap_or_default();
    let named = OsStr::from_bytes(name.as_bytes());
    let runs = |program: &PathBuf| {
        fs::metadata(program)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = path
        .split(|byte| *byte == b':')
        .map(|folder| Path::new(OsStr::from_bytes(folder)).join(named))
        .find(runs);
    let found = found.ok_or_else(|| {
        io::Error::other(format!("it is not in {}", String::from_utf8_lossy(path)))
    })?;
    Ok(CString::new(found.into_os_string().into_vec())?)
}

/// Writes a line to the status pipe; nobody is left to tell when that fails.
pub(super) fn report(status: Option<impl AsFd>, line: &str) {
    if let Some(status) = status {
        let _ = rustix::io::write(status, line.as_bytes());
    }
}
