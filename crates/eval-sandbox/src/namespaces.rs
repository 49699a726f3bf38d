//! Builds, once per cell, the namespaces and the read-only root that its jobs see.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, capabilities};

use super::channel::{pipe, read_some};
use super::own_limits::end_helper;
use super::protocol::CellConfig;
use super::settings::{WORKSPACE_USER, WorkspaceNetwork};
use super::{Tier, stage, syscalls as sys};

/// The user and group that jobs see themselves as, in the userns tier.
pub(super) const INNER_ID: u32 = 1000;
/// `nobody`, whom INNER_ID stands for when the harness runs as root: mapped to the host's root,
/// files that only root may read would stay readable and RLIMIT_NPROC would be switched off.
const NOBODY: u32 = WORKSPACE_USER;
/// In the rootns tier RLIMIT_NPROC counts processes by user over the whole machine, so each cell
/// has a user of its own, from a range that no account uses.
const FIRST_ROOTNS_ID: u32 = 0x7000_0000;
/// Where the new root is put together, in a mount namespace that nobody else sees.
const STAGE: &str = "/tmp";
/// Holds what lies below the host's `/tmp`, where a job has a `/tmp` of its own.
const BEHIND_TMP: &str = "/.tmp";

const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWNET)
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWCGROUP);

/// A host path that goes into the new root.
enum MountSource {
    Tree { tree: OwnedFd, is_dir: bool },
    Link(std::path::PathBuf),
}

/// Everything before the pid namespace: afterwards the caller is an unprivileged user with
/// capabilities over its own namespaces only, and the root stands ready under [`STAGE`]. `Ok(false)`:
/// jobs in workspaces will have no loopback device.
pub(super) fn build(config: &CellConfig) -> io::Result<bool> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let online = has_network(config);
    let namespaces = if online {
        NAMESPACES - UnshareFlags::NEWNET
    } else {
        NAMESPACES
    };
    match config.tier {
        Tier::Userns if uid == 0 => enter_user_namespace_as_root(namespaces)?,
        Tier::Userns => enter_user_namespace(namespaces, uid, gid)?,
        _ => sys::unshare(namespaces)?,
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    sys::step("make / private", mount_change(c"/", private))?;
    let loopback = online || config.workspaces.is_none() || sys::raise_loopback().is_ok();
    let sources = clone_sources(&config.binds)?;
    let workspaces = clone_workspace_sources(config)?;
    let (places, below): (Vec<String>, Vec<String>) = below_tmp(&config.binds).into_iter().unzip();
    let again = places.into_iter().zip(clone_sources(&below)?);
    if uid == 0 {
        match config.tier {
            Tier::Userns => become_user(INNER_ID)?,
            // One job reads what another one has left in its workspace.
            _ if config.workspaces.is_some() => become_user(WORKSPACE_USER)?,
            // In a container the range may not exist.
            _ => become_user(FIRST_ROOTNS_ID + std::process::id() % 1_000_000)
                .or_else(|_| become_user(NOBODY))?,
        }
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    sys::mount("tmpfs", STAGE, flags, "size=1m,mode=755")?;
    for (path, source) in sources {
        place(&path, source)?;
    }
    for (path, (_, source)) in again {
        place(&path, source)?;
    }
    furnish(&stage::mount_points(config), online)?;
    place_workspace_sources(&workspaces)?;
    Ok(loopback)
}

fn has_network(config: &CellConfig) -> bool {
    let workspaces = config.workspaces.as_ref();
    workspaces.is_some_and(|workspaces| workspaces.network == WorkspaceNetwork::All)
}

/// The store and the source folders of workspaces, as [`clone_sources`] does it.
fn clone_workspace_sources(config: &CellConfig) -> io::Result<Vec<OwnedFd>> {
    let Some(workspaces) = &config.workspaces else {
        return Ok(Vec::new());
    };
    let mut trees = Vec::new();
    for (i, path) in std::iter::once(&workspaces.store)
        .chain(&workspaces.sources)
        .enumerate()
    {
        let path = path.to_str();
        let path = path.ok_or_else(|| io::Error::other("a folder's path is not UTF-8"))?;
        let tree = sys::clone_tree(path)?;
        let read_only = if i == 0 { 0 } else { libc::MOUNT_ATTR_RDONLY };
        let attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | read_only;
        sys::set_mount_attributes(tree.as_fd(), c"", attributes, true)?;
        trees.push(tree);
    }
    Ok(trees)
}

/// Puts them where each job takes them away again once its workspace is mounted.
fn place_workspace_sources(trees: &[OwnedFd]) -> io::Result<()> {
    if trees.is_empty() {
        return Ok(());
    }
    let place = format!("{STAGE}{}", stage::SOURCES);
    sys::step(&place, fs::create_dir(&place))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    sys::mount("tmpfs", &place, flags, "size=64k,mode=700")?;
    for (i, tree) in trees.iter().enumerate() {
        let place = format!("{place}/{i}");
        fs::create_dir(&place)?;
        sys::attach_tree(tree, &place)?;
    }
    Ok(())
}

/// The folders among `binds` that a job's own `/tmp` hides, the outermost ones, and before each the
/// place where a cell shows it once more: from there a fork server's jobs put it back.
pub(super) fn below_tmp(binds: &[String]) -> Vec<(String, String)> {
    let below = |path: &&String| path.starts_with("/tmp/") && Path::new(path).is_dir();
    let found: Vec<&String> = binds.iter().filter(below).collect();
    let inner = |path: &&String| {
        found
            .iter()
            .any(|other| other != path && Path::new(path).starts_with(Path::new(other)))
    };
    let outer = found.iter().copied().filter(|path| !inner(path));
    outer
        .enumerate()
        .map(|(i, path)| (format!("{BEHIND_TMP}/{i}"), path.clone()))
        .collect()
}

/// Descriptors of the source trees, taken while the caller still has its own rights: an interpreter
/// below a private home can be reached now and not later.
fn clone_sources(binds: &[String]) -> io::Result<Vec<(String, MountSource)>> {
    let mut sources = Vec::new();
    for path in binds {
        let Ok(meta) = fs::symlink_metadata(path) else {
            continue;
        };
        if meta.file_type().is_symlink() {
            sources.push((path.clone(), MountSource::Link(fs::read_link(path)?)));
            continue;
        }
        // Shared mappings of /dev/zero are memory that nothing bounds; /dev/full reads the same and
        // can't be mapped.
        let tree = sys::clone_tree(if path == "/dev/zero" {
            "/dev/full"
        } else {
            path
        })?;
        let device = if path.starts_with("/dev/") {
            libc::MOUNT_ATTR_NOEXEC
        } else {
            libc::MOUNT_ATTR_NODEV
        };
        let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | device;
        sys::set_mount_attributes(tree.as_fd(), c"", attributes, true)?;
        sources.push((
            path.clone(),
            MountSource::Tree {
                tree,
                is_dir: meta.is_dir(),
            },
        ));
    }
    Ok(sources)
}

fn place(path: &str, source: MountSource) -> io::Result<()> {
    let target = format!("{STAGE}{path}");
    if let Some(parent) = Path::new(&target).parent() {
        sys::step(
            &format!("create {}", parent.display()),
            fs::create_dir_all(parent),
        )?;
    }
    match source {
        // A link may already stand inside a tree that was placed before.
        MountSource::Link(to) => match std::os::unix::fs::symlink(to, &target) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => sys::step(&target, Err(e)),
            _ => Ok(()),
        },
        MountSource::Tree { tree, is_dir } => {
            // Below a tree that was placed before, the place exists and can't be written.
            if !Path::new(&target).exists() {
                let made = if is_dir {
                    fs::create_dir_all(&target)
                } else {
                    fs::write(&target, "")
                };
                sys::step(&format!("create {target}"), made)?;
            }
            sys::attach_tree(&tree, &target)
        }
    }
}

/// The small files and links that programs expect, and empty folders at `mount_points`.
fn furnish(mount_points: &[String], online: bool) -> io::Result<()> {
    for dir in ["/tmp", "/proc", "/.p/proc", "/etc", "/dev"]
        .into_iter()
        .chain(mount_points.iter().map(String::as_str))
    {
        let dir = format!("{STAGE}{dir}");
        sys::step(&dir, fs::create_dir_all(&dir))?;
    }
    let links = [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("shm", "/tmp"),
    ];
    for (name, target) in links {
        std::os::unix::fs::symlink(target, format!("{STAGE}/dev/{name}"))?;
    }
    let files = [
        (
            "passwd",
            "sandbox:x:1000:1000::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        ),
        ("group", "sandbox:x:1000:\nnogroup:x:65534:\n"),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n",
        ),
        ("hosts", "127.0.0.1 localhost sandbox\n"),
    ];
    for (name, text) in files {
        fs::write(format!("{STAGE}/etc/{name}"), text)?;
    }
    if online {
        // The host's is often a link to a file that is not shown.
        let servers = fs::read("/etc/resolv.conf").unwrap_or_default();
        fs::write(format!("{STAGE}/etc/resolv.conf"), servers)?;
        let order = "passwd: files\ngroup: files\nhosts: files dns\n";
        fs::write(format!("{STAGE}/etc/nsswitch.conf"), order)?;
    }
    let _ = rustix::system::sethostname(b"sandbox");
    Ok(())
}

/// Inside the pid namespace, as its first process: makes the stage the root. `Ok(false)`: jobs will
/// have no `/proc`.
pub(super) fn enter_root() -> io::Result<bool> {
    std::env::set_current_dir(STAGE)?;
    // The kernel lets a user namespace mount a proc only where one is already fully visible. This
    // one stands behind a folder that nobody may enter.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let proc_works = sys::mount("proc", "./.p/proc", flags, "").is_ok();
    sys::pivot_here()?;
    fs::set_permissions("/.p", fs::Permissions::from_mode(0o000))?;
    let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    sys::set_mount_attributes(rustix::fs::CWD, c"/", attributes, false)?;
    Ok(proc_works)
}

fn enter_user_namespace(namespaces: UnshareFlags, uid: u32, gid: u32) -> io::Result<()> {
    sys::unshare(namespaces | UnshareFlags::NEWUSER)?;
    sys::step("setgroups", fs::write("/proc/self/setgroups", "deny"))?;
    sys::step(
        "uid_map",
        fs::write("/proc/self/uid_map", format!("{INNER_ID} {uid} 1\n")),
    )?;
    sys::step(
        "gid_map",
        fs::write("/proc/self/gid_map", format!("{INNER_ID} {gid} 1\n")),
    )
}

/// Root maps INNER_ID to `nobody`, which only a process that stays in the outer user namespace may
/// write.
fn enter_user_namespace_as_root(namespaces: UnshareFlags) -> io::Result<()> {
    let (go_read, go_write) = pipe()?;
    let (done_read, done_write) = pipe()?;
    let me = std::process::id();
    if sys::fork()?.is_none() {
        sys::die_with_parent();
        drop(go_write);
        let mut byte = [0u8; 1];
        // The end without a byte means that unshare failed.
        if let Ok(Some(1)) = read_some(go_read.as_fd(), &mut byte) {
            let map = format!("{INNER_ID} {NOBODY} 1\n");
            let written = fs::write(format!("/proc/{me}/gid_map"), &map)
                .and_then(|()| fs::write(format!("/proc/{me}/uid_map"), &map));
            if written.is_ok() {
                let _ = rustix::io::write(&done_write, &[1]);
            }
        }
        end_helper(0);
    }
    drop(done_write);
    drop(go_read);
    let unshared = sys::unshare(namespaces | UnshareFlags::NEWUSER);
    let told = unshared.is_ok().then(|| rustix::io::write(&go_write, &[1]));
    drop(go_write);
    let mut byte = [0u8; 1];
    let mapped = read_some(done_read.as_fd(), &mut byte);
    sys::reap()?;
    unshared?;
    match (told, mapped) {
        (Some(Ok(_)), Ok(Some(1))) => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "uid_map: the kernel refused the write",
        )),
    }
}

/// Changes from root to `id` and keeps the capabilities.
fn become_user(id: u32) -> io::Result<()> {
    sys::become_user(id, true)?;
    // The change cleared the effective ones and the wish to end with the parent.
    sys::set_capabilities(capabilities(None)?.permitted)?;
    sys::die_with_parent();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_folders_below_tmp_are_put_back() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        for name in ["venv/lib", "venv-2"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("file"), "").unwrap();
        let binds = [
            path("venv/lib"),
            "/usr".into(),
            path("venv"),
            path("venv-2"),
            path("file"),
            path("no"),
        ];
        let found = [
            ("/.tmp/0".to_owned(), path("venv")),
            ("/.tmp/1".to_owned(), path("venv-2")),
        ];
        assert_eq!(below_tmp(&binds), found);
    }
}
