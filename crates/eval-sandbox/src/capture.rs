//! Reading what a process writes, without ever holding more of it than is kept.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::channel::{read_some, set_nonblocking};

/// What is kept of a stream.
pub(super) struct StreamCapture {
    fd: Option<OwnedFd>,
    pub kept: Vec<u8>,
    keep: usize,
    end: u64,
    tail: bool,
    total: u64,
    file: Option<File>,
    /// Why the file is not whole.
    pub fault: Option<io::Error>,
}

impl StreamCapture {
    /// Keeps the first `keep` bytes, or the last ones with `tail`; it is over after `end`.
    pub fn new(fd: OwnedFd, keep: u64, end: u64, tail: bool) -> io::Result<Self> {
        set_nonblocking(fd.as_fd())?;
        Ok(StreamCapture {
            fd: Some(fd),
            kept: Vec::new(),
            keep: keep as usize,
            end,
            tail,
            total: 0,
            file: None,
            fault: None,
        })
    }

    /// Writes the first `keep` bytes to a file instead of keeping them. Call it before anything is
    /// read.
    pub fn write_to(&mut self, file: File, keep: u64) {
        self.file = Some(file);
        self.keep = usize::try_from(keep).unwrap_or(usize::MAX);
    }

    /// For poll: -1 once the stream ended.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, |fd| fd.as_raw_fd())
    }

    pub fn truncated(&self) -> bool {
        match self.file {
            Some(_) => self.total > self.keep as u64,
            None => self.total > self.kept.len() as u64,
        }
    }

    pub fn is_over(&self) -> bool {
        self.total > self.end
    }

    /// Reads what is there now, at most a few buffers so that other streams get their turn. False:
    /// nothing was there.
    pub fn pump(&mut self) -> bool {
        let mut buffer = [0u8; READ];
        for round in 0..8 {
            let Some(fd) = &self.fd else { return round > 0 };
            match read_some(fd.as_fd(), &mut buffer) {
                Ok(Some(0)) | Err(_) => self.fd = None,
                Ok(None) => return round > 0,
                Ok(Some(n)) => {
                    let before = usize::try_from(self.total).unwrap_or(usize::MAX);
                    self.total += n as u64;
                    if let Some(file) = &mut self.file {
                        let room = self.keep.saturating_sub(before);
                        let bytes = buffer.get(..n.min(room)).unwrap_or_default();
                        if self.fault.is_none() {
                            self.fault = file.write_all(bytes).err();
                        }
                        continue;
                    }
                    let room = if self.tail {
                        n
                    } else {
                        self.keep.saturating_sub(self.kept.len())
                    };
                    self.kept
                        .extend(buffer.get(..n.min(room)).unwrap_or_default());
                    let surplus = self.kept.len().saturating_sub(self.keep);
                    self.kept.drain(..surplus);
                }
            }
        }
        true
    }

    /// After the writers ended: reads the rest, which the size of a pipe bounds.
    pub fn drain(&mut self) {
        while !self.is_over() && self.fd.is_some() && self.pump() {}
        self.fd = None;
    }
}

/// How much is read at once.
const READ: usize = 1 << 14;

/// Lines from a channel that is not trusted.
pub(super) struct ChannelLines {
    fd: Option<OwnedFd>,
    buffer: Vec<u8>,
    /// Where in it the next line begins.
    begin: usize,
    /// Where to go on looking for a newline.
    searched: usize,
    /// What is read into, kept because clearing it costs more than reading an answer.
    chunk: Vec<u8>,
    /// The longest line that is accepted.
    longest: usize,
}

/// The longest line that is accepted where nothing else is said.
const LONGEST_LINE: usize = 8 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChannelLine {
    /// Without its newline.
    Whole(Vec<u8>),
    /// Nothing complete yet.
    Waiting,
    /// The end; true when it cut a line off.
    End(bool),
    TooLong,
}

impl ChannelLines {
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        ChannelLines::up_to(fd, LONGEST_LINE)
    }

    /// With lines of up to `longest` bytes.
    pub fn up_to(fd: OwnedFd, longest: usize) -> io::Result<Self> {
        set_nonblocking(fd.as_fd())?;
        Ok(ChannelLines {
            fd: Some(fd),
            buffer: Vec::new(),
            begin: 0,
            searched: 0,
            chunk: vec![0; READ],
            longest,
        })
    }

    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(|fd| fd.as_fd())
    }

    /// For poll: -1 once it is closed.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, |fd| fd.as_raw_fd())
    }

    /// Whether something was read that was not returned.
    pub fn holds_more(&self) -> bool {
        self.begin < self.buffer.len()
    }

    /// The next line, reading only when none is complete.
    pub fn next(&mut self) -> ChannelLine {
        loop {
            let unseen = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = unseen.iter().position(|b| *b == b'\n') {
                let end = self.searched + at;
                let line = self
                    .buffer
                    .get(self.begin..end)
                    .unwrap_or_default()
                    .to_vec();
                self.begin = end + 1;
                self.searched = self.begin;
                return ChannelLine::Whole(line);
            }
            // What was returned goes before more is read.
            self.buffer.drain(..self.begin);
            self.begin = 0;
            self.searched = self.buffer.len();
            if self.buffer.is_empty() && self.buffer.capacity() > READ {
                self.buffer = Vec::new();
            }
            if self.buffer.len() > self.longest {
                return ChannelLine::TooLong;
            }
            let Some(fd) = &self.fd else {
                return ChannelLine::End(!self.buffer.is_empty());
            };
            match read_some(fd.as_fd(), &mut self.chunk) {
                Ok(None) => return ChannelLine::Waiting,
                Ok(Some(0)) | Err(_) => self.fd = None,
                Ok(Some(n)) => self.buffer.extend(self.chunk.get(..n).unwrap_or_default()),
            }
        }
    }

    /// Tells the other side that nothing more comes, and stops listening.
    pub fn close(&mut self) {
        self.fd = None;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::channel::pipe;
    use super::*;

    #[test]
    fn lines_come_whole_and_a_cut_off_one_is_told() {
        let (read, write) = pipe().unwrap();
        let mut write = std::fs::File::from(write);
        let mut lines = ChannelLines::new(read).unwrap();
        assert_eq!(lines.next(), ChannelLine::Waiting);
        write.write_all(b"a\n\nhalf").unwrap();
        assert_eq!(lines.next(), ChannelLine::Whole(b"a".to_vec()));
        assert_eq!(lines.next(), ChannelLine::Whole(Vec::new()));
        assert_eq!(lines.next(), ChannelLine::Waiting);
        write.write_all(b" done\nx").unwrap();
        assert_eq!(lines.next(), ChannelLine::Whole(b"half done".to_vec()));
        drop(write);
        assert_eq!(lines.next(), ChannelLine::End(true));
    }

    #[test]
    fn a_capture_keeps_the_beginning_and_counts_the_rest() {
        let (read, write) = pipe().unwrap();
        let mut write = std::fs::File::from(write);
        let mut capture = StreamCapture::new(read, 5, 1 << 20, false).unwrap();
        assert!(!capture.pump());
        write.write_all(b"hello world").unwrap();
        drop(write);
        capture.drain();
        assert_eq!(
            (capture.kept.as_slice(), capture.truncated()),
            (&b"hello"[..], true)
        );
        assert_eq!(capture.raw_fd(), -1);
    }

    #[test]
    fn a_capture_may_write_the_beginning_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout");
        let (read, write) = pipe().unwrap();
        let mut write = std::fs::File::from(write);
        let mut capture = StreamCapture::new(read, 1, 1 << 20, false).unwrap();
        capture.write_to(File::create(&path).unwrap(), 5);
        write.write_all(b"hel").unwrap();
        assert!(capture.pump() && !capture.truncated());
        write.write_all(b"lo world").unwrap();
        drop(write);
        capture.drain();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        assert!(capture.kept.is_empty() && capture.truncated() && capture.fault.is_none());
    }

    #[test]
    fn a_capture_may_keep_the_end_and_is_over_where_it_should_be() {
        let (read, write) = pipe().unwrap();
        let mut write = std::fs::File::from(write);
        let mut capture = StreamCapture::new(read, 5, 11, true).unwrap();
        write.write_all(b"hello ").unwrap();
        assert!(capture.pump() && !capture.truncated() || capture.kept == b"ello ");
        write.write_all(b"world").unwrap();
        capture.pump();
        assert_eq!(
            (
                capture.kept.as_slice(),
                capture.truncated(),
                capture.is_over()
            ),
            (&b"world"[..], true, false)
        );
        write.write_all(b"!").unwrap();
        capture.pump();
        assert!(capture.is_over());
    }
}
