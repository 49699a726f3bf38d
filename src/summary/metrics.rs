//! Metrics with their intervals, under each reading of the samples without a grade.
//!
//! One pass over the cases for each reading; nothing is held for every case.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::columns::{CaseView, EvalFold};
use super::judges::JudgeCounts;
use super::measured::MeasuredTotals;
use super::named::NamedMetric;
use super::outcomes::{EvalCounter, OutcomeReading, SampleCounts};
use super::over_cases::{CaseSamples, IntervalDesign, OverCases, too_few_evals};
use crate::load::PartFilter;
use crate::model::{
    Estimate, EvalInfo, EvalTally, EvalType, IntervalScope, IntervalShortfall, Metric, Outcome,
    RunTally, Threshold,
};
use eval_stats::{
    Interval, UndefinedReason, ValueSeries, likelihood, pass_at_k, pass_hat_k, pass_hat_k_unbiased,
};

/// Confidence of every interval.
pub(super) const LEVEL: f64 = 0.95;

/// The counts of a run, by eval and case.
pub(super) struct CountedRun<'a> {
    pub evals: Vec<CountedEval<'a>>,
    ks: Vec<u32>,
    /// What intervals speak about; `None` when no interval is needed.
    intervals: Option<IntervalScope>,
    /// The metrics that are asked for, of a part of a run; of others the interval may be missing.
    wanted: Option<BTreeSet<Metric>>,
    /// Samples of the case that has fewest.
    fewest: Option<u32>,
    /// Samples without a grade.
    pub errored: usize,
    pub skipped: usize,
    pub pending: usize,
    /// Some first attempt has no grade, whatever came of later ones.
    open_firsts: bool,
    measured: MeasuredTotals,
    named: Vec<NamedMetric>,
    judges: Option<JudgeCounts>,
}

/// An eval with its cases in the plan's order.
pub(crate) struct CountedEval<'a> {
    /// Its number among all that were planned.
    pub number: usize,
    pub fold: &'a EvalFold,
    /// The cases that count, when they are not all of them or come in another order than they are
    /// kept in.
    order: Option<Vec<u32>>,
}

impl<'a> CountedEval<'a> {
    pub fn new(number: usize, fold: &'a EvalFold) -> Self {
        CountedEval {
            number,
            fold,
            order: fold.order(),
        }
    }

    pub fn info(&self) -> &'a EvalInfo {
        &self.fold.info
    }

    /// The eval with its cases in the part; `None` when it has none.
    pub fn within(&self, filter: &PartFilter) -> Option<CountedEval<'a>> {
        let CountedEval { number, fold, .. } = *self;
        if filter.takes_eval(&fold.info) {
            return Some(CountedEval {
                number,
                fold,
                order: self.order.clone(),
            });
        }
        if !fold.tags().sets().any(|tags| filter.takes_case(tags)) {
            return None;
        }
        let cases = self.cases().filter(|case| filter.takes_case(case.tags()));
        let order: Vec<u32> = cases.map(|case| case.at as u32).collect();
        (!order.is_empty()).then_some(CountedEval {
            number,
            fold,
            order: Some(order),
        })
    }

    /// How many of its cases count.
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.fold.len(), Vec::len)
    }

    pub fn cases(&self) -> impl Iterator<Item = CaseView<'a>> {
        let (fold, len) = (self.fold, self.len());
        (0..len).map(move |at| {
            fold.case(
                self.order
                    .as_ref()
                    .map_or(at, |order| order.get(at).map_or(at, |at| *at as usize)),
            )
        })
    }

    pub fn counter(&self) -> EvalCounter {
        EvalCounter::new(
            self.fold.info.pass_rate_threshold,
            self.fold.info.score_threshold,
        )
    }
}

impl<'a> CountedRun<'a> {
    pub fn new(
        evals: Vec<CountedEval<'a>>,
        ks: &[u32],
        intervals: Option<IntervalScope>,
        score_metrics: &[String],
    ) -> Self {
        CountedRun::wanted(evals, ks.to_vec(), intervals, None, score_metrics)
    }

    /// Some evals of this run, with some of their cases, for the sake of some metrics.
    pub fn part(
        &self,
        evals: Vec<CountedEval<'a>>,
        wanted: BTreeSet<Metric>,
        score_metrics: &[String],
    ) -> CountedRun<'a> {
        let mut ks: Vec<u32> = wanted.iter().filter_map(Metric::k).collect();
        ks.sort_unstable();
        ks.dedup();
        CountedRun::wanted(evals, ks, self.intervals, Some(wanted), score_metrics)
    }

    fn wanted(
        evals: Vec<CountedEval<'a>>,
        ks: Vec<u32>,
        intervals: Option<IntervalScope>,
        wanted: Option<BTreeSet<Metric>>,
        score_metrics: &[String],
    ) -> Self {
        let measured = MeasuredTotals::new(&evals);
        let (mut fewest, mut errored, mut skipped, mut pending) = (None, 0, 0, 0);
        let mut open_firsts = false;
        for case in evals.iter().flat_map(CountedEval::cases) {
            let finals = case.finals();
            open_firsts |= case.firsts().ungraded() > 0;
            fewest = Some(fewest.map_or(finals.total(), |fewest: u32| fewest.min(finals.total())));
            errored += finals.errored as usize;
            skipped += finals.skipped as usize;
            pending += finals.pending as usize;
        }
        let is_wanted = |name: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.contains(&Metric::Named(name.to_owned())))
        };
        let named = NamedMetric::all(
            &evals,
            is_wanted,
            score_metrics,
            measured.samples,
            errored + skipped + pending,
            intervals,
        );
        let judges = JudgeCounts::new(&evals);
        CountedRun {
            evals,
            ks,
            intervals,
            wanted,
            fewest,
            errored,
            skipped,
            pending,
            open_firsts,
            measured,
            named,
            judges,
        }
    }

    /// Counts of judges; `None` when no case has one.
    pub fn judges(&self) -> Option<&JudgeCounts> {
        self.judges.as_ref()
    }

    /// True when the interval of a metric is needed.
    fn has_interval(&self, metric: &Metric) -> bool {
        self.intervals.is_some()
            && self
                .wanted
                .as_ref()
                .is_none_or(|wanted| wanted.contains(metric))
    }

    /// True when what is not known could change a figure, so that its worst and best differ.
    pub fn is_open(&self) -> bool {
        let ungraded = self.errored + self.skipped + self.pending;
        ungraded > 0
            || self.open_firsts
            || self.measured.is_in_part()
            || self.judges.as_ref().is_some_and(JudgeCounts::is_open)
            || self.named.iter().any(NamedMetric::is_open)
    }

    /// Outcomes and metrics under one reading.
    pub fn tally(&self, reading: OutcomeReading) -> RunTally {
        let (read, evals) = self.read(reading);
        let mut shares: BTreeMap<String, [u64; 2]> = read
            .shares()
            .into_iter()
            .map(|(metric, share)| (metric.to_string(), share))
            .collect();
        shares.extend(
            self.named
                .iter()
                .filter_map(|named| Some((named.name.clone(), named.share?))),
        );
        let mut metrics: BTreeMap<String, Estimate> = self
            .named
            .iter()
            .map(|named| (named.name.clone(), named.estimate(reading)))
            .collect();
        let built_in = read
            .estimates(self.fewest, |metric| self.has_interval(metric))
            .into_iter()
            .chain(self.measured.estimates(reading))
            .chain(
                self.judges
                    .iter()
                    .flat_map(|judges| judges.estimates(reading)),
            );
        metrics.extend(built_in.map(|(metric, estimate)| (metric.to_string(), estimate)));
        RunTally {
            evals,
            metrics,
            shares,
        }
    }

    fn read(&self, reading: OutcomeReading) -> (MetricInputs, Vec<EvalTally>) {
        let mut read = MetricInputs::new(&self.ks, self.intervals.unwrap_or_default());
        let mut evals = Vec::with_capacity(self.evals.len());
        for (at, eval) in self.evals.iter().enumerate() {
            let mut counter = eval.counter();
            for case in eval.cases() {
                read.case(
                    at,
                    &mut counter,
                    &case.finals().read(reading),
                    &case.firsts().read(reading),
                );
            }
            let outcome = counter.outcome();
            let info = eval.info();
            read.eval(at, info, outcome);
            let (id, kind, criticality) = (info.id.clone(), info.kind, info.criticality);
            evals.push(EvalTally {
                id,
                kind,
                criticality,
                outcome,
            });
        }
        (read, evals)
    }

    /// What thresholds on an end of the interval of a metric lack; all of them miss just that end.
    pub fn lacks(&self, missed: &[(&Threshold, Metric)]) -> Vec<IntervalShortfall> {
        let read = LazyCell::new(|| self.read(OutcomeReading::Graded).0);
        let lack = |(threshold, metric): &(&Threshold, Metric)| {
            let design = match metric {
                Metric::Named(name) => self
                    .named
                    .iter()
                    .find(|named| named.name == *name)?
                    .design(),
                _ => read.design(metric)?,
            };
            design.lack(threshold)
        };
        missed.iter().filter_map(lack).collect()
    }
}

/// What is gathered in one pass.
struct MetricInputs {
    pass_k: Vec<PassK>,
    /// 1 for each case that passed, 0 for each that failed.
    cases: OverCases,
    scores: OverCases,
    /// Every case has one sample, and a score of 0 or 1 if it has one.
    single: bool,
    evals: PassedShare,
    capabilities: PassedShare,
    regressions: PassedShare,
    /// Weights of graded evals, by their place.
    weights: BTreeMap<usize, f64>,
    scope: IntervalScope,
}

impl MetricInputs {
    fn new(ks: &[u32], scope: IntervalScope) -> Self {
        let metrics = ks.iter().flat_map(|k| {
            [
                Metric::PassAt(*k),
                Metric::PassHat(*k),
                Metric::PassHatUnbiased(*k),
            ]
        });
        MetricInputs {
            pass_k: metrics.map(|metric| PassK::new(metric, scope)).collect(),
            cases: OverCases::new(scope),
            scores: OverCases::new(scope),
            single: true,
            evals: PassedShare::default(),
            capabilities: PassedShare::default(),
            regressions: PassedShare::default(),
            weights: BTreeMap::new(),
            scope,
        }
    }

    fn case(
        &mut self,
        eval: usize,
        counter: &mut EvalCounter,
        finals: &SampleCounts,
        firsts: &SampleCounts,
    ) {
        let outcome = counter.add(finals);
        if outcome.is_graded() {
            self.cases
                .add(eval, f64::from(u8::from(outcome == Outcome::Passed)), None);
        }
        let score = finals.score();
        self.single &=
            finals.total() == 1 && score.is_none_or(|score| score == 0.0 || score == 1.0);
        if let Some(score) = score {
            let (n, planned) = (finals.passed + finals.failed, finals.total());
            let samples = CaseSamples {
                n,
                sum: finals.score_sum,
                planned,
            };
            self.scores.add(eval, score, Some(samples));
        }
        for pass_k in &mut self.pass_k {
            pass_k.add(eval, firsts);
        }
    }

    fn eval(&mut self, at: usize, info: &EvalInfo, outcome: Outcome) {
        self.evals.add(outcome);
        match info.kind {
            EvalType::Capability => self.capabilities.add(outcome),
            EvalType::Regression => self.regressions.add(outcome),
        }
        if outcome.is_graded() {
            self.weights.insert(at, info.weight);
        }
    }

    fn weight(&self, eval: usize) -> f64 {
        self.weights.get(&eval).copied().unwrap_or(0.0)
    }

    /// What the interval of a metric is over; `None` where it has none.
    fn design(&self, metric: &Metric) -> Option<IntervalDesign> {
        let of_verdicts = |rate: &PassedShare| {
            IntervalDesign::of_verdicts(rate.passed as f64, rate.graded as f64, "eval")
        };
        let of_cases = |cases: &OverCases| (!cases.is_empty()).then(|| cases.design(None));
        match metric {
            Metric::PassRate => Some(of_verdicts(&self.evals)),
            Metric::CapabilityPassRate => Some(of_verdicts(&self.capabilities)),
            Metric::RegressionPassRate => Some(of_verdicts(&self.regressions)),
            Metric::CasePassRate => of_cases(&self.cases),
            Metric::Score => of_cases(&self.scores),
            Metric::WeightedScore => Some(self.scores.design(Some(&|eval| self.weight(eval)))),
            _ => of_cases(
                &self
                    .pass_k
                    .iter()
                    .find(|pass_k| pass_k.metric == *metric)?
                    .values,
            ),
        }
    }

    /// The metrics that are a share of verdicts, as counts.
    fn shares(&self) -> Vec<(Metric, [u64; 2])> {
        let rates = [
            (Metric::PassRate, &self.evals),
            (Metric::CapabilityPassRate, &self.capabilities),
            (Metric::RegressionPassRate, &self.regressions),
        ];
        let mut shares: Vec<(Metric, [u64; 2])> = rates
            .into_iter()
            .map(|(metric, rate)| (metric, [rate.passed, rate.graded]))
            .collect();
        shares.push((Metric::CasePassRate, self.cases.share().unwrap_or_default()));
        let single = self.pass_k.iter().filter(|pass_k| pass_k.single);
        shares.extend(
            single.filter_map(|pass_k| Some((pass_k.metric.clone(), pass_k.values.share()?))),
        );
        shares.extend(
            self.scores
                .share()
                .filter(|_| self.single)
                .map(|share| (Metric::Score, share)),
        );
        shares
    }

    fn estimates(
        self,
        fewest: Option<u32>,
        has_interval: impl Fn(&Metric) -> bool,
    ) -> Vec<(Metric, Estimate)> {
        let of = |metric: Metric, of: &dyn Fn(bool) -> Estimate| {
            let estimate = of(has_interval(&metric));
            (metric, estimate)
        };
        let of_k = |pass_k: &PassK| {
            of(pass_k.metric.clone(), &|interval| {
                pass_k.estimate(fewest, interval)
            })
        };
        let mut estimates: Vec<(Metric, Estimate)> = self.pass_k.iter().map(of_k).collect();
        let weighted = |interval: bool| match self.weights.is_empty() {
            true => undefined(UndefinedReason::NoData),
            false => self
                .scores
                .weighted_estimate(&|eval| self.weight(eval), interval),
        };
        estimates.extend([
            of(Metric::PassRate, &|_| self.evals.estimate(self.scope)),
            of(Metric::CapabilityPassRate, &|_| {
                self.capabilities.estimate(self.scope)
            }),
            of(Metric::RegressionPassRate, &|_| {
                self.regressions.estimate(self.scope)
            }),
            of(Metric::CasePassRate, &|interval| {
                self.cases.estimate(interval)
            }),
            of(Metric::Score, &|interval| self.scores.estimate(interval)),
            of(Metric::WeightedScore, &weighted),
        ]);
        estimates
    }
}

/// The share of what was graded that passed.
#[derive(Default)]
struct PassedShare {
    passed: u64,
    graded: u64,
}

impl PassedShare {
    fn add(&mut self, outcome: Outcome) {
        self.graded += u64::from(outcome.is_graded());
        self.passed += u64::from(outcome == Outcome::Passed);
    }

    fn estimate(&self, scope: IntervalScope) -> Estimate {
        if self.graded == 0 {
            return undefined(UndefinedReason::NoData);
        }
        let (passed, graded) = (self.passed as f64, self.graded as f64);
        if scope.has_too_few(self.graded) {
            let of = estimate(
                Ok(passed / graded),
                Err(UndefinedReason::NoData),
                self.graded as usize,
            );
            return Estimate {
                note: Some(too_few_evals(self.graded)),
                ..of
            };
        }
        estimate(
            Ok(passed / graded),
            likelihood::of_counts(passed, graded, LEVEL),
            self.graded as usize,
        )
    }
}

/// One estimator of pass@k or pass^k over cases.
struct PassK {
    metric: Metric,
    k: u64,
    values: OverCases,
    /// Every value comes from one sample.
    single: bool,
}

impl PassK {
    fn new(metric: Metric, scope: IntervalScope) -> Self {
        let (k, values) = (
            metric.k().unwrap_or(1),
            OverCases::of_metric(scope, &metric),
        );
        PassK {
            metric,
            k: u64::from(k),
            values,
            single: true,
        }
    }

    fn add(&mut self, eval: usize, firsts: &SampleCounts) {
        let (n, c) = (
            u64::from(firsts.passed + firsts.failed),
            u64::from(firsts.passed),
        );
        let estimator = match self.metric {
            Metric::PassAt(_) => pass_at_k,
            Metric::PassHat(_) => pass_hat_k,
            _ => pass_hat_k_unbiased,
        };
        if n >= self.k
            && let Ok(value) = estimator(n, c, self.k)
        {
            self.single &= n == 1;
            let (sum, planned) = (f64::from(firsts.passed), firsts.total());
            let samples = CaseSamples {
                n: firsts.passed + firsts.failed,
                sum,
                planned,
            };
            self.values.add(eval, value, Some(samples));
        }
    }

    fn estimate(&self, fewest: Option<u32>, interval: bool) -> Estimate {
        let k = self.k;
        match fewest.map(u64::from) {
            Some(n) if n < k => undefined(UndefinedReason::TooFewSamples { n, k }),
            None => undefined_because("there are no cases".to_owned()),
            Some(_) if self.values.is_empty() => {
                let plural = if k == 1 { "" } else { "s" };
                undefined_because(format!("no case has {k} graded sample{plural}"))
            }
            Some(_) => self.values.estimate(interval),
        }
    }
}

/// The mean of numbers without bounds, whose samples say nothing of what lies within a case.
pub(super) fn of_values(values: &ValueSeries, intervals: Option<IntervalScope>) -> Estimate {
    let evals = values.evals() as u64;
    let (interval, note) = match intervals {
        None => (Err(UndefinedReason::NoData), None),
        Some(scope) if scope.has_too_few(evals) => {
            (Err(UndefinedReason::NoData), Some(too_few_evals(evals)))
        }
        Some(scope) => (
            values.interval(scope == IntervalScope::SimilarEvals, 1.0, LEVEL),
            None,
        ),
    };
    Estimate {
        note,
        ..estimate(values.mean(), interval, values.len())
    }
}

pub(super) fn blank() -> Estimate {
    Estimate {
        value: None,
        ci: None,
        level: LEVEL,
        method: "none".to_owned(),
        n_cases: 0,
        worst: None,
        best: None,
        undefined: None,
        note: None,
    }
}

pub(super) fn undefined(reason: UndefinedReason) -> Estimate {
    undefined_because(reason.to_string())
}

pub(super) fn undefined_because(reason: String) -> Estimate {
    Estimate {
        undefined: Some(reason),
        ..blank()
    }
}

pub(super) fn estimate(
    value: Result<f64, UndefinedReason>,
    interval: Result<Interval, UndefinedReason>,
    n: usize,
) -> Estimate {
    match (value, interval) {
        (Err(reason), _) => undefined(reason),
        (Ok(value), Ok(ci)) => Estimate {
            value: Some(value),
            ci: Some([ci.low, ci.high]),
            method: ci.method.name().to_owned(),
            n_cases: n,
            ..blank()
        },
        (Ok(value), Err(_)) => Estimate {
            value: Some(value),
            n_cases: n,
            ..blank()
        },
    }
}
