//! Metrics of parts of a run, which the gate names: `METRIC[tag=x]` is METRIC of the run that
//! `--tag x` would have been, its interval and its extremes too. An eval of which only some cases
//! belong to the part is there with these alone.

use std::collections::{BTreeMap, BTreeSet};

use super::composite;
use super::metrics::{CountedEval, CountedRun, undefined_because};
use super::outcomes::OutcomeReading;
use crate::load::PartFilter;
use crate::model::{
    Bound, Composite, Figure, IntervalShortfall, Metric, MetricName, PartSelector, RunStarted,
    RunTally, Threshold,
};
use eval_stats::{reaches, stays_within};

/// A part of a run, counted apart.
struct PartCounts<'a> {
    part: &'a PartSelector,
    metrics: &'a [Metric],
    counted: Option<CountedRun<'a>>,
}

/// Puts the metrics of parts among those of the whole run, under each reading.
pub(super) fn add(
    whole: &CountedRun<'_>,
    started: &RunStarted,
    readings: [(OutcomeReading, &mut RunTally); 3],
) {
    let asked = parts_of_gate_and_run(started);
    if asked.is_empty() {
        return;
    }
    let parts: Vec<PartCounts<'_>> = asked
        .iter()
        .map(|(part, metrics)| PartCounts {
            part,
            metrics,
            counted: counted(whole, started, part, metrics),
        })
        .collect();
    let open = whole.is_open();
    let mut known = RunTally::default();
    for (reading, tally) in readings {
        if reading == OutcomeReading::Graded || open {
            known = RunTally::default();
            parts
                .iter()
                .for_each(|part| part.read(reading, &started.config.composites, &mut known));
        }
        tally.metrics.extend(known.metrics.clone());
        tally.shares.extend(known.shares.clone());
    }
}

/// What thresholds on the near ends of intervals lack.
pub(super) fn lacks(
    whole: &CountedRun<'_>,
    started: &RunStarted,
    actual: &RunTally,
) -> Vec<IntervalShortfall> {
    // Where the value itself misses, nothing is said of more of the same.
    let near = |t: &&Threshold| {
        let value = actual
            .metrics
            .get(&t.metric)
            .and_then(|estimate| estimate.value);
        value.is_some_and(|value| match (t.on, t.bound) {
            (Figure::CiLower, Bound::Min) => reaches(value, t.value),
            (Figure::CiUpper, Bound::Max) => stays_within(value, t.value),
            _ => false,
        })
    };
    let mut missed: BTreeMap<Option<PartSelector>, Vec<(&Threshold, Metric)>> = BTreeMap::new();
    for threshold in started.config.gate.thresholds.iter().filter(near) {
        if let Ok(MetricName { metric, part }) = threshold.metric.parse() {
            missed.entry(part).or_default().push((threshold, metric));
        }
    }
    let of_part = |(part, missed): (Option<PartSelector>, Vec<(&Threshold, Metric)>)| match part {
        None => whole.lacks(&missed),
        Some(part) => {
            let metrics: Vec<Metric> = missed.iter().map(|(_, metric)| metric.clone()).collect();
            counted(whole, started, &part, &metrics)
                .map_or_else(Vec::new, |part| part.lacks(&missed))
        }
    };
    missed.into_iter().flat_map(of_part).collect()
}

/// The parts that the gate or the run names, each with the metrics that it is asked for.
fn parts_of_gate_and_run(started: &RunStarted) -> BTreeMap<PartSelector, Vec<Metric>> {
    let mut asked: BTreeMap<PartSelector, Vec<Metric>> = BTreeMap::new();
    let config = &started.config;
    let of_gate = config.gate.thresholds.iter().map(|t| &t.metric);
    for name in of_gate.chain(&config.reported_parts) {
        if let Ok(MetricName {
            metric,
            part: Some(part),
        }) = name.parse()
        {
            let metrics = asked.entry(part).or_default();
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
    }
    asked
}

/// `None` when the run has no case of the part.
fn counted<'a>(
    whole: &CountedRun<'a>,
    started: &RunStarted,
    part: &PartSelector,
    metrics: &[Metric],
) -> Option<CountedRun<'a>> {
    let filter = PartFilter::new(part).ok()?;
    let evals: Vec<CountedEval<'a>> = whole
        .evals
        .iter()
        .filter_map(|eval| eval.within(&filter))
        .collect();
    if evals.is_empty() {
        return None;
    }
    let mut wanted: BTreeSet<Metric> = metrics.iter().cloned().collect();
    for composite in &started.config.composites {
        if metrics
            .iter()
            .any(|metric| matches!(metric, Metric::Named(name) if *name == composite.name))
        {
            wanted.extend(
                composite
                    .components
                    .iter()
                    .filter_map(|part| part.metric.parse::<Metric>().ok()),
            );
        }
    }
    Some(whole.part(evals, wanted, &started.config.score_metrics))
}

impl PartCounts<'_> {
    fn read(&self, reading: OutcomeReading, composites: &[Composite], into: &mut RunTally) {
        let mut tally = self
            .counted
            .as_ref()
            .map(|counted| counted.tally(reading))
            .unwrap_or_default();
        if self.counted.is_some() {
            composite::add(composites, &mut tally.metrics);
        }
        for metric in self.metrics {
            let name = MetricName {
                metric: metric.clone(),
                part: Some(self.part.clone()),
            }
            .to_string();
            let estimate = tally
                .metrics
                .remove(&metric.to_string())
                .unwrap_or_else(|| {
                    undefined_because(match self.counted {
                        Some(_) => "no value was measured for this part".to_owned(),
                        None => format!("no case of this run belongs to `{}`", self.part),
                    })
                });
            if let Some(share) = tally.shares.remove(&metric.to_string()) {
                into.shares.insert(name.clone(), share);
            }
            into.metrics.insert(name, estimate);
        }
    }
}
