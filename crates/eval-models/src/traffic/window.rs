//! An allowance for a minute: never more in any 60 seconds, and spread over them.
//!
//! Two rules together. A log of what was taken says how much of the allowance any window that ends
//! now has left; that alone would let a minute's worth go in its first second. So takings are also
//! paced: each moves the time of the next by its share of the window (the "generic cell rate
//! algorithm" of ITU-T I.371, annex A), with a second's worth of tolerance.
//!
//! Time is handed in, as a span since any moment.

use std::collections::VecDeque;
use std::time::Duration;

/// The window that is kept: a little more than a minute, because the server counts arrivals, and
/// what left 60 seconds apart may arrive less than that apart.
pub(super) const WINDOW: Duration = Duration::from_millis(60_250);

/// What may be taken at once of what the pace would spread: this time's worth, and always one call.
const TOLERANCE: f64 = 1.0;

/// One limit: requests or tokens.
#[derive(Debug)]
pub(super) struct LimitWindow {
    allowance: u64,
    log: VecDeque<WindowEntry>,
    /// The number of the log's first entry.
    first: u64,
    sum: u64,
    /// When the next taking would come if all were spread evenly, in seconds.
    due: f64,
}

#[derive(Debug)]
struct WindowEntry {
    at: Duration,
    amount: u64,
    /// What it was paced by.
    paced: f64,
}

impl LimitWindow {
    /// At least 1 in a minute.
    pub fn new(allowance: u64) -> LimitWindow {
        LimitWindow {
            allowance: allowance.max(1),
            log: VecDeque::new(),
            first: 0,
            sum: 0,
            due: f64::NEG_INFINITY,
        }
    }

    /// When `amount` may be taken: now (`None`) or not before a moment. One that exceeds the whole
    /// allowance goes alone.
    pub fn opens(&mut self, now: Duration, amount: u64) -> Option<Duration> {
        self.forget(now);
        let most = self.allowance - amount.min(self.allowance);
        let logged = self.leaves(most);
        let paced = self.due - TOLERANCE;
        let paced = (paced > now.as_secs_f64())
            .then(|| Duration::try_from_secs_f64(paced).unwrap_or(Duration::MAX));
        logged.max(paced).filter(|at| *at > now)
    }

    /// When no more than `most` is in the window; `None` when that is so now.
    fn leaves(&self, most: u64) -> Option<Duration> {
        let mut over = self.sum.checked_sub(most).filter(|over| *over > 0)?;
        for taken in &self.log {
            if taken.amount >= over {
                return Some(taken.at + WINDOW);
            }
            over -= taken.amount;
        }
        None
    }

    /// Takes: `amount` counts against the allowance, `paced` (what is expected to be left of it)
    /// sets the pace. Returns the number of the taking, by which it can be corrected.
    pub fn take(&mut self, now: Duration, amount: u64, paced: f64) -> u64 {
        let paced = paced.min(self.allowance as f64);
        self.sum = self.sum.saturating_add(amount);
        self.log.push_back(WindowEntry {
            at: now,
            amount,
            paced,
        });
        self.due = self.due.max(now.as_secs_f64()) + self.share(paced);
        self.first + self.log.len() as u64 - 1
    }

    /// What was taken turned out to be this much.
    pub fn settle(&mut self, taking: u64, amount: u64) {
        // What has left the window no longer matters.
        let Some(at) = taking.checked_sub(self.first) else {
            return;
        };
        let (share, pace) = (self.share(1.0), amount.min(self.allowance) as f64);
        let Some(taken) = usize::try_from(at).ok().and_then(|at| self.log.get_mut(at)) else {
            return;
        };
        self.sum = self.sum.saturating_sub(taken.amount).saturating_add(amount);
        self.due += (pace - taken.paced) * share;
        (taken.amount, taken.paced) = (amount, pace);
    }

    /// Seconds of the window that an amount is worth.
    fn share(&self, amount: f64) -> f64 {
        amount * WINDOW.as_secs_f64() / self.allowance as f64
    }

    fn forget(&mut self, now: Duration) {
        while let Some(taken) = self.log.front().filter(|taken| taken.at + WINDOW <= now) {
            self.sum = self.sum.saturating_sub(taken.amount);
            self.log.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The most in any window of a log in the order of time.
    fn most(log: &[(Duration, u64)], window: Duration) -> u64 {
        let (mut from, mut sum, mut most) = (0, 0, 0);
        for (at, amount) in log {
            sum += amount;
            while log[from].0 + window <= *at {
                sum -= log[from].1;
                from += 1;
            }
            most = most.max(sum);
        }
        most
    }

    /// Takes as soon as it is open, until the end.
    fn saturated(
        window: &mut LimitWindow,
        end: Duration,
        amounts: impl Iterator<Item = u64>,
    ) -> Vec<(Duration, u64)> {
        let (mut now, mut log) = (Duration::ZERO, Vec::new());
        for amount in amounts {
            while let Some(at) = window.opens(now, amount) {
                assert!(at > now);
                now = at;
            }
            if now >= end {
                break;
            }
            window.take(now, amount, amount as f64);
            log.push((now, amount));
        }
        log
    }

    #[test]
    fn an_allowance_is_spread_and_used_up() {
        for allowance in [1u64, 2, 7, 60, 600, 10_000] {
            let log = saturated(
                &mut LimitWindow::new(allowance),
                ms(600_000),
                std::iter::repeat(1),
            );
            assert_eq!(most(&log, ms(60_000)), allowance, "{allowance}");
            let total = log.len() as u64;
            assert!(
                total >= allowance * 98 / 10 && total <= allowance * 10,
                "{allowance}: {total}"
            );
            // No more than two seconds' worth in any second.
            let burst = most(&log, ms(1000));
            assert!(
                burst <= (allowance / 30).max(1) + 1,
                "{allowance}: {burst} in a second"
            );
        }
    }

    #[test]
    fn what_exceeds_the_whole_allowance_goes_alone() {
        let mut window = LimitWindow::new(100);
        window.take(ms(0), 10, 10.0);
        assert_eq!(window.opens(ms(30_000), 1_000_000), Some(WINDOW));
        assert_eq!(window.opens(WINDOW, 1_000_000), None);
        window.take(WINDOW, 1_000_000, 1_000_000.0);
        assert_eq!(window.opens(WINDOW * 2 - ms(1), 1), Some(WINDOW * 2));
        assert_eq!(window.opens(WINDOW * 2, u64::MAX), None);
    }

    #[test]
    fn what_was_not_taken_after_all_is_there_again() {
        let mut window = LimitWindow::new(60);
        let first = window.take(ms(0), 60, 60.0);
        assert_eq!(window.opens(ms(5000), 1), Some(WINDOW));
        window.settle(first, 3);
        assert_eq!(window.opens(ms(5000), 57), None);
        assert_eq!(window.opens(ms(5000), 58), Some(WINDOW));
        // What turned out to be more counts in full, and after its time not at all.
        let second = window.take(ms(5000), 1, 1.0);
        window.settle(second, 500);
        assert_eq!(window.opens(ms(6000), 1), Some(ms(5000) + WINDOW));
        assert_eq!(window.opens(WINDOW * 3, 60), None);
        window.settle(first, 1_000);
        assert_eq!(window.opens(WINDOW * 3, 60), None);
    }

    #[test]
    fn times_without_work_earn_no_burst() {
        let mut window = LimitWindow::new(6000);
        let now = ms(3_600_000);
        let mut taken = 0;
        while window.opens(now, 1).is_none() {
            window.take(now, 1, 1.0);
            taken += 1;
        }
        assert!(
            (90..=110).contains(&taken),
            "{taken} at once of 100 a second"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Against a list of everything that was ever taken.
        #[test]
        fn no_window_ever_holds_more_than_the_allowance(
            allowance in 1u64..500,
            steps in prop::collection::vec((0u64..20_000, 1u64..120, 0u64..150, any::<bool>()), 1..120),
        ) {
            let mut window = LimitWindow::new(allowance);
            let mut now = Duration::ZERO;
            let mut log: Vec<(Duration, u64)> = Vec::new();
            for (wait, amount, settled, at_once) in steps {
                now += ms(wait);
                let held = |log: &[(Duration, u64)], now: Duration| -> u64 {
                    log.iter().filter(|(at, _)| *at + WINDOW > now).map(|(_, n)| n).sum()
                };
                let fits = |log: &[(Duration, u64)], now| held(log, now) + amount.min(allowance) <= allowance;
                match window.opens(now, amount) {
                    None => prop_assert!(fits(&log, now), "opened with {} of {allowance}", held(&log, now)),
                    Some(at) => {
                        // It says when, and at that time nothing else is in the way.
                        prop_assert!(at > now);
                        prop_assert_eq!(window.opens(at, amount), None);
                        now = at;
                        prop_assert!(fits(&log, now));
                    }
                }
                let receipt = window.take(now, amount, amount as f64);
                let settled = if at_once { settled.min(amount) } else { amount };
                window.settle(receipt, settled);
                log.push((now, settled));
            }
            // One that is larger than all goes alone.
            prop_assert!(most(&log, ms(60_000)) <= allowance.max(119));
        }

        /// As long as there is work nothing but the last that did not fit is left unused.
        #[test]
        fn an_allowance_of_tokens_is_used(
            allowance in 1_000u64..1_000_000,
            sizes in prop::collection::vec(1u64..1000, 50),
        ) {
            let sizes: Vec<u64> = sizes.iter().map(|size| (size * allowance / 50_000).max(1)).collect();
            let largest = sizes.iter().copied().max().unwrap_or(1);
            let log = saturated(&mut LimitWindow::new(allowance), ms(240_000), sizes.into_iter().cycle());
            let total: u64 = log.iter().map(|(_, n)| n).sum();
            prop_assert!(most(&log, ms(60_000)) <= allowance);
            prop_assert!(total >= (allowance - largest) * 4 * 99 / 100, "{total} of {}", allowance * 4);
        }
    }
}
