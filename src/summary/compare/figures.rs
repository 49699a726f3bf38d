//! Numbers of a comparison in words.

use super::metrics::tests_whole_evals;
use super::values::{MeasureUnit, PairedMeasure};
use crate::model::{IntervalScope, Metric, MetricDifference};
use eval_base::text::plural;
use eval_stats::TestMethod;

/// How a metric is called in a sentence.
pub(super) fn spoken(measure: &PairedMeasure) -> String {
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
            return if value == 0.0 {
                format!("{:.digits$}", 0.0)
            } else {
                text
            };
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
pub(super) fn two_values(measure: &PairedMeasure, a: f64, b: f64) -> (String, String) {
    if !measure.share {
        let unit = unit(&measure.name());
        return (format!("{}{unit}", plain(a)), format!("{}{unit}", plain(b)));
    }
    // A share below 1 is not written as 1, nor one above 0 as 0.
    let is_whole = |text: &str| text.trim_end_matches('0').ends_with('.');
    let stands = |value: f64, text: &str| value.fract() == 0.0 || !is_whole(text);
    for digits in 3..=9 {
        let (left, right) = (format!("{a:.digits$}"), format!("{b:.digits$}"));
        let differ = left != right || (a - b).abs() < 1e-12;
        if differ && stands(a, &left) && stands(b, &right) {
            return (left, right);
        }
    }
    (a.to_string(), b.to_string())
}

/// A difference with its sign.
pub(super) fn signed(measure: &PairedMeasure, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", difference(measure, value))
}

/// The size of a difference: shares in percentage points.
pub(super) fn difference(measure: &PairedMeasure, value: f64) -> String {
    if measure.share {
        format!("{} points", number(measure, value))
    } else {
        format!("{}{}", number(measure, value), unit(&measure.name()))
    }
}

/// A difference without its unit.
pub(super) fn number(measure: &PairedMeasure, value: f64) -> String {
    if measure.share {
        points(value)
    } else {
        plain(value)
    }
}

fn points(share: f64) -> String {
    // What rounding left of an exact zero is zero.
    let value = if share.abs() < 1e-12 {
        0.0
    } else {
        share * 100.0
    };
    fixed(value, 1)
}

/// ` = 0.032`, ` < 0.0001`.
pub(super) fn p_value(p: f64, level: f64) -> String {
    let written = chance(p, level);
    match written.split_at_checked(1) {
        Some((sign @ ("<" | ">"), limit)) => format!(" {sign} {limit}"),
        _ => format!(" = {written}"),
    }
}

/// The p of a test: `0.032`, `<0.0001`. Never rounded to 0 or 1, nor across `level`.
pub fn chance(p: f64, level: f64) -> String {
    if !p.is_finite() {
        return "n/a".to_owned();
    }
    if p < 0.000_1 {
        return "<0.0001".to_owned();
    }
    if (0.995..1.0).contains(&p) {
        return ">0.99".to_owned();
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
            return text;
        }
    }
    format!("{p}")
}

/// The test in words.
pub(super) fn test(method: &str) -> &'static str {
    if method == TestMethod::McNemarMidP.name() {
        "McNemar with mid-p"
    } else if method == TestMethod::WithinCases.name() {
        "permutation within cases"
    } else if method == TestMethod::ClusterSignFlip.name() {
        "sign flips of whole evals"
    } else {
        "sign flips"
    }
}

/// What a test speaks about, when the suite asks that: whole evals, or the figures of evals, speak
/// about evals like these.
pub(super) fn speaks_about(row: &MetricDifference, asked: IntervalScope) -> IntervalScope {
    let of_evals = row.unit == MeasureUnit::Eval.name() && tests_whole_evals(asked, row.n);
    let clustered = row
        .test
        .as_ref()
        .is_some_and(|test| test.method == TestMethod::ClusterSignFlip.name());
    if of_evals || clustered {
        IntervalScope::SimilarEvals
    } else {
        IntervalScope::TheseCases
    }
}

/// `these 400 cases`, `400 cases of evals like these` or `12 evals like these`.
pub(super) fn pairs(row: &MetricDifference, asked: IntervalScope) -> String {
    let cases = plural(row.n, &row.unit);
    match speaks_about(row, asked) {
        IntervalScope::SimilarEvals if row.unit == MeasureUnit::Eval.name() => {
            format!("{cases} like these")
        }
        IntervalScope::SimilarEvals => format!("{cases} of evals like these"),
        _ if row.n == 1 => format!("this {}", row.unit),
        _ => format!("these {cases}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::MeasureUnit;
    use super::*;

    #[test]
    fn nothing_that_is_not_zero_is_written_as_zero_and_no_p_crosses_its_level() {
        assert_eq!(
            [0.0, 0.06, -0.0291, 0.0002, 1e-15].map(points),
            ["0.0", "6.0", "-2.9", "0.02", "0.0"]
        );
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
        assert_eq!((p(0.9996), p(0.0)), (" > 0.99".into(), " < 0.0001".into()));
        let (metric, unit) = (Metric::PassAt(1), MeasureUnit::Case);
        let measure = PairedMeasure {
            metric,
            unit,
            share: true,
            higher_is_better: Some(true),
        };
        for (a, b, written) in [
            (0.999, 0.9996, ["0.9990", "0.9996"]),
            (0.0004, 0.0, ["0.0004", "0.0000"]),
            (0.9996, 0.9996, ["0.9996"; 2]),
            (1.0, 1.0, ["1.000"; 2]),
            (0.85, 0.79, ["0.850", "0.790"]),
        ] {
            let (left, right) = two_values(&measure, a, b);
            assert_eq!([left, right], written);
        }
    }
}
