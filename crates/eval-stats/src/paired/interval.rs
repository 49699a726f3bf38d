//! The interval of a mean of paired differences.

use super::tango::tango;
use crate::UndefinedReason;
use crate::binomial::binomial;
use crate::distributions::t_quantile;
use crate::draws::{IndexDraws, resampled};
use crate::interval::{Interval, IntervalMethod};

/// Resamples that share a stream of the generator.
const CHUNK: usize = 128;
/// Different values up to which resamples may be drawn by how often each value comes.
const FEW_VALUES: usize = 512;
/// About as many plain draws cost as much as one binomial draw.
const BINOMIAL_COST: usize = 16;
/// Draws of all resamples together beyond which the standard error is that of theory, which the
/// drawn one tends to.
const MOST_DRAWS: usize = 5_000_000;

/// What is resampled: cases, weighted cases, or evals.
pub(super) struct ResampledUnits {
    /// (weighted sum of differences, sum of weights), of positive weight.
    pub ratios: Vec<(f64, f64)>,
    /// Whether each unit is an eval.
    pub grouped: bool,
    /// Every difference is one of shares, in [-1, 1].
    pub shares: bool,
}

/// The difference and t_{n-1} bootstrap standard errors to each side, of n units that are drawn
/// with replacement; each standard error is widened by sqrt(n / (n - 1)), since resamples vary too
/// little by as much.
///
/// Source: T. Hesterberg, "What Teachers Should Know about the Bootstrap", The American
/// Statistician 69 (2015), sections 3 and 5. Of the kinds of bootstrap this one keeps its level
/// best for differences, most of which are 0 (docs/statistics.md has the simulation).
pub(super) fn bootstrap(
    units: &ResampledUnits,
    resamples: usize,
    seed: u64,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    if !(level > 0.0 && level < 1.0) {
        return Err(UndefinedReason::Level);
    }
    if resamples < 100 {
        return Err(UndefinedReason::TooFewResamples);
    }
    let n = units.ratios.len();
    let total: f64 = units.ratios.iter().map(|(_, weight)| weight).sum();
    let difference = units.ratios.iter().map(|(sum, _)| sum).sum::<f64>() / total;
    if n < 2 {
        let unit = if units.grouped { "evals" } else { "cases" };
        return Err(UndefinedReason::TooFewUnits { n, unit });
    }
    if all_equal(&units.ratios) {
        return without_variation(units, difference, total, level);
    }
    let (error, method) = standard_error(&units.ratios, resamples, seed);
    let method = match method {
        IntervalMethod::Bootstrap if units.grouped => IntervalMethod::ClusterBootstrap,
        method => method,
    };
    let half = t_quantile(0.5 + level / 2.0, n as f64 - 1.0)
        * error
        * (n as f64 / (n as f64 - 1.0)).sqrt();
    if !half.is_finite() {
        return Err(UndefinedReason::NotFinite);
    }
    let range = if units.shares {
        (-1.0, 1.0)
    } else {
        (f64::NEG_INFINITY, f64::INFINITY)
    };
    let (low, high) = (
        (difference - half).max(range.0),
        (difference + half).min(range.1),
    );
    Ok(Interval {
        low,
        high,
        level,
        method,
    })
}

fn all_equal(ratios: &[(f64, f64)]) -> bool {
    let mut means = ratios.iter().map(|(sum, weight)| sum / weight);
    let first = means.next().unwrap_or(0.0);
    means.all(|mean| (mean - first).abs() <= 1e-12 * first.abs())
}

/// Resampling equal differences would claim certainty. Of shares, 0/1 values of the same mean vary
/// most.
fn without_variation(
    units: &ResampledUnits,
    difference: f64,
    total: f64,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    if !units.shares {
        return Err(UndefinedReason::NoVariation);
    }
    // Kish's effective size: unequal weights tell less than as many equal ones.
    let n = total * total
        / units
            .ratios
            .iter()
            .map(|(_, weight)| weight * weight)
            .sum::<f64>();
    let (lost, gained) = (
        (-difference).clamp(0.0, 1.0) * n,
        difference.clamp(0.0, 1.0) * n,
    );
    tango(lost, gained, n, level)
}

/// The standard deviation of the resamples' means.
fn standard_error(ratios: &[(f64, f64)], resamples: usize, seed: u64) -> (f64, IntervalMethod) {
    let n = ratios.len();
    let first_weight = ratios.first().map_or(1.0, |(_, weight)| *weight);
    let weighted = ratios.iter().any(|(_, weight)| *weight != first_weight);
    if n.saturating_mul(resamples) > MOST_DRAWS {
        return (error_of_theory(ratios), IntervalMethod::Normal);
    }
    let histogram = if weighted {
        None
    } else {
        histogram(ratios, first_weight)
    };
    let means_of = |mean: &(dyn Fn(&mut IndexDraws) -> f64 + Sync)| {
        resampled(resamples, (seed, 0), CHUNK, mean)
    };
    let means = if let Some(histogram) = histogram.filter(|values| values.len() * BINOMIAL_COST < n)
    {
        means_of(&|draws| mean_by_value(draws, &histogram, n as u64))
    } else if weighted {
        means_of(&|draws| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for _ in 0..n {
                let (s, w) = ratios[draws.below(n as u32) as usize];
                (sum, weight) = (sum + s, weight + w);
            }
            sum / weight
        })
    } else {
        let values: Vec<f64> = ratios.iter().map(|(sum, weight)| sum / weight).collect();
        means_of(&|draws| {
            (0..n)
                .map(|_| values[draws.below(n as u32) as usize])
                .sum::<f64>()
                / n as f64
        })
    };
    (deviation(&means), IntervalMethod::Bootstrap)
}

/// The mean of a resample of `n` values given as (value, how often): how often each is drawn is
/// multinomial.
fn mean_by_value(draws: &mut IndexDraws, histogram: &[(f64, u64)], n: u64) -> f64 {
    let (mut sum, mut left, mut rest) = (0.0, n, n);
    for (value, count) in histogram {
        if left == 0 {
            break;
        }
        let times = binomial(draws, left, *count as f64 / rest as f64);
        sum += value * times as f64;
        left -= times;
        rest -= count;
    }
    sum / n as f64
}

/// (value, how often), the most frequent first; `None` when there are too many different ones.
fn histogram(ratios: &[(f64, f64)], weight: f64) -> Option<Vec<(f64, u64)>> {
    let mut values: Vec<f64> = ratios.iter().map(|(sum, _)| sum / weight).collect();
    values.sort_by(f64::total_cmp);
    let runs = values.chunk_by(|a, b| a == b);
    let mut histogram: Vec<(f64, u64)> = runs
        .filter_map(|run| Some((*run.first()?, run.len() as u64)))
        .take(FEW_VALUES + 1)
        .collect();
    if histogram.len() > FEW_VALUES {
        return None;
    }
    histogram.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.total_cmp(&b.0)));
    Some(histogram)
}

fn deviation(means: &[f64]) -> f64 {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// What the resamples' deviation tends to: that of the linear approximation of the ratio (W. G.
/// Cochran, "Sampling Techniques", 1977, section 2.11); for equal weights it is the bootstrap's
/// with infinitely many resamples.
fn error_of_theory(ratios: &[(f64, f64)]) -> f64 {
    let total: f64 = ratios.iter().map(|(_, weight)| weight).sum();
    let mean = ratios.iter().map(|(sum, _)| sum).sum::<f64>() / total;
    ratios
        .iter()
        .map(|(sum, weight)| (sum - mean * weight).powi(2))
        .sum::<f64>()
        .sqrt()
        / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(values: &[f64]) -> ResampledUnits {
        ResampledUnits {
            ratios: values.iter().map(|value| (*value, 1.0)).collect(),
            grouped: false,
            shares: true,
        }
    }

    /// Fifths, of which most are 0, as differences of two runs with five samples are.
    fn fifths(n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| [0.0, 0.0, -0.2, 0.0, 0.4, 0.0, -0.6, 0.2, 0.0, 0.0, -0.2][i * i % 11])
            .collect()
    }

    #[test]
    fn each_way_of_drawing_has_the_error_of_theory() {
        let few = fifths(1_000);
        let ratios: Vec<(f64, f64)> = few.iter().map(|value| (*value, 1.0)).collect();
        let theory = error_of_theory(&ratios);
        let by_value = histogram(&ratios, 1.0).unwrap();
        let counted = deviation(&resampled(20_000, (4, 0), CHUNK, |draws| {
            mean_by_value(draws, &by_value, 1_000)
        }));
        assert!((counted / theory - 1.0).abs() < 0.02, "{counted} {theory}");
        // Values with a jitter of no size are all different, and drawn one by one; so are weighted
        // ones.
        let plain: Vec<(f64, f64)> = few
            .iter()
            .enumerate()
            .map(|(i, v)| (v + i as f64 * 1e-12, 1.0))
            .collect();
        let (drawn, method) = standard_error(&plain, 4_000, 4);
        assert_eq!(method, IntervalMethod::Bootstrap);
        assert!((drawn / theory - 1.0).abs() < 0.05, "{drawn} {theory}");
        let weighted: Vec<(f64, f64)> = few
            .iter()
            .enumerate()
            .map(|(i, v)| (v * (1 + i % 3) as f64, (1 + i % 3) as f64))
            .collect();
        let (drawn, _) = standard_error(&weighted, 4_000, 4);
        assert!(
            (drawn / error_of_theory(&weighted) - 1.0).abs() < 0.05,
            "{drawn}"
        );
        let (error, method) = standard_error(&plain, 1_000_000, 4);
        assert_eq!(
            (error, method),
            (error_of_theory(&plain), IntervalMethod::Normal)
        );
    }

    #[test]
    fn is_students_interval_but_for_the_draws() {
        let values = fifths(40);
        let drawn = bootstrap(&units(&values), 100_000, 3, 0.95).unwrap();
        let n = 40.0;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        // 2.0226909 is the 97.5th percentile of Student's t with 39 degrees of freedom.
        let half = 2.022690920036762 * deviation / n.sqrt();
        assert!(
            (drawn.high - drawn.low) / (2.0 * half) - 1.0 < 0.01,
            "{drawn:?} {mean} {half}"
        );
        assert!(((drawn.high + drawn.low) / 2.0 - mean).abs() < 1e-12);
    }

    #[test]
    fn equal_differences_are_not_certain() {
        let none = bootstrap(&units(&[0.0; 50]), 1_000, 1, 0.95).unwrap();
        assert_eq!(Ok(none), tango(0.0, 0.0, 50.0, 0.95));
        let all = bootstrap(&units(&[-0.2; 50]), 1_000, 1, 0.95).unwrap();
        let like = tango(10.0, 0.0, 50.0, 0.95).unwrap();
        assert!(
            (all.low - like.low).abs() < 1e-12 && (all.high - like.high).abs() < 1e-12,
            "{all:?} {like:?}"
        );
        assert_eq!(all.method, IntervalMethod::Tango);
        assert!(all.low < -0.2 && all.high > -0.2 && all.high < 0.0);
        let others = ResampledUnits {
            shares: false,
            ..units(&[3.0; 50])
        };
        assert_eq!(
            bootstrap(&others, 1_000, 1, 0.95),
            Err(UndefinedReason::NoVariation)
        );
        let grouped = ResampledUnits {
            grouped: true,
            ..units(&[0.0])
        };
        assert_eq!(
            bootstrap(&grouped, 1_000, 1, 0.95),
            Err(UndefinedReason::TooFewUnits {
                n: 1,
                unit: "evals"
            })
        );
        assert_eq!(
            bootstrap(&units(&[0.0, 1.0]), 99, 1, 0.95),
            Err(UndefinedReason::TooFewResamples)
        );
        assert_eq!(
            bootstrap(&units(&[0.0, 1.0]), 100, 1, 1.0),
            Err(UndefinedReason::Level)
        );
    }

    #[test]
    fn of_shares_it_stays_within_what_shares_can_differ_by() {
        let interval = bootstrap(&units(&[-1.0, -1.0, 0.9]), 1_000, 1, 0.95).unwrap();
        assert_eq!((interval.low, interval.high), (-1.0, 1.0));
        let wide = ResampledUnits {
            shares: false,
            ..units(&[-1.0, -1.0, 0.9])
        };
        assert!(bootstrap(&wide, 1_000, 1, 0.95).unwrap().low < -1.0);
    }

    #[test]
    fn digits_do_not_depend_on_the_number_of_threads() {
        for n in [60, 3_000] {
            let units = units(&fifths(n));
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| bootstrap(&units, 1_000, 7, 0.95))
            };
            assert_eq!(on(1), on(3));
            assert_ne!(
                bootstrap(&units, 1_000, 7, 0.95),
                bootstrap(&units, 1_000, 8, 0.95)
            );
        }
    }
}
