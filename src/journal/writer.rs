//! Appending events.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::JournalError;
use crate::base::redact::Redactor;
use crate::model::Event;

/// Appends events to a journal, without secrets.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: File,
    redactor: Redactor,
    line: Vec<u8>,
    /// Set when a write failed half-way: nothing may follow a torn line.
    broken: bool,
}

impl JournalWriter {
    /// Opens an existing (possibly empty) journal for appending.
    pub fn open(path: &Path, redactor: Redactor) -> Result<Self, JournalError> {
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(|source| JournalError::Write { path: path.to_owned(), source })?;
        Ok(JournalWriter { path: path.to_owned(), file, redactor, line: Vec::new(), broken: false })
    }

    /// Writes one event and returns it as it was recorded, that is, without secrets. When this returns, the event survives the
    /// process.
    pub fn append(&mut self, event: Event) -> Result<Event, JournalError> {
        let fail = |path: &Path, source| JournalError::Write { path: path.to_owned(), source };
        if self.broken {
            return Err(fail(&self.path, std::io::Error::other("an earlier write failed")));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, &event).map_err(|e| fail(&self.path, e.into()))?;
        let mut recorded = event;
        let redacted = std::str::from_utf8(&self.line).ok().and_then(|text| self.redactor.redact(text));
        if let Some(text) = redacted {
            recorded = serde_json::from_str(&text).map_err(|e| fail(&self.path, e.into()))?;
            self.line = text.into_bytes();
        }
        self.line.push(b'\n');
        if let Err(source) = self.file.write_all(&self.line) {
            self.broken = true;
            return Err(fail(&self.path, source));
        }
        Ok(recorded)
    }

    /// Asks the device itself to keep what was written; called at the end of a run.
    pub fn sync(&self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }
}
