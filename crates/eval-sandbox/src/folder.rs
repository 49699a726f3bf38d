//! The private folders of jobs that share the host's file system: how much is in one, and how it
//! goes away.
//!
//! What a hostile program leaves is a tree of any depth, with links to anywhere, under modes that
//! nobody may read. So nothing here follows a link or keeps a path: everything is one name below an
//! open folder.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use super::syscalls::{c_string, check};

/// Nested deeper than this is over every limit: each level costs a descriptor.
const DEEPEST: usize = 100;
/// Every pass over a folder removes a level, so this is reached only when somebody goes on writing.
const MOST_PASSES: usize = 1_000_000;

/// Opens a folder that is no link, also one whose owner may not read it.
fn open_folder(at: RawFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call; the descriptor is new and ours.
    let open = |flags| unsafe {
        check(libc::openat(at, name.as_ptr(), flags) as libc::c_long)
            .map(|fd| OwnedFd::from_raw_fd(fd as RawFd))
    };
    match open(flags | libc::O_RDONLY) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            give_access(&open(flags | libc::O_PATH)?)?;
            open(flags | libc::O_RDONLY)
        }
        result => result,
    }
}

/// Lets the owner do everything with a folder that was opened without rights.
fn give_access(folder: &OwnedFd) -> io::Result<()> {
    let path = c_string(&format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    // SAFETY: the path outlives the call.
    check(unsafe { libc::chmod(path.as_ptr(), 0o700) } as libc::c_long).map(drop)
}

struct Entry {
    name: CString,
    is_folder: bool,
    bytes: u64,
}

fn entries(folder: &OwnedFd) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for name in names(folder)? {
        // SAFETY: an all-zero stat is valid; name and buffer outlive the call.
        let status = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            let r = libc::fstatat(folder.as_raw_fd(), name.as_ptr(), &mut status, flags);
            check(r as libc::c_long).map(|_| status)
        };
        // It may be gone meanwhile.
        let Ok(status) = status else { continue };
        entries.push(Entry {
            name,
            is_folder: status.st_mode & libc::S_IFMT == libc::S_IFDIR,
            bytes: u64::try_from(status.st_blocks)
                .unwrap_or(0)
                .saturating_mul(512),
        });
    }
    Ok(entries)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    // SAFETY: the stream owns a duplicate of the descriptor and is closed below; an entry is read
    // before the next call on the stream, and its name is NUL-terminated.
    unsafe {
        let duplicate =
            check(libc::fcntl(folder.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) as libc::c_long)?;
        let stream = libc::fdopendir(duplicate as RawFd);
        if stream.is_null() {
            let e = io::Error::last_os_error();
            libc::close(duplicate as RawFd);
            return Err(e);
        }
        libc::rewinddir(stream);
        loop {
            let entry = libc::readdir64(stream);
            if entry.is_null() {
                break;
            }
            let name = CStr::from_ptr((*entry).d_name.as_ptr());
            if ![c".", c".."].contains(&name) {
                names.push(name.to_owned());
            }
        }
        libc::closedir(stream);
    }
    Ok(names)
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let path = path
        .to_str()
        .ok_or_else(|| io::Error::other("a folder whose name is no text"))?;
    open_folder(libc::AT_FDCWD, &c_string(path)?)
}

/// Whether the files below `path` take more than `bytes` on the disk, or are more than `files`,
/// folders included.
pub(super) fn holds_more_than(path: &Path, bytes: u64, files: u64) -> bool {
    let Ok(top) = open_path(path) else {
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
            && let Ok(inner) = open_folder(folder.as_raw_fd(), &entry.name)
            && let Ok(found) = entries(&inner)
        {
            open.push((inner, found));
        }
    }
}

fn unlink(at: &OwnedFd, name: &CStr, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the name outlives the call.
    check(unsafe { libc::unlinkat(at.as_raw_fd(), name.as_ptr(), flags) } as libc::c_long).map(drop)
}

/// Removes everything below `path`, and not the folder itself.
///
/// A folder's own folders are first moved up to the top, so that depth costs neither descriptors
/// nor stack.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    let top = open_path(path)?;
    let mut serial = 0u64;
    for _ in 0..MOST_PASSES {
        let found = entries(&top)?;
        if found.is_empty() {
            return Ok(());
        }
        for entry in found {
            if entry.is_folder {
                let inner = open_folder(top.as_raw_fd(), &entry.name)?;
                // Without the right to write nothing could be taken out of it.
                give_access(&inner)?;
                for below in entries(&inner)? {
                    if below.is_folder {
                        give_access(&open_folder(inner.as_raw_fd(), &below.name)?)?;
                        move_up(&inner, &below.name, &top, &mut serial)?;
                    } else {
                        unlink(&inner, &below.name, 0)?;
                    }
                }
                unlink(&top, &entry.name, libc::AT_REMOVEDIR)?;
            } else {
                unlink(&top, &entry.name, 0)?;
            }
        }
    }
    Err(io::Error::other(
        "a job's folder fills up faster than it can be emptied",
    ))
}

/// Moves a folder to a name that is free at the top.
fn move_up(from: &OwnedFd, name: &CStr, top: &OwnedFd, serial: &mut u64) -> io::Result<()> {
    loop {
        *serial += 1;
        let to = c_string(&format!(".removed-{serial}"))?;
        // SAFETY: both names outlive the call.
        let r = unsafe {
            libc::renameat(
                from.as_raw_fd(),
                name.as_ptr(),
                top.as_raw_fd(),
                to.as_ptr(),
            )
        };
        match check(r as libc::c_long) {
            Ok(_) => return Ok(()),
            // The job had the same idea.
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::ENOTEMPTY | libc::EEXIST | libc::ENOTDIR)
                ) => {}
            Err(e) => return Err(e),
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
    use std::fs;
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};

    fn deep(at: &Path, depth: usize) {
        let mut folder = open_path(at).unwrap();
        for i in 0..depth {
            let name = c_string(if i % 2 == 0 { ".removed-1" } else { "x" }).unwrap();
            // SAFETY: the name outlives the call.
            unsafe {
                check(libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), 0o700) as libc::c_long)
                    .unwrap()
            };
            folder = open_folder(folder.as_raw_fd(), &name).unwrap();
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
        assert!(holds_more_than(place.path(), 1 << 19, 100));
        assert!(!holds_more_than(place.path(), 2 << 20, 100));
        assert!(holds_more_than(place.path(), 2 << 20, 1));
        assert!(!holds_more_than(place.path(), 2 << 20, 2));
        deep(place.path(), DEEPEST + 1);
        assert!(holds_more_than(place.path(), 2 << 20, 1000));
        assert!(!holds_more_than(&place.path().join("missing"), 0, 0));
    }
}
