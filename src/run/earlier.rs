//! What the journal of a run says of its plan, in little memory. How its samples ended is in the
//! fold.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::RunError;
use crate::journal;
use crate::model::{
    CasePlanned, CasesPlanned, Dependencies, Dependency, EvalInfo, Event, Outcome, RunFinished,
    RunStarted, SampleFinished,
};
use crate::summary::{SummaryError, SummaryFold};
use eval_base::names::InternedTexts;

/// A run as its journal tells it.
#[derive(Debug)]
pub(super) struct EarlierRun {
    /// The run's first event.
    pub started: RunStarted,
    /// What its last session said; the first one's words when there was no other.
    pub session: RunStarted,
    /// What each session said, the first one first.
    pub sessions: Vec<RunStarted>,
    /// Sessions before the one at this place have no sample that is kept.
    first_kept: usize,
    /// The end of the last session; `None` when it was cut off.
    pub finished: Option<RunFinished>,
    /// Files on which outputs depend that changed during a session.
    pub changed_files: Vec<String>,
    pub evals: HashMap<String, EarlierEval>,
    /// Finished samples that are not errored, by outcome.
    pub kept: BTreeMap<Outcome, usize>,
    /// True when it tells what cases give the target.
    pub has_inputs: bool,
    /// Samples that finished more than once, by eval, case and sample, and how often: errored ones
    /// are run again when the run goes on.
    repeated: HashMap<(String, String, u32), u32>,
}

#[derive(Debug)]
pub(super) struct EarlierEval {
    pub info: EvalInfo,
    /// True when sessions found different dependencies.
    pub dependencies_differ: bool,
    /// What each session found, without those before the first one with a sample that is kept.
    pub dependency_sets: Vec<Dependencies>,
    ids: InternedTexts,
    /// In the order of `ids`.
    cases: Vec<EarlierCase>,
}

impl EarlierEval {
    fn of(info: EvalInfo) -> EarlierEval {
        EarlierEval {
            dependencies_differ: false,
            dependency_sets: vec![dependencies_of(&info)],
            info,
            ids: InternedTexts::default(),
            cases: Vec::new(),
        }
    }

    /// What its outputs depend on; when sessions differ, on what equals nothing.
    pub fn dependencies(&self) -> Option<Box<Dependencies>> {
        let mut all = self.info.dependencies.clone();
        if self.dependencies_differ {
            all.get_or_insert_default().found.push(Dependency {
                name: "depends_on".to_owned(),
                hash: String::new(),
                workspace: false,
            });
        }
        all
    }

    /// True when a sample of it is kept.
    fn is_kept(&self, fold: &SummaryFold) -> bool {
        self.cases().any(|(id, case)| {
            let view = fold.case(&self.info.id, id);
            view.is_some_and(|view| (0..case.samples).any(|sample| view.is_settled(sample)))
        })
    }

    /// Notes what a further session found.
    fn add_dependencies(&mut self, info: &EvalInfo, fold: &SummaryFold) {
        self.dependencies_differ |= self.info.dependencies != info.dependencies;
        if !self.is_kept(fold) {
            self.dependency_sets.clear();
        }
        let found = dependencies_of(info);
        if !self.dependency_sets.contains(&found) {
            self.dependency_sets.push(found);
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
    pub input: HashPrefix,
    pub grading: HashPrefix,
    pub target: Option<HashPrefix>,
    /// How its target is called; of a case that was planned in several ways equal to nothing.
    pub call: HashPrefix,
    /// Over everything that was said of the case.
    pub about: u64,
    /// Its place in the whole eval, in a shard.
    pub position: Option<u32>,
    /// Its place among the cases of the plan's eval, once somebody has looked.
    pub at: Option<u32>,
}

/// The first 32 hex digits of a hash, which tell as much as all of them; of anything else nothing
/// is equal.
#[derive(Debug, Clone, Copy)]
pub(super) struct HashPrefix(Option<[u8; 16]>);

impl HashPrefix {
    pub fn of(hash: &str) -> HashPrefix {
        let digits = hash.get(..hash.len().min(32));
        HashPrefix(
            digits
                .and_then(|digits| u128::from_str_radix(digits, 16).ok())
                .map(u128::to_be_bytes),
        )
    }

    /// In hex digits; nothing of one that equals nothing.
    pub fn hex(self) -> Option<String> {
        let number = self.0.map(u128::from_be_bytes)?;
        Some(format!("{number:032x}"))
    }

    pub fn is_known(self) -> bool {
        self.0.is_some()
    }

    pub fn is(self, other: HashPrefix) -> bool {
        self.0.is_some() && self.0 == other.0
    }
}

fn dependencies_of(info: &EvalInfo) -> Dependencies {
    info.dependencies.as_deref().cloned().unwrap_or_default()
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
        &case.call_hash,
        &case.tags,
        case.position,
    )
        .hash(&mut hasher);
    hasher.finish()
}

impl EarlierRun {
    /// What the outputs of the suite's target depend on, if all sessions say the same of it.
    pub fn dependencies(&self) -> Option<&Dependencies> {
        let last = self.session.dependencies.as_ref();
        last.filter(|last| {
            self.sessions
                .iter()
                .all(|session| session.dependencies.as_ref() == Some(last))
        })
    }

    /// What the outputs of the suite's target depend on, as each session with kept samples found
    /// it.
    pub fn dependency_sets(&self) -> impl Iterator<Item = &Dependencies> {
        let sessions = self.sessions.iter().skip(self.first_kept);
        sessions.filter_map(|session| session.dependencies.as_ref())
    }

    /// Reads a journal once, into the fold, too; `see` sees every event.
    pub fn read(
        journal: &Path,
        fold: &mut SummaryFold,
        mut see: impl FnMut(&Event),
    ) -> Result<EarlierRun, RunError> {
        let mut earlier: Option<EarlierRun> = None;
        for event in journal::read(journal)? {
            let event = event?;
            see(&event);
            if let (Some(earlier), Event::SampleFinished(sample)) = (&mut earlier, &event) {
                earlier.count_repeat(fold, sample);
            }
            fold.push(&event)?;
            match (&mut earlier, event) {
                (None, Event::RunStarted(started)) => earlier = Some(EarlierRun::begun(*started)),
                // The reader gives no journal that begins otherwise.
                (None, _) => return Err(SummaryError::NotStarted.into()),
                (Some(earlier), event) => earlier.push(event, fold),
            }
        }
        let mut earlier = earlier.ok_or(SummaryError::NotStarted)?;
        earlier.kept = fold.settled();
        Ok(earlier)
    }

    fn begun(started: RunStarted) -> EarlierRun {
        EarlierRun {
            session: started.clone(),
            sessions: vec![started.clone()],
            first_kept: 0,
            started,
            finished: None,
            changed_files: Vec::new(),
            evals: HashMap::new(),
            kept: BTreeMap::new(),
            has_inputs: false,
            repeated: HashMap::new(),
        }
    }

    fn push(&mut self, event: Event, fold: &SummaryFold) {
        match event {
            Event::RunStarted(session) | Event::RunResumed(session) => {
                if fold.settled().is_empty() {
                    self.first_kept = self.sessions.len();
                }
                self.sessions.push((*session).clone());
                self.session = *session;
                self.finished = None;
            }
            Event::EvalPlanned(planned) => {
                let known = self.evals.entry(planned.eval.id.clone());
                let fresh = EarlierEval::of(planned.eval.clone());
                known
                    .and_modify(|eval| {
                        eval.add_dependencies(&planned.eval, fold);
                        eval.info = planned.eval;
                    })
                    .or_insert(fresh);
            }
            Event::CasesPlanned(planned) => self.plan(&planned),
            Event::SampleFinished(_) | Event::SampleSkipped(_) => {}
            Event::RunFinished(finished) => {
                self.changed_files
                    .extend(finished.changed_files.iter().cloned());
                self.finished = Some(finished);
            }
        }
    }

    fn plan(&mut self, planned: &CasesPlanned) {
        // The fold refuses cases of an eval that is not planned.
        let Some(eval) = self.evals.get_mut(&planned.eval) else {
            return;
        };
        for case in &planned.cases {
            self.has_inputs |= case.input.is_some();
            let known = eval.case(&case.id);
            let before = known.map_or(0, |known| known.samples);
            let call = HashPrefix::of(case.call_hash.as_deref().unwrap_or_default());
            let changed = known.is_some_and(|known| !known.call.is(call));
            let known = EarlierCase {
                samples: case.samples.max(before),
                input: HashPrefix::of(&case.input_hash),
                grading: HashPrefix::of(&case.grading_hash),
                target: case.target_hash.as_deref().map(HashPrefix::of),
                call: if changed { HashPrefix::of("") } else { call },
                about: about(case),
                position: case.position,
                at: None,
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
    }

    /// Notes a sample that the fold knows as finished and that finished once more.
    fn count_repeat(&mut self, fold: &SummaryFold, sample: &SampleFinished) {
        if fold
            .finished(&sample.eval, &sample.case, sample.sample)
            .is_some()
        {
            *self.repeated.entry(key(sample)).or_insert(1) += 1;
        }
    }

    /// Called each time that the journal, read again, names a finished sample: true for the last
    /// time, which is what counts.
    pub fn is_last(&mut self, sample: &SampleFinished) -> bool {
        if self.repeated.is_empty() {
            return true;
        }
        self.repeated.get_mut(&key(sample)).is_none_or(|times| {
            *times = times.saturating_sub(1);
            *times == 0
        })
    }
}

fn key(sample: &SampleFinished) -> (String, String, u32) {
    (sample.eval.clone(), sample.case.clone(), sample.sample)
}
