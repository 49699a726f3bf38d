//! What a workspace begins with: the source, files on top, and what its setup changed, made once and
//! shared by all samples.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::store::{LiveFolder, WorkspaceStore};
use super::{WorkspaceFault, WorkspaceMode};
use crate::model::{CaseWorkspace, Cause, WorkspaceFile, WorkspaceSource};
use eval_base::text::hex;
use eval_workspace::{
    CopyRules, Listing, PathGlobs, TemplateView, TreeEntry, TreeError, WorkspacePath, copy_tree,
    list_source, list_tree, move_files, remove_below, write_file,
};

/// Repositories in a source: their histories hold what was hidden, and the files of tomorrow.
pub(super) const HISTORIES: &str = "**/.git";

/// Bytes of one file that is laid on a workspace.
const FILE_BYTES: u64 = 64 << 20;

/// Complete folders from which workspaces are made.
#[derive(Debug)]
pub(super) struct WorkspaceTemplate {
    /// Of an overlay, the topmost first: what the setup changed, if it did, and the files.
    pub layers: Vec<PathBuf>,
    /// The hidden files, and nothing else.
    pub hidden: PathBuf,
    /// Paths of the files and links that targets see, and of the hidden ones.
    pub files: [Vec<WorkspacePath>; 2],
    pub view: TemplateView,
    /// SHA-256 (hex) over `view`.
    pub digest: String,
    /// The same over `hidden`.
    pub hidden_digest: String,
    /// The same over the files before the setup ran, in an overlay.
    pub files_digest: [u8; 32],
    /// Hidden and protected paths: tests run with what the template has of them.
    pub kept_globs: PathGlobs,
    /// What [`WorkspaceTemplate::watched`] found.
    pub watched: Mutex<WatchedFiles>,
    /// Keeps other processes from removing the layers.
    pub _used: Option<File>,
}

/// Files that stay as they are while tests run, by the globs of tests and of steering files.
type WatchedFiles = HashMap<[Vec<String>; 2], Arc<Vec<WorkspacePath>>>;

impl WorkspaceTemplate {
    /// Files that stay as they are while tests run: those that the globs fit, and protected and hidden
    /// ones. Of many files this takes longer than small tests, so it is found once.
    pub fn watched(
        &self,
        globs_of: [&[String]; 2],
    ) -> Result<Arc<Vec<WorkspacePath>>, WorkspaceFault> {
        let mut known = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let key = globs_of.map(<[String]>::to_vec);
        if let Some(found) = known.get(&key) {
            return Ok(Arc::clone(found));
        }
        let [tests, steering] = [globs(&key[0])?, globs(&key[1])?];
        let fits = |path: &&WorkspacePath| {
            tests.fit(path) || steering.fit(path) || self.kept_globs.fit(path)
        };
        let [shown, hidden] = &self.files;
        let found = shown.iter().filter(fits).chain(hidden).cloned();
        let found = Arc::new(found.collect::<Vec<_>>());
        known.insert(key, Arc::clone(&found));
        Ok(found)
    }

    /// The same after its layer moved.
    pub fn moved(self, from: &Path, to: &Path) -> WorkspaceTemplate {
        let moved = |path: PathBuf| {
            path.strip_prefix(from)
                .map(|name| to.join(name))
                .unwrap_or(path)
        };
        WorkspaceTemplate {
            layers: self.layers.into_iter().map(moved).collect(),
            hidden: moved(self.hidden),
            ..self
        }
    }

    /// SHA-256 (hex) of the hidden files, if there are any.
    pub fn hidden_files_digest(&self) -> Option<String> {
        let [_, hidden] = &self.files;
        (!hidden.is_empty()).then(|| self.hidden_digest.clone())
    }

    /// Copies what a target sees into an empty folder.
    pub fn copy_to(
        &self,
        folder: &Path,
        owner: Option<(u32, u32)>,
    ) -> Result<(), eval_workspace::TreeError> {
        self.view.write_tree(folder, &PathGlobs::default(), owner)
    }

    /// Refuses a working folder that is not there, or that hidden files alone are in. What is behind a
    /// link is not looked at.
    pub fn check_cwd(&self, cwd: &str) -> Result<(), WorkspaceFault> {
        let Ok(folder) = WorkspacePath::new(cwd.as_bytes()) else {
            return Ok(());
        };
        let is_link =
            |path: &WorkspacePath| matches!(self.view.get(path), Some(TreeEntry::Link { .. }));
        match self.view.get(&folder) {
            Some(TreeEntry::Folder) => Ok(()),
            _ if is_link(&folder) || folder.parents().any(|path| is_link(&path)) => Ok(()),
            _ => {
                let reason = format!("`cwd`: the workspace has no folder `{cwd}`");
                Err(fault(reason).lasting())
            }
        }
    }
}

/// The files of a template before its setup ran.
pub(super) struct StagedFiles {
    pub place: LiveFolder,
    pub tree: PathBuf,
    pub layer: LayerKey,
}

/// Which stored layer is the one.
pub(super) struct LayerKey {
    /// What the layer is stored under: over all that it is made of.
    pub name: String,
    /// Of the files that targets see before the setup, and of the hidden ones.
    pub digests: [[u8; 32]; 2],
}

impl LayerKey {
    /// `surroundings`: what else a setup depends on.
    fn new(
        [shown, hidden]: [&Listing; 2],
        workspace: &CaseWorkspace,
        mode: &WorkspaceMode,
        owner: Option<(u32, u32)>,
        surroundings: &str,
    ) -> LayerKey {
        let mut key = Sha256::new();
        let setup = (
            (&workspace.setup, &workspace.env, &workspace.cwd),
            &workspace.hidden,
            (workspace.network, workspace.limits),
            (mode.name(), owner, surroundings),
        );
        let digests = [shown.digest(), hidden.digest()];
        digests.iter().for_each(|digest| key.update(digest));
        key.update(serde_json::to_vec(&setup).unwrap_or_default());
        LayerKey {
            name: hex(&key.finalize()),
            digests,
        }
    }
}

pub(super) fn fault(reason: impl Into<String>) -> WorkspaceFault {
    WorkspaceFault::new(Cause::SetupFailed, reason)
}

pub(super) fn globs(patterns: &[String]) -> Result<PathGlobs, WorkspaceFault> {
    PathGlobs::new(patterns).map_err(|error| fault(error.to_string()))
}

/// Copies the source, lays the files on top, and takes the hidden files apart.
pub(super) fn stage(
    store: &WorkspaceStore,
    workspace: &CaseWorkspace,
    mode: &WorkspaceMode,
    surroundings: &str,
) -> Result<StagedFiles, WorkspaceFault> {
    let root = store.root.display();
    let made = |error: io::Error| fault(format!("cannot create a workspace in {root}: {error}"));
    let place = store.place().map_err(made)?;
    let tree = store.folder(place.path().join("tree")).map_err(made)?;
    let hidden = store.folder(place.path().join("hidden")).map_err(made)?;
    let mut listing = match &workspace.source {
        Some(source) => copy_source(source, workspace, &tree, &place, store)?,
        None => Listing::default(),
    };
    let mut is_known = true;
    for (name, file) in &workspace.files {
        let path = WorkspacePath::new(name.as_bytes()).map_err(|e| fault(e.to_string()))?;
        let content = content_of(file);
        let content = content.map_err(|why| fault(format!("cannot read {why}")))?;
        is_known = is_known && lay(&mut listing, &path, content.as_ref());
        let put = match &content {
            None => remove_below(&tree, &path),
            Some((content, executable)) => {
                write_file(&tree, &path, content, *executable, store.owner)
            }
        };
        put.map_err(|error| fault(format!("cannot write `{name}` to the workspace: {error}")))?;
    }
    let hidden_globs = globs(&workspace.hidden)?;
    move_files(&tree, &hidden, &hidden_globs, store.owner)
        .map_err(|error| fault(format!("cannot hide files: {error}")))?;
    let (shown, taken) = match is_known {
        true => listing.split(&hidden_globs),
        false => (list(&tree)?, list(&hidden)?),
    };
    let layer = LayerKey::new([&shown, &taken], workspace, mode, store.owner, surroundings);
    Ok(StagedFiles { place, tree, layer })
}

/// The layer that [`stage`] would come to, found without a copy: a layer of the same name was made
/// of the same contents. `None` if only
/// a copy can show it.
pub(super) fn foreseen(
    store: &WorkspaceStore,
    workspace: &CaseWorkspace,
    mode: &WorkspaceMode,
    surroundings: &str,
) -> Option<LayerKey> {
    let mut files = match &workspace.source {
        None => Listing::default(),
        Some(WorkspaceSource::Dir { path, .. }) => {
            list_source(path, &copy_rules(path, workspace, store).ok()?).ok()?
        }
        Some(WorkspaceSource::Git { .. } | WorkspaceSource::Archive { .. }) => return None,
    };
    for (name, file) in &workspace.files {
        let path = WorkspacePath::new(name.as_bytes()).ok()?;
        let content = content_of(file).ok()?;
        lay(&mut files, &path, content.as_ref()).then_some(())?;
    }
    let (shown, hidden) = files.split(&globs(&workspace.hidden).ok()?);
    let listings = [&shown, &hidden];
    let key = LayerKey::new(listings, workspace, mode, store.owner, surroundings);
    Some(key)
}

/// A file that is laid on a workspace, and whether it is executable; `None` for one that is left out.
type LaidContent<'w> = Option<(Cow<'w, [u8]>, bool)>;

fn content_of(file: &WorkspaceFile) -> Result<LaidContent<'_>, String> {
    Ok(match file {
        WorkspaceFile::Absent => None,
        WorkspaceFile::Text(text) => Some((Cow::Borrowed(text.as_bytes()), false)),
        WorkspaceFile::File { name, path } => {
            let read = read_file(path).map_err(|error| format!("{name}: {error}"))?;
            Some((Cow::Owned(read.0), read.1))
        }
    })
}

/// Lists a file as it is laid on the tree; false where that depends on what a link leads to.
fn lay(files: &mut Listing, path: &WorkspacePath, content: Option<&(Cow<'_, [u8]>, bool)>) -> bool {
    let is_folder = |path| {
        let entry = files.get(&path);
        entry.is_none_or(|entry| *entry == TreeEntry::Folder)
    };
    if !path.parents().all(is_folder) {
        return false;
    }
    match content {
        None => files.remove(path),
        Some((content, executable)) => files.put(path.clone(), content, *executable),
    }
    true
}

pub(super) fn list(tree: &Path) -> Result<Listing, WorkspaceFault> {
    list_tree(tree).map_err(|error| fault(format!("the workspace can't be created: {error}")))
}

fn read_file(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    use std::os::unix::fs::PermissionsExt as _;
    let file = eval_base::files::open_file(path)?;
    let metadata = file.metadata()?;
    if metadata.len() > FILE_BYTES {
        return Err(io::Error::other("it is larger than 64 MiB"));
    }
    let executable = metadata.permissions().mode() & 0o100 != 0;
    Ok((eval_base::files::read_bytes(path)?, executable))
}

fn copy_source(
    source: &WorkspaceSource,
    workspace: &CaseWorkspace,
    tree: &Path,
    place: &LiveFolder,
    store: &WorkspaceStore,
) -> Result<Listing, WorkspaceFault> {
    let copied = |from: &Path, name: &str| {
        // The top of the project.
        let name = if name.is_empty() { "." } else { name };
        copy_tree(from, tree, &copy_rules(from, workspace, store)?).map_err(|error| {
            let root = store.root.display();
            let hint = match &error {
                TreeError::Special { path, .. } | TreeError::OutsideLink { path, .. } => {
                    format!("; `exclude: [{path}]` in `from` leaves it out")
                }
                _ => String::new(),
            };
            fault(format!("cannot copy {name} to {root}: {error}{hint}"))
        })
    };
    match source {
        WorkspaceSource::Dir { name, path } => copied(path, name),
        WorkspaceSource::Git { name, path, commit } => {
            let out = place.path().join("checkout");
            eval_base::git::check_out(path, commit, &out, place.path()).map_err(|error| {
                let hint = error.hint().map(|hint| format!("; {hint}"));
                let hint = hint.unwrap_or_default();
                fault(format!("cannot get {commit} of {name}: {error}{hint}"))
            })?;
            copied(&out, name)
        }
        WorkspaceSource::Archive { name, path } => {
            let out = place.path().join("archive");
            let most = CopyRules::default().max_bytes;
            super::archive::unpack(path, &out, most)
                .map_err(|why| fault(format!("cannot unpack {name}: {why}")))?;
            copied(&out, name)
        }
    }
}

/// What of a source is copied.
fn copy_rules(
    from: &Path,
    workspace: &CaseWorkspace,
    store: &WorkspaceStore,
) -> Result<CopyRules, WorkspaceFault> {
    // What runs write is no part of a project; it holds what other targets answered.
    let inside = workspace
        .results
        .iter()
        .chain([&store.root])
        .filter_map(|folder| folder.canonicalize().ok())
        .filter_map(|folder| {
            let below = folder.strip_prefix(from).ok()?.to_owned();
            WorkspacePath::new(below.as_os_str().as_encoded_bytes()).ok()
        });
    let left_out = [&workspace.exclude[..], &[HISTORIES.to_owned()]].concat();
    Ok(CopyRules {
        leave_out: globs(&left_out)?.with_paths(inside),
        owner: store.owner,
        keep_rights: true,
        leave_out_results: true,
        ..CopyRules::default()
    })
}
