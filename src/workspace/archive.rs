//! Tar files as sources of workspaces.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType, Header, PaxExtensions};

/// Entries of an archive.
const MOST_ENTRIES: usize = 1_000_000;
/// Bytes of a record about the next entry, such as its name.
const MOST_RECORD: u64 = 1 << 20;
const BLOCK: usize = 512;
/// Where a sparse file's header, and each block that continues it, say whether another follows.
const SPARSE_MORE: [usize; 2] = [482, 504];

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
    let mut archive = Archive::new(CheckedBlocks::new(source));
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
            return Err(format!("`{shown}` points outside of the archive"));
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
            Ok(false) => return Err(format!("`{shown}` points outside of the archive")),
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

/// What is read from a tar file, with its blocks checked on the way: records about entries, which the
/// reader of the archive holds in memory, are bounded, and the file has an end.
struct CheckedBlocks<R> {
    source: R,
    block: [u8; BLOCK],
    filled: usize,
    /// Bytes up to the next header.
    skipped: u64,
    /// The next block continues the header of a sparse file.
    is_sparse: bool,
    /// Of records of the format PAX: bytes that are missing, and those that were read.
    record: Option<(u64, Vec<u8>)>,
    ended: bool,
}

impl<R: Read> CheckedBlocks<R> {
    fn new(source: R) -> CheckedBlocks<R> {
        CheckedBlocks {
            source,
            block: [0; BLOCK],
            filled: 0,
            skipped: 0,
            is_sparse: false,
            record: None,
            ended: false,
        }
    }

    fn check(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.ended {
            if let Some((missing, record)) = &mut self.record {
                let (own, _) = split(bytes, *missing);
                record.extend_from_slice(own);
                *missing -= own.len() as u64;
            }
            if self
                .record
                .as_ref()
                .is_some_and(|(missing, _)| *missing == 0)
                && let Some((_, record)) = self.record.take()
            {
                check_record(&record)?;
            }
            let (data, rest) = split(bytes, self.skipped);
            self.skipped -= data.len() as u64;
            let (own, rest) = split(rest, (BLOCK - self.filled) as u64);
            for (to, byte) in self.block.iter_mut().skip(self.filled).zip(own) {
                *to = *byte;
            }
            self.filled += own.len();
            if self.filled == BLOCK {
                self.filled = 0;
                self.check_header()?;
            }
            bytes = rest;
        }
        Ok(())
    }

    fn check_header(&mut self) -> io::Result<()> {
        let continues = |at: usize| self.block.get(at).is_some_and(|byte| *byte != 0);
        let [first, further] = SPARSE_MORE;
        if self.is_sparse {
            self.is_sparse = continues(further);
            return Ok(());
        }
        if self.block.iter().all(|byte| *byte == 0) {
            self.ended = true;
            return Ok(());
        }
        let header = Header::from_byte_slice(&self.block);
        let (kind, size) = (header.entry_type(), header.entry_size()?);
        let is_pax = kind.is_pax_local_extensions() || kind.is_pax_global_extensions();
        let is_record = is_pax || kind.is_gnu_longname() || kind.is_gnu_longlink();
        if is_record && size > MOST_RECORD {
            let most = MOST_RECORD >> 20;
            return Err(invalid(&format!(
                "a name or an attribute has more than {most} MiB"
            )));
        }
        self.is_sparse = kind.is_gnu_sparse() && continues(first);
        self.skipped = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        self.record = is_pax.then(|| (size, Vec::new()));
        Ok(())
    }
}

impl<R: Read> Read for CheckedBlocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        if count == 0 && !buffer.is_empty() && !self.ended {
            return Err(invalid("it is truncated: its end marker is missing"));
        }
        self.check(buffer.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}

/// A size here would count instead of that of the header, by which the blocks are checked.
fn check_record(record: &[u8]) -> io::Result<()> {
    for pair in PaxExtensions::new(record) {
        if pair?.key_bytes() == b"size" {
            return Err(invalid("it has an entry of 8 GiB or more"));
        }
    }
    Ok(())
}

fn split(bytes: &[u8], at: u64) -> (&[u8], &[u8]) {
    let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    bytes.split_at(at)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    fn entry(kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_path("a").unwrap();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size);
        header.set_cksum();
        header
    }

    /// Two files, one with a long name, in the formats GNU and PAX.
    fn whole() -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        let long = format!("{}/b", "long/".repeat(40));
        let mut header = entry(EntryType::Regular, 3);
        builder
            .append_data(&mut header, &long, &b"abc"[..])
            .unwrap();
        builder
            .append_pax_extensions([("comment", &b"of size=3"[..])])
            .unwrap();
        let content = vec![b'x'; 1500];
        let mut header = entry(EntryType::Regular, 1500);
        builder.append_data(&mut header, "c", &content[..]).unwrap();
        builder.into_inner().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a.tar"), dir.path().join("to"));
        std::fs::write(&from, bytes).unwrap();
        unpack(&from, &to, 1 << 20)?;
        assert_eq!(fs::read(to.join("c")).unwrap(), vec![b'x'; 1500]);
        let long = to.join("long/".repeat(40)).join("b");
        assert_eq!(fs::read(long).unwrap(), b"abc");
        Ok(())
    }

    #[test]
    fn archive_that_is_cut_off_anywhere_is_refused() {
        let whole = whole();
        assert_eq!(unpacked(&whole), Ok(()));
        let end = whole.len() - 2 * BLOCK;
        for length in (1..=end).step_by(128) {
            let cut = whole.get(..length).unwrap();
            let why = unpacked(cut).expect_err("a part of an archive");
            assert!(
                why.contains("it is not a tar file")
                    || why.contains("cut off")
                    || why.contains("`c`")
                    || why.contains("/b`"),
                "{length}: {why}"
            );
        }
        // The mark is two blocks of zeros, and one ends it already.
        assert_eq!(unpacked(whole.get(..=end + BLOCK).unwrap()), Ok(()));
    }

    /// A source that counts what was read of it.
    struct CountedZeros(u64);

    impl Read for CountedZeros {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'a');
            self.0 += buffer.len() as u64;
            assert!(self.0 < 64 << 20, "it reads on");
            Ok(buffer.len())
        }
    }

    #[test]
    fn records_about_entries_are_bounded() {
        let kinds = [
            EntryType::GNULongName,
            EntryType::GNULongLink,
            EntryType::XHeader,
            EntryType::XGlobalHeader,
        ];
        for kind in kinds {
            let header = entry(kind, 8 << 30);
            let source = header.as_bytes().chain(CountedZeros(0));
            let dir = tempfile::tempdir().unwrap();
            let why = unpack_tar(source, dir.path(), 1 << 20).expect_err("a huge record");
            assert!(why.contains("more than 1 MiB"), "{why}");
        }
    }

    #[test]
    fn sizes_beside_those_of_headers_are_refused() {
        let mut builder = Builder::new(Vec::new());
        builder
            .append_pax_extensions([("size", &b"1"[..])])
            .unwrap();
        let mut header = entry(EntryType::Regular, 1500);
        builder
            .append_data(&mut header, "c", &vec![b'x'; 1500][..])
            .unwrap();
        let why = unpacked(&builder.into_inner().unwrap()).expect_err("two sizes");
        assert!(why.contains("8 GiB"), "{why}");
    }
}
