//! Gathers events by eval, case and sample.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::SummaryError;
use super::calls::CallTotals;
use super::columns::{CaseView, ColumnsFull, EvalFold, SampleFigures};
use super::compare::PAIRS;
use super::details::{self, DetailBudget, DetailKey, SampleDetails};
use super::doubts::RunDoubts;
use super::inputs::ShownInputs;
use super::judges::JudgeNames;
use super::packed::{
    ADJUDICATED, COST_IN_PART, EMPTY_PASS, FLAKY, GRADED_AGAIN, KEPT, PackedSample, REUSED,
    UNLISTED_FILES, USAGE_IN_PART,
};
use super::people::PeopleFold;
use super::repeated::RepeatedOutputs;
use super::sessions::FoldedSessions;
use crate::model::limits;
use crate::model::{
    CalibrationFile, CasesPlanned, EvalPlanned, Event, InputShown, Outcome, ReuseCounts,
    RunStarted, RunWarning, SampleFinished, SampleResult, SampleSkipped, private_case_id,
};

/// What is known of a run so far.
#[derive(Debug)]
pub struct SummaryFold {
    pub(super) started: Option<RunStarted>,
    pub(super) sessions: FoldedSessions,
    pub(super) evals: Vec<EvalFold>,
    pub(super) calls: CallTotals,
    pub(super) judges: JudgeNames,
    pub(super) people: PeopleFold,
    index: HashMap<String, usize>,
    /// The eval and case that were spoken of last: the next event is mostly of the same or the next
    /// one.
    last: (usize, usize),
    planned_samples: usize,
    limits: ListingLimits,
    /// Whether contents of cases are kept though there is nothing to compare the run with.
    contents: bool,
    /// Details of samples that passed, while the plan is small enough to show them.
    passed: SampleDetails,
    /// Details of samples that did not pass.
    unpassed: SampleDetails,
    /// What cases give the target.
    inputs: ShownInputs,
    doubts: RunDoubts,
    repeated: RepeatedOutputs,
    /// Runs whose target returned reused outputs, at most [`ORIGINS`].
    pub(super) origins: BTreeSet<String>,
}

/// Each `run --changed` of a long chain can add one.
const ORIGINS: usize = 100;

/// Where a summary stops listing; figures count everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListingLimits {
    /// Planned samples up to which everything is listed; the most that details are kept of; the
    /// most cases that are listed beyond.
    pub samples: usize,
    pub bytes: usize,
    /// Bytes of cases' inputs.
    pub inputs: usize,
    pub failures: usize,
}

impl Default for ListingLimits {
    fn default() -> Self {
        ListingLimits {
            samples: limits::DETAILED_SAMPLES,
            bytes: limits::DETAIL_BYTES,
            inputs: limits::INPUTS_BYTES,
            failures: limits::LISTED_FAILURES,
        }
    }
}

impl Default for SummaryFold {
    fn default() -> Self {
        SummaryFold::within(ListingLimits::default())
    }
}

impl SummaryFold {
    pub fn new() -> Self {
        SummaryFold::default()
    }

    /// A fold that only counts: it keeps nothing of what samples said.
    pub fn counting() -> Self {
        SummaryFold::within(ListingLimits {
            samples: 0,
            bytes: 0,
            inputs: 0,
            failures: 0,
        })
    }

    /// Simulated pairs for what a comparison could have found: none where only the gate is needed.
    pub(super) fn pairs(&self) -> usize {
        match self.limits.samples {
            0 => 0,
            _ => PAIRS,
        }
    }

    /// The same for who makes a score baseline of it: it keeps what cases are, too.
    pub fn scoring() -> Self {
        SummaryFold {
            contents: true,
            ..SummaryFold::counting()
        }
    }

    pub(super) fn within(limits: ListingLimits) -> Self {
        // Two halves, so that passes never take room from failures.
        let room = || {
            SampleDetails::new(DetailBudget {
                samples: limits.samples,
                bytes: limits.bytes / 2,
            })
        };
        SummaryFold {
            started: None,
            sessions: FoldedSessions::default(),
            evals: Vec::new(),
            calls: CallTotals::default(),
            judges: JudgeNames::default(),
            people: PeopleFold::default(),
            index: HashMap::new(),
            last: (0, 0),
            planned_samples: 0,
            limits,
            contents: false,
            passed: room(),
            unpassed: room(),
            inputs: ShownInputs::within(DetailBudget {
                samples: limits.samples,
                bytes: limits.inputs,
            }),
            doubts: RunDoubts::default(),
            repeated: RepeatedOutputs::default(),
            origins: BTreeSet::new(),
        }
    }

    /// Takes one event. A later event of a sample takes the place of an earlier one, but a skip
    /// never that of a result.
    pub fn push(&mut self, event: &Event) -> Result<(), SummaryError> {
        match event {
            Event::RunStarted(started) => {
                if self.started.is_none() {
                    self.started = Some((**started).clone());
                }
                self.doubts.started(started);
                self.sessions.started(started);
                self.calls.started(started.run.regrade_of.is_some());
            }
            Event::RunResumed(resumed) => {
                if let (Some(first), true) = (&mut self.started, self.sessions.is_first()) {
                    let mut session = (**resumed).clone();
                    std::mem::swap(&mut session.run.run_id, &mut first.run.run_id);
                    std::mem::swap(&mut session.run.timestamp, &mut first.run.timestamp);
                    *first = session;
                }
                self.doubts.started(resumed);
                self.sessions.resumed();
            }
            Event::EvalPlanned(planned) => self.plan_eval(planned),
            Event::CasesPlanned(planned) => self.plan_cases(planned)?,
            Event::SampleFinished(sample) => self.finish_sample(sample)?,
            Event::SampleSkipped(sample) => self.skip_sample(sample)?,
            Event::RunFinished(finished) => self.sessions.finished(finished),
        }
        Ok(())
    }

    /// How a sample ended; `None` while it did not, and for one that was skipped or never planned.
    pub fn finished(&self, eval: &str, case: &str, sample: u32) -> Option<Outcome> {
        let packed = self.case(eval, case)?.samples().get(sample as usize)?;
        packed.is_finished().then(|| packed.outcome())
    }

    /// True when a judge graded a sample.
    pub fn has_judged(&self) -> bool {
        self.judges.are_known()
    }

    /// Adds calibrations that count before those of the run's start.
    pub fn calibrate(&mut self, calibrations: Vec<CalibrationFile>) {
        let Some(started) = &mut self.started else {
            return;
        };
        let known = &mut started.config.calibrations;
        let is_new = |old: &CalibrationFile| {
            let mut new = calibrations.iter();
            new.all(|new| new.fingerprint != old.fingerprint)
        };
        known.retain(is_new);
        known.extend(calibrations);
    }

    /// How many samples were taken from an earlier run.
    pub(super) fn reused(&self) -> ReuseCounts {
        let mut counts = ReuseCounts::default();
        for packed in self.cases().flat_map(CaseView::samples) {
            let n = match (packed.has(REUSED), packed.has(GRADED_AGAIN)) {
                (true, _) => &mut counts.reused,
                (_, true) => &mut counts.graded_again,
                _ => &mut counts.run,
            };
            *n += 1;
            counts.unlisted_files += usize::from(packed.has(UNLISTED_FILES));
        }
        counts
    }

    /// Planned samples that did not finish, as eval, case and sample, in the order in which they
    /// were planned.
    #[cfg(test)]
    pub fn unfinished(&self) -> impl Iterator<Item = (&str, &str, u32)> {
        self.cases().flat_map(|case| {
            let open = case
                .samples()
                .iter()
                .enumerate()
                .filter(|(_, packed)| !packed.is_finished());
            open.map(move |(sample, _)| (case.eval.info.id.as_str(), case.id(), sample as u32))
        })
    }

    /// Samples that need not run again, by outcome.
    pub fn settled(&self) -> BTreeMap<Outcome, usize> {
        let mut settled = BTreeMap::new();
        let all = self.cases().flat_map(CaseView::samples);
        for packed in all.filter(|packed| packed.is_settled()) {
            *settled.entry(packed.outcome()).or_default() += 1;
        }
        settled
    }

    /// What is known of a case.
    pub(crate) fn case(&self, eval: &str, case: &str) -> Option<CaseView<'_>> {
        let eval = &self.evals[self.find_eval(eval)?];
        Some(eval.case(eval.find(case)?))
    }

    /// Cases that passed, or those that did not, as eval and case.
    pub fn cases_that(&self, passed: bool) -> impl Iterator<Item = (&str, &str)> {
        self.outcomes()
            .filter(move |(_, _, outcome)| (*outcome == Outcome::Passed) == passed)
            .map(|(eval, case, _)| (eval, case))
    }

    /// Every case as eval and case, with its outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&str, &str, Outcome)> {
        self.cases().map(|case| {
            let info = &case.eval.info;
            let outcome = case.finals().outcome(info.pass_rate_threshold);
            (info.id.as_str(), case.id(), outcome)
        })
    }

    pub(crate) fn sessions(&self) -> &FoldedSessions {
        &self.sessions
    }

    /// Samples by outcome so far; what was not heard of is skipped.
    #[cfg(test)]
    pub fn counts(&self) -> crate::model::Counts {
        let mut counts = crate::model::Counts::default();
        self.cases()
            .flat_map(CaseView::samples)
            .for_each(|packed| counts.add(packed.outcome()));
        counts
    }

    #[cfg(test)]
    pub fn planned_samples(&self) -> usize {
        self.planned_samples
    }

    fn cases(&self) -> impl Iterator<Item = CaseView<'_>> {
        self.evals
            .iter()
            .flat_map(|eval| (0..eval.len()).map(|at| eval.case(at)))
    }

    /// True while every sample is listed with what it said.
    pub(super) fn lists_everything(&self) -> bool {
        self.planned_samples <= self.limits.samples
    }

    pub(super) fn limits(&self) -> ListingLimits {
        self.limits
    }

    /// What a finished sample said, if it was kept.
    pub(super) fn details(
        &self,
        eval: usize,
        case: CaseView<'_>,
        sample: u32,
    ) -> Option<&SampleResult> {
        let slot = case.eval.slot(case.at, sample).ok()?;
        let of = if case.eval.packed(slot).outcome() == Outcome::Passed {
            &self.passed
        } else {
            &self.unpassed
        };
        of.get(key(eval, case.eval, case.at, sample))
    }

    /// Cases whose samples repeat themselves, when all do that have several.
    pub(super) fn repeated_cases(&self) -> usize {
        self.repeated.count(self.cases())
    }

    /// Samples that passed with an empty output, by graders that require no text.
    pub(super) fn empty_passes(&self) -> usize {
        let all = self.cases().flat_map(CaseView::samples);
        all.filter(|packed| packed.has(EMPTY_PASS)).count()
    }

    /// Why the figures of the run may be wrong: lost records, and verdicts that contradict their
    /// grades.
    pub fn warnings(&self) -> Vec<RunWarning> {
        self.doubts.warnings(|eval, case| {
            let eval = self.evals.get(eval).filter(|eval| case < eval.len())?;
            let id = eval.info.shown_case(eval.case(case).id());
            Some((eval.info.id.as_str(), id))
        })
    }

    /// What a case gives the target, if it was kept.
    pub(super) fn input(&self, eval: usize, case: CaseView<'_>) -> Option<&InputShown> {
        self.inputs.get(eval, case.at)
    }

    fn plan_eval(&mut self, planned: &EvalPlanned) {
        match self.index.get(&planned.eval.id) {
            // A resumed run plans again what is known, and has the last word on it.
            Some(at) if self.sessions.is_first() => self.evals[*at].info = planned.eval.clone(),
            // Another shard's part of it.
            Some(at) => self.evals[*at].expect(planned.cases),
            None => {
                self.index.insert(planned.eval.id.clone(), self.evals.len());
                self.evals
                    .push(EvalFold::new(planned.eval.clone(), planned.cases));
            }
        }
    }

    fn plan_cases(&mut self, planned: &CasesPlanned) -> Result<(), SummaryError> {
        let at = self
            .find_eval(&planned.eval)
            .ok_or_else(|| unknown_eval(&planned.eval))?;
        self.last = (at, 0);
        let compared = |started: &RunStarted| started.config.comparison.reference.is_some();
        let contents = self.contents || self.started.as_ref().is_some_and(compared);
        for case in &planned.cases {
            let more = self.evals[at].plan(case);
            if contents {
                self.evals[at].keep_content(case);
            }
            let shown = self.inputs.has_room() && !self.evals[at].info.is_private();
            let input = case.input.as_deref().filter(|_| shown);
            if (input.is_some() || case.combine.is_some() || self.doubts.has_rules())
                && let Some(number) =
                    self.evals[at].find_from(self.evals[at].len().saturating_sub(1), &case.id)
            {
                self.doubts.planned(at, number, case);
                if let Some(input) = input {
                    self.inputs.put(at, number, input);
                }
            }
            self.planned_samples +=
                more.map_err(|ColumnsFull| SummaryError::TooLarge(planned.eval.clone()))?;
        }
        if !self.lists_everything() {
            self.passed.close();
        }
        Ok(())
    }

    fn find_eval(&self, id: &str) -> Option<usize> {
        match self.evals.get(self.last.0) {
            Some(eval) if eval.info.id == id => Some(self.last.0),
            _ => self.index.get(id).copied(),
        }
    }

    /// The case in an error: no id of a private dataset.
    fn shown_case(&self, at: usize, case: &str) -> String {
        let info = &self.evals[at].info;
        match info.is_private() {
            true => format!("#{}", private_case_id(&info.id, case)),
            false => case.to_owned(),
        }
    }

    /// Eval, case and slot of a sample.
    fn place(
        &self,
        eval: &str,
        case: &str,
        sample: u32,
    ) -> Result<(usize, usize, usize), SummaryError> {
        let at = self.find_eval(eval).ok_or_else(|| unknown_eval(eval))?;
        let known = &self.evals[at];
        let owned = || (eval.to_owned(), self.shown_case(at, case));
        let Some(number) = known.find_from(self.last.1, case) else {
            let (eval, case) = owned();
            return Err(SummaryError::UnknownCase { eval, case });
        };
        let slot = known.slot(number, sample).map_err(|planned| {
            let (eval, case) = owned();
            SummaryError::UnknownSample {
                eval,
                case,
                sample,
                planned,
            }
        })?;
        Ok((at, number, slot))
    }

    fn skip_sample(&mut self, skipped: &SampleSkipped) -> Result<(), SummaryError> {
        let (at, case, slot) = self.place(&skipped.eval, &skipped.case, skipped.sample)?;
        self.last = (at, case);
        let eval = &mut self.evals[at];
        if !eval.packed(slot).is_finished() {
            eval.skip(slot, PackedSample::skipped(skipped.cause));
        }
        Ok(())
    }

    fn finish_sample(&mut self, sample: &SampleFinished) -> Result<(), SummaryError> {
        let (at, case, slot) = self.place(&sample.eval, &sample.case, sample.sample)?;
        self.last = (at, case);
        let (Some(first), Some(last)) = (sample.attempts.first(), sample.attempts.last()) else {
            return Err(SummaryError::NoAttempt {
                eval: sample.eval.clone(),
                case: self.shown_case(at, &sample.case),
                sample: sample.sample,
            });
        };
        let verdict = &last.verdict;
        let adjudicated = verdict.grades.iter().any(|grade| grade.adjudicated);
        let packed = PackedSample::finished(verdict.outcome, first.verdict.outcome, verdict.cause)
            .marked(FLAKY, details::is_flaky(sample, verdict.outcome))
            .marked(ADJUDICATED, adjudicated)
            .marked(EMPTY_PASS, details::is_empty_pass(last))
            .marked(KEPT, details::is_kept(last));
        let from = sample.reused_from.as_deref();
        if let Some(from) = from
            && self.origins.len() < ORIGINS
            && !self.origins.contains(&from.run)
        {
            self.origins.insert(from.run.clone());
        }
        // What an earlier run measured is not counted as a latency of this one.
        let latency_ms = last.latency_ms.filter(|_| from.is_none());
        let packed = packed
            .marked(KEPT, from.is_some() && last.latency_ms.is_some())
            .marked(UNLISTED_FILES, from.is_some_and(|from| from.unlisted_files));
        let packed = match from.map(|from| from.graded_again) {
            None => packed,
            Some(false) => packed.with(REUSED),
            Some(true) => packed.with(GRADED_AGAIN),
        };
        let [untold, unpriced] = details::untold(sample);
        let packed = packed
            .marked(USAGE_IN_PART, untold)
            .marked(COST_IN_PART, unpriced);
        let graded = verdict.outcome.is_graded();
        let figures = SampleFigures {
            packed,
            score: verdict.score,
            latency_ms,
            usage: details::usage(sample),
            infrastructure_retries: match from {
                None => details::infrastructure_retries(sample),
                // Calls of an earlier run.
                Some(_) => 0,
            },
            model: self.calls.add(&sample.attempts, from),
            trust: details::trust(&verdict.grades),
            judged: self.judges.see(
                &self.evals[at].info.id,
                &verdict.grades,
                self.doubts.rule(at, case),
            ),
            metrics: if graded {
                details::metrics(&verdict.grades)
            } else {
                Default::default()
            },
        };
        let eval = &mut self.evals[at];
        self.people
            .see(sample, &verdict.grades, eval.info.is_private());
        self.repeated
            .see((at, case), eval.case(case).samples().len(), first);
        self.doubts
            .finished((at as u32, eval.rank(case), sample.sample), case, verdict);
        eval.finish(slot, figures);
        if eval.info.is_private() {
            return Ok(());
        }
        let key = key(at, eval, case, sample.sample);
        let result = || details::sample_result(sample, last);
        if verdict.outcome != Outcome::Passed {
            self.passed.withdraw(key);
            self.unpassed.put(key, details::cost(sample), result);
        } else {
            self.unpassed.withdraw(key);
            if self.lists_everything() {
                self.passed.put(key, details::cost(sample), result);
            }
        }
        Ok(())
    }
}

fn key(at: usize, eval: &EvalFold, case: usize, sample: u32) -> DetailKey {
    (at as u32, eval.rank(case), case as u32, sample)
}

fn unknown_eval(id: &str) -> SummaryError {
    SummaryError::UnknownEval(id.to_owned())
}
