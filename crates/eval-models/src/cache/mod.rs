//! Answers of earlier runs, in SQLite: one file that all runs of a user share.
//!
//! Reads go through a few connections of their own; writes go to one thread, which commits what has
//! gathered in one transaction. Whatever is wrong with the file costs a run its cache and nothing
//! else.

mod open;
mod upkeep;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Completion;
use crate::key::QuestionKey;
use eval_base::clock::rfc3339;
use eval_base::sync::lock;

pub use open::CacheError;
pub use upkeep::{CacheCleanup, CacheStats, ModelShare, clear, prune, stats};

use open::CacheFile;
use writer::CacheWriter;

/// Connections for reading.
const READERS: usize = 4;

/// An answer and when it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredAnswer {
    pub completion: Completion,
    /// RFC 3339, UTC.
    pub answered_at: String,
}

/// What people should know, shared with the thread that writes.
type SharedWarnings = Arc<Mutex<Vec<String>>>;

/// The answers that are kept, open for one run.
#[derive(Debug)]
pub(crate) struct AnswerCache {
    file: PathBuf,
    /// Of the file that was opened: another may lie in its place by now.
    identity: Option<u64>,
    /// Opened when they are needed; a cache that can only be read has one, opened from the start.
    readers: Vec<Mutex<Option<Connection>>>,
    /// Which reader comes next.
    turn: AtomicUsize,
    /// `None` when the file can only be read.
    writer: Option<CacheWriter>,
    /// The day of this run: an answer's last use is known by the day.
    today: i64,
    opened: Timestamp,
    /// Trouble that a read met; the file is set aside in the end.
    damaged: AtomicBool,
    told: AtomicBool,
    warnings: SharedWarnings,
}

impl AnswerCache {
    /// Opens the file, and makes it when it is not there. A damaged one is set aside, and a warning
    /// says so.
    ///
    /// # Errors
    /// When there can be no cache: no right to the place, a folder where the file belongs, a file
    /// of another program or of a later version.
    pub fn open(file: &Path, now: Timestamp) -> Result<AnswerCache, CacheError> {
        let opened = open::open(file, now)?;
        Ok(AnswerCache::of(file, opened, now))
    }

    /// As [`AnswerCache::open`], of a file that must be there and sound: without it nothing can be
    /// answered.
    pub fn open_present(file: &Path, now: Timestamp) -> Result<AnswerCache, CacheError> {
        let opened = open::open_present(file)?;
        Ok(AnswerCache::of(file, opened, now))
    }

    fn of(file: &Path, opened: CacheFile, now: Timestamp) -> AnswerCache {
        let CacheFile {
            connection,
            writable,
            warning,
            identity,
        } = opened;
        let warnings: SharedWarnings = Arc::new(Mutex::new(warning.into_iter().collect()));
        let (writer, readers) = if writable {
            let writer = CacheWriter::start(connection, file, Arc::clone(&warnings));
            (
                Some(writer),
                (0..READERS).map(|_| Mutex::default()).collect(),
            )
        } else {
            (None, vec![Mutex::new(Some(connection))])
        };
        AnswerCache {
            file: file.to_owned(),
            readers,
            turn: AtomicUsize::new(0),
            writer,
            today: day(now),
            opened: now,
            damaged: AtomicBool::new(false),
            told: AtomicBool::new(false),
            identity,
            warnings,
        }
    }

    /// The answer under this key. What can't be read is not there.
    pub fn get(&self, key: &QuestionKey) -> Option<StoredAnswer> {
        let (answered_at, used_day, known, answer) = match self.read(key) {
            Ok(row) => row?,
            Err(error) => {
                self.trouble(&error);
                return None;
            }
        };
        // A bit that fell over in a text would be an answer that nobody gave.
        if known != digest(key, &answered_at, &answer) {
            return self.drop_damaged(key);
        }
        let Ok(completion) = serde_json::from_slice(&answer) else {
            return self.drop_damaged(key);
        };
        if let Some(writer) = self.writer.as_ref().filter(|_| used_day < self.today) {
            writer.used(*key, self.today);
        }
        Some(StoredAnswer {
            completion,
            answered_at,
        })
    }

    /// Keeps an answer; returns when it is committed, or can't be kept, of which a warning tells. One
    /// that is there already stays, unless it was given before `replaced`. `model` is what the suite
    /// calls it, `provider:model`.
    pub async fn put(
        &self,
        key: &QuestionKey,
        model: &str,
        kept: &StoredAnswer,
        replaced: Option<Timestamp>,
    ) {
        let Some(writer) = &self.writer else { return };
        let Ok(answer) = serde_json::to_vec(&kept.completion) else {
            return;
        };
        let row = writer::CacheRow {
            key: *key,
            model: model.to_owned(),
            digest: digest(key, &kept.answered_at, &answer),
            answered_at: kept.answered_at.clone(),
            day: self.today,
            answer,
            before: replaced.map(rfc3339).unwrap_or_default(),
        };
        writer.put(row).await;
    }

    /// Removes an answer that turned out to be of no use; returns when it is gone.
    pub async fn remove(&self, key: &QuestionKey) {
        if let Some(writer) = &self.writer {
            writer.forget(*key).await;
        }
    }

    /// What people should know and were not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.warnings))
    }

    fn read(&self, key: &QuestionKey) -> rusqlite::Result<Option<StoredRow>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        let Some(reader) = self.readers.get(turn) else {
            return Ok(None);
        };
        let mut guard = lock(reader);
        let connection = match &mut *guard {
            Some(connection) => connection,
            closed => closed.insert(open::reader(&self.file)?),
        };
        let sql = "SELECT answered_at, used_day, digest, answer FROM answers WHERE key = ?1";
        let mut statement = connection.prepare(sql)?;
        statement
            .query_row([key.bytes()], |row| row.try_into())
            .optional()
    }

    /// Makes room for an answer that can be used.
    fn drop_damaged(&self, key: &QuestionKey) -> Option<StoredAnswer> {
        self.writer.as_ref()?.forget_soon(*key);
        None
    }

    fn trouble(&self, error: &rusqlite::Error) {
        if open::is_damage(error) {
            self.damaged.store(true, Ordering::Relaxed);
            self.warn_once(format!(
                "the cache {} is damaged ({error}): what can't be read is asked again, and the file is set aside when \
                 this run ends",
                self.file.display()
            ));
        } else if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) {
            self.warn_once(format!(
                "the cache {} can't be read: {error}",
                self.file.display()
            ));
        }
    }

    /// One warning is enough: the others would say the same of other questions.
    fn warn_once(&self, warning: String) {
        if !self.told.swap(true, Ordering::Relaxed) {
            lock(&self.warnings).push(warning);
        }
    }
}

impl Drop for AnswerCache {
    fn drop(&mut self) {
        let written_to_damage = self.writer.take().is_some_and(CacheWriter::finish);
        if written_to_damage || self.damaged.load(Ordering::Relaxed) {
            self.readers.clear();
            open::set_aside_if(&self.file, self.identity, self.opened);
        }
    }
}

/// When it was answered, the day of its last use, the digest, the answer.
type StoredRow = (String, i64, Vec<u8>, Vec<u8>);

/// The first 64 bits of a SHA-256 over all of a row that a run believes.
fn digest(key: &QuestionKey, answered_at: &str, answer: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(key.bytes());
    hash.update(answered_at.as_bytes());
    hash.update([0]);
    hash.update(answer);
    hash.finalize().iter().take(8).copied().collect()
}

/// Days since 1970 in UTC.
fn day(at: Timestamp) -> i64 {
    at.as_second().div_euclid(86_400)
}

#[cfg(test)]
mod process_tests;
#[cfg(test)]
mod tests;
