//! A job's side of a cell: the minder, and what the forked child does before it is the program.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::cell::read_all;
use super::confinement::check_that_it_holds;
use super::filter::{self, Confines};
use super::protocol::{BuiltIn, CellConfig, FIXED_FDS, ProcessLimits, ProcessSpec, decode_spec};
use super::{Tier, keeper, syscalls as sys};

/// Where the status pipe stands in the program's process until `execve`.
pub(super) const STATUS_FD: i32 = 199;
/// Descriptors are moved here, above all that came, before they are moved to their places.
const PARKING: i32 = STATUS_FD + 1;

/// The minder: makes the private folder, starts the program, waits for it, tells its status, cleans
/// up.
pub(super) fn mind(config: &CellConfig, fds: &[OwnedFd], serial: u64) -> io::Result<()> {
    let bytes = fds.first().map(read_all).transpose()?.unwrap_or_default();
    let (spec, files) =
        decode_spec(&bytes).ok_or_else(|| io::Error::other("no specification came"))?;
    let folder = private_folder(config, serial)?;
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
    if program == 0 {
        if let Err(e) = place_descriptors(fds) {
            report(fds, &format!("F{e}\n"));
        } else if let Err(e) = become_program(config, &spec, folder.as_deref(), serial) {
            write_line(STATUS_FD, &format!("F{e}\n"));
        }
        sys::exit_now(126);
    }
    // Only the program holds its streams now, so that their end means its end.
    for fd in fds.iter().take(4).chain(fds.iter().skip(FIXED_FDS)) {
        // SAFETY: these descriptors are not used again in this process, which ends without
        // destructors.
        unsafe { libc::close(fd.as_raw_fd()) };
    }
    let status = loop {
        let ended = sys::reap()?;
        if ended.pid == program {
            break ended.status;
        }
    };
    if let Some(collection) = collection.filter(|_| status == 0) {
        // What is still running could change the files while they are read.
        if std::process::id() == 1 {
            sys::kill_all_others();
        } else {
            keeper::end_descendants(false);
        }
        sys::step(
            "collect",
            super::artifacts::collect(Path::new("."), collection),
        )?;
    }
    report(fds, &format!("S{status}\n"));
    if config.tier.on_the_host() {
        // What the program left running. The cell makes sure once more, and removes the folder.
        keeper::end_descendants(false);
    }
    Ok(())
}

/// A fresh, empty working folder. In the tiers with namespaces it is a private `/tmp` of bounded
/// size, which vanishes with the namespace; on the host it is a folder below the cell's, whose path
/// is returned.
fn private_folder(config: &CellConfig, serial: u64) -> io::Result<Option<String>> {
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
    let options = format!(
        "size={}m,nr_inodes={},mode=700",
        config.tmp_mb, config.tmp_inodes
    );
    sys::mount(
        "tmpfs",
        "/tmp",
        "tmpfs",
        libc::MS_NOSUID | libc::MS_NODEV,
        &options,
    )?;
    for (path, tree) in shown {
        fs::create_dir_all(path)?;
        sys::attach_tree(&tree, path)?;
    }
    // Programs that need /proc fail without it, in their own words; the others need not care.
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let _ = sys::mount(
        "proc",
        "/proc",
        "proc",
        flags,
        "subset=pid,hidepid=invisible",
    );
    std::env::set_current_dir("/tmp")?;
    Ok(None)
}

/// Turns the forked child into a fork server, which keeps the one capability that shutting jobs in
/// needs. Returns only when that fails.
pub(super) fn become_server(config: &CellConfig, fds: &[OwnedFd]) -> io::Result<()> {
    let bytes = fds.first().map(read_all).transpose()?.unwrap_or_default();
    let (spec, _) = decode_spec(&bytes).ok_or_else(|| io::Error::other("no specification came"))?;
    place_descriptors(fds)?;
    sys::raise_ambient(sys::CAP_SYS_ADMIN)?;
    filter::attach(&mut filter::for_server(config.part))?;
    execute(&spec, None)
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
            config
                .confinement
                .confine(config, folder.unwrap_or_default(), serial)?;
            Some(config.confinement.confines())
        }
        Tier::Userns | Tier::Rootns => {
            sys::drop_all_capabilities()?;
            Some(Confines::Namespaces)
        }
    };
    match (confines, observer) {
        (Some(_), Some(observer)) => {
            let listener = filter::listen_to_all()?;
            super::channel::send(observer, b"L", &[listener.as_raw_fd()])?;
        }
        (Some(confines), None) => filter::attach(&mut filter::program(confines, config.part))?,
        (None, _) => {}
    }
    if let Some(BuiltIn::Sql) = spec.built_in {
        sys::exit_now(super::sql::serve());
    }
    sys::set_dumpable(true);
    if spec.argv.is_empty() {
        if config.tier == Tier::Landlock {
            check_that_it_holds()?;
        }
        // A trial: everything is in place.
        sys::exit_now(0);
    }
    execute(spec, folder)
}

/// Moves the socket of an observed process to where its program does not have it.
fn place_observer() -> io::Result<BorrowedFd<'static>> {
    const FIRST_EXTRA: i32 = 3;
    // SAFETY: integer arguments; the descriptor is open from here on until `execve` closes it.
    unsafe {
        let place = filter::OBSERVER_FD;
        sys::check(libc::dup3(FIRST_EXTRA, place, libc::O_CLOEXEC) as libc::c_long)?;
        libc::close(FIRST_EXTRA);
        Ok(BorrowedFd::borrow_raw(place))
    }
}

/// stdin, stdout, stderr as 0, 1, 2; the extra ones as 3, 4, ...; the status pipe at [`STATUS_FD`],
/// where `execve` closes it; everything else is closed.
fn place_descriptors(fds: &[OwnedFd]) -> io::Result<()> {
    let wanted: Vec<&OwnedFd> = fds
        .iter()
        .skip(1)
        .take(3)
        .chain(fds.iter().skip(FIXED_FDS))
        .collect();
    let status = fds
        .get(4)
        .ok_or_else(|| io::Error::other("no status pipe came"))?;
    // SAFETY: integer arguments only; the process ends without destructors or is replaced, so no
    // descriptor that is closed or overwritten here is used through its owner again.
    unsafe {
        libc::setsid();
        sys::check(libc::syscall(
            libc::SYS_dup3,
            status.as_raw_fd(),
            STATUS_FD,
            libc::O_CLOEXEC,
        ))?;
        for (i, fd) in (PARKING..).zip(&wanted) {
            sys::check(libc::dup2(fd.as_raw_fd(), i) as libc::c_long)?;
        }
        for i in 0..wanted.len() as i32 {
            sys::check(libc::dup2(PARKING + i, i) as libc::c_long)?;
        }
        libc::syscall(
            libc::SYS_close_range,
            wanted.len() as libc::c_uint,
            STATUS_FD - 1,
            0,
        );
        libc::syscall(libc::SYS_close_range, PARKING, libc::c_uint::MAX, 0);
    }
    Ok(())
}

fn set_limits(limits: &ProcessLimits, config: &CellConfig) -> io::Result<()> {
    let same = |resource, value| sys::set_limit(resource, value, value);
    // SIGXCPU at the soft limit can be caught; the hard one can't.
    sys::set_limit(
        libc::RLIMIT_CPU,
        limits.cpu_seconds,
        limits.cpu_seconds.saturating_add(1),
    )?;
    same(libc::RLIMIT_DATA, limits.data_bytes)?;
    same(libc::RLIMIT_AS, limits.address_bytes)?;
    same(libc::RLIMIT_FSIZE, limits.file_bytes)?;
    same(libc::RLIMIT_NOFILE, limits.open_files)?;
    same(libc::RLIMIT_CORE, 0)?;
    same(libc::RLIMIT_MEMLOCK, 0)?;
    same(libc::RLIMIT_MSGQUEUE, 0)?;
    // The last two count by user, which may be everything the caller runs.
    match config.tier {
        Tier::None => Ok(()),
        Tier::Landlock => same(
            libc::RLIMIT_NPROC,
            config.confinement.processes(limits.processes),
        ),
        Tier::Userns | Tier::Rootns => {
            same(libc::RLIMIT_NPROC, limits.processes)?;
            same(libc::RLIMIT_SIGPENDING, 256)
        }
    }
}

fn execute(spec: &ProcessSpec, folder: Option<&str>) -> io::Result<()> {
    if let Some(dir) = &spec.dir {
        sys::step(dir, std::env::set_current_dir(dir))?;
    }
    let here = folder.unwrap_or("/tmp");
    let argv = spec
        .argv
        .iter()
        .map(|a| sys::c_string(&a.replace('\0', here)))
        .collect::<io::Result<Vec<_>>>()?;
    let env = spec
        .env
        .iter()
        .map(|(name, value)| match (folder, value.as_str()) {
            // The private folder has another name when there is no private /tmp.
            (Some(folder), "/tmp") => sys::c_string(&format!("{name}={folder}")),
            _ => sys::c_string(&format!("{name}={value}")),
        })
        .collect::<io::Result<Vec<_>>>()?;
    let mut argv_pointers: Vec<_> = argv.iter().map(|a| a.as_ptr()).collect();
    argv_pointers.push(std::ptr::null());
    let mut env_pointers: Vec<_> = env.iter().map(|e| e.as_ptr()).collect();
    env_pointers.push(std::ptr::null());
    let program = argv.first().ok_or_else(|| io::Error::other("no program"))?;
    // The Rust runtime ignores SIGPIPE, and whoever is executed would inherit that.
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // SAFETY: both arrays are null-terminated and hold pointers to live strings. execve returns
    // only on failure.
    unsafe {
        libc::execve(
            program.as_ptr(),
            argv_pointers.as_ptr(),
            env_pointers.as_ptr(),
        )
    };
    Err(io::Error::last_os_error())
}

/// Writes a line to the status pipe; nobody is left to tell when that fails.
pub(super) fn report(fds: &[OwnedFd], line: &str) {
    if let Some(status) = fds.get(4) {
        write_line(status.as_raw_fd(), line);
    }
}

pub(super) fn write_line(fd: i32, line: &str) {
    // SAFETY: the pointer and length are those of a live string.
    unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
}
