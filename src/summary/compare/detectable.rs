//! What a comparison could have found, and what it would take to find less: by simulated pairs of
//! runs and the test that was made.

use super::super::outcomes::Reading;
use super::draft::Draft;
use super::metrics::Columns;
use super::values::Measure;
use super::{ALPHA, POWER};
use crate::model::{ComparisonSettings, ComparisonVerdict, Detectable, Metric};
use eval_base::text::two_digits;
use eval_stats::TestMethod;
use eval_stats::power::{Aim, Chances, Design, Moment, Outcomes, Population, Unit, mean, smallest};

/// Of what the effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Asked,
    Observed,
    /// Half of the detectable drop.
    Half,
}

/// What else words need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About {
    pub of: Of,
    pub samples: Samples,
}

/// Whether more samples of the same cases would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Samples {
    Known,
    /// The metric is none of samples.
    Senseless,
    /// No number of samples finds it with these cases.
    Futile,
}

/// Of the first tested metric; `None` when nothing could be tested.
pub(super) fn detectable(
    draft: &Draft<'_>,
    verdict: ComparisonVerdict,
    family: usize,
    settings: &ComparisonSettings,
    pairs: usize,
) -> Option<(Detectable, About)> {
    if pairs == 0 {
        return None;
    }
    let (measure, row) = (draft.measures.first()?, draft.rows.first()?);
    let found = row.paired.as_ref()?;
    let test = row.difference.test.as_ref()?;
    let higher = measure.higher_is_better?;
    // Holm's first step is the hardest.
    let aim = Aim {
        alpha: ALPHA / family.max(1) as f64,
        power: POWER,
        seed: settings.seed,
        pairs,
    };
    let columns = || Columns::new(&draft.pairing, measure, Reading::Graded, None);
    let whole_evals = test.method == TestMethod::ClusterSignFlip.name();
    let simulated = if of_samples(measure) {
        Pairs::samples(draft, measure, whole_evals, settings.seed)
    } else if test.method == TestMethod::McNemarMidP.name() {
        let columns = columns();
        let flips = columns
            .units()
            .iter()
            .filter(|unit| unit.difference != 0.0)
            .count();
        let n = columns.len();
        let rate = f64::midpoint(found.reference, found.candidate);
        Pairs::Outcomes {
            outcomes: Outcomes {
                rate,
                flips: flips as f64 / (2 * n) as f64,
            },
            n,
        }
    } else {
        Pairs::units(&columns(), measure)?
    };
    let drop = simulated.detectable(aim, measure);
    let worse = if higher {
        -found.difference
    } else {
        found.difference
    };
    let (effect, of) = match settings.effect {
        Some(asked) if asked > 0.0 => (Some(asked), Of::Asked),
        _ if worse > 0.0 && verdict == ComparisonVerdict::None => (Some(worse), Of::Observed),
        _ => (drop.map(|drop| drop / 2.0), Of::Half),
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
    Some((detectable, About { of, samples: why }))
}

/// True for a metric that is made of first attempts alone.
fn of_samples(measure: &Measure) -> bool {
    matches!(
        measure.metric,
        Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_)
    )
}

/// What pairs of runs are simulated from.
enum Pairs {
    /// Samples that pass with the chances of their cases.
    Samples {
        design: Design,
        population: Population,
        chances: Chances,
    },
    /// Outcomes of so many cases or evals, of which some flip by chance.
    Outcomes { outcomes: Outcomes, n: usize },
    /// Differences like those that were observed. A score is lost whole, by some units; what has no
    /// bounds changes evenly. Each is made of so many cases, in the mean.
    Units {
        units: Vec<Unit>,
        even: bool,
        cases: f64,
    },
}

impl Pairs {
    /// Chances of cases as the samples of both runs together show them.
    fn samples(draft: &Draft<'_>, measure: &Measure, whole_evals: bool, seed: u64) -> Pairs {
        let mut evals: Vec<Vec<[u32; 2]>> = Vec::new();
        let mut last = None;
        let (mut n, mut rate, mut within) = (0.0, 0.0, 0.0);
        for pair in &draft.pairing.pairs {
            let Some(attempts) = measure.attempts(pair, Reading::Graded) else {
                continue;
            };
            if measure.of_case(pair, Reading::Graded).is_none() {
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
        let chances = Chances::of(population, seed);
        Pairs::Samples {
            design: Design { evals, whole_evals },
            population,
            chances,
        }
    }

    /// `None`: of numbers without bounds some do not differ at all, so that nothing says how they
    /// vary.
    fn units(columns: &Columns, measure: &Measure) -> Option<Pairs> {
        let (units, even) = (columns.units(), !measure.share);
        let varies = units.iter().all(|unit| unit.difference != 0.0);
        let cases = columns.len() as f64 / units.len() as f64;
        (!even || varies).then_some(Pairs::Units { units, even, cases })
    }

    /// Whether a drop is found as often as asked.
    fn find(&self, aim: Aim, measure: &Measure, drop: f64) -> bool {
        match self {
            Pairs::Samples {
                design, chances, ..
            } => {
                let figure = |n, c| measure.of_counts(n, c);
                aim.pairs(design, chances, &figure, drop).reach(aim.power)
            }
            Pairs::Outcomes { outcomes, n } => {
                aim.pairs_of_outcomes(*outcomes, drop, *n).reach(aim.power)
            }
            Pairs::Units { units, even, .. } => aim
                .pairs_of_units(units, *even, drop, units.len())
                .reach(aim.power),
        }
    }

    fn detectable(&self, aim: Aim, measure: &Measure) -> Option<f64> {
        let most = match self {
            Pairs::Samples { population, .. } => population.rate,
            Pairs::Outcomes { outcomes, .. } => outcomes.rate,
            Pairs::Units { units, even, .. } => self::most(units, *even),
        };
        let share = smallest(most, |drop| self.find(aim, measure, drop))?;
        Some(self.in_the_metric(measure, share))
    }

    /// What a drop of the rate is in the metric, such as pass@3.
    fn in_the_metric(&self, measure: &Measure, drop: f64) -> f64 {
        match (self, &measure.metric) {
            (Pairs::Outcomes { .. } | Pairs::Units { .. }, _)
            | (_, Metric::PassAt(1) | Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => drop,
            (
                Pairs::Samples {
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
    fn of_the_rate(&self, measure: &Measure, effect: f64) -> Option<f64> {
        match self {
            Pairs::Outcomes { outcomes, .. } => (effect <= outcomes.rate).then_some(effect),
            Pairs::Units { units, even, .. } => (effect <= most(units, *even)).then_some(effect),
            Pairs::Samples { population, .. } => smallest(population.rate, |drop| {
                self.in_the_metric(measure, drop) >= effect
            }),
        }
    }

    fn cases(&self, aim: Aim, measure: &Measure, effect: f64, drop: Option<f64>) -> Option<u64> {
        let of_rate = self.of_the_rate(measure, effect)?;
        // Where drops of the rate and of the metric differ, their ratio is about the same.
        let least = drop.map(|drop| drop * of_rate / effect);
        match self {
            Pairs::Samples {
                design, chances, ..
            } => aim.cases(
                design,
                chances,
                &|n, c| measure.of_counts(n, c),
                of_rate,
                least,
            ),
            Pairs::Outcomes { outcomes, n } => aim.outcomes(*outcomes, *n, of_rate, least),
            Pairs::Units { units, even, cases } => {
                let units = aim.units(units, *even, of_rate, least)?;
                Some((units as f64 * cases).ceil() as u64)
            }
        }
    }

    fn samples_needed(
        &self,
        aim: Aim,
        measure: &Measure,
        effect: Option<f64>,
    ) -> (Option<u32>, Samples) {
        match (self, effect) {
            (
                Pairs::Samples {
                    design, chances, ..
                },
                Some(effect),
            ) if measure.metric == Metric::PassAt(1) => {
                match aim.samples(design, chances, &|n, c| measure.of_counts(n, c), effect) {
                    Some(samples) => (Some(samples), Samples::Known),
                    None => (None, Samples::Futile),
                }
            }
            _ => (None, Samples::Senseless),
        }
    }
}

/// The largest drop that is looked for: all, and of what has no bounds ten times as much.
fn most(units: &[Unit], even: bool) -> f64 {
    if even {
        10.0 * mean(units)
    } else {
        mean(units)
    }
}

/// Of failures for pass@k, of passes for pass^k.
fn moment(metric: &Metric) -> Moment {
    match metric {
        Metric::PassAt(k) => Moment::AnyOf(*k),
        Metric::PassHat(k) | Metric::PassHatUnbiased(k) => Moment::AllOf(*k),
        _ => Moment::AllOf(1),
    }
}
