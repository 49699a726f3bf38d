//! Chances that statistics are held against: binomial terms and tails, Student's t.
//!
//! Tails are sums of their own terms, never 1 minus what is large, so that small chances keep their
//! digits.

use super::bisection::bisected;
use super::interval::normal_quantile;

/// P(X = k) for X binomial of `n` trials of chance `p`.
///
/// Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000): the
/// saddle-point expansion, whose relative error is about 1e-15 for any n.
pub(super) fn binomial_term(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let (trials, hits, misses) = (n as f64, k as f64, (n - k) as f64);
    if p <= 0.0 || p >= 1.0 {
        return f64::from(u8::from(if p <= 0.0 { k == 0 } else { k == n }));
    }
    if k == 0 {
        return (trials * (-p).ln_1p()).exp();
    }
    if k == n {
        return (trials * p.ln()).exp();
    }
    let log = stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(hits, trials * p)
        - deviance(misses, trials * (1.0 - p));
    log.exp() * (trials / (2.0 * std::f64::consts::PI * hits * misses)).sqrt()
}

/// P(X <= k).
pub(super) fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    if k as f64 > n as f64 * p {
        return 1.0 - binomial_at_least(k + 1, n, p);
    }
    let odds = (1.0 - p) / p;
    let (mut term, mut sum) = (binomial_term(k, n, p), 0.0);
    for i in (0..=k).rev() {
        sum += term;
        // From term i to term i - 1.
        term *= i as f64 / (n - i + 1) as f64 * odds;
        if term <= sum * 1e-18 {
            break;
        }
    }
    sum.min(1.0)
}

/// P(X >= k).
pub(super) fn binomial_at_least(k: u64, n: u64, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n => 0.0,
        k if (k as f64) < n as f64 * p => 1.0 - binomial_at_most(k - 1, n, p),
        k => {
            let odds = p / (1.0 - p);
            let (mut term, mut sum) = (binomial_term(k, n, p), 0.0);
            for i in k..=n {
                sum += term;
                term *= (n - i) as f64 / (i + 1) as f64 * odds;
                if term <= sum * 1e-18 {
                    break;
                }
            }
            sum.min(1.0)
        }
    }
}

/// ln n! minus Stirling's ln(sqrt(2 pi n) (n / e)^n).
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|i| i as f64).product();
        return match n {
            0 => 0.0,
            _ => factorial.ln() - (0.5 * (2.0 * std::f64::consts::PI * x).ln() + x * x.ln() - x),
        };
    }
    let square = x * x;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square)
            / square)
        / x
}

/// x ln(x / m) + m - x, without loss where x and m are near.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let (mut sum, mut term) = ((x - m) * v, 2.0 * x * v);
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// The quantile of Student's t with `freedom` degrees at `p` in (1/2, 1), to about 1e-9.
///
/// By bisection of its distribution, 1 - I(v / (v + t²); v/2, 1/2) / 2 (Abramowitz & Stegun
/// 26.7.1); for a million degrees and more by their expansion 26.7.5.
pub(super) fn t_quantile(p: f64, freedom: f64) -> f64 {
    let normal = normal_quantile(p);
    if freedom > 1e6 {
        return normal + (normal.powi(3) + normal) / (4.0 * freedom);
    }
    let above = |t: f64| 0.5 * incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let is_low = |t: f64| above(t) > 1.0 - p;
    let mut high = 2.0;
    while is_low(high) && high < 1e12 {
        high *= 2.0;
    }
    let (low, high) = bisected(0.0, high, 80, is_low);
    low.midpoint(high)
}

/// The quantile of the beta distribution at `p` in (0, 1), by bisection.
pub(super) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (low, high) = bisected(0.0, 1.0, 60, |x| incomplete_beta(x, a, b) < p);
    low.midpoint(high)
}

/// The regularised incomplete beta function by its continued fraction (Abramowitz & Stegun 26.5.8),
/// evaluated by Lentz's method.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    let away = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    log.exp() * fraction / a
}

/// ln of the gamma function for x > 0: Stirling's series from 16 on, by the recurrence below.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut rest) = (x, 0.0);
    while x < 16.0 {
        rest -= x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x;
    rest + 0.5 * (2.0 * std::f64::consts::PI).ln() + (x - 0.5) * x.ln() - x + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_are_those_of_the_tables() {
        // To the last digit that R's qt(0.975, v) and qt(0.995, v) print.
        for (p, freedom, t) in [
            (0.975, 1.0, 12.706204736174698),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 9.0, 2.2621571627982053),
            (0.975, 49.0, 2.0095752371292397),
            (0.995, 30.0, 2.7499956535670355),
        ] {
            assert!(
                (t_quantile(p, freedom) - t).abs() < 1e-9,
                "{freedom}: {}",
                t_quantile(p, freedom)
            );
        }
        // One degree is Cauchy's distribution, two have a closed form.
        let cauchy = (std::f64::consts::PI * 0.4).tan();
        assert!((t_quantile(0.9, 1.0) - cauchy).abs() < 1e-9);
        let two = |p: f64| (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
        assert!((t_quantile(0.99, 2.0) - two(0.99)).abs() < 1e-9);
        // The expansion joins on.
        assert!((t_quantile(0.975, 999_999.0) - t_quantile(0.975, 1_000_001.0)).abs() < 1e-8);
        assert!((t_quantile(0.975, 1e12) - 1.959963984540054).abs() < 1e-9);
    }

    #[test]
    fn beta_quantiles_are_those_of_scipy() {
        for (p, a, b, quantile) in [
            (0.025, 0.5, 100.5, 4.898073104397486e-06),
            (0.975, 0.5, 9.5, 0.23761009863290306),
            (0.0225, 5.5, 95.5, 0.0188313693138741),
            (0.9775, 5.5, 95.5, 0.10761239374238063),
            (0.025, 850.5, 149.5, 0.8277586715244662),
            (0.975, 12.25, 7.75, 0.8076105212052647),
            (0.5, 0.5, 0.5, 0.4999999999999999),
        ] {
            let found = beta_quantile(p, a, b);
            assert!((found / quantile - 1.0).abs() < 1e-9, "{a} {b}: {found}");
        }
    }

    #[test]
    fn tails_agree_with_the_sum_of_the_definition() {
        for (n, p) in [(1u64, 0.5), (7, 0.3), (40, 0.9), (333, 0.02), (1_000, 0.5)] {
            let mut terms = vec![(n as f64 * (1.0f64 - p).ln()).exp()];
            for k in 0..n {
                terms.push(terms[k as usize] * (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p));
            }
            let mut below = 0.0;
            for k in 0..=n {
                let at_least: f64 = terms[k as usize..].iter().rev().sum();
                assert!(
                    (binomial_at_least(k, n, p) - at_least).abs() < 1e-11,
                    "{n} {p} {k}"
                );
                below += terms[k as usize];
                assert!(
                    (binomial_at_most(k, n, p) - below).abs() < 1e-11,
                    "{n} {p} {k}"
                );
                let term = terms[k as usize];
                assert!(
                    (binomial_term(k, n, p) - term).abs() <= 1e-10 * term.max(1e-300),
                    "{n} {p} {k}"
                );
            }
        }
        assert_eq!(
            (binomial_term(0, 5, 0.0), binomial_term(5, 5, 1.0)),
            (1.0, 1.0)
        );
        assert_eq!(
            (binomial_at_most(5, 5, 0.3), binomial_at_least(6, 5, 0.3)),
            (1.0, 0.0)
        );
    }
}
