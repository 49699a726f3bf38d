//! How long to wait between two tries of a call.
//!
//! Full jitter: uniform from nothing up to a bound that doubles (Brooker, "Exponential Backoff And
//! Jitter", AWS Architecture Blog, 2015), so that calls that failed together don't come back
//! together.

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use eval_base::backoff::Backoff;
use eval_base::sync::lock;

/// The bounds of the pauses.
const BOUNDS: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(30),
};

/// What a server may ask to be waited for. Nobody sits before a run for longer than that without a
/// word.
pub(super) const LONGEST: Duration = Duration::from_secs(300);

/// Where jitter comes from.
#[derive(Debug)]
pub(crate) struct Jitter(Mutex<ChaCha8Rng>);

impl Jitter {
    /// The same seed gives the same pauses.
    pub fn seeded(seed: u64) -> Jitter {
        Jitter(Mutex::new(ChaCha8Rng::seed_from_u64(seed)))
    }

    /// Of this process alone: two runs against one server must not wait in step.
    pub fn unlike_others() -> Jitter {
        Jitter::seeded(RandomState::new().hash_one(std::process::id()))
    }

    /// Uniform in [0, 1).
    fn unit(&self) -> f64 {
        (lock(&self.0).next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The pause after a failed try; `earlier` tries failed before it.
    pub fn pause(&self, earlier: u32) -> Duration {
        BOUNDS.pause(earlier).mul_f64(self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_fill_their_range_and_no_more() {
        let jitter = Jitter::seeded(7);
        for (failed, bound) in [
            (0, 0.5),
            (1, 1.0),
            (3, 4.0),
            (5, 16.0),
            (6, 30.0),
            (31, 30.0),
            (u32::MAX, 30.0),
        ] {
            let pauses: Vec<f64> = (0..2000)
                .map(|_| jitter.pause(failed).as_secs_f64())
                .collect();
            assert!(
                pauses.iter().all(|pause| (0.0..bound).contains(pause)),
                "{failed}"
            );
            let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
            assert!((mean / bound - 0.5).abs() < 0.05, "{failed}: {mean}");
            for part in [0.05, 0.95] {
                let below = pauses.iter().filter(|pause| **pause < bound * part).count() as f64;
                assert!(
                    (below / pauses.len() as f64 - part).abs() < 0.02,
                    "{failed}: {part}"
                );
            }
        }
    }

    #[test]
    fn a_seed_fixes_the_pauses_and_runs_differ() {
        let pauses = |jitter: Jitter| (0..8).map(|n| jitter.pause(n)).collect::<Vec<_>>();
        assert_eq!(pauses(Jitter::seeded(1)), pauses(Jitter::seeded(1)));
        assert_ne!(pauses(Jitter::seeded(1)), pauses(Jitter::seeded(2)));
        assert_ne!(
            pauses(Jitter::unlike_others()),
            pauses(Jitter::unlike_others())
        );
    }
}
