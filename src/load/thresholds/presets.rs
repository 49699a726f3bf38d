//! The built-in presets.

use std::collections::BTreeMap;

use super::read::DemandSet;
use super::{DemandSource, ThresholdDemand};
use crate::load::problem::{Code, Problem};
use crate::load::source::Span;
use crate::model::{Bound, Figure, Metric, MetricName};

/// The table "Common Thresholds": name, pass@1, pass@k, pass^k.
const PRESETS: [(&str, f64, f64, f64); 4] = [
    ("development", 0.70, 0.90, 0.50),
    ("staging", 0.80, 0.95, 0.65),
    ("production", 0.90, 0.99, 0.80),
    ("critical", 0.95, 0.999, 0.90),
];
/// The k of the presets' pass@k and pass^k when the suite names none above 1.
const PRESET_K: u32 = 3;

/// The names of the presets that every suite has.
pub(in crate::load) fn built_in_presets() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, ..)| *name)
}

pub(super) fn unknown_preset(
    name: &str,
    at: Option<Span>,
    named: &BTreeMap<&str, DemandSet>,
) -> Problem {
    let known: Vec<&str> = named
        .keys()
        .copied()
        .chain(PRESETS.iter().map(|(name, ..)| *name))
        .collect();
    let message = format!("no preset is named `{name}`");
    Problem::error(Code::UnknownPreset, at, message)
        .near(name, known.iter().copied())
        .or_hint(format!("known presets: {}", known.join(", ")))
}

pub(super) fn built_in(name: &str, ks: &[u32]) -> Option<DemandSet> {
    let (_, one, at_k, hat_k) = PRESETS.iter().find(|(preset, ..)| *preset == name)?;
    let k = ks
        .iter()
        .copied()
        .filter(|k| *k > 1)
        .max()
        .unwrap_or(PRESET_K);
    let demand = |metric: Metric, value: f64| {
        let name = MetricName { metric, part: None };
        ThresholdDemand::new(name, Bound::Min, value, Figure::Value, DemandSource::Preset)
    };
    let demands = vec![
        demand(Metric::PassAt(1), *one),
        demand(Metric::PassAt(k), *at_k),
        demand(Metric::PassHat(k), *hat_k),
    ];
    Some(DemandSet {
        demands,
        ..DemandSet::default()
    })
}
