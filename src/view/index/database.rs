//! The file of the index: opened for each use, made again when it is not an index.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use eval_base::files;
use eval_base::sync::lock;

const FOLDER: &str = ".index";
/// With [`VERSION`] and that of the program, so that two versions do not replace each other's index.
pub(super) const FILE: &str = concat!("view-1-", env!("CARGO_PKG_VERSION"), ".sqlite");

/// The version of the tables and of what is in them.
const VERSION: i64 = 1;

/// How long another process may write.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// `outcome` is a place in [`super::rows::ORDER`], so that cases are in the order in which they are
/// listed; `at` is the case's place in the plan, from 1.
const SCHEMA: &str = "
    CREATE TABLE about(generation INTEGER NOT NULL);
    INSERT INTO about VALUES (random());
    CREATE TABLE runs(
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        bytes INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        totals TEXT NOT NULL
    );
    CREATE TABLE evals(
        run INTEGER NOT NULL,
        at INTEGER NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        outcome INTEGER NOT NULL,
        score REAL,
        counts TEXT NOT NULL,
        PRIMARY KEY(run, at)
    ) WITHOUT ROWID;
    CREATE TABLE cases(
        run INTEGER NOT NULL,
        outcome INTEGER NOT NULL,
        at INTEGER NOT NULL,
        eval TEXT NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        flaky INTEGER NOT NULL,
        score REAL,
        cause TEXT,
        reason TEXT NOT NULL,
        output TEXT NOT NULL,
        PRIMARY KEY(run, outcome, at)
    ) WITHOUT ROWID;
    CREATE INDEX cases_by_place ON cases(run, at);";

#[derive(Debug)]
pub(super) enum Database {
    File(PathBuf),
    Memory(Mutex<Option<Connection>>),
}

impl Database {
    pub fn open(results: &Path) -> Database {
        let file = results.join(FOLDER).join(FILE);
        let is_usable = make_folder(results).is_ok();
        // One process at a time makes a new index.
        let folder = is_usable.then(|| lock_folder(&file).ok()).flatten();
        // Also written to: a file of another user can perhaps be read, and never updated.
        let attempt =
            || opened(&file).and_then(|mut connection| write(&mut connection, |_| Ok(())));
        let made = folder.map(|_lock| match attempt() {
            Err(error) if is_unfit(&error) => remove(&file).is_ok() && is_usable_after(&attempt()),
            done => is_usable_after(&done),
        });
        match made {
            Some(true) => Database::File(file),
            _ => Database::Memory(Mutex::new(None)),
        }
    }

    pub fn is_in_memory(&self) -> bool {
        matches!(self, Database::Memory(_))
    }

    /// Uses the index. An index that turns out to be damaged is replaced by an empty one.
    pub fn with<T>(
        &self,
        mut job: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let file = match self {
            Database::File(file) => file,
            Database::Memory(connection) => {
                let mut connection = lock(connection);
                let connection = match &mut *connection {
                    Some(connection) => connection,
                    empty => empty.insert(prepared(Connection::open_in_memory()?)?),
                };
                return job(connection);
            }
        };
        let mut attempt = || opened(file).and_then(|mut connection| job(&mut connection));
        match attempt() {
            Err(error) if is_unfit(&error) => {
                // What can't be replaced fails again.
                let _ = replace(file);
                attempt()
            }
            done => done,
        }
    }

    /// As [`Database::with`], in one transaction.
    pub fn write(
        &self,
        mut job: impl FnMut(&Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        self.with(|connection| write(connection, &mut job))
    }
}

fn write(
    connection: &mut Connection,
    job: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    job(&transaction)?;
    transaction.commit()
}

/// True when the index can be written, now or once another process has written.
fn is_usable_after(written: &rusqlite::Result<()>) -> bool {
    let code = written.as_ref().map_err(rusqlite::Error::sqlite_error_code);
    matches!(
        code,
        Ok(()) | Err(Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    )
}

/// Makes the folder of the index, which only its owner can read, in a results folder that exists.
fn make_folder(results: &Path) -> io::Result<()> {
    let folder = results.join(FOLDER);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(ignore, "*\n")?;
    }
    Ok(())
}

/// Keeps other processes from making or replacing the index, as long as the file is open.
fn lock_folder(file: &Path) -> io::Result<File> {
    let folder = File::open(file.parent().unwrap_or(Path::new(".")))?;
    files::lock(&folder, PATIENCE, PAUSE)?;
    Ok(folder)
}

fn opened(file: &Path) -> rusqlite::Result<Connection> {
    if let Some(results) = file.parent().and_then(Path::parent) {
        // The folder of the index may have been deleted since. Where it can't be made, also because
        // the results folder is gone, the file can't be opened.
        let _ = make_folder(results);
    }
    prepared(Connection::open(file)?)
}

/// Checks the version, or makes the tables of a new index.
fn prepared(mut connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    if version(&connection)? != VERSION {
        // Readers and the writer do not wait for each other. A loss of power may cost the index,
        // which is then made again.
        connection.pragma_update(None, "journal_mode", "wal")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have made them by now.
        if version(&transaction)? != VERSION {
            // Of any other version the tables are in the way, and an error.
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    connection.pragma_update(None, "synchronous", "off")?;
    // What is removed from the index is overwritten in the file.
    connection.pragma_update(None, "secure_delete", "on")?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Removes the index of a results folder, of whatever version.
pub(super) fn remove_folder(results: &Path) -> io::Result<()> {
    match fs::remove_dir_all(results.join(FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// True when the file is not an index of this version.
fn is_unfit(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    let is_damage = matches!(
        code,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch)
    );
    // Tables or columns are missing, or in the way.
    let is_odd = matches!(
        error,
        rusqlite::Error::SqlInputError { .. }
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows
    );
    is_damage || is_odd || code == Some(ErrorCode::Unknown)
}

/// Removes an index that is not one, unless another process did so by now.
fn replace(file: &Path) -> io::Result<()> {
    let _lock = lock_folder(file)?;
    if opened(file)
        .and_then(|connection| check(&connection))
        .is_ok()
    {
        return Ok(());
    }
    remove(file)
}

fn remove(file: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        match fs::remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn check(connection: &Connection) -> rusqlite::Result<()> {
    let sound: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    let mut tables = connection
        .prepare("SELECT generation, key, bytes, modified, totals FROM about, runs LIMIT 1")?;
    tables.query([])?.next()?;
    match sound == "ok" {
        true => Ok(()),
        false => Err(rusqlite::Error::QueryReturnedNoRows),
    }
}
