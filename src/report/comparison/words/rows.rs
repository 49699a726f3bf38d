//! Metrics and groups as every form shows them.

use serde::Serialize;

use super::{difference, interval, p_value};
use crate::model::{
    Comparison, ComparisonVerdict, DifferenceTest, GroupDifference, Metric, MetricDifference,
};
use crate::report::figures;
use crate::spec::words::Grouping;
use eval_base::text;

/// Where a difference points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricLeaning {
    Worse,
    Better,
}

/// `None` when both are the same, or no side is the better one.
fn leaning(metric: &MetricDifference) -> Option<MetricLeaning> {
    let higher = metric.higher_is_better?;
    let difference = metric.difference.filter(|d| d.abs() >= 1e-12)?;
    Some(match (difference > 0.0) == higher {
        true => MetricLeaning::Better,
        false => MetricLeaning::Worse,
    })
}

/// The p of the side to which the difference points; of none, that of the question "is it worse?".
/// Adjusted where it is one of several tests.
fn p_of(test: &DifferenceTest, metric: &MetricDifference) -> f64 {
    let points_up = metric.difference.is_some_and(|difference| difference > 0.0);
    let is_better = match metric.higher_is_better {
        Some(true) | None => points_up,
        Some(false) => metric.difference.is_some_and(|difference| difference < 0.0),
    };
    if is_better {
        p_better(test)
    } else {
        p_worse(test)
    }
}

/// True when the verdict rests on the metric.
fn decides(metric: &MetricDifference) -> bool {
    metric.test.as_ref().is_some_and(|test| test.decides)
}

fn p_worse(test: &DifferenceTest) -> f64 {
    test.p_worse_adjusted.unwrap_or(test.p_worse)
}

fn p_better(test: &DifferenceTest) -> f64 {
    test.p_better_adjusted.unwrap_or(test.p_better)
}

/// The p of the question that was asked: where the verdict rests on it whether the candidate is
/// worse, unless it is better; else the way the difference points.
fn p_shown(test: &DifferenceTest, metric: &MetricDifference, verdict: ComparisonVerdict) -> f64 {
    match (test.decides, verdict) {
        (true, ComparisonVerdict::None) => p_worse(test),
        _ => p_of(test, metric),
    }
}

/// True when a metric, alone, has moved by more than chance explains: by its test where that was
/// adjusted, else by its test and its interval.
fn has_moved(metric: &MetricDifference, alpha: f64) -> bool {
    match metric
        .test
        .as_ref()
        .filter(|test| test.p_worse_adjusted.is_some())
    {
        Some(test) => p_of(test, metric) < alpha,
        None => {
            let p = metric.test.as_ref().map(|test| p_of(test, metric));
            metric.ci.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
                && p.is_none_or(|p| p < alpha)
        }
    }
}

/// A metric as every form shows it; empty where there is nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonRow {
    pub name: String,
    pub decides: bool,
    pub leaning: Option<MetricLeaning>,
    pub moved: bool,
    pub n: String,
    pub reference: String,
    pub candidate: String,
    pub difference: String,
    pub interval: String,
    pub p: String,
    /// The differences if everything without a grade had gone against, or for, the candidate.
    pub range: String,
    /// Why there is no difference.
    pub undefined: String,
}

pub fn row(metric: &MetricDifference, comparison: &Comparison) -> ComparisonRow {
    let (alpha, verdict) = (comparison.settings.alpha, comparison.verdict);
    let p = metric
        .test
        .as_ref()
        .map(|test| p_value(p_shown(test, metric, verdict), alpha));
    let range = match (metric.worst, metric.best, metric.difference) {
        (Some(worst), Some(best), Some(at)) if differ(worst, at) || differ(best, at) => {
            interval(&metric.name, Some([worst, best]))
        }
        _ => String::new(),
    };
    ComparisonRow {
        name: figures::shown_metric(&metric.name),
        decides: decides(metric),
        leaning: leaning(metric),
        moved: has_moved(metric, alpha),
        n: text::plural(metric.n, &text::one_line(&metric.unit)),
        reference: figures::figure_or_none(&metric.name, metric.reference),
        candidate: figures::figure_or_none(&metric.name, metric.candidate),
        difference: metric
            .difference
            .map(|d| difference(&metric.name, d))
            .unwrap_or_default(),
        interval: interval(&metric.name, metric.ci),
        p: p.unwrap_or_default(),
        range,
        undefined: match metric.difference {
            Some(_) => String::new(),
            None => metric
                .undefined
                .as_deref()
                .map_or_else(|| "not measured on both sides".to_owned(), text::one_line),
        },
    }
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() >= 1e-12
}

/// The metrics that tell something, those that the verdict rests on first.
pub fn rows(comparison: &Comparison) -> Vec<ComparisonRow> {
    telling(comparison)
        .into_iter()
        .map(|metric| row(metric, comparison))
        .collect()
}

/// The metrics of [`rows`], as they were computed.
pub fn telling(comparison: &Comparison) -> Vec<&MetricDifference> {
    let same = |name: &str, as_this: &MetricDifference| {
        let other = comparison.metrics.iter().find(|metric| metric.name == name);
        other.is_some_and(|other| {
            (other.n, other.reference, other.candidate)
                == (as_this.n, as_this.reference, as_this.candidate)
        })
    };
    // Where all evals are of one type its rate is the rate of all.
    let repeats = |metric: &MetricDifference| {
        matches!(
            metric.name.parse(),
            Ok(Metric::CapabilityPassRate | Metric::RegressionPassRate)
        ) && !decides(metric)
            && same("pass_rate", metric)
    };
    // What was asked for is told, the more so when there is nothing of it.
    let asked = |metric: &MetricDifference| comparison.settings.metrics.contains(&metric.name);
    let telling =
        |metric: &&MetricDifference| asked(metric) || is_telling(metric) && !repeats(metric);
    let mut metrics: Vec<&MetricDifference> = comparison.metrics.iter().filter(telling).collect();
    metrics.sort_by_key(|metric| !decides(metric));
    metrics
}

/// False for what would only fill the page: pass^1, which is pass@1; what nobody measured on either
/// side.
fn is_telling(metric: &MetricDifference) -> bool {
    if decides(metric) {
        return true;
    }
    match metric.name.parse::<Metric>() {
        Ok(Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => false,
        Ok(Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_)) => true,
        _ => metric.reference.is_some() || metric.candidate.is_some(),
    }
}

/// What the columns mean, in sentences for the foot of the table.
pub fn legend(comparison: &Comparison, [worse, better]: [&str; 2]) -> String {
    let tests = comparison
        .metrics
        .iter()
        .chain(comparison.groups.iter().map(|group| &group.metric));
    let adjusted = |metric: &MetricDifference| {
        metric.test.as_ref().is_some_and(|test| {
            test.p_worse_adjusted.is_some_and(|p| p != test.p_worse)
                || test.p_better_adjusted.is_some_and(|p| p != test.p_better)
        })
    };
    let mut words = String::new();
    if comparison.metrics.iter().any(decides) {
        words.push_str("* the verdict depends on it. ");
    }
    let moved = comparison
        .metrics
        .iter()
        .any(|metric| has_moved(metric, comparison.settings.alpha));
    if moved
        || comparison
            .groups
            .iter()
            .any(|group| group.verdict != ComparisonVerdict::None)
    {
        words.push_str(&format!(
            "{worse} {better} more than chance, each metric taken alone. "
        ));
    }
    if tests.clone().all(|metric| metric.test.is_none()) {
        return words.trim_end().to_owned();
    }
    words.push_str("p: one-sided, in the direction of the difference");
    let none = comparison.verdict == ComparisonVerdict::None;
    if none && comparison.metrics.iter().any(decides) {
        words.push_str("; for *, in the direction of worse");
    }
    words.push_str(match tests.clone().any(adjusted) {
        true => "; several tests are adjusted by Holm, other metrics are not.",
        false => ".",
    });
    words
}

/// The groups of one kind.
pub struct ShownGroups<'a> {
    pub by: Grouping,
    /// True when the verdict rests on them.
    pub decides: bool,
    /// Those that are shown: the most telling first.
    pub shown: Vec<&'a GroupDifference>,
    pub others: usize,
}

/// Groups in the order of the comparison; `all`, or only those that tell something: of a grouping
/// that was asked for those that differ or are tested, of others those that differ by more than
/// chance.
pub fn groups(comparison: &Comparison, all: bool) -> Vec<ShownGroups<'_>> {
    let mut of_kinds: Vec<ShownGroups<'_>> = Vec::new();
    for group in &comparison.groups {
        let decides = comparison.settings.by.contains(&group.by);
        if of_kinds.last().is_none_or(|last| last.by != group.by) {
            of_kinds.push(ShownGroups {
                by: group.by,
                decides,
                shown: Vec::new(),
                others: 0,
            });
        }
        let Some(last) = of_kinds.last_mut() else {
            continue;
        };
        let tells = group.verdict != ComparisonVerdict::None || (decides && differs(group));
        if all || tells {
            last.shown.push(group)
        } else {
            last.others += 1
        }
    }
    let rank = |group: &GroupDifference| match group.verdict {
        ComparisonVerdict::Regression => 0,
        ComparisonVerdict::Improvement => 1,
        ComparisonVerdict::None => 2,
    };
    let size = |group: &GroupDifference| group.metric.difference.map_or(0.0, f64::abs);
    for kind in &mut of_kinds {
        kind.shown.sort_by(|a, b| {
            rank(a)
                .cmp(&rank(b))
                .then_with(|| size(b).total_cmp(&size(a)))
        });
    }
    of_kinds
}

fn differs(group: &GroupDifference) -> bool {
    decides(&group.metric)
        || group
            .metric
            .difference
            .is_some_and(|difference| differ(difference, 0.0))
        || group.broken + group.fixed > 0
}
