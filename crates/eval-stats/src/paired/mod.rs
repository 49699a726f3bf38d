//! Two runs over the same cases: is the second one worse, and by how much.

mod dealt;
mod holm;
mod interval;
mod mcnemar;
mod sign_flip;
mod tango;

pub use dealt::{CaseDeal, DealKinds, of_deals};
pub use holm::holm;
pub use mcnemar::mcnemar_mid_p;

use super::UndefinedReason;
use super::interval::Interval;
use interval::{ResampledUnits, bootstrap};
pub use sign_flip::of_signs;
use sign_flip::sign_flip;
use tango::tango;

/// Share of what went into a sum up to which the rest is rounding: 2/5 to 3/5 and 2/5 to 1/5 cancel
/// out, though not in binary.
const ROUNDING: f64 = 1e-11;

/// Values of one metric, a pair a case (or eval), in the plan's order.
#[derive(Debug, Clone, Copy)]
pub struct MetricPairs<'a> {
    pub reference: &'a [f64],
    pub candidate: &'a [f64],
    /// How much each pair counts; `None`: alike.
    pub weights: Option<&'a [f64]>,
    /// The number of the group that each pair belongs to, ascending, where pairs of a group stand
    /// or fall together.
    pub groups: Option<&'a [u32]>,
    /// What each case's difference could have been had its samples been dealt otherwise, by kind of
    /// case: then samples within cases are tested, if no groups are.
    pub deals: Option<&'a [(CaseDeal, u32)]>,
    /// Every value is 0 or 1, of one sample.
    pub single: bool,
    /// Every value lies in [0, 1].
    pub shares: bool,
}

impl MetricPairs<'_> {
    fn weight(&self, at: usize) -> f64 {
        let weight = self.weights.and_then(|weights| weights.get(at));
        weight.copied().unwrap_or(1.0)
    }
}

/// What pairs say. Differences are `candidate - reference`.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedResult {
    pub n: usize,
    /// Weighted means.
    pub reference: f64,
    pub candidate: f64,
    pub difference: f64,
    pub interval: Result<Interval, UndefinedReason>,
    pub test: Result<PairedTest, UndefinedReason>,
}

/// One-sided p-values of the hypothesis that the sides don't differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    pub method: TestMethod,
    /// Of a difference at least as low.
    pub p_lower: f64,
    /// Of a difference at least as high.
    pub p_higher: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestMethod {
    McNemarMidP,
    /// Samples dealt to the sides within each case.
    WithinCases,
    SignFlip,
    ClusterSignFlip,
}

impl TestMethod {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            TestMethod::McNemarMidP => "mcnemar_mid_p",
            TestMethod::WithinCases => "within_cases",
            TestMethod::SignFlip => "sign_flip",
            TestMethod::ClusterSignFlip => "cluster_sign_flip",
        }
    }
}

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResamplingOptions {
    pub resamples: usize,
    pub seed: u64,
    pub level: f64,
}

/// Compares: with McNemar's test and Tango's interval where each pair is two single outcomes, else
/// by samples dealt within cases or by sign flips of pairs or whole groups, and a bootstrap of
/// pairs or whole groups.
///
/// # Errors
/// When there are no pairs, a value or weight or a sum of them is not finite, or all weights are 0.
pub fn paired(
    pairs: &MetricPairs<'_>,
    how: ResamplingOptions,
) -> Result<PairedResult, UndefinedReason> {
    check(pairs)?;
    let n = pairs.reference.len();
    let total: f64 = (0..n).map(|at| pairs.weight(at)).sum();
    let mean = |values: &[f64]| {
        values
            .iter()
            .enumerate()
            .map(|(at, v)| v * pairs.weight(at))
            .sum::<f64>()
            / total
    };
    let (reference, candidate) = (mean(pairs.reference), mean(pairs.candidate));
    let units = units(pairs);
    let (sum, size) = units
        .ratios
        .iter()
        .fold((0.0, 0.0), |(sum, size), u| (sum + u.0, size + u.0.abs()));
    if ![reference, candidate, size]
        .iter()
        .all(|value: &f64| value.is_finite())
    {
        return Err(UndefinedReason::NotFinite);
    }
    let (interval, test) = if pairs.single && pairs.groups.is_none() && pairs.weights.is_none() {
        let (lost, gained) = flips(pairs);
        let interval = tango(lost as f64, gained as f64, n as f64, how.level);
        (interval, mcnemar_mid_p(lost, gained))
    } else {
        let sums: Vec<f64> = units.ratios.iter().map(|(sum, _)| *sum).collect();
        let signs = || sign_flip(&sums, how.resamples, how.seed);
        let ((p_lower, p_higher), method) = match pairs.deals {
            None if units.grouped => (signs(), TestMethod::ClusterSignFlip),
            None => (signs(), TestMethod::SignFlip),
            Some(deals) => {
                let dealt = dealt::dealt(deals, sum, how.resamples, how.seed);
                match units.grouped {
                    false => (dealt, TestMethod::WithinCases),
                    // With more samples on one side than on the other a sign is not as likely as
                    // its opposite: the larger of the two chances holds where either does.
                    true => {
                        let (lower, higher) = signs();
                        (
                            (lower.max(dealt.0), higher.max(dealt.1)),
                            TestMethod::ClusterSignFlip,
                        )
                    }
                }
            }
        };
        let interval = bootstrap(&units, how.resamples, how.seed, how.level);
        (
            interval,
            PairedTest {
                method,
                p_lower,
                p_higher,
            },
        )
    };
    Ok(PairedResult {
        n,
        reference,
        candidate,
        difference: if f64::abs(sum) > ROUNDING * size {
            candidate - reference
        } else {
            0.0
        },
        interval,
        test: Ok(test),
    })
}

fn check(pairs: &MetricPairs<'_>) -> Result<(), UndefinedReason> {
    let (left, right) = (pairs.reference.len(), pairs.candidate.len());
    let others = [
        pairs.weights.map(<[f64]>::len),
        pairs.groups.map(<[u32]>::len),
    ];
    if let Some(right) = [Some(right)]
        .into_iter()
        .chain(others)
        .flatten()
        .find(|len| *len != left)
    {
        return Err(UndefinedReason::Unpaired { left, right });
    }
    if left == 0 {
        return Err(UndefinedReason::NoData);
    }
    let weights = pairs.weights.unwrap_or_default();
    if pairs
        .reference
        .iter()
        .chain(pairs.candidate)
        .chain(weights)
        .any(|value| !value.is_finite())
    {
        return Err(UndefinedReason::NotFinite);
    }
    if weights.iter().any(|weight| *weight < 0.0)
        || pairs.weights.is_some() && weights.iter().all(|w| *w == 0.0)
    {
        return Err(UndefinedReason::Weights);
    }
    Ok(())
}

/// Lost and gained ones.
fn flips(pairs: &MetricPairs<'_>) -> (u64, u64) {
    pairs
        .reference
        .iter()
        .zip(pairs.candidate)
        .fold((0, 0), |(lost, gained), (before, after)| {
            (
                lost + u64::from(after < before),
                gained + u64::from(after > before),
            )
        })
}

/// What is tested by its sign, pairs or their groups: [difference, mean of both sides, weight],
/// weighted.
pub fn tested_units(pairs: &MetricPairs<'_>) -> Vec<[f64; 3]> {
    let middle: Vec<f64> = pairs
        .reference
        .iter()
        .zip(pairs.candidate)
        .map(|(a, b)| f64::midpoint(*a, *b))
        .collect();
    let nothing = vec![0.0; middle.len()];
    // Sums of the same groups.
    let values = units(&MetricPairs {
        reference: &nothing,
        candidate: &middle,
        ..*pairs
    });
    let differences = units(pairs).ratios.into_iter();
    differences
        .zip(values.ratios)
        .map(|((difference, weight), (value, _))| [difference, value, weight])
        .collect()
}

/// The pairs, or their groups, as what is resampled; what weighs nothing is none. A sum that is but
/// rounding is 0: it has a sign, and signs are what is tested.
fn units(pairs: &MetricPairs<'_>) -> ResampledUnits {
    let mut ratios: Vec<(f64, f64)> = Vec::with_capacity(pairs.reference.len());
    let settle = |unit: Option<&mut (f64, f64)>, size: f64| {
        if let Some((sum, _)) = unit.filter(|(sum, _)| sum.abs() <= ROUNDING * size) {
            *sum = 0.0;
        }
    };
    let (mut last, mut size) = (None, 0.0);
    for (at, (before, after)) in pairs.reference.iter().zip(pairs.candidate).enumerate() {
        let weight = pairs.weight(at);
        if weight == 0.0 {
            continue;
        }
        let (sum, of) = (
            (after - before) * weight,
            (after.abs() + before.abs()) * weight,
        );
        let group = pairs.groups.and_then(|groups| groups.get(at)).copied();
        match ratios.last_mut() {
            Some(unit) if group.is_some() && group == last => {
                *unit = (unit.0 + sum, unit.1 + weight);
                size += of;
            }
            before => {
                settle(before, size);
                ratios.push((sum, weight));
                size = of;
            }
        }
        last = group;
    }
    settle(ratios.last_mut(), size);
    ResampledUnits {
        ratios,
        grouped: pairs.groups.is_some(),
        shares: pairs.shares,
    }
}

#[cfg(test)]
mod tests;
