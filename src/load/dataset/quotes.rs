//! Quotation marks of CSV files. A reader repairs wrong ones in silence, and rows are lost on the
//! way: here they are errors.

use std::io::{self, Read};

use super::records::{MAX_RECORD, RecordsError};

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Passes a file on as it is, up to the first wrong quotation mark.
pub(super) struct QuoteChecker<R> {
    inner: R,
    state: QuoteState,
    /// From 1.
    line: usize,
    /// Where the last quotation mark opened.
    opened: usize,
    /// Bytes of the byte order mark so far.
    marked: usize,
    /// Bytes of the record so far.
    record: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    /// Before a field.
    Start,
    Plain,
    Quoted,
    /// After a quotation mark in a quoted field: its end, or the first half of an escaped one.
    Closing,
}

/// What is wrong, as it comes through a reader that knows only errors of input.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
struct QuoteFault {
    line: usize,
    reason: String,
}

impl<R> QuoteChecker<R> {
    pub fn new(inner: R) -> QuoteChecker<R> {
        QuoteChecker {
            inner,
            state: QuoteState::Start,
            line: 1,
            opened: 1,
            marked: 0,
            record: 0,
        }
    }

    fn step(&mut self, byte: u8) -> Result<(), QuoteFault> {
        let wrong = |line: usize, reason: String| Err(QuoteFault { line, reason });
        if self.line == 1 && self.marked < BOM.len() && BOM.get(self.marked) == Some(&byte) {
            self.marked += 1;
            return Ok(());
        }
        self.marked = BOM.len();
        self.record += 1;
        self.state = match (self.state, byte) {
            (QuoteState::Start, b'"') => {
                self.opened = self.line;
                QuoteState::Quoted
            }
            (QuoteState::Quoted, b'"') => QuoteState::Closing,
            (QuoteState::Quoted, _) | (QuoteState::Closing, b'"') => QuoteState::Quoted,
            (_, b',') => QuoteState::Start,
            (_, b'\r' | b'\n') => {
                self.record = 0;
                QuoteState::Start
            }
            (QuoteState::Closing, _) => {
                let reason = format!(
                    "after the quotation mark that ends the field of line {} stands neither a comma nor the end of the line; one inside a field is written twice",
                    self.opened
                );
                return wrong(self.line, reason);
            }
            (QuoteState::Start | QuoteState::Plain, _) => QuoteState::Plain,
        };
        self.line += usize::from(byte == b'\n');
        if self.record > MAX_RECORD {
            return wrong(
                self.opened.min(self.line),
                format!("a row longer than {} MiB", MAX_RECORD >> 20),
            );
        }
        Ok(())
    }
}

impl<R: Read> Read for QuoteChecker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let invalid = |wrong: QuoteFault| io::Error::new(io::ErrorKind::InvalidData, wrong);
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() && self.state == QuoteState::Quoted {
            let reason = "a quotation mark opens a field here and is never closed".to_owned();
            return Err(invalid(QuoteFault {
                line: self.opened,
                reason,
            }));
        }
        buffer
            .iter()
            .take(read)
            .try_for_each(|byte| self.step(*byte))
            .map_err(invalid)?;
        Ok(read)
    }
}

/// An error of a reader over [`QuoteChecker`]; `line` is where that reader was.
pub(super) fn explained(error: &csv::Error, line: usize) -> RecordsError {
    let wrong = match error.kind() {
        csv::ErrorKind::Io(error) => error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<QuoteFault>()),
        _ => None,
    };
    match wrong {
        Some(QuoteFault { line, reason }) => RecordsError::Format {
            line: *line,
            reason: reason.clone(),
        },
        None => RecordsError::Format {
            line,
            reason: error.to_string(),
        },
    }
}
