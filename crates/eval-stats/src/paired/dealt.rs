//! The test of samples that are dealt to the two sides within each case.
//!
//! If a case's chance is the same on both sides, all its samples are exchangeable, and of those
//! that passed the candidate gets a hypergeometric number. Of the sum over cases this gives an
//! exact test, whatever the chances are: Fisher's exact test in strata, of which N. Mantel and W.
//! Haenszel's (J. Natl. Cancer Inst. 22:719-748, 1959) is the limit. Half of the chance of what was
//! observed counts (mid-p: H. O. Lancaster, JASA 56:223-234, 1961), which brings the level nearer
//! to its nominal value.

use std::collections::BTreeMap;

use crate::draws::{IndexDraws, resampled};
use crate::interval::normal_cdf;
use crate::power::{CaseFigure, SamplePair};

/// Resamples that share a stream of the generator.
const CHUNK: usize = 256;
/// Streams of the generator from here on are those of this test.
const FIRST_STREAM: u64 = 1 << 33;
/// Different sums of all cases up to which the chance of each is computed, and nothing drawn.
const FEW_SUMS: usize = 4_096;
/// Cases that may come out differently beyond which the normal limit stands in, corrected for
/// skewness.
const LIMIT: u32 = 200;
/// Outcomes of all cases together beyond which the normal limit stands in, too.
const LIMIT_OUTCOMES: usize = 20_000;
/// The same for simulated pairs of runs, of which there are thousands.
const SIMULATED_OUTCOMES: usize = 48;
/// Sums that are merged at once.
const MERGED: usize = 1 << 17;
/// Outcomes that are less likely are left out.
const NEGLIGIBLE: f64 = 1e-60;
/// Share of the sum of all sizes within which sums count as equal.
const SLACK: f64 = 1e-11;

/// What one case's difference could have been, had its samples been dealt otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseDeal {
    /// (difference, chance), the chances adding up to 1.
    outcomes: Vec<(f64, f64)>,
    mean: f64,
    variance: f64,
    /// Third central moment.
    third: f64,
    /// The largest size of a difference.
    largest: f64,
}

impl CaseDeal {
    /// Of a case with so many samples in the reference and in the candidate, of which so many
    /// passed in all, and a figure of them.
    pub fn new(
        [reference, candidate]: SamplePair,
        passed: u32,
        figure: CaseFigure<'_>,
    ) -> CaseDeal {
        let least = passed.saturating_sub(reference);
        let (mut outcomes, mut chance) = (Vec::new(), 1.0);
        for got in least..=passed.min(candidate) {
            if let (Some(before), Some(now)) =
                (figure(reference, passed - got), figure(candidate, got))
            {
                outcomes.push((now - before, chance));
            }
            // From so many passes to one more.
            let ways = f64::from(passed - got) * f64::from(candidate - got);
            let back = f64::from(got + 1)
                * (f64::from(reference) + f64::from(got + 1) - f64::from(passed));
            chance *= ways / back;
            // Only what they are to each other counts.
            if chance > 1e200 {
                outcomes.iter_mut().for_each(|(_, chance)| *chance /= 1e200);
                chance /= 1e200;
            }
        }
        CaseDeal::of(outcomes)
    }

    /// Of (difference, weight).
    fn of(mut outcomes: Vec<(f64, f64)>) -> CaseDeal {
        let total: f64 = outcomes.iter().map(|(_, weight)| weight).sum();
        outcomes.iter_mut().for_each(|(_, weight)| *weight /= total);
        outcomes.retain(|(_, chance)| *chance > NEGLIGIBLE);
        let mean: f64 = outcomes
            .iter()
            .map(|(difference, chance)| difference * chance)
            .sum();
        let moment = |power: i32| {
            outcomes
                .iter()
                .map(|(difference, chance)| chance * (difference - mean).powi(power))
                .sum::<f64>()
        };
        let (variance, third) = (moment(2), moment(3));
        let largest = outcomes
            .iter()
            .map(|(difference, _)| difference.abs())
            .fold(0.0, f64::max);
        CaseDeal {
            outcomes,
            mean,
            variance,
            third,
            largest,
        }
    }

    pub fn variance(&self) -> f64 {
        self.variance
    }

    fn is_open(&self) -> bool {
        self.variance > 0.0
    }

    fn draw(&self, draws: &mut IndexDraws) -> f64 {
        let mut u = draws.unit();
        for (difference, chance) in &self.outcomes {
            u -= chance;
            if u < 0.0 {
                return *difference;
            }
        }
        self.outcomes
            .last()
            .map_or(self.mean, |(difference, _)| *difference)
    }
}

/// Chances of a sum of differences as low as `observed`, and as high, of so many cases of each
/// kind: exact where there are few different sums, the limit where there are many cases, else from
/// draws. Never 0.
pub(super) fn dealt(
    deals: &[(CaseDeal, u32)],
    observed: f64,
    resamples: usize,
    seed: u64,
) -> (f64, f64) {
    let sums = DealSums::new(deals, observed);
    if let Some(p) = sums.exact() {
        return p;
    }
    if sums.cases > LIMIT || sums.outcomes() > LIMIT_OUTCOMES {
        sums.limit()
    } else {
        sums.drawn(resamples, seed)
    }
}

/// The chance of a sum as low as that of these cases, as simulated pairs of runs take it.
pub fn of_deals(deals: &[&CaseDeal], observed: f64) -> f64 {
    let sums = DealSums::of(deals.iter().map(|deal| (*deal, 1)), observed);
    let few = sums.outcomes() <= SIMULATED_OUTCOMES;
    few.then(|| sums.exact())
        .flatten()
        .unwrap_or_else(|| sums.limit())
        .0
}

struct DealSums<'a> {
    /// Kinds of cases that may come out differently.
    open: Vec<(&'a CaseDeal, u32)>,
    cases: u32,
    observed: f64,
    slack: f64,
}

impl<'a> DealSums<'a> {
    fn new(deals: &'a [(CaseDeal, u32)], observed: f64) -> DealSums<'a> {
        DealSums::of(deals.iter().map(|(deal, n)| (deal, *n)), observed)
    }

    fn of(deals: impl Iterator<Item = (&'a CaseDeal, u32)>, observed: f64) -> DealSums<'a> {
        let (mut fixed, mut size, mut cases, mut open) = (0.0, 0.0, 0, Vec::new());
        for (deal, n) in deals {
            if deal.is_open() {
                size += f64::from(n) * deal.largest;
                cases += n;
                open.push((deal, n));
            } else {
                fixed += f64::from(n) * deal.mean;
            }
        }
        let slack = SLACK * (size + f64::abs(fixed) + observed.abs());
        DealSums {
            open,
            cases,
            observed: observed - fixed,
            slack,
        }
    }

    /// What each case may come out as, counted over all cases.
    fn outcomes(&self) -> usize {
        self.open
            .iter()
            .map(|(deal, n)| deal.outcomes.len() * *n as usize)
            .sum()
    }

    /// Half of the chance of the observed sum counts.
    fn tails(&self, sums: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
        let (mut low, mut high) = (0.0, 0.0);
        for (sum, weight) in sums {
            if sum < self.observed - self.slack {
                low += weight;
            } else if sum > self.observed + self.slack {
                high += weight;
            } else {
                (low, high) = (low + weight / 2.0, high + weight / 2.0);
            }
        }
        (low, high)
    }

    /// `None` when there are too many different sums.
    fn exact(&self) -> Option<(f64, f64)> {
        if self.cases == 0 {
            return Some((0.5, 0.5));
        }
        if self.cases > LIMIT {
            return None;
        }
        let mut sums = vec![(0.0, 1.0)];
        for (deal, n) in &self.open {
            for _ in 0..*n {
                sums = self.merged(&sums, &deal.outcomes)?;
            }
        }
        let (low, high) = self.tails(sums.into_iter());
        Some((
            low.clamp(f64::MIN_POSITIVE, 1.0),
            high.clamp(f64::MIN_POSITIVE, 1.0),
        ))
    }

    fn merged(&self, sums: &[(f64, f64)], outcomes: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
        if sums.len() * outcomes.len() > MERGED {
            return None;
        }
        let each = outcomes.iter().flat_map(|(difference, chance)| {
            sums.iter()
                .map(move |(sum, before)| (sum + difference, before * chance))
        });
        let mut more: Vec<(f64, f64)> = each.collect();
        more.sort_by(|a, b| a.0.total_cmp(&b.0));
        more.dedup_by(|next, kept| {
            let same = next.0 - kept.0 <= self.slack;
            if same {
                kept.1 += next.1;
            }
            same
        });
        (more.len() <= FEW_SUMS).then_some(more)
    }

    /// The normal limit with its first correction for skewness (Edgeworth's; e.g. P. Hall, "The
    /// Bootstrap and Edgeworth Expansion", 1992, section 2.3).
    fn limit(&self) -> (f64, f64) {
        let sum = |of: fn(&CaseDeal) -> f64| {
            self.open
                .iter()
                .map(|(d, n)| of(d) * f64::from(*n))
                .sum::<f64>()
        };
        let error = sum(|deal| deal.variance).sqrt();
        if error.is_nan() || error <= 0.0 {
            return (0.5, 0.5);
        }
        let z = (self.observed - sum(|deal| deal.mean)) / error;
        let skew = sum(|deal| deal.third) / error.powi(3);
        let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let shift = density * skew * (z * z - 1.0) / 6.0;
        let tail = |z: f64, shift: f64| {
            let plain = normal_cdf(z);
            // Far away the correction is larger than what it corrects.
            (plain - shift)
                .clamp(plain / 2.0, plain * 2.0)
                .clamp(f64::MIN_POSITIVE, 1.0)
        };
        (tail(z, shift), tail(-z, -shift))
    }

    /// (1/2 + how many resamples) / (1 + resamples): the observed deal is one of them.
    fn drawn(&self, resamples: usize, seed: u64) -> (f64, f64) {
        let sums = resampled(resamples, (seed, FIRST_STREAM), CHUNK, |draws| {
            let open = self.open.iter();
            let each = open.flat_map(|(deal, n)| (0..*n).map(move |_| deal));
            each.map(|deal| deal.draw(draws)).sum()
        });
        let (low, high) = self.tails(sums.into_iter().map(|sum| (sum, 1.0)));
        let p = |count: f64| (count + 0.5) / (resamples as f64 + 1.0);
        (p(low), p(high))
    }
}

/// The kinds of cases and how many there are of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DealKinds {
    kinds: BTreeMap<(SamplePair, u32), u32>,
}

impl DealKinds {
    /// A case with so many samples on each side, of which so many passed in all.
    pub fn add(&mut self, samples: SamplePair, passed: u32) {
        *self.kinds.entry((samples, passed)).or_default() += 1;
    }

    pub fn of(&self, figure: CaseFigure<'_>) -> Vec<(CaseDeal, u32)> {
        self.kinds
            .iter()
            .map(|((samples, passed), n)| (CaseDeal::new(*samples, *passed, figure), *n))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(n: u32, c: u32) -> Option<f64> {
        (n > 0).then(|| f64::from(c) / f64::from(n))
    }

    /// All ways to deal the samples of all cases, one by one.
    fn naive(cases: &[(u32, u32, u32, u32)]) -> (f64, f64) {
        let mut sums = vec![0.0];
        let mut observed = 0.0;
        for (n1, c1, n2, c2) in cases {
            observed += f64::from(*c2) / f64::from(*n2) - f64::from(*c1) / f64::from(*n1);
            let (all, passed) = (n1 + n2, c1 + c2);
            // Which of the samples go to the candidate; the first ones passed.
            let deals = (0u32..1 << all).filter(|deal| deal.count_ones() == *n2);
            let differences = deals.map(|deal| {
                let got = (deal & ((1 << passed) - 1)).count_ones();
                f64::from(got) / f64::from(*n2) - f64::from(passed - got) / f64::from(*n1)
            });
            let differences: Vec<f64> = differences.collect();
            sums = sums
                .iter()
                .flat_map(|sum| differences.iter().map(move |d| sum + d))
                .collect();
        }
        let n = sums.len() as f64;
        let part =
            |is: &dyn Fn(f64) -> bool| sums.iter().filter(|sum| is(**sum)).count() as f64 / n;
        let same = part(&|sum| (sum - observed).abs() < 1e-9);
        (
            part(&|sum| sum < observed - 1e-9) + same / 2.0,
            part(&|sum| sum > observed + 1e-9) + same / 2.0,
        )
    }

    fn p(cases: &[(u32, u32, u32, u32)]) -> (f64, f64) {
        let mut deals = DealKinds::default();
        let mut observed = 0.0;
        for (n1, c1, n2, c2) in cases {
            deals.add([*n1, *n2], c1 + c2);
            observed += f64::from(*c2) / f64::from(*n2) - f64::from(*c1) / f64::from(*n1);
        }
        dealt(&deals.of(&share), observed, 10_000, 1)
    }

    #[test]
    fn a_case_that_loses_all_samples_is_found() {
        // Of 20 samples of which 10 passed all deals are alike likely: 1 in C(20, 10).
        let (low, high) = p(&[(10, 10, 10, 0)]);
        assert!(
            (low * 184_756.0 - 0.5).abs() < 1e-6 && high > 0.99,
            "{low} {high}"
        );
        // Four cases that went from 3 of 3 to 0 of 3: half of 20^-4.
        let (low, _) = p(&[(3, 3, 3, 0); 4]);
        assert!((low * 160_000.0 - 0.5).abs() < 1e-6, "{low}");
        assert_eq!(p(&[(3, 3, 3, 3); 4]), (0.5, 0.5));
    }

    #[test]
    fn drawn_deals_and_the_limit_tend_to_the_exact_chance() {
        let cases: Vec<_> = (0..150u32).map(|i| (3, i % 4, 5, (i * 7) % 6)).collect();
        let mut deals = DealKinds::default();
        cases
            .iter()
            .for_each(|(n1, c1, n2, c2)| deals.add([*n1, *n2], c1 + c2));
        let deals = deals.of(&share);
        for observed in [-4.0, -2.0, 0.0, 3.0] {
            let sums = DealSums::new(&deals, observed);
            let exact = sums.exact().unwrap();
            // Sums come in steps of 1/15, so that the limit is off by half a step where the
            // observed one is none of them.
            let (drawn, limit) = (sums.drawn(40_000, 1), sums.limit());
            assert!(
                (exact.0 - drawn.0).abs() < 0.01 && (exact.1 - drawn.1).abs() < 0.01,
                "{exact:?} {drawn:?}"
            );
            assert!(
                (exact.0 - limit.0).abs() < 0.016 && (exact.1 - limit.1).abs() < 0.016,
                "{exact:?} {limit:?}"
            );
        }
        // Far away it is small and never 0.
        let (low, _) = p(&vec![(5, 5, 5, 0); 1_000]);
        assert!(low > 0.0 && low < 1e-100, "{low}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn few_cases_agree_with_all_deals_one_by_one(
            cases in prop::collection::vec((1u32..4, 0u32..4, 1u32..4, 0u32..4), 1..4),
        ) {
            let cases: Vec<_> = cases.into_iter().map(|(a, b, c, d)| (a, b.min(a), c, d.min(c))).collect();
            let ((low, high), (naive_low, naive_high)) = (p(&cases), naive(&cases));
            prop_assert!((low - naive_low).abs() < 1e-9 && (high - naive_high).abs() < 1e-9);
        }

        /// A candidate's sample that fails instead of passing never makes a regression less likely
        /// to be found.
        #[test]
        fn a_lost_pass_never_raises_the_chance_of_a_drop(
            cases in prop::collection::vec((1u32..6, 0u32..6, 1u32..6, 1u32..6), 1..8), at in any::<prop::sample::Index>(),
        ) {
            let mut cases: Vec<_> = cases.into_iter().map(|(a, b, c, d)| (a, b.min(a), c, d.min(c))).collect();
            let before = p(&cases).0;
            at.get_mut(&mut cases).3 -= 1;
            prop_assert!(p(&cases).0 <= before + 1e-9, "{:?}", cases);
        }
    }
}
