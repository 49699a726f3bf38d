//! Appending events.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::JournalError;
use serde_json::Value;

use crate::base::redact::{REDACTED, Redactor};
use crate::model::Event;

/// Fields that hold words of the journal's own format and nothing from outside. A secret may well be such a word (`passed`).
const OWN_WORDS: [&str; 17] = [
    "outcome",
    "cause",
    "type",
    "trust",
    "metric",
    "bound",
    "on",
    "formats",
    "graders",
    "difficulty",
    "criticality",
    "timestamp",
    "finished_at",
    "run_id",
    "harness_version",
    "input_hash",
    "grading_hash",
];
/// Fields that hold any JSON from outside, keys and numbers included.
const FROM_OUTSIDE: [&str; 5] = ["json", "extracted", "expected", "actual", "details"];

/// The event without secrets. Only what came from outside is looked at: a secret that is also a word of the journal's
/// format, or a number in it, must not break the line.
fn redacted(event: &Event, redactor: &Redactor) -> serde_json::Result<Event> {
    let mut value = serde_json::to_value(event)?;
    redact_fields(&mut value, redactor);
    serde_json::from_value(value)
}

fn redact_fields(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Some(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_fields(item, redactor)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if FROM_OUTSIDE.contains(&name.as_str()) {
                    redact_all(field, redactor);
                } else if !OWN_WORDS.contains(&name.as_str()) {
                    redact_fields(field, redactor);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_all(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Some(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Number(number) => {
            if redactor.redact(&number.to_string()).is_some() {
                *value = Value::String(REDACTED.to_owned());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_all(item, redactor)),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut field)| {
                    redact_all(&mut field, redactor);
                    (redactor.redact(&name).unwrap_or(name), field)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) => {}
    }
}

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
        let holds_secret =
            std::str::from_utf8(&self.line).is_ok_and(|text| self.redactor.redact(text).is_some());
        if holds_secret {
            recorded = redacted(&recorded, &self.redactor).map_err(|e| fail(&self.path, e.into()))?;
            self.line.clear();
            serde_json::to_writer(&mut self.line, &recorded).map_err(|e| fail(&self.path, e.into()))?;
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
