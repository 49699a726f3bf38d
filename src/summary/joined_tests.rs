//! Orders of events, resumed runs and joined shards: what must not change a summary.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::fold::ListingLimits;
use super::random_run::{
    Dice, RandomRun, RunEval, RunSample, SampleRemark, a_run, finished, report, summary,
};
use super::*;
use crate::model::*;

/// Bounds that small runs reach in every way.
fn a_limit() -> impl Strategy<Value = ListingLimits> {
    let samples = prop::sample::select(vec![0usize, 3, 10, 20_000]);
    let bytes = prop::sample::select(vec![2_000usize, 8_000, 1 << 30]);
    (samples, bytes, 0usize..6).prop_map(|(samples, bytes, failures)| ListingLimits {
        samples,
        bytes,
        inputs: 0,
        failures,
    })
}

fn text(summary: &Summary) -> String {
    serde_json::to_string(summary).unwrap()
}

/// The journals of a run's shards, one after the other, in a random order.
pub(super) fn sharded(run: &RandomRun, of: u32, seed: u64) -> Vec<Event> {
    let mut dice = Dice(seed);
    let shard_of =
        |e: usize, c: usize| (seed.rotate_left((e * 7 + c * 13) as u32) % u64::from(of)) as u32;
    let mut order: Vec<u32> = (0..of).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, dice.below(i + 1));
    }
    let mut events = Vec::new();
    for shard in order {
        let mine = |e: usize, c: usize| shard_of(e, c) == shard;
        events.push(run.started(
            &format!("shard {shard}"),
            Some(Shard {
                index: shard + 1,
                of,
            }),
        ));
        events.extend(run.plan(true, mine));
        events.extend(run.samples(&mut dice, mine));
        events.push(finished(1.0 + f64::from(shard), false));
    }
    events
}

/// What may differ between a whole run and its joined shards.
fn without_identity(mut summary: Summary) -> Summary {
    summary.metadata.run_id.clear();
    summary.metadata.duration_seconds = 0.0;
    summary.metadata.joined.clear();
    summary
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// To the byte, also where details and lists are bounded and samples come twice.
    #[test]
    fn the_order_of_completion_changes_nothing(run in a_run(6), limits in a_limit(), one: u64, other: u64) {
        let [one, other] = [one, other].map(|seed| text(&summary(&run.whole(&mut Dice(seed)), limits)));
        prop_assert_eq!(one, other);
    }

    #[test]
    fn joined_shards_are_the_whole_run(run in a_run(6), limits in a_limit(), of in 1u32..4, seed: u64) {
        let whole = summary(&run.whole(&mut Dice(seed)), limits);
        let joined = summary(&sharded(&run, of, seed), limits);
        prop_assert_eq!(joined.metadata.joined.len(), of as usize - 1);
        prop_assert_eq!(joined.metadata.duration_seconds, f64::from(of));
        prop_assert_eq!(text(&without_identity(joined)), text(&without_identity(whole)));
    }

    /// A run that breaks off at any event and is resumed, which plans all again and runs the rest.
    #[test]
    fn a_resumed_run_is_an_undisturbed_one(run in a_run(4), limits in a_limit(), cut in 0usize..60, seed: u64) {
        let events = run.whole(&mut Dice(seed));
        let plan = 1 + run.plan(false, |_, _| true).len();
        let cut = plan.max(cut.min(events.len() - 1));
        let Event::RunStarted(started) = run.started("another id", None) else { unreachable!() };
        let mut resumed = events[..cut].to_vec();
        resumed.push(Event::RunResumed(started));
        resumed.extend(run.plan(false, |_, _| true));
        resumed.extend_from_slice(&events[cut..]);
        prop_assert_eq!(text(&summary(&resumed, limits)), text(&summary(&events, limits)));
    }

    /// What the lists leave out is counted, and they hold what they should.
    #[test]
    fn what_is_not_listed_is_said(run in a_run(6), limits in a_limit(), seed: u64) {
        let run = RandomRun { include_details: true, ..run };
        let summary = summary(&run.whole(&mut Dice(seed)), limits);
        let cases = || run.evals.iter().flat_map(|eval| &eval.cases);
        let samples = || cases().flat_map(|case| &case.samples);
        let omitted = summary.omitted.unwrap_or_default();
        prop_assert_eq!(summary.truncated, omitted != Omitted::default());
        let listed: Vec<&CaseResult> = summary.evals.iter().flat_map(|eval| &eval.cases).collect();
        prop_assert_eq!(listed.len() + omitted.cases, cases().count());
        let finished = |sample: &&RunSample| sample.attempts().is_some();
        let shown: Vec<&SampleResult> = listed.iter().flat_map(|case| &case.samples).collect();
        prop_assert_eq!(shown.len() + omitted.samples, samples().filter(finished).count());
        let bad = |outcome: Outcome| outcome != Outcome::Passed;
        let unpassed = samples().filter(finished).filter(|sample| bad(sample.outcome())).count();
        let shown_unpassed = shown.iter().filter(|sample| bad(sample.outcome)).count();
        prop_assert_eq!(shown_unpassed + omitted.unpassed_samples, unpassed);
        if samples().count() > limits.samples {
            prop_assert_eq!(shown_unpassed, shown.len(), "passes are not listed");
            prop_assert!(listed.len() <= limits.samples && summary.failures.len() <= limits.failures);
            // A sample that never ran has no details, but it did not pass.
            let remarkable = |eval: &RunEval, case: &CaseResult| {
                let number = case.id.strip_prefix("case ").and_then(|n| n.parse::<usize>().ok()).unwrap();
                case.flaky || eval.cases[number].samples.iter().any(|sample| bad(sample.outcome()))
            };
            for eval in &summary.evals {
                let of_run = run.evals.iter().find(|other| other.info.id == eval.id).unwrap();
                prop_assert!(eval.cases.iter().all(|case| remarkable(of_run, case)));
            }
        } else {
            prop_assert_eq!(omitted.cases, 0);
        }
        let counted: usize = summary.evals.iter().map(|eval| eval.counts.total).sum();
        prop_assert_eq!(counted, cases().count());
    }

    /// What `--failed-in` asks of a fold that lists next to nothing.
    #[test]
    fn cases_that_did_not_pass_are_all_told(run in a_run(4), seed: u64) {
        let events = run.whole(&mut Dice(seed));
        let mut bounded = SummaryFold::within(ListingLimits { samples: 0, bytes: 0, inputs: 0, failures: 0 });
        events.iter().for_each(|event| bounded.push(event).unwrap());
        let told: Vec<(&str, &str)> = bounded.cases_that(false).collect();
        let whole = summary(&events, ListingLimits::default());
        let cases = whole.evals.iter().flat_map(|eval| eval.cases.iter().map(|case| (eval.id.as_str(), case)));
        let open = cases.filter(|(_, case)| case.outcome != Outcome::Passed);
        prop_assert_eq!(told, open.map(|(eval, case)| (eval, case.id.as_str())).collect::<Vec<_>>());
    }

    /// What resuming asks of a fold.
    #[test]
    fn the_fold_knows_what_is_left_to_do(run in a_run(3), seed: u64) {
        let mut fold = SummaryFold::new();
        run.whole(&mut Dice(seed)).iter().for_each(|event| fold.push(event).unwrap());
        let mut left: Vec<(String, String, u32)> = Vec::new();
        for eval in &run.evals {
            for (c, case) in eval.cases.iter().enumerate() {
                for (s, sample) in case.samples.iter().enumerate() {
                    let (id, case) = (&eval.info.id, format!("case {c}"));
                    let ended = sample.attempts().map(|_| sample.outcome());
                    prop_assert_eq!(fold.finished(id, &case, s as u32), ended);
                    if ended.is_none() {
                        left.push((id.clone(), case, s as u32));
                    }
                }
            }
        }
        let unfinished = fold.unfinished().map(|(eval, case, sample)| (eval.to_owned(), case.to_owned(), sample));
        prop_assert_eq!(unfinished.collect::<Vec<_>>(), left);
        prop_assert_eq!(fold.counts().total, fold.planned_samples());
        prop_assert_eq!(fold.finished("no such eval", "case 0", 0), None);
        prop_assert_eq!(fold.finished("eval 0", "case 0", 1_000), None);
    }
}

fn a_plain_run() -> RandomRun {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut run = a_run(3).new_tree(&mut runner).unwrap().current();
    for eval in &mut run.evals {
        for sample in eval.cases.iter_mut().flat_map(|case| &mut case.samples) {
            sample.said = vec![SampleRemark::Skipped(Cause::MaxFail)];
        }
    }
    run
}

#[test]
fn durations_and_interruptions_add_up_over_sessions_and_shards() {
    let run = a_plain_run();
    let shard = |index| Some(Shard { index, of: 2 });
    let Event::RunStarted(again) = run.started("ignored", shard(1)) else {
        unreachable!()
    };
    let mut events = vec![run.started("first", shard(1))];
    events.extend(run.plan(true, |_, c| c == 0));
    events.push(finished(5.0, true));
    let lone = report(&events, ListingLimits::default());
    assert!(lone.interrupted);
    assert_eq!(lone.shards, [Shard { index: 1, of: 2 }]);
    events.extend([Event::RunResumed(again), finished(3.0, false)]);
    assert!(!report(&events, ListingLimits::default()).interrupted);
    events.push(run.started("second", shard(2)));
    assert!(
        report(&events, ListingLimits::default()).interrupted,
        "the second shard goes on"
    );
    events.extend(run.plan(true, |_, c| c != 0));
    events.push(finished(7.0, false));
    let whole = report(&events, ListingLimits::default());
    assert!(!whole.interrupted && whole.shards.is_empty());
    let metadata = summary(&events, ListingLimits::default()).metadata;
    assert_eq!(
        (
            metadata.run_id.as_str(),
            metadata.duration_seconds,
            metadata.shard
        ),
        ("first", 8.0, None)
    );
    assert_eq!(metadata.joined, ["second"]);
}

#[test]
fn a_lone_shard_does_not_speak_of_evals_that_it_has_no_case_of() {
    let run = a_plain_run();
    let mut events = vec![run.started("first", Some(Shard { index: 1, of: 2 }))];
    events.extend(run.plan(true, |e, _| e == 0));
    events.push(finished(1.0, false));
    let lone = summary(&events, ListingLimits::default());
    assert_eq!((lone.evals.len(), lone.summary.total_evals), (1, 1));
    assert_eq!(lone.metadata.shard, Some(Shard { index: 1, of: 2 }));
}

#[test]
fn a_top_up_keeps_what_is_known() {
    let run = a_plain_run();
    let mut events = vec![run.started("first", None)];
    events.extend(run.plan(false, |_, _| true));
    let case = |samples| {
        Event::CasesPlanned(CasesPlanned {
            eval: "eval 0".into(),
            cases: vec![testing::planned_case("case 0", samples)],
        })
    };
    let sample = |sample, score| {
        let mut attempt = Attempt {
            latency_ms: Some(f64::from(sample) + 1.0),
            infrastructure_retries: 2,
            ..testing::attempt(Verdict::without_grades(Cause::Timeout, "slow"))
        };
        attempt.verdict.score = Some(score);
        attempt
            .verdict
            .grades
            .push(Grade::failed(GraderType::Code, "m", Cause::Timeout, "slow"));
        attempt.verdict.grades[0].metrics.insert("lint".into(), 5.0);
        let (eval, case, finished_at) = ("eval 0".into(), "case 0".into(), String::new());
        Event::SampleFinished(Box::new(SampleFinished {
            eval,
            case,
            sample,
            attempts: vec![attempt],
            finished_at,
            reused_from: None,
        }))
    };
    events.extend([
        sample(0, 0.25),
        case(9),
        sample(8, 0.75),
        finished(1.0, false),
    ]);
    let topped = summary(&events, ListingLimits::default());
    let planned = run
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .map(|case| case.samples.len())
        .sum::<usize>();
    assert_eq!(
        topped.summary.samples.total,
        planned - run.evals[0].cases[0].samples.len() + 9
    );
    assert_eq!(
        (topped.metrics["score"], topped.metrics["latency_mean_ms"]),
        (Some(0.5), Some(5.0))
    );
    assert_eq!(
        (
            topped.metrics["lint"],
            topped.summary.infrastructure_retries
        ),
        (Some(5.0), 4)
    );
}
