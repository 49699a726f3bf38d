//! Simulated runs whose truth is known: what intervals should cover and how often tests should
//! speak.
//!
//! Used by `scripts/simulate_statistics.rs`, which fills the tables of docs/statistics.md, and
//! smaller by `tests/cli/statistics.rs`.

use eval_harness::internals::{CaseRecord, ComparedSide, EvalRecord, Outcome, RunScores};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Where cases come from.
#[derive(Clone, Copy, PartialEq)]
pub enum Population {
    /// Chances of passing follow Beta(0.8, 0.2): mean 0.8, most near 0 or 1.
    Independent,
}

/// How the candidate's chances differ from the reference's.
#[derive(Clone, Copy, PartialEq)]
pub enum Change {
    None,
    /// Every chance is multiplied.
    Times(f64),
}

pub struct Dice(ChaCha8Rng);

impl Dice {
    /// A stream of its own for each simulation, so that they can run in any order.
    pub fn new(seed: u64, stream: u64) -> Dice {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Dice(generator)
    }

    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }

    /// ln of a gamma variable: Marsaglia & Tsang, ACM TOMS 26 (2000).
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma(shape + 1.0) + self.unit().ln() / shape;
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return (d * v).ln();
            }
        }
    }

    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.ln_gamma(a), self.ln_gamma(b));
        1.0 / (1.0 + (y - x).exp())
    }

    pub fn passes(&mut self, n: u32, p: f64) -> u32 {
        (0..n).map(|_| u32::from(self.unit() < p)).sum()
    }
}

impl Population {
    /// Chances of `cases` cases, with the number of the eval that each belongs to.
    pub fn chances(self, cases: usize, dice: &mut Dice) -> Vec<(usize, f64)> {
        match self {
            Population::Independent => (0..cases).map(|_| (0, dice.beta(0.8, 0.2))).collect(),
        }
    }

    /// E p^k.
    fn moment(self, k: u32) -> f64 {
        let rising = |a: f64, b: f64| {
            (0..k)
                .map(|j| (a + f64::from(j)) / (a + b + f64::from(j)))
                .product::<f64>()
        };
        match self {
            Population::Independent => rising(0.8, 0.2),
        }
    }

    /// The expectation over cases and samples of what an estimator says of `n` samples, when
    /// chances are multiplied by `times`.
    pub fn expected(self, n: u32, times: f64, estimator: impl Fn(u32) -> f64) -> f64 {
        let choose = |n: u32, k: u32| {
            (0..k)
                .map(|i| f64::from(n - i) / f64::from(i + 1))
                .product::<f64>()
        };
        let moments: Vec<f64> = (0..=n)
            .map(|k| self.moment(k) * times.powi(k as i32))
            .collect();
        // C(n, c) E p^c (1 - p)^(n - c), with the second factor multiplied out.
        let chance = |c: u32| {
            let parts = (0..=n - c).map(|i| {
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                sign * choose(n - c, i) * moments[(c + i) as usize]
            });
            choose(n, c) * parts.sum::<f64>()
        };
        (0..=n).map(|c| chance(c) * estimator(c)).sum()
    }
}

/// Two runs over the same cases.
pub struct Design {
    pub population: Population,
    pub cases: usize,
    pub samples: u32,
    pub change: Change,
    /// Whether samples also have scores (1 if passed, else uniform below 0.6) and latencies.
    pub rich: bool,
}

impl Design {
    pub fn runs(&self, dice: &mut Dice) -> (RunScores, RunScores) {
        let chances = self.population.chances(self.cases, dice);
        let reference: Vec<(usize, f64)> = chances.clone();
        let candidate: Vec<(usize, f64)> = chances
            .into_iter()
            .map(|(eval, p)| match self.change {
                Change::None => (eval, p),
                Change::Times(times) => (eval, p * times),
            })
            .collect();
        (
            self.run("A", &reference, dice),
            self.run("B", &candidate, dice),
        )
    }

    fn run(&self, label: &str, chances: &[(usize, f64)], dice: &mut Dice) -> RunScores {
        let mut evals: Vec<EvalRecord> = Vec::new();
        for (at, (eval, p)) in chances.iter().enumerate() {
            if evals.len() <= *eval {
                evals.push(blank_eval(*eval));
            }
            let case = self.case(at, *p, dice);
            if let Some(eval) = evals.last_mut() {
                if case.outcome == Some(Outcome::Failed) {
                    eval.outcome = Outcome::Failed;
                }
                eval.cases.push(case);
            }
        }
        RunScores {
            side: side(label),
            ks: vec![1, 3.min(self.samples)],
            interval_scope: Default::default(),
            score_metrics: Vec::new(),
            evals,
        }
    }

    fn case(&self, at: usize, p: f64, dice: &mut Dice) -> CaseRecord {
        let (n, c) = (self.samples, dice.passes(self.samples, p));
        let outcome = Some(if c == n {
            Outcome::Passed
        } else {
            Outcome::Failed
        });
        let mut case = CaseRecord {
            id: format!("c{at}"),
            outcome,
            samples: n,
            n,
            c,
            ..CaseRecord::default()
        };
        if self.rich {
            let failed: f64 = (c..n).map(|_| 0.6 * dice.unit()).sum();
            case.score = Some((f64::from(c) + failed) / f64::from(n));
            let latency: f64 = (0..n).map(|_| 500.0 - 300.0 * dice.unit().ln()).sum();
            case.latency_ms = Some(latency / f64::from(n));
        }
        case
    }
}

pub fn blank_eval(number: usize) -> EvalRecord {
    EvalRecord {
        private: false,
        id: format!("e{number}"),
        outcome: Outcome::Passed,
        score: None,
        kind: None,
        category: None,
        tags: Vec::new(),
        difficulty: None,
        criticality: None,
        weight: None,
        score_threshold: None,
        cases: Vec::new(),
    }
}

/// As a file would have it, so that fields which a side may lack need not be named here.
pub fn side(label: &str) -> ComparedSide {
    let text = format!(
        r#"{{"label": "{label}", "source": {{"journals": []}}, "suite": "simulated", "target": "t", "target_type": "recorded",
             "run_id": "{label}", "timestamp": "2026-01-01T00:00:00Z", "harness_version": "0"}}"#
    );
    serde_json::from_str(&text).expect("the form of a side")
}
