//! The mean score that people would give to all items: prediction-powered inference.

use super::confusion::ShareEstimate;
use crate::UndefinedReason;
use crate::distributions::t_quantile;
use crate::interval::{Interval, IntervalMethod, two_sided_quantile};
use crate::quantile::mean;

/// Labelled items below which no mean is corrected.
const MIN_LABELS: usize = 10;

/// An item with both scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledValue {
    pub judged: f64,
    pub labelled: f64,
    /// 1 by its chance of having been drawn.
    pub weight: f64,
}

/// A judge's mean over all items, and what people's labels make of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedMean {
    /// The judge's own mean.
    pub judged: f64,
    pub value: f64,
    pub interval: Interval,
    /// How much of the judge's scores counts: 0 of a judge that shows nothing of people's.
    pub tuning: f64,
}

/// The mean that people would give to all items, of which the labelled ones are a random draw;
/// `all` has the judge's score of every item.
///
/// mean(labels) + t (mean of all judged - mean of judged and labelled), for the t with the least
/// variance: A. N. Angelopoulos, J. C. Duchi & T. Zrnic, "PPI++" (arXiv:2311.01453), section 6; it
/// is the regression estimator of survey sampling (Cochran, "Sampling Techniques", 1977, chapter
/// 7). Unequal chances weigh items by their inverse (J. Hájek 1971). The variance is s²(y - t f)
/// (1/n - 1/N) + s²(y)/N, with n - 2 degrees of freedom.
///
/// # Errors
/// For fewer than 10 labels, and when all labels are equal.
pub fn corrected_mean(
    items: &[LabelledValue],
    all: &[f64],
    level: f64,
) -> Result<CorrectedMean, UndefinedReason> {
    two_sided_quantile(level)?;
    if items.len() < MIN_LABELS {
        return Err(UndefinedReason::TooFewLabels {
            n: items.len(),
            needed: MIN_LABELS,
        });
    }
    if items.len() > all.len() || items.iter().any(|item| item.weight <= 0.0) {
        return Err(UndefinedReason::Weights);
    }
    let total: f64 = items.iter().map(|item| item.weight).sum();
    let weighted = |of: &dyn Fn(&LabelledValue) -> f64| {
        items.iter().map(|item| item.weight * of(item)).sum::<f64>() / total
    };
    let (people, judge) = (
        weighted(&|item| item.labelled),
        weighted(&|item| item.judged),
    );
    let spread = weighted(&|item| (item.judged - judge).powi(2));
    let shared = weighted(&|item| (item.judged - judge) * (item.labelled - people));
    let own = weighted(&|item| (item.labelled - people).powi(2));
    let judged = mean(all)?;
    if !(own.is_finite() && spread.is_finite()) {
        return Err(UndefinedReason::NotFinite);
    }
    if own <= 1e-24 * people * people {
        return Err(UndefinedReason::NoVariation);
    }
    let tuning = if spread > 0.0 { shared / spread } else { 0.0 };
    let value = people + tuning * (judged - judge);
    let rest = |item: &LabelledValue| item.labelled - people - tuning * (item.judged - judge);
    let (n, whole) = (items.len() as f64, all.len() as f64);
    let residual = items
        .iter()
        .map(|item| (item.weight * rest(item)).powi(2))
        .sum::<f64>()
        / (total * total)
        * n
        / (n - 2.0);
    // Of unequal weights the effective number: these items cover less of the whole.
    let squares: f64 = items.iter().map(|item| item.weight * item.weight).sum();
    let covered = (total * total / squares / whole).min(1.0);
    let variance = residual * (1.0 - covered) + own * n / (n - 1.0) / whole;
    let half = t_quantile(0.5 + level / 2.0, n - 2.0) * variance.sqrt();
    Ok(CorrectedMean {
        judged,
        value,
        interval: Interval {
            low: value - half,
            high: value + half,
            level,
            method: IntervalMethod::StudentT,
        },
        tuning,
    })
}

/// The mean of `first` minus that of `second`, independent values each: B. L. Welch, Biometrika
/// 34:28-35 (1947).
///
/// # Errors
/// For fewer than two values on a side, and when the values of both sides don't vary.
pub fn difference_of_means(
    first: &[f64],
    second: &[f64],
    level: f64,
) -> Result<ShareEstimate, UndefinedReason> {
    two_sided_quantile(level)?;
    let part = |values: &[f64]| {
        let n = values.len() as f64;
        if values.len() < 2 {
            return Err(UndefinedReason::TooFewUnits {
                n: values.len(),
                unit: "values",
            });
        }
        let mean = mean(values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Ok((mean, squares / (n - 1.0) / n, n))
    };
    let ((a, first, n), (b, second, m)) = (part(first)?, part(second)?);
    let variance = first + second;
    if variance <= 0.0 {
        return Err(UndefinedReason::NoVariation);
    }
    let freedom = variance * variance / (first * first / (n - 1.0) + second * second / (m - 1.0));
    let half = t_quantile(0.5 + level / 2.0, freedom) * variance.sqrt();
    Ok(ShareEstimate {
        value: a - b,
        interval: Interval {
            low: a - b - half,
            high: a - b + half,
            level,
            method: IntervalMethod::StudentT,
        },
    })
}
