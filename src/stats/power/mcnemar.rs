//! Cases for McNemar's test: pairs of single outcomes, of which a share `discordance` differs.

use super::{Aim, MANY};
use crate::stats::interval::normal_quantile;

/// Cases that find a difference `effect` of the two shares, when a share `discordance` of the pairs differs. `None`: more than [`MANY`], or
/// the effect is not above 0 or above the discordance, which can't be.
///
/// Source: R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43:207-211 (1987).
pub fn connor_cases(discordance: f64, effect: f64, aim: Aim) -> Option<u64> {
    let spread = normal_quantile(1.0 - aim.alpha) * discordance.sqrt()
        + normal_quantile(aim.power) * (discordance - effect * effect).max(0.0).sqrt();
    whole(discordance, effect, (spread / effect).powi(2))
}

/// The same with the variance of the test given how many pairs differ, which varies from sample to sample; a little fewer cases.
///
/// Source: O. S. Miettinen, "The matched pairs design in the case of all-or-none responses", Biometrics 24:339-352 (1968).
pub fn miettinen_cases(discordance: f64, effect: f64, aim: Aim) -> Option<u64> {
    let alternative = discordance * discordance - effect * effect * (3.0 + discordance) / 4.0;
    let spread = normal_quantile(1.0 - aim.alpha) * discordance
        + normal_quantile(aim.power) * alternative.max(0.0).sqrt();
    whole(discordance, effect, spread.powi(2) / (discordance * effect * effect))
}

fn whole(discordance: f64, effect: f64, cases: f64) -> Option<u64> {
    let possible = effect > 0.0 && effect <= discordance && discordance <= 1.0;
    (possible && cases <= MANY as f64).then(|| (cases - 1e-9 * cases).ceil().max(1.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::power::Variance;
    use crate::stats::{distributions::binomial_term, mcnemar_mid_p};

    const AIM: Aim = Aim { alpha: 0.05, power: 0.8 };

    /// The formulas by hand, for a discordance of 0.4 and a difference of 0.2, one-sided 5 % and 80 %:
    /// (1.644854 sqrt(0.4) + 0.841621 sqrt(0.36))² / 0.04 = 59.64;
    /// (1.644854 x 0.4 + 0.841621 sqrt(0.16 - 0.034))² / (0.4 x 0.04) = 57.14.
    #[test]
    fn gives_the_sizes_of_the_formulas() {
        assert_eq!(connor_cases(0.4, 0.2, AIM), Some(60));
        assert_eq!(miettinen_cases(0.4, 0.2, AIM), Some(58));
        assert_eq!(connor_cases(0.2, 0.3, AIM), None);
        assert_eq!(connor_cases(0.2, 0.0, AIM), None);
        assert_eq!(connor_cases(0.2, 1e-6, AIM), None);
    }

    #[test]
    fn agrees_with_the_general_design() {
        // The variance of one pair's difference is the discordance less the square of the mean; small effects leave the first.
        for (p, spread) in [(0.8, 0.16), (0.8, 0.08), (0.6, 0.1)] {
            let _ = p;
            let variance = Variance { within: [spread; 2], between: 0.0 };
            let discordance = variance.of_case([1.0, 1.0]);
            for effect in [0.005, 0.02] {
                let general = AIM.cases(discordance, effect).unwrap() as f64;
                let connor = connor_cases(discordance, effect, AIM).unwrap() as f64;
                let miettinen = miettinen_cases(discordance, effect, AIM).unwrap() as f64;
                assert!(connor <= general && miettinen <= connor + 1.0);
                assert!((connor / general - 1.0).abs() < 0.01, "{connor} {general}");
                assert!((miettinen / general - 1.0).abs() < 0.01, "{miettinen} {general}");
            }
        }
    }

    /// The exact power of the mid-p test at the size that Connor's formula gives: a double sum over the flips.
    #[test]
    fn so_many_cases_have_about_the_power() {
        for (discordance, effect) in [(0.2, 0.08), (0.3, 0.1), (0.4, 0.2)] {
            let n = connor_cases(discordance, effect, AIM).unwrap();
            let lost = (discordance + effect) / 2.0 / discordance;
            let mut power = 0.0;
            for flips in 0..=n {
                let chance = binomial_term(flips, n, discordance);
                let found =
                    (0..=flips).filter(|gained| mcnemar_mid_p(flips - gained, *gained).p_lower < 0.05);
                power += chance * found.map(|gained| binomial_term(gained, flips, 1.0 - lost)).sum::<f64>();
            }
            assert!((power - 0.8).abs() < 0.03, "{discordance} {effect} {n}: {power}");
        }
    }
}
