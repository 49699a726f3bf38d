//! What is in the cache, and how it gets smaller.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};
use serde::Serialize;

use super::open::{CacheError, beside, open_present};

/// What lies in a cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CacheStats {
    pub entries: u64,
    /// Of the answers.
    pub bytes: u64,
    /// Of the file and those beside it.
    pub file_bytes: u64,
    /// RFC 3339; `None` when there is nothing.
    pub oldest: Option<String>,
    pub newest: Option<String>,
    /// By name.
    pub models: Vec<ModelShare>,
}

/// The answers of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelShare {
    /// `provider:model`.
    pub model: String,
    pub entries: u64,
    pub bytes: u64,
    pub oldest: String,
    pub newest: String,
    /// The last day on which one of them was used.
    pub last_used: String,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CacheCleanup {
    pub entries: u64,
    pub left: u64,
    /// Of the file, before and after.
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Another process had the file open: its room is given back later.
    pub busy: bool,
}

/// What lies in the file; `None` when there is none.
pub fn stats(file: &Path) -> Result<Option<CacheStats>, CacheError> {
    with(file, |connection| {
        let mut statement = connection.prepare(
            "SELECT model, count(*), sum(bytes), min(answered_at), max(answered_at), max(used_day)
             FROM answers GROUP BY model ORDER BY model",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(ModelShare {
                model: row.get(0)?,
                entries: count(row.get(1)?),
                bytes: count(row.get(2)?),
                oldest: row.get(3)?,
                newest: row.get(4)?,
                last_used: date(row.get(5)?),
            })
        })?;
        let models: Vec<ModelShare> = rows.collect::<rusqlite::Result<_>>()?;
        Ok(CacheStats {
            entries: models.iter().map(|share| share.entries).sum(),
            bytes: models.iter().map(|share| share.bytes).sum(),
            file_bytes: file_bytes(file),
            oldest: models.iter().map(|share| share.oldest.clone()).min(),
            newest: models.iter().map(|share| share.newest.clone()).max(),
            models,
        })
    })
}

/// Removes what was not used since `before` (days since 1970), then what was not used for longest
/// until the file takes no more than `most` bytes.
pub fn prune(
    file: &Path,
    before: Option<i64>,
    most: Option<u64>,
) -> Result<Option<CacheCleanup>, CacheError> {
    remove(file, |connection| {
        let mut gone = match before {
            None => 0,
            Some(day) => connection.execute("DELETE FROM answers WHERE used_day < ?1", [day])?,
        };
        if let Some(most) = most {
            gone += reduce(connection, most)?;
        }
        Ok(gone)
    })
}

/// Removes the answers of the models that fit, or all.
pub fn clear(
    file: &Path,
    fits: Option<&dyn Fn(&str) -> bool>,
) -> Result<Option<CacheCleanup>, CacheError> {
    remove(file, |connection| {
        let Some(fits) = fits else {
            return connection.execute("DELETE FROM answers", []);
        };
        let mut statement = connection.prepare("SELECT DISTINCT model FROM answers")?;
        let models: Vec<String> = statement
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut gone = 0;
        for model in models.iter().filter(|model| fits(model)) {
            gone += connection.execute("DELETE FROM answers WHERE model = ?1", [model])?;
        }
        Ok(gone)
    })
}

/// Removes answers, whose number `work` returns, and gives their room back.
fn remove(
    file: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
) -> Result<Option<CacheCleanup>, CacheError> {
    with(file, |connection| {
        let bytes_before = file_bytes(file);
        let entries = work(connection)? as u64;
        let busy = !shrink(connection)?;
        let left = connection.query_row("SELECT count(*) FROM answers", [], |row| row.get(0))?;
        Ok(CacheCleanup {
            entries,
            left: count(left),
            bytes_before,
            bytes_after: file_bytes(file),
            busy,
        })
    })
}

/// Removes what was not used for longest until what is left takes no more than so many bytes of the
/// file.
fn reduce(connection: &Connection, most: u64) -> rusqlite::Result<usize> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get(0)).map(count);
    let page = number("PRAGMA page_size")?;
    let mut gone = 0;
    while number("PRAGMA page_count")? * page > most {
        // Answers that go leave gaps in pages, and it is pages that a file is made of: only a
        // packed one tells what its answers take.
        let packed = pack(connection)?;
        let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
        let (taken, bytes) = (
            pages * page,
            number("SELECT coalesce(sum(bytes), 0) FROM answers")?,
        );
        if taken <= most || bytes == 0 {
            break;
        }
        // A row takes more room than its answer: in proportion, so that no more goes than must; and
        // some at least, because packing takes long.
        let share = u128::from(taken - most) * u128::from(bytes) / u128::from(taken);
        gone += delete_oldest(
            connection,
            u64::try_from(share).unwrap_or(bytes).max(bytes / 64).max(1),
        )?;
        if !packed {
            break;
        }
    }
    Ok(gone)
}

/// Removes the answers that were not used for longest, until they made up so many bytes.
fn delete_oldest(connection: &Connection, bytes: u64) -> rusqlite::Result<usize> {
    let mut statement = connection
        .prepare("SELECT rowid, bytes FROM answers ORDER BY used_day, answered_at, rowid")?;
    let mut rows = statement.query([])?;
    let (mut gone, mut ids) = (0, Vec::new());
    while gone < bytes
        && let Some(row) = rows.next()?
    {
        ids.push(row.get::<_, i64>(0)?);
        gone += count(row.get(1)?).max(1);
    }
    drop(rows);
    let transaction = connection.unchecked_transaction()?;
    let mut delete = transaction.prepare("DELETE FROM answers WHERE rowid = ?1")?;
    for id in &ids {
        delete.execute([id])?;
    }
    drop(delete);
    transaction.commit()?;
    Ok(ids.len())
}

/// Gives the room of what was removed back; false when another process is in the way.
fn shrink(connection: &Connection) -> rusqlite::Result<bool> {
    let checkpoint = || {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        })
    };
    Ok(pack(connection)? && unless_busy(checkpoint())?.is_some_and(|busy| busy == 0))
}

/// Closes the gaps in the file; false when another process is in the way.
fn pack(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(unless_busy(connection.execute_batch("VACUUM"))?.is_some())
}

fn unless_busy<T>(done: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn with<T>(
    file: &Path,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<T>, CacheError> {
    let opened = match open_present(file) {
        Err(CacheError::Missing(_)) => return Ok(None),
        opened => opened?,
    };
    work(&opened.connection)
        .map(Some)
        .map_err(|error| CacheError::of(file, &error))
}

fn file_bytes(file: &Path) -> u64 {
    let size = |end: &str| std::fs::metadata(beside(file, end)).map_or(0, |m| m.len());
    ["", "-wal"].into_iter().map(size).sum()
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// `YYYY-MM-DD` of days since 1970.
fn date(day: i64) -> String {
    jiff::Timestamp::from_second(day.saturating_mul(86_400))
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}
