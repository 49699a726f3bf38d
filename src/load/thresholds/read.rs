//! One set of thresholds as demands, with everything that is wrong with it.

use std::collections::BTreeMap;

use super::{DemandSource, ThresholdDemand, WrittenSet};
use crate::load::parts::PartFilter;
use crate::load::problem::{Code, Problem, Problems};
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::{
    Bound, Figure, Metric, MetricName, NoMetric, PLAIN_METRICS, PartSelector, Threshold,
    spelled_metric,
};
use crate::spec::words::GateRequirement;
use crate::spec::{IntervalBound, PartThreshold, ThresholdBounds, ThresholdSpec};
use eval_base::nearest::did_you_mean;

/// The keys of a set that are not metrics: failed regressions that the gate forgives, and what it
/// requires of evals.
pub(super) const MAX_REGRESSIONS: &str = "max_regressions";
pub(super) const REQUIRE: &str = "require";

/// A set as it is written.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct DemandSet {
    pub demands: Vec<ThresholdDemand>,
    pub max_regressions: Option<u32>,
    pub require: Option<GateRequirement>,
}

/// One set as demands; what is wrong with it is noted.
pub(in crate::load) fn read_set((set, node): &WrittenSet, problems: &mut Problems) -> DemandSet {
    let mut read = DemandSet {
        require: set.require,
        ..DemandSet::default()
    };
    let mut taken: BTreeMap<MetricName, String> = BTreeMap::new();
    for (written, spec) in &set.by_metric {
        let node_of = node.as_ref().and_then(|n| n.get(written));
        let place = DemandPlace {
            key: node.as_ref().and_then(|n| n.key_place(written)),
            value: node_of.map(|n| n.span),
        };
        if written == MAX_REGRESSIONS {
            match max_regressions(spec) {
                Some(most) => read.max_regressions = Some(most),
                None => problems.push(no_count(place.value)),
            }
            continue;
        }
        let name = metric_name(written, place.key, &[]).map_err(|problem| *problem);
        let Some(name) = problems.take(name) else {
            continue;
        };
        let asks = asks(written, name, spec, node_of, place, problems);
        for ask in asks {
            if let Some(other) = taken.get(&ask.name) {
                let message = format!(
                    "`{other}` and `{}` are two names of the same metric",
                    ask.written
                );
                problems.push(Problem::error(Code::BothSpellings, ask.place.key, message));
                continue;
            }
            taken.insert(ask.name.clone(), ask.written.clone());
            ask.demands(&mut read.demands, problems);
        }
    }
    read
}

/// The name of a metric, or what is wrong with it; `measured` as for [`unknown_metric`].
pub(super) fn metric_name(
    text: &str,
    at: Option<Span>,
    measured: &[&str],
) -> Result<MetricName, Box<Problem>> {
    let refuse = |problem: Problem| Err(Box::new(problem));
    let name: MetricName = match text.parse() {
        Ok(name) => name,
        Err(NoMetric::Unknown(_)) => return refuse(unknown_metric(text, at, measured)),
        Err(error @ NoMetric::Part { .. }) => {
            let hint = "for example `pass_rate[tag=critical]`";
            return refuse(Problem::error(Code::BadFormat, at, error.to_string()).hint(hint));
        }
    };
    match part_fault(&name, at) {
        Some(problem) => refuse(problem),
        None => Ok(name),
    }
}

/// A corrected rate, or the worth of a judge, of a part of the run.
fn of_part(name: &str, at: Option<Span>) -> Problem {
    let message = format!("`{name}` rests on calibrations, which are for the whole run");
    Problem::error(Code::UnknownMetric, at, message).hint("remove the part of the run")
}

/// A part that the metric can't have.
fn part_fault(name: &MetricName, at: Option<Span>) -> Option<Problem> {
    let part = name.part.as_ref()?;
    if name.metric.is_of_calibrations() {
        return Some(of_part(&name.metric.to_string(), at));
    }
    if name.is_contradictory() {
        let message = format!(
            "`{}` is already limited to evals of one type, so `{part}` is not allowed",
            name.metric
        );
        return Some(
            Problem::error(Code::BadFormat, at, message).hint(format!("write `pass_rate[{part}]`")),
        );
    }
    let why = PartFilter::new(part).err()?;
    Some(Problem::error(
        Code::BadGlob,
        at,
        format!("`{}` is not a glob: {why}", part.value()),
    ))
}

#[derive(Debug, Clone, Copy, Default)]
struct DemandPlace {
    key: Option<Span>,
    value: Option<Span>,
}

/// A metric with its bounds, as one entry says them.
struct MetricBounds {
    name: MetricName,
    /// As messages show it.
    written: String,
    place: DemandPlace,
    /// A number without a word on its direction.
    number: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    figure: Figure,
}

/// What an entry of a set asks for: of the whole run, then of parts.
fn asks(
    written: &str,
    name: MetricName,
    spec: &ThresholdSpec,
    node: Option<&Node>,
    place: DemandPlace,
    problems: &mut Problems,
) -> Vec<MetricBounds> {
    let whole = MetricBounds {
        name,
        written: written.to_owned(),
        place,
        number: None,
        min: None,
        max: None,
        figure: Figure::Value,
    };
    let bounds = match spec {
        ThresholdSpec::Number(number) => {
            return vec![MetricBounds {
                number: Some(*number),
                ..whole
            }];
        }
        ThresholdSpec::Bounds(bounds) => bounds,
    };
    let figure = figure(bounds.bound, bounds.on, place.value, problems).unwrap_or_default();
    let mut whole = whole;
    if bounds.corrected == Some(true) {
        match (
            whole.name.metric.corrected(),
            bounds.has_parts() || whole.name.part.is_some(),
        ) {
            (Some(metric), false) => whole.name.metric = metric,
            (None, _) => {
                let message = format!("`{written}` can't be corrected");
                let hint = "`pass_rate`, `case_pass_rate` and `pass@1` can";
                problems.push(Problem::error(Code::UnknownMetric, place.key, message).hint(hint));
            }
            (Some(_), true) => problems.push(of_part(written, place.key)),
        }
    }
    let groups = [
        ("by_type", "type", &bounds.by_type),
        ("by_category", "category", &bounds.by_category),
        ("by_tag", "tag", &bounds.by_tag),
        ("by_eval", "eval", &bounds.by_eval),
    ];
    let (metric, nested) = (whole.name.metric.clone(), whole.name.part.is_some());
    let parted = groups.iter().any(|(.., parts)| !parts.is_empty());
    let mut asks = Vec::new();
    if bounds.min.is_some() || bounds.max.is_some() || !parted {
        asks.push(MetricBounds {
            min: bounds.min,
            max: bounds.max,
            figure,
            ..whole
        });
    }
    for (key, kind, parts) in groups {
        let group = node.and_then(|node| node.get(key));
        if nested && !parts.is_empty() {
            let at = node.and_then(|node| node.key_place(key)).or(place.key);
            let message = format!(
                "`{written}` is already limited to a part of the run, so `{key}` is not allowed"
            );
            problems.push(Problem::error(Code::BadFormat, at, message));
            continue;
        }
        for (value, spec) in parts {
            let place = DemandPlace {
                key: group.and_then(|group| group.key_place(value)).or(place.key),
                value: group
                    .and_then(|group| group.get(value))
                    .map(|node| node.span)
                    .or(place.value),
            };
            match part_ask(&metric, (kind, value), spec, figure, place, problems) {
                Ok(ask) => asks.push(MetricBounds {
                    written: format!("{written}: {key}: {value}"),
                    ..ask
                }),
                Err(problem) => problems.push(*problem),
            }
        }
    }
    asks
}

fn part_ask(
    metric: &Metric,
    (kind, value): (&str, &str),
    spec: &PartThreshold,
    inherited: Figure,
    place: DemandPlace,
    problems: &mut Problems,
) -> Result<MetricBounds, Box<Problem>> {
    let part = PartSelector::new(kind, value).map_err(|why| {
        let types = ["capability", "regression"]
            .into_iter()
            .filter(|_| kind == "type");
        Box::new(Problem::error(Code::BadFormat, place.key, why).near(value, types))
    })?;
    let name = MetricName {
        metric: metric.clone(),
        part: Some(part),
    };
    if let Some(problem) = part_fault(&name, place.key) {
        return Err(Box::new(problem));
    }
    let (number, min, max, figure) = match spec {
        PartThreshold::Number(number) => (Some(*number), None, None, inherited),
        PartThreshold::Bounds(b) => {
            let figure = figure(b.bound, b.on, place.value, problems).unwrap_or(inherited);
            (None, b.min, b.max, figure)
        }
    };
    Ok(MetricBounds {
        name,
        written: String::new(),
        place,
        number,
        min,
        max,
        figure,
    })
}

/// The figure that is asked for; `None` when nothing is said, or two things are, which is then
/// noted.
fn figure(
    bound: Option<IntervalBound>,
    on: Option<Figure>,
    at: Option<Span>,
    problems: &mut Problems,
) -> Option<Figure> {
    let bound = bound.map(Figure::from);
    if let (Some(bound), Some(on)) = (bound, on)
        && bound != on
    {
        let message =
            "`bound` and `on` are two spellings of the same setting, but their values differ";
        problems.push(Problem::error(Code::BothSpellings, at, message).hint("keep `bound`"));
        return None;
    }
    bound.or(on)
}

impl MetricBounds {
    fn demands(self, demands: &mut Vec<ThresholdDemand>, problems: &mut Problems) {
        let MetricBounds {
            name,
            place,
            number,
            min,
            max,
            figure,
            ..
        } = self;
        let metric = &name.metric;
        let spelled = spelled_metric(&name.to_string());
        let bounds = [
            number.map(|value| (metric.bound(), value)),
            min.map(|value| (Bound::Min, value)),
            max.map(|value| (Bound::Max, value)),
        ];
        if bounds.iter().all(Option::is_none) {
            let message = format!("the threshold on `{spelled}` has neither `min` nor `max`");
            problems.push(Problem::error(Code::MissingKey, place.value, message));
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            problems.push(Problem::error(
                Code::OutOfRange,
                place.value,
                format!("no value is between {min} and {max}"),
            ));
        }
        if figure != Figure::Value && !metric.may_have_interval() {
            let message = format!("`{spelled}` has no interval, so `bound` is not allowed");
            problems.push(Problem::error(Code::UnknownMetric, place.value, message));
        }
        for (bound, value) in bounds.into_iter().flatten() {
            let demand = ThresholdDemand {
                at: place.key,
                bare: number.is_some(),
                ..ThresholdDemand::new(name.clone(), bound, value, figure, DemandSource::File)
            };
            problems.extend(fault(&demand, place.value));
            demands.push(demand);
        }
    }
}

/// A whole number, written alone or as `{max: N}`.
fn max_regressions(spec: &ThresholdSpec) -> Option<u32> {
    let most = match spec {
        ThresholdSpec::Number(most) => *most,
        ThresholdSpec::Bounds(bounds) => {
            let alone = ThresholdBounds {
                max: bounds.max,
                ..ThresholdBounds::default()
            };
            bounds.max.filter(|_| *bounds == alone)?
        }
    };
    (most.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&most)).then_some(most as u32)
}

fn no_count(at: Option<Span>) -> Problem {
    let message =
        "`max_regressions` must be a whole number: how many failed regressions the gate allows";
    Problem::error(Code::OutOfRange, at, message).hint("for example `max_regressions: 2`")
}

/// `measured`: the names that this suite's graders and composites give to metrics.
pub(in crate::load) fn unknown_metric(name: &str, at: Option<Span>, measured: &[&str]) -> Problem {
    let known = measured.iter().copied().chain(built_in_names());
    let plain = PLAIN_METRICS.iter().map(|(_, name)| *name);
    let all: Vec<&str> = plain.chain(measured.iter().copied()).collect();
    Problem::error(Code::UnknownMetric, at, format!("`{name}` is not a metric"))
        .near(name, known)
        .or_hint(format!("valid metrics: pass@K, pass^K, {}", all.join(", ")))
}

/// A demand that is out of the metric's range, or that every run meets.
pub(super) fn fault(demand: &ThresholdDemand, at: Option<Span>) -> Option<Problem> {
    let ThresholdDemand {
        name, threshold, ..
    } = demand;
    let Threshold { value, bound, .. } = *threshold;
    let metric = &name.metric;
    if matches!(metric, Metric::Named(_)) && value.is_finite() {
        return None;
    }
    let top = if metric.is_share() {
        1.0
    } else {
        f64::INFINITY
    };
    if !value.is_finite() || value < 0.0 || value > top {
        return Some(out_of_range(
            &threshold.metric,
            value,
            metric.is_share(),
            at,
        ));
    }
    let idle = match bound {
        Bound::Min => value <= 0.0,
        Bound::Max => metric.is_share() && value >= 1.0,
    };
    idle.then(|| {
        let word = if bound == Bound::Min { "least" } else { "most" };
        let name = spelled_metric(&name.to_string());
        let message = format!("every run meets a threshold on `{name}` of at {word} {value}");
        Problem::error(Code::SuspiciousValue, at, message).as_warning()
    })
}

pub(super) fn out_of_range(metric: &str, value: f64, share: bool, at: Option<Span>) -> Problem {
    let metric = spelled_metric(metric);
    let range = if share {
        "between 0 and 1"
    } else {
        "at least 0"
    };
    let problem = Problem::error(
        Code::OutOfRange,
        at,
        format!("a threshold on `{metric}` must be {range}, not {value}"),
    );
    let percent = share && value > 1.0 && value <= 100.0;
    problem.maybe_hint(percent.then(|| format!("write {} for {value} %", value / 100.0)))
}

/// A built-in metric that a name was probably meant to be.
pub(super) fn near_built_in(name: &str) -> Option<&'static str> {
    did_you_mean(name, built_in_names())
}

fn built_in_names() -> Vec<&'static str> {
    PLAIN_METRICS
        .iter()
        .map(|(_, name)| *name)
        .chain(["pass_at_1", "pass_hat_3", MAX_REGRESSIONS, REQUIRE])
        .collect()
}
