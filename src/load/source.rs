//! The texts that problems point into: reading files, and byte offsets to lines and columns.
//!
//! Nothing here knows what a file means. Offsets are bytes into the text as kept (a byte order mark
//! is dropped).

use std::collections::{BTreeSet, HashMap};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::problem::{Code, Problem};
use eval_base::files::open_stream;

/// The most that an authoring file (YAML or JSON) may hold, in bytes.
pub const MAX_AUTHORING_BYTES: u64 = 64 << 20;

/// A file of a [`SourceFiles`]. Its order is the order in which files were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A stretch of a file, in bytes: `start` inclusive, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Offsets that do not fit are cut to `u32::MAX`; files are far smaller.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span {
            file,
            start: cut(start),
            end: cut(end.max(start)),
        }
    }

    /// The first byte of this span, as an empty span.
    pub fn at_start(self) -> Span {
        Span {
            end: self.start,
            ..self
        }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// True when both have a byte in common.
    pub fn overlaps(self, other: Span) -> bool {
        self.file == other.file && self.start < other.end && other.start < self.end
    }

    /// From the start of this span to the end of `other`, which lies in the same file and not
    /// before it.
    pub fn to(self, other: Span) -> Span {
        Span {
            end: self.end.max(other.end),
            ..self
        }
    }
}

/// Line and column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    pub line: usize,
    pub column: usize,
}

#[derive(Debug)]
struct SourceFile {
    display: String,
    text: Arc<str>,
    /// Byte offsets at which lines start; made when a position is first asked for.
    lines: OnceLock<Vec<u32>>,
}

/// Every text that was read, by [`FileId`].
#[derive(Debug, Default)]
pub struct SourceFiles {
    files: Vec<SourceFile>,
    by_path: HashMap<PathBuf, FileId>,
}

impl SourceFiles {
    pub fn new() -> SourceFiles {
        SourceFiles::default()
    }

    /// Adds a text under the name that messages show.
    pub fn add(&mut self, display: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        // More than u32::MAX files do not fit into memory.
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile {
            display: display.into(),
            text: text.into(),
            lines: OnceLock::new(),
        });
        id
    }

    /// Reads an authoring file; the same `path` is read once. `display` is what messages show.
    ///
    /// # Errors
    /// `unreadable` (missing, a folder, no permission), `too_large`, `encoding`, `empty_file`.
    pub fn read(&mut self, path: &Path, display: impl Into<String>) -> Result<FileId, Problem> {
        if let Some(id) = self.by_path.get(path) {
            return Ok(*id);
        }
        let display = display.into();
        let text = read_text(path, &display)?;
        let id = self.add(display, text);
        self.by_path.insert(path.to_owned(), id);
        Ok(id)
    }

    /// Keeps a text in place of that of the file at `path`, which is then not read.
    pub(super) fn preset(&mut self, path: &Path, display: String, text: &str) {
        let id = self.add(display, text);
        self.by_path.insert(path.to_owned(), id);
    }

    /// Drops the text of the file that was added last: nothing points into it.
    pub(super) fn forget(&mut self, file: FileId) {
        if file.0 as usize + 1 == self.files.len() {
            self.files.pop();
        }
    }

    /// The paths of these files.
    pub(super) fn paths(&self, files: &BTreeSet<FileId>) -> BTreeSet<PathBuf> {
        let found = self.by_path.iter().filter(|(_, id)| files.contains(id));
        found.map(|(path, _)| path.clone()).collect()
    }

    /// The text of every file.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.text)
    }

    /// The text of a file; empty for an id of other `SourceFiles`.
    pub fn text(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |f| &f.text)
    }

    /// The name that messages show.
    pub fn display(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |f| &f.display)
    }

    /// The text that a span covers; empty when it does not fit the file.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or("")
    }

    /// Where a span starts.
    pub fn position(&self, span: Span) -> TextPosition {
        self.position_at(span.file, span.start)
    }

    /// Where a span ends: the place right after its last character.
    pub fn end_position(&self, span: Span) -> TextPosition {
        self.position_at(span.file, span.end)
    }

    /// `path:line:column` of a span's start.
    pub fn place(&self, span: Span) -> String {
        let at = self.position(span);
        format!("{}:{}:{}", self.display(span.file), at.line, at.column)
    }

    /// The bytes of a line (from 1) without its line break; `None` past the end.
    pub fn line_range(&self, file: FileId, line: usize) -> Option<std::ops::Range<usize>> {
        let text = self.text(file);
        let starts = self.line_starts(file);
        let start = *starts.get(line.checked_sub(1)?)? as usize;
        let end = starts.get(line).map_or(text.len(), |next| *next as usize);
        let line = text.get(start..end)?;
        Some(start..start + line.trim_end_matches(['\n', '\r']).len())
    }

    fn line_starts(&self, file: FileId) -> &[u32] {
        let Some(source) = self.files.get(file.0 as usize) else {
            return &[];
        };
        source.lines.get_or_init(|| {
            let breaks = source.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0)
                .chain(breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)))
                .collect()
        })
    }

    fn position_at(&self, file: FileId, offset: u32) -> TextPosition {
        let starts = self.line_starts(file);
        let line = starts.partition_point(|start| *start <= offset).max(1);
        let start = starts.get(line - 1).copied().unwrap_or(0) as usize;
        let text = self.text(file);
        let mut end = (offset as usize).min(text.len()).max(start);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        TextPosition {
            line,
            column: text.get(start..end).map_or(0, |s| s.chars().count()) + 1,
        }
    }
}

/// Reads a whole file as text, bounded; a byte order mark is dropped.
fn read_text(path: &Path, display: &str) -> Result<String, Problem> {
    let unreadable = |e: &std::io::Error| {
        let reason = match e.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
            ErrorKind::IsADirectory => "it is a folder, not a file".to_owned(),
            _ => e.to_string(),
        };
        Problem::of_file(
            Code::Unreadable,
            display,
            format!("cannot read `{display}`: {reason}"),
        )
    };
    let file = open_stream(path).map_err(|e| unreadable(&e))?;
    let meta = file.metadata().map_err(|e| unreadable(&e))?;
    if meta.is_dir() {
        return Err(unreadable(&ErrorKind::IsADirectory.into()));
    }
    let too_large = |bytes: u64| {
        let message = format!(
            "`{display}` is too large: {} MiB, at most {} MiB",
            bytes >> 20,
            MAX_AUTHORING_BYTES >> 20
        );
        Problem::of_file(Code::TooLarge, display, message).hint(
            "put the cases into a dataset (`dataset: {path: rows.jsonl}`): its rows are streamed",
        )
    };
    if meta.len() > MAX_AUTHORING_BYTES {
        return Err(too_large(meta.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    // A pipe or a file that grows has no honest length, so the reading itself is bounded too.
    file.take(MAX_AUTHORING_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| unreadable(&e))?;
    if bytes.len() as u64 > MAX_AUTHORING_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    decode(bytes, display)
}

/// Bytes to text: UTF-8 without NUL, without a byte order mark, not empty.
pub(super) fn decode(mut bytes: Vec<u8>, display: &str) -> Result<String, Problem> {
    let wrong = |at: usize, bytes: &[u8], looks: &str| {
        let line = bytes.iter().take(at).filter(|b| **b == b'\n').count() + 1;
        let message = format!("`{display}` is not UTF-8 text: byte {at} (line {line}) {looks}");
        Problem::of_file(Code::Encoding, display, message).hint("save the file as UTF-8")
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => {
            return Err(wrong(
                0,
                &bytes,
                "begins a UTF-16 (little endian) byte order mark",
            ));
        }
        [0xFE, 0xFF, ..] => {
            return Err(wrong(
                0,
                &bytes,
                "begins a UTF-16 (big endian) byte order mark",
            ));
        }
        [0xEF, 0xBB, 0xBF, ..] => drop(bytes.drain(..3)),
        _ => {}
    }
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(wrong(
            at,
            &bytes,
            "is NUL, so it looks like a binary file or UTF-16",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let byte = e.as_bytes().get(at).copied().unwrap_or(0);
        wrong(
            at,
            e.as_bytes(),
            &format!("is 0x{byte:02X}, so it looks like Latin-1 or a binary file"),
        )
    })?;
    if text.trim().is_empty() {
        return Err(Problem::of_file(
            Code::EmptyFile,
            display,
            format!("`{display}` is empty"),
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let problem = decode(bytes.to_vec(), "a.yaml").expect_err("refused");
        format!("{} {}", problem.code.slug(), problem.message)
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let mut sources = SourceFiles::new();
        let file = sources.add("a.yaml", "ab\r\né😀x\n\nz");
        let at = |offset: usize| {
            let p = sources.position(Span::new(file, offset, offset));
            (p.line, p.column)
        };
        assert_eq!(
            [at(0), at(2), at(4), at(6), at(10), at(11)],
            [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4)]
        );
        // Inside of a character counts as at the character; past the end as at the end.
        assert_eq!(
            [at(8), at(12), at(13), at(14), at(99)],
            [(2, 2), (3, 1), (4, 1), (4, 2), (4, 2)]
        );
        assert_eq!(sources.line_range(file, 2), Some(4..11));
        assert_eq!(sources.line_range(file, 3), Some(12..12));
        assert_eq!(sources.line_range(file, 1), Some(0..2));
        assert_eq!(sources.line_range(file, 5), None);
        assert_eq!(sources.place(Span::new(file, 10, 11)), "a.yaml:2:3");
    }

    #[test]
    fn what_is_not_utf8_is_named() {
        let table: [(&[u8], &str); 5] = [
            (
                b"a: 1\nb: \xff\n",
                "byte 8 (line 2) is 0xFF, so it looks like Latin-1 or a binary file",
            ),
            (
                b"\xff\xfea\0",
                "byte 0 (line 1) begins a UTF-16 (little endian) byte order mark",
            ),
            (
                b"\xfe\xff\0a",
                "byte 0 (line 1) begins a UTF-16 (big endian) byte order mark",
            ),
            (
                b"a\n\0",
                "byte 2 (line 2) is NUL, so it looks like a binary file or UTF-16",
            ),
            (
                b"a: \xc3",
                "byte 3 (line 1) is 0xC3, so it looks like Latin-1 or a binary file",
            ),
        ];
        for (bytes, reason) in table {
            assert_eq!(
                refused(bytes),
                format!("encoding `a.yaml` is not UTF-8 text: {reason}")
            );
        }
        assert_eq!(refused(b""), "empty-file `a.yaml` is empty");
        assert_eq!(refused(b"\xef\xbb\xbf \n"), "empty-file `a.yaml` is empty");
        assert_eq!(
            decode(b"\xef\xbb\xbfa: 1\n".to_vec(), "a").ok().as_deref(),
            Some("a: 1\n")
        );
    }

    #[test]
    fn files_that_cannot_be_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sources = SourceFiles::new();
        let mut refused = |path: &Path| {
            let problem = sources.read(path, "x.yaml").expect_err("refused");
            format!(
                "{} {} | {}",
                problem.code.slug(),
                problem.message,
                problem.hint.unwrap_or_default()
            )
        };
        assert_eq!(
            refused(&dir.path().join("none")),
            "unreadable cannot read `x.yaml`: there is no such file | "
        );
        assert_eq!(
            refused(dir.path()),
            "unreadable cannot read `x.yaml`: it is a folder, not a file | "
        );
        let large = dir.path().join("large.yaml");
        std::fs::File::create(&large)
            .and_then(|f| f.set_len(100 << 20))
            .expect("a sparse file");
        assert_eq!(
            refused(&large),
            "too-large `x.yaml` is too large: 100 MiB, at most 64 MiB | put the cases into a dataset \
             (`dataset: {path: rows.jsonl}`): its rows are streamed"
        );
        let good = dir.path().join("good.yaml");
        std::fs::write(&good, "a: 1\n").expect("written");
        let first = sources.read(&good, "good.yaml").expect("read");
        assert_eq!(sources.read(&good, "good.yaml"), Ok(first));
        assert_eq!(
            (sources.text(first), sources.display(first)),
            ("a: 1\n", "good.yaml")
        );
    }
}
