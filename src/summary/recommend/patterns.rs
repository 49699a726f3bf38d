//! Advice from how failures lie: what they share, which is nearest to a threshold, and what takes
//! the most.

use std::collections::{BTreeMap, HashSet};

use super::words::{place, short, title};
use super::{Advice, AdviceRank, RunFindings, advice, words};
use crate::model::{
    Bound, CaseResult, Decision, EvalResult, EvalType, Figure, Metric, Outcome, SampleResult,
    ThresholdResult,
};
use crate::spec::words::Difficulty;
use eval_base::text;
use eval_stats::reaches;

/// Failed evals from which on something shared by them tells anything.
const FEWEST: usize = 3;

/// What evals can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SharedTrait<'a> {
    Tag(&'a str),
    Category(&'a str),
    Difficulty(&'static str),
}

impl SharedTrait<'_> {
    fn words(self) -> String {
        match self {
            SharedTrait::Tag(tag) => format!("tag `{}`", short(tag)),
            SharedTrait::Category(category) => format!("category `{}`", short(category)),
            SharedTrait::Difficulty(difficulty) => format!("difficulty {difficulty}"),
        }
    }
}

fn marks(eval: &EvalResult) -> impl Iterator<Item = SharedTrait<'_>> {
    let tags: HashSet<&str> = eval.tags.iter().map(String::as_str).collect();
    let difficulty = eval.difficulty.map(|difficulty| match difficulty {
        Difficulty::Easy => "easy",
        Difficulty::Medium => "medium",
        Difficulty::Hard => "hard",
    });
    let others = eval
        .category
        .as_deref()
        .map(SharedTrait::Category)
        .into_iter()
        .chain(difficulty.map(SharedTrait::Difficulty));
    tags.into_iter().map(SharedTrait::Tag).chain(others)
}

/// What at least three quarters of the failed evals share and at most a third of those that passed.
/// Of several the one that tells failures and passes apart best.
pub fn shared(known: &RunFindings<'_>) -> Option<Advice> {
    let mut by_mark: BTreeMap<SharedTrait<'_>, (usize, usize)> = BTreeMap::new();
    let (mut failed, mut passed) = (0, 0);
    for eval in known.evals.iter().filter(|eval| eval.outcome.is_graded()) {
        let is_failed = eval.outcome == Outcome::Failed;
        failed += usize::from(is_failed);
        passed += usize::from(!is_failed);
        for mark in marks(eval) {
            let (of_failed, of_passed) = by_mark.entry(mark).or_default();
            *of_failed += usize::from(is_failed);
            *of_passed += usize::from(!is_failed);
        }
    }
    if failed < FEWEST || passed < FEWEST {
        return None;
    }
    let tells =
        |of: &(usize, usize)| of.0 >= FEWEST && of.0 * 4 >= failed * 3 && of.1 * 3 <= passed;
    let apart = |of: &(usize, usize)| (of.0 * passed).saturating_sub(of.1 * failed);
    let mut found: Vec<(SharedTrait<'_>, (usize, usize))> =
        by_mark.into_iter().filter(|(_, of)| tells(of)).collect();
    found.sort_by_key(|(_, of)| std::cmp::Reverse(apart(of)));
    let (mark, (of_failed, of_passed)) = found.first()?;
    let count = |n: usize| {
        if n == 0 {
            "none".to_owned()
        } else {
            text::group_digits(n)
        }
    };
    let all = if *of_failed == failed {
        "all".to_owned()
    } else {
        format!("{} of the", count(*of_failed))
    };
    let text = format!(
        "Look at {} first: {all} {} failed evals have it, and {} of the {} that passed",
        mark.words(),
        count(failed),
        count(*of_passed),
        count(passed)
    );
    Some(advice(AdviceRank::Shared, text))
}

/// One of several that failed, with what it scored.
struct NearMiss<'a> {
    /// The eval that needs no further sentence: `None` for one of its cases.
    eval: Option<&'a str>,
    name: String,
    score: f64,
}

/// A threshold on a share that one more pass would meet: the failed eval or case that scored
/// highest. The gate's own reasons say by how much it was missed.
pub fn near_miss<'a>(known: &RunFindings<'a>, told: &mut HashSet<&'a str>) -> Option<Advice> {
    let missed = |threshold: &&ThresholdResult| {
        threshold.status == Decision::Fail
            && threshold.bound == Bound::Min
            && threshold.on == Figure::Value
    };
    let found = known
        .gate
        .thresholds
        .iter()
        .filter(missed)
        .find_map(|threshold| {
            let (nearest, failed, noun) = nearest(known, threshold)?;
            Some((threshold, nearest, failed, noun))
        });
    let (threshold, nearest, failed, noun) = found?;
    told.extend(nearest.eval);
    let text = format!(
        "Fix {} first: of the {} failed {noun}s it scored highest ({}), and one more pass would meet {} >= {}",
        nearest.name,
        text::group_digits(failed),
        shown_score(nearest.score),
        short(&threshold.metric),
        threshold.threshold
    );
    Some(advice(AdviceRank::Near, text))
}

/// The nearest of the failed, how many they are, and what they are; `None` when one more would not
/// do, there is no choice, or no score tells them apart from nothing.
fn nearest<'a>(
    known: &RunFindings<'a>,
    threshold: &ThresholdResult,
) -> Option<(NearMiss<'a>, usize, &'static str)> {
    let of_kind =
        |eval: &&EvalResult, kind: Option<EvalType>| kind.is_none_or(|kind| eval.kind == kind);
    let kind = match threshold.metric.parse::<Metric>().ok()? {
        Metric::PassRate => None,
        Metric::CapabilityPassRate => Some(EvalType::Capability),
        Metric::RegressionPassRate => Some(EvalType::Regression),
        Metric::CasePassRate => return nearest_case(known, threshold),
        _ => return None,
    };
    let evals = || known.evals.iter().filter(|eval| of_kind(eval, kind));
    let passed = evals()
        .filter(|eval| eval.outcome == Outcome::Passed)
        .count();
    let failed: Vec<&EvalResult> = evals()
        .filter(|eval| eval.outcome == Outcome::Failed)
        .collect();
    let candidates = failed.iter().filter_map(|eval| {
        Some(NearMiss {
            eval: Some(eval.id.as_str()),
            name: title(eval),
            score: eval.score.filter(|score| *score > 0.0)?,
        })
    });
    let best =
        best(candidates).filter(|_| one_more_does(passed, failed.len(), threshold.threshold))?;
    Some((best, failed.len(), "eval"))
}

fn nearest_case<'a>(
    known: &RunFindings<'a>,
    threshold: &ThresholdResult,
) -> Option<(NearMiss<'a>, usize, &'static str)> {
    let counts = &known.totals.cases;
    let cases = known
        .evals
        .iter()
        .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
    let candidates = cases
        .filter(|(_, case)| case.outcome == Outcome::Failed)
        .filter_map(|(eval, case)| {
            let score = case.score.filter(|score| *score > 0.0)?;
            Some(NearMiss {
                eval: None,
                name: place(&eval.id, &case.id),
                score,
            })
        });
    let does = one_more_does(counts.passed, counts.failed, threshold.threshold);
    let best = best(candidates).filter(|_| does && known.omitted.cases == 0)?;
    Some((best, counts.failed, "case"))
}

/// Of equals the first.
fn best<'a>(candidates: impl Iterator<Item = NearMiss<'a>>) -> Option<NearMiss<'a>> {
    candidates.reduce(|best, next| if next.score > best.score { next } else { best })
}

/// With two or more that failed: of a single one there is nothing to choose.
fn one_more_does(passed: usize, failed: usize, threshold: f64) -> bool {
    failed > 1 && reaches((passed + 1) as f64 / (passed + failed) as f64, threshold)
}

/// Three decimals, never rounded up to a pass.
fn shown_score(score: f64) -> String {
    let text = format!("{:.3}", (score * 1000.0).floor() / 1000.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Cases that take the most of what a threshold bounds; only where every case is listed with its
/// samples.
pub fn slow(known: &RunFindings<'_>) -> Vec<Advice> {
    let missed = known
        .gate
        .thresholds
        .iter()
        .filter(|t| t.status == Decision::Fail && t.bound == Bound::Max);
    if known.omitted.cases > 0 || known.omitted.samples > 0 {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for threshold in missed {
        let Ok(metric) = threshold.metric.parse::<Metric>() else {
            continue;
        };
        let Some((what, of)) = taken(&metric) else {
            continue;
        };
        if !seen.insert(what) {
            continue;
        }
        let cases = known
            .evals
            .iter()
            .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
        let mut costs: Vec<(f64, String)> = cases
            .filter_map(|(eval, case)| Some((of(case)?, eval, case)))
            .filter(|(cost, ..)| *cost > 0.0)
            .map(|(cost, eval, case)| (cost, place(&eval.id, &case.id)))
            .collect();
        costs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let few = costs.len().min(3);
        if few > 0 {
            let names = words::listed(costs.into_iter().map(|(_, name)| name), few, "case");
            let metric = short(&threshold.metric);
            all.push(advice(
                AdviceRank::Slow,
                format!("Start with the {what} to lower {metric}: {names}"),
            ));
        }
    }
    all
}

type CaseCost = fn(&CaseResult) -> Option<f64>;

/// What a metric sums up, and how much of it a case takes.
fn taken(metric: &Metric) -> Option<(&'static str, CaseCost)> {
    fn most(case: &CaseResult, of: impl Fn(&SampleResult) -> Option<f64>) -> Option<f64> {
        case.samples.iter().filter_map(of).reduce(f64::max)
    }
    match metric {
        Metric::LatencyMeanMs | Metric::LatencyP50Ms | Metric::LatencyP95Ms => {
            Some(("slowest cases", |case| {
                most(case, |sample| sample.latency_ms)
            }))
        }
        Metric::CostUsd => Some(("most expensive cases", |case| {
            let costs = case
                .samples
                .iter()
                .filter_map(|sample| sample.usage?.cost_usd);
            costs.reduce(|a, b| a + b)
        })),
        Metric::Tokens | Metric::TokensInput | Metric::TokensOutput => {
            Some(("cases with the most tokens", |case| {
                let tokens = case.samples.iter().filter_map(|sample| sample.usage);
                tokens
                    .map(|usage| (usage.input_tokens.saturating_add(usage.output_tokens)) as f64)
                    .reduce(|a, b| a + b)
            }))
        }
        _ => None,
    }
}
