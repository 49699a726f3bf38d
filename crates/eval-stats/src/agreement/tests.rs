//! Published examples, values of the Python packages krippendorff 0.9.0, irrCAC 0.4.4 and
//! statsmodels 0.15.0, and naive sums over pairs of ratings.

use proptest::prelude::*;

use super::*;

const ALL: [AgreementMeasure; 9] = [
    AgreementMeasure::Percent,
    AgreementMeasure::FleissKappa,
    AgreementMeasure::GwetAc1,
    AgreementMeasure::GwetAc2(RatingWeights::Ordinal),
    AgreementMeasure::GwetAc2(RatingWeights::Linear),
    AgreementMeasure::GwetAc2(RatingWeights::Quadratic),
    AgreementMeasure::KrippendorffAlpha(RatingDistance::Nominal),
    AgreementMeasure::KrippendorffAlpha(RatingDistance::Ordinal),
    AgreementMeasure::KrippendorffAlpha(RatingDistance::Interval),
];

/// Rows are items; a negative rating is missing.
fn table(values: &[f64], rows: &[&[i32]]) -> RatingTable {
    let mut table = RatingTable::new(values.to_vec()).unwrap();
    for row in rows {
        let ratings: Vec<usize> = row
            .iter()
            .filter_map(|r| usize::try_from(*r).ok())
            .collect();
        table.push(&ratings).unwrap();
    }
    table
}

fn near(table: &RatingTable, measure: AgreementMeasure, expected: f64) {
    let found = table.agreement(measure).unwrap().coefficient;
    assert!(
        (found - expected).abs() < 1e-12,
        "{}: {found}, not {expected}",
        measure.name()
    );
}

/// Krippendorff (2011), section D: four observers, twelve units, seven missing ratings.
fn reliability_data() -> RatingTable {
    table(
        &[1.0, 2.0, 3.0, 4.0, 5.0],
        &[
            &[0, 0, -1, 0],
            &[1, 1, 2, 1],
            &[2, 2, 2, 2],
            &[2, 2, 2, 2],
            &[1, 1, 1, 1],
            &[0, 1, 2, 3],
            &[3, 3, 3, 3],
            &[0, 0, 1, 0],
            &[1, 1, 1, 1],
            &[-1, 4, 4, 4],
            &[-1, -1, 0, 0],
            &[-1, 2, -1, -1],
        ],
    )
}

#[test]
fn krippendorffs_example_gives_the_published_values() {
    use AgreementMeasure::{FleissKappa, GwetAc1, GwetAc2, KrippendorffAlpha};
    let data = reliability_data();
    for (measure, expected) in [
        (
            KrippendorffAlpha(RatingDistance::Nominal),
            0.743421052631579,
        ),
        (
            KrippendorffAlpha(RatingDistance::Ordinal),
            0.8153875037548814,
        ),
        (
            KrippendorffAlpha(RatingDistance::Interval),
            0.8491071428571428,
        ),
        // Gwet's own example (2014, table 2.10) is this one.
        (GwetAc1, 0.775444068126995),
        (GwetAc2(RatingWeights::Linear), 0.858739136432611),
        (GwetAc2(RatingWeights::Quadratic), 0.914000723551605),
        (GwetAc2(RatingWeights::Ordinal), 0.898939769907511),
        (FleissKappa, 0.761169275422411),
        (AgreementMeasure::Percent, 0.818181818181818),
    ] {
        near(&data, measure, expected);
    }
}

#[test]
fn fleiss_example_gives_the_published_value() {
    // Fleiss (1971) as in its textbook form: 14 raters, 10 items, 5 categories; 0.210.
    let counts: [[u32; 5]; 10] = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ];
    let mut data = RatingTable::new(vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    for row in counts {
        let ratings: Vec<usize> = row
            .iter()
            .enumerate()
            .flat_map(|(category, count)| vec![category; *count as usize])
            .collect();
        data.push(&ratings).unwrap();
    }
    near(&data, AgreementMeasure::FleissKappa, 0.20993070442195522);
}

#[test]
fn uneven_scales_give_the_values_of_other_programs() {
    use AgreementMeasure::{FleissKappa, GwetAc1, GwetAc2, KrippendorffAlpha};
    let data = table(
        &[0.0, 1.0, 2.0, 5.0],
        &[
            &[2, -1, 3, 3],
            &[0, 0, 0, 0],
            &[1, 0, 0, 0],
            &[0, 0, -1, 0],
            &[-1, 0, 1, 0],
            &[3, 3, -1, 3],
            &[3, 3, 3, 3],
            &[1, 3, -1, 2],
            &[0, 1, 0, 0],
            &[-1, -1, 0, 0],
            &[1, 1, -1, 2],
            &[1, 1, 1, -1],
            &[1, -1, -1, 1],
            &[-1, 1, 1, 2],
            &[-1, 1, 2, 0],
        ],
    );
    for (measure, expected) in [
        (
            KrippendorffAlpha(RatingDistance::Nominal),
            0.47058823529411764,
        ),
        (
            KrippendorffAlpha(RatingDistance::Ordinal),
            0.7852822977150072,
        ),
        (
            KrippendorffAlpha(RatingDistance::Interval),
            0.8246951219512195,
        ),
        (GwetAc1, 0.505227983184219),
        (GwetAc2(RatingWeights::Linear), 0.722539392555378),
        (GwetAc2(RatingWeights::Quadratic), 0.835593535203418),
        (GwetAc2(RatingWeights::Ordinal), 0.777607813143496),
        (FleissKappa, 0.467455621301775),
    ] {
        near(&data, measure, expected);
    }
}

fn pairs_of(cells: &[(usize, usize, usize)]) -> Vec<(usize, usize)> {
    cells
        .iter()
        .flat_map(|(left, right, n)| vec![(*left, *right); *n])
        .collect()
}

#[test]
fn kappa_of_textbook_tables() {
    // 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5, kappa 0.4.
    let agreement =
        cohen_kappa(&pairs_of(&[(1, 1, 20), (1, 0, 5), (0, 1, 10), (0, 0, 15)])).unwrap();
    assert!((agreement.observed - 0.7).abs() < 1e-12);
    assert!((agreement.by_chance - 0.5).abs() < 1e-12);
    assert!((agreement.coefficient - 0.4).abs() < 1e-12);
    // Fleiss, Cohen & Everitt (1969): 0.429.
    let three = pairs_of(&[
        (0, 0, 53),
        (0, 1, 5),
        (0, 2, 2),
        (1, 0, 11),
        (1, 1, 14),
        (1, 2, 5),
        (2, 0, 1),
        (2, 1, 6),
        (2, 2, 3),
    ]);
    assert!((cohen_kappa(&three).unwrap().coefficient - 0.4285714285714285).abs() < 1e-12);
    assert_eq!(cohen_kappa::<bool>(&[]), Err(UndefinedReason::NoData));
    assert_eq!(
        cohen_kappa(&[("a", "a"), ("a", "a")]),
        Err(UndefinedReason::OneLabel)
    );
}

#[test]
fn ac1_holds_where_kappa_falls_below_zero() {
    // Gwet (2008), table 2: 118, 5, 2 and 0 of 125 items. 94.4 % are equal; kappa is -0.023.
    let pairs = pairs_of(&[(1, 1, 118), (1, 0, 5), (0, 1, 2)]);
    let mut data = RatingTable::binary();
    pairs
        .iter()
        .for_each(|(a, b)| data.push(&[*a, *b]).unwrap());
    near(&data, AgreementMeasure::GwetAc1, 0.940776337608718);
    let kappa = cohen_kappa(&pairs).unwrap().coefficient;
    assert!((kappa + 0.023391812865496).abs() < 1e-12);
    // The delta method of irrCAC gives [0.8953, 0.9862] for AC1.
    let interval = agreement_interval(&data, AgreementMeasure::GwetAc1, 1, 0.95).unwrap();
    assert!((interval.low - 0.8953).abs() < 0.01, "{interval:?}");
    assert!((interval.high - 0.9862).abs() < 0.01, "{interval:?}");
}

#[test]
fn intervals_say_when_there_is_too_little() {
    let measure = AgreementMeasure::GwetAc1;
    let of = |rows: &[&[i32]]| agreement_interval(&table(&[0.0, 1.0], rows), measure, 1, 0.95);
    let nine: Vec<&[i32]> = vec![&[0, 1]; 9];
    assert_eq!(
        of(&nine),
        Err(UndefinedReason::TooFewItems { n: 9, needed: 10 })
    );
    // Items with one rating are no further items.
    let mut alone = nine.clone();
    alone.extend([&[1][..]; 5]);
    assert_eq!(
        of(&alone),
        Err(UndefinedReason::TooFewItems { n: 9, needed: 10 })
    );
    let perfect: Vec<&[i32]> = vec![&[1, 1]; 40];
    assert_eq!(of(&perfect), Err(UndefinedReason::NoVariation));
    let mut rare = vec![(true, true); 40];
    rare.push((true, false));
    assert_eq!(
        cohen_interval(&rare, 1, 0.95),
        Err(UndefinedReason::AgreedCategory)
    );
    let alpha = AgreementMeasure::KrippendorffAlpha(RatingDistance::Ordinal);
    let rows: Vec<&[i32]> = [vec![&[1, 1][..]; 40], vec![&[1, 0][..]; 3]].concat();
    assert_eq!(
        agreement_interval(&table(&[0.0, 1.0], &rows), alpha, 1, 0.95),
        Err(UndefinedReason::AgreedCategory)
    );
    // One item shows that the rarer rating may be agreed on, but many resamples lack it.
    let rows: Vec<&[i32]> = [vec![&[1, 1][..]; 40], vec![&[0, 0][..]]].concat();
    assert_eq!(
        agreement_interval(&table(&[0.0, 1.0], &rows), alpha, 1, 0.95),
        Err(UndefinedReason::TooRare)
    );
    assert_eq!(cohen_interval(&rare, 1, 1.0), Err(UndefinedReason::Level));
    assert_eq!(RatingTable::new(vec![1.0]), Err(UndefinedReason::Scale));
    assert_eq!(
        RatingTable::new(vec![2.0, 1.0]),
        Err(UndefinedReason::Scale)
    );
    assert_eq!(
        RatingTable::binary().push(&[2]),
        Err(UndefinedReason::Scale)
    );
}

#[test]
fn intervals_are_those_of_the_delta_method_for_many_items() {
    // Thirty times the items of Krippendorff's example that have two ratings or more, of which
    // irrCAC gives AC1 a standard error of 0.02184.
    let mut data = reliability_data();
    data.items.pop();
    let items = data.items.clone();
    (1..30).for_each(|_| data.items.extend(items.clone()));
    let error = 0.021840159493483;
    let interval = agreement_interval(&data, AgreementMeasure::GwetAc1, 7, 0.95).unwrap();
    let half = (interval.high - interval.low) / 2.0;
    assert!((half / (1.96 * error) - 1.0).abs() < 0.06, "{half} {error}");
    let again = agreement_interval(&data, AgreementMeasure::GwetAc1, 7, 0.95).unwrap();
    assert_eq!(interval, again);
}

/// Coefficients by their definitions, over all ordered pairs of ratings of different raters.
fn naive(measure: AgreementMeasure, values: &[f64], items: &[Vec<usize>]) -> Option<f64> {
    let pairable: Vec<&Vec<usize>> = items.iter().filter(|item| item.len() > 1).collect();
    if pairable.is_empty() {
        return None;
    }
    let q = values.len();
    let span = values[q - 1] - values[0];
    let all: Vec<usize> = pairable
        .iter()
        .flat_map(|item| item.iter().copied())
        .collect();
    let distance = |a: usize, b: usize, of: RatingDistance| match of {
        RatingDistance::Nominal => f64::from(u8::from(a != b)),
        RatingDistance::Interval => (values[a] - values[b]).powi(2),
        RatingDistance::Ordinal => {
            let count = |k: usize| all.iter().filter(|r| **r == k).count() as f64;
            let (low, high) = (a.min(b), a.max(b));
            let between: f64 = (low..=high).map(count).sum();
            (between - (count(low) + count(high)) / 2.0).powi(2)
        }
    };
    let close = |a: usize, b: usize| {
        let d = a.abs_diff(b) as f64;
        let qf = q as f64;
        match measure {
            AgreementMeasure::GwetAc2(RatingWeights::Linear) => {
                1.0 - (values[a] - values[b]).abs() / span
            }
            AgreementMeasure::GwetAc2(RatingWeights::Quadratic) => {
                1.0 - ((values[a] - values[b]) / span).powi(2)
            }
            AgreementMeasure::GwetAc2(RatingWeights::Ordinal) => {
                1.0 - d * (d + 1.0) / (qf * (qf - 1.0))
            }
            _ => f64::from(u8::from(a == b)),
        }
    };
    // Mean over items of the mean over ordered pairs.
    let mean_over_pairs = |of: &dyn Fn(usize, usize) -> f64, weigh: bool| {
        let (mut sum, mut weight) = (0.0, 0.0);
        for item in &pairable {
            let (mut inner, mut n) = (0.0, 0.0);
            for (i, a) in item.iter().enumerate() {
                for (j, b) in item.iter().enumerate() {
                    if i != j {
                        inner += of(*a, *b);
                        n += 1.0;
                    }
                }
            }
            let w = if weigh { item.len() as f64 } else { 1.0 };
            sum += w * inner / n;
            weight += w;
        }
        sum / weight
    };
    let rated: Vec<&Vec<usize>> = items.iter().filter(|item| !item.is_empty()).collect();
    let shares: Vec<f64> = (0..q)
        .map(|k| {
            let share = |item: &&Vec<usize>| {
                item.iter().filter(|r| **r == k).count() as f64 / item.len() as f64
            };
            rated.iter().map(share).sum::<f64>() / rated.len() as f64
        })
        .collect();
    let (observed, by_chance) = match measure {
        AgreementMeasure::KrippendorffAlpha(of) => {
            let seen = mean_over_pairs(&|a, b| distance(a, b, of), true);
            let mut expected = 0.0;
            for (i, a) in all.iter().enumerate() {
                for (j, b) in all.iter().enumerate() {
                    if i != j {
                        expected += distance(*a, *b, of);
                    }
                }
            }
            let n = all.len() as f64;
            expected /= n * (n - 1.0);
            return (expected > 0.0).then(|| 1.0 - seen / expected);
        }
        AgreementMeasure::Percent => (mean_over_pairs(&close, false), 0.0),
        AgreementMeasure::FleissKappa => (
            mean_over_pairs(&close, false),
            shares.iter().map(|p| p * p).sum(),
        ),
        AgreementMeasure::GwetAc1 | AgreementMeasure::GwetAc2(_) => {
            let mut weights = 0.0;
            for a in 0..q {
                for b in 0..q {
                    weights += close(a, b);
                }
            }
            let spread: f64 = shares.iter().map(|p| p * (1.0 - p)).sum();
            let qf = q as f64;
            (
                mean_over_pairs(&close, false),
                weights * spread / (qf * (qf - 1.0)),
            )
        }
    };
    (by_chance < 1.0 - 1e-12).then(|| (observed - by_chance) / (1.0 - by_chance))
}

proptest! {
    #[test]
    fn coefficients_agree_with_sums_over_pairs(
        steps in proptest::collection::vec(0.5f64..3.0, 1..5),
        rows in proptest::collection::vec(proptest::collection::vec(0usize..5, 0..5), 1..12),
    ) {
        let mut values = vec![0.0];
        for step in &steps {
            values.push(values.last().unwrap() + step);
        }
        let items: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.iter().map(|r| r % values.len()).collect())
            .collect();
        let mut table = RatingTable::new(values.clone()).unwrap();
        items.iter().for_each(|item| table.push(item).unwrap());
        for measure in ALL {
            let found = table.agreement(measure).ok().map(|a| a.coefficient);
            match (found, naive(measure, &values, &items)) {
                (Some(found), Some(expected)) => prop_assert!(
                    (found - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                    "{}: {found} {expected}", measure.name()
                ),
                (found, expected) => prop_assert_eq!(found, expected, "{}", measure.name()),
            }
        }
    }
}
