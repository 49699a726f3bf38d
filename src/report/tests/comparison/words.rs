//! Numbers and names as they are written.

use super::*;
use crate::report::comparison::words::{
    ComparisonHeadline, difference, facts, interval, p_value, passes, points,
};

#[test]
fn nothing_that_is_not_0_is_written_as_0() {
    for (metric, value, written) in [
        ("pass_at_1", -0.06, "-6.0 points"),
        ("pass_at_1", 0.0004, "+0.04 points"),
        ("pass_at_1", -0.000_000_123, "-0.00001 points"),
        ("pass_at_1", 0.0, "="),
        ("pass_at_1", 0.1 + 0.2 - 0.3, "="),
        ("weighted_score", 0.1, "+10.0 points"),
        ("edits", 0.000_4, "+0.0004"),
        ("edits", -0.9999, "-1.000"),
        ("edits", 12.5, "+12.500"),
        ("latency_mean_ms", 122.0, "+122 ms"),
        ("latency_mean_ms", -0.01, "-<0.1 ms"),
        ("cost_usd", -0.001_2, "-$0.0012"),
        ("cost_usd_per_sample", 0.001_2, "+$0.0012"),
        ("tokens_per_sample", 0.04, "+0.04"),
        ("pass_at_1", f64::NAN, "n/a"),
        ("edits", f64::INFINITY, "n/a"),
    ] {
        assert_eq!(difference(metric, value), written, "{metric} {value}");
    }
    assert_eq!(interval("pass_at_1", Some([-0.091, 0.0])), "[-9.1, 0]");
    assert_eq!(
        interval("latency_mean_ms", Some([-80.0, 1_640.0])),
        "[-80 ms, +1.64 s]"
    );
    assert_eq!(interval("pass_at_1", None), "");
    assert_eq!(points(1.0), "+100.0");
}

#[test]
fn a_p_stands_on_its_side_of_the_level() {
    for (p, written) in [
        (0.000_4, "0.0004"),
        (0.000_099, "<0.0001"),
        (0.0, "<0.0001"),
        (0.049_96, "0.04996"),
        (0.05, "0.050"),
        (0.2, "0.20"),
        (0.050_04, "0.050"),
        (0.313, "0.31"),
        (0.999_6, ">0.99"),
        (1.0, "1.00"),
        (f64::NAN, "n/a"),
    ] {
        assert_eq!(p_value(p, 0.05), written, "{p}");
    }
}

#[test]
fn counts_of_a_flip_say_which_side_they_are_of() {
    for (counts, written) in [
        ([Some([3, 5]), Some([1, 5])], "3/5 -> 1/5"),
        ([Some([3, 5]), Some([0, 0])], "3/5 -> no grade"),
        ([None, Some([1, 1])], "now 1/1"),
        ([Some([1, 1]), None], "was 1/1"),
        ([None, None], ""),
    ] {
        assert_eq!(passes(&flip("a", "b", counts), "->"), written);
    }
}

#[test]
fn a_side_says_all_that_it_is_not() {
    let mut side = side("main", "main");
    side.source = ScoresSource::ScoreBaseline {
        path: "baselines/x.yaml".to_owned(),
        rev: Some("v1".to_owned()),
    };
    side.shards = vec![
        crate::model::Shard { index: 1, of: 3 },
        crate::model::Shard { index: 2, of: 3 },
    ];
    side.filters = vec!["tag fast".to_owned()];
    side.interrupted = true;
    side.regrade_of = Some("eval-1".to_owned());
    assert_eq!(
        facts(&side).join(" | "),
        "target solver (model) | model openai:gpt-4o-mini | commit 0123456 | 2026-01-02 | accepted scores baselines/x.yaml at v1 | \
         only shards 1/3, 2/3 | graded again from eval-1 | not the whole suite: tag fast | ended early"
    );
}

#[test]
fn readings_that_differ_are_undecided_whatever_they_are() {
    use ComparisonVerdict::{Improvement, None, Regression};
    for (readings, headline) in [
        ([Regression; 3], ComparisonHeadline::Regression),
        ([Improvement; 3], ComparisonHeadline::Improvement),
        ([None; 3], ComparisonHeadline::NoEvidence),
        (
            [Regression, Regression, None],
            ComparisonHeadline::Undecided,
        ),
        ([None, Regression, None], ComparisonHeadline::Undecided),
        (
            [Improvement, None, Improvement],
            ComparisonHeadline::Undecided,
        ),
    ] {
        let mut comparison = improvement();
        [
            comparison.verdict,
            comparison.verdict_worst,
            comparison.verdict_best,
        ] = readings;
        assert_eq!(
            ComparisonHeadline::of(&comparison),
            headline,
            "{readings:?}"
        );
    }
}
