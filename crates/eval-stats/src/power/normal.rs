//! The chance that a drop is found where so much is tested that sums are about normal: nothing is
//! simulated there.

use super::chances::{CaseChances, count};
use super::design::{CaseKinds, PowerTest, SampleDesign};
use super::simulated::{PowerAim, TestedUnit, mean};
use crate::interval::{normal_cdf, normal_quantile};

/// Cases whose differences are drawn to see how they vary.
const DRAWN: usize = 4_096;
/// Cases that may come out differently from which on their sum is about normal.
const OPEN: f64 = 100.0;
/// Whole evals from which on the test by their signs is about normal.
pub(super) const MANY_EVALS: usize = 200;

/// How the differences of what is tested vary under a drop, one by one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceSpread {
    /// Below 0.
    pub mean: f64,
    pub variance: f64,
    /// What the test takes for the variance, in the mean.
    pub tested: f64,
}

impl DifferenceSpread {
    /// The chance that a test of so many finds it.
    pub fn chance(&self, n: f64, alpha: f64) -> f64 {
        let bound = normal_quantile(alpha) * self.tested.sqrt();
        let chance = normal_cdf((bound - n.sqrt() * self.mean) / self.variance.sqrt());
        if chance.is_nan() { 0.0 } else { chance }
    }

    /// How many it takes to find it as often as asked.
    pub fn needed(&self, aim: &PowerAim) -> f64 {
        let errors = normal_quantile(aim.power) * self.variance.sqrt()
            - normal_quantile(aim.alpha) * self.tested.sqrt();
        (errors / self.mean).powi(2)
    }

    /// Of units that are drawn as [`PowerAim::pairs_of_units`] draws them.
    pub fn of_units(units: &[TestedUnit], even: bool, drop: f64) -> DifferenceSpread {
        let over = |of: &dyn Fn(&TestedUnit) -> f64| {
            units.iter().map(of).sum::<f64>() / units.len() as f64
        };
        let share = drop / mean(units);
        let lost = if even { share * share } else { share };
        let square =
            over(&|unit| unit.difference.powi(2)) + lost * over(&|unit| unit.value.powi(2));
        let mean = -share * over(&|unit| unit.value);
        DifferenceSpread {
            mean,
            variance: square - mean * mean,
            tested: square,
        }
    }
}

/// How cases vary, and how evals that are made of them do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CaseSpread {
    pub each: DifferenceSpread,
    /// The share of cases that may come out differently.
    open: f64,
}

impl CaseSpread {
    /// Under a loss of a share of each case's chance.
    pub fn new(
        design: &SampleDesign,
        kinds: &CaseKinds,
        chances: &CaseChances,
        share: f64,
    ) -> CaseSpread {
        let all: Vec<_> = design.samples().zip(kinds.of.iter().flatten()).collect();
        let mut draws = chances.draws(0);
        let (mut n, mut sum, mut squares, mut means) = (0.0, 0.0, 0.0, 0.0);
        let (mut tested, mut open) = (0.0, 0.0);
        for at in 0..DRAWN {
            // Spread evenly over all cases, however many there are.
            let Some(([before, after], kind)) = all.get(at * all.len() / DRAWN) else {
                continue;
            };
            let p = chances.draw(&mut draws);
            let q = p * (1.0 - share);
            let (a, b) = (count(&mut draws, *before, p), count(&mut draws, *after, q));
            let Some((kind, deal)) = kinds.deal(**kind, a + b) else {
                continue;
            };
            let (Some(was), Some(is)) = (kind.figure(0, a), kind.figure(1, b)) else {
                continue;
            };
            let (Some(expected), Some(then)) = (kind.expected(0, p), kind.expected(1, q)) else {
                continue;
            };
            n += 1.0;
            sum += then - expected;
            means += is - was;
            squares += (is - was).powi(2);
            tested += deal.variance();
            open += f64::from(u8::from(deal.variance() > 0.0));
        }
        let of = |sum: f64| if n > 0.0 { sum / n } else { 0.0 };
        let each = DifferenceSpread {
            mean: of(sum),
            variance: of(squares) - of(means).powi(2),
            tested: of(tested),
        };
        CaseSpread {
            each,
            open: of(open),
        }
    }

    /// Of what is tested, and how many cases each of them has. Of evals as large as those of the
    /// design.
    pub fn tested(&self, design: &SampleDesign, test: PowerTest) -> (DifferenceSpread, f64) {
        let DifferenceSpread {
            mean,
            variance,
            tested,
        } = self.each;
        if test == PowerTest::Cases {
            return (self.each, 1.0);
        }
        let sizes = || {
            design
                .evals
                .iter()
                .filter(|eval| !eval.is_empty())
                .map(|eval| eval.len() as f64)
        };
        let evals = sizes().count() as f64;
        let (size, square) = (
            sizes().sum::<f64>() / evals,
            sizes().map(|size| size * size).sum::<f64>() / evals,
        );
        let signs = size * variance + square * mean * mean;
        let tested = if test == PowerTest::UnlikeEvals {
            signs.max(size * tested)
        } else {
            signs
        };
        (
            DifferenceSpread {
                mean: size * mean,
                variance: size * variance,
                tested,
            },
            size,
        )
    }

    /// Whether the sum of so many cases is about normal.
    pub fn are_many(&self, cases: f64, per_test: f64, test: PowerTest) -> bool {
        match test {
            PowerTest::Cases => cases * self.open >= OPEN,
            PowerTest::Evals | PowerTest::UnlikeEvals => cases / per_test >= MANY_EVALS as f64,
        }
    }
}
