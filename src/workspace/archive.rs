//! Tar files as sources of workspaces.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

/// Entries of an archive.
const MOST_ENTRIES: usize = 1_000_000;

/// Unpacks a tar file with at most `most` bytes in its files, plain or compressed by gzip, into a new
/// folder. Owners, times, special bits and extended attributes are left behind.
pub(super) fn unpack(path: &Path, to: &Path, most: u64) -> Result<(), String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut magic = [0; 2];
    let read = file.read(&mut magic).map_err(|error| error.to_string())?;
    file.seek(SeekFrom::Start(0))
        .map_err(|error| error.to_string())?;
    fs::create_dir(to).map_err(|error| error.to_string())?;
    let file = BufReader::new(file);
    match read == 2 && magic == [0x1f, 0x8b] {
        true => unpack_tar(MultiGzDecoder::new(file), to, most),
        false => unpack_tar(file, to, most),
    }
}

fn unpack_tar(source: impl Read, to: &Path, most: u64) -> Result<(), String> {
    let mut archive = Archive::new(source);
    let entries = archive.entries().map_err(|error| error.to_string())?;
    let (mut count, mut bytes) = (0usize, 0u64);
    for entry in entries {
        let mut entry = entry.map_err(|error| format!("it is not a tar file: {error}"))?;
        let name = entry
            .path()
            .map_err(|error| error.to_string())?
            .into_owned();
        let shown = name.display().to_string();
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        count += 1;
        bytes = bytes.saturating_add(entry.size());
        if count > MOST_ENTRIES || bytes > most {
            let most = most >> 20;
            return Err(format!("it has more than 1,000,000 entries or {most} MiB"));
        }
        let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !name.components().all(plain) {
            return Err(format!("`{shown}` leads out of the archive"));
        }
        let known = [
            EntryType::Regular,
            EntryType::Continuous,
            EntryType::GNUSparse,
            EntryType::Directory,
            EntryType::Symlink,
            EntryType::Link,
        ];
        if !known.contains(&kind) {
            return Err(format!(
                "`{shown}` is a device or a pipe; a workspace holds files, folders and symbolic links"
            ));
        }
        entry.set_preserve_mtime(false);
        entry.set_unpack_xattrs(false);
        // It refuses to write through links that lead out.
        match entry.unpack_in(to) {
            Ok(true) => {}
            Ok(false) => return Err(format!("`{shown}` leads out of the archive")),
            Err(error) => return Err(format!("`{shown}`: {}", innermost(&error))),
        }
    }
    match count {
        0 => Err("it holds nothing".to_owned()),
        _ => Ok(()),
    }
}

/// The cause of an error whose own words name paths of this machine.
fn innermost(error: &io::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
