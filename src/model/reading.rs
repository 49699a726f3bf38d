//! Reading events without their details: what samples said, and why graders decided as they did.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer, IgnoredAny};

thread_local! {
    /// Derived code has no other way to know how a line is read.
    static WITHOUT_DETAILS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`; on this thread, fields read by [`detail`] are passed over and left at their
/// defaults.
pub fn without_details<T>(read: impl FnOnce() -> T) -> T {
    WITHOUT_DETAILS.set(true);
    let read = read();
    WITHOUT_DETAILS.set(false);
    read
}

/// Reads a field that counting does without.
pub(super) fn detail<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    if WITHOUT_DETAILS.get() {
        IgnoredAny::deserialize(from)?;
        return Ok(T::default());
    }
    T::deserialize(from)
}
