//! What the headers of an answer say of a server's limits, and of when to come again.

use std::time::Duration;

/// A server's limits as an answer tells them. What it does not tell is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::llm) struct ToldLimits {
    pub requests: Told,
    /// Where tokens of questions and of answers have limits of their own: that of which least is left.
    pub tokens: Told,
}

/// One limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::llm) struct Told {
    /// For the server's window, which is a minute unless it says otherwise elsewhere.
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    /// From the answer until all of it is there again.
    pub reset: Option<Duration>,
}
