//! A summary against a recount that shares nothing with it: every figure from its definition, by
//! the most direct way.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fold::ListingLimits;
use super::random_run::{Dice, RandomRun, RunCase, RunEval, RunSample, a_run, summary};
use crate::model::*;

const P: Outcome = Outcome::Passed;

/// Rounding of sums aside.
fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn number(outcomes: &[Outcome], outcome: Outcome) -> usize {
    outcomes.iter().filter(|o| **o == outcome).count()
}

fn counts(outcomes: &[Outcome]) -> Counts {
    let (passed, failed) = (number(outcomes, P), number(outcomes, Outcome::Failed));
    Counts {
        total: outcomes.len(),
        passed,
        failed,
        errored: number(outcomes, Outcome::Errored),
        skipped: number(outcomes, Outcome::Skipped),
        pending: number(outcomes, Outcome::Pending),
        pass_rate: (passed + failed > 0).then(|| passed as f64 / (passed + failed) as f64),
    }
}

/// A sample's outcome and score when those without a grade are read as `unknown`.
fn read(sample: &RunSample, unknown: Option<Outcome>) -> (Outcome, Option<f64>) {
    let outcome = sample.outcome();
    let said = sample
        .attempts()
        .and_then(|attempts| attempts.last().unwrap().verdict.score);
    let plain = |outcome: Outcome| Some(if outcome == P { 1.0 } else { 0.0 });
    match (outcome.is_graded(), unknown) {
        (true, _) => (outcome, said.or(plain(outcome))),
        (false, Some(unknown)) => (unknown, plain(unknown)),
        (false, None) => (outcome, None),
    }
}

const READINGS: [Option<Outcome>; 3] = [None, Some(Outcome::Failed), Some(P)];

fn open_name(outcomes: &[Outcome]) -> Outcome {
    [Outcome::Errored, Outcome::Skipped]
        .into_iter()
        .find(|o| outcomes.contains(o))
        .unwrap_or(Outcome::Pending)
}

fn case_outcome(eval: &RunEval, case: &RunCase, reading: Option<Outcome>) -> Outcome {
    let share = |unknown| {
        let passed = case
            .samples
            .iter()
            .filter(|sample| read(sample, Some(unknown)).0 == P)
            .count();
        passed as f64 / case.samples.len() as f64
    };
    let (worst, best) = match reading {
        Some(unknown) => (share(unknown), share(unknown)),
        None => (share(Outcome::Failed), share(P)),
    };
    let needed = eval.info.pass_rate_threshold - 1e-9;
    if worst >= needed {
        P
    } else if best < needed {
        Outcome::Failed
    } else {
        open_name(
            &case
                .samples
                .iter()
                .map(RunSample::outcome)
                .collect::<Vec<_>>(),
        )
    }
}

fn case_score(case: &RunCase, reading: Option<Outcome>) -> Option<f64> {
    mean(
        &case
            .samples
            .iter()
            .filter_map(|sample| read(sample, reading).1)
            .collect::<Vec<_>>(),
    )
}

fn eval_score(eval: &RunEval, reading: Option<Outcome>) -> Option<f64> {
    mean(
        &eval
            .cases
            .iter()
            .filter_map(|case| case_score(case, reading))
            .collect::<Vec<_>>(),
    )
}

fn eval_outcome(eval: &RunEval, reading: Option<Outcome>) -> Outcome {
    let cases: Vec<Outcome> = eval
        .cases
        .iter()
        .map(|case| case_outcome(eval, case, reading))
        .collect();
    let reaches = |reading| {
        eval.info
            .score_threshold
            .is_some_and(|needed| eval_score(eval, reading).unwrap_or(0.0) >= needed - 1e-9)
    };
    let (worst, best) = match reading {
        Some(_) => (reaches(reading), reaches(reading)),
        None => (reaches(Some(Outcome::Failed)), reaches(Some(P))),
    };
    if cases.iter().all(|outcome| *outcome == P) || worst {
        P
    } else if !best && cases.contains(&Outcome::Failed) {
        Outcome::Failed
    } else {
        let samples = eval
            .cases
            .iter()
            .flat_map(|case| &case.samples)
            .map(RunSample::outcome);
        open_name(&samples.collect::<Vec<_>>())
    }
}

/// Shares of the k-subsets of `firsts` of which one passes, and of which all pass.
fn by_subsets(firsts: &[bool], k: usize) -> (f64, f64) {
    let subsets: Vec<u32> = (0u32..1 << firsts.len())
        .filter(|set| set.count_ones() as usize == k)
        .collect();
    let share = |holds: &dyn Fn(u32) -> bool| {
        subsets.iter().filter(|set| holds(**set)).count() as f64 / subsets.len() as f64
    };
    let passed = |set: u32, i: usize| set >> i & 1 == 0 || firsts[i];
    (
        share(&|set| (0..firsts.len()).any(|i| set >> i & 1 == 1 && firsts[i])),
        share(&|set| (0..firsts.len()).all(|i| passed(set, i))),
    )
}

fn cases(run: &RandomRun) -> impl Iterator<Item = &RunCase> {
    run.evals.iter().flat_map(|eval| &eval.cases)
}

fn all_samples(run: &RandomRun) -> impl Iterator<Item = &RunSample> {
    cases(run).flat_map(|case| &case.samples)
}

/// pass@k, pass^k and its unbiased form over cases, under one reading; `None` when a case has fewer
/// than k samples.
fn pass_k(run: &RandomRun, k: usize, reading: Option<Outcome>) -> [Option<f64>; 3] {
    if cases(run).any(|case| case.samples.len() < k) {
        return [None; 3];
    }
    let mut values: [Vec<f64>; 3] = Default::default();
    for case in cases(run) {
        let firsts = case.samples.iter().map(RunSample::first);
        let read = firsts.map(|outcome| {
            if outcome.is_graded() {
                outcome
            } else {
                reading.unwrap_or(outcome)
            }
        });
        let graded: Vec<bool> = read
            .filter(|outcome| outcome.is_graded())
            .map(|outcome| outcome == P)
            .collect();
        if graded.len() >= k {
            let (any, all) = by_subsets(&graded, k);
            let rate = graded.iter().filter(|passed| **passed).count() as f64 / graded.len() as f64;
            [any, rate.powi(k as i32), all]
                .into_iter()
                .zip(&mut values)
                .for_each(|(v, to)| to.push(v));
        }
    }
    values.map(|values| mean(&values))
}

/// Mean over cases of the means of the named number over the graded samples that have it, and
/// whether it is known of all samples: they are graded, and no grader says that it could not
/// measure it.
fn named(run: &RandomRun, name: &str) -> (Option<f64>, bool) {
    let of = |sample: &RunSample| {
        let last = sample.attempts()?.last()?;
        let number = last
            .verdict
            .grades
            .iter()
            .find_map(|grade| grade.metrics.get(name).copied());
        number.filter(|_| last.verdict.outcome.is_graded())
    };
    let known = |sample: &RunSample| {
        let last = sample.attempts().and_then(|attempts| attempts.last());
        last.is_some_and(|last| {
            let unknown =
                |grade: &Grade| grade.unmeasured.iter().any(|unmeasured| unmeasured == name);
            last.verdict.outcome.is_graded() && !last.verdict.grades.iter().any(unknown)
        })
    };
    let by_case =
        cases(run).filter_map(|case| mean(&case.samples.iter().filter_map(of).collect::<Vec<_>>()));
    (
        mean(&by_case.collect::<Vec<_>>()),
        all_samples(run).all(known),
    )
}

fn is_flaky(sample: &RunSample) -> bool {
    let failed_before = |attempts: &[Attempt]| {
        attempts
            .iter()
            .any(|a| a.verdict.outcome == Outcome::Failed)
    };
    sample.outcome() == P && sample.attempts().is_some_and(failed_before)
}

fn check_metrics(run: &RandomRun, summary: &Summary) -> Result<(), TestCaseError> {
    let mut expected: BTreeMap<String, [Option<f64>; 3]> = BTreeMap::new();
    for (at, reading) in READINGS.into_iter().enumerate() {
        let mut put = |name: &str, value: Option<f64>| {
            expected.entry(name.to_owned()).or_default()[at] = value
        };
        for k in [1, 2, 3] {
            let [any, hat, all] = pass_k(run, k, reading);
            put(&format!("pass_at_{k}"), any);
            put(&format!("pass_hat_{k}"), hat);
            put(&format!("pass_hat_{k}_unbiased"), all);
        }
        let outcomes = |kind: Option<EvalType>| {
            let evals = run
                .evals
                .iter()
                .filter(|eval| kind.is_none_or(|kind| eval.info.kind == kind));
            counts(
                &evals
                    .map(|eval| eval_outcome(eval, reading))
                    .collect::<Vec<_>>(),
            )
            .pass_rate
        };
        put("pass_rate", outcomes(None));
        put("capability_pass_rate", outcomes(Some(EvalType::Capability)));
        put("regression_pass_rate", outcomes(Some(EvalType::Regression)));
        let case_outcomes: Vec<Outcome> = run
            .evals
            .iter()
            .flat_map(|eval| {
                eval.cases
                    .iter()
                    .map(move |case| case_outcome(eval, case, reading))
            })
            .collect();
        put("case_pass_rate", counts(&case_outcomes).pass_rate);
        put(
            "score",
            mean(
                &cases(run)
                    .filter_map(|case| case_score(case, reading))
                    .collect::<Vec<_>>(),
            ),
        );
        let graded = run
            .evals
            .iter()
            .filter(|eval| eval_outcome(eval, reading).is_graded());
        let (sum, weight) = graded
            .filter_map(|eval| Some((eval_score(eval, reading)?, eval.info.weight)))
            .fold((0.0, 0.0), |(sum, weights), (score, weight)| {
                (sum + score * weight, weights + weight)
            });
        put("weighted_score", (weight > 0.0).then_some(sum / weight));
        let failed = all_samples(run)
            .filter(|sample| read(sample, reading).0 == Outcome::Failed)
            .count();
        put("failed_samples", Some(failed as f64));
        // At worst what was skipped would have errored, and what has no grade would have passed on
        // a later attempt only.
        let worst = reading == Some(Outcome::Failed);
        let such = |holds: &dyn Fn(&RunSample) -> bool| {
            all_samples(run).filter(|sample| holds(sample)).count()
        };
        let errored = such(&|sample| match sample.outcome() {
            Outcome::Errored => true,
            outcome => worst && outcome == Outcome::Skipped,
        });
        put("errored_samples", Some(errored as f64));
        let flaky = such(&|sample| is_flaky(sample) || worst && !sample.outcome().is_graded());
        put("flaky_samples", Some(flaky as f64));
        for name in ["lint_pass", "edit_rate"] {
            let (value, complete) = named(run, name);
            if value.is_some() {
                put(name, value.filter(|_| reading.is_none() || complete));
            }
        }
    }
    for (name, [value, worst, best]) in expected {
        let estimate = &summary.estimates[&name];
        prop_assert!(
            close(estimate.value, value),
            "{name}: {:?} and not {value:?}",
            estimate.value
        );
        prop_assert!(
            close(estimate.worst, worst),
            "{name} at worst: {:?} and not {worst:?}",
            estimate.worst
        );
        prop_assert!(
            close(estimate.best, best),
            "{name} at best: {:?} and not {best:?}",
            estimate.best
        );
        if let (Some(value), Some([low, high])) = (estimate.value, estimate.ci) {
            prop_assert!(
                low <= value + 1e-9 && value <= high + 1e-9,
                "{name}: {value} in {low}..{high}"
            );
        }
    }
    Ok(())
}

fn check_measured(run: &RandomRun, summary: &Summary) -> Result<(), TestCaseError> {
    let lasts: Vec<&[Attempt]> = all_samples(run).filter_map(RunSample::attempts).collect();
    let mut latencies: Vec<f64> = lasts
        .iter()
        .filter_map(|attempts| attempts.last()?.latency_ms)
        .collect();
    latencies.sort_by(f64::total_cmp);
    prop_assert!(close(summary.metrics["latency_mean_ms"], mean(&latencies)));
    let middle = latencies.len() / 2;
    let median = match latencies.len() {
        0 => None,
        n if n % 2 == 1 => Some(latencies[middle]),
        _ => Some((latencies[middle - 1] + latencies[middle]) / 2.0),
    };
    prop_assert!(close(summary.metrics["latency_p50_ms"], median));
    let used = |attempt: &Attempt| match &attempt.stored {
        Some(stored) => stored.usage,
        None => attempt.output.as_ref()?.usage,
    };
    let usages: Vec<Usage> = lasts
        .iter()
        .flat_map(|attempts| attempts.iter())
        .filter_map(used)
        .collect();
    let tokens: u64 = usages
        .iter()
        .map(|usage| usage.input_tokens + usage.output_tokens)
        .sum();
    prop_assert!(close(
        summary.metrics["tokens"],
        (!usages.is_empty()).then_some(tokens as f64)
    ));
    let costs: Vec<f64> = usages.iter().filter_map(|usage| usage.cost_usd).collect();
    prop_assert!(close(
        summary.metrics["cost_usd"],
        (!costs.is_empty()).then(|| costs.iter().sum())
    ));
    let is_whole = |known: &dyn Fn(&Attempt) -> bool| {
        !lasts.is_empty() && lasts.iter().all(|attempts| attempts.iter().all(known))
    };
    let ungraded = all_samples(run).any(|sample| !sample.outcome().is_graded());
    let at_worst = |metric: &str| summary.estimates[metric].worst.is_some();
    prop_assert_eq!(
        at_worst("tokens"),
        is_whole(&|a| used(a).is_some() && !ModelCall::has_lower_bound(a.call.as_deref()))
            && !ungraded
    );
    let priced = |a: &Attempt| {
        used(a).is_some_and(|usage| usage.cost_usd.is_some())
            && !ModelCall::has_lower_bound(a.call.as_deref())
    };
    prop_assert_eq!(at_worst("cost_usd"), is_whole(&priced) && !ungraded);
    let timed = |attempts: &&[Attempt]| {
        let last = attempts.last();
        let kept = last
            .and_then(|a| a.call.as_ref())
            .is_some_and(|call| call.source != AnswerSource::Network);
        !kept || last.is_some_and(|a| a.latency_ms.is_some())
    };
    let known = !latencies.is_empty() && lasts.iter().all(timed);
    prop_assert_eq!(at_worst("latency_p95_ms"), known && !ungraded);
    Ok(())
}

fn check_totals(run: &RandomRun, summary: &Summary) -> Result<(), TestCaseError> {
    let totals = &summary.summary;
    let evals: Vec<(&EvalInfo, Outcome)> = run
        .evals
        .iter()
        .map(|eval| (&eval.info, eval_outcome(eval, None)))
        .collect();
    let of = |keep: &dyn Fn(&EvalInfo) -> bool| {
        let outcomes: Vec<Outcome> = evals
            .iter()
            .filter(|(info, _)| keep(info))
            .map(|(_, o)| *o)
            .collect();
        (!outcomes.is_empty()).then(|| counts(&outcomes))
    };
    let all = of(&|_| true).unwrap();
    prop_assert_eq!(
        (
            totals.total_evals,
            totals.passed,
            totals.failed,
            totals.errored,
            totals.skipped,
            totals.pending
        ),
        (
            all.total,
            all.passed,
            all.failed,
            all.errored,
            all.skipped,
            all.pending
        )
    );
    prop_assert_eq!(totals.pass_rate, all.pass_rate);
    for kind in [EvalType::Capability, EvalType::Regression] {
        prop_assert_eq!(
            totals.by_type.get(&kind).copied(),
            of(&|info| info.kind == kind)
        );
    }
    for category in ["math", "code"] {
        let expected = of(&|info| info.category.as_deref() == Some(category));
        prop_assert_eq!(totals.by_category.get(category).copied(), expected);
    }
    for tag in ["a", "b"] {
        prop_assert_eq!(
            totals.by_tag.get(tag).copied(),
            of(&|info| info.tags.iter().any(|t| t == tag))
        );
    }
    let outcomes: Vec<(&RunCase, Outcome)> = run
        .evals
        .iter()
        .flat_map(|eval| {
            eval.cases
                .iter()
                .map(move |case| (case, case_outcome(eval, case, None)))
        })
        .collect();
    prop_assert_eq!(
        totals.cases,
        counts(&outcomes.iter().map(|(_, o)| *o).collect::<Vec<_>>())
    );
    for grader in [GraderType::Code, GraderType::Model, GraderType::Human] {
        let such = outcomes
            .iter()
            .filter(|(case, _)| case.graders.contains(&grader))
            .map(|(_, o)| *o);
        let such: Vec<Outcome> = such.collect();
        let expected = (!such.is_empty()).then(|| counts(&such));
        prop_assert_eq!(totals.by_grader.get(grader.name()).copied(), expected);
    }
    let samples: Vec<Outcome> = all_samples(run).map(RunSample::outcome).collect();
    prop_assert_eq!(totals.samples, counts(&samples));
    for cause in Cause::ALL {
        let n = all_samples(run)
            .filter(|sample| sample.cause() == Some(*cause))
            .count();
        prop_assert_eq!(totals.by_cause.get(cause.name()).copied().unwrap_or(0), n);
    }
    let finals =
        || all_samples(run).filter_map(|sample| Some(&sample.attempts()?.last()?.verdict.grades));
    for level in Trust::ALL {
        let of_level = |grades: &Vec<Grade>| {
            grades
                .iter()
                .filter(|grade| grade.trust == Some(level))
                .count()
        };
        let grades: usize = finals().map(of_level).sum();
        let samples = finals().filter(|grades| of_level(grades) > 0).count();
        let told = totals.by_trust.get(&level).copied();
        prop_assert_eq!(
            told,
            (samples > 0).then_some(TrustCounts { samples, grades })
        );
    }
    let adjudicated = finals()
        .filter(|grades| grades.iter().any(|grade| grade.adjudicated))
        .count();
    prop_assert_eq!(totals.adjudicated, adjudicated);
    prop_assert_eq!(
        totals.flaky,
        all_samples(run).filter(|sample| is_flaky(sample)).count()
    );
    let retries = all_samples(run)
        .filter_map(RunSample::attempts)
        .flatten()
        .map(|a| a.infrastructure_retries as usize);
    prop_assert_eq!(totals.infrastructure_retries, retries.sum::<usize>());
    Ok(())
}

fn check_evals(run: &RandomRun, summary: &Summary) -> Result<(), TestCaseError> {
    prop_assert_eq!(summary.evals.len(), run.evals.len());
    for (result, eval) in summary.evals.iter().zip(&run.evals) {
        prop_assert_eq!(
            (&result.id, result.outcome),
            (&eval.info.id, eval_outcome(eval, None))
        );
        prop_assert!(close(result.score, eval_score(eval, None)));
        for (c, (result, case)) in result.cases.iter().zip(&eval.cases).enumerate() {
            prop_assert_eq!(
                (&result.id, &result.name),
                (&format!("case {c}"), &case.name)
            );
            prop_assert_eq!(result.outcome, case_outcome(eval, case, None));
            prop_assert!(close(result.score, case_score(case, None)));
            let firsts: Vec<Outcome> = case.samples.iter().map(RunSample::first).collect();
            let graded = firsts.iter().filter(|outcome| outcome.is_graded()).count();
            prop_assert_eq!(
                (result.first_passes, result.first_graded),
                (number(&firsts, P) as u32, graded as u32)
            );
            let listed: Vec<(u32, Outcome, usize)> = result
                .samples
                .iter()
                .map(|s| (s.index, s.outcome, s.earlier.len() + 1))
                .collect();
            let finished = case.samples.iter().enumerate().filter_map(|(s, sample)| {
                Some((s as u32, sample.outcome(), sample.attempts()?.len()))
            });
            let expected: Vec<_> = finished.filter(|_| run.include_details).collect();
            prop_assert_eq!(listed, expected);
        }
    }
    let expected = run.evals.iter().flat_map(|eval| &eval.cases).map(|case| {
        let has = |outcome| {
            usize::from(
                case.samples
                    .iter()
                    .any(|sample| sample.outcome() == outcome),
            )
        };
        has(Outcome::Failed) + has(Outcome::Errored)
    });
    prop_assert_eq!(summary.failures.len(), expected.sum::<usize>());
    prop_assert_eq!((summary.truncated, summary.omitted), (false, None));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_summary_is_what_a_naive_recount_gives(run in a_run(12), seed: u64) {
        let summary = summary(&run.whole(&mut Dice(seed)), ListingLimits::default());
        check_totals(&run, &summary)?;
        check_metrics(&run, &summary)?;
        check_measured(&run, &summary)?;
        check_evals(&run, &summary)?;
    }

    /// Figures count everything, also where next to nothing is listed.
    #[test]
    fn what_is_left_out_of_the_lists_is_in_the_figures(run in a_run(6), samples in 0usize..6, failures in 0usize..3, seed: u64) {
        let events = run.whole(&mut Dice(seed));
        let whole = summary(&events, ListingLimits::default());
        let short = summary(&events, ListingLimits { samples, bytes: 1_000, inputs: 0, failures });
        prop_assert_eq!(&short.summary, &whole.summary);
        prop_assert_eq!(&short.estimates, &whole.estimates);
        prop_assert_eq!((&short.gate, &short.metadata), (&whole.gate, &whole.metadata));
        let evals = |summary: &Summary| {
            summary.evals.iter().cloned().map(|eval| EvalResult { cases: Vec::new(), ..eval }).collect::<Vec<_>>()
        };
        prop_assert_eq!(evals(&short), evals(&whole));
        let listed = short.failures.len() + short.omitted.map_or(0, |omitted| omitted.failures);
        prop_assert_eq!(listed, whole.failures.len());
    }
}
