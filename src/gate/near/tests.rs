use proptest::prelude::*;

use super::*;
use eval_stats::likelihood::{self, Stratum, StratumUnits, ValueLevel};

fn estimate(value: f64, n: usize, ci: [f64; 2], method: &str) -> Estimate {
    Estimate {
        value: Some(value),
        ci: Some(ci),
        level: 0.95,
        method: method.to_owned(),
        n_cases: n,
        worst: None,
        best: None,
        undefined: None,
        note: None,
    }
}

/// The interval of verdicts.
fn counted(passed: f64, n: f64) -> [f64; 2] {
    let ci = super::of_counts(passed, n, 0.95).unwrap();
    [ci.low, ci.high]
}

fn of_counts(passed: u64, n: u64) -> Estimate {
    estimate(
        passed as f64 / n as f64,
        n as usize,
        counted(passed as f64, n as f64),
        "verdicts",
    )
}

fn threshold(metric: &str, bound: Bound, value: f64, on: Figure) -> Threshold {
    Threshold {
        metric: metric.to_owned(),
        bound,
        value,
        on,
    }
}

/// Estimates of `of_counts` are shares of verdicts.
fn said(metric: &str, (bound, on): (Bound, Figure), value: f64, estimate: &Estimate) -> String {
    let passed = estimate.value.unwrap() * estimate.n_cases as f64;
    let share =
        (estimate.method == "verdicts").then_some([passed.round() as u64, estimate.n_cases as u64]);
    miss(&threshold(metric, bound, value, on), estimate, share, None).unwrap_or_default()
}

const POINT: (Bound, Figure) = (Bound::Min, Figure::Value);
const LOWER: (Bound, Figure) = (Bound::Min, Figure::CiLower);
const UPPER: (Bound, Figure) = (Bound::Max, Figure::CiUpper);

#[test]
fn a_missed_rate_says_how_many_more() {
    let of = |metric: &str, value: f64| said(metric, POINT, value, &of_counts(12, 14));
    assert_eq!(
        of("pass_rate", 0.9),
        "12 of 14 evals passed; 1 more would have met it"
    );
    assert_eq!(
        of("pass_rate[tag=critical]", 1.0),
        "12 of 14 evals passed; 2 more would have met it"
    );
    assert_eq!(
        of("case_pass_rate", 0.9),
        "12 of 14 cases passed; 1 more would have met it"
    );
    assert_eq!(
        of("pass_at_1", 0.9),
        "12 of 14 first attempts passed; 1 more would have met it"
    );
    // Of pass@3, of scores and of what graders measure one more case need not be one more whole.
    assert_eq!(of("pass_at_3", 0.9), "0.043 short");
    assert_eq!(of("score", 0.9), "0.043 short");
    assert_eq!(of("lint_pass", 0.9), "0.043 short");
    let several = estimate(0.5, 4, [0.2, 0.8], "empirical_likelihood");
    assert_eq!(said("pass_at_1", POINT, 0.9, &several), "0.4 short");
    let slow = Estimate {
        ci: None,
        ..estimate(2310.0, 9, [0.0, 0.0], "none")
    };
    assert_eq!(
        said("latency_p95_ms", (Bound::Max, Figure::Value), 2000.0, &slow),
        "310 over"
    );
    assert_eq!(
        said(
            "cost_usd",
            (Bound::Max, Figure::Value),
            0.5,
            &estimate(0.50004, 9, [0.0, 0.0], "none")
        ),
        "0.00004 over"
    );
}

#[test]
fn a_lack_of_data_is_told_from_a_lack_of_passes() {
    assert_eq!(
        said("pass_rate", LOWER, 0.7, &of_counts(13, 14)),
        "the value itself, 0.9286, meets it; only data is lacking: 7 more evals, 6 of them passing (the same rate), would have met it"
    );
    assert_eq!(
        said("pass_rate", LOWER, 0.9, &of_counts(14, 14)),
        "the value itself, 1, meets it; only data is lacking: 19 more evals that pass would have met it"
    );
    assert_eq!(
        said("case_pass_rate", LOWER, 0.9, &of_counts(38, 40)),
        "the value itself, 0.95, meets it; only data is lacking: 99 more cases, 94 of them passing (the same rate), would have met it"
    );
    assert_eq!(
        said("pass_rate", LOWER, 0.95, &of_counts(13, 14)),
        "the value itself, 0.9286, misses it, too"
    );
    assert_eq!(
        said("pass_rate", LOWER, 0.9, &of_counts(9, 10)),
        "the value itself is the threshold, so that no number of further evals like these would meet it"
    );
    assert_eq!(
        said("pass_rate", LOWER, 0.4999, &of_counts(5, 10)),
        "the value itself, 0.5, meets it; only data is lacking: more than 10000000 evals would be needed"
    );
    let spread = estimate(0.8, 20, [0.7, 0.9], "empirical_likelihood");
    assert_eq!(
        said("pass_at_3", LOWER, 0.75, &spread),
        "the value itself, 0.8, meets it; only data is lacking"
    );
    assert_eq!(
        said("edit_rate", UPPER, 0.85, &spread),
        "the value itself, 0.8, meets it; only data is lacking"
    );
    assert_eq!(
        said("weighted_score", LOWER, 0.8, &spread),
        "the value itself is the threshold, so that no number of further evals like these would meet it"
    );
    assert_eq!(
        said(
            "pass_rate",
            (Bound::Min, Figure::CiUpper),
            0.99,
            &of_counts(1, 2)
        ),
        "the value itself, 0.5, misses it, too"
    );
}

#[test]
fn cases_of_several_samples_that_are_all_alike_are_no_counts() {
    let miss = |metric: &str, value: f64, on: Figure, estimate: &Estimate| {
        miss(
            &threshold(metric, Bound::Min, value, on),
            estimate,
            None,
            None,
        )
        .unwrap()
    };
    // Each of 4 cases passed in 1 of 2 samples: 2 of 4 passed would be a lie.
    let half = of_counts(2, 4);
    assert_eq!(miss("pass_at_1", 0.75, Figure::Value, &half), "0.25 short");
    // Without a computed need the message gives no number.
    assert_eq!(
        miss("pass_at_1", 0.4, Figure::CiLower, &half),
        "the value itself, 0.5, meets it; only data is lacking"
    );
}

/// The numbers that a text tells.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|word| word.parse().ok())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What is said of more passes is so, and one fewer would not do.
    #[test]
    fn so_many_more_passes_meet_it_and_one_fewer_does_not(n in 1u64..60, passed in 0u64..60, percent in 1u64..=100) {
        let passed = passed.min(n);
        let asked = threshold("pass_rate", Bound::Min, percent as f64 / 100.0, Figure::Value);
        let meets = |passed: u64| within(passed as f64 / n as f64, &asked);
        prop_assume!(!meets(passed));
        let text = miss(&asked, &of_counts(passed, n), Some([passed, n]), None).unwrap();
        let more = numbers(&text)[2];
        prop_assert!(meets(passed + more), "{}", text);
        prop_assert!(more == 0 || !meets(passed + more - 1), "{}", text);
    }

    /// Adding exactly that many cases of which that many pass meets it; no smaller number at the
    /// same rate does.
    #[test]
    fn so_many_more_cases_meet_it_and_fewer_do_not(
        n in 1u64..40,
        passed in 0u64..40,
        between in 0.01..0.99f64,
        upper: bool,
    ) {
        let passed = if upper { passed.min(n - 1) } else { passed.clamp(1, n) };
        let (bound, on) = if upper { UPPER } else { LOWER };
        // Between the end of the interval and the value.
        let ci = counted(passed as f64, n as f64);
        let (share, end) = (passed as f64 / n as f64, if upper { ci[1] } else { ci[0] });
        let asked = threshold("case_pass_rate", bound, end + between * (share - end), on);
        let meets = |passed: u64, n: u64| {
            let ci = counted(passed as f64, n as f64);
            within(if upper { ci[1] } else { ci[0] }, &asked)
        };
        prop_assert!(!meets(passed, n) && within(share, &asked));
        match exact(&asked, [passed, n], 0.95) {
            UnitsNeeded::Exact { more, passing } => {
                prop_assert!(meets(passed + passing, n + more));
                let steady = |more: u64| if upper { (more * passed).div_ceil(n) } else { more * passed / n };
                prop_assert_eq!(passing, steady(more));
                for fewer in (0..more).rev().take(200) {
                    prop_assert!(!meets(passed + steady(fewer), n + fewer), "{} fewer", fewer);
                }
                // The gate's interval is of these values one by one.
                let met = (passed + passing) as f64;
                let levels = vec![ValueLevel::of(0.0, (n + more) as f64 - met), ValueLevel::of(1.0, met)];
                let levels = levels.into_iter().filter(|level| level.count > 0.0).collect();
                let whole = Stratum { share: 1.0, repeats: 1.0, units: StratumUnits::Levels(levels) };
                let ci = likelihood::of_shares(&[whole], likelihood::UnseenWeight::Telling, 0.95).unwrap();
                let end = if upper { ci.high } else { ci.low };
                prop_assert!(within(end, &asked));
            }
            UnitsNeeded::Many => prop_assert!((share - asked.value).abs() < 1e-3, "{share} {asked:?}"),
            UnitsNeeded::Never => prop_assert!((share - asked.value).abs() <= 1e-9),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

#[test]
fn what_is_lacking_is_said_in_the_units_of_the_interval() {
    let estimate = estimate(0.97, 20, [0.9, 0.99], "empirical_likelihood");
    let said = |unit, units, needed| {
        let threshold = threshold("pass_at_1", Bound::Min, 0.94, Figure::CiLower);
        let lack = IntervalShortfall {
            threshold: threshold.clone(),
            end: 0.9,
            unit,
            units,
            needed,
        };
        miss(&threshold, &estimate, None, Some(&lack)).unwrap()
    };
    insta::assert_snapshot!(said("case", 20, Some(43)), @"the value itself, 0.97, meets it; only data is lacking: about 23 more cases like these would have met it");
    insta::assert_snapshot!(said("eval", 10, Some(11)), @"the value itself, 0.97, meets it; only data is lacking: about 1 more eval like these would have met it");
    insta::assert_snapshot!(said("sample", 50, Some(111)), @"the value itself, 0.97, meets it; only data is lacking: about 2.3 times as many samples of each case would have met it");
    insta::assert_snapshot!(said("sample", 50, None), @"the value itself, 0.97, meets it; only data is lacking: more than 10000000 samples would be needed");
    let same = threshold("pass_at_1", Bound::Min, 0.97, Figure::CiLower);
    let lack = IntervalShortfall {
        threshold: same.clone(),
        end: 0.9,
        unit: "sample",
        units: 50,
        needed: None,
    };
    insta::assert_snapshot!(miss(&same, &estimate, None, Some(&lack)).unwrap(), @"the value itself is the threshold, so that no number of further samples like these would meet it");
}
