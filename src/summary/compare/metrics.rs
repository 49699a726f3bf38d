//! One metric on both sides: its difference, the interval and the test.

use super::super::outcomes::OutcomeReading;
use super::pairing::SidePairing;
use super::values::{MeasureUnit as Of, PairedMeasure, is_single, opposite};
use crate::model::{DifferenceTest, IntervalScope, Metric, MetricDifference};
use eval_stats::power::TestedUnit;
use eval_stats::{
    CaseDeal, DealKinds, MetricPairs, PairedResult, PairedTest, ResamplingOptions, paired,
    tested_units,
};

/// The values of a metric, a pair a case or eval.
pub(super) struct PairedColumns {
    reference: Vec<f64>,
    candidate: Vec<f64>,
    weights: Option<Vec<f64>>,
    groups: Option<Vec<u32>>,
    /// Cases by their first attempts, where some have several.
    deals: Option<Vec<(CaseDeal, u32)>>,
    single: bool,
    share: bool,
}

impl PairedColumns {
    /// Over all pairs, or over those of `within`: numbers of cases or evals, as the metric's unit
    /// is.
    pub fn new(
        pairing: &SidePairing<'_>,
        measure: &PairedMeasure,
        reading: OutcomeReading,
        within: Option<&[u32]>,
    ) -> PairedColumns {
        match measure.unit {
            Of::Case => PairedColumns::of_cases(pairing, measure, reading, within),
            Of::Eval => PairedColumns::of_evals(pairing, measure, reading, within),
        }
    }

    fn empty(room: usize, share: bool) -> PairedColumns {
        PairedColumns {
            reference: Vec::with_capacity(room),
            candidate: Vec::with_capacity(room),
            weights: None,
            groups: None,
            deals: None,
            single: true,
            share,
        }
    }

    fn of_cases(
        pairing: &SidePairing<'_>,
        measure: &PairedMeasure,
        reading: OutcomeReading,
        within: Option<&[u32]>,
    ) -> PairedColumns {
        let mut columns = PairedColumns::empty(
            within.map_or(pairing.pairs.len(), <[u32]>::len),
            measure.share,
        );
        let mut groups = Vec::with_capacity(columns.reference.capacity());
        // A case passes or does not, however many samples it has.
        let always_single = measure.metric == Metric::CasePassRate;
        let (mut deals, mut dealt, mut several, mut unlike) =
            (DealKinds::default(), true, false, false);
        for pair in chosen(&pairing.pairs, within) {
            let Some((reference, candidate)) = measure.of_case(pair, reading) else {
                continue;
            };
            groups.push(pair.eval);
            if let Some(attempts) = measure.attempts(pair, reading) {
                let [before, now] = attempts.samples;
                deals.add(attempts.samples, attempts.passed);
                (several, unlike) = (several || before.max(now) > 1, unlike || before != now);
            } else {
                dealt = false;
            }
            columns.single = columns.single
                && (always_single
                    || is_single(pair.reference, opposite(reading))
                        && is_single(pair.candidate, reading));
            columns.push(reference, candidate);
        }
        let whole_evals =
            tests_whole_evals(pairing.scope(), groups.chunk_by(|a, b| a == b).count());
        columns.groups = whole_evals.then_some(groups);
        // Of whole evals signs are tested, which are alike where both sides have as many samples.
        if dealt && several && (unlike || !whole_evals) {
            columns.deals = Some(deals.of(&|n, c| measure.of_counts(n, c)));
        }
        columns
    }

    fn of_evals(
        pairing: &SidePairing<'_>,
        measure: &PairedMeasure,
        reading: OutcomeReading,
        within: Option<&[u32]>,
    ) -> PairedColumns {
        let mut columns = PairedColumns::empty(
            within.map_or(pairing.evals.len(), <[u32]>::len),
            measure.share,
        );
        let mut weights = Vec::new();
        for eval in chosen(&pairing.evals, within) {
            let Some((reference, candidate, weight)) = measure.of_eval(eval, reading) else {
                continue;
            };
            columns.push(reference, candidate);
            weights.push(weight);
        }
        if measure.metric == Metric::WeightedScore {
            columns.single = false;
            columns.weights = Some(weights);
        }
        columns
    }

    fn push(&mut self, reference: f64, candidate: f64) {
        let whole = |value: f64| value == 0.0 || value == 1.0;
        self.single &= whole(reference) && whole(candidate);
        self.reference.push(reference);
        self.candidate.push(candidate);
    }

    pub fn len(&self) -> usize {
        self.reference.len()
    }

    /// What is tested: pairs, or evals.
    pub fn units(&self) -> Vec<TestedUnit> {
        let units = tested_units(&self.pairs());
        units
            .into_iter()
            .map(|[difference, value, weight]| TestedUnit {
                difference,
                value,
                weight,
            })
            .collect()
    }

    fn pairs(&self) -> MetricPairs<'_> {
        MetricPairs {
            reference: &self.reference,
            candidate: &self.candidate,
            weights: self.weights.as_deref(),
            groups: self.groups.as_deref(),
            deals: self.deals.as_deref(),
            single: self.single && self.share,
            shares: self.share,
        }
    }

    pub fn compare(&self, how: ResamplingOptions) -> Result<PairedResult, String> {
        if self.len() == 0 {
            return Err("no pair of cases has it on both sides".to_owned());
        }
        paired(&self.pairs(), how).map_err(|reason| reason.to_string())
    }

    /// The difference of the means alone.
    fn difference(&self) -> Option<f64> {
        let weight = |at: usize| {
            self.weights
                .as_ref()
                .map_or(1.0, |weights| weights.get(at).copied().unwrap_or(0.0))
        };
        let (mut sum, mut total) = (0.0, 0.0);
        for (at, (reference, candidate)) in self.reference.iter().zip(&self.candidate).enumerate() {
            sum += weight(at) * (candidate - reference);
            total += weight(at);
        }
        (total > 0.0).then(|| sum / total)
    }
}

/// Whether whole evals are tested: so many of them have pairs. Signs of fewer than 5 never reach 5
/// % (those of 4 reach 6.3 %).
pub(crate) fn tests_whole_evals(scope: IntervalScope, evals: usize) -> bool {
    scope == IntervalScope::SimilarEvals && !scope.has_too_few(evals as u64)
}

fn chosen<'a, T>(all: &'a [T], within: Option<&'a [u32]>) -> impl Iterator<Item = &'a T> {
    let len = within.map_or(all.len(), <[u32]>::len);
    (0..len).filter_map(move |at| {
        all.get(within.map_or(Some(at), |some| some.get(at).map(|at| *at as usize))?)
    })
}

/// A metric's figures, before tests are adjusted.
pub(super) struct MetricFigures {
    pub difference: MetricDifference,
    pub paired: Option<PairedResult>,
}

/// One-sided p-values, turned so that worse is worse: of "the candidate is worse", and of "it is
/// better".
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OneSidedPValues {
    pub p_worse: f64,
    pub p_better: f64,
}

impl OneSidedPValues {
    pub fn new(test: &PairedTest, higher_is_better: bool) -> OneSidedPValues {
        let (p_worse, p_better) = if higher_is_better {
            (test.p_lower, test.p_higher)
        } else {
            (test.p_higher, test.p_lower)
        };
        OneSidedPValues { p_worse, p_better }
    }
}

/// Compares one metric. `open` says whether something without a grade could change it.
pub(super) fn row(
    pairing: &SidePairing<'_>,
    measure: &PairedMeasure,
    within: Option<&[u32]>,
    open: bool,
    how: ResamplingOptions,
) -> MetricFigures {
    let columns = PairedColumns::new(pairing, measure, OutcomeReading::Graded, within);
    let compared = columns.compare(how);
    let mut row = MetricDifference {
        name: measure.name(),
        n: columns.len(),
        unit: measure.unit.name().to_owned(),
        reference: None,
        candidate: None,
        difference: None,
        ci: None,
        method: "none".to_owned(),
        higher_is_better: measure.higher_is_better,
        test: None,
        worst: None,
        best: None,
        undefined: None,
    };
    let read = |reading| match (measure.is_bounded(), open) {
        (false, _) => None,
        (true, false) => columns.difference(),
        (true, true) => PairedColumns::new(pairing, measure, reading, within).difference(),
    };
    (row.worst, row.best) = (read(OutcomeReading::Worst), read(OutcomeReading::Best));
    let found = match compared {
        Ok(found) => found,
        Err(reason) => {
            row.undefined = Some(reason);
            return MetricFigures {
                difference: row,
                paired: None,
            };
        }
    };
    row.reference = Some(found.reference);
    row.candidate = Some(found.candidate);
    row.difference = Some(found.difference);
    if let Ok(interval) = &found.interval {
        row.ci = Some([interval.low, interval.high]);
        row.method = interval.method.name().to_owned();
    }
    if let (Ok(test), Some(higher)) = (&found.test, measure.higher_is_better) {
        let OneSidedPValues { p_worse, p_better } = OneSidedPValues::new(test, higher);
        row.test = Some(DifferenceTest {
            method: test.method.name().to_owned(),
            p_worse,
            p_better,
            p_worse_adjusted: None,
            p_better_adjusted: None,
            decides: false,
        });
    }
    if !open && row.worst.is_some() {
        (row.worst, row.best) = (row.difference, row.difference);
    }
    MetricFigures {
        difference: row,
        paired: Some(found),
    }
}
