//! What models took, against a recount that shares nothing with it, and by hand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fold::ListingLimits;
use super::random_run::{Dice, RandomRun, SampleRemark, a_run, finished, summary};
use crate::model::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Every attempt that the journal holds, those of samples that were asked again included.
fn all_attempts(run: &RandomRun) -> Vec<&Attempt> {
    let samples = run
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .flat_map(|case| &case.samples);
    let said = samples
        .flat_map(|sample| &sample.said)
        .filter_map(|said| match said {
            SampleRemark::Finished(attempts) => Some(attempts),
            SampleRemark::Skipped(_) => None,
        });
    said.flatten().collect()
}

fn usage_and_finish(attempt: &Attempt) -> (Option<Usage>, Option<FinishReason>) {
    match (&attempt.output, &attempt.stored) {
        (Some(output), None) => (output.usage, output.finish),
        (None, Some(stored)) => (stored.usage, stored.finish),
        _ => panic!("random attempts have one output"),
    }
}

/// The questions to judges as attempts of targets that took the same.
fn judge_attempts(run: &RandomRun) -> Vec<Attempt> {
    let of = |attempt: &Attempt| {
        let judged = attempt
            .verdict
            .grades
            .iter()
            .filter_map(|grade| grade.judged.clone());
        judged
            .flat_map(|judged| judged.votes)
            .flat_map(|vote| vote.calls)
            .collect::<Vec<_>>()
    };
    let asked = all_attempts(run).into_iter().flat_map(of);
    let as_attempt = |asked: JudgeCall| {
        let refused = asked.answered && asked.finish == Some(FinishReason::Refused);
        let finish = asked
            .finish
            .filter(|finish| refused || *finish != FinishReason::Refused);
        let mut attempt = super::tests::asked(&asked.call, None);
        attempt.output = Some(Output {
            usage: asked.usage,
            finish,
            ..Output::text("out")
        });
        attempt.unanswered = !asked.answered;
        attempt.latency_ms = asked.latency_ms;
        attempt
    };
    asked.map(as_attempt).collect()
}

/// What one model, or all of them, took.
fn check(attempts: &[(&Attempt, &ModelCall)], told: &ModelUsed) -> Result<(), TestCaseError> {
    let refused = |a: &Attempt| {
        usage_and_finish(a).1 == Some(FinishReason::Refused)
            || a.verdict.cause == Some(Cause::Refused)
    };
    let answers = |a: &Attempt, call: &ModelCall| match &call.agent {
        Some(agent) => agent.answers,
        None => u64::from(a.is_answer() || refused(a)),
    };
    let count = |what: &dyn Fn(&Attempt, &ModelCall) -> bool| {
        attempts.iter().filter(|(a, call)| what(a, call)).count() as u64
    };
    let of = |source| {
        let such = attempts.iter().filter(|(_, call)| call.source == source);
        such.map(|(a, call)| answers(a, call)).sum::<u64>()
    };
    prop_assert_eq!(told.answers.network, of(AnswerSource::Network));
    prop_assert_eq!(told.answers.cache, of(AnswerSource::Cache));
    prop_assert_eq!(told.answers.recording, of(AnswerSource::Recording));
    let answered = |a: &Attempt, call: &ModelCall| answers(a, call) > 0;
    prop_assert_eq!(told.unanswered, count(&|a, call| !answered(a, call)));
    prop_assert_eq!(
        told.cut,
        count(&|a, call| answered(a, call) && usage_and_finish(a).1 == Some(FinishReason::Length))
    );
    prop_assert_eq!(
        told.refused,
        count(&|a, call| answered(a, call) && refused(a))
    );
    prop_assert_eq!(
        told.requests,
        attempts
            .iter()
            .map(|(_, c)| u64::from(c.requests))
            .sum::<u64>()
    );
    let retries = attempts
        .iter()
        .filter(|(_, c)| c.requests > 0 && c.agent.is_none())
        .map(|(_, c)| u64::from(c.requests) - 1);
    prop_assert_eq!(told.retries, retries.sum::<u64>());
    let bounds = attempts.iter().filter(|(_, c)| c.usage_is_lower_bound);
    prop_assert_eq!(told.lower_bounds as usize, bounds.count());
    for label in ["429", "timeout"] {
        let n: u64 = attempts
            .iter()
            .map(|(_, c)| u64::from(*c.faults.get(label).unwrap_or(&0)))
            .sum();
        prop_assert_eq!(told.faults.get(label).copied().unwrap_or(0), n);
    }
    let ms =
        |of: fn(&ModelCall) -> Option<f64>| attempts.iter().filter_map(|(_, c)| of(c)).sum::<f64>();
    prop_assert!(close(told.throttled_ms, ms(|c| c.throttled_ms)));
    prop_assert!(close(told.backoff_ms, ms(|c| c.backoff_ms)));
    let used: Vec<(Option<Usage>, u64, u64)> = attempts
        .iter()
        .filter(|(a, call)| answered(a, call))
        .map(|(a, call)| {
            let without = call.agent.as_ref().map_or(0, |agent| agent.without_usage);
            (usage_and_finish(a).0, answers(a, call), without)
        })
        .collect();
    let unknown = |is_known: fn(&Usage) -> bool| {
        let counts = used.iter().map(|(usage, answers, without)| {
            if usage.is_some_and(|usage| is_known(&usage)) {
                *without
            } else {
                *answers
            }
        });
        counts.sum::<u64>()
    };
    let untold = unknown(|_| true);
    let unpriced = unknown(|usage| usage.cost_usd.is_some());
    let used: Vec<Usage> = used.iter().filter_map(|(usage, ..)| *usage).collect();
    prop_assert_eq!(
        told.tokens_input,
        used.iter().map(|u| u.input_tokens).sum::<u64>()
    );
    prop_assert_eq!(
        told.tokens_output,
        used.iter().map(|u| u.output_tokens).sum::<u64>()
    );
    prop_assert_eq!(told.untold, untold);
    let costs: Vec<f64> = used.iter().filter_map(|u| u.cost_usd).collect();
    prop_assert_eq!(told.unpriced, unpriced);
    prop_assert_eq!(told.cost_usd.is_some(), !costs.is_empty());
    prop_assert!(close(told.cost_usd.unwrap_or(0.0), costs.iter().sum()));

    let mut spent: Vec<Usage> = Vec::new();
    let (mut wasted, mut unpriced, mut estimated) = (0, 0, 0);
    for (a, call) in attempts {
        let before = spent.len();
        let usage = usage_and_finish(a).0;
        let mut unknown = false;
        if call.source == AnswerSource::Network {
            spent.extend(usage.or(call.estimated));
            if usage.is_none() && answered(a, call) {
                unknown = call.estimated.is_none();
                estimated += call
                    .estimated
                    .map_or(0, |u| u.input_tokens + u.output_tokens);
            }
        }
        spent.extend(call.wasted);
        wasted += call.wasted.map_or(0, |u| u.input_tokens + u.output_tokens);
        unpriced += u64::from(unknown || spent[before..].iter().any(|u| u.cost_usd.is_none()));
    }
    prop_assert_eq!(
        told.spent.tokens,
        spent
            .iter()
            .map(|u| u.input_tokens + u.output_tokens)
            .sum::<u64>()
    );
    prop_assert_eq!(told.spent.wasted_tokens, wasted);
    prop_assert_eq!(told.spent.estimated_tokens, estimated);
    prop_assert_eq!(told.spent.unpriced, unpriced);
    let usd: Vec<f64> = spent.iter().filter_map(|u| u.cost_usd).collect();
    prop_assert_eq!(told.spent.usd.is_some(), !usd.is_empty() || unpriced == 0);
    prop_assert!(close(told.spent.usd.unwrap_or(0.0), usd.iter().sum()));
    let oldest = attempts
        .iter()
        .filter_map(|(_, c)| c.answered_at.clone())
        .min();
    prop_assert_eq!(&told.oldest_answer, &oldest);
    Ok(())
}

/// Latencies of the last attempts that count.
fn last_latencies(run: &RandomRun, model: Option<&str>) -> Vec<f64> {
    let samples = run
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .flat_map(|case| &case.samples);
    let mut all: Vec<f64> = samples
        .filter_map(|sample| {
            let attempts = sample.attempts()?;
            // The model that was asked last.
            let asked = attempts.iter().rev().find_map(|a| a.call.as_ref())?;
            let is_meant = model.is_none_or(|model| asked.model == model);
            attempts.last()?.latency_ms.filter(|_| is_meant)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn what_models_took_is_what_a_recount_finds(run in a_run(3), seed in any::<u64>(), seed2 in any::<u64>()) {
        let whole = summary(&run.whole(&mut Dice(seed)), ListingLimits::default());
        let again = summary(&run.whole(&mut Dice(seed2)), ListingLimits { samples: 0, bytes: 0, inputs: 0, failures: 0 });
        prop_assert_eq!(&whole.models, &again.models, "whatever the order, and whatever is listed");
        let mut by_model: BTreeMap<&str, Vec<(&Attempt, &ModelCall)>> = BTreeMap::new();
        let mut all = Vec::new();
        for attempt in all_attempts(&run) {
            let Some(call) = &attempt.call else { continue };
            by_model.entry(&call.model).or_default().push((attempt, call));
            all.push((attempt, &**call));
        }
        let judges = judge_attempts(&run);
        let mut by_judge: BTreeMap<&str, Vec<(&Attempt, &ModelCall)>> = BTreeMap::new();
        for attempt in &judges {
            let call = &**attempt.call.as_ref().unwrap();
            by_judge.entry(&call.model).or_default().push((attempt, call));
            all.push((attempt, call));
        }
        let Some(models) = &whole.models else {
            prop_assert!(all.is_empty());
            return Ok(());
        };
        prop_assert_eq!(models.judges.keys().map(String::as_str).collect::<Vec<_>>(), by_judge.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(models.by_model.keys().map(String::as_str).collect::<Vec<_>>(), by_model.keys().copied().collect::<Vec<_>>());
        check(&all, &models.total)?;
        let percentiles = |told: Option<Latencies>, all: Vec<f64>| match told {
            None => assert!(all.is_empty()),
            Some(told) => {
                assert_eq!(told.n, all.len());
                let at = |share: f64| eval_stats::percentile(&all, share).unwrap();
                assert_eq!([told.p50, told.p95, told.p99], [0.5, 0.95, 0.99].map(at));
            }
        };
        let of_judges = |name: Option<&str>| {
            let such = judges.iter().filter(|a| name.is_none_or(|name| a.call.as_ref().unwrap().model == name));
            let mut all: Vec<f64> = such.filter_map(|a| a.latency_ms).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let mut of_all = last_latencies(&run, None);
        of_all.extend(of_judges(None));
        of_all.sort_by(f64::total_cmp);
        percentiles(models.total.latency_ms, of_all);
        for (name, attempts) in by_judge {
            check(&attempts, &models.judges[name])?;
            percentiles(models.judges[name].latency_ms, of_judges(Some(name)));
        }
        for (name, attempts) in by_model {
            check(&attempts, &models.by_model[name])?;
            percentiles(models.by_model[name].latency_ms, last_latencies(&run, Some(name)));
        }
    }

    /// Two shards are joined to what the whole run took; of a run that grades again only the judges
    /// took something.
    #[test]
    fn shards_add_up_and_grading_again_asks_judges_alone(run in a_run(3), seed in any::<u64>()) {
        let whole = summary(&run.whole(&mut Dice(seed)), ListingLimits::default());
        let mut joined = Vec::new();
        for index in 0..2usize {
            joined.push(run.started("part", Some(Shard { index: index as u32 + 1, of: 2 })));
            joined.extend(run.plan(true, |_, c| c % 2 == index));
            joined.extend(run.samples(&mut Dice(seed), |_, c| c % 2 == index));
            joined.push(finished(1.0, false));
        }
        prop_assert_eq!(&summary(&joined, ListingLimits::default()).models, &whole.models);
        let mut regraded = run.whole(&mut Dice(seed));
        if let Some(Event::RunStarted(started)) = regraded.first_mut() {
            started.run.regrade_of = Some("another".to_owned());
        }
        let again = summary(&regraded, ListingLimits::default()).models;
        let judges = whole.models.map(|models| models.judges).unwrap_or_default();
        prop_assert_eq!(again.is_some(), !judges.is_empty());
        prop_assert!(again.is_none_or(|again| again.by_model.is_empty() && again.judges == judges));
    }
}

#[test]
fn a_resumed_session_adds_to_what_the_first_took() {
    use super::tests::{asked, planned_run};
    let call = ModelCall {
        model: "openai:m".to_owned(),
        requests: 3,
        ..ModelCall::default()
    };
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cost_usd: Some(0.1),
    };
    let (mut events, finish) = planned_run(2);
    let fault = Attempt {
        output: None,
        verdict: Verdict::without_grades(Cause::TargetUnreachable, "it is not there"),
        call: Some(Box::new(ModelCall {
            faults: BTreeMap::from([("reset".to_owned(), 3)]),
            wasted: Some(usage),
            ..call.clone()
        })),
        ..asked(&call, Some(usage))
    };
    events.push(finish(0, vec![fault]));
    events.push(finish(1, vec![asked(&call, Some(usage))]));
    events.push(finished(1.0, true));
    let Event::RunStarted(started) = events[0].clone() else {
        panic!("a run starts")
    };
    events.push(Event::RunResumed(started));
    events.push(finish(0, vec![asked(&call, Some(usage))]));
    events.push(finished(1.0, false));
    let summary = summary(&events, ListingLimits::default());
    let total = summary.models.expect("a model was asked").total;
    assert_eq!(
        (
            total.answers.network,
            total.unanswered,
            total.requests,
            total.retries
        ),
        (2, 1, 9, 6)
    );
    assert_eq!(
        (
            total.tokens_input,
            total.spent.tokens,
            total.spent.wasted_tokens
        ),
        (20, 45, 15)
    );
    assert!(close(total.spent.usd.unwrap(), 0.3) && close(total.cost_usd.unwrap(), 0.2));
    assert_eq!(summary.metrics["tokens"], Some(30.0), "of outputs alone");
}

#[test]
fn no_price_and_no_tokens_are_unknown_and_not_nothing() {
    use super::tests::{asked, planned_run};
    let call = ModelCall {
        model: "openai:m".to_owned(),
        requests: 1,
        ..ModelCall::default()
    };
    let total = |usages: &[Option<Usage>]| {
        let (mut events, finish) = planned_run(usages.len() as u32);
        for (at, usage) in usages.iter().enumerate() {
            events.push(finish(at as u32, vec![asked(&call, *usage)]));
        }
        let total = summary(&events, ListingLimits::default())
            .models
            .expect("a model was asked")
            .total;
        (
            total.cost_usd,
            total.unpriced,
            total.untold,
            total.spent.usd,
            total.spent.unpriced,
        )
    };
    let usage = |cost_usd| {
        Some(Usage {
            input_tokens: 1,
            output_tokens: 1,
            cost_usd,
        })
    };
    assert_eq!(total(&[usage(None)]), (None, 1, 0, None, 1));
    assert_eq!(total(&[None]), (None, 1, 1, None, 1));
    assert_eq!(total(&[usage(Some(0.0))]), (Some(0.0), 0, 0, Some(0.0), 0));
    assert_eq!(
        total(&[usage(Some(0.5)), usage(None), None]),
        (Some(0.5), 2, 1, Some(0.5), 2)
    );
}
