//! The chance that a drop is found, by simulated pairs of runs and the test that comparisons use.
//!
//! Every number of a question is decided with the same random numbers, so that a larger drop is
//! found in no fewer pairs but for ties, and the same question has the same answer.

use std::ops::Range;

use super::chances::{CaseChances, count, draws_of, normal};
use super::design::{CaseFigure, CaseKinds, PowerTest, SampleDesign};
use super::normal::{CaseSpread, DifferenceSpread};
use crate::binomial::binomial;
use crate::draws::IndexDraws;
use crate::interval::normal_cdf;
use crate::paired::{CaseDeal, mcnemar_mid_p, of_deals, of_signs};
use crate::parallel::in_parallel;

/// A question has at least its pairs by this, however large they are.
const FEWEST: usize = 10;
/// Cases of all pairs together that a question simulates about.
const CASES: usize = 800_000;
/// Cases beyond which they are not simulated one by one.
pub const MOST_CASES: usize = 1_500;
/// Parts of all pairs after which it may be clear whether enough of them find a drop.
const BLOCKS: usize = 20;
/// Standard errors from which on it is clear.
const CLEAR: f64 = 4.0;

/// What is asked: a one-sided test of level `alpha` shall find a drop with the chance `power`; both
/// in (0, 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerAim {
    pub alpha: f64,
    pub power: f64,
    /// Of what is drawn from observed differences.
    pub seed: u64,
    /// Pairs of runs a question, while they are small: 4,000 have a standard error of 0.6 points at
    /// 80 %.
    pub pairs: usize,
}

impl PowerAim {
    fn pairs_of(&self, units: usize) -> usize {
        (CASES / units.max(1))
            .clamp(self.pairs / FEWEST, self.pairs)
            .max(1)
    }

    /// Pairs of runs whose candidate has lost so much of the rate, by the same share of each case's
    /// chance.
    pub fn pairs<'a>(
        &'a self,
        design: &'a SampleDesign,
        chances: &'a CaseChances,
        figure: CaseFigure<'_>,
        drop: f64,
    ) -> RunPairs<'a> {
        let n = design.cases();
        if !design.whole_evals && design.samples().all(|samples| samples == [1, 1]) {
            return self.pairs_of_outcomes(chances.outcomes(), drop, n);
        }
        if n == 0 || drop.is_nan() || drop <= 0.0 || drop > chances.rate() {
            return RunPairs::Known(0.0);
        }
        let kinds = CaseKinds::new(design, figure);
        let share = drop / chances.rate();
        if n > MOST_CASES {
            let cases = CaseSpread::new(design, &kinds, chances, share);
            let (spread, each) = cases.tested(design, kinds.test);
            if cases.are_many(n as f64, each, kinds.test) {
                return RunPairs::Known(spread.chance(n as f64 / each, self.alpha));
            }
            if kinds.test != PowerTest::Cases {
                let of_evals = move |at| {
                    self.finds_in_sums(design, cases.each, kinds.test, &mut chances.draws(at))
                };
                return RunPairs::simulated(self.pairs_of(design.evals.len()), of_evals);
            }
        }
        RunPairs::simulated(self.pairs_of(n), move |at| {
            self.finds(design, &kinds, chances, share, &mut chances.draws(at))
        })
    }

    /// The chance that such a drop is found.
    pub fn chance(
        &self,
        design: &SampleDesign,
        chances: &CaseChances,
        figure: CaseFigure<'_>,
        drop: f64,
    ) -> f64 {
        self.pairs(design, chances, figure, drop).chance()
    }

    /// One pair of runs.
    fn finds(
        &self,
        design: &SampleDesign,
        kinds: &CaseKinds,
        chances: &CaseChances,
        share: f64,
        draws: &mut IndexDraws,
    ) -> bool {
        let mut dealt: Vec<&CaseDeal> = Vec::with_capacity(design.cases());
        let mut evals: Vec<f64> = Vec::with_capacity(design.evals.len());
        for (eval, of) in design.evals.iter().zip(&kinds.of) {
            let mut difference = 0.0;
            for ([before, after], kind) in eval.iter().zip(of) {
                let p = chances.draw(draws);
                let (a, b) = (
                    count(draws, *before, p),
                    count(draws, *after, p * (1.0 - share)),
                );
                let Some((kind, deal)) = kinds.deal(*kind, a + b) else {
                    continue;
                };
                let (Some(a), Some(b)) = (kind.figure(0, a), kind.figure(1, b)) else {
                    continue;
                };
                difference += b - a;
                dealt.push(deal);
            }
            evals.push(difference);
        }
        let by_cases = || of_deals(&dealt, evals.iter().sum());
        let p = match kinds.test {
            PowerTest::Cases => by_cases(),
            PowerTest::Evals => of_signs(&evals),
            PowerTest::UnlikeEvals => of_signs(&evals).max(by_cases()),
        };
        p < self.alpha
    }

    /// One pair of runs whose evals have so many cases that their sums are about normal.
    fn finds_in_sums(
        &self,
        design: &SampleDesign,
        case: DifferenceSpread,
        test: PowerTest,
        draws: &mut IndexDraws,
    ) -> bool {
        let sum = |eval: &Vec<_>| {
            let n = eval.len() as f64;
            n * case.mean + (n * case.variance).sqrt() * normal(draws)
        };
        let evals: Vec<f64> = design
            .evals
            .iter()
            .filter(|eval| !eval.is_empty())
            .map(sum)
            .collect();
        let by_cases =
            || normal_cdf(evals.iter().sum::<f64>() / (design.cases() as f64 * case.tested).sqrt());
        let p = if test == PowerTest::UnlikeEvals {
            of_signs(&evals).max(by_cases())
        } else {
            of_signs(&evals)
        };
        p < self.alpha
    }

    /// Pairs of runs of `n` outcomes, of which the candidate has lost a drop of those that pass.
    pub fn pairs_of_outcomes(&self, outcomes: OutcomeRates, drop: f64, n: usize) -> RunPairs<'_> {
        let OutcomeRates { rate, flips } = outcomes;
        if n == 0 || drop.is_nan() || drop <= 0.0 || drop > rate {
            return RunPairs::Known(0.0);
        }
        let share = drop / rate;
        let (lost, gained) = (flips + (rate - flips) * share, flips * (1.0 - share));
        RunPairs::simulated(self.pairs, move |at| {
            let mut draws = draws_of(self.seed, at);
            let lost_ones = binomial(&mut draws, n as u64, lost);
            let gained_ones = binomial(
                &mut draws,
                n as u64 - lost_ones,
                (gained / (1.0 - lost).max(1e-12)).min(1.0),
            );
            mcnemar_mid_p(lost_ones, gained_ones).p_lower < self.alpha
        })
    }

    /// Pairs of runs of `n` units that are drawn from these with replacement, each difference with
    /// a sign of its own, of which the candidate has lost a drop of the mean: that share of the
    /// units loses all of its value, or every unit that share of it (`even`). Tested by the signs
    /// of the differences.
    pub fn pairs_of_units<'a>(
        &'a self,
        units: &'a [TestedUnit],
        even: bool,
        drop: f64,
        n: usize,
    ) -> RunPairs<'a> {
        let share = drop / mean(units);
        let known = u32::try_from(units.len()).unwrap_or(0);
        if known == 0 || n == 0 || !share.is_finite() || share <= 0.0 || !even && share > 1.0 {
            return RunPairs::Known(0.0);
        }
        if n > MOST_CASES {
            return RunPairs::Known(
                DifferenceSpread::of_units(units, even, drop).chance(n as f64, self.alpha),
            );
        }
        RunPairs::simulated(self.pairs_of(n), move |at| {
            let mut draws = draws_of(self.seed, at);
            let differences: Vec<f64> = (0..n)
                .filter_map(|_| {
                    let unit = units.get(draws.below(known) as usize)?;
                    let sign = if draws.unit() < 0.5 { -1.0 } else { 1.0 };
                    let lost = match even {
                        true => share,
                        false => f64::from(u8::from(draws.unit() < share)),
                    };
                    Some(sign * unit.difference - lost * unit.value)
                })
                .collect();
            of_signs(&differences) < self.alpha
        })
    }
}

/// Outcomes of cases or evals on two sides: the share that passes, and the share that passes on the
/// one side alone (as many on the other).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutcomeRates {
    pub rate: f64,
    pub flips: f64,
}

/// What is tested by its sign: a case or an eval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestedUnit {
    /// Weighted.
    pub difference: f64,
    /// Of both sides, in the mean, weighted.
    pub value: f64,
    pub weight: f64,
}

/// The mean of units.
pub fn mean(units: &[TestedUnit]) -> f64 {
    units.iter().map(|unit| unit.value).sum::<f64>()
        / units.iter().map(|unit| unit.weight).sum::<f64>()
}

/// Pairs of runs in which a drop is looked for.
pub enum RunPairs<'a> {
    /// The share that finds it, by the normal limit.
    Known(f64),
    /// So many simulated ones, and whether it is found in the one of a number.
    Simulated {
        number: usize,
        finds: Box<dyn Fn(usize) -> bool + Sync + 'a>,
    },
}

impl<'a> RunPairs<'a> {
    fn simulated(number: usize, finds: impl Fn(usize) -> bool + Sync + 'a) -> RunPairs<'a> {
        RunPairs::Simulated {
            number,
            finds: Box::new(finds),
        }
    }

    /// The share that finds it.
    pub fn chance(&self) -> f64 {
        match self {
            RunPairs::Known(share) => *share,
            RunPairs::Simulated { number, finds } => {
                found(finds, 0..*number) as f64 / *number as f64
            }
        }
    }

    /// Whether at least this share finds it. Ends as soon as that is clear.
    pub fn reach(&self, power: f64) -> bool {
        let (number, finds) = match self {
            RunPairs::Known(share) => return *share >= power,
            RunPairs::Simulated { number, finds } => (*number, finds),
        };
        let block = number.div_ceil(BLOCKS);
        let (mut sum, mut done) = (0, 0);
        while done < number {
            let until = number.min(done + block);
            sum += found(finds, done..until);
            done = until;
            let error = (power * (1.0 - power) / done as f64).sqrt();
            if (sum as f64 / done as f64 - power).abs() > CLEAR * error {
                break;
            }
        }
        sum as f64 >= power * done as f64
    }
}

fn found(finds: &(impl Fn(usize) -> bool + Sync), among: Range<usize>) -> usize {
    let found = in_parallel(among, finds);
    found.into_iter().filter(|found| *found).count()
}
