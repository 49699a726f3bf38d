//! Thresholds on an end of an interval of a share: the chance that they are met, and the cases that
//! it takes.

use super::MANY;
use crate::distributions::{binomial_at_least, binomial_at_most};
use crate::{Interval, likelihood::of_counts, reaches, stays_within};

/// What an end of the interval of a share has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalDemand {
    /// True: the upper end must stay within the value. False: the lower end must reach it.
    pub upper: bool,
    pub value: f64,
    /// Confidence of the interval.
    pub level: f64,
}

/// How many more cases it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasesNeeded {
    /// So many, of which so many pass; one fewer at that rate does not do.
    Exact { more: u64, passing: u64 },
    /// More than [`MANY`].
    Many,
    /// The interval closes in on the share, which is the value that is demanded.
    Never,
}

impl IntervalDemand {
    fn is_met_by(&self, interval: Interval) -> bool {
        match self.upper {
            true => stays_within(interval.high, self.value),
            false => reaches(interval.low, self.value),
        }
    }

    /// Whether so many passes among so many cases meet it.
    pub fn is_met(&self, passed: u64, cases: u64) -> bool {
        of_counts(passed as f64, cases as f64, self.level)
            .is_ok_and(|interval| self.is_met_by(interval))
    }

    /// Whether cases that all do as well as they can meet it: all pass, or for an upper end none
    /// does.
    pub fn is_met_at_best(&self, cases: u64) -> bool {
        self.is_met(if self.upper { 0 } else { cases }, cases)
    }

    /// The least number of passes that meets the demand on a lower end, or the largest that meets
    /// that on an upper end; `None` when even the best does not.
    pub fn passes(&self, cases: u64) -> Option<u64> {
        if !self.is_met_at_best(cases) {
            return None;
        }
        // The ends rise with the passes, so that the last count that meets it is found by halving.
        if !self.upper && self.is_met(0, cases) {
            return Some(0);
        }
        let (missed, met) = if self.upper {
            (cases + 1, 0)
        } else {
            (0, cases)
        };
        Some(halved(
            missed,
            met,
            |_| 1,
            |passed| self.is_met(passed, cases),
        ))
    }

    /// The chance that it is met by so many independent cases that each pass with the chance
    /// `rate`: an exact binomial sum.
    pub fn chance(&self, cases: u64, rate: f64) -> f64 {
        match self.passes(cases) {
            None => 0.0,
            Some(most) if self.upper => binomial_at_most(most, cases, rate),
            Some(least) => binomial_at_least(least, cases, rate),
        }
    }

    /// The fewest cases from which on the chance is never below `power` again, at the true rate;
    /// `None` when no number up to [`MANY`] is enough, as at a rate that does not meet the demand
    /// itself.
    ///
    /// The chance rises with the cases in the teeth of a saw, since passes are whole: a number of
    /// cases may do where a larger one does not. The number here is that of the last tooth.
    pub fn cases(&self, rate: f64, power: f64) -> Option<u64> {
        let better = if self.upper {
            rate < self.value
        } else {
            rate > self.value
        };
        if !(better && power > 0.0 && power < 1.0) {
            return None;
        }
        // One pass more than needed bounds the teeth from below, and rises.
        let bounded = |cases: u64| {
            let chance = match (self.passes(cases), self.upper) {
                (None, _) | (Some(0), true) => 0.0,
                (Some(most), true) => binomial_at_most(most - 1, cases, rate),
                (Some(least), false) => binomial_at_least(least + 1, cases, rate),
            };
            chance >= power
        };
        let mut cases = first(bounded)?;
        while cases > 1 && self.chance(cases - 1, rate) >= power {
            cases -= 1;
        }
        Some(cases)
    }

    /// The fewest further cases, of which as many pass as of those that there are or, where that is
    /// no whole number, the next one that is no better, that bring the end of the interval of
    /// `passed` in `n` to the value.
    pub fn more_at_the_same_rate(&self, passed: u64, n: u64) -> CasesNeeded {
        let share = passed as f64 / n as f64;
        if (share - self.value).abs() <= 1e-9 {
            return CasesNeeded::Never;
        }
        // A steady rate, over a number of cases that need not fit it: no count at that rate or a
        // worse one does better.
        let steady = |total: u64| {
            of_counts(share * total as f64, total as f64, self.level)
                .is_ok_and(|interval| self.is_met_by(interval))
        };
        let (mut missed, mut met) = (n, n.saturating_mul(2));
        while !steady(met) {
            if met > MANY {
                return CasesNeeded::Many;
            }
            (missed, met) = (met, met.saturating_mul(2));
        }
        met = halved(missed, met, |_| 1, steady);
        let passing = |more: u64| {
            let share = u128::from(more) * u128::from(passed);
            let passing = if self.upper {
                share.div_ceil(u128::from(n))
            } else {
                share / u128::from(n)
            };
            passing as u64
        };
        // At a multiple of n the rate fits exactly, so that the search ends within n steps.
        for total in met..=met.saturating_add(n) {
            let more = total - n;
            if self.is_met(passed + passing(more), total) {
                return CasesNeeded::Exact {
                    more,
                    passing: passing(more),
                };
            }
        }
        CasesNeeded::Many
    }
}

/// The first number up to [`MANY`] that does, of a property that stays once it is there.
pub fn first(does: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut not, mut yes) = (0, 1);
    while !does(yes) {
        if yes >= MANY {
            return None;
        }
        (not, yes) = (yes, (yes * 2).min(MANY));
    }
    Some(halved(not, yes, |_| 1, does))
}

/// Of a property that `not` lacks and `yes` has: where it begins between them, to within `slack`.
pub(super) fn halved(
    mut not: u64,
    mut yes: u64,
    slack: impl Fn(u64) -> u64,
    does: impl Fn(u64) -> bool,
) -> u64 {
    while yes.abs_diff(not) > slack(yes) {
        let middle = not.midpoint(yes);
        if does(middle) {
            yes = middle
        } else {
            not = middle
        }
    }
    yes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn lower(value: f64) -> IntervalDemand {
        IntervalDemand {
            upper: false,
            value,
            level: 0.95,
        }
    }

    const fn upper(value: f64) -> IntervalDemand {
        IntervalDemand {
            upper: true,
            value,
            level: 0.95,
        }
    }

    #[test]
    fn all_passing_is_not_always_enough() {
        // By the likelihood of n passes and 0.55 of a failure, solved in Python: 33 end at 0.90052,
        // 68 at 0.95022, 347 at 0.99001.
        let fewest_at_best = |demand: IntervalDemand| first(|cases| demand.is_met_at_best(cases));
        assert_eq!(fewest_at_best(lower(0.9)), Some(33));
        assert_eq!(fewest_at_best(lower(0.95)), Some(68));
        assert_eq!(fewest_at_best(lower(0.99)), Some(347));
        assert_eq!(fewest_at_best(upper(0.1)), Some(33));
        assert_eq!(fewest_at_best(lower(1.0)), None);
        assert_eq!(fewest_at_best(lower(0.0)), Some(1));
        assert!(!lower(0.9).is_met_at_best(32) && lower(0.9).is_met_at_best(33));
    }

    #[test]
    fn the_chance_is_a_binomial_sum() {
        // 33 of 33 are needed for 0.9: the chance at a rate of 0.98 is 0.98^33.
        assert!((lower(0.9).chance(33, 0.98) - 0.98f64.powi(33)).abs() < 1e-12);
        assert_eq!(lower(0.9).chance(32, 0.98), 0.0);
        assert!((upper(0.1).chance(33, 0.02) - 0.98f64.powi(33)).abs() < 1e-12);
        assert_eq!(lower(0.9).cases(0.9, 0.8), None);
        assert_eq!(lower(0.9).cases(0.85, 0.8), None);
        assert_eq!(upper(0.1).cases(0.2, 0.8), None);
        // Large numbers come quickly, too.
        let many = lower(0.9).cases(0.902, 0.8).unwrap();
        let theory = 0.9 * 0.1 * (1.959964f64 + 0.841621).powi(2) / 0.002f64.powi(2);
        assert!((many as f64 / theory - 1.0).abs() < 0.02, "{many} {theory}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn the_number_of_cases_is_that_of_the_last_tooth(
            value in 0.3f64..0.9, above in 0.05f64..0.3, power in 0.5f64..0.95, is_upper: bool,
        ) {
            let rate = (value + above).min(0.99);
            let (demand, rate) = if is_upper { (upper(1.0 - value), 1.0 - rate) } else { (lower(value), rate) };
            let most = 2_000;
            let naive = (1..=most).rev().find(|n| demand.chance(*n, rate) < power).map_or(1, |last| last + 1);
            prop_assert_eq!(demand.cases(rate, power), Some(naive));
        }

        #[test]
        fn so_many_passes_meet_it_and_one_fewer_does_not(cases in 1u64..200, value in 0.0f64..1.0, is_upper: bool) {
            let demand = if is_upper { upper(value) } else { lower(value) };
            let met: Vec<u64> = (0..=cases).filter(|passed| demand.is_met(*passed, cases)).collect();
            let naive = if is_upper { met.last() } else { met.first() };
            prop_assert_eq!(demand.passes(cases), naive.copied());
        }
    }
}
