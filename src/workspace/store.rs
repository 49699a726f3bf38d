//! Folders of workspaces on disk: layers that several runs share, and those of one process.
//!
//! `layers/KEY/` is complete when it is there; `live/NAME/` belongs to the process that holds the
//! lock of `live/NAME.lock`, and goes when nobody holds it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::model::Fingerprint;
use eval_base::files::{LockState, lock, lock_shared};
use eval_sandbox::WORKSPACE_USER;
use eval_workspace::remove_tree;

/// The format of what is stored.
const VERSION: &str = "v1";
const ROOTS_VERSION: &str = "v1-root";
/// Layers that no run has used for so long are removed.
const UNUSED: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How long a run waits for a layer that is being moved away.
const LAYER_PATIENCE: Duration = Duration::from_secs(10);

/// User and group of every folder: those that programs run as.
pub(super) type Owner = Option<(u32, u32)>;

#[derive(Debug)]
pub(super) struct WorkspaceStore {
    pub root: PathBuf,
    pub owner: Owner,
    live: PathBuf,
    serial: AtomicU64,
    /// Held as long as the process uses its folder.
    _lock: File,
}

impl WorkspaceStore {
    /// `parent` is the cache; `as_root` when this process is root, so that programs run as another
    /// user.
    pub fn open(parent: &Path, as_root: bool) -> io::Result<WorkspaceStore> {
        let owner = as_root.then_some((WORKSPACE_USER, WORKSPACE_USER));
        // Those of root belong to another user.
        let version = if as_root { ROOTS_VERSION } else { VERSION };
        let parent = parent.join("workspaces");
        fs::create_dir_all(&parent)?;
        let root = parent.canonicalize()?.join(version);
        for folder in [
            root.clone(),
            root.join("layers"),
            root.join("made"),
            root.join("live"),
        ] {
            make_own(&folder, owner)?;
        }
        let live = root.join("live");
        remove_abandoned(&live);
        remove_probes(&root);
        let (own, lock_file) = own_folder(&live)?;
        make_own(&own, owner)?;
        let store = WorkspaceStore {
            root,
            owner,
            live: own,
            serial: AtomicU64::new(0),
            _lock: lock_file,
        };
        store.remove_unused();
        Ok(store)
    }

    /// A new empty folder of this process, which goes with its value.
    pub fn place(&self) -> io::Result<LiveFolder> {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let path = self.live.join(serial.to_string());
        make_own(&path, self.owner)?;
        Ok(LiveFolder(path))
    }

    /// A new folder in one of this process.
    pub fn folder(&self, path: PathBuf) -> io::Result<PathBuf> {
        make_own(&path, self.owner)?;
        Ok(path)
    }

    pub fn layer(&self, key: &str) -> PathBuf {
        self.root.join("layers").join(key)
    }

    /// Whether a workspace was made of a definition before, whatever its source held then.
    pub fn was_made(&self, definition: &Fingerprint) -> bool {
        self.made(definition).exists()
    }

    /// Notes that a workspace was made of a definition. Best effort: without it, a source is copied to
    /// find out whether there is a layer of it.
    pub fn note_made(&self, definition: &Fingerprint) {
        let noted = File::create(self.made(definition));
        let _ = noted.and_then(|file| file.set_modified(SystemTime::now()));
    }

    fn made(&self, definition: &Fingerprint) -> PathBuf {
        self.root.join("made").join(definition.to_string())
    }

    /// Keeps other processes from removing a layer as long as the file is open.
    pub fn use_layer(&self, key: &str) -> io::Result<File> {
        let path = lock_of(&self.layer(key));
        loop {
            let file = File::create(&path)?;
            let pause = Duration::from_millis(20);
            if lock_shared(&file, LAYER_PATIENCE, pause)? == LockState::Busy {
                return Err(io::Error::other("another process is removing it"));
            }
            file.set_modified(SystemTime::now())?;
            // It may have been removed before it was locked.
            let is_there = |meta: fs::Metadata| Ok(meta.ino() == file.metadata()?.ino());
            if fs::metadata(&path).and_then(is_there).unwrap_or(false) {
                return Ok(file);
            }
        }
    }

    /// Takes away a layer that is not what it should be.
    pub fn discard_layer(&self, key: &str) -> io::Result<()> {
        let aside = self.place()?;
        match fs::rename(self.layer(key), aside.path().join("layer")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the folders of this process.
    pub fn remove_live(&self) {
        // Others may be at it, too. What can't be removed has its lock still, so that a later run
        // tries again.
        let removed = (0..10).any(|_| remove_tree(&self.live).is_ok() && !self.live.exists());
        if removed {
            let _ = fs::remove_file(lock_of(&self.live));
        }
    }

    fn remove_unused(&self) {
        let is_unused = |path: &Path| {
            let modified = fs::metadata(path).and_then(|meta| meta.modified()).ok();
            let age = modified.and_then(|then| then.elapsed().ok());
            age.is_some_and(|age| age > UNUSED)
        };
        let made = fs::read_dir(self.root.join("made"));
        for entry in made.into_iter().flatten().flatten() {
            if is_unused(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let layers = self.root.join("layers");
        for (lock_path, folder) in locked_folders(&layers) {
            if is_unused(&lock_path) {
                // Moved away first, so that no part of a layer is ever there.
                let aside = self.live.join(format!("unused-{}", random_name()));
                remove_if_free(&lock_path, || match fs::rename(&folder, &aside) {
                    Err(error) => error.kind() == io::ErrorKind::NotFound,
                    Ok(()) => true,
                });
                let _ = remove_tree(&aside);
            }
        }
    }
}

impl Drop for WorkspaceStore {
    fn drop(&mut self) {
        self.remove_live();
    }
}

/// The name of a new folder of this process, and its lock.
fn own_folder(live: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let own = live.join(format!("{}-{}", std::process::id(), random_name()));
        let path = lock_of(&own);
        let file = File::create_new(&path)?;
        // Another process may have taken it for abandoned before it was locked.
        if lock(&file, Duration::ZERO, Duration::ZERO)? != LockState::Busy && path.exists() {
            return Ok((own, file));
        }
    }
}

fn lock_of(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// A folder that is removed with its value.
#[derive(Debug)]
pub(super) struct LiveFolder(PathBuf);

impl LiveFolder {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LiveFolder {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.0);
        // Removing many files takes long; what is left over goes with the folder of the process.
        let remove = move || {
            let _ = remove_tree(&path);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// Makes a folder that only those may enter who run programs in it.
fn make_own(path: &Path, owner: Owner) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Neither rights nor an owner are given to what a link leads to.
    let meta = fs::symlink_metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    let is_ours = meta.uid() == own || owner.is_some_and(|(user, _)| meta.uid() == user);
    if !meta.is_dir() || !is_ours {
        let why = format!("{} is not a folder of this program", path.display());
        return Err(io::Error::other(why));
    }
    if let Some((user, group)) = owner {
        lchown(path, Some(user), Some(group))?;
    }
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Pairs of a lock and its folder, which may be missing.
fn locked_folders(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let locks = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|of| of == "lock"));
    locks
        .map(|path| (path.clone(), path.with_extension("")))
        .collect()
}

/// Removes trial mounts of processes that are gone.
fn remove_probes(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name
            .strip_prefix(".probe-")
            .and_then(|of| of.split('-').next());
        if process.is_some_and(|of| !Path::new("/proc").join(of).exists()) {
            let _ = remove_tree(&entry.path());
        }
    }
}

fn remove_abandoned(live: &Path) {
    for (lock_path, folder) in locked_folders(live) {
        remove_if_free(&lock_path, || remove_tree(&folder).is_ok());
    }
}

/// Removes what a lock is for, and then the lock, if nobody holds it.
fn remove_if_free(lock_path: &Path, remove: impl FnOnce() -> bool) {
    let held = File::open(lock_path).and_then(|file| {
        let state = lock(&file, Duration::ZERO, Duration::ZERO)?;
        Ok((file, state))
    });
    if let Ok((_file, LockState::Held)) = held
        && remove()
    {
        let _ = fs::remove_file(lock_path);
    }
}

pub(super) fn random_name() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let unguessable = std::hash::RandomState::new().build_hasher().finish();
    format!("{unguessable:016x}")
}
