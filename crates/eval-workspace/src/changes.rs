//! The changes of a workspace as a program reports them: lists of paths, and for each file what
//! changed in it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edits::{AfterContent, AfterEntry, WorkspaceEdits};
use crate::error::TreeError;
use crate::folder::{Sha256Digest, leads_out, read_up_to, sha256};
use crate::listing::TreeEntry;
use crate::path::{PathGlobs, WorkspacePath};
use crate::sections::{Section, SectionSide, SideContent};

/// What changed in a workspace: files and symbolic links; folders have no changes of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceChanges {
    /// Sorted. A renamed file is here under its new path, and in `deleted` under its old one.
    pub added: Vec<WorkspacePath>,
    pub modified: Vec<WorkspacePath>,
    pub deleted: Vec<WorkspacePath>,
    /// One for each changed file, sorted by path; at most as many as the bounds allow.
    pub files: Vec<FileChange>,
    /// FIFOs, sockets and devices.
    pub special: Vec<WorkspacePath>,
    /// Added or changed links that lead out of the workspace, or could.
    pub outside_links: Vec<WorkspacePath>,
    /// Whether there are more changed paths than those listed.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    pub path: WorkspacePath,
    pub kind: ChangeKind,
    /// `None` for an added file.
    pub old_mode: Option<FileMode>,
    /// `None` for a deleted file.
    pub new_mode: Option<FileMode>,
    pub content: ChangedContent,
    /// The size now; 0 for a deleted file.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// Moved with an equal content.
    Renamed {
        from: WorkspacePath,
    },
}

/// Modes as git has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FileMode {
    #[serde(rename = "100644")]
    Regular,
    #[serde(rename = "100755")]
    Executable,
    #[serde(rename = "120000")]
    Link,
}

impl FileMode {
    pub(crate) const ALL: [FileMode; 3] = [FileMode::Regular, FileMode::Executable, FileMode::Link];

    pub fn as_str(self) -> &'static str {
        match self {
            FileMode::Regular => "100644",
            FileMode::Executable => "100755",
            FileMode::Link => "120000",
        }
    }

    pub(crate) fn of_file(executable: bool) -> FileMode {
        if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        }
    }
}

/// What changed in the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangedContent {
    Unchanged,
    /// Numbers of lines.
    Text {
        added: u64,
        removed: u64,
    },
    /// Not UTF-8, or with zero bytes.
    Binary,
    /// Not compared, because it is larger than the bounds.
    TooLarge,
}

/// A diff in git's format, which `git apply` and [`apply_patch`](crate::apply_patch) take.
///
/// Contents that are not UTF-8 or hold a zero byte are binary patches (the new content only, so that
/// they do not apply in reverse).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffText {
    pub text: String,
    /// Whether changes are missing: files that are too large (shown as `Binary files ... differ`),
    /// and files for which there was no room.
    pub truncated: bool,
}

/// How much is compared and kept.
#[derive(Debug, Clone)]
pub struct CompareBounds {
    /// Paths in each of the lists.
    pub paths: usize,
    /// Files whose contents are compared.
    pub files: usize,
    /// Bytes of a text, old or new.
    pub text_bytes: u64,
    pub text_lines: usize,
    /// Bytes of a binary file, old or new.
    pub binary_bytes: u64,
    /// Bytes of files that are read, in all.
    pub read_bytes: u64,
    /// Bytes of the diff.
    pub diff_bytes: usize,
    /// For the comparison of one file, and of all; afterwards whole blocks are replaced.
    pub file_time: Duration,
    pub time: Duration,
}

impl Default for CompareBounds {
    /// 100,000 paths, 10,000 files, texts of 4 MiB and 100,000 lines, binary files of 1 MiB, 256 MiB
    /// of reading, a diff of 8 MiB, half a second for a file and 5 seconds in all.
    fn default() -> Self {
        CompareBounds {
            paths: 100_000,
            files: 10_000,
            text_bytes: 4 << 20,
            text_lines: 100_000,
            binary_bytes: 1 << 20,
            read_bytes: 256 << 20,
            diff_bytes: 8 << 20,
            file_time: Duration::from_millis(500),
            time: Duration::from_secs(5),
        }
    }
}

/// A changed file or link, before its content is read.
struct ChangedFile<'e> {
    path: &'e WorkspacePath,
    old: Option<&'e TreeEntry>,
    new: Option<&'e AfterEntry>,
    renamed_from: Option<&'e WorkspacePath>,
}

/// The limits of a comparison that is under way.
pub(crate) struct CompareState<'b> {
    pub(crate) bounds: &'b CompareBounds,
    /// Bytes that may still be read.
    readable: u64,
    end: Instant,
}

impl CompareState<'_> {
    pub(crate) fn deadline(&self) -> Instant {
        self.end.min(Instant::now() + self.bounds.file_time)
    }

    /// Takes `bytes` from what may be read; whether there were enough.
    fn take(&mut self, bytes: u64) -> bool {
        let enough = bytes <= self.readable;
        if enough {
            self.readable -= bytes;
        }
        enough
    }
}

impl WorkspaceEdits<'_> {
    /// The changes and their diff, without the paths that `ignore` fits.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn compare(
        &self,
        ignore: &PathGlobs,
        bounds: &CompareBounds,
    ) -> Result<(WorkspaceChanges, DiffText), TreeError> {
        let mut state = CompareState {
            bounds,
            readable: bounds.read_bytes,
            end: Instant::now() + bounds.time,
        };
        let kept = |path: &&WorkspacePath| !ignore.fit(path);
        let mut changes = WorkspaceChanges {
            special: self.special().keys().filter(kept).cloned().collect(),
            truncated: self.unread().is_some(),
            ..WorkspaceChanges::default()
        };
        let mut files: Vec<ChangedFile> = self
            .changed_files()
            .filter(|file| kept(&file.path))
            .collect();
        for file in &files {
            let list = match (file.old, file.new) {
                (None, _) => &mut changes.added,
                (_, None) => &mut changes.deleted,
                _ => &mut changes.modified,
            };
            list.push(file.path.clone());
            if let Some(AfterEntry::Link { target }) = file.new
                && leads_out(file.path, target)
            {
                changes.outside_links.push(file.path.clone());
            }
        }
        let lists = [
            &mut changes.added,
            &mut changes.modified,
            &mut changes.deleted,
            &mut changes.special,
            &mut changes.outside_links,
        ];
        for list in lists {
            changes.truncated |= list.len() > bounds.paths;
            list.truncate(bounds.paths);
        }
        self.find_renames(&mut files, &mut state)?;
        let mut diff = DiffText {
            text: String::new(),
            truncated: changes.truncated || files.len() > bounds.files,
        };
        for file in files.iter().take(bounds.files) {
            let section = self.section(file, &mut state)?;
            if diff.text.len() + section.text.len() <= bounds.diff_bytes {
                diff.text.push_str(&section.text);
                diff.truncated |= section.truncated;
            } else {
                diff.truncated = true;
            }
            changes.files.push(file.change(section.content));
        }
        Ok((changes, diff))
    }

    fn changed_files(&self) -> impl Iterator<Item = ChangedFile<'_>> {
        let changed = self.iter().map(|(path, new)| ChangedFile {
            path,
            old: self
                .template()
                .get(path)
                .filter(|entry| **entry != TreeEntry::Folder),
            new: new.filter(|entry| **entry != AfterEntry::Folder),
            renamed_from: None,
        });
        changed.filter(|file| file.old.is_some() || file.new.is_some())
    }

    /// Joins deleted and added files of equal contents, those of the same name first.
    fn find_renames<'e>(
        &'e self,
        files: &mut Vec<ChangedFile<'e>>,
        state: &mut CompareState,
    ) -> Result<(), TreeError> {
        type DeletedFiles<'e> = BTreeMap<Sha256Digest, Vec<&'e WorkspacePath>>;
        // By size, so that a file is read only when it could be one of them.
        let mut deleted: BTreeMap<u64, DeletedFiles> = BTreeMap::new();
        for file in files.iter() {
            if let (Some(TreeEntry::File { bytes, sha256, .. }), None) = (file.old, file.new)
                && *bytes > 0
            {
                deleted
                    .entry(*bytes)
                    .or_default()
                    .entry(*sha256)
                    .or_default()
                    .push(file.path);
            }
        }
        let mut renamed = Vec::new();
        for (at, file) in files.iter().enumerate() {
            if let (None, Some(AfterEntry::File { bytes, content, .. })) = (file.old, file.new)
                && let Some(deleted) = deleted.get_mut(bytes)
            {
                let digest = match content {
                    AfterContent::Template(from) => match self.template().get(from) {
                        Some(TreeEntry::File { sha256, .. }) => *sha256,
                        _ => continue,
                    },
                    AfterContent::After if !state.take(*bytes) => continue,
                    AfterContent::After => {
                        let digest = self.open_after(file.path).and_then(sha256);
                        digest.map_err(TreeError::at(file.path.as_bytes()))?
                    }
                };
                let Some(sources) = deleted.get_mut(&digest) else {
                    continue;
                };
                // Git can not make a folder where the file that it moves into it still is.
                let nested = |source: &WorkspacePath| {
                    source.is_below(file.path) || file.path.is_below(source)
                };
                let source = sources
                    .iter()
                    .position(|source| source.name() == file.path.name() && !nested(source));
                let source = source.or_else(|| sources.iter().position(|source| !nested(source)));
                if let Some(source) = source {
                    renamed.push((at, sources.remove(source)));
                }
            }
        }
        let template = self.template();
        for (at, source) in &renamed {
            files[*at].renamed_from = Some(source);
            files[*at].old = template.get(source);
        }
        let sources: std::collections::HashSet<_> =
            renamed.iter().map(|(_, source)| *source).collect();
        files.retain(|file| !(file.new.is_none() && sources.contains(file.path)));
        Ok(())
    }

    fn section(&self, file: &ChangedFile, state: &mut CompareState) -> Result<Section, TreeError> {
        let at = || TreeError::at(file.path.as_bytes());
        let equal = match (file.old, file.new) {
            (
                Some(TreeEntry::File { sha256, .. }),
                Some(AfterEntry::File {
                    content: AfterContent::Template(from),
                    ..
                }),
            ) => {
                matches!(self.template().get(from), Some(TreeEntry::File { sha256: new, .. }) if new == sha256)
            }
            _ => file.renamed_from.is_some(),
        };
        let old_path = file.renamed_from.unwrap_or(file.path);
        let old = match file.old {
            Some(TreeEntry::File {
                executable, bytes, ..
            }) => {
                let open = || self.template().open(old_path);
                let content = load(open, *bytes, equal, state).map_err(at())?;
                Some((FileMode::of_file(*executable), content))
            }
            Some(TreeEntry::Link { target }) => Some((
                FileMode::Link,
                SideContent::of(target.clone(), state.bounds),
            )),
            _ => None,
        };
        let new = match file.new {
            Some(AfterEntry::File {
                executable,
                bytes,
                content,
            }) => {
                let open = || self.open(file.path, content);
                let content = load(open, *bytes, equal, state).map_err(at())?;
                Some((FileMode::of_file(*executable), content))
            }
            Some(AfterEntry::Link { target }) => Some((
                FileMode::Link,
                SideContent::of(target.clone(), state.bounds),
            )),
            _ => None,
        };
        let side = |path, side: Option<(FileMode, SideContent)>| {
            side.map(|(mode, content)| SectionSide {
                path,
                mode,
                content,
            })
        };
        Ok(Section::new(
            side(old_path, old),
            side(file.path, new),
            state,
        ))
    }
}

fn load(
    open: impl FnOnce() -> std::io::Result<std::fs::File>,
    bytes: u64,
    equal: bool,
    state: &mut CompareState,
) -> std::io::Result<SideContent> {
    let bounds = state.bounds;
    let most = bounds.text_bytes.max(bounds.binary_bytes);
    if equal {
        return Ok(SideContent::Equal);
    }
    if bytes > most || !state.take(bytes) {
        return Ok(SideContent::TooLarge);
    }
    Ok(match read_up_to(open()?, most)? {
        None => SideContent::TooLarge,
        Some(bytes) => SideContent::of(bytes, bounds),
    })
}

impl ChangedFile<'_> {
    fn change(&self, content: ChangedContent) -> FileChange {
        FileChange {
            path: self.path.clone(),
            kind: match (self.renamed_from, self.old, self.new) {
                (Some(from), ..) => ChangeKind::Renamed { from: from.clone() },
                (None, None, _) => ChangeKind::Added,
                (None, _, None) => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            },
            old_mode: match self.old {
                Some(TreeEntry::File { executable, .. }) => Some(FileMode::of_file(*executable)),
                Some(TreeEntry::Link { .. }) => Some(FileMode::Link),
                _ => None,
            },
            new_mode: match self.new {
                Some(AfterEntry::File { executable, .. }) => Some(FileMode::of_file(*executable)),
                Some(AfterEntry::Link { .. }) => Some(FileMode::Link),
                _ => None,
            },
            content,
            bytes: match self.new {
                Some(AfterEntry::File { bytes, .. }) => *bytes,
                Some(AfterEntry::Link { target }) => target.len() as u64,
                _ => 0,
            },
        }
    }
}
