//! The index of a results folder: what lists and searches need of each run, in SQLite.
//!
//! It is derived from the journals and may be deleted at any time. A run is read again when the size
//! or the time of its journal changes. Runs that can't be read are not in it: what was wrong may be
//! mended. What is not an index is replaced. Several processes of one version share a file; where it
//! can't be written, the index is in memory.

mod collect;
mod database;
mod rows;
mod search;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, Error, params};

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

/// What was read of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedRun {
    pub journal: JournalState,
    /// Its totals, or why it can't be read. The index has only totals.
    pub totals: Result<Arc<RunTotals>, String>,
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
                connection.prepare("SELECT key, bytes, modified, totals FROM runs")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, indexed(row, 1)?)))?;
            Ok(IndexedRuns {
                generation: generation(connection)?,
                runs: rows
                    .filter_map(|row| if_readable(row).transpose())
                    .collect::<Result<_, _>>()?,
            })
        })
    }

    /// One run, as another process may have indexed it by now.
    pub fn run(&self, key: &str) -> rusqlite::Result<Option<IndexedRun>> {
        let query = "SELECT bytes, modified, totals FROM runs WHERE key = ?";
        self.database.with(|connection| {
            if_readable(connection.query_row(query, [key], |row| indexed(row, 0)))
        })
    }

    /// Puts runs into the index; each replaces an earlier state of it. Runs that can't be read are
    /// removed from it.
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

/// Removes the index of a results folder, which is derived from the journals.
pub fn remove_index(results: &Path) -> io::Result<()> {
    database::remove_folder(results)
}

fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT generation FROM about", [], |row| row.get(0))
}

/// `None` without a row, and of one that can't be read: that run is read again.
fn if_readable<T>(row: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match row {
        Ok(row) => Ok(Some(row)),
        Err(
            Error::QueryReturnedNoRows
            | Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A run from three columns, the first of which has this number.
fn indexed(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<IndexedRun> {
    let bytes: i64 = row.get(first)?;
    let totals: String = row.get(first + 2)?;
    let totals: RunTotals = serde_json::from_str(&totals).map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        Error::FromSqlConversionFailure(first + 2, kind, Box::new(error))
    })?;
    Ok(IndexedRun {
        journal: JournalState {
            bytes: bytes.cast_unsigned(),
            modified: row.get(first + 1)?,
        },
        totals: Ok(Arc::new(totals)),
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
    // Why it can't be read may change without its journal.
    let Ok(totals) = &content.totals else {
        return Ok(());
    };
    let totals = serde_json::to_string(totals.as_ref()).unwrap_or_default();
    let query = "INSERT INTO runs(key, bytes, modified, totals) VALUES (?, ?, ?, ?)";
    let bytes = journal.bytes.cast_signed();
    let values = params![key, bytes, journal.modified, totals];
    connection.prepare(query)?.execute(values)?;
    let run = connection.last_insert_rowid();
    rows::put(connection, run, content)
}
