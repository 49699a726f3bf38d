//! Private copies of a template.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, Gid, Stat, Uid};

use crate::error::TreeError;
use crate::folder::{DEEPEST, Folder, Sha256Digest, leads_out, sha256};
use crate::listing::{Listing, TreeEntry};
use crate::path::{PathGlobs, WorkspacePath, quoted};

/// What a copy takes, and whose it is.
#[derive(Debug, Clone)]
pub struct CopyRules {
    /// What is not copied: `.git`, hidden files.
    pub leave_out: PathGlobs,
    /// User and group of every copied entry; needs root. `None`: who copies.
    pub owner: Option<(u32, u32)>,
    /// Files and folders that their owner may not read are an error; else they are made readable,
    /// where they are.
    pub keep_rights: bool,
    /// Symbolic links that lead out of the tree are copied as they are; else they are an error.
    pub outside_links: bool,
    /// What runs left in folders for results is not copied: it has what others answered.
    pub leave_out_results: bool,
    /// At most this many entries, folders included.
    pub max_files: u64,
    /// At most this many bytes in files; holes count.
    pub max_bytes: u64,
}

impl Default for CopyRules {
    /// A million entries and 64 GiB, owned by who copies.
    fn default() -> Self {
        CopyRules {
            leave_out: PathGlobs::default(),
            owner: None,
            keep_rights: false,
            outside_links: false,
            leave_out_results: false,
            max_files: 1_000_000,
            max_bytes: 64 << 30,
        }
    }
}

/// Copies what is below `from` into `to`, an empty folder or one that is created, and lists it.
///
/// Files have the mode 755 or 644, folders 755; special bits, owners, times and extended attributes
/// are not kept. Contents are shared with the source where the file system can (reflinks). Symbolic
/// links stay links. After an error, `to` holds a part of the tree.
///
/// # Errors
/// Sockets, FIFOs and devices, links that lead out of `from` (a link with a `..` behind a name counts
/// as one), folders nested deeper than 128, more than the rules allow, a file that changes while it
/// is read (also at the second try), and errors of the file system.
pub fn copy_tree(from: &Path, to: &Path, rules: &CopyRules) -> Result<Listing, TreeError> {
    match fs::create_dir(to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result.map_err(TreeError::at(b"")),
    }?;
    let target = Folder::open(to).map_err(TreeError::at(b""))?;
    TreeReader::read(from, Some(target), rules)
}

/// What a folder for results has besides the days of its runs.
const BESIDE_DAYS: [&[u8]; 4] = [b"latest", b"phases", b"checks", b".index"];

/// Takes what runs wrote out of the names of a folder, if it is one for results: it has a day
/// (`2026-03-04`) with a journal. `names_of`: those of a folder in it.
pub fn remove_results(
    names: &mut Vec<Vec<u8>>,
    names_of: impl Fn(&[u8]) -> io::Result<Vec<Vec<u8>>>,
) {
    let is_day = |name: &[u8]| {
        let digit_or_dash = |(at, byte): (usize, &u8)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        name.len() == 10 && name.iter().enumerate().all(digit_or_dash)
    };
    let is_journal =
        |name: &Vec<u8>| name.starts_with(b"run-") && name.ends_with(b".journal.jsonl");
    let has_journal = |day: &[u8]| names_of(day).is_ok_and(|names| names.iter().any(is_journal));
    if names.iter().any(|name| is_day(name) && has_journal(name)) {
        names.retain(|name| !is_day(name) && !BESIDE_DAYS.contains(&name.as_slice()));
    }
}

/// Reads a tree, and copies it on the way.
pub(crate) struct TreeReader<'r> {
    rules: &'r CopyRules,
    files: u64,
    bytes: u64,
    /// Until the first time that the file system refuses.
    shares_contents: bool,
    listing: Listing,
}

impl TreeReader<'_> {
    pub(crate) fn read(
        from: &Path,
        to: Option<Folder>,
        rules: &CopyRules,
    ) -> Result<Listing, TreeError> {
        let source = Folder::open(from).map_err(TreeError::at(b""))?;
        let source = source.keeping_rights(rules.keep_rights);
        let mut reader = TreeReader {
            rules,
            files: 0,
            bytes: 0,
            shares_contents: true,
            listing: Listing::default(),
        };
        if let Some(to) = &to {
            reader.finish(to).map_err(TreeError::at(b""))?;
        }
        reader.folder(&source, to.as_ref(), None, 0)?;
        Ok(reader.listing)
    }

    fn folder(
        &mut self,
        from: &Folder,
        to: Option<&Folder>,
        path: Option<&WorkspacePath>,
        depth: usize,
    ) -> Result<(), TreeError> {
        let shown = || path.map_or_else(|| ".".to_owned(), WorkspacePath::to_string);
        if depth > DEEPEST {
            return Err(TreeError::TooDeep { path: shown() });
        }
        let here = path.map_or(&b""[..], WorkspacePath::as_bytes);
        let mut names = from.names().map_err(TreeError::at(here))?;
        if self.rules.leave_out_results {
            remove_results(&mut names, |day| from.folder(day)?.names());
        }
        for name in names {
            let path = WorkspacePath::child(path, &name);
            if self.rules.leave_out.fit(&path) {
                continue;
            }
            self.files += 1;
            if self.files > self.rules.max_files {
                let most = self.rules.max_files;
                return Err(TreeError::TooManyFiles { most });
            }
            let at = || TreeError::at(path.as_bytes());
            let status = from.status(&name).map_err(at())?;
            let entry = match kind_of(&status) {
                Ok(FileType::Directory) => {
                    let inner = from.folder(&name).map_err(at())?;
                    let copy = to
                        .map(|to| to.make_folder(&name))
                        .transpose()
                        .map_err(at())?;
                    self.folder(&inner, copy.as_ref(), Some(&path), depth + 1)?;
                    if let Some(copy) = &copy {
                        self.finish(copy).map_err(at())?;
                    }
                    TreeEntry::Folder
                }
                Ok(FileType::Symlink) => {
                    let target = from.link(&name).map_err(at())?;
                    if !self.rules.outside_links && leads_out(&path, &target) {
                        let (path, target) = (path.to_string(), quoted(&target));
                        return Err(TreeError::OutsideLink { path, target });
                    }
                    if let Some(to) = to {
                        to.make_link(&name, &target).map_err(at())?;
                        to.own(&name, self.rules.owner).map_err(at())?;
                    }
                    TreeEntry::Link { target }
                }
                Ok(_) => self.file(from, to, &path, &name)?,
                Err(kind) => {
                    let (path, kind) = (path.to_string(), kind.words());
                    return Err(TreeError::Special { path, kind });
                }
            };
            self.listing.0.insert(path, entry);
        }
        Ok(())
    }

    fn file(
        &mut self,
        from: &Folder,
        to: Option<&Folder>,
        path: &WorkspacePath,
        name: &[u8],
    ) -> Result<TreeEntry, TreeError> {
        let at = || TreeError::at(path.as_bytes());
        let state = |file: &File| {
            let state = file.metadata()?;
            let (size, mode) = (state.len(), state.mode());
            io::Result::Ok((
                size,
                mode,
                state.mtime(),
                state.mtime_nsec(),
                state.ctime(),
                state.ctime_nsec(),
            ))
        };
        let mut source = from.file(name).map_err(at())?;
        let mut before = state(&source).map_err(at())?;
        let executable = before.1 & 0o100 != 0;
        let mut copy = to
            .map(|to| to.create(name, executable))
            .transpose()
            .map_err(at())?;
        for _ in 0..2 {
            let left = self.rules.max_bytes.saturating_sub(self.bytes);
            let most = self.rules.max_bytes;
            if before.0 > left {
                return Err(TreeError::TooManyBytes { most });
            }
            // A file that grows is not read for longer than it was.
            let digest = match &mut copy {
                Some(copy) => self.contents(&source, copy, before.0),
                None => source
                    .try_clone()
                    .and_then(|file| sha256(file.take(before.0))),
            };
            let digest = digest.map_err(at())?;
            let after = state(&source).map_err(at())?;
            if after == before {
                if let Some(copy) = &copy {
                    self.finish(copy).map_err(at())?;
                }
                self.bytes += after.0;
                return Ok(TreeEntry::File {
                    executable,
                    bytes: after.0,
                    sha256: digest,
                });
            }
            if after.1 != before.1 {
                break;
            }
            before = after;
            source.rewind().map_err(at())?;
            if let Some(copy) = &mut copy {
                copy.set_len(0).and_then(|()| copy.rewind()).map_err(at())?;
            }
        }
        let path = path.to_string();
        Err(TreeError::Changed { path })
    }

    /// Copies a file and returns the digest of what the copy holds.
    ///
    /// Without reflinks the bytes have to be read for the digest anyway, so `copy_file_range` would
    /// read them twice.
    fn contents(&mut self, source: &File, copy: &mut File, bytes: u64) -> io::Result<Sha256Digest> {
        if self.shares_contents && bytes > 0 {
            match rustix::fs::ioctl_ficlone(&*copy, source) {
                Ok(()) => return sha256(copy.try_clone()?),
                Err(_) => self.shares_contents = false,
            }
        }
        sha256(CopyingReader {
            source: source.take(bytes),
            copy,
        })
    }

    fn finish(&self, copy: impl std::os::fd::AsFd) -> io::Result<()> {
        if let Some((user, group)) = self.rules.owner {
            rustix::fs::fchown(copy, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
        }
        Ok(())
    }
}

/// What a template cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialKind {
    Fifo,
    Socket,
    Device,
}

impl SpecialKind {
    pub(crate) fn words(self) -> &'static str {
        match self {
            SpecialKind::Fifo => "a FIFO",
            SpecialKind::Socket => "a socket",
            SpecialKind::Device => "a device",
        }
    }
}

/// The kind of an entry.
pub(crate) fn kind_of(status: &Stat) -> Result<FileType, SpecialKind> {
    match FileType::from_raw_mode(status.st_mode) {
        kind @ (FileType::Directory | FileType::RegularFile | FileType::Symlink) => Ok(kind),
        FileType::Fifo => Err(SpecialKind::Fifo),
        FileType::Socket => Err(SpecialKind::Socket),
        _ => Err(SpecialKind::Device),
    }
}

/// Passes on what it reads to a copy.
struct CopyingReader<'c, R> {
    source: R,
    copy: &'c mut File,
}

impl<R: Read> Read for CopyingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.copy.write_all(&buffer[..read])?;
        Ok(read)
    }
}
