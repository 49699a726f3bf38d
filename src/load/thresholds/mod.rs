//! Thresholds: presets, metric names, directions, and demands that no run could meet or miss.
//!
//! They are read before the evals are; which names the graders measure is known after, and settles
//! the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

mod asked;
mod presets;
mod producible;
mod read;
#[cfg(test)]
mod tests;
mod typed;
mod unguarded;

use super::metrics::DeclaredMetrics;
use super::parts::part_of_plan;
use super::problem::{Code, Problem, Problems};
use super::source::Span;
use super::tree::Node;
use crate::model::{
    AskedThreshold, Bound, Composite, Eval, Figure, Metric, MetricName, NumberKind, Threshold,
    spelled_metric,
};
use crate::spec::Thresholds;
use crate::spec::words::GateRequirement;

pub(super) use asked::{required_pass_rate, resolve_thresholds};
pub use producible::too_few_evals;
pub(super) use producible::{check_evals, check_part_selected, check_parts, check_producible, ks};
pub(super) use read::{read_set, unknown_metric};
pub(super) use unguarded::warn_of_unguarded;

pub(super) use presets::built_in_presets;
use presets::{built_in, unknown_preset};
use read::{DemandSet, MAX_REGRESSIONS, fault, near_built_in, out_of_range};
use typed::read_typed;

/// A set of thresholds with the node that it was read from.
pub(super) type WrittenSet = (Thresholds, Option<Node>);

/// A demand with the place where it is written; none for the command line and the built-in presets.
#[derive(Debug, Clone)]
pub(super) struct ThresholdDemand {
    /// The metric of the threshold.
    pub name: MetricName,
    pub threshold: Threshold,
    pub at: Option<Span>,
    /// A number without a word on whether it is a minimum or a maximum; the metric decides.
    pub bare: bool,
    pub by: DemandSource,
}

/// Who demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DemandSource {
    File,
    Preset,
    Phase,
    CommandLine,
}

impl ThresholdDemand {
    fn new(
        name: MetricName,
        bound: Bound,
        value: f64,
        on: Figure,
        by: DemandSource,
    ) -> ThresholdDemand {
        let metric = name.to_string();
        let threshold = Threshold {
            metric,
            bound,
            value,
            on,
        };
        ThresholdDemand {
            name,
            threshold,
            at: None,
            bare: false,
            by,
        }
    }

    /// The author's name of the metric; `None` for built-in ones.
    pub fn author_name(&self) -> Option<&str> {
        match &self.name.metric {
            Metric::Named(name) => Some(name),
            _ => None,
        }
    }

    /// Those of these evals that the metric is of.
    pub fn evals(&self, evals: &[Arc<Eval>]) -> Vec<Arc<Eval>> {
        match &self.name.part {
            Some(part) => part_of_plan(part, evals),
            None => evals.to_vec(),
        }
    }

    /// A problem of the demand, with a word on where it comes from when that is no place in a file
    /// of the suite.
    pub fn problem(&self, code: Code, message: String) -> Problem {
        let message = match self.by {
            DemandSource::CommandLine => format!("`--threshold`: {message}"),
            DemandSource::Phase => format!("the thresholds of the phase: {message}"),
            DemandSource::File | DemandSource::Preset => message,
        };
        Problem::error(code, self.at, message)
    }
}

/// What was demanded, before it is known what the graders measure.
#[derive(Debug, Default)]
pub(super) struct ResolvedDemands {
    /// The set that holds.
    pub set: DemandSet,
    /// The command line's, whose demands replace those on the same metric.
    pub typed: DemandSet,
    /// Demands of all sets, chosen or not, on metrics that are not built in.
    named: Vec<ThresholdDemand>,
}

/// Everything that may say thresholds.
#[derive(Debug, Default)]
pub(super) struct ThresholdSources<'a> {
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

/// The demands of a run: the preset's (the command line's before the suite's), else the suite's
/// own; then the command line's.
pub(super) fn resolve(sources: &ThresholdSources, problems: &mut Problems) -> ResolvedDemands {
    let own = read_set(&sources.own, problems);
    let named: BTreeMap<&str, DemandSet> = sources
        .presets
        .iter()
        .map(|(name, set)| (name.as_str(), read_set(set, problems)))
        .collect();
    let is_named = |demand: &&ThresholdDemand| demand.author_name().is_some();
    let written = own
        .demands
        .iter()
        .chain(named.values().flat_map(|set| &set.demands));
    let mut mentioned: Vec<ThresholdDemand> = written.filter(is_named).cloned().collect();
    let wanted = match (sources.chosen, &sources.preset) {
        (Some(name), _) => Some((name, None)),
        (None, Some((name, at))) => Some((name.as_str(), Some(*at))),
        (None, None) => None,
    };
    let set = match wanted {
        None => own,
        Some((name, at)) => match named
            .get(name)
            .cloned()
            .or_else(|| built_in(name, sources.ks))
        {
            Some(set) => set,
            None => {
                problems.push(unknown_preset(name, at, &named));
                own
            }
        },
    };
    let asked = |ask: &AskedThreshold| ThresholdDemand {
        name: ask.name.clone(),
        threshold: ask.threshold.clone(),
        at: None,
        bare: ask.bare,
        by: DemandSource::Phase,
    };
    let mut typed = DemandSet::default();
    typed.demands.extend(sources.asked.iter().map(asked));
    for text in sources.overrides {
        problems.extend(read_typed(text, &mut typed).err().map(|problem| *problem));
    }
    let of_line = typed
        .demands
        .iter()
        .filter(|demand| demand.by == DemandSource::CommandLine);
    problems.extend(of_line.filter_map(|demand| fault(demand, None)));
    mentioned.extend(typed.demands.iter().filter(is_named).cloned());
    ResolvedDemands {
        set,
        typed,
        named: mentioned,
    }
}

impl ResolvedDemands {
    /// The demands, once it is known what graders measure and the suite computes. `complete`: false
    /// when faults may have hidden a part of that.
    pub fn settle(
        self,
        declared: &DeclaredMetrics,
        composites: &[Composite],
        complete: bool,
        problems: &mut Problems,
    ) -> Vec<ThresholdDemand> {
        let kind = |name: &str| {
            let composed = composites
                .iter()
                .any(|c| c.name == name)
                .then_some(NumberKind::Score);
            declared.get(name).copied().or(composed)
        };
        let known: Vec<&str> = declared
            .keys()
            .map(String::as_str)
            .chain(composites.iter().map(|c| c.name.as_str()))
            .collect();
        for demand in &self.named {
            let Some(name) = demand.author_name() else {
                continue;
            };
            match kind(name) {
                None if complete || near_built_in(name).is_some() => {
                    let unknown = unknown_metric(name, demand.at, &known);
                    problems.push(
                        demand
                            .problem(unknown.code, unknown.message.clone())
                            .maybe_hint(unknown.hint),
                    );
                }
                None => {}
                Some(kind) => problems.extend(named_fault(demand, kind)),
            }
            if demand.threshold.on != Figure::Value && composites.iter().any(|c| c.name == name) {
                let message = format!(
                    "`{name}` is computed from other metrics and has no interval, so `bound` is not allowed"
                );
                problems.push(demand.problem(Code::UnknownMetric, message));
            }
        }
        let settled = |mut demand: ThresholdDemand| {
            let name = demand.author_name().filter(|_| demand.bare);
            if name.is_some_and(|name| kind(name) == Some(NumberKind::Rate)) {
                demand.threshold.bound = Bound::Max;
            }
            demand
        };
        let mut demands: Vec<ThresholdDemand> = self.set.demands.into_iter().map(settled).collect();
        for demand in self.typed.demands.into_iter().map(settled) {
            let (metric, bound) = (&demand.threshold.metric, demand.threshold.bound);
            demands.retain(|d| d.threshold.metric != *metric || d.threshold.bound != bound);
            demands.push(demand);
        }
        problems.extend(contradiction(&demands));
        demands
    }
}

/// A minimum above a maximum of the same figure that come from two places, or from the command
/// line; in one place of a file it is told there.
fn contradiction(demands: &[ThresholdDemand]) -> Option<Problem> {
    demands.iter().find_map(|low| {
        let over = |high: &&ThresholdDemand| {
            let (a, b) = (&low.threshold, &high.threshold);
            let both = a.metric == b.metric
                && a.on == b.on
                && (a.bound, b.bound) == (Bound::Min, Bound::Max);
            let told =
                (low.at, low.by) == (high.at, high.by) && low.by != DemandSource::CommandLine;
            both && a.value > b.value && !told
        };
        let high = demands.iter().find(over)?;
        let later = if high.by > low.by { high } else { low };
        let (metric, min, max) = (
            spelled_metric(&low.threshold.metric),
            low.threshold.value,
            high.threshold.value,
        );
        let message = format!("no value of `{metric}` is at least {min} and at most {max}");
        Some(
            later
                .problem(Code::OutOfRange, message)
                .hint("both thresholds apply: one is a minimum, the other a maximum"),
        )
    })
}

/// A demand on a measured metric that has no direction, or lies out of its range.
fn named_fault(demand: &ThresholdDemand, kind: NumberKind) -> Option<Problem> {
    let Threshold { metric, value, .. } = &demand.threshold;
    match kind {
        NumberKind::Number if demand.bare => {
            let message =
                format!("it is not known whether `{metric}` is better when it is higher or lower");
            let hint = format!(
                "write `{{min: {value}}}` or `{{max: {value}}}`; for `--threshold`, `{metric}>={value}` or `{metric}<={value}`"
            );
            Some(demand.problem(Code::MissingKey, message).hint(hint))
        }
        NumberKind::Score if !(0.0..=1.0).contains(value) => {
            Some(out_of_range(metric, *value, true, demand.at))
        }
        NumberKind::Rate if *value < 0.0 => Some(out_of_range(metric, *value, false, demand.at)),
        _ => None,
    }
}

/// Every eval must pass, and some may fail: that contradicts itself.
pub(super) fn check_requirement(
    require: Option<GateRequirement>,
    max_regressions: Option<u32>,
    problems: &mut Problems,
) {
    if let (Some(GateRequirement::AllEvals), Some(most @ 1..)) = (require, max_regressions) {
        let message = format!(
            "`require: all_evals` and `max_regressions: {most}` contradict each other: one requires that all evals pass, the other allows failures"
        );
        problems.push(Problem::general(Code::OutOfRange, message).hint("keep one of them"));
    }
}

/// Names of a set that is read without its suite: what graders measure is not known, but what looks
/// like a slip is told.
pub(super) fn warn_of_slips((set, node): &WrittenSet, problems: &mut Problems) {
    for written in set.by_metric.keys().filter(|name| *name != MAX_REGRESSIONS) {
        let Ok(MetricName {
            metric: Metric::Named(name),
            ..
        }) = written.parse()
        else {
            continue;
        };
        if near_built_in(&name).is_some() {
            let key = node.as_ref().and_then(|n| n.key_place(written));
            problems.push(unknown_metric(&name, key, &[]).as_warning());
        }
    }
}
