//! Pieces of a file by offset, in bounded memory: the file is read ahead where pieces are asked for
//! in its order.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are read when nothing speaks for reading on.
const FIRST: usize = 4 << 10;

/// Bytes that are read ahead at most; a longer piece is read by itself and not kept.
const LARGEST: usize = 64 << 10;

/// Blocks that are kept: 2 MiB at most, and as many places of a file that are read on from in
/// turns.
const KEPT: usize = 32;

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
pub enum Expect {
    /// Nothing: another length or time of change is an error.
    Unchanged,
    /// It may grow at its end.
    Growth,
}

/// What tells a file from another one, and from itself after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    fn still(&self, now: &Metadata, expect: Expect) -> bool {
        let now = Identity::of(now);
        match expect {
            Expect::Unchanged => now == *self,
            Expect::Growth => {
                (now.device, now.inode) == (self.device, self.inode) && now.length >= self.length
            }
        }
    }
}

/// A file (or bytes that came through a pipe) whose pieces are read by offset, from any thread.
#[derive(Debug)]
pub struct Blocks {
    source: Source,
    identity: Identity,
    expect: Expect,
    kept: Mutex<Vec<Block>>,
}

#[derive(Debug)]
enum Source {
    Held(File),
    /// Opened for each block, so that a thousand of them need no thousand descriptors.
    Closed(PathBuf),
    Memory(Arc<Vec<u8>>),
}

#[derive(Debug)]
struct Block {
    start: u64,
    bytes: Arc<Vec<u8>>,
    /// How much to read when somebody reads on from here.
    window: usize,
}

impl Block {
    /// Where a piece lies in this block.
    fn place(&self, offset: u64, length: usize) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (at.checked_add(length)? <= self.bytes.len()).then_some(at)
    }

    /// The piece starts in this block or soon after it.
    fn leads_to(&self, offset: u64) -> bool {
        let end = (self.bytes.len() + self.window) as u64;
        offset.checked_sub(self.start).is_some_and(|at| at <= end)
    }
}

/// A part of a file; the bytes are shared with other parts.
#[derive(Debug, Clone)]
pub struct Piece {
    bytes: Arc<Vec<u8>>,
    start: usize,
    length: usize,
}

impl Piece {
    pub fn bytes(&self) -> &[u8] {
        self.bytes
            .get(self.start..self.start + self.length)
            .unwrap_or_default()
    }
}

impl Blocks {
    /// `file` as it is now. Without `hold` it is opened again by its path for each read.
    pub fn of_file(file: File, path: &Path, expect: Expect, hold: bool) -> io::Result<Blocks> {
        let identity = Identity::of(&file.metadata()?);
        let source = if hold {
            Source::Held(file)
        } else {
            Source::Closed(path.to_owned())
        };
        Ok(Blocks {
            source,
            identity,
            expect,
            kept: Mutex::default(),
        })
    }

    pub fn of_memory(bytes: Vec<u8>) -> Blocks {
        let identity = Identity {
            device: 0,
            inode: 0,
            length: bytes.len() as u64,
            modified: (0, 0),
        };
        let source = Source::Memory(Arc::new(bytes));
        Blocks {
            source,
            identity,
            expect: Expect::Unchanged,
            kept: Mutex::default(),
        }
    }

    /// Fails when the file is not what it was.
    pub fn check(&self) -> Result<(), BlockError> {
        let now = match &self.source {
            Source::Held(file) => file.metadata()?,
            Source::Closed(path) => std::fs::metadata(path)?,
            Source::Memory(_) => return Ok(()),
        };
        if self.identity.still(&now, self.expect) {
            Ok(())
        } else {
            Err(BlockError::Changed)
        }
    }

    /// The bytes from `offset` on.
    pub fn read(&self, offset: u64, length: usize) -> Result<Piece, BlockError> {
        if let Source::Memory(bytes) = &self.source {
            let start = usize::try_from(offset).map_err(|_| BlockError::Changed)?;
            if start
                .checked_add(length)
                .is_none_or(|end| end > bytes.len())
            {
                return Err(BlockError::Changed);
            }
            return Ok(Piece {
                bytes: Arc::clone(bytes),
                start,
                length,
            });
        }
        if length > LARGEST {
            let bytes = Arc::new(self.fresh(offset, length)?);
            return Ok(Piece {
                bytes,
                start: 0,
                length,
            });
        }
        // Held while a block is read: the other threads most likely want the same one.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept
            .iter()
            .enumerate()
            .rev()
            .find_map(|(n, b)| Some((n, b.place(offset, length)?)));
        if let Some((n, start)) = known {
            if n + 1 < kept.len() {
                // The last one is the one used last.
                kept.get_mut(n..).unwrap_or_default().rotate_left(1);
            }
            let bytes = kept
                .last()
                .map(|block| Arc::clone(&block.bytes))
                .unwrap_or_default();
            return Ok(Piece {
                bytes,
                start,
                length,
            });
        }
        let leads = kept
            .iter()
            .filter(|block| block.leads_to(offset))
            .map(|block| block.window * 4)
            .max();
        let window = leads.unwrap_or(FIRST).min(LARGEST);
        let left =
            usize::try_from(self.identity.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = Arc::new(self.fresh(offset, window.min(left).max(length))?);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Block {
            start: offset,
            bytes: Arc::clone(&bytes),
            window,
        });
        Ok(Piece {
            bytes,
            start: 0,
            length,
        })
    }

    fn fresh(&self, offset: u64, length: usize) -> Result<Vec<u8>, BlockError> {
        let opened;
        let file = match &self.source {
            Source::Held(file) => file,
            Source::Closed(path) => {
                opened = File::open(path)?;
                &opened
            }
            // Answered before.
            Source::Memory(_) => return Err(BlockError::Changed),
        };
        let mut bytes = vec![0; length];
        if let Err(error) = file.read_exact_at(&mut bytes, offset) {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => Err(BlockError::Changed),
                _ => Err(error.into()),
            };
        }
        // Asked after reading, so that what was read is from before any change.
        if self.identity.still(&file.metadata()?, self.expect) {
            Ok(bytes)
        } else {
            Err(BlockError::Changed)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|n| (n % 251) as u8).collect()
    }

    fn blocks(dir: &Path, content: &[u8], hold: bool) -> (PathBuf, Blocks) {
        let path = dir.join("f");
        std::fs::write(&path, content).unwrap();
        let blocks =
            Blocks::of_file(File::open(&path).unwrap(), &path, Expect::Unchanged, hold).unwrap();
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
            proptest::prop_assert!(blocks.kept.lock().unwrap().len() <= KEPT);
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
        }
        let kept = ahead.kept.lock().unwrap();
        // 4, 16 and 64 KiB, then 64 each.
        assert_eq!(kept.len(), 18);
        assert_eq!(
            kept.last().unwrap().bytes.len(),
            (1 << 20) - (4 << 10) - (16 << 10) - 15 * (64 << 10)
        );
        let (_, jumping) = blocks(dir.path(), &content, true);
        for offset in (0..content.len() as u64).step_by(10_000) {
            jumping.read(offset, 64).unwrap();
        }
        assert!(
            jumping
                .kept
                .lock()
                .unwrap()
                .iter()
                .all(|block| block.bytes.len() <= FIRST)
        );
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
        let blocks =
            Blocks::of_file(File::open(&path).unwrap(), &path, Expect::Growth, true).unwrap();
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
