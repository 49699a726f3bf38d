//! Fills the tables of docs/statistics.md: 2,000 simulated runs, or pairs of them, a line, with
//! fixed seeds.
//!
//! `scripts/simulate-statistics` builds it in release and hands it the page. With `--check` as
//! second argument it prints the tables only; further arguments name the tables to make. Ends with
//! 1 when a figure lies outside of what the page promises.

use std::fmt::Write as _;

use eval_harness::internals::{CompareSettings, compare};
use eval_harness::internals::{Comparison, ComparisonVerdict, IntervalScope, Metric};
use eval_stats::{pass_at_k, pass_hat_k, pass_hat_k_unbiased};
use rayon::prelude::*;

mod simulated_comparisons;
mod simulated_intervals;
mod simulation;

use simulation::{Change, Design, Dice, Population};

const SIMULATIONS: u64 = 2_000;
/// Of comparisons; a p-value from drawn sign flips is valid for any number (docs/statistics.md).
const RESAMPLES: usize = 1_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let page = arguments.next().expect("the path of docs/statistics.md");
    let mut names: Vec<String> = arguments.collect();
    let check = names.iter().any(|name| name == "--check");
    names.retain(|name| name != "--check");
    let mut wrong = Vec::new();
    type Table = fn(&mut Vec<String>) -> String;
    let tables: [(&str, Table); 7] = [
        ("these_cases", |wrong| {
            simulated_intervals::table(IntervalScope::TheseCases, SIMULATIONS, wrong)
        }),
        ("similar_cases", |wrong| {
            simulated_intervals::table(IntervalScope::SimilarCases, SIMULATIONS, wrong)
        }),
        ("similar_evals", |wrong| {
            simulated_intervals::table(IntervalScope::SimilarEvals, SIMULATIONS, wrong)
        }),
        ("verdicts", |wrong| {
            simulated_comparisons::verdicts(SIMULATIONS, wrong)
        }),
        ("claims", |wrong| {
            simulated_comparisons::claims(SIMULATIONS, wrong)
        }),
        ("holm", holm),
        ("differences", differences),
    ];
    for (name, table) in tables
        .into_iter()
        .filter(|(name, _)| names.is_empty() || names.iter().any(|n| n == name))
    {
        let table = table(&mut wrong);
        println!("{name}\n{table}");
        let mut text = std::fs::read_to_string(&page).expect("the page");
        let (begin, end) = (format!("<!-- simulated: {name} -->\n"), "<!-- end -->");
        let from = text.find(&begin).expect("the marker of a table") + begin.len();
        let to = from + text[from..].find(end).expect("the end of a table");
        text.replace_range(from..to, &table);
        if !check {
            std::fs::write(&page, text).expect("the page");
        }
    }
    if !wrong.is_empty() {
        println!("outside of the promised bounds:\n{}", wrong.join("\n"));
        std::process::exit(1);
    }
}

fn percent(count: usize) -> f64 {
    100.0 * count as f64 / SIMULATIONS as f64
}

fn simulated<T: Send>(
    design: &Design,
    metrics: &[Metric],
    of: impl Fn(&Comparison) -> T + Sync,
) -> Vec<T> {
    (0..SIMULATIONS)
        .into_par_iter()
        .map(|at| {
            let (reference, candidate) = design.runs(&mut Dice::new(2_026, at));
            let settings = CompareSettings {
                metrics: metrics.to_vec(),
                resamples: RESAMPLES,
                pairs: 0,
                seed: at,
                ..CompareSettings::default()
            };
            let compared =
                compare(&reference, &[&candidate], &settings).expect("runs of one suite");
            of(&compared[0])
        })
        .collect()
}

const INDEPENDENT: Design = Design {
    population: Population::Independent,
    cases: 400,
    samples: 1,
    change: Change::None,
    rich: false,
};

/// What comparisons of several metrics say when nothing changed, and of one when something did.
fn holm(wrong: &mut Vec<String>) -> String {
    let one = vec![Metric::PassAt(1)];
    let three = vec![Metric::PassAt(1), Metric::Score, Metric::LatencyMeanMs];
    let rich = |samples| Design {
        samples,
        rich: true,
        ..INDEPENDENT
    };
    let drop = |samples| Design {
        samples,
        change: Change::Times(0.875),
        ..INDEPENDENT
    };
    let lines = [
        (
            "none",
            "400 cases, n = 1, 3 metrics with Holm",
            rich(1),
            &three,
        ),
        (
            "none",
            "400 cases, n = 5, 3 metrics with Holm",
            rich(5),
            &three,
        ),
        ("10 points down", "400 cases, n = 1", drop(1), &one),
        ("10 points down", "400 cases, n = 5", drop(5), &one),
    ];
    let mut table =
        "| True change | Design | `regression` | `improvement` |\n| --- | --- | --- | --- |\n"
            .to_owned();
    for (change, name, design, metrics) in lines {
        let verdicts = simulated(&design, metrics, |c| c.verdict);
        let of = |verdict| percent(verdicts.iter().filter(|v| **v == verdict).count());
        let (worse, better) = (
            of(ComparisonVerdict::Regression),
            of(ComparisonVerdict::Improvement),
        );
        let holds = match design.change {
            Change::Times(_) if design.cases == 400 => worse > 95.0,
            Change::Times(_) => true,
            _ => worse <= 6.5,
        };
        if !holds {
            wrong.push(format!("{change}, {name}: {worse:.2}"));
        }
        let _ = writeln!(
            table,
            "| {change} | {name} | {worse:.1} % | {better:.1} % |"
        );
    }
    table
}

/// Coverage of the intervals of differences.
fn differences(wrong: &mut Vec<String>) -> String {
    type Estimator = fn(u32) -> f64;
    let n5: [(&str, Estimator); 5] = [
        ("pass_at_1", |c| f64::from(c) / 5.0),
        ("pass_at_3", |c| {
            pass_at_k(5, u64::from(c), 3).unwrap_or(0.0)
        }),
        ("pass_hat_3", |c| {
            pass_hat_k(5, u64::from(c), 3).unwrap_or(0.0)
        }),
        ("pass_hat_3_unbiased", |c| {
            pass_hat_k_unbiased(5, u64::from(c), 3).unwrap_or(0.0)
        }),
        ("case_pass_rate", |c| f64::from(u8::from(c == 5))),
    ];
    let n1: [(&str, Estimator); 1] = [("pass_at_1", f64::from)];
    let mut table =
        "| Metric | True change | 50 cases | 164 cases | 400 cases |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (samples, figures) in [(1, &n1[..]), (5, &n5[..])] {
        for (change, times) in [("none", 1.0), ("10 points down", 0.875)] {
            let mut rows = vec![Vec::new(); figures.len()];
            for cases in [50, 164, 400] {
                let design = Design {
                    cases,
                    samples,
                    change: Change::Times(times),
                    ..INDEPENDENT
                };
                let truths: Vec<f64> = figures
                    .iter()
                    .map(|(_, of)| {
                        let mean = |times| Population::Independent.expected(samples, times, of);
                        mean(times) - mean(1.0)
                    })
                    .collect();
                let covered = simulated(&design, &[Metric::PassAt(1)], |compared| {
                    let covers = |(name, truth): (&str, f64)| {
                        let metric = compared.metrics.iter().find(|metric| metric.name == name);
                        let ci = metric.and_then(|metric| metric.ci);
                        ci.is_some_and(|[low, high]| low <= truth && truth <= high)
                    };
                    let names = figures.iter().map(|(name, _)| *name);
                    names
                        .zip(truths.iter().copied())
                        .map(covers)
                        .collect::<Vec<bool>>()
                });
                for (at, row) in rows.iter_mut().enumerate() {
                    row.push(percent(covered.iter().filter(|all| all[at]).count()));
                }
            }
            for ((name, _), row) in figures.iter().zip(rows) {
                line(
                    &mut table,
                    &format!("{name}, n = {samples} | {change}"),
                    &row,
                    wrong,
                );
            }
        }
    }
    table
}

/// A line of coverages, of which each should be 95 %.
fn line(table: &mut String, name: &str, row: &[f64], wrong: &mut Vec<String>) {
    let cells: Vec<String> = row.iter().map(|share| format!("{share:.1} %")).collect();
    let _ = writeln!(table, "| {name} | {} |", cells.join(" | "));
    if row.iter().any(|share| !(93.5..=96.5).contains(share)) {
        wrong.push(format!("{name}: {}", cells.join(", ")));
    }
}
