//! Laying a patch in git's format on a folder or a template, with exact context.

mod parse;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::changes::FileMode;
use crate::folder::{Folder, read_up_to};
use crate::left::LeftEntry;
use crate::listing::TreeEntry;
use crate::path::WorkspacePath;
use crate::sections::object_id;
use crate::template::TemplateView;
use parse::{FileAction, FilePatch, PatchBody, PatchHunk};

/// Files that a patch changes are at most this long.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// A patch, and all contents that it makes together.
const MOST_PATCH_BYTES: usize = 16 << 20;
const MOST_WRITTEN_BYTES: u64 = 256 << 20;
/// The longest that the places of hunks are looked for.
const MOST_TIME: Duration = Duration::from_secs(30);

/// Why a patch was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The changed file, in git's quotes where it needs them.
    pub file: Option<String>,
    /// Counted from 1 in each file.
    pub hunk: Option<usize>,
    /// Of the patch, counted from 1.
    pub line: Option<usize>,
    pub reason: String,
}

impl std::fmt::Display for PatchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = self.file.as_ref().map(|file| format!("`{file}`"));
        let hunk = self.hunk.map(|hunk| format!("hunk {hunk}"));
        let line = self.line.map(|line| format!("line {line} of the patch"));
        let place: Vec<String> = [file, hunk, line].into_iter().flatten().collect();
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for PatchError {}

/// Applies a patch in git's format to the folder `tree`.
///
/// Every line of context has to be equal; a hunk may be at other lines than its header names. One of the
/// first line has to be at the beginning, one without lines after the change at the end (as
/// `git apply` requires). Paths begin with `a/` and `b/`. Nothing is written when a part of the
/// patch does not apply.
///
/// # Errors
/// What is not such a patch; contents that differ from the patch; paths that lead out, through a
/// link, or into `.git`; binary changes other than whole contents; errors of the file system, after
/// which the tree may be half patched.
pub fn apply_patch(tree: &Path, patch: &str) -> Result<(), PatchError> {
    let tree = Folder::open(tree).map_err(|error| PatchError::of(error.to_string()))?;
    patched(PatchBase::Folder(&tree), patch)?.write(&tree)
}

/// What a patch in git's format changes of a template, as [`apply_patch`] does: put on a copy of it, or
/// in a layer above it, in this order. Takes time for what the patch changes.
///
/// # Errors
/// As [`apply_patch`].
pub fn patch_template(
    template: &TemplateView,
    patch: &str,
) -> Result<Vec<(WorkspacePath, LeftEntry)>, PatchError> {
    patched(PatchBase::Template(template), patch)?.changes(template)
}

fn patched<'b>(base: PatchBase<'b>, patch: &str) -> Result<PatchedTree<'b>, PatchError> {
    // Who cuts blanks from the end of a text cuts the end of the last line.
    let patch = if patch.is_empty() || patch.ends_with('\n') {
        patch.to_owned()
    } else {
        format!("{patch}\n")
    };
    if patch.len() > MOST_PATCH_BYTES {
        return Err(PatchError::of("it is larger than 16 MiB"));
    }
    let files = parse::parse(&patch)?;
    let mut patching = PatchedTree {
        base,
        files: BTreeMap::new(),
        bytes: 0,
        end: Instant::now() + MOST_TIME,
        leaving: files
            .iter()
            .filter(|file| matches!(file.action, FileAction::Delete | FileAction::Rename))
            .map(|file| file.old.clone())
            .collect(),
    };
    for file in &files {
        patching.apply(file).map_err(|error| PatchError {
            file: Some(file.new.to_string()),
            line: error.line.or(Some(file.line)),
            ..error
        })?;
    }
    patching.check_created_folders()?;
    Ok(patching)
}

impl PatchError {
    fn of(reason: impl Into<String>) -> PatchError {
        PatchError {
            file: None,
            hunk: None,
            line: None,
            reason: reason.into(),
        }
    }
}

#[derive(Clone)]
struct PatchedFile {
    mode: FileMode,
    bytes: Vec<u8>,
}

/// What a patch is laid on.
#[derive(Clone, Copy)]
enum PatchBase<'b> {
    Folder(&'b Folder),
    Template(&'b TemplateView),
}

impl PatchBase<'_> {
    /// What is at a path, whose folders are there.
    fn kind(self, path: &WorkspacePath) -> io::Result<Option<FileType>> {
        match self {
            PatchBase::Folder(tree) => tree.below(path.parent().as_ref())?.kind(path.name()),
            PatchBase::Template(template) => Ok(template.get(path).map(|entry| match entry {
                TreeEntry::Folder => FileType::Directory,
                TreeEntry::File { .. } => FileType::RegularFile,
                TreeEntry::Link { .. } => FileType::Symlink,
            })),
        }
    }

    fn link(self, path: &WorkspacePath) -> io::Result<Vec<u8>> {
        match self {
            PatchBase::Folder(tree) => tree.below(path.parent().as_ref())?.link(path.name()),
            PatchBase::Template(template) => match template.get(path) {
                Some(TreeEntry::Link { target }) => Ok(target.clone()),
                _ => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// A file, and whether it is executable.
    fn file(self, path: &WorkspacePath) -> io::Result<(File, bool)> {
        match self {
            PatchBase::Folder(tree) => {
                let folder = tree.below(path.parent().as_ref())?;
                let file = folder.file(path.name())?;
                let executable = folder.status(path.name())?.st_mode & 0o100 != 0;
                Ok((file, executable))
            }
            PatchBase::Template(template) => {
                let executable = matches!(
                    template.get(path),
                    Some(TreeEntry::File { executable, .. }) if *executable
                );
                Ok((template.open(path)?, executable))
            }
        }
    }
}

struct PatchedTree<'b> {
    base: PatchBase<'b>,
    /// Files as they will be; `None`: removed.
    files: BTreeMap<WorkspacePath, Option<PatchedFile>>,
    /// Bytes of the contents that were made so far.
    bytes: u64,
    /// When it is given up.
    end: Instant,
    /// What any part of the patch removes, also a later one: a folder may be made there.
    leaving: HashSet<WorkspacePath>,
}

impl PatchedTree<'_> {
    fn apply(&mut self, patch: &FilePatch) -> Result<(), PatchError> {
        let old = match patch.action {
            FileAction::Create => PatchedFile {
                mode: patch.new_mode.unwrap_or(FileMode::Regular),
                bytes: Vec::new(),
            },
            _ => {
                let found = self.file(&patch.old)?;
                let found = found
                    .ok_or_else(|| PatchError::of(format!("`{}` does not exist", patch.old)))?;
                let says_link = patch.old_mode == Some(FileMode::Link);
                if says_link != (found.mode == FileMode::Link) {
                    let not = if says_link { "not " } else { "" };
                    return Err(PatchError::of(format!("`{}` is {not}a link", patch.old)));
                }
                found
            }
        };
        let creates = !matches!(patch.action, FileAction::Change | FileAction::Delete);
        if creates && self.file(&patch.new)?.is_some() {
            return Err(PatchError::of("exists already"));
        }
        let bytes = match &patch.body {
            PatchBody::Hunks(hunks) => apply_hunks(&old.bytes, hunks, self.end)?,
            PatchBody::Binary(bytes) => {
                let is = |id: &str, bytes: &[u8]| {
                    id == object_id(bytes) || id.bytes().all(|digit| digit == b'0')
                };
                let Some((before, after)) = patch.ids else {
                    return Err(PatchError::of(
                        "a binary change requires full object ids in its `index` line",
                    ));
                };
                if !is(before, &old.bytes) {
                    return Err(PatchError::of(
                        "the file differs from the one that the patch was made from",
                    ));
                }
                if !is(after, bytes) {
                    return Err(PatchError::of(
                        "the new content does not match its object id",
                    ));
                }
                bytes.clone()
            }
        };
        if patch.action == FileAction::Delete {
            if !bytes.is_empty() {
                return Err(PatchError::of(
                    "the patch deletes the file but does not remove all of its lines",
                ));
            }
            self.files.insert(patch.old.clone(), None);
            return Ok(());
        }
        if patch.action == FileAction::Rename {
            self.files.insert(patch.old.clone(), None);
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > MOST_WRITTEN_BYTES {
            return Err(PatchError::of("the patched files exceed 256 MiB"));
        }
        let mode = patch.new_mode.unwrap_or(old.mode);
        if (mode == FileMode::Link) != (old.mode == FileMode::Link) {
            return Err(PatchError::of(
                "a change of mode can't turn a file into a link",
            ));
        }
        if mode == FileMode::Link && (bytes.is_empty() || bytes.contains(&0)) {
            return Err(PatchError::of("not the target of a link"));
        }
        self.check_folders(&patch.new)?;
        self.files
            .insert(patch.new.clone(), Some(PatchedFile { mode, bytes }));
        Ok(())
    }

    /// What the patch so far makes of a path; `None` for folders, too.
    fn file(&self, path: &WorkspacePath) -> Result<Option<PatchedFile>, PatchError> {
        if let Some(file) = self.files.get(path) {
            return Ok(file.clone());
        }
        if !self.check_folders(path)? {
            return Ok(None);
        }
        let failed = |error: io::Error| PatchError::of(format!("`{path}`: {error}"));
        let (mode, bytes) = match self.base.kind(path).map_err(failed)? {
            None | Some(FileType::Directory) => return Ok(None),
            Some(FileType::Symlink) => (FileMode::Link, self.base.link(path).map_err(failed)?),
            Some(FileType::RegularFile) => {
                let (file, executable) = self.base.file(path).map_err(failed)?;
                let bytes = read_up_to(file, MOST_FILE_BYTES).map_err(failed)?;
                let bytes = bytes
                    .ok_or_else(|| PatchError::of(format!("`{path}` is larger than 64 MiB")))?;
                (FileMode::of_file(executable), bytes)
            }
            Some(_) => return Err(PatchError::of(format!("`{path}` is not a file"))),
        };
        Ok(Some(PatchedFile { mode, bytes }))
    }

    /// Whether the folders of a path exist now.
    ///
    /// # Errors
    /// One of them is something else, which the patch does not remove.
    fn check_folders(&self, path: &WorkspacePath) -> Result<bool, PatchError> {
        let failed = |error: io::Error| PatchError::of(format!("`{path}`: {error}"));
        let mut parents: Vec<WorkspacePath> = path.parents().collect();
        parents.reverse();
        for parent in parents {
            let removed = self.leaving.contains(&parent);
            match self.base.kind(&parent).map_err(failed)? {
                Some(FileType::Directory) => {}
                Some(FileType::Symlink) if !removed => {
                    return Err(PatchError::of(format!("`{parent}` is a link")));
                }
                Some(_) if !removed => {
                    return Err(PatchError::of(format!("`{parent}` is not a folder")));
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// No file is in a folder that becomes a file.
    fn check_created_folders(&self) -> Result<(), PatchError> {
        for path in self
            .files
            .iter()
            .filter(|(_, file)| file.is_some())
            .map(|(path, _)| path)
        {
            let mut parents = path.parents();
            if let Some(parent) =
                parents.find(|parent| matches!(self.files.get(parent), Some(Some(_))))
            {
                return Err(PatchError {
                    file: Some(path.to_string()),
                    ..PatchError::of(format!("`{parent}` is not a folder"))
                });
            }
        }
        Ok(())
    }

    /// What is different from the template: what is gone first.
    fn changes(
        self,
        template: &TemplateView,
    ) -> Result<Vec<(WorkspacePath, LeftEntry)>, PatchError> {
        let is_file = |path: &&WorkspacePath| {
            let entry = template.get(path);
            entry.is_some_and(|entry| *entry != TreeEntry::Folder)
        };
        let mut gone: BTreeSet<WorkspacePath> =
            self.files.keys().filter(is_file).cloned().collect();
        let folders: BTreeSet<WorkspacePath> =
            gone.iter().flat_map(WorkspacePath::parents).collect();
        // As git does with folders that it leaves empty; the inner ones come first.
        for folder in folders.into_iter().rev() {
            if template.below(&folder).all(|(path, _)| gone.contains(path)) {
                gone.insert(folder);
            }
        }
        let mut made = Vec::new();
        for (path, file) in self.files {
            let Some(file) = file else { continue };
            let is_needed = template
                .below(&path)
                .any(|(below, _)| !gone.contains(below));
            if template.get(&path) == Some(&TreeEntry::Folder) && is_needed {
                return Err(PatchError::at(&path, &io::Error::from(Errno::EXIST)));
            }
            gone.remove(&path);
            path.parents().for_each(|folder| {
                gone.remove(&folder);
            });
            let entry = match file.mode {
                FileMode::Link => LeftEntry::Link { target: file.bytes },
                mode => LeftEntry::File {
                    executable: mode == FileMode::Executable,
                    content: file.bytes,
                },
            };
            made.push((path, entry));
        }
        let gone = gone.into_iter().map(|path| (path, LeftEntry::Nothing));
        Ok(gone.chain(made).collect())
    }

    fn write(&self, tree: &Folder) -> Result<(), PatchError> {
        for path in self.files.keys().rev() {
            remove(tree, path).map_err(|error| PatchError::at(path, &error))?;
        }
        for (path, file) in &self.files {
            if let Some(file) = file {
                create(tree, path, file).map_err(|error| PatchError::at(path, &error))?;
            }
        }
        Ok(())
    }
}

/// Removes a file, and as git does the folders that it leaves empty.
fn remove(tree: &Folder, path: &WorkspacePath) -> io::Result<()> {
    let folder = match tree.below(path.parent().as_ref()) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(());
        }
        folder => folder?,
    };
    if matches!(folder.kind(path.name())?, None | Some(FileType::Directory)) {
        return Ok(());
    }
    folder.remove(path.name())?;
    for parent in path.parents() {
        let around = tree.below(parent.parent().as_ref())?;
        if !around.remove_empty(parent.name()) {
            break;
        }
    }
    Ok(())
}

fn create(tree: &Folder, path: &WorkspacePath, file: &PatchedFile) -> io::Result<()> {
    let mut folder = tree.below(None)?;
    for part in path.parent().iter().flat_map(WorkspacePath::parts) {
        folder = folder.make_folder(part)?;
    }
    // Left empty by what was removed; git needs the place, too.
    folder.remove_empty(path.name());
    match file.mode {
        FileMode::Link => folder.make_link(path.name(), &file.bytes),
        mode => {
            let mut created = folder.create(path.name(), mode == FileMode::Executable)?;
            created.write_all(&file.bytes)
        }
    }
}

impl PatchError {
    fn at(path: &WorkspacePath, error: &io::Error) -> PatchError {
        PatchError {
            file: Some(path.to_string()),
            ..PatchError::of(error.to_string())
        }
    }
}

fn apply_hunks(old: &[u8], hunks: &[PatchHunk], end: Instant) -> Result<Vec<u8>, PatchError> {
    // Lines that a hunk wrote are no context of a later one.
    let mut image: Vec<(&[u8], bool)> = old
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| (line, false))
        .collect();
    for (number, hunk) in (1..).zip(hunks) {
        if Instant::now() > end {
            return Err(PatchError::of("it takes too long to apply"));
        }
        let place = find(&image, hunk).ok_or_else(|| PatchError {
            hunk: Some(number),
            line: Some(hunk.line),
            ..PatchError::of("the lines before the change are not in the file")
        })?;
        let lines = hunk.new.iter().map(|line| (line.as_bytes(), true));
        image.splice(place..place + hunk.old.len(), lines);
    }
    Ok(image
        .into_iter()
        .flat_map(|(line, _)| line)
        .copied()
        .collect())
}

/// Where the lines of a hunk are, nearest to the line that its header names.
fn find(image: &[(&[u8], bool)], hunk: &PatchHunk) -> Option<usize> {
    let last = image.len().checked_sub(hunk.old.len())?;
    let fits = |place: &usize| {
        let lines = &image[*place..*place + hunk.old.len()];
        (hunk.old_start > 1 || *place == 0)
            && (hunk.trailing || *place == last)
            && lines
                .iter()
                .zip(&hunk.old)
                .all(|((line, written), old)| !written && *line == old.as_bytes())
    };
    let expected = hunk.new_start.saturating_sub(1).min(last);
    let before = (0..=expected).rev();
    let mut after = expected + 1..=last;
    let mut nearest = before
        .flat_map(|place| [Some(place), after.next()])
        .flatten();
    let found = nearest.find(fits);
    found.or_else(|| after.find(fits))
}
