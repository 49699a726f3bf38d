//! How differences, their intervals and chances are written: nothing that is not 0 is written as 0.

use crate::model::{Metric, split_part};
use crate::report::figures;
pub use crate::summary::compare::chance as p_value;

/// True when differences of the metric are written in percentage points, and not as the metric
/// itself: only of what is known to be a share, since an author's own number may have any size.
pub fn is_in_points(metric: &str) -> bool {
    let (name, _) = split_part(metric);
    match name.parse::<Metric>() {
        Ok(Metric::Named(_)) | Err(_) => false,
        Ok(metric) => {
            figures::FigureUnit::of_metric(&metric.to_string()) == figures::FigureUnit::Rate
        }
    }
}

/// A difference with its sign and unit: `-6.0 points`, `+120 ms`, `=`. Nothing that is not 0 is
/// written as 0.
pub fn difference(metric: &str, difference: f64) -> String {
    let written = amount(metric, difference);
    match written.as_str() {
        "0" => "=".to_owned(),
        figures::NO_VALUE => written,
        _ if is_in_points(metric) => format!("{written} points"),
        _ => written,
    }
}

fn amount(metric: &str, difference: f64) -> String {
    match is_in_points(metric) {
        true => points(difference),
        false => own(metric, difference),
    }
}

/// An interval of differences in brackets, in the unit of [`difference`], or empty.
pub fn interval(metric: &str, ci: Option<[f64; 2]>) -> String {
    let Some([low, high]) = ci else {
        return String::new();
    };
    format!("[{}, {}]", amount(metric, low), amount(metric, high))
}

/// A difference of shares in percentage points: one decimal, more when it would be 0 otherwise.
pub fn points(share: f64) -> String {
    let points = share * 100.0;
    if !points.is_finite() {
        return figures::NO_VALUE.to_owned();
    }
    // Sums of shares differ in their last bits though they are the same.
    if points.abs() < 1e-9 {
        return "0".to_owned();
    }
    decimals(points, 1, true)
}

fn own(metric: &str, value: f64) -> String {
    if !value.is_finite() {
        return figures::NO_VALUE.to_owned();
    }
    if value.abs() < 1e-12 {
        return "0".to_owned();
    }
    let sign = if value > 0.0 { '+' } else { '-' };
    let size = value.abs();
    let written = match figures::FigureUnit::of_metric(metric) {
        // A difference has no bound at 1, and how small it is tells something.
        figures::FigureUnit::Rate if size < 1.0 => decimals(size, 3, false),
        unit => unit.format(size),
    };
    match written.strip_prefix('<') {
        Some(limit) => format!("{sign}<{limit}"),
        None => format!("{sign}{written}"),
    }
}

/// A number with at least so many decimals, more when it would be written as 0 otherwise.
fn decimals(value: f64, least: usize, signed: bool) -> String {
    let write = |decimals: usize| match signed {
        true => format!("{value:+.decimals$}"),
        false => format!("{value:.decimals$}"),
    };
    let is_zero = |written: &String| written.trim_matches(['+', '-', '0', '.']).is_empty();
    (least..=15)
        .map(write)
        .find(|written| !is_zero(written))
        .unwrap_or_else(|| format!("{value:e}"))
}

/// A size without a sign: `4.1 points`.
pub fn size(metric: &str, size: f64) -> String {
    difference(metric, size.abs())
        .trim_start_matches('+')
        .to_owned()
}
