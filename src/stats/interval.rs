//! Confidence intervals in closed form.

use super::Undefined;

/// A confidence interval and how it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Confidence, in (0, 1).
    pub level: f64,
    pub method: Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Wilson,
    Bootstrap,
    ClusterBootstrap,
    /// The mean and its standard error, where there is too much to draw.
    Normal,
    /// Of a difference of paired proportions.
    Tango,
}

impl Method {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Wilson => "wilson",
            Method::Bootstrap => "bootstrap",
            Method::ClusterBootstrap => "cluster_bootstrap",
            Method::Normal => "normal",
            Method::Tango => "tango",
        }
    }
}

/// Wilson's score interval of a proportion, without continuity correction.
///
/// Source: E. B. Wilson, JASA 22 (1927). Unlike the normal approximation it stays within [0, 1] and keeps a width when
/// none or all succeed (for 0 of n the upper end is z²/(n + z²)).
pub fn wilson(successes: u64, n: u64, level: f64) -> Result<Interval, Undefined> {
    if successes > n {
        return Err(Undefined::MorePassesThanSamples { n, c: successes });
    }
    if n == 0 {
        return Err(Undefined::NoData);
    }
    wilson_of_share(successes as f64 / n as f64, n as f64, level)
}

/// Wilson's interval around a mean `p` of `n` values in [0, 1] that need not be 0 or 1.
///
/// Of all variables in [0, 1] with mean `p` the one that is only ever 0 or 1 varies most, by p(1 - p) (Bhatia & Davis,
/// Amer. Math. Monthly 107, 2000), so this is never too narrow for want of variance.
pub fn wilson_of_share(p: f64, n: f64, level: f64) -> Result<Interval, Undefined> {
    let z = two_sided_quantile(level)?;
    let z2 = z * z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // The ends are 0 and 1 exactly in these cases; rounding must not say otherwise.
    let low = if p == 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if p == 1.0 { 1.0 } else { (centre + half).min(1.0) };
    Ok(Interval { low, high, level, method: Method::Wilson })
}

/// The normal interval around a mean of given standard error, kept within the `range` of the values: no resample could leave it.
pub(super) fn normal_of_mean(
    mean: f64,
    error: f64,
    range: (f64, f64),
    level: f64,
) -> Result<Interval, Undefined> {
    let half = two_sided_quantile(level)? * error;
    if !(mean.is_finite() && half.is_finite()) {
        return Err(Undefined::NotFinite);
    }
    let (low, high) = ((mean - half).max(range.0), (mean + half).min(range.1));
    Ok(Interval { low, high, level, method: Method::Normal })
}

pub(super) fn two_sided_quantile(level: f64) -> Result<f64, Undefined> {
    if level > 0.0 && level < 1.0 { Ok(normal_quantile(0.5 + level / 2.0)) } else { Err(Undefined::Level) }
}

/// The standard normal quantile of `p` in (0, 1), to about 1e-12; infinite at the ends, NaN outside.
///
/// By bisection of the distribution function, which is simple to verify and fast enough for a few calls a report.
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if normal_cdf(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Phi(x) = 1/2 + phi(x) (x + x³/3 + x⁵/(3·5) + ...): Abramowitz & Stegun 26.2.11. Far from 0, where the terms outgrow what they are
/// multiplied with, the tail is phi(x) / (x + 1/(x + 2/(x + 3/(x + ...)))): 26.2.14.
pub(super) fn normal_cdf(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x.abs() > 5.0 {
        let tail = density / (1..=80).rev().fold(x.abs(), |rest, k| x.abs() + f64::from(k) / rest);
        return if x < 0.0 { tail } else { 1.0 - tail };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + density * sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(successes: u64, n: u64, level: f64) -> String {
        let interval = wilson(successes, n, level).unwrap();
        format!("{:.4} {:.4}", interval.low, interval.high)
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [
            (0.975, 1.959963984540054),
            (0.995, 2.575829303548901),
            (0.95, 1.644853626951472),
            (0.5, 0.0),
            (0.025, -1.959963984540054),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-12, "{p}: {}", normal_quantile(p));
        }
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(1.1).is_nan());
    }

    /// Of erfc(x / sqrt(2)) / 2 as C's library has it.
    #[test]
    fn tails_keep_their_digits() {
        for (x, tail) in [
            (-4.9, 4.791832765903196e-07),
            (-5.1, 1.698267407147599e-07),
            (-8.0, 6.220960574271784e-16),
            (-20.0, 2.753624118606234e-89),
        ] {
            assert!((normal_cdf(x) / tail - 1.0).abs() < 1e-9, "{x}: {}", normal_cdf(x));
        }
        assert_eq!([-300.0, f64::NEG_INFINITY, 300.0, f64::INFINITY].map(normal_cdf), [0.0, 0.0, 1.0, 1.0]);
    }

    /// Newcombe, Statistics in Medicine 17 (1998), table I, method 3: the four examples of that paper.
    #[test]
    fn wilson_gives_newcombes_published_values() {
        assert_eq!(shown(81, 263, 0.95), "0.2553 0.3662");
        assert_eq!(shown(15, 148, 0.95), "0.0624 0.1605");
        assert_eq!(shown(0, 20, 0.95), "0.0000 0.1611");
        assert_eq!(shown(1, 29, 0.95), "0.0061 0.1718");
    }

    #[test]
    fn wilson_needs_data_and_a_level() {
        assert_eq!(wilson(0, 0, 0.95), Err(Undefined::NoData));
        assert_eq!(wilson(2, 1, 0.95), Err(Undefined::MorePassesThanSamples { n: 1, c: 2 }));
        for level in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(wilson(1, 2, level), Err(Undefined::Level));
        }
        let one = wilson(1, 1, 0.95).unwrap();
        assert_eq!(one.high, 1.0);
        assert!(one.low > 0.2 && one.low < 0.21, "{one:?}");
    }

    proptest! {
        /// The interval's ends solve (p - x)² = z² x(1 - x) / n, by definition.
        #[test]
        fn wilson_solves_its_defining_equation(n in 1u64..5000, share in 0.0f64..=1.0) {
            let c = ((n as f64) * share) as u64;
            let interval = wilson(c, n, 0.95).unwrap();
            let p = c as f64 / n as f64;
            let z = normal_quantile(0.975);
            prop_assert!(0.0 <= interval.low && interval.low <= p && p <= interval.high && interval.high <= 1.0);
            prop_assert!(interval.high - interval.low > 0.0);
            for x in [interval.low, interval.high] {
                prop_assert!(((p - x).powi(2) - z * z * x * (1.0 - x) / n as f64).abs() < 1e-10);
            }
        }
    }
}
