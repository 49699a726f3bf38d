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

pub(super) use fetch::{Fetched, Once, fetch};
pub(super) use pause::Jitter;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use self::lane::Lane;
use crate::Limits;

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
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
    jitter: Jitter,
    calls: AtomicU64,
    requests: AtomicU64,
    retries: AtomicU64,
    faults: AtomicU64,
    answers: AtomicU64,
}

impl Traffic {
    pub fn new(jitter: Jitter) -> Traffic {
        Traffic {
            lanes: Mutex::default(),
            jitter,
            calls: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            answers: AtomicU64::new(0),
        }
    }

    /// The lane of these limits; who comes first says what they are.
    fn lane(&self, limits: &Limits) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(&limits.lane) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(Lane::new(limits));
        lanes.insert(limits.lane.clone(), Arc::clone(&lane));
        lane
    }

    fn all(&self) -> Vec<Arc<Lane>> {
        self.lanes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// Makes all calls that wait look whether there is still a reason to.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|lane| lane.wake_all());
    }

    /// What the lanes know; what was spent and kept they don't.
    pub fn now(&self) -> TrafficNow {
        let mut now = TrafficNow {
            calls: self.calls.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            faults: self.faults.load(Ordering::Relaxed),
            answers: self.answers.load(Ordering::Relaxed),
            ..TrafficNow::default()
        };
        for lane in self.all() {
            let lane = lane.look();
            now.waiting += lane.waiting;
            now.in_flight += lane.in_flight;
            now.allowed += lane.allowed;
            now.throttled |= lane.throttled;
        }
        now
    }
}
