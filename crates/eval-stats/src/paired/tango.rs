//! Tango's score interval of a difference of paired proportions.

use crate::UndefinedReason;
use crate::bisection::bisected;
use crate::interval::{Interval, IntervalMethod, two_sided_quantile};

/// The differences `d` that the score test doesn't reject: those with |T(d)| <= z, where T(d) =
/// (gained - lost - n d) / sqrt(n (2 q + d (1 - d))) and q is the chance of a loss that is most
/// likely if the difference is d.
///
/// Counts need not be whole: values in [0, 1] that all differ by as much are as uncertain as 0/1 values of that mean at most. It
/// keeps a width when nothing flipped: then it reaches from -z²/(n + z²) to z²/(n + z²).
///
/// Source: T. Tango, Statistics in Medicine 17:891-908 (1998).
pub(super) fn tango(
    lost: f64,
    gained: f64,
    n: f64,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    let z = two_sided_quantile(level)?;
    if n.is_nan() || n <= 0.0 {
        return Err(UndefinedReason::NoData);
    }
    let observed = ((gained - lost) / n).clamp(-1.0, 1.0);
    // T falls from the lower end of what is possible to the upper one, and is 0 at the observed
    // difference.
    let score = |d: f64| score(d, lost, gained, n);
    Ok(Interval {
        low: bisected(-1.0, observed, 100, |d| score(d) > z).1,
        high: bisected(1.0, observed, 100, |d| score(d) < -z).1,
        level,
        method: IntervalMethod::Tango,
    })
}

/// T(d). The most likely chance of a loss under d solves a quadratic equation (Tango 1998, equation
/// 7).
fn score(d: f64, lost: f64, gained: f64, n: f64) -> f64 {
    let b = -gained - lost + (2.0 * n - gained + lost) * d;
    let c = -lost * d * (1.0 - d);
    let root = (b * b - 8.0 * n * c).max(0.0).sqrt();
    // Of the two forms of the solution the one that subtracts nothing of like size.
    let loss = if b <= 0.0 {
        (root - b) / (4.0 * n)
    } else {
        -2.0 * c / (root + b)
    };
    let variance = n * (2.0 * loss + d * (1.0 - d));
    let distance = gained - lost - n * d;
    if variance > 0.0 {
        distance / variance.sqrt()
    } else {
        distance * f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(lost: f64, gained: f64, n: f64) -> String {
        let interval = tango(lost, gained, n, 0.95).unwrap();
        format!("{:.3} {:.3}", interval.low, interval.high)
    }

    /// Fagerland, Lydersen & Laake, Statistics in Medicine 33:2850-2875 (2014), table V: airway
    /// hyper-responsiveness, 21 children, 1 and 7 discordant; Tango's asymptotic score interval of
    /// the difference is (-0.517, -0.026).
    #[test]
    fn gives_the_published_interval() {
        assert_eq!(shown(7.0, 1.0, 21.0), "-0.517 -0.026");
        assert_eq!(shown(1.0, 7.0, 21.0), "0.026 0.517");
    }

    #[test]
    fn keeps_a_width_where_nothing_flipped_or_all_did() {
        let z2 = 1.959963984540054f64.powi(2);
        for n in [1.0, 20.0, 400.0, 1e6] {
            let none = tango(0.0, 0.0, n, 0.95).unwrap();
            assert!((none.high - z2 / (n + z2)).abs() < 1e-12, "{n} {none:?}");
            assert!((none.low + none.high).abs() < 1e-15, "{none:?}");
            let all = tango(n, 0.0, n, 0.95).unwrap();
            assert!(
                all.low == -1.0 && all.high > -1.0 && all.high < 1.0,
                "{n} {all:?}"
            );
        }
        assert_eq!(tango(0.0, 0.0, 0.0, 0.95), Err(UndefinedReason::NoData));
        assert_eq!(tango(1.0, 1.0, 5.0, 1.0), Err(UndefinedReason::Level));
    }

    /// The likelihood of the loss chance q where the gain chance is q + d and the rest keeps.
    fn log_likelihood(q: f64, d: f64, lost: f64, gained: f64, n: f64) -> f64 {
        let part = |count: f64, chance: f64| {
            if count == 0.0 {
                0.0
            } else {
                count * chance.ln()
            }
        };
        part(lost, q) + part(gained, q + d) + part(n - lost - gained, 1.0 - 2.0 * q - d)
    }

    /// The most likely q by narrowing a bracket around the maximum of a concave function, without
    /// any formula for it.
    fn most_likely(d: f64, lost: f64, gained: f64, n: f64) -> f64 {
        let (mut low, mut high) = ((-d).max(0.0), (1.0 - d) / 2.0);
        for _ in 0..200 {
            let third = (high - low) / 3.0;
            let (a, b) = (low + third, high - third);
            if log_likelihood(a, d, lost, gained, n) < log_likelihood(b, d, lost, gained, n) {
                low = a;
            } else {
                high = b;
            }
        }
        (low + high) / 2.0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Both ends are roots of the score statistic, with the nuisance parameter found by brute
        /// force.
        #[test]
        fn the_ends_solve_the_defining_equation(lost in 0u32..30, gained in 0u32..30, same in 1u32..300) {
            let (lost, gained) = (f64::from(lost), f64::from(gained));
            let n = lost + gained + f64::from(same);
            let interval = tango(lost, gained, n, 0.95).unwrap();
            prop_assert!(interval.low < (gained - lost) / n && (gained - lost) / n < interval.high);
            for (end, sign) in [(interval.low, 1.0), (interval.high, -1.0)] {
                let q = most_likely(end, lost, gained, n);
                let t = (gained - lost - n * end) / (n * (2.0 * q + end * (1.0 - end))).sqrt();
                // The maximum of a flat top is known to half of the digits.
                prop_assert!((t - sign * 1.959963984540054).abs() < 1e-5, "{} {}", t, end);
            }
        }
    }
}
