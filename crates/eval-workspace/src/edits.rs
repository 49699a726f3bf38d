//! What is different in a workspace after a program worked in it: from the upper folder of an
//! overlay, or from a whole copy.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat, fgetxattr};
use rustix::io::Errno;

use crate::copy::{SpecialKind, kind_of};
use crate::error::TreeError;
use crate::folder::{DEEPEST, Folder, sha256};
use crate::listing::TreeEntry;
use crate::path::WorkspacePath;
use crate::template::TemplateView;

/// More entries than this are not read.
const MOST_ENTRIES: usize = 1_000_000;

/// Nor are paths of more bytes than this together.
const MOST_PATH_BYTES: usize = 64 << 20;

/// The clock of a file system ticks this often at least: a file that was changed later than this
/// after a moment has a later time of change.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The extended attributes by which an overlay marks what is in its upper folder.
///
/// Only those that the mount used count: a program can write `user.overlay.opaque` itself where the
/// overlay was mounted without `userxattr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayAttributes {
    /// `user.overlay.*`: mounted with `userxattr`, as in a user namespace.
    User,
    /// `trusted.overlay.*`: mounted by root; folders may be redirected (`redirect_dir=on`), and files
    /// may have their contents in the template (`metacopy=on`).
    Trusted,
}

/// Where a workspace is after a program worked in it.
#[derive(Debug, Clone, Copy)]
pub enum AfterView<'a> {
    /// The upper folder of an overlay above the template.
    Overlay {
        upper: &'a Path,
        attributes: OverlayAttributes,
    },
    /// A whole copy of the template.
    Tree {
        root: &'a Path,
        /// When the copy was complete. A file of the same size whose status has not changed since is
        /// not read. `None` reads all files of the same size.
        copied_at: Option<SystemTime>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterEntry {
    Folder,
    File {
        executable: bool,
        bytes: u64,
        content: AfterContent,
    },
    Link {
        target: Vec<u8>,
    },
}

/// Where the content of a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AfterContent {
    After,
    /// That of the template's file at this path.
    Template(WorkspacePath),
}

/// What is different in a workspace from its template.
///
/// A file that was written or copied up and has the same content and executable bit as before is not
/// different; neither are times, owners and other bits of the mode.
#[derive(Debug)]
pub struct WorkspaceEdits<'t> {
    template: &'t TemplateView,
    after: Folder,
    /// `None`: deleted.
    edits: BTreeMap<WorkspacePath, Option<AfterEntry>>,
    special: BTreeMap<WorkspacePath, SpecialKind>,
    unread: Option<WorkspacePath>,
}

/// Where the entries of the template that show through a folder of an upper folder are.
#[derive(Clone)]
enum ShownFrom {
    Nowhere,
    /// At the folder's own path.
    SamePath,
    Path(WorkspacePath),
}

impl ShownFrom {
    /// Where the template's entry `name` of this folder is, when the entry is at `path` now.
    fn entry(&self, path: &WorkspacePath, name: &[u8]) -> Option<WorkspacePath> {
        match self {
            ShownFrom::Nowhere => None,
            ShownFrom::SamePath => Some(path.clone()),
            ShownFrom::Path(from) => Some(WorkspacePath::child(Some(from), name)),
        }
    }
}

impl<'t> WorkspaceEdits<'t> {
    /// Reads what changed. Every process that could write to the workspace must have ended.
    ///
    /// Takes time for what is in an upper folder and for what it hides of the template, or for the
    /// whole copy. Files and folders that their owner may not read are made readable.
    ///
    /// # Errors
    /// What the file system refuses. Too many or too deeply nested entries are not an error here:
    /// the edits are incomplete then.
    pub fn read(
        template: &'t TemplateView,
        after: &AfterView,
    ) -> Result<WorkspaceEdits<'t>, TreeError> {
        let (AfterView::Overlay { upper: top, .. } | AfterView::Tree { root: top, .. }) = after;
        let open = || Folder::open(top).map_err(TreeError::at(b""));
        let edits = WorkspaceEdits {
            template,
            after: open()?,
            edits: BTreeMap::new(),
            special: BTreeMap::new(),
            unread: None,
        };
        let mut reader = EditReader {
            edits,
            entries: 0,
            path_bytes: 0,
            after: *after,
            seen: HashSet::new(),
        };
        let top = Folder::open(top).map_err(TreeError::at(b""))?;
        let complete = reader.folder(&top, None, &ShownFrom::SamePath, 0)?;
        if complete && matches!(after, AfterView::Tree { .. }) {
            for path in template.paths().filter(|path| !reader.seen.contains(*path)) {
                reader.edits.edits.insert(path.clone(), None);
            }
        }
        Ok(reader.edits)
    }

    /// The first folder that was not read, because it is nested too deep or there are too many
    /// entries.
    pub fn unread(&self) -> Option<&WorkspacePath> {
        self.unread.as_ref()
    }

    /// The files and links that were added or changed.
    pub fn written(&self) -> impl Iterator<Item = &WorkspacePath> {
        let is_file = |edit: &Option<AfterEntry>| {
            matches!(
                edit,
                Some(AfterEntry::File { .. } | AfterEntry::Link { .. })
            )
        };
        self.edits
            .iter()
            .filter(move |(_, edit)| is_file(edit))
            .map(|(path, _)| path)
    }

    pub(crate) fn template(&self) -> &'t TemplateView {
        self.template
    }

    /// The sizes of the files that are different, together; holes count.
    pub fn bytes(&self) -> u64 {
        let size = |edit: &Option<AfterEntry>| match edit {
            Some(AfterEntry::File { bytes, .. }) => *bytes,
            _ => 0,
        };
        let sizes = self.edits.values().map(size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Paths and what is there now, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&WorkspacePath, Option<&AfterEntry>)> {
        self.edits.iter().map(|(path, edit)| (path, edit.as_ref()))
    }

    /// `None`: nothing is different at the path; `Some(None)`: what was there is deleted.
    pub(crate) fn edit(&self, path: &WorkspacePath) -> Option<Option<&AfterEntry>> {
        self.edits.get(path).map(Option::as_ref)
    }

    pub(crate) fn below(
        &self,
        path: &WorkspacePath,
    ) -> impl Iterator<Item = (&WorkspacePath, Option<&AfterEntry>)> {
        let below = self.edits.range(path.range_below());
        below.map(|(path, edit)| (path, edit.as_ref()))
    }

    /// FIFOs, sockets and devices.
    pub(crate) fn special(&self) -> &BTreeMap<WorkspacePath, SpecialKind> {
        &self.special
    }

    pub(crate) fn after(&self) -> &Folder {
        &self.after
    }

    pub(crate) fn into_after(self) -> Folder {
        self.after
    }

    /// Opens a file whose content is in the workspace.
    pub(crate) fn open_after(&self, path: &WorkspacePath) -> io::Result<File> {
        self.after.below(path.parent().as_ref())?.file(path.name())
    }

    pub(crate) fn open(&self, path: &WorkspacePath, content: &AfterContent) -> io::Result<File> {
        match content {
            AfterContent::After => self.open_after(path),
            AfterContent::Template(from) => self.template.open(from),
        }
    }

    /// What was below `path` is not there any longer.
    fn delete_below(&mut self, path: &WorkspacePath) {
        let set = self.edits.range(path.range_below());
        let set: Vec<WorkspacePath> = set.map(|(path, _)| path.clone()).collect();
        for path in set {
            self.edits.remove(&path);
        }
        for (path, _) in self.template.below(path) {
            self.edits.insert(path.clone(), None);
        }
    }

    fn delete(&mut self, path: &WorkspacePath) {
        self.delete_below(path);
        if self.template.get(path).is_some() {
            self.edits.insert(path.clone(), None);
        } else {
            self.edits.remove(path);
        }
    }

    /// `entry` is at `path` now; `same` when the template has an equal one there.
    fn set(&mut self, path: &WorkspacePath, entry: AfterEntry, same: bool) {
        if same {
            self.edits.remove(path);
        } else {
            self.edits.insert(path.clone(), Some(entry));
        }
    }

    fn set_link(&mut self, path: &WorkspacePath, target: Vec<u8>) {
        self.delete_below(path);
        let same = matches!(self.template.get(path), Some(TreeEntry::Link { target: old }) if *old == target);
        self.set(path, AfterEntry::Link { target }, same);
    }

    fn set_folder(&mut self, path: &WorkspacePath) {
        let same = self.template.get(path) == Some(&TreeEntry::Folder);
        self.set(path, AfterEntry::Folder, same);
    }

    /// A file with the content of the template's file at `from`.
    fn set_template_file(
        &mut self,
        path: &WorkspacePath,
        executable: bool,
        from: WorkspacePath,
    ) -> io::Result<()> {
        self.delete_below(path);
        let Some(TreeEntry::File { bytes, sha256, .. }) = self.template.get(&from) else {
            return Err(io::Error::other("its content is not in the template"));
        };
        let (bytes, sha256) = (*bytes, *sha256);
        let same = self.template.get(path)
            == Some(&TreeEntry::File {
                executable,
                bytes,
                sha256,
            });
        let entry = AfterEntry::File {
            executable,
            bytes,
            content: AfterContent::Template(from),
        };
        self.set(path, entry, same);
        Ok(())
    }

    /// A file whose content is in the workspace.
    fn set_file(&mut self, path: &WorkspacePath, file: File, status: &Stat) -> io::Result<()> {
        let (executable, bytes) = (is_executable(status), size(status));
        // Only a file of the template's size can be equal, so that what is read is no more than the
        // template.
        if let Some(TreeEntry::File {
            bytes: old,
            sha256: digest,
            ..
        }) = self.template.get(path)
            && *old == bytes
            && sha256(file)? == *digest
        {
            return self.set_template_file(path, executable, path.clone());
        }
        self.delete_below(path);
        let entry = AfterEntry::File {
            executable,
            bytes,
            content: AfterContent::After,
        };
        self.set(path, entry, false);
        Ok(())
    }
}

struct EditReader<'a, 't> {
    edits: WorkspaceEdits<'t>,
    entries: usize,
    path_bytes: usize,
    after: AfterView<'a>,
    /// Of a whole copy: what is not here was deleted.
    seen: HashSet<WorkspacePath>,
}

impl EditReader<'_, '_> {
    /// Reads a folder; whether there were few enough entries.
    fn folder(
        &mut self,
        folder: &Folder,
        path: Option<&WorkspacePath>,
        shown: &ShownFrom,
        depth: usize,
    ) -> Result<bool, TreeError> {
        let here = path.map_or(&b""[..], WorkspacePath::as_bytes);
        let marked = self
            .attribute(folder, "opaque")
            .map_err(TreeError::at(here))?;
        let holds_whiteout_files = marked.as_deref() == Some(b"x");
        for name in folder.names().map_err(TreeError::at(here))? {
            let path = WorkspacePath::child(path, &name);
            self.entries += 1;
            self.path_bytes += path.as_bytes().len();
            if self.entries > MOST_ENTRIES || self.path_bytes > MOST_PATH_BYTES {
                self.edits.unread.get_or_insert(path);
                return Ok(false);
            }
            let at = || TreeError::at(path.as_bytes());
            let status = folder.status(&name).map_err(at())?;
            let is_overlay = matches!(self.after, AfterView::Overlay { .. });
            if is_overlay {
                if FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice
                    && status.st_rdev == 0
                {
                    self.edits.delete(&path);
                    continue;
                }
            } else {
                self.seen.insert(path.clone());
            }
            match kind_of(&status) {
                Err(kind) => {
                    self.edits.special.insert(path.clone(), kind);
                    self.edits.delete(&path);
                }
                Ok(FileType::Symlink) => {
                    let target = folder.link(&name).map_err(at())?;
                    self.edits.set_link(&path, target);
                }
                Ok(FileType::Directory) => {
                    if depth == DEEPEST {
                        self.edits.unread.get_or_insert(path);
                        continue;
                    }
                    let inner = folder.folder(&name).map_err(at())?;
                    let shown = self.shown_in(&inner, &path, shown, &name).map_err(at())?;
                    if !self.folder(&inner, Some(&path), &shown, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(_) if self.is_untouched(&path, &status) => {}
                Ok(_) => {
                    let file = folder.file(&name).map_err(at())?;
                    if holds_whiteout_files
                        && self.attribute(&file, "whiteout").map_err(at())?.is_some()
                    {
                        self.edits.delete(&path);
                    } else if self.attribute(&file, "metacopy").map_err(at())?.is_some() {
                        let redirect = self.redirect(&file, shown, &path).map_err(at())?;
                        let from = redirect.or_else(|| shown.entry(&path, &name));
                        let from = from.ok_or_else(|| io::Error::other("its content is nowhere"));
                        let set = from.and_then(|from| {
                            let executable = is_executable(&status);
                            self.edits.set_template_file(&path, executable, from)
                        });
                        set.map_err(at())?;
                    } else {
                        self.edits.set_file(&path, file, &status).map_err(at())?;
                    }
                }
            }
        }
        Ok(true)
    }

    /// Whether a file of a whole copy is as it was copied: no program can set back the time at which
    /// the status of a file changed.
    fn is_untouched(&self, path: &WorkspacePath, status: &Stat) -> bool {
        let AfterView::Tree {
            copied_at: Some(copied_at),
            ..
        } = self.after
        else {
            return false;
        };
        let changed = u64::try_from(status.st_ctime).ok();
        let changed = changed.map(|seconds| Duration::new(seconds, status.st_ctime_nsec as u32));
        let copied = copied_at.duration_since(SystemTime::UNIX_EPOCH).ok();
        matches!(self.edits.template.get(path), Some(TreeEntry::File { bytes, .. }) if *bytes == size(status))
            && changed
                .zip(copied)
                .is_some_and(|(changed, copied)| changed + CLOCK_TICK < copied)
    }

    /// What of the template shows through a folder; records how the folder itself differs.
    fn shown_in(
        &mut self,
        folder: &Folder,
        path: &WorkspacePath,
        around: &ShownFrom,
        name: &[u8],
    ) -> io::Result<ShownFrom> {
        let mut from = around.entry(path, name);
        if let AfterView::Overlay { .. } = self.after {
            if self.attribute(folder, "opaque")?.as_deref() == Some(b"y") {
                from = None;
            } else if let Some(redirect) = self.redirect(folder, around, path)? {
                self.edits.delete_below(path);
                let below = self.edits.template.below(&redirect);
                let below: Vec<(WorkspacePath, TreeEntry)> = below
                    .map(|(path, entry)| (path.clone(), entry.clone()))
                    .collect();
                for (lower, entry) in below {
                    let moved = lower.moved(Some(&redirect), path);
                    match entry {
                        TreeEntry::Folder => self.edits.set_folder(&moved),
                        TreeEntry::Link { target } => self.edits.set_link(&moved, target),
                        TreeEntry::File { executable, .. } => {
                            self.edits.set_template_file(&moved, executable, lower)?
                        }
                    }
                }
                from = Some(redirect);
            }
        }
        let from = from.filter(|from| self.edits.template.get(from) == Some(&TreeEntry::Folder));
        if from.is_none() {
            self.edits.delete_below(path);
        }
        self.edits.set_folder(path);
        Ok(match from {
            None => ShownFrom::Nowhere,
            Some(from) if from == *path => ShownFrom::SamePath,
            Some(from) => ShownFrom::Path(from),
        })
    }

    /// Where the template's part of a renamed file or folder is; `None` for one that was not renamed.
    fn redirect(
        &self,
        file: impl AsFd,
        around: &ShownFrom,
        path: &WorkspacePath,
    ) -> io::Result<Option<WorkspacePath>> {
        let Some(redirect) = self.attribute(file, "redirect")? else {
            return Ok(None);
        };
        let invalid = |error: crate::path::PathError| io::Error::other(error.to_string());
        if let Some(absolute) = redirect.strip_prefix(b"/") {
            return WorkspacePath::new(absolute).map(Some).map_err(invalid);
        }
        let sibling = WorkspacePath::new(&redirect).map_err(invalid)?;
        let sibling_path = WorkspacePath::child(path.parent().as_ref(), sibling.as_bytes());
        Ok(around.entry(&sibling_path, sibling.as_bytes()))
    }

    /// An attribute of the overlay; `None` where the mount has no such attributes.
    fn attribute(&self, file: impl AsFd, name: &str) -> io::Result<Option<Vec<u8>>> {
        let AfterView::Overlay { attributes, .. } = self.after else {
            return Ok(None);
        };
        let room = match attributes {
            // The kernel refuses both features together with `userxattr`.
            OverlayAttributes::User if matches!(name, "metacopy" | "redirect") => return Ok(None),
            OverlayAttributes::User => "user",
            OverlayAttributes::Trusted => "trusted",
        };
        let mut value = [0; 4096];
        match fgetxattr(file, format!("{room}.overlay.{name}"), &mut value[..]) {
            Ok(length) => Ok(Some(value[..length].to_vec())),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_executable(status: &Stat) -> bool {
    status.st_mode & 0o100 != 0
}

fn size(status: &Stat) -> u64 {
    u64::try_from(status.st_size).unwrap_or(0)
}
