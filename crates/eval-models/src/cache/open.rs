//! Opening the file of the cache, whatever lies there.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use eval_base::files::{self, LockState};

/// "evha" in the file's header: it is ours.
const APPLICATION_ID: i64 = 0x6576_6861;
const VERSION: i64 = 1;

/// How long another process may hold the file; it does so for moments.
const PATIENCE: Duration = Duration::from_secs(10);

/// `used_day` counts days since 1970. `bytes` is what the answer takes, so that nobody need read it
/// to add them up; `digest` is over the rest of what a run believes.
const SCHEMA: &str = "
    CREATE TABLE answers(
        key BLOB PRIMARY KEY NOT NULL,
        model TEXT NOT NULL,
        answered_at TEXT NOT NULL,
        used_day INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        digest BLOB NOT NULL,
        answer BLOB NOT NULL
    );";

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("there is no cache at {}: no answers are stored there yet", .0.display())]
    Missing(PathBuf),
    #[error("the cache {} is damaged ({reason})", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("{} is a folder, so it can't be the cache", .0.display())]
    NotAFile(PathBuf),
    #[error("{} is a database of another program", .0.display())]
    Foreign(PathBuf),
    #[error("the cache {} was written by a later version of eval-harness", .0.display())]
    Newer(PathBuf),
    #[error("the cache {} can't be opened: {reason}", file.display())]
    Unusable { file: PathBuf, reason: String },
}

impl CacheError {
    pub(super) fn of(file: &Path, error: &rusqlite::Error) -> CacheError {
        let (file, reason) = (file.to_owned(), error.to_string());
        match is_damage(error) {
            true => CacheError::Damaged { file, reason },
            false => CacheError::Unusable { file, reason },
        }
    }

    fn unusable(file: &Path, reason: impl ToString) -> CacheError {
        CacheError::Unusable {
            file: file.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// The file, open.
pub(super) struct CacheFile {
    pub connection: Connection,
    pub writable: bool,
    pub warning: Option<String>,
    /// The inode.
    pub identity: Option<u64>,
}

/// True when the file is not what SQLite wrote.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch)
    ) || matches!(
        error,
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..)
    )
}

/// A connection for reading beside the one that writes.
pub(super) fn reader(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

pub(super) fn open(file: &Path, now: Timestamp) -> Result<CacheFile, CacheError> {
    if let Some(folder) = file.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| CacheError::unusable(file, error))?;
    }
    // One process at a time: two that find a damaged file would each set one aside, the second one
    // the new one.
    let _lock = match lock_file(file) {
        Ok(lock) => lock,
        Err(error) => return read_only(file, &error.to_string()),
    };
    let reason = match attempt(file, true) {
        Err(CacheError::Damaged { reason, .. }) => reason,
        opened => return opened,
    };
    let aside = set_aside(file, now).map_err(|error| {
        CacheError::unusable(file, format!("it is damaged, and can't be moved: {error}"))
    })?;
    let warning = format!(
        "the cache {} was damaged ({reason}): it was renamed to {}, and a new cache was created",
        file.display(),
        aside.file_name().unwrap_or_default().to_string_lossy()
    );
    Ok(CacheFile {
        warning: Some(warning),
        ..attempt(file, true)?
    })
}

/// Opens what must be there and sound.
pub(super) fn open_present(file: &Path) -> Result<CacheFile, CacheError> {
    match file.try_exists() {
        Ok(true) => attempt(file, false),
        Ok(false) => Err(CacheError::Missing(file.to_owned())),
        Err(error) => Err(CacheError::unusable(file, error)),
    }
}

/// Opens the file to write it; to read it alone when it can't be written.
fn attempt(file: &Path, make: bool) -> Result<CacheFile, CacheError> {
    if file.is_dir() {
        return Err(CacheError::NotAFile(file.to_owned()));
    }
    // Before SQLite does it with the rights that everybody has. The files beside it take its
    // rights.
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create(make)
        .truncate(false)
        .mode(0o600)
        .open(file);
    let identity = match made.and_then(|file| file.metadata()) {
        Ok(metadata) => Some(metadata.ino()),
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    read_only(file, &error.to_string())
                }
                _ => Err(CacheError::unusable(file, error)),
            };
        }
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(file, flags)
        .and_then(|connection| Ok((prepared(&connection)?, connection)));
    match opened {
        Ok((None, connection)) => Ok(CacheFile {
            connection,
            writable: true,
            warning: None,
            identity,
        }),
        Ok((Some(unfit), _)) => Err(unfit(file.to_owned())),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                read_only(file, &error.to_string())
            }
            _ => Err(CacheError::of(file, &error)),
        },
    }
}

/// Why a sound database is not a cache of this version.
type UnfitReason = fn(PathBuf) -> CacheError;

/// Prepares the database for reading and writing; `None` when it is a cache of this version.
fn prepared(connection: &Connection) -> rusqlite::Result<Option<UnfitReason>> {
    let odd = |file| CacheError::Damaged {
        file,
        reason: format!("its tables differ from those of version {VERSION}"),
    };
    connection.busy_timeout(PATIENCE)?;
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == 0 && version == 0 {
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            return Ok(Some(CacheError::Foreign));
        }
        // With WAL those who read and the one who writes don't wait for each other. NORMAL: a
        // commit is with the system, so that no end of a process loses it; a loss of power may cost
        // the last ones, and never the file.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    } else if application != APPLICATION_ID {
        return Ok(Some(CacheError::Foreign));
    } else if version > VERSION {
        return Ok(Some(CacheError::Newer));
    } else if version < VERSION {
        return Ok(Some(odd));
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    // A table of other columns is found here and not in mid-run.
    let columns =
        "SELECT key, model, answered_at, used_day, bytes, digest, answer FROM answers LIMIT 1";
    match connection.prepare(columns) {
        Ok(_) => Ok(None),
        Err(rusqlite::Error::SqlInputError { .. }) => Ok(Some(odd)),
        Err(error) => Err(error),
    }
}

/// The file as it is, without a trace in its folder.
pub(super) fn read_only(file: &Path, reason: &str) -> Result<CacheFile, CacheError> {
    if !file.is_file() {
        return Err(CacheError::unusable(file, reason));
    }
    let uri = file
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut last = None;
    // Immutable: who may not write beside the file can't tell others that it reads.
    for how in ["", "&immutable=1"] {
        let opened = Connection::open_with_flags(format!("file:{uri}?mode=ro{how}"), flags)
            .and_then(|connection| {
                connection.query_row(
                    "SELECT count(*) FROM (SELECT 1 FROM answers LIMIT 1)",
                    [],
                    |_| Ok(()),
                )?;
                Ok(connection)
            });
        match opened {
            Ok(connection) => {
                let warning = format!(
                    "the cache {} can only be read ({reason}): new answers are not stored",
                    file.display()
                );
                return Ok(CacheFile {
                    connection,
                    writable: false,
                    warning: Some(warning),
                    identity: None,
                });
            }
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) => CacheError::unusable(file, format!("{reason}; {error}")),
        None => CacheError::Missing(file.to_owned()),
    })
}

fn lock_file(file: &Path) -> io::Result<File> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(beside(file, ".lock"))?;
    match files::lock(&lock, PATIENCE, Duration::from_millis(5))? {
        LockState::Held => Ok(lock),
        LockState::Busy => Err(io::Error::other("another process has locked it")),
        LockState::Unsupported => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The path with something more at the end of its name.
pub(super) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(end);
    file.with_file_name(name)
}

/// Sets a file aside unless another has taken its place.
pub(super) fn set_aside_if(file: &Path, identity: Option<u64>, now: Timestamp) {
    let Ok(_lock) = lock_file(file) else { return };
    if identity.is_some() && std::fs::metadata(file).map(|metadata| metadata.ino()).ok() == identity
    {
        // That it can't be moved is found when it is opened again.
        let _ = set_aside(file, now);
    }
}

/// Renames the file, and what lies beside it, to a name that tells when; gives the new one.
fn set_aside(file: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let time = now.strftime("%Y%m%d-%H%M%S").to_string();
    let aside = (1..100)
        .map(|n| match n {
            1 => beside(file, &format!(".damaged-{time}")),
            n => beside(file, &format!(".damaged-{time}-{n}")),
        })
        .find(|path| !path.exists())
        .ok_or_else(|| io::Error::other("there are too many damaged files"))?;
    std::fs::rename(file, &aside)?;
    for end in ["-wal", "-shm"] {
        match std::fs::rename(beside(file, end), beside(&aside, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}
