//! The mean of values that come one by one, with its interval; in bounded memory and time however many they are.

use std::collections::BTreeMap;

use super::Undefined;
use super::bootstrap::{DEFAULT_RESAMPLES, bootstrap_mean, resampled_histogram};
use super::interval::{Interval, normal_of_mean, wilson};
use super::quantile::finite;

/// Values up to which each is kept and drawn; [`bootstrap_mean`] draws 2,000 x n times.
pub const DRAWN_VALUES: usize = 5_000;
/// Different values up to which, beyond [`DRAWN_VALUES`], resamples are drawn from the histogram.
const DISTINCT: usize = 100;

/// Values in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Values {
    n: usize,
    sum: f64,
    zeros: u64,
    ones: u64,
    /// All of them, while they are at most [`DRAWN_VALUES`].
    few: Vec<f64>,
    /// How often each value came, by its bits, but for 0 and 1; `None` when there are too many different ones.
    others: Option<BTreeMap<u64, u64>>,
    moments: Option<Moments>,
}

/// Sums of the distances from the first value, which lose no digits where all values are large and alike.
#[derive(Debug, Clone, Copy)]
struct Moments {
    first: f64,
    sum: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Values {
    pub fn new() -> Self {
        Values { others: Some(BTreeMap::new()), ..Values::default() }
    }

    #[inline]
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        self.sum += value;
        if self.n <= DRAWN_VALUES {
            self.few.push(value);
        } else if !self.few.is_empty() {
            self.few = Vec::new();
        }
        let moments = self.moments.get_or_insert(Moments {
            first: value,
            sum: 0.0,
            squares: 0.0,
            least: value,
            most: value,
        });
        let distance = value - moments.first;
        moments.sum += distance;
        moments.squares += distance * distance;
        moments.least = moments.least.min(value);
        moments.most = moments.most.max(value);
        if value == 0.0 {
            self.zeros += 1;
        } else if value == 1.0 {
            self.ones += 1;
        } else if let Some(others) = &mut self.others {
            *others.entry(value.to_bits()).or_default() += 1;
            if others.len() > DISTINCT {
                self.others = None;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Result<f64, Undefined> {
        if self.n == 0 { Err(Undefined::NoData) } else { finite(self.sum / self.n as f64) }
    }

    /// True when every value is 0 or 1.
    pub fn are_binary(&self) -> bool {
        self.zeros + self.ones == self.n as u64
    }

    /// Wilson's interval of the share of ones, for values that are all 0 or 1.
    pub fn wilson(&self, level: f64) -> Result<Interval, Undefined> {
        wilson(self.ones, self.n as u64, level)
    }

    /// The bootstrap interval of the mean. Beyond [`DRAWN_VALUES`] values the same resamples are drawn by how often each value
    /// comes, when there are few different ones; else the interval is normal around the mean, which at that size is what the
    /// bootstrap tends to (Efron & Tibshirani 1993, section 5.2).
    pub fn interval(&self, seed: u64, level: f64) -> Result<Interval, Undefined> {
        if self.n <= DRAWN_VALUES {
            return bootstrap_mean(&self.few, DEFAULT_RESAMPLES, seed, level);
        }
        if let Some(others) = &self.others {
            let mut histogram: Vec<(f64, u64)> = vec![(0.0, self.zeros), (1.0, self.ones)];
            histogram.extend(others.iter().map(|(bits, count)| (f64::from_bits(*bits), *count)));
            return resampled_histogram(&histogram, DEFAULT_RESAMPLES, seed, level);
        }
        let moments = self.moments.ok_or(Undefined::NoData)?;
        let n = self.n as f64;
        let variance = ((moments.squares - moments.sum * moments.sum / n) / (n - 1.0)).max(0.0);
        normal_of_mean(self.mean()?, (variance / n).sqrt(), (moments.least, moments.most), level)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Method, mean};
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Values {
        let mut all = Values::new();
        values.into_iter().for_each(|value| all.push(value));
        all
    }

    /// Ends of two intervals of one thing, within a share of their width.
    fn alike(a: Interval, b: Interval, share: f64) -> bool {
        let slack = share * (b.high - b.low);
        (a.low - b.low).abs() < slack && (a.high - b.high).abs() < slack
    }

    #[test]
    fn beyond_the_bound_the_histogram_gives_what_drawing_each_would() {
        // 6,000 cases of 4 samples: values 0, 1/4, 1/2, 3/4, 1, mostly passes.
        let values: Vec<f64> =
            (0..6_000u32).map(|i| f64::from([4, 4, 4, 3, 1, 0, 4, 2][i as usize % 8]) / 4.0).collect();
        let drawn = bootstrap_mean(&values, 2_000, 3, 0.95).unwrap();
        let counted = of(values.iter().copied()).interval(3, 0.95).unwrap();
        assert_eq!(counted.method, Method::Bootstrap);
        assert!(alike(counted, drawn, 0.04), "{counted:?} {drawn:?}");
        assert_eq!(of(values.iter().copied()).interval(3, 0.95), Ok(counted));
    }

    #[test]
    fn many_different_values_get_a_normal_interval_of_the_right_width() {
        let values: Vec<f64> =
            (0..6_000u32).map(|i| (f64::from(i * 7919 % 6_007) / 6_007.0).powi(2)).collect();
        let drawn = bootstrap_mean(&values, 2_000, 3, 0.95).unwrap();
        let normal = of(values.iter().copied()).interval(3, 0.95).unwrap();
        assert_eq!(normal.method.name(), "normal");
        assert!(alike(normal, drawn, 0.04), "{normal:?} {drawn:?}");
        // Large and alike: no digits are lost.
        let shifted = of(values.iter().map(|value| value + 1e9)).interval(3, 0.95).unwrap();
        assert!((shifted.high - shifted.low - (normal.high - normal.low)).abs() < 1e-6);
    }

    #[test]
    fn one_miss_in_many_keeps_the_interval_within_the_data() {
        let interval = of((0..20_000u32).map(|i| if i == 0 { 0.5 } else { 1.0 })).interval(3, 0.95).unwrap();
        assert!(
            interval.high <= 1.0 && interval.low > 0.9998 && interval.low < interval.high,
            "{interval:?}"
        );
        let same = of((0..20_000).map(|_| 0.5)).interval(3, 0.95).unwrap();
        assert_eq!(same.method, Method::Wilson);
        assert_eq!(of((0..20_000).map(|_| 7.0)).interval(3, 0.95), Err(Undefined::NoVariation));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn up_to_the_bound_it_is_the_plain_bootstrap(values in prop::collection::vec(0.0f64..=1.0, 1..30), seed: u64) {
            let all = of(values.iter().copied());
            prop_assert_eq!(all.mean(), mean(&values));
            prop_assert_eq!(all.interval(seed, 0.95), bootstrap_mean(&values, 2_000, seed, 0.95));
        }
    }
}
