//! Sides read from the events of runs.

use proptest::prelude::*;

use super::super::super::fold::{ListingLimits, SummaryFold};
use super::super::super::joined_tests::sharded;
use super::super::super::random_run::{Dice, RandomRun, a_run, summary};
use super::*;
use crate::journal::{self, JournalWriter};
use eval_base::redact::Redactor;

fn scores(mut fold: SummaryFold, events: &[Event]) -> RunScores {
    events.iter().for_each(|event| fold.push(event).unwrap());
    fold.run_scores("label".into(), ScoresSource::Journals(vec!["x".into()]))
        .unwrap()
}

/// As text, in which a number that is none is equal to itself.
fn text(scores: &RunScores) -> String {
    serde_json::to_string(scores).unwrap()
}

/// The same events of a run that is to be compared, which keeps what cases are.
fn compared_with(events: &[Event], reference: RunScores) -> Vec<Event> {
    let mut events = events.to_vec();
    if let Some(Event::RunStarted(started)) = events.first_mut() {
        started.config.comparison.reference = Some(ComparisonReference::Run(Box::new(reference)));
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Counted from a journal or folded with all that samples said: the same, and what a recount of
    /// the samples gives.
    #[test]
    fn scores_are_those_of_the_samples(run in a_run(5), seed in any::<u64>()) {
        let events = run.whole(&mut Dice(seed));
        let counted = scores(SummaryFold::scoring(), &events);
        let whole = scores(SummaryFold::new(), &compared_with(&events, counted.clone()));
        prop_assert_eq!(text(&counted), text(&whole));
        prop_assert_eq!(serde_json::from_str::<RunScores>(&text(&counted)).unwrap(), counted.clone());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run-000000.journal.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut writer = JournalWriter::open(&path, Redactor::default()).unwrap();
        events.iter().for_each(|event| _ = writer.append(event.clone()).unwrap());
        let read: Vec<Event> = journal::read_counts(&path).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(text(&scores(SummaryFold::scoring(), &read)), text(&counted));

        let summary = summary(&events, ListingLimits::default());
        prop_assert_eq!(counted.evals.len(), run.evals.len());
        for ((eval, planned), said) in counted.evals.iter().zip(&run.evals).zip(&summary.evals) {
            prop_assert_eq!((eval.outcome, eval.score), (said.outcome, said.score));
            prop_assert_eq!((eval.kind, eval.weight), (Some(said.kind), Some(said.weight)));
            for ((case, planned), said) in eval.cases.iter().zip(&planned.cases).zip(&said.cases) {
                prop_assert_eq!((case.outcome, case.score), (Some(said.outcome), said.score));
                let count = |wanted: &dyn Fn(Outcome) -> bool, of: &dyn Fn(&super::super::super::random_run::RunSample) -> Outcome| {
                    planned.samples.iter().filter(|sample| wanted(of(sample))).count() as u32
                };
                prop_assert_eq!(case.samples as usize, planned.samples.len());
                prop_assert_eq!(case.n, count(&Outcome::is_graded, &|sample| sample.first()));
                prop_assert_eq!(case.c, count(&|outcome| outcome == Outcome::Passed, &|sample| sample.first()));
                prop_assert_eq!(case.ungraded, count(&|outcome| !outcome.is_graded(), &|sample| sample.outcome()));
                prop_assert_eq!(&case.tags, &planned.tags);
                let last = planned.samples.iter().filter_map(|sample| sample.attempts()?.last());
                let timed: Vec<f64> = last.filter_map(|attempt| attempt.latency_ms).collect();
                let kept = |c: &CaseRecord| c.latency_ms;
                let mean = (!timed.is_empty()).then(|| timed.iter().sum::<f64>() / timed.len() as f64);
                prop_assert_eq!(kept(case), mean);
            }
        }
    }

    #[test]
    fn joined_shards_are_the_side_that_the_whole_run_is(run in a_run(5), of in 1u32..4, seed in any::<u64>()) {
        let whole = scores(SummaryFold::scoring(), &run.whole(&mut Dice(seed)));
        let mut joined = scores(SummaryFold::scoring(), &sharded(&run, of, seed));
        prop_assert!(joined.side.shards.is_empty());
        joined.side.run_id.clone_from(&whole.side.run_id);
        prop_assert_eq!(text(&joined), text(&whole));
    }

    /// A run beside its own scores does not differ, and with or without them every other figure is
    /// the same.
    #[test]
    fn a_summary_has_the_comparison_that_its_journal_asks_for(run in a_run(4), seed in any::<u64>()) {
        let events = run.whole(&mut Dice(seed));
        let own = scores(SummaryFold::scoring(), &events);
        let plain = summary(&events, ListingLimits::default());
        let mut beside = summary(&compared_with(&events, own), ListingLimits::default());
        let comparison = beside.comparison.take().unwrap();
        let json = |summary: &Summary| serde_json::to_string(summary).unwrap();
        prop_assert_eq!(json(&beside), json(&plain));
        prop_assert_eq!(comparison.verdict, ComparisonVerdict::None);
        let cases = &comparison.cases;
        let flips = [&cases.broken, &cases.fixed, &cases.new, &cases.gone, &cases.changed];
        prop_assert!(flips.iter().all(|list| list.count == 0), "{:?}", cases);
        prop_assert!(comparison.metrics.iter().all(|metric| metric.difference.is_none_or(|d| d == 0.0)));
        let planned: usize = run.evals.iter().map(|eval| eval.cases.len()).sum();
        prop_assert_eq!(cases.compared + cases.ungraded.count, planned);
    }
}

fn started(run: &RandomRun) -> Box<RunStarted> {
    let Event::RunStarted(started) = run.started("now", None) else {
        unreachable!()
    };
    started
}

#[test]
fn another_input_grading_or_share_that_must_pass_is_another_case() {
    let run = RandomRun {
        evals: vec![],
        ks: vec![1],
        include_details: true,
    };
    let info = |share: f64| EvalInfo {
        pass_rate_threshold: share,
        ..testing::eval("e", EvalCases::written(vec![])).info
    };
    let planned = |input: &str, grading: &str, share: f64| {
        let case = CasePlanned {
            input_hash: input.into(),
            grading_hash: grading.into(),
            ..testing::planned_case("c", 1)
        };
        let events = [
            Event::RunStarted(started(&run)),
            Event::EvalPlanned(EvalPlanned {
                eval: info(share),
                cases: 1,
            }),
            Event::CasesPlanned(CasesPlanned {
                eval: "e".into(),
                cases: vec![case],
            }),
        ];
        scores(SummaryFold::scoring(), &events).evals[0].cases[0]
            .fingerprint
            .clone()
            .unwrap()
    };
    let own = planned("i", "g", 1.0);
    assert_eq!(planned("i", "g", 1.0), own);
    for other in [
        planned("j", "g", 1.0),
        planned("i", "h", 1.0),
        planned("i", "g", 0.5),
    ] {
        assert_ne!(other, own);
    }
}
