//! Every pair of several sides, none of them the reference.

use super::draft::{ComparisonDraft, READINGS};
use super::metrics::OneSidedPValues;
use super::{ALPHA, CompareSettings, ComparisonError, measures};
use crate::model::{MetricDifference, RunScores};
use eval_stats::{holm, in_parallel};

/// The verdict on the second of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairVerdict {
    /// Better than the first, beyond what chance explains.
    Better,
    Worse,
    NoEvidence,
    /// Samples without a grade could change the verdict.
    Undecided,
    Untested,
}

impl PairVerdict {
    pub fn name(self) -> &'static str {
        match self {
            PairVerdict::Better => "better",
            PairVerdict::Worse => "worse",
            PairVerdict::NoEvidence => "no_evidence",
            PairVerdict::Undecided => "undecided",
            PairVerdict::Untested => "untested",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            PairVerdict::NoEvidence => "no evidence",
            other => other.name(),
        }
    }
}

/// Two sides, by their places.
#[derive(Debug, Clone)]
pub struct SidePair {
    pub first: usize,
    pub second: usize,
    pub verdict: PairVerdict,
    /// The first metric of the settings, second minus first, over the cases that are the same on
    /// both sides.
    pub metric: MetricDifference,
    /// Two-sided, adjusted by Holm over all tested pairs; `None` when nothing could be tested.
    pub p: Option<f64>,
    /// Cases that only the first passed.
    pub only_first: usize,
    /// Cases that only the second passed.
    pub only_second: usize,
    /// Cases of both whose data or grading differ, which are not compared.
    pub changed: usize,
}

/// A two-sided p, and whether the second side is the better one.
#[derive(Debug, Clone, Copy)]
struct TwoSidedP {
    p: f64,
    is_better: bool,
}

impl TwoSidedP {
    /// Twice the smaller one-sided p, at most 1.
    fn of(p: OneSidedPValues) -> TwoSidedP {
        TwoSidedP {
            p: (2.0 * p.p_worse.min(p.p_better)).min(1.0),
            is_better: p.p_better < p.p_worse,
        }
    }

    fn verdict(self) -> PairVerdict {
        match (self.p < ALPHA, self.is_better) {
            (false, _) => PairVerdict::NoEvidence,
            (true, true) => PairVerdict::Better,
            (true, false) => PairVerdict::Worse,
        }
    }
}

/// Compares every pair of sides on the first metric of the settings. All pairs share one
/// [`ALPHA`], whatever their order: the two-sided p are adjusted together.
///
/// # Errors
/// When the metric has no value of a case or eval.
pub fn compare_pairs(
    sides: &[RunScores],
    settings: &CompareSettings,
) -> Result<Vec<SidePair>, ComparisonError> {
    let places = (0..sides.len()).flat_map(|a| (a + 1..sides.len()).map(move |b| (a, b)));
    let places: Vec<(usize, usize)> = places.collect();
    let drafts = in_parallel(&places, |&(first, second)| {
        let (first, second) = (sides.get(first)?, sides.get(second)?);
        let tested = measures(settings, [first, second]);
        Some(tested.map(|tested| ComparisonDraft::of_tested(first, second, tested, settings)))
    });
    let drafts = drafts.into_iter().flatten();
    let drafts = drafts.collect::<Result<Vec<_>, ComparisonError>>()?;
    let p: Vec<[Option<OneSidedPValues>; READINGS.len()]> = drafts
        .iter()
        .map(|draft| {
            draft
                .tests
                .first()
                .map_or([None; READINGS.len()], |test| test.p)
        })
        .collect();
    let pairs = places.into_iter().zip(drafts).zip(adjusted(&p));
    Ok(pairs
        .filter_map(|(((first, second), draft), p)| {
            let changes = &draft.pairing.changes;
            Some(SidePair {
                first,
                second,
                verdict: verdict(p),
                p: p[0].map(|p| p.p),
                only_first: changes.broken.count,
                only_second: changes.fixed.count,
                changed: changes.changed.count,
                metric: draft.rows.into_iter().next()?.difference,
            })
        })
        .collect())
}

/// Two-sided and adjusted over all pairs, each reading apart.
fn adjusted(
    pairs: &[[Option<OneSidedPValues>; READINGS.len()]],
) -> Vec<[Option<TwoSidedP>; READINGS.len()]> {
    let mut all = vec![[None; READINGS.len()]; pairs.len()];
    for reading in 0..READINGS.len() {
        let tested: Vec<(usize, TwoSidedP)> = pairs
            .iter()
            .enumerate()
            .filter_map(|(at, p)| Some((at, TwoSidedP::of((*p.get(reading)?)?))))
            .collect();
        let p = holm(&tested.iter().map(|(_, p)| p.p).collect::<Vec<_>>());
        for ((at, raw), p) in tested.into_iter().zip(p) {
            if let Some(place) = all.get_mut(at).and_then(|pair| pair.get_mut(reading)) {
                *place = Some(TwoSidedP { p, ..raw });
            }
        }
    }
    all
}

fn verdict(readings: [Option<TwoSidedP>; READINGS.len()]) -> PairVerdict {
    let [graded, worst, best] =
        readings.map(|p| p.map_or(PairVerdict::Untested, TwoSidedP::verdict));
    if graded == worst && graded == best {
        graded
    } else {
        PairVerdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_sided(p_worse: f64) -> OneSidedPValues {
        OneSidedPValues {
            p_worse,
            p_better: 1.0 - p_worse,
        }
    }

    fn same(p: f64) -> [Option<OneSidedPValues>; 3] {
        [Some(one_sided(p)); 3]
    }

    /// A < B < C with two-sided p of 0.02, 0.04 and 0.001: Holm makes 0.04, 0.04 and 0.003 of them,
    /// in whichever order the sides come.
    #[test]
    fn pairs_are_adjusted_together_whatever_their_order() {
        let better = |p: f64| same(1.0 - p / 2.0);
        let worse = |p: f64| same(p / 2.0);
        let p = |pairs: &[[Option<OneSidedPValues>; 3]]| -> Vec<String> {
            let all = adjusted(pairs);
            all.iter()
                .map(|p| format!("{:.3} {}", p[0].unwrap().p, verdict(*p).name()))
                .collect()
        };
        assert_eq!(
            p(&[better(0.02), better(0.001), better(0.04)]),
            ["0.040 better", "0.003 better", "0.040 better"]
        );
        assert_eq!(
            p(&[worse(0.02), better(0.04), better(0.001)]),
            ["0.040 worse", "0.040 better", "0.003 better"]
        );
    }

    /// A pair is decided only when what has no grade yet can't change it.
    #[test]
    fn readings_that_disagree_leave_a_pair_undecided() {
        let readings = |p: [f64; 3]| {
            let p = p.map(|p| Some(one_sided(1.0 - p / 2.0)));
            verdict(adjusted(&[p])[0])
        };
        assert_eq!(readings([0.02, 0.08, 0.01]), PairVerdict::Undecided);
        assert_eq!(readings([0.08, 0.06, 0.12]), PairVerdict::NoEvidence);
        assert_eq!(readings([0.02, 0.04, 0.001]), PairVerdict::Better);
        assert_eq!(verdict([None; 3]), PairVerdict::Untested);
    }

    proptest! {
        #[test]
        fn one_pair_is_not_adjusted(p in 0.0..=1.0f64) {
            let found = adjusted(&[same(p)])[0][0].unwrap();
            prop_assert!((found.p - (2.0 * p.min(1.0 - p)).min(1.0)).abs() < 1e-12);
        }
    }
}
