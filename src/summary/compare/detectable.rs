//! What a comparison could have found, and what it would take to find less.

use super::super::outcomes::Reading;
use super::draft::Draft;
use super::values::{Measure, Unit};
use super::{ALPHA, POWER};
use crate::model::{CaseScores, ComparisonSettings, ComparisonVerdict, Detectable, Metric};
use crate::stats::normal_quantile;

/// The most cases that are worth a number.
const MOST_CASES: f64 = 1e7;
const MOST_SAMPLES: f64 = 1e5;

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
    let z = normal_quantile(1.0 - ALPHA / family.max(1) as f64) + normal_quantile(POWER);
    let drop = z * error;
    let worse = if measure.higher_is_better? { -found.difference } else { found.difference };
    let (effect, of) = match settings.effect {
        Some(asked) if asked > 0.0 => (asked, Of::Asked),
        _ if worse > 0.0 && verdict == ComparisonVerdict::None => (worse, Of::Observed),
        _ => (drop / 2.0, Of::Half),
    };
    let n = found.n as f64;
    let cases = Some(two_digits(n * (drop / effect).powi(2))).filter(|cases| *cases <= MOST_CASES);
    let (samples, why) = samples(draft, measure, error * error * n, n * (effect / z).powi(2));
    let detectable =
        Detectable { metric: measure.name(), drop, effect, cases: cases.map(|cases| cases as u64), samples };
    Some((detectable, About { of, samples: why }))
}

/// Up to two leading digits.
fn two_digits(value: f64) -> f64 {
    if value <= 100.0 {
        return value.ceil().max(1.0);
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    (value / step).ceil() * step
}

/// Samples of each case that bring the variance of a case's difference from `is` to `wanted`. `is` has a part that sampling makes,
/// and one that stays however many samples there are.
fn samples(draft: &Draft<'_>, measure: &Measure, is: f64, wanted: f64) -> (Option<u32>, Samples) {
    if measure.unit != Unit::Case || measure.metric != Metric::PassAt(1) {
        return (None, Samples::Senseless);
    }
    let (mut one, mut other) = (Within::default(), Within::default());
    for pair in &draft.pairing.pairs {
        if measure.of_case(pair, Reading::Graded).is_some() {
            one.add(pair.reference);
            other.add(pair.candidate);
        }
    }
    let (a, b) = match (one.variance(), other.variance()) {
        (Some(a), Some(b)) => (a, b),
        // What varies on one side is taken to vary as much on the other.
        (Some(a), None) => (a, a),
        (None, Some(b)) => (b, b),
        (None, None) => return (None, Samples::Unknown),
    };
    let by_sampling = a * one.mean_inverse() + b * other.mean_inverse();
    let floor = (is - by_sampling).max(0.0);
    let needed = ((a + b) / (wanted - floor)).ceil().max(1.0);
    if wanted <= floor || needed.is_nan() || needed > MOST_SAMPLES {
        return (None, Samples::Futile);
    }
    (Some(needed as u32), Samples::Known)
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

    fn mean_inverse(&self) -> f64 {
        if self.cases == 0 { 0.0 } else { self.inverse / self.cases as f64 }
    }
}
