//! The index of a results folder: what lists and searches need of each run, in SQLite.
//!
//! It is derived from the journals and may be deleted at any time. A run is read again when the size
//! or the time of its journal changes. What is not an index of this version is replaced. Several
//! processes share one file; where it can't be written, the index is in memory.

mod collect;
mod database;
mod rows;
mod search;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OptionalExtension, params};

use database::Database;

use crate::journal::RunPaths;
use crate::run::history::RunTotals;

pub use collect::{IndexedContent, index_run};
pub use rows::{CaseCursor, CaseFilter, CasePage, CaseRow, CaseSet, EvalRow};
pub use search::{SearchCursor, TextMatcher};

/// What a journal was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalState {
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
}

impl JournalState {
    /// `None` when it is gone.
    pub fn of(paths: &RunPaths) -> Option<JournalState> {
        let metadata = std::fs::metadata(paths.journal()).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(JournalState {
            bytes: metadata.len(),
            modified: i64::try_from(modified.as_nanos()).ok()?,
        })
    }
}

/// A run in the index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedRun {
    pub journal: JournalState,
    /// Its totals, or why it can't be read.
    pub totals: Result<RunTotals, String>,
}

/// The name of a run in the index: day and stem, which are unique below the results folder.
pub fn run_key(paths: &RunPaths) -> String {
    let day = paths.dir.file_name().unwrap_or_default().to_string_lossy();
    format!("{day}/{}", paths.stem)
}

/// The runs of an index.
#[derive(Debug, Default)]
pub struct IndexedRuns {
    /// Differs from that of every other index.
    pub generation: i64,
    /// By [`run_key`].
    pub runs: HashMap<String, IndexedRun>,
}

#[derive(Debug)]
pub struct RunIndex {
    database: Database,
}

impl RunIndex {
    /// Opens the index of a results folder, which is made if it is missing. A folder that does not
    /// exist is not created.
    pub fn open(results: &Path) -> RunIndex {
        RunIndex {
            database: Database::open(results),
        }
    }

    /// True when the index ends with the process.
    pub fn is_in_memory(&self) -> bool {
        self.database.is_in_memory()
    }

    /// Changes when the index was deleted or replaced.
    pub fn generation(&self) -> rusqlite::Result<i64> {
        self.database.with(|connection| generation(connection))
    }

    pub fn runs(&self) -> rusqlite::Result<IndexedRuns> {
        self.database.with(|connection| {
            let mut statement =
                connection.prepare("SELECT key, bytes, modified, totals, unreadable FROM runs")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, indexed(row, 1)?)))?;
            Ok(IndexedRuns {
                generation: generation(connection)?,
                runs: rows.collect::<Result<_, _>>()?,
            })
        })
    }

    /// One run, as another process may have indexed it by now.
    pub fn run(&self, key: &str) -> rusqlite::Result<Option<IndexedRun>> {
        let query = "SELECT bytes, modified, totals, unreadable FROM runs WHERE key = ?";
        self.database.with(|connection| {
            let found = connection.query_row(query, [key], |row| indexed(row, 0));
            found.optional()
        })
    }

    /// Puts runs into the index; each replaces an earlier state of it.
    pub fn put(&self, runs: &[(String, JournalState, IndexedContent)]) -> rusqlite::Result<()> {
        self.database.write(|connection| {
            runs.iter()
                .try_for_each(|(key, journal, content)| put(connection, key, *journal, content))
        })
    }

    /// Removes runs that are gone.
    pub fn remove(&self, keys: &[String]) -> rusqlite::Result<()> {
        self.database
            .write(|connection| keys.iter().try_for_each(|key| remove(connection, key)))
    }
}

fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT generation FROM about", [], |row| row.get(0))
}

/// A run from four columns, the first of which has this number.
fn indexed(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<IndexedRun> {
    let bytes: i64 = row.get(first)?;
    let totals: Option<String> = row.get(first + 2)?;
    let unreadable: Option<String> = row.get(first + 3)?;
    let read = |text: String| {
        serde_json::from_str(&text).map_err(|_| {
            // As of a column with a different type: the index is replaced.
            rusqlite::Error::InvalidColumnType(
                first + 2,
                "totals".into(),
                rusqlite::types::Type::Text,
            )
        })
    };
    Ok(IndexedRun {
        journal: JournalState {
            bytes: bytes.cast_unsigned(),
            modified: row.get(first + 1)?,
        },
        totals: match totals {
            Some(text) => Ok(read(text)?),
            None => Err(unreadable.unwrap_or_default()),
        },
    })
}

fn remove(connection: &Connection, key: &str) -> rusqlite::Result<()> {
    for table in ["cases", "evals"] {
        let query = format!("DELETE FROM {table} WHERE run = (SELECT id FROM runs WHERE key = ?)");
        connection.prepare(&query)?.execute([key])?;
    }
    let query = "DELETE FROM runs WHERE key = ?";
    connection.prepare(query)?.execute([key])?;
    Ok(())
}

fn put(
    connection: &Connection,
    key: &str,
    journal: JournalState,
    content: &IndexedContent,
) -> rusqlite::Result<()> {
    remove(connection, key)?;
    let (totals, unreadable) = match &content.totals {
        Ok(totals) => (serde_json::to_string(totals).ok(), None),
        Err(why) => (None, Some(why)),
    };
    let query = "INSERT INTO runs(key, bytes, modified, totals, unreadable) VALUES (?, ?, ?, ?, ?)";
    let bytes = journal.bytes.cast_signed();
    let values = params![key, bytes, journal.modified, totals, unreadable];
    connection.prepare(query)?.execute(values)?;
    let run = connection.last_insert_rowid();
    rows::put(connection, run, content)
}
