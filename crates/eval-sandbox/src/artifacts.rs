//! What a compiler made: carried from the folder of one job into the folders of others.
//!
//! The minder writes the files to a memory file once nothing else of the job runs; the harness
//! reads it. A name and a content are the work of a hostile program, and are only ever put into a
//! folder of its own again.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::verdict_file::{VerdictContent, VerdictFile};

/// More than this is left out, and the program then lacks it.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 64 << 20;
const DEEPEST: usize = 32;
/// Instead of the length of a path: a file was left out.
const LEFT_OUT: u64 = u64::MAX;
/// Instead of the length of a path: the file for a verdict is not only its program's.
const DOUBTED: u64 = u64::MAX - 1;
const CACHE: &str = ".cache";

/// A file of a finished job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobArtifact {
    /// Below the working folder.
    pub path: String,
    pub content: Vec<u8>,
    pub executable: bool,
}

/// The files of a finished job.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct JobArtifacts {
    pub files: Vec<JobArtifact>,
    /// Whether regular files or folders were left out.
    pub is_cut: bool,
    /// Whether the file for a verdict may be the work of any process.
    pub is_doubted: bool,
}

/// Writes the regular files below `folder`: for each its path's length, whether it may be executed,
/// its own length (8 bytes, little endian, each), path and content; then a mark if any was left out.
/// Not looked at are folders of the host that are mounted inside it, and `.cache`, where compilers keep what no program reads.
pub(super) fn collect(folder: &Path, to: &OwnedFd) -> io::Result<()> {
    let mut to = emptied(to)?;
    let device = fs::symlink_metadata(folder)?.dev();
    let mut walk = ArtifactWalk {
        device,
        files_left: MOST_FILES,
        bytes_left: MOST_BYTES,
        is_cut: false,
        to: &mut to,
    };
    walk.folder(folder, "", DEEPEST)?;
    match walk.is_cut {
        true => to.write_all(&LEFT_OUT.to_le_bytes()),
        false => Ok(()),
    }
}

/// Writes the file for a verdict alone, in the same way.
pub(super) fn collect_verdict(name: &str, file: VerdictFile, to: &OwnedFd) -> io::Result<()> {
    let mut to = emptied(to)?;
    match file.read()? {
        VerdictContent::Absent => Ok(()),
        VerdictContent::Doubted => to.write_all(&DOUBTED.to_le_bytes()),
        VerdictContent::Sole(content) => write_one(&mut to, name, false, &content),
    }
}

fn emptied(file: &OwnedFd) -> io::Result<fs::File> {
    let mut file = fs::File::from(file.try_clone()?);
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn write_one(to: &mut fs::File, path: &str, executable: bool, content: &[u8]) -> io::Result<()> {
    for number in [
        path.len() as u64,
        u64::from(executable),
        content.len() as u64,
    ] {
        to.write_all(&number.to_le_bytes())?;
    }
    to.write_all(path.as_bytes())?;
    to.write_all(content)
}

/// What is collected, and how much more may be.
struct ArtifactWalk<'t> {
    /// The file system whose folders are a job's own.
    device: u64,
    files_left: usize,
    bytes_left: u64,
    is_cut: bool,
    to: &'t mut fs::File,
}

impl ArtifactWalk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (Ok(name), Ok(meta)) = (
                entry.file_name().into_string(),
                fs::symlink_metadata(entry.path()),
            ) else {
                self.is_cut = true;
                continue;
            };
            // A file of an overlay may report the device of the layer that holds it, a folder never
            // does.
            if meta.is_dir() && meta.dev() != self.device {
                continue;
            }
            let path = if prefix.is_empty() {
                if name == CACHE && meta.is_dir() {
                    continue;
                }
                name
            } else {
                format!("{prefix}/{name}")
            };
            if meta.is_dir() {
                let is_read = depth > 0 && self.folder(&entry.path(), &path, depth - 1).is_ok();
                self.is_cut |= !is_read;
            } else if meta.is_file() {
                let is_kept = self.files_left > 0 && meta.len() <= self.bytes_left;
                let content = is_kept.then(|| fs::read(entry.path()).ok());
                match content.flatten() {
                    Some(content) => {
                        self.file(&path, meta.permissions().mode() & 0o100 != 0, &content)?;
                    }
                    None => self.is_cut = true,
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, executable: bool, content: &[u8]) -> io::Result<()> {
        self.files_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(content.len() as u64);
        write_one(self.to, path, executable, content)
    }
}

/// Reads what [`collect`] wrote; `None` when it is cut off.
pub(super) fn read(from: OwnedFd) -> Option<JobArtifacts> {
    let mut file = fs::File::from(from);
    file.seek(SeekFrom::Start(0)).ok()?;
    let mut bytes = Vec::new();
    file.take(2 * MOST_BYTES).read_to_end(&mut bytes).ok()?;
    parse(&bytes)
}

fn parse(mut bytes: &[u8]) -> Option<JobArtifacts> {
    let mut found = JobArtifacts::default();
    while !bytes.is_empty() {
        if bytes == LEFT_OUT.to_le_bytes() {
            found.is_cut = true;
            break;
        }
        if bytes == DOUBTED.to_le_bytes() {
            found.is_doubted = true;
            break;
        }
        let mut number = || {
            let (head, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            usize::try_from(u64::from_le_bytes(*head)).ok()
        };
        let (path, executable, length) = (number()?, number()?, number()?);
        let (path, rest) = bytes.split_at_checked(path)?;
        let (content, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        found.files.push(JobArtifact {
            path: String::from_utf8(path.to_vec()).ok()?,
            content: content.to_vec(),
            executable: executable != 0,
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::channel::memory_file;
    use super::*;

    #[test]
    fn files_are_carried_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("prog"), b"\x7fELF").unwrap();
        fs::set_permissions(at("prog"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(at("classes/a")).unwrap();
        fs::write(at("classes/a/Main.class"), b"").unwrap();
        fs::create_dir_all(at(".cache/go-build")).unwrap();
        fs::write(at(".cache/go-build/a"), b"object").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
        let file = memory_file().unwrap();
        fs::File::from(file.try_clone().unwrap())
            .write_all(b"what a program wrote before")
            .unwrap();
        collect(dir.path(), &file).unwrap();
        let artifact = |path: &str, content: &[u8], executable| JobArtifact {
            path: path.into(),
            content: content.into(),
            executable,
        };
        let want = [
            artifact("classes/a/Main.class", b"", false),
            artifact("prog", b"\x7fELF", true),
        ];
        let found = read(file).unwrap();
        assert_eq!(found.files, want);
        assert!(!found.is_cut);
    }

    #[test]
    fn files_that_are_left_out_are_marked() {
        let cut = |make: &dyn Fn(&Path)| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("a"), b"a").unwrap();
            make(dir.path());
            let file = memory_file().unwrap();
            collect(dir.path(), &file).unwrap();
            let found = read(file).unwrap();
            assert_eq!(found.files[0].path, "a");
            found.is_cut
        };
        assert!(cut(&|dir| {
            for n in 0..MOST_FILES {
                fs::write(dir.join(format!("b{n}")), b"").unwrap();
            }
        }));
        assert!(cut(&|dir| {
            let file = fs::File::create(dir.join("large")).unwrap();
            file.set_len(MOST_BYTES).unwrap();
        }));
        assert!(cut(&|dir| {
            let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"b\xff");
            fs::write(dir.join(name), b"").unwrap();
        }));
        assert!(cut(&|dir| {
            fs::create_dir_all(dir.join("b/".repeat(DEEPEST + 1))).unwrap();
        }));
        assert!(!cut(&|dir| {
            fs::create_dir_all(dir.join("b/".repeat(DEEPEST))).unwrap();
            std::os::unix::fs::symlink("a", dir.join("link")).unwrap();
        }));
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let mut bytes = Vec::new();
        for number in [1u64, 0, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"abc");
        assert_eq!(parse(&bytes).unwrap().files.len(), 1);
        for cut in 1..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(parse(&u64::MAX.to_le_bytes().repeat(3)), None);
    }
}
