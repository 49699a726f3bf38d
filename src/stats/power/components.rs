//! Where the variance of paired differences comes from: samples that differ within a case, and cases whose true difference differs.

use crate::stats::Undefined;

/// Of `n` graded first attempts at a case `c` passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseCounts {
    pub n: u32,
    pub c: u32,
}

impl CaseCounts {
    /// p (1 - p) of the case, without bias: n / (n - 1) times the plug-in. `None` for fewer than 2 samples, which can't tell.
    fn within(self) -> Option<f64> {
        let (n, p) = (f64::from(self.n), self.share());
        (self.n >= 2).then(|| n / (n - 1.0) * p * (1.0 - p))
    }

    fn share(self) -> f64 {
        f64::from(self.c) / f64::from(self.n)
    }
}

/// The variance of one case's observed difference, in its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// Mean over cases of p (1 - p), of the reference and of the candidate: what one sample adds, and n samples divide by n.
    pub within: [f64; 2],
    /// Variance over cases of the true difference, which no number of samples makes smaller. Of cases that belong together it
    /// holds what their belonging together adds.
    pub between: f64,
}

/// How difficulty is spread over cases that all together pass at some rate, where nobody has measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Every case passes at the rate: samples differ as much as they can, and the drop that can be found is the largest.
    Alike,
    /// Chances of cases follow Beta(rate, 1 - rate), most of them near 0 or 1: half of the variance of outcomes lies within cases.
    /// This is what is assumed where nothing is known.
    Mixed,
    /// Each case always passes or never does: samples say nothing new.
    Certain,
}

impl Variance {
    /// Before anything was run: of a rate of passes, the same on both sides and in truth for every case.
    pub fn assumed(rate: f64, spread: Spread) -> Variance {
        // E p(1-p) of Beta(a, b) is ab / ((a+b)(a+b+1)).
        let share = match spread {
            Spread::Alike => 1.0,
            Spread::Mixed => 0.5,
            Spread::Certain => 0.0,
        };
        let within = share * rate * (1.0 - rate);
        Variance { within: [within; 2], between: 0.0 }
    }

    /// What lies between cases (and groups of them), from the standard error that a comparison of `cases` pairs had.
    pub fn from_error(error: f64, cases: f64, within: [f64; 2], samples: [f64; 2]) -> Variance {
        let sampling = within[0] / samples[0] + within[1] / samples[1];
        Variance { within, between: (error * error * cases - sampling).max(0.0) }
    }

    /// The variance of the observed difference of one case, of so many samples on each side.
    pub fn of_case(&self, samples: [f64; 2]) -> f64 {
        self.between + self.within[0] / samples[0] + self.within[1] / samples[1]
    }

    /// The standard error of the mean difference of so many cases.
    pub fn error(&self, cases: f64, samples: [f64; 2]) -> f64 {
        (self.of_case(samples) / cases).sqrt()
    }
}

/// The parts of the variance as pairs of (reference, candidate) show them; cases without a graded sample on a side are left out. Each is
/// estimated without bias, and `between` is 0 where its estimate is below. A side of one sample a case is taken to vary within cases
/// as the other does.
///
/// # Errors
/// When there are fewer than 2 pairs, or no case has 2 samples on a side.
pub fn components(pairs: &[(CaseCounts, CaseCounts)]) -> Result<Variance, Undefined> {
    let parts = unbiased(pairs)?;
    Ok(Variance { between: parts.between.max(0.0), ..parts })
}

fn unbiased(pairs: &[(CaseCounts, CaseCounts)]) -> Result<Variance, Undefined> {
    let pairs: Vec<_> = pairs.iter().filter(|(before, after)| before.n > 0 && after.n > 0).collect();
    if pairs.len() < 2 {
        return Err(Undefined::TooFewUnits { n: pairs.len(), unit: "cases" });
    }
    let mean_of = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        (n > 0.0).then(|| sum / n)
    };
    let before = mean_of(&mut pairs.iter().filter_map(|(before, _)| before.within()));
    let after = mean_of(&mut pairs.iter().filter_map(|(_, after)| after.within()));
    let Some(either) = before.or(after) else { return Err(Undefined::TooFewSamples { n: 1, k: 2 }) };
    let within = [before.unwrap_or(after.unwrap_or(either)), after.unwrap_or(either)];
    let n = pairs.len() as f64;
    let differences = || pairs.iter().map(|(before, after)| after.share() - before.share());
    let mean = differences().sum::<f64>() / n;
    let observed = differences().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let sampling = pairs.iter().map(|(before, after)| {
        let of = |counts: CaseCounts, typical: f64| counts.within().unwrap_or(typical) / f64::from(counts.n);
        of(*before, within[0]) + of(*after, within[1])
    });
    Ok(Variance { within, between: observed - sampling.sum::<f64>() / n })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(n: u32, c: u32) -> CaseCounts {
        CaseCounts { n, c }
    }

    #[test]
    fn a_small_table_by_hand() {
        // Within: 2/1 x 1/4 = 1/2 and 0, mean 1/4; 0 and 1/2, mean 1/4. Differences 1/2 and -1/2: variance 1/2; sampling 1/4 each.
        let pairs = [(counts(2, 1), counts(2, 2)), (counts(2, 2), counts(2, 1))];
        let parts = components(&pairs).unwrap();
        assert_eq!(parts, Variance { within: [0.25, 0.25], between: 0.25 });
        assert_eq!(parts.of_case([2.0, 2.0]), 0.5);
        assert_eq!(parts.error(50.0, [2.0, 2.0]), 0.1);
        assert!((Variance::from_error(0.1, 50.0, [0.25; 2], [2.0; 2]).between - 0.25).abs() < 1e-12);
        assert_eq!(Variance::from_error(0.01, 50.0, [0.25; 2], [2.0; 2]).between, 0.0);
    }

    #[test]
    fn single_samples_can_not_tell() {
        let single = [(counts(1, 1), counts(1, 0)), (counts(1, 1), counts(1, 1))];
        assert_eq!(components(&single), Err(Undefined::TooFewSamples { n: 1, k: 2 }));
        assert_eq!(components(&single[..1]), Err(Undefined::TooFewUnits { n: 1, unit: "cases" }));
        assert_eq!(
            components(&[(counts(0, 0), counts(2, 1)); 5]),
            Err(Undefined::TooFewUnits { n: 0, unit: "cases" })
        );
        // One side with several stands in for the other.
        let mixed = [(counts(1, 1), counts(4, 2)), (counts(1, 0), counts(4, 4))];
        let parts = components(&mixed).unwrap();
        assert!(
            (parts.within[0] - parts.within[1]).abs() < 1e-15 && (parts.within[0] - 1.0 / 6.0).abs() < 1e-12
        );
    }

    /// All outcomes of two cases with known chances, weighed with their chances: the mean of the estimates is the truth.
    #[test]
    fn the_estimates_are_without_bias() {
        let truth = [(0.9, 0.6), (0.3, 0.5)];
        let n = 3u32;
        let chance = |p: f64, c: u32| {
            f64::from([1, 3, 3, 1][c as usize]) * p.powi(c as i32) * (1.0 - p).powi((n - c) as i32)
        };
        let (mut within, mut between) = ([0.0; 2], 0.0);
        for code in 0..256u32 {
            let c = [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3];
            let weight = chance(truth[0].0, c[0])
                * chance(truth[0].1, c[1])
                * chance(truth[1].0, c[2])
                * chance(truth[1].1, c[3]);
            let pairs = [(counts(n, c[0]), counts(n, c[1])), (counts(n, c[2]), counts(n, c[3]))];
            let parts = unbiased(&pairs).unwrap();
            within[0] += weight * parts.within[0];
            within[1] += weight * parts.within[1];
            between += weight * parts.between;
        }
        assert!((within[0] - (0.09 + 0.21) / 2.0).abs() < 1e-12, "{within:?}");
        assert!((within[1] - (0.24 + 0.25) / 2.0).abs() < 1e-12, "{within:?}");
        // True differences -0.3 and 0.2.
        assert!((between - 0.125).abs() < 1e-12, "{between}");
    }

    #[test]
    fn what_is_assumed_lies_between_the_extremes() {
        let within = |spread| Variance::assumed(0.8, spread).within[0];
        assert!((within(Spread::Alike) - 0.16).abs() < 1e-15);
        // E p(1-p) of Beta(0.8, 0.2): 0.8 x 0.2 / (1 x 2).
        assert!((within(Spread::Mixed) - 0.08).abs() < 1e-15);
        assert_eq!(within(Spread::Certain), 0.0);
    }
}
