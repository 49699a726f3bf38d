//! Messages of panics, by the name of the thread, which is that of the test.

use std::collections::BTreeMap;

/// Panics that are remembered.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct PanicMessages {
    messages: BTreeMap<String, String>,
    /// The thread whose message stands on the next line.
    next: Option<String>,
}

impl PanicMessages {
    pub fn hear(&mut self, line: &str) {
        if let Some(thread) = self.next.take() {
            self.messages
                .entry(thread)
                .or_insert_with(|| line.trim().to_owned());
            return;
        }
        let Some(rest) = line.trim_start().strip_prefix("thread '") else {
            return;
        };
        let Some((thread, rest)) = rest.split_once('\'') else {
            return;
        };
        if self.messages.len() < MOST && rest.contains(" panicked at ") {
            self.next = Some(thread.to_owned());
        }
    }

    /// Empty when the test did not panic.
    pub fn of(&self, test: &str) -> &str {
        self.messages
            .get(test)
            .map(String::as_str)
            .unwrap_or_default()
    }
}
