//! Metrics with their intervals, under each reading of the samples without a grade.
//!
//! One pass over the cases for each reading; nothing is held for every case.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{CaseView, EvalFold};
use super::judges::JudgeCounts;
use super::measured::Measured;
use super::named::Named;
use super::outcomes::{EvalCounter, Reading, SampleCounts};
use crate::load::PartFilter;
use crate::model::{Estimate, EvalInfo, EvalTally, EvalType, Metric, Outcome, Tally};
use crate::stats::{
    CLUSTERS, DEFAULT_RESAMPLES, Interval, Undefined, Values, bootstrap_weighted_mean,
    cluster_bootstrap_mean, pass_at_k, pass_hat_k, pass_hat_k_unbiased, weighted_mean, wilson,
};

/// Confidence of every interval.
pub(super) const LEVEL: f64 = 0.95;

/// The counts of a run, by eval and case.
pub(super) struct Counted<'a> {
    pub evals: Vec<CountedEval<'a>>,
    ks: Vec<u32>,
    /// Of resampling; `None` when nobody asks for intervals that need it.
    seed: Option<u64>,
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
    measured: Measured,
    named: Vec<Named>,
    judges: Option<JudgeCounts>,
}

/// An eval with its cases in the plan's order.
pub(super) struct CountedEval<'a> {
    /// Its number among all that were planned.
    pub number: usize,
    pub fold: &'a EvalFold,
    /// The cases that count, when they are not all of them or come in another order than they are kept in.
    order: Option<Vec<u32>>,
}

impl<'a> CountedEval<'a> {
    pub fn new(number: usize, fold: &'a EvalFold) -> Self {
        CountedEval { number, fold, order: fold.order() }
    }

    pub fn info(&self) -> &'a EvalInfo {
        &self.fold.info
    }

    /// The eval with its cases in the part; `None` when it has none.
    pub fn within(&self, filter: &PartFilter) -> Option<CountedEval<'a>> {
        let CountedEval { number, fold, .. } = *self;
        if filter.takes_eval(&fold.info) {
            return Some(CountedEval { number, fold, order: self.order.clone() });
        }
        let tag = filter.case_tag().filter(|tag| fold.tags().knows(tag))?;
        let cases = self.cases().filter(|case| case.has_tag(tag));
        let order: Vec<u32> = cases.map(|case| case.at as u32).collect();
        (!order.is_empty()).then_some(CountedEval { number, fold, order: Some(order) })
    }

    /// How many of its cases count.
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.fold.len(), Vec::len)
    }

    pub fn cases(&self) -> impl Iterator<Item = CaseView<'a>> {
        let (fold, len) = (self.fold, self.len());
        (0..len).map(move |at| {
            fold.case(self.order.as_ref().map_or(at, |order| order.get(at).map_or(at, |at| *at as usize)))
        })
    }

    pub fn counter(&self) -> EvalCounter {
        EvalCounter::new(self.fold.info.pass_rate_threshold, self.fold.info.score_threshold)
    }
}

impl<'a> Counted<'a> {
    pub fn new(evals: Vec<CountedEval<'a>>, ks: &[u32], seed: Option<u64>, score_metrics: &[String]) -> Self {
        Counted::wanted(evals, ks.to_vec(), seed, None, score_metrics)
    }

    /// Some evals of this run, with some of their cases, for the sake of some metrics.
    pub fn part(
        &self,
        evals: Vec<CountedEval<'a>>,
        wanted: BTreeSet<Metric>,
        score_metrics: &[String],
    ) -> Counted<'a> {
        let mut ks: Vec<u32> = wanted.iter().filter_map(Metric::k).collect();
        ks.sort_unstable();
        ks.dedup();
        Counted::wanted(evals, ks, self.seed, Some(wanted), score_metrics)
    }

    fn wanted(
        evals: Vec<CountedEval<'a>>,
        ks: Vec<u32>,
        seed: Option<u64>,
        wanted: Option<BTreeSet<Metric>>,
        score_metrics: &[String],
    ) -> Self {
        let measured = Measured::new(&evals);
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
            wanted.as_ref().is_none_or(|wanted| wanted.contains(&Metric::Named(name.to_owned())))
        };
        let named =
            Named::all(&evals, is_wanted, score_metrics, measured.samples, errored + skipped + pending, seed);
        let judges = JudgeCounts::new(&evals);
        Counted {
            evals,
            ks,
            seed,
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

    /// The seed, for metrics whose interval somebody asks for.
    fn seed_of(&self, metric: &Metric) -> Option<u64> {
        self.seed.filter(|_| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(metric)))
    }

    /// True when what is not known could change a figure, so that its worst and best differ.
    pub fn is_open(&self) -> bool {
        let ungraded = self.errored + self.skipped + self.pending;
        ungraded > 0
            || self.open_firsts
            || self.measured.is_in_part()
            || self.judges.as_ref().is_some_and(JudgeCounts::is_open)
            || self.named.iter().any(Named::is_open)
    }

    /// Outcomes and metrics under one reading.
    pub fn tally(&self, reading: Reading) -> Tally {
        let mut read = Read::new(&self.ks);
        let mut evals = Vec::with_capacity(self.evals.len());
        for (at, eval) in self.evals.iter().enumerate() {
            let mut counter = eval.counter();
            for case in eval.cases() {
                read.case(at, &mut counter, &case.finals().read(reading), &case.firsts().read(reading));
            }
            let outcome = counter.outcome();
            let info = eval.info();
            read.eval(info, outcome, counter.score());
            let (id, kind, criticality) = (info.id.clone(), info.kind, info.criticality);
            evals.push(EvalTally { id, kind, criticality, outcome });
        }
        let mut shares: BTreeMap<String, [u64; 2]> =
            read.shares().into_iter().map(|(metric, share)| (metric.to_string(), share)).collect();
        shares.extend(self.named.iter().filter_map(|named| Some((named.name.clone(), named.share?))));
        let mut metrics: BTreeMap<String, Estimate> =
            self.named.iter().map(|named| (named.name.clone(), named.estimate(reading))).collect();
        let built_in = read
            .estimates(self.fewest, |metric| self.seed_of(metric))
            .into_iter()
            .chain(self.measured.estimates(reading))
            .chain(self.judges.iter().flat_map(|judges| judges.estimates(reading)));
        metrics.extend(built_in.map(|(metric, estimate)| (metric.to_string(), estimate)));
        Tally { evals, metrics, shares }
    }
}

/// What is gathered in one pass.
struct Read {
    pass_k: Vec<PassK>,
    /// 1 for each case that passed, 0 for each that failed.
    cases: OverCases,
    scores: OverCases,
    /// Every case has one sample, and a score of 0 or 1 if it has one.
    single: bool,
    evals: Rate,
    capabilities: Rate,
    regressions: Rate,
    /// Scores of graded evals with their weights.
    weighted: Vec<(f64, f64)>,
}

impl Read {
    fn new(ks: &[u32]) -> Self {
        let metrics =
            ks.iter().flat_map(|k| [Metric::PassAt(*k), Metric::PassHat(*k), Metric::PassHatUnbiased(*k)]);
        Read {
            pass_k: metrics.map(PassK::new).collect(),
            cases: OverCases::new(),
            scores: OverCases::new(),
            single: true,
            evals: Rate::default(),
            capabilities: Rate::default(),
            regressions: Rate::default(),
            weighted: Vec::new(),
        }
    }

    fn case(&mut self, eval: usize, counter: &mut EvalCounter, finals: &SampleCounts, firsts: &SampleCounts) {
        let outcome = counter.add(finals);
        if outcome.is_graded() {
            self.cases.add(eval, f64::from(u8::from(outcome == Outcome::Passed)));
        }
        let score = finals.score();
        self.single &= finals.total() == 1 && score.is_none_or(|score| score == 0.0 || score == 1.0);
        if let Some(score) = score {
            self.scores.add(eval, score);
        }
        for pass_k in &mut self.pass_k {
            pass_k.add(eval, firsts);
        }
    }

    fn eval(&mut self, info: &EvalInfo, outcome: Outcome, score: Option<f64>) {
        self.evals.add(outcome);
        match info.kind {
            EvalType::Capability => self.capabilities.add(outcome),
            EvalType::Regression => self.regressions.add(outcome),
        }
        if let (true, Some(score)) = (outcome.is_graded(), score) {
            self.weighted.push((score, info.weight));
        }
    }

    /// The metrics that are a share of verdicts, as counts.
    fn shares(&self) -> Vec<(Metric, [u64; 2])> {
        let rates = [
            (Metric::PassRate, &self.evals),
            (Metric::CapabilityPassRate, &self.capabilities),
            (Metric::RegressionPassRate, &self.regressions),
        ];
        let mut shares: Vec<(Metric, [u64; 2])> =
            rates.into_iter().map(|(metric, rate)| (metric, [rate.passed, rate.graded])).collect();
        shares.push((Metric::CasePassRate, self.cases.share().unwrap_or_default()));
        let single = self.pass_k.iter().filter(|pass_k| pass_k.single);
        shares.extend(single.filter_map(|pass_k| Some((pass_k.metric.clone(), pass_k.values.share()?))));
        shares.extend(self.scores.share().filter(|_| self.single).map(|share| (Metric::Score, share)));
        shares
    }

    fn estimates(
        self,
        fewest: Option<u32>,
        seed_of: impl Fn(&Metric) -> Option<u64>,
    ) -> Vec<(Metric, Estimate)> {
        // An eval of weight 0 is no part of the figure; where no other is left, the figure says so.
        let mut weighed = self.weighted;
        if weighed.iter().any(|(_, weight)| *weight > 0.0) {
            weighed.retain(|(_, weight)| *weight > 0.0);
        }
        let interval = |seed| bootstrap_weighted_mean(&weighed, DEFAULT_RESAMPLES, seed, LEVEL);
        let weighted_interval = seed_of(&Metric::WeightedScore).map_or(Err(Undefined::NoData), interval);
        let weighted = estimate(weighted_mean(&weighed), weighted_interval, weighed.len());
        let of_k = |pass_k: &PassK| (pass_k.metric.clone(), pass_k.estimate(fewest, seed_of(&pass_k.metric)));
        let mut estimates: Vec<(Metric, Estimate)> = self.pass_k.iter().map(of_k).collect();
        estimates.extend([
            (Metric::PassRate, self.evals.estimate()),
            (Metric::CapabilityPassRate, self.capabilities.estimate()),
            (Metric::RegressionPassRate, self.regressions.estimate()),
            (Metric::CasePassRate, self.cases.estimate(true, true, seed_of(&Metric::CasePassRate))),
            (Metric::Score, self.scores.estimate(self.single, true, seed_of(&Metric::Score))),
            (Metric::WeightedScore, weighted),
        ]);
        estimates
    }
}

/// The share of what was graded that passed.
#[derive(Default)]
struct Rate {
    passed: u64,
    graded: u64,
}

impl Rate {
    fn add(&mut self, outcome: Outcome) {
        self.graded += u64::from(outcome.is_graded());
        self.passed += u64::from(outcome == Outcome::Passed);
    }

    fn estimate(&self) -> Estimate {
        if self.graded == 0 {
            return undefined(Undefined::NoData);
        }
        let share = self.passed as f64 / self.graded as f64;
        estimate(Ok(share), wilson(self.passed, self.graded, LEVEL), self.graded as usize)
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
    fn new(metric: Metric) -> Self {
        let k = u64::from(metric.k().unwrap_or(1));
        PassK { metric, k, values: OverCases::new(), single: true }
    }

    fn add(&mut self, eval: usize, firsts: &SampleCounts) {
        let (n, c) = (u64::from(firsts.passed + firsts.failed), u64::from(firsts.passed));
        let estimator = match self.metric {
            Metric::PassAt(_) => pass_at_k,
            Metric::PassHat(_) => pass_hat_k,
            _ => pass_hat_k_unbiased,
        };
        if n >= self.k
            && let Ok(value) = estimator(n, c, self.k)
        {
            self.single &= n == 1;
            self.values.add(eval, value);
        }
    }

    fn estimate(&self, fewest: Option<u32>, seed: Option<u64>) -> Estimate {
        let k = self.k;
        match fewest.map(u64::from) {
            Some(n) if n < k => undefined(Undefined::TooFewSamples { n, k }),
            None => undefined_because("there are no cases".to_owned()),
            Some(_) if self.values.is_empty() => {
                let plural = if k == 1 { "" } else { "s" };
                undefined_because(format!("no case has {k} graded sample{plural}"))
            }
            Some(_) => self.values.estimate(self.single, true, seed),
        }
    }
}

/// A mean over cases, whose values come eval by eval.
pub(super) struct OverCases {
    values: Values,
    /// Sum and number of values by eval, for evals that have any.
    clusters: Vec<(f64, u64)>,
    eval: Option<usize>,
}

impl OverCases {
    pub fn new() -> Self {
        OverCases { values: Values::new(), clusters: Vec::new(), eval: None }
    }

    #[inline]
    pub fn add(&mut self, eval: usize, value: f64) {
        if self.eval != Some(eval) {
            self.eval = Some(eval);
            self.clusters.push((0.0, 0));
        }
        if let Some((sum, count)) = self.clusters.last_mut() {
            *sum += value;
            *count += 1;
        }
        self.values.push(value);
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many values are 1, of how many, when they are all 0 or 1.
    pub fn share(&self) -> Option<[u64; 2]> {
        let n = self.values.len();
        let ones = (self.values.mean().ok()? * n as f64).round();
        self.is_binary().then_some([ones as u64, n as u64])
    }

    /// True when every value is 0 or 1.
    pub fn is_binary(&self) -> bool {
        self.values.are_binary()
    }

    /// The mean, with an interval: where cases belong together a bootstrap of whole evals, if there is a seed for it; else Wilson's
    /// when each value is 0 or 1, of one sample (`single`) or as a share such as pass@3 of 3 samples; else a bootstrap of cases.
    /// Wilson's takes cases as independent: of evals that stand or fall together it held the truth in 4 of 5 runs, not in 19 of 20.
    pub fn estimate(&self, single: bool, shares: bool, seed: Option<u64>) -> Estimate {
        let belong_together =
            self.clusters.len() >= CLUSTERS && self.clusters.iter().any(|(_, count)| *count > 1);
        let interval = match seed {
            Some(seed) if belong_together => {
                cluster_bootstrap_mean(&self.clusters, DEFAULT_RESAMPLES, seed, LEVEL)
            }
            _ if !belong_together && (single || shares && self.is_binary()) => self.values.wilson(LEVEL),
            None => Err(Undefined::NoData),
            Some(seed) => self.values.interval(seed, LEVEL),
        };
        estimate(self.values.mean(), interval, self.values.len())
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
    }
}

pub(super) fn undefined(reason: Undefined) -> Estimate {
    undefined_because(reason.to_string())
}

pub(super) fn undefined_because(reason: String) -> Estimate {
    Estimate { undefined: Some(reason), ..blank() }
}

fn estimate(value: Result<f64, Undefined>, interval: Result<Interval, Undefined>, n: usize) -> Estimate {
    match (value, interval) {
        (Err(reason), _) => undefined(reason),
        (Ok(value), Ok(ci)) => Estimate {
            value: Some(value),
            ci: Some([ci.low, ci.high]),
            method: ci.method.name().to_owned(),
            n_cases: n,
            ..blank()
        },
        (Ok(value), Err(_)) => Estimate { value: Some(value), n_cases: n, ..blank() },
    }
}
