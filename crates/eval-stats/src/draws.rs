//! Random numbers whose stream is fixed.
//!
//! The draws come from ChaCha8, keyed with the seed's 8 little-endian bytes and 24 zeros, so a seed
//! means the same draws on every machine and in every version.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::parallel::in_parallel;

/// What so many resamples give, one value each. Each chunk of them has a stream of its own, from
/// the `first` on, so that the digits don't depend on who draws which.
pub(super) fn resampled(
    resamples: usize,
    (seed, first): (u64, u64),
    chunk: usize,
    draw: impl Fn(&mut IndexDraws) -> f64 + Sync,
) -> Vec<f64> {
    let of_chunk = |number: usize| {
        let mut draws = IndexDraws::stream(seed, first + number as u64);
        let these = chunk.min(resamples - number * chunk);
        (0..these).map(|_| draw(&mut draws)).collect::<Vec<f64>>()
    };
    in_parallel(0..resamples.div_ceil(chunk), of_chunk).concat()
}

/// Unbiased indices from a fixed stream.
pub(super) struct IndexDraws(ChaCha8Rng);

impl IndexDraws {
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        IndexDraws(ChaCha8Rng::from_seed(key))
    }

    /// One of 2^64 streams of the same seed, for work that is shared out.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut draws = IndexDraws::new(seed);
        draws.0.set_stream(stream);
        draws
    }

    /// 64 fair bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, for n > 0: multiply and reject (Lemire, ACM TOMACS 29, 2019).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let mut product = u64::from(self.0.next_u32()) * u64::from(n);
        if (product as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = u64::from(self.0.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_digits_for_ever() {
        let mut draws = IndexDraws::new(42);
        let first: Vec<u32> = (0..12).map(|_| draws.below(1000)).collect();
        insta::assert_compact_debug_snapshot!(first, @"[99, 348, 88, 285, 394, 493, 589, 367, 587, 825, 78, 67]");
    }
}
