//! How fast models are asked: calls at once, requests and tokens a minute, pauses, and when to give
//! up.
//!
//! [`fetch`] makes the tries of one call. Each try waits for a turn in its lane; between tries the
//! lane is free for others.

mod concurrency;
mod fatal;
mod fetch;
mod guess;
mod lane;
mod outage;
mod pause;
#[cfg(test)]
mod tests;
mod window;

pub(super) use fetch::{TrySender, fetch};
pub(super) use pause::Jitter;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use self::lane::TrafficLane;
use crate::LaneLimits;
use eval_base::sync::lock;

/// What goes on now, for who watches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrafficNow {
    /// Calls that wait for their turn.
    pub waiting: usize,
    /// Requests that wait for their answer.
    pub in_flight: usize,
    /// Calls at once that are allowed now, of all lanes.
    pub allowed: usize,
    /// Questions that went this way, or wait to.
    pub calls: u64,
    pub requests: u64,
    pub faults: u64,
    /// Further tries of calls that got no usable answer.
    pub retries: u64,
    /// Answers that came over the network.
    pub answers: u64,
    /// Answers from a cache or a recording.
    pub kept: u64,
    pub tokens: u64,
    pub usd: f64,
    /// True when a rate limit holds calls back now.
    pub throttled: bool,
}

/// The lanes of a run.
#[derive(Debug)]
pub(super) struct Traffic {
    lanes: Mutex<HashMap<String, Arc<TrafficLane>>>,
    jitter: Jitter,
    /// What is counted over all lanes.
    counts: Mutex<TrafficNow>,
}

impl Traffic {
    pub fn new(jitter: Jitter) -> Traffic {
        Traffic {
            lanes: Mutex::default(),
            jitter,
            counts: Mutex::default(),
        }
    }

    pub fn count(&self, count: impl FnOnce(&mut TrafficNow)) {
        count(&mut lock(&self.counts));
    }

    /// The lane of these limits; who comes first says what they are.
    fn lane(&self, limits: &LaneLimits) -> Arc<TrafficLane> {
        let mut lanes = lock(&self.lanes);
        let lane = lanes.entry(limits.lane.clone());
        Arc::clone(lane.or_insert_with(|| Arc::new(TrafficLane::new(limits))))
    }

    fn all(&self) -> Vec<Arc<TrafficLane>> {
        lock(&self.lanes).values().cloned().collect()
    }

    /// Makes all calls that wait look whether there is still a reason to.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|lane| lane.wake_all());
    }

    /// What the lanes know; what was spent they don't.
    pub fn now(&self) -> TrafficNow {
        let mut now = lock(&self.counts).clone();
        self.all().iter().for_each(|lane| lane.add_to(&mut now));
        now
    }
}
