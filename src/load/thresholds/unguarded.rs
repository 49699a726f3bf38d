//! Thresholds that are met whether capability evals pass or fail: a gate that does not see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ThresholdDemand;
use crate::load::problem::{Code, Problems};
use crate::model::{Bound, Composite, Eval, EvalType, Figure, GraderOutline, Metric};
use eval_base::text::listed;
use eval_stats::{reaches, stays_within};

/// Thresholds that a message names.
const NAMED: usize = 3;

/// Warns where every capability eval could fail and the gate still pass: with thresholds the gate
/// no longer requires that evals pass, and each of these is met while all capability evals fail and
/// all regressions pass. Not where each grader that decides over a case measures something that a
/// threshold is on.
pub(in crate::load) fn warn_of_unguarded(
    demands: &[ThresholdDemand],
    composites: &[Composite],
    evals: &[Arc<Eval>],
    problems: &mut Problems,
) {
    let capabilities = evals.iter().filter(|eval| is_capability(eval)).count();
    let Some(first) = demands.first().filter(|_| capabilities > 0) else {
        return;
    };
    let guarded = demands
        .iter()
        .any(|demand| guards(demand, composites, evals));
    if guarded || are_measured(demands, composites, evals) {
        return;
    }
    let named = demands
        .iter()
        .map(|demand| format!("`{}`", demand.threshold.metric));
    let which = match capabilities {
        1 => "the capability eval".to_owned(),
        n => format!("all {n} capability evals"),
    };
    let depend = if demands.len() == 1 {
        "does not depend"
    } else {
        "do not depend"
    };
    let message = format!(
        "the gate can pass although {which} fail{}: the thresholds decide, and {} {depend} on evals that pass",
        if capabilities == 1 { "s" } else { "" },
        listed(named, NAMED, demands.len(), ", ")
    );
    let hint = "add `require: all_evals` to the thresholds, or a threshold such as `pass_rate: 0.9`; if this is intended, add `require: thresholds`";
    problems.push(
        first
            .problem(Code::UnguardedGate, message)
            .hint(hint)
            .as_warning(),
    );
}

fn is_capability(eval: &Eval) -> bool {
    eval.info.kind == EvalType::Capability
}

/// True when the threshold is missed while all capability evals fail and all regressions pass.
fn guards(demand: &ThresholdDemand, composites: &[Composite], evals: &[Arc<Eval>]) -> bool {
    let (threshold, evals) = (&demand.threshold, &demand.evals(evals));
    match (&demand.name.metric, threshold.bound) {
        (Metric::FailedSamples, Bound::Max) => {
            let failing = evals.iter().filter(|eval| is_capability(eval));
            let samples = failing.flat_map(|eval| eval.cases.outlines());
            let samples: u64 = samples
                .map(|case| u64::from(case.samples.unwrap_or(1)))
                .sum();
            !stays_within(samples as f64, threshold.value)
        }
        // An upper end may be high though nothing passed.
        (_, Bound::Min) if threshold.on == Figure::CiUpper => false,
        (metric, Bound::Min) => {
            let composite = composites
                .iter()
                .find(|composite| demand.author_name() == Some(&composite.name));
            let left = match composite {
                Some(composite) => composite_left(composite, evals),
                None => share_left(metric, evals),
            };
            left.is_some_and(|left| !reaches(left, threshold.value))
        }
        (_, Bound::Max) => false,
    }
}

/// [`share_left`] of a composite; components that say nothing of evals are taken for 1.
fn composite_left(composite: &Composite, evals: &[Arc<Eval>]) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for component in &composite.components {
        let left = component
            .metric
            .parse()
            .ok()
            .and_then(|metric| share_left(&metric, evals));
        sum += component.weight * left.map_or(1.0, |left| component.share(left));
        total += component.weight;
    }
    (total > 0.0).then(|| sum / total)
}

/// What is left of a metric when all capability evals fail and all regressions pass; `None` where
/// that says nothing of it. Scores of what fails are taken for 0.
fn share_left(metric: &Metric, evals: &[Arc<Eval>]) -> Option<f64> {
    let metric = &metric.uncorrected().unwrap_or_else(|| metric.clone());
    let weigh: fn(&Eval) -> f64 = match metric {
        Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_) => {
            |eval| eval.cases.len() as f64
        }
        Metric::CasePassRate | Metric::Score => |eval| eval.cases.len() as f64,
        Metric::PassRate => |_| 1.0,
        Metric::CapabilityPassRate => |eval| f64::from(u8::from(is_capability(eval))),
        Metric::WeightedScore => |eval| eval.info.weight,
        _ => return None,
    };
    let sum =
        |evals: &mut dyn Iterator<Item = &Arc<Eval>>| evals.map(|eval| weigh(eval)).sum::<f64>();
    let all = sum(&mut evals.iter());
    let left = sum(&mut evals.iter().filter(|eval| !is_capability(eval)));
    (all > 0.0).then(|| left / all)
}

/// True when every grader that decides over some capability case measures something that a
/// threshold is on: if it fails, that is seen in the numbers that the author chose.
fn are_measured(
    demands: &[ThresholdDemand],
    composites: &[Composite],
    evals: &[Arc<Eval>],
) -> bool {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for demand in demands {
        let metric = demand.threshold.metric.as_str();
        match composites.iter().find(|composite| composite.name == metric) {
            Some(composite) => {
                names.extend(composite.components.iter().map(|part| part.metric.as_str()))
            }
            None => _ = names.insert(metric),
        }
    }
    let is_seen = |grader: &GraderOutline| {
        grader
            .measures
            .iter()
            .any(|(name, _)| names.contains(name.as_str()))
    };
    let mut profiles = evals
        .iter()
        .filter(|eval| is_capability(eval))
        .flat_map(|eval| eval.cases.profiles());
    profiles.any(|profile| {
        let mut deciding = profile
            .graders
            .iter()
            .filter(|grader| !grader.informative)
            .peekable();
        deciding.peek().is_some() && deciding.all(is_seen)
    })
}
