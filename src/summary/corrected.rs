//! The pass rate that people would give, by the calibrations of a run's judges, and the worth of
//! these judges as metrics.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::CaseView;
use super::fold::SummaryFold;
use super::judges::{JudgeCounts, PanelWorth, SampleDecider};
use super::metrics::{CountedRun, LEVEL, blank, undefined_because};
use super::outcomes::OutcomeReading;
use crate::calibration::JudgedCounts;
use crate::model::{Estimate, JudgeWorth, Metric, Outcome, RunStarted, RunTally};
use eval_base::text::{one_line, plural};
use eval_stats::{LabelledShare, RateStratum, stratified_rate};

/// Whether calibrations are shown: there are some, or a threshold requires one.
fn are_wanted(started: &RunStarted) -> bool {
    !started.config.calibrations.is_empty() || !demanded(started).is_empty()
}

/// The metrics of thresholds that rest on calibrations.
fn demanded(started: &RunStarted) -> BTreeSet<Metric> {
    let thresholds = started.config.gate.thresholds.iter();
    thresholds
        .filter_map(|threshold| threshold.metric.parse::<Metric>().ok())
        .filter(Metric::is_of_calibrations)
        .collect()
}

/// What reports say of the worth of judges.
pub(super) fn worth(
    fold: &SummaryFold,
    counts: &JudgeCounts,
    started: &RunStarted,
) -> Vec<JudgeWorth> {
    if !are_wanted(started) {
        return Vec::new();
    }
    let judges = fold.judges.calibrated(counts, started);
    judges.map(|panel| panel.told()).collect()
}

/// Adds the metrics that rest on calibrations: those that a threshold demands, and those that have a
/// value.
pub(super) fn add(
    fold: &SummaryFold,
    counted: &CountedRun<'_>,
    started: &RunStarted,
    readings: &mut [(OutcomeReading, &mut RunTally); 3],
) {
    let (Some(counts), true) = (counted.judges(), are_wanted(started)) else {
        return;
    };
    let demanded = demanded(started);
    let panels: Vec<PanelWorth<'_>> = fold.judges.calibrated(counts, started).collect();
    let strata = RunStrata::of(counted);
    let shares: Vec<(&str, [Estimate; 2])> = panels
        .iter()
        .map(|panel| (panel.name, panel.judge.shares()))
        .collect();
    let raws: BTreeMap<String, f64> = readings[0]
        .1
        .metrics
        .iter()
        .filter_map(|(name, estimate)| Some((name.clone(), estimate.value?)))
        .collect();
    for (reading, tally) in readings {
        let mut put = |metric: Metric, is_usual: bool, estimate: Estimate| {
            if demanded.contains(&metric) || is_usual && estimate.value.is_some() {
                tally.metrics.insert(metric.to_string(), estimate);
            }
        };
        for (metric, is_usual) in [
            (Metric::CorrectedPassAt1, true),
            (Metric::CorrectedPassRate, false),
            (Metric::CorrectedCasePassRate, false),
        ] {
            let raw = metric
                .uncorrected()
                .and_then(|raw| raws.get(&raw.to_string()).copied());
            let estimate = match (raw, strata.raw()) {
                // Scores may let an eval pass whose cases fail.
                (Some(raw), Some(share)) if strata.several == 0 && (raw - share).abs() > 1e-9 => {
                    undefined_because("it is not the share of samples that passed".to_owned())
                }
                _ => strata.rate(&metric, *reading, &panels),
            };
            put(metric, is_usual, estimate);
        }
        for (metric, at) in [(Metric::JudgeSensitivity, 0), (Metric::JudgeSpecificity, 1)] {
            put(metric, true, lowest(&shares, at));
        }
    }
}

/// The lowest of the figures of judges, by the lower ends of their intervals: a run is as good as
/// its worst judge.
fn lowest(shares: &[(&str, [Estimate; 2])], at: usize) -> Estimate {
    let figures = || shares.iter().map(|(name, shares)| (*name, &shares[at]));
    if let Some((name, estimate)) = figures().find(|(_, estimate)| estimate.ci.is_none()) {
        let why = estimate.undefined.as_deref().unwrap_or("it is unknown");
        return undefined_because(format!("judge `{}`: {why}", one_line(name)));
    }
    let low = |estimate: &Estimate| estimate.ci.map_or(0.0, |ci| ci[0]);
    let worst = figures().min_by(|a, b| low(a.1).total_cmp(&low(b.1)));
    match worst {
        Some((_, estimate)) => estimate.clone(),
        None => undefined_because("no judge gave a verdict".to_owned()),
    }
}

/// Samples by what decides them.
#[derive(Debug, Default)]
struct RunStrata {
    /// Samples that code or people decide.
    others: JudgedCounts,
    judges: BTreeMap<u32, JudgedCounts>,
    several: u64,
    ungraded: u64,
    ungraded_cases: u64,
    /// Samples of the case that has most, and of the one that has fewest.
    most: u64,
    fewest: Option<u64>,
    /// Cases of the eval that has most.
    cases: usize,
    /// A later attempt replaced a first one.
    retried: bool,
}

impl RunStrata {
    fn of(counted: &CountedRun<'_>) -> RunStrata {
        let mut strata = RunStrata::default();
        for eval in &counted.evals {
            strata.cases = strata.cases.max(eval.len());
            eval.cases().for_each(|case| strata.add(case));
        }
        strata
    }

    fn add(&mut self, case: CaseView<'_>) {
        let (finals, firsts) = (case.finals(), case.firsts());
        self.retried |= (finals.passed, finals.failed) != (firsts.passed, firsts.failed);
        let samples = u64::from(finals.total());
        self.most = self.most.max(samples);
        self.fewest = Some(self.fewest.map_or(samples, |fewest| fewest.min(samples)));
        let (mut others, mut ungraded) = (false, false);
        let mut judges = BTreeSet::new();
        for slot in case.slots() {
            let passed = match case.eval.packed(slot).outcome() {
                Outcome::Passed => true,
                Outcome::Failed => false,
                _ => {
                    self.ungraded += 1;
                    ungraded = true;
                    continue;
                }
            };
            let judged = case.judged(slot);
            let decider = judged.map_or(SampleDecider::Others, |judged| judged.decider());
            let counts = match (decider, judged.and_then(|judged| judged.deciding())) {
                (SampleDecider::Judge, Some((panel, verdict))) => {
                    judges.insert(panel);
                    let counts = self.judges.entry(panel).or_default();
                    // A negated judge is corrected as it judges, and turned round after that.
                    if verdict != passed {
                        self.several += 1;
                        continue;
                    }
                    counts
                }
                (SampleDecider::Others, _) => {
                    others = true;
                    &mut self.others
                }
                _ => {
                    self.several += 1;
                    continue;
                }
            };
            counts.judged += 1;
            counts.passed += u64::from(passed);
        }
        self.others.cases += u64::from(others);
        self.ungraded_cases += u64::from(ungraded);
        for panel in judges {
            self.judges.entry(panel).or_default().cases += 1;
        }
    }

    /// Why a metric of this run is no share of its samples, so that it can't be corrected.
    fn misfit(&self, metric: &Metric) -> Option<&'static str> {
        let single = self.most <= 1;
        match metric {
            Metric::CorrectedPassRate if !single || self.cases > 1 => {
                Some("it counts evals, some of which have several cases or samples; use `pass@1`")
            }
            Metric::CorrectedCasePassRate if !single => {
                Some("it counts cases, some of which have several samples; use `pass@1`")
            }
            Metric::CorrectedPassAt1 if self.retried => {
                Some("it counts first attempts, some of which were repeated")
            }
            Metric::CorrectedPassAt1 if self.fewest != Some(self.most) => {
                Some("cases have different numbers of samples")
            }
            _ => None,
        }
    }

    /// The share of graded samples that passed.
    fn raw(&self) -> Option<f64> {
        let all = || self.judges.values().chain([&self.others]);
        let judged: u64 = all().map(|counts| counts.judged).sum();
        let passed: u64 = all().map(|counts| counts.passed).sum();
        (judged > 0).then(|| passed as f64 / judged as f64)
    }

    fn rate(
        &self,
        metric: &Metric,
        reading: OutcomeReading,
        panels: &[PanelWorth<'_>],
    ) -> Estimate {
        if let Some(why) = self.misfit(metric) {
            return undefined_because(why.to_owned());
        }
        if self.several > 0 {
            let samples = plural(self.several as usize, "sample");
            return undefined_because(format!(
                "the verdict on {samples} depends on a judge in a way that is not corrected: together with other graders, or negated"
            ));
        }
        let mut open = self.others;
        if reading != OutcomeReading::Graded {
            open.judged += self.ungraded;
            open.cases += self.ungraded_cases;
            open.passed += match reading {
                OutcomeReading::Best => self.ungraded,
                _ => 0,
            };
        }
        let mut strata = Vec::new();
        if open.judged > 0 {
            let share = open.passed as f64 / open.judged as f64;
            let n = open.cases.min(open.judged) as f64;
            match LabelledShare::of(share, n).interval(LEVEL) {
                Ok(interval) => strata.push(RateStratum {
                    items: open.judged as f64,
                    n,
                    value: share,
                    low: interval.low,
                    high: interval.high,
                }),
                Err(reason) => return undefined_because(reason.to_string()),
            }
        }
        let mut labels = 0;
        for (number, counts) in self.judges.iter().filter(|(_, counts)| counts.judged > 0) {
            let Some(panel) = panels.iter().find(|panel| panel.number == *number) else {
                return undefined_because("a judge is unknown".to_owned());
            };
            // Labels of all outputs of a judge are no draw of a part of them.
            let [_, corrected] = panel.judge.of_part(*counts == panel.counts).rates(*counts);
            let (Some(value), Some([low, high])) = (corrected.value, corrected.ci) else {
                let why = corrected.undefined.unwrap_or_default();
                return undefined_because(format!("judge `{}`: {why}", one_line(panel.name)));
            };
            labels += corrected.n_cases;
            strata.push(RateStratum {
                items: counts.judged as f64,
                n: counts.cases.min(counts.judged) as f64,
                value,
                low,
                high,
            });
        }
        match stratified_rate(&strata, LEVEL) {
            Ok(rate) => Estimate {
                value: Some(rate.value),
                ci: Some([rate.interval.low, rate.interval.high]),
                method: rate.interval.method.name().to_owned(),
                n_cases: labels,
                ..blank()
            },
            Err(reason) => undefined_because(reason.to_string()),
        }
    }
}
