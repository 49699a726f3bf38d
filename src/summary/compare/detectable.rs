//! What a comparison could have found, and what it would take to find less.

use super::super::outcomes::Reading;
use super::draft::Draft;
use super::values::Measure;
use super::{ALPHA, POWER};
use crate::model::{CaseScores, ComparisonSettings, ComparisonVerdict, Detectable, Metric};
use crate::stats::power::{Aim, Variance};

/// Of what the effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Asked,
    Observed,
    /// Half of the detectable drop.
    Half,
}

/// What else words need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About {
    pub of: Of,
    pub samples: Samples,
}

/// Whether more samples of the same cases would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Samples {
    Known,
    /// The metric is none of samples, so that nobody asks.
    Senseless,
    /// Each case has one sample on both sides, which tells nothing of how samples of a case vary.
    Unknown,
    /// The cases themselves move too much.
    Futile,
}

/// Of the first tested metric; `None` when nothing could be tested, or nothing moved.
pub(super) fn detectable(
    draft: &Draft<'_>,
    verdict: ComparisonVerdict,
    family: usize,
    settings: &ComparisonSettings,
) -> Option<(Detectable, About)> {
    let (measure, row) = (draft.measures.first()?, draft.rows.first()?);
    let found = row.paired.as_ref()?;
    let error = found.null_error.ok().filter(|error| *error > 0.0 && error.is_finite())?;
    row.difference.test.as_ref()?;
    // Holm's first step is the hardest.
    let aim = Aim { alpha: ALPHA / family.max(1) as f64, power: POWER };
    let drop = aim.detectable(error);
    let worse = if measure.higher_is_better? { -found.difference } else { found.difference };
    let (effect, of) = match settings.effect {
        Some(asked) if asked > 0.0 => (asked, Of::Asked),
        _ if worse > 0.0 && verdict == ComparisonVerdict::None => (worse, Of::Observed),
        _ => (drop / 2.0, Of::Half),
    };
    let cases = aim.cases(error * error * found.n as f64, effect).map(two_digits);
    let (samples, why) = samples(draft, measure, error, |variance, n| aim.samples(variance, n, effect));
    let detectable = Detectable { metric: measure.name(), drop, effect, cases, samples };
    Some((detectable, About { of, samples: why }))
}

/// Up to two leading digits.
fn two_digits(value: u64) -> u64 {
    let step = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    value.div_ceil(step) * step
}

/// How many samples of each case `find` asks for, given how cases of this number vary. A difference varies by sampling, and by a
/// part that stays however many samples there are.
fn samples(
    draft: &Draft<'_>,
    measure: &Measure,
    error: f64,
    find: impl Fn(&Variance, f64) -> Option<u32>,
) -> (Option<u32>, Samples) {
    if measure.metric != Metric::PassAt(1) {
        return (None, Samples::Senseless);
    }
    let (mut one, mut other) = (Within::default(), Within::default());
    for pair in &draft.pairing.pairs {
        if measure.of_case(pair, Reading::Graded).is_some() {
            one.add(pair.reference);
            other.add(pair.candidate);
        }
    }
    let within = match (one.variance(), other.variance()) {
        (Some(a), Some(b)) => [a, b],
        // What varies on one side is taken to vary as much on the other.
        (Some(same), None) | (None, Some(same)) => [same, same],
        (None, None) => return (None, Samples::Unknown),
    };
    let n = one.cases as f64;
    let variance = Variance::from_error(error, n, within, [one.samples(), other.samples()]);
    match find(&variance, n) {
        Some(samples) => (Some(samples), Samples::Known),
        None => (None, Samples::Futile),
    }
}

/// How samples of one case vary on a side.
#[derive(Default)]
struct Within {
    sum: f64,
    /// Cases with two samples and more, which alone tell.
    n: usize,
    inverse: f64,
    cases: usize,
}

impl Within {
    fn add(&mut self, case: &CaseScores) {
        let n = f64::from(case.n);
        self.inverse += 1.0 / n;
        self.cases += 1;
        if case.n >= 2 {
            let p = f64::from(case.c.min(case.n)) / n;
            self.sum += n / (n - 1.0) * p * (1.0 - p);
            self.n += 1;
        }
    }

    /// Mean of p(1 - p), without bias.
    fn variance(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    /// The number of samples of a case, in the mean that the variance of a mean takes: the harmonic one.
    fn samples(&self) -> f64 {
        self.cases as f64 / self.inverse
    }
}

#[cfg(test)]
mod tests {
    use super::two_digits;

    #[test]
    fn no_more_is_said_than_is_known() {
        assert_eq!(
            [0, 1, 9, 10, 99, 100, 101, 110, 111, 4637, 10_000_000].map(two_digits),
            [0, 1, 9, 10, 99, 100, 110, 110, 120, 4700, 10_000_000]
        );
    }
}
