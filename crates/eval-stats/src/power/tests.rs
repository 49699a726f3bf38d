use super::*;
use crate::paired::mcnemar_mid_p;

const AIM: PowerAim = PowerAim {
    alpha: 0.05,
    power: 0.8,
    seed: 1,
    pairs: 600,
};
const MIXED: Population = Population {
    rate: 0.8,
    within: 0.5,
};

fn mixed() -> CaseChances {
    CaseChances::of(MIXED, 1)
}

fn share(n: u32, c: u32) -> Option<f64> {
    (n > 0).then(|| f64::from(c) / f64::from(n))
}

fn design(cases: usize, samples: u32) -> SampleDesign {
    SampleDesign {
        evals: vec![vec![[samples; 2]; cases]],
        whole_evals: false,
    }
}

/// Single samples of cases that are alike: McNemar's test of a binomial number of flips, by exact
/// sums over losses and gains.
#[test]
fn single_samples_agree_with_an_exact_sum() {
    let (n, p, drop) = (40u32, 0.8f64, 0.25);
    let (lose, gain) = (p * (1.0 - (p - drop)), (1.0 - p) * (p - drop));
    let ln_choose = |n: u32, k: u32| {
        (0..k)
            .map(|i| (f64::from(n - i) / f64::from(i + 1)).ln())
            .sum::<f64>()
    };
    let mut exact = 0.0;
    for lost in 0..=n {
        for gained in 0..=n - lost {
            if mcnemar_mid_p(u64::from(lost), u64::from(gained)).p_lower < 0.05 {
                let ways = ln_choose(n, lost) + ln_choose(n - lost, gained);
                let rest = f64::from(n - lost - gained) * (1.0 - lose - gain).ln();
                exact +=
                    (ways + f64::from(lost) * lose.ln() + f64::from(gained) * gain.ln() + rest)
                        .exp();
            }
        }
    }
    let alike = Population {
        rate: p,
        within: 1.0,
    };
    let found = AIM.chance(&design(40, 1), &CaseChances::of(alike, 1), &share, drop);
    assert!((found - exact).abs() < 0.03, "{found} {exact}");
}

#[test]
fn whole_evals_too_few_for_any_test_find_nothing() {
    let four = SampleDesign {
        evals: vec![vec![[3; 2]; 10]; 4],
        whole_evals: true,
    };
    assert_eq!(AIM.detectable(&four, &mixed(), &share), None);
    assert_eq!(AIM.samples(&four, &mixed(), &share, 0.3), None);
    // 8 evals can.
    let eight = SampleDesign {
        evals: vec![vec![[3; 2]; 10]; 8],
        whole_evals: true,
    };
    assert!(AIM.detectable(&eight, &mixed(), &share).is_some());
}

#[test]
fn more_of_anything_finds_less() {
    let drop = |cases, samples| {
        AIM.detectable(&design(cases, samples), &mixed(), &share)
            .unwrap()
    };
    assert!(drop(20, 3) > drop(80, 3) && drop(80, 3) > drop(80, 10));
    let cases = AIM
        .cases(&design(20, 3), &mixed(), &share, 0.05, Some(0.16))
        .unwrap() as usize;
    let found = |cases| AIM.chance(&design(cases, 3), &mixed(), &share, 0.05);
    assert!(
        (found(cases) - 0.8).abs() < 0.07,
        "{cases} {}",
        found(cases)
    );
    let samples = AIM.samples(&design(20, 3), &mixed(), &share, 0.1).unwrap();
    assert!(
        (AIM.chance(&design(20, samples), &mixed(), &share, 0.1) - 0.8).abs() < 0.08,
        "{samples}"
    );
    assert_eq!(AIM.chance(&design(20, 3), &mixed(), &share, 0.9), 0.0);
}

/// Of cases that always or never pass a drop shows as losses alone, so that half of it takes twice
/// the cases and not four times.
#[test]
fn cases_without_luck_are_needed_in_proportion() {
    let steady = CaseChances::of(
        Population {
            rate: 0.85,
            within: 0.0,
        },
        1,
    );
    let cases = |drop| {
        AIM.cases(&design(400, 1), &steady, &share, drop, Some(0.017))
            .unwrap() as f64
    };
    // Four losses and no gain are found (mid-p 1/32), which are there with 80 % chance when 5.5 are
    // expected.
    for drop in [0.017, 0.0085, 0.001, 0.0001] {
        assert!(
            (cases(drop) * drop / 5.5 - 1.0).abs() < 0.15,
            "{drop} {}",
            cases(drop)
        );
    }
}

#[test]
fn units_find_a_loss_by_their_own_spread() {
    let unit = |i: u32| TestedUnit {
        difference: f64::from(i % 7) / 6.0 - 0.5,
        value: 2.0,
        weight: 1.0,
    };
    let units: Vec<TestedUnit> = (0..60).map(unit).collect();
    let found = |even: bool, drop: f64| AIM.pairs_of_units(&units, even, drop, 60);
    let least = |even: bool| smallest(2.0, |drop| found(even, drop).reach(0.8)).unwrap();
    // Standard deviation 1/3 by theory of seven equal steps; (1.645 + 0.842) standard errors.
    assert!(
        (least(true) - 2.487 * (1.0f64 / 9.0 / 60.0).sqrt()).abs() < 0.02,
        "{}",
        least(true)
    );
    assert!(
        found(true, least(true) * 0.5).chance() < 0.6
            && found(true, least(true) * 2.0).chance() > 0.98
    );
    // A few that lose all are harder to see than many that lose a little.
    assert!(least(false) > 1.5 * least(true));
    assert_eq!(AIM.pairs_of_units(&units[..4], true, 0.4, 4).chance(), 0.0);
}

/// Outcomes that never flip by chance: four losses are found, which are there with 80 % chance when
/// 5.5 are expected.
#[test]
fn outcomes_are_tested_by_their_flips() {
    let steady = OutcomeRates {
        rate: 0.5,
        flips: 0.0,
    };
    let least = smallest(0.5, |drop| {
        AIM.pairs_of_outcomes(steady, drop, 100).reach(0.8)
    })
    .unwrap();
    assert!((least - 0.055).abs() < 0.01, "{least}");
    let shaky = OutcomeRates {
        rate: 0.5,
        flips: 0.1,
    };
    assert!(AIM.pairs_of_outcomes(shaky, least, 100).chance() < 0.5);
    assert_eq!(AIM.pairs_of_outcomes(steady, 0.5, 3).chance(), 0.0);
}

/// Just beyond what is simulated case by case, the normal limit says what the simulation says: of
/// cases, of few evals with many cases each, and of many evals, with equal and unlike numbers of
/// samples.
#[test]
fn limit_of_many_cases_agrees_with_simulated_pairs() {
    let chances = mixed();
    let design = |evals: usize, cases: usize, samples, whole_evals| SampleDesign {
        evals: vec![vec![samples; cases]; evals],
        whole_evals,
    };
    for (samples, whole_evals, evals, cases) in [
        ([3, 3], false, 1, 1_500),
        ([10, 2], false, 1, 1_500),
        ([3, 3], true, 8, 187),
        ([2, 5], true, 8, 187),
        ([3, 3], true, 250, 6),
        ([5, 2], true, 250, 6),
    ] {
        let simulated = design(evals, cases, samples, whole_evals);
        let beyond = design(evals, cases + 1, samples, whole_evals);
        let drop = AIM.detectable(&beyond, &chances, &share).unwrap();
        for times in [0.7, 1.0] {
            let [near, far] = [&simulated, &beyond]
                .map(|design| AIM.chance(design, &chances, &share, drop * times));
            // 3.5 standard errors of 533 pairs.
            assert!(
                (near - far).abs() < 0.075,
                "{samples:?} {evals} evals, {times}: {near} {far}"
            );
        }
    }
}
