//! How numbers are written: one place, so that every report says the same.
//!
//! A figure never rounds into a better one: a rate below 1 is not written `1.000`, and one above 0
//! not `0.000`.

use crate::model::{
    Bound, Counts, Decision, Estimate, Figure, Metric, Outcome, Summary, ThresholdResult, Totals,
    split_part,
};
use eval_base::text;

pub use crate::model::shown_metric;

/// What is written where there is no number.
pub const NO_VALUE: &str = "n/a";

/// Means over samples, which comparisons alone have: the unit stands within the name.
const COST_PER_SAMPLE: &str = "cost_usd_per_sample";

/// From here on numbers are written with an exponent: what an author's program measures may have
/// 300 digits.
const LONG: f64 = 1e12;

/// What a metric's number counts; its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// A share or score, mostly in [0, 1].
    Rate,
    /// Milliseconds.
    Milliseconds,
    Seconds,
    /// US dollars.
    Cost,
    Count,
}

impl FigureUnit {
    pub fn of_metric(name: &str) -> FigureUnit {
        let (name, _) = split_part(name);
        let counts = [
            "tokens",
            "samples",
            "count",
            "calls",
            "regressions",
            "flaky",
            "total",
        ];
        if name.ends_with("_ms") {
            FigureUnit::Milliseconds
        } else if name.ends_with("_seconds") {
            FigureUnit::Seconds
        } else if name.ends_with("_usd") || name == COST_PER_SAMPLE {
            FigureUnit::Cost
        } else if counts
            .iter()
            .any(|end| name == *end || name.strip_suffix(end).is_some_and(|s| s.ends_with('_')))
            || name.starts_with("tokens_")
        {
            FigureUnit::Count
        } else {
            FigureUnit::Rate
        }
    }

    pub fn format(self, value: f64) -> String {
        if value.is_finite() && value.abs() >= LONG {
            return format!("{value:.3e}");
        }
        match self {
            FigureUnit::Rate => rate(value),
            FigureUnit::Milliseconds => duration_ms(value),
            FigureUnit::Seconds => duration_ms(value * 1000.0),
            FigureUnit::Cost => cost(value),
            FigureUnit::Count => count(value),
        }
    }
}

/// A metric's number in its unit.
pub fn figure(metric: &str, value: f64) -> String {
    FigureUnit::of_metric(metric).format(value)
}

/// A metric's number, or `n/a`.
pub fn figure_or_none(metric: &str, value: Option<f64>) -> String {
    value.map_or_else(|| NO_VALUE.to_owned(), |value| figure(metric, value))
}

/// A rate or score to 3 decimals.
pub fn rate(value: f64) -> String {
    rate_to(value, 3)
}

fn rate_to(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NO_VALUE.to_owned();
    }
    let step = 10f64.powi(-(decimals as i32));
    let written = format!("{value:.decimals$}");
    if value > 0.0 && value < 1.0 {
        match written.parse::<f64>() {
            Ok(0.0) => return format!("<{step:.decimals$}"),
            Ok(1.0) => return format!(">{:.decimals$}", 1.0 - step),
            _ => {}
        }
    }
    // A tiny negative number has no sign worth showing.
    if written.trim_matches(['-', '0', '.']).is_empty() {
        format!("{:.decimals$}", 0.0)
    } else {
        written
    }
}

/// A rate in [0, 1] as a percentage to one decimal: `87.5 %`.
pub fn percent(value: f64) -> String {
    if !value.is_finite() {
        return NO_VALUE.to_owned();
    }
    match format!("{:.1}", value * 100.0).as_str() {
        "100.0" if value < 1.0 => ">99.9 %".to_owned(),
        "0.0" if value > 0.0 => "<0.1 %".to_owned(),
        "100.0" => "100 %".to_owned(),
        "0.0" | "-0.0" => "0 %".to_owned(),
        written => format!("{written} %"),
    }
}

pub fn percent_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NO_VALUE.to_owned(), percent)
}

/// A span of time given in milliseconds, in the unit that suits its size.
pub fn duration_ms(ms: f64) -> String {
    if !ms.is_finite() {
        return NO_VALUE.to_owned();
    }
    if ms < 0.0 {
        // No time passes backwards, but an author's own number may lie below 0.
        return format!("-{}", duration_ms(-ms));
    }
    if ms == 0.0 {
        return "0 ms".to_owned();
    }
    if ms < 0.05 {
        return "<0.1 ms".to_owned();
    }
    if ms < 9.95 {
        return format!("{ms:.1} ms");
    }
    if ms < 999.5 {
        return format!("{ms:.0} ms");
    }
    if ms < 9_995.0 {
        return format!("{:.2} s", ms / 1000.0);
    }
    if ms < 59_950.0 {
        return format!("{:.1} s", ms / 1000.0);
    }
    let seconds = (ms / 1000.0).round();
    let (minutes, rest) = ((seconds / 60.0).floor(), seconds % 60.0);
    if minutes < 60.0 {
        return format!("{minutes} min {rest:02} s");
    }
    format!("{} h {:02} min", (minutes / 60.0).floor(), minutes % 60.0)
}

pub fn duration_seconds(seconds: f64) -> String {
    duration_ms(seconds * 1000.0)
}

/// US dollars: cents from one dollar on, below it enough digits to see the amount.
pub fn cost(usd: f64) -> String {
    if !usd.is_finite() {
        return NO_VALUE.to_owned();
    }
    if usd == 0.0 {
        return "$0".to_owned();
    }
    if usd > 0.0 && usd < 0.000_05 {
        return "<$0.0001".to_owned();
    }
    if usd < 1.0 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// A count or a mean of counts.
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return NO_VALUE.to_owned();
    }
    // What rounding in arithmetic adds to a whole number is not shown.
    let whole = value.round();
    let value = match (value - whole).abs() <= 1e-12 * whole.abs() {
        true => whole,
        false => value,
    };
    if value.fract() == 0.0 {
        let small = (0.0..=9e15).contains(&value);
        return if small {
            text::group_digits(value as usize)
        } else {
            format!("{value:.0}")
        };
    }
    // A mean of 0.96 is not written as 1.0, nor one of 0.04 as 0.0.
    let is_whole = |written: &String| written.trim_end_matches('0').ends_with('.');
    let mut written = (1..=6).map(|decimals| format!("{value:.decimals$}"));
    written
        .find(|written| !is_whole(written))
        .unwrap_or_else(|| format!("{value:e}"))
}

/// A whole number, with its digits in groups.
pub fn number(n: u64) -> String {
    text::group_digits(usize::try_from(n).unwrap_or(usize::MAX))
}

/// So many of something.
pub fn plural(n: u64, noun: &str) -> String {
    text::plural(usize::try_from(n).unwrap_or(usize::MAX), noun)
}

/// Names of metrics in the order in which people read them: rates, pass@k and pass^k by k, scores,
/// latency, cost.
pub fn metrics_in_order(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = summary
        .metrics
        .keys()
        .chain(summary.estimates.keys())
        .map(String::as_str)
        .collect();
    names.sort_by(|a, b| order_of(a).cmp(&order_of(b)).then(a.cmp(b)));
    names.dedup();
    names
}

pub(crate) fn order_of(metric: &str) -> (u8, &str, u64) {
    let (metric, _) = split_part(metric);
    if metric == "corrected_pass_at_1" {
        return (1, "", 1);
    }
    let k_of = |rest: &str| {
        rest.split('_')
            .next()
            .and_then(|k| k.parse().ok())
            .unwrap_or(u64::MAX)
    };
    for (place, prefix) in [(1, "pass_at_"), (2, "pass_hat_")] {
        if let Some(rest) = metric.strip_prefix(prefix) {
            let variant = rest.split_once('_').map_or("", |(_, variant)| variant);
            return (place, variant, k_of(rest));
        }
    }
    match FigureUnit::of_metric(metric) {
        FigureUnit::Rate if metric.contains("pass_rate") => (0, metric, 0),
        FigureUnit::Rate => (3, metric, 0),
        FigureUnit::Milliseconds | FigureUnit::Seconds => {
            let digits = metric.trim_matches(|c: char| !c.is_ascii_digit());
            (
                4,
                metric.split('_').next().unwrap_or(metric),
                digits.parse().unwrap_or(0),
            )
        }
        FigureUnit::Count => (5, metric, 0),
        FigureUnit::Cost => (6, metric, 0),
    }
}

/// A metric as every report shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    pub name: String,
    /// The number, or `n/a`.
    pub value: String,
    /// `[0.710, 0.950]`, or empty.
    pub interval: String,
    /// `[worst, best]` over samples that are not graded, or empty when all are.
    pub range: String,
    /// `40`, or empty when nothing is known.
    pub cases: String,
    /// Why there is no value, or empty.
    pub undefined: String,
}

/// The metrics of a summary that tell something, in reading order.
pub fn metric_rows(summary: &Summary) -> Vec<MetricRow> {
    telling_metrics(summary)
        .into_iter()
        .map(|metric| metric_row(summary, metric))
        .collect()
}

/// The names of [`metric_rows`].
pub fn telling_metrics(summary: &Summary) -> Vec<&str> {
    let mut names = metrics_in_order(summary);
    names.retain(|metric| is_telling(summary, metric));
    names
}

/// The number of a metric.
pub fn value_of(summary: &Summary, metric: &str) -> Option<f64> {
    let measured = summary.metrics.get(metric).copied().flatten();
    measured.or_else(|| summary.estimates.get(metric)?.value)
}

/// One metric of a summary.
pub fn metric_row(summary: &Summary, metric: &str) -> MetricRow {
    let samples = &summary.summary.samples;
    let ungraded = samples.errored + samples.skipped + samples.pending > 0;
    let estimate = summary.estimates.get(metric);
    let value = value_of(summary, metric);
    MetricRow {
        name: shown_metric(metric),
        value: figure_or_none(metric, value),
        interval: interval_of(summary, metric),
        range: estimate
            .filter(|_| ungraded)
            .map(|e| range(metric, e))
            .unwrap_or_default(),
        cases: estimate
            .filter(|e| e.n_cases > 0)
            .map(|e| text::group_digits(e.n_cases))
            .unwrap_or_default(),
        undefined: match value {
            Some(_) => String::new(),
            None => estimate
                .and_then(|e| e.undefined.as_deref())
                .map_or_else(|| "nothing was measured".to_owned(), text::one_line),
        },
    }
}

/// False for what would only fill the page: pass^1, which is pass@1; rates over a single eval;
/// counts of nothing; judges without a fault; latencies, tokens and costs that were not measured. A
/// metric with a threshold is always shown.
fn is_telling(summary: &Summary, metric: &str) -> bool {
    let value = summary.metrics.get(metric).copied().flatten();
    let dull = match metric.parse::<Metric>() {
        Ok(Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => true,
        // One eval passes or fails; a rate of it says nothing.
        Ok(
            Metric::PassRate
            | Metric::CapabilityPassRate
            | Metric::RegressionPassRate
            | Metric::WeightedScore,
        ) => summary.summary.total_evals == 1,
        Ok(Metric::FailedSamples | Metric::ErroredSamples | Metric::FlakySamples) => {
            value == Some(0.0)
        }
        // The section on judges tells them all.
        Ok(metric) if metric.is_of_judges() => value.is_none_or(|value| {
            value
                == if metric.bound() == Bound::Max {
                    0.0
                } else {
                    1.0
                }
        }),
        Ok(metric) => metric.bound() == Bound::Max && value.is_none(),
        Err(_) => false,
    };
    !dull
        || summary
            .gate
            .thresholds
            .iter()
            .any(|threshold| threshold.metric == metric)
}

fn bracket(metric: &str, [low, high]: [f64; 2]) -> String {
    format!("[{}, {}]", figure(metric, low), figure(metric, high))
}

fn range(metric: &str, estimate: &Estimate) -> String {
    match (estimate.worst, estimate.best) {
        (Some(worst), Some(best)) if worst != best => bracket(metric, [worst, best]),
        _ => String::new(),
    }
}

/// A metric's interval as `[0.710, 0.950]`, or empty.
pub fn interval_of(summary: &Summary, metric: &str) -> String {
    let ends = summary
        .estimates
        .get(metric)
        .and_then(|estimate| estimate.ci);
    ends.map(|ends| bracket(metric, ends)).unwrap_or_default()
}

/// `95 % CI`, from the first estimate that has an interval.
pub fn interval_label(summary: &Summary) -> String {
    let level = summary
        .estimates
        .values()
        .find(|e| e.ci.is_some())
        .map_or(0.95, |e| e.level);
    format!("{} CI", percent(level).replace(".0 ", " "))
}

/// What the intervals are about, and why figures have none, in sentences; nothing where no metric
/// could have one.
pub fn interval_notes(summary: &Summary) -> Vec<String> {
    let estimates = || summary.estimates.values();
    let mut notes = Vec::new();
    if estimates().any(|estimate| estimate.ci.is_some()) {
        notes.push(format!(
            "Intervals are for {}.",
            summary.metadata.interval_scope.about()
        ));
    }
    let mut reasons: Vec<&str> = estimates()
        .filter_map(|estimate| estimate.note.as_deref())
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons.retain(|reason| !reason.is_empty());
    notes.extend(reasons.into_iter().map(|reason| capitalized(reason) + "."));
    notes
}

/// Words as they begin a sentence.
pub fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// A threshold as every report shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdRow {
    /// `pass@1`, or `pass@1 (lower end)` when an end of the interval is held against the threshold.
    pub metric: String,
    pub value: String,
    /// `>= 0.850`.
    pub needs: String,
    pub status: Decision,
}

/// A threshold in words. Value and threshold get as many decimals as it takes to tell them apart.
pub fn threshold_row(threshold: &ThresholdResult) -> ThresholdRow {
    let name = shown_metric(&threshold.metric);
    let metric = match threshold.on {
        Figure::Value => name,
        Figure::CiLower => format!("{name} (lower end)"),
        Figure::CiUpper => format!("{name} (upper end)"),
    };
    let sign = match threshold.bound {
        Bound::Min => ">=",
        Bound::Max => "<=",
    };
    let unit = FigureUnit::of_metric(&threshold.metric);
    let limit = limit(unit, threshold.threshold);
    let (value, limit) = match threshold.value {
        None => (NO_VALUE.to_owned(), limit),
        Some(value) if unit == FigureUnit::Rate => (on_its_side(value, threshold.threshold), limit),
        Some(value) if value != threshold.threshold && unit.format(value) == limit => {
            told_apart(unit, value, threshold.threshold)
        }
        Some(value) => (unit.format(value), limit),
    };
    ThresholdRow {
        metric,
        value,
        needs: format!("{sign} {limit}"),
        status: threshold.status,
    }
}

/// What a threshold asks for: a rate that three decimals would round is written out.
fn limit(unit: FigureUnit, threshold: f64) -> String {
    let written = unit.format(threshold);
    let rounded = unit == FigureUnit::Rate && written.parse() != Ok(threshold);
    if rounded {
        threshold.to_string()
    } else {
        written
    }
}

/// A rate to 3 decimals, or to as many more as it takes to see on which side of the threshold it
/// is.
fn on_its_side(value: f64, threshold: f64) -> String {
    // The last bits of a computed share decide nothing.
    let value = if (value - threshold).abs() <= 1e-12 {
        threshold
    } else {
        value
    };
    let stands_right = |text: &String| {
        text.parse::<f64>()
            .is_ok_and(|shown| shown.partial_cmp(&threshold) == value.partial_cmp(&threshold))
    };
    let brief = rate(value);
    if stands_right(&brief) || brief.starts_with(['<', '>']) {
        return brief;
    }
    (4..=17)
        .map(|decimals| format!("{value:.decimals$}"))
        .find(stands_right)
        .unwrap_or(brief)
}

/// Two different numbers, written with as many decimals as it takes to see that they differ.
fn told_apart(unit: FigureUnit, a: f64, b: f64) -> (String, String) {
    let write = |number: f64, decimals: usize| match unit {
        FigureUnit::Milliseconds => format!("{number:.decimals$} ms"),
        FigureUnit::Seconds => format!("{number:.decimals$} s"),
        FigureUnit::Cost => format!("${number:.decimals$}"),
        FigureUnit::Rate | FigureUnit::Count => format!("{number:.decimals$}"),
    };
    let mut pairs = (0..=17).map(|decimals| (write(a, decimals), write(b, decimals)));
    pairs
        .clone()
        .find(|(a, b)| a != b)
        .or(pairs.next_back())
        .unwrap_or_default()
}

/// `PASS`, `FAIL`, `INCOMPLETE`, `PENDING`, `UNDECIDED`.
pub fn decision_label(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "PASS",
        Decision::Fail => "FAIL",
        Decision::Incomplete => "INCOMPLETE",
        Decision::Pending => "PENDING",
        Decision::Undecided => "UNDECIDED",
    }
}

/// The evals' part of the totals, as counts.
pub fn eval_counts(totals: &Totals) -> Counts {
    Counts {
        total: totals.total_evals,
        passed: totals.passed,
        failed: totals.failed,
        errored: totals.errored,
        skipped: totals.skipped,
        pending: totals.pending,
        pass_rate: totals.pass_rate,
    }
}

/// The order in which outcomes are to be looked at: from what failed to what passed.
pub fn urgency(outcome: Outcome) -> Option<usize> {
    URGENCY.iter().position(|urgent| *urgent == outcome)
}

pub const URGENCY: [Outcome; 5] = [
    Outcome::Failed,
    Outcome::Errored,
    Outcome::Pending,
    Outcome::Skipped,
    Outcome::Passed,
];

/// How many ended so.
pub fn count_of(counts: &Counts, outcome: Outcome) -> usize {
    match outcome {
        Outcome::Passed => counts.passed,
        Outcome::Failed => counts.failed,
        Outcome::Errored => counts.errored,
        Outcome::Skipped => counts.skipped,
        Outcome::Pending => counts.pending,
    }
}

/// The outcomes that occur, by name, with their counts: what passed first.
pub fn occurring(counts: &Counts) -> impl Iterator<Item = (&'static str, usize)> {
    let outcomes = [
        Outcome::Passed,
        Outcome::Failed,
        Outcome::Errored,
        Outcome::Pending,
        Outcome::Skipped,
    ];
    let named = outcomes.map(|outcome| (outcome.name(), count_of(counts, outcome)));
    named.into_iter().filter(|(_, count)| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_never_round_into_success_or_nothing() {
        for (value, written) in [
            (0.0, "0.000"),
            (1.0, "1.000"),
            (0.875, "0.875"),
            (0.9999, ">0.999"),
            (0.0001, "<0.001"),
            (-0.0, "0.000"),
            (2.5, "2.500"),
            (f64::NAN, "n/a"),
        ] {
            assert_eq!(rate(value), written);
        }
        for (value, written) in [
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.9999, ">99.9 %"),
            (0.0001, "<0.1 %"),
            (0.875, "87.5 %"),
            (0.5, "50.0 %"),
        ] {
            assert_eq!(percent(value), written);
        }
    }

    #[test]
    fn durations_take_the_unit_that_suits() {
        for (ms, written) in [
            (0.0, "0 ms"),
            (0.01, "<0.1 ms"),
            (0.42, "0.4 ms"),
            (9.96, "10 ms"),
            (12.4, "12 ms"),
            (999.6, "1.00 s"),
            (1234.0, "1.23 s"),
            (59_940.0, "59.9 s"),
            (59_960.0, "1 min 00 s"),
            (125_400.0, "2 min 05 s"),
            (3_725_000.0, "1 h 02 min"),
            (f64::INFINITY, "n/a"),
            (-5.0, "-5.0 ms"),
            (-1234.0, "-1.23 s"),
        ] {
            assert_eq!(duration_ms(ms), written);
        }
    }

    #[test]
    fn costs_and_counts() {
        assert_eq!(cost(0.0), "$0");
        assert_eq!(cost(0.00001), "<$0.0001");
        assert_eq!(cost(0.0123), "$0.0123");
        assert_eq!(cost(12.345), "$12.35");
        assert_eq!(count(12345.0), "12,345");
        assert_eq!(count(2.25), "2.2");
        assert_eq!(
            [0.04, 0.96, 12.004, -0.5, -3.0].map(count),
            ["0.04", "0.96", "12.004", "-0.5", "-3"]
        );
        assert_eq!(count(1e-9), "1e-9");
        assert_eq!(count(2.000_000_000_000_000_4), "2");
        assert_eq!(count(3.999_999_999_999_999_6), "4");
    }

    #[test]
    fn what_an_authors_program_measures_stays_short() {
        let all = ["x", "x_ms", "x_usd", "x_count"].map(|metric| figure(metric, -1.7e308));
        assert_eq!(all, ["-1.700e308"; 4]);
    }

    #[test]
    fn metrics_have_their_usual_names_and_units() {
        for (metric, name, value) in [
            ("pass_at_3", "pass@3", "0.500"),
            ("pass_hat_3", "pass^3", "0.500"),
            ("pass_hat_3_unbiased", "pass^3 (unbiased)", "0.500"),
            ("pass_at_1_weighted", "pass@1 (weighted)", "0.500"),
            ("pass_rate", "pass rate", "0.500"),
            ("pass_at_all", "pass at all", "0.500"),
            ("latency_p95_ms", "latency p95", "0.5 ms"),
            ("cost_usd", "cost", "$0.5000"),
            ("input_tokens", "input tokens", "0.5"),
            ("failed_samples", "failed samples", "0.5"),
            (
                "pass_hat_3_unbiased[tag=a_b]",
                "pass^3 (unbiased) [tag=a_b]",
                "0.500",
            ),
            (
                "latency_p95_ms[eval=cap-*]",
                "latency p95 [eval=cap-*]",
                "0.5 ms",
            ),
            (
                "tokens[category=tokens_ms]",
                "tokens [category=tokens_ms]",
                "0.5",
            ),
        ] {
            assert_eq!(shown_metric(metric), name);
            assert_eq!(figure(metric, 0.5), value);
        }
    }

    #[test]
    fn a_missed_threshold_shows_by_how_little() {
        let row = |metric: &str, value: f64, bound: Bound, threshold: f64, on: Figure| {
            let metric = metric.to_owned();
            let status = Decision::Fail;
            let row = threshold_row(&ThresholdResult {
                metric,
                value: Some(value),
                bound,
                threshold,
                on,
                status,
            });
            format!("{}: {} {}", row.metric, row.value, row.needs)
        };
        let near = row("pass_at_1", 0.8496, Bound::Min, 0.85, Figure::CiLower);
        assert_eq!(near, "pass@1 (lower end): 0.8496 >= 0.850");
        let nearer = row("pass_rate", 0.849_999_9, Bound::Min, 0.85, Figure::Value);
        assert_eq!(nearer, "pass rate: 0.8499999 >= 0.850");
        // A demand is shown as it was written, whatever is rounded beside it.
        let fine = |value| row("pass_rate", value, Bound::Min, 0.8765, Figure::Value);
        assert_eq!(fine(0.9), "pass rate: 0.900 >= 0.8765");
        assert_eq!(fine(0.876_54), "pass rate: 0.877 >= 0.8765");
        assert_eq!(fine(0.876_49), "pass rate: 0.876 >= 0.8765");
        assert_eq!(fine(0.876_5 + 1e-16), "pass rate: 0.8765 >= 0.8765");
        let strict = row("score", 0.999_7, Bound::Min, 0.999_99, Figure::CiLower);
        assert_eq!(strict, "score (lower end): >0.999 >= 0.99999");
        let slow = row("latency_p95_ms", 2000.4, Bound::Max, 2000.0, Figure::Value);
        assert_eq!(slow, "latency p95: 2000.4 ms <= 2000.0 ms");
        assert_eq!(
            row("pass_rate", 0.5, Bound::Min, 0.85, Figure::Value),
            "pass rate: 0.500 >= 0.850"
        );
    }
}
