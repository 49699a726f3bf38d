//! How fast models are asked: calls at once, requests and tokens a minute, pauses, and when to give up.

/// What goes on now, for who watches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrafficNow {
    /// Calls that wait for their turn.
    pub waiting: usize,
    /// Requests that wait for their answer.
    pub in_flight: usize,
    /// Calls at once that are allowed now, of all lanes.
    pub allowed: usize,
    pub requests: u64,
    pub faults: u64,
    /// Answers from a cache or a recording.
    pub kept: u64,
    pub tokens: u64,
    pub usd: f64,
    /// True when a rate limit holds calls back now.
    pub throttled: bool,
}
