//! Metrics with where their intervals and thresholds lie, and pass@k over k.

use serde_json::{Value, json};

use crate::model::{Decision, Estimate, Metric, Summary};
use crate::report::figures::{self, FigureUnit};

/// Metrics in reading order. Those that lie in [0, 1] with all that is known of them are `drawn` on
/// one axis.
pub(super) fn of(summary: &Summary) -> Value {
    let names = figures::telling_metrics(summary);
    let rows: Vec<Value> = names.iter().map(|metric| row(summary, metric)).collect();
    let ranged = names
        .iter()
        .any(|metric| !figures::metric_row(summary, metric).range.is_empty());
    json!({
        "rows": rows,
        "interval_label": figures::interval_label(summary),
        "interval_notes": figures::interval_notes(summary),
        "ranged": ranged,
    })
}

fn row(summary: &Summary, metric: &str) -> Value {
    let row = figures::metric_row(summary, metric);
    let estimate = summary.estimates.get(metric);
    let value = figures::value_of(summary, metric);
    let ci = estimate.and_then(|e| e.ci);
    let range = estimate
        .filter(|_| !row.range.is_empty())
        .and_then(|e| Some([e.worst?, e.best?]));
    let limits: Vec<Value> = summary
        .gate
        .thresholds
        .iter()
        .filter(|threshold| threshold.metric == metric)
        .map(|threshold| {
            let row = figures::threshold_row(threshold);
            json!({ "at": threshold.threshold, "title": format!("{} needs {}", row.metric, row.needs), "needs": row.needs,
                "status": row.status.name() })
        })
        .collect();
    let places = value
        .into_iter()
        .chain(ci.into_iter().flatten())
        .chain(range.into_iter().flatten());
    let drawn = FigureUnit::of_metric(metric) == FigureUnit::Rate
        && places.into_iter().all(|at| (0.0..=1.0).contains(&at));
    json!({
        "name": row.name,
        "value": row.value,
        "interval": row.interval,
        "range": row.range,
        "cases": row.cases,
        "undefined": row.undefined,
        "method": ci.and(estimate).map_or("", method),
        "status": worst_status(summary, metric),
        "drawn": drawn,
        "at": { "value": value, "low": ci.map(|ci| ci[0]), "high": ci.map(|ci| ci[1]), "range": range },
        "limits": limits,
    })
}

/// The status of the threshold that speaks most against the metric; `null` without one.
fn worst_status(summary: &Summary, metric: &str) -> Option<&'static str> {
    let grave = |status: &Decision| match status {
        Decision::Fail => 3,
        Decision::Incomplete => 2,
        Decision::Pending | Decision::Undecided => 1,
        Decision::Pass => 0,
    };
    let of_it = summary
        .gate
        .thresholds
        .iter()
        .filter(|threshold| threshold.metric == metric);
    of_it
        .map(|threshold| threshold.status)
        .max_by_key(grave)
        .map(Decision::name)
}

/// How an interval was made, in words.
fn method(estimate: &Estimate) -> &str {
    match estimate.method.as_str() {
        "empirical_likelihood" => "empirical likelihood",
        "none" => "",
        other => other,
    }
}

/// Whether a metric belongs to a line.
type IsOf = fn(&Metric) -> bool;

/// pass@k and pass^k over k, where at least two of a kind are defined.
pub(super) fn curve(summary: &Summary) -> Vec<Value> {
    let kinds: [(&str, IsOf); 3] = [
        ("pass@k", |metric| matches!(metric, Metric::PassAt(_))),
        ("pass^k", |metric| matches!(metric, Metric::PassHat(_))),
        ("pass^k (unbiased)", |metric| {
            matches!(metric, Metric::PassHatUnbiased(_))
        }),
    ];
    let all: Vec<(u32, Metric, &str)> = figures::metrics_in_order(summary)
        .into_iter()
        .filter_map(|name| name.parse::<Metric>().ok().map(|metric| (metric, name)))
        .filter_map(|(metric, name)| Some((metric.k()?, metric, name)))
        .collect();
    let series = |(name, is_of): (&str, IsOf)| {
        let points: Vec<Value> = all
            .iter()
            .filter(|(_, metric, _)| is_of(metric))
            .map(|(k, _, metric)| {
                let row = figures::metric_row(summary, metric);
                let estimate = summary.estimates.get(*metric);
                let ci = estimate.and_then(|e| e.ci);
                let value = summary.metrics.get(*metric).copied().flatten();
                let text = format!("{} {}", row.value, row.interval);
                let low_high = (ci.map(|ci| ci[0]), ci.map(|ci| ci[1]));
                json!({ "x": k, "value": value, "low": low_high.0, "high": low_high.1, "text": text.trim_end() })
            })
            .collect();
        let defined = points.iter().filter(|point| !point["value"].is_null());
        (defined.count() > 1).then(|| json!({ "name": name, "points": points }))
    };
    kinds.into_iter().filter_map(series).collect()
}
