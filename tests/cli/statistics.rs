//! Comparisons and intervals keep their level, by simulation: a smaller version of
//! `scripts/simulate-statistics` with fixed seeds.
//!
//! Bounds are four standard deviations of the count itself, so that a method which is wrong by more
//! fails.

use eval_harness::internals::{
    CompareSettings, Comparison, ComparisonVerdict, IntervalScope, Metric, compare,
};
use eval_stats::power::{CaseChances, Population as Spread, PowerAim, SampleDesign as Plan};
use rayon::prelude::*;

#[path = "../../scripts/simulated_comparisons.rs"]
#[allow(dead_code, reason = "the tables are made by the script")]
mod simulated_comparisons;
#[path = "../../scripts/simulated_intervals.rs"]
#[allow(dead_code, reason = "the tables are made by the script")]
mod simulated_intervals;
#[path = "../../scripts/simulation.rs"]
#[allow(dead_code, reason = "some populations are only used by the script")]
mod simulation;

use simulation::{Change, Design, Dice, Population};

const SIMULATIONS: u64 = 400;

/// Whether so many of `n` are compatible with a chance of `p`.
fn is_compatible(count: usize, n: u64, p: f64) -> bool {
    let (count, n) = (count as f64, n as f64);
    (count - n * p).abs() <= 4.0 * (n * p * (1.0 - p)).sqrt()
}

fn simulated<T: Send>(
    design: &Design,
    metrics: &[Metric],
    of: impl Fn(&Comparison) -> T + Sync,
) -> Vec<T> {
    (0..SIMULATIONS)
        .into_par_iter()
        .map(|at| {
            let (reference, candidate) = design.runs(&mut Dice::new(20_260, at));
            let settings = CompareSettings {
                metrics: metrics.to_vec(),
                resamples: 250,
                pairs: 0,
                seed: at,
                ..CompareSettings::default()
            };
            let compared = compare(&reference, &[&candidate], &settings).expect("one suite");
            of(&compared[0])
        })
        .collect()
}

fn count<T>(all: &[T], is: impl Fn(&T) -> bool) -> usize {
    all.iter().filter(|one| is(one)).count()
}

fn design(cases: usize, samples: u32, change: Change) -> Design {
    Design {
        population: Population::Independent,
        cases,
        samples,
        change,
        rich: false,
    }
}

#[test]
fn equals_are_called_a_regression_as_often_as_promised() {
    for (name, design) in simulated_comparisons::equals().into_iter().step_by(3) {
        let [worse, better] = design.verdicts(SIMULATIONS, 5);
        // At most 6 %, within four standard deviations of so many pairs.
        assert!(
            worse.max(better) < 0.06 + 0.0475,
            "{name}: {worse} {better}"
        );
    }
    let metrics = [Metric::PassAt(1), Metric::LatencyMeanMs];
    let verdicts = simulated(
        &Design {
            rich: true,
            ..design(100, 3, Change::None)
        },
        &metrics,
        |c| c.verdict,
    );
    let worse = count(&verdicts, |v| *v == ComparisonVerdict::Regression);
    assert!(
        is_compatible(worse, SIMULATIONS, 0.05),
        "{worse} of {SIMULATIONS}"
    );
}

#[test]
fn four_cases_that_lose_all_samples_are_a_regression() {
    let design = simulated_comparisons::Design {
        mean: 0.99,
        times: 0.0,
        ..simulated_comparisons::Design::of(4, 3)
    };
    let [worse, _] = design.verdicts(100, 1);
    assert!(worse > 0.95, "{worse}");
}

#[test]
fn drops_are_found_as_often_as_claimed() {
    let share = |n: u32, c: u32| Some(f64::from(c) / f64::from(n));
    for (cases, samples) in [(10, 3), (20, 1), (50, 3)] {
        let aim = PowerAim {
            alpha: 0.05,
            power: 0.8,
            seed: 0,
            pairs: 800,
        };
        let plan = Plan {
            evals: vec![vec![[samples; 2]; cases]],
            whole_evals: false,
        };
        let drop = aim
            .detectable(
                &plan,
                &CaseChances::of(
                    Spread {
                        rate: 0.8,
                        within: 0.5,
                    },
                    0,
                ),
                &share,
            )
            .expect("a drop");
        let design = simulated_comparisons::Design {
            times: 1.0 - drop / 0.8,
            ..simulated_comparisons::Design::of(cases, samples)
        };
        let [found, _] = design.verdicts(SIMULATIONS, 9);
        // Three points, and four standard deviations of so many pairs.
        assert!(
            (found - 0.8).abs() < 0.03 + 0.08,
            "{cases} x {samples}: {drop} found in {found}"
        );
    }
}

#[test]
fn a_drop_of_ten_points_is_found() {
    for samples in [1, 3] {
        let verdicts = simulated(
            &design(400, samples, Change::Times(0.875)),
            &[Metric::PassAt(1)],
            |c| c.verdict,
        );
        let found = count(&verdicts, |v| *v == ComparisonVerdict::Regression);
        assert!(
            found as f64 > 0.95 * SIMULATIONS as f64,
            "{found} of {SIMULATIONS} with {samples} samples"
        );
    }
}

#[test]
fn intervals_of_differences_cover_the_truth() {
    for (cases, samples, change) in [(50, 1, 0.875), (50, 5, 0.875), (164, 5, 1.0)] {
        let truth = 0.8 * (change - 1.0);
        let covered = simulated(
            &design(cases, samples, Change::Times(change)),
            &[Metric::PassAt(1)],
            |c| {
                c.metrics[0]
                    .ci
                    .is_some_and(|[low, high]| low <= truth && truth <= high)
            },
        );
        let covered = count(&covered, |c| *c);
        assert!(
            is_compatible(covered, SIMULATIONS, 0.95),
            "{covered} of {SIMULATIONS} at {cases} x {samples}"
        );
    }
}

#[test]
fn intervals_hold_in_every_scope() {
    let of = |scope| simulated_intervals::settings(scope);
    let scopes = [
        IntervalScope::TheseCases,
        IntervalScope::SimilarCases,
        IntervalScope::SimilarEvals,
    ];
    // Some of the generated tables' lines, small ones first of all.
    let some = scopes
        .into_iter()
        .flat_map(|scope| of(scope).into_iter().step_by(7));
    let wrong: Vec<String> = some
        .filter_map(|setting| {
            let own = setting.simulate(SIMULATIONS, 11)[0];
            let (covered, above) = (own.covered, own.above);
            (!own.holds()).then(|| format!("{}: {covered}, {above}", setting.name()))
        })
        .collect();
    // The bounds are two standard deviations away, which some of so many lines miss by chance.
    assert!(wrong.len() <= 2, "{wrong:#?}");
}
