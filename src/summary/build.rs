//! The summary of a whole run.

use std::collections::{BTreeMap, BTreeSet};

use super::SummaryError;
use super::columns::CaseView;
use super::compare::{self, CompareSettings};
use super::composite;
use super::corrected;
use super::disclosure::disclosure;
use super::failures::{self, FailureSubject};
use super::fold::SummaryFold;
use super::metrics::{CountedEval, CountedRun};
use super::outcomes::OutcomeReading;
use super::packed::PackedSample;
use super::parts;
use super::recommend::{self, RunFindings};
use super::rerun;
use crate::model::{
    CaseResult, Comparison, ComparisonReference, Counts, Disclosure, Estimate, EvalResult, Failure,
    Figure, Gate, GateSpec, GateTallies, JudgeHealth, Metadata, ModelsUsed, Omitted, Outcome,
    PastRate, PeopleSummary, RunStarted, RunWarning, SampleResult, ScoresSource, Shard, Summary,
    Totals, Trust,
};

/// A run's summary but for its gate.
#[derive(Debug)]
pub struct UngatedSummary {
    pub tallies: GateTallies,
    pub started: RunStarted,
    /// True when the run was ended early or its journal breaks off.
    pub interrupted: bool,
    /// The shards that this is made of, when they are not all of them: they decide no gate.
    pub shards: Vec<Shard>,
    metadata: Metadata,
    totals: Totals,
    estimates: BTreeMap<String, Estimate>,
    disclosure: Option<Box<Disclosure>>,
    models: Option<ModelsUsed>,
    judges: Option<JudgeHealth>,
    people: Option<Box<PeopleSummary>>,
    /// Beside an earlier run or accepted scores, when the run was to be compared with either.
    pub comparison: Option<Box<Comparison>>,
    history: Vec<PastRate>,
    /// Why the figures of the run may be wrong; with any of these the gate does not pass.
    pub warnings: Vec<RunWarning>,
    pub evals: Vec<EvalResult>,
    pub failures: Vec<Failure>,
    pub omitted: Omitted,
}

impl SummaryFold {
    /// What the run says of itself, as its last session said it.
    pub fn started(&self) -> Result<&RunStarted, SummaryError> {
        self.started.as_ref().ok_or(SummaryError::NotStarted)
    }

    /// What a gate decides from. Intervals are computed only where a threshold is on an end of one.
    pub fn tallies(&self) -> Result<GateTallies, SummaryError> {
        let started = self.started()?;
        let mut thresholds = started.config.gate.thresholds.iter();
        let on_end = thresholds.any(|threshold| threshold.on != Figure::Value);
        Ok(tallies(self, &self.counted(started, on_end), started))
    }

    /// Counts everything that was taken.
    pub fn finish(&self) -> Result<UngatedSummary, SummaryError> {
        let started = self.started()?.clone();
        let shards = self.sessions.lone_shards();
        let counted = self.counted(&started, true);
        let tallies = tallies(self, &counted, &started);
        let mut lister = SummaryLister::new(self, started.config.include_details);
        let estimates = ranged(&tallies);
        let evals: Vec<EvalResult> = counted.evals.iter().map(|eval| lister.eval(eval)).collect();
        let Counts {
            total,
            passed,
            failed,
            errored,
            skipped,
            pending,
            pass_rate,
        } = lister.evals;
        let weighted_score = tallies.actual.metrics.get("weighted_score");
        let totals = Totals {
            total_evals: total,
            passed,
            failed,
            errored,
            skipped,
            pending,
            pass_rate,
            weighted_score: weighted_score.and_then(|estimate| estimate.value),
            repeated_cases: self.repeated_cases(),
            empty_passes: self.empty_passes(),
            ..lister.totals
        };
        Ok(UngatedSummary {
            metadata: metadata(self, &started),
            interrupted: self.sessions.interrupted(),
            models: self.calls.finish(&counted.evals),
            disclosure: disclosure(&started, &counted.evals),
            judges: counted.judges().map(|counts| JudgeHealth {
                worth: corrected::worth(self, counts, &started),
                ..self.judges.health(counts)
            }),
            people: self.people.finish(started.config.seed),
            shards,
            estimates,
            comparison: self.comparison(&started)?,
            history: self.sessions.history().to_vec(),
            warnings: self.warnings(),
            totals,
            tallies,
            evals,
            failures: lister.failures,
            omitted: lister.omitted,
            started,
        })
    }

    /// The run beside what it was to be compared with.
    fn comparison(&self, started: &RunStarted) -> Result<Option<Box<Comparison>>, SummaryError> {
        let read;
        let reference = match &started.config.comparison.reference {
            Some(ComparisonReference::Run(run)) => run,
            Some(ComparisonReference::ScoreBaseline(accepted)) => {
                read = compare::of_baseline(accepted.path.clone(), accepted);
                &read
            }
            None => return Ok(None),
        };
        let own = self.run_scores(
            started.run.run_id.clone(),
            ScoresSource::Journals(Vec::new()),
        )?;
        let settings = CompareSettings {
            seed: started.config.seed,
            allow_changed: started.config.comparison.allow_changed,
            pairs: self.pairs(),
            ..CompareSettings::default()
        };
        // Settings of our own are none that can't be tested.
        let compared = compare::compare_anyway(reference, &[&own], &settings).unwrap_or_default();
        Ok(compared.into_iter().next().map(Box::new))
    }

    /// The evals of the run, to be counted, with intervals or without.
    fn counted<'a>(&'a self, started: &'a RunStarted, intervals: bool) -> CountedRun<'a> {
        let scope = intervals.then_some(started.config.interval_scope);
        CountedRun::new(
            self.counted_evals(),
            &started.config.ks,
            scope,
            &started.config.score_metrics,
        )
    }

    pub(crate) fn counted_evals(&self) -> Vec<CountedEval<'_>> {
        // A shard plans all evals, so that their order is known, also those of which it has no
        // case.
        let whole = self.sessions.lone_shards().is_empty();
        let evals = self
            .evals
            .iter()
            .enumerate()
            .filter(|(_, eval)| whole || eval.len() > 0);
        evals
            .map(|(number, eval)| CountedEval::new(number, eval))
            .collect()
    }
}

impl UngatedSummary {
    /// What the thresholds of the run were.
    pub fn gate_spec(&self) -> &GateSpec {
        &self.started.config.gate
    }

    /// The summary, with the decision that was made from [`UngatedSummary::tallies`].
    pub fn with_gate(self, gate: Gate) -> Summary {
        let private = self.evals.iter().filter(|eval| eval.private);
        let private: usize = private.map(|eval| eval.counts.total).sum();
        let recommendations = recommend::recommend(&RunFindings {
            evals: &self.evals,
            totals: &self.totals,
            failures: &self.failures,
            gate: &gate,
            judges: self.judges.as_ref(),
            omitted: Omitted {
                cases: self.omitted.cases + private,
                ..self.omitted
            },
            regrade_of: self.metadata.regrade_of.as_deref(),
            suite: self.metadata.suite_path.as_deref(),
        });
        let omitted = Some(self.omitted).filter(|omitted| *omitted != Omitted::default());
        let metrics = self
            .estimates
            .iter()
            .map(|(name, estimate)| (name.clone(), estimate.value))
            .collect();
        Summary {
            metadata: self.metadata,
            summary: self.totals,
            metrics,
            estimates: self.estimates,
            gate,
            models: self.models,
            disclosure: self.disclosure,
            judges: self.judges,
            people: self.people,
            fail_on: self
                .started
                .config
                .comparison
                .fail_on
                .filter(|_| self.comparison.is_some()),
            comparison: self.comparison,
            history: self.history,
            warnings: self.warnings,
            list_filters: Vec::new(),
            evals: self.evals,
            failures: self.failures,
            recommendations,
            truncated: omitted.is_some(),
            omitted,
        }
    }
}

fn tallies(fold: &SummaryFold, counted: &CountedRun<'_>, started: &RunStarted) -> GateTallies {
    let mut actual = counted.tally(OutcomeReading::Graded);
    let (mut worst, mut best) = if counted.is_open() {
        (
            counted.tally(OutcomeReading::Worst),
            counted.tally(OutcomeReading::Best),
        )
    } else {
        (actual.clone(), actual.clone())
    };
    for reading in [&mut actual, &mut worst, &mut best] {
        composite::add(&started.config.composites, &mut reading.metrics);
    }
    let mut readings = [
        (OutcomeReading::Graded, &mut actual),
        (OutcomeReading::Worst, &mut worst),
        (OutcomeReading::Best, &mut best),
    ];
    corrected::add(fold, counted, started, &mut readings);
    parts::add(counted, started, readings);
    let CountedRun {
        errored,
        skipped,
        pending,
        ..
    } = *counted;
    let lacks = parts::lacks(counted, started, &actual);
    GateTallies {
        lacks,
        actual,
        worst,
        best,
        errored,
        skipped,
        pending,
    }
}

/// The estimates with the range that samples without a grade leave open.
fn ranged(tallies: &GateTallies) -> BTreeMap<String, Estimate> {
    let mut estimates = tallies.actual.metrics.clone();
    for (name, estimate) in &mut estimates {
        estimate.worst = tallies
            .worst
            .metrics
            .get(name)
            .and_then(|worst| worst.value);
        estimate.best = tallies.best.metrics.get(name).and_then(|best| best.value);
    }
    estimates
}

fn metadata(fold: &SummaryFold, started: &RunStarted) -> Metadata {
    let sessions = &fold.sessions;
    let reused = started.run.changed_since.as_ref().map(|_| fold.reused());
    Metadata {
        run: sessions.identity(started),
        duration_seconds: sessions.duration_seconds(),
        interval_scope: started.config.interval_scope,
        interrupted: sessions.interrupted(),
        suite_path: rerun::suite_path(started),
        rerun_arguments: rerun::arguments(&started.arguments),
        joined: sessions.joined(),
        reused: reused.filter(|counts| counts.reused + counts.graded_again > 0),
    }
}

/// Lists evals, cases, samples and failures as far as a report may, and counts them all.
struct SummaryLister<'a> {
    fold: &'a SummaryFold,
    include_details: bool,
    everything: bool,
    /// Cases that may still be listed when not everything is.
    room: usize,
    /// Evals by outcome.
    evals: Counts,
    totals: Totals,
    failures: Vec<Failure>,
    omitted: Omitted,
}

impl<'a> SummaryLister<'a> {
    fn new(fold: &'a SummaryFold, include_details: bool) -> Self {
        SummaryLister {
            fold,
            include_details,
            everything: fold.lists_everything(),
            room: fold.limits().samples,
            evals: Counts::default(),
            totals: Totals::default(),
            failures: Vec::new(),
            omitted: Omitted::default(),
        }
    }

    fn eval(&mut self, eval: &CountedEval<'_>) -> EvalResult {
        let info = eval.info();
        let mut counter = eval.counter();
        let mut counts = Counts::default();
        let mut cases = Vec::new();
        for case in eval.cases() {
            let finals = case.finals();
            let outcome = counter.add(&finals);
            counts.add(outcome);
            self.count(case, outcome);
            if info.is_private() {
                continue;
            }
            self.fail(eval, case);
            let remarkable = finals.passed < finals.total() || case.flaky_samples() > 0;
            if self.everything || (remarkable && self.room > 0) {
                self.room = self.room.saturating_sub(1);
                let samples = self.samples(eval.number, case);
                let input = self
                    .fold
                    .input(eval.number, case)
                    .filter(|_| self.include_details);
                cases.push(CaseResult {
                    input: input.cloned().map(Box::new),
                    ..case_result(case, outcome, finals.score(), samples)
                });
            } else {
                self.omitted.cases += 1;
                self.omit(case.samples().iter().copied());
            }
        }
        let outcome = counter.outcome();
        self.count_eval(eval, outcome);
        EvalResult {
            id: info.id.clone(),
            name: info.name.clone(),
            kind: info.kind,
            category: info.category.clone(),
            tags: info.tags.clone(),
            weight: info.weight,
            difficulty: info.difficulty,
            criticality: info.criticality,
            source: info.source.clone(),
            outcome,
            score: counter.score(),
            counts,
            private: info.is_private(),
            cases,
        }
    }

    fn count_eval(&mut self, eval: &CountedEval<'_>, outcome: Outcome) {
        let (info, totals) = (eval.info(), &mut self.totals);
        self.evals.add(outcome);
        totals.by_type.entry(info.kind).or_default().add(outcome);
        if let Some(category) = &info.category {
            totals
                .by_category
                .entry(category.clone())
                .or_default()
                .add(outcome);
        }
        for tag in info.tags.iter().collect::<BTreeSet<_>>() {
            totals.by_tag.entry(tag.clone()).or_default().add(outcome);
        }
    }

    fn count(&mut self, case: CaseView<'_>, outcome: Outcome) {
        let totals = &mut self.totals;
        totals.cases.add(outcome);
        for grader in case.graders() {
            count_by(&mut totals.by_grader, grader.name(), |counts| {
                counts.add(outcome)
            });
        }
        for packed in case.samples() {
            totals.samples.add(packed.outcome());
            if let Some(cause) = packed.cause() {
                count_by(&mut totals.by_cause, cause.name(), |n| *n += 1);
            }
        }
        totals.infrastructure_retries += case.infrastructure_retries();
        totals.flaky += case.flaky_samples();
        totals.adjudicated += case.adjudicated_samples();
        for (level, counts) in Trust::ALL.into_iter().zip(case.trust()) {
            if counts.samples > 0 {
                let total = totals.by_trust.entry(level).or_default();
                total.samples += counts.samples;
                total.grades += counts.grades;
            }
        }
    }

    /// Entries for a case that failed or errored in part: its first sample that tells.
    fn fail(&mut self, eval: &CountedEval<'_>, case: CaseView<'_>) {
        for outcome in [Outcome::Failed, Outcome::Errored] {
            let mut such = case
                .samples()
                .iter()
                .enumerate()
                .filter(|(_, packed)| packed.outcome() == outcome);
            let Some((first, _)) = such.next() else {
                continue;
            };
            let samples = 1 + such.count();
            let full = !self.everything && self.failures.len() >= self.fold.limits().failures;
            let said = if full {
                None
            } else {
                self.fold.details(eval.number, case, first as u32)
            };
            match said {
                Some(sample) => {
                    let listed = FailureSubject {
                        eval: eval.info(),
                        case_id: case.id(),
                        case_name: case.name(),
                    };
                    let failure = failures::failure(listed, sample, samples);
                    self.failures.push(if self.include_details {
                        failure
                    } else {
                        failures::without_output(failure)
                    });
                }
                None => self.omitted.failures += 1,
            }
        }
    }

    fn samples(&mut self, eval: usize, case: CaseView<'_>) -> Vec<SampleResult> {
        if !self.include_details {
            return Vec::new();
        }
        let mut samples = Vec::new();
        for (sample, packed) in case.samples().iter().enumerate() {
            match self.fold.details(eval, case, sample as u32) {
                Some(said) => samples.push(said.clone()),
                None => self.omit([*packed]),
            }
        }
        samples
    }

    fn omit(&mut self, samples: impl IntoIterator<Item = PackedSample>) {
        if !self.include_details {
            return;
        }
        for packed in samples.into_iter().filter(|packed| packed.is_finished()) {
            self.omitted.samples += 1;
            self.omitted.unpassed_samples += usize::from(packed.outcome() != Outcome::Passed);
        }
    }
}

/// Counts under a name without making a new key of it each time.
fn count_by<T: Default>(map: &mut BTreeMap<String, T>, name: &str, count: impl FnOnce(&mut T)) {
    match map.get_mut(name) {
        Some(value) => count(value),
        None => count(map.entry(name.to_owned()).or_default()),
    }
}

fn case_result(
    case: CaseView<'_>,
    outcome: Outcome,
    score: Option<f64>,
    samples: Vec<SampleResult>,
) -> CaseResult {
    let firsts = case.firsts();
    CaseResult {
        id: case.id().to_owned(),
        name: case.name().map(str::to_owned),
        outcome,
        score,
        cause: case.commonest_cause(outcome),
        flaky: case.flaky_samples() > 0,
        first_passes: firsts.passed,
        first_graded: firsts.passed + firsts.failed,
        tags: case.tags().to_vec(),
        input: None,
        samples,
    }
}
