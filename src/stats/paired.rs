//! Two runs over the same cases: is the second one worse, and by how much.

use super::Undefined;
use super::bootstrap::{Draws, bootstrap_mean, cluster_bootstrap_mean};
use super::interval::Interval;

/// Values of one metric, a pair a case (or eval), in the plan's order.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    pub reference: &'a [f64],
    pub candidate: &'a [f64],
    /// How much each pair counts; `None`: alike.
    pub weights: Option<&'a [f64]>,
    /// The number of the group that each pair belongs to, ascending, where pairs of a group stand or fall together.
    pub groups: Option<&'a [u32]>,
    /// Every value is 0 or 1, of one sample.
    pub single: bool,
    /// Every value lies in [0, 1].
    pub shares: bool,
}

/// What pairs say. Differences are `candidate - reference`.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    pub n: usize,
    /// Weighted means.
    pub reference: f64,
    pub candidate: f64,
    pub difference: f64,
    pub interval: Result<Interval, Undefined>,
    pub test: Result<PairedTest, Undefined>,
    /// The standard error of the difference if there is none: what its detectable size rests on.
    pub null_error: Result<f64, Undefined>,
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
    SignFlip,
    ClusterSignFlip,
}

impl TestMethod {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            TestMethod::McNemarMidP => "mcnemar_mid_p",
            TestMethod::SignFlip => "sign_flip",
            TestMethod::ClusterSignFlip => "cluster_sign_flip",
        }
    }
}

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    pub resamples: usize,
    pub seed: u64,
    pub level: f64,
}

/// Compares.
///
/// # Errors
/// When there are no pairs, or a value is not finite.
pub fn paired(pairs: &Pairs<'_>, how: Resampling) -> Result<Paired, Undefined> {
    let n = pairs.reference.len();
    if n != pairs.candidate.len() {
        return Err(Undefined::Unpaired { left: n, right: pairs.candidate.len() });
    }
    if n == 0 {
        return Err(Undefined::NoData);
    }
    if pairs.reference.iter().chain(pairs.candidate).any(|value| !value.is_finite()) {
        return Err(Undefined::NotFinite);
    }
    let weight = |at: usize| pairs.weights.and_then(|weights| weights.get(at)).copied().unwrap_or(1.0);
    let total: f64 = (0..n).map(weight).sum();
    let mean = |values: &[f64]| values.iter().enumerate().map(|(at, v)| v * weight(at)).sum::<f64>() / total;
    let (reference, candidate) = (mean(pairs.reference), mean(pairs.candidate));
    let differences: Vec<f64> = pairs
        .candidate
        .iter()
        .zip(pairs.reference)
        .enumerate()
        .map(|(at, (c, r))| (c - r) * weight(at))
        .collect();
    let mut units: Vec<(f64, u64)> = Vec::new();
    let mut last = None;
    for (at, difference) in differences.iter().enumerate() {
        let group =
            pairs.groups.and_then(|groups| groups.get(at)).copied().map_or(at, |group| group as usize);
        if last != Some(group) {
            units.push((0.0, 0));
            last = Some(group);
        }
        if let Some((sum, count)) = units.last_mut() {
            *sum += difference;
            *count += 1;
        }
    }
    let interval = match pairs.groups {
        Some(_) => cluster_bootstrap_mean(&units, how.resamples, how.seed, how.level),
        None => bootstrap_mean(&differences, how.resamples, how.seed, how.level),
    };
    let sums: Vec<f64> = units.iter().map(|(sum, _)| *sum).collect();
    let test = if pairs.single && pairs.groups.is_none() && pairs.weights.is_none() {
        let lost = differences.iter().filter(|d| **d < 0.0).count() as u64;
        let gained = differences.iter().filter(|d| **d > 0.0).count() as u64;
        Ok(mcnemar_mid_p(lost, gained))
    } else {
        Ok(sign_flip(&sums, pairs.groups.is_some(), how))
    };
    let null_error = Ok(sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt() / total);
    Ok(Paired { n, reference, candidate, difference: candidate - reference, interval, test, null_error })
}

/// McNemar's test with mid-p: half of the probability of what was observed counts.
///
/// Source: Fagerland, Lydersen & Laake, BMC Medical Research Methodology 13:91 (2013).
pub fn mcnemar_mid_p(lost: u64, gained: u64) -> PairedTest {
    let flips = lost + gained;
    let log_half = -(flips as f64) * std::f64::consts::LN_2;
    let (mut log_term, mut below, mut at) = (log_half, 0.0, 0.0);
    for i in 0..=gained {
        if i == gained {
            at = log_term.exp();
        } else {
            below += log_term.exp();
            log_term += ((flips - i) as f64).ln() - ((i + 1) as f64).ln();
        }
    }
    let p_lower = (below + at / 2.0).min(1.0);
    PairedTest { method: TestMethod::McNemarMidP, p_lower, p_higher: (1.0 - p_lower).max(0.0) }
}

/// The sign-flip test: under the hypothesis each unit's difference could as well have had the other sign.
fn sign_flip(units: &[f64], grouped: bool, how: Resampling) -> PairedTest {
    let observed: f64 = units.iter().sum();
    let slack = 1e-12 * units.iter().map(|unit| unit.abs()).sum::<f64>();
    let mut draws = Draws::new(how.seed);
    let (mut lower, mut higher) = (1.0, 1.0);
    for _ in 0..how.resamples {
        let sum: f64 = units.iter().map(|unit| if draws.unit() < 0.5 { *unit } else { -unit }).sum();
        lower += f64::from(u8::from(sum <= observed + slack));
        higher += f64::from(u8::from(sum >= observed - slack));
    }
    let method = if grouped { TestMethod::ClusterSignFlip } else { TestMethod::SignFlip };
    let all = how.resamples as f64 + 1.0;
    PairedTest { method, p_lower: lower / all, p_higher: higher / all }
}

/// Holm's adjustment of p-values that are looked at together (S. Holm, Scand. J. Statist. 6, 1979), in the given order.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max((p_values[at] * (p_values.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}
