//! What comparisons of two runs of a plan could find, and the chances of its gate.

use std::collections::HashMap;
use std::sync::Arc;

use crate::load::part_of_plan;
use crate::model::{
    Bound, Eval, EvalType, Figure, Metric, MetricName, Plan, PlannedPower, PowerBasis, PowerReport,
    RunScores, Threshold, ThresholdPower,
};
use crate::stats::power::{Aim, Demand, Spread, Variance};
use crate::summary::compare::ALPHA;

/// The version of the form.
const FORMAT_VERSION: u32 = 1;

/// The share of samples that is expected to pass when nobody says.
const ASSUMED_RATE: f64 = 0.8;

/// Confidence of the intervals that thresholds look at, and what lies beyond one of their ends.
const LEVEL: f64 = 0.95;
const BEYOND: f64 = (1.0 - LEVEL) / 2.0;

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
    #[error("nothing is selected, so that there is nothing to compare")]
    NoCase,
    #[error("run {run} is one of suite `{other}`, not of `{own}`")]
    OtherSuite { run: String, own: String, other: String },
    #[error("run {run} has a graded sample of none of the selected cases")]
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
    let samples = planned.or(plan.settings.ks.iter().copied().max()).unwrap_or(1).max(1);
    let basis = basis(plan, asked)?;
    let aim = Aim { alpha: ALPHA, power: asked.power };
    let size = Size { cases: cases as f64, effect: asked.effect, aim };
    let variance = Variance { within: [basis.within; 2], between: 0.0 };
    let mut wanted = if asked.samples.is_empty() { vec![samples] } else { asked.samples.clone() };
    wanted.sort_unstable();
    wanted.dedup();
    let demands = plan.gate.thresholds.iter().filter(|threshold| threshold.on != Figure::Value);
    let thresholds = demands.map(|threshold| threshold_power(threshold, plan, samples, &basis, asked.power));
    Ok(PowerReport {
        format_version: FORMAT_VERSION,
        suite: plan.suite.name.clone(),
        filters: asked.filters.clone(),
        evals: plan.evals.iter().filter(|eval| !eval.cases.is_empty()).count(),
        cases,
        samples,
        metric: Metric::PassAt(1).to_string(),
        effect: asked.effect,
        power: asked.power,
        alpha: ALPHA,
        plans: wanted.iter().map(|n| size.planned(&variance, *n)).collect(),
        samples_needed: aim.samples(&variance, size.cases, asked.effect),
        thresholds: thresholds.collect(),
        sentences: sentences(&basis, &size, samples),
        basis,
    })
}

/// The size of a plan, and what it is to find.
struct Size {
    cases: f64,
    effect: f64,
    aim: Aim,
}

impl Size {
    fn planned(&self, variance: &Variance, samples: u32) -> PlannedPower {
        let each = [f64::from(samples); 2];
        let error = variance.error(self.cases, each);
        PlannedPower {
            samples,
            detectable: self.aim.detectable(error).min(1.0),
            chance: self.aim.power_at(error, self.effect),
            cases_needed: self.aim.cases(variance.of_case(each), self.effect),
        }
    }
}

/// The rate and the spread: measured, or assumed.
fn basis(plan: &Plan, asked: &PowerRequest<'_>) -> Result<PowerBasis, PowerError> {
    let Some(run) = asked.run else {
        let rate = asked.rate.unwrap_or(ASSUMED_RATE);
        let [within, _] = Variance::assumed(rate, Spread::Mixed).within;
        return Ok(PowerBasis { run: None, rate, within, measured: false });
    };
    let id = run.side.run_id.clone();
    if run.side.suite != plan.suite.name {
        let (own, other) = (plan.suite.name.clone(), run.side.suite.clone());
        return Err(PowerError::OtherSuite { run: id, own, other });
    }
    let known: HashMap<(&str, &str), (u32, u32)> = run
        .evals
        .iter()
        .flat_map(|eval| {
            eval.cases.iter().map(|case| ((eval.id.as_str(), case.id.as_str()), (case.n, case.c)))
        })
        .collect();
    let selected =
        plan.evals.iter().flat_map(|eval| eval.cases.outlines().map(|case| (eval.info.id.as_str(), case.id)));
    let (mut cases, mut shares, mut several, mut within) = (0.0, 0.0, 0.0, 0.0);
    for (n, c) in selected.filter_map(|case| known.get(&case).copied()).filter(|(n, _)| *n > 0) {
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
        false => Variance::assumed(rate, Spread::Mixed).within[0],
    };
    Ok(PowerBasis { run: Some(id), rate, within, measured })
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
    // How much cases of one eval have in common nobody knows before a run; as if they had nothing, the chance would be told too high.
    let together = plan.settings.interval_scope == crate::model::IntervalScope::SimilarEvals
        && evals.iter().any(|eval| eval.cases.len() > 1);
    let (chance, needed) = match of_first_attempts && n > 0 && !together {
        true => chance_and_needed(threshold, n, samples, basis, power),
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

fn chance_and_needed(
    threshold: &Threshold,
    n: usize,
    samples: u32,
    basis: &PowerBasis,
    power: f64,
) -> (Option<f64>, Option<u64>) {
    let upper = threshold.on == Figure::CiUpper;
    if samples == 1 && upper == (threshold.bound == Bound::Max) {
        let demand = Demand { upper, value: threshold.value, level: LEVEL };
        return (Some(demand.chance(n as u64, basis.rate)), demand.cases(basis.rate, power));
    }
    // The near end of an interval is a test of level (1 - LEVEL) / 2: of several samples a case its mean is about normal.
    let room = match (threshold.bound, upper) {
        (Bound::Min, false) => basis.rate - threshold.value,
        (Bound::Max, true) => threshold.value - basis.rate,
        // The far end asks less than the value itself, and nobody plans by it.
        _ => return (None, None),
    };
    let between = (basis.rate * (1.0 - basis.rate) - basis.within).max(0.0);
    let of_case = between + basis.within / f64::from(samples);
    let aim = Aim { alpha: BEYOND, power };
    let error = (of_case / n as f64).sqrt();
    (Some(aim.power_at(error, room)), aim.cases(of_case, room))
}

/// What the figures rest on.
fn sentences(basis: &PowerBasis, size: &Size, samples: u32) -> Vec<String> {
    let mut said = Vec::new();
    if !basis.measured {
        let detectable = |spread| {
            let planned = size.planned(&Variance::assumed(basis.rate, spread), samples);
            planned.detectable * 100.0
        };
        said.push(format!(
            "Assumed: most cases nearly always or nearly never pass, so that half of what makes outcomes differ is luck. Were all cases \
             equally hard, the smallest drop that is found would be {:.1} points, not {:.1}; --run measures it in a run of several \
             samples a case.",
            detectable(Spread::Alike),
            detectable(Spread::Mixed),
        ));
    }
    said.push(
        "It speaks of pass@1 and of a drop that is the same for every case. One that only some cases have takes more cases, and no \
         number of samples makes up for them."
            .to_owned(),
    );
    said.push(
        "Several metrics, groups or candidates at once share the 5 % of false alarms, and each then needs more.".to_owned(),
    );
    said
}

#[cfg(test)]
mod tests;
