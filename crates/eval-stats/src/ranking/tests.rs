//! Scores of statsmodels 0.15.0 (a binomial model with standard errors clustered by item).

use super::*;

fn verdicts(rows: &[(usize, usize, usize, f64)]) -> Vec<PairVerdict> {
    rows.iter()
        .map(|(item, first, second, to_first)| PairVerdict {
            item: *item,
            first: *first,
            second: *second,
            to_first: *to_first,
        })
        .collect()
}

#[test]
fn scores_and_errors_are_those_of_statsmodels() {
    let found = pairwise_scores(
        4,
        &verdicts(&[
            (0, 0, 3, 1.0),
            (0, 3, 1, 1.0),
            (1, 1, 0, 0.0),
            (1, 2, 0, 0.0),
            (2, 0, 2, 1.0),
            (2, 2, 3, 0.0),
            (3, 3, 0, 0.0),
            (3, 1, 3, 0.0),
            (4, 2, 3, 1.0),
            (4, 3, 0, 0.0),
            (5, 0, 3, 0.0),
            (5, 3, 2, 0.5),
            (6, 3, 0, 0.0),
            (6, 1, 2, 1.0),
            (7, 3, 0, 0.0),
            (7, 3, 2, 0.5),
            (8, 3, 0, 0.0),
            (8, 3, 1, 0.5),
            (9, 0, 1, 1.0),
            (9, 2, 3, 0.5),
            (10, 0, 2, 1.0),
            (10, 1, 3, 0.5),
            (11, 2, 0, 0.0),
            (11, 2, 0, 1.0),
            (12, 1, 0, 0.0),
            (12, 2, 0, 0.0),
            (13, 2, 3, 0.5),
            (13, 2, 0, 0.0),
            (14, 2, 0, 0.0),
            (14, 1, 3, 1.0),
            (15, 2, 1, 0.0),
            (15, 0, 2, 1.0),
            (16, 0, 1, 1.0),
            (16, 3, 0, 1.0),
            (17, 3, 1, 0.5),
            (17, 0, 1, 0.5),
            (18, 2, 0, 0.5),
            (18, 2, 0, 0.0),
            (19, 1, 0, 1.0),
            (19, 0, 1, 0.0),
            (20, 0, 1, 0.0),
            (20, 0, 1, 1.0),
            (21, 2, 3, 0.5),
            (21, 3, 2, 0.5),
            (22, 1, 3, 0.0),
            (22, 3, 2, 1.0),
            (23, 3, 0, 0.0),
            (23, 1, 2, 1.0),
        ]),
        0.95,
    )
    .unwrap();
    let expected = [
        (0.8638161719637496, 0.301492225395616),
        (0.11573212455845433, 0.3343808871560121),
        (-0.8420349019559178, 0.26410513882016645),
        (-0.1375133945662862, 0.2594522651029814),
    ];
    // Student's t of 23 degrees, and 24 items for 23.
    let half = 2.0686576104190406 * (24.0f64 / 23.0).sqrt();
    for ((score, interval), (expected, error)) in found.scores.unwrap().iter().zip(expected) {
        let interval = interval.unwrap();
        assert!((score - expected).abs() < 1e-9, "{score}");
        assert!(
            (interval.high - score - half * error).abs() < 1e-8,
            "{interval:?}"
        );
        assert!((score - interval.low - half * error).abs() < 1e-8);
    }
    let first = found.first.unwrap();
    assert!((first.value - 0.4479166666666667).abs() < 1e-12);
    assert!(first.interval.low < 0.45 && first.interval.high > 0.5);
}

#[test]
fn two_players_have_the_log_odds_of_their_wins() {
    // 15 wins, 2 ties, 3 losses: 16 to 4 of 20; each item is its own.
    let mut rows: Vec<(usize, usize, usize, f64)> = (0..15).map(|item| (item, 0, 1, 1.0)).collect();
    rows.extend([(15, 0, 1, 0.5), (16, 1, 0, 0.5)]);
    rows.extend((17..20).map(|item| (item, 1, 0, 1.0)));
    let found = pairwise_scores(2, &verdicts(&rows), 0.95).unwrap();
    let scores = found.scores.unwrap();
    assert!((scores[0].0 - 4.0f64.ln() / 2.0).abs() < 1e-9);
    assert!((scores[0].0 + scores[1].0).abs() < 1e-12);
    let rate = found.win_rates[0].unwrap();
    assert!((rate.value - 0.8).abs() < 1e-12);
    assert!((0.5..0.65).contains(&rate.interval.low), "{rate:?}");
    // Of 20: 15 first ones, 2 halves and 3 first ones.
    assert!((found.first.unwrap().value - 0.95).abs() < 1e-12);
}

#[test]
fn both_orders_show_the_bias_and_leave_the_rates() {
    // Whatever is first wins.
    let rows: Vec<(usize, usize, usize, f64)> = (0..30)
        .flat_map(|item| [(item, 0, 1, 1.0), (item, 1, 0, 1.0)])
        .collect();
    let found = pairwise_scores(2, &verdicts(&rows), 0.95).unwrap();
    assert_eq!(found.first.unwrap().value, 1.0);
    assert!(found.first.unwrap().interval.low > 0.85);
    assert_eq!(found.win_rates[0].unwrap().value, 0.5);
    assert!(found.scores.unwrap()[0].0.abs() < 1e-9);
}

#[test]
fn scores_need_wins_and_losses_all_round() {
    let of =
        |rows: &[(usize, usize, usize, f64)]| pairwise_scores(3, &verdicts(rows), 0.95).unwrap();
    // 2 never lost; 2 was never compared.
    for rows in [
        &[(0, 0, 1, 1.0), (0, 1, 0, 1.0), (1, 2, 0, 1.0)][..],
        &[(0, 0, 1, 1.0), (0, 1, 0, 1.0)][..],
    ] {
        assert_eq!(of(rows).scores, Err(UndefinedReason::Separated));
    }
    assert_eq!(
        of(&[(0, 0, 1, 1.0)]).win_rates[2],
        Err(UndefinedReason::NoData)
    );
    // A tie is a win of each, so these are connected, but too few for an interval.
    let few = of(&[(0, 0, 1, 0.5), (1, 1, 2, 0.5)]).scores.unwrap();
    assert_eq!(
        few[0].1,
        Err(UndefinedReason::TooFewItems { n: 2, needed: 10 })
    );
    for wrong in [(0, 0, 3, 1.0), (0, 1, 1, 1.0), (0, 0, 1, 1.5)] {
        let found = pairwise_scores(3, &verdicts(&[wrong]), 0.95);
        assert_eq!(found, Err(UndefinedReason::Pairs));
    }
}
