//! How far a missed threshold is from being met: by how many evals or cases, or whether only data is lacking.
//!
//! Nothing here is a guess that is sold as a fact: where a number is exact, giving just that many more meets the threshold and
//! one fewer does not; else it says "about", or nothing.

use super::decide::{number, within};
use crate::model::{Bound, Estimate, Figure, IntervalScope, Metric, MetricName, Threshold};
use crate::stats::likelihood::of_counts;
use crate::stats::power::{self, Demand, MANY};

/// The words after the reason of a threshold that failed, for an estimate that is settled; `share` as in
/// [`Tally::shares`](crate::model::Tally::shares). `None`: there is nothing to add.
pub(super) fn miss(
    threshold: &Threshold,
    estimate: &Estimate,
    share: Option<[u64; 2]>,
    scope: IntervalScope,
) -> Option<String> {
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
            lack(threshold, estimate, value, share, scope)
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
fn lack(
    threshold: &Threshold,
    estimate: &Estimate,
    value: f64,
    share: Option<[u64; 2]>,
    scope: IntervalScope,
) -> String {
    let metric = threshold.metric.parse::<MetricName>().ok().map(|name| name.metric);
    let unit = metric.as_ref().map_or("case", unit);
    let fact = format!("the value itself, {}, meets it; only data is lacking", number(value, 4));
    let share = share.filter(|share| is_of_counts(estimate, *share));
    let more = match share {
        Some(share) => exact(threshold, share, estimate.level),
        None => about(threshold, estimate, value),
    };
    // Cases of an eval count together, so that more of them would add nothing.
    let where_to = match scope {
        IntervalScope::SimilarEvals if unit == "case" && share.is_none() => ", in separate evals,",
        _ => "",
    };
    let rest = match more {
        More::Exact { more, passing } if passing == more => {
            let pass = if more == 1 { "passes" } else { "pass" };
            format!("{more} more {} that {pass} would have met it", plural(unit, more))
        }
        More::Exact { more, passing } => format!(
            "{more} more {}, {passing} of them passing (the same rate), would have met it",
            plural(unit, more)
        ),
        More::About(more) if scope == IntervalScope::TheseCases && unit == "case" => {
            let times = 1.0 + more as f64 / estimate.n_cases as f64;
            format!("about {times:.1} times as many samples of each case would have met it")
        }
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
    format!("{fact}: {rest}")
}

/// True when the interval is that of so many independent verdicts.
fn is_of_counts(estimate: &Estimate, [passed, n]: [u64; 2]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9;
    let of_counts = of_counts(passed as f64, n as f64, estimate.level).ok();
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

/// As many units as there are verdicts whose interval ends where this one does, and as many more as those would need.
fn about(threshold: &Threshold, estimate: &Estimate, value: f64) -> More {
    let Some([low, high]) = estimate.ci else { return More::Many };
    if (value - threshold.value).abs() <= 1e-9 {
        return More::Never;
    }
    let verdicts_to = |end: f64| {
        let reaches = |n: f64| {
            of_counts(value * n, n, estimate.level).is_ok_and(|interval| match threshold.bound {
                Bound::Min => interval.low >= end,
                Bound::Max => interval.high <= end,
            })
        };
        // The end moves towards the value with ever more of them.
        let (mut few, mut enough) = (0.0, 1.0);
        while !reaches(enough) && enough < 1e12 {
            (few, enough) = (enough, enough * 2.0);
        }
        for _ in 0..50 {
            let middle = f64::midpoint(few, enough);
            if reaches(middle) { enough = middle } else { few = middle }
        }
        enough
    };
    let now = verdicts_to(if threshold.bound == Bound::Min { low } else { high });
    let more = estimate.n_cases as f64 * (verdicts_to(threshold.value) / now - 1.0);
    match more {
        more if !more.is_finite() || more > MANY as f64 => More::Many,
        more => More::About(rounded(((more - 1e-6).ceil() as u64).max(1))),
    }
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
