//! What a group of runs says of its evals and cases.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{HistoryGroup, PastCase, PastEval, PastRun};
use crate::model::{CaseName, Counts, Outcome};
use eval_stats::percentile;

/// One eval over the runs that had all of its cases, oldest first.
#[derive(Debug, Clone)]
pub struct EvalHistory<'a> {
    /// As the latest of its runs says.
    pub latest: &'a PastEval,
    /// At least one.
    pub runs: Vec<(&'a PastRun, &'a PastEval)>,
    /// Runs by its outcome.
    pub counts: Counts,
    /// Runs that had only some of its cases; they are not among `runs`.
    pub partial: usize,
}

impl<'a> EvalHistory<'a> {
    pub fn last(&self, outcome: Outcome) -> Option<&'a PastRun> {
        self.runs
            .iter()
            .rev()
            .find(|(_, eval)| eval.outcome == outcome)
            .map(|(run, _)| *run)
    }
}

/// A case that passed and failed with nothing changed in between.
#[derive(Debug, Clone, PartialEq)]
pub struct FlakyCase {
    pub eval: Arc<str>,
    pub case: Arc<str>,
    /// At least one, those with most outcomes of the rarer kind first.
    pub commits: Vec<FlakyCommit>,
}

/// A commit at which a case passed so often and failed so often.
#[derive(Debug, Clone, PartialEq)]
pub struct FlakyCommit {
    pub commit: String,
    pub passed: usize,
    pub failed: usize,
}

/// A case and the median latency of its samples, over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowCase {
    pub eval: Arc<str>,
    pub case: Arc<str>,
    pub median_ms: f64,
    pub samples: usize,
}

/// The pass rate over evals of the runs that were whole, oldest first; each in [0, 1], `None` when
/// nothing was graded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassRateTrend {
    pub rates: Vec<Option<f64>>,
    pub first: Option<f64>,
    pub last: Option<f64>,
    pub lowest: Option<f64>,
    pub highest: Option<f64>,
    /// Runs that are not in it: filtered, ended early, or a part.
    pub left_out: usize,
}

impl HistoryGroup {
    /// Every eval of every run that had all of its cases, oldest run first.
    pub fn outcomes(&self) -> impl Iterator<Item = (&PastRun, &PastEval)> {
        self.runs
            .iter()
            .flat_map(|run| run.evals.iter().map(move |eval| (run, eval)))
            .filter(|(_, e)| !e.partial)
    }

    /// Every eval that some run had, by id.
    pub fn evals(&self) -> BTreeMap<&str, EvalHistory<'_>> {
        let mut evals: BTreeMap<&str, EvalHistory> = BTreeMap::new();
        for run in &self.runs {
            for eval in &run.evals {
                let known = evals.entry(&eval.id).or_insert_with(|| EvalHistory {
                    latest: eval,
                    runs: Vec::new(),
                    counts: Counts::default(),
                    partial: 0,
                });
                known.latest = eval;
                if eval.partial {
                    known.partial += 1;
                } else {
                    known.counts.add(eval.outcome);
                    known.runs.push((run, eval));
                }
            }
        }
        evals
    }

    pub fn trend(&self) -> PassRateTrend {
        let whole: Vec<&PastRun> = self.runs.iter().filter(|run| run.is_whole()).collect();
        let rates: Vec<Option<f64>> = whole.iter().map(|run| run.counts.pass_rate).collect();
        let known = || rates.iter().copied().flatten();
        PassRateTrend {
            // A run of which nothing was graded has no rate, and no other run lends it one.
            first: rates.first().copied().flatten(),
            last: rates.last().copied().flatten(),
            lowest: known().reduce(f64::min),
            highest: known().reduce(f64::max),
            left_out: self.runs.len() - whole.len(),
            rates,
        }
    }

    /// Cases with both outcomes at one commit, where the same target was asked the same and graded
    /// in the same way; those at most commits first. The second list has those that look so in a
    /// changed or unknown checkout, which proves nothing.
    pub fn flaky(&self) -> (Vec<FlakyCase>, Vec<CaseName>) {
        type Tries<'a> = HashMap<(Option<&'a str>, u64, u64, &'a str, &'a str), (usize, usize)>;
        let mut tries = Tries::new();
        for run in &self.runs {
            for (eval, case) in run.cases().filter(|(_, case)| !case.reused) {
                let key = (
                    run.clean_commit(),
                    run.conditions,
                    case.definition,
                    &*eval.id,
                    &*case.id,
                );
                let (passed, failed) = tries.entry(key).or_default();
                *passed += usize::from(case.outcome == Outcome::Passed);
                *failed += usize::from(case.outcome == Outcome::Failed);
            }
        }
        let mut flaky: BTreeMap<(&str, &str), Vec<FlakyCommit>> = BTreeMap::new();
        let mut unproved: BTreeSet<(&str, &str)> = BTreeSet::new();
        for ((commit, _, _, eval, case), (passed, failed)) in tries {
            match commit {
                _ if passed == 0 || failed == 0 => {}
                None => _ = unproved.insert((eval, case)),
                Some(commit) => {
                    let commit = FlakyCommit {
                        commit: commit.to_owned(),
                        passed,
                        failed,
                    };
                    flaky.entry((eval, case)).or_default().push(commit);
                }
            }
        }
        unproved.retain(|case| !flaky.contains_key(case));
        let mut flaky: Vec<FlakyCase> = flaky
            .into_iter()
            .map(|((eval, case), mut commits)| {
                let rarer = |commit: &FlakyCommit| commit.passed.min(commit.failed);
                commits.sort_by(|a, b| {
                    rarer(b)
                        .cmp(&rarer(a))
                        .then_with(|| a.commit.cmp(&b.commit))
                });
                FlakyCase {
                    eval: eval.into(),
                    case: case.into(),
                    commits,
                }
            })
            .collect();
        flaky.sort_by_key(|case| std::cmp::Reverse(case.commits.len()));
        let unproved = unproved.into_iter().map(|(eval, case)| CaseName {
            eval_id: eval.to_owned(),
            case_id: case.to_owned(),
        });
        (flaky, unproved.collect())
    }

    /// The cases whose target was timed, slowest first.
    pub fn slowest(&self) -> Vec<SlowCase> {
        let mut latencies: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for (eval, case) in self.runs.iter().flat_map(PastRun::cases) {
            if !case.latencies_ms.is_empty() {
                latencies
                    .entry((&eval.id, &case.id))
                    .or_default()
                    .extend(&case.latencies_ms);
            }
        }
        let mut slow: Vec<SlowCase> = latencies
            .into_iter()
            .filter_map(|((eval, case), mut all)| {
                let median_ms = median(&mut all)?;
                Some(SlowCase {
                    eval: eval.into(),
                    case: case.into(),
                    median_ms,
                    samples: all.len(),
                })
            })
            .collect();
        slow.sort_by(|a, b| b.median_ms.total_cmp(&a.median_ms));
        slow
    }
}

impl PastRun {
    /// Those that may be listed.
    fn cases(&self) -> impl Iterator<Item = (&PastEval, &PastCase)> {
        self.evals
            .iter()
            .filter(|eval| !eval.private)
            .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)))
    }
}

impl PastEval {
    /// The median latency of its samples, milliseconds; `None` when none was timed.
    pub fn median_latency_ms(&self) -> Option<f64> {
        let mut all: Vec<f64> = self
            .cases
            .iter()
            .flat_map(|case| &case.latencies_ms)
            .copied()
            .collect();
        median(&mut all)
    }
}

/// As reports have it: `latency_p50_ms`.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    percentile(values, 0.5).ok()
}

/// Marks the evals of which a run had only some cases: those of shards, and of runs whose filters
/// take cases those that have fewer than in the nearest run without filters, the earlier one if
/// there is one. Without any such run nobody knows how many there are, but for an eval that is a
/// case itself.
pub(super) fn mark_parts(group: &mut HistoryGroup) {
    let sizes = |run: &PastRun| -> Vec<(Arc<str>, usize)> {
        run.evals
            .iter()
            .map(|eval| (Arc::clone(&eval.id), eval.counts.total))
            .collect()
    };
    let complete = |run: &PastRun| run.filters.is_empty() && run.shard.is_none();
    let mut later: HashMap<Arc<str>, usize> = HashMap::new();
    // What runs after it say, for runs before any that had all.
    for run in group.runs.iter().rev().filter(|run| complete(run)) {
        later.extend(sizes(run));
    }
    let mut known: HashMap<Arc<str>, usize> = HashMap::new();
    for run in &mut group.runs {
        if complete(run) {
            known.extend(sizes(run));
            continue;
        }
        let (shard, whole_evals) = (
            run.shard.is_some(),
            run.filters.iter().all(|words| takes_whole_evals(words)),
        );
        for eval in &mut run.evals {
            let all = known.get(&eval.id).or_else(|| later.get(&eval.id));
            let part = match all {
                Some(all) => eval.counts.total < *all,
                None => !eval.cases.iter().all(|case| case.id == eval.id),
            };
            eval.partial = shard || (!whole_evals && part);
        }
    }
}

/// Of the kinds of filters those that no eval passes in part.
fn takes_whole_evals(words: &str) -> bool {
    ["category ", "eval ", "criticality "]
        .iter()
        .any(|kind| words.starts_with(kind))
}
