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
    /// Also when `read` panics: the thread may read other journals in full afterwards.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            WITHOUT_DETAILS.set(self.0);
        }
    }

    let _restore = Restore(WITHOUT_DETAILS.replace(true));
    read()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Line {
        #[serde(deserialize_with = "detail")]
        said: String,
    }

    fn said() -> String {
        let line: Line = serde_json::from_str(r#"{"said": "yes"}"#).unwrap();
        line.said
    }

    #[test]
    fn details_are_read_again_after_a_panic() {
        assert_eq!(without_details(said), "");
        let panicked = std::panic::catch_unwind(|| without_details(|| panic!("while reading")));
        assert!(panicked.is_err());
        assert_eq!(said(), "yes");
    }

    #[test]
    fn details_stay_skipped_after_a_nested_call() {
        let both = without_details(|| (without_details(said), said()));
        assert_eq!(both, (String::new(), String::new()));
    }
}
