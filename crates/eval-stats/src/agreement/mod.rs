//! Agreement of raters: the share of equal ratings, and what is left of it beyond chance.
//!
//! Ratings are categories of a scale that is known beforehand, so that a category without a rating
//! counts (Gwet's coefficients depend on their number). Any rating may be missing: all coefficients
//! but Cohen's use only how often each item got each category.

mod resampled;
mod table;
#[cfg(test)]
mod tests;

pub use resampled::{MIN_ITEMS, agreement_interval, cohen_interval};
pub use table::RatingTable;

use super::UndefinedReason;

/// How far raters agree beyond chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Share of pairs of ratings that are equal; with weights, their mean closeness.
    pub observed: f64,
    /// The share that raters with these habits would reach blindly.
    pub by_chance: f64,
    /// (observed - by_chance) / (1 - by_chance).
    pub coefficient: f64,
}

impl Agreement {
    fn new(observed: f64, by_chance: f64) -> Result<Agreement, UndefinedReason> {
        // Of one label only, up to the rounding of its share.
        if 1.0 - by_chance < 1e-12 {
            return Err(UndefinedReason::OneLabel);
        }
        Ok(Agreement {
            observed,
            by_chance,
            coefficient: (observed - by_chance) / (1.0 - by_chance),
        })
    }
}

/// A coefficient of agreement of any number of raters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgreementMeasure {
    /// The share of pairs of ratings of an item that are equal, averaged over items.
    Percent,
    /// Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).
    KrippendorffAlpha(RatingDistance),
    /// Fleiss (1971); with missing ratings as Gwet, "Handbook of Inter-Rater Reliability" (2014).
    FleissKappa,
    /// Gwet, British Journal of Mathematical and Statistical Psychology 61:29-48 (2008).
    GwetAc1,
    /// AC1 with partial credit for near ratings: Gwet (2014), chapter 3.
    GwetAc2(RatingWeights),
}

/// How far two ratings are apart, for Krippendorff's alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingDistance {
    Nominal,
    /// By how many ratings lie between them.
    Ordinal,
    /// The squared difference of their values.
    Interval,
}

/// How close two ratings are, from 1 (equal) to 0 (the ends of the scale).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingWeights {
    /// By how many pairs of categories lie between them.
    Ordinal,
    Linear,
    Quadratic,
}

impl AgreementMeasure {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            AgreementMeasure::Percent => "percent",
            AgreementMeasure::KrippendorffAlpha(RatingDistance::Nominal) => "alpha_nominal",
            AgreementMeasure::KrippendorffAlpha(RatingDistance::Ordinal) => "alpha_ordinal",
            AgreementMeasure::KrippendorffAlpha(RatingDistance::Interval) => "alpha_interval",
            AgreementMeasure::FleissKappa => "fleiss_kappa",
            AgreementMeasure::GwetAc1 => "gwet_ac1",
            AgreementMeasure::GwetAc2(RatingWeights::Ordinal) => "gwet_ac2_ordinal",
            AgreementMeasure::GwetAc2(RatingWeights::Linear) => "gwet_ac2_linear",
            AgreementMeasure::GwetAc2(RatingWeights::Quadratic) => "gwet_ac2_quadratic",
        }
    }
}

/// Cohen's kappa of two raters' labels, one pair an item. Source: Cohen (1960).
///
/// Undefined when there are no items, or when both raters gave one label only (0/0).
pub fn cohen_kappa<L: Ord>(pairs: &[(L, L)]) -> Result<Agreement, UndefinedReason> {
    cohen_of(pairs.iter())
}

fn cohen_of<'p, L: Ord + 'p>(
    pairs: impl Iterator<Item = &'p (L, L)>,
) -> Result<Agreement, UndefinedReason> {
    let mut counts = std::collections::BTreeMap::<&L, (f64, f64)>::new();
    let (mut n, mut equal) = (0.0, 0.0);
    for (left, right) in pairs {
        counts.entry(left).or_default().0 += 1.0;
        counts.entry(right).or_default().1 += 1.0;
        n += 1.0;
        equal += f64::from(u8::from(left == right));
    }
    if n == 0.0 {
        return Err(UndefinedReason::NoData);
    }
    let by_chance = counts
        .values()
        .map(|(left, right)| left * right)
        .sum::<f64>()
        / (n * n);
    Agreement::new(equal / n, by_chance)
}
