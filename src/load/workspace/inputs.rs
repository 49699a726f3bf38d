//! The files and folders of the project that workspaces are made of, as dependencies of an eval:
//! their content decides what targets find, and so the outputs.

use std::collections::{BTreeMap, btree_map::Entry};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::load::depends::stamp;
use crate::load::inputs::file_hash;
use crate::load::scope::SuiteScope;
use crate::model::{
    CaseWorkspace, Dependency, FileStamp, Fingerprint, WorkspaceFile, WorkspaceSource,
};

/// Paths by the names that plans have for them, each once. Texts, and commits of repositories, are
/// not among them: they are part of the hash of an input.
#[derive(Debug, Default)]
pub(in crate::load) struct WorkspaceInputs(BTreeMap<String, PathBuf>);

impl WorkspaceInputs {
    pub fn extend_of(&mut self, workspace: Option<&CaseWorkspace>) {
        let Some(workspace) = workspace else { return };
        let source = match &workspace.source {
            Some(WorkspaceSource::Dir { name, path } | WorkspaceSource::Archive { name, path }) => {
                Some((name, path))
            }
            Some(WorkspaceSource::Git { .. }) | None => None,
        };
        let files = workspace.files.values().filter_map(|file| match file {
            WorkspaceFile::File { name, path } => Some((name, path)),
            WorkspaceFile::Text(_) | WorkspaceFile::Absent => None,
        });
        for (name, path) in source.into_iter().chain(files) {
            if !self.0.contains_key(name) {
                self.0.insert(name.clone(), path.clone());
            }
        }
    }

    pub fn extend(&mut self, others: WorkspaceInputs) {
        self.0.extend(others.0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True for a dependency that is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn dependencies<'a>(
        &'a self,
        suite: &'a SuiteScope,
    ) -> impl Iterator<Item = Dependency> + 'a {
        self.0.iter().map(|(name, path)| Dependency {
            name: name.clone(),
            hash: suite.workspace_hashes.of(path, suite),
            workspace: true,
        })
    }
}

/// Hashes of files and folders that workspaces are made of. Evals share them, so that each is read
/// once.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct WorkspaceHashes(Arc<Mutex<BTreeMap<PathBuf, PathHash>>>);

#[derive(Debug)]
struct PathHash {
    /// Empty, which equals nothing, when something could not be read.
    hash: String,
    stamps: Vec<(PathBuf, FileStamp)>,
}

impl WorkspaceHashes {
    fn of(&self, path: &Path, suite: &SuiteScope) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.entry(path.to_owned()) {
            Entry::Occupied(known) => known.get().hash.clone(),
            Entry::Vacant(free) => free.insert(PathHash::of(path, suite)).hash.clone(),
        }
    }

    /// All files, as they were before their content was read.
    pub fn stamps(&self) -> Vec<(PathBuf, FileStamp)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = known.values().flat_map(|known| &known.stamps);
        stamps.cloned().collect()
    }
}

impl PathHash {
    fn of(path: &Path, suite: &SuiteScope) -> PathHash {
        if !path.is_dir() {
            let stamps = vec![(path.to_owned(), stamp(path))];
            let hash = file_kind(path).map(|kind| Fingerprint::of(&kind).to_string());
            let hash = hash.unwrap_or_default();
            return PathHash { hash, stamps };
        }
        // What runs write changes with every run.
        let results = suite.output_dir.canonicalize().ok();
        let results = results.filter(|results| !path.starts_with(results));
        let mut stamps = Vec::new();
        let hash = tree_hash(path, results.as_deref(), &mut stamps);
        let hash = hash.map_or_else(String::new, |hash| hash.to_string());
        PathHash { hash, stamps }
    }
}

/// Whether a file is executable, and the hash of its content.
fn file_kind(path: &Path) -> Option<String> {
    let is_program = path.metadata().ok()?.permissions().mode() & 0o100 != 0;
    let kind = if is_program { "program" } else { "file" };
    Some(format!("{kind} {}", file_hash(path)?))
}

/// Over the names, kinds, executable bits and contents of everything below a folder, except its
/// `.git` and `left_out`; `None` when something can't be read.
fn tree_hash(
    top: &Path,
    left_out: Option<&Path>,
    stamps: &mut Vec<(PathBuf, FileStamp)>,
) -> Option<Fingerprint> {
    let mut entries: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().ok()? {
            let entry = entry.ok()?;
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            let is_history = folder == top && entry.file_name() == ".git";
            if is_history || Some(path.as_path()) == left_out {
                continue;
            }
            let name = path.strip_prefix(top).ok()?.to_owned();
            let what = if kind.is_dir() {
                open.push(path);
                "folder".to_owned()
            } else if kind.is_symlink() {
                let target = path.read_link().ok()?;
                let target = Fingerprint::of_bytes(target.as_os_str().as_bytes());
                format!("link {target}")
            } else {
                stamps.push((path.clone(), stamp(&path)));
                file_kind(&path)?
            };
            entries.insert(name, what);
        }
    }
    let mut digest = Sha256::new();
    for (name, what) in &entries {
        let name = name.as_os_str().as_bytes();
        digest.update(format!("{} ", name.len()));
        digest.update(name);
        digest.update(format!(" {what}\n"));
    }
    Some(Fingerprint::of_digest(&digest.finalize()))
}
