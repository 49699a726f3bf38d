//! The mean over cases of a value in [0, 1], with the interval that the run's scope asks for.
//!
//! The scope decides what is random (docs/statistics.md, "What an interval speaks about"): samples
//! within each case, cases within each eval, or evals. Here the values become the strata and units
//! of [`likelihood`], which has the method. Nothing but the plan decides how cases are arranged,
//! never the values, so that intervals stay monotone.

use std::collections::BTreeMap;

use crate::model::{Bound, Estimate, IntervalScope, IntervalShortfall, Metric, Threshold};
use eval_stats::likelihood::{self, Stratum, StratumUnits, UnseenWeight, ValueLevel};
use eval_stats::power::first;
use eval_stats::{Interval, PassCurve, UndefinedReason, ValueSeries, reaches, stays_within};

use super::metrics::{LEVEL, blank, estimate};

/// Values of a metric up to which each keeps its digits; of more, each end takes them rounded away
/// from it to a [`GRID`].
const EXACT_VALUES: u64 = 16_384;
const GRID: f64 = 16_384.0;

/// Planned samples of a case below which they do not show how its pass rate varies: of 3 or 4 in
/// most cases all pass, and then intervals hold in fewer than 92 % of runs (found by simulation).
pub(crate) const FEWEST_SAMPLES: u32 = 5;

/// The samples of a case that its value is made of: so many, whose values (each in [0, 1]) sum up
/// to so much, of so many that were planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseSamples {
    pub n: u32,
    pub sum: f64,
    pub planned: u32,
}

/// Values of cases, which come eval by eval.
#[derive(Debug, Clone)]
pub struct OverCases {
    scope: IntervalScope,
    /// What a case's value is of its samples; `None`: their mean.
    curve: Option<PassCurve>,
    n: u64,
    sum: f64,
    binary: bool,
    evals: Vec<EvalValues>,
}

#[derive(Debug, Clone)]
struct EvalValues {
    eval: usize,
    n: u64,
    sum: f64,
    /// How many cases have a value, by its bits. Only cases like these need it.
    values: BTreeMap<u64, u64>,
    /// How many cases have such samples, by their number and the bits of their sum. Only these
    /// cases need it.
    samples: BTreeMap<(u32, u64), u64>,
}

impl OverCases {
    /// Of values that are the share of samples that passed, or their mean score.
    pub fn new(scope: IntervalScope) -> Self {
        OverCases {
            scope,
            curve: None,
            n: 0,
            sum: 0.0,
            binary: true,
            evals: Vec::new(),
        }
    }

    /// Of values of a metric: pass@k and pass^k are curves of the samples that passed.
    pub fn of_metric(scope: IntervalScope, metric: &Metric) -> Self {
        let curve = match metric {
            metric if metric.k() == Some(1) => None,
            Metric::PassAt(k) => Some(PassCurve::PassAt(*k)),
            Metric::PassHat(k) => Some(PassCurve::PassHat(*k)),
            Metric::PassHatUnbiased(k) => Some(PassCurve::PassHatUnbiased(*k)),
            _ => None,
        };
        OverCases {
            curve,
            ..OverCases::new(scope)
        }
    }

    /// The value of a case; `samples` of `None` when it is a verdict over all of them, which says
    /// nothing of each.
    pub fn add(&mut self, eval: usize, value: f64, samples: Option<CaseSamples>) {
        if self.evals.last().is_none_or(|last| last.eval != eval) {
            let (values, samples) = (BTreeMap::new(), BTreeMap::new());
            self.evals.push(EvalValues {
                eval,
                n: 0,
                sum: 0.0,
                values,
                samples,
            });
        }
        self.n += 1;
        self.sum += value;
        self.binary &= value == 0.0 || value == 1.0;
        let shown = samples.filter(|samples| self.shows(*samples));
        let Some(last) = self.evals.last_mut() else {
            return;
        };
        last.n += 1;
        last.sum += value;
        match (self.scope, shown) {
            (IntervalScope::TheseCases, Some(CaseSamples { n, sum, .. })) => {
                *last.samples.entry((n, sum.to_bits())).or_default() += 1;
            }
            (IntervalScope::SimilarEvals, _) => {}
            _ => *last.values.entry(value.to_bits()).or_default() += 1,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// True when samples say how the figure of their case varies. Where too few are planned the
    /// case counts as one of others like it, which can only widen the interval. A few that are lost
    /// later do not change how cases are arranged.
    fn shows(&self, samples: CaseSamples) -> bool {
        let k = self.curve.map_or(1, |curve| curve.k());
        let (planned, graded) = ((3 * k + 1).max(FEWEST_SAMPLES), k + 2);
        samples.planned >= planned && samples.n >= graded
    }

    /// How many values are 1, of how many, when they are all 0 or 1.
    pub fn share(&self) -> Option<[u64; 2]> {
        self.binary.then_some([self.sum.round() as u64, self.n])
    }

    /// The mean over cases, with its interval if that is needed.
    pub fn estimate(&self, interval: bool) -> Estimate {
        let value = if self.n == 0 {
            Err(UndefinedReason::NoData)
        } else {
            Ok(self.sum / self.n as f64)
        };
        self.finish(value, self.n, self.evals.len(), interval, || {
            self.design(None)
        })
    }

    /// The mean over evals of their cases' means, weighted; `weight` of 0 leaves an eval out.
    pub fn weighted_estimate(&self, weight: &dyn Fn(usize) -> f64, interval: bool) -> Estimate {
        let weighed = self.weighed(weight);
        let evals = weighed.evals.len();
        let (sum, total) = weighed.evals.iter().fold((0.0, 0.0), |(sum, total), eval| {
            let weight = weight(eval.eval);
            (sum + weight * eval.sum / eval.n as f64, total + weight)
        });
        let value = match () {
            () if self.evals.is_empty() => Err(UndefinedReason::NoData),
            () if evals == 0 => Err(UndefinedReason::Weights),
            () if !f64::is_finite(total) => Err(UndefinedReason::NotFinite),
            () => Ok(sum / total),
        };
        self.finish(value, evals as u64, evals, interval, || {
            self.design(Some(weight))
        })
    }

    /// The evals that weigh anything.
    fn weighed(&self, weight: impl Fn(usize) -> f64) -> OverCases {
        let evals = self
            .evals
            .iter()
            .filter(|eval| weight(eval.eval) > 0.0)
            .cloned();
        OverCases {
            evals: evals.collect(),
            ..*self
        }
    }

    /// The values as the scope takes them. `weight` as in [`OverCases::weighted_estimate`]; `None`:
    /// every case counts alike.
    pub(crate) fn design(&self, weight: Option<&dyn Fn(usize) -> f64>) -> IntervalDesign {
        let cases = |over: &OverCases| over.evals.iter().map(|eval| eval.n).sum::<u64>() as f64;
        // Shares of one case of each eval.
        let (strata, cases) = match weight {
            None => (self.strata(|_| 1.0 / self.n as f64), cases(self)),
            Some(weight) => {
                let weighed = self.weighed(weight);
                let total: f64 = weighed.evals.iter().map(|eval| weight(eval.eval)).sum();
                (
                    weighed.strata(|eval| weight(eval.eval) / (total * eval.n as f64)),
                    cases(&weighed),
                )
            }
        };
        let unseen = match (self.scope, weight) {
            // Evals are drawn with their cases; weights are chosen.
            (IntervalScope::SimilarEvals, None) => UnseenWeight::Average,
            _ => UnseenWeight::Telling,
        };
        let rounded = self.curve.is_none() && !self.binary && self.n > EXACT_VALUES;
        let mut design = IntervalDesign {
            units: DesignUnits::Shares {
                strata,
                unseen,
                rounded,
            },
            unit: "case",
        };
        match self.scope {
            IntervalScope::SimilarEvals => design.unit = "eval",
            // Where samples show how their cases vary, they are the units.
            IntervalScope::TheseCases if design.units() > cases => design.unit = "sample",
            _ => {}
        }
        design
    }

    fn finish(
        &self,
        value: Result<f64, UndefinedReason>,
        n: u64,
        evals: usize,
        interval: bool,
        design: impl Fn() -> IntervalDesign,
    ) -> Estimate {
        let evals = evals as u64;
        if value.is_ok() && self.scope.has_too_few(evals) {
            let few = too_few_evals(evals);
            return Estimate {
                value: value.ok(),
                n_cases: n as usize,
                note: Some(few),
                ..blank()
            };
        }
        let interval = if value.is_ok() && interval {
            design().interval_now()
        } else {
            Err(UndefinedReason::NoData)
        };
        estimate(value, interval, n as usize)
    }

    /// The values arranged for the scope; `share` is that of one case of an eval in the mean.
    fn strata(&self, share: impl Fn(&EvalValues) -> f64) -> Vec<Stratum> {
        match self.scope {
            IntervalScope::TheseCases => self.by_case(share),
            IntervalScope::SimilarCases => self.by_eval(share),
            IntervalScope::SimilarEvals => {
                let level = |eval: &EvalValues| ValueLevel {
                    sum: eval.sum * share(eval),
                    size: eval.n as f64 * share(eval),
                    count: 1.0,
                };
                whole(self.evals.iter().map(level).collect())
            }
        }
    }

    /// Evals are strata. Those of a single case, which alone says nothing of others like it, are
    /// one stratum together ("collapsed strata": W. G. Cochran, "Sampling Techniques", 1977,
    /// section 5A.12), which can only widen the interval.
    fn by_eval(&self, share: impl Fn(&EvalValues) -> f64) -> Vec<Stratum> {
        let (single, several): (Vec<&EvalValues>, Vec<&EvalValues>) =
            self.evals.iter().partition(|eval| eval.n == 1);
        let alike = single.windows(2).all(|two| share(two[0]) == share(two[1]));
        if several.is_empty() || single.len() == 1 || !alike || self.evals.len() == 1 {
            let cases = self.evals.iter().flat_map(|eval| levels(eval, share(eval)));
            return whole(cases.collect());
        }
        let stratum = |share: f64, levels: Vec<ValueLevel>| {
            (!levels.is_empty()).then_some(Stratum {
                share,
                repeats: 1.0,
                units: StratumUnits::Levels(levels),
            })
        };
        let collapsed = single.first().and_then(|first| {
            let pooled = single.iter().flat_map(|eval| levels(eval, 1.0)).collect();
            stratum(share(first) * single.len() as f64, merged(pooled))
        });
        let of_eval =
            |eval: &&EvalValues| stratum(share(eval) * eval.n as f64, levels(eval, 1.0).collect());
        several
            .iter()
            .filter_map(of_eval)
            .chain(collapsed)
            .collect()
    }

    /// Cases are strata of their samples. Where any has too few samples to show how it varies, all
    /// cases count as some of others like them, which can only widen the interval.
    fn by_case(&self, share: impl Fn(&EvalValues) -> f64) -> Vec<Stratum> {
        let mut kinds: BTreeMap<(u64, u32, u64), f64> = BTreeMap::new();
        for eval in &self.evals {
            for ((n, sum), count) in &eval.samples {
                *kinds.entry((share(eval).to_bits(), *n, *sum)).or_default() += *count as f64;
            }
        }
        let silent: Vec<ValueLevel> = self
            .evals
            .iter()
            .flat_map(|eval| levels(eval, share(eval)))
            .collect();
        if !silent.is_empty() || kinds.is_empty() {
            let others = kinds.iter().map(|((share, n, sum), count)| {
                let (share, value) = (f64::from_bits(*share), self.value(*n, f64::from_bits(*sum)));
                ValueLevel {
                    sum: value * share,
                    size: share,
                    count: *count,
                }
            });
            return whole(silent.into_iter().chain(others).collect());
        }
        let stratum = |((share, n, sum), repeats): ((u64, u32, u64), f64)| {
            let sum = f64::from_bits(sum);
            let units = match self.curve {
                Some(curve) => StratumUnits::Samples {
                    n,
                    passed: sum.round() as u32,
                    curve,
                    times: 1.0,
                },
                // Scores vary at most as much as passes and failures of the same mean.
                None => {
                    let parts = [
                        ValueLevel::of(0.0, f64::from(n) - sum),
                        ValueLevel::of(1.0, sum),
                    ];
                    StratumUnits::Levels(
                        parts
                            .into_iter()
                            .filter(|level| level.count > 0.0)
                            .collect(),
                    )
                }
            };
            Stratum {
                share: f64::from_bits(share),
                repeats,
                units,
            }
        };
        kinds.into_iter().map(stratum).collect()
    }

    fn value(&self, n: u32, sum: f64) -> f64 {
        let curve = self
            .curve
            .and_then(|curve| curve.value(n, sum.round() as u32).ok());
        curve.unwrap_or(sum / f64::from(n))
    }
}

/// Values as their interval takes them, to compute what more of the same would give.
#[derive(Debug, Clone)]
pub(crate) struct IntervalDesign {
    units: DesignUnits,
    /// What it is made of: `sample`, `case` or `eval`.
    pub unit: &'static str,
}

#[derive(Debug, Clone)]
enum DesignUnits {
    /// Of values in [0, 1]; `rounded` where there are very many different ones.
    Shares {
        strata: Vec<Stratum>,
        unseen: UnseenWeight,
        rounded: bool,
    },
    /// Of numbers without bounds, by eval or by case.
    Numbers { values: ValueSeries, of_evals: bool },
}

impl IntervalDesign {
    pub fn of_verdicts(passed: f64, n: f64, unit: &'static str) -> IntervalDesign {
        let strata = whole(vec![
            ValueLevel::of(0.0, n - passed),
            ValueLevel::of(1.0, passed),
        ]);
        IntervalDesign {
            units: DesignUnits::Shares {
                strata,
                unseen: UnseenWeight::Telling,
                rounded: false,
            },
            unit,
        }
    }

    pub fn of_numbers(values: ValueSeries, scope: IntervalScope) -> IntervalDesign {
        let of_evals = scope == IntervalScope::SimilarEvals;
        let unit = if of_evals { "eval" } else { "case" };
        IntervalDesign {
            units: DesignUnits::Numbers { values, of_evals },
            unit,
        }
    }

    pub fn units(&self) -> f64 {
        match &self.units {
            DesignUnits::Shares { strata, .. } => strata.iter().map(Stratum::units).sum(),
            DesignUnits::Numbers {
                values,
                of_evals: true,
            } => values.evals() as f64,
            DesignUnits::Numbers {
                values,
                of_evals: false,
            } => values.len() as f64,
        }
    }

    fn interval_now(&self) -> Result<Interval, UndefinedReason> {
        self.interval(self.units())
    }

    /// The interval of so many units that are like these.
    pub fn interval(&self, units: f64) -> Result<Interval, UndefinedReason> {
        let times = units / self.units();
        match &self.units {
            DesignUnits::Shares {
                strata,
                unseen,
                rounded,
            } => {
                let scaled: Vec<Stratum> =
                    strata.iter().map(|stratum| stratum.times(times)).collect();
                if !rounded {
                    return likelihood::of_shares(&scaled, *unseen, LEVEL);
                }
                // Away from each end.
                let low = likelihood::of_shares(&on_grid(&scaled, f64::floor), *unseen, LEVEL)?;
                let high = likelihood::of_shares(&on_grid(&scaled, f64::ceil), *unseen, LEVEL)?;
                Ok(Interval {
                    high: high.high,
                    ..low
                })
            }
            DesignUnits::Numbers { values, of_evals } => values.interval(*of_evals, times, LEVEL),
        }
    }

    /// How far the near end of the interval is from a threshold that it misses, and how many units
    /// like these would meet it. `None`: it meets it, or has no interval.
    pub fn lack(&self, threshold: &Threshold) -> Option<IntervalShortfall> {
        let end_of = |units: f64| {
            let interval = self.interval(units).ok()?;
            Some(if threshold.bound == Bound::Min {
                interval.low
            } else {
                interval.high
            })
        };
        let meets = |end: f64| match threshold.bound {
            Bound::Min => reaches(end, threshold.value),
            Bound::Max => stays_within(end, threshold.value),
        };
        let units = self.units();
        let end = end_of(units)?;
        if meets(end) {
            return None;
        }
        let now = units.round();
        let needed = first(|more| end_of(now + more as f64).is_some_and(meets))
            .map(|more| now as u64 + more);
        Some(IntervalShortfall {
            threshold: threshold.clone(),
            end,
            unit: self.unit,
            units: units.round() as u64,
            needed,
        })
    }
}

/// Why so few evals have no interval.
pub(crate) fn too_few_evals(evals: u64) -> String {
    let are = if evals == 1 { " is" } else { "s are" };
    format!(
        "no interval: {evals} eval{are} too few to speak about evals like these (at least {} are needed)",
        IntervalScope::FEWEST_EVALS
    )
}

/// The cases of an eval, each of a size.
fn levels(eval: &EvalValues, size: f64) -> impl Iterator<Item = ValueLevel> + '_ {
    eval.values.iter().map(move |(value, count)| ValueLevel {
        sum: f64::from_bits(*value) * size,
        size,
        count: *count as f64,
    })
}

fn whole(levels: Vec<ValueLevel>) -> Vec<Stratum> {
    let levels = levels
        .into_iter()
        .filter(|level| level.count > 0.0)
        .collect();
    vec![Stratum {
        share: 1.0,
        repeats: 1.0,
        units: StratumUnits::Levels(merged(levels)),
    }]
}

/// Equal levels as one.
fn merged(levels: Vec<ValueLevel>) -> Vec<ValueLevel> {
    let mut counts: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    for level in levels {
        *counts
            .entry((level.sum.to_bits(), level.size.to_bits()))
            .or_default() += level.count;
    }
    let level = |((sum, size), count): ((u64, u64), f64)| ValueLevel {
        sum: f64::from_bits(sum),
        size: f64::from_bits(size),
        count,
    };
    counts.into_iter().map(level).collect()
}

/// Strata whose values are rounded to the grid; samples of cases stay as they are.
fn on_grid(strata: &[Stratum], round: fn(f64) -> f64) -> Vec<Stratum> {
    let rounded = |level: &ValueLevel| {
        let value = round(level.sum / level.size * GRID).clamp(0.0, GRID) / GRID;
        ValueLevel {
            sum: value * level.size,
            ..*level
        }
    };
    let of = |stratum: &Stratum| match &stratum.units {
        StratumUnits::Levels(levels) => {
            let levels = merged(levels.iter().map(rounded).collect());
            Stratum {
                units: StratumUnits::Levels(levels),
                ..stratum.clone()
            }
        }
        StratumUnits::Samples { .. } => stratum.clone(),
    };
    strata.iter().map(of).collect()
}
