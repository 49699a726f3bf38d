//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data is sound even when a thread panicked with it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
