//! The folder of a suite's baselines: on disk, or as it was at a revision.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::Against;
use eval_base::git::{self, CommittedFile, GitError};

/// The most that a large output beside its baseline may hold, in bytes.
pub(super) const MAX_OUTPUT_BYTES: u64 = 1 << 30;

/// Where baseline files are read from.
#[derive(Debug, Clone, Default)]
pub enum BaselineFolder {
    Disk(PathBuf),
    Revision(Arc<RevisionFolder>),
    /// No folder: it holds nothing.
    #[default]
    Nowhere,
}

/// A folder as it was at a commit.
#[derive(Debug)]
pub struct RevisionFolder {
    pub dir: PathBuf,
    /// As the user named it.
    pub rev: String,
    /// The full hash that it stands for.
    pub commit: String,
    files: BTreeMap<String, CommittedFile>,
}

impl RevisionFolder {
    /// Reads the files of `dir` (absolute) at a revision of the repository that holds it.
    ///
    /// # Errors
    /// Whatever git can't do, in words.
    pub fn read(dir: &Path, rev: &str) -> Result<RevisionFolder, GitError> {
        let there = dir
            .ancestors()
            .find(|dir| dir.is_dir())
            .unwrap_or(Path::new("/"));
        let commit = git::commit_of(there, rev)?;
        let files = git::folder(dir, &commit)?;
        Ok(RevisionFolder {
            dir: dir.to_owned(),
            rev: rev.to_owned(),
            commit,
            files,
        })
    }
}

impl BaselineFolder {
    pub fn dir(&self) -> &Path {
        match self {
            BaselineFolder::Disk(dir) => dir,
            BaselineFolder::Revision(revision) => &revision.dir,
            BaselineFolder::Nowhere => Path::new(""),
        }
    }

    /// The revision that it is of.
    pub(in crate::load) fn against(&self) -> Option<Against> {
        match self {
            BaselineFolder::Revision(revision) => Some(Against {
                rev: revision.rev.clone(),
                commit: revision.commit.clone(),
            }),
            BaselineFolder::Disk(_) | BaselineFolder::Nowhere => None,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// The names of its files, ascending. A folder that is not there holds none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let BaselineFolder::Disk(dir) = self else {
            return Ok(match self {
                BaselineFolder::Revision(revision) => revision.files.keys().cloned().collect(),
                BaselineFolder::Disk(_) | BaselineFolder::Nowhere => Vec::new(),
            });
        };
        let entries = match dir.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is no UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// How a file of it is shown: relative to where the user stands, with the revision that it is
    /// of.
    pub(super) fn display(&self, name: &str, cwd: &Path) -> String {
        let path = self.path(name);
        let shown = path.strip_prefix(cwd).unwrap_or(&path).display();
        match self {
            BaselineFolder::Disk(_) | BaselineFolder::Nowhere => shown.to_string(),
            BaselineFolder::Revision(revision) => format!("{}:{shown}", revision.rev),
        }
    }

    /// A command that brings back what git has of a file.
    pub(super) fn restore(&self, name: &str, cwd: &Path) -> String {
        match self {
            BaselineFolder::Disk(_) | BaselineFolder::Nowhere => {
                format!("`git checkout HEAD -- {}`", self.display(name, cwd))
            }
            BaselineFolder::Revision(_) => "use another revision".to_owned(),
        }
    }

    /// The bytes of a file; `None` when there is none of this name.
    ///
    /// # Errors
    /// In words: a folder, a link that leads elsewhere, no permission, more than `most` bytes.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
        match self {
            BaselineFolder::Nowhere => Ok(None),
            BaselineFolder::Disk(dir) => read_in(dir, name, most),
            BaselineFolder::Revision(revision) => match revision.files.get(name) {
                None => Ok(None),
                Some(CommittedFile::Link) => Err("it is a symbolic link there".to_owned()),
                Some(CommittedFile::File(bytes)) if bytes.len() as u64 > most => {
                    Err(too_large(most))
                }
                Some(CommittedFile::File(bytes)) => Ok(Some(bytes.clone())),
            },
        }
    }
}

fn read_in(dir: &Path, name: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
    let path = dir.join(name);
    // A pipe would keep us waiting, and a link is looked at before it is followed.
    let open = |path: &Path, flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match open(&path, libc::O_NONBLOCK | libc::O_NOFOLLOW) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            let real = path
                .canonicalize()
                .map_err(|error| format!("it is a symbolic link: {}", words(&error)))?;
            let inside = dir.canonicalize().is_ok_and(|dir| real.starts_with(dir));
            if !inside {
                return Err("it is a symbolic link that leads out of the folder".to_owned());
            }
            open(&real, libc::O_NONBLOCK)
        }
        opened => opened,
    };
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(words(&error)),
    };
    let meta = file.metadata().map_err(|error| words(&error))?;
    if meta.is_dir() {
        return Err("it is a folder, not a file".to_owned());
    }
    if !meta.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    if meta.len() > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0).saturating_add(1));
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| words(&error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(Some(bytes))
}

fn too_large(most: u64) -> String {
    format!("it is larger than {} MiB", most >> 20)
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
        ErrorKind::NotADirectory => "the folder of baselines is a file".to_owned(),
        ErrorKind::NotFound => "what it leads to is not there".to_owned(),
        _ => error.to_string(),
    }
}
