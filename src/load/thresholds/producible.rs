//! Demands for data that no run of a plan could have.

use std::sync::Arc;

use super::Demand;
use super::read::located;
use crate::load::problem::{Code, Problems};
use crate::load::source::Span;
use crate::model::{Composite, Eval, EvalType, Metric, Target};

/// The k to report: those of the suite, those that thresholds and composites name, and 1.
pub(in crate::load) fn ks(
    configured: &[u32],
    reported: &[String],
    demands: &[Demand],
    composites: &[Composite],
) -> Vec<u32> {
    let mut ks: Vec<u32> = vec![1];
    ks.extend(configured.iter().copied().filter(|k| *k > 0));
    let parts = composites.iter().flat_map(|c| &c.components).map(|part| &part.metric);
    let metrics = demands.iter().map(|d| &d.threshold.metric).chain(parts).chain(reported);
    ks.extend(metrics.filter_map(|name| name.parse::<Metric>().ok()?.k()));
    ks.sort_unstable();
    ks.dedup();
    ks
}

/// Demands for data that no run of these evals could have, on a metric itself or on one that it is made of.
pub(in crate::load) fn check_producible(
    demands: &[Demand],
    composites: &[Composite],
    evals: &[Arc<Eval>],
    target: Option<&Target>,
    problems: &mut Problems,
) {
    let asked = demands.iter().flat_map(|demand| {
        let made_of = composites.iter().filter(|c| c.name == demand.threshold.metric);
        let parts = made_of.flat_map(|composite| &composite.components).map(|part| &part.metric);
        std::iter::once(&demand.threshold.metric).chain(parts).map(|metric| (metric, &demand.at))
    });
    for (name, at) in asked {
        let Ok(metric) = name.parse::<Metric>() else { continue };
        if let Some(k) = metric.k() {
            check_k(k, &metric, *at, evals, problems);
        }
        let has = |kind: EvalType| evals.iter().any(|e| e.info.kind == kind);
        let own_target = evals.iter().flat_map(|e| e.cases.profiles()).any(|p| p.target.is_some());
        let lack = match (&metric, target) {
            (Metric::CapabilityPassRate, _) if !has(EvalType::Capability) => {
                Some("it has no capability eval")
            }
            (Metric::RegressionPassRate, _) if !has(EvalType::Regression) => {
                Some("it has no regression eval")
            }
            (
                Metric::LatencyMeanMs | Metric::LatencyP50Ms | Metric::LatencyP95Ms,
                Some(Target::Recorded { .. }),
            ) if !own_target => Some("recorded outputs have no latency"),
            (
                Metric::CostUsd | Metric::Tokens | Metric::TokensInput | Metric::TokensOutput,
                Some(Target::Echo | Target::Command(_)),
            ) if !own_target => Some("its target tells no usage"),
            _ => None,
        };
        if let Some(lack) = lack {
            let message = format!("this suite cannot produce `{metric}`: {lack}");
            problems.push(located(Code::UnknownMetric, *at, message));
        }
    }
}

fn check_k(k: u32, metric: &Metric, at: Option<Span>, evals: &[Arc<Eval>], problems: &mut Problems) {
    let short = evals.iter().find_map(|eval| {
        let case = eval.cases.outlines().find(|case| case.samples.is_some_and(|n| n < k))?;
        Some((eval, case))
    });
    let Some((eval, case)) = short else { return };
    let n = case.samples.unwrap_or(1);
    let which = if eval.cases.len() == 1 {
        format!("`{}`", eval.info.id)
    } else {
        format!("`{}` of `{}`", case.id, eval.info.id)
    };
    let message = format!("`{metric}` needs at least {k} samples of every case, but {which} has {n}");
    problems.push(
        located(Code::KAboveSamples, at, message)
            .hint(format!("raise `samples` to {k}, or leave it out: it then follows from the thresholds")),
    );
}
