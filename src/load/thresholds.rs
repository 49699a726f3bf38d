//! Thresholds: presets, metric names, directions, and demands that no run could meet or miss.
//!
//! They are read before the evals are; which names the graders measure is known after, and settles the rest.

use std::collections::BTreeMap;

use super::metrics::Declared;
use super::problem::{Code, Problem, Problems, did_you_mean};
use super::source::Span;
use super::tree::Node;
use crate::model::{
    AskedThreshold, Bound, Composite, Eval, EvalType, Figure, Measured, Metric, PLAIN_METRICS, Target,
    Threshold,
};
use crate::spec::{ThresholdSpec, Thresholds};
use std::sync::Arc;

/// The table "Common Thresholds": name, pass@1, pass@k, pass^k.
const PRESETS: [(&str, f64, f64, f64); 4] = [
    ("development", 0.70, 0.90, 0.50),
    ("staging", 0.80, 0.95, 0.65),
    ("production", 0.90, 0.99, 0.80),
    ("critical", 0.95, 0.999, 0.90),
];
/// The k of the presets' pass@k and pass^k when the suite names none above 1.
const PRESET_K: u32 = 3;

/// A set of thresholds with the node that it was read from.
pub(super) type WrittenSet = (Thresholds, Option<Node>);

/// A demand with the place where it is written; none for the command line and the built-in presets.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    pub threshold: Threshold,
    pub at: Option<Span>,
    /// A number without a word on whether it is a minimum or a maximum; the metric decides.
    pub bare: bool,
}

/// What was demanded, before it is known what the graders measure.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    demands: Vec<Demand>,
    /// The command line's, which replace those on the same metric.
    overrides: Vec<Demand>,
    /// Demands of all sets, chosen or not, on metrics that are not built in.
    named: Vec<Demand>,
}

/// Everything that may say thresholds.
#[derive(Debug, Default)]
pub(super) struct Sources<'a> {
    pub own: WrittenSet,
    pub presets: BTreeMap<String, WrittenSet>,
    /// The suite's `preset:`.
    pub preset: Option<(String, Span)>,
    /// `--preset`.
    pub chosen: Option<&'a str>,
    /// What a phase asks for.
    pub asked: &'a [AskedThreshold],
    /// `--threshold METRIC=VALUE`.
    pub overrides: &'a [String],
    /// `config.k`.
    pub ks: &'a [u32],
}

/// The demands of a run: the preset's (the command line's before the suite's), else the suite's own; then the command
/// line's.
pub(super) fn resolve(sources: &Sources, problems: &mut Problems) -> Resolved {
    let own = read_set(&sources.own, problems);
    let named: BTreeMap<&str, Vec<Demand>> =
        sources.presets.iter().map(|(name, set)| (name.as_str(), read_set(set, problems))).collect();
    let is_named = |demand: &&Demand| matches!(demand.threshold.metric.parse(), Ok(Metric::Named(_)));
    let mut mentioned: Vec<Demand> =
        own.iter().chain(named.values().flatten()).filter(is_named).cloned().collect();
    let wanted = match (sources.chosen, &sources.preset) {
        (Some(name), _) => Some((name, None)),
        (None, Some((name, at))) => Some((name.as_str(), Some(*at))),
        (None, None) => None,
    };
    let demands = match wanted {
        None => own,
        Some((name, at)) => match named.get(name).cloned().or_else(|| built_in(name, sources.ks)) {
            Some(demands) => demands,
            None => {
                problems.push(unknown_preset(name, at, &named));
                own
            }
        },
    };
    let asked = |ask: &AskedThreshold| Demand { threshold: ask.threshold.clone(), at: None, bare: ask.bare };
    let mut overrides: Vec<Demand> = sources.asked.iter().map(asked).collect();
    for text in sources.overrides {
        match override_of(text) {
            Ok(demand) => {
                if let Some(problem) = fault(&demand.threshold, None) {
                    problems.push(problem);
                }
                overrides.push(demand);
            }
            Err(problem) => problems.push(*problem),
        }
    }
    mentioned.extend(overrides.iter().filter(is_named).cloned());
    Resolved { demands, overrides, named: mentioned }
}

impl Resolved {
    /// The demands, once it is known what graders measure and the suite computes. `complete`: false when faults may have
    /// hidden a part of that.
    pub fn settle(
        self,
        declared: &Declared,
        composites: &[Composite],
        complete: bool,
        problems: &mut Problems,
    ) -> Vec<Demand> {
        let kind = |name: &str| {
            let composed = composites.iter().any(|c| c.name == name).then_some(Measured::Score);
            declared.get(name).copied().or(composed)
        };
        let known: Vec<&str> =
            declared.keys().map(String::as_str).chain(composites.iter().map(|c| c.name.as_str())).collect();
        for demand in &self.named {
            let name = &demand.threshold.metric;
            match kind(name) {
                None if complete || near_built_in(name).is_some() => {
                    let mut problem = unknown_metric(name, demand.at, &known);
                    if demand.at.is_none() {
                        problem.message = format!("`--threshold`: {}", problem.message);
                    }
                    problems.push(problem);
                }
                None => {}
                Some(kind) => problems.extend(named_fault(demand, kind)),
            }
        }
        let settled = |mut demand: Demand| {
            if demand.bare && kind(&demand.threshold.metric) == Some(Measured::Rate) {
                demand.threshold.bound = Bound::Max;
            }
            demand
        };
        let mut demands: Vec<Demand> = self.demands.into_iter().map(settled).collect();
        for demand in self.overrides.into_iter().map(settled) {
            let (metric, bound) = (&demand.threshold.metric, demand.threshold.bound);
            demands.retain(|d| d.threshold.metric != *metric || d.threshold.bound != bound);
            demands.push(demand);
        }
        demands
    }
}

/// A demand on a measured metric that has no direction, or lies out of its range.
fn named_fault(demand: &Demand, kind: Measured) -> Option<Problem> {
    let Threshold { metric, value, .. } = &demand.threshold;
    match kind {
        Measured::Number if demand.bare => {
            let message = format!("is `{metric}` better when it is higher, or lower? Nothing says so");
            let hint = format!(
                "write `{{min: {value}}}` or `{{max: {value}}}`; for `--threshold`, `{metric}>={value}` or `{metric}<={value}`"
            );
            Some(located(Code::MissingKey, demand.at, message).hint(hint))
        }
        Measured::Score if !(0.0..=1.0).contains(value) => {
            Some(out_of_range(metric, *value, true, demand.at))
        }
        Measured::Rate if *value < 0.0 => Some(out_of_range(metric, *value, false, demand.at)),
        _ => None,
    }
}

fn out_of_range(metric: &str, value: f64, share: bool, at: Option<Span>) -> Problem {
    let range = if share { "between 0 and 1" } else { "at least 0" };
    let problem = located(Code::OutOfRange, at, format!("a threshold on `{metric}` is {range}, not {value}"));
    let percent = share && value > 1.0 && value <= 100.0;
    problem.maybe_hint(percent.then(|| format!("{} for {value} %", value / 100.0)))
}

/// A built-in metric that a name was probably meant to be.
fn near_built_in(name: &str) -> Option<&'static str> {
    did_you_mean(name, built_in_names())
}

fn built_in_names() -> Vec<&'static str> {
    PLAIN_METRICS.iter().map(|(_, name)| *name).chain(["pass_at_1", "pass_hat_3"]).collect()
}

/// Names of a set that is read without its suite: what graders measure is not known, but what looks like a slip is told.
pub(super) fn warn_of_slips((set, node): &WrittenSet, problems: &mut Problems) {
    for name in set.keys().filter(|name| matches!(name.parse(), Ok(Metric::Named(_)))) {
        if near_built_in(name).is_some() {
            let key = node.as_ref().and_then(|n| n.get_key(name)).map(|k| k.span);
            problems.push(unknown_metric(name, key, &[]).as_warning());
        }
    }
}

fn unknown_preset(name: &str, at: Option<Span>, named: &BTreeMap<&str, Vec<Demand>>) -> Problem {
    let known: Vec<&str> = named.keys().copied().chain(PRESETS.iter().map(|(name, ..)| *name)).collect();
    let hint = match did_you_mean(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known presets: {}", known.join(", ")),
    };
    let message = format!("no preset is named `{name}`");
    let problem = match at {
        Some(at) => Problem::error(Code::UnknownPreset, at, message),
        None => Problem::general(Code::UnknownPreset, message),
    };
    problem.hint(hint)
}

fn built_in(name: &str, ks: &[u32]) -> Option<Vec<Demand>> {
    let (_, one, at_k, hat_k) = PRESETS.iter().find(|(preset, ..)| *preset == name)?;
    let k = ks.iter().copied().filter(|k| *k > 1).max().unwrap_or(PRESET_K);
    let demand = |metric: Metric, value: f64| Demand {
        threshold: Threshold { metric: metric.to_string(), bound: Bound::Min, value, on: Figure::Value },
        at: None,
        bare: false,
    };
    Some(vec![
        demand(Metric::PassAt(1), *one),
        demand(Metric::PassAt(k), *at_k),
        demand(Metric::PassHat(k), *hat_k),
    ])
}

/// One set as demands; what is wrong with it is noted.
pub(super) fn read_set((set, node): &WrittenSet, problems: &mut Problems) -> Vec<Demand> {
    let mut demands: Vec<Demand> = Vec::new();
    let mut names: BTreeMap<Metric, &str> = BTreeMap::new();
    for (name, spec) in set {
        let key = node.as_ref().and_then(|n| n.get_key(name)).map(|k| k.span);
        let value = node.as_ref().and_then(|n| n.get(name)).map(|n| n.span);
        let Ok(metric) = name.parse::<Metric>() else {
            problems.push(unknown_metric(name, key, &[]));
            continue;
        };
        if let Some(other) = names.insert(metric.clone(), name) {
            let message = format!("`{other}` and `{name}` are two names of one metric");
            problems.push(located(Code::BothSpellings, key, message));
            continue;
        }
        let bare = matches!(spec, ThresholdSpec::Number(_));
        for threshold in bounds(&metric, spec, value, problems) {
            if let Some(problem) = fault(&threshold, value) {
                problems.push(problem);
            }
            demands.push(Demand { threshold, at: key, bare });
        }
    }
    demands
}

/// What a phase asks for, and how many failed regressions it forgives.
pub(super) fn asked(set: &WrittenSet, problems: &mut Problems) -> (Vec<AskedThreshold>, Option<u32>) {
    let demands = read_set(set, problems);
    (demands.into_iter().map(|d| AskedThreshold { threshold: d.threshold, bare: d.bare }).collect(), None)
}

fn located(code: Code, at: Option<Span>, message: impl Into<String>) -> Problem {
    match at {
        Some(at) => Problem::error(code, at, message),
        None => Problem::general(code, message),
    }
}

/// `measured`: the names that this suite's graders and composites give to metrics.
pub(super) fn unknown_metric(name: &str, at: Option<Span>, measured: &[&str]) -> Problem {
    let known = measured.iter().copied().chain(built_in_names());
    let hint = match did_you_mean(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let plain = PLAIN_METRICS.iter().map(|(_, name)| *name);
            let all: Vec<&str> = plain.chain(measured.iter().copied()).collect();
            format!("metrics are pass_at_K, pass_hat_K, {}", all.join(", "))
        }
    };
    located(Code::UnknownMetric, at, format!("`{name}` is not a metric")).hint(hint)
}

fn bounds(
    metric: &Metric,
    spec: &ThresholdSpec,
    at: Option<Span>,
    problems: &mut Problems,
) -> Vec<Threshold> {
    let one = |bound, value, on| Threshold { metric: metric.to_string(), bound, value, on };
    match spec {
        ThresholdSpec::Number(value) => vec![one(metric.bound(), *value, Figure::Value)],
        ThresholdSpec::Bounds(b) => {
            let mut all = Vec::new();
            all.extend(b.min.map(|value| one(Bound::Min, value, b.on)));
            all.extend(b.max.map(|value| one(Bound::Max, value, b.on)));
            if all.is_empty() {
                let message = format!("the threshold on `{metric}` has neither `min` nor `max`");
                problems.push(located(Code::MissingKey, at, message));
            }
            if let (Some(min), Some(max)) = (b.min, b.max)
                && min > max
            {
                problems.push(located(Code::OutOfRange, at, format!("no value is between {min} and {max}")));
            }
            let has_interval = metric.is_share() || matches!(metric, Metric::Named(_));
            if b.on != Figure::Value && !has_interval {
                let message = format!("`{metric}` has no interval for `on` to look at");
                problems.push(located(Code::UnknownMetric, at, message));
            }
            all
        }
    }
}

/// A demand that is out of the metric's range, or that every run meets.
fn fault(threshold: &Threshold, at: Option<Span>) -> Option<Problem> {
    let metric: Metric = threshold.metric.parse().ok()?;
    let Threshold { value, bound, .. } = *threshold;
    if matches!(metric, Metric::Named(_)) && value.is_finite() {
        return None;
    }
    let top = if metric.is_share() { 1.0 } else { f64::INFINITY };
    if !value.is_finite() || value < 0.0 || value > top {
        return Some(out_of_range(&threshold.metric, value, metric.is_share(), at));
    }
    let idle = match bound {
        Bound::Min => value <= 0.0,
        Bound::Max => metric.is_share() && value >= 1.0,
    };
    idle.then(|| {
        let word = if bound == Bound::Min { "least" } else { "most" };
        let message = format!("`{metric}` of at {word} {value} is met by every run");
        located(Code::SuspiciousValue, at, message).as_warning()
    })
}

/// `METRIC=VALUE`, or with the direction: `METRIC>=VALUE`, `METRIC<=VALUE`.
fn override_of(text: &str) -> Result<Demand, Box<Problem>> {
    let wrong = |message: String| Box::new(Problem::general(Code::UnknownMetric, message));
    let directed = [(">=", Bound::Min), ("<=", Bound::Max)]
        .into_iter()
        .find_map(|(sign, bound)| text.split_once(sign).map(|parts| (parts, Some(bound))));
    let Some(((name, value), direction)) = directed.or(text.split_once('=').map(|parts| (parts, None)))
    else {
        return Err(Box::new(
            wrong(format!("`--threshold {text}` is not METRIC=VALUE")).hint("for example `pass_at_1=0.9`"),
        ));
    };
    let metric: Metric = match name.trim().parse() {
        Ok(metric) => metric,
        Err(_) => {
            let mut problem = unknown_metric(name.trim(), None, &[]);
            problem.message = format!("`--threshold`: {}", problem.message);
            return Err(Box::new(problem));
        }
    };
    let value: f64 = value
        .trim()
        .parse()
        .map_err(|_| wrong(format!("`--threshold {text}`: `{}` is not a number", value.trim())))?;
    let bound = direction.unwrap_or(metric.bound());
    let threshold = Threshold { metric: metric.to_string(), bound, value, on: Figure::Value };
    Ok(Demand { threshold, at: None, bare: direction.is_none() })
}

/// The k to report: those of the suite, those that thresholds and composites name, and 1.
pub(super) fn ks(
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
pub(super) fn check_producible(
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
