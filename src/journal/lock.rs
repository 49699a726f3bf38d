//! One writer a run: an advisory lock on the journal itself, which the system releases when the
//! process ends, however it ends. Reading needs no lock.

use std::fs::{File, TryLockError};
use std::io;
use std::time::Duration;

/// Tries, with pauses between them. A child that was being started when its parent was killed holds
/// the lock for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Locks the file until it is closed. `Ok(false)` when another process holds the lock.
///
/// A file system without locks has none: then two writers are not kept apart.
pub(super) fn lock(file: &File) -> io::Result<bool> {
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(true);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}
