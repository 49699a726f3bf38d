//! pass@k and pass^k of one case: `n` samples of which `c` passed.
//!
//! Figures of several cases are the mean of the cases' figures, never computed from pooled counts:
//! the estimators are not linear in `c`.

use super::UndefinedReason;

/// Chance that at least one of `k` samples passes, estimated without bias:
/// `1 - C(n-c, k) / C(n, k)`.
///
/// Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), equation 1, as a
/// product of factors below 1 so that nothing overflows. Undefined for `k = 0`, `n < k` and
/// `c > n`.
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Result<f64, UndefinedReason> {
    check(n, c, k)?;
    if n - c < k {
        return Ok(1.0);
    }
    // C(n-c, k) / C(n, k) is symmetric in c and k: take the shorter product.
    Ok(1.0 - falling_ratio(n - c.max(k), n, c.min(k)))
}

/// Chance that `k` samples all pass, by plugging in the observed rate: `(c/n)^k`.
///
/// The seeds' definition. It is biased upwards for `k > 1`; see [`pass_hat_k_unbiased`]. Undefined
/// as [`pass_at_k`] is.
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Result<f64, UndefinedReason> {
    check(n, c, k)?;
    Ok((c as f64 / n as f64).powf(k as f64))
}

/// Chance that `k` samples all pass, estimated without bias: `C(c, k) / C(n, k)`.
///
/// Source: Yao et al., "tau-bench" (2024), section 4. Undefined as [`pass_at_k`] is.
pub fn pass_hat_k_unbiased(n: u64, c: u64, k: u64) -> Result<f64, UndefinedReason> {
    check(n, c, k)?;
    if c < k {
        return Ok(0.0);
    }
    // C(c, k) / C(n, k) = C(n-k, n-c) / C(n, n-c).
    let failures = n - c;
    Ok(if failures < k {
        falling_ratio(n - k, n, failures)
    } else {
        falling_ratio(c, n, k)
    })
}

/// A figure of one case as a function of its samples and those that passed; never falling with the
/// passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassCurve {
    /// [`pass_at_k`] of this k.
    PassAt(u32),
    /// [`pass_hat_k`] of this k.
    PassHat(u32),
    /// [`pass_hat_k_unbiased`] of this k.
    PassHatUnbiased(u32),
}

impl PassCurve {
    pub fn k(self) -> u32 {
        match self {
            PassCurve::PassAt(k) | PassCurve::PassHat(k) | PassCurve::PassHatUnbiased(k) => k,
        }
    }

    /// Of `n` samples of which `c` passed.
    pub fn value(self, n: u32, c: u32) -> Result<f64, UndefinedReason> {
        let (n, c) = (u64::from(n), u64::from(c));
        match self {
            PassCurve::PassAt(k) => pass_at_k(n, c, u64::from(k)),
            PassCurve::PassHat(k) => pass_hat_k(n, c, u64::from(k)),
            PassCurve::PassHatUnbiased(k) => pass_hat_k_unbiased(n, c, u64::from(k)),
        }
    }

    /// What a passing and a failing sample contribute: the jackknife's pseudo-values n f - (n - 1)
    /// f without that sample, moved so that their mean over the samples is the figure. Undefined
    /// when the figure is without one sample.
    ///
    /// Source: J. W. Tukey (1958); their variance is on average not below that of the figure (B.
    /// Efron & C. Stein, Annals of Statistics 9:586-596, 1981).
    pub(super) fn contributions(self, n: u32, c: u32) -> Result<[f64; 2], UndefinedReason> {
        let figure = self.value(n, c)?;
        let rest = n.saturating_sub(1);
        let without = |c: u32| self.value(rest, c.min(rest));
        let of = |without: f64| f64::from(n) * figure - f64::from(rest) * without;
        let [pass, fail] = [of(without(c.saturating_sub(1))?), of(without(c)?)];
        let mean = (f64::from(c) * pass + f64::from(n.saturating_sub(c)) * fail) / f64::from(n);
        Ok([pass + figure - mean, fail + figure - mean])
    }
}

/// The product of `(top - j) / (bottom - j)` for `j` below `steps`; `steps <= top <= bottom`.
fn falling_ratio(top: u64, bottom: u64, steps: u64) -> f64 {
    (0..steps)
        .map(|j| (top - j) as f64 / (bottom - j) as f64)
        .product()
}

fn check(n: u64, c: u64, k: u64) -> Result<(), UndefinedReason> {
    if k == 0 {
        Err(UndefinedReason::ZeroK)
    } else if c > n {
        Err(UndefinedReason::MorePassesThanSamples { n, c })
    } else if n < k {
        Err(UndefinedReason::TooFewSamples { n, k })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn choose(n: u64, k: u64) -> BigUint {
        if k > n {
            return BigUint::from(0u8);
        }
        (0..k).fold(BigUint::from(1u8), |acc, i| acc * (n - i) / (i + 1))
    }

    /// top / bottom (at most 1), exact to 18 decimals.
    fn ratio(top: &BigUint, bottom: &BigUint) -> f64 {
        let scaled: BigUint = top * 10u64.pow(18) / bottom;
        let (mut value, digits) = (0f64, scaled.to_string());
        for digit in digits.bytes() {
            value = value * 10.0 + f64::from(digit - b'0');
        }
        value / 1e18
    }

    #[test]
    fn agrees_with_exact_fractions_for_all_small_n() {
        let mut checked = 0;
        for n in 1..=30u64 {
            for c in 0..=n {
                for k in 1..=n {
                    let all = choose(n, k);
                    let at = ratio(&(&all - choose(n - c, k)), &all);
                    assert!(
                        (pass_at_k(n, c, k).unwrap() - at).abs() < 1e-12,
                        "pass@{k} n={n} c={c}"
                    );
                    let hat = ratio(&choose(c, k), &all);
                    let got = pass_hat_k_unbiased(n, c, k).unwrap();
                    assert!(
                        (got - hat).abs() < 1e-12,
                        "pass^{k} n={n} c={c}: {got} {hat}"
                    );
                    let power = ratio(
                        &BigUint::from(c).pow(k as u32),
                        &BigUint::from(n).pow(k as u32),
                    );
                    assert!((pass_hat_k(n, c, k).unwrap() - power).abs() < 1e-12);
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, (1..=30).map(|n| (n + 1) * n).sum::<i32>());
    }

    #[test]
    fn gives_the_corrected_figures_of_the_seeds() {
        let shown = |x: Result<f64, UndefinedReason>| format!("{:.3}", x.unwrap());
        assert_eq!(shown(pass_at_k(10, 3, 1)), "0.300");
        assert_eq!(shown(pass_at_k(10, 3, 5)), "0.917");
        assert_eq!(shown(pass_at_k(10, 3, 10)), "1.000");
        assert_eq!(shown(pass_at_k(100, 25, 10)), "0.952");
        assert_eq!(shown(pass_hat_k(10, 8, 1)), "0.800");
        assert_eq!(shown(pass_hat_k(10, 8, 3)), "0.512");
        assert_eq!(shown(pass_hat_k(10, 8, 5)), "0.328");
    }

    #[test]
    fn is_undefined_rather_than_a_number_that_looks_right() {
        for figure in [pass_at_k, pass_hat_k, pass_hat_k_unbiased] {
            assert_eq!(
                figure(1, 1, 3),
                Err(UndefinedReason::TooFewSamples { n: 1, k: 3 })
            );
            assert_eq!(
                figure(0, 0, 1),
                Err(UndefinedReason::TooFewSamples { n: 0, k: 1 })
            );
            assert_eq!(figure(5, 2, 0), Err(UndefinedReason::ZeroK));
            assert_eq!(
                figure(5, 6, 1),
                Err(UndefinedReason::MorePassesThanSamples { n: 5, c: 6 })
            );
        }
        insta::assert_snapshot!(pass_at_k(1, 0, 3).unwrap_err(), @"needs 3 samples a case, has 1");
    }

    #[test]
    fn does_not_overflow_for_many_samples() {
        // With c/n and k fixed the exact value tends to 1 - (1 - c/n)^k.
        let many = pass_at_k(100_000, 25_000, 10).unwrap();
        assert!((many - (1.0 - 0.75f64.powi(10))).abs() < 1e-4, "{many}");
        assert_eq!(pass_at_k(100_000, 99_999, 2), Ok(1.0));
        assert_eq!(pass_at_k(100_000, 0, 100_000), Ok(0.0));
        let one = pass_at_k(100_000, 1, 50_000).unwrap();
        assert!((one - 0.5).abs() < 1e-12, "{one}");
        let hat = pass_hat_k_unbiased(100_000, 99_999, 50_000).unwrap();
        assert!((hat - 0.5).abs() < 1e-12, "{hat}");
    }
}
