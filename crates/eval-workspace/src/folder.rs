//! Folders and files below an open folder, one name at a time: no link is followed.
//!
//! What a program left without rights is given them: its owner is who reads it.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, openat, readlinkat, statat,
    unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::path::WorkspacePath;

/// Folders nested deeper than this are not read: each level costs a descriptor.
pub(crate) const DEEPEST: usize = 128;

pub(crate) type Sha256Digest = [u8; 32];

#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    /// What can't be read stays so.
    keep_rights: bool,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Opens `name` without following it; gives its owner `rights` when they are missing.
fn open(at: &Folder, name: &OsStr, flags: OFlags, rights: u32) -> io::Result<OwnedFd> {
    let open = |how| {
        openat(
            at,
            name,
            how | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    };
    match open(flags) {
        Err(Errno::ACCESS) if !at.keep_rights => {
            let closed = open(OFlags::PATH)?;
            let path = format!("/proc/self/fd/{}", closed.as_raw_fd());
            let mode = fs::metadata(&path)?.permissions().mode();
            fs::set_permissions(path, Permissions::from_mode((mode | rights) & 0o7777))?;
            Ok(open(flags)?)
        }
        result => Ok(result?),
    }
}

impl Folder {
    /// Opens the top of a tree. The path comes from the caller, so links in it are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder {
            fd: openat(CWD, path, flags, Mode::empty())?,
            keep_rights: false,
        })
    }

    /// With the rights of everything below as they are.
    pub(crate) fn keeping_rights(self, keep_rights: bool) -> Folder {
        Folder {
            keep_rights,
            ..self
        }
    }

    pub(crate) fn folder(&self, entry: &[u8]) -> io::Result<Folder> {
        let folder = open(self, name(entry), OFlags::RDONLY | OFlags::DIRECTORY, 0o700)?;
        // With the right to read but not to enter, opening works and everything below fails.
        match statat(&folder, ".", AtFlags::empty()) {
            Err(Errno::ACCESS) if !self.keep_rights => {
                rustix::fs::fchmod(&folder, Mode::RWXU)?;
            }
            result => {
                result?;
            }
        }
        Ok(Folder {
            fd: folder,
            keep_rights: self.keep_rights,
        })
    }

    /// The folder at `path`; `None` is this one.
    pub(crate) fn below(&self, path: Option<&WorkspacePath>) -> io::Result<Folder> {
        let mut folder = Folder {
            fd: self.fd.try_clone()?,
            keep_rights: self.keep_rights,
        };
        for part in path.iter().flat_map(|path| path.parts()) {
            folder = folder.folder(part)?;
        }
        Ok(folder)
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?.file_name().to_bytes().to_vec();
            if !matches!(&entry[..], b"." | b"..") {
                names.push(entry);
            }
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn status(&self, entry: &[u8]) -> io::Result<Stat> {
        Ok(statat(self, name(entry), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// What kind of file `entry` is; `None` when there is none.
    pub(crate) fn kind(&self, entry: &[u8]) -> io::Result<Option<FileType>> {
        match statat(self, name(entry), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            status => Ok(Some(FileType::from_raw_mode(status?.st_mode))),
        }
    }

    /// A regular file, open for reading. Does not wait for the other end of a FIFO.
    pub(crate) fn file(&self, entry: &[u8]) -> io::Result<File> {
        let file = File::from(open(
            self,
            name(entry),
            OFlags::RDONLY | OFlags::NONBLOCK,
            0o400,
        )?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("not a regular file"))
        }
    }

    pub(crate) fn link(&self, entry: &[u8]) -> io::Result<Vec<u8>> {
        Ok(readlinkat(self, name(entry), Vec::new())?.into_bytes())
    }

    /// A file that was not there, with its final mode whatever the umask is.
    pub(crate) fn create(&self, entry: &[u8], executable: bool) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self, name(entry), flags, Mode::RUSR | Mode::WUSR)?;
        let mode = if executable { 0o755 } else { 0o644 };
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        Ok(File::from(file))
    }

    /// Makes a folder, which may be there already, and opens it.
    pub(crate) fn make_folder(&self, entry: &[u8]) -> io::Result<Folder> {
        match rustix::fs::mkdirat(self, name(entry), Mode::RWXU) {
            Ok(()) => {
                let folder = self.folder(entry)?;
                rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o755))?;
                Ok(folder)
            }
            Err(Errno::EXIST) => self.folder(entry),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn make_link(&self, entry: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(name(target), self, name(entry))?)
    }

    /// Gives `entry` to a user and a group.
    pub(crate) fn own(&self, entry: &[u8], owner: Option<(u32, u32)>) -> io::Result<()> {
        let Some((user, group)) = owner else {
            return Ok(());
        };
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        Ok(chownat(
            self,
            entry,
            Some(user),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    /// Removes `entry` and what is below it; nothing there is fine.
    ///
    /// # Errors
    /// Also folders nested deeper than [`DEEPEST`].
    pub(crate) fn remove(&self, entry: &[u8]) -> io::Result<()> {
        self.remove_within(entry, DEEPEST)
    }

    fn remove_within(&self, entry: &[u8], levels: usize) -> io::Result<()> {
        match unlinkat(self, name(entry), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR) if levels > 0 => {}
            Err(error) => return Err(error.into()),
        }
        let folder = self.folder(entry)?;
        // Without the right to write nothing can be taken out of it.
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
        for below in folder.names()? {
            folder.remove_within(&below, levels - 1)?;
        }
        Ok(unlinkat(self, name(entry), AtFlags::REMOVEDIR)?)
    }

    /// Removes an empty folder; whether it was one.
    pub(crate) fn remove_empty(&self, entry: &[u8]) -> bool {
        unlinkat(self, name(entry), AtFlags::REMOVEDIR).is_ok()
    }
}

/// At most `most` bytes of a file; `None` when it has more.
pub(crate) fn read_up_to(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

pub(crate) fn sha256(mut source: impl Read) -> io::Result<Sha256Digest> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(digest.finalize().into()),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// Whether a link at `path` leads out of the tree, or could: absolute, more `..` than folders above
/// it, or a `..` behind a name, which may itself be a link.
pub(crate) fn leads_out(path: &WorkspacePath, target: &[u8]) -> bool {
    let mut parts = target
        .split(|byte| *byte == b'/')
        .filter(|part| !matches!(*part, b"" | b"."));
    let ups = parts.by_ref().take_while(|part| *part == b"..").count();
    let above = path.parts().count() - 1;
    target.first() == Some(&b'/') || ups > above || parts.any(|part| part == b"..")
}
