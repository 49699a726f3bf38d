//! A finished run as a score baseline, or why it can be none.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::RunError;
use crate::journal;
use crate::model::{
    CaseRecord, Estimate, EvalRecord, Event, RunScores, RunStarted, ScoresSource, split_part,
};
use crate::spec::{SCORES_VERSION, ScoreBaselineFile, ScoredMetric, ScoredTarget};
use crate::summary::{SummaryFold, UngatedSummary};

/// What a run is to those who want it as a baseline.
#[derive(Debug)]
pub enum ScoreBaselineResult {
    Taken(Box<ScoreBaselineFile>),
    /// It would be a baseline of something else: why, in sentences.
    Refused(Vec<String>),
}

/// Reads a run's scores from its journal.
///
/// # Errors
/// When the journal can't be read.
pub fn scores(path: &Path) -> Result<ScoreBaselineResult, RunError> {
    let mut fold = SummaryFold::scoring();
    for event in journal::read_counts(path)? {
        let event: Event = event?;
        fold.push(&event)?;
    }
    let (report, record) = (
        fold.finish()?,
        fold.run_scores(String::new(), ScoresSource::Journals(Vec::new()))?,
    );
    let reasons = reasons(&report, &record);
    if !reasons.is_empty() {
        return Ok(ScoreBaselineResult::Refused(reasons));
    }
    Ok(ScoreBaselineResult::Taken(Box::new(file(record, &report))))
}

/// Why a run is not what a suite came to.
fn reasons(report: &UngatedSummary, record: &RunScores) -> Vec<String> {
    let run = &report.started.run;
    let mut reasons = Vec::new();
    if report.started.capture {
        reasons.push("it only captured baselines of outputs".to_owned());
    }
    if !run.filters.is_empty() {
        reasons.push(format!(
            "it ran only a part of the suite ({})",
            run.filters.join(", ")
        ));
    }
    if let Some(shard) = run.shard {
        reasons.push(format!("it is shard {} of {}", shard.index, shard.of));
    }
    if report.interrupted {
        reasons.push("it was stopped early, or its journal is incomplete".to_owned());
    }
    let tallies = &report.tallies;
    for (count, what) in [
        (tallies.errored, "errored"),
        (tallies.skipped, "were skipped"),
        (tallies.pending, "still wait for a human grade"),
    ] {
        if count > 0 {
            let samples = if count == 1 { "sample" } else { "samples" };
            let verb = if count == 1 {
                what.replacen("were", "was", 1).replacen("wait", "waits", 1)
            } else {
                what.to_owned()
            };
            reasons.push(format!("{count} {samples} {verb}"));
        }
    }
    let open = |eval: &&EvalRecord| !eval.outcome.is_graded();
    if let Some(eval) = record
        .evals
        .iter()
        .find(open)
        .filter(|_| reasons.is_empty())
    {
        reasons.push(format!("eval `{}` is {}", eval.id, eval.outcome));
    }
    if record.evals.is_empty() && reasons.is_empty() {
        reasons.push("it has no eval".to_owned());
    }
    reasons
}

fn file(record: RunScores, report: &UngatedSummary) -> ScoreBaselineFile {
    let metric = |(name, estimate): (&String, &Estimate)| {
        let metric = ScoredMetric {
            value: estimate.value?,
            ci: estimate.ci,
            n_cases: estimate.n_cases,
        };
        // Which cases are of a part may change from run to run, so that its metrics are no
        // baseline.
        split_part(name).1.is_none().then(|| (name.clone(), metric))
    };
    let RunScores {
        side, ks, evals, ..
    } = record;
    ScoreBaselineFile {
        format_version: SCORES_VERSION,
        suite: side.suite,
        suite_version: side.suite_version,
        target: ScoredTarget {
            name: side.target,
            kind: side.target_type,
            fingerprint: side.target_hash,
        },
        captured_at: side.timestamp,
        run_id: side.run_id,
        commit: side.commit,
        dirty: side.dirty,
        harness_version: side.harness_version,
        environment: environment(&report.started),
        ks,
        seed: report.started.config.seed,
        replaces: None,
        metrics: report
            .tallies
            .actual
            .metrics
            .iter()
            .filter_map(metric)
            .collect(),
        evals: evals.into_iter().map(accepted).collect(),
    }
}

fn environment(started: &RunStarted) -> BTreeMap<String, Value> {
    let environment = &started.run.environment;
    let mut said = BTreeMap::from([
        ("os".to_owned(), json!(environment.os)),
        ("arch".to_owned(), json!(environment.arch)),
    ]);
    if let Some(model) = &environment.model {
        said.insert("model".to_owned(), json!(model));
    }
    if let Some(sandbox) = &environment.sandbox {
        said.insert("sandbox".to_owned(), json!(sandbox.tier));
    }
    if !environment.interpreters.is_empty() {
        said.insert("interpreters".to_owned(), json!(environment.interpreters));
    }
    said
}

/// Without what was measured, which is another one in each run.
fn accepted(mut eval: EvalRecord) -> EvalRecord {
    for case in &mut eval.cases {
        *case = CaseRecord {
            samples: if case.planned() == case.n {
                0
            } else {
                case.samples
            },
            latency_ms: None,
            tokens: None,
            cost_usd: None,
            metrics: BTreeMap::new(),
            ..std::mem::take(case)
        };
    }
    eval
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::baseline::emit_scores;
    use crate::journal::JournalWriter;
    use crate::load::parse_scores;
    use crate::model::{Cause, Comparison, Outcome, RunScores, ScoreBaselineRead, ScoresSource};
    use crate::summary::compare::{CompareSettings, compare, of_baseline};
    use crate::summary::random_run::{Dice, RandomRun, RunSample, SampleRemark, a_run};
    use eval_base::redact::Redactor;

    /// The same run with all of its samples graded in the end, as a baseline has to be.
    fn graded(mut run: RandomRun) -> RandomRun {
        for sample in run
            .evals
            .iter_mut()
            .flat_map(|eval| &mut eval.cases)
            .flat_map(|case| &mut case.samples)
        {
            let said = sample.said.iter_mut().rev().find_map(|said| match said {
                SampleRemark::Finished(attempts) => attempts.last_mut(),
                SampleRemark::Skipped(_) => None,
            });
            match said.map(|attempt| &mut attempt.verdict) {
                Some(verdict) if !verdict.outcome.is_graded() => {
                    verdict.outcome = Outcome::Failed;
                    (verdict.score, verdict.cause) = (None, Some(Cause::WrongAnswer));
                }
                Some(_) => {}
                None => {
                    *sample = RunSample {
                        said: vec![SampleRemark::Finished(vec![passed()])],
                    }
                }
            }
        }
        run
    }

    fn passed() -> crate::model::Attempt {
        crate::model::testing::attempt(crate::model::Verdict {
            outcome: Outcome::Passed,
            score: None,
            cause: None,
            reason: String::new(),
            grades: vec![],
            not_run: Vec::new(),
        })
    }

    fn side(run: &RandomRun, seed: u64) -> RunScores {
        let mut fold = SummaryFold::scoring();
        run.whole(&mut Dice(seed))
            .iter()
            .for_each(|event| fold.push(event).unwrap());
        fold.run_scores("run".into(), ScoresSource::Journals(vec![]))
            .unwrap()
    }

    /// What a score baseline keeps.
    fn kept(mut comparison: Comparison, of: &RunScores) -> Comparison {
        let measured = [
            "latency_mean_ms",
            "tokens_per_sample",
            "cost_usd_per_sample",
            "lint_pass",
            "edit_rate",
        ];
        comparison
            .metrics
            .retain(|metric| !measured.contains(&metric.name.as_str()));
        comparison.reference = of.side.clone();
        comparison
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Beside the scores that were taken from a run, another run differs as it does beside the
        /// run itself.
        #[test]
        fn scores_compare_as_the_run_that_they_were_taken_from(run in a_run(5), other in a_run(5), seed in any::<u64>()) {
            let run = graded(run);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("run-000000.journal.jsonl");
            std::fs::write(&path, "").unwrap();
            let mut writer = JournalWriter::open(&path, Redactor::default()).unwrap();
            run.whole(&mut Dice(seed)).into_iter().for_each(|event| _ = writer.append(event).unwrap());
            let ScoreBaselineResult::Taken(file) = scores(&path).unwrap() else { panic!("refused") };
            let file = parse_scores(Path::new("x"), &emit_scores(&file)).unwrap();
            let accepted = ScoreBaselineRead { path: "x".into(), rev: None, file };
            let (taken, whole) = (of_baseline("accepted".into(), &accepted), side(&run, seed));
            let settings = CompareSettings { resamples: 200, ..CompareSettings::default() };
            let now = side(&other, seed);
            let beside = |reference: &RunScores| compare(reference, &[&now], &settings).map(|mut all| all.remove(0));
            match (beside(&taken), beside(&whole)) {
                (Ok(one), Ok(two)) => prop_assert_eq!(kept(one, &whole), kept(two, &whole)),
                (one, two) => prop_assert_eq!(one.err(), two.err()),
            }
        }
    }
}
