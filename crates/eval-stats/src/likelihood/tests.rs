use proptest::prelude::*;

use super::*;
use crate::distributions::binomial_term;

const Z2: f64 = 1.959963984540054 * 1.959963984540054;

fn one(levels: Vec<ValueLevel>) -> Vec<Stratum> {
    vec![Stratum {
        share: 1.0,
        repeats: 1.0,
        units: StratumUnits::Levels(levels),
    }]
}

fn values(values: &[f64]) -> Vec<ValueLevel> {
    values
        .iter()
        .map(|value| ValueLevel::of(*value, 1.0))
        .collect()
}

#[test]
fn perfect_runs_end_where_failures_would_be_missed_too_often() {
    let shown = |n: f64| {
        let interval = of_counts(n, n, 0.95).unwrap();
        // The chance that n cases all pass at the lower end itself.
        format!(
            "{:.4} {:.4} {:.3}",
            interval.low,
            interval.high,
            interval.low.powf(n)
        )
    };
    insta::assert_snapshot!(shown(1.0), @"0.0552 1.0000 0.055");
    insta::assert_snapshot!(shown(10.0), @"0.7120 1.0000 0.034");
    insta::assert_snapshot!(shown(20.0), @"0.8420 1.0000 0.032");
    insta::assert_snapshot!(shown(1_000.0), @"0.9965 1.0000 0.031");
    let none = of_counts(0.0, 20.0, 0.95).unwrap();
    assert!(
        none.low == 0.0
            && (none.high - (1.0 - of_counts(20.0, 20.0, 0.95).unwrap().low)).abs() < 1e-12
    );
}

/// By sums over all numbers of passes, just beside each end, where coverage is least.
#[test]
fn verdicts_are_covered_as_promised_at_every_chance() {
    for n in [5u64, 8, 10, 20, 50, 100] {
        let ends: Vec<Interval> = (0..=n)
            .map(|c| of_counts(c as f64, n as f64, 0.95).unwrap())
            .collect();
        let beside = ends
            .iter()
            .flat_map(|i| [i.low - 1e-9, i.high + 1e-9])
            .filter(|p| *p > 0.0 && *p < 1.0);
        for p in beside {
            let chance = |is: &dyn Fn(&Interval) -> bool| {
                (0..=n)
                    .filter(|c| is(&ends[*c as usize]))
                    .map(|c| binomial_term(c, n, p))
                    .sum::<f64>()
            };
            let covered = chance(&|i| i.low <= p && p <= i.high);
            assert!(covered >= 0.935, "{n} {p}: {covered}");
            let above = chance(&|i| i.low > p);
            let most = if p < 0.5 {
                0.056
            } else if n < 8 {
                0.037
            } else {
                0.035
            };
            assert!(above <= most, "{n} {p}: {above}");
        }
    }
}

/// Of the unbiased figures the mean over all ways to leave a sample out is the figure itself.
#[test]
fn contributions_of_samples_average_to_the_figure() {
    for n in 2..9u32 {
        for c in 0..=n {
            for k in 1..n {
                for curve in [
                    PassCurve::PassAt(k),
                    PassCurve::PassHat(k),
                    PassCurve::PassHatUnbiased(k),
                ] {
                    let [pass, fail] = curve.contributions(n, c).unwrap();
                    let mean = (f64::from(c) * pass + f64::from(n - c) * fail) / f64::from(n);
                    assert!(
                        (mean - curve.value(n, c).unwrap()).abs() < 1e-9,
                        "{n} {c} {curve:?}"
                    );
                }
            }
            let [pass, fail] = PassCurve::PassAt(1).contributions(n, c).unwrap();
            assert!(
                (c == 0 || (pass - 1.0).abs() < 1e-9) && (c == n || fail.abs() < 1e-9),
                "{n} {c}"
            );
        }
        assert!(PassCurve::PassAt(n).contributions(n, 1).is_err());
    }
}

/// 40 cases whose 5 samples all pass are 40 strata, also where they are counted as one kind.
#[test]
fn repeated_strata_are_as_many_strata() {
    let perfect = |share: f64, repeats: f64| Stratum {
        share,
        repeats,
        units: StratumUnits::Levels(vec![ValueLevel::of(1.0, 5.0)]),
    };
    let counted = of_shares(&[perfect(1.0 / 40.0, 40.0)], UnseenWeight::Telling, 0.95).unwrap();
    let listed = of_shares(
        &vec![perfect(1.0 / 40.0, 1.0); 40],
        UnseenWeight::Telling,
        0.95,
    )
    .unwrap();
    assert!(
        (counted.low - listed.low).abs() < 1e-12 && counted.low > 0.98,
        "{counted:?} {listed:?}"
    );
    let worse = Stratum {
        units: StratumUnits::Levels(vec![ValueLevel::of(0.0, 1.0), ValueLevel::of(1.0, 4.0)]),
        ..perfect(1.0 / 40.0, 1.0)
    };
    let one_failed = of_shares(
        &[perfect(1.0 / 40.0, 39.0), worse],
        UnseenWeight::Telling,
        0.95,
    )
    .unwrap();
    assert!(one_failed.low < counted.low, "{one_failed:?}");
}

/// 100 cases that weigh a tenth together and 2 that weigh the rest: what the 2 leave open is left
/// open.
#[test]
fn heavy_units_decide_what_all_passes_say() {
    let perfect = |share: f64, count: f64| Stratum {
        share,
        repeats: 1.0,
        units: StratumUnits::Levels(vec![ValueLevel::of(1.0, count)]),
    };
    let low = of_shares(
        &[perfect(0.1, 100.0), perfect(0.9, 2.0)],
        UnseenWeight::Telling,
        0.95,
    )
    .unwrap()
    .low;
    // With chances p of the 2, all pass in p² of runs.
    assert!(low < 0.1 + 0.9 * 0.035f64.sqrt() + 0.03, "{low}");
    let alike = of_shares(
        &[perfect(0.98, 100.0), perfect(0.02, 2.0)],
        UnseenWeight::Telling,
        0.95,
    )
    .unwrap()
    .low;
    assert!(alike > 0.95, "{alike}");
    // In one stratum, too; drawn from one population the 2 are two of 102.
    let units = [
        ValueLevel {
            sum: 0.1,
            size: 0.1,
            count: 100.0,
        },
        ValueLevel {
            sum: 45.0,
            size: 45.0,
            count: 2.0,
        },
    ];
    let low = |unseen| of_shares(&one(units.to_vec()), unseen, 0.95).unwrap().low;
    assert!(
        low(UnseenWeight::Telling) < 0.35 && low(UnseenWeight::Average) > 0.9,
        "{} {}",
        low(UnseenWeight::Telling),
        low(UnseenWeight::Average)
    );
}

#[test]
fn what_can_not_be_computed_is_an_error() {
    assert_eq!(
        of_shares(&[], UnseenWeight::Telling, 0.95),
        Err(UndefinedReason::NoData)
    );
    assert_eq!(of_counts(1.0, 0.0, 0.95), Err(UndefinedReason::NoData));
    assert_eq!(of_counts(2.0, 1.0, 0.95), Err(UndefinedReason::NoData));
    assert_eq!(of_counts(1.0, 2.0, 1.0), Err(UndefinedReason::Level));
    assert_eq!(
        of_values(&values(&[1.0]), 0.95),
        Err(UndefinedReason::TooFewUnits {
            n: 1,
            unit: "values"
        })
    );
    assert_eq!(
        of_values(&values(&[3.0, 3.0]), 0.95),
        Err(UndefinedReason::NoVariation)
    );
    assert_eq!(
        of_values(&values(&[f64::NAN, 3.0]), 0.95),
        Err(UndefinedReason::NotFinite)
    );
}

#[test]
fn values_without_bounds_stay_within_the_data_and_tend_to_the_normal_interval() {
    let few = of_values(&values(&[120.0, 180.0]), 0.95).unwrap();
    assert!(
        few.low >= 120.0 && few.low < 121.0 && few.high <= 180.0 && few.high > 179.0,
        "{few:?}"
    );
    let many: Vec<f64> = (0..400).map(|i| 1e6 + f64::from(i * 7_919 % 401)).collect();
    let mean = many.iter().sum::<f64>() / 400.0;
    let error = (many.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 399.0 / 400.0).sqrt();
    let interval = of_values(&values(&many), 0.95).unwrap();
    for (end, normal) in [
        (interval.low, mean - 1.966 * error),
        (interval.high, mean + 1.966 * error),
    ] {
        assert!(
            (end - normal).abs() < 0.02 * error,
            "{interval:?} {mean} {error}"
        );
    }
}

/// A number of cases with their passes among some samples, in evals.
fn runs() -> impl Strategy<Value = Vec<Vec<(u8, u8)>>> {
    let case = (1u8..7).prop_flat_map(|n| (Just(n), 0..=n));
    prop::collection::vec(prop::collection::vec(case, 1..7), 1..7)
}

/// The strata of such a run under a question, of a curve: 0 these cases, 1 cases like these, 2
/// evals like these.
fn strata(run: &[Vec<(u8, u8)>], question: u8, k: u32) -> Vec<Stratum> {
    let curve = PassCurve::PassAt(k);
    let of = |(n, c): (u8, u8)| curve.value(u32::from(n), u32::from(c)).unwrap();
    let cases: f64 = run.iter().map(|eval| eval.len() as f64).sum();
    let levels = |eval: &[(u8, u8)]| -> Vec<ValueLevel> {
        eval.iter()
            .map(|case| ValueLevel::of(of(*case), 1.0))
            .collect()
    };
    let stratum = |share: f64, units: StratumUnits| Stratum {
        share,
        repeats: 1.0,
        units,
    };
    match question {
        0 => run
            .iter()
            .flatten()
            .map(|(n, c)| {
                let (n, passed) = (u32::from(*n), u32::from(*c));
                stratum(
                    1.0 / cases,
                    StratumUnits::Samples {
                        n,
                        passed,
                        curve,
                        times: 1.0,
                    },
                )
            })
            .collect(),
        1 => run
            .iter()
            .map(|eval| {
                stratum(
                    eval.len() as f64 / cases,
                    StratumUnits::Levels(levels(eval)),
                )
            })
            .collect(),
        _ => {
            let level = |eval: &Vec<(u8, u8)>| ValueLevel {
                sum: eval.iter().map(|case| of(*case)).sum(),
                size: eval.len() as f64,
                count: 1.0,
            };
            one(run.iter().map(level).collect())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn counts_have_the_ends_of_their_values(passed in 0u32..200, failed in 0u32..200) {
        prop_assume!(passed + failed > 0);
        let (passed, failed) = (f64::from(passed), f64::from(failed));
        let interval = of_counts(passed, passed + failed, 0.95).unwrap();
        let levels = [ValueLevel::of(0.0, failed), ValueLevel::of(1.0, passed)];
        let general = of_shares(&one(levels.into_iter().filter(|l| l.count > 0.0).collect()), UnseenWeight::Telling, 0.95).unwrap();
        prop_assert!((interval.low - general.low).abs() < 1e-9, "{:?} {:?}", interval, general);
        prop_assert!((interval.high - general.high).abs() < 1e-9, "{:?} {:?}", interval, general);
        prop_assert!(interval.low < interval.high);
    }

    /// Of n equal units it is n. Else the mean that n equal units leave likely is the least that
    /// chances of each unit give whose product is not too small: none that are drawn give less.
    #[test]
    fn equal_units_say_as_much(
        sizes in prop::collection::vec((0.01f64..10.0, 1u8..5), 1..8), drawn in prop::collection::vec(0.0f64..1.0, 64),
    ) {
        let units: Vec<(f64, f64)> = sizes.iter().map(|(size, count)| (*size, f64::from(*count))).collect();
        let n: f64 = units.iter().map(|(_, count)| count).sum();
        let alike: Vec<(f64, f64)> = units.iter().map(|(_, count)| (0.3, *count)).collect();
        prop_assert!((equal_units(alike) / n - 1.0).abs() < 1e-9);
        let least = 0.035f64.powf(1.0 / equal_units(units.clone()));
        prop_assert!(equal_units(units.clone()) <= n * (1.0 + 1e-9));
        let total: f64 = units.iter().map(|(size, count)| size * count).sum();
        for weights in drawn.chunks(units.len()).filter(|weights| weights.len() == units.len()) {
            let spent: f64 = units.iter().zip(weights).map(|((_, count), weight)| count * weight).sum();
            let mean: f64 = units
                .iter()
                .zip(weights)
                .map(|((size, count), weight)| size * count * (0.035f64.ln() * weight / spent).exp())
                .sum();
            prop_assert!(mean / total >= least - 1e-9, "{} {}", mean / total, least);
        }
    }

    /// One stratum by its price is one stratum by its ratio.
    #[test]
    fn a_price_finds_the_same_end(fifths in prop::collection::vec(0u8..=5, 1..30)) {
        let levels: Vec<ValueLevel> = fifths.iter().map(|f| ValueLevel::of(f64::from(*f) / 5.0, 1.0)).collect();
        let levels_again = levels.clone();
        let n = levels.len() as f64;
        let by_price = stratified(&one(levels), IntervalEnd::Lower, 0.95).unwrap();
        let t = t_quantile(0.975, (n - 1.0).max(1.0));
        let by_ratio = if n > 1.0 { ratio_of_shares(&levels_again, UnseenWeight::Telling, t * t / 2.0).unwrap() } else { by_price };
        prop_assert!((by_ratio - by_price).abs() < 1e-9, "{} {}", by_ratio, by_price);
    }

    /// No reweighting that is as likely as that reaches lower: weights are drawn and brought to the
    /// bound.
    #[test]
    fn no_likely_weights_give_less(
        run in runs(), tilts in prop::collection::vec(0.0f64..1.0, 64), question in 1u8..3,
    ) {
        let strata = strata(&run, question, 1);
        let low = of_shares(&strata, UnseenWeight::Telling, 0.95).unwrap().low;
        let mut draw = tilts.iter().cycle();
        let mut drawn = |scale: f64| (-scale * draw.next().unwrap()).exp();
        for scale in [0.05, 0.3, 1.0, 3.0] {
            let (mut sum, mut size, mut loss, mut units) = (0.0, 0.0, 0.0, 0.0);
            let several = strata.len() as f64;
            // What pseudo-observations weigh is drawn, too: towards more at 0.
            let mut parts = Vec::new();
            for stratum in &strata {
                let StratumUnits::Levels(levels) = &stratum.units else { unreachable!() };
                let weights: Vec<f64> = levels.iter().map(|l| drawn(scale * l.sum / l.size)).collect();
                parts.push((stratum, levels, weights));
            }
            for (stratum, levels, weights) in &parts {
                let n = levels.len() as f64;
                let total: f64 = weights.iter().sum();
                let freedom = 1.0 - (1.0 - 1.0 / several) / n;
                loss -= weights.iter().map(|w| freedom * (w / total * n).ln()).sum::<f64>();
                let each = |of: fn(&ValueLevel) -> f64| {
                    levels.iter().zip(weights).map(|(l, w)| of(l) * w / total).sum::<f64>()
                };
                sum += stratum.share * each(|l| l.sum);
                size += stratum.share * each(|l| l.size);
                units += n;
            }
            let typical = strata.iter().map(|stratum| match &stratum.units {
                StratumUnits::Levels(levels) => stratum.share * levels.iter().map(|l| l.size).sum::<f64>() / levels.len() as f64,
                StratumUnits::Samples { .. } => unreachable!(),
            }).sum::<f64>();
            for unseen in [0.3, 0.6, 1.0, 2.0, 4.0] {
                let all = units + unseen;
                let part = |count: f64, weight: f64| -count * (weight / all * (units + UNSEEN) / count).ln();
                if loss + part(units, units) + part(UNSEEN, unseen) <= Z2 / 2.0 {
                    let mean = units * sum / (units * size + unseen * typical);
                    prop_assert!(low <= mean + 1e-9, "{} {}", low, mean);
                }
            }
        }
    }

    /// A failed sample that passes never lowers an end, under any question.
    #[test]
    fn more_passes_never_lower_an_end(
        run in runs(), eval in any::<prop::sample::Index>(), case in any::<prop::sample::Index>(),
        question in 0u8..3, k in 1u32..4,
    ) {
        // As is done with real runs, cases of fewer samples than k have no value.
        let run: Vec<Vec<(u8, u8)>> = run
            .into_iter()
            .map(|eval| eval.into_iter().filter(|(n, _)| u32::from(*n) > k).collect::<Vec<_>>())
            .filter(|eval| !eval.is_empty())
            .collect();
        prop_assume!(!run.is_empty());
        let mut better = run.clone();
        let eval = eval.get_mut(&mut better);
        let (n, c) = case.get_mut(eval);
        prop_assume!(c < n);
        *c += 1;
        let before = of_shares(&strata(&run, question, k), UnseenWeight::Telling, 0.95).unwrap();
        let after = of_shares(&strata(&better, question, k), UnseenWeight::Telling, 0.95).unwrap();
        prop_assert!(after.low >= before.low - 1e-12, "{:?} {:?}", before, after);
        prop_assert!(after.high >= before.high - 1e-12, "{:?} {:?}", before, after);
    }
}
