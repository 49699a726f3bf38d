//! An allowance for a minute: never more in any 60 seconds, and spread over them.
//!
//! Two rules together. A log of what was taken says how much of the allowance any window that ends now has left; that alone would
//! let a minute's worth go in its first second. So takings are also paced: each moves the time of the next by its share of the
//! window (the "generic cell rate algorithm" of ITU-T I.371, annex A), with a second's worth of tolerance.
//!
//! Time is handed in, as a span since any moment.

use std::collections::VecDeque;
use std::time::Duration;

/// The window that is kept: a little more than a minute, because the server counts arrivals, and what left 60 seconds apart may
/// arrive less than that apart.
pub(super) const WINDOW: Duration = Duration::from_millis(60_250);

/// What may be taken at once of what the pace would spread: this time's worth, and always one call.
const TOLERANCE: f64 = 1.0;

/// One limit: requests or tokens.
#[derive(Debug)]
pub(super) struct Window {
    allowance: u64,
    log: VecDeque<Taken>,
    /// The number of the log's first entry.
    first: u64,
    sum: u64,
    /// When the next taking would come if all were spread evenly, in seconds.
    due: f64,
}

#[derive(Debug)]
struct Taken {
    at: Duration,
    amount: u64,
    /// What it was paced by.
    paced: f64,
}

/// A taking that can be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receipt(u64);

impl Window {
    /// At least 1 in a minute.
    pub fn new(allowance: u64) -> Window {
        Window { allowance: allowance.max(1), log: VecDeque::new(), first: 0, sum: 0, due: f64::NEG_INFINITY }
    }

    /// When `amount` may be taken: now (`None`) or not before a moment. One that exceeds the whole allowance goes alone.
    pub fn opens(&mut self, now: Duration, amount: u64) -> Option<Duration> {
        self.forget(now);
        let most = self.allowance - amount.min(self.allowance);
        let logged = self.leaves(most);
        let paced = self.due - TOLERANCE;
        let paced =
            (paced > now.as_secs_f64()).then(|| Duration::try_from_secs_f64(paced).unwrap_or(Duration::MAX));
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

    /// Takes: `amount` counts against the allowance, `paced` (what is expected to be left of it) sets the pace.
    pub fn take(&mut self, now: Duration, amount: u64, paced: f64) -> Receipt {
        let paced = paced.min(self.allowance as f64);
        self.sum = self.sum.saturating_add(amount);
        self.log.push_back(Taken { at: now, amount, paced });
        self.due = self.due.max(now.as_secs_f64()) + self.share(paced);
        Receipt(self.first + self.log.len() as u64 - 1)
    }

    /// What was taken turned out to be this much.
    pub fn settle(&mut self, receipt: Receipt, amount: u64) {
        // What has left the window no longer matters.
        let Some(at) = receipt.0.checked_sub(self.first) else { return };
        let (share, pace) = (self.share(1.0), amount.min(self.allowance) as f64);
        let Some(taken) = usize::try_from(at).ok().and_then(|at| self.log.get_mut(at)) else { return };
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
