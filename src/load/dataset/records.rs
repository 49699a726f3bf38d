//! Records out of data files, one at a time, each with the line it begins on.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::quotes::{QuoteChecker, explained};
use eval_base::files::open_file;
use eval_base::json;

/// Bytes of one record: one is held at a time, never the file.
pub(super) const MAX_RECORD: usize = 1 << 30;
/// Bytes of memory for the values of one record: short values take many times the bytes of their
/// text.
const MAX_WEIGHT: usize = 1 << 30;
/// Bytes of a JSON array, which is read whole.
const MAX_ARRAY: u64 = 1 << 30;

/// How records lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordLayout {
    /// A JSON object a line.
    Lines,
    /// The same as Python's `json` writes it: with `NaN` and `Infinity`, which are read as
    /// `{"$float": "nan"}` and `{"$float": "inf"}`.
    PythonLines,
    /// One JSON array of objects.
    Array,
    /// Either, told by the first character.
    LinesOrArray,
    /// Comma-separated, with a header.
    Csv,
    /// Comma-separated values of these columns, without a header.
    CsvRows(&'static [&'static str]),
}

/// A file that cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordsError {
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("line {line}: {reason}")]
    Format { line: usize, reason: String },
}

/// What a record turned out to be, or why it is none.
pub(super) type RecordResult = Result<Map<String, Value>, String>;

/// Records that are read together.
const BATCH: usize = 256;
/// Bytes after which a batch is full.
const BATCH_BYTES: usize = 1 << 20;

/// Where a record is in its file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowPlace {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// Its number among the records, from 0.
    pub index: usize,
}

/// Records in a row, not yet understood where that can wait for those who want them.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    text: Vec<u8>,
    rows: Vec<(usize, RawRecord)>,
    bytes: usize,
    /// The place of the first record in its file, from 0.
    first: usize,
}

#[derive(Debug)]
enum RawRecord {
    /// Where in the batch's text.
    Json(Range<usize>),
    /// A row of a table, with about its size.
    Done(Box<RecordResult>, usize),
}

impl RecordBatch {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The line that a record begins on; 0 past the end.
    pub fn line(&self, at: usize) -> usize {
        self.rows.get(at).map_or(0, |(line, _)| *line)
    }

    /// Where a record is in its file.
    pub fn place(&self, at: usize) -> RowPlace {
        RowPlace {
            line: self.line(at),
            index: self.first + at,
        }
    }

    /// About how much memory a record takes.
    pub fn bytes(&self, at: usize) -> usize {
        match self.rows.get(at) {
            Some((_, RawRecord::Json(range))) => range.len(),
            Some((_, RawRecord::Done(_, bytes))) => *bytes,
            None => 0,
        }
    }

    /// Takes a record out and understands it.
    pub fn take(&mut self, at: usize) -> RecordResult {
        let nothing = || Err("the record was already read".to_owned());
        match self.rows.get_mut(at) {
            Some((_, RawRecord::Json(range))) => object(serde_json::from_slice(
                self.text.get(range.clone()).unwrap_or_default(),
            )),
            Some((_, RawRecord::Done(record, _))) => std::mem::replace(&mut **record, nothing()),
            None => nothing(),
        }
    }

    fn push(&mut self, line: usize, raw: RawRecord) {
        self.rows.push((line, raw));
        self.bytes += self.bytes(self.rows.len() - 1);
    }

    /// Adds the record that lies at a place of the batch's text.
    fn push_json(&mut self, line: usize, range: Range<usize>) -> Result<(), RecordsError> {
        if json::is_heavier(self.text.get(range.clone()).unwrap_or_default(), MAX_WEIGHT) {
            let reason =
                "the values of this row would take more than 1 GiB of memory (640 bytes per object, 64 per \
                          other value); split the row"
                    .to_owned();
            return Err(RecordsError::Format { line, reason });
        }
        self.push(line, RawRecord::Json(range));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= BATCH || self.bytes >= BATCH_BYTES
    }
}

/// The records of a file in order, batch by batch; after an error there is nothing more.
pub(super) struct RecordStream {
    reader: Option<RecordReader>,
    /// Records that are still to be read.
    left: usize,
    failed: Option<RecordsError>,
    /// Records that were read.
    read: usize,
}

enum RecordReader {
    Lines(JsonLinesReader),
    Array(JsonArrayReader),
    Table(CsvTableReader),
}

impl RecordStream {
    /// At most `limit` records are read.
    pub fn open(
        path: &Path,
        layout: RecordLayout,
        limit: Option<usize>,
    ) -> Result<RecordStream, RecordsError> {
        if let Some(reason) = foreign_content(path, layout)? {
            return Err(RecordsError::Format { line: 1, reason });
        }
        let reader = match layout {
            RecordLayout::Lines => RecordReader::Lines(JsonLinesReader::open(path)?),
            RecordLayout::PythonLines => RecordReader::Lines(JsonLinesReader {
                python: true,
                ..JsonLinesReader::open(path)?
            }),
            RecordLayout::Array => RecordReader::Array(JsonArrayReader::open(path)?),
            RecordLayout::Csv => RecordReader::Table(CsvTableReader::open(path, None)?),
            RecordLayout::CsvRows(columns) => {
                RecordReader::Table(CsvTableReader::open(path, Some(columns))?)
            }
            RecordLayout::LinesOrArray if begins_an_array(path)? => {
                RecordReader::Array(JsonArrayReader::open(path)?)
            }
            RecordLayout::LinesOrArray => RecordReader::Lines(JsonLinesReader::open(path)?),
        };
        Ok(RecordStream {
            reader: Some(reader),
            left: limit.unwrap_or(usize::MAX),
            read: 0,
            failed: None,
        })
    }

    fn fill(&mut self) -> RecordBatch {
        let mut batch = RecordBatch {
            first: self.read,
            ..RecordBatch::default()
        };
        while self.left > 0 && !batch.is_full() {
            let more = match &mut self.reader {
                Some(RecordReader::Lines(lines)) => lines.read(&mut batch),
                Some(RecordReader::Array(array)) => array.read(&mut batch),
                Some(RecordReader::Table(table)) => table.read(&mut batch),
                None => Ok(false),
            };
            match more {
                Ok(true) => {
                    self.left -= 1;
                    self.read += 1;
                }
                Ok(false) => self.reader = None,
                Err(error) => {
                    self.failed = Some(error);
                    self.reader = None;
                }
            }
            if self.reader.is_none() {
                break;
            }
        }
        batch
    }
}

impl Iterator for RecordStream {
    type Item = Result<RecordBatch, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = if self.failed.is_none() {
            self.fill()
        } else {
            RecordBatch::default()
        };
        if batch.len() > 0 {
            Some(Ok(batch))
        } else {
            self.failed.take().map(Err)
        }
    }
}

/// Bytes that show what a file is.
const HEAD: u64 = 64;

/// What a file is that has no rows at all: a download that is packed, or that went wrong.
fn foreign_content(path: &Path, layout: RecordLayout) -> Result<Option<String>, RecordsError> {
    let mut head = Vec::new();
    open_file(path)?.take(HEAD).read_to_end(&mut head)?;
    let is_table = matches!(layout, RecordLayout::Csv | RecordLayout::CsvRows(_));
    let page = |mark: &[u8]| {
        let text = head.trim_ascii_start();
        text.get(..mark.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
    };
    let found = if head.starts_with(b"\x1f\x8b") {
        "the file is compressed with gzip; unpack it first (`gunzip`)"
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") {
        "the file is compressed with zstd; unpack it first (`unzstd`)"
    } else if head.starts_with(b"PK\x03\x04") {
        "the file is a zip archive; unpack it first (`unzip`)"
    } else if head.starts_with(b"PAR1") {
        "the file is in the Parquet format; export it as JSON lines first"
    } else if head.starts_with(b"version https://git-lfs") {
        "the file is a pointer of Git LFS, not the data; fetch the data first (`git lfs pull`)"
    } else if !is_table && (page(b"<!doctype html") || page(b"<html")) {
        "the file is an HTML page, not data; check the address that it was downloaded from"
    } else {
        return Ok(None);
    };
    Ok(Some(found.to_owned()))
}

fn begins_an_array(path: &Path) -> Result<bool, RecordsError> {
    let mut reader = BufReader::new(open_file(path)?);
    let mut first = [0; 1];
    while reader.read(&mut first)? == 1 {
        if !first[0].is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(&first[0]) {
            break;
        }
    }
    Ok(first[0] == b'[')
}

struct JsonLinesReader {
    reader: BufReader<File>,
    line: usize,
    python: bool,
}

impl JsonLinesReader {
    fn open(path: &Path) -> Result<JsonLinesReader, RecordsError> {
        Ok(JsonLinesReader {
            reader: BufReader::with_capacity(256 * 1024, open_file(path)?),
            line: 0,
            python: false,
        })
    }

    fn read(&mut self, batch: &mut RecordBatch) -> Result<bool, RecordsError> {
        loop {
            let start = batch.text.len();
            self.line += 1;
            let line = self.line;
            let limit = MAX_RECORD as u64 + 1;
            if self
                .reader
                .by_ref()
                .take(limit)
                .read_until(b'\n', &mut batch.text)?
                == 0
            {
                return Ok(false);
            }
            let bytes = batch.text.get(start..).unwrap_or_default();
            if bytes.len() > MAX_RECORD {
                batch.text.truncate(start);
                let reason = format!("the row is longer than {} MiB", MAX_RECORD >> 20);
                return Err(RecordsError::Format { line, reason });
            }
            let marked = if line == 1 {
                bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
            } else {
                bytes
            };
            let record = marked.trim_ascii();
            if record.is_empty() {
                batch.text.truncate(start);
                continue;
            }
            if line == 1 && record == b"[" {
                let reason =
                    "a JSON array begins here, but the format is JSON lines; use `format: json`"
                        .to_owned();
                return Err(RecordsError::Format { line, reason });
            }
            let from = start
                + (bytes.len() - marked.len())
                + (marked.len() - marked.trim_ascii_start().len());
            if self.python
                && let Some(plain) = python_floats(record)
            {
                batch.text.truncate(from);
                batch.text.extend(plain);
                let to = batch.text.len();
                return batch.push_json(line, from..to).map(|()| true);
            }
            let to = from + record.len();
            return batch.push_json(line, from..to).map(|()| true);
        }
    }
}

/// JSON with the floats that only Python writes as tagged ones; `None` if there are none.
fn python_floats(json: &[u8]) -> Option<Vec<u8>> {
    const FLOATS: [(&[u8], &[u8]); 3] = [
        (b"-Infinity", br#"{"$float": "-inf"}"#),
        (b"Infinity", br#"{"$float": "inf"}"#),
        (b"NaN", br#"{"$float": "nan"}"#),
    ];
    let has = |word: &[u8]| json.windows(word.len()).any(|bytes| bytes == word);
    if !has(b"Infinity") && !has(b"NaN") {
        return None;
    }
    let mut plain = Vec::with_capacity(json.len() + 64);
    let (mut rest, mut in_text) = (json, false);
    while let Some((first, after)) = rest.split_first() {
        let float = FLOATS
            .iter()
            .find(|(word, _)| !in_text && rest.starts_with(word));
        if let Some((word, tagged)) = float {
            plain.extend(*tagged);
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        }
        plain.push(*first);
        rest = after;
        match (first, in_text, after.split_first()) {
            (b'"', _, _) => in_text = !in_text,
            (b'\\', true, Some((escaped, after))) => {
                plain.push(*escaped);
                rest = after;
            }
            _ => {}
        }
    }
    Some(plain)
}

fn object(parsed: Result<Value, serde_json::Error>) -> RecordResult {
    match parsed {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Array(_)) => Err("not a JSON object but an array".to_owned()),
        Ok(_) => Err("not a JSON object".to_owned()),
        // The parser counts lines from the record's start.
        Err(error) => {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            let line = (error.line() > 1).then(|| format!("line {} of the row, ", error.line()));
            Err(format!(
                "not JSON: {reason} ({}column {})",
                line.unwrap_or_default(),
                error.column()
            ))
        }
    }
}

/// A JSON array, which is read whole.
struct JsonArrayReader {
    text: String,
    at: usize,
    line: usize,
    begun: bool,
}

impl JsonArrayReader {
    fn open(path: &Path) -> Result<JsonArrayReader, RecordsError> {
        let file = open_file(path)?;
        if file.metadata()?.len() > MAX_ARRAY {
            let reason = "the JSON array is larger than 1 GiB; use JSON lines".to_owned();
            return Err(RecordsError::Format { line: 1, reason });
        }
        let mut bytes = Vec::new();
        file.take(MAX_ARRAY).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let good = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
            let line = good.filter(|b| **b == b'\n').count() + 1;
            RecordsError::Format {
                line,
                reason: "not UTF-8".to_owned(),
            }
        })?;
        let at = if text.starts_with('\u{FEFF}') {
            '\u{FEFF}'.len_utf8()
        } else {
            0
        };
        Ok(JsonArrayReader {
            text,
            at,
            line: 1,
            begun: false,
        })
    }

    fn read(&mut self, batch: &mut RecordBatch) -> Result<bool, RecordsError> {
        let mut cursor = ArrayCursor {
            text: &self.text,
            at: self.at,
            line: self.line,
        };
        if self.begun {
            match cursor.next_mark() {
                Some(b',') => cursor.at += 1,
                Some(b']') => return cursor.end().map(|()| false),
                _ => return Err(cursor.error("expected a comma or the end of the array")),
            }
        } else {
            if cursor.next_mark() != Some(b'[') {
                return Err(cursor.error("expected a JSON array"));
            }
            cursor.at += 1;
            if cursor.next_mark() == Some(b']') {
                return cursor.end().map(|()| false);
            }
        }
        self.begun = true;
        cursor.next_mark();
        let line = cursor.line;
        let rest = cursor.text.get(cursor.at..).unwrap_or("");
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match stream.next() {
            Some(Ok(IgnoredAny)) => {}
            Some(Err(error)) => {
                let line = line + error.line().saturating_sub(1);
                return Err(RecordsError::Format {
                    line,
                    reason: format!("not JSON: {error}"),
                });
            }
            None => return Err(cursor.error("the array is not closed")),
        }
        let bytes = stream.byte_offset();
        let start = batch.text.len();
        batch
            .text
            .extend_from_slice(rest.as_bytes().get(..bytes).unwrap_or_default());
        cursor.skip(bytes);
        let (at, now) = (cursor.at, cursor.line);
        (self.at, self.line) = (at, now);
        batch.push_json(line, start..start + bytes).map(|()| true)
    }
}

struct ArrayCursor<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl ArrayCursor<'_> {
    fn skip(&mut self, bytes: usize) {
        let passed = self
            .text
            .as_bytes()
            .get(self.at..self.at + bytes)
            .unwrap_or(&[]);
        self.line += passed.iter().filter(|b| **b == b'\n').count();
        self.at += bytes;
    }

    /// Skips white space: the byte that comes next.
    fn next_mark(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.skip(space);
        self.text.as_bytes().get(self.at).copied()
    }

    fn end(mut self) -> Result<(), RecordsError> {
        self.at += 1;
        match self.next_mark() {
            None => Ok(()),
            Some(_) => Err(self.error("unexpected text after the array")),
        }
    }

    fn error(&self, reason: &str) -> RecordsError {
        RecordsError::Format {
            line: self.line,
            reason: reason.to_owned(),
        }
    }
}

struct CsvTableReader {
    reader: csv::Reader<QuoteChecker<File>>,
    names: Vec<String>,
    record: csv::StringRecord,
}

impl CsvTableReader {
    /// `columns` are those of a file without a header.
    fn open(path: &Path, columns: Option<&[&str]>) -> Result<CsvTableReader, RecordsError> {
        let file = QuoteChecker::new(open_file(path)?);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(columns.is_none())
            .flexible(true)
            .buffer_capacity(64 * 1024)
            .from_reader(file);
        if let Some(columns) = columns {
            return Ok(CsvTableReader {
                reader,
                names: columns.iter().map(|name| (*name).to_owned()).collect(),
                record: csv::StringRecord::new(),
            });
        }
        let header = match reader.headers() {
            Ok(header) => header,
            Err(error) => return Err(explained(&error, 1)),
        };
        let names: Vec<String> = header.iter().map(|n| n.trim().to_owned()).collect();
        for (i, name) in names.iter().enumerate() {
            if name.is_empty() {
                let reason = format!("column {} of the header has no name", i + 1);
                return Err(RecordsError::Format { line: 1, reason });
            }
            if names.iter().take(i).any(|other| other == name) {
                let reason = format!("the header contains `{name}` twice");
                return Err(RecordsError::Format { line: 1, reason });
            }
        }
        Ok(CsvTableReader {
            reader,
            names,
            record: csv::StringRecord::new(),
        })
    }

    fn read(&mut self, batch: &mut RecordBatch) -> Result<bool, RecordsError> {
        let line_of = |p: Option<&csv::Position>| {
            p.map_or(1, |p| usize::try_from(p.line()).unwrap_or(usize::MAX))
        };
        let (names, record) = (&self.names, &mut self.record);

        let (line, row) = match self.reader.read_record(record) {
            Ok(false) => return Ok(false),
            Ok(true) => {
                let row = if record.len() == names.len() {
                    Ok(names
                        .iter()
                        .cloned()
                        .zip(record.iter().map(Value::from))
                        .collect())
                } else {
                    Err(format!(
                        "{} fields, but the header has {}",
                        record.len(),
                        names.len()
                    ))
                };
                (line_of(record.position()), row)
            }
            Err(error) => {
                let line = line_of(error.position());
                if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                    return Err(explained(&error, line));
                }
                (line, Err("not UTF-8".to_owned()))
            }
        };
        let bytes = record.as_slice().len();
        batch.push(line, RawRecord::Done(Box::new(row), bytes));
        Ok(true)
    }
}
