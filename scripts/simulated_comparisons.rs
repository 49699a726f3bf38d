//! Comparisons, simulated: false alarms, power, and whether the drop that is said to be found with
//! 80 % chance is found that often.

use std::fmt::Write as _;

use eval_harness::internals::{
    CaseRecord, Comparison, ComparisonVerdict, EvalRecord, IntervalScope, Metric, Outcome,
    RunScores,
};
use eval_harness::internals::{CompareSettings, PAIRS, compare};
use eval_stats::power::{CaseChances, Population as Spread, PowerAim, SampleDesign as Plan};
use rayon::prelude::*;

use super::simulation::{Dice, blank_eval, side};

/// Two runs of the same evals.
#[derive(Clone, Debug)]
pub struct Design {
    /// Cases of each eval.
    pub evals: Vec<usize>,
    pub samples: [u32; 2],
    /// The mean of the chances, which follow Beta(mean, 1 - mean).
    pub mean: f64,
    /// Every chance of the candidate is multiplied.
    pub times: f64,
    /// Each eval has a shift of its own, of mean 0.
    pub by_eval: bool,
    pub scope: IntervalScope,
}

impl Design {
    pub fn of(cases: usize, samples: u32) -> Design {
        Design {
            evals: vec![cases],
            samples: [samples; 2],
            mean: 0.8,
            times: 1.0,
            by_eval: false,
            scope: IntervalScope::SimilarCases,
        }
    }

    pub fn runs(&self, dice: &mut Dice) -> (RunScores, RunScores) {
        let mut sides = [Vec::new(), Vec::new()];
        for (number, cases) in self.evals.iter().enumerate() {
            let shift = if self.by_eval {
                0.3 * (dice.unit() - 0.5)
            } else {
                0.0
            };
            let mut evals = [blank_eval(number), blank_eval(number)];
            for at in 0..*cases {
                let p = dice.beta(self.mean, 1.0 - self.mean);
                let chances = [p, (p + 4.0 * shift * p * (1.0 - p)) * self.times];
                for (side, eval) in evals.iter_mut().enumerate() {
                    let n = self.samples[side];
                    add(eval, at, n, dice.passes(n, chances[side]));
                }
            }
            let [before, after] = evals;
            sides[0].push(before);
            sides[1].push(after);
        }
        let [before, after] = sides;
        let run = |label, evals| RunScores {
            side: side(label),
            ks: vec![1],
            interval_scope: self.scope,
            score_metrics: Vec::new(),
            evals,
        };
        (run("A", before), run("B", after))
    }

    /// What comparisons of so many pairs say.
    pub fn compared<T: Send>(
        &self,
        pairs: u64,
        seed: u64,
        simulate: usize,
        of: impl Fn(&Comparison) -> T + Sync,
    ) -> Vec<T> {
        let one = |at: u64| {
            let (reference, candidate) = self.runs(&mut Dice::new(seed, at));
            let settings = CompareSettings {
                metrics: vec![Metric::PassAt(1)],
                resamples: 1_000,
                pairs: simulate,
                seed: at,
                ..CompareSettings::default()
            };
            of(&compare(&reference, &[&candidate], &settings).expect("runs of one suite")[0])
        };
        (0..pairs).into_par_iter().map(one).collect()
    }

    /// Shares of regressions and of improvements.
    pub fn verdicts(&self, pairs: u64, seed: u64) -> [f64; 2] {
        let all = self.compared(pairs, seed, 0, |comparison| comparison.verdict);
        let share =
            |verdict| all.iter().filter(|one| **one == verdict).count() as f64 / pairs as f64;
        [
            share(ComparisonVerdict::Regression),
            share(ComparisonVerdict::Improvement),
        ]
    }
}

fn add(eval: &mut EvalRecord, at: usize, n: u32, c: u32) {
    let outcome = if c == n {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    if outcome == Outcome::Failed {
        eval.outcome = Outcome::Failed;
    }
    let id = format!("c{at}");
    eval.cases.push(CaseRecord {
        id,
        outcome: Some(outcome),
        samples: n,
        n,
        c,
        ..CaseRecord::default()
    });
}

fn unequal(evals: usize) -> Vec<usize> {
    // Quantiles of a log-normal distribution, from 1 to 60.
    const SIZES: [usize; 20] = [
        1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 9, 10, 12, 14, 16, 20, 28, 60,
    ];
    (0..evals)
        .map(|at| SIZES[at * SIZES.len() / evals])
        .collect()
}

/// Designs without a true difference, with their names.
pub fn equals() -> Vec<(String, Design)> {
    let of = Design::of;
    let mut all = vec![
        ("1 case, n = 10".to_owned(), of(1, 10)),
        ("4 cases, n = 3".to_owned(), of(4, 3)),
        ("5 cases, n = 3".to_owned(), of(5, 3)),
        ("8 cases, n = 3".to_owned(), of(8, 3)),
        ("20 cases, n = 1".to_owned(), of(20, 1)),
        (
            "20 cases, n = 3 and 10".to_owned(),
            Design {
                samples: [3, 10],
                ..of(20, 3)
            },
        ),
        (
            "20 cases, n = 10 and 1".to_owned(),
            Design {
                samples: [10, 1],
                ..of(20, 3)
            },
        ),
        (
            "5 evals of 1, 2, 3, 5, 9, n = 3".to_owned(),
            Design {
                evals: vec![1, 2, 3, 5, 9],
                ..of(20, 3)
            },
        ),
        (
            "50 cases of mean 0.95, n = 3".to_owned(),
            Design {
                mean: 0.95,
                ..of(50, 3)
            },
        ),
        ("50 cases, n = 5".to_owned(), of(50, 5)),
        (
            "20 evals of 1 to 60, n = 1".to_owned(),
            Design {
                evals: unequal(20),
                ..of(400, 1)
            },
        ),
        ("400 cases, n = 1".to_owned(), of(400, 1)),
        ("400 cases, n = 5".to_owned(), of(400, 5)),
    ];
    for mean in [0.2, 0.5, 0.8, 0.9] {
        for cases in [10, 20, 50] {
            all.push((
                format!("{cases} cases of mean {mean}, n = 3"),
                Design {
                    mean,
                    ..of(cases, 3)
                },
            ));
        }
    }
    for (name, evals) in [
        ("12 evals of 1 to 60", unequal(12)),
        ("8 evals of 20", vec![20; 8]),
        (
            "12 evals, two with most",
            [vec![60, 60], vec![4; 10]].concat(),
        ),
        ("40 evals of 10", vec![10; 40]),
    ] {
        let design = Design {
            evals,
            by_eval: true,
            scope: IntervalScope::SimilarEvals,
            ..of(1, 3)
        };
        all.push((
            format!("{name}, shifted by eval, n = 3 (similar_evals)"),
            design,
        ));
    }
    all
}

/// How often pairs without a difference are called one, and pairs with a drop of a fifth a
/// regression.
pub fn verdicts(pairs: u64, wrong: &mut Vec<String>) -> String {
    let mut table = "| Design | No difference: `regression` | `improvement` | A fifth lost: `regression` |\n| --- | --- | --- | --- |\n".to_owned();
    for (at, (name, design)) in equals().into_iter().enumerate() {
        let [worse, better] = design.verdicts(pairs, 100 + at as u64);
        let dropped = Design {
            times: 0.8,
            ..design.clone()
        };
        let [found, _] = dropped.verdicts(pairs / 2, 200 + at as u64);
        let slack = 2.0 * (0.06f64 * 0.94 / pairs as f64).sqrt();
        let least = if name.contains("of mean 0.") && design.evals[0] >= 10 && design.mean < 0.93 {
            0.03
        } else {
            0.0
        };
        if worse.max(better) > 0.06 + slack || worse.min(better) < least - slack {
            wrong.push(format!(
                "{name}: {:.1} / {:.1}",
                worse * 100.0,
                better * 100.0
            ));
        }
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {} |",
            percent(worse),
            percent(better),
            percent(found)
        );
    }
    table
}

/// Designs of claims about power, with their names.
pub fn planned() -> Vec<(String, Design)> {
    let mut all: Vec<(String, Design)> = [
        (4, 3),
        (5, 3),
        (8, 3),
        (10, 1),
        (10, 3),
        (10, 10),
        (20, 1),
        (20, 3),
        (50, 1),
        (50, 3),
        (200, 1),
        (200, 3),
    ]
    .into_iter()
    .map(|(cases, samples)| {
        (
            format!("{cases} cases, n = {samples}"),
            Design::of(cases, samples),
        )
    })
    .collect();
    let scope = IntervalScope::SimilarEvals;
    for (name, evals, samples) in [
        ("12 evals of 1 to 60", unequal(12), 3),
        ("10 evals of 10", vec![10; 10], 1),
        ("20 evals of 5", vec![5; 20], 3),
    ] {
        let design = Design {
            evals,
            scope,
            ..Design::of(1, samples)
        };
        all.push((format!("{name}, n = {samples} (similar_evals)"), design));
    }
    all
}

/// The drop that `power` says is found with 80 % chance, and how often it is found; and the same of
/// what comparisons of equals say.
pub fn claims(pairs: u64, wrong: &mut Vec<String>) -> String {
    let mut table =
        "| Design | `power`: drop | found | `compare` of equals: median drop | found |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (at, (name, design)) in planned().into_iter().enumerate() {
        let aim = PowerAim {
            alpha: 0.05,
            power: 0.8,
            seed: 0,
            pairs: PAIRS,
        };
        let eval = |cases: &usize| vec![design.samples; *cases];
        let plan = Plan {
            evals: design.evals.iter().map(eval).collect(),
            whole_evals: design.scope == IntervalScope::SimilarEvals,
        };
        let figure = |n: u32, c: u32| Some(f64::from(c) / f64::from(n));
        let claimed = aim.detectable(
            &plan,
            &CaseChances::of(
                Spread {
                    rate: design.mean,
                    within: 0.5,
                },
                0,
            ),
            &figure,
        );
        let mut drops: Vec<f64> = design
            .compared(60, 300 + at as u64, PAIRS, |comparison| {
                comparison.detectable.as_ref().and_then(|found| found.drop)
            })
            .into_iter()
            .flatten()
            .collect();
        drops.sort_by(f64::total_cmp);
        let median = drops.get(drops.len() / 2).copied();
        let mut cells = String::new();
        for (which, drop) in [("power", claimed), ("compare", median)] {
            let Some(drop) = drop else {
                cells.push_str(" none | |");
                continue;
            };
            let times = 1.0 - (drop / design.mean).min(1.0);
            let [found, _] = Design {
                times,
                ..design.clone()
            }
            .verdicts(pairs, 400 + at as u64);
            // Standard error of the claim and of this check.
            let slack = 0.03 + 2.0 * (0.16 / pairs as f64 + 0.16 / 1_000.0).sqrt();
            if which == "power" && (found - 0.8).abs() > slack {
                wrong.push(format!(
                    "{name}, {which}: {:.1} points found in {:.1} %",
                    drop * 100.0,
                    found * 100.0
                ));
            }
            let _ = write!(
                cells,
                " {:.1} points | {:.1} % |",
                drop * 100.0,
                found * 100.0
            );
        }
        let _ = writeln!(table, "| {name} |{cells}");
    }
    table
}
