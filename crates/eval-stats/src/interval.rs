//! A confidence interval, and the normal distribution.

use super::UndefinedReason;
use super::bisection::bisected;

/// A confidence interval and how it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Confidence, in (0, 1).
    pub level: f64,
    pub method: IntervalMethod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalMethod {
    EmpiricalLikelihood,
    Bootstrap,
    ClusterBootstrap,
    /// The mean and its standard error, where there is too much to draw.
    Normal,
    /// Of a difference of paired proportions.
    Tango,
    /// Of a share, by Jeffreys' prior.
    Jeffreys,
    /// Of a figure made of independent shares, from the intervals of these.
    Mover,
    /// A mean, a slope or a score and its standard error, with Student's t.
    StudentT,
}

impl IntervalMethod {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            IntervalMethod::EmpiricalLikelihood => "empirical_likelihood",
            IntervalMethod::Bootstrap => "bootstrap",
            IntervalMethod::ClusterBootstrap => "cluster_bootstrap",
            IntervalMethod::Normal => "normal",
            IntervalMethod::Tango => "tango",
            IntervalMethod::Jeffreys => "jeffreys",
            IntervalMethod::Mover => "mover",
            IntervalMethod::StudentT => "student_t",
        }
    }
}

/// The normal interval around a mean of given standard error, kept within the `range` of the
/// values: no resample could leave it.
pub(super) fn normal_of_mean(
    mean: f64,
    error: f64,
    range: (f64, f64),
    level: f64,
) -> Result<Interval, UndefinedReason> {
    let half = two_sided_quantile(level)? * error;
    if !(mean.is_finite() && half.is_finite()) {
        return Err(UndefinedReason::NotFinite);
    }
    let (low, high) = ((mean - half).max(range.0), (mean + half).min(range.1));
    Ok(Interval {
        low,
        high,
        level,
        method: IntervalMethod::Normal,
    })
}

pub(super) fn two_sided_quantile(level: f64) -> Result<f64, UndefinedReason> {
    if level > 0.0 && level < 1.0 {
        Ok(normal_quantile(0.5 + level / 2.0))
    } else {
        Err(UndefinedReason::Level)
    }
}

/// The standard normal quantile of `p` in (0, 1), to about 1e-12; infinite at the ends, NaN
/// outside.
///
/// By bisection of the distribution function, which is simple to verify and fast enough for a few
/// calls a report.
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return match p {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    let (low, high) = bisected(-9.0, 9.0, 64, |x| normal_cdf(x) < p);
    low.midpoint(high)
}

/// Phi(x) = 1/2 + phi(x) (x + x³/3 + x⁵/(3·5) + ...): Abramowitz & Stegun 26.2.11. Far from 0,
/// where the terms outgrow what they are multiplied with, the tail is phi(x) / (x + 1/(x + 2/(x +
/// 3/(x + ...)))): 26.2.14.
pub(super) fn normal_cdf(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x.abs() > 5.0 {
        let tail = density
            / (1..=80)
                .rev()
                .fold(x.abs(), |rest, k| x.abs() + f64::from(k) / rest);
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
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [
            (0.975, 1.959963984540054),
            (0.995, 2.575829303548901),
            (0.95, 1.644853626951472),
            (0.5, 0.0),
            (0.025, -1.959963984540054),
        ] {
            assert!(
                (normal_quantile(p) - z).abs() < 1e-12,
                "{p}: {}",
                normal_quantile(p)
            );
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
            assert!(
                (normal_cdf(x) / tail - 1.0).abs() < 1e-9,
                "{x}: {}",
                normal_cdf(x)
            );
        }
        assert_eq!(
            [-300.0, f64::NEG_INFINITY, 300.0, f64::INFINITY].map(normal_cdf),
            [0.0, 0.0, 1.0, 1.0]
        );
    }
}
