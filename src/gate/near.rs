//! How far a missed threshold is from being met: by how many evals or cases, or whether only data
//! is lacking.
//!
//! Nothing here is a guess that is sold as a fact: where a number is exact, giving just that many
//! more meets the threshold and one fewer does not; else it says "about", or nothing.

use super::decide::{number, within};
use crate::model::{Bound, Estimate, Figure, IntervalShortfall, Metric, MetricName, Threshold};
use eval_base::text::{group_digits, two_digits};
use eval_stats::likelihood::of_counts;
use eval_stats::power::{self, IntervalDemand, MANY};

/// The words after the reason of a threshold that failed, for an estimate that is settled; `share`
/// as in [`RunTally::shares`](crate::model::Tally::shares), and `lack` what the summary found to be
/// lacking. `None`: there is nothing to add.
pub(super) fn miss(
    threshold: &Threshold,
    estimate: &Estimate,
    share: Option<[u64; 2]>,
    lack: Option<&IntervalShortfall>,
) -> Option<String> {
    let value = estimate.value?;
    let share = share.filter(|[passed, n]| passed <= n && *n > 0);
    let one_sided = (threshold.on, threshold.bound);
    Some(match one_sided {
        (Figure::Value, Bound::Min) => {
            let more = share
                .filter(|_| is_of_verdicts(threshold))
                .and_then(|share| more_passes(threshold, share));
            more.unwrap_or_else(|| short(value, threshold))
        }
        (Figure::Value, Bound::Max) => short(value, threshold),
        (Figure::CiLower, Bound::Min) | (Figure::CiUpper, Bound::Max)
            if within(value, threshold) =>
        {
            lacking(threshold, estimate, value, share, lack)
        }
        // The value is not met, or the far end misses, and so does all that lies before it.
        _ => too(value),
    })
}

fn short(value: f64, threshold: &Threshold) -> String {
    let word = if threshold.bound == Bound::Min {
        "short"
    } else {
        "over"
    };
    let by = (value - threshold.value).abs();
    // Two digits that count, however small it is.
    let decimals = if by > 0.0 {
        (1.0 - by.log10().floor()).clamp(1.0, 17.0) as usize
    } else {
        0
    };
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

/// True when what passes are evals or cases: not scores or what graders measure, of which 1 is no
/// verdict.
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
        if meets(middle) {
            met = middle
        } else {
            missed = middle
        }
    }
    let more = met - passed;
    // A case that passed on a later attempt is passed, and is none of these.
    let unit = if metric.k().is_some() {
        "first attempt"
    } else {
        unit(&metric)
    };
    Some(format!(
        "{passed} of {n} {} passed; {more} more would have met it",
        plural(unit, n)
    ))
}

/// The value meets the demand, and the end of its interval does not.
fn lacking(
    threshold: &Threshold,
    estimate: &Estimate,
    value: f64,
    share: Option<[u64; 2]>,
    lack: Option<&IntervalShortfall>,
) -> String {
    let metric = threshold
        .metric
        .parse::<MetricName>()
        .ok()
        .map(|name| name.metric);
    let unit = lack.map_or(metric.as_ref().map_or("case", unit), |lack| lack.unit);
    let fact = format!(
        "the value itself, {}, meets it; only data is lacking",
        number(value, 4)
    );
    let share = share.filter(|share| is_of_counts(estimate, *share));
    let more = match (share, lack) {
        (Some(share), _) => exact(threshold, share, estimate.level),
        _ if (value - threshold.value).abs() <= 1e-9 => UnitsNeeded::Never,
        (None, Some(lack)) => lack.needed.map_or(UnitsNeeded::Many, |needed| {
            UnitsNeeded::About([lack.units, needed])
        }),
        (None, None) => return fact,
    };
    let rest = match more {
        UnitsNeeded::Exact { more, passing } if passing == more => {
            let pass = if more == 1 { "passes" } else { "pass" };
            format!(
                "{more} more {} that {pass} would have met it",
                plural(unit, more)
            )
        }
        UnitsNeeded::Exact { more, passing } => format!(
            "{more} more {}, {passing} of them passing (the same rate), would have met it",
            plural(unit, more)
        ),
        UnitsNeeded::About([now, needed]) if unit == "sample" => {
            // Upwards, so that it is enough.
            let times = (needed as f64 / now as f64 * 10.0).ceil();
            let times = match two_digits(times as u64) {
                tenths if tenths < 100 => format!("{}.{}", tenths / 10, tenths % 10),
                tenths => group_digits((tenths / 10) as usize),
            };
            format!("about {times} times as many samples of each case would have met it")
        }
        UnitsNeeded::About([now, needed]) => {
            let more = two_digits(needed.saturating_sub(now).max(1));
            format!(
                "about {} more {} like these would have met it",
                group_digits(more as usize),
                plural(unit, more)
            )
        }
        UnitsNeeded::Many => format!("more than {MANY} {unit}s would be needed"),
        UnitsNeeded::Never => {
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
    of_counts
        .zip(estimate.ci)
        .is_some_and(|(of, [low, high])| near(of.low, low) && near(of.high, high))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitsNeeded {
    Exact {
        more: u64,
        passing: u64,
    },
    /// So many units, of which so many are needed.
    About([u64; 2]),
    Many,
    /// The interval closes in on the value, which is the threshold.
    Never,
}

/// What [`IntervalDemand::more_at_the_same_rate`] finds.
fn exact(threshold: &Threshold, [passed, n]: [u64; 2], level: f64) -> UnitsNeeded {
    let demand = IntervalDemand {
        upper: threshold.bound == Bound::Max,
        value: threshold.value,
        level,
    };
    match demand.more_at_the_same_rate(passed, n) {
        power::CasesNeeded::Exact { more, passing } => UnitsNeeded::Exact { more, passing },
        power::CasesNeeded::Many => UnitsNeeded::Many,
        power::CasesNeeded::Never => UnitsNeeded::Never,
    }
}

fn plural(unit: &'static str, n: u64) -> String {
    if n == 1 {
        unit.to_owned()
    } else {
        format!("{unit}s")
    }
}

#[cfg(test)]
mod tests;
