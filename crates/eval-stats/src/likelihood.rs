//! Intervals of a mean by empirical likelihood: of values in [0, 1], in one stratum or several, and
//! of unbounded values.
//!
//! The lower end is the least mean that any reweighting of the units gives, among the reweightings
//! whose log-likelihood is at most c = z²/2 below the best (A. B. Owen, Biometrika 75:237-249,
//! 1988, and "Empirical Likelihood", 2001). Which reweightings those are does not depend on the
//! values, and of each the mean rises with every value, so the end can only rise when a value
//! rises: the interval is monotone by construction, whatever the data.
//!
//! Values in [0, 1] get a pseudo-observation, as in adjusted empirical likelihood (J. Chen, A. M.
//! Variyath & B. Abraham, Journal of Computational and Graphical Statistics 17:426-443, 2008):
//! [`UNSEEN`] of a unit, at 0 for the lower end and at 1 for the upper end. It stands for failures
//! (or passes) that no sample has shown yet, and keeps a width where all values are equal.
//! docs/statistics.md has the coverage.

use super::UndefinedReason;
use super::bisection::bisected;
use super::distributions::t_quantile;
use super::interval::{Interval, IntervalMethod, two_sided_quantile};
use super::pass_rates::PassCurve;

/// How often the pseudo-observation counts. Of n cases that all pass the lower end is about 1 -
/// 3.5/n, and the chance that all of them pass when the truth is there is about exp(-3.5) = 3 %.
/// For 0/1 values of any chance the exact coverage is at least 93.4 %.
const UNSEEN: f64 = 0.55;
/// -ln 0.035: units that all pass with a smaller chance are not likely to.
const UNLIKELY: f64 = 3.352_407_217_492_723;
/// Halvings of a bracket, and steps of a search.
const HALVINGS: usize = 64;

/// So many units with the same values: their sum and their number, such as the cases of an eval. A
/// single value has size 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueLevel {
    /// Of values in [0, 1]: at most `size`.
    pub sum: f64,
    /// Above 0.
    pub size: f64,
    /// How many such units there are; above 0, and possibly no whole number.
    pub count: f64,
}

impl ValueLevel {
    pub fn of(value: f64, count: f64) -> ValueLevel {
        ValueLevel {
            sum: value,
            size: 1.0,
            count,
        }
    }
}

/// How large the pseudo-observation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnseenWeight {
    /// As an average unit: all are drawn from one population, however large they are.
    Average,
    /// As one of so many equal units as would say as much when all pass: heavy units may pass less
    /// often than light ones.
    Telling,
}

/// Units that vary around a mean of their own, which has a fixed share of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Stratum {
    /// Its share of the mean of all; those of all strata, each as often as it repeats, add up to 1.
    pub share: f64,
    /// How many strata are just like this one.
    pub repeats: f64,
    pub units: StratumUnits,
}

/// What a stratum is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum StratumUnits {
    /// The stratum's value is the sum of all sums by the sum of all sizes; among several strata all
    /// sizes must be 1.
    Levels(Vec<ValueLevel>),
    /// Samples of one case, of which so many passed; its value is a curve, which has to be defined
    /// for one sample less, too.
    Samples {
        n: u32,
        passed: u32,
        curve: PassCurve,
        times: f64,
    },
}

/// The interval of a mean of values in [0, 1].
///
/// One stratum is a ratio of sums, of equal or unequal units. Among several strata each keeps its
/// share (C. Zhong & J. N. K. Rao, Biometrika 87:929-938, 2000), and each gives up one degree of
/// freedom of its units for its own mean.
///
/// # Errors
/// Without units, or when a number is not finite.
pub fn of_shares(
    strata: &[Stratum],
    unseen: UnseenWeight,
    level: f64,
) -> Result<Interval, UndefinedReason> {
    let z = two_sided_quantile(level)?;
    let lower = |end: IntervalEnd| match strata {
        [] => Err(UndefinedReason::NoData),
        [
            Stratum {
                units: StratumUnits::Levels(levels),
                repeats,
                ..
            },
        ] if *repeats <= 1.0 => ratio_of_shares(&end.of(levels), unseen, z * z / 2.0),
        several => stratified(several, end, level),
    };
    let (low, high) = (lower(IntervalEnd::Lower)?, 1.0 - lower(IntervalEnd::Upper)?);
    if !(low.is_finite() && high.is_finite()) {
        return Err(UndefinedReason::NotFinite);
    }
    Ok(Interval {
        low: low.max(0.0),
        high: high.min(1.0),
        level,
        method: IntervalMethod::EmpiricalLikelihood,
    })
}

/// The interval of the share `passed` of `n` independent verdicts; neither needs to be a whole
/// number. It is that of [`of_shares`], whose likelihood is here the binomial one.
pub fn of_counts(passed: f64, n: f64, level: f64) -> Result<Interval, UndefinedReason> {
    let z = two_sided_quantile(level)?;
    if !(n > 0.0 && (0.0..=n).contains(&passed)) {
        return Err(UndefinedReason::NoData);
    }
    let lower = |passed: f64| {
        if passed <= 0.0 {
            return 0.0;
        }
        let failed = n - passed + UNSEEN;
        let best = passed / (passed + failed);
        let lost = |t: f64| passed * (best / t).ln() + failed * ((1.0 - best) / (1.0 - t)).ln();
        bisected(0.0, best, HALVINGS, |t| lost(t) > z * z / 2.0).1
    };
    let (low, high) = (lower(passed), 1.0 - lower(n - passed));
    Ok(Interval {
        low,
        high,
        level,
        method: IntervalMethod::EmpiricalLikelihood,
    })
}

/// The interval of a mean, or ratio of sums, of values without bounds: no pseudo-observation, and
/// Student's t in place of z for few units (Owen 2001, section 2.3).
///
/// # Errors
/// For fewer than 2 units, or when all have the same value, which says nothing of their spread.
pub fn of_values(levels: &[ValueLevel], level: f64) -> Result<Interval, UndefinedReason> {
    two_sided_quantile(level)?;
    let n: f64 = levels.iter().map(|level| level.count).sum();
    if n < 2.0 {
        return Err(UndefinedReason::TooFewUnits {
            n: n as usize,
            unit: "values",
        });
    }
    if levels.iter().any(|level| !level.sum.is_finite()) {
        return Err(UndefinedReason::NotFinite);
    }
    let t = t_quantile(0.5 + level / 2.0, n - 1.0);
    let ends = |levels: &[ValueLevel]| {
        let each = || levels.iter().map(|level| level.sum / level.size);
        let least = each().fold(f64::INFINITY, f64::min);
        let centre = mean(levels);
        let spread = each()
            .map(|value| (value - centre).abs())
            .fold(0.0, f64::max);
        if spread <= 1e-12 * centre.abs() || centre <= least {
            return Err(UndefinedReason::NoVariation);
        }
        Ok(least_mean(levels, least, centre, t * t / 2.0))
    };
    let mirrored: Vec<ValueLevel> = levels
        .iter()
        .map(|level| ValueLevel {
            sum: -level.sum,
            ..*level
        })
        .collect();
    Ok(Interval {
        low: ends(levels)?,
        high: -ends(&mirrored)?,
        level,
        method: IntervalMethod::EmpiricalLikelihood,
    })
}

impl Stratum {
    /// How many units it and those just like it have.
    pub fn units(&self) -> f64 {
        self.repeats * self.size()
    }

    /// The same with so many times the units.
    pub fn times(&self, times: f64) -> Stratum {
        let mut more = self.clone();
        match &mut more.units {
            StratumUnits::Levels(levels) => {
                levels.iter_mut().for_each(|level| level.count *= times)
            }
            StratumUnits::Samples { times: before, .. } => *before *= times,
        }
        more
    }

    fn size(&self) -> f64 {
        match &self.units {
            StratumUnits::Levels(levels) => levels.iter().map(|level| level.count).sum(),
            StratumUnits::Samples { n, times, .. } => f64::from(*n) * times,
        }
    }
}

fn mean(levels: &[ValueLevel]) -> f64 {
    let (sum, size) = levels.iter().fold((0.0, 0.0), |(sum, size), level| {
        (
            sum + level.sum * level.count,
            size + level.size * level.count,
        )
    });
    sum / size
}

/// The lower end of one stratum.
fn ratio_of_shares(
    levels: &[ValueLevel],
    unseen: UnseenWeight,
    c: f64,
) -> Result<f64, UndefinedReason> {
    let n: f64 = levels.iter().map(|level| level.count).sum();
    if n.is_nan() || n <= 0.0 {
        return Err(UndefinedReason::NoData);
    }
    let units = match unseen {
        UnseenWeight::Average => n,
        UnseenWeight::Telling => equal_units(
            levels
                .iter()
                .map(|level| (level.size, level.count))
                .collect(),
        ),
    };
    let size = levels
        .iter()
        .map(|level| level.size * level.count)
        .sum::<f64>()
        / units;
    let mut all = Vec::with_capacity(levels.len() + 1);
    all.extend_from_slice(levels);
    all.push(ValueLevel {
        sum: 0.0,
        size,
        count: UNSEEN,
    });
    Ok(least_mean(&all, 0.0, mean(&all), c))
}

/// How many equal units say as much when all pass as these do, each of a size and so often.
///
/// If a unit of size s passes with a chance of its own, p, all pass with the product of the
/// chances, and the least mean of s p for which that is not unlikely has the same s p for all units
/// but the lightest, whose p is 1. Of n equal units it is exp(-[`UNLIKELY`] / n).
fn equal_units(mut sizes: Vec<(f64, f64)>) -> f64 {
    sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut heavy, mut logs, mut most) = (0.0, 0.0, 0.0);
    for (size, count) in &sizes {
        if *size <= most {
            break;
        }
        heavy += count;
        logs += count * size.ln();
        most = ((logs - UNLIKELY) / heavy).exp();
    }
    let total = |most: f64| {
        sizes
            .iter()
            .map(|(size, count)| size.min(most) * count)
            .sum::<f64>()
    };
    UNLIKELY / (total(f64::INFINITY) / total(most)).ln()
}

/// The least ratio of sums whose log-likelihood is within `c` of the best; between `least`, the
/// smallest ratio of a unit, and the observed.
fn least_mean(levels: &[ValueLevel], least: f64, observed: f64, c: f64) -> f64 {
    bisected(least, observed, HALVINGS, |t| loss(levels, t) > c).1
}

/// How much log-likelihood it costs that the ratio of sums is `t`, below the observed one: the
/// maximum over x of sum log(1 + x d) for d = sum - t size (Owen 1988, section 2).
fn loss(levels: &[ValueLevel], t: f64) -> f64 {
    let distances = || {
        levels
            .iter()
            .map(|level| (level.sum - t * level.size, level.count))
    };
    let least = distances().map(|(d, _)| d).fold(f64::INFINITY, f64::min);
    if least >= 0.0 {
        return f64::INFINITY;
    }
    // The derivative falls from above 0 at 0 to minus infinity at the upper bound.
    let (mut low, mut high) = (0.0, -1.0 / least);
    let mut x = 0.0;
    for _ in 0..HALVINGS {
        let (slope, curvature) = distances().fold((0.0, 0.0), |(slope, curvature), (d, count)| {
            let part = d / (1.0 + x * d);
            (slope + count * part, curvature - count * part * part)
        });
        if slope > 0.0 {
            low = x
        } else {
            high = x
        }
        let newton = x - slope / curvature;
        let next = if newton > low && newton < high {
            newton
        } else {
            low.midpoint(high)
        };
        if (next - x).abs() <= 1e-15 * x.abs() {
            break;
        }
        x = next;
    }
    distances().map(|(d, count)| count * (x * d).ln_1p()).sum()
}

/// Which end is looked for. The upper one is 1 less the lower one of what fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntervalEnd {
    Lower,
    Upper,
}

impl IntervalEnd {
    fn of(self, levels: &[ValueLevel]) -> Vec<ValueLevel> {
        let failing = |level: &ValueLevel| ValueLevel {
            sum: level.size - level.sum,
            ..*level
        };
        match self {
            IntervalEnd::Lower => levels.to_vec(),
            IntervalEnd::Upper => levels.iter().map(failing).collect(),
        }
    }
}

/// What a stratum may be for one end: of levels just these. Of samples those of its case, or of one
/// that did better by any number of passes (for the upper end worse), since less can vary in a
/// better case: the least of all of them is what can only rise with a pass.
struct StratumAlternatives {
    share: f64,
    repeats: f64,
    units: f64,
    /// Degrees of freedom that its own mean costs.
    cost: f64,
    of: Vec<Vec<ValueLevel>>,
}

/// The lower end of several strata, or 1 less the upper one.
///
/// By Lagrange's method: the least of mean + price x loss separates into strata once the price is
/// known, and the price is that at which the loss is `c`. The pseudo-observation joins the whole as
/// one more of [`equal_units`]. Means of strata cost degrees of freedom, so that Student's t is in
/// the place of z.
fn stratified(strata: &[Stratum], end: IntervalEnd, level: f64) -> Result<f64, UndefinedReason> {
    let several: f64 = strata.iter().map(|stratum| stratum.repeats).sum();
    let units: f64 = strata.iter().map(Stratum::units).sum();
    if units.is_nan() || units <= 0.0 {
        return Err(UndefinedReason::NoData);
    }
    // The plan alone decides this, not the values.
    let has_samples = strata
        .iter()
        .any(|stratum| matches!(stratum.units, StratumUnits::Samples { .. }));
    let freedom = if has_samples {
        freedom_of_samples(strata)
    } else {
        units - several
    };
    let t = t_quantile(0.5 + level / 2.0, freedom.max(1.0));
    let c = t * t / 2.0;
    let units = equal_units(
        strata
            .iter()
            .map(|stratum| (stratum.share / stratum.size(), stratum.units()))
            .collect(),
    );
    let strata = strata
        .iter()
        .map(|stratum| stratum.alternatives(end))
        .collect::<Result<Vec<_>, _>>()?;
    if has_samples {
        return Ok(bounded(&strata, several, units, c));
    }
    let at = |ln_price: f64| LikelihoodPoint::at(&strata, several, units, ln_price.exp());
    // The loss falls with the price.
    let point = at(bisected(-60.0, 60.0, HALVINGS, |ln_price| at(ln_price).loss > c).1);
    Ok((point.mean + point.price * (point.loss - c)).max(0.0))
}

/// Degrees of freedom of the sum of strata, after F. E. Satterthwaite (Biometrics Bulletin
/// 2:110-114, 1946), as if the units of all strata varied alike: n samples show a curve of k of
/// them as often as n / k units do.
fn freedom_of_samples(strata: &[Stratum]) -> f64 {
    let (mut variance, mut squares) = (0.0, 0.0);
    for stratum in strata {
        let units = match &stratum.units {
            StratumUnits::Levels(_) => stratum.size(),
            StratumUnits::Samples { curve, .. } => stratum.size() / f64::from(curve.k()),
        };
        let of_one = stratum.share * stratum.share / units;
        variance += stratum.repeats * of_one;
        squares += stratum.repeats * of_one * of_one / (units - 1.0).max(0.5);
    }
    variance * variance / squares
}

/// Prices of likelihood that are tried, a twentieth apart.
const PRICES: usize = 440;

/// A lower bound of the lower end where strata have alternatives, so that a price need not buy the
/// least mean. For each weight of the pseudo-observation the strata have the rest of the
/// likelihood, and each price bounds their mean from below by the least of mean + price x loss,
/// less the price of that rest. Weights and prices are the same for all data of a design, so that
/// the bound is monotone.
fn bounded(strata: &[StratumAlternatives], several: f64, units: f64, c: f64) -> f64 {
    let price = |at: usize| f64::exp(-16.0 + 0.05 * at as f64);
    let mut known: [Option<f64>; PRICES] = [None; PRICES];
    // Concave in the price, since it is the least of straight lines.
    let mut least = |at: usize| {
        let of = |stratum: &StratumAlternatives| {
            let (value, lost) = stratum.tilted(several, price(at));
            stratum.repeats * (stratum.share * value + price(at) * lost)
        };
        match known.get_mut(at) {
            Some(known) => *known.get_or_insert_with(|| strata.iter().map(of).sum()),
            None => f64::NEG_INFINITY,
        }
    };
    let mut best = PRICES / 2;
    let all = units + UNSEEN;
    let mut end = 1.0f64;
    for at in 0..400 {
        let unseen = UNSEEN / all * f64::exp(0.01 * f64::from(at));
        let part = |count: f64, weight: f64| -count * (weight * all / count).ln();
        let spent = part(units, 1.0 - unseen) + part(UNSEEN, unseen);
        if unseen >= 1.0 || spent > c {
            break;
        }
        let rest = c - spent;
        let mut mean = |at: usize| least(at) - price(at) * rest;
        let mut step = if at == 0 { PRICES / 4 } else { 1 };
        while step > 0 {
            let near = [best.saturating_sub(step), best + step]
                .into_iter()
                .find(|near| mean(*near) > mean(best));
            match near {
                Some(near) => best = near,
                None => step /= 2,
            }
        }
        let mean = mean(best).max(0.0);
        end = end.min((1.0 - unseen) * mean);
    }
    end
}

/// What a price of likelihood buys.
struct LikelihoodPoint {
    mean: f64,
    loss: f64,
    /// Of the whole, the pseudo-observation included.
    price: f64,
}

impl LikelihoodPoint {
    fn at(strata: &[StratumAlternatives], several: f64, units: f64, price: f64) -> LikelihoodPoint {
        let (mut mean, mut loss) = (0.0, 0.0);
        for stratum in strata {
            let (value, lost) = stratum.tilted(several, price);
            mean += stratum.repeats * stratum.share * value;
            loss += stratum.repeats * lost;
        }
        // What the pseudo-observation weighs for each unit of weight of the strata, by their
        // optimality conditions.
        let room = price * units - mean;
        if room <= 0.0 {
            return LikelihoodPoint {
                mean: 0.0,
                loss: f64::INFINITY,
                price,
            };
        }
        let unseen = price * UNSEEN / room;
        let weight = 1.0 / (1.0 + unseen);
        let all = units + UNSEEN;
        let part = |count: f64, weight: f64| -count * (weight * all / count).ln();
        loss += part(units, weight) + part(UNSEEN, unseen * weight);
        LikelihoodPoint {
            mean: weight * mean,
            loss,
            price: price * weight,
        }
    }
}

impl Stratum {
    fn alternatives(&self, end: IntervalEnd) -> Result<StratumAlternatives, UndefinedReason> {
        let of = match &self.units {
            StratumUnits::Levels(levels) => vec![end.of(levels)],
            StratumUnits::Samples {
                n,
                passed,
                curve,
                times,
            } => {
                let levels = |c: u32| {
                    let [pass, fail] = curve.contributions(*n, c)?;
                    let parts = [(pass, c), (fail, n.saturating_sub(c))];
                    let seen = parts.into_iter().filter(|(_, count)| *count > 0);
                    let levels: Vec<ValueLevel> = seen
                        .map(|(value, count)| ValueLevel::of(value, f64::from(count) * times))
                        .collect();
                    Ok(end.of(&levels))
                };
                let better = match end {
                    IntervalEnd::Lower => *passed..=*n,
                    IntervalEnd::Upper => 0..=*passed,
                };
                better.map(levels).collect::<Result<_, _>>()?
            }
        };
        // Of a curve of k samples one is too few where cases are few and most chances near 0 or 1
        // (found by simulation).
        let cost = match &self.units {
            StratumUnits::Levels(_) => 1.0,
            StratumUnits::Samples { curve, .. } => f64::from(curve.k() + 1) / 2.0,
        };
        Ok(StratumAlternatives {
            share: self.share,
            repeats: self.repeats,
            units: self.size(),
            cost,
            of,
        })
    }
}

impl StratumAlternatives {
    /// The value at which share x value + price x loss is least, and that loss, for one of
    /// `several` strata.
    fn tilted(&self, several: f64, price: f64) -> (f64, f64) {
        // The pseudo-observation gives back what the mean of a single stratum costs.
        let freedom = 1.0 - self.cost * (1.0 - 1.0 / several) / self.units;
        let rate = price * freedom / self.share;
        let each = self
            .of
            .iter()
            .map(|levels| tilted(levels, self.units, rate));
        let least = each.min_by(|a, b| (a.0 + rate * a.1).total_cmp(&(b.0 + rate * b.1)));
        least.map_or((0.0, 0.0), |(value, lost)| (value, lost * freedom))
    }
}

/// The weights count / (value - floor) with the floor at which they add up to 1, in units of
/// `rate`.
fn tilted(levels: &[ValueLevel], n: f64, rate: f64) -> (f64, f64) {
    let least = levels
        .iter()
        .map(|level| level.sum)
        .fold(f64::INFINITY, f64::min);
    let above = |level: &ValueLevel| (level.sum - least) / rate;
    // Convex and falling, so that Newton's steps from the left never overshoot.
    let mut floor = levels
        .iter()
        .filter(|level| level.sum == least)
        .map(|level| level.count)
        .sum::<f64>();
    for _ in 0..HALVINGS {
        let (sum, slope) = levels.iter().fold((-1.0, 0.0), |(sum, slope), level| {
            let weight = level.count / (above(level) + floor);
            (sum + weight, slope + weight / (above(level) + floor))
        });
        let step = sum / slope;
        floor += step;
        if step <= 1e-15 * floor {
            break;
        }
    }
    levels.iter().fold((0.0, 0.0), |(value, lost), level| {
        let weight = 1.0 / (above(level) + floor);
        (
            value + level.count * weight * level.sum,
            lost - level.count * (weight * n).ln(),
        )
    })
}

#[cfg(test)]
mod tests;
