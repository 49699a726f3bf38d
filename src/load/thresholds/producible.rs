//! Demands for data that no run of a plan could have.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ThresholdDemand;
use crate::load::parts::part_of_plan;
use crate::load::problem::{Code, Problems};
use crate::model::{
    Composite, Eval, EvalType, Figure, IntervalScope, Metric, MetricName, PartSelector,
    PlannedSamples, Target, Threshold, spelled_metric,
};
use eval_base::nearest::did_you_mean;

/// The k to report: those of the suite, those that thresholds and composites name, and 1.
pub(in crate::load) fn ks(
    configured: &[u32],
    reported: &[String],
    demands: &[ThresholdDemand],
    composites: &[Composite],
) -> Vec<u32> {
    let mut ks: Vec<u32> = vec![1];
    ks.extend(configured.iter().copied().filter(|k| *k > 0));
    let parts = composites
        .iter()
        .flat_map(|c| &c.components)
        .map(|part| &part.metric);
    let metrics = demands
        .iter()
        .map(|d| &d.threshold.metric)
        .chain(parts)
        .chain(reported);
    ks.extend(metrics.filter_map(|name| name.parse::<MetricName>().ok()?.metric.k()));
    ks.sort_unstable();
    ks.dedup();
    ks
}

/// Demands for data that no run of these evals could have, on a metric itself or on one that it is
/// made of.
pub(in crate::load) fn check_producible(
    demands: &[ThresholdDemand],
    composites: &[Composite],
    evals: &[Arc<Eval>],
    target: Option<&Target>,
    problems: &mut Problems,
) {
    for demand in demands {
        let MetricName { metric, part } = &demand.name;
        let evals = demand.evals(evals);
        if part.is_some() && evals.is_empty() {
            // Told by `check_parts`.
            continue;
        }
        let made_of = composites
            .iter()
            .filter(|c| demand.author_name() == Some(&c.name));
        let parts = made_of
            .flat_map(|composite| &composite.components)
            .map(|part| part.metric.clone());
        for name in std::iter::once(metric.to_string()).chain(parts) {
            let Ok(metric) = name.parse::<Metric>() else {
                continue;
            };
            if let Some(k) = metric.k() {
                check_k(k, &metric, demand, &evals, problems);
            }
            if let Some(lack) = lack(&metric, &evals, target) {
                let whole = if part.is_some() {
                    "this part of the suite"
                } else {
                    "this suite"
                };
                let message = format!("{whole} cannot produce `{metric}`: {lack}");
                problems.push(demand.problem(Code::UnknownMetric, message));
            }
        }
    }
}

/// Demands on ends of intervals that there are none of, for lack of evals.
pub(in crate::load) fn check_evals(
    demands: &[ThresholdDemand],
    evals: &[Arc<Eval>],
    scope: IntervalScope,
    problems: &mut Problems,
) {
    for demand in demands {
        if let Some(message) = too_few_evals(&demand.threshold, evals, scope) {
            let hint = "set `config: {intervals: similar_cases}`: intervals are then for cases like these, in these evals";
            problems.push(demand.problem(Code::TooFewEvals, message).hint(hint));
        }
    }
}

/// Why a threshold on an end of an interval has none, when its metric is over too few of these
/// evals to speak about evals like these. A part without any eval is an error of [`check_parts`].
pub fn too_few_evals(
    threshold: &Threshold,
    evals: &[Arc<Eval>],
    scope: IntervalScope,
) -> Option<String> {
    let MetricName { metric, part } = threshold.metric.parse().ok()?;
    let of_part = part.map(|part| part_of_plan(&part, evals));
    let counts = |eval: &&Arc<Eval>| match metric {
        Metric::CapabilityPassRate => eval.info.kind == EvalType::Capability,
        Metric::RegressionPassRate => eval.info.kind == EvalType::Regression,
        Metric::WeightedScore => eval.info.weight > 0.0,
        _ => true,
    };
    let count = of_part
        .as_deref()
        .unwrap_or(evals)
        .iter()
        .filter(counts)
        .count() as u64;
    let lacks = threshold.on != Figure::Value && count > 0 && scope.has_too_few(count);
    lacks.then(|| {
        let are = if count == 1 { " is" } else { "s are" };
        format!(
            "`{}` has no interval: {count} eval{are} too few to speak about evals like these; at least {} are needed",
            spelled_metric(&threshold.metric),
            IntervalScope::FEWEST_EVALS
        )
    })
}

/// Why no run of these evals has the metric.
fn lack(metric: &Metric, evals: &[Arc<Eval>], target: Option<&Target>) -> Option<&'static str> {
    use Metric::*;
    let has = |kind: EvalType| evals.iter().any(|e| e.info.kind == kind);
    let own_target = evals
        .iter()
        .flat_map(|e| e.cases.profiles())
        .any(|p| p.target.is_some());
    let panels = || {
        evals
            .iter()
            .flat_map(|e| e.cases.profiles())
            .flat_map(|p| &p.graders)
            .filter_map(|g| g.panel.as_ref())
    };
    match (metric, target) {
        (metric, _)
            if (metric.is_of_judges() || metric.is_of_calibrations())
                && panels().next().is_none() =>
        {
            Some("none of its cases has a grader of type `model`")
        }
        (JudgeDisagreementRate, _)
            if panels().all(|p| u64::from(p.votes) * (p.models.len() as u64) < 2) =>
        {
            Some("each of its judges gives a single vote (`votes`, `models`)")
        }
        (CapabilityPassRate, _) if !has(EvalType::Capability) => Some("it has no capability eval"),
        (RegressionPassRate, _) if !has(EvalType::Regression) => Some("it has no regression eval"),
        (LatencyMeanMs | LatencyP50Ms | LatencyP95Ms, Some(Target::Recorded { .. }))
            if !own_target =>
        {
            Some("recorded outputs have no latency")
        }
        (
            CostUsd | Tokens | TokensInput | TokensOutput,
            Some(Target::Echo | Target::Command(_)),
        ) if !own_target => Some("its target reports no usage"),
        _ => None,
    }
}

/// Demands on parts that hold nothing of the suite: an error, since the gate could not decide.
pub(in crate::load) fn check_parts(
    demands: &[ThresholdDemand],
    evals: &[Arc<Eval>],
    problems: &mut Problems,
) {
    for (demand, part) in empty_parts(demands, evals) {
        let message = format!(
            "`{}` covers nothing: no {}",
            demand.threshold.metric,
            having(part, "of this suite ")
        );
        problems.push(
            demand
                .problem(Code::EmptyCases, message)
                .hint(hint(part, evals)),
        );
    }
}

/// The same once it is known which evals and cases are selected. `again`: nobody chose them by what
/// thresholds are of; then it is a warning.
pub(in crate::load) fn check_part_selected(
    demands: &[ThresholdDemand],
    evals: &[Arc<Eval>],
    again: bool,
    problems: &mut Problems,
) {
    for (demand, part) in empty_parts(demands, evals) {
        let message = format!(
            "`{}` covers nothing: no {}",
            demand.threshold.metric,
            having(part, "that is selected ")
        );
        let problem = demand.problem(Code::EmptyCases, message);
        problems.push(
            problem
                .hint("select one, or remove the threshold; otherwise the gate can't pass")
                .maybe_warning(again),
        );
    }
}

/// Each part once, with the first demand on it.
fn empty_parts<'a>(
    demands: &'a [ThresholdDemand],
    evals: &[Arc<Eval>],
) -> Vec<(&'a ThresholdDemand, &'a PartSelector)> {
    let mut looked: BTreeSet<&PartSelector> = BTreeSet::new();
    let mut empty = Vec::new();
    for demand in demands {
        if let Some(part) = &demand.name.part
            && looked.insert(part)
            && demand.evals(evals).is_empty()
        {
            empty.push((demand, part));
        }
    }
    empty
}

fn having(part: &PartSelector, which: &str) -> String {
    match part {
        PartSelector::Type(_) => format!("eval {which}has the type `{}`", part.value()),
        PartSelector::Category(name) => format!("eval {which}has the category `{name}`"),
        PartSelector::Tag(tag) => format!("eval or case {which}has the tag `{tag}`"),
        PartSelector::Eval(glob) => format!("eval {which}has an id that matches `{glob}`"),
        PartSelector::Released(time) => format!("case {which}was released {time}"),
    }
}

/// What was probably meant, else what there is.
fn hint(part: &PartSelector, evals: &[Arc<Eval>]) -> String {
    let infos = || evals.iter().map(|eval| &eval.info);
    if matches!(part, PartSelector::Category(name) if matches!(name.as_str(), "capability" | "regression"))
    {
        return format!("did you mean `type={}`?", part.value());
    }
    let known: BTreeSet<&str> = match part {
        PartSelector::Type(_) | PartSelector::Released(_) => BTreeSet::new(),
        PartSelector::Category(_) => infos()
            .filter_map(|info| info.category.as_deref())
            .collect(),
        PartSelector::Tag(_) => {
            let own = evals
                .iter()
                .flat_map(|eval| eval.cases.profiles())
                .flat_map(|profile| &profile.tags);
            own.chain(infos().flat_map(|info| &info.tags))
                .map(String::as_str)
                .collect()
        }
        PartSelector::Eval(_) => infos().map(|info| info.id.as_str()).collect(),
    };
    match did_you_mean(part.value(), known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "`eval-harness list --verbose` shows what exists".to_owned(),
        None => {
            let first: Vec<&str> = known.iter().take(8).copied().collect();
            let more = if known.len() > first.len() {
                ", ..."
            } else {
                ""
            };
            format!("available: {}{more}", first.join(", "))
        }
    }
}

fn check_k(
    k: u32,
    metric: &Metric,
    demand: &ThresholdDemand,
    evals: &[Arc<Eval>],
    problems: &mut Problems,
) {
    let Some(short) = PlannedSamples::of(evals, |_, case| case.samples).fewer_than(k) else {
        return;
    };
    let metric = spelled_metric(&metric.to_string());
    let message = format!("`{metric}` needs at least {k} samples per case, but {short}");
    problems.push(demand.problem(Code::KAboveSamples, message).hint(format!(
        "raise `samples` to {k}, or remove it: the thresholds then determine it"
    )));
}
