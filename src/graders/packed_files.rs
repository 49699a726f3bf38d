//! A folder of compressed files by content, in the user's cache folder. A cache that can't be read
//! or written costs time and nothing else.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::model::Fingerprint;
use eval_base::whole_file::WholeFile;

/// Bytes of the files of a folder; beyond, those that were written first are deleted.
const MOST_FILES: u64 = 256 << 20;
/// Bytes of one file once it is read.
const MOST_CONTENT: u64 = 512 << 20;

#[derive(Debug, Default)]
pub(crate) struct PackedFiles {
    /// `None` keeps nothing.
    folder: Option<PathBuf>,
    suffix: &'static str,
}

impl PackedFiles {
    /// `cache`: the folder of the user's caches; `suffix` ends the files' names.
    pub fn new(cache: Option<&Path>, name: &str, suffix: &'static str) -> PackedFiles {
        PackedFiles {
            folder: cache.map(|cache| cache.join(name)),
            suffix,
        }
    }

    fn path(&self, key: Fingerprint) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{key}{}", self.suffix)))
    }

    /// `None` for a file that is not there or not whole.
    pub fn read(&self, key: Fingerprint) -> Option<Vec<u8>> {
        let file = fs::File::open(self.path(key)?).ok()?;
        let mut content = Vec::new();
        GzDecoder::new(file)
            .take(MOST_CONTENT)
            .read_to_end(&mut content)
            .ok()?;
        Some(content)
    }

    /// `fill` writes the content.
    pub fn write(
        &self,
        key: Fingerprint,
        fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) {
        if let Some(path) = self.path(key) {
            let _ = write(&path, fill);
        }
    }
}

fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    fs::create_dir_all(folder)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    fill(&mut packed)?;
    let packed = packed.finish()?;
    make_room(folder, packed.len() as u64)?;
    let mut file = WholeFile::create(path)?;
    file.write_all(&packed)?;
    file.keep()
}

/// Deletes the oldest files until this many bytes more have their place.
fn make_room(folder: &Path, more: u64) -> std::io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let facts = entry.metadata()?;
        if facts.is_file() {
            let written = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((written, facts.len(), entry.path()));
        }
    }
    let mut total = more + files.iter().map(|(_, size, _)| size).sum::<u64>();
    files.sort();
    for (_, size, path) in files {
        if total <= MOST_FILES {
            break;
        }
        fs::remove_file(path)?;
        total = total.saturating_sub(size);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn room_is_made_by_deleting_what_is_oldest() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, seconds| {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_len(100 << 20).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
                .unwrap();
        };
        file("old", 1);
        file("new", 2);
        make_room(dir.path(), 50 << 20).unwrap();
        assert!(dir.path().join("old").exists());
        make_room(dir.path(), 100 << 20).unwrap();
        assert!(!dir.path().join("old").exists() && dir.path().join("new").exists());
    }
}
