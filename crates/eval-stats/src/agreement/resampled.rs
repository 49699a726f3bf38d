//! Intervals of agreement by the bootstrap over items.

use std::collections::BTreeSet;

use super::{AgreementMeasure, RatingDistance, RatingTable, cohen_of};
use crate::UndefinedReason;
use crate::distributions::t_quantile;
use crate::draws::{IndexDraws, resampled};
use crate::interval::{Interval, IntervalMethod, normal_cdf};
use crate::quantile::percentile;

/// Items with two ratings or more below which no interval is given.
pub const MIN_ITEMS: usize = 10;
/// Resamples, and how many of them share a stream of the generator.
const RESAMPLES: usize = 2_000;
const CHUNK: usize = 128;
/// The share of resamples that may have no coefficient.
const MOST_UNDEFINED: f64 = 0.05;

/// The interval of a coefficient over items like these.
///
/// # Errors
/// `TooFewItems` below [`MIN_ITEMS`], `TooRare` when many resamples hold one category only,
/// `AgreedCategory` when raters agree in a single category, and `NoVariation`
/// when all resamples have the same coefficient, as those of perfect agreement have.
pub fn agreement_interval(
    table: &RatingTable,
    measure: AgreementMeasure,
    seed: u64,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    let is_nominal = match measure {
        AgreementMeasure::FleissKappa => true,
        AgreementMeasure::KrippendorffAlpha(distance) => {
            distance == RatingDistance::Nominal || table.used_categories() == 2
        }
        // Their chance agreement does not grow with the share of the commonest rating.
        _ => false,
    };
    let agreed = is_nominal.then(|| table.agreed_categories());
    let items = (table.items.len(), table.pairable());
    over_items(items, agreed, seed, level, |drawn| {
        let mut items = drawn.iter().filter_map(|at| table.items.get(*at));
        Ok(table.of_items(measure, &mut items)?.coefficient)
    })
}

/// The interval of Cohen's kappa over items like these; its errors are those of
/// [`agreement_interval`].
pub fn cohen_interval<L: Ord + Sync>(
    pairs: &[(L, L)],
    seed: u64,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    let equal = pairs.iter().filter(|(left, right)| left == right);
    let agreed: BTreeSet<&L> = equal.map(|(label, _)| label).collect();
    let items = (pairs.len(), pairs.len());
    over_items(items, Some(agreed.len()), seed, level, |drawn| {
        Ok(cohen_of(drawn.iter().filter_map(|at| pairs.get(*at)))?.coefficient)
    })
}

/// The percentile interval with tails that are widened to those of Student's t, since resamples
/// vary less than samples do: T. Hesterberg, "What Teachers Should Know about the Bootstrap", The
/// American Statistician 69 (2015), section 3.3.
///
/// `agreed` is the number of categories in which raters agree on an item, where the commonest rating
/// weighs. In one category only, every resample has a coefficient of 0 or less, whatever the truth:
/// with 20 items of which 2 to 5 % deserve the rarer rating, such intervals cover it in as few as
/// half of the runs. With two categories they cover it in 93 % or more (docs/statistics.md).
fn over_items(
    (items, pairable): (usize, usize),
    agreed: Option<usize>,
    seed: u64,
    level: f64,
    statistic: impl Fn(&[usize]) -> Result<f64, UndefinedReason> + Sync,
) -> Result<Interval, UndefinedReason> {
    if !(level > 0.0 && level < 1.0) {
        return Err(UndefinedReason::Level);
    }
    if pairable < MIN_ITEMS {
        return Err(UndefinedReason::TooFewItems {
            n: pairable,
            needed: MIN_ITEMS,
        });
    }
    if agreed.is_some_and(|agreed| agreed < 2) {
        return Err(UndefinedReason::AgreedCategory);
    }
    let draw = |draws: &mut IndexDraws| {
        let drawn: Vec<usize> = (0..items)
            .map(|_| draws.below(items as u32) as usize)
            .collect();
        // Sorted out below.
        statistic(&drawn).unwrap_or(f64::NAN)
    };
    let mut values = resampled(RESAMPLES, (seed, 0), CHUNK, draw);
    values.retain(|value| value.is_finite());
    if (RESAMPLES - values.len()) as f64 > MOST_UNDEFINED * RESAMPLES as f64 {
        return Err(UndefinedReason::TooRare);
    }
    values.sort_by(f64::total_cmp);
    let (first, last) = (percentile(&values, 0.0)?, percentile(&values, 1.0)?);
    if last - first < 1e-12 {
        return Err(UndefinedReason::NoVariation);
    }
    let n = pairable as f64;
    let tail = normal_cdf(-t_quantile(0.5 + level / 2.0, n - 1.0) * (n / (n - 1.0)).sqrt());
    Ok(Interval {
        low: percentile(&values, tail)?,
        high: percentile(&values, 1.0 - tail)?,
        level,
        method: IntervalMethod::Bootstrap,
    })
}
