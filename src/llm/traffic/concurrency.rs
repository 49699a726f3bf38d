//! How many calls at once: fewer when the server has more to do than it can, more again when it keeps up.
//!
//! Additive increase and multiplicative decrease (Chiu & Jain, "Analysis of the increase and decrease algorithms for congestion
//! avoidance", 1989), with one decrease for all the calls of one round trip. Time is handed in, as a span since any moment.

use std::time::Duration;

/// What is left of the allowed calls after an overload.
const DECREASE: f64 = 0.7;

/// Of the most, the part that a round trip of good answers gives back; at least one call. The most is reached in about 50 round
/// trips, however many it is.
const INCREASE: f64 = 0.02;

#[derive(Debug)]
pub(super) struct Concurrency {
    most: usize,
    /// In [1, most].
    allowed: f64,
    shrunk_at: Option<Duration>,
    /// Up to here each good answer gives a call back (RFC 5681, "slow start"): the server has had so many, and overloads that came
    /// one after the other with no answer between them say that it was away, not how many it can have.
    known: f64,
    /// True when an answer came since the last decrease.
    answers: bool,
}

impl Concurrency {
    pub fn new(most: usize) -> Concurrency {
        let most = most.max(1);
        Concurrency { most, allowed: most as f64, shrunk_at: None, known: 1.0, answers: true }
    }

    pub fn allowed(&self) -> usize {
        // In [1, most], so that it fits.
        (self.allowed as usize).clamp(1, self.most)
    }

    /// A call was answered well, while so many were under way (itself included).
    pub fn answered(&mut self, in_flight: usize) {
        self.answers = true;
        // Calls that nobody makes don't show that more would be answered.
        if in_flight >= self.allowed() {
            let step = (self.most as f64 * INCREASE).max(1.0) / self.allowed;
            let step = if self.allowed < self.known { 1.0 } else { step.min(1.0) };
            self.allowed = (self.allowed + step).min(self.most as f64);
        }
    }

    /// A call that began then met an overload. What began before the last decrease was made under what held then, and says
    /// nothing of what holds now.
    pub fn overloaded(&mut self, began: Duration, now: Duration) {
        if self.shrunk_at.is_none_or(|at| began >= at) {
            let less = (self.allowed * DECREASE).max(1.0);
            if std::mem::replace(&mut self.answers, false) {
                self.known = less;
            }
            self.allowed = less;
            self.shrunk_at = Some(now);
        }
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
        let mut calls = Concurrency::new(100);
        (0..100).for_each(|_| calls.overloaded(seconds(0), seconds(1)));
        assert_eq!(calls.allowed(), 70);
        calls.overloaded(seconds(1), seconds(2));
        assert_eq!(calls.allowed(), 49);
        (2..40).for_each(|at| calls.overloaded(seconds(at), seconds(at + 1)));
        assert_eq!(calls.allowed(), 1);
        assert_eq!(Concurrency::new(0).allowed(), 1);
    }

    #[test]
    fn it_grows_by_round_trips_up_to_the_most_and_only_when_it_is_used() {
        for most in [10usize, 60, 500] {
            let mut calls = Concurrency::new(most);
            // An overload now and then: half of what it may have is what the server can do.
            while calls.allowed() > most / 2 {
                let at = seconds(calls.allowed() as u64);
                calls.answered(0);
                calls.shrunk_at = None;
                calls.overloaded(at, at);
            }
            let (from, mut trips) = (calls.allowed(), 0);
            while calls.allowed() < most {
                (0..calls.allowed()).for_each(|_| calls.answered(most));
                trips += 1;
            }
            let step = (most as f64 * INCREASE).max(1.0);
            let expected = ((most - from) as f64 / step).ceil() as usize;
            assert!((expected..=expected * 5 / 4 + 2).contains(&trips), "{most}: {trips}, not {expected}");
            (0..1000).for_each(|_| calls.answered(most));
            assert_eq!(calls.allowed(), most);
        }
        let mut calls = Concurrency::new(10);
        calls.overloaded(seconds(0), seconds(0));
        (0..1000).for_each(|_| calls.answered(6));
        assert_eq!(calls.allowed(), 7);
    }

    #[test]
    fn after_a_time_away_what_was_known_to_work_comes_back_fast() {
        let mut calls = Concurrency::new(500);
        (0..100).for_each(|at| calls.overloaded(seconds(at), seconds(at + 1)));
        assert_eq!(calls.allowed(), 1);
        let mut trips = 0;
        while calls.allowed() < 350 {
            (0..calls.allowed()).for_each(|_| calls.answered(500));
            trips += 1;
        }
        assert_eq!(trips, 9);
        (0..calls.allowed()).for_each(|_| calls.answered(500));
        assert!((358..=366).contains(&calls.allowed()), "{}", calls.allowed());
    }
}
