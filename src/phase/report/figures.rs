//! The table of metrics: those with thresholds, and those that the phase asks for.

use crate::model::{EvalStepResult, Figure, Metric, Summary};
use crate::report::figures::{
    self, FigureUnit, NO_VALUE, decision_label, figure_or_none, interval_of, shown_metric,
    threshold_row,
};
use crate::report::page::DrawnInterval;

/// What is written where a metric has no threshold.
pub const NO_THRESHOLD: &str = "-";

/// A line of the table, not yet escaped.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseMetricRow {
    /// The canonical name, which says where the line stands.
    pub metric: String,
    pub name: String,
    pub value: String,
    pub interval: String,
    /// `>= 0.85`, or `-`.
    pub threshold: String,
    /// `PASS`, `FAIL`, `INCOMPLETE`, `PENDING`, or `-`.
    pub status: &'static str,
}

/// Thresholds, and metrics that were asked for without one, as people read them. Where there are
/// neither, the shares that passed.
pub fn rows(eval: &EvalStepResult) -> Vec<PhaseMetricRow> {
    let summary = &eval.eval_report;
    let mut rows: Vec<PhaseMetricRow> = summary
        .gate
        .thresholds
        .iter()
        .map(|threshold| {
            let row = threshold_row(threshold);
            PhaseMetricRow {
                metric: threshold.metric.clone(),
                name: row.metric,
                value: brief(&threshold.metric, &row.value),
                interval: interval_of(summary, &threshold.metric),
                threshold: needs(&threshold.metric, &row.needs),
                status: decision_label(row.status),
            }
        })
        .collect();
    let held = |metric: &str| {
        summary
            .gate
            .thresholds
            .iter()
            .any(|held| held.metric == metric && held.on == Figure::Value)
    };
    let asked: Vec<&str> = match (eval.metrics.as_slice(), rows.as_slice()) {
        ([], []) => shares(summary),
        (asked, _) => asked.iter().map(String::as_str).collect(),
    };
    for metric in asked {
        if !held(metric)
            && !rows
                .iter()
                .any(|row| row.metric == metric && row.threshold == NO_THRESHOLD)
        {
            rows.push(unbounded(summary, metric));
        }
    }
    rows.sort_by(|a, b| {
        figures::order_of(&a.metric)
            .cmp(&figures::order_of(&b.metric))
            .then_with(|| a.metric.cmp(&b.metric))
    });
    rows
}

fn unbounded(summary: &Summary, metric: &str) -> PhaseMetricRow {
    PhaseMetricRow {
        metric: metric.to_owned(),
        name: shown_metric(metric),
        value: brief(
            metric,
            &figure_or_none(metric, figures::value_of(summary, metric)),
        ),
        interval: interval_of(summary, metric),
        threshold: NO_THRESHOLD.to_owned(),
        status: NO_THRESHOLD,
    }
}

/// The share of evals that passed, pass@k and pass^k. pass^1 is pass@1.
fn shares(summary: &Summary) -> Vec<&str> {
    let names = summary.metrics.keys().map(String::as_str);
    let is_share = |name: &&str| {
        matches!(name.parse(), Ok(Metric::PassRate | Metric::PassAt(_)))
            || matches!(name.parse(), Ok(Metric::PassHat(k)) if k > 1)
    };
    names.filter(is_share).collect()
}

/// A rate without zeros behind its second decimal: `0.92`, `0.923`.
fn brief(metric: &str, written: &str) -> String {
    if FigureUnit::of_metric(metric) != FigureUnit::Rate {
        return written.to_owned();
    }
    let Some((whole, decimals)) = written.split_once('.') else {
        return written.to_owned();
    };
    let kept = decimals
        .trim_end_matches('0')
        .len()
        .max(2)
        .min(decimals.len());
    match decimals.get(..kept) {
        Some(decimals) if written.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
            format!("{whole}.{decimals}")
        }
        _ => written.to_owned(),
    }
}

/// `>= 0.850` as `>= 0.85`.
fn needs(metric: &str, needs: &str) -> String {
    match needs.split_once(' ') {
        Some((sign, number)) => format!("{sign} {}", brief(metric, number)),
        None => needs.to_owned(),
    }
}

/// What can be drawn of a line; `None` where its value is not a share.
pub fn interval(summary: &Summary, row: &PhaseMetricRow) -> Option<DrawnInterval> {
    let is_rate = FigureUnit::of_metric(&row.metric) == FigureUnit::Rate;
    let value = figures::value_of(summary, &row.metric).filter(|_| is_rate)?;
    let mut thresholds = summary.gate.thresholds.iter();
    let threshold = thresholds.find(|threshold| {
        threshold.metric == row.metric && threshold_row(threshold).metric == row.name
    });
    (0.0..=1.0).contains(&value).then(|| DrawnInterval {
        value,
        ends: summary.estimates.get(&row.metric).and_then(|e| e.ci),
        limit: threshold.map(|threshold| threshold.threshold),
    })
}

/// Why a metric has no value; `None` when it has one.
pub fn undefined<'a>(summary: &'a Summary, row: &PhaseMetricRow) -> Option<&'a str> {
    let why = summary
        .estimates
        .get(&row.metric)
        .and_then(|estimate| estimate.undefined.as_deref());
    (row.value == NO_VALUE).then(|| why.unwrap_or("nothing was measured"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_at_least_two_decimals_and_no_needless_zeros() {
        for (metric, written, brief_one) in [
            ("pass_at_1", "0.920", "0.92"),
            ("pass_at_1", "0.923", "0.923"),
            ("pass_at_1", "1.000", "1.00"),
            ("pass_at_1", "0.000", "0.00"),
            ("pass_at_1", "0.8500", "0.85"),
            ("pass_at_1", "0.84999", "0.84999"),
            ("pass_at_1", ">0.999", ">0.999"),
            ("pass_at_1", "n/a", "n/a"),
            ("latency_p95_ms", "1.20 s", "1.20 s"),
            ("cost_usd", "$0.5000", "$0.5000"),
        ] {
            assert_eq!(brief(metric, written), brief_one);
        }
        assert_eq!(needs("pass_at_1", ">= 0.850"), ">= 0.85");
        assert_eq!(needs("latency_p95_ms", "<= 2.00 s"), "<= 2.00 s");
    }
}
