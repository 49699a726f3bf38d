//! Chances of cases, and how they are drawn.

use super::simulated::OutcomeRates;
use crate::binomial::binomial;
use crate::draws::IndexDraws;

/// Streams of the generator from here on are those of simulated runs.
const FIRST_STREAM: u64 = 1 << 34;
/// Chances that are drawn of a population.
const CHANCES: u32 = 1 << 16;

/// The random numbers of the simulated run, or pair of runs, of that number.
pub(super) fn draws_of(seed: u64, number: usize) -> IndexDraws {
    IndexDraws::stream(seed, FIRST_STREAM + number as u64)
}

/// Chances of cases: Beta(rate x s, (1 - rate) x s).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Population {
    pub rate: f64,
    /// The mean over cases of p (1 - p), as a share of rate (1 - rate): 1 when all cases are alike,
    /// 0 when each always passes or never does, 1/2 for Beta(rate, 1 - rate).
    pub within: f64,
}

/// The chance that k samples of a case all pass, or that any does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassMoment {
    AllOf(u32),
    AnyOf(u32),
}

impl Population {
    /// Of a rate and a mean of p (1 - p).
    pub fn of(rate: f64, within: f64) -> Population {
        let most = rate * (1.0 - rate);
        Population {
            rate,
            within: if most > 0.0 {
                (within / most).clamp(0.0, 1.0)
            } else {
                1.0
            },
        }
    }
}

/// Chances of cases, drawn from a population once for all questions.
#[derive(Debug)]
pub struct CaseChances {
    population: Population,
    drawn: Vec<f64>,
    seed: u64,
}

impl CaseChances {
    pub fn of(population: Population, seed: u64) -> CaseChances {
        let mut draws = IndexDraws::stream(seed, FIRST_STREAM - 1);
        let drawn = (0..CHANCES)
            .map(|_| draw_beta(&mut draws, population))
            .collect();
        CaseChances {
            population,
            drawn,
            seed,
        }
    }

    /// The mean over cases of a moment, when each case's chance is multiplied by `times`, at most
    /// 1.
    pub fn expected(&self, moment: PassMoment, times: f64) -> f64 {
        let of = |p: f64| match moment {
            PassMoment::AllOf(k) => p.powi(k as i32),
            PassMoment::AnyOf(k) => 1.0 - (1.0 - p).powi(k as i32),
        };
        self.drawn.iter().map(|p| of(p * times)).sum::<f64>() / f64::from(CHANCES)
    }

    pub(super) fn draw(&self, draws: &mut IndexDraws) -> f64 {
        self.drawn
            .get(draws.below(CHANCES) as usize)
            .copied()
            .unwrap_or(self.population.rate)
    }

    pub(super) fn rate(&self) -> f64 {
        self.population.rate
    }

    /// Of single samples.
    pub(super) fn outcomes(&self) -> OutcomeRates {
        let Population { rate, within } = self.population;
        OutcomeRates {
            rate,
            flips: within * rate * (1.0 - rate),
        }
    }

    pub(super) fn draws(&self, number: usize) -> IndexDraws {
        draws_of(self.seed, number)
    }

    /// Passes of cases with so many samples, in the simulated run of that number.
    pub fn run(&self, samples: impl Iterator<Item = u32>, number: usize) -> Vec<u32> {
        let mut draws = self.draws(number);
        samples
            .map(|n| {
                let p = self.draw(&mut draws);
                count(&mut draws, n, p)
            })
            .collect()
    }
}

/// Passes among `n` samples.
pub(super) fn count(draws: &mut IndexDraws, n: u32, p: f64) -> u32 {
    match n {
        1 => u32::from(draws.unit() < p),
        n => binomial(draws, u64::from(n), p) as u32,
    }
}

/// A chance of a case.
fn draw_beta(draws: &mut IndexDraws, population: Population) -> f64 {
    let Population { rate, within } = population;
    if within >= 1.0 - 1e-9 {
        return rate;
    }
    if within <= 1e-9 {
        return f64::from(u8::from(draws.unit() < rate));
    }
    // E p (1 - p) is rate (1 - rate) s / (s + 1).
    let s = within / (1.0 - within);
    let (a, b) = (rate * s, (1.0 - rate) * s);
    if a <= 0.0 || b <= 0.0 {
        return rate;
    }
    let (x, y) = (ln_gamma_draw(draws, a), ln_gamma_draw(draws, b));
    1.0 / (1.0 + (y - x).exp())
}

/// A standard normal variable: G. E. P. Box & M. E. Muller, Ann. Math. Stat. 29:610-611 (1958).
pub(super) fn normal(draws: &mut IndexDraws) -> f64 {
    let radius = (-2.0 * (draws.unit() + f64::MIN_POSITIVE).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * draws.unit()).cos()
}

/// ln of a gamma variable: G. Marsaglia & W. W. Tsang, ACM Trans. Math. Softw. 26:363-372 (2000).
fn ln_gamma_draw(draws: &mut IndexDraws, shape: f64) -> f64 {
    let unit = |draws: &mut IndexDraws| draws.unit() + f64::MIN_POSITIVE;
    if shape < 1.0 {
        let boost = unit(draws).ln() / shape;
        return ln_gamma_draw(draws, shape + 1.0) + boost;
    }
    let d = shape - 1.0 / 3.0;
    loop {
        let x = normal(draws);
        let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
        if v > 0.0 && unit(draws).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_have_the_mean_and_the_spread_of_their_population() {
        let mut draws = IndexDraws::new(3);
        for population in [
            Population {
                rate: 0.8,
                within: 0.5,
            },
            Population {
                rate: 0.3,
                within: 0.9,
            },
            Population {
                rate: 0.95,
                within: 0.2,
            },
        ] {
            let drawn: Vec<f64> = (0..40_000)
                .map(|_| draw_beta(&mut draws, population))
                .collect();
            let n = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / n;
            let within = drawn.iter().map(|p| p * (1.0 - p)).sum::<f64>() / n;
            let of = population.rate * (1.0 - population.rate);
            assert!(
                (mean - population.rate).abs() < 0.01,
                "{population:?} {mean}"
            );
            assert!(
                (within / of - population.within).abs() < 0.02,
                "{population:?} {within}"
            );
        }
    }
}
