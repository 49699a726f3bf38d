//! Numbers of a comparison in words.

use super::values::Measure;
use crate::base::text::plural;
use crate::model::{Metric, MetricDifference};
use crate::stats::TestMethod;

/// How a metric is called in a sentence.
pub(super) fn spoken(measure: &Measure) -> String {
    match measure.metric {
        Metric::PassAt(k) => format!("pass@{k}"),
        Metric::PassHat(k) => format!("pass^{k}"),
        Metric::PassHatUnbiased(k) => format!("pass^{k} (unbiased)"),
        _ => measure.name(),
    }
}

/// Digits behind the point so that a number that is not 0 is not written as 0.
fn fixed(value: f64, digits: usize) -> String {
    for more in digits..=12 {
        let text = format!("{value:.more$}");
        if value == 0.0 || text.contains(|c: char| ('1'..='9').contains(&c)) {
            return if value == 0.0 { format!("{:.digits$}", 0.0) } else { text };
        }
    }
    format!("{value:e}")
}

/// Enough digits for a number that may be large or small.
fn plain(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    fixed(value, digits)
}

/// The unit of a metric that is no share.
fn unit(name: &str) -> &'static str {
    match name {
        "latency_mean_ms" => " ms",
        super::TOKENS_PER_SAMPLE => " tokens",
        super::COST_PER_SAMPLE => " USD",
        _ => "",
    }
}

/// Two values of a metric, with so many digits that they look different when they are.
pub(super) fn two_values(measure: &Measure, a: f64, b: f64) -> (String, String) {
    if !measure.share {
        let unit = unit(&measure.name());
        return (format!("{}{unit}", plain(a)), format!("{}{unit}", plain(b)));
    }
    for digits in 3..=9 {
        let (left, right) = (format!("{a:.digits$}"), format!("{b:.digits$}"));
        if left != right || (a - b).abs() < 1e-12 {
            return (left, right);
        }
    }
    (a.to_string(), b.to_string())
}

/// A difference with its sign.
pub(super) fn signed(measure: &Measure, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", difference(measure, value))
}

/// The size of a difference: shares in percentage points.
pub(super) fn difference(measure: &Measure, value: f64) -> String {
    if measure.share {
        format!("{} points", number(measure, value))
    } else {
        format!("{}{}", number(measure, value), unit(&measure.name()))
    }
}

/// A difference without its unit.
pub(super) fn number(measure: &Measure, value: f64) -> String {
    if measure.share { points(value) } else { plain(value) }
}

fn points(share: f64) -> String {
    // What rounding left of an exact zero is zero.
    let value = if share.abs() < 1e-12 { 0.0 } else { share * 100.0 };
    fixed(value, 1)
}

/// ` = 0.032`, ` < 0.0001`: never rounded across `level`.
pub(super) fn p_value(p: f64, level: f64) -> String {
    if p < 0.0001 {
        return " < 0.0001".to_owned();
    }
    let least = match p {
        _ if p >= 0.1 => 2,
        _ if p >= 0.001 => 3,
        _ => 4,
    };
    for digits in least..=12 {
        let text = format!("{p:.digits$}");
        let read: f64 = text.parse().unwrap_or(p);
        if (read < level) == (p < level) {
            return format!(" = {text}");
        }
    }
    format!(" = {p}")
}

/// The test in words.
pub(super) fn test(method: &str) -> &'static str {
    if method == TestMethod::McNemarMidP.name() {
        "McNemar with mid-p"
    } else if method == TestMethod::ClusterSignFlip.name() {
        "sign flips of whole evals"
    } else {
        "sign flips"
    }
}

/// `400 cases`.
pub(super) fn pairs(row: &MetricDifference) -> String {
    plural(row.n, &row.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_not_zero_is_written_as_zero_and_no_p_crosses_its_level() {
        assert_eq!([0.0, 0.06, -0.0291, 0.0002, 1e-15].map(points), ["0.0", "6.0", "-2.9", "0.02", "0.0"]);
        assert_eq!(
            [0.0, 1234.6, 12.34, 1.234, 0.0004].map(plain),
            ["0.000", "1235", "12.3", "1.23", "0.0004"]
        );
        let p = |p| p_value(p, 0.05);
        assert_eq!(p(0.21), " = 0.21");
        assert_eq!(p(0.0496), " = 0.050".replace("0.050", "0.0496"));
        assert_eq!(p(0.05), " = 0.050");
        assert_eq!(
            (p(0.0004), p(0.00001), p(1.0)),
            (" = 0.0004".into(), " < 0.0001".into(), " = 1.00".into())
        );
    }
}
