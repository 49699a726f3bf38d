//! McNemar's test with mid-p.

use super::{PairedTest, TestMethod};
use crate::distributions::{binomial_at_most, binomial_term};

/// McNemar's test with mid-p: half of the probability of what was observed counts. Without flips
/// both p-values are 1/2.
///
/// Of `lost + gained` cases that flipped each is, if the sides don't differ, as likely lost as
/// gained; `p_lower` is the chance of fewer gains plus half of that of as many. The smaller p-value
/// is a sum of its own terms, and never 0, and the larger is what is left of 1.
///
/// Source: Fagerland, Lydersen & Laake, BMC Medical Research Methodology 13:91 (2013).
pub fn mcnemar_mid_p(lost: u64, gained: u64) -> PairedTest {
    let flips = lost + gained;
    let fewer = lost.min(gained);
    let below = if fewer == 0 {
        0.0
    } else {
        binomial_at_most(fewer - 1, flips, 0.5)
    };
    let small = (below + 0.5 * binomial_term(fewer, flips, 0.5)).clamp(f64::MIN_POSITIVE, 0.5);
    let (p_lower, p_higher) = match lost.cmp(&gained) {
        std::cmp::Ordering::Equal => (0.5, 0.5),
        std::cmp::Ordering::Greater => (small, 1.0 - small),
        std::cmp::Ordering::Less => (1.0 - small, small),
    };
    PairedTest {
        method: TestMethod::McNemarMidP,
        p_lower,
        p_higher,
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    /// P(gains < gained) + P(gains = gained) / 2 in exact arithmetic, as a float of 20 digits.
    fn exact(lost: u64, gained: u64) -> f64 {
        let n = lost + gained;
        let (mut term, mut doubled) = (BigUint::from(1u8), BigUint::from(0u8));
        for i in 0..gained {
            doubled += &term * 2u8;
            term = term * (n - i) / (i + 1);
        }
        doubled += term;
        // doubled / 2^(n + 1), scaled so that 60 significant digits remain.
        let mut scale = 0i32;
        let all = BigUint::from(1u8) << (n + 1);
        while doubled.bits() < all.bits() + 70 {
            doubled *= 10u8;
            scale += 1;
        }
        let digits = (doubled / all).to_string();
        format!("{digits}e-{scale}").parse().unwrap()
    }

    #[test]
    fn is_exact_for_few_flips_and_for_thousands() {
        for (lost, gained) in [
            (0, 1),
            (1, 0),
            (9, 1),
            (1, 9),
            (4, 4),
            (50, 30),
            (700, 612),
            (2_600, 2_400),
            (2_400, 2_600),
            (4_100, 3_800),
            (3_000, 1_000),
        ] {
            let test = mcnemar_mid_p(lost, gained);
            let (lower, higher) = (exact(lost, gained), exact(gained, lost));
            assert!(
                (test.p_lower / lower - 1.0).abs() < 1e-9,
                "{lost} {gained}: {} {lower}",
                test.p_lower
            );
            assert!(
                (test.p_higher / higher - 1.0).abs() < 1e-9,
                "{lost} {gained}: {}",
                test.p_higher
            );
            assert_eq!(test.p_lower + test.p_higher, 1.0);
        }
        // Too many for exact arithmetic in a test; the normal approximation is good to four digits.
        let many = mcnemar_mid_p(500_500, 499_500);
        assert!((many.p_lower - 0.158655).abs() < 1e-5, "{many:?}");
        // 2^-1000001 is no number of this kind; 0 would be a claim.
        let all = mcnemar_mid_p(1_000_000, 0);
        assert_eq!((all.p_lower, all.p_higher), (f64::MIN_POSITIVE, 1.0));
    }

    /// Fagerland, Lydersen & Laake (2013), table 5: airway hyper-responsiveness of 21 children
    /// before and after stem cell transplantation, 1 and 7 discordant: the two-sided mid-p value is
    /// 0.039.
    #[test]
    fn gives_the_published_value() {
        let test = mcnemar_mid_p(7, 1);
        assert_eq!(format!("{:.4}", 2.0 * test.p_lower), "0.0391");
        // By hand: (1 + 8/2) / 2^8.
        assert!(
            (test.p_lower - 5.0 / 256.0).abs() < 1e-15,
            "{}",
            test.p_lower
        );
    }

    #[test]
    fn without_flips_says_nothing() {
        let test = mcnemar_mid_p(0, 0);
        assert_eq!((test.p_lower, test.p_higher), (0.5, 0.5));
    }
}
