//! Paired designs: from a variance to what can be found, and back.

use super::MANY;
use super::components::Variance;
use crate::stats::interval::{normal_cdf, normal_quantile};

/// How a difference shall be found: by a one-sided test of level `alpha`, with the chance `power`; both in (0, 1).
///
/// The mean difference is taken as normal with the same standard error under either hypothesis, as is usual (e.g. Chow, Shao & Wang,
/// "Sample Size Calculations in Clinical Research", 2008, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    pub alpha: f64,
    pub power: f64,
}

impl Aim {
    /// z of 1 - alpha plus z of the power: how many standard errors a true difference must be away.
    pub fn reach(self) -> f64 {
        normal_quantile(1.0 - self.alpha) + normal_quantile(self.power)
    }

    /// The smallest true difference that is found with the chance `power`, at this standard error.
    pub fn detectable(self, error: f64) -> f64 {
        self.reach() * error
    }

    /// The chance that a true difference in the direction that is tested is found.
    pub fn power_at(self, error: f64, effect: f64) -> f64 {
        if error > 0.0 {
            normal_cdf((effect / error - normal_quantile(1.0 - self.alpha)).clamp(-9.0, 9.0)).clamp(0.0, 1.0)
        } else {
            f64::from(u8::from(effect > 0.0))
        }
    }

    /// The fewest cases of this variance (of one case's difference) that find the effect. `None`: more than [`MANY`], or the effect is
    /// not above 0.
    pub fn cases(self, of_case: f64, effect: f64) -> Option<u64> {
        let needed = of_case * (self.reach() / effect).powi(2);
        // What rounding adds to a whole number is no case.
        let needed = (needed - 1e-9 * needed).ceil().max(1.0);
        (effect > 0.0 && needed <= MANY as f64).then_some(needed as u64)
    }

    /// The fewest samples of each case, on both sides, that find the effect with so many cases. `None` when no number would, since what
    /// lies between cases alone is too much, or when it is more than [`MANY`].
    pub fn samples(self, variance: &Variance, cases: f64, effect: f64) -> Option<u32> {
        if effect.is_nan() || effect <= 0.0 {
            return None;
        }
        let room = cases * (effect / self.reach()).powi(2) - variance.between;
        let within = variance.within[0] + variance.within[1];
        if room < 0.0 || room == 0.0 && within > 0.0 {
            return None;
        }
        let needed = if within > 0.0 { within / room } else { 0.0 };
        let needed = (needed - 1e-9 * needed).ceil().max(1.0);
        (needed <= MANY as f64).then_some(needed as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AIM: Aim = Aim { alpha: 0.05, power: 0.8 };

    /// Chow, Shao & Wang (2008), table 3.1 and section 3.1: one-sided 5 %, power 80 %, n = (z + z)² sigma² / delta²; and J. Cohen,
    /// "Statistical Power Analysis" (1988), table 2.4.1 for one-sided 0.05 and power 0.80 (d = 0.2: 155 by t, 154.6 by z).
    #[test]
    fn gives_published_sizes() {
        assert!((AIM.reach() - 2.486475).abs() < 1e-6);
        assert_eq!(AIM.cases(1.0, 0.2), Some(155));
        assert_eq!(AIM.cases(1.0, 0.5), Some(25));
        assert_eq!(Aim { alpha: 0.025, power: 0.8 }.cases(1.0, 0.5), Some(32));
        assert_eq!(Aim { alpha: 0.025, power: 0.9 }.cases(1.0, 0.5), Some(43));
    }

    #[test]
    fn is_silent_where_there_is_no_answer() {
        assert_eq!(AIM.cases(0.2, 0.0), None);
        assert_eq!(AIM.cases(0.2, -0.1), None);
        assert_eq!(AIM.cases(0.2, 1e-6), None);
        let floor = Variance { within: [0.1; 2], between: 0.05 };
        // What lies between 100 cases alone has a detectable difference of 2.486475 x sqrt(0.05 / 100) = 0.0556.
        assert_eq!(AIM.samples(&floor, 100.0, 0.0555), None);
        // 0.2 / (100 x (0.06 / 2.486475)² - 0.05) = 24.3.
        assert_eq!(AIM.samples(&floor, 100.0, 0.06), Some(25));
        assert_eq!(AIM.samples(&Variance { within: [0.0; 2], between: 0.0 }, 100.0, 0.01), Some(1));
        assert_eq!(AIM.power_at(0.0, 0.1), 1.0);
        assert_eq!(AIM.power_at(0.0, 0.0), 0.0);
    }

    proptest! {
        /// So many do, and one fewer does not.
        #[test]
        fn the_numbers_are_the_fewest(
            within in 0.0f64..0.25, between in 0.0f64..0.1, effect in 0.01f64..0.3, cases in 10u32..2_000, samples in 1u32..20,
        ) {
            let variance = Variance { within: [within, within / 2.0], between };
            let finds = |cases: f64, samples: f64| {
                AIM.detectable(variance.error(cases, [samples; 2])) <= effect * (1.0 + 1e-9)
            };
            let n = f64::from(samples);
            if let Some(needed) = AIM.cases(variance.of_case([n; 2]), effect) {
                prop_assert!(finds(needed as f64, n));
                prop_assert!(needed == 1 || !finds(needed as f64 - 1.0, n));
            }
            let cases = f64::from(cases);
            match AIM.samples(&variance, cases, effect) {
                Some(needed) => {
                    prop_assert!(finds(cases, f64::from(needed)));
                    prop_assert!(needed == 1 || !finds(cases, f64::from(needed) * (1.0 - 1e-6) - 1.0));
                }
                None => prop_assert!(!finds(cases, 1e6)),
            }
            // At the detectable difference the power is what was asked.
            let error = variance.error(cases, [n; 2]);
            if error > 0.0 {
                prop_assert!((AIM.power_at(error, AIM.detectable(error)) - 0.8).abs() < 1e-9);
                prop_assert!((AIM.power_at(error, 0.0) - 0.05).abs() < 1e-9);
            }
        }
    }
}
