//! Where differences are drawn: an axis around zero for what has one unit and one better side.

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Comparison, GroupDifference, MetricDifference};
use crate::report::comparison::words::{self, ComparisonRow, MetricLeaning};
use eval_base::text;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct AxisTick {
    at: f64,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct PlotPoint {
    name: String,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    text: String,
    /// `worse` or `better` where it is more than chance.
    leaning: Option<MetricLeaning>,
    decides: bool,
    /// Where the difference would be if all without a grade had gone against, or for, the
    /// candidate.
    range: Option<[f64; 2]>,
    said: String,
}

/// Ticks that an axis has room for.
const TICKS: f64 = 5.0;

/// What lies on one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlotAxis {
    points: bool,
    higher_is_better: Option<bool>,
    /// What is paired: of few evals intervals are so wide that those of many cases would be dots
    /// beside them.
    unit: String,
}

impl PlotAxis {
    fn of(metric: &MetricDifference) -> PlotAxis {
        PlotAxis {
            points: words::is_in_points(&metric.name),
            higher_is_better: metric.higher_is_better,
            unit: text::one_line(&metric.unit),
        }
    }

    fn scale(&self) -> &'static str {
        match self.points {
            true => "percentage points",
            false => "per cent of the reference",
        }
    }

    fn title(&self) -> String {
        let (scale, unit) = (self.scale(), &self.unit);
        // Axes of one scale and unit differ by their better side alone.
        let better = match self.higher_is_better {
            Some(true) => "; higher is better",
            Some(false) => "; lower is better",
            None => "",
        };
        format!("Difference in {scale}, {unit} by {unit}{better}")
    }

    /// The side of zero on which the candidate is worse, where one is.
    fn worse(&self) -> Option<&'static str> {
        self.higher_is_better
            .map(|higher| if higher { "left" } else { "right" })
    }
}

/// Every metric that can be drawn, by what lies on one axis.
pub fn of_metrics(metrics: &[&MetricDifference], comparison: &Comparison) -> Vec<Value> {
    let mut axes: Vec<(PlotAxis, Vec<PlotPoint>)> = Vec::new();
    for metric in metrics {
        let axis = PlotAxis::of(metric);
        let row = words::row(metric, comparison);
        let Some(point) = point(metric, &row, row.name.clone(), row.moved) else {
            continue;
        };
        match axes.iter_mut().find(|(known, _)| *known == axis) {
            Some((_, points)) => points.push(point),
            None => axes.push((axis, vec![point])),
        }
    }
    // Where nothing differs and nobody knows by how much it could, there is nothing to see.
    let tells = |(_, points): &(PlotAxis, Vec<PlotPoint>)| {
        points.iter().any(|at| at.value != 0.0 || at.low.is_some())
    };
    axes.into_iter()
        .filter(tells)
        .map(|(axis, points)| plot(&axis, axis.title(), points))
        .collect()
}

/// One metric by group; nothing when no group has a difference.
pub fn of_groups(groups: &[&GroupDifference], comparison: &Comparison) -> Option<Value> {
    let axis = PlotAxis::of(&groups.first()?.metric);
    let of_group = |group: &&GroupDifference| {
        let row = words::row(&group.metric, comparison);
        let moved = group.verdict != crate::model::ComparisonVerdict::None;
        point(&group.metric, &row, text::one_line(&group.group), moved)
    };
    let points: Vec<PlotPoint> = groups.iter().filter_map(of_group).collect();
    (!points.is_empty()).then(|| plot(&axis, axis.title(), points))
}

/// The metrics that verdicts rest on, with a line for each candidate.
pub fn across(candidates: &[Comparison]) -> Vec<Value> {
    let mut plots: Vec<(String, PlotAxis, Vec<PlotPoint>)> = Vec::new();
    for comparison in candidates {
        for metric in words::telling(comparison) {
            let row = words::row(metric, comparison);
            if !row.decides {
                continue;
            }
            let name = words::label(&comparison.candidate);
            let Some(point) = point(metric, &row, name, row.moved) else {
                continue;
            };
            match plots.iter_mut().find(|(metric, ..)| *metric == row.name) {
                Some((.., points)) => points.push(point),
                None => plots.push((row.name.clone(), PlotAxis::of(metric), vec![point])),
            }
        }
    }
    let drawn = |(name, axis, points): (String, PlotAxis, Vec<PlotPoint>)| {
        let title = format!("{name}: difference in {}", axis.scale());
        plot(&axis, title, points)
    };
    plots.into_iter().map(drawn).collect()
}

fn point(
    metric: &MetricDifference,
    row: &ComparisonRow,
    name: String,
    moved: bool,
) -> Option<PlotPoint> {
    // Shares lie on one axis as they are; what has a unit of its own as a share of the reference.
    let whole = match PlotAxis::of(metric).points {
        true => 1.0,
        false => metric
            .reference
            .map(f64::abs)
            .filter(|whole| *whole > 0.0)?,
    };
    let at = |value: f64| Some(value / whole).filter(|at| at.is_finite());
    let value = at(metric.difference?)?;
    let ends = metric
        .ci
        .and_then(|[low, high]| Some([at(low)?, at(high)?]));
    let range = match (metric.worst.and_then(at), metric.best.and_then(at)) {
        (Some(worst), Some(best)) if !row.range.is_empty() => Some([worst, best]),
        _ => None,
    };
    let said = [row.difference.as_str(), row.interval.as_str()];
    Some(PlotPoint {
        name,
        value,
        low: ends.map(|[low, _]| low),
        high: ends.map(|[_, high]| high),
        text: said
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        leaning: row.leaning.filter(|_| moved),
        decides: row.decides,
        range,
        said: row.range.clone(),
    })
}

fn plot(axis: &PlotAxis, title: String, rows: Vec<PlotPoint>) -> Value {
    let places = rows.iter().flat_map(|row| {
        let ends = row.range.into_iter().flatten();
        [Some(row.value), row.low, row.high]
            .into_iter()
            .flatten()
            .chain(ends)
    });
    let (low, high) = places.fold((0.0_f64, 0.0_f64), |(low, high), at| {
        (low.min(at), high.max(at))
    });
    let span = if high - low > 0.0 { high - low } else { 0.02 };
    // Both sides of zero are there, so that it is seen which one is empty.
    let room = 0.12 * span;
    let (min, max) = ((low - room).min(-room), (high + room).max(room));
    let ticks = ticks(min, max, axis.points);
    json!({ "title": title, "worse": axis.worse(), "min": min, "max": max, "ticks": ticks, "rows": rows })
}

/// Round numbers within, zero among them.
fn ticks(min: f64, max: f64, points: bool) -> Vec<AxisTick> {
    let least = (max - min) / TICKS;
    let power = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|step| *step >= least)
        .unwrap_or(least);
    let (from, to) = ((min / step).ceil(), (max / step).floor());
    if !(step > 0.0 && from.is_finite() && to.is_finite()) {
        return Vec::new();
    }
    let decimals = (-(step * 100.0).log10().floor()).clamp(0.0, 12.0) as usize;
    let unit = if points { "" } else { " %" };
    let tick = |n: i64| {
        let at = n as f64 * step;
        let text = match n {
            0 => "0".to_owned(),
            _ if (at * 100.0).abs() >= 1e6 => format!("{:+.0e}{unit}", at * 100.0),
            _ => format!("{:+.decimals$}{unit}", at * 100.0),
        };
        AxisTick { at, text }
    };
    (from as i64..=to as i64)
        .take(2 * TICKS as usize)
        .map(tick)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(min: f64, max: f64, points: bool) -> Vec<String> {
        ticks(min, max, points)
            .into_iter()
            .map(|tick| tick.text)
            .collect()
    }

    #[test]
    fn axes_have_round_numbers_and_zero() {
        assert_eq!(texts(-0.1, 0.03, true), ["-10", "-5", "0"]);
        assert_eq!(
            texts(-0.0007, 0.0012, true),
            ["-0.05", "0", "+0.05", "+0.10"]
        );
        assert_eq!(
            texts(-0.1, 2.4, false),
            ["0 %", "+50 %", "+100 %", "+150 %", "+200 %"].map(|t| if t == "0 %" {
                "0"
            } else {
                t
            })
        );
        assert_eq!(texts(-3e20, 1e20, false).len(), 5);
    }

    proptest! {
        #[test]
        fn any_axis_has_few_ticks_within_it(low in -1e300_f64..0.0, high in 0.0_f64..1e300) {
            let at: Vec<f64> = ticks(low, high, true).into_iter().map(|tick| tick.at).collect();
            prop_assert!(at.len() <= 10);
            prop_assert!(at.iter().all(|at| (low..=high).contains(at)));
        }
    }
}
