//! One set of thresholds as demands, with everything that is wrong with it.

use std::collections::BTreeMap;

use super::{Demand, WrittenSet};
use crate::load::problem::{Code, Problem, Problems, did_you_mean};
use crate::load::source::Span;
use crate::model::{Bound, Figure, Metric, PLAIN_METRICS, Threshold};
use crate::spec::ThresholdSpec;

/// The key of a set that is no metric: failed regressions that the gate forgives.
const MAX_REGRESSIONS: &str = "max_regressions";

/// A set as it is written.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct Set {
    pub demands: Vec<Demand>,
    pub max_regressions: Option<u32>,
}

/// One set as demands; what is wrong with it is noted.
pub(in crate::load) fn read_set((set, node): &WrittenSet, problems: &mut Problems) -> Set {
    let mut read = Set::default();
    let mut names: BTreeMap<Metric, &str> = BTreeMap::new();
    for (name, spec) in set {
        let key = node.as_ref().and_then(|n| n.get_key(name)).map(|k| k.span);
        let value = node.as_ref().and_then(|n| n.get(name)).map(|n| n.span);
        if name == MAX_REGRESSIONS {
            match max_regressions(spec) {
                Some(most) => read.max_regressions = Some(most),
                None => problems.push(no_count(value)),
            }
            continue;
        }
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
            read.demands.push(Demand { threshold, at: key, bare });
        }
    }
    read
}

/// A whole number, written alone or as `{max: N}`.
fn max_regressions(spec: &ThresholdSpec) -> Option<u32> {
    let most = match spec {
        ThresholdSpec::Number(most) => *most,
        ThresholdSpec::Bounds(bounds) => {
            bounds.max.filter(|_| bounds.min.is_none() && bounds.on == Figure::Value)?
        }
    };
    (most.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&most)).then_some(most as u32)
}

fn no_count(at: Option<Span>) -> Problem {
    let message = "`max_regressions` is a whole number: how many failed regressions the gate forgives";
    located(Code::OutOfRange, at, message).hint("for example `max_regressions: 2`")
}

pub(super) fn located(code: Code, at: Option<Span>, message: impl Into<String>) -> Problem {
    match at {
        Some(at) => Problem::error(code, at, message),
        None => Problem::general(code, message),
    }
}

/// `measured`: the names that this suite's graders and composites give to metrics.
pub(in crate::load) fn unknown_metric(name: &str, at: Option<Span>, measured: &[&str]) -> Problem {
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
pub(super) fn fault(threshold: &Threshold, at: Option<Span>) -> Option<Problem> {
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

pub(super) fn out_of_range(metric: &str, value: f64, share: bool, at: Option<Span>) -> Problem {
    let range = if share { "between 0 and 1" } else { "at least 0" };
    let problem = located(Code::OutOfRange, at, format!("a threshold on `{metric}` is {range}, not {value}"));
    let percent = share && value > 1.0 && value <= 100.0;
    problem.maybe_hint(percent.then(|| format!("{} for {value} %", value / 100.0)))
}

/// A built-in metric that a name was probably meant to be.
pub(super) fn near_built_in(name: &str) -> Option<&'static str> {
    did_you_mean(name, built_in_names())
}

fn built_in_names() -> Vec<&'static str> {
    PLAIN_METRICS.iter().map(|(_, name)| *name).chain(["pass_at_1", "pass_hat_3"]).collect()
}
