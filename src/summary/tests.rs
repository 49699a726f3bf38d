//! Figures of whole runs, against a count by hand.

use proptest::prelude::*;

use super::*;
use crate::model::testing::run_started;
use crate::model::*;

/// A run to be: evals of cases of samples, each sample the outcomes of its attempts.
type Run = Vec<Vec<Vec<Vec<Outcome>>>>;

fn eval_info(id: &str, kind: EvalType) -> EvalInfo {
    EvalInfo {
        id: id.into(),
        name: format!("Eval {id}"),
        description: None,
        kind,
        category: Some("cat".into()),
        tags: vec!["t".into(), "t".into()],
        weight: 1.0,
        difficulty: None,
        criticality: None,
        pass_rate_threshold: 1.0,
        score_threshold: None,
        source: None,
        dependencies: None,
        dataset: None,
    }
}

fn started(ks: &[u32]) -> Event {
    let started = run_started();
    Event::RunStarted(Box::new(RunStarted {
        config: RunConfig {
            ks: ks.to_vec(),
            ..started.config
        },
        ..started
    }))
}

fn finished() -> Event {
    Event::RunFinished(RunFinished {
        timestamp: "2026-03-04T05:06:09.000Z".into(),
        duration_seconds: 2.0,
        interrupted: false,
        history: Vec::new(),
        expired_graces: None,
        changed_files: Vec::new(),
    })
}

fn attempt(outcome: Outcome) -> Attempt {
    let cause = match outcome {
        Outcome::Failed => Some(Cause::WrongAnswer),
        Outcome::Errored => Some(Cause::TargetFailed),
        _ => None,
    };
    let score = match outcome {
        Outcome::Passed => Some(1.0),
        Outcome::Failed => Some(0.0),
        _ => None,
    };
    let verdict = Verdict {
        outcome,
        score,
        cause,
        reason: String::new(),
        grades: vec![],
        not_run: Vec::new(),
    };
    Attempt {
        output: Some(Output::text("out")),
        latency_ms: Some(10.0),
        duration_ms: 11.0,
        ..testing::attempt(verdict)
    }
}

/// A passed attempt whose output a model gave.
pub(super) fn asked(call: &ModelCall, usage: Option<Usage>) -> Attempt {
    Attempt {
        output: Some(Output {
            usage,
            ..Output::text("out")
        }),
        call: Some(Box::new(call.clone())),
        ..attempt(Outcome::Passed)
    }
}

/// The beginning of a run of one case, and what makes an event of one of its samples.
pub(super) fn planned_run(samples: u32) -> (Vec<Event>, impl Fn(u32, Vec<Attempt>) -> Event) {
    let run: Run = vec![vec![vec![vec![Outcome::Passed]; samples as usize]]];
    let finish = |sample, attempts| {
        Event::SampleFinished(Box::new(SampleFinished {
            eval: "e0".into(),
            case: "c0".into(),
            sample,
            attempts,
            finished_at: "2026-03-04T05:06:08.000Z".into(),
            reused_from: None,
        }))
    };
    (events(&run, &[1]).0, finish)
}

/// Plan events, then one event a sample.
fn events(run: &Run, ks: &[u32]) -> (Vec<Event>, Vec<Event>) {
    let mut plan = vec![started(ks)];
    let mut samples = Vec::new();
    for (e, cases) in run.iter().enumerate() {
        let id = format!("e{e}");
        plan.push(Event::EvalPlanned(EvalPlanned {
            eval: eval_info(&id, EvalType::Capability),
            cases: cases.len(),
        }));
        let planned = cases
            .iter()
            .enumerate()
            .map(|(c, case)| testing::planned_case(&format!("c{c}"), case.len() as u32));
        plan.push(Event::CasesPlanned(CasesPlanned {
            eval: id.clone(),
            cases: planned.collect(),
        }));
        for (c, case) in cases.iter().enumerate() {
            for (s, attempts) in case.iter().enumerate() {
                let case_id = format!("c{c}");
                samples.push(if attempts == &[Outcome::Skipped] {
                    Event::SampleSkipped(SampleSkipped {
                        eval: id.clone(),
                        case: case_id,
                        sample: s as u32,
                        cause: Cause::MaxFail,
                    })
                } else {
                    Event::SampleFinished(Box::new(SampleFinished {
                        eval: id.clone(),
                        case: case_id,
                        sample: s as u32,
                        attempts: attempts.iter().copied().map(attempt).collect(),
                        finished_at: "2026-03-04T05:06:08.000Z".into(),
                        reused_from: None,
                    }))
                });
            }
        }
    }
    (plan, samples)
}

fn report(plan: &[Event], samples: &[Event]) -> UngatedSummary {
    let mut fold = SummaryFold::new();
    for event in plan.iter().chain(samples).chain([&finished()]) {
        fold.push(event).unwrap();
    }
    fold.finish().unwrap()
}

fn summary(run: &Run, ks: &[u32]) -> Summary {
    let (plan, samples) = events(run, ks);
    report(&plan, &samples).with_gate(no_gate())
}

fn no_gate() -> Gate {
    Gate {
        decision: Decision::Pass,
        exit_code: 0,
        thresholds: vec![],
        reasons: vec![],
    }
}

const P: Outcome = Outcome::Passed;
const F: Outcome = Outcome::Failed;
const E: Outcome = Outcome::Errored;
const S: Outcome = Outcome::Skipped;
const H: Outcome = Outcome::Pending;

fn once(outcomes: &[Outcome]) -> Vec<Vec<Outcome>> {
    outcomes.iter().map(|outcome| vec![*outcome]).collect()
}

#[test]
fn a_retry_passes_the_case_but_not_pass_at_1() {
    let run = vec![vec![vec![vec![F, P]], once(&[P])]];
    let summary = summary(&run, &[1]);
    assert_eq!(summary.evals[0].outcome, P);
    assert_eq!(summary.metrics["case_pass_rate"], Some(1.0));
    assert_eq!(summary.metrics["pass_at_1"], Some(0.5));
    assert_eq!(summary.summary.flaky, 1);
    assert!(summary.evals[0].cases[0].flaky);
    assert_eq!(summary.evals[0].cases[0].samples[0].attempts, 2);
    assert_eq!(summary.evals[0].cases[0].samples[0].duration_ms, 22.0);
}

#[test]
fn a_cost_that_only_some_samples_tell_has_no_upper_bound() {
    let (plan, mut samples) = events(&vec![vec![once(&[P]), once(&[P])]], &[1]);
    let Event::SampleFinished(first) = &mut samples[0] else {
        panic!()
    };
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 1,
        cost_usd: Some(0.25),
    };
    first.attempts[0].output.as_mut().unwrap().usage = Some(usage);
    let tallies = report(&plan, &samples).tallies;
    for metric in ["cost_usd", "tokens"] {
        assert!(tallies.actual.metrics[metric].value.is_some());
        assert_eq!(tallies.worst.metrics[metric].value, None, "{metric}");
    }
    let why = |tallies: &GateTallies, metric: &str| {
        tallies.worst.metrics[metric].undefined.clone().unwrap()
    };
    assert_eq!(why(&tallies, "tokens"), "1 of 2 samples report no usage");
    assert_eq!(
        why(&tallies, "cost_usd"),
        "1 of 2 samples have an unknown cost"
    );
    assert_eq!(tallies.worst.metrics["pass_at_1"].value, Some(1.0));

    // The same of the attempts of one sample.
    let told = |usage| Attempt {
        output: Some(Output {
            usage,
            ..Output::text("o")
        }),
        ..attempt(P)
    };
    let unpriced = Usage {
        cost_usd: None,
        ..usage
    };
    for (second, tokens) in [(Some(unpriced), Some(22.0)), (None, None)] {
        let (plan, finish) = planned_run(1);
        let again = finish(0, vec![told(Some(usage)), told(second)]);
        let tallies = report(&plan, &[again]).tallies;
        assert_eq!(
            tallies.actual.metrics["cost_usd"].value,
            Some(0.25),
            "{second:?}"
        );
        assert_eq!(
            why(&tallies, "cost_usd"),
            "1 of 1 samples have an unknown cost",
            "{second:?}"
        );
        assert_eq!(tallies.worst.metrics["tokens"].value, tokens, "{second:?}");
    }
}

#[test]
fn latencies_of_a_few_answers_say_nothing_of_those_that_a_cache_gave() {
    let (plan, finish) = planned_run(3);
    let kept = ModelCall {
        model: "openai:m".into(),
        source: AnswerSource::Cache,
        ..ModelCall::default()
    };
    let cached = || Attempt {
        latency_ms: None,
        ..asked(&kept, None)
    };
    let fresh = || {
        asked(
            &ModelCall {
                source: AnswerSource::Network,
                ..kept.clone()
            },
            None,
        )
    };
    let with = |attempts: [Attempt; 3]| {
        let samples: Vec<Event> = (0..)
            .zip(attempts)
            .map(|(at, attempt)| finish(at, vec![attempt]))
            .collect();
        report(&plan, &samples).tallies
    };
    let some = with([fresh(), cached(), cached()]);
    let why = "2 of 3 samples have no latency: their answers came from a cache, a recording or an earlier run";
    for metric in ["latency_mean_ms", "latency_p50_ms", "latency_p95_ms"] {
        assert_eq!(some.actual.metrics[metric].value, Some(10.0), "{metric}");
        assert_eq!(
            some.worst.metrics[metric].undefined.as_deref(),
            Some(why),
            "{metric}"
        );
    }
    let none = with([cached(), cached(), cached()]);
    assert_eq!(
        none.actual.metrics["latency_p95_ms"].undefined.as_deref(),
        Some(why.replace('2', "3").as_str())
    );
    let all = with([fresh(), fresh(), fresh()]);
    assert_eq!(all.worst.metrics["latency_p95_ms"].value, Some(10.0));
}

#[test]
fn errors_are_neither_passes_nor_failures_and_widen_the_range() {
    let run = vec![vec![once(&[P]), once(&[F]), once(&[E]), once(&[H])]];
    let summary = summary(&run, &[1]);
    let estimate = &summary.estimates["pass_at_1"];
    assert_eq!(
        (estimate.value, estimate.worst, estimate.best),
        (Some(0.5), Some(0.25), Some(0.75))
    );
    assert_eq!(estimate.n_cases, 2);
    assert_eq!(estimate.method, "empirical_likelihood");
    let cases = summary.summary.cases;
    assert_eq!(
        (cases.passed, cases.failed, cases.errored, cases.pending),
        (1, 1, 1, 1)
    );
    assert_eq!(cases.pass_rate, Some(0.5));
    assert_eq!(summary.summary.by_cause["target_failed"], 1);
}

/// How many cases are reported to repeat themselves; `output` of an eval's case and sample.
fn repeated(run: &Run, output: impl Fn(&SampleFinished) -> Option<Output>) -> usize {
    let (plan, mut samples) = events(run, &[1]);
    for event in &mut samples {
        if let Event::SampleFinished(sample) = event {
            let output = output(sample);
            sample
                .attempts
                .iter_mut()
                .for_each(|attempt| attempt.output = output.clone());
        }
    }
    let forward = report(&plan, &samples)
        .with_gate(no_gate())
        .summary
        .repeated_cases;
    samples.reverse();
    let backward = report(&plan, &samples)
        .with_gate(no_gate())
        .summary
        .repeated_cases;
    assert_eq!(forward, backward);
    forward
}

#[test]
fn samples_repeat_where_no_case_has_two_outputs() {
    let of_case =
        |sample: &SampleFinished| Some(Output::text(format!("{}/{}", sample.eval, sample.case)));
    let run = |cases: usize| vec![vec![once(&[P, P, P]); cases - 1], vec![once(&[F, F])]];
    assert_eq!(repeated(&run(5), of_case), 5);
    assert_eq!(repeated(&run(4), of_case), 0, "too few to be worth a word");
    let with = |extra: Vec<Vec<Outcome>>| vec![vec![once(&[P, P]); 5], vec![extra]];
    // A case of one graded sample says nothing; one without an output, or with another, says that
    // they vary.
    assert_eq!(repeated(&with(once(&[P])), of_case), 5);
    assert_eq!(repeated(&with(once(&[P, E, S])), of_case), 5);
    assert_eq!(
        repeated(&with(once(&[P, P])), |sample| of_case(sample)
            .filter(|_| sample.eval == "e0")),
        0
    );
    let one_differs = |sample: &SampleFinished| match (sample.eval.as_str(), sample.sample) {
        ("e1", 1) => Some(Output::text("another")),
        _ => of_case(sample),
    };
    assert_eq!(repeated(&with(once(&[P, P])), one_differs), 0);
    assert_eq!(
        repeated(&with(once(&[P, E])), one_differs),
        5,
        "what was not graded is not looked at"
    );
    assert_eq!(
        repeated(&with(once(&[P, F])), of_case),
        0,
        "a grader that varies"
    );
    // JSON by value; samples of one are never compared.
    let json =
        |_: &SampleFinished| Some(Output::json(serde_json::json!({"b": [1, null], "a": "x"})));
    assert_eq!(repeated(&run(6), json), 6);
    assert_eq!(repeated(&vec![vec![once(&[P]); 9]], json), 0);
}

#[test]
fn evals_of_weight_0_are_no_part_of_the_weighted_score() {
    let run = vec![vec![once(&[P])], vec![once(&[F])], vec![once(&[P])]];
    let weighted = |weights: [f64; 3]| {
        let (mut plan, samples) = events(&run, &[1]);
        let evals = plan.iter_mut().filter_map(|event| match event {
            Event::EvalPlanned(planned) => Some(&mut planned.eval),
            _ => None,
        });
        evals
            .zip(weights)
            .for_each(|(eval, weight)| eval.weight = weight);
        report(&plan, &samples).with_gate(no_gate()).estimates["weighted_score"].clone()
    };
    let two = weighted([2.0, 2.0, 0.0]);
    assert_eq!((two.value, two.n_cases), (Some(0.5), 2));
    assert_eq!(weighted([1.0; 3]).n_cases, 3);
    assert_eq!(
        weighted([0.0; 3]).undefined.as_deref(),
        Some("a weight is negative, or all weights are 0")
    );
}

#[test]
fn nothing_graded_is_undefined_and_not_zero() {
    let summary = summary(&vec![vec![once(&[E]), once(&[S])]], &[1]);
    assert_eq!(summary.metrics["pass_at_1"], None);
    assert_eq!(
        summary.estimates["pass_at_1"].undefined.as_deref(),
        Some("no case has 1 graded sample")
    );
    assert_eq!(summary.summary.pass_rate, None);
    assert_eq!(summary.summary.weighted_score, None);
    assert_eq!((summary.summary.errored, summary.evals[0].score), (1, None));
}

#[test]
fn k_above_the_samples_of_any_case_is_undefined() {
    let summary = summary(&vec![vec![once(&[P, P, P]), once(&[P, P])]], &[1, 3]);
    assert_eq!(summary.metrics["pass_at_3"], None);
    assert_eq!(summary.metrics["pass_hat_3"], None);
    let reason = summary.estimates["pass_at_3"].undefined.as_deref();
    assert_eq!(reason, Some("needs 3 samples per case, but found 2"));
    assert_eq!(summary.metrics["pass_at_1"], Some(1.0));
}

#[test]
fn averages_are_over_cases_and_never_pooled() {
    // 1 of 1 and 1 of 4: the mean of the rates is 0.625; pooled it would be 2 of 5.
    let summary = summary(&vec![vec![once(&[P]), once(&[P, F, F, F])]], &[1]);
    assert_eq!(summary.metrics["pass_at_1"], Some(0.625));
}

#[test]
fn a_journal_that_breaks_off_leaves_the_rest_skipped() {
    let (plan, samples) = events(&vec![vec![once(&[P]), once(&[P])]], &[1]);
    let mut fold = SummaryFold::new();
    for event in plan.iter().chain(&samples[..1]) {
        fold.push(event).unwrap();
    }
    let report = fold.finish().unwrap();
    assert!(report.interrupted);
    assert_eq!(report.tallies.skipped, 1);
    let summary = report.with_gate(no_gate());
    assert_eq!(summary.evals[0].outcome, S);
    assert_eq!(summary.summary.by_cause["interrupted"], 1);
}

#[test]
fn events_that_contradict_the_plan_are_refused() {
    let (plan, samples) = events(&vec![vec![once(&[P])]], &[1]);
    let mut fold = SummaryFold::new();
    assert_eq!(
        fold.push(&samples[0]),
        Err(SummaryError::UnknownEval("e0".into()))
    );
    plan.iter().for_each(|event| fold.push(event).unwrap());
    let Event::SampleFinished(mut wrong) = samples[0].clone() else {
        unreachable!()
    };
    wrong.sample = 1;
    let error = fold.push(&Event::SampleFinished(wrong)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the journal has sample 2 of case `c0` of eval `e0`, but 1 were planned"
    );
    assert_eq!(
        SummaryFold::new().finish().err(),
        Some(SummaryError::NotStarted)
    );
}

#[test]
fn include_details_false_keeps_figures_and_drops_what_was_said() {
    let (mut plan, samples) = events(&vec![vec![once(&[P]), once(&[F])]], &[1]);
    let Event::RunStarted(first) = &mut plan[0] else {
        unreachable!()
    };
    first.config.include_details = false;
    let summary = report(&plan, &samples).with_gate(no_gate());
    assert!(
        summary.evals[0]
            .cases
            .iter()
            .all(|case| case.samples.is_empty())
    );
    assert_eq!(summary.failures.len(), 1);
    assert_eq!(summary.failures[0].actual, None);
    assert_eq!(summary.metrics["pass_at_1"], Some(0.5));
}

#[test]
fn what_verdicts_rest_on_is_counted_even_where_grades_are_left_out() {
    let (mut plan, mut samples) = events(&vec![vec![once(&[P]), once(&[P]), once(&[P])]], &[1]);
    let Event::RunStarted(first) = &mut plan[0] else {
        unreachable!()
    };
    first.config.include_details = false;
    let code = |trust| Grade::passed(GraderType::Code, "code_execution").with_trust(trust);
    for (at, levels) in [
        &[Trust::Split, Trust::Split, Trust::Harness][..],
        &[Trust::Split],
    ]
    .into_iter()
    .enumerate()
    {
        let Event::SampleFinished(sample) = &mut samples[at] else {
            unreachable!()
        };
        sample.attempts[0].verdict.grades = levels.iter().copied().map(code).collect();
    }
    let Event::SampleFinished(last) = &mut samples[2] else {
        unreachable!()
    };
    last.attempts[0].verdict.grades = vec![Grade::passed(GraderType::Code, "exact_match")];
    last.attempts[0].verdict.grades[0].adjudicated = true;
    let totals = report(&plan, &samples).with_gate(no_gate()).summary;
    let told = serde_json::to_string(&totals.by_trust).unwrap();
    assert_eq!(
        told,
        r#"{"harness":{"samples":1,"grades":1},"split":{"samples":2,"grades":3}}"#
    );
    assert_eq!(totals.adjudicated, 1);
}

fn a_run() -> impl Strategy<Value = Run> {
    let outcome = prop::sample::select(vec![P, P, F, F, E, S, H]);
    let attempts = outcome.prop_flat_map(|outcome| {
        let retried = outcome == F || outcome == P;
        (Just(outcome), 0usize..if retried { 3 } else { 1 }).prop_map(|(outcome, before)| {
            let mut attempts = vec![F; before];
            attempts.push(outcome);
            attempts
        })
    });
    let case = prop::collection::vec(attempts, 1..5);
    prop::collection::vec(prop::collection::vec(case, 1..4), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The order in which samples finish changes nothing, to the byte.
    #[test]
    fn order_does_not_matter(run in a_run(), seed in any::<u64>()) {
        let (plan, samples) = events(&run, &[1, 2]);
        let mut shuffled = samples.clone();
        let mut state = seed;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        let text = |samples: &[Event]| {
            serde_json::to_string(&report(&plan, samples).with_gate(no_gate())).unwrap()
        };
        prop_assert_eq!(text(&samples), text(&shuffled));
    }

    /// pass@1 and pass^2 against their definitions, over cases with enough graded first attempts.
    #[test]
    fn pass_rates_follow_their_definitions(run in a_run()) {
        let summary = summary(&run, &[1, 2]);
        let firsts: Vec<(usize, usize, usize)> = run.iter().flatten().map(|case| {
            let first: Vec<Outcome> = case.iter().map(|attempts| attempts[0]).collect();
            let passed = first.iter().filter(|o| **o == P).count();
            let graded = first.iter().filter(|o| o.is_graded()).count();
            (first.len(), graded, passed)
        }).collect();
        let mean = |values: Vec<f64>| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let pass_1 = mean(firsts.iter().filter(|c| c.1 >= 1).map(|c| c.2 as f64 / c.1 as f64).collect());
        let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (a, b) => a == b,
        };
        prop_assert!(close(summary.metrics["pass_at_1"], pass_1));
        let enough = firsts.iter().all(|case| case.0 >= 2);
        let squares = firsts.iter().filter(|c| c.1 >= 2).map(|c| (c.2 as f64 / c.1 as f64).powi(2)).collect();
        let hat_2 = if enough { mean(squares) } else { None };
        prop_assert!(close(summary.metrics["pass_hat_2"], hat_2));
    }

    /// Every total adds up, and the value lies between worst and best.
    #[test]
    fn totals_add_up(run in a_run()) {
        let summary = summary(&run, &[1]);
        let totals = &summary.summary;
        let samples: usize = run.iter().flatten().map(Vec::len).sum();
        prop_assert_eq!(totals.samples.total, samples);
        prop_assert_eq!(totals.cases.total, run.iter().map(Vec::len).sum::<usize>());
        let evals = totals.passed + totals.failed + totals.errored + totals.skipped + totals.pending;
        prop_assert_eq!(evals, run.len());
        prop_assert_eq!(totals.by_type[&EvalType::Capability].total, run.len());
        prop_assert_eq!(totals.by_tag["t"].total, run.len());
        for name in ["pass_rate", "case_pass_rate"] {
            let estimate = &summary.estimates[name];
            let (worst, best) = (estimate.worst.unwrap(), estimate.best.unwrap());
            prop_assert!(worst <= best);
            if let Some(value) = estimate.value {
                prop_assert!(worst <= value && value <= best, "{name}: {worst} {value} {best}");
            }
        }
    }
}
