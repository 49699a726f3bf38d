//! How every eval and case of a run ended, all of them and nothing more: what a history and a score
//! baseline are made of.

use super::SummaryError;
use super::build::{commonest_cause, tallies};
use super::columns::CaseView;
use super::fold::Fold;
use crate::model::{Cause, Counts, EvalInfo, Figure, Outcome, RunStarted, Shard, Tallies};
use crate::spec::CaseContent;

/// A run, counted as its summary counts it.
#[derive(Debug)]
pub struct Told<'a> {
    pub started: &'a RunStarted,
    /// In the plan's order.
    pub evals: Vec<EvalTold<'a>>,
    /// What a gate decides from. Intervals are resampled only where a threshold is held against
    /// one.
    pub tallies: Tallies,
    /// The earliest start, RFC 3339.
    pub timestamp: &'a str,
    pub duration_seconds: f64,
    /// True when the run was ended early or its journal breaks off.
    pub interrupted: bool,
    /// The shards that this is made of, when they are not all of them.
    pub shards: Vec<Shard>,
    /// The runs that were joined to the first.
    pub joined: Vec<String>,
}

/// One eval.
#[derive(Debug)]
pub struct EvalTold<'a> {
    pub info: &'a EvalInfo,
    pub outcome: Outcome,
    /// Mean score of the graded cases, in [0, 1].
    pub score: Option<f64>,
    /// Its cases by outcome.
    pub counts: Counts,
    pub cases: Vec<CaseTold<'a>>,
}

/// One case.
#[derive(Debug)]
pub struct CaseTold<'a> {
    pub id: &'a str,
    pub outcome: Outcome,
    /// What the case is, if the fold keeps it.
    pub fingerprint: Option<String>,
    pub content: Option<CaseContent>,
    /// Mean score of the graded samples, in [0, 1].
    pub score: Option<f64>,
    /// The commonest cause among samples with the case's outcome.
    pub cause: Option<Cause>,
    /// Samples that passed only on a later attempt.
    pub flaky_samples: usize,
    /// The case's own tags.
    pub tags: &'a [String],
    /// Planned samples.
    pub samples: u32,
    /// Samples whose first attempt was graded, and those of them whose first attempt passed.
    pub first_graded: u32,
    pub first_passes: u32,
    /// Samples without a grade in the end, by why.
    pub errored: u32,
    pub skipped: u32,
    pub pending: u32,
    /// Of the samples whose target was timed, in their order.
    pub latencies_ms: Vec<f64>,
}

impl Fold {
    /// Counts everything that was taken, without metrics' intervals and without what samples said.
    pub fn told(&self) -> Result<Told<'_>, SummaryError> {
        let started = self.started.as_ref().ok_or(SummaryError::NotStarted)?;
        let held = started
            .gate
            .thresholds
            .iter()
            .any(|threshold| threshold.on != Figure::Value);
        let counted = self.counted(started, held);
        let evals = counted.evals.iter().map(|eval| {
            let mut counter = eval.counter();
            let mut counts = Counts::default();
            let cases: Vec<CaseTold> = eval
                .cases()
                .map(|case| {
                    let outcome = counter.add(&case.finals());
                    counts.add(outcome);
                    case_told(case, outcome)
                })
                .collect();
            let (outcome, score) = (counter.outcome(), counter.score());
            EvalTold {
                info: eval.info(),
                outcome,
                score,
                counts,
                cases,
            }
        });
        Ok(Told {
            evals: evals.collect(),
            tallies: tallies(&counted, started),
            started,
            timestamp: self.sessions.timestamp().unwrap_or(&started.timestamp),
            duration_seconds: self.sessions.duration_seconds(),
            interrupted: self.sessions.interrupted(),
            shards: self.sessions.lone_shards(),
            joined: self.sessions.joined(),
        })
    }
}

fn case_told(case: CaseView<'_>, outcome: Outcome) -> CaseTold<'_> {
    let (finals, firsts) = (case.finals(), case.firsts());
    CaseTold {
        id: case.id(),
        outcome,
        fingerprint: case.fingerprint(),
        content: case.content(),
        score: finals.score(),
        cause: commonest_cause(case, outcome),
        flaky_samples: case.flaky_samples(),
        tags: case.tags(),
        samples: finals.total(),
        first_graded: firsts.passed + firsts.failed,
        first_passes: firsts.passed,
        errored: finals.errored,
        skipped: finals.skipped,
        pending: finals.pending,
        latencies_ms: case
            .slots()
            .filter_map(|slot| case.latency_ms(slot))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::random_run::{Dice, a_run, finished, summary};
    use super::*;
    use crate::journal::{self, JournalWriter};
    use crate::model::Event;
    use crate::summary::fold::Limits;
    use eval_base::redact::Redactor;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// What a fold without details tells is what the summary says, figure by figure.
        #[test]
        fn a_counting_fold_tells_what_the_summary_says(run in a_run(6), seed in any::<u64>()) {
            let events = run.whole(&mut Dice(seed));
            let summary = summary(&events, Limits::default());
            let mut fold = Fold::counting();
            events.iter().for_each(|event| fold.push(event).unwrap());
            let told = fold.told().unwrap();
            prop_assert_eq!(told.evals.len(), summary.evals.len());
            for (told, said) in told.evals.iter().zip(&summary.evals) {
                prop_assert_eq!((told.outcome, told.score, told.counts), (said.outcome, said.score, said.counts));
                prop_assert_eq!(told.cases.len(), said.cases.len());
                for (told, said) in told.cases.iter().zip(&said.cases) {
                    prop_assert_eq!(told.id, &said.id);
                    prop_assert_eq!((told.outcome, told.score, told.cause), (said.outcome, said.score, said.cause));
                    prop_assert_eq!(told.flaky_samples > 0, said.flaky);
                    prop_assert_eq!((told.first_passes, told.first_graded), (said.first_passes, said.first_graded));
                }
            }
            for (name, estimate) in &told.tallies.actual.metrics {
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
            let (mut whole, mut counts) = (Fold::new(), Fold::counting());
            journal::read(&path).unwrap().for_each(|event| whole.push(&event.unwrap()).unwrap());
            journal::read_counts(&path).unwrap().for_each(|event| counts.push(&event.unwrap()).unwrap());
            prop_assert_eq!(format!("{:?}", counts.told().unwrap()), format!("{:?}", whole.told().unwrap()));
            let tallies = |fold: &Fold| format!("{:?}", fold.finish().unwrap().tallies);
            prop_assert_eq!(tallies(&counts), tallies(&whole));
        }
    }
}
