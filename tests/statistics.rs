//! Comparisons and intervals keep their level, by simulation: a smaller version of `scripts/simulate-statistics` with fixed seeds.
//!
//! Bounds are four standard deviations of the count itself, so that a method which is wrong by more fails.

use eval_harness::model::{Comparison, ComparisonVerdict, IntervalScope, Metric};
use eval_harness::summary::compare::{CompareSettings, compare};
use rayon::prelude::*;

#[path = "../scripts/simulated_intervals.rs"]
#[allow(dead_code, reason = "the tables are made by the script")]
mod simulated_intervals;
#[path = "../scripts/simulation.rs"]
#[allow(dead_code, reason = "some populations are only used by the script")]
mod simulation;

use simulation::{Change, Design, Dice, Population};

const SIMULATIONS: u64 = 400;

/// Whether so many of `n` are compatible with a chance of `p`.
fn is_compatible(count: usize, n: u64, p: f64) -> bool {
    let (count, n) = (count as f64, n as f64);
    (count - n * p).abs() <= 4.0 * (n * p * (1.0 - p)).sqrt()
}

fn simulated<T: Send>(design: &Design, metrics: &[Metric], of: impl Fn(&Comparison) -> T + Sync) -> Vec<T> {
    (0..SIMULATIONS)
        .into_par_iter()
        .map(|at| {
            let (reference, candidate) = design.runs(&mut Dice::new(20_260, at));
            let settings = CompareSettings {
                metrics: metrics.to_vec(),
                resamples: 250,
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
    Design { population: Population::Independent, cases, samples, change, rich: false }
}

#[test]
fn equals_are_called_a_regression_as_often_as_promised() {
    let evals = |samples| Design { population: Population::Evals(8), ..design(160, samples, Change::ByEval) };
    for (design, metrics) in [
        (design(164, 1, Change::None), vec![Metric::PassAt(1)]),
        (design(164, 5, Change::None), vec![Metric::PassAt(1)]),
        (evals(1), vec![Metric::PassAt(1)]),
        (evals(5), vec![Metric::PassAt(1)]),
        (
            Design { rich: true, ..design(100, 3, Change::None) },
            vec![Metric::PassAt(1), Metric::LatencyMeanMs],
        ),
    ] {
        let verdicts = simulated(&design, &metrics, |c| c.verdict);
        let (worse, better) = (
            count(&verdicts, |v| *v == ComparisonVerdict::Regression),
            count(&verdicts, |v| *v == ComparisonVerdict::Improvement),
        );
        assert!(is_compatible(worse, SIMULATIONS, 0.05), "{worse} of {SIMULATIONS}");
        assert!(is_compatible(better, SIMULATIONS, 0.05), "{better} of {SIMULATIONS}");
    }
}

#[test]
fn a_drop_of_ten_points_is_found() {
    for samples in [1, 3] {
        let verdicts =
            simulated(&design(400, samples, Change::Times(0.875)), &[Metric::PassAt(1)], |c| c.verdict);
        let found = count(&verdicts, |v| *v == ComparisonVerdict::Regression);
        assert!(found as f64 > 0.95 * SIMULATIONS as f64, "{found} of {SIMULATIONS} with {samples} samples");
    }
}

#[test]
fn intervals_of_differences_cover_the_truth() {
    for (cases, samples, change) in [(50, 1, 0.875), (50, 5, 0.875), (164, 5, 1.0)] {
        let truth = 0.8 * (change - 1.0);
        let covered = simulated(&design(cases, samples, Change::Times(change)), &[Metric::PassAt(1)], |c| {
            c.metrics[0].ci.is_some_and(|[low, high]| low <= truth && truth <= high)
        });
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
    let scopes = [IntervalScope::TheseCases, IntervalScope::SimilarCases, IntervalScope::SimilarEvals];
    // Some of the generated tables' lines, small ones first of all.
    let some = scopes.into_iter().flat_map(|scope| of(scope).into_iter().step_by(7));
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
