//! The private folders of jobs that share the host's file system: how much is in one, and how it
//! goes away.
//!
//! What a hostile program leaves is a tree of any depth, with links to anywhere, under modes that
//! nobody may read. So nothing here follows a link or keeps a path: everything is one name below an
//! open folder.

use std::ffi::{CStr, CString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// Nested deeper than this is over every limit: each level costs a descriptor.
const DEEPEST: usize = 100;
/// Every pass over a folder removes a level, so this is reached only when somebody goes on writing.
const MOST_PASSES: usize = 1_000_000;

/// Opens a folder that is no link, also one whose owner may not read it.
fn open_folder(at: impl AsFd, name: impl Arg + Copy) -> io::Result<OwnedFd> {
    let open = |how| {
        let flags = how | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&at, name, flags, Mode::empty())
    };
    match open(OFlags::RDONLY) {
        Err(Errno::ACCESS | Errno::PERM) => {
            give_access(&open(OFlags::PATH)?)?;
            Ok(open(OFlags::RDONLY)?)
        }
        result => Ok(result?),
    }
}

/// Lets the owner do everything with a folder that was opened without rights.
fn give_access(folder: &OwnedFd) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

struct FolderEntry {
    name: CString,
    is_folder: bool,
    bytes: u64,
}

fn entries(folder: &OwnedFd) -> io::Result<Vec<FolderEntry>> {
    let mut entries = Vec::new();
    for name in names(folder)? {
        // It may be gone meanwhile.
        let Ok(status) = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        entries.push(FolderEntry {
            name,
            is_folder: FileType::from_raw_mode(status.st_mode) == FileType::Directory,
            bytes: u64::try_from(status.st_blocks)
                .unwrap_or(0)
                .saturating_mul(512),
        });
    }
    Ok(entries)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut entries = Dir::new(folder.try_clone()?)?;
    entries.rewind();
    let names = entries
        .map_while(Result::ok)
        .map(|entry| entry.file_name().to_owned());
    Ok(names
        .filter(|name| ![c".", c".."].contains(&name.as_c_str()))
        .collect())
}

fn open_for_counting(at: impl AsFd, name: impl Arg + Copy, shut: bool) -> io::Result<OwnedFd> {
    if shut {
        return open_folder(at, name);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&at, name, flags, Mode::empty())?)
}

/// Whether the files below `path` take more than `bytes` on the disk, or are more than `files`,
/// folders included. `shut`: also what is in folders that their owner may not read, whose modes are
/// changed for it.
pub(super) fn holds_more_than(path: &Path, bytes: u64, files: u64, shut: bool) -> bool {
    let Ok(top) = open_for_counting(CWD, path, shut) else {
        return false;
    };
    let (mut sum, mut count) = (0u64, 0u64);
    let Ok(first) = entries(&top) else {
        return false;
    };
    let mut open = vec![(top, first)];
    loop {
        let depth = open.len();
        let Some((folder, left)) = open.last_mut() else {
            return false;
        };
        let Some(entry) = left.pop() else {
            open.pop();
            continue;
        };
        sum = sum.saturating_add(entry.bytes);
        count += 1;
        if sum > bytes || count > files || depth > DEEPEST {
            return true;
        }
        if entry.is_folder
            && let Ok(inner) = open_for_counting(&*folder, &entry.name, shut)
            && let Ok(found) = entries(&inner)
        {
            open.push((inner, found));
        }
    }
}

/// Removes everything below `path`, and not the folder itself.
///
/// A folder's own folders are first moved up to the top, so that depth costs neither descriptors
/// nor stack.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    let top = open_folder(CWD, path)?;
    let mut serial = 0u64;
    for _ in 0..MOST_PASSES {
        let found = entries(&top)?;
        if found.is_empty() {
            return Ok(());
        }
        for entry in found {
            if entry.is_folder {
                let inner = open_folder(&top, &entry.name)?;
                // Without the right to write nothing could be taken out of it.
                give_access(&inner)?;
                for below in entries(&inner)? {
                    if below.is_folder {
                        give_access(&open_folder(&inner, &below.name)?)?;
                        move_up(&inner, &below.name, &top, &mut serial)?;
                    } else {
                        unlinkat(&inner, &below.name, AtFlags::empty())?;
                    }
                }
                unlinkat(&top, &entry.name, AtFlags::REMOVEDIR)?;
            } else {
                unlinkat(&top, &entry.name, AtFlags::empty())?;
            }
        }
    }
    Err(io::Error::other(
        "a job's folder fills faster than it can be emptied",
    ))
}

/// Moves a folder to a name that is free at the top.
fn move_up(from: &OwnedFd, name: &CStr, top: &OwnedFd, serial: &mut u64) -> io::Result<()> {
    loop {
        *serial += 1;
        match renameat(from, name, top, format!(".removed-{serial}")) {
            Ok(()) => return Ok(()),
            // The job had the same idea.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Removes `path` and everything below it; what is gone already is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match empty(path).and_then(|()| std::fs::remove_dir(path)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{DirBuilderExt, symlink};

    fn deep(at: &Path, depth: usize) {
        let mut folder = open_folder(CWD, at).unwrap();
        for i in 0..depth {
            let name = if i % 2 == 0 { ".removed-1" } else { "x" };
            rustix::fs::mkdirat(&folder, name, Mode::RWXU).unwrap();
            folder = open_folder(&folder, name).unwrap();
        }
    }

    #[test]
    fn links_odd_modes_and_depth_go_away_and_what_links_name_stays() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "k").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let before = (mode(outside.path()), mode(&outside.path().join("kept")));
        let place = tempfile::tempdir().unwrap();
        let job = place.path().join("job");
        fs::create_dir(&job).unwrap();
        symlink(outside.path(), job.join("link")).unwrap();
        fs::create_dir(job.join("d")).unwrap();
        symlink(outside.path(), job.join("d/link")).unwrap();
        symlink("/nowhere", job.join("d/dangling")).unwrap();
        fs::write(job.join("d/file"), "x").unwrap();
        for (name, mode) in [("shut", 0), ("d/blind", 0o300), ("d/fixed", 0o500)] {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(job.join(name))
                .unwrap();
            fs::create_dir(job.join(name).join("in")).unwrap();
            fs::write(job.join(name).join("f"), "x").unwrap();
            fs::set_permissions(job.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        deep(&job, 3000);
        remove(&job).unwrap();
        assert!(!job.exists());
        assert_eq!(
            fs::read_to_string(outside.path().join("kept")).unwrap(),
            "k"
        );
        assert_eq!(
            before,
            (mode(outside.path()), mode(&outside.path().join("kept")))
        );
        remove(&job).unwrap();
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "k").unwrap();
        let place = tempfile::tempdir().unwrap();
        symlink(outside.path(), place.path().join("job")).unwrap();
        assert!(remove(&place.path().join("job")).is_err());
        assert!(outside.path().join("kept").exists());
    }

    #[test]
    fn bytes_files_and_depth_are_counted() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        fs::write(place.path().join("d/big"), vec![1u8; 1 << 20]).unwrap();
        assert!(holds_more_than(place.path(), 1 << 19, 100, true));
        assert!(!holds_more_than(place.path(), 2 << 20, 100, true));
        assert!(holds_more_than(place.path(), 2 << 20, 1, true));
        assert!(!holds_more_than(place.path(), 2 << 20, 2, true));
        deep(place.path(), DEEPEST + 1);
        assert!(holds_more_than(place.path(), 2 << 20, 1000, true));
        assert!(!holds_more_than(&place.path().join("missing"), 0, 0, true));
    }
}
