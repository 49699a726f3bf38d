//! A server that answered and now answers nobody is left alone for a while, so that its calls don't
//! use up their tries at once; but not for long: a server that does not come back must not hold up
//! a run for each of its calls. One that was never heard was perhaps never started, and whoever
//! waits wants to know; one that says it is busy is there.
//!
//! Time is handed in, as a span since any moment.

use std::time::Duration;

/// All pauses of one outage together.
const MOST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Outage {
    /// Round trips without an answer.
    trips: u32,
    /// When the last of them ended.
    counted: Option<Duration>,
    answered: Option<Duration>,
    paused: Duration,
}

impl Outage {
    pub fn answered(&mut self, now: Duration) {
        *self = Outage {
            answered: Some(now),
            ..Outage::default()
        };
    }

    /// A call that began then got through to somebody, if not to an answer that can be used: what
    /// began after the last miss shows that the server is there again.
    pub fn met(&mut self, began: Duration, now: Duration) {
        if self.counted.is_some_and(|at| began >= at) {
            self.answered(now);
        }
    }

    /// True when one call at once is enough to see whether somebody is there again.
    pub fn probes(&self) -> bool {
        self.trips > 0 && self.paused < MOST
    }

    /// A call that began then found nobody, or somebody (`is_there`) with no time. Gives how long
    /// nobody is to be asked; `pause` by the number of round trips before.
    pub fn missed(
        &mut self,
        began: Duration,
        now: Duration,
        is_there: bool,
        pause: impl FnOnce(u32) -> Duration,
    ) -> Duration {
        let is_known = is_there || self.answered.is_some() || self.counted.is_some();
        // Never heard of, or others were answered meanwhile, or this is one of many that met the
        // same.
        if !is_known || self.answered.max(self.counted).is_some_and(|at| at > began) {
            return Duration::ZERO;
        }
        self.counted = Some(now);
        let pause = pause(self.trips).min(MOST.saturating_sub(self.paused));
        self.trips = self.trips.saturating_add(1);
        self.paused += pause;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn doubling(trips: u32) -> Duration {
        seconds(1 << trips)
    }

    #[test]
    fn pauses_grow_by_round_trips_and_end() {
        let mut outage = Outage::default();
        assert_eq!(
            outage.missed(seconds(1), seconds(2), false, doubling),
            Duration::ZERO
        );
        assert!(!outage.probes());
        // Who says to be busy is there.
        let mut busy = Outage::default();
        assert_eq!(
            busy.missed(seconds(1), seconds(2), true, doubling),
            seconds(1)
        );
        assert_eq!(
            busy.missed(seconds(3), seconds(4), false, doubling),
            seconds(2)
        );
        outage.answered(seconds(50));
        let pauses: Vec<u64> = (1..10)
            .map(|n| {
                outage
                    .missed(seconds(n * 100), seconds(n * 100 + 10), false, doubling)
                    .as_secs()
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 29, 0, 0, 0]);
        assert!(!outage.probes());
        outage.answered(seconds(2000));
        assert_eq!(
            outage.missed(seconds(2000), seconds(2001), false, doubling),
            seconds(1)
        );
    }

    #[test]
    fn calls_of_one_round_trip_count_once_and_not_at_all_when_others_are_answered() {
        let mut outage = Outage::default();
        outage.answered(seconds(0));
        assert_eq!(
            outage.missed(seconds(0), seconds(5), false, doubling),
            seconds(1)
        );
        assert_eq!(
            outage.missed(seconds(4), seconds(6), false, doubling),
            Duration::ZERO
        );
        assert!(outage.probes());
        // One that began before says nothing of now.
        outage.met(seconds(4), seconds(7));
        assert!(outage.probes());
        outage.met(seconds(5), seconds(7));
        assert!(!outage.probes());
        assert_eq!(
            outage.missed(seconds(6), seconds(8), false, doubling),
            Duration::ZERO
        );
        assert_eq!(
            outage.missed(seconds(8), seconds(9), false, doubling),
            seconds(1)
        );
    }
}
