//! What comparisons of two runs of a plan could find, and the chances of its gate.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::load::part_of_plan;
use crate::model::{
    Bound, Eval, EvalType, Figure, IntervalScope, Metric, MetricName, Plan, PlannedPower,
    PowerBasis, PowerReport, RunScores, Threshold, ThresholdPower,
};
use crate::summary::compare::{ALPHA, PAIRS, tests_whole_evals};
use crate::summary::{CaseSamples, FEWEST_SAMPLES, OverCases};
use eval_stats::power::{
    CaseChances, IntervalDemand, Population, PowerAim, SampleDesign, fewest_cases,
};
use eval_stats::{in_parallel, normal_quantile, reaches, stays_within};

/// The version of the form.
const FORMAT_VERSION: u32 = 1;

/// The share of samples that is expected to pass when nobody says.
const ASSUMED_RATE: f64 = 0.8;

/// Confidence of the intervals that thresholds look at.
const LEVEL: f64 = 0.95;
/// The share of p (1 - p) that lies within cases when nothing is measured: that of chances from
/// Beta(rate, 1 - rate).
const ASSUMED_WITHIN: f64 = 0.5;
/// Simulated runs for the chance of a threshold, and the cases that all of them may have together.
const RUNS: usize = 1_000;
const FEWEST_RUNS: usize = 100;
const CASES: usize = 200_000;

/// What is asked of a plan.
#[derive(Debug)]
pub struct PowerRequest<'a> {
    /// The filters in words.
    pub filters: Vec<String>,
    /// The drop to be found, and the chance with which.
    pub effect: f64,
    pub power: f64,
    /// The share of samples that is expected to pass, where no run tells.
    pub rate: Option<f64>,
    /// Numbers of samples; the planned one when there is none.
    pub samples: Vec<u32>,
    /// The run that cases and samples were measured in.
    pub run: Option<&'a RunScores>,
}

/// Why nothing can be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerError {
    #[error("nothing is selected, so there is nothing to compare")]
    NoCase,
    #[error("run {run} belongs to suite `{other}`, not `{own}`")]
    OtherSuite {
        run: String,
        own: String,
        other: String,
    },
    #[error("run {run} has no graded samples of the selected cases")]
    NothingMeasured { run: String },
}

/// Works it out.
///
/// # Errors
/// When the plan has no case, or the run none of its cases.
pub fn power(plan: &Plan, asked: &PowerRequest<'_>) -> Result<PowerReport, PowerError> {
    let cases: usize = plan.evals.iter().map(|eval| eval.cases.len()).sum();
    if cases == 0 {
        return Err(PowerError::NoCase);
    }
    let outlines = plan.evals.iter().flat_map(|eval| eval.cases.outlines());
    let planned = outlines.filter_map(|case| case.samples).min();
    let samples = planned
        .or(plan.settings.ks.iter().copied().max())
        .unwrap_or(1)
        .max(1);
    let basis = basis(plan, asked)?;
    let size = PowerDesign::new(plan, &basis, asked);
    let mut wanted = if asked.samples.is_empty() {
        vec![samples]
    } else {
        asked.samples.clone()
    };
    wanted.sort_unstable();
    wanted.dedup();
    let demands = plan
        .gate
        .thresholds
        .iter()
        .filter(|threshold| threshold.on != Figure::Value);
    let thresholds =
        demands.map(|threshold| threshold_power(threshold, plan, samples, &basis, asked.power));
    let plans: Vec<PlannedPower> = wanted.iter().map(|n| size.planned(*n)).collect();
    let said = sentences(&basis, &size, samples, &plans);
    Ok(PowerReport {
        format_version: FORMAT_VERSION,
        suite: plan.suite.name.clone(),
        filters: asked.filters.clone(),
        evals: plan
            .evals
            .iter()
            .filter(|eval| !eval.cases.is_empty())
            .count(),
        cases,
        samples,
        metric: Metric::PassAt(1).to_string(),
        effect: asked.effect,
        power: asked.power,
        alpha: ALPHA,
        plans,
        samples_needed: size.aim.samples(
            &size.design(samples),
            &size.chances,
            &share,
            asked.effect,
        ),
        thresholds: thresholds.collect(),
        sentences: said,
        basis,
    })
}

/// pass@1 of a case.
fn share(n: u32, c: u32) -> Option<f64> {
    (n > 0).then(|| f64::from(c) / f64::from(n))
}

/// The size of a plan, and what it is to find.
struct PowerDesign {
    /// Numbers of cases by eval.
    evals: Vec<u32>,
    whole_evals: bool,
    population: Population,
    chances: CaseChances,
    effect: f64,
    aim: PowerAim,
}

impl PowerDesign {
    fn new(plan: &Plan, basis: &PowerBasis, asked: &PowerRequest<'_>) -> PowerDesign {
        let evals: Vec<u32> = plan
            .evals
            .iter()
            .map(|eval| eval.cases.len() as u32)
            .filter(|n| *n > 0)
            .collect();
        let whole_evals = tests_whole_evals(plan.settings.interval_scope, evals.len());
        let population = Population::of(basis.rate, basis.within);
        PowerDesign {
            evals,
            whole_evals,
            population,
            chances: CaseChances::of(population, plan.settings.seed),
            effect: asked.effect,
            aim: PowerAim {
                alpha: ALPHA,
                power: asked.power,
                seed: plan.settings.seed,
                pairs: PAIRS,
            },
        }
    }

    fn design(&self, samples: u32) -> SampleDesign {
        let eval = |cases: &u32| vec![[samples; 2]; *cases as usize];
        SampleDesign {
            evals: self.evals.iter().map(eval).collect(),
            whole_evals: self.whole_evals,
        }
    }

    fn planned(&self, samples: u32) -> PlannedPower {
        let design = self.design(samples);
        let detectable = self.aim.detectable(&design, &self.chances, &share);
        let needed = self
            .aim
            .cases(&design, &self.chances, &share, self.effect, detectable);
        PlannedPower {
            samples,
            detectable,
            chance: self.aim.chance(&design, &self.chances, &share, self.effect),
            // No drop can be as large as that.
            cases_needed: needed.filter(|_| self.effect <= self.population.rate),
        }
    }
}

/// The rate and the spread: measured, or assumed.
fn basis(plan: &Plan, asked: &PowerRequest<'_>) -> Result<PowerBasis, PowerError> {
    let Some(run) = asked.run else {
        let rate = asked.rate.unwrap_or(ASSUMED_RATE);
        let within = ASSUMED_WITHIN * rate * (1.0 - rate);
        return Ok(PowerBasis {
            run: None,
            rate,
            within,
            measured: false,
        });
    };
    let id = run.side.run_id.clone();
    if run.side.suite != plan.suite.name {
        let (own, other) = (plan.suite.name.clone(), run.side.suite.clone());
        return Err(PowerError::OtherSuite {
            run: id,
            own,
            other,
        });
    }
    let known: HashMap<(&str, &str), (u32, u32)> = run
        .evals
        .iter()
        .flat_map(|eval| {
            eval.cases
                .iter()
                .map(|case| ((eval.id.as_str(), case.id.as_str()), (case.n, case.c)))
        })
        .collect();
    let private: BTreeSet<String> = run.private_evals().collect();
    let selected = plan.evals.iter().flat_map(|eval| {
        let id_of = |id| RunScores::id_of(&private, &eval.info, id);
        eval.cases
            .outlines()
            .map(move |case| (eval.info.id.as_str(), id_of(case.id)))
    });
    let (mut cases, mut shares, mut several, mut within) = (0.0, 0.0, 0.0, 0.0);
    for (n, c) in selected
        .filter_map(|(eval, case)| known.get(&(eval, &*case)).copied())
        .filter(|(n, _)| *n > 0)
    {
        let (n, share) = (f64::from(n), f64::from(c) / f64::from(n));
        cases += 1.0;
        shares += share;
        if n >= 2.0 {
            several += 1.0;
            // Without bias: of n samples the plug-in is short by 1/n.
            within += n / (n - 1.0) * share * (1.0 - share);
        }
    }
    if cases == 0.0 {
        return Err(PowerError::NothingMeasured { run: id });
    }
    let rate = shares / cases;
    let measured = several > 0.0;
    let within = match measured {
        true => within / several,
        // Samples of one case can't differ where there is one of each.
        false => ASSUMED_WITHIN * rate * (1.0 - rate),
    };
    Ok(PowerBasis {
        run: Some(id),
        rate,
        within,
        measured,
    })
}

/// What a threshold on an interval's end has to expect.
fn threshold_power(
    threshold: &Threshold,
    plan: &Plan,
    samples: u32,
    basis: &PowerBasis,
    power: f64,
) -> ThresholdPower {
    let name = threshold.metric.parse::<MetricName>().ok();
    let part = name.as_ref().and_then(|name| name.part.as_ref());
    let evals: Vec<Arc<Eval>> = match part {
        Some(part) => part_of_plan(part, &plan.evals),
        None => plan.evals.clone(),
    };
    let cases: usize = evals.iter().map(|eval| eval.cases.len()).sum();
    let of_kind = |kind: EvalType| evals.iter().filter(|eval| eval.info.kind == kind).count();
    let metric = name.map(|name| name.metric);
    let (n, of_first_attempts) = match metric {
        Some(Metric::PassRate | Metric::WeightedScore) => (evals.len(), false),
        Some(Metric::CapabilityPassRate) => (of_kind(EvalType::Capability), false),
        Some(Metric::RegressionPassRate) => (of_kind(EvalType::Regression), false),
        Some(Metric::PassAt(1)) => (cases, true),
        // Of one sample a case, a case passes when its sample does.
        Some(Metric::CasePassRate) => (cases, samples == 1),
        _ => (cases, false),
    };
    // How much cases of one eval have in common is unknown before a run; without it the chance
    // would be too high.
    let scope = plan.settings.interval_scope;
    let together =
        scope == IntervalScope::SimilarEvals && evals.iter().any(|eval| eval.cases.len() > 1);
    let sizes: Vec<usize> = evals.iter().map(|eval| eval.cases.len()).collect();
    let (chance, needed) = match of_first_attempts && n > 0 && !together {
        true => {
            let planned = PlannedSizes {
                sizes: &sizes,
                samples,
                scope,
                seed: plan.settings.seed,
            };
            chance_and_needed(threshold, n, &planned, basis, power)
        }
        false => (None, None),
    };
    ThresholdPower {
        metric: threshold.metric.clone(),
        bound: threshold.bound,
        on: threshold.on,
        value: threshold.value,
        n,
        chance,
        needed,
    }
}

/// Cases of a plan by eval, with their samples.
struct PlannedSizes<'a> {
    sizes: &'a [usize],
    samples: u32,
    scope: IntervalScope,
    seed: u64,
}

fn chance_and_needed(
    threshold: &Threshold,
    n: usize,
    planned: &PlannedSizes<'_>,
    basis: &PowerBasis,
    power: f64,
) -> (Option<f64>, Option<u64>) {
    let upper = threshold.on == Figure::CiUpper;
    // The far end requires less than the value itself: nothing to plan by.
    if upper != (threshold.bound == Bound::Max) {
        return (None, None);
    }
    let one_eval = planned.sizes.len() == 1 || planned.sizes.iter().all(|cases| *cases == 1);
    if planned.samples == 1 && one_eval {
        let demand = IntervalDemand {
            upper,
            value: threshold.value,
            level: LEVEL,
        };
        return (
            Some(demand.chance(n as u64, basis.rate)),
            demand.cases(basis.rate, power),
        );
    }
    let population = Population::of(basis.rate, basis.within);
    let chances = CaseChances::of(population, planned.seed);
    let better = if upper {
        basis.rate < threshold.value
    } else {
        basis.rate > threshold.value
    };
    let chance = |cases: usize| planned.chance(threshold, &chances, cases);
    // Of very many cases the mean is about normal.
    let beyond = || {
        let reach = normal_quantile(0.5 + LEVEL / 2.0) + normal_quantile(power);
        let variance = planned.variance(population);
        Some(reach * reach * variance / (basis.rate - threshold.value).powi(2))
    };
    let needed = better
        .then(|| fewest_cases(n as f64, |cases| chance(cases) >= power, beyond))
        .flatten();
    (Some(chance(n)), needed)
}

impl PlannedSizes<'_> {
    /// Of the mean of one case, as far as the scope takes it to vary.
    fn variance(&self, population: Population) -> f64 {
        let Population { rate, within } = population;
        let shown = self.scope == IntervalScope::TheseCases && self.samples >= FEWEST_SAMPLES;
        let between = if shown { 0.0 } else { 1.0 - within };
        rate * (1.0 - rate) * (between + within / f64::from(self.samples))
    }

    /// The share of simulated runs of so many cases like these that meet a threshold, by the
    /// intervals of reports.
    fn chance(&self, threshold: &Threshold, chances: &CaseChances, cases: usize) -> f64 {
        let runs = (CASES / cases.max(1)).clamp(FEWEST_RUNS, RUNS);
        let meets = |number: usize| {
            let passes = chances.run((0..cases).map(|_| self.samples), number);
            let mut over = OverCases::new(self.scope);
            let sizes = self
                .sizes
                .iter()
                .enumerate()
                .filter(|(_, size)| **size > 0)
                .cycle();
            let evals = sizes
                .enumerate()
                .flat_map(|(round, (_, size))| std::iter::repeat_n(round, *size));
            for (eval, passed) in evals.zip(passes) {
                let (n, sum) = (self.samples, f64::from(passed));
                over.add(
                    eval,
                    sum / f64::from(n),
                    Some(CaseSamples { n, sum, planned: n }),
                );
            }
            over.estimate(true)
                .ci
                .is_some_and(|[low, high]| match threshold.bound {
                    Bound::Min => reaches(low, threshold.value),
                    Bound::Max => stays_within(high, threshold.value),
                })
        };
        let met = in_parallel(0..runs, meets);
        met.into_iter().filter(|met| *met).count() as f64 / runs as f64
    }
}

/// What the figures rest on.
fn sentences(
    basis: &PowerBasis,
    size: &PowerDesign,
    samples: u32,
    plans: &[PlannedPower],
) -> Vec<String> {
    let mut said = Vec::new();
    if !basis.measured {
        let detectable =
            |chances: &CaseChances| size.aim.detectable(&size.design(samples), chances, &share);
        let assumed = match plans.iter().find(|plan| plan.samples == samples) {
            Some(plan) => plan.detectable,
            None => detectable(&size.chances),
        };
        let alike = CaseChances::of(
            Population {
                within: 1.0,
                ..size.population
            },
            size.aim.seed,
        );
        let points = |drop: Option<f64>, unit: &str| {
            drop.map_or("none".to_owned(), |drop| {
                format!("{:.1}{unit}", drop * 100.0)
            })
        };
        said.push(format!(
            "Assumption: most cases nearly always or nearly never pass, so half of the variation in outcomes is \
                 chance. If all cases were equally hard, the smallest detectable drop would be {}, not {}. Use \
                 --run to measure it in a run with several samples per case.",
            points(detectable(&alike), " points"),
            points(assumed, ""),
        ));
    }
    said.push(
        "The figures are for pass@1, simulated with the test that `compare` uses, for a drop by the same share in \
             every case's pass probability. A drop in only some cases may need more cases."
            .to_owned(),
    );
    if size.whole_evals {
        said.push("The test is about evals like these, but the figures treat their cases as independent: take them \
             as a lower bound.".to_owned());
    }
    said.push(
        "Several metrics, groups or candidates that are compared at once share the 5 % false alarm rate, so each \
             needs more data.".to_owned(),
    );
    said
}

#[cfg(test)]
mod tests;
