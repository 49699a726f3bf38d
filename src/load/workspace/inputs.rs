//! The files and folders of the project that workspaces are made of, as dependencies of an eval:
//! their content decides what targets find, and so the outputs.

use std::collections::{BTreeMap, btree_map::Entry};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eval_workspace::{PathGlobs, WorkspacePath, remove_results};
use sha2::{Digest, Sha256};

use super::globs_of;
use crate::load::depends::stamp;
use crate::load::inputs::file_hash;
use crate::load::scope::SuiteScope;
use crate::model::{
    CaseWorkspace, Dependency, FileStamp, Fingerprint, WorkspaceFile, WorkspaceSource,
};

/// Paths by the names that plans have for them, each once. Texts, and commits of repositories, are
/// not among them: they are part of the hash of an input.
#[derive(Debug, Default)]
pub(in crate::load) struct WorkspaceInputs(BTreeMap<String, InputPath>);

/// A file or a folder, with the globs of what is left out of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct InputPath {
    path: PathBuf,
    exclude: Vec<String>,
}

impl WorkspaceInputs {
    pub fn extend_of(&mut self, workspace: Option<&CaseWorkspace>) {
        let Some(workspace) = workspace else { return };
        let source = match &workspace.source {
            Some(WorkspaceSource::Dir { name, path }) => {
                Some((name, path, workspace.exclude.clone()))
            }
            Some(WorkspaceSource::Archive { name, path }) => Some((name, path, Vec::new())),
            Some(WorkspaceSource::Git { .. }) | None => None,
        };
        let files = workspace.files.values().filter_map(|file| match file {
            WorkspaceFile::File { name, path } => Some((name, path, Vec::new())),
            WorkspaceFile::Text(_) | WorkspaceFile::Absent => None,
        });
        for (name, path, exclude) in source.into_iter().chain(files) {
            let path = path.clone();
            self.add(name, InputPath { path, exclude });
        }
    }

    pub fn extend(&mut self, others: WorkspaceInputs) {
        for (name, input) in others.0 {
            self.add(&name, input);
        }
    }

    /// Of one folder, only what all workspaces leave out is left out.
    fn add(&mut self, name: &str, input: InputPath) {
        match self.0.get_mut(name) {
            // Of another project, to whose root the name is relative.
            Some(known) if known.path != input.path => {
                let name = format!("{name} ({})", input.path.display());
                self.0.insert(name, input);
            }
            Some(known) => known.exclude.retain(|glob| input.exclude.contains(glob)),
            None => drop(self.0.insert(name.to_owned(), input)),
        }
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
        self.0.iter().map(|(name, input)| Dependency {
            name: name.clone(),
            hash: suite.workspace_hashes.of(input, suite),
            workspace: true,
        })
    }
}

/// Hashes of files and folders that workspaces are made of. Evals share them, so that each is read
/// once.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct WorkspaceHashes(Arc<Mutex<BTreeMap<InputPath, PathHash>>>);

#[derive(Debug)]
struct PathHash {
    /// Empty, which equals nothing, when something could not be read.
    hash: String,
    stamps: Vec<(PathBuf, FileStamp)>,
}

impl WorkspaceHashes {
    fn of(&self, input: &InputPath, suite: &SuiteScope) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.entry(input.clone()) {
            Entry::Occupied(known) => known.get().hash.clone(),
            Entry::Vacant(free) => free.insert(PathHash::of(input, suite)).hash.clone(),
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
    fn of(InputPath { path, exclude }: &InputPath, suite: &SuiteScope) -> PathHash {
        if !path.is_dir() {
            let stamps = vec![(path.clone(), stamp(path))];
            let hash = file_kind(path).map(|kind| Fingerprint::of(&kind).to_string());
            let hash = hash.unwrap_or_default();
            return PathHash { hash, stamps };
        }
        // What runs write changes with every run.
        let results = suite.output_dir.canonicalize().ok();
        let results = results.filter(|results| !path.starts_with(results));
        let mut stamps = Vec::new();
        let excluded = globs_of(exclude);
        let hash = tree_hash(path, results.as_deref(), &excluded, &mut stamps);
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

/// The names in a folder, without what runs wrote.
fn copied_names(folder: &Path) -> Option<Vec<Vec<u8>>> {
    let names_of = |folder: &Path| -> io::Result<Vec<Vec<u8>>> {
        let entries = folder.read_dir()?;
        let names = entries.map(|entry| Ok(entry?.file_name().into_vec()));
        names.collect()
    };
    let mut names = names_of(folder).ok()?;
    remove_results(&mut names, |day| {
        names_of(&folder.join(OsStr::from_bytes(day)))
    });
    Some(names)
}

/// Over the names, kinds, executable bits and contents of everything below a folder, except its
/// `.git`, `left_out` and what `excluded` fits; `None` when something can't be read.
fn tree_hash(
    top: &Path,
    left_out: Option<&Path>,
    excluded: &PathGlobs,
    stamps: &mut Vec<(PathBuf, FileStamp)>,
) -> Option<Fingerprint> {
    let mut entries: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for name in copied_names(&folder)? {
            let path = folder.join(OsStr::from_bytes(&name));
            let kind = path.symlink_metadata().ok()?.file_type();
            let is_history = folder == top && name == b".git";
            if is_history || Some(path.as_path()) == left_out {
                continue;
            }
            let name = path.strip_prefix(top).ok()?.to_owned();
            let inner = WorkspacePath::new(name.as_os_str().as_bytes());
            if inner.is_ok_and(|inner| excluded.fit(&inner)) {
                continue;
            }
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
