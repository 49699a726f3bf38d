//! Pieces of a file by offset, in bounded memory: the file is read ahead where pieces are asked for
//! in its order.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::sync::lock;

/// Bytes that are read ahead; a longer piece is read alone and not kept.
const AHEAD: usize = 64 << 10;

/// Why a piece can't be had.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error("the file has changed")]
    Changed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What may happen to the file while it is open here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileExpectation {
    /// Nothing: another length or time of change is an error.
    Unchanged,
    /// It may grow at its end.
    Growth,
}

/// A file (or bytes that came through a pipe) whose pieces are read by offset, from any thread.
#[derive(Debug)]
pub struct FileBlocks {
    /// `None` when the last block holds all that there is.
    source: Option<BlockSource>,
    last: Mutex<FilePiece>,
}

#[derive(Debug)]
struct BlockSource {
    path: PathBuf,
    /// `None` opens the file for each block, so that a thousand of them need no thousand
    /// descriptors.
    held: Option<File>,
    /// As the file was when it was opened.
    metadata: Metadata,
    expect: FileExpectation,
}

impl BlockSource {
    fn check(&self, now: &Metadata) -> Result<(), BlockError> {
        let before = &self.metadata;
        let is_same = (before.dev(), before.ino()) == (now.dev(), now.ino());
        let is_as_expected = match self.expect {
            FileExpectation::Unchanged => {
                before.len() == now.len()
                    && (before.mtime(), before.mtime_nsec()) == (now.mtime(), now.mtime_nsec())
            }
            FileExpectation::Growth => before.len() <= now.len(),
        };
        match is_same && is_as_expected {
            true => Ok(()),
            false => Err(BlockError::Changed),
        }
    }

    fn read(&self, offset: u64, length: usize) -> Result<FilePiece, BlockError> {
        let opened;
        let file = match &self.held {
            Some(file) => file,
            None => {
                opened = File::open(&self.path)?;
                &opened
            }
        };
        let mut bytes = vec![0; length];
        if let Err(error) = file.read_exact_at(&mut bytes, offset) {
            return Err(match error.kind() {
                io::ErrorKind::UnexpectedEof => BlockError::Changed,
                _ => error.into(),
            });
        }
        // Asked after reading, so that what was read is from before any change.
        self.check(&file.metadata()?)?;
        Ok(FilePiece::of(offset, bytes))
    }
}

/// A part of a file; the bytes are shared with other parts.
#[derive(Debug, Clone)]
pub struct FilePiece {
    offset: u64,
    bytes: Arc<Vec<u8>>,
    start: usize,
    length: usize,
}

impl FilePiece {
    fn of(offset: u64, bytes: Vec<u8>) -> FilePiece {
        FilePiece {
            offset,
            start: 0,
            length: bytes.len(),
            bytes: Arc::new(bytes),
        }
    }

    /// A part of this piece; `None` when it isn't all in it.
    fn part(&self, offset: u64, length: usize) -> Option<FilePiece> {
        let at = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        (at.checked_add(length)? <= self.length).then(|| FilePiece {
            offset,
            bytes: Arc::clone(&self.bytes),
            start: self.start + at,
            length,
        })
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes
            .get(self.start..self.start + self.length)
            .unwrap_or_default()
    }
}

impl FileBlocks {
    /// `file` as it is now. Without `hold` it is opened again by its path for each block.
    pub fn of_file(
        file: File,
        path: &Path,
        expect: FileExpectation,
        hold: bool,
    ) -> io::Result<FileBlocks> {
        let metadata = file.metadata()?;
        Ok(FileBlocks {
            source: Some(BlockSource {
                path: path.to_owned(),
                held: hold.then_some(file),
                metadata,
                expect,
            }),
            last: Mutex::new(FilePiece::of(0, Vec::new())),
        })
    }

    pub fn of_memory(bytes: Vec<u8>) -> FileBlocks {
        FileBlocks {
            source: None,
            last: Mutex::new(FilePiece::of(0, bytes)),
        }
    }

    /// Fails when the file is not what it was.
    pub fn check(&self) -> Result<(), BlockError> {
        match &self.source {
            Some(source) => source.check(&match &source.held {
                Some(file) => file.metadata()?,
                None => std::fs::metadata(&source.path)?,
            }),
            None => Ok(()),
        }
    }

    /// The bytes from `offset` on.
    pub fn read(&self, offset: u64, length: usize) -> Result<FilePiece, BlockError> {
        // Held while a block is read: the other threads most likely want the same one.
        let mut last = lock(&self.last);
        if let Some(piece) = last.part(offset, length) {
            return Ok(piece);
        }
        let source = self.source.as_ref().ok_or(BlockError::Changed)?;
        if length > AHEAD {
            drop(last);
            return source.read(offset, length);
        }
        // A piece that starts in the last block or soon after it is read on from.
        let reach = (last.length + AHEAD) as u64;
        let reads_on = (last.offset..=last.offset + reach).contains(&offset);
        let left = usize::try_from(source.metadata.len().saturating_sub(offset));
        let ahead = match reads_on {
            true => AHEAD.min(left.unwrap_or(AHEAD)),
            false => 0,
        };
        *last = source.read(offset, length.max(ahead))?;
        last.part(offset, length).ok_or(BlockError::Changed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|n| (n % 251) as u8).collect()
    }

    fn blocks(dir: &Path, content: &[u8], hold: bool) -> (PathBuf, FileBlocks) {
        let path = dir.join("f");
        std::fs::write(&path, content).unwrap();
        let blocks = FileBlocks::of_file(
            File::open(&path).unwrap(),
            &path,
            FileExpectation::Unchanged,
            hold,
        )
        .unwrap();
        (path, blocks)
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
        #[test]
        fn every_piece_is_what_the_file_holds(
            asked in proptest::collection::vec((0usize..300_000, 0usize..80_000), 1..60),
            hold in proptest::bool::ANY,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let content = content(300_000);
            let (_, blocks) = blocks(dir.path(), &content, hold);
            for (offset, length) in asked {
                let got = blocks.read(offset as u64, length);
                match content.get(offset..offset + length) {
                    Some(expected) => proptest::prop_assert_eq!(got.unwrap().bytes().to_vec(), expected),
                    None => proptest::prop_assert!(matches!(got, Err(BlockError::Changed))),
                }
            }
            proptest::prop_assert!(blocks.last.lock().unwrap().length <= AHEAD);
        }
    }

    #[test]
    fn reading_on_reads_ahead_and_jumping_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let content = content(1 << 20);
        let (_, ahead) = blocks(dir.path(), &content, true);
        for offset in (0..content.len() as u64).step_by(64) {
            assert_eq!(
                ahead.read(offset, 64).unwrap().bytes(),
                &content[offset as usize..offset as usize + 64]
            );
            let last = ahead.last.lock().unwrap();
            assert_eq!((last.offset % AHEAD as u64, last.length), (0, AHEAD));
        }
        let (_, jumping) = blocks(dir.path(), &content, true);
        for offset in (200_000..content.len() as u64).step_by(150_000) {
            jumping.read(offset, 64).unwrap();
            assert_eq!(jumping.last.lock().unwrap().length, 64);
        }
    }

    #[test]
    fn a_changed_a_shorter_and_another_file_are_told() {
        for hold in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let (path, changed) = blocks(dir.path(), &content(100_000), hold);
            changed.read(0, 10).unwrap();
            File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .write_all(b"more")
                .unwrap();
            assert!(matches!(changed.read(90_000, 10), Err(BlockError::Changed)));
            assert!(matches!(changed.check(), Err(BlockError::Changed)));
            let (path, shorter) = blocks(dir.path(), &content(100_000), hold);
            std::fs::write(&path, b"x").unwrap();
            assert!(matches!(shorter.read(90_000, 10), Err(BlockError::Changed)));
        }
        let dir = tempfile::tempdir().unwrap();
        let (path, closed) = blocks(dir.path(), b"12345", false);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(closed.read(0, 3), Err(BlockError::Io(_))));
    }

    #[test]
    fn growth_is_fine_where_it_is_expected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"12345").unwrap();
        let blocks = FileBlocks::of_file(
            File::open(&path).unwrap(),
            &path,
            FileExpectation::Growth,
            true,
        )
        .unwrap();
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"6789")
            .unwrap();
        assert_eq!(blocks.read(3, 2).unwrap().bytes(), b"45");
        std::fs::write(&path, b"1").unwrap();
        assert!(matches!(blocks.read(0, 2), Err(BlockError::Changed)));
    }
}
