//! Records out of data files, one at a time, each with the line it begins on.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Map, Value};

/// Bytes of one record.
const MAX_RECORD: usize = 64 << 20;
/// Bytes of a JSON array, which is read whole.
const MAX_ARRAY: u64 = 1 << 30;

/// How records lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// A JSON object a line.
    Lines,
    /// One JSON array of objects.
    Array,
    /// Either, told by the first character.
    LinesOrArray,
    /// Comma-separated, with a header.
    Csv,
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
pub(super) type Record = Result<Map<String, Value>, String>;

/// Calls `take` for every record until it says to stop.
pub(super) fn each(
    path: &Path,
    layout: Layout,
    take: &mut dyn FnMut(usize, Record) -> bool,
) -> Result<(), RecordsError> {
    match layout {
        Layout::Lines => lines(path, take),
        Layout::Array => array(path, take),
        Layout::Csv => table(path, take),
        Layout::LinesOrArray => {
            let mut reader = BufReader::new(File::open(path)?);
            let mut first = [0; 1];
            while reader.read(&mut first)? == 1 {
                if !first[0].is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(&first[0]) {
                    break;
                }
            }
            if first[0] == b'[' { array(path, take) } else { lines(path, take) }
        }
    }
}

fn lines(path: &Path, take: &mut dyn FnMut(usize, Record) -> bool) -> Result<(), RecordsError> {
    let mut reader = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let limit = MAX_RECORD as u64 + 1;
        if reader.by_ref().take(limit).read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        if buffer.len() > MAX_RECORD {
            return Err(RecordsError::Format {
                line,
                reason: format!("longer than {} MiB", MAX_RECORD >> 20),
            });
        }
        let bytes = if line == 1 { buffer.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&buffer) } else { &buffer };
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            continue;
        }
        if line == 1 && bytes == b"[" {
            let reason =
                "a JSON array begins here, but the format is JSON lines; use `format: json`".to_owned();
            return Err(RecordsError::Format { line, reason });
        }
        if !take(line, object(serde_json::from_slice(bytes))) {
            break;
        }
    }
    Ok(())
}

fn object(parsed: Result<Value, serde_json::Error>) -> Record {
    match parsed {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Array(_)) => Err("not a JSON object but an array".to_owned()),
        Ok(_) => Err("not a JSON object".to_owned()),
        // The parser counts lines from the record's start.
        Err(error) => {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            Err(format!("not JSON: {reason} (column {})", error.column()))
        }
    }
}

fn array(path: &Path, take: &mut dyn FnMut(usize, Record) -> bool) -> Result<(), RecordsError> {
    let file = File::open(path)?;
    if file.metadata()?.len() > MAX_ARRAY {
        let reason = "a JSON array of more than 1 GiB; use JSON lines".to_owned();
        return Err(RecordsError::Format { line: 1, reason });
    }
    let mut bytes = Vec::new();
    file.take(MAX_ARRAY).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
        let line = good.filter(|b| **b == b'\n').count() + 1;
        RecordsError::Format { line, reason: "not UTF-8".to_owned() }
    })?;
    let text = text.trim_start_matches('\u{FEFF}');
    let mut cursor = Cursor { text, at: 0, line: 1 };
    if cursor.next_mark() != Some(b'[') {
        return Err(cursor.error("a JSON array was expected"));
    }
    cursor.at += 1;
    if cursor.next_mark() == Some(b']') {
        return cursor.end();
    }
    loop {
        cursor.next_mark();
        let line = cursor.line;
        let mut stream = serde_json::Deserializer::from_str(cursor.text.get(cursor.at..).unwrap_or(""))
            .into_iter::<Value>();
        let parsed = match stream.next() {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                let line = line + error.line().saturating_sub(1);
                return Err(RecordsError::Format { line, reason: format!("not JSON: {error}") });
            }
            None => return Err(cursor.error("the array is not closed")),
        };
        cursor.skip(stream.byte_offset());
        if !take(line, object(parsed)) {
            return Ok(());
        }
        match cursor.next_mark() {
            Some(b',') => cursor.at += 1,
            Some(b']') => return cursor.end(),
            _ => return Err(cursor.error("a comma or the end of the array was expected")),
        }
    }
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Cursor<'_> {
    fn skip(&mut self, bytes: usize) {
        let passed = self.text.as_bytes().get(self.at..self.at + bytes).unwrap_or(&[]);
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

    fn end(&mut self) -> Result<(), RecordsError> {
        self.at += 1;
        match self.next_mark() {
            None => Ok(()),
            Some(_) => Err(self.error("something stands after the array")),
        }
    }

    fn error(&self, reason: &str) -> RecordsError {
        RecordsError::Format { line: self.line, reason: reason.to_owned() }
    }
}

fn table(path: &Path, take: &mut dyn FnMut(usize, Record) -> bool) -> Result<(), RecordsError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(BufReader::new(File::open(path)?));
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return Err(RecordsError::Format { line: 1, reason: error.to_string() }),
    };
    let names: Vec<String> = header.iter().map(|n| n.trim().to_owned()).collect();
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            let reason = format!("column {} of the header has no name", i + 1);
            return Err(RecordsError::Format { line: 1, reason });
        }
        if names.iter().take(i).any(|other| other == name) {
            return Err(RecordsError::Format { line: 1, reason: format!("the header names `{name}` twice") });
        }
    }
    for record in reader.records() {
        let (line, row) = match record {
            Ok(record) => {
                let line = record.position().map_or(1, |p| usize::try_from(p.line()).unwrap_or(usize::MAX));
                let row = if record.len() == names.len() {
                    Ok(names.iter().cloned().zip(record.iter().map(Value::from)).collect())
                } else {
                    Err(format!("{} fields, but the header names {}", record.len(), names.len()))
                };
                (line, row)
            }
            Err(error) => {
                let line = error.position().map_or(1, |p| usize::try_from(p.line()).unwrap_or(usize::MAX));
                if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                    return Err(RecordsError::Format { line, reason: error.to_string() });
                }
                (line, Err("not UTF-8".to_owned()))
            }
        };
        if !take(line, row) {
            break;
        }
    }
    Ok(())
}
