//! What a comparison could have found, and what it would take to find less: by simulated pairs of
//! runs and the test that was made.

use super::super::outcomes::OutcomeReading;
use super::draft::ComparisonDraft;
use super::metrics::PairedColumns;
use super::values::PairedMeasure;
use super::{ALPHA, POWER};
use crate::model::{ComparisonSettings, ComparisonVerdict, Detectable, Metric};
use eval_base::text::two_digits;
use eval_stats::TestMethod;
use eval_stats::power::{
    CaseChances, OutcomeRates, PassMoment, Population, PowerAim, SampleDesign, TestedUnit, mean,
    smallest,
};

/// Of what the effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffectSource {
    Asked,
    Observed,
    /// Half of the detectable drop.
    Half,
}

/// What else words need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DetectableContext {
    pub of: EffectSource,
    pub samples: MoreSamples,
}

/// Whether more samples of the same cases would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoreSamples {
    Known,
    /// The metric is none of samples.
    Senseless,
    /// No number of samples finds it with these cases.
    Futile,
}

/// Of the first tested metric; `None` when nothing could be tested.
pub(super) fn detectable(
    draft: &ComparisonDraft<'_>,
    verdict: ComparisonVerdict,
    family: usize,
    settings: &ComparisonSettings,
    pairs: usize,
) -> Option<(Detectable, DetectableContext)> {
    if pairs == 0 {
        return None;
    }
    let (measure, row) = (draft.measures.first()?, draft.rows.first()?);
    let found = row.paired.as_ref()?;
    let test = row.difference.test.as_ref()?;
    let higher = measure.higher_is_better?;
    // Holm's first step is the hardest.
    let aim = PowerAim {
        alpha: ALPHA / family.max(1) as f64,
        power: POWER,
        seed: settings.seed,
        pairs,
    };
    let columns = || PairedColumns::new(&draft.pairing, measure, OutcomeReading::Graded, None);
    let whole_evals = test.method == TestMethod::ClusterSignFlip.name();
    let simulated = if of_samples(measure) {
        PairSimulation::samples(draft, measure, whole_evals, settings.seed)
    } else if test.method == TestMethod::McNemarMidP.name() {
        let columns = columns();
        let flips = columns
            .units()
            .iter()
            .filter(|unit| unit.difference != 0.0)
            .count();
        let n = columns.len();
        let rate = f64::midpoint(found.reference, found.candidate);
        PairSimulation::Outcomes {
            outcomes: OutcomeRates {
                rate,
                flips: flips as f64 / (2 * n) as f64,
            },
            n,
        }
    } else {
        PairSimulation::units(&columns(), measure)?
    };
    let drop = simulated.detectable(aim, measure);
    let worse = if higher {
        -found.difference
    } else {
        found.difference
    };
    let (effect, of) = match settings.effect {
        Some(asked) if asked > 0.0 => (Some(asked), EffectSource::Asked),
        _ if worse > 0.0 && verdict == ComparisonVerdict::None => {
            (Some(worse), EffectSource::Observed)
        }
        _ => (drop.map(|drop| drop / 2.0), EffectSource::Half),
    };
    // What is larger than what is found anyway takes no more.
    let sought = effect.filter(|effect| drop.is_none_or(|drop| *effect < drop));
    let cases = sought
        .and_then(|effect| simulated.cases(aim, measure, effect, drop))
        .map(two_digits);
    let (samples, why) = simulated.samples_needed(aim, measure, sought);
    let detectable = Detectable {
        metric: measure.name(),
        drop,
        effect,
        cases,
        samples,
    };
    Some((detectable, DetectableContext { of, samples: why }))
}

/// True for a metric that is made of first attempts alone.
fn of_samples(measure: &PairedMeasure) -> bool {
    matches!(
        measure.metric,
        Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_)
    )
}

/// What pairs of runs are simulated from.
enum PairSimulation {
    /// Samples that pass with the chances of their cases.
    Samples {
        design: SampleDesign,
        population: Population,
        chances: CaseChances,
    },
    /// Outcomes of so many cases or evals, of which some flip by chance.
    Outcomes { outcomes: OutcomeRates, n: usize },
    /// Differences like those that were observed. A score is lost whole, by some units; what has no
    /// bounds changes evenly. Each is made of so many cases, in the mean.
    Units {
        units: Vec<TestedUnit>,
        even: bool,
        cases: f64,
    },
}

impl PairSimulation {
    /// Chances of cases as the samples of both runs together show them.
    fn samples(
        draft: &ComparisonDraft<'_>,
        measure: &PairedMeasure,
        whole_evals: bool,
        seed: u64,
    ) -> PairSimulation {
        let mut evals: Vec<Vec<[u32; 2]>> = Vec::new();
        let mut last = None;
        let (mut n, mut rate, mut within) = (0.0, 0.0, 0.0);
        for pair in &draft.pairing.pairs {
            let Some(attempts) = measure.attempts(pair, OutcomeReading::Graded) else {
                continue;
            };
            if measure.of_case(pair, OutcomeReading::Graded).is_none() {
                continue;
            }
            if last != Some(pair.eval) {
                evals.push(Vec::new());
            }
            last = Some(pair.eval);
            if let Some(eval) = evals.last_mut() {
                eval.push(attempts.samples);
            }
            let all = f64::from(attempts.samples[0] + attempts.samples[1]);
            let share = f64::from(attempts.passed) / all;
            n += 1.0;
            rate += share;
            // Without bias, of at least two samples.
            within += all / (all - 1.0) * share * (1.0 - share);
        }
        let rate: f64 = if n > 0.0 { rate / n } else { 0.0 };
        let population = Population::of(rate, if n > 0.0 { within / n } else { 0.0 });
        let chances = CaseChances::of(population, seed);
        PairSimulation::Samples {
            design: SampleDesign { evals, whole_evals },
            population,
            chances,
        }
    }

    /// `None`: of numbers without bounds some do not differ at all, so that nothing says how they
    /// vary.
    fn units(columns: &PairedColumns, measure: &PairedMeasure) -> Option<PairSimulation> {
        let (units, even) = (columns.units(), !measure.share);
        let varies = units.iter().all(|unit| unit.difference != 0.0);
        let cases = columns.len() as f64 / units.len() as f64;
        (!even || varies).then_some(PairSimulation::Units { units, even, cases })
    }

    /// Whether a drop is found as often as asked.
    fn find(&self, aim: PowerAim, measure: &PairedMeasure, drop: f64) -> bool {
        match self {
            PairSimulation::Samples {
                design, chances, ..
            } => {
                let figure = |n, c| measure.of_counts(n, c);
                aim.pairs(design, chances, &figure, drop).reach(aim.power)
            }
            PairSimulation::Outcomes { outcomes, n } => {
                aim.pairs_of_outcomes(*outcomes, drop, *n).reach(aim.power)
            }
            PairSimulation::Units { units, even, .. } => aim
                .pairs_of_units(units, *even, drop, units.len())
                .reach(aim.power),
        }
    }

    fn detectable(&self, aim: PowerAim, measure: &PairedMeasure) -> Option<f64> {
        let most = match self {
            PairSimulation::Samples { population, .. } => population.rate,
            PairSimulation::Outcomes { outcomes, .. } => outcomes.rate,
            PairSimulation::Units { units, even, .. } => self::most(units, *even),
        };
        let share = smallest(most, |drop| self.find(aim, measure, drop))?;
        Some(self.in_the_metric(measure, share))
    }

    /// What a drop of the rate is in the metric, such as pass@3.
    fn in_the_metric(&self, measure: &PairedMeasure, drop: f64) -> f64 {
        match (self, &measure.metric) {
            (PairSimulation::Outcomes { .. } | PairSimulation::Units { .. }, _)
            | (_, Metric::PassAt(1) | Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => drop,
            (
                PairSimulation::Samples {
                    population,
                    chances,
                    ..
                },
                metric,
            ) => {
                let share = 1.0 - drop / population.rate;
                chances.expected(moment(metric), 1.0) - chances.expected(moment(metric), share)
            }
        }
    }

    /// The drop of the rate that is so much in the metric; none of the rate's drops may be as
    /// large.
    fn of_the_rate(&self, measure: &PairedMeasure, effect: f64) -> Option<f64> {
        match self {
            PairSimulation::Outcomes { outcomes, .. } => {
                (effect <= outcomes.rate).then_some(effect)
            }
            PairSimulation::Units { units, even, .. } => {
                (effect <= most(units, *even)).then_some(effect)
            }
            PairSimulation::Samples { population, .. } => smallest(population.rate, |drop| {
                self.in_the_metric(measure, drop) >= effect
            }),
        }
    }

    fn cases(
        &self,
        aim: PowerAim,
        measure: &PairedMeasure,
        effect: f64,
        drop: Option<f64>,
    ) -> Option<u64> {
        let of_rate = self.of_the_rate(measure, effect)?;
        // Where drops of the rate and of the metric differ, their ratio is about the same.
        let least = drop.map(|drop| drop * of_rate / effect);
        match self {
            PairSimulation::Samples {
                design, chances, ..
            } => aim.cases(
                design,
                chances,
                &|n, c| measure.of_counts(n, c),
                of_rate,
                least,
            ),
            PairSimulation::Outcomes { outcomes, n } => aim.outcomes(*outcomes, *n, of_rate, least),
            PairSimulation::Units { units, even, cases } => {
                let units = aim.units(units, *even, of_rate, least)?;
                Some((units as f64 * cases).ceil() as u64)
            }
        }
    }

    fn samples_needed(
        &self,
        aim: PowerAim,
        measure: &PairedMeasure,
        effect: Option<f64>,
    ) -> (Option<u32>, MoreSamples) {
        match (self, effect) {
            (
                PairSimulation::Samples {
                    design, chances, ..
                },
                Some(effect),
            ) if measure.metric == Metric::PassAt(1) => {
                match aim.samples(design, chances, &|n, c| measure.of_counts(n, c), effect) {
                    Some(samples) => (Some(samples), MoreSamples::Known),
                    None => (None, MoreSamples::Futile),
                }
            }
            _ => (None, MoreSamples::Senseless),
        }
    }
}

/// The largest drop that is looked for: all, and of what has no bounds ten times as much.
fn most(units: &[TestedUnit], even: bool) -> f64 {
    if even {
        10.0 * mean(units)
    } else {
        mean(units)
    }
}

/// Of failures for pass@k, of passes for pass^k.
fn moment(metric: &Metric) -> PassMoment {
    match metric {
        Metric::PassAt(k) => PassMoment::AnyOf(*k),
        Metric::PassHat(k) | Metric::PassHatUnbiased(k) => PassMoment::AllOf(*k),
        _ => PassMoment::AllOf(1),
    }
}
