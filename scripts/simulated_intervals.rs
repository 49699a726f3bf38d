//! Intervals of single runs, simulated: how often they hold the truth, how often their lower end is
//! above it, and how wide they are beside other methods, for each of the three scopes. The
//! intervals come from the code that reports use.

use eval_harness::internals::{CaseSamples, OverCases};
use eval_harness::internals::{IntervalScope, Metric};
use eval_stats::pass_at_k;
use rayon::prelude::*;

use super::simulation::Dice;

/// One of so many runs is given to other methods, too.
const OTHERS: u64 = 8;

/// Where the chances of cases come from.
#[derive(Clone, Copy, PartialEq)]
pub enum Chances {
    /// All cases alike.
    Alike(f64),
    /// Beta(mean, 1 - mean): most near 0 or 1.
    Beta(f64),
    /// The first chance with probability 1 - share, else the second.
    Mix(f64, f64, f64),
}

impl Chances {
    pub fn name(self) -> String {
        match self {
            Chances::Alike(p) => format!("all {p}"),
            Chances::Beta(mean) => format!("Beta({mean}, {})", round(1.0 - mean)),
            Chances::Mix(most, rest, share) => {
                format!("{most}, {} % {rest}", round(share * 100.0))
            }
        }
    }

    fn draw(self, dice: &mut Dice) -> f64 {
        match self {
            Chances::Alike(p) => p,
            Chances::Beta(mean) => dice.beta(mean, 1.0 - mean),
            Chances::Mix(most, rest, share) => {
                if dice.unit() < share {
                    rest
                } else {
                    most
                }
            }
        }
    }

    /// E (1 - p)^k.
    fn failing(self, k: u32) -> f64 {
        match self {
            Chances::Alike(p) => (1.0 - p).powi(k as i32),
            Chances::Beta(mean) => (0..k)
                .map(f64::from)
                .map(|j| (1.0 - mean + j) / (1.0 + j))
                .product(),
            Chances::Mix(most, rest, share) => {
                (1.0 - share) * (1.0 - most).powi(k as i32) + share * (1.0 - rest).powi(k as i32)
            }
        }
    }
}

fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The grid of the audit: cases alike, and U-shaped populations. Of cases that always or never pass
/// there is no more than their mean.
pub const GRID: [Chances; 8] = [
    Chances::Alike(0.5),
    Chances::Alike(0.8),
    Chances::Alike(0.95),
    Chances::Alike(0.99),
    Chances::Beta(0.5),
    Chances::Beta(0.8),
    Chances::Beta(0.95),
    Chances::Beta(0.99),
];

/// Populations that are no Beta: cases that always or never pass, some broken ones among good ones,
/// two kinds.
pub const MORE: [Chances; 10] = [
    Chances::Mix(1.0, 0.0, 0.27),
    Chances::Mix(1.0, 0.0, 0.14),
    Chances::Mix(1.0, 0.0, 0.05),
    Chances::Mix(1.0, 0.0, 0.01),
    Chances::Mix(0.98, 0.0, 0.05),
    Chances::Mix(0.98, 0.0, 0.012),
    Chances::Mix(0.9, 0.0, 0.15),
    Chances::Mix(0.97, 0.25, 0.2),
    Chances::Mix(1.0, 0.5, 0.3),
    Chances::Mix(0.8, 0.2, 0.5),
];

/// How evals differ in size.
#[derive(Clone, Copy, PartialEq)]
pub enum Sizes {
    Each(usize),
    /// Log-normal, from 1 to 60.
    Unequal,
    /// 60, 40 and the rest of 4 cases.
    Dominated,
    /// So many cases each, with such weights in the weighted score.
    Weighted(&'static [(usize, f64)]),
}

/// How many samples the cases have.
#[derive(Clone, Copy, PartialEq)]
pub enum Number {
    Each(u32),
    /// From 2 to 8, by case.
    TwoToEight,
    /// 5 and 40, in turn.
    FiveOrForty,
}

impl Number {
    fn of(self, at: usize, dice: &mut Dice) -> u32 {
        match self {
            Number::Each(n) => n,
            Number::TwoToEight => 2 + (7.0 * dice.unit()) as u32,
            Number::FiveOrForty => [5, 40][at % 2],
        }
    }

    fn name(self) -> String {
        match self {
            Number::Each(n) => n.to_string(),
            Number::TwoToEight => "2 to 8".to_owned(),
            Number::FiveOrForty => "5 or 40".to_owned(),
        }
    }
}

/// How evals differ in what passes.
#[derive(Clone, Copy, PartialEq)]
pub enum Evals {
    /// The mean q of an eval follows Beta(5 mean, 5 (1 - mean)), chances of its cases Beta(1.5 q,
    /// 1.5 (1 - q)).
    Beta(f64),
    /// The same with q of 0.97, in one of five evals 0.25.
    TwoKinds,
    /// The same with q of 0.97, in one of twenty evals 0.05.
    Broken,
    /// All cases of an eval pass always, or never do.
    Certain(f64),
}

impl Evals {
    fn mean(self) -> f64 {
        match self {
            Evals::Beta(mean) | Evals::Certain(mean) => mean,
            Evals::TwoKinds => 0.8 * 0.97 + 0.2 * 0.25,
            Evals::Broken => 0.95 * 0.97 + 0.05 * 0.05,
        }
    }

    fn draw(self, dice: &mut Dice) -> f64 {
        match self {
            Evals::Beta(mean) => dice.beta(5.0 * mean, 5.0 * (1.0 - mean)),
            Evals::TwoKinds => {
                if dice.unit() < 0.8 {
                    0.97
                } else {
                    0.25
                }
            }
            Evals::Broken => {
                if dice.unit() < 0.95 {
                    0.97
                } else {
                    0.05
                }
            }
            Evals::Certain(mean) => f64::from(u8::from(dice.unit() < mean)),
        }
    }

    fn case(self, q: f64, dice: &mut Dice) -> f64 {
        match self {
            Evals::Certain(_) => q,
            // At the very ends the gamma draws of a beta are too small for their logarithms.
            _ => dice.beta(1.5 * q.max(1e-3), 1.5 * (1.0 - q).max(1e-3)),
        }
    }

    fn name(self) -> String {
        match self {
            Evals::Beta(mean) => format!("mean {mean}"),
            Evals::TwoKinds => "0.97, 20 % 0.25".to_owned(),
            Evals::Broken => "0.97, 5 % 0.05".to_owned(),
            Evals::Certain(mean) => format!("always or never, mean {mean}"),
        }
    }
}

impl Sizes {
    fn draw(self, evals: usize, dice: &mut Dice) -> Vec<usize> {
        let size = |at: usize, dice: &mut Dice| match self {
            Sizes::Each(size) => size,
            Sizes::Dominated => [60, 40, 4][at.min(2)],
            Sizes::Weighted(evals) => evals[at].0,
            Sizes::Unequal => (1.9 + dice.normal()).exp().round().clamp(1.0, 60.0) as usize,
        };
        (0..evals).map(|at| size(at, dice)).collect()
    }

    fn name(self, evals: usize) -> String {
        match self {
            Sizes::Each(size) => format!("{evals} x {size}"),
            Sizes::Unequal => format!("{evals} of 1 to 60"),
            Sizes::Dominated => format!("{evals}, two with most"),
            Sizes::Weighted(of) => {
                let each = of
                    .iter()
                    .map(|(size, weight)| format!("{size} (w = {weight})"));
                each.collect::<Vec<String>>().join(", ")
            }
        }
    }
}

/// What is simulated: runs of a population, whose truth is known.
#[derive(Clone, Copy, PartialEq)]
pub enum Subject {
    /// So many cases in one eval.
    Cases(usize, Chances),
    /// So many evals.
    Evals(usize, Sizes, Evals),
}

#[derive(Clone, Copy, PartialEq)]
pub struct Setting {
    pub scope: IntervalScope,
    pub subject: Subject,
    pub samples: Number,
    pub k: u32,
}

/// Counts of one method over all simulated runs.
#[derive(Clone, Copy, Default)]
pub struct Score {
    pub runs: usize,
    pub covered: usize,
    /// Lower ends above the truth.
    pub above: usize,
    /// Sum over the runs.
    pub width: f64,
}

impl Score {
    fn add(self, other: Score) -> Score {
        Score {
            runs: self.runs + other.runs,
            covered: self.covered + other.covered,
            above: self.above + other.above,
            width: self.width + other.width,
        }
    }

    pub fn width(&self) -> f64 {
        self.width / self.runs as f64
    }

    /// At least 93 % coverage, and at most 3.5 % of lower ends above the truth, but for what chance
    /// explains of so many runs.
    pub fn holds(&self) -> bool {
        let runs = self.runs as f64;
        let slack = |p: f64| 2.0 * (p * (1.0 - p) / runs).sqrt();
        self.covered as f64 / runs >= 0.93 - slack(0.93)
            && self.above as f64 / runs <= 0.035 + slack(0.035)
    }
}

/// A simulated case: its eval, its chance and its samples.
struct Case {
    eval: usize,
    chance: f64,
    n: u32,
    passed: u32,
}

impl Case {
    fn value(&self, k: u32) -> f64 {
        pass_at_k(u64::from(self.n), u64::from(self.passed), u64::from(k)).unwrap_or(0.0)
    }
}

impl Setting {
    pub fn name(&self) -> String {
        let subject = match self.subject {
            Subject::Cases(cases, chances) => format!("{cases} | {}", chances.name()),
            Subject::Evals(evals, sizes, means) => {
                format!("{} | {}", sizes.name(evals), means.name())
            }
        };
        let metric = if self.weights().is_some() {
            "weighted".to_owned()
        } else {
            format!("pass@{}", self.k)
        };
        format!("{subject} | {metric}, n = {}", self.samples.name())
    }

    fn weights(&self) -> Option<&'static [(usize, f64)]> {
        match self.subject {
            Subject::Evals(_, Sizes::Weighted(evals), _) => Some(evals),
            _ => None,
        }
    }

    /// The mean over cases of a value; that over evals where they have weights.
    fn mean(&self, cases: &[Case], value: impl Fn(&Case) -> f64) -> f64 {
        let Some(evals) = self.weights() else {
            return cases.iter().map(value).sum::<f64>() / cases.len() as f64;
        };
        let total: f64 = evals.iter().map(|(_, weight)| weight).sum();
        let weight = |case: &Case| evals[case.eval].1 / evals[case.eval].0 as f64;
        cases
            .iter()
            .map(|case| weight(case) * value(case))
            .sum::<f64>()
            / total
    }

    fn run(&self, dice: &mut Dice, fixed: &[Case]) -> Vec<Case> {
        if self.scope == IntervalScope::TheseCases {
            let again = |case: &Case| Case {
                passed: dice.passes(case.n, case.chance),
                ..*case
            };
            return fixed.iter().map(again).collect();
        }
        self.population(dice, fixed)
    }

    /// Cases drawn anew; under the scope of cases like these the evals are those of `fixed`.
    fn population(&self, dice: &mut Dice, fixed: &[Case]) -> Vec<Case> {
        let mut cases = Vec::new();
        let mut add = |eval: usize, chance: f64, dice: &mut Dice| {
            let n = self.samples.of(cases.len(), dice);
            let passed = dice.passes(n, chance);
            cases.push(Case {
                eval,
                chance,
                n,
                passed,
            });
        };
        match self.subject {
            Subject::Cases(count, chances) => {
                for _ in 0..count {
                    let chance = chances.draw(dice);
                    add(0, chance, dice);
                }
            }
            // The chance field of a fixed case is its eval's mean.
            Subject::Evals(_, _, means) if !fixed.is_empty() => {
                for case in fixed {
                    let chance = means.case(case.chance, dice);
                    add(case.eval, chance, dice);
                }
            }
            Subject::Evals(evals, sizes, means) => {
                for (eval, size) in sizes.draw(evals, dice).into_iter().enumerate() {
                    let q = means.draw(dice);
                    for _ in 0..size {
                        let chance = means.case(q, dice);
                        add(eval, chance, dice);
                    }
                }
            }
        }
        cases
    }

    /// What stays the same in every run: for these cases the cases, for cases like these the evals
    /// with their means, for evals like these nothing. With the truth.
    fn fixed(&self, dice: &mut Dice) -> (Vec<Case>, f64) {
        let power = |p: f64| 1.0 - (1.0 - p).powi(self.k as i32);
        match (self.scope, self.subject) {
            (IntervalScope::TheseCases, _) => {
                let cases = self.population(dice, &[]);
                let truth = self.mean(&cases, |case| power(case.chance));
                (cases, truth)
            }
            (IntervalScope::SimilarCases, Subject::Evals(evals, sizes, means)) => {
                assert_eq!(self.k, 1, "means of evals are those of pass@1");
                let mut fixed = Vec::new();
                for (eval, size) in sizes.draw(evals, dice).into_iter().enumerate() {
                    // As their cases' chances are drawn.
                    let q = means.draw(dice);
                    fixed.extend((0..size).map(|_| Case {
                        eval,
                        chance: q,
                        n: 0,
                        passed: 0,
                    }));
                }
                let kept = |q: f64| {
                    let (a, b) = (q.max(1e-3), (1.0 - q).max(1e-3));
                    if matches!(means, Evals::Certain(_)) {
                        q
                    } else {
                        a / (a + b)
                    }
                };
                let truth = self.mean(&fixed, |case| kept(case.chance));
                (fixed, truth)
            }
            (_, Subject::Cases(_, chances)) => (Vec::new(), 1.0 - chances.failing(self.k)),
            (_, Subject::Evals(_, _, means)) => {
                assert_eq!(self.k, 1, "means of evals are those of pass@1");
                (Vec::new(), means.mean())
            }
        }
    }

    /// Scores of the program's own method, and then of the others.
    pub fn simulate(&self, runs: u64, seed: u64) -> Vec<Score> {
        let one = |at: u64| {
            // For these cases and for cases like these the fixed part differs from run to run, too,
            // so that a line is about many of them.
            let mut dice = Dice::new(seed, at);
            let (fixed, truth) = self.fixed(&mut dice);
            let cases = self.run(&mut dice, &fixed);
            let score = |[low, high]: [f64; 2]| Score {
                runs: 1,
                covered: usize::from(low <= truth + 1e-9 && truth <= high + 1e-9),
                above: usize::from(low > truth + 1e-9),
                width: high - low,
            };
            // The others take much longer, and are compared in fewer runs.
            let others = match at % OTHERS {
                0 => self
                    .alternatives(&cases)
                    .into_iter()
                    .map(|ends| ends.map(score).unwrap_or_default())
                    .collect(),
                _ => vec![Score::default(); alternatives_of(self.scope).len()],
            };
            std::iter::once(score(self.own(&cases)))
                .chain(others)
                .collect::<Vec<Score>>()
        };
        let add = |a: Vec<Score>, b: Vec<Score>| match (a.is_empty(), b.is_empty()) {
            (true, _) => b,
            (_, true) => a,
            _ => a.into_iter().zip(b).map(|(a, b)| a.add(b)).collect(),
        };
        (0..runs).into_par_iter().map(one).reduce(Vec::new, add)
    }

    /// As reports compute it.
    fn own(&self, cases: &[Case]) -> [f64; 2] {
        let mut over = OverCases::of_metric(self.scope, &Metric::PassAt(self.k));
        for case in cases {
            let samples = CaseSamples {
                n: case.n,
                sum: f64::from(case.passed),
                planned: case.n,
            };
            over.add(case.eval, case.value(self.k), Some(samples));
        }
        let estimate = match self.weights() {
            Some(evals) => over.weighted_estimate(&|eval| evals[eval].1, true),
            None => over.estimate(true),
        };
        estimate.ci.expect("an interval")
    }

    /// `None`: a method that knows no weights.
    fn alternatives(&self, cases: &[Case]) -> Vec<Option<[f64; 2]>> {
        let Some(evals) = self.weights() else {
            return alternatives(self.scope, cases, self.k)
                .into_iter()
                .map(Some)
                .collect();
        };
        let mean = self.mean(cases, |case| case.value(self.k));
        let weights: Vec<f64> = evals.iter().map(|(_, weight)| *weight).collect();
        let of = |name: &&str| {
            (self.scope == IntervalScope::SimilarCases && *name == "stratified t").then(|| {
                stratified(
                    cases,
                    &cases.iter().map(|case| case.value(1)).collect::<Vec<f64>>(),
                    &weights,
                    mean,
                )
            })
        };
        alternatives_of(self.scope).iter().map(of).collect()
    }
}

/// Names of the other methods of [`Setting::simulate`], by scope.
pub fn alternatives_of(scope: IntervalScope) -> &'static [&'static str] {
    match scope {
        IntervalScope::TheseCases => &["pooled Wilson", "stratified t"],
        IntervalScope::SimilarCases => {
            &["n_eff, t", "plus-two, t", "beta-binomial", "stratified t"]
        }
        IntervalScope::SimilarEvals => &["cluster t", "n_eff, t", "beta-binomial"],
    }
}

fn alternatives(scope: IntervalScope, cases: &[Case], k: u32) -> Vec<[f64; 2]> {
    let values: Vec<f64> = cases.iter().map(|case| case.value(k)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    match scope {
        IntervalScope::TheseCases => {
            let samples: f64 = cases.iter().map(|case| f64::from(case.n)).sum();
            let within = cases.iter().map(|case| {
                // The variance of a case's estimate, by the jackknife over its samples.
                let (m, c) = (u64::from(case.n), u64::from(case.passed));
                if m < 2 || m < u64::from(k) + 1 {
                    return 0.0;
                }
                let of = |n, c| pass_at_k(n, c, u64::from(k)).unwrap_or(0.0);
                let (without_pass, without_failure) = (
                    if c > 0 { of(m - 1, c - 1) } else { 0.0 },
                    if c < m { of(m - 1, c) } else { 0.0 },
                );
                let (c, m) = (c as f64, m as f64);
                let middle = (c * without_pass + (m - c) * without_failure) / m;
                (m - 1.0) / m
                    * (c * (without_pass - middle).powi(2)
                        + (m - c) * (without_failure - middle).powi(2))
            });
            let error = within.sum::<f64>().sqrt() / n;
            vec![
                wilson(mean, samples, 1.96),
                around(mean, student(samples - n) * error),
            ]
        }
        IntervalScope::SimilarCases => {
            let square = variance(&values) / n;
            let t = student(n - 1.0);
            let two: Vec<f64> = values.iter().copied().chain([0.0, 1.0]).collect();
            let middle = two.iter().sum::<f64>() / (n + 2.0);
            let plus_two = around(
                middle,
                student(n + 1.0) * (variance(&two) / (n + 2.0)).sqrt(),
            );
            vec![
                effective(mean, square, n, t),
                plus_two,
                beta_binomial(cases, k),
                stratified(cases, &values, &sizes(cases), mean),
            ]
        }
        IntervalScope::SimilarEvals => {
            let mut sums: Vec<(f64, f64)> = Vec::new();
            for (case, value) in cases.iter().zip(&values) {
                sums.resize(sums.len().max(case.eval + 1), (0.0, 0.0));
                let (sum, size) = &mut sums[case.eval];
                (*sum, *size) = (*sum + value, *size + 1.0);
            }
            let evals = sums.len() as f64;
            let squares: f64 = sums
                .iter()
                .map(|(sum, size)| (sum - mean * size).powi(2))
                .sum();
            let square = squares / (n * n) * evals / (evals - 1.0);
            let kish = n * n / sums.iter().map(|(_, size)| size * size).sum::<f64>();
            let t = student(evals - 1.0);
            let counts = sums.iter().map(|(sum, size)| (*sum, *size));
            vec![
                around(mean, t * square.sqrt()),
                effective(mean, square, kish, t),
                posterior(counts.collect(), 1),
            ]
        }
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0)
}

fn around(mean: f64, half: f64) -> [f64; 2] {
    [(mean - half).max(0.0), (mean + half).min(1.0)]
}

fn wilson(p: f64, n: f64, z: f64) -> [f64; 2] {
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    around(
        centre,
        z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt(),
    )
}

/// Wilson's interval of as many verdicts as have the variance that was seen.
fn effective(mean: f64, square: f64, otherwise: f64, t: f64) -> [f64; 2] {
    let seen = square > 1e-15 && mean > 0.0 && mean < 1.0;
    wilson(
        mean,
        if seen {
            mean * (1.0 - mean) / square
        } else {
            otherwise
        },
        t,
    )
}

/// Of evals.
fn sizes(cases: &[Case]) -> Vec<f64> {
    let mut sizes = Vec::new();
    for case in cases {
        sizes.resize(sizes.len().max(case.eval + 1), 0.0);
        sizes[case.eval] += 1.0;
    }
    sizes
}

/// Evals as strata, each with the variance of its cases; those of one case count as of the mean
/// variance.
fn stratified(cases: &[Case], values: &[f64], weights: &[f64], mean: f64) -> [f64; 2] {
    let mut evals: Vec<Vec<f64>> = vec![Vec::new(); weights.len()];
    for (case, value) in cases.iter().zip(values) {
        evals[case.eval].push(*value);
    }
    let n = values.len() as f64;
    let several: Vec<f64> = evals
        .iter()
        .filter(|eval| eval.len() > 1)
        .map(|eval| variance(eval))
        .collect();
    let typical = several.iter().sum::<f64>() / several.len().max(1) as f64;
    let total: f64 = weights.iter().sum();
    let of = |(eval, weight): (&Vec<f64>, &f64)| {
        let variance = if eval.len() > 1 {
            variance(eval)
        } else {
            typical
        };
        (weight / total).powi(2) * variance / eval.len() as f64
    };
    let square: f64 = evals.iter().zip(weights).map(of).sum();
    around(
        mean,
        student((n - evals.len() as f64).max(1.0)) * square.sqrt(),
    )
}

/// Beta-binomial over cases, on a grid over mean and concentration (after Bowyer, Aitchison &
/// Ivanova 2025, arXiv:2503.01747).
fn beta_binomial(cases: &[Case], k: u32) -> [f64; 2] {
    posterior(
        cases
            .iter()
            .map(|case| (f64::from(case.passed), f64::from(case.n)))
            .collect(),
        k,
    )
}

/// Of counts (passed, of how many), which need not be whole.
fn posterior(counts: Vec<(f64, f64)>, k: u32) -> [f64; 2] {
    let mut kinds: Vec<((f64, f64), f64)> = Vec::new();
    for count in counts {
        match kinds.iter_mut().find(|(kind, _)| *kind == count) {
            Some((_, times)) => *times += 1.0,
            None => kinds.push((count, 1.0)),
        }
    }
    let near = (0..20).map(|i| 0.0005 + f64::from(i) * 0.0195 / 19.0);
    let middle = (0..115).map(|i| 0.025 + f64::from(i) * 0.95 / 114.0);
    let mut means: Vec<f64> = near
        .clone()
        .chain(middle)
        .chain(near.map(|m| 1.0 - m))
        .collect();
    means.sort_by(f64::total_cmp);
    let gap = |at: usize| {
        let (low, high) = (at.saturating_sub(1), (at + 1).min(means.len() - 1));
        (means[high] - means[low]) / (high - low) as f64
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, mean) in means.iter().enumerate() {
        for step in 0..28 {
            let concentration = (0.1f64.ln() + f64::from(step) * 1_000f64.ln() / 27.0).exp();
            let (a, b) = (mean * concentration, (1.0 - mean) * concentration);
            let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
            let base = ln_beta(a, b);
            let ln: f64 = kinds
                .iter()
                .map(|((c, n), times)| times * (ln_beta(a + c, b + n - c) - base))
                .sum();
            let failing: f64 = (0..k)
                .map(f64::from)
                .map(|j| (b + j) / (a + b + j))
                .product();
            points.push((1.0 - failing, ln + gap(at).ln()));
        }
    }
    let top = points
        .iter()
        .map(|(_, ln)| *ln)
        .fold(f64::NEG_INFINITY, f64::max);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = points.iter().map(|(_, ln)| (ln - top).exp()).sum();
    let quantile = |share: f64| {
        let mut sum = 0.0;
        for (value, ln) in &points {
            sum += (ln - top).exp();
            if sum >= share * total {
                return *value;
            }
        }
        1.0
    };
    [quantile(0.025), quantile(0.975)]
}

/// Lanczos' approximation.
fn ln_gamma(x: f64) -> f64 {
    const PARTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let base = x + 5.5;
    let sum = PARTS
        .iter()
        .enumerate()
        .fold(1.000_000_000_190_015, |sum, (j, part)| {
            sum + part / (x + 1.0 + j as f64)
        });
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * sum / x).ln()
}

/// Student's t at 97.5 %, by Cornish and Fisher's expansion; its error is below 0.5 % from 4
/// degrees of freedom on.
fn student(freedom: f64) -> f64 {
    match freedom {
        f if f < 1.5 => 12.706,
        f if f < 2.5 => 4.303,
        f if f < 3.5 => 3.182,
        f => {
            let z = 1.959_964f64;
            let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
            z + (z3 + z) / (4.0 * f)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * f * f)
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * f.powi(3))
        }
    }
}

/// All settings of a scope.
pub fn settings(scope: IntervalScope) -> Vec<Setting> {
    let populations = || GRID.into_iter().chain(MORE);
    let evals = |list: &[(usize, Sizes, Evals)]| -> Vec<Setting> {
        let of = |(evals, sizes, means): &(usize, Sizes, Evals)| {
            let subject = Subject::Evals(*evals, *sizes, *means);
            [1, 5].map(|n| Setting {
                scope,
                subject,
                samples: Number::Each(n),
                k: 1,
            })
        };
        list.iter().flat_map(of).collect()
    };
    use Sizes::{Dominated, Each, Unequal, Weighted};
    match scope {
        IntervalScope::TheseCases | IntervalScope::SimilarCases => {
            let of = |(n, k): &(u32, u32)| (Number::Each(*n), *k);
            let figures: Vec<(Number, u32)> = match scope {
                IntervalScope::TheseCases => {
                    [(3, 1), (5, 1), (5, 3), (10, 3)].iter().map(of).collect()
                }
                _ => [(1, 1), (5, 1), (5, 3)].iter().map(of).collect(),
            };
            let figures = [figures, vec![(Number::TwoToEight, 2)]].concat();
            let mut all: Vec<Setting> = [10, 20, 50, 200]
                .into_iter()
                .flat_map(|cases| populations().map(move |chances| Subject::Cases(cases, chances)))
                .flat_map(|subject| {
                    figures.iter().map(move |(samples, k)| Setting {
                        scope,
                        subject,
                        samples: *samples,
                        k: *k,
                    })
                })
                .collect();
            let weighted = [
                &[(100, 1.0), (2, 9.0)][..],
                &[(20, 1.0), (10, 2.0), (4, 5.0)],
                &[(30, 1.0), (30, 1.0), (5, 10.0), (1, 3.0)],
                &[
                    (1, 9.0),
                    (1, 3.0),
                    (1, 3.0),
                    (1, 1.0),
                    (1, 1.0),
                    (1, 1.0),
                    (1, 1.0),
                    (1, 1.0),
                ],
            ];
            let of_weights = weighted.into_iter().flat_map(|of| {
                [Evals::Beta(0.8), Evals::Beta(0.95), Evals::TwoKinds]
                    .map(|means| (of.len(), Weighted(of), means))
            });
            let of_weights: Vec<(usize, Sizes, Evals)> = of_weights.collect();
            if scope == IntervalScope::TheseCases {
                let mixed = [10, 20, 50].into_iter().flat_map(|cases| {
                    let chances = [
                        Chances::Alike(0.95),
                        Chances::Beta(0.8),
                        Chances::Beta(0.95),
                        Chances::Mix(0.97, 0.25, 0.2),
                    ];
                    chances.map(|chances| Setting {
                        scope,
                        subject: Subject::Cases(cases, chances),
                        samples: Number::FiveOrForty,
                        k: 1,
                    })
                });
                all.extend(mixed);
                all.extend(
                    evals(&of_weights)
                        .into_iter()
                        .filter(|setting| setting.samples == Number::Each(5)),
                );
            } else {
                all.extend(evals(&[
                    (5, Each(10), Evals::Beta(0.8)),
                    (5, Each(10), Evals::Beta(0.95)),
                    (10, Each(2), Evals::Beta(0.8)),
                    (10, Each(3), Evals::Beta(0.95)),
                    (8, Unequal, Evals::Beta(0.8)),
                    (8, Unequal, Evals::TwoKinds),
                    (12, Unequal, Evals::Beta(0.95)),
                    (20, Unequal, Evals::Beta(0.8)),
                    (20, Unequal, Evals::Broken),
                    (10, Dominated, Evals::Beta(0.8)),
                    (10, Dominated, Evals::Beta(0.95)),
                ]));
                all.extend(evals(&of_weights));
            }
            all
        }
        IntervalScope::SimilarEvals => evals(&[
            (5, Each(10), Evals::Beta(0.8)),
            (5, Each(10), Evals::Beta(0.95)),
            (8, Unequal, Evals::Beta(0.8)),
            (8, Unequal, Evals::Beta(0.95)),
            (8, Unequal, Evals::TwoKinds),
            (10, Unequal, Evals::Beta(0.8)),
            (10, Unequal, Evals::Beta(0.95)),
            (10, Dominated, Evals::Beta(0.8)),
            (10, Dominated, Evals::Beta(0.95)),
            (12, Unequal, Evals::Beta(0.8)),
            (12, Unequal, Evals::Beta(0.95)),
            (12, Unequal, Evals::TwoKinds),
            (15, Unequal, Evals::Beta(0.8)),
            (15, Unequal, Evals::Beta(0.95)),
            (20, Unequal, Evals::Beta(0.8)),
            (20, Unequal, Evals::Beta(0.95)),
            (20, Each(1), Evals::Beta(0.9)),
            (12, Each(10), Evals::Broken),
            (20, Unequal, Evals::TwoKinds),
            (20, Unequal, Evals::Broken),
            (20, Unequal, Evals::Certain(0.9)),
            (10, Each(10), Evals::Certain(0.86)),
            (40, Unequal, Evals::Beta(0.95)),
            (40, Unequal, Evals::Broken),
        ]),
    }
}

/// A table of settings: coverage, lower ends above the truth, mean width, and that width beside the
/// narrowest method that holds there.
pub fn table(scope: IntervalScope, runs: u64, wrong: &mut Vec<String>) -> String {
    let first = match scope {
        IntervalScope::SimilarEvals => "Evals | Means",
        _ => "Cases or evals | Chances",
    };
    let others = alternatives_of(scope);
    let mut text = format!(
        "| {first} | Metric | Covered | Too high | Width | Narrowest that holds |\n| --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let mut lines = 0;
    let (mut wide, mut most): (usize, f64) = (0, 0.0);
    let mut above = vec![0.0f64; others.len()];
    for (at, setting) in settings(scope).into_iter().enumerate() {
        let scores = setting.simulate(runs, 7_000 + at as u64);
        let percent = |count: usize| 100.0 * count as f64 / runs as f64;
        let own = scores[0];
        if !own.holds() {
            wrong.push(format!(
                "{}: {:.1} ({:.1})",
                setting.name(),
                percent(own.covered),
                percent(own.above)
            ));
        }
        for (above, score) in above.iter_mut().zip(&scores[1..]) {
            *above = above.max(100.0 * score.above as f64 / score.runs as f64);
        }
        let narrowest = scores[1..]
            .iter()
            .zip(others)
            .filter(|(score, _)| score.holds() && score.width() > 1e-9)
            .min_by(|(a, _), (b, _)| a.width().total_cmp(&b.width()));
        let beside = match narrowest {
            Some((score, name)) => {
                let ratio = own.width() / score.width();
                wide += usize::from(ratio > 1.15);
                most = most.max(ratio);
                format!("{:.3} {name} ({ratio:.2})", score.width())
            }
            None => "none".to_owned(),
        };
        lines += 1;
        text.push_str(&format!(
            "| {} | {:.1} % | {:.1} % | {:.3} | {beside} |\n",
            setting.name(),
            percent(own.covered),
            percent(own.above),
            own.width()
        ));
    }
    let above: Vec<String> = others
        .iter()
        .zip(above)
        .map(|(name, above)| format!("{name} {above:.0} %"))
        .collect();
    text.push_str(&format!(
        "\nOf {lines} lines {wide} are more than 1.15 times as wide as the narrowest that holds there, at most {most:.2} times. The most \
         lower ends above the truth that the others have in any line: {}.\n",
        above.join(", ")
    ));
    text
}
