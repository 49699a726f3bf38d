//! The sign-flip test.

use crate::draws::{IndexDraws, resampled};
use crate::interval::normal_cdf;

/// Units that differ up to which every pattern of signs is looked at.
const ENUMERATED: usize = 14;
/// Different sizes up to which signs are drawn by size.
const FEW_SIZES: usize = 256;
/// Units of many different sizes beyond which the normal limit stands in.
const DRAWN_UNITS: usize = 50_000;
/// Resamples that share a stream of the generator.
const CHUNK: usize = 256;
/// Streams of the generator from here on are those of this test.
const FIRST_STREAM: u64 = 1 << 32;
/// Share of the sum of all sizes within which sums count as equal: patterns that tie must not be
/// told apart by rounding.
const SLACK: f64 = 1e-11;

/// Chances of a sum at most, and at least, as large as the observed one, if each unit's difference could as well have had the other
/// sign: exact for up to [`ENUMERATED`] units that differ, else (1 + how many resamples) / (1 + resamples). Where no resample was as
/// extreme and Hoeffding's bound is lower still, it is that bound: else no number of broken cases would be enough for hundreds of
/// tests that share a level. Never 0.
///
/// Source: R. A. Fisher, "The Design of Experiments" (1935), section 21; that the observed pattern
/// counts as a resample: B. Phipson & G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010); the
/// bound exp(-s² / (2 sum u²)): W. Hoeffding, JASA 58 (1963), theorem 2.
pub(super) fn sign_flip(units: &[f64], resamples: usize, seed: u64) -> (f64, f64) {
    let units: Vec<f64> = units.iter().copied().filter(|unit| *unit != 0.0).collect();
    let observed: f64 = units.iter().sum();
    let size = units.iter().map(|unit| unit.abs()).sum::<f64>();
    let slack = SLACK * size;
    if units.len() <= ENUMERATED {
        let (first, second) = units.split_at(units.len() / 2);
        let halves = [first, second].map(all_sums);
        // As many sums are above a value as below its opposite.
        return (
            share_up_to(&halves, observed + slack),
            share_up_to(&halves, slack - observed),
        );
    }
    // In standard errors; as shares of all sizes first, since squares of large numbers may not be
    // finite.
    let z = observed
        / size
        / units
            .iter()
            .map(|unit| (unit / size).powi(2))
            .sum::<f64>()
            .sqrt();
    let Some(signs) = SignDraws::new(&units) else {
        let tail = |z: f64| normal_cdf(z).clamp(f64::MIN_POSITIVE, 1.0);
        return (tail(z), tail(-z));
    };
    let sums = resampled(resamples, (seed, FIRST_STREAM), CHUNK, |draws| {
        signs.sum(draws)
    });
    let low = sums.iter().filter(|sum| **sum <= observed + slack).count();
    let high = sums.iter().filter(|sum| **sum >= observed - slack).count();
    let all = resamples as f64 + 1.0;
    let p = |count: usize, z: f64| match count {
        0 if z < 0.0 => (1.0 / all).min((-z * z / 2.0).exp()).max(f64::MIN_POSITIVE),
        count => (count + 1) as f64 / all,
    };
    (p(low, z), p(high, -z))
}

/// The chance of a sum as low as that of these units, as simulated pairs of runs take it: exact for
/// few units, else the normal limit, which is taken half a step further where sums come in steps,
/// since ties count.
pub fn of_signs(units: &[f64]) -> f64 {
    let open: Vec<f64> = units.iter().copied().filter(|unit| *unit != 0.0).collect();
    if open.len() <= ENUMERATED {
        return sign_flip(&open, 100, 0).0;
    }
    let mut sizes: Vec<f64> = open.iter().map(|unit| unit.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let largest = sizes.last().copied().unwrap_or(0.0);
    let gaps = std::iter::once(0.0)
        .chain(sizes.iter().copied())
        .zip(&sizes)
        .map(|(a, b)| b - a);
    let half = gaps
        .filter(|gap| *gap > SLACK * largest)
        .fold(f64::INFINITY, f64::min);
    let error = open.iter().map(|unit| unit * unit).sum::<f64>().sqrt();
    normal_cdf((open.iter().sum::<f64>() + half) / error)
}

/// Sums of all patterns of signs, from the lowest.
fn all_sums(units: &[f64]) -> Vec<f64> {
    let both = |sums: Vec<f64>, unit: &f64| {
        sums.iter()
            .flat_map(|sum| [sum + unit, sum - unit])
            .collect()
    };
    let mut sums = units.iter().fold(vec![0.0], both);
    sums.sort_by(f64::total_cmp);
    sums
}

/// The share of sums, one of each half, that are no larger.
fn share_up_to([first, second]: &[Vec<f64>; 2], limit: f64) -> f64 {
    let upto = |sum: &f64| second.partition_point(|other| sum + other <= limit);
    let count: usize = first.iter().map(upto).sum();
    count as f64 / (first.len() * second.len()) as f64
}

/// Units ready to have their signs drawn.
enum SignDraws {
    /// (size, how many units have it): the number of pluses among m fair signs is the number of
    /// ones in m random bits.
    BySize(Vec<(f64, u64)>),
    /// The sums of the 16 patterns of each four units.
    ByFour(Vec<[f64; 16]>),
}

impl SignDraws {
    fn new(units: &[f64]) -> Option<SignDraws> {
        let mut sizes: Vec<f64> = units.iter().map(|unit| unit.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let runs = sizes.chunk_by(|a, b| a == b);
        let by_size: Vec<(f64, u64)> = runs
            .filter_map(|run| Some((*run.first()?, run.len() as u64)))
            .take(FEW_SIZES + 1)
            .collect();
        if by_size.len() <= FEW_SIZES {
            return Some(SignDraws::BySize(by_size));
        }
        let four = |units: &[f64]| {
            let mut sums = [0.0; 16];
            for (pattern, sum) in sums.iter_mut().enumerate() {
                let signed =
                    |(at, unit): (usize, &f64)| if pattern >> at & 1 == 1 { *unit } else { -unit };
                *sum = units.iter().enumerate().map(signed).sum();
            }
            sums
        };
        (units.len() <= DRAWN_UNITS).then(|| SignDraws::ByFour(units.chunks(4).map(four).collect()))
    }

    fn sum(&self, draws: &mut IndexDraws) -> f64 {
        match self {
            SignDraws::BySize(sizes) => sizes
                .iter()
                .map(|(size, count)| size * (2.0 * ones(draws, *count) as f64 - *count as f64))
                .sum(),
            SignDraws::ByFour(fours) => fours
                .chunks(16)
                .map(|fours| {
                    let bits = draws.bits();
                    let of =
                        |(at, sums): (usize, &[f64; 16])| sums[(bits >> (4 * at) & 15) as usize];
                    fours.iter().enumerate().map(of).sum::<f64>()
                })
                .sum(),
        }
    }
}

/// How many of `n` fair coins show heads.
fn ones(draws: &mut IndexDraws, n: u64) -> u64 {
    let whole: u64 = (0..n / 64)
        .map(|_| u64::from(draws.bits().count_ones()))
        .sum();
    match n % 64 {
        0 => whole,
        rest => whole + u64::from((draws.bits() >> (64 - rest)).count_ones()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By recursion over the definition.
    fn naive(units: &[f64]) -> (f64, f64) {
        fn walk(units: &[f64], sum: f64, observed: f64, counts: &mut [u64; 3]) {
            match units.split_first() {
                Some((unit, rest)) => {
                    walk(rest, sum + unit, observed, counts);
                    walk(rest, sum - unit, observed, counts);
                }
                None => {
                    counts[0] += 1;
                    counts[1] += u64::from(sum < observed + 1e-9);
                    counts[2] += u64::from(sum > observed - 1e-9);
                }
            }
        }
        let mut counts = [0; 3];
        walk(units, 0.0, units.iter().sum(), &mut counts);
        (
            counts[1] as f64 / counts[0] as f64,
            counts[2] as f64 / counts[0] as f64,
        )
    }

    #[test]
    fn units_that_do_not_differ_say_nothing() {
        assert_eq!(sign_flip(&[0.0; 30], 10_000, 1), (1.0, 1.0));
        // The other pattern of the only sign.
        assert_eq!(sign_flip(&[-0.4, 0.0, 0.0], 10_000, 1), (0.5, 1.0));
    }

    #[test]
    fn drawn_signs_tend_to_the_enumeration() {
        // 16 units that differ: drawn here, enumerated by the naive oracle; by size and by fours.
        let equal: Vec<f64> = (0..16).map(|i| if i < 11 { -0.2 } else { 0.2 }).collect();
        let (low, high) = sign_flip(&equal, 200_000, 5);
        let (exact_low, exact_high) = naive(&equal);
        assert!(
            (low - exact_low).abs() < 0.003 && (high - exact_high).abs() < 0.003,
            "{low} {exact_low}"
        );
        let different: Vec<f64> = (0..18)
            .map(|i| (f64::from(i) - 5.0) * 0.013 + 0.0071)
            .collect();
        let fours = SignDraws::ByFour(
            different
                .chunks(4)
                .map(|units| {
                    let mut sums = [0.0; 16];
                    for (pattern, sum) in sums.iter_mut().enumerate() {
                        for (at, unit) in units.iter().enumerate() {
                            *sum += if pattern >> at & 1 == 1 { *unit } else { -unit };
                        }
                    }
                    sums
                })
                .collect(),
        );
        let (mut draws, observed) = (IndexDraws::new(9), different.iter().sum::<f64>());
        let above = (0..200_000)
            .filter(|_| fours.sum(&mut draws) >= observed - 1e-9)
            .count();
        assert!(
            (above as f64 / 200_000.0 - naive(&different).1).abs() < 0.003,
            "{above}"
        );
    }

    #[test]
    fn many_different_sizes_are_drawn_by_fours_and_more_by_the_limit() {
        let units: Vec<f64> = (0..3_000)
            .map(|i| (f64::from(i * 7919 % 3_001) / 3_001.0 - 0.49).powi(3))
            .collect();
        assert!(matches!(SignDraws::new(&units), Some(SignDraws::ByFour(_))));
        let error = units.iter().map(|unit| unit * unit).sum::<f64>().sqrt();
        let normal = normal_cdf(units.iter().sum::<f64>() / error);
        let (low, high) = sign_flip(&units, 20_000, 3);
        assert!(
            (low - normal).abs() < 0.015 && (low + high - 1.0).abs() < 1e-3,
            "{low} {high} {normal}"
        );
        let many: Vec<f64> = (0..60_000)
            .map(|i| (f64::from(i) / 60_000.0 - 0.497).powi(3))
            .collect();
        assert!(SignDraws::new(&many).is_none());
        let (low, high) = sign_flip(&many, 100, 3);
        assert!(low > 0.5 && (low + high - 1.0).abs() < 1e-12, "{low}");
    }

    #[test]
    fn what_is_far_away_has_a_small_chance_and_never_none() {
        // By the limit, 245 and 1.3 standard errors away; squares of the first sizes are not
        // finite.
        for size in [1.0, 1e250] {
            let worse: Vec<f64> = (0..60_000)
                .map(|i| -size * (1.0 + f64::from(i) * 1e-6))
                .collect();
            assert_eq!(sign_flip(&worse, 100, 3), (f64::MIN_POSITIVE, 1.0));
        }
        // Drawn: 40 of 40 are 2^-40, and Hoeffding's bound exp(-20); 30 to 10 one in a thousand,
        // which is counted.
        let all: Vec<f64> = vec![-0.2; 40];
        let (low, high) = sign_flip(&all, 10_000, 3);
        assert!(
            (low / (-20.0f64).exp() - 1.0).abs() < 1e-9 && high == 1.0,
            "{low} {high}"
        );
        assert_eq!(
            sign_flip(&vec![-0.2; 4_000], 10_000, 3).0,
            f64::MIN_POSITIVE
        );
        let some: Vec<f64> = (0..40).map(|i| if i < 30 { -0.2 } else { 0.2 }).collect();
        let (low, _) = sign_flip(&some, 10_000, 3);
        assert!(
            (low - 0.00111).abs() < 0.0015 && low > 1.0 / 10_001.0,
            "{low}"
        );
    }

    #[test]
    fn digits_do_not_depend_on_the_number_of_threads() {
        let units: Vec<f64> = (0..500).map(|i| f64::from(i % 11) / 10.0 - 0.48).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| sign_flip(&units, 2_000, 7))
        };
        assert_eq!(on(1), on(3));
        assert_ne!(sign_flip(&units, 2_000, 7), sign_flip(&units, 2_000, 8));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn few_units_are_enumerated_and_ties_counted(fifths in prop::collection::vec(-5i32..=5, 0..12)) {
            // Fifths by division, whose sums differ by rounding.
            let units: Vec<f64> = fifths.iter().map(|f| f64::from(*f) / 5.0).collect();
            let (low, high) = sign_flip(&units, 100, 1);
            let (naive_low, naive_high) = naive(&units);
            prop_assert!((low - naive_low).abs() < 1e-9 && (high - naive_high).abs() < 1e-9);
        }
    }
}
