//! How many calls at once: fewer when the server has more to do than it can, more again when it
//! keeps up.
//!
//! Additive increase and multiplicative decrease (Chiu & Jain, "Analysis of the increase and
//! decrease algorithms for congestion avoidance", 1989), with one decrease for all the calls of one
//! round trip, and with a memory of how many were too many (as in "CUBIC: a new TCP-friendly
//! high-speed TCP variant", Ha, Rhee & Xu, 2008): the number climbs fast to one below that, stays
//! there, and looks seldom whether more go by now. Time is handed in, as a span since any moment.

use std::time::Duration;

/// What is left of the allowed calls after an overload.
const DECREASE: f64 = 0.7;

/// The least that is left of them after all the overloads of one round trip.
const LEAST: f64 = 0.3;

/// Of the most, the part that a round trip of good answers gives back; at least one call. The most
/// is reached in about 50 round trips, however many it is.
const INCREASE: f64 = 0.02;

/// Round trips of good answers one below what was too many before as many are tried again; twice as
/// many after each time that they still were, up to the last.
const PATIENCE: [f64; 2] = [4.0, 32.0];

#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    most: usize,
    /// In [1, most].
    allowed: f64,
    shrunk_at: Option<Duration>,
    /// What was allowed before the last decrease.
    before: f64,
    /// Up to here each good answer gives a call back (RFC 5681, "slow start"): the server has had
    /// so many, and overloads that came one after the other with no answer between them say that it
    /// was away, not how many it can have.
    known: f64,
    /// True when an answer came since the last decrease.
    answers: bool,
    /// The calls at once that were too many of late.
    wall: Option<f64>,
    /// Round trips before the wall is tried, and those that went well since it was met.
    patience: f64,
    quiet: f64,
}

impl ConcurrencyLimit {
    pub fn new(most: usize) -> ConcurrencyLimit {
        let most = most.max(1);
        ConcurrencyLimit {
            most,
            allowed: most as f64,
            shrunk_at: None,
            before: most as f64,
            known: 1.0,
            answers: true,
            wall: None,
            patience: PATIENCE[0],
            quiet: 0.0,
        }
    }

    pub fn allowed(&self) -> usize {
        // In [1, most], so that it fits.
        (self.allowed as usize).clamp(1, self.most)
    }

    /// A call was answered well, while so many were under way (itself included).
    pub fn answered(&mut self, in_flight: usize) {
        self.answers = true;
        // Calls that nobody makes don't show that more would be answered.
        if in_flight < self.allowed() {
            return;
        }
        let trip = 1.0 / self.allowed;
        let step = (self.most as f64 * INCREASE).max(1.0);
        let below = self.wall.map(|wall| wall - 1.0);
        match (self.wall, below) {
            (Some(wall), _) if self.allowed >= wall => {
                // As many as were too many go by now, when a whole round trip of them does.
                self.quiet += trip;
                if self.quiet >= 1.0 {
                    (self.wall, self.patience) = (None, PATIENCE[0]);
                }
            }
            (Some(wall), Some(below)) if self.allowed >= below => {
                self.quiet += trip;
                if self.quiet >= self.patience {
                    (self.allowed, self.quiet) = (wall.min(self.most as f64), 0.0);
                }
            }
            _ => {
                let far = below.map_or(0.0, |below| (below - self.allowed) / 2.0);
                let step = if self.allowed < self.known {
                    1.0
                } else {
                    (step.max(far) * trip).min(1.0)
                };
                self.allowed = (self.allowed + step)
                    .min(below.unwrap_or(f64::MAX))
                    .min(self.most as f64);
            }
        }
    }

    /// A call that began then met an overload, while so many were under way (itself included).
    pub fn overloaded(&mut self, began: Duration, now: Duration, in_flight: usize) {
        let others = in_flight.saturating_sub(1) as f64;
        if self.shrunk_at.is_some_and(|at| began < at) {
            // One of a round trip that has its decrease. Those that the server still has show how
            // many it takes.
            let least = (self.before * LEAST).max(1.0);
            if others >= least && others < self.allowed {
                self.allowed = others;
                (self.wall, self.known) = (Some(others + 1.0), others);
            }
            return;
        }
        let tried = self.answers && self.wall.is_some_and(|wall| self.allowed >= wall);
        self.before = self.allowed;
        let less = match tried {
            true => self.allowed - 1.0,
            false => self.allowed * DECREASE,
        };
        let less = less.max(1.0);
        if std::mem::replace(&mut self.answers, false) {
            self.known = less;
            self.patience = if tried {
                (self.patience * 2.0).min(PATIENCE[1])
            } else {
                PATIENCE[0]
            };
            // One that comes while few are under way says nothing of how many can be.
            self.wall = Some((others + 1.0).clamp(less + 1.0, self.allowed.max(less + 1.0)));
        }
        (self.allowed, self.quiet, self.shrunk_at) = (less, 0.0, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn all_overloads_of_a_round_trip_are_one_and_there_is_always_one_call() {
        let mut calls = ConcurrencyLimit::new(100);
        (0..100).for_each(|_| calls.overloaded(seconds(0), seconds(1), 1));
        assert_eq!(calls.allowed(), 70);
        calls.overloaded(seconds(1), seconds(2), 1);
        assert_eq!(calls.allowed(), 49);
        (2..40).for_each(|at| calls.overloaded(seconds(at), seconds(at + 1), 1));
        assert_eq!(calls.allowed(), 1);
        assert_eq!(ConcurrencyLimit::new(0).allowed(), 1);
    }

    #[test]
    fn it_grows_by_round_trips_up_to_the_most_and_only_when_it_is_used() {
        for most in [10usize, 60, 500] {
            let mut calls = ConcurrencyLimit::new(most);
            (calls.allowed, calls.known) = ((most / 2) as f64, 1.0);
            let (from, mut trips) = (calls.allowed(), 0);
            while calls.allowed() < most {
                (0..calls.allowed()).for_each(|_| calls.answered(most));
                trips += 1;
            }
            let step = (most as f64 * INCREASE).max(1.0);
            let expected = ((most - from) as f64 / step).ceil() as usize;
            assert!(
                (expected..=expected * 5 / 4 + 2).contains(&trips),
                "{most}: {trips}, not {expected}"
            );
            (0..1000).for_each(|_| calls.answered(most));
            assert_eq!(calls.allowed(), most);
        }
        let mut calls = ConcurrencyLimit::new(10);
        calls.overloaded(seconds(0), seconds(0), 10);
        (0..1000).for_each(|_| calls.answered(6));
        assert_eq!(calls.allowed(), 7);
    }

    #[test]
    fn after_a_time_away_what_was_known_to_work_comes_back_fast() {
        let mut calls = ConcurrencyLimit::new(500);
        (0..100).for_each(|at| calls.overloaded(seconds(at), seconds(at + 1), calls.allowed()));
        assert_eq!(calls.allowed(), 1);
        let mut trips = 0;
        while calls.allowed() < 350 {
            (0..calls.allowed()).for_each(|_| calls.answered(500));
            trips += 1;
        }
        assert_eq!(trips, 9);
        (0..calls.allowed()).for_each(|_| calls.answered(500));
        assert!(calls.allowed() > 358, "{}", calls.allowed());
    }

    #[test]
    fn what_was_too_many_is_tried_seldom_until_it_goes() {
        let mut calls = ConcurrencyLimit::new(64);
        // Forty-four of sixty-four are turned away at once.
        (0..44).for_each(|n| calls.overloaded(seconds(0), seconds(1), 64 - n));
        assert_eq!((calls.allowed(), calls.wall), (20, Some(21.0)));
        let trips_to_the_wall = |calls: &mut ConcurrencyLimit| {
            let mut trips = 0;
            while calls.allowed() < 21 {
                (0..calls.allowed()).for_each(|_| calls.answered(64));
                trips += 1;
            }
            trips
        };
        for (at, trips) in [(10, 4), (20, 8), (30, 16), (40, 32), (50, 32)] {
            assert!(
                (trips..=trips + 1).contains(&trips_to_the_wall(&mut calls)),
                "{trips}"
            );
            calls.overloaded(seconds(at), seconds(at), 21);
            assert_eq!(calls.allowed(), 20);
        }
        // By now the server takes more.
        trips_to_the_wall(&mut calls);
        (0..30).for_each(|_| (0..calls.allowed()).for_each(|_| calls.answered(64)));
        assert!(calls.allowed() > 40, "{}", calls.allowed());
        // And now fewer.
        calls.overloaded(seconds(60), seconds(60), calls.allowed());
        assert!(calls.allowed() < 45);
    }
}
