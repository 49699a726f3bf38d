//! What the journal of a run says of its plan and of what is finished, in little memory: no
//! outputs, no grades.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::RunError;
use crate::journal;
use crate::model::{
    CasePlanned, CasesPlanned, EvalInfo, Event, Outcome, RunFinished, RunStarted, SampleFinished,
};
use crate::summary::SummaryError;
use eval_base::names::Names;

/// A run as its journal tells it.
#[derive(Debug)]
pub(super) struct Earlier {
    /// The run's first event.
    pub started: RunStarted,
    /// What its last session said; the first one's words when there was no other.
    pub session: RunStarted,
    /// The end of the last session; `None` when it was cut off.
    pub finished: Option<RunFinished>,
    pub evals: HashMap<String, EarlierEval>,
    /// Finished samples that are not errored, by outcome.
    pub kept: BTreeMap<Outcome, usize>,
    /// Samples that were planned.
    pub planned: usize,
    /// True when it tells what cases give the target.
    pub has_inputs: bool,
    marks: Vec<Mark>,
    /// Samples that finished more than once, and how often: errored ones are run again when the run
    /// goes on.
    repeated: HashMap<usize, u32>,
}

#[derive(Debug)]
pub(super) struct EarlierEval {
    pub info: EvalInfo,
    ids: Names,
    /// In the order of `ids`.
    cases: Vec<EarlierCase>,
}

impl EarlierEval {
    fn of(info: EvalInfo) -> EarlierEval {
        EarlierEval {
            info,
            ids: Names::default(),
            cases: Vec::new(),
        }
    }

    pub fn case(&self, id: &str) -> Option<&EarlierCase> {
        self.cases.get(self.ids.number(id)? as usize)
    }

    pub fn case_mut(&mut self, id: &str) -> Option<&mut EarlierCase> {
        self.cases.get_mut(self.ids.number(id)? as usize)
    }

    /// Every case with its id.
    pub fn cases(&self) -> impl Iterator<Item = (&str, &EarlierCase)> {
        self.ids.iter().zip(&self.cases)
    }

    pub fn len(&self) -> usize {
        self.cases.len()
    }
}

#[derive(Debug)]
pub(super) struct EarlierCase {
    pub samples: u32,
    pub input: Print,
    pub grading: Print,
    pub target: Option<Print>,
    /// Over everything that was said of the case.
    pub about: u64,
    /// Its place in the whole eval, in a shard.
    pub position: Option<u32>,
    /// Its place among the cases of the plan's eval, once somebody has looked.
    pub at: Option<u32>,
    /// Where its marks begin.
    marks: usize,
}

/// The first 32 hex digits of a hash, which tell as much as all of them; of anything else nothing
/// is equal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Print(Option<[u8; 16]>);

impl Print {
    pub fn of(hash: &str) -> Print {
        let digits = hash.get(..hash.len().min(32));
        Print(
            digits
                .and_then(|digits| u128::from_str_radix(digits, 16).ok())
                .map(u128::to_be_bytes),
        )
    }

    pub fn is(self, other: Print) -> bool {
        self.0.is_some() && self.0 == other.0
    }
}

/// How far a sample came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Open,
    Errored,
    /// Passed, failed or pending.
    Kept,
}

/// A hash over everything that is said of a case; the same only within one process.
pub(super) fn about(case: &CasePlanned) -> u64 {
    let mut hasher = DefaultHasher::new();
    (
        &case.name,
        case.samples,
        &case.graders,
        &case.input_hash,
        &case.grading_hash,
    )
        .hash(&mut hasher);
    (
        &case.data_hash,
        &case.target_hash,
        &case.tags,
        case.position,
    )
        .hash(&mut hasher);
    hasher.finish()
}

impl Earlier {
    /// Reads a journal once; `hear` hears of every event, too.
    pub fn read(
        journal: &Path,
        mut hear: impl FnMut(&Event) -> Result<(), SummaryError>,
    ) -> Result<Earlier, RunError> {
        let mut earlier: Option<Earlier> = None;
        for event in journal::read(journal)? {
            let event = event?;
            hear(&event)?;
            match (&mut earlier, event) {
                (None, Event::RunStarted(started)) => earlier = Some(Earlier::begun(*started)),
                // The reader gives no journal that begins otherwise.
                (None, _) => return Err(SummaryError::NotStarted.into()),
                (Some(earlier), event) => earlier.push(event)?,
            }
        }
        Ok(earlier.ok_or(SummaryError::NotStarted)?)
    }

    fn begun(started: RunStarted) -> Earlier {
        Earlier {
            session: started.clone(),
            started,
            finished: None,
            evals: HashMap::new(),
            kept: BTreeMap::new(),
            planned: 0,
            has_inputs: false,
            marks: Vec::new(),
            repeated: HashMap::new(),
        }
    }

    fn push(&mut self, event: Event) -> Result<(), SummaryError> {
        match event {
            Event::RunStarted(session) | Event::RunResumed(session) => {
                self.session = *session;
                self.finished = None;
            }
            Event::EvalPlanned(planned) => {
                let known = self.evals.entry(planned.eval.id.clone());
                let fresh = EarlierEval::of(planned.eval.clone());
                known
                    .and_modify(|eval| eval.info = planned.eval)
                    .or_insert(fresh);
            }
            Event::CasesPlanned(planned) => self.plan(&planned)?,
            Event::SampleFinished(sample) => self.finish(&sample),
            Event::SampleSkipped(_) => {}
            Event::RunFinished(finished) => self.finished = Some(finished),
        }
        Ok(())
    }

    fn plan(&mut self, planned: &CasesPlanned) -> Result<(), SummaryError> {
        let eval = self
            .evals
            .get_mut(&planned.eval)
            .ok_or_else(|| SummaryError::UnknownEval(planned.eval.clone()))?;
        for case in &planned.cases {
            self.has_inputs |= case.input.is_some();
            let known = eval
                .case(&case.id)
                .map(|known| (known.marks, known.samples));
            let (from, before) = known.unwrap_or((0, 0));
            let samples = case.samples.max(before);
            self.planned += (samples - before) as usize;
            let marks = if samples == before {
                from
            } else {
                let start = self.marks.len();
                self.marks.extend_from_within(from..from + before as usize);
                self.marks.resize(start + samples as usize, Mark::Open);
                let moved = if self.repeated.is_empty() {
                    0
                } else {
                    before as usize
                };
                for sample in 0..moved {
                    if let Some(times) = self.repeated.remove(&(from + sample)) {
                        self.repeated.insert(start + sample, times);
                    }
                }
                start
            };
            let known = EarlierCase {
                samples,
                input: Print::of(&case.input_hash),
                grading: Print::of(&case.grading_hash),
                target: case.target_hash.as_deref().map(Print::of),
                about: about(case),
                position: case.position,
                at: None,
                marks,
            };
            // More ids than there are numbers can't be in a plan.
            let Some(number) = eval.ids.add(&case.id) else {
                continue;
            };
            match eval.cases.get_mut(number as usize) {
                Some(case) => *case = known,
                None => eval.cases.push(known),
            }
        }
        Ok(())
    }

    /// Where the mark of a sample is; `None` for one that was never planned.
    fn place(&self, eval: &str, case: &str, sample: u32) -> Option<usize> {
        let case = self.evals.get(eval)?.case(case)?;
        (sample < case.samples).then_some(case.marks + sample as usize)
    }

    fn finish(&mut self, sample: &SampleFinished) {
        let Some(place) = self.place(&sample.eval, &sample.case, sample.sample) else {
            return;
        };
        let Some(outcome) = sample
            .attempts
            .last()
            .map(|attempt| attempt.verdict.outcome)
        else {
            return;
        };
        let Some(mark) = self.marks.get_mut(place) else {
            return;
        };
        if *mark != Mark::Open {
            *self.repeated.entry(place).or_insert(1) += 1;
        }
        if outcome == Outcome::Errored {
            *mark = Mark::Errored;
        } else {
            *mark = Mark::Kept;
            *self.kept.entry(outcome).or_default() += 1;
        }
    }

    /// True when the sample was judged, or waits for people: it will not be run again.
    pub fn is_kept(&self, case: &EarlierCase, sample: u32) -> bool {
        sample < case.samples && self.marks.get(case.marks + sample as usize) == Some(&Mark::Kept)
    }

    pub fn has_kept(&self, case: &EarlierCase) -> bool {
        let marks = self
            .marks
            .get(case.marks..case.marks + case.samples as usize)
            .unwrap_or_default();
        marks.contains(&Mark::Kept)
    }

    /// Told each time that the journal, read again, names a finished sample: true for the last
    /// time, which is what counts.
    pub fn is_last(&mut self, sample: &SampleFinished) -> bool {
        let Some(place) = self.place(&sample.eval, &sample.case, sample.sample) else {
            return false;
        };
        match self.repeated.get_mut(&place) {
            Some(times) => {
                *times = times.saturating_sub(1);
                *times == 0
            }
            None => true,
        }
    }
}
