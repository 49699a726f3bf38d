//! A fold that only counts, beside one that keeps everything.

use proptest::prelude::*;

use super::SummaryFold;
use super::random_run::{Dice, a_run, finished, summary};
use crate::journal::{self, JournalWriter};
use crate::model::{Counts, Event, ScoresSource};
use crate::summary::fold::ListingLimits;
use eval_base::redact::Redactor;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What a fold without details tells is what the summary says, figure by figure.
    #[test]
    fn a_counting_fold_tells_what_the_summary_says(run in a_run(6), seed in any::<u64>()) {
        let events = run.whole(&mut Dice(seed));
        let summary = summary(&events, ListingLimits::default());
        let mut fold = SummaryFold::counting();
        events.iter().for_each(|event| fold.push(event).unwrap());
        let evals = fold.counted_evals();
        prop_assert_eq!(evals.len(), summary.evals.len());
        for (eval, said) in evals.iter().zip(&summary.evals) {
            let mut counter = eval.counter();
            let mut counts = Counts::default();
            prop_assert_eq!(eval.len(), said.cases.len());
            for (case, said) in eval.cases().zip(&said.cases) {
                let (finals, firsts) = (case.finals(), case.firsts());
                let outcome = counter.add(&finals);
                counts.add(outcome);
                prop_assert_eq!(case.id(), &said.id);
                prop_assert_eq!((outcome, finals.score()), (said.outcome, said.score));
                prop_assert_eq!(case.commonest_cause(outcome), said.cause);
                prop_assert_eq!(case.flaky_samples() > 0, said.flaky);
                let graded = firsts.passed + firsts.failed;
                prop_assert_eq!((firsts.passed, graded), (said.first_passes, said.first_graded));
            }
            prop_assert_eq!((counter.outcome(), counter.score(), counts), (said.outcome, said.score, said.counts));
        }
        for (name, estimate) in &fold.tallies().unwrap().actual.metrics {
            prop_assert_eq!(estimate.value, summary.metrics[name], "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A journal without what samples said counts as the whole journal does: outcomes, scores,
    /// tries, latencies, and every metric with its interval. Also of a run that was interrupted
    /// and went on.
    #[test]
    fn a_journal_read_for_its_counts_counts_as_the_whole_one(
        run in a_run(4),
        again in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut events = run.whole(&mut Dice(seed));
        if again {
            events.pop();
            events.push(finished(1.0, true));
            let Event::RunStarted(started) = run.started("whole", None) else { unreachable!() };
            events.push(Event::RunResumed(started));
            events.extend(run.plan(false, |_, _| true));
            events.extend(run.samples(&mut Dice(!seed), |eval, case| (eval + case) % 2 == 0));
            events.push(finished(2.0, false));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run-000000.journal.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut writer = JournalWriter::open(&path, Redactor::default()).unwrap();
        events.into_iter().for_each(|event| _ = writer.append(event).unwrap());
        let (mut whole, mut counts) = (SummaryFold::new(), SummaryFold::counting());
        journal::read(&path).unwrap().for_each(|event| whole.push(&event.unwrap()).unwrap());
        journal::read_counts(&path).unwrap().for_each(|event| counts.push(&event.unwrap()).unwrap());
        let scores = |fold: &SummaryFold| {
            fold.run_scores("run".into(), ScoresSource::Journals(vec![])).unwrap()
        };
        prop_assert_eq!(scores(&counts), scores(&whole));
        let tallies = |fold: &SummaryFold| format!("{:?}", fold.finish().unwrap().tallies);
        prop_assert_eq!(tallies(&counts), tallies(&whole));
    }
}
