//! How far a missed threshold is from being met: by how many evals or cases, or whether only data is lacking.
//!
//! Nothing here is a guess that is sold as a fact: where a number is exact, giving just that many more meets the threshold and
//! one fewer does not; else it says "about", or nothing.

use super::decide::{number, within};
use crate::model::{Bound, Estimate, Figure, Metric, MetricName, Threshold};
use crate::stats::power::{self, Demand, MANY};
use crate::stats::{Method, wilson};

/// The words after the reason of a threshold that failed, for an estimate that is settled; `share` as in
/// [`Tally::shares`](crate::model::Tally::shares). `None`: there is nothing to add.
pub(super) fn miss(threshold: &Threshold, estimate: &Estimate, share: Option<[u64; 2]>) -> Option<String> {
    let value = estimate.value?;
    let share = share.filter(|[passed, n]| passed <= n && *n > 0);
    let one_sided = (threshold.on, threshold.bound);
    Some(match one_sided {
        (Figure::Value, Bound::Min) => {
            let more =
                share.filter(|_| is_of_verdicts(threshold)).and_then(|share| more_passes(threshold, share));
            more.unwrap_or_else(|| short(value, threshold))
        }
        (Figure::Value, Bound::Max) => short(value, threshold),
        (Figure::CiLower, Bound::Min) | (Figure::CiUpper, Bound::Max) if within(value, threshold) => {
            lack(threshold, estimate, value, share)
        }
        // The value is not met, or the far end misses, and so does all that lies before it.
        _ => too(value),
    })
}

fn short(value: f64, threshold: &Threshold) -> String {
    let word = if threshold.bound == Bound::Min { "short" } else { "over" };
    let by = (value - threshold.value).abs();
    // Two digits that count, however small it is.
    let decimals = if by > 0.0 { (1.0 - by.log10().floor()).clamp(1.0, 17.0) as usize } else { 0 };
    format!("{} {word}", number(by, decimals))
}

fn too(value: f64) -> String {
    format!("the value itself, {}, misses it, too", number(value, 4))
}

/// What a metric's estimate is over.
fn unit(metric: &Metric) -> &'static str {
    match metric {
        Metric::PassRate
        | Metric::CapabilityPassRate
        | Metric::RegressionPassRate
        | Metric::WeightedScore => "eval",
        _ => "case",
    }
}

/// True when what passes are evals or cases: not scores or what graders measure, of which 1 is no verdict.
fn is_of_verdicts(threshold: &Threshold) -> bool {
    use Metric::*;
    matches!(
        threshold.metric.parse().map(|name: MetricName| name.metric),
        Ok(PassRate | CapabilityPassRate | RegressionPassRate | CasePassRate)
            | Ok(PassAt(1) | PassHat(1) | PassHatUnbiased(1))
    )
}

fn more_passes(threshold: &Threshold, [passed, n]: [u64; 2]) -> Option<String> {
    let MetricName { metric, .. } = threshold.metric.parse().ok()?;
    let meets = |passed: u64| within(passed as f64 / n as f64, threshold);
    // Monotone in the passes, so that the least that suffices is found by halving.
    let (mut missed, mut met) = (passed, n);
    if !meets(met) {
        return None;
    }
    while met - missed > 1 {
        let middle = missed + (met - missed) / 2;
        if meets(middle) { met = middle } else { missed = middle }
    }
    let more = met - passed;
    // A case that passed on a later attempt is passed, and is none of these.
    let unit = if metric.k().is_some() { "first attempt" } else { unit(&metric) };
    Some(format!("{passed} of {n} {} passed; {more} more would have met it", plural(unit, n)))
}

/// The value meets the demand, and the end of its interval does not.
fn lack(threshold: &Threshold, estimate: &Estimate, value: f64, share: Option<[u64; 2]>) -> String {
    let metric = threshold.metric.parse::<MetricName>().ok().map(|name| name.metric);
    let unit = metric.as_ref().map_or("case", unit);
    let said = format!("the value itself, {}, meets it; only data is lacking", number(value, 4));
    let alike = alike(estimate, value);
    let more = match share.or(alike) {
        Some(share) if has_wilsons(estimate, share) => exact(threshold, share, estimate.level),
        Some(_) => about_alike(threshold, estimate, value),
        None => about(threshold, estimate, value),
    };
    // What belongs together counts as one, so that more of it would add nothing.
    let grouped = estimate.method == Method::ClusterBootstrap.name()
        || unit == "case" && alike.is_some_and(|share| !has_wilsons(estimate, share));
    let where_to = if grouped { ", in evals of their own," } else { "" };
    let rest = match more {
        More::Exact { more, .. } if share.is_none() => {
            format!("{more} more {} like these would have met it", plural(unit, more))
        }
        More::Exact { more, passing } if passing == more => {
            let pass = if more == 1 { "passes" } else { "pass" };
            format!("{more} more {} that {pass} would have met it", plural(unit, more))
        }
        More::Exact { more, passing } => format!(
            "{more} more {}, {passing} of them passing (the same rate), would have met it",
            plural(unit, more)
        ),
        More::About(more) => {
            format!("about {more} more {} like these{where_to} would have met it", plural(unit, more))
        }
        More::Many => format!("more than {MANY} {unit}s would be needed"),
        More::Never => {
            return format!(
                "the value itself is the threshold, so that no number of further {unit}s like these would meet it"
            );
        }
    };
    format!("{said}: {rest}")
}

/// Values that are all 0 or all 1 as counts: they have Wilson's interval, too, whatever they are made of.
fn alike(estimate: &Estimate, value: f64) -> Option<[u64; 2]> {
    let n = estimate.n_cases as u64;
    let is_wilson = estimate.method == Method::Wilson.name() && n > 0;
    match value {
        1.0 if is_wilson => Some([n, n]),
        0.0 if is_wilson => Some([0, n]),
        _ => None,
    }
}

/// True when the interval is that of so many counts: cases that belong together, and unequal weights, count as fewer.
fn has_wilsons(estimate: &Estimate, [passed, n]: [u64; 2]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9;
    let of_counts = wilson(passed, n, estimate.level).ok();
    of_counts.zip(estimate.ci).is_some_and(|(of, [low, high])| near(of.low, low) && near(of.high, high))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Exact {
        more: u64,
        passing: u64,
    },
    About(u64),
    Many,
    /// The interval closes in on the value, which is the threshold.
    Never,
}

/// What [`Demand::more_at_the_same_rate`] finds.
fn exact(threshold: &Threshold, [passed, n]: [u64; 2], level: f64) -> More {
    let demand = Demand { upper: threshold.bound == Bound::Max, value: threshold.value, level };
    match demand.more_at_the_same_rate(passed, n) {
        power::More::Exact { more, passing } => More::Exact { more, passing },
        power::More::Many => More::Many,
        power::More::Never => More::Never,
    }
}

/// An interval's width falls with the root of the number of cases.
fn about(threshold: &Threshold, estimate: &Estimate, value: f64) -> More {
    let Some([low, high]) = estimate.ci else { return More::Many };
    let end = if threshold.bound == Bound::Min { low } else { high };
    let room = (value - threshold.value).abs();
    if room <= 1e-9 {
        return More::Never;
    }
    let n = estimate.n_cases as f64;
    let more = n * ((value - end).abs() / room).powi(2) - n;
    told(more)
}

fn told(more: f64) -> More {
    match more {
        more if !more.is_finite() || more > MANY as f64 => More::Many,
        more => More::About(rounded(((more - 1e-6).ceil() as u64).max(1))),
    }
}

/// The same for values that are all 1 or all 0, whose interval counts them as fewer than they are: the lower end of Wilson's interval
/// of e passes in e is e / (e + z^2), so that e goes with the odds of the end, and the number of cases with e.
fn about_alike(threshold: &Threshold, estimate: &Estimate, value: f64) -> More {
    let Some([low, high]) = estimate.ci else { return More::Many };
    if (value - threshold.value).abs() <= 1e-9 {
        return More::Never;
    }
    let odds = |end: f64| end / (1.0 - end);
    let ratio = match threshold.bound {
        Bound::Min => odds(threshold.value) / odds(low),
        Bound::Max => odds(1.0 - threshold.value) / odds(1.0 - high),
    };
    told(estimate.n_cases as f64 * (ratio - 1.0))
}

/// Two digits that count, upwards: more would claim what an estimate doesn't know.
fn rounded(n: u64) -> u64 {
    let mut step = 1;
    while n / step >= 100 {
        step *= 10;
    }
    n.div_ceil(step) * step
}

fn plural(unit: &'static str, n: u64) -> String {
    if n == 1 { unit.to_owned() } else { format!("{unit}s") }
}

#[cfg(test)]
mod tests;
