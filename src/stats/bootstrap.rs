//! Seeded bootstrap over cases, or over groups of cases that belong together: accelerated and expanded percentiles.
//!
//! Percentiles of resamples are too narrow for few units and lean the wrong way where values are skewed, as shares of passes
//! are. They are corrected for both: for skewness as in the BCa interval (B. Efron, "Better Bootstrap Confidence Intervals", JASA
//! 82, 1987; Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, section 14.3), for few units as in the expanded
//! percentile interval (T. Hesterberg, The American Statistician 69, 2015, section 5.2). docs/statistics.md has its coverage.
//!
//! The draws come from ChaCha8, keyed with the seed's 8 little-endian bytes and 24 zeros, so a seed means the same draws on every
//! machine and in every version.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Undefined;
use super::binomial::binomial;
use super::distributions::t_quantile;
use super::interval::{Interval, Method, normal_cdf, normal_of_mean, wilson_of_share};
use super::quantile::percentile;
use super::values::DRAWN_VALUES;

/// Evals from which on whole evals are resampled, when some hold several cases (docs/metrics.md, Intervals).
pub const CLUSTERS: usize = 10;

/// Enough for ends that are stable to the second decimal.
pub const DEFAULT_RESAMPLES: usize = 2_000;

/// Interval of the mean of `values`, one a case; cases are drawn with replacement.
///
/// When all values are equal the resamples can't vary and an interval of no width would claim certainty. For values in
/// [0, 1] Wilson's interval on as many cases stands in (its `method` says so); for others the interval is undefined.
/// So it is for fewer than 2 values.
pub fn bootstrap_mean(
    values: &[f64],
    resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, Undefined> {
    let n = check(values.len(), "cases", resamples, level)?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Undefined::NotFinite);
    }
    if let Some(same) = all_equal(values.iter().copied()) {
        return without_variation(same, f64::from(n), level);
    }
    let mut draws = Draws::new(seed);
    let means = (0..resamples)
        .map(|_| (0..n).map(|_| values[draws.below(n) as usize]).sum::<f64>() / f64::from(n))
        .collect();
    let mean = values.iter().sum::<f64>() / f64::from(n);
    let skew = acceleration(values.iter().map(|value| (value - mean, 1.0)));
    ends(means, skew, f64::from(n), level, Method::Bootstrap)
}

/// [`bootstrap_mean`] of values that are given as (value, how often): the number of times that each value is drawn is multinomial,
/// so that a resample costs as many draws as there are different values.
pub(super) fn resampled_histogram(
    histogram: &[(f64, u64)],
    resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, Undefined> {
    let histogram: Vec<(f64, u64)> = histogram.iter().copied().filter(|(_, count)| *count > 0).collect();
    let n: u64 = histogram.iter().map(|(_, count)| count).sum();
    check(n as usize, "cases", resamples, level)?;
    if histogram.iter().any(|(value, _)| !value.is_finite()) {
        return Err(Undefined::NotFinite);
    }
    if let Some(same) = all_equal(histogram.iter().map(|(value, _)| *value)) {
        return without_variation(same, n as f64, level);
    }
    let mut draws = Draws::new(seed);
    let means = (0..resamples)
        .map(|_| {
            let (mut sum, mut left, mut rest) = (0.0, n, n);
            for (value, count) in &histogram {
                let times = binomial(&mut draws, left, *count as f64 / rest as f64);
                sum += value * times as f64;
                left -= times;
                rest -= count;
            }
            sum / n as f64
        })
        .collect();
    let mean = histogram.iter().map(|(value, count)| value * *count as f64).sum::<f64>() / n as f64;
    let skew = acceleration(histogram.iter().map(|(value, count)| (value - mean, *count as f64)));
    ends(means, skew, n as f64, level, Method::Bootstrap)
}

/// Interval of a weighted mean; pairs are (value, weight), drawn with replacement as pairs.
pub fn bootstrap_weighted_mean(
    pairs: &[(f64, f64)],
    resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, Undefined> {
    check(pairs.len(), "cases", resamples, level)?;
    let ratios: Vec<(f64, f64)> = pairs.iter().map(|(value, weight)| (value * weight, *weight)).collect();
    ratio_bootstrap(&ratios, resamples, seed, level, Method::Bootstrap)
}

/// Interval of the mean over all cases when cases come in clusters (evals) that stand or fall together.
///
/// A cluster is (sum of its cases' values, number of its cases). Whole clusters are drawn with replacement and the mean is
/// the ratio of the drawn sums, so its centre is the plain mean over cases. When every cluster has the same mean the rule
/// of [`bootstrap_mean`] applies, with clusters for cases. Choose it for 10 clusters and more; with few it is too narrow.
pub fn cluster_bootstrap_mean(
    clusters: &[(f64, u64)],
    resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, Undefined> {
    let ratios: Vec<(f64, f64)> =
        clusters.iter().filter(|(_, count)| *count > 0).map(|(sum, count)| (*sum, *count as f64)).collect();
    check(ratios.len(), "evals", resamples, level)?;
    ratio_bootstrap(&ratios, resamples, seed, level, Method::ClusterBootstrap)
}

fn ratio_bootstrap(
    ratios: &[(f64, f64)],
    resamples: usize,
    seed: u64,
    level: f64,
    method: Method,
) -> Result<Interval, Undefined> {
    if ratios.iter().any(|(sum, weight)| !sum.is_finite() || !weight.is_finite()) {
        return Err(Undefined::NotFinite);
    }
    if ratios.iter().any(|(_, weight)| *weight < 0.0) {
        return Err(Undefined::Weights);
    }
    // What weighs nothing moves no resample's ratio; left in, a resample could consist of it alone.
    let ratios: Vec<(f64, f64)> = ratios.iter().copied().filter(|(_, weight)| *weight > 0.0).collect();
    if ratios.is_empty() {
        return Err(Undefined::Weights);
    }
    let unit = if method == Method::ClusterBootstrap { "evals" } else { "cases" };
    let n = check(ratios.len(), unit, resamples, level)?;
    if all_equal(ratios.iter().map(|(sum, weight)| sum / weight)).is_some() {
        let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
        let mean = ratios.iter().map(|(sum, _)| sum).sum::<f64>() / total;
        // Kish's effective size: unequal weights tell less than as many equal ones.
        let size = total * total / ratios.iter().map(|(_, weight)| weight * weight).sum::<f64>();
        return without_variation(mean, size, level);
    }
    if ratios.len() > DRAWN_VALUES {
        return normal_of_ratio(&ratios, level);
    }
    let mut draws = Draws::new(seed);
    let means = (0..resamples)
        .map(|_| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for _ in 0..n {
                let (s, w) = ratios[draws.below(n) as usize];
                sum += s;
                weight += w;
            }
            sum / weight
        })
        .collect();
    let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
    let mean = ratios.iter().map(|(sum, _)| sum).sum::<f64>() / total;
    let skew = acceleration(ratios.iter().map(|(sum, weight)| (sum - mean * weight, 1.0)));
    ends(means, skew, f64::from(n), level, method)
}

/// The ratio of sums with the standard error of its linear approximation (Cochran, "Sampling Techniques", 1977, section 2.11):
/// what the bootstrap tends to, for numbers that are too large to draw.
fn normal_of_ratio(ratios: &[(f64, f64)], level: f64) -> Result<Interval, Undefined> {
    let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
    let mean = ratios.iter().map(|(sum, _)| sum).sum::<f64>() / total;
    let squares: f64 = ratios.iter().map(|(sum, weight)| (sum - mean * weight).powi(2)).sum();
    let n = ratios.len() as f64;
    let error = (n / (n - 1.0) * squares).sqrt() / total;
    let each = || ratios.iter().map(|(sum, weight)| sum / weight);
    let range = (each().fold(f64::INFINITY, f64::min), each().fold(f64::NEG_INFINITY, f64::max));
    normal_of_mean(mean, error, range, level)
}

fn check(n: usize, unit: &'static str, resamples: usize, level: f64) -> Result<u32, Undefined> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Undefined::Level);
    }
    if resamples < 100 {
        return Err(Undefined::TooFewResamples);
    }
    match u32::try_from(n) {
        Ok(n) if n >= 2 => Ok(n),
        _ => Err(Undefined::TooFewUnits { n, unit }),
    }
}

/// The value that all share; equal up to rounding, since equal ratios are computed from different sums.
fn all_equal(mut values: impl Iterator<Item = f64>) -> Option<f64> {
    let first = values.next()?;
    values.all(|value| (value - first).abs() <= 1e-12 * first.abs().max(1e-300)).then_some(first)
}

fn without_variation(mean: f64, n: f64, level: f64) -> Result<Interval, Undefined> {
    if (0.0..=1.0).contains(&mean) { wilson_of_share(mean, n, level) } else { Err(Undefined::NoVariation) }
}

/// A sixth of the skewness of a mean, from (a unit's influence on it, how many such units): the acceleration of the BCa interval, and to
/// the same order its correction of bias (T. DiCiccio & B. Efron, Statistical Science 11, 1996, section 4). Within -1/6 and 1/6.
fn acceleration(influences: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (squares, cubes) = influences.fold((0.0, 0.0), |(squares, cubes), (influence, count)| {
        (squares + count * influence.powi(2), cubes + count * influence.powi(3))
    });
    let skew = cubes / (6.0 * squares.powf(1.5));
    if skew.is_finite() { skew } else { 0.0 }
}

/// The percentiles of the resamples' means that are the ends for `n` units of this skew.
fn ends(mut means: Vec<f64>, skew: f64, n: f64, level: f64, method: Method) -> Result<Interval, Undefined> {
    means.sort_by(f64::total_cmp);
    let (low, high) = tails(skew, n, level);
    Ok(Interval { low: percentile(&means, low)?, high: percentile(&means, high)?, level, method })
}

/// Shares of resamples below the lower and the upper end.
fn tails(skew: f64, n: f64, level: f64) -> (f64, f64) {
    let wide = (n / (n - 1.0)).sqrt() * t_quantile(0.5 + level / 2.0, n - 1.0);
    let share = |z: f64| {
        let stretch = 1.0 - skew * (skew + z);
        // So skewed for so few units that even the last resample doesn't reach far enough.
        let end = if z < 0.0 { 0.0 } else { 1.0 };
        if stretch > 0.0 {
            normal_cdf((skew + (skew + z) / stretch).clamp(-8.0, 8.0)).clamp(0.0, 1.0)
        } else {
            end
        }
    };
    (share(-wide), share(wide))
}

/// Unbiased indices from a fixed stream.
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Draws(ChaCha8Rng::from_seed(key))
    }

    /// One of 2^64 streams of the same seed, for work that is shared out.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut draws = Draws::new(seed);
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
    use proptest::prelude::*;

    use super::super::interval::wilson;
    use super::*;

    fn shown(interval: Result<Interval, Undefined>) -> String {
        interval.map_or_else(
            |why| why.to_string(),
            |i| format!("{:.6}..{:.6} {}", i.low, i.high, i.method.name()),
        )
    }

    #[test]
    fn the_same_seed_gives_the_same_digits_for_ever() {
        let mut draws = Draws::new(42);
        let first: Vec<u32> = (0..12).map(|_| draws.below(1000)).collect();
        insta::assert_compact_debug_snapshot!(first, @"[99, 348, 88, 285, 394, 493, 589, 367, 587, 825, 78, 67]");
        let values: Vec<f64> = (0..50).map(|i| f64::from(i % 7) / 6.0).collect();
        insta::assert_snapshot!(shown(bootstrap_mean(&values, 2000, 42, 0.95)), @"0.396667..0.593333 bootstrap");
        let clusters: Vec<(f64, u64)> = (0..12).map(|i| (f64::from(i % 4), 4)).collect();
        insta::assert_snapshot!(shown(cluster_bootstrap_mean(&clusters, 2000, 42, 0.95)), @"0.187500..0.541667 cluster_bootstrap");
        let other = bootstrap_mean(&values, 2000, 43, 0.95).unwrap();
        assert_ne!(Ok(other), bootstrap_mean(&values, 2000, 42, 0.95));
    }

    #[test]
    fn never_claims_certainty_from_too_little() {
        insta::assert_snapshot!(shown(bootstrap_mean(&[0.5], 2000, 1, 0.95)), @"an interval needs at least 2 cases, has 1");
        insta::assert_snapshot!(shown(cluster_bootstrap_mean(&[(2.0, 3)], 2000, 1, 0.95)), @"an interval needs at least 2 evals, has 1");
        insta::assert_snapshot!(shown(cluster_bootstrap_mean(&[(2.0, 3), (0.0, 0)], 2000, 1, 0.95)), @"an interval needs at least 2 evals, has 1");
        let all_passed = bootstrap_mean(&[1.0; 20], 2000, 1, 0.95).unwrap();
        assert_eq!(all_passed, wilson(20, 20, 0.95).unwrap());
        let middling = bootstrap_mean(&[0.6; 10], 2000, 1, 0.95).unwrap();
        assert_eq!(middling, wilson(6, 10, 0.95).unwrap());
        let clusters = cluster_bootstrap_mean(&[(3.0, 3); 12], 2000, 1, 0.95).unwrap();
        assert_eq!(clusters, wilson(12, 12, 0.95).unwrap());
        assert_eq!(bootstrap_mean(&[250.0; 10], 2000, 1, 0.95), Err(Undefined::NoVariation));
        assert_eq!(bootstrap_mean(&[0.1, f64::NAN], 2000, 1, 0.95), Err(Undefined::NotFinite));
        assert_eq!(bootstrap_mean(&[0.1, 0.2], 2000, 1, 1.0), Err(Undefined::Level));
        assert_eq!(bootstrap_mean(&[0.1, 0.2], 99, 1, 0.9), Err(Undefined::TooFewResamples));
    }

    /// The definition, step by step: jackknife for the acceleration, sorted means, Hesterberg's alpha.
    #[test]
    fn the_ends_are_those_of_a_naive_implementation() {
        let values: Vec<f64> = (0..40).map(|i| [1.0, 1.0, 0.8, 1.0, 0.2, 1.0, 1.0, 0.6][i * i % 8]).collect();
        let n = values.len() as f64;
        let mut draws = Draws::new(9);
        let mut means: Vec<f64> =
            (0..1_000).map(|_| (0..40).map(|_| values[draws.below(40) as usize]).sum::<f64>() / n).collect();
        means.sort_by(f64::total_cmp);
        let sum: f64 = values.iter().sum();
        let left_out: Vec<f64> = values.iter().map(|v| (sum - v) / (n - 1.0)).collect();
        let centre = left_out.iter().sum::<f64>() / n;
        let cubes: f64 = left_out.iter().map(|m| (centre - m).powi(3)).sum();
        let squares: f64 = left_out.iter().map(|m| (centre - m).powi(2)).sum();
        let a = cubes / (6.0 * squares.powf(1.5));
        // Student's t of 39 degrees at 0.975, from R's qt.
        let z = (n / (n - 1.0)).sqrt() * 2.022690920036762;
        let at = |z: f64| {
            let share = normal_cdf(a + (a + z) / (1.0 - a * (a + z)));
            let position = share * 999.0;
            let (below, above) = (position.floor() as usize, position.ceil() as usize);
            means[below] + (means[above] - means[below]) * (position - position.floor())
        };
        let interval = bootstrap_mean(&values, 1_000, 9, 0.95).unwrap();
        assert!((interval.low - at(-z)).abs() < 1e-9 && (interval.high - at(z)).abs() < 1e-9, "{interval:?}");
        assert!(a < -0.01, "the example is skewed: {a}");
    }

    #[test]
    fn extreme_skew_of_few_units_ends_at_the_last_resample() {
        assert_eq!(tails(1.0 / 6.0, 2.0, 0.95).1, 1.0);
        assert_eq!(tails(-1.0 / 6.0, 2.0, 0.95).0, 0.0);
        let (low, high) = tails(0.0, 1e9, 0.95);
        assert!((low - 0.025).abs() < 1e-8 && (high - 0.975).abs() < 1e-8);
    }

    #[test]
    fn has_about_the_width_of_theory() {
        // 400 fair coin flips: the standard error of the mean is 0.025.
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let interval = bootstrap_mean(&values, 2000, 7, 0.95).unwrap();
        let width = interval.high - interval.low;
        assert!((width - 2.0 * 1.96 * 0.025).abs() < 0.01, "{interval:?}");
        // The same flips in 40 clusters of ten alike: ten times the variance.
        let clusters: Vec<(f64, u64)> = (0..40).map(|i| (f64::from(i % 2) * 10.0, 10)).collect();
        let clustered = cluster_bootstrap_mean(&clusters, 2000, 7, 0.95).unwrap();
        let ratio = (clustered.high - clustered.low) / width;
        assert!((ratio - 10f64.sqrt()).abs() < 0.4, "{ratio}");
    }

    #[test]
    fn too_many_clusters_to_draw_get_a_normal_interval() {
        let clusters: Vec<(f64, u64)> =
            (0..6_000u32).map(|i| (f64::from(i * 31 % 7), 6 + u64::from(i % 3))).collect();
        let normal = cluster_bootstrap_mean(&clusters, 2_000, 7, 0.95).unwrap();
        assert_eq!(normal.method.name(), "normal");
        let drawn = cluster_bootstrap_mean(&clusters[..5_000], 2_000, 7, 0.95).unwrap();
        assert_eq!(drawn.method, Method::ClusterBootstrap);
        let ratio = (normal.high - normal.low) / (drawn.high - drawn.low) * 1.2f64.sqrt();
        assert!((ratio - 1.0).abs() < 0.06, "{ratio}");
    }

    #[test]
    fn draws_are_uniform() {
        let mut draws = Draws::new(3);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[draws.below(7) as usize] += 1;
        }
        // Chi-squared with 6 degrees of freedom: 22.46 is its 99.9th percentile.
        let chi: f64 = seen.iter().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 22.46, "{chi} {seen:?}");
    }

    #[test]
    fn weights_of_nothing_are_left_out() {
        let pairs = [(1.0, 1.0), (0.0, 1.0), (0.5, 0.0), (1.0, 2.0)];
        let without: Vec<(f64, f64)> = pairs.iter().copied().filter(|pair| pair.1 > 0.0).collect();
        assert_eq!(
            bootstrap_weighted_mean(&pairs, 500, 1, 0.95),
            bootstrap_weighted_mean(&without, 500, 1, 0.95)
        );
        assert_eq!(bootstrap_weighted_mean(&[(1.0, 0.0), (0.5, 0.0)], 500, 1, 0.95), Err(Undefined::Weights));
        assert_eq!(
            bootstrap_weighted_mean(&[(1.0, -1.0), (0.5, 3.0)], 500, 1, 0.95),
            Err(Undefined::Weights)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_interval_holds_the_mean_and_lies_within_the_data(
            values in prop::collection::vec(0.0f64..=1.0, 2..40), seed: u64,
        ) {
            let interval = bootstrap_mean(&values, 400, seed, 0.95).unwrap();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            prop_assert!(interval.low <= mean + 1e-9 && mean <= interval.high + 1e-9);
            prop_assert!(0.0 <= interval.low && interval.high <= 1.0);
            prop_assert!(interval.low < interval.high);
        }

        /// Clusters of one case each are cases, and equal weights are no weights.
        #[test]
        fn the_variants_agree_where_they_mean_the_same(values in prop::collection::vec(0.0f64..=1.0, 2..20), seed: u64) {
            let plain = bootstrap_mean(&values, 200, seed, 0.9).unwrap();
            let ones: Vec<(f64, u64)> = values.iter().map(|v| (*v, 1)).collect();
            let cluster = cluster_bootstrap_mean(&ones, 200, seed, 0.9).unwrap();
            let pairs: Vec<(f64, f64)> = values.iter().map(|v| (*v, 1.0)).collect();
            let weighted = bootstrap_weighted_mean(&pairs, 200, seed, 0.9).unwrap();
            prop_assert_eq!((plain.low, plain.high), (cluster.low, cluster.high));
            prop_assert_eq!(plain, weighted);
        }
    }
}
