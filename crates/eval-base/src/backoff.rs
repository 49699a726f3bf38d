//! Pauses between tries, each twice as long as the one before, up to the longest.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// The pause after a failed try; `earlier` tries failed before it.
    pub fn pause(&self, earlier: u32) -> Duration {
        let factor = 1u32.checked_shl(earlier).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(10),
        };
        let pauses = [0, 1, 2, 5, 6, 31, 32, u32::MAX].map(|n| backoff.pause(n).as_millis());
        assert_eq!(
            pauses,
            [250, 500, 1000, 8000, 10_000, 10_000, 10_000, 10_000]
        );
    }
}
