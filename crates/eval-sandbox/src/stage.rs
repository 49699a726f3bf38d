//! What a job in a workspace sees: its minder mounts the workspace, a fresh home and the folder of
//! results, and then lets go of the store.
//!
//! A cell has the store and the source folders below [`SOURCES`]. Each job runs in a mount
//! namespace that is a copy of the cell's, so that what is mounted here ends with the job. The
//! overlay keeps its layers when the store is detached, and the program can't reach them any more.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, unmount,
};

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::protocol::{CellConfig, StageBind, StageRoot, StageSpec};
use super::settings::WORKSPACE_USER;
use super::syscalls as sys;
use super::types::{RESULTS_FOLDER, WORKSPACE_FOLDER, WORKSPACE_HOME, WorkspaceMount};

/// Where a cell has the store (as `0`) and the source folders (from `1` on).
pub(super) const SOURCES: &str = "/.sources";
/// Size of the folder of results.
const RESULTS_MB: u64 = 16;
/// Files in a folder in memory, for each MiB of its size.
const FILES_PER_MB: u64 = 128;
/// The kernel takes one page of mount options and cuts the rest off.
const MOST_OPTIONS: usize = 4095;

const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
const ATTRIBUTES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Folders that a workspace cell has for what jobs mount.
pub(super) fn mount_points(config: &CellConfig) -> Vec<String> {
    let Some(workspaces) = &config.workspaces else {
        return Vec::new();
    };
    let fixed = [WORKSPACE_FOLDER, WORKSPACE_HOME, RESULTS_FOLDER];
    let sources = workspaces.sources.iter().filter_map(|path| path.to_str());
    // A job has its own /tmp and makes folders there itself.
    let sources = sources.filter(|path| !Path::new(path).starts_with("/tmp"));
    fixed
        .into_iter()
        .chain(sources)
        .map(str::to_owned)
        .collect()
}

/// Options of a private folder in memory.
pub(super) fn memory_folder(megabytes: u64) -> String {
    let files = megabytes.saturating_mul(FILES_PER_MB);
    format!("size={megabytes}m,nr_inodes={files},mode=700")
}

/// Mounts everything. The caller's `/tmp` is the job's; `overlay` is what the harness made.
pub(super) fn build(
    config: &CellConfig,
    stage: &StageSpec,
    overlay: Option<&OwnedFd>,
) -> io::Result<()> {
    sys::mount("tmpfs", WORKSPACE_HOME, SAFE, &memory_folder(stage.tmp_mb))?;
    sys::mount("tmpfs", RESULTS_FOLDER, SAFE, &memory_folder(RESULTS_MB))?;
    // Short names, since the options have to fit in a page.
    std::env::set_current_dir(SOURCES)?;
    match &stage.root {
        StageRoot::Overlay {
            lowers,
            upper,
            work,
        } => mount_overlay(lowers, upper, work)?,
        StageRoot::Folder(path) => {
            let tree = sys::clone_tree(path)?;
            sys::set_mount_attributes(tree.as_fd(), c"", ATTRIBUTES, true)?;
            sys::attach_tree(&tree, WORKSPACE_FOLDER)?;
        }
        StageRoot::Mounted => {
            let overlay = overlay.ok_or_else(|| io::Error::other("no overlay was received"))?;
            sys::attach_tree(overlay, WORKSPACE_FOLDER)?;
        }
    }
    show_read_only(config, &stage.read_only)
}

/// Takes the store and the source folders away from the caller's mount namespace.
pub(super) fn detach_sources() -> io::Result<()> {
    std::env::set_current_dir("/tmp")?;
    sys::step("detach the store", unmount(SOURCES, UnmountFlags::DETACH))
}

/// Makes an overlay that can rename the folders of its layers and is mounted nowhere. For root:
/// the kernel doesn't do it in a user namespace.
pub(super) fn open_overlay(mount: &WorkspaceMount) -> io::Result<OwnedFd> {
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, path, flags, Mode::empty())
    };
    let work = mount.work.to_str();
    let work = fresh_folder(work.ok_or_else(|| io::Error::other("a path is not UTF-8"))?)?;
    let lowers = mount.lowers.iter().map(|path| open(path));
    let lowers: Vec<OwnedFd> = lowers.collect::<Result<_, _>>()?;
    let (upper, work) = (open(&mount.upper)?, open(Path::new(&work))?);
    let system = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // The kernel takes texts of up to 255 bytes, which a path may exceed.
    let set = |key: &str, folder: &OwnedFd| {
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        sys::step(key, fsconfig_set_string(&system, key, path))
    };
    // Since Linux 6.5.
    lowers
        .iter()
        .try_for_each(|lower| set("lowerdir+", lower))?;
    set("upperdir", &upper)?;
    set("workdir", &work)?;
    for (key, value) in [
        ("redirect_dir", "on"),
        ("metacopy", "off"),
        ("index", "off"),
    ] {
        sys::step(key, fsconfig_set_string(&system, key, value))?;
    }
    sys::step("volatile", fsconfig_set_flag(&system, "volatile"))?;
    sys::step("mount an overlay", create_with_few_rights(&system))?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mounted = fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes);
    sys::step("fsmount", mounted)
}

/// An overlay works with the rights of who made it: not with those that let root use the part of a
/// disk that is reserved for it.
fn create_with_few_rights(system: &OwnedFd) -> io::Result<()> {
    let before = capabilities(None)?;
    let few = CapabilitySets {
        effective: CapabilitySet::SYS_ADMIN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::CHOWN
            | CapabilitySet::FOWNER
            | CapabilitySet::FSETID,
        ..before
    };
    // Both are the calling thread's only.
    let made = sys::write_files_as(WORKSPACE_USER)
        .and_then(|()| Ok(set_capabilities(None, few)?))
        .and_then(|()| Ok(fsconfig_create(system)?));
    sys::write_files_as(0)?;
    set_capabilities(None, before)?;
    made
}

fn mount_overlay(lowers: &[String], upper: &str, work: &str) -> io::Result<()> {
    let work = fresh_folder(work)?;
    let options = overlay_options(lowers, upper, &work)?;
    let mount =
        |more: &str| sys::mount("overlay", WORKSPACE_FOLDER, SAFE, &(options.clone() + more));
    // Without `volatile` the end of each job would write the whole disk's pending changes.
    match mount(",volatile") {
        // Older than Linux 5.10.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => mount(""),
        mounted => mounted,
    }
}

/// A folder that did not exist: the kernel refuses one that was used with `volatile`.
fn fresh_folder(below: &str) -> io::Result<String> {
    let mut serial = 0u32;
    loop {
        let path = format!("{below}/{serial}");
        match std::fs::create_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => serial += 1,
            made => return sys::step(&path, made).map(|()| path),
        }
    }
}

fn overlay_options(lowers: &[String], upper: &str, work: &str) -> io::Result<String> {
    let escaped = |path: &str, special: &[char]| {
        let mut text = String::with_capacity(path.len());
        for c in path.chars() {
            if special.contains(&c) {
                text.push('\\');
            }
            text.push(c);
        }
        text
    };
    let lowers: Vec<String> = lowers
        .iter()
        .map(|path| escaped(path, &['\\', ',', ':']))
        .collect();
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr,index=off",
        lowers.join(":"),
        escaped(upper, &['\\', ',']),
        escaped(work, &['\\', ','])
    );
    if options.len() + ",volatile".len() > MOST_OPTIONS {
        return Err(io::Error::other("the workspace has too many layers"));
    }
    Ok(options)
}

fn show_read_only(config: &CellConfig, binds: &[StageBind]) -> io::Result<()> {
    let sources = config.workspaces.iter().flat_map(|w| &w.sources);
    // A source folder that is not in the root has an empty folder in its place, where the caller
    // can't write.
    let hidden: Vec<&str> = sources
        .filter_map(|path| path.to_str())
        .filter(|source| {
            let source = Path::new(source);
            let shown = config.binds.iter().any(|bind| source.starts_with(bind));
            !shown
                && !source.starts_with("/tmp")
                && binds
                    .iter()
                    .any(|bind| Path::new(&bind.at).starts_with(source))
        })
        .collect();
    for source in &hidden {
        sys::mount("tmpfs", source, SAFE, "size=64k,mode=755")?;
    }
    for bind in binds {
        let tree = sys::clone_tree(&bind.from)?;
        let attributes = ATTRIBUTES | libc::MOUNT_ATTR_RDONLY;
        sys::set_mount_attributes(tree.as_fd(), c"", attributes, true)?;
        let is_folder = File::from(tree.try_clone()?).metadata()?.is_dir();
        let place = sys::step(&bind.at, mount_point(&bind.at, is_folder))?;
        sys::attach_tree_to(&tree, &place, &bind.at)?;
    }
    for source in &hidden {
        let source = sys::c_string(source)?;
        let attributes = ATTRIBUTES | libc::MOUNT_ATTR_RDONLY;
        sys::set_mount_attributes(CWD, &source, attributes, false)?;
    }
    Ok(())
}

/// Opens the place for a mount without following a link, which in a workspace may lead anywhere.
/// What is missing is made.
fn mount_point(path: &str, is_folder: bool) -> io::Result<OwnedFd> {
    let folder = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, "/", folder, Mode::empty())?;
    let mut components = Path::new(path).components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else {
            continue;
        };
        let is_file = components.peek().is_none() && !is_folder;
        let flags = if is_file {
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC
        } else {
            folder
        };
        let open = || openat(&at, name, flags, Mode::empty());
        at = match open() {
            Err(Errno::NOENT) if is_file => {
                let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                openat(&at, name, create, Mode::RUSR | Mode::WUSR)?;
                open()?
            }
            Err(Errno::NOENT) => {
                mkdirat(
                    &at,
                    name,
                    Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH,
                )?;
                open()?
            }
            opened => opened?,
        };
        if is_file && !File::from(at.try_clone()?).metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlay_options_escape_what_separates_them() {
        let lowers = ["0/a:b".to_owned(), "0/c,d".to_owned()];
        assert_eq!(
            overlay_options(&lowers, "0/u,:p", "0/w").unwrap(),
            "lowerdir=0/a\\:b:0/c\\,d,upperdir=0/u\\,:p,workdir=0/w,userxattr,index=off"
        );
        let many = vec!["0/layers/0123456789abcdef/tree".to_owned(); 150];
        assert!(overlay_options(&many, "u", "w").is_err());
    }

    #[test]
    fn mount_point_follows_no_link_and_makes_what_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let at = |name: &str| place.join(name).to_str().unwrap().to_owned();
        std::os::unix::fs::symlink("/etc", at("link")).unwrap();
        assert!(mount_point(&at("link/passwd"), false).is_err());
        assert!(mount_point(&at("link"), false).is_err());
        assert!(mount_point(&at("link"), true).is_err());
        mount_point(&at("a/b/file"), false).unwrap();
        mount_point(&at("a/b/folder"), true).unwrap();
        assert!(place.join("a/b/file").is_file() && place.join("a/b/folder").is_dir());
        assert!(mount_point(&at("a/b/folder"), false).is_err());
        assert!(mount_point(&at("a/b/file/x"), false).is_err());
    }
}
