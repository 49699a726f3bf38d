//! The rate at which people would pass all items.

use super::confusion::{JudgeConfusion, LabelledShare, ShareEstimate};
use crate::UndefinedReason;
use crate::bisection::bisected;
use crate::interval::{Interval, IntervalMethod, two_sided_quantile};

/// The share of the allowed error that intervals of the parts may have. A figure is given only
/// where the labels show a judge that is better than chance, which selects judges that look better
/// than they are; at 1 such intervals cover as little as 93 % (docs/statistics.md).
const PART_ERROR: f64 = 0.95;
const HALVINGS: usize = 60;

/// A judge's pass rate over all items, and what people's labels make of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedRate {
    /// The judge's own rate.
    pub judged: f64,
    pub value: f64,
    /// Of the rate over items like these; holds the uncertainty of the items and of the labels.
    pub interval: Interval,
}

/// A share and the distances to the ends of its interval.
#[derive(Debug, Clone, Copy)]
struct SharePart {
    share: f64,
    below: f64,
    above: f64,
}

impl SharePart {
    fn new(share: &LabelledShare, level: f64) -> Result<SharePart, UndefinedReason> {
        let interval = share.interval(1.0 - PART_ERROR * (1.0 - level))?;
        Ok(SharePart {
            share: share.value(),
            below: share.value() - interval.low,
            above: interval.high - share.value(),
        })
    }

    /// How far it may lower a sum in which it counts `times`.
    fn lowers(&self, times: f64) -> f64 {
        times * if times > 0.0 { self.below } else { self.above }
    }
}

/// The share of `n` items that a judge passed.
fn judged_share(passed: u64, n: u64) -> Result<LabelledShare, UndefinedReason> {
    if n == 0 || passed > n {
        return Err(UndefinedReason::NoData);
    }
    Ok(LabelledShare::of(passed as f64 / n as f64, n as f64))
}

/// The rate of a part of all items, such as those of one judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateStratum {
    pub items: f64,
    /// How many independent items they are worth.
    pub n: f64,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// The rate over all strata, which are independent of each other: as variances would be, distances
/// to the ends are combined, to each side its own (Zou & Donner 2008). How many items each stratum
/// has was drawn, too.
///
/// # Errors
/// Without items.
pub fn stratified_rate(
    strata: &[RateStratum],
    level: f64,
) -> Result<ShareEstimate, UndefinedReason> {
    let z = two_sided_quantile(level)?;
    let total: f64 = strata.iter().map(|stratum| stratum.items).sum();
    if strata
        .iter()
        .any(|s| s.items < 0.0 || (s.items > 0.0 && s.n <= 0.0))
    {
        return Err(UndefinedReason::Weights);
    }
    if total <= 0.0 {
        return Err(UndefinedReason::NoData);
    }
    let parts = || {
        let some = strata.iter().filter(|stratum| stratum.items > 0.0);
        some.map(|stratum| (stratum.items / total, stratum))
    };
    let value: f64 = parts().map(|(part, stratum)| part * stratum.value).sum();
    let (mut below, mut above) = (0.0f64, 0.0f64);
    for (part, stratum) in parts() {
        let drawn = z * part * (stratum.value - value) / stratum.n.sqrt();
        below = below
            .hypot(part * (stratum.value - stratum.low))
            .hypot(drawn);
        above = above
            .hypot(part * (stratum.high - stratum.value))
            .hypot(drawn);
    }
    Ok(ShareEstimate {
        value,
        interval: mover(value - below, value + above, level),
    })
}

impl JudgeConfusion {
    /// The rate at which people would pass `n` items of which the judge passed `passed`, when the
    /// labelled items are a random draw of these very items.
    ///
    /// With q the judge's rate it is q P(people pass | judge passes) + (1 - q) P(people pass |
    /// judge fails), the estimator of maximum likelihood (Tenenbein 1970), and the weighted one
    /// where items were drawn with unequal chances. The interval is made of those of the three
    /// independent shares, as their variances would be, but to each side by its own: G. Y. Zou & A.
    /// Donner, Statistics in Medicine 27:1693-1702 (2008).
    ///
    /// # Errors
    /// `LikeChance` where the judge can't be told from a coin.
    pub fn corrected_by_draw(
        &self,
        passed: u64,
        n: u64,
        level: f64,
    ) -> Result<CorrectedRate, UndefinedReason> {
        self.corrected_by_draw_of(&judged_share(passed, n)?, level)
    }

    /// The same for a share of items that a judge passed, which may be worth fewer independent ones
    /// than they are.
    pub fn corrected_by_draw_of(
        &self,
        judged: &LabelledShare,
        level: f64,
    ) -> Result<CorrectedRate, UndefinedReason> {
        self.better_than_chance(level)?;
        self.by_draw(judged, level)
    }

    fn by_draw(
        &self,
        judged: &LabelledShare,
        level: f64,
    ) -> Result<CorrectedRate, UndefinedReason> {
        let judged = SharePart::new(judged, level)?;
        let right = SharePart::new(&self.passed_of(true)?, level)?;
        let missed = SharePart::new(&self.passed_of(false)?, level)?;
        let q = judged.share;
        let value = q * right.share + (1.0 - q) * missed.share;
        let gap = right.share - missed.share;
        let parts = [(right, q), (missed, 1.0 - q), (judged, gap)];
        let below = norm(parts.map(|(part, times)| part.lowers(times)));
        let above = norm(parts.map(|(part, times)| part.lowers(-times)));
        Ok(CorrectedRate {
            judged: q,
            value,
            interval: mover(value - below, value + above, level),
        })
    }

    /// The rate at which people would pass `n` items of which the judge passed `passed`, when the
    /// labels are of other items, and sensitivity and specificity are the same here.
    ///
    /// The estimator is that of Rogan & Gladen (1978), kept within 0 and 1. The interval holds the
    /// rates r for which the judge's rate is compatible with r sensitivity + (1 - r) (1 -
    /// specificity): for which the interval of their difference, made of those of the three shares
    /// (Zou & Donner 2008), holds 0.
    ///
    /// # Errors
    /// `LikeChance` where the judge can't be told from a coin.
    pub fn corrected_elsewhere(
        &self,
        passed: u64,
        n: u64,
        level: f64,
    ) -> Result<CorrectedRate, UndefinedReason> {
        self.corrected_elsewhere_of(&judged_share(passed, n)?, level)
    }

    /// The same for a share, as [`corrected_by_draw_of`](JudgeConfusion::corrected_by_draw_of).
    pub fn corrected_elsewhere_of(
        &self,
        judged: &LabelledShare,
        level: f64,
    ) -> Result<CorrectedRate, UndefinedReason> {
        self.better_than_chance(level)?;
        let judged = SharePart::new(judged, level)?;
        let sensitivity = SharePart::new(&self.sensitivity()?, level)?;
        let specificity = SharePart::new(&self.specificity()?, level)?;
        let by_chance = 1.0 - specificity.share;
        let value = ((judged.share - by_chance) / (sensitivity.share - by_chance)).clamp(0.0, 1.0);
        let difference = |r: f64| judged.share - r * sensitivity.share - (1.0 - r) * by_chance;
        let parts = |r: f64| [(judged, 1.0), (sensitivity, -r), (specificity, 1.0 - r)];
        let too_low =
            |r: f64| difference(r) > norm(parts(r).map(|(part, times)| part.lowers(times)));
        let too_high =
            |r: f64| -difference(r) > norm(parts(r).map(|(part, times)| part.lowers(-times)));
        let low = match too_low(0.0) {
            true => bisected(0.0, value, HALVINGS, too_low).0,
            false => 0.0,
        };
        let high = match too_high(1.0) {
            true => bisected(1.0, value, HALVINGS, too_high).0,
            false => 1.0,
        };
        Ok(CorrectedRate {
            judged: judged.share,
            value,
            interval: mover(low, high, level),
        })
    }

    /// About how many labels in all the interval of [`corrected_by_draw`] takes to be at most so
    /// wide, if they turn out like those that are there; `None` where labels of all items don't
    /// suffice.
    ///
    /// [`corrected_by_draw`]: JudgeConfusion::corrected_by_draw
    pub fn labels_needed(
        &self,
        passed: u64,
        n: u64,
        width: f64,
        level: f64,
    ) -> Result<Option<u64>, UndefinedReason> {
        let labels = self.labels();
        if labels == 0 {
            return Err(UndefinedReason::NoData);
        }
        let judged = judged_share(passed, n)?;
        least_number(n, |number| {
            let rate = self.times(number / labels as f64).by_draw(&judged, level)?;
            Ok(rate.interval.high - rate.interval.low <= width)
        })
    }
}

fn norm(parts: [f64; 3]) -> f64 {
    parts.iter().map(|part| part * part).sum::<f64>().sqrt()
}

fn mover(low: f64, high: f64, level: f64) -> Interval {
    Interval {
        low: low.max(0.0),
        high: high.min(1.0),
        level,
        method: IntervalMethod::Mover,
    }
}

/// The least whole number up to `most` for which something is true that stays true.
pub(super) fn least_number(
    most: u64,
    is_enough: impl Fn(f64) -> Result<bool, UndefinedReason>,
) -> Result<Option<u64>, UndefinedReason> {
    if most == 0 || !is_enough(most as f64)? {
        return Ok(None);
    }
    let (mut short, mut enough) = (0, most);
    while enough - short > 1 {
        let middle = short.midpoint(enough);
        match is_enough(middle as f64)? {
            true => enough = middle,
            false => short = middle,
        }
    }
    Ok(Some(enough))
}
