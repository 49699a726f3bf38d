//! Two runs, or several against one, paired by case: what differs, whether chance explains it, and
//! what could have been found.
//!
//! Each side is a [`RunScores`], whatever it was read from. Everything is computed over cases of
//! both sides that are the same on both; the verdict three times: over what was graded, and as if
//! everything without a grade had gone against the candidate or for it.

mod baseline;
mod detectable;
mod draft;
mod figures;
mod groups;
mod metrics;
mod notes;
mod pairing;
mod pairs;
mod scores;
mod values;
mod verdict;
mod words;

pub use baseline::of_baseline;
use draft::ComparisonDraft;
pub use figures::chance;
pub(crate) use metrics::tests_whole_evals;
pub use pairs::{PairVerdict, SidePair, compare_pairs};
use values::PairedMeasure;
pub use values::{COST_PER_SAMPLE, TOKENS_PER_SAMPLE};

use std::collections::BTreeSet;

use crate::model::{Comparison, ComparisonSettings, Grouping, Metric, RunScores};
use eval_stats::{ResamplingOptions, in_parallel};

/// Share of comparisons of equals that may be called a regression.
pub const ALPHA: f64 = 0.05;
/// The chance of being found that detectable differences speak of.
pub const POWER: f64 = 0.8;
/// Simulated pairs of runs a question.
pub const PAIRS: usize = 4_000;
const LEVEL: f64 = super::metrics::LEVEL;

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// What the verdict rests on; at least one.
    pub metrics: Vec<Metric>,
    /// Groupings whose groups the verdict rests on, too.
    pub by: Vec<Grouping>,
    /// The drop that somebody wants to find, in the unit of the first metric.
    pub effect: Option<f64>,
    pub resamples: usize,
    /// Simulated pairs of runs for each question about what could have been found; 0 leaves it out.
    pub pairs: usize,
    pub seed: u64,
    /// Cases that each list names at most.
    pub listed: usize,
    /// Cases whose data or grading changed are compared, too.
    pub allow_changed: bool,
}

impl Default for CompareSettings {
    fn default() -> Self {
        CompareSettings {
            metrics: vec![Metric::PassAt(1)],
            by: Vec::new(),
            effect: None,
            resamples: 10_000,
            pairs: PAIRS,
            seed: 0,
            listed: 100,
            allow_changed: false,
        }
    }
}

impl CompareSettings {
    fn resampling(&self) -> ResamplingOptions {
        ResamplingOptions {
            resamples: self.resamples,
            seed: self.seed,
            level: LEVEL,
        }
    }

    fn told(&self, tested: &[PairedMeasure], candidates: usize) -> ComparisonSettings {
        ComparisonSettings {
            alpha: ALPHA,
            level: LEVEL,
            power: POWER,
            resamples: self.resamples,
            seed: self.seed,
            metrics: tested.iter().map(PairedMeasure::name).collect(),
            by: self.by.clone(),
            effect: self.effect,
            candidates,
            allow_changed: self.allow_changed,
        }
    }
}

/// Why two sides can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    #[error("{label} is from suite `{candidate}`, but the reference is from suite `{reference}`")]
    OtherSuite {
        label: String,
        reference: String,
        candidate: String,
    },
    #[error("{label} and the reference have no case in common ({candidate} and {reference} cases)")]
    NoSharedCase {
        label: String,
        reference: usize,
        candidate: usize,
    },
    #[error("the verdict can't be based on `{metric}`: it {why}")]
    Untestable { metric: String, why: String },
    #[error("there is nothing to compare with")]
    Nothing,
}

impl ComparisonError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ComparisonError::OtherSuite { .. } => {
                Some("use two runs of one suite; `eval-harness runs` lists them".to_owned())
            }
            ComparisonError::NoSharedCase { .. } => Some(
                "cases are matched by eval id and case id; were they renamed, or selected by different filters?".to_owned(),
            ),
            ComparisonError::Untestable { .. } => Some(
                "use a metric such as pass_at_1, pass_hat_3_unbiased, case_pass_rate, pass_rate, score, weighted_score, \
                 latency_mean_ms, tokens_per_sample or cost_usd_per_sample"
                    .to_owned(),
            ),
            ComparisonError::Nothing => None,
        }
    }
}

/// Holds candidates against a reference. All of their tests share one [`ALPHA`].
///
/// # Errors
/// When a candidate is of another suite or shares no case with the reference, or a metric has no
/// value of a case or eval.
pub fn compare(
    reference: &RunScores,
    candidates: &[&RunScores],
    settings: &CompareSettings,
) -> Result<Vec<Comparison>, ComparisonError> {
    if candidates.is_empty() {
        return Err(ComparisonError::Nothing);
    }
    for candidate in candidates {
        let (a, b) = (&reference.side, &candidate.side);
        if a.suite != b.suite {
            return Err(ComparisonError::OtherSuite {
                label: b.label.clone(),
                reference: a.suite.clone(),
                candidate: b.suite.clone(),
            });
        }
    }
    let compared = compare_anyway(reference, candidates, settings)?;
    for (comparison, candidate) in compared.iter().zip(candidates) {
        let cases = &comparison.cases;
        if cases.compared + cases.ungraded.count + cases.changed.count == 0 {
            let count = |side: &RunScores| side.evals.iter().map(|eval| eval.cases.len()).sum();
            return Err(ComparisonError::NoSharedCase {
                label: candidate.side.label.clone(),
                reference: count(reference),
                candidate: count(candidate),
            });
        }
    }
    Ok(compared)
}

/// The same for a report, which is made whatever it is compared with: with nothing in common the
/// verdict is `none`, and nothing decides.
///
/// # Errors
/// When a metric has no value of a case or eval.
pub fn compare_anyway(
    reference: &RunScores,
    candidates: &[&RunScores],
    settings: &CompareSettings,
) -> Result<Vec<Comparison>, ComparisonError> {
    let sides = || candidates.iter().copied().chain([reference]);
    let private: BTreeSet<String> = sides().flat_map(RunScores::private_evals).collect();
    let reference = &*reference.hiding(&private);
    let candidates: Vec<_> = candidates.iter().map(|one| one.hiding(&private)).collect();
    let candidates: &[&RunScores] = &candidates.iter().map(|one| &**one).collect::<Vec<_>>();
    let sides = [reference, candidates.first().copied().unwrap_or(reference)];
    let tested = measures(settings, sides)?;
    let drafts: Vec<ComparisonDraft<'_>> = in_parallel(candidates, |candidate| {
        ComparisonDraft::new(reference, candidate, &tested, settings)
    });
    let told = settings.told(&tested, candidates.len());
    Ok(verdict::settle(drafts, &told, settings.pairs))
}

/// What the verdict rests on, each once.
fn measures(
    settings: &CompareSettings,
    sides: [&RunScores; 2],
) -> Result<Vec<PairedMeasure>, ComparisonError> {
    let mut tested: Vec<PairedMeasure> = Vec::new();
    for metric in &settings.metrics {
        let untestable = |why: &str| ComparisonError::Untestable {
            metric: metric.to_string(),
            why: why.to_owned(),
        };
        let measure = PairedMeasure::of(metric, sides).map_err(untestable)?;
        if measure.higher_is_better.is_none() {
            return Err(untestable(
                "has no direction: whether higher or lower is better is unknown",
            ));
        }
        if !tested.contains(&measure) {
            tested.push(measure);
        }
    }
    if tested.is_empty() {
        return Err(ComparisonError::Nothing);
    }
    Ok(tested)
}

#[cfg(test)]
mod tests;
