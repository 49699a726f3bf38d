//! Values of the formulas by SciPy 1.12, whole scans of what an interval may hold, and simulated
//! judges.

use proptest::prelude::*;

use super::*;
use crate::UndefinedReason;
use crate::binomial::binomial;
use crate::draws::IndexDraws;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() < tolerance,
        "{found}, not {expected}"
    );
}

/// (true passes, false fails, true fails, false passes), passed of all: by the labels' own items,
/// and by others (ends from a scan in steps of 5e-7).
type Example = ([u64; 4], [u64; 2], [f64; 3], [f64; 3]);

#[test]
fn corrected_rates_are_those_of_the_formulas() {
    let examples: [Example; 4] = [
        (
            [45, 5, 40, 10],
            [600, 1000],
            [0.5353535353535354, 0.456323134226511, 0.6078320578878188],
            [0.5714285714285714, 0.4559065, 0.6926795],
        ),
        (
            [3, 2, 94, 1],
            [60, 1000],
            [
                0.06458333333333333,
                0.030843920102799106,
                0.11043605562367845,
            ],
            [0.08392857142857144, 0.015643, 0.2606515],
        ),
        (
            [60, 20, 15, 5],
            [700, 900],
            [0.8449328449328449, 0.7688891719355806, 0.8961281951138722],
            [1.0, 0.8860665, 1.0],
        ),
        (
            [90, 0, 10, 0],
            [450, 500],
            [0.9, 0.8616702446120239, 0.932769245165237],
            [0.9, 0.857232, 0.935638],
        ),
    ];
    for ([tp, false_fail, tn, false_pass], [passed, n], draw, elsewhere) in examples {
        let confusion = JudgeConfusion::of_counts(tp, false_fail, tn, false_pass);
        let found = confusion.corrected_by_draw(passed, n, 0.95).unwrap();
        near(found.judged, passed as f64 / n as f64, 1e-12);
        let ends = [found.value, found.interval.low, found.interval.high];
        ends.iter()
            .zip(draw)
            .for_each(|(found, expected)| near(*found, expected, 1e-9));
        let found = confusion.corrected_elsewhere(passed, n, 0.95).unwrap();
        near(found.value, elsewhere[0], 1e-12);
        near(found.interval.low, elsewhere[1], 1e-6);
        near(found.interval.high, elsewhere[2], 1e-6);
    }
}

#[test]
fn informedness_has_the_interval_of_its_two_shares() {
    let found = JudgeConfusion::of_counts(45, 5, 40, 10)
        .informedness(0.95)
        .unwrap();
    near(found.value, 0.7, 1e-12);
    near(found.interval.low, 0.5358901356605659, 1e-9);
    near(found.interval.high, 0.8105003819004344, 1e-9);
}

#[test]
fn a_judge_like_a_coin_corrects_nothing() {
    for (tp, false_fail, tn, false_pass) in [
        // As likely to pass what people fail.
        (40, 10, 10, 40),
        // Always passes; nothing but passes; worse than a coin.
        (50, 0, 0, 50),
        (90, 10, 0, 0),
        (10, 40, 10, 40),
        // Better in these few, but not surely.
        (3, 2, 3, 2),
    ] {
        let confusion = JudgeConfusion::of_counts(tp, false_fail, tn, false_pass);
        for found in [
            confusion.corrected_by_draw(60, 100, 0.95),
            confusion.corrected_elsewhere(60, 100, 0.95),
        ] {
            assert_eq!(found, Err(UndefinedReason::LikeChance), "{confusion:?}");
        }
    }
    let none = JudgeConfusion::default();
    assert_eq!(
        none.corrected_by_draw(6, 10, 0.95),
        Err(UndefinedReason::NoData)
    );
    let some = JudgeConfusion::of_counts(45, 5, 40, 10);
    assert_eq!(
        some.corrected_by_draw(0, 0, 0.95),
        Err(UndefinedReason::NoData)
    );
    assert_eq!(
        some.corrected_by_draw(2, 1, 0.95),
        Err(UndefinedReason::NoData)
    );
    assert_eq!(
        some.corrected_elsewhere(2, 4, 1.5),
        Err(UndefinedReason::Level)
    );
}

#[test]
fn weights_are_inverse_chances_of_being_drawn() {
    // What the judge fails was drawn with a chance of 1, what it passes of 1/5.
    let mut weighted = JudgeConfusion::default();
    let mut push = |judged, labelled, weight, times| {
        (0..times).for_each(|_| weighted.push(judged, labelled, weight).unwrap());
    };
    push(true, true, 5.0, 45);
    push(true, false, 5.0, 5);
    push(false, true, 1.0, 10);
    push(false, false, 1.0, 90);
    // 250 items pass and 100 fail; people pass 225 + 10 of them.
    let found = weighted.corrected_by_draw(250, 350, 0.95).unwrap();
    near(found.value, 235.0 / 350.0, 1e-12);
    near(
        weighted.sensitivity().unwrap().value(),
        225.0 / 235.0,
        1e-12,
    );
    near(weighted.specificity().unwrap().value(), 90.0 / 115.0, 1e-12);
    // Each group has an interval of its own, and how many of each were drawn varies.
    let share = weighted.sensitivity().unwrap();
    let interval = share.interval(0.95).unwrap();
    let low = LabelledShare::of(0.0, 10.0).interval(0.95).unwrap().high;
    let part: f64 = 10.0 / 235.0;
    let drawn = 1.959963984540054
        * (part * part / 10.0 * (225.0f64 / 235.0).powi(2)
            + (225.0f64 / 235.0).powi(2) / 45.0 * part * part)
            .sqrt();
    near(
        interval.high,
        1.0f64.min(share.value() + (part * low).hypot(drawn)),
        1e-9,
    );
    let below = LabelledShare::of(1.0, 45.0).interval(0.95).unwrap().low;
    near(
        interval.low,
        share.value() - (225.0 / 235.0 * (1.0 - below)).hypot(drawn),
        1e-9,
    );
    assert_eq!((weighted.count(true, false), weighted.labels()), (5, 150));
    assert_eq!(
        weighted.push(true, true, 0.0),
        Err(UndefinedReason::Weights)
    );
}

#[test]
fn labels_needed_make_the_interval_as_narrow_as_wanted() {
    let confusion = JudgeConfusion::of_counts(45, 5, 40, 10);
    let needed = confusion
        .labels_needed(6_000, 10_000, 0.1, 0.95)
        .unwrap()
        .unwrap();
    // 100 labels give 0.15; the width falls with the root of their number.
    assert!((200..300).contains(&needed), "{needed}");
    let width = |times: u64| {
        let of = JudgeConfusion::of_counts(45 * times, 5 * times, 40 * times, 10 * times);
        let interval = of.corrected_by_draw(6_000, 10_000, 0.95).unwrap().interval;
        interval.high - interval.low
    };
    assert!(width(needed / 100) > 0.1 && width(needed / 100 + 1) <= 0.1);
    // All 10,000 items leave the uncertainty of items.
    assert_eq!(
        confusion.labels_needed(6_000, 10_000, 0.001, 0.95),
        Ok(None)
    );
    let share = LabelledShare::of(0.9, 50.0);
    let needed = share.needed(0.1, 0.95).unwrap().unwrap();
    let width = |n: f64| {
        let interval = LabelledShare::of(0.9, n).interval(0.95).unwrap();
        interval.high - interval.low
    };
    assert!(width(needed as f64) <= 0.1 && width(needed as f64 - 1.0) > 0.1);
}

/// A simulated judge over `n` items of which the first `labels` are labelled.
fn simulated(
    draws: &mut IndexDraws,
    labels: u64,
    n: u64,
    [se, sp, rate]: [f64; 3],
) -> (JudgeConfusion, u64) {
    let people = binomial(draws, labels, rate);
    let right = binomial(draws, people, se);
    let wrong = binomial(draws, labels - people, 1.0 - sp);
    let judged_rate = rate * se + (1.0 - rate) * (1.0 - sp);
    let rest = binomial(draws, n - labels, judged_rate);
    let confusion =
        JudgeConfusion::of_counts(right, people - right, labels - people - wrong, wrong);
    (confusion, right + wrong + rest)
}

#[test]
fn intervals_of_100_labels_cover_the_truth() {
    let mut draws = IndexDraws::new(28);
    for truth in [[0.7, 0.8, 0.3], [0.8, 0.9, 0.9], [0.9, 0.9, 0.05]] {
        let (mut given, mut covered, mut raw, mut elsewhere) = (0, 0, 0, 0);
        const RUNS: i32 = 400;
        for _ in 0..RUNS {
            let (confusion, passed) = simulated(&mut draws, 100, 1_000, truth);
            let Ok(found) = confusion.corrected_by_draw(passed, 1_000, 0.95) else {
                continue;
            };
            let holds = |low: f64, high: f64| i32::from(low <= truth[2] && truth[2] <= high);
            given += 1;
            covered += holds(found.interval.low, found.interval.high);
            let share = LabelledShare::of(found.judged, 1_000.0);
            let judged = share.interval(0.95).unwrap();
            raw += holds(judged.low, judged.high);
            // Another run of the same judge, whose items pass twice as often or half as often.
            let other = if truth[2] > 0.5 {
                truth[2] / 2.0
            } else {
                truth[2] * 2.0
            };
            let (other, _) = simulated(&mut draws, 100, 100, [truth[0], truth[1], other]);
            let other = other.corrected_elsewhere(passed, 1_000, 0.95);
            // No figure claims nothing.
            elsewhere += other.map_or(1, |rate| holds(rate.interval.low, rate.interval.high));
        }
        let share = |n: i32| f64::from(n) / f64::from(given);
        assert!(given > RUNS / 2, "{truth:?}: {given}");
        assert!(share(covered) >= 0.93, "{truth:?}: {}", share(covered));
        assert!(share(elsewhere) >= 0.93, "{truth:?}: {}", share(elsewhere));
        assert!(share(raw) < 0.5, "{truth:?}: {}", share(raw));
    }
}

#[test]
fn corrected_means_are_those_of_prediction_powered_inference() {
    let people = [3, 4, 2, 5, 1, 3, 4, 4, 2, 5, 3, 1].map(f64::from);
    let judge = [4, 4, 3, 5, 2, 3, 5, 4, 2, 4, 4, 2].map(f64::from);
    let rest = [
        4, 5, 3, 3, 4, 2, 5, 5, 4, 3, 4, 4, 5, 2, 3, 4, 4, 5, 3, 5, 4, 4, 3, 5,
    ]
    .map(f64::from);
    let items: Vec<LabelledValue> = people
        .into_iter()
        .zip(judge)
        .map(|(labelled, judged)| LabelledValue {
            judged,
            labelled,
            weight: 3.0,
        })
        .collect();
    let all = [&judge[..], &rest[..]].concat();
    let found = corrected_mean(&items, &all, 0.95).unwrap();
    near(found.judged, 3.75, 1e-12);
    near(found.tuning, 1.1153846153846156, 1e-12);
    near(found.value, 3.3621794871794872, 1e-12);
    near(found.interval.low, 2.735231964357416, 1e-9);
    near(found.interval.high, 3.9891270100015586, 1e-9);
    assert_eq!(
        corrected_mean(&items[..9], &all, 0.95),
        Err(UndefinedReason::TooFewLabels { n: 9, needed: 10 })
    );
    let same = vec![
        LabelledValue {
            judged: 1.0,
            labelled: 2.0,
            weight: 1.0
        };
        12
    ];
    assert_eq!(
        corrected_mean(&same, &all, 0.95),
        Err(UndefinedReason::NoVariation)
    );
    assert_eq!(
        corrected_mean(&items, &all[..11], 0.95),
        Err(UndefinedReason::Weights)
    );
    // A judge whose scores never differ says nothing: the mean is that of the labels.
    let blind: Vec<LabelledValue> = items
        .iter()
        .map(|item| LabelledValue {
            judged: 4.0,
            ..*item
        })
        .collect();
    let found = corrected_mean(&blind, &[4.0; 36], 0.95).unwrap();
    near(found.value, 37.0 / 12.0, 1e-12);
    assert_eq!(found.tuning, 0.0);
}

#[test]
fn differences_of_means_are_those_of_scipy() {
    let first = [1, 0, 0, 1, 0, -1, 1, 1].map(f64::from);
    let second = [0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0].map(f64::from);
    let found = difference_of_means(&first, &second, 0.95).unwrap();
    near(found.value, 0.46590909090909094, 1e-12);
    near(found.interval.low, -0.207097954446418, 1e-9);
    near(found.interval.high, 1.1389161362645999, 1e-9);
    assert_eq!(
        difference_of_means(&[0.0; 3], &[1.0; 3], 0.95),
        Err(UndefinedReason::NoVariation)
    );
    assert!(difference_of_means(&[0.0], &first, 0.95).is_err());
}

/// Confusions of judges that are better than a coin by far.
fn confusions() -> impl Strategy<Value = JudgeConfusion> {
    (20u64..200, 0u64..8, 20u64..200, 0u64..8)
        .prop_map(|(a, b, c, d)| JudgeConfusion::of_counts(a, b, c, d))
}

/// The same with passed and failed exchanged.
fn mirrored(confusion: &JudgeConfusion) -> JudgeConfusion {
    JudgeConfusion::of_counts(
        confusion.count(false, false),
        confusion.count(true, false),
        confusion.count(true, true),
        confusion.count(false, true),
    )
}

proptest! {
    #[test]
    fn rates_mirror_when_passed_and_failed_are_exchanged(
        confusion in confusions(),
        n in 300u64..5_000,
        share in 0.0f64..1.0,
    ) {
        let passed = (n as f64 * share) as u64;
        let mirror = mirrored(&confusion);
        let pairs = [
            (confusion.corrected_by_draw(passed, n, 0.95), mirror.corrected_by_draw(n - passed, n, 0.95)),
            (confusion.corrected_elsewhere(passed, n, 0.95), mirror.corrected_elsewhere(n - passed, n, 0.95)),
        ];
        for (one, other) in pairs {
            let (one, other) = (one.unwrap(), other.unwrap());
            prop_assert!((one.value + other.value - 1.0).abs() < 1e-9);
            prop_assert!((one.interval.low + other.interval.high - 1.0).abs() < 1e-9);
            prop_assert!((one.interval.high + other.interval.low - 1.0).abs() < 1e-9);
            prop_assert!(one.interval.low <= one.value && one.value <= one.interval.high);
        }
    }

    #[test]
    fn a_scan_finds_the_same_ends(
        confusion in confusions(),
        n in 300u64..5_000,
        share in 0.0f64..1.0,
    ) {
        let passed = (n as f64 * share) as u64;
        let found = confusion.corrected_elsewhere(passed, n, 0.95).unwrap();
        let part = |share: LabelledShare| {
            let interval = share.interval(0.9525).unwrap();
            (share.value(), interval.low, interval.high)
        };
        let q = part(LabelledShare::of(passed as f64 / n as f64, n as f64));
        let se = part(confusion.sensitivity().unwrap());
        let (sp, sp_low, sp_high) = part(confusion.specificity().unwrap());
        let fp = (1.0 - sp, 1.0 - sp_high, 1.0 - sp_low);
        let holds = |r: f64| {
            let d = q.0 - r * se.0 - (1.0 - r) * fp.0;
            let low = (q.0 - q.1).powi(2) + (r * (se.2 - se.0)).powi(2) + ((1.0 - r) * (fp.2 - fp.0)).powi(2);
            let high = (q.2 - q.0).powi(2) + (r * (se.0 - se.1)).powi(2) + ((1.0 - r) * (fp.0 - fp.1)).powi(2);
            d - low.sqrt() <= 0.0 && d + high.sqrt() >= 0.0
        };
        let held: Vec<f64> = (0..=2_000).map(|i| f64::from(i) / 2_000.0).filter(|r| holds(*r)).collect();
        // Where the judge's rate is beyond what any rate gives, only the nearest end is left.
        if let (Some(first), Some(last)) = (held.first(), held.last()) {
            prop_assert!((first - found.interval.low).abs() < 1e-3, "{first} {:?}", found);
            prop_assert!((last - found.interval.high).abs() < 1e-3, "{last} {:?}", found);
            prop_assert!((last - first) * 2_000.0 + 1.5 > held.len() as f64);
        }
    }

    #[test]
    fn labels_of_all_items_give_the_rate_of_people(confusion in confusions()) {
        let passes = confusion.count(true, true) + confusion.count(false, true);
        let judged = confusion.count(true, true) + confusion.count(true, false);
        let found = confusion.corrected_by_draw(judged, confusion.labels(), 0.95).unwrap();
        prop_assert!((found.value - passes as f64 / confusion.labels() as f64).abs() < 1e-12);
    }
}
